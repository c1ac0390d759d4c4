package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

var errBroken = errors.New("broken")

// failing fails so often, and then succeeds.
func failing(times int) func(context.Context) error {
	n := 0
	return func(context.Context) error {
		if n++; n <= times {
			return errBroken
		}
		return nil
	}
}

// attempts tells of each run its attempt, its state and how long after the end of the one before it was due.
func attempts(t *testing.T, all []ruqi.Run) []string {
	t.Helper()
	var told []string
	for i, run := range all {
		wait := time.Duration(0)
		if i > 0 {
			wait = run.Due.Sub(*all[i-1].Finished)
			if run.ParentID != all[0].ID || run.Cause != ruqi.CauseRetry || !run.Nominal.Equal(all[0].Nominal) || run.JobName != all[0].JobName || run.Task != all[0].Task {
				t.Errorf("the attempt is not one of the first run's: %+v", run)
			}
		}
		told = append(told, fmt.Sprintf("%d %s %s", run.Attempt, run.State, wait.Round(10*time.Millisecond)))
	}
	return told
}

func TestAFailedRunIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		retry ruqi.Retry
		task  func(context.Context) error
		want  []string
	}{
		{"by default", ruqi.Retry{Max: 3}, failing(9), []string{"1 failed 0s", "2 failed 10s", "3 failed 20s", "4 failed 40s"}},
		{"until it succeeds", ruqi.Retry{Max: 3, Delay: time.Second}, failing(2), []string{"1 failed 0s", "2 failed 1s", "3 succeeded 2s"}},
		{"not at all when it succeeds", ruqi.Retry{Max: 3}, nothing, []string{"1 succeeded 0s"}},
		{"linear", ruqi.Retry{Max: 3, Delay: time.Minute, Backoff: ruqi.BackoffLinear}, failing(9), []string{"1 failed 0s", "2 failed 1m0s", "3 failed 2m0s", "4 failed 3m0s"}},
		{"fixed", ruqi.Retry{Max: 3, Delay: 500 * time.Millisecond, Backoff: ruqi.BackoffFixed}, failing(9),
			[]string{"1 failed 0s", "2 failed 500ms", "3 failed 500ms", "4 failed 500ms"}},
		{"up to the longest wait", ruqi.Retry{Max: 4, Delay: time.Minute, MaxDelay: 150 * time.Second}, failing(9),
			[]string{"1 failed 0s", "2 failed 1m0s", "3 failed 2m0s", "4 failed 2m30s", "5 failed 2m30s"}},
		{"longer than the default of the longest", ruqi.Retry{Max: 1, Delay: 2 * time.Hour}, failing(9), []string{"1 failed 0s", "2 failed 2h0m0s"}},
		{"after its timeout", ruqi.Retry{Max: 1}, sleeping(time.Hour), []string{"1 timed_out 0s", "2 timed_out 10s"}},
		{"after a panic", ruqi.Retry{Max: 1}, func(context.Context) error { panic("oh") }, []string{"1 failed 0s", "2 failed 10s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				var retrying []ruqi.Event
				w.s.Listen(func(e ruqi.Event) { retrying = append(retrying, e) }, ruqi.EventRunRetrying)
				w.start()
				w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.Date(time.Now().Add(time.Second)), Task: ruqi.Do(c.task), Policy: ruqi.Policy{Retry: &c.retry, Timeout: time.Minute}})
				time.Sleep(6 * time.Hour)
				all := runs(t, w.s, "x")
				if told := attempts(t, all); !slices.Equal(told, c.want) {
					t.Errorf("got %q, want %q", told, c.want)
				}
				for _, run := range all {
					if late := run.Started.Sub(run.Due); late < 0 || late > time.Second {
						t.Errorf("attempt %d started %s after it was due", run.Attempt, late)
					}
				}
				w.stop()
				if len(retrying) != len(c.want)-1 {
					t.Errorf("%d times it was told that a run is tried again, want %d", len(retrying), len(c.want)-1)
				}
				if job, err := w.s.Job(t.Context(), "x"); err != nil || job.RunCount != 1 {
					t.Errorf("%d fires were counted, %v", job.RunCount, err)
				}
			})
		})
	}
}

