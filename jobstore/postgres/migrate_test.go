package postgres_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// shortBounds are those of a step's statements, far shorter than what is tried with them takes.
func shortBounds(t *testing.T, address string) string {
	t.Helper()
	return with(t, with(t, address, parameter("lock_timeout", "200")), parameter("statement_timeout", "300"))
}

const (
	shortStep = 500 * time.Millisecond
	slow      = 2 * time.Second
)

// A migration may take longer than a step and its statements. Here each table that it makes takes its time.
func TestAMigrationTakesAsLongAsItTakes(t *testing.T) {
	address := postgrestest.New(t, postgrestest.Options{}).Database(t)
	run(t, address, `CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.4); END $$`,
		`CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slow()`)
	from := time.Now()
	s, err := postgres.Open(t.Context(), shortBounds(t, address), postgres.Options{StepLimit: shortStep})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if took := time.Since(from); took < slow {
		t.Errorf("it took %s: nothing was tried", took)
	}
	if state, err := s.Schema(t.Context()); err != nil || state.Has != state.Knows {
		t.Errorf("the schema is %+v, %v", state, err)
	}
}

// Who waits for another's migration waits as long as that takes.
func TestTheWaitForAnothersMigrationIsNotCutOff(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	c := connectTo(t, address)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(1383428457, hashtext(current_schema()))"); err != nil { // that of migrations
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := postgres.Open(t.Context(), shortBounds(t, address), postgres.Options{StepLimit: shortStep})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(slow):
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
