package ruqi

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// clocks are what the store's clock and this machine's showed at about the same moment.
type clocks struct {
	// store is what the store's clock showed, at a moment between asked and answered, which are on the monotonic clock.
	store, asked, answered time.Time
	// wall is what this machine's clock showed when the store was asked.
	wall time.Time
}

// middle is how long after asked the store is taken to have read its clock: the error is half of the way there and back at
// most.
func (c *clocks) middle() time.Duration { return c.answered.Sub(c.asked) / 2 }

// offset is how far this machine's clock is ahead of the store's.
func (c *clocks) offset() time.Duration {
	return c.wall.Add(c.middle()).Sub(c.store).Round(time.Microsecond)
}

// now is what the store's clock shows now, if nobody has set it since.
func (c *clocks) now() time.Time { return c.store.Add(time.Since(c.asked.Add(c.middle()))) }

// jumpLeast is what counts as a jump: more than a clock is slewed between two looks.
const jumpLeast = 2 * time.Second

// jump is by how much the store's clock has jumped since before, at the least: a slow answer must not look like
// a jump. 0: by less than jumpLeast, if at all.
func (c *clocks) jump(before *clocks) time.Duration {
	passed := c.store.Sub(before.store)
	if ahead := passed - c.answered.Sub(before.asked); ahead >= jumpLeast {
		return ahead
	}
	if ahead := passed - c.asked.Sub(before.answered); ahead <= -jumpLeast {
		return ahead
	}
	return 0
}

// A clockWatch compares the store's clock with the monotonic one of this process.
// It is used by whoever holds Scheduler.claiming.
type clockWatch struct {
	log  *slog.Logger
	last *clocks
}

// see takes what a claim told of the clocks and returns by how much the store's has jumped since the
// last time; 0 for none. After a jump forward the claim that saw it has found what became
// due, as after an outage.
func (w *clockWatch) see(now *clocks) time.Duration {
	var jump time.Duration
	if w.last != nil {
		if jump = now.jump(w.last); jump != 0 {
			w.log.Warn("the clock jumped, or the machine slept", "by", jump)
		}
	}
	w.last = now
	return jump
}

// reanchorAll is called when the clock was set back. Times of day that come again are not run
// again, but a job that runs every so often must not fall silent until the old time is reached: its
// trigger begins anew from now. It reports false when the store was away: then it is to be done again, which harms nobody.
func (s *Scheduler) reanchorAll(ctx context.Context) bool {
	query := JobQuery{State: JobActive, Limit: MaxPage}
	for {
		page, err := s.store.Jobs(ctx, query)
		if err != nil {
			s.log.Warn("jobs could not be read after the clock was set back", "error", err)
			return !errors.Is(err, ErrUnavailable)
		}
		var ids []string
		for i := range page.Jobs {
			ids = append(ids, page.Jobs[i].ID)
		}
		if len(ids) > 0 {
			if err := s.reanchorSome(ctx, ids); err != nil {
				s.log.Warn("jobs could not be anchored anew after the clock was set back", "error", err)
				return !errors.Is(err, ErrUnavailable)
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			s.kick()
			return true
		}
	}
}

func (s *Scheduler) reanchorSome(ctx context.Context, ids []string) (err error) {
	defer guard(&err)
	_, _, err = s.store.EditJobs(ctx, JobQuery{IDs: ids}, func(now time.Time, _ string, old *JobRecord, _ int) Change {
		return s.reanchor(now, old)
	})
	return err
}

// reanchor decides about one job: it is changed only if it counts elapsed time and its next fire is
// further away than one period, which only a clock set back brings about. So a second instance that
// saw the same jump changes nothing.
func (s *Scheduler) reanchor(now time.Time, old *JobRecord) Change {
	if old == nil || old.State != JobActive || old.NextDue == nil {
		return Change{}
	}
	spec, err := s.specOf(old)
	if err != nil {
		return Change{}
	}
	elapser, ok := spec.Trigger.(Elapser)
	if !ok {
		return Change{}
	}
	if old.NextNominal == nil { // it was looked through times that come again
		if !old.NextDue.After(now) {
			return Change{}
		}
		rec := *old
		rec.NextDue, rec.Version = &now, old.Version+1
		return Change{Job: &rec}
	}
	first, okFirst := elapser.Next(now)
	second, okSecond := elapser.Next(first)
	period := second.Sub(first)
	if uneven, ok := elapser.(interface{ LongestGap() time.Duration }); ok {
		period = max(period, uneven.LongestGap()) // a random interval's next gap may be longer than the one after
	}
	if !okFirst || !okSecond || old.NextNominal.Sub(now) <= period {
		return Change{}
	}
	anchor := now
	if first.Sub(now)%period == 0 {
		anchor = anchor.Add(time.Microsecond) // else its fires would be ones that have their outcome already
	}
	trigger, ok := elapser.Reanchor(anchor)
	if !ok {
		return Change{}
	}
	changed := *spec
	changed.Trigger = trigger
	next, ok, err := nextFire(&changed, now)
	if err != nil || !ok {
		return Change{}
	}
	rec, err := s.record(&changed)
	if err != nil {
		return Change{}
	}
	rec.State, rec.Reason, rec.Version = old.State, old.Reason, old.Version+1
	rec.NextNominal, rec.NextDue = next.stored()
	return Change{Job: &rec}
}

// hastenAll is called when the clock was set back. Fires that wait, the rest of batches and what was started by hand were due when they
// were written, and are not to wait until that time comes again. It reports false as reanchorAll does.
func (s *Scheduler) hastenAll(ctx context.Context, now time.Time) bool {
	query := RunQuery{States: []RunState{RunQueued}, Limit: MaxPage}
	for {
		page, err := s.store.Runs(ctx, query)
		if err != nil {
			s.log.Warn("queued runs could not be read after the clock was set back", "error", err)
			return !errors.Is(err, ErrUnavailable)
		}
		var ids []string
		for i := range page.Runs {
			if run := &page.Runs[i]; run.Cause != CauseRetry && run.Due.After(now) && !slices.Contains(ids, run.JobID) {
				ids = append(ids, run.JobID)
			}
		}
		if len(ids) > 0 {
			if err := s.hastenSome(ctx, ids); err != nil {
				s.log.Warn("queued runs could not be made due after the clock was set back", "error", err)
				return !errors.Is(err, ErrUnavailable)
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			s.kick()
			return true
		}
	}
}

func (s *Scheduler) hastenSome(ctx context.Context, ids []string) (err error) {
	defer guard(&err)
	_, _, err = s.store.EditJobs(ctx, JobQuery{IDs: ids}, func(_ time.Time, _ string, old *JobRecord, _ int) Change {
		return Change{Hasten: old != nil}
	})
	return err
}