// What the first attempt left in its row is not the second one's.
func TestAnAttemptBeginsWithNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.Date(time.Now().Add(time.Second)), Params: []byte(`{"a":1}`), Policy: ruqi.Policy{Retry: &ruqi.Retry{Max: 1}}, Task: ruqi.Do(func(ctx context.Context) error {
			_, _ = ruqi.Output(ctx).Write([]byte("said"))
			return errBroken
		})})
		time.Sleep(5 * time.Second)
		all := runs(t, w.s, "x")
		if len(all) != 2 || all[1].State != ruqi.RunQueued {
			t.Fatalf("the runs are %v", states(all))
		}
		again := all[1]
		if again.OutputBytes != 0 || again.Started != nil || again.Finished != nil || again.Owner != (ruqi.Owner{}) || again.ExitCode != nil || string(again.Params) != `{"a":1}` {
			t.Errorf("the attempt that waits is %+v", again)
		}
		if want := "attempt 2 of 2, 10s after the one before: broken"; again.Reason != want {
			t.Errorf("its reason is %q, want %q", again.Reason, want)
		}
		w.stop()
	})
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, w *world) // 5 s after the first attempt failed, 5 s before the second is due
		want []string
	}{
		{"nothing is done", func(*testing.T, *world) {}, []string{"1 failed", "2 failed"}},
		{"the job is removed", func(t *testing.T, w *world) {
			if err := w.s.RemoveJob(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		}, []string{"1 failed", "2 cancelled"}},
		{"the attempt is cancelled", func(t *testing.T, w *world) {
			if _, err := w.s.CancelRun(t.Context(), runs(t, w.s, "x")[1].ID, "me"); err != nil {
				t.Error(err)
			}
		}, []string{"1 failed", "2 cancelled"}},
		{"the job is paused", func(t *testing.T, w *world) {
			if _, err := w.s.PauseJob(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		}, []string{"1 failed", "2 queued"}},
		{"the job has no retries any more", func(t *testing.T, w *world) { // that attempt was promised
			if _, err := w.s.ModifyJob(t.Context(), "x", func(j *ruqi.Job) error { j.Policy.Retry = nil; return nil }); err != nil {
				t.Error(err)
			}
		}, []string{"1 failed", "2 failed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(failing(9)), Policy: ruqi.Policy{Retry: &ruqi.Retry{Max: 1}}})
				time.Sleep(time.Hour + 5*time.Second)
				c.do(t, w)
				time.Sleep(10 * time.Minute)
				var told []string
				for _, run := range runs(t, w.s, "x") {
					told = append(told, fmt.Sprintf("%d %s", run.Attempt, run.State))
				}
				if !slices.Equal(told, c.want) {
					t.Errorf("got %q, want %q", told, c.want)
				}
				w.stop()
			})
		})
	}
}

// A run that was cancelled was not wanted; a shutdown is no failure of the task.
func TestACancelledRunIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{Drain: -1})
		w.start()
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(sleeping(30 * time.Minute)), Policy: ruqi.Policy{Retry: &ruqi.Retry{Max: 5}}})
		time.Sleep(time.Hour + time.Minute)
		if _, err := w.s.CancelRun(t.Context(), runs(t, w.s, "x")[0].ID, "me"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.stop()
		if all := runs(t, w.s, "x"); len(all) != 2 || states(all)[ruqi.RunCancelled] != 2 {
			t.Errorf("the runs are %v", states(all))
		}
	})
}

