package postgres_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// A step that adds a job waits at its commit while somebody holds the advisory lock 42.
var slowAdds = []string{
	`CREATE FUNCTION slow_add() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(42, hashtext(current_schema())); RETURN NULL; END'`,
	`CREATE CONSTRAINT TRIGGER slow_add AFTER INSERT ON rq_definition DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow_add()`,
}

// The name of a job that was removed is in the store as long as its history is. Who adds the job again finds it there, while
// Clean, which takes the last of the history, does not see the new job yet: the name must stay.
func TestCleanKeepsTheNameOfAJobThatIsBeingAddedAgain(t *testing.T) {
	u, err := url.Parse(postgrestest.Shared(t).Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("application_name", t.Name()) // by which its sessions are known
	u.RawQuery = query.Encode()
	r := newReport(t, u.String())
	r.add("a", `{}`, false)
	r.finish(r.claim().Runs[0], ruqi.RunSucceeded)
	if _, _, err := r.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"a"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
		return ruqi.Change{Remove: true}
	}); err != nil {
		t.Fatal(err)
	}
	r.clock.move(time.Hour)
	run(t, r.address, slowAdds...)
	watch := connectTo(t, r.address)
	lock := func(name string) {
		t.Helper()
		if _, err := watch.Exec(t.Context(), `SELECT `+name+`(42, hashtext(current_schema()))`); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func() int {
		return list[int](t, watch, `SELECT count(*)::int FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.application_name = $1`, t.Name())[0]
	}
	lock("pg_advisory_lock")
	added := make(chan struct{})
	go func() {
		defer close(added)
		r.add("a", `{}`, false)
	}()
	until(t, 10*time.Second, "the step that adds the job waits", func() bool { return waiting() == 1 })
	cleaned := make(chan error, 1)
	go func() {
		_, err := r.Clean(t.Context(), ruqi.Retention{Age: time.Minute})
		cleaned <- err
	}()
	until(t, 10*time.Second, "Clean waits too, or is done", func() bool { return waiting() == 2 || len(cleaned) == 1 })
	lock("pg_advisory_unlock")
	<-added
	if err := <-cleaned; err != nil {
		t.Fatal(err)
	}
	fresh := r.claim().Runs[0]
	page, err := r.Runs(t.Context(), ruqi.RunQuery{Name: "name of a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Runs) != 1 || page.Runs[0].ID != fresh.ID {
		t.Errorf("the runs of that name are %+v, want run %d alone", page.Runs, fresh.ID)
	}
}
