package ruqi_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// everyTenSeconds fires first after ten seconds.
func everyTenSeconds(t *testing.T, s *ruqi.Scheduler, id string, priority int, policy ruqi.Policy, task func(context.Context) error) {
	t.Helper()
	start := time.Now().Add(10 * time.Second)
	every, err := trigger.Interval(10*time.Second, trigger.IntervalOptions{Start: &start})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: id, Priority: priority, Trigger: every, Task: ruqi.Do(task), Policy: policy}, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
}

// A fire that comes when the run before it has ended, though its end is still on its way to a slow store, waits for that and then runs;
// it holds up no others.
func TestAFireDoesNotFindARunThatHasEnded(t *testing.T) {
	for _, overlap := range []ruqi.Overlap{ruqi.OverlapSkip, ruqi.OverlapQueue, ruqi.OverlapQueueOne, ruqi.OverlapCancelRunning} {
		t.Run(string(overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{Store: memory.Open(memory.Options{})}
				s := newScheduler(t, g, newRegistry(), ruqi.Options{Slots: map[string]int{"default": 1}})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				everyTenSeconds(t, s, "j", 1, ruqi.Policy{Overlap: overlap}, sleeping(8*time.Second))
				time.Sleep(15 * time.Second)
				g.hang("Finish")            // of the run that ends after 18 s
				time.Sleep(4 * time.Second) // and one slot is free
				other := time.Now().Add(1500 * time.Millisecond)
				if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "other", Trigger: trigger.Date(other), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(begin.Add(23 * time.Second)))
				if all := runs(t, s, "j"); len(all) != 1 {
					t.Errorf("while the end is on its way the runs are %+v", all)
				}
				if all := runs(t, s, "other"); len(all) != 1 || all[0].Started == nil || all[0].Started.Sub(other) > 100*time.Millisecond {
					t.Errorf("another job was held up: %+v", all)
				}
				g.goOn()
				time.Sleep(10 * time.Second)
				all := runs(t, s, "j")
				if len(all) < 2 || all[1].State != ruqi.RunSucceeded || all[1].Reason != "" || all[1].Started.Sub(begin) > 23100*time.Millisecond {
					t.Errorf("the runs are %+v", all)
				}
				covered(t, all, 10*time.Second)
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What is at its limit without the runs that have ended is skipped, and no end is waited for.
func TestAFireFindsTheRunsThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		s := newScheduler(t, g, newRegistry(), ruqi.Options{Drain: -1})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n atomic.Int64
		everyTenSeconds(t, s, "j", 0, ruqi.Policy{MaxInstances: 1}, func(ctx context.Context) error {
			if n.Add(1) == 1 {
				return sleeping(8 * time.Second)(ctx)
			}
			return sleeping(time.Hour)(ctx)
		})
		time.Sleep(25 * time.Second)
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "short", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		g.hang("Finish") // of another job
		time.Sleep(6 * time.Second)
		g.goOn()
		all := runs(t, s, "j")
		if len(all) != 3 || all[2].State != ruqi.RunSkipped || all[2].Reason != "1 active, max_instances is 1" {
			t.Errorf("the runs are %+v", all)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An early store counts the active runs of a job before an end is written, and decides after that, as one on another host may.
type early struct {
	*gate
	counted atomic.Bool // the next claim that has something due is such a one
}

func (e *early) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	if !e.counted.Load() {
		return e.gate.Claim(ctx, r, decide)
	}
	e.goOn()
	time.Sleep(10 * time.Millisecond) // meanwhile the end is written
	return e.gate.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		for i := range due {
			if due[i].Active == 0 {
				e.counted.Store(false)
				due[i].Active = 1
			}
		}
		return decide(now, due)
	})
}

func TestAFireDoesNotFindARunWhoseEndWasWrittenSinceItWasCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &early{gate: &gate{Store: memory.Open(memory.Options{})}}
		s := newScheduler(t, e, newRegistry(), ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		everyTenSeconds(t, s, "j", 0, ruqi.Policy{}, sleeping(9990*time.Millisecond))
		time.Sleep(19900 * time.Millisecond)
		e.hang("Finish")
		time.Sleep(95 * time.Millisecond) // it has ended, and the next claim is that of the fire
		e.counted.Store(true)
		time.Sleep(5 * time.Second)
		if e.counted.Load() {
			t.Fatal("no claim has found it due")
		}
		if all := runs(t, s, "j"); len(all) != 2 || fmt.Sprint(all[1].State) != "running" {
			t.Errorf("the runs are %+v", all)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
