package ruqi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// JT01: hourly with jitter: one run a slot, each in its hour, in time.
func TestHoursWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "hourly", Trigger: trigger.Crontab("0 * * * *"), Task: ruqi.Do(nothing),
			Policy: ruqi.Policy{Jitter: 2 * time.Minute}})
		time.Sleep(2*24*time.Hour + 5*time.Minute)
		all := runs(t, w.s, "hourly")
		if len(all) != 48 {
			t.Fatalf("%d runs in two days, want one an hour", len(all))
		}
		for i, run := range all {
			if run.State != ruqi.RunSucceeded {
				t.Fatalf("%s is %s: %s", run.Nominal, run.State, run.Reason)
			}
			if late := run.Started.Sub(run.Due); late < 0 || late > 10*time.Millisecond {
				t.Fatalf("%s started %s after it was due", run.Nominal, late)
			}
			if i > 0 && run.Nominal.Sub(all[i-1].Nominal) != time.Hour {
				t.Fatalf("%s follows %s", run.Nominal, all[i-1].Nominal)
			}
		}
	})
}

// JT01 over thirty days, JT05 with a restart each twenty minutes: the drawn time is kept, 720 runs.
func TestThirtyDaysOfRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, registry := memory.Open(memory.Options{}), newRegistry()
		spec := ruqi.JobSpec{ID: "hourly", Trigger: trigger.Crontab("0 * * * *"), Task: ruqi.Do(nothing), Policy: ruqi.Policy{Jitter: 30 * time.Minute}}
		time.Sleep(time.Minute) // off the hour
		end := time.Now().Add(30 * 24 * time.Hour)
		for first := true; time.Now().Before(end); first = false {
			s := newScheduler(t, store, registry, ruqi.Options{})
			if _, _, err := s.AddJob(t.Context(), spec, map[bool]ruqi.OnConflict{true: ruqi.Fail, false: ruqi.Keep}[first]); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Minute)
		}
		s := newScheduler(t, store, registry, ruqi.Options{})
		all := runs(t, s, "hourly")
		if len(all) < 719 || len(all) > 720 || states(all)[ruqi.RunSucceeded] != len(all) {
			t.Fatalf("recorded %v in thirty days, want one success an hour", states(all))
		}
		for i := 1; i < len(all); i++ {
			if all[i].Nominal.Sub(all[i-1].Nominal) != time.Hour || all[i].Coalesced != 0 {
				t.Fatalf("%s follows %s", all[i].Nominal, all[i-1].Nominal)
			}
		}
	})
}

// IV01: starts keep the grid, whatever the run takes.
func TestStartsKeepTheGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		began := time.Now()
		w.add(ruqi.JobSpec{ID: "minute", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(time.Second))})
		time.Sleep(time.Hour + 10*time.Second)
		all := runs(t, w.s, "minute")
		if len(all) != 60 {
			t.Fatalf("%d runs in an hour, want 60", len(all))
		}
		for i, run := range all {
			if off := run.Started.Sub(began.Add(time.Duration(i+1) * time.Minute)); off < 0 || off > 500*time.Millisecond {
				t.Fatalf("start %d is off its minute by %s", i+1, off)
			}
		}
	})
}

