package ruqi_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/said"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A logText keeps what is logged.
type logText struct{ said.Text }

func (l *logText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// When the store's clock jumps forward past all leases, as it may when another server takes its place, the instances
// give each other the time to say that they live. One that does not is rescued all the same.
func TestAForwardJumpOfTheStoresClockTakesNobodysRuns(t *testing.T) {
	for phase := range 12 { // of the heartbeats, 3 s apart
		t.Run(fmt.Sprint("phase ", phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, l := &wallClock{}, &logText{}
				store := memory.Open(memory.Options{Now: clock.now})
				g := &gate{Store: store}
				registry := newRegistry()
				ruqi.Func(registry, "work", func(ctx context.Context, _ struct{}) error { return sleeping(time.Hour)(ctx) })
				var all []*ruqi.Scheduler
				for i, s := range []ruqi.JobStore{store, store, g} {
					name := fmt.Sprint("i", i)
					options := ruqi.Options{Instance: name, Logger: l.logger(), Slots: map[string]int{name: 1}, Drain: -1}
					all = append(all, newScheduler(t, s, registry, options))
					if err := all[i].Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					_, _, err := all[i].AddJob(t.Context(), ruqi.JobSpec{ID: name, Executor: name, Trigger: trigger.EveryDuration(1000 * time.Hour), Task: ruqi.Call("work", nil)}, ruqi.Fail)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := all[i].RunNow(t.Context(), name, nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(700 * time.Millisecond)
				}
				time.Sleep(30*time.Second + time.Duration(phase)*250*time.Millisecond)
				release := g.hold() // dead from now on
				clock.jump(time.Minute)
				check := func(when string, last ruqi.RunState) {
					t.Helper()
					for i, want := range []ruqi.RunState{ruqi.RunRunning, ruqi.RunRunning, last} {
						if run := runs(t, all[0], fmt.Sprint("i", i))[0]; run.State != want {
							t.Errorf("%s the run of instance %d is %s, want %s: %s", when, i, run.State, want, run.Reason)
						}
					}
				}
				time.Sleep(14 * time.Second)
				check("within a lease after the jump", ruqi.RunRunning)
				time.Sleep(10 * time.Second)
				check("then", ruqi.RunLost)
				if said := l.String(); strings.Contains(said, "lease lost") {
					t.Errorf("the log says\n%s", said)
				}
				release()
				for _, s := range all {
					if err := s.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// When a server that was away for longer than a lease comes back, the instances do not hear of it at the same moment. The
// first gives the others time to say that they live. One that does not is rescued all the same.
func TestTheFirstBackAfterAnOutageTakesNobodysRuns(t *testing.T) {
	for phase := range 12 { // of the heartbeats, 3 s apart
		t.Run(fmt.Sprint("phase ", phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.Open(memory.Options{})
				registry := newRegistry()
				ruqi.Func(registry, "work", func(ctx context.Context, _ struct{}) error { return sleeping(time.Hour)(ctx) })
				var all []*ruqi.Scheduler
				gates := []*gate{{Store: store}, {Store: store}, {Store: store}}
				for i, g := range gates {
					name := fmt.Sprint("i", i)
					all = append(all, newScheduler(t, g, registry, ruqi.Options{Instance: name, Slots: map[string]int{name: 1}, Drain: -1}))
					if err := all[i].Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					_, _, err := all[i].AddJob(t.Context(), ruqi.JobSpec{ID: name, Executor: name, Trigger: trigger.EveryDuration(1000 * time.Hour), Task: ruqi.Call("work", nil)}, ruqi.Fail)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := all[i].RunNow(t.Context(), name, nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(700 * time.Millisecond)
				}
				time.Sleep(30*time.Second + time.Duration(phase)*250*time.Millisecond)
				for _, g := range gates {
					g.refuse.Store(true)
				}
				time.Sleep(40 * time.Second)
				gates[0].refuse.Store(false)
				time.Sleep(5 * time.Second)
				gates[1].refuse.Store(false)
				check := func(when string, last ruqi.RunState) {
					t.Helper()
					for i, want := range []ruqi.RunState{ruqi.RunRunning, ruqi.RunRunning, last} {
						if run := runs(t, all[0], fmt.Sprint("i", i))[0]; run.State != want {
							t.Errorf("%s the run of instance %d is %s, want %s: %s", when, i, run.State, want, run.Reason)
						}
					}
				}
				time.Sleep(8 * time.Second)
				check("within a lease after the outage", ruqi.RunRunning)
				time.Sleep(20 * time.Second)
				check("then", ruqi.RunLost)
				gates[2].refuse.Store(false)
				for _, s := range all {
					if err := s.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// What waits for its turn does not wait for the old time to come again when the clock is set back; the rest of a batch would keep its
// job at its limit until then.
func TestASetBackClockHoldsUpNothingThatWaits(t *testing.T) {
	for name, policy := range map[string]ruqi.Policy{"a fire": {Overlap: ruqi.OverlapQueue}, "the rest of a batch": {Coalesce: ptr(false)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &wallClock{}
				s := newScheduler(t, memory.Open(memory.Options{Now: clock.now}), newRegistry(), ruqi.Options{Now: clock.now})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				end := time.Now().Add(4 * time.Minute)
				every, err := trigger.Interval(time.Minute, trigger.IntervalOptions{End: &end})
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: every, Task: ruqi.Do(sleeping(3 * time.Minute)), Policy: policy}, ruqi.Fail); err != nil {
					t.Fatal(err)
				}
				if policy.Overlap == "" {
					s.Pause()
				}
				time.Sleep(5 * time.Minute)
				s.Resume()
				byHand, err := s.RunNow(t.Context(), "x", nil)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				clock.jump(-24 * time.Hour)
				time.Sleep(20 * time.Minute)
				all := runs(t, s, "x")
				if n := states(all); len(all) != 5 || n[ruqi.RunSucceeded] != 5 {
					t.Errorf("the runs are %v", n)
				}
				if run, err := s.FindRun(t.Context(), byHand.ID); err != nil || run.State != ruqi.RunSucceeded {
					t.Errorf("what was started by hand is %s, %v", run.State, err)
				}
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A panickyStore panics in edits while it is told to.
type panickyStore struct {
	*memory.Store
	panics atomic.Bool
}

func (s *panickyStore) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	if s.panics.Load() {
		panic("a bug in the store")
	}
	return s.Store.EditJobs(ctx, query, decide)
}

// What an instance edits by itself, in its own goroutines, must not end the program when the store has a bug.
func TestASetBackClockAndAStoreThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, l := &wallClock{}, &logText{}
		store := &panickyStore{Store: memory.Open(memory.Options{Now: clock.now})}
		s := newScheduler(t, store, newRegistry(), ruqi.Options{Now: clock.now, Logger: l.logger()})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(3 * time.Minute))}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second waits for the first
			if _, err := s.RunNow(t.Context(), "x", nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		store.panics.Store(true)
		clock.jump(-24 * time.Hour)
		time.Sleep(2 * time.Second)
		store.panics.Store(false)
		if said := l.String(); !strings.Contains(said, "queued runs could not be made due after the clock was set back") || !strings.Contains(said, "a bug in the store") {
			t.Errorf("the log says\n%s", said)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An awayAtJump store is away for edits as often as it is told to.
type awayAtJump struct {
	*memory.Store
	away atomic.Int32
}

func (s *awayAtJump) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	if s.away.Add(-1) >= 0 {
		return nil, nil, fmt.Errorf("away: %w", ruqi.ErrUnavailable)
	}
	return s.Store.EditJobs(ctx, query, decide)
}

// A failover sets the clock back just when the store is away: what could not be brought in line with it then is later.
func TestASetBackClockAndAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		store := &awayAtJump{Store: memory.Open(memory.Options{Now: clock.now})}
		s := newScheduler(t, store, newRegistry(), ruqi.Options{Now: clock.now})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(3 * time.Minute)), Policy: ruqi.Policy{Overlap: ruqi.OverlapQueueOne}}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute + 30*time.Second) // one runs, one waits
		store.away.Store(4)
		clock.jump(-24 * time.Hour)
		time.Sleep(10 * time.Minute)
		n := 0
		for _, run := range runs(t, s, "x") {
			if run.State == ruqi.RunSucceeded {
				n++
			}
		}
		if n < 3 {
			t.Errorf("in ten minutes after the clock was set back %d runs of three minutes have ended", n)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
