package postgrestest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// lockWait is how long a drop waits for transactions that were left open: as long as PostgreSQL
// itself waits for the connections to a database that is dropped.
const lockWait = "5s"

// Schema makes a new empty schema in the database of [Server.URL] and returns the URL of
// connections whose search_path is that schema only. It is dropped at the end of the test. If that
// fails, since a transaction on it is still open after 5 s for instance, the test fails.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	name := randomName()
	s.exec(t, "CREATE SCHEMA "+name)
	t.Cleanup(func() {
		if s.gone() {
			return
		}
		if err := s.try("BEGIN", "SET LOCAL lock_timeout = '"+lockWait+"'", "DROP SCHEMA "+name+" CASCADE", "COMMIT"); err != nil {
			t.Errorf("drop the test's schema (did it leave a transaction open?): %v", err)
		}
	})
	u := s.url
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return u.String()
}

// Database makes a new empty database and returns its URL. It is dropped at the end of the
// test. If that fails, since a connection to it is still open after 5 s for instance, the test fails.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := randomName()
	// template0: nobody can be connected to it, as they might to template1.
	s.exec(t, "CREATE DATABASE "+name+" TEMPLATE template0")
	t.Cleanup(func() {
		if s.gone() {
			return
		}
		err := s.try("DROP DATABASE " + name)
		if err == nil {
			return
		}
		t.Errorf("drop the test's database (did it leave connections open?): %v", err)
		if err := s.try("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database by force: %v", err)
		}
	})
	u := s.url
	u.Path = "/" + name
	return u.String()
}

// gone reports whether the server was ended or paused by its test. Then what was made on it goes with
// its folder.
func (s *Server) gone() bool { return s.own != nil && !s.shared && !s.own.answers() }

// randomName returns a name that needs no quotes in SQL.
func randomName() string { return "test_" + strings.ToLower(rand.Text()) }

func (s *Server) exec(t testing.TB, statement string) {
	t.Helper()
	if err := s.try(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// try runs statements within the bound. It has a context of its own, since that of a test has ended
// when its clean-up runs.
func (s *Server) try(statements ...string) error {
	return s.run(context.Background(), func(ctx context.Context, c *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := c.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