// CO01, CO03, CK05, PD03: what an outage does is for the policy to say.
func TestAnOutage(t *testing.T) {
	cases := []struct {
		name   string
		policy ruqi.Policy
		every  time.Duration
		down   time.Duration
		want   map[ruqi.RunState]int
		folded int64
	}{
		{"without coalesce each missed minute runs", ruqi.Policy{Coalesce: ptr(false), MisfireGrace: ptr(10 * time.Minute)}, time.Minute, 4*time.Minute + time.Second, map[ruqi.RunState]int{ruqi.RunSucceeded: 4}, 0},
		{"with coalesce one run stands for all", ruqi.Policy{}, time.Minute, 4*time.Minute + time.Second, map[ruqi.RunState]int{ruqi.RunSucceeded: 1}, 3},
		{"a short outage over the hour is a plain run", ruqi.Policy{MisfireGrace: ptr(time.Minute)}, time.Hour, time.Hour + 30*time.Second, map[ruqi.RunState]int{ruqi.RunSucceeded: 1}, 0},
		{"a long outage with a short grace is missed", ruqi.Policy{MisfireGrace: ptr(time.Minute)}, time.Hour, 3*time.Hour + 20*time.Minute, map[ruqi.RunState]int{ruqi.RunMissed: 1}, 2},
		{"a long outage without grace runs once", ruqi.Policy{}, 24 * time.Hour, 25 * time.Hour, map[ruqi.RunState]int{ruqi.RunSucceeded: 1}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				defer w.stop()
				w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(c.every), Task: ruqi.Do(nothing), Policy: c.policy})
				w.s.Pause()
				time.Sleep(c.down)
				w.s.Resume()
				time.Sleep(time.Second)
				synctest.Wait()
				all := runs(t, w.s, "j")
				got := states(all)
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Fatalf("recorded %v, want %v", got, c.want)
				}
				if all[0].Coalesced != c.folded {
					t.Errorf("the first row stands for %d others, want %d", all[0].Coalesced, c.folded)
				}
				for i := 1; i < len(all); i++ {
					if !all[i].Nominal.After(all[i-1].Nominal) || all[i].Started.Before(*all[i-1].Finished) {
						t.Errorf("%s ran before or beside %s", all[i].Nominal, all[i-1].Nominal)
					}
				}
			})
		})
	}
}

// OV01, OV05: a run that never ends is ended at its timeout, and the next slot runs.
func TestTimeoutAndSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "stuck", Trigger: trigger.EveryDuration(10 * time.Second), Task: ruqi.Do(sleeping(9999 * time.Second)),
			Policy: ruqi.Policy{Timeout: 15 * time.Second}})
		time.Sleep(time.Minute + 9*time.Second)
		var got []string
		for _, run := range runs(t, w.s, "stuck") {
			got = append(got, string(run.State))
		}
		// The fires are skipped while one runs: 10 runs to 25, 20 is skipped, 30 runs to 45, …
		want := "timed_out skipped timed_out skipped timed_out skipped"
		if strings.Join(got, " ") != want {
			t.Fatalf("recorded %q, want %q", got, want)
		}
	})
}

// A function that ignores its context is given up, and its slot and its job go on.
func TestAFunctionThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		release := make(chan struct{})
		w.add(ruqi.JobSpec{ID: "deaf", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(func(context.Context) error { <-release; return nil }),
			Policy: ruqi.Policy{Timeout: time.Second, KillGrace: time.Second}})
		time.Sleep(time.Hour + 30*time.Second)
		all := runs(t, w.s, "deaf")
		if len(all) != 1 || all[0].State != ruqi.RunTimedOut || !strings.Contains(all[0].Reason, "given up") {
			t.Fatalf("recorded %+v, want one timed_out run that was given up", all)
		}
		status, err := w.s.Status(t.Context())
		if err != nil || status.Slots["default"].Used != 0 {
			t.Fatalf("slots in use: %+v, %v", status.Slots["default"], err)
		}
		close(release)
		w.stop()
		if again := runs(t, w.s, "deaf"); again[0].State != ruqi.RunTimedOut {
			t.Fatalf("the late end changed the row to %s", again[0].State)
		}
	})
}

// A typedNil is an error whose methods fail on a nil pointer.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

func TestFailuresStayWithTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.s.Listen(func(ruqi.Event) { panic("a bad listener") })
		hold := make(chan struct{})
		w.s.Listen(func(ruqi.Event) { <-hold })
		defer close(hold)
		w.add(ruqi.JobSpec{ID: "panics", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(func(context.Context) error { panic("oh") })})
		w.add(ruqi.JobSpec{ID: "fails", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(func(context.Context) error { return errors.New("no luck") })})
		w.add(ruqi.JobSpec{ID: "exits", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(func(context.Context) error { runtime.Goexit(); return nil })})
		w.add(ruqi.JobSpec{ID: "bad error", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(func(context.Context) error { var e *typedNil; return e })})
		w.add(ruqi.JobSpec{ID: "works", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)})
		time.Sleep(20*time.Minute + 500*time.Millisecond)
		for id, want := range map[string]ruqi.RunState{"panics": ruqi.RunFailed, "fails": ruqi.RunFailed, "exits": ruqi.RunFailed, "bad error": ruqi.RunFailed, "works": ruqi.RunSucceeded} {
			all := runs(t, w.s, id)
			if n := states(all)[want]; n < 1000 || n != len(all) {
				t.Errorf("%s: %v, want all %s", id, states(all), want)
			}
		}
		if reason := runs(t, w.s, "fails")[0].Reason; reason != "no luck" {
			t.Errorf("the reason is %q", reason)
		}
		part, err := w.s.Output(t.Context(), runs(t, w.s, "panics")[0].ID, 0, 0)
		if err != nil || !strings.Contains(string(part.Bytes), "panic: oh") {
			t.Errorf("the panic's output is %q, %v", part.Bytes, err)
		}
		status, err := w.s.Status(t.Context())
		if err != nil || status.EventsDropped == 0 {
			t.Errorf("a listener that hangs dropped %d events, %v", status.EventsDropped, err)
		}
	})
}

