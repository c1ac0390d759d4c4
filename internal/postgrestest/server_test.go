package postgrestest_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// connect connects for the time of a test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// exec runs statements that must work.
func exec(t *testing.T, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// one returns the one value that a query selects.
func one[T any](t *testing.T, c *pgx.Conn, query string) T {
	t.Helper()
	var value T
	if err := c.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func TestSchemasDoNotSeeEachOther(t *testing.T) {
	s := postgrestest.Shared(t)
	a, b := connect(t, s.Schema(t)), connect(t, s.Schema(t))
	exec(t, a, "CREATE TABLE mine (x int)", "INSERT INTO mine VALUES (1)")
	if got := one[*string](t, b, "SELECT to_regclass('mine')::text"); got != nil {
		t.Errorf("another schema sees the table %s", *got)
	}
	exec(t, b, "CREATE TABLE mine (x int)")
	if n := one[int](t, a, "SELECT count(*) FROM mine"); n != 1 {
		t.Errorf("the first has %d rows after the second made a table of the name, want 1", n)
	}
	if path := one[string](t, a, "SHOW search_path"); path != one[string](t, a, "SELECT current_schema()") {
		t.Errorf("search_path is %s, more than the schema", path)
	}
}

func TestAKilledServerKeepsWhatWasCommitted(t *testing.T) {
	for _, c := range []struct {
		title string
		end   func(*postgrestest.Server)
	}{
		{"killed", (*postgrestest.Server).Kill},
		{"stopped", (*postgrestest.Server).Stop},
		{"killed while it was paused", func(s *postgrestest.Server) { s.Pause(); s.Kill() }},
		{"stopped while it was paused", func(s *postgrestest.Server) { s.Pause(); s.Stop() }},
	} {
		t.Run(c.title, func(t *testing.T) {
			s := postgrestest.New(t, postgrestest.Options{})
			port := s.Port()
			before := connect(t, s.URL())
			exec(t, before, "CREATE TABLE kept (x int)", "INSERT INTO kept VALUES (42)")
			c.end(s)
			s.Kill() // what is down stays down
			s.Stop()
			if _, err := before.Exec(t.Context(), "SELECT 1"); err == nil {
				t.Error("a connection lived on")
			}
			s.Start()
			if s.Port() != port {
				t.Errorf("the port was %d and is %d", port, s.Port())
			}
			if x := one[int](t, connect(t, s.URL()), "SELECT x FROM kept"); x != 42 {
				t.Errorf("the row has %d, want 42", x)
			}
		})
	}
}
