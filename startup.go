package ruqi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A startup queues the runs of jobs with Policy.RunOnStart, once each time an instance starts. A job's row is written in one step, as one of run-now:
// any instance with a free slot then runs it. What a start has not queued when its process dies is not queued any more; the next start
// queues its own.
type startup struct {
	*Scheduler
	// at is when the instance registered, on the store's clock. Jobs that were added since are not run by this start.
	at time.Time
	// passed are jobs that this start has seen to.
	passed map[string]bool
}

// startupStep is how many jobs are seen to in one step: few enough that it holds them for milliseconds, also where each row is a
// way to the server and back.
const startupStep = 50

// runOnStart queues what is to run on start, and returns when that is done or ctx ends. It goes on in the background then, as
// while the store is away: an end of ctx in the middle of a step would leave unknown what has been queued.
func (s *Scheduler) runOnStart(ctx context.Context) {
	start := &startup{Scheduler: s, at: s.lease.lastClocks().store, passed: map[string]bool{}}
	tried := make(chan struct{})
	s.loops.Go(func() {
		done := start.once(s.loopsEnd)
		close(tried)
		for backoff := firstBackoff; !done; backoff = min(2*backoff, lastBackoff) {
			select {
			case <-time.After(backoff):
			case <-s.loopsEnd.Done():
				return
			}
			if state := s.state.Load(); state == stateStopping || state == stateEnding {
				return // nothing new is begun
			}
			done = start.once(s.loopsEnd)
		}
	})
	select {
	case <-tried:
	case <-ctx.Done():
	}
}

// once sees to all jobs that are left, and reports false when it is to be tried again.
func (s *startup) once(ctx context.Context) bool {
	err := s.all(ctx)
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrUnavailable): // nothing was written
		s.log.Warn("runs on start could not be queued yet", "error", err)
		return false
	}
	s.log.Error("runs on start could not be queued", "error", err)
	return true
}

// all goes through the jobs page by page. What fails for good with one page keeps no other from its turn, and is not tried again: it
// may have happened.
func (s *startup) all(ctx context.Context) error {
	waiting, err := s.waiting(ctx)
	if err != nil {
		return err
	}
	var failed error
	query := JobQuery{OnStart: true, State: JobActive, Limit: startupStep}
	for {
		page, err := s.store.Jobs(ctx, query)
		if err != nil {
			return errors.Join(failed, err)
		}
		var ids []string
		for i := range page.Jobs {
			if id := page.Jobs[i].ID; !s.passed[id] {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			err := s.some(ctx, ids, waiting)
			if errors.Is(err, ErrUnavailable) {
				return err
			}
			failed = errors.Join(failed, err)
			for _, id := range ids {
				s.passed[id] = true
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			s.kick()
			return failed
		}
	}
}

// waiting counts the runs of earlier starts that wait, by job.
func (s *startup) waiting(ctx context.Context) (map[string]int, error) {
	waiting := map[string]int{}
	query := RunQuery{States: []RunState{RunQueued}, Causes: []Cause{CauseStartup}, Limit: MaxPage}
	for {
		page, err := s.store.Runs(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Runs {
			waiting[page.Runs[i].JobID]++
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return waiting, nil
		}
	}
}

// some queues the runs of a page of jobs in one step.
func (s *startup) some(ctx context.Context, ids []string, waiting map[string]int) (err error) {
	defer guard(&err)
	asked := map[string]bool{} // jobs whose active runs are to end
	broken := map[string]error{}
	_, runs, err := s.store.EditJobs(ctx, JobQuery{IDs: ids, OnStart: true, State: JobActive}, func(now time.Time, id string, old *JobRecord, active int) Change {
		// A job that is newer than now was added before the clock was set back, and so before this start.
		if old == nil || old.Created.After(s.at) && !old.Created.After(now) {
			return Change{}
		}
		change, cancel, err := s.decide(now, old, active, waiting[id])
		broken[id], asked[id] = err, cancel
		return change
	})
	if err != nil {
		return err
	}
	s.emitSettled(runs)
	own := map[string]int64{}
	for i := range runs {
		own[runs[i].JobID] = runs[i].ID
	}
	for _, id := range ids {
		if err := broken[id]; err != nil {
			s.log.Warn("a job that cannot be read is not run on start", "job", id, "error", err)
		}
		if !asked[id] {
			continue
		}
		if err := s.cancelActive(ctx, id, own[id]); err != nil {
			s.log.Warn("active runs could not be asked to end for a run on start", "job", id, "error", err)
		}
	}
	return nil
}

// decide decides about one job. What panics for one, as a task of the user's own kind may, is the fault of that job alone.
func (s *startup) decide(now time.Time, old *JobRecord, active, waiting int) (change Change, cancel bool, err error) {
	defer guard(&err)
	spec, err := s.specOf(old)
	if err != nil {
		return Change{}, false, err
	}
	state, reason, cancel := planStartup(spec, active, waiting)
	row := newRun(old, spec, CauseStartup, fire{now, now}, state, reason)
	// Those of earlier starts may be due at a time that a clock which was set back has yet to come to.
	return Change{Runs: []Run{row}, Hasten: waiting > 0}, cancel, nil
}

// planStartup decides about the run of a start: as about a fire, but that runs of earlier starts that wait count as active, so that a
// service that starts again and again does not leave a row each time. It is pure.
func planStartup(spec *JobSpec, active, waiting int) (state RunState, reason string, cancel bool) {
	p := spec.Policy
	if active+waiting < p.limit() {
		return RunQueued, "", false
	}
	counts := fmt.Sprintf("%d active, %d of earlier starts waiting, max_instances is %d", active, waiting, p.MaxInstances)
	most := 1
	switch p.Overlap {
	case OverlapSkip:
		return RunSkipped, counts, false
	case OverlapQueue:
		most = p.CatchupLimit
	case OverlapCancelRunning:
		cancel = active > 0
	}
	if waiting >= most {
		return RunSkipped, fmt.Sprintf("%s; of those that wait there may be %d (overlap: %s)", counts, most, p.Overlap), cancel
	}
	return RunQueued, fmt.Sprintf("%s (overlap: %s)", counts, p.Overlap), cancel
}

// cancelActive asks the active runs of a job to end, as Plan.Cancel does for a fire: those that run, and what is left of a batch. The
// newest come first, so that nothing of a batch takes the place of what was asked to end. The start's own run, and what came after it, are left.
func (s *startup) cancelActive(ctx context.Context, id string, own int64) error {
	query := RunQuery{Job: id, States: []RunState{RunQueued, RunRunning}, Limit: MaxPage}
	for {
		page, err := s.store.Runs(ctx, query)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			if run := &page.Runs[i]; run.ID < own && (run.State == RunRunning || run.Batch != 0) {
				if err := s.cancelOne(ctx, run.ID); err != nil {
					return err
				}
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return nil
		}
	}
}

// cancelOne asks a run to end; one that has ended meanwhile is as good.
func (s *startup) cancelOne(ctx context.Context, id int64) error {
	run, err := s.store.Cancel(ctx, id, "a start (overlap: cancel_running)")
	switch {
	case errors.Is(err, ErrEnded) || errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case run.State.Ended():
		s.emitEnd(&run)
		s.ends.tell()
	}
	s.cancelHere(&run)
	return nil
}
