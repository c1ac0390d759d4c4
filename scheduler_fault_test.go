package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A gate stands before a store: it can refuse what comes, or hold it up.
type gate struct {
	*memory.Store
	refuse atomic.Bool
	panics atomic.Bool
	mute   atomic.Bool  // heartbeats alone are refused
	forget atomic.Bool  // the answer of the next claim that took something is lost
	late   atomic.Int64 // how long the answer of the next claim that took something is on its way, in nanoseconds
	held   atomic.Pointer[chan struct{}]
	// hung is the method whose next call hangs, until its context ends.
	hung atomic.Pointer[hung]
}

type hung struct {
	method string
	once   atomic.Bool
	goOn   chan struct{}
}

// hang makes the next call of the method hang until goOn, or its context's end.
func (g *gate) hang(method string) { g.hung.Store(&hung{method: method, goOn: make(chan struct{})}) }
func (g *gate) goOn()              { close(g.hung.Load().goOn) }

var errAway = fmt.Errorf("the disk does not answer: %w", ruqi.ErrUnavailable)

func (g *gate) pass(ctx context.Context, method string) error {
	if h := g.hung.Load(); h != nil && h.method == method && !h.once.Swap(true) {
		select {
		case <-h.goOn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if held := g.held.Load(); held != nil {
		select {
		case <-*held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if g.panics.Load() {
		panic("a bug in the store")
	}
	if g.refuse.Load() || method == "Beat" && g.mute.Load() {
		return errAway
	}
	return nil
}

// hold makes every call wait until the returned function is called.
func (g *gate) hold() (release func()) {
	ch := make(chan struct{})
	g.held.Store(&ch)
	return func() { g.held.Store(nil); close(ch) }
}

func (g *gate) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	if err := g.pass(ctx, "Claim"); err != nil {
		return ruqi.Claimed{}, err
	}
	claimed, err := g.Store.Claim(ctx, r, decide)
	if len(claimed.Runs) > 0 && g.forget.Swap(false) {
		return ruqi.Claimed{}, errors.New("the connection broke after the commit")
	}
	if len(claimed.Runs) > 0 {
		time.Sleep(time.Duration(g.late.Swap(0)))
	}
	return claimed, err
}

func (g *gate) Finish(ctx context.Context, o ruqi.Owner, d []ruqi.Done) ([]int64, error) {
	if err := g.pass(ctx, "Finish"); err != nil {
		return nil, err
	}
	return g.Store.Finish(ctx, o, d)
}

// The end of a run waits for its output that is on its way to a slow store.
func TestNoEndOvertakesOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		registry := newRegistry()
		ruqi.Func(registry, "talk", func(ctx context.Context, _ struct{}) error {
			_, err := io.WriteString(ruqi.Output(ctx), "said")
			time.Sleep(time.Second) // it is on its way
			return err
		})
		s := newScheduler(t, g, registry, ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("talk", nil)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		g.hang("WriteRuns")
		run, err := s.RunNow(t.Context(), "j", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := runs(t, s, "j")[0]; got.State != ruqi.RunRunning {
			t.Errorf("it is %s while its output is on its way", got.State)
		}
		g.goOn()
		time.Sleep(time.Second)
		part, err := s.Output(t.Context(), run.ID, 0, 100)
		if got := runs(t, s, "j")[0]; err != nil || string(part.Bytes) != "said" || got.State != ruqi.RunSucceeded || got.OutputBytes != 4 {
			t.Errorf("it is %s with %d bytes, and has said %q, %v", got.State, got.OutputBytes, part.Bytes, err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func (g *gate) WriteRuns(ctx context.Context, o ruqi.Owner, u []ruqi.RunUpdate) ([]int64, error) {
	if err := g.pass(ctx, "WriteRuns"); err != nil {
		return nil, err
	}
	return g.Store.WriteRuns(ctx, o, u)
}

func (g *gate) Beat(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
	if err := g.pass(ctx, "Beat"); err != nil {
		return ruqi.Instance{}, err
	}
	return g.Store.Beat(ctx, i)
}

func (g *gate) Rescue(ctx context.Context, o ruqi.Owner, limit int, decide func(time.Time, ruqi.Run, *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	if err := g.pass(ctx, "Rescue"); err != nil {
		return nil, err
	}
	return g.Store.Rescue(ctx, o, limit, decide)
}

func (g *gate) EditJobs(ctx context.Context, q ruqi.JobQuery, decide func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	if err := g.pass(ctx, "EditJobs"); err != nil {
		return nil, nil, err
	}
	return g.Store.EditJobs(ctx, q, decide)
}

// covered checks that every fire of a job with one period has exactly one outcome: its row, or being
// counted on the row that follows.
func covered(t *testing.T, all []ruqi.Run, period time.Duration) {
	t.Helper()
	var last time.Time
	for _, run := range all {
		if run.Cause != ruqi.CauseSchedule {
			continue
		}
		from := run.Nominal
		if run.CoalescedFrom != nil {
			from = *run.CoalescedFrom
		}
		if n := int64(run.Nominal.Sub(from)/period) + 1; n != run.Coalesced+1 {
			t.Errorf("the row of %s says it stands for %d fires; from %s there are %d", run.Nominal, run.Coalesced+1, from, n)
		}
		if !last.IsZero() && from.Sub(last) != period {
			t.Errorf("between %s and %s fires are missing or doubled", last, from)
		}
		last = run.Nominal
	}
}

// DB01, MF03, MF09: a store that fails or hangs for a while costs time, never a fire; what ran goes on and is recorded.
func TestAStoreThatIsAwayCostsNoFire(t *testing.T) {
	for _, how := range []string{"refuses", "hangs", "panics"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{Store: memory.Open(memory.Options{})}
				s := newScheduler(t, g, newRegistry(), ruqi.Options{Lease: 5 * time.Minute})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				spec := func(id string, every, takes time.Duration) ruqi.JobSpec {
					return ruqi.JobSpec{ID: id, Trigger: trigger.EveryDuration(every), Task: ruqi.Do(func(ctx context.Context) error {
						fmt.Fprint(ruqi.Output(ctx), "said")
						return sleeping(takes)(ctx)
					})}
				}
				for _, j := range []ruqi.JobSpec{spec("quick", time.Second, 0), spec("slow", 20*time.Second, 15*time.Second)} {
					if _, _, err := s.AddJob(t.Context(), j, ruqi.Fail); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(30*time.Second + 500*time.Millisecond)
				undo := func() { g.refuse.Store(false) }
				switch how {
				case "hangs":
					undo = g.hold()
				case "panics":
					g.panics.Store(true)
					undo = func() { g.panics.Store(false) }
				default:
					g.refuse.Store(true)
				}
				time.Sleep(time.Minute)
				if status, err := s.Status(t.Context()); how == "refuses" && (err != nil || !strings.Contains(status.StoreError, errAway.Error())) {
					t.Errorf("while it is away the status says %q, %v", status.StoreError, err)
				}
				undo()
				time.Sleep(30 * time.Second)
				if err := s.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				quick, slow := runs(t, s, "quick"), runs(t, s, "slow")
				covered(t, quick, time.Second)
				covered(t, slow, 20*time.Second)
				if n := states(quick)[ruqi.RunSucceeded]; n != len(quick) || n < 55 {
					t.Errorf("quick: %v", states(quick))
				}
				for _, run := range slow {
					if !run.State.Started() {
						continue
					}
					part, err := s.Output(t.Context(), run.ID, 0, 0)
					if err != nil || string(part.Bytes) != "said" {
						t.Errorf("the output of the run of %s (%s %q, started %v, finished %v) is %q, %v", run.Nominal, run.State, run.Reason, run.Started, run.Finished, part.Bytes, err)
					}
				}
			})
		})
	}
}

// SH01, FO05, FO07: an instance that cannot reach the store loses its runs after its lease, and its late words change nothing.
func TestAFrozenInstanceLosesItsRuns(t *testing.T) {
	for _, onLost := range []ruqi.OnLost{ruqi.LostFail, ruqi.LostRerun} {
		t.Run(string(onLost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.Open(memory.Options{})
				g := &gate{Store: store}
				var began, told atomic.Int32
				registry := newRegistry()
				ruqi.Func(registry, "work", func(ctx context.Context, _ struct{}) error {
					began.Add(1)
					err := sleeping(2 * time.Minute)(ctx)
					if err != nil {
						told.Add(1)
					}
					return err
				})
				frozen := newScheduler(t, g, registry, ruqi.Options{Instance: "frozen"})
				healthy := newScheduler(t, store, registry, ruqi.Options{Instance: "healthy"})
				if err := frozen.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, _, err := frozen.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(10 * time.Minute),
					Task: ruqi.Call("work", nil), Policy: ruqi.Policy{OnLost: onLost}}, ruqi.Fail)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10*time.Minute + time.Second) // it runs on the only instance
				if err := healthy.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * time.Second)
				if all := runs(t, healthy, "j"); len(all) != 1 || all[0].State != ruqi.RunRunning {
					t.Fatalf("while its owner lives the run is %v", states(all))
				}
				release := g.hold()
				at := time.Now()
				time.Sleep(19 * time.Second) // a lease of 15 s and a heartbeat of 3 s
				all := runs(t, healthy, "j")
				if all[0].State != ruqi.RunLost || all[0].Finished.Sub(at) > 18*time.Second+time.Second {
					t.Fatalf("after its lease the run is %s", all[0].State)
				}
				time.Sleep(time.Minute)
				release()
				time.Sleep(5 * time.Minute)
				all = runs(t, healthy, "j")
				if all[0].State != ruqi.RunLost {
					t.Errorf("the late end turned lost into %s", all[0].State)
				}
				if told.Load() != 1 {
					t.Errorf("after the thaw %d runs were told to stop, want the lost one", told.Load())
				}
				want := 1
				if onLost == ruqi.LostRerun {
					want = 2
				}
				if len(all) != want || int(began.Load()) != want {
					t.Fatalf("%d rows, %d starts; want %d", len(all), began.Load(), want)
				}
				if again := all[len(all)-1]; want == 2 && (again.State != ruqi.RunSucceeded || again.Attempt != 2 || again.ParentID != all[0].ID || again.Cause != ruqi.CauseRetry || again.Owner.Instance != "healthy") {
					t.Errorf("the second attempt is %+v", again)
				}
				for _, s := range []*ruqi.Scheduler{frozen, healthy} {
					if err := s.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// OV03: a claim that happened, but whose answer never came, leaves no row running for ever.
func TestAClaimWhoseAnswerIsLostIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		s := newScheduler(t, g, newRegistry(), ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(nothing), Policy: ruqi.Policy{OnLost: ruqi.LostRerun}}, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		g.forget.Store(true)
		time.Sleep(5*time.Minute + 30*time.Second)
		all := runs(t, s, "j")
		covered(t, all, time.Minute)
		if got := states(all); got[ruqi.RunLost] != 1 || got[ruqi.RunSucceeded] != 5 || len(all) != 6 {
			t.Errorf("recorded %v, want the lost claim, its second attempt and four more", got)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A wallClock is a clock that can jump.
type wallClock struct{ offset atomic.Int64 }

func (c *wallClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *wallClock) jump(d time.Duration) {
	c.offset.Add(int64(d))
}

// CK01, CK03, CK05, CK07: what a jump of the clock does.
func TestClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		w := newWorld(t, ruqi.Options{Now: clock.now})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "often", Trigger: trigger.EveryDuration(10 * time.Second), Task: ruqi.Do(nothing)})
		w.add(ruqi.JobSpec{ID: "cron", Trigger: trigger.Crontab("* * * * *"), Task: ruqi.Do(nothing)})
		w.add(ruqi.JobSpec{ID: "daily", Trigger: trigger.Crontab("0 20 * * *"), Task: ruqi.Do(nothing)})
		time.Sleep(10 * time.Minute)

		clock.jump(24 * time.Hour) // the machine slept for a day
		slept := clock.now()
		time.Sleep(5 * time.Second)
		daily := runs(t, w.s, "daily")
		if len(daily) != 1 || daily[0].Nominal.Hour() != 20 || daily[0].Started.Sub(slept) > 2*time.Second {
			t.Fatalf("after a day of sleep the daily job has %v", states(daily))
		}
		covered(t, runs(t, w.s, "often"), 10*time.Second)
		covered(t, runs(t, w.s, "cron"), time.Minute)

		time.Sleep(10*time.Minute + 3*time.Second)
		seen := len(runs(t, w.s, "often"))
		crons := len(runs(t, w.s, "cron"))
		clock.jump(-2 * time.Hour)
		time.Sleep(time.Minute)
		if n := len(runs(t, w.s, "often")) - seen; n < 4 || n > 7 {
			t.Errorf("in the minute after the clock was set back a job of every 10s ran %d times", n)
		}
		time.Sleep(2*time.Hour + 5*time.Minute)
		if n := len(runs(t, w.s, "often")) - seen; n < 740 || n > 760 {
			t.Errorf("in the 126 minutes after the clock was set back a job of every 10s ran %d times", n)
		}
		if n := len(runs(t, w.s, "cron")) - crons; n < 3 || n > 8 {
			t.Errorf("a cron job ran %d times: the two hours that came again are not repeated, then it goes on", n)
		}
		for _, id := range []string{"often", "cron", "daily"} {
			once := map[time.Time]bool{}
			for _, run := range runs(t, w.s, id) {
				if once[run.Nominal] {
					t.Fatalf("%s ran twice for %s", id, run.Nominal)
				}
				once[run.Nominal] = true
			}
		}
	})
}

// Two instances that see one jump re-anchor a job once.
func TestASetBackClockReanchorsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		store := memory.Open(memory.Options{Now: clock.now})
		registry := newRegistry()
		var all []*ruqi.Scheduler
		for i := range 2 {
			s := newScheduler(t, store, registry, ruqi.Options{Instance: fmt.Sprint("i", i), Now: clock.now})
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		fixed := time.Now().Add(time.Minute)
		start, err := trigger.Interval(time.Minute, trigger.IntervalOptions{Start: &fixed})
		if err != nil {
			t.Fatal(err)
		}
		for id, tr := range map[string]ruqi.Trigger{"anchored": trigger.EveryDuration(time.Minute), "random": trigger.Every(10).To(90).Seconds(), "fixed": start} {
			if _, _, err := all[0].AddJob(t.Context(), ruqi.JobSpec{ID: id, Trigger: tr, Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		clock.jump(-time.Hour)
		time.Sleep(5 * time.Second)
		for id, version := range map[string]int64{"anchored": 2, "random": 2, "fixed": 1} {
			job, err := all[1].Job(t.Context(), id)
			if err != nil || job.Version != version {
				t.Errorf("%s is at version %d, want %d (%v)", id, job.Version, version, err)
			}
		}
		for _, s := range all {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A laptop that sleeps through its lease with nobody else there wakes with its runs.
func TestAMachineThatSleptAloneKeepsItsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		w := newWorld(t, ruqi.Options{Now: clock.now})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "long", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(10 * time.Minute))})
		time.Sleep(time.Hour + time.Minute)
		clock.jump(30 * time.Minute)
		time.Sleep(10 * time.Minute)
		all := runs(t, w.s, "long")
		if len(all) != 1 || all[0].State != ruqi.RunSucceeded {
			t.Fatalf("after the sleep the run is %v", states(all))
		}
	})
}

// One call of the store that hangs, whichever it is, costs this instance no run.
func TestACallThatHangsCostsNoRun(t *testing.T) {
	for _, method := range []string{"Claim", "Finish", "WriteRuns", "Beat", "Rescue"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.Open(memory.Options{})
				g := &gate{Store: store}
				s, other := newScheduler(t, g, newRegistry(), ruqi.Options{Instance: "a"}), newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "b"})
				for _, each := range []*ruqi.Scheduler{s, other} {
					if err := each.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				other.Pause()
				_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "long", Trigger: trigger.EveryDuration(time.Minute), Policy: ruqi.Policy{MaxRuns: 1}, Task: ruqi.Do(func(ctx context.Context) error {
					for range 120 {
						fmt.Fprint(ruqi.Output(ctx), "word ")
						if err := sleeping(time.Second)(ctx); err != nil {
							return err
						}
					}
					return nil
				})}, ruqi.Fail)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute + 10*time.Second)
				g.hang(method)
				time.Sleep(30 * time.Second)
				if all := runs(t, other, "long"); len(all) != 1 || all[0].State != ruqi.RunRunning {
					t.Errorf("while one %s hangs the run is %v (%s)", method, states(all), all[0].Reason)
				}
				g.goOn()
				time.Sleep(3 * time.Minute)
				if all := runs(t, other, "long"); len(all) != 1 || all[0].State != ruqi.RunSucceeded {
					t.Errorf("after it the run is %v", states(all))
				}
				for _, each := range []*ruqi.Scheduler{s, other} {
					if err := each.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// A run whose end was asked for does not begin anew when its instance dies.
func TestACancelledRunOfADeadInstanceStaysCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		g := &gate{Store: store}
		registry := newRegistry()
		ruqi.Func(registry, "work", func(ctx context.Context, _ struct{}) error { return sleeping(time.Hour)(context.WithoutCancel(ctx)) })
		frozen, healthy := newScheduler(t, g, registry, ruqi.Options{Instance: "frozen"}), newScheduler(t, store, registry, ruqi.Options{Instance: "healthy"})
		if err := frozen.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := frozen.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(24 * time.Hour), Task: ruqi.Call("work", nil), Policy: ruqi.Policy{OnLost: ruqi.LostRerun}}, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		run, err := frozen.RunNow(t.Context(), "j", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		release := g.hold()
		if _, err := healthy.CancelRun(t.Context(), run.ID, "ann"); err != nil {
			t.Fatal(err)
		}
		if err := healthy.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if all := runs(t, healthy, "j"); len(all) != 1 || all[0].State != ruqi.RunCancelled || !strings.Contains(all[0].Reason, "ann") {
			t.Errorf("recorded %+v, want the one run as cancelled by ann", all)
		}
		release()
		time.Sleep(2 * time.Hour)
		for _, s := range []*ruqi.Scheduler{frozen, healthy} {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
