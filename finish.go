package ruqi

import (
	"context"
	"slices"
	"time"
)

// finishStep bounds the runs ended in one step of the store.
const finishStep = 1000

// finishLoop writes ends in batches: what gathers while one batch is written is the next. It ends with ctx.
func (s *Scheduler) finishLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.finished.kicks:
			s.writeFinished(ctx)
		}
	}
}

// writeFinished writes the ends that wait, those that come meanwhile included.
func (s *Scheduler) writeFinished(ctx context.Context) {
	for {
		batch := s.finished.take(finishStep)
		if len(batch) == 0 {
			return
		}
		for start := 0; start < len(batch); {
			end := start
			for end < len(batch) && batch[end].owner == batch[start].owner {
				end++
			}
			plain, more := byEffects(batch[start:end])
			s.finish(ctx, batch[start].owner, plain)
			s.finish(ctx, batch[start].owner, more)
			start = end
		}
		s.finished.wrote()
		s.ends.tell()
		if s.blocked.Load() || slices.ContainsFunc(batch, mayFree) {
			s.kick()
		}
	}
}

// byEffects parts the ends that concern their runs alone from those that change their jobs or begin another attempt, and so
// have to wait for whoever holds the job.
func byEffects(batch []*activeRun) (plain, more []*activeRun) {
	for _, f := range batch {
		if f.hasEffects() {
			more = append(more, f)
		} else {
			plain = append(plain, f)
		}
	}
	return plain, more
}

func (a *activeRun) hasEffects() bool {
	return a.ending.again != nil || a.ending.endJob != "" || a.ending.removeJob
}

// mayFree reports whether another row may have waited for this run: the next of its batch, one started by hand, or a fire that
// found the job at its limit.
func mayFree(f *activeRun) bool {
	return f.run.Batch != 0 || f.run.Cause != CauseSchedule || f.spec.Policy.Overlap != OverlapSkip
}

// finish writes the ends of one owner, output first, trying again while the store does not answer.
func (s *Scheduler) finish(ctx context.Context, owner Owner, batch []*activeRun) {
	if len(batch) == 0 {
		return
	}
	var talked []*activeRun
	done, finished := make([]Done, len(batch)), make([]time.Time, len(batch))
	for i, f := range batch {
		f.fill(&done[i], &finished[i])
		f.output.close()
		if f.output.waiting() {
			talked = append(talked, f)
		}
	}
	s.retry(ctx, func() error {
		s.writeOutput(ctx, owner, talked)
		var left []*activeRun
		for _, a := range talked {
			if a.output.waiting() {
				left = append(left, a)
			}
		}
		if talked = left; len(talked) > 0 {
			return ErrUnavailable
		}
		return nil
	})
	s.removeAsStored(ctx, done)
	var late []int64
	var err error
	if batch[0].hasEffects() {
		late, err = s.finishOnce(ctx, owner, done)
		if err != nil && mayPass(err) && ctx.Err() == nil {
			s.finished.postpone(batch)
			return
		}
	} else {
		late, err = s.finishDone(ctx, owner, done)
	}
	if ctx.Err() != nil && err != nil { // the scheduler gives up: the rows will be lost with its lease
		for _, f := range batch {
			f.written.tell()
		}
		return
	}
	if err != nil {
		s.log.Error("ends of runs could not be written together; trying one by one", "runs", len(done), "error", err)
		late = s.finishOneByOne(ctx, owner, done)
	}
	if len(late) > 0 {
		s.log.Warn("runs ended after they were taken away; nothing was changed", "runs", late)
	}
	s.settleEnds(batch, done, late)
}

// removeAsStored takes delete_when_finished from the definitions as they are now: since the claim
// a user may have thought better of it.
func (s *Scheduler) removeAsStored(ctx context.Context, done []Done) {
	var ids []string
	for i := range done {
		if done[i].RemoveJob {
			ids = append(ids, done[i].Run.JobID)
		}
	}
	if len(ids) == 0 {
		return
	}
	page, err := s.store.Jobs(ctx, JobQuery{IDs: ids, Limit: MaxPage})
	if err != nil {
		return // as it was when the run was claimed
	}
	keep := map[string]bool{}
	for i := range page.Jobs {
		if spec, err := s.specOf(&page.Jobs[i]); err == nil && !spec.Policy.DeleteWhenFinished {
			keep[page.Jobs[i].ID] = true
		}
	}
	for i := range done {
		done[i].RemoveJob = done[i].RemoveJob && !keep[done[i].Run.JobID]
	}
}

// finishDone writes ends while the store is only unavailable.
func (s *Scheduler) finishDone(ctx context.Context, owner Owner, done []Done) (late []int64, err error) {
	s.retry(ctx, func() error {
		late, err = s.finishOnce(ctx, owner, done)
		return err
	})
	return late, err
}

// finishOnce tries to write ends.
func (s *Scheduler) finishOnce(ctx context.Context, owner Owner, done []Done) ([]int64, error) {
	late, err := s.store.Finish(ctx, owner, done)
	s.health.noteOnce("finish", err)
	if err != nil && mayPass(err) {
		s.log.Warn("ends of runs have to wait", "runs", len(done), "error", err)
	}
	return late, err
}

// finishOneByOne finds the ends that a store refuses and writes a plain failure in their place, so that no
// row stays running for ever.
func (s *Scheduler) finishOneByOne(ctx context.Context, owner Owner, done []Done) (late []int64) {
	for i := range done {
		part, err := s.finishDone(ctx, owner, done[i:i+1])
		if err != nil {
			s.log.Error("the end of a run could not be written; recording a failure", "run", done[i].Run.ID, "error", err)
			plain := done[i] // what follows from it follows all the same
			plain.Run = Run{ID: done[i].Run.ID, JobID: done[i].Run.JobID, State: RunFailed,
				Reason: "its end (" + string(done[i].Run.State) + ") could not be recorded: " + cutReason(err.Error())}
			if part, err = s.finishDone(ctx, owner, []Done{plain}); err != nil {
				part, err = s.finishDone(ctx, owner, []Done{{Run: plain.Run}})
			}
		}
		if err != nil {
			s.log.Error("the failure of a run could not be written either", "run", done[i].Run.ID, "error", err)
		}
		late = append(late, part...)
	}
	return late
}

// retry calls step until it succeeds, fails for good, or ctx ends, waiting longer each time.
func (s *Scheduler) retry(ctx context.Context, step func() error) {
	for wait := firstBackoff; ; wait = min(2*wait, lastBackoff) {
		passed := s.health.passed.wait()
		err := step()
		if err == nil || !mayPass(err) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-passed: // what failed elsewhere does not any more
		case <-time.After(wait):
		}
	}
}

// settleEnds tells everyone who waits that the ends are in the store.
func (s *Scheduler) settleEnds(batch []*activeRun, done []Done, late []int64) {
	gone := make(map[int64]bool, len(late))
	for _, id := range late {
		gone[id] = true
	}
	for i := range batch {
		run := &done[i].Run
		if !gone[run.ID] {
			s.tellEnd(run, done[i].Again)
			if done[i].EndJob != "" {
				s.emit(Event{Kind: EventJobFinished, JobID: run.JobID, Reason: done[i].EndJob})
			}
		}
		batch[i].written.tell()
	}
}
