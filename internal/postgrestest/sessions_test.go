package postgrestest_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// others lists the sessions of clients but that which asks.
const others = `SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

// only waits until there is one session but that which asks, and returns it. A session that was closed ends a moment later.
func only(t *testing.T, c *pgx.Conn) (pid int32) {
	t.Helper()
	waitFor(t, "there is one session", func() bool {
		list := one[[]int32](t, c, others)
		if len(list) != 1 {
			return false
		}
		pid = list[0]
		return true
	})
	return pid
}

// none waits until there is no session but that which asks.
func none(t *testing.T, c *pgx.Conn) {
	t.Helper()
	waitFor(t, "there is no session", func() bool { return len(one[[]int32](t, c, others)) == 0 })
}

// What a session has done it leaves no trace of, so that the next act finds it as a new one.
func TestASharedServersSessionIsUsedAgain(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{})
	postgrestest.KeepSessions(s)
	c := connect(t, s.URL())
	take := func() {
		t.Helper()
		t.Run("a test", func(t *testing.T) { s.Schema(t); s.Database(t) })
	}
	take()
	first := only(t, c)
	take()
	if again := only(t, c); first != again {
		t.Errorf("after one test there is the session %d, after another %d, want one and the same", first, again)
	}
	if n := one[int](t, c, `SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend' AND state LIKE '%transaction%'`); n != 0 {
		t.Errorf("%d sessions have a transaction open", n)
	}
	var was string
	postgrestest.Act(t, s, "SHOW lock_timeout", &was)
	if was != "0" {
		t.Errorf("the session keeps lock_timeout = %s", was)
	}
}

func TestASessionThatWasCutIsReplaced(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{})
	postgrestest.KeepSessions(s)
	s.Schema(t)
	c := connect(t, s.URL())
	first := only(t, c)
	if cut := one[bool](t, c, `SELECT bool_and(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`); !cut {
		t.Error("nothing was cut")
	}
	none(t, c)
	s.Schema(t)
	if next := only(t, c); first == next {
		t.Errorf("the session %d that was cut is still there", first)
	}
}

// A statement that fails may have left a transaction open: its session goes.
func TestASessionThatFailedIsNotUsedAgain(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{})
	postgrestest.KeepSessions(s)
	c := connect(t, s.URL())
	r := record(func(r testing.TB) {
		address, err := url.Parse(s.Schema(r))
		if err != nil {
			t.Fatal(err)
		}
		do(t, c, "DROP SCHEMA "+address.Query().Get("search_path"))
	})
	if !r.failed {
		t.Fatal("a schema that is gone was dropped")
	}
	none(t, c)
	s.Schema(t)
}
