package ruqi

import (
	"context"
	"log/slog"
	"time"
)

// A clockWatch compares the store's clock with the monotonic one of this process.
// It is used by whoever holds Scheduler.claiming.
type clockWatch struct {
	log  *slog.Logger
	wall time.Time
	mono time.Time
}

// jumpLeast is what counts as a jump: more than a clock is slewed between two polls.
const jumpLeast = 2 * time.Second

// see takes the store's present time and returns by how much its clock has jumped since the
// last time; 0 for none. A jump forward needs nothing more: the claim that saw it has found what became
// due, as after an outage.
func (w *clockWatch) see(wall time.Time) time.Duration {
	mono := time.Now()
	var jump time.Duration
	if !w.mono.IsZero() {
		jump = wall.Sub(w.wall) - mono.Sub(w.mono)
		if jump > -jumpLeast && jump < jumpLeast {
			jump = 0
		} else {
			w.log.Warn("the clock jumped, or the machine slept", "by", jump)
		}
	}
	w.wall, w.mono = wall, mono
	return jump
}

// reanchorAll is called when the clock was set back. Times of day that come again are not run
// again, but a job that runs every so often must not fall silent until the old time is reached: its
// trigger begins anew from now.
func (s *Scheduler) reanchorAll(ctx context.Context) {
	query := JobQuery{State: JobActive, Limit: MaxPage}
	for {
		page, err := s.store.Jobs(ctx, query)
		if err != nil {
			s.log.Warn("jobs could not be read after the clock was set back", "error", err)
			return
		}
		var ids []string
		for i := range page.Jobs {
			ids = append(ids, page.Jobs[i].ID)
		}
		if len(ids) > 0 {
			if err := s.reanchorSome(ctx, ids); err != nil {
				s.log.Warn("jobs could not be anchored anew after the clock was set back", "error", err)
				return
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			s.kick()
			return
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
	if old == nil || old.State != JobActive || old.NextNominal == nil {
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
	first, okFirst := elapser.Next(now)
	second, okSecond := elapser.Next(first)
	period := second.Sub(first)
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
	rec.NextNominal, rec.NextDue = &next.nominal, &next.due
	return Change{Job: &rec}
}