// WK01, WK07: an added job runs when it is due, however long the loop meant to sleep; a job may add another.
func TestAnAddedJobWakesTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "hourly", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)})
		time.Sleep(time.Minute)
		due := time.Now().Add(5 * time.Second)
		w.add(ruqi.JobSpec{ID: "parent", Trigger: trigger.Date(due), Task: ruqi.Do(func(ctx context.Context) error {
			_, _, err := w.s.AddJob(ctx, ruqi.JobSpec{ID: "child", Trigger: trigger.Date(time.Now().Add(time.Second)), Task: ruqi.Do(nothing)}, ruqi.Fail)
			return err
		})})
		time.Sleep(10 * time.Second)
		parent, child := runs(t, w.s, "parent"), runs(t, w.s, "child")
		if len(parent) != 1 || len(child) != 1 || parent[0].State != ruqi.RunSucceeded || child[0].State != ruqi.RunSucceeded {
			t.Fatalf("parent %v, child %v", states(parent), states(child))
		}
		if late := parent[0].Started.Sub(due); late < 0 || late > 10*time.Millisecond {
			t.Errorf("the parent started %s late", late)
		}
		if apart := child[0].Started.Sub(*parent[0].Started); apart < time.Second || apart > 1100*time.Millisecond {
			t.Errorf("the child started %s after its parent, want about 1s", apart)
		}
		job, err := w.s.Job(t.Context(), "parent")
		if err != nil || job.State != ruqi.JobFinished {
			t.Errorf("a one-shot that ran is %s, %v", job.State, err)
		}
	})
}

func TestRunNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		var params atomic.Value
		w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Paused: true, Params: json.RawMessage(`{"a":1,"b":2}`),
			Task: ruqi.Do(func(ctx context.Context) error {
				run, _ := ruqi.CurrentRun(ctx)
				params.Store(string(run.Params))
				fmt.Fprint(ruqi.Output(ctx), "hello")
				return sleeping(10 * time.Second)(ctx)
			})})
		first, err := w.s.RunNow(t.Context(), "j", json.RawMessage(`{"b":3}`))
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.s.RunNow(t.Context(), "j", nil)
		if err != nil || second.Nominal.Equal(first.Nominal) {
			t.Fatalf("two manual runs at one time: %s and %s, %v", first.Nominal, second.Nominal, err)
		}
		time.Sleep(time.Second)
		if run, err := w.s.FindRun(t.Context(), second.ID); err != nil || run.State != ruqi.RunQueued {
			t.Fatalf("at the limit the second is %s, %v", run.State, err)
		}
		part, err := w.s.Output(t.Context(), first.ID, 0, 0)
		if err != nil || string(part.Bytes) != "hello" || part.Ended {
			t.Errorf("live output is %q, ended %t, %v", part.Bytes, part.Ended, err)
		}
		ended, err := w.s.WaitRun(t.Context(), second.ID)
		if err != nil || ended.State != ruqi.RunSucceeded || ended.Cause != ruqi.CauseManual {
			t.Fatalf("waited for %+v, %v", ended, err)
		}
		if took := ended.Started.Sub(first.Nominal); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("the second started %s after the first", took)
		}
		if _, err := w.s.RunNow(t.Context(), "j", json.RawMessage(`[1]`)); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("params that are no object give %v", err)
		}
		if _, err := w.s.RunNow(t.Context(), "none", nil); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("no such job gives %v", err)
		}
		if job, _ := w.s.Job(t.Context(), "j"); job.State != ruqi.JobPaused || job.RunCount != 0 {
			t.Errorf("after manual runs the job is %s with run_count %d", job.State, job.RunCount)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(time.Hour))})
		running, _ := w.s.RunNow(t.Context(), "j", nil)
		queued, _ := w.s.RunNow(t.Context(), "j", nil)
		time.Sleep(time.Second)
		for _, id := range []int64{queued.ID, running.ID} {
			if _, err := w.s.CancelRun(t.Context(), id, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []int64{queued.ID, running.ID} {
			run, err := w.s.WaitRun(t.Context(), id)
			if err != nil || run.State != ruqi.RunCancelled || !strings.Contains(run.Reason, "ann") {
				t.Errorf("run %d is %s (%q), %v", id, run.State, run.Reason, err)
			}
		}
		if _, err := w.s.CancelRun(t.Context(), running.ID, "ann"); !errors.Is(err, ruqi.ErrEnded) {
			t.Errorf("cancelling it again gives %v", err)
		}
	})
}

func TestFinishAndMaxRunsAndDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "finish", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(func(context.Context) error { return fmt.Errorf("enough: %w", ruqi.Finish) })})
		w.add(ruqi.JobSpec{ID: "three", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing), Policy: ruqi.Policy{MaxRuns: 3}})
		w.add(ruqi.JobSpec{ID: "gone", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(sleeping(3 * time.Second)), Policy: ruqi.Policy{MaxRuns: 1, DeleteWhenFinished: true}})
		time.Sleep(2500 * time.Millisecond)
		if job, err := w.s.Job(t.Context(), "gone"); err != nil || job.State != ruqi.JobFinished {
			t.Errorf("while its last run is on, the job is %s, %v", job.State, err)
		}
		time.Sleep(10 * time.Second)
		for id, want := range map[string]int{"finish": 1, "three": 3, "gone": 1} {
			if all := runs(t, w.s, id); len(all) != want || states(all)[ruqi.RunSucceeded] != want {
				t.Errorf("%s: %v, want %d succeeded", id, states(all), want)
			}
		}
		if _, err := w.s.Job(t.Context(), "gone"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("a job with delete_when_finished is still there: %v", err)
		}
		// The last that waits may be cancelled, too.
		w.add(ruqi.JobSpec{ID: "waits", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(sleeping(3 * time.Second)), Policy: ruqi.Policy{MaxRuns: 1, DeleteWhenFinished: true}})
		time.Sleep(1500 * time.Millisecond)
		waits, err := w.s.RunNow(t.Context(), "waits", nil)
		if err != nil {
			t.Fatal(err)
		}
		w.s.Pause()
		time.Sleep(5 * time.Second)
		if _, err := w.s.CancelRun(t.Context(), waits.ID, "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.Job(t.Context(), "waits"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("after its last queued run was cancelled the job is still there: %v", err)
		}
		for _, id := range []string{"finish", "three"} {
			if job, err := w.s.Job(t.Context(), id); err != nil || job.State != ruqi.JobFinished || job.StateReason == "" {
				t.Errorf("%s is %s (%q), %v", id, job.State, job.StateReason, err)
			}
		}
		if job, err := w.s.ResumeJob(t.Context(), "three"); err != nil || job.State != ruqi.JobFinished {
			t.Errorf("resume of a job with no runs left gives %s, %v", job.State, err)
		}
	})
}

// SH03, SH05: shutdown drains, then ends what is left, and says why.
func TestShutdownDrainsThenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{Drain: 30 * time.Second})
		w.start()
		w.add(ruqi.JobSpec{ID: "short", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(20 * time.Second))})
		w.add(ruqi.JobSpec{ID: "long", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(10 * time.Minute))})
		w.add(ruqi.JobSpec{ID: "minute", Trigger: trigger.EveryDuration(5 * time.Second), Task: ruqi.Do(nothing)})
		time.Sleep(time.Hour + time.Second)
		before := len(runs(t, w.s, "minute"))
		began := time.Now()
		w.stop()
		if took := time.Since(began); took < 29*time.Second || took > 32*time.Second {
			t.Errorf("shutdown took %s, want the drain of 30s", took)
		}
		if all := runs(t, w.s, "short"); all[0].State != ruqi.RunSucceeded {
			t.Errorf("a run within the drain is %s", all[0].State)
		}
		if all := runs(t, w.s, "long"); all[0].State != ruqi.RunCancelled || !strings.Contains(all[0].Reason, "shut down") {
			t.Errorf("a run past the drain is %s: %s", all[0].State, all[0].Reason)
		}
		if after := len(runs(t, w.s, "minute")); after != before {
			t.Errorf("%d runs were started while it drained", after-before)
		}
		if err := w.s.Start(t.Context()); !errors.Is(err, ruqi.ErrShutdown) {
			t.Errorf("start after shutdown gives %v", err)
		}
	})
}

