package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/trigger"
)

// heldUp is how long a step may be held up by somebody who holds a job: the wait of 1 s for it, and what a busy machine adds.
// It is less than a session waits for a lock (8 s).
const heldUp = 5 * time.Second

// hold locks the row of a job, as an editor does that does not go on, until the returned function is called.
func hold(t *testing.T, address, job string) (release func()) {
	t.Helper()
	tx, err := connectTo(t, address).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seq int64
	if err := tx.QueryRow(t.Context(), "SELECT seq FROM rq_job WHERE id = $1 FOR UPDATE", job).Scan(&seq); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Fatal(err)
		}
	}
}

// twoRunning is a report with a running run of each of two jobs, by job.
func twoRunning(t *testing.T) (*report, map[string]ruqi.Run) {
	t.Helper()
	r := newReport(t, postgrestest.Shared(t).Schema(t))
	running := map[string]ruqi.Run{}
	for _, id := range []string{"free", "held"} {
		r.add(id, "{}", false)
		for _, run := range r.claim().Runs {
			running[run.JobID] = run
		}
	}
	if len(running) != 2 {
		t.Fatalf("%d jobs run", len(running))
	}
	return r, running
}

// states are those of all runs, by job.
func (r *report) states() map[string]ruqi.RunState {
	r.t.Helper()
	page, err := r.Runs(r.t.Context(), ruqi.RunQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	states := map[string]ruqi.RunState{}
	for _, run := range page.Runs {
		states[run.JobID] = run.State
	}
	return states
}

// An end that changes a job which somebody holds gives up soon, whole, and other ends go on; so does one of the same job that
// changes nothing of it.
func TestAnEndWaitsForAHeldJobForAMomentOnly(t *testing.T) {
	r, running := twoRunning(t)
	release := hold(t, r.address, "held")
	end := func(job, reason string) error {
		run := running[job]
		run.State = ruqi.RunSucceeded
		late, err := r.Finish(t.Context(), r.owner, []ruqi.Done{{Run: run, EndJob: reason}})
		if len(late) > 0 {
			t.Errorf("the end of %s is late", job)
		}
		return err
	}
	from := time.Now()
	if err := end("held", "done"); !errors.Is(err, ruqi.ErrUnavailable) {
		t.Errorf("the end of a run whose job is held: %v", err)
	}
	if took := time.Since(from); took > heldUp {
		t.Errorf("it gave up after %s", took)
	}
	if states := r.states(); states["held"] != ruqi.RunRunning {
		t.Errorf("the run is %s after a step that did not happen", states["held"])
	}
	from = time.Now()
	if err := end("free", "done"); err != nil || time.Since(from) > heldUp {
		t.Errorf("the end of another job's run beside it took %s, %v", time.Since(from), err)
	}
	release()
	if err := end("held", "done"); err != nil {
		t.Errorf("the same end after the job was let go: %v", err)
	}
	if states := r.states(); states["held"] != ruqi.RunSucceeded || states["free"] != ruqi.RunSucceeded {
		t.Errorf("the runs are %v", states)
	}
}

func TestAnEndThatChangesNothingOfAHeldJobDoesNotWait(t *testing.T) {
	r, running := twoRunning(t)
	defer hold(t, r.address, "held")()
	from := time.Now()
	r.finish(running["held"], ruqi.RunSucceeded)
	if took := time.Since(from); took > heldUp {
		t.Errorf("it took %s", took)
	}
}

// What a dead instance has left of a job that somebody holds is left for the next time; the rest is ended.
func TestARescueLeavesHeldJobsForTheNextTime(t *testing.T) {
	r, _ := twoRunning(t)
	r.clock.move(25 * time.Hour) // beyond the lease
	alive, err := r.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "other"}, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	rescue := func() (ended, asked []string) {
		t.Helper()
		runs, err := r.Rescue(t.Context(), alive.Owner, 0, func(now time.Time, dead ruqi.Run, _ *ruqi.JobRecord) ruqi.Done {
			asked = append(asked, dead.JobID)
			dead.State, dead.Finished = ruqi.RunLost, &now
			return ruqi.Done{Run: dead}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			ended = append(ended, run.JobID)
		}
		return ended, asked
	}
	release := hold(t, r.address, "held")
	from := time.Now()
	for i, want := range [][]string{{"free"}, nil} {
		if ended, asked := rescue(); !slices.Equal(ended, want) || !slices.Equal(asked, want) {
			t.Errorf("time %d: %v ended, asked about %v", i, ended, asked)
		}
	}
	if took := time.Since(from); took > heldUp {
		t.Errorf("it took %s", took)
	}
	if states := r.states(); states["free"] != ruqi.RunLost || states["held"] != ruqi.RunRunning {
		t.Errorf("the runs are %v", states)
	}
	release()
	if ended, _ := rescue(); !slices.Equal(ended, []string{"held"}) {
		t.Errorf("when the job was let go, %v ended", ended)
	}
}

// refusedEnds counts the ends that a store could not write.
type refusedEnds struct {
	*postgres.Store
	n atomic.Int32
}

func (s *refusedEnds) Finish(ctx context.Context, owner ruqi.Owner, done []ruqi.Done) ([]int64, error) {
	late, err := s.Store.Finish(ctx, owner, done)
	if err != nil {
		s.n.Add(1)
	}
	return late, err
}

// A scheduler puts the end of a run whose job is held aside: the ends of other runs that change their jobs are written meanwhile.
func TestAnEndPutAsideHoldsUpNoOther(t *testing.T) {
	s := &site{t: t, address: postgrestest.Shared(t).Schema(t)}
	store, err := postgres.Open(t.Context(), s.address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	refused := &refusedEnds{Store: store}
	n := s.on(refused, "a", ruqi.Options{})
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(n.Shutdown(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	once := func(id string, takes time.Duration) {
		s.add(n, ruqi.JobSpec{ID: id, Trigger: trigger.Date(time.Now()), Task: ruqi.Call("work", work{Takes: takes}), Policy: ruqi.Policy{DeleteWhenFinished: true}})
		until(t, patience, id+" has started", func() bool { return len(s.starts(id)) == 1 })
	}
	state := func(id string) ruqi.RunState { return s.rows(n, id)[0].State }
	gone := func(id string) bool {
		_, err := n.Job(t.Context(), id)
		if err != nil && !errors.Is(err, ruqi.ErrNotFound) {
			t.Fatal(err)
		}
		return err != nil
	}
	once("held", 2*time.Second)
	release := hold(t, s.address, "held")
	if state("held") != ruqi.RunRunning {
		t.Fatal("its run ended before its job was held")
	}
	until(t, patience, "its end was put aside twice", func() bool { return refused.n.Load() == 2 })
	for _, id := range []string{"first", "second", "third"} {
		once(id, 0)
		until(t, heldUp, "the job of "+id+" is removed by its end", func() bool { return gone(id) && state(id) == ruqi.RunSucceeded })
	}
	if state("held") != ruqi.RunRunning || gone("held") {
		t.Error("the held job has changed")
	}
	release()
	until(t, patience, "the end that was put aside is written", func() bool { return gone("held") && state("held") == ruqi.RunSucceeded })
}
