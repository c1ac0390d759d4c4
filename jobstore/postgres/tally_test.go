package postgres_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// wantTotal compares the total of all executed runs.
func (r *report) wantTotal(when string, want int64) {
	r.t.Helper()
	page, err := r.Runs(r.t.Context(), ruqi.RunQuery{Executed: true})
	if err != nil {
		r.t.Fatal(err)
	}
	if page.Total == nil || *page.Total != want || len(page.Runs) != int(want) {
		r.t.Errorf("%s the total of %d runs is %v, want %d", when, len(page.Runs), page.Total, want)
	}
}

func (r *report) clean() {
	r.t.Helper()
	if _, err := r.Clean(r.t.Context(), ruqi.Retention{}); err != nil {
		r.t.Fatal(err)
	}
}

// A run gets its id before anyone can see it. While the step that has the id is under way, what is counted must not pass it, however
// many runs with higher ids there are; nor may one be lost that is alive when the count passes it, and ends with an old time.
func TestTheTallyWaitsForIDsThatAreUnderWay(t *testing.T) {
	r := newReport(t, postgrestest.Shared(t).Schema(t))
	r.add("a", `{}`, false)
	slow, watch := connectTo(t, r.address), connectTo(t, r.address)
	mark := func() int64 { return list[int64](t, watch, `SELECT run FROM rq_tally_mark`)[0] }
	for _, sql := range []string{`BEGIN`, `SELECT txid_current()`, `INSERT INTO rq_run (id, nominal, due, started, finished, attempt, cause, state, job_id, job_name, task)
		SELECT nextval('rq_run_id'), t, t, t, t, 7, 0, 2, 'a', 'name of a', '' FROM (SELECT '2026-12-01T08:00:00Z'::timestamptz AS t) t`} {
		if _, err := slow.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run := r.claim().Runs[0]
	if run.ID != 2 {
		t.Fatalf("the run has id %d", run.ID)
	}
	r.clean()
	if at := mark(); at != 0 {
		t.Errorf("the mark is %d while run 1 cannot be seen", at)
	}
	if _, err := slow.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	r.wantTotal("before it is counted", 1)
	until(t, 30*time.Second, "the mark passes both", func() bool { // transactions of other tests are waited for as well
		r.clean()
		return mark() == 2
	})
	r.wantTotal("while a run is alive", 1)
	if alive := list[int64](t, watch, `SELECT run_id FROM rq_untallied`); len(alive) != 1 || alive[0] != 2 {
		t.Errorf("the list of those alive is %v", alive)
	}
	run.Finished = at(r.clock.now().Add(-time.Hour))
	r.finish(run, ruqi.RunSucceeded)
	r.wantTotal("after its end", 2)
	r.clean()
	r.wantTotal("after it was counted", 2)
	if alive := list[int64](t, watch, `SELECT run_id FROM rq_untallied`); len(alive) != 0 {
		t.Errorf("the list of those alive is %v", alive)
	}
	if faults, err := r.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("it is not sound: %q, %v", faults, err)
	}
	if _, err := watch.Exec(t.Context(), `UPDATE rq_tally SET succeeded = 5 WHERE scope = 0`); err != nil {
		t.Fatal(err)
	}
	if faults, err := r.Check(t.Context()); err != nil || len(faults) != 1 || faults[0] != "the total of executed runs of all jobs is off: 3 of those that succeeded, 0 of the others" {
		t.Errorf("a total that is off is told as %q, %v", faults, err)
	}
}
