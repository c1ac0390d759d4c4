package postgrestest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

func TestSchemasDoNotSeeEachOther(t *testing.T) {
	s := postgrestest.Shared(t)
	a, b := connect(t, s.Schema(t)), connect(t, s.Schema(t))
	do(t, a, "CREATE TABLE mine (x int)", "INSERT INTO mine VALUES (1)")
	if got := one[*string](t, b, "SELECT to_regclass('mine')::text"); got != nil {
		t.Errorf("another schema sees the table %s", *got)
	}
	do(t, b, "CREATE TABLE mine (x int)")
	if n := one[int](t, a, "SELECT count(*) FROM mine"); n != 1 {
		t.Errorf("the first has %d rows after the second made a table of the name, want 1", n)
	}
	if path := one[string](t, a, "SHOW search_path"); path != one[string](t, a, "SELECT current_schema()") {
		t.Errorf("search_path is %s, more than the schema", path)
	}
}

func TestWhatATestTookIsGoneAfterIt(t *testing.T) {
	s := postgrestest.Shared(t)
	var schema, database string
	t.Run("a test", func(t *testing.T) {
		c, d := connect(t, s.Schema(t)), connect(t, s.Database(t))
		do(t, c, "CREATE TABLE x (y int)")
		do(t, d, "CREATE TABLE x (y int)")
		schema = one[string](t, c, "SELECT current_schema()")
		database = one[string](t, d, "SELECT current_database()")
	})
	c := connect(t, s.URL())
	if n := one[int](t, c, "SELECT count(*) FROM pg_namespace WHERE nspname = '"+schema+"'"); n != 0 || schema == "" {
		t.Errorf("the schema %q is left", schema)
	}
	if n := one[int](t, c, "SELECT count(*) FROM pg_database WHERE datname = '"+database+"'"); n != 0 || database == "" {
		t.Errorf("the database %q is left", database)
	}
}

// TestWhatIsLeftOpenIsAFailure takes the 5 s that a drop waits.
func TestWhatIsLeftOpenIsAFailure(t *testing.T) {
	for _, c := range []struct {
		title, says string
		leave       func(testing.TB, *pgx.Conn)
		place       func(*postgrestest.Server, testing.TB) string
	}{
		{"a transaction on a schema", "did it leave a transaction open?", begin, (*postgrestest.Server).Schema},
		{"a connection to a database", "did it leave connections open?", func(testing.TB, *pgx.Conn) {}, (*postgrestest.Server).Database},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			s := postgrestest.Shared(t)
			var left *pgx.Conn
			r := record(func(r testing.TB) {
				left = connect(t, c.place(s, r))
				c.leave(t, left)
			})
			if !r.failed || !strings.Contains(r.text.String(), c.says) {
				t.Errorf("failed is %v, and it says %q: want a failure that asks %q", r.failed, r.text.String(), c.says)
			}
		})
	}
}

// begin leaves a transaction open that holds a lock.
func begin(t testing.TB, c *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.Exec(ctx, "CREATE TABLE x (y int); BEGIN; LOCK TABLE x"); err != nil {
		t.Fatal(err)
	}
}