// Nor is one whose end was asked for on another instance, when it fails before its own has heard of that.
func TestARunThatFailsAfterItsCancelIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		registry := newRegistry()
		ruqi.Func(registry, "fail", func(ctx context.Context, _ struct{}) error { return errors.Join(sleeping(time.Minute)(ctx), errBroken) })
		s := newScheduler(t, g, registry, ruqi.Options{Lease: 10 * time.Minute})
		other := newScheduler(t, g.Store, registry, ruqi.Options{Instance: "other"}) // not started
		retrying := 0
		s.Listen(func(ruqi.Event) { retrying++ }, ruqi.EventRunRetrying)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("fail", nil), Policy: ruqi.Policy{Retry: &ruqi.Retry{Max: 3}}}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + 30*time.Second)
		g.refuse.Store(true) // it cannot hear
		if _, err := other.CancelRun(t.Context(), runs(t, other, "x")[0].ID, "me"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		g.refuse.Store(false)
		time.Sleep(10 * time.Minute)
		all := runs(t, s, "x")
		if len(all) != 1 || all[0].State != ruqi.RunFailed || all[0].CancelBy != "me" {
			t.Errorf("the runs are %v", states(all))
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if retrying != 0 {
			t.Errorf("%d times it was told that the run is tried again", retrying)
		}
	})
}

// A job that is removed when it has finished stays until its last attempt has ended.
func TestAFinishedJobStaysForItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		policy := ruqi.Policy{Retry: &ruqi.Retry{Max: 2}, DeleteWhenFinished: true}
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.Date(time.Now().Add(time.Second)), Task: ruqi.Do(failing(2)), Policy: policy})
		time.Sleep(20 * time.Second) // the third attempt waits
		if job, err := w.s.Job(t.Context(), "x"); err != nil || job.State != ruqi.JobFinished {
			t.Errorf("the job is %s, %v", job.State, err)
		}
		time.Sleep(time.Minute)
		if _, err := w.s.Job(t.Context(), "x"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("the job is still there: %v", err)
		}
		if told := attempts(t, runs(t, w.s, "x")); !slices.Equal(told, []string{"1 failed 0s", "2 failed 10s", "3 succeeded 20s"}) {
			t.Errorf("got %q", told)
		}
		w.stop()
	})
}

// Fires go on while an attempt waits, and an attempt that finds the job at its limit waits for its turn.
func TestFiresGoOnBesideAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		first := true
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Policy: ruqi.Policy{Retry: &ruqi.Retry{Max: 1, Delay: 70 * time.Second}}, Task: ruqi.Do(func(ctx context.Context) error {
			if first {
				first = false
				return errBroken
			}
			return sleeping(40 * time.Second)(ctx)
		})})
		time.Sleep(4*time.Minute - time.Second)
		var told []string
		for _, run := range runs(t, w.s, "x") {
			told = append(told, fmt.Sprintf("%s %s", run.Cause, run.State))
		}
		// The attempt is due at 2:10, in the midst of the second minute's run, and runs from 2:40 on, into the third minute.
		if want := []string{"schedule failed", "retry succeeded", "schedule succeeded", "schedule skipped"}; !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
		w.stop()
	})
}

// A picky store takes no end with a certain reason.
type picky struct{ *memory.Store }

func (p *picky) Finish(ctx context.Context, o ruqi.Owner, all []ruqi.Done) ([]int64, error) {
	for i := range all {
		if all[i].Run.Reason == errBroken.Error() {
			return nil, errors.New("a text that cannot be stored")
		}
	}
	return p.Store.Finish(ctx, o, all)
}

