package ruqi_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A restless store begins its next step anew: decide is asked twice, and only the second time counts. Between the two others act.
type restless struct {
	*memory.Store
	between atomic.Pointer[func()]
}

func (r *restless) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	if between := r.between.Load(); between != nil {
		asked := false
		_, err := r.Store.Claim(ctx, request, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
			asked = true
			decide(now, due)
			return nil
		})
		if err != nil {
			return ruqi.Claimed{}, err
		}
		if asked && r.between.CompareAndSwap(between, nil) {
			(*between)()
		}
	}
	return r.Store.Claim(ctx, request, decide)
}

func (r *restless) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	if between := r.between.Swap(nil); between != nil {
		_, _, err := r.Store.EditJobs(ctx, query, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
			decide(now, id, old, active)
			return ruqi.Change{}
		})
		if err != nil {
			return nil, nil, err
		}
		(*between)()
	}
	return r.Store.EditJobs(ctx, query, decide)
}

// newRestless is a world on such a store, and a second scheduler on the same one, which is not restless.
func newRestless(t *testing.T) (w *world, r *restless, other *ruqi.Scheduler) {
	store := memory.Open(memory.Options{})
	r = &restless{Store: store}
	w = &world{t: t, store: store, s: newScheduler(t, r, newRegistry(), ruqi.Options{Instance: "restless"})}
	return w, r, newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "other"})
}

// A fire that was decided about and then taken by another, or not taken, finishes its job where it is taken, and is told of there.
func TestAClaimThatBeginsAnewTellsOfWhatLanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, other := newRestless(t)
		finished := make(chan ruqi.Event, 10)
		w.s.Listen(func(e ruqi.Event) { finished <- e }, ruqi.EventJobFinished)
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "once", Trigger: trigger.Date(time.Now().Add(time.Minute)), Task: ruqi.Do(nothing)})
		paused := func() {
			if _, err := other.PauseJob(t.Context(), "once"); err != nil {
				t.Error(err)
			}
		}
		r.between.Store(&paused)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(finished); n != 0 {
			t.Errorf("%d events tell that a job has finished which is paused", n)
		}
	})
}

// Jobs that a removal selected and did not remove, since it began anew and they were gone, are neither told of nor counted.
func TestARemovalThatBeginsAnewTellsOfWhatItRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, other := newRestless(t)
		w.start()
		defer w.stop()
		for _, id := range []string{"b", "a", "c"} {
			w.add(ruqi.JobSpec{ID: id, Tags: []string{"all"}, Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)})
		}
		removed := make(chan ruqi.Event, 10)
		w.s.Listen(func(e ruqi.Event) { removed <- e }, ruqi.EventJobRemoved)
		gone := func() {
			if err := other.RemoveJob(t.Context(), "b"); err != nil {
				t.Error(err)
			}
		}
		r.between.Store(&gone)
		n, err := w.s.RemoveJobs(t.Context(), ruqi.JobQuery{Tags: []string{"all"}})
		synctest.Wait()
		close(removed)
		var told []string
		for e := range removed {
			told = append(told, e.JobID)
		}
		if err != nil || n != 2 || !slices.Equal(told, []string{"a", "c"}) {
			t.Errorf("%d jobs were removed, told were %q, %v", n, told, err)
		}
	})
}
