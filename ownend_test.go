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
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A tidying executor runs functions, and is busy for a while once one has returned, as who waits for the last output of a program that
// left others behind.
type tidying struct {
	*gofunc.Executor
	takes time.Duration
	says  bool // that a function returned before its context ended
}

func (e *tidying) Execute(ctx context.Context, task ruqi.Task, execution ruqi.Execution) ruqi.Result {
	result := e.Executor.Execute(ctx, task, execution)
	result.ByItself = e.says && ctx.Err() == nil
	time.Sleep(e.takes)
	result.Note = "left 1 process behind"
	return result
}

// What ends a run's context when its task has ended by itself changes nothing, neither its state nor what follows.
func TestATaskThatEndedByItselfIsNotTakenForOneThatWasEnded(t *testing.T) {
	const works, tidies, timeout = 10 * time.Second, 2 * time.Second, 11 * time.Second
	cancel := func(s *ruqi.Scheduler, run int64) error {
		_, err := s.CancelRun(context.Background(), run, "a user")
		return err
	}
	shut := func(s *ruqi.Scheduler, _ int64) error { return s.Shutdown(context.Background()) }
	for _, c := range []struct {
		name    string
		timeout time.Duration
		at      time.Duration // when stop is called
		stop    func(s *ruqi.Scheduler, run int64) error
		silent  bool // it does not say that it ended by itself
		want    []string
	}{
		{"a timeout after the end", timeout, 0, nil, false, []string{"succeeded: left 1 process behind"}},
		{"a cancel after the end", 0, timeout, cancel, false, []string{"succeeded: left 1 process behind"}},
		{"a shutdown after the end", 0, timeout, shut, false, []string{"succeeded: left 1 process behind"}},
		{"a timeout before the end", works - time.Second, 0, nil, false, []string{
			"timed_out: ended after its timeout of 9s; left 1 process behind", "timed_out: ended after its timeout of 9s; left 1 process behind"}},
		{"a cancel before the end", 0, works - time.Second, cancel, false, []string{"cancelled: cancelled by a user; left 1 process behind"}},
		{"a shutdown before the end", 0, works - time.Second, shut, false, []string{"cancelled: its instance was shut down; left 1 process behind"}},
		{"what does not say so", timeout, 0, nil, true, []string{
			"timed_out: ended after its timeout of 11s; left 1 process behind", "timed_out: ended after its timeout of 11s; left 1 process behind"}},
	} {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", failing ", fails), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					registry := ruqi.NewRegistry()
					trigger.Register(registry)
					registry.RegisterExecutor(&tidying{gofunc.New(registry), tidies, !c.silent})
					s := newScheduler(t, memory.Open(memory.Options{}), registry, ruqi.Options{Drain: -1})
					if err := s.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					task := ruqi.Do(func(ctx context.Context) error {
						if err := sleeping(works)(ctx); err != nil || !fails {
							return err
						}
						return errors.New("no luck")
					})
					policy := ruqi.Policy{Timeout: c.timeout, Retry: &ruqi.Retry{Max: 1, Delay: time.Second}}
					if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: task, Policy: policy}, ruqi.Fail); err != nil {
						t.Fatal(err)
					}
					run, err := s.RunNow(t.Context(), "j", nil)
					if err != nil {
						t.Fatal(err)
					}
					if c.stop != nil {
						time.Sleep(c.at)
						if err := c.stop(s, run.ID); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Minute)
					var got []string
					for _, run := range runs(t, s, "j") {
						got = append(got, fmt.Sprint(run.State, ": ", run.Reason))
					}
					want := slices.Clone(c.want)
					if fails && strings.HasPrefix(want[0], "succeeded") {
						want[0] = "failed: no luck; left 1 process behind"
						if c.timeout > 0 { // who asked for an end, or for none to run, wants no other attempt
							want = append(want, want[0])
						}
					}
					if c.stop != nil && len(got) > 1 && strings.HasPrefix(got[1], "queued") {
						got = got[:1] // an attempt of another instance
					}
					if !slices.Equal(got, want) {
						t.Errorf("the runs are\n%q, want\n%q", got, want)
					}
					if err := s.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A slowError has a text that takes a while to make.
type slowError struct{ takes time.Duration }

func (e slowError) Error() string {
	time.Sleep(e.takes)
	return "no luck"
}

// What Execute returns with its context alive is an end by itself, however long what follows takes.
func TestATaskThatReturnedInTimeIsNotTimedOut(t *testing.T) {
	for name, task := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return slowError{2 * time.Second} },
		"a panic":  func(context.Context) error { panic(slowError{2 * time.Second}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				defer w.stop()
				w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(task), Policy: ruqi.Policy{Timeout: time.Second}})
				if _, err := w.s.RunNow(t.Context(), "j", nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if all := runs(t, w.s, "j"); len(all) != 1 || all[0].State != ruqi.RunFailed || !strings.HasSuffix(all[0].Reason, "no luck") {
					t.Errorf("the runs are %+v", all)
				}
			})
		})
	}
}