// What follows from an end follows, too, when the store refuses the end and a plain failure is written in its place.
func TestAnEndThatIsRefusedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, &picky{memory.Open(memory.Options{})}, newRegistry(), ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		policy := ruqi.Policy{Retry: &ruqi.Retry{Max: 2}, DeleteWhenFinished: true}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: trigger.Date(time.Now().Add(time.Second)), Task: ruqi.Do(failing(9)), Policy: policy}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if told := attempts(t, runs(t, s, "x")); !slices.Equal(told, []string{"1 failed 0s", "2 failed 10s", "3 failed 20s"}) {
			t.Errorf("got %q", told)
		}
		if job, err := s.Job(t.Context(), "x"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("the job is still there: %s, %v", job.State, err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestRetriesThatCannotBe(t *testing.T) {
	w := newWorld(t, ruqi.Options{})
	for _, c := range []struct {
		retry   ruqi.Retry
		pointer string
	}{
		{ruqi.Retry{}, "/policy/retry/max"},
		{ruqi.Retry{Max: 101}, "/policy/retry/max"},
		{ruqi.Retry{Max: -1}, "/policy/retry/max"},
		{ruqi.Retry{Max: 1, Delay: -1}, "/policy/retry/delay"},
		{ruqi.Retry{Max: 1, Delay: 1000 * 24 * time.Hour}, "/policy/retry/delay"},
		{ruqi.Retry{Max: 1, MaxDelay: time.Second}, "/policy/retry/max_delay"},
		{ruqi.Retry{Max: 1, Backoff: "random"}, "/policy/retry/backoff"},
	} {
		_, _, err := w.s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Policy: ruqi.Policy{Retry: &c.retry}}, ruqi.Fail)
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || !slices.ContainsFunc(invalid.Faults, func(f ruqi.Fault) bool { return f.Pointer == c.pointer }) {
			t.Errorf("%+v: %v, want a fault of %s", c.retry, err, c.pointer)
		}
	}
}

func TestRetriesInADefinition(t *testing.T) {
	r := newRegistry()
	ruqi.Func(r, "f", func(context.Context, struct{}) error { return nil })
	const shape = `{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"func","name":"f"},"policy":{"retry":%s}}`
	for text, want := range map[string]*ruqi.Retry{
		`null`:                   nil,
		`{"max":3}`:              {Max: 3, Delay: 10 * time.Second, Backoff: "exponential", MaxDelay: time.Hour},
		`{"max":1,"delay":"2h"}`: {Max: 1, Delay: 2 * time.Hour, Backoff: "exponential", MaxDelay: 2 * time.Hour},
		`{"max":1,"delay":"250ms","backoff":"fixed","max_delay":"1m30s"}`: {Max: 1, Delay: 250 * time.Millisecond, Backoff: "fixed", MaxDelay: 90 * time.Second},
	} {
		spec, err := r.DecodeJob(fmt.Appendf(nil, shape, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := r.EncodeJob(spec)
		if err != nil {
			t.Fatal(err)
		}
		if spec, err = r.DecodeJob(again); err != nil {
			t.Fatal(err)
		}
		if got := spec.Policy.Retry; (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s is read as %+v, want %+v", text, got, want)
		}
	}
	for text, pointer := range map[string]string{
		`3`: "/policy/retry", `{"max":0}`: "/policy/retry/max", `{"max":1,"delay":"0s"}`: "/policy/retry/delay", `{"max":1,"often":true}`: "/policy/retry/often",
		`{"max":1,"max":2}`: "/policy/retry/max", `{"max":1.5}`: "/policy/retry/max", `{"max":1,"delay":5}`: "/policy/retry/delay",
	} {
		_, err := r.DecodeJob(fmt.Appendf(nil, shape, text))
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || invalid.Faults[0].Pointer != pointer {
			t.Errorf("%s: %v, want a fault of %s", text, err, pointer)
		}
	}
	for _, text := range []string{`{}`, `{"delay":"5s"}`, `{"backoff":"linear","max_delay":"1h"}`} { // a 0 that nobody wrote is not out of range
		_, err := r.DecodeJob(fmt.Appendf(nil, shape, text))
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "/policy/retry/max" || !strings.HasPrefix(invalid.Faults[0].Message, "missing; ") {
			t.Errorf("%s: %v, want that max is missing", text, err)
		}
	}
}
