package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/internal/said"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/trigger"
)

// covered checks that each fire of a job with one period has one outcome: a row, or being counted on the row after it.
func covered(t *testing.T, rows []ruqi.Run, period time.Duration) {
	t.Helper()
	var last time.Time
	for i := range rows {
		row := &rows[i]
		if row.Cause != ruqi.CauseSchedule {
			continue
		}
		from := row.Nominal
		if row.CoalescedFrom != nil {
			from = *row.CoalescedFrom
		}
		if row.Nominal.Sub(from) != time.Duration(row.Coalesced)*period || !last.IsZero() && from.Sub(last) != period {
			t.Errorf("%s: after %s comes a row of %s for %d more fires", row.JobID, last, row.Nominal, row.Coalesced)
		}
		last = row.Nominal
	}
}

// Schedulers behind a PgBouncer that pools transactions work as others do, and a cut of all its sessions costs no fire.
func TestSchedulersBehindPgBouncer(t *testing.T) {
	const jobs, every = 12, 200 * time.Millisecond
	server := postgrestest.New(t, postgrestest.Options{})
	direct := server.Database(t)
	b := newBouncer(t, direct)
	heard := &said.Text{}
	s := &site{t: t, address: b.through(direct)}
	options := ruqi.Options{Logger: slog.New(slog.NewTextHandler(heard, nil))}
	first, second, third := s.node("a", options), s.node("b", options), s.node("c", options)
	id := func(i int) string { return fmt.Sprintf("job%02d", i) }
	for i := range jobs {
		s.add(first, ruqi.JobSpec{ID: id(i), Trigger: trigger.EveryDuration(every), Task: ruqi.Call("work", work{Takes: 20 * time.Millisecond, Says: "said"})})
	}
	ran := func(n int) func() bool {
		return func() bool {
			for i := range jobs {
				if len(s.starts(id(i))) < n {
					return false
				}
			}
			return true
		}
	}
	until(t, patience, "each job has run three times", ran(3))

	// What is edited on one is so on all, within their poll.
	first.Pause()
	s.add(first, ruqi.JobSpec{ID: "added", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("work", work{Takes: time.Hour})})
	run, err := second.RunNow(t.Context(), "added", nil)
	if err != nil {
		t.Fatal(err)
	}
	until(t, patience, "the run that was asked for has started", func() bool { return len(s.starts("added")) == 1 })
	if _, err := first.CancelRun(t.Context(), run.ID, "a user"); err != nil {
		t.Fatal(err)
	}
	if run, err = third.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunCancelled {
		t.Errorf("the cancelled run is %s, %v", run.State, err)
	}
	first.Resume()
	paused, err := second.PauseJob(t.Context(), id(0))
	if err != nil {
		t.Fatal(err)
	}
	if job, err := third.Job(t.Context(), id(0)); err != nil || job.State != ruqi.JobPaused || job.Version != paused.Version {
		t.Errorf("the paused job is %s at version %d, %v", job.State, job.Version, err)
	}

	if n := terminate(t, direct); n == 0 {
		t.Error("no session was cut")
	}
	until(t, patience, "the job is resumed", func() bool { // it may meet one session after the other that was cut
		_, err := second.ResumeJob(t.Context(), id(0))
		if err != nil && !errors.Is(err, ruqi.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	n := 0
	for i := range jobs {
		n = max(n, len(s.starts(id(i))))
	}
	until(t, patience, "each job runs again after all sessions were cut", ran(n+3))

	sessions, clients := b.sessions()
	if sessions > bouncerSessions || clients <= sessions {
		t.Errorf("%d sessions for %d clients: nothing was pooled", sessions, clients)
	}
	t.Logf("%d clients on %d sessions", clients, sessions)
	for i := 1; i < jobs; i++ {
		rows := s.rows(first, id(i))
		covered(t, rows, every)
		for j := range rows[:len(rows)-1] {
			if row := &rows[j]; row.State != ruqi.RunSucceeded && row.State != ruqi.RunRunning && row.State != ruqi.RunSkipped {
				t.Errorf("the run of %s at %s is %s: %s", row.JobID, row.Nominal, row.State, row.Reason)
			}
		}
		if part, err := first.Output(t.Context(), rows[0].ID, 0, 0); err != nil || string(part.Bytes) != "said" {
			t.Errorf("the output is %q, %v", part.Bytes, err)
		}
	}
	if text := heard.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "prepared statement") {
		t.Errorf("the schedulers say\n%s", text)
	}
}

// terminate cuts all sessions of a database but its own.
func terminate(t *testing.T, address string) int {
	t.Helper()
	const query = `WITH other AS MATERIALIZED (SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())
		SELECT pid FROM other WHERE pg_terminate_backend(pid)`
	return len(list[int](t, connectTo(t, address), query))
}

// TestARaceBehindPgBouncer is TestARaceOfEverybody where each step is on another session.
func TestARaceBehindPgBouncer(t *testing.T) {
	server := postgrestest.New(t, postgrestest.Options{Settings: logToRead})
	direct := server.Database(t)
	b := newBouncer(t, direct)
	newRace(t, direct, b.through(direct)).run(server, 3*time.Second)
}

// Who forgets to say that there is a pooler is told.
func TestAPoolerThatWasNotToldOfIsNamed(t *testing.T) {
	direct := postgrestest.New(t, postgrestest.Options{}).Database(t)
	b := newBouncer(t, direct)
	address := with(t, b.through(direct), func(u *url.URL) {
		u.User = url.UserPassword("postgres", "secret")
		u.RawQuery = "sslmode=disable"
	})
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("it opens")
	}
	text := err.Error()
	for _, part := range []string{"postgres://" + b.host, "refuses the settings of a session", "unsupported startup parameter: ", "behind a pooler add ruqi_listen=off to the address"} {
		if !strings.Contains(text, part) {
			t.Errorf("the error is %q, without %q", text, part)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "\n") || errors.Is(err, ruqi.ErrUnavailable) {
		t.Errorf("the error is %q", text)
	}
}

// What a session has of settings that choose plans and bound waits, each transaction has behind a pooler, and the session of the
// pooler, which the next transaction of another client gets, keeps nothing of them.
func TestTransactionsBehindPgBouncerHaveTheSettingsOfASession(t *testing.T) {
	direct := postgrestest.New(t, postgrestest.Options{}).Database(t)
	b := newBouncer(t, direct)
	s, err := postgres.Open(t.Context(), b.through(direct), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const query = `SELECT name || '=' || setting FROM pg_settings
		WHERE name ~ '^(enable_(seqscan|bitmapscan|hashjoin|mergejoin)|jit|max_parallel_workers_per_gather|plan_cache_mode|(lock|statement|idle_in_transaction_session)_timeout)$' ORDER BY 1`
	told, err := s.Told(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 5 {
		t.Errorf("there are %d ways", len(told))
	}
	for way, settings := range told {
		if len(settings) != 10 {
			t.Errorf("%s: %q", way, settings)
		}
		for _, setting := range settings {
			if name, value, _ := strings.Cut(setting, "="); postgres.TransactionSettings[name] != value {
				t.Errorf("%s: %s; a session of its own has %q", way, setting, postgres.TransactionSettings[name])
			}
		}
	}
	pooled := connectTo(t, with(t, b.through(direct), func(u *url.URL) { u.RawQuery = "sslmode=disable&default_query_exec_mode=exec" }))
	for range 2 * bouncerSessions {
		if left := list[string](t, pooled, query+` `); !slices.Contains(left, "jit=on") || !slices.Contains(left, "lock_timeout=0") {
			t.Fatalf("a session of the pooler keeps %q", left)
		}
	}
}

// A look behind a pooler is neither compiled, which takes longer than all else of it, nor does it read whole tables.
func TestALookBehindPgBouncerRunsUncompiled(t *testing.T) {
	direct := postgrestest.New(t, postgrestest.Options{}).Database(t)
	b := newBouncer(t, direct)
	s, err := postgres.Open(t.Context(), b.through(direct), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	run(t, direct, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit_above_cost = 0', current_database()); END $$`) // any statement is worth it
	terminate(t, direct)
	var lines []string
	until(t, patience, "a look", func() bool { // it may meet one session after the other that was cut
		lines, err = s.LookPlan(t.Context(), ruqi.ClaimRequest{Owner: ruqi.Owner{Instance: "a", Epoch: 1}, Slots: map[string]int{"default": 1}, Needs: []string{"x"}})
		return err == nil
	})
	plan := strings.Join(lines, "\n")
	if strings.Contains(plan, "JIT") || strings.Contains(plan, "Seq Scan on rq_job") || strings.Contains(plan, "Seq Scan on rq_run") || !strings.Contains(plan, "Execution Time") {
		t.Errorf("its plan is\n%s", plan)
	}
}

// What a pooler says with the one code that it has for everything is told apart.
func TestWhatIsWrongBehindPgBouncerIsSaidInOneSentence(t *testing.T) {
	server := postgrestest.New(t, postgrestest.Options{})
	direct := server.Database(t)
	b := newBouncer(t, direct)
	one := newBouncerOf(t, direct, nameOf(t, direct))
	path := func(to string) func(*url.URL) { return func(u *url.URL) { u.Path = to } }
	// wrong opens a store that cannot be opened.
	wrong := func(t *testing.T, address, want, reason string, unavailable bool) {
		t.Helper()
		s, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err == nil {
			_ = s.Close()
			t.Fatal("it opens")
		}
		text := err.Error()
		if !strings.Contains(text, want) || !strings.Contains(text, reason) || strings.Contains(text, "\n") || errors.Is(err, ruqi.ErrUnavailable) != unavailable {
			t.Errorf("the error is %q", text)
		}
	}
	for _, c := range []struct {
		title, address, want, reason string
		unavailable                  bool
	}{
		{"a parameter of the address", with(t, b.through(direct), parameter("search_path", "x")), "refuses a parameter of the address", "unsupported startup parameter: search_path", false},
		{"no such database on the server", with(t, b.through(direct), path("/none")), "has no such database", `database "none" does not exist`, false},
		{"no such database in the pooler", with(t, one.through(direct), path("/none")), "has no such database", "no such database: none", false},
	} {
		t.Run(c.title, func(t *testing.T) { wrong(t, c.address, c.want, c.reason, c.unavailable) })
	}
	server.Stop()
	// The pooler finds out with the first statement, which waits for it.
	until(t, patience, "the pooler has seen that its server is down", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, with(t, b.through(direct), func(u *url.URL) { u.RawQuery = "sslmode=disable" }))
		if err == nil {
			_, err = c.Exec(ctx, "SELECT 1")
			_ = c.Close(ctx)
		}
		return err != nil && strings.Contains(err.Error(), "server login has been failing")
	})
	t.Run("a server that is down", func(t *testing.T) {
		wrong(t, b.through(direct), "has a pooler that cannot reach the server", "server login has been failing", true)
	})
}