// Who stops a service sees what it waits for, and why that is over.
func TestAShutdownSaysWhatItWaitsFor(t *testing.T) {
	const waits, rest, done = `msg="waiting for runs to end" runs=2 until=2000-01-01T01:00:31`, `level=WARN msg="ending the runs that are left" runs=`, `msg="no run is left" runs=2`
	for name, c := range map[string]struct {
		drain, longer time.Duration
		abort         bool
		says, not     []string
	}{
		"all end in time":   {drain: 30 * time.Second, longer: 20 * time.Second, says: []string{waits, done}, not: []string{rest}},
		"one does not":      {drain: 30 * time.Second, longer: 10 * time.Minute, says: []string{waits, rest + "1"}, not: []string{done}},
		"an abort":          {drain: 30 * time.Second, longer: 10 * time.Minute, abort: true, says: []string{waits, rest + "2"}, not: []string{done}},
		"nothing is waited": {drain: -1, longer: 10 * time.Minute, says: []string{rest + "2"}, not: []string{"waiting for runs", done}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &logText{}
				w := newWorld(t, ruqi.Options{Drain: c.drain, Logger: l.logger()})
				w.start()
				w.add(ruqi.JobSpec{ID: "short", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(10 * time.Second))})
				w.add(ruqi.JobSpec{ID: "long", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(c.longer))})
				time.Sleep(time.Hour + time.Second)
				if c.abort {
					time.AfterFunc(time.Second, w.s.Abort)
				}
				w.stop()
				for _, line := range append(c.says, `msg="scheduler shut down"`) {
					if strings.Count(l.String(), line) != 1 {
						t.Errorf("it does not say %s:\n%s", line, l)
					}
				}
				for _, line := range c.not {
					if strings.Contains(l.String(), line) {
						t.Errorf("it says %s:\n%s", line, l)
					}
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := &logText{}
		w := newWorld(t, ruqi.Options{Logger: l.logger()})
		w.start()
		w.stop()
		if said := l.String(); strings.Contains(said, "waiting for runs") || strings.Contains(said, "left") {
			t.Errorf("there is nothing to wait for, and it says:\n%s", said)
		}
	})
}

func TestTickDoesWhatIsDueAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(time.Minute / 2)), Policy: ruqi.Policy{Coalesce: ptr(false)}})
		if n, err := w.s.Tick(t.Context()); n != 0 || err != nil {
			t.Fatalf("a tick with nothing due did %d, %v", n, err)
		}
		time.Sleep(3*time.Minute + time.Second)
		n, err := w.s.Tick(t.Context())
		if n < 3 || err != nil {
			t.Fatalf("a tick with three fires due did %d, %v", n, err)
		}
		if all := runs(t, w.s, "j"); states(all)[ruqi.RunSucceeded] != n {
			t.Errorf("after it the history is %v", states(all))
		}
		w.stop()
	})
}

// Abort ends a shutdown that waits: the drain and every kill grace are over.
func TestAbortCutsTheShutdownShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{Drain: time.Hour})
		w.start()
		release := make(chan struct{})
		w.add(ruqi.JobSpec{ID: "deaf", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(func(context.Context) error { <-release; return nil }), Policy: ruqi.Policy{KillGrace: time.Hour}})
		time.Sleep(time.Minute + time.Second)
		began := time.Now()
		time.AfterFunc(3*time.Second, w.s.Abort)
		w.stop()
		if took := time.Since(began); took < 3*time.Second || took > 10*time.Second {
			t.Errorf("shutdown took %s, want the 3s until the abort and the few that a deaf function is given", took)
		}
		if all := runs(t, w.s, "deaf"); all[0].State != ruqi.RunCancelled {
			t.Errorf("the run is %s: %s", all[0].State, all[0].Reason)
		}
		close(release)
	})
}
