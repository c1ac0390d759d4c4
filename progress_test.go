package ruqi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A noting store notes the progress that it is given, and when.
type noting struct {
	*memory.Store
	mu    sync.Mutex // guards all below
	notes []note
	steps int
	away  bool
}

type note struct {
	at       time.Time
	fraction float64
	text     string
	output   int
}

func (s *noting) WriteRuns(ctx context.Context, owner ruqi.Owner, updates []ruqi.RunUpdate) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, ruqi.ErrUnavailable
	}
	s.steps++
	for _, u := range updates {
		if u.Progress != nil {
			s.notes = append(s.notes, note{time.Now(), *u.Progress, u.ProgressText, len(u.Output)})
		}
	}
	return s.Store.WriteRuns(ctx, owner, updates)
}

func (s *noting) noted() (notes []note, steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notes, s.steps
}

func (s *noting) beAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// notingWorld is a world that runs fn once, at once.
func notingWorld(t *testing.T, policy ruqi.Policy, fn func(context.Context) error) (*world, *noting) {
	t.Helper()
	store := &noting{Store: memory.Open(memory.Options{})}
	w := &world{t: t, store: store.Store, s: newScheduler(t, store, newRegistry(), ruqi.Options{})}
	w.start()
	w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(1000 * time.Hour), Task: ruqi.Do(fn), Policy: policy})
	if _, err := w.s.RunNow(t.Context(), "j", nil); err != nil {
		t.Fatal(err)
	}
	return w, store
}

// only is the one run of the job.
func (w *world) only() ruqi.Run {
	w.t.Helper()
	all := runs(w.t, w.s, "j")
	if len(all) != 1 {
		w.t.Fatalf("there are %d runs", len(all))
	}
	return all[0]
}

func wantProgress(t *testing.T, what string, run ruqi.Run, fraction float64, text string) {
	t.Helper()
	if run.Progress == nil || *run.Progress != fraction || run.ProgressText != text {
		t.Errorf("%s: the progress is %v %q, want %v %q", what, run.Progress, run.ProgressText, fraction, text)
	}
}

func TestProgressIsWrittenOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := notingWorld(t, ruqi.Policy{}, func(ctx context.Context) error {
			for i := range 1001 {
				ruqi.Progress(ctx, float64(i)/1000, fmt.Sprint("item ", i))
				time.Sleep(10 * time.Millisecond)
			}
			ruqi.Progress(ctx, 1, "all done")
			return nil
		})
		started := time.Now()
		for second := 1; second <= 10; second++ {
			time.Sleep(time.Until(started.Add(time.Duration(second)*time.Second + 5*time.Millisecond)))
			synctest.Wait()
			run := w.only()
			if run.State != ruqi.RunRunning || run.Progress == nil || *run.Progress*10 < float64(second-1)-0.1 {
				t.Fatalf("after %d s the run is %s at %v", second, run.State, run.Progress)
			}
		}
		time.Sleep(time.Second)
		w.stop()
		notes, _ := store.noted()
		for i, n := range notes {
			if n.output != 0 || !strings.HasPrefix(n.text, "item ") {
				t.Errorf("written was %+v", n)
			}
			if i > 0 && n.at.Sub(notes[i-1].at) < time.Second {
				t.Errorf("written was %v after %v", n, notes[i-1])
			}
		}
		if len(notes) < 10 || len(notes) > 12 {
			t.Errorf("progress of 10 s was written %d times", len(notes))
		}
		run := w.only()
		wantProgress(t, "at its end", run, 1, "all done")
		if run.State != ruqi.RunSucceeded || run.OutputBytes != 0 {
			t.Errorf("the run is %+v", run)
		}
	})
}

func TestProgressThatStaysIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := notingWorld(t, ruqi.Policy{}, func(ctx context.Context) error {
			for range 1000 {
				ruqi.Progress(ctx, 0.5, " half\n")
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		})
		time.Sleep(20 * time.Second)
		w.stop()
		if notes, steps := store.noted(); len(notes) != 1 || steps != 1 {
			t.Errorf("written was %v in %d steps", notes, steps)
		}
		wantProgress(t, "at its end", w.only(), 0.5, "half")
	})
}

func TestProgressGoesWithTheOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := notingWorld(t, ruqi.Policy{}, func(ctx context.Context) error {
			for i := range 50 {
				ruqi.Progress(ctx, float64(i)/50, "")
				if _, err := io.WriteString(ruqi.Output(ctx), "line\n"); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		})
		time.Sleep(10 * time.Second)
		w.stop()
		notes, steps := store.noted()
		if len(notes) < 4 || len(notes) > 6 || steps > 27 {
			t.Errorf("%d times progress in %d steps", len(notes), steps)
		}
		for _, n := range notes {
			if n.output == 0 {
				t.Errorf("%+v was written apart from the output", n)
			}
		}
		if run := w.only(); run.OutputBytes != 250 {
			t.Errorf("%d bytes of output are kept", run.OutputBytes)
		}
	})
}

func TestProgressOutlivesAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := notingWorld(t, ruqi.Policy{}, func(ctx context.Context) error {
			ruqi.Progress(ctx, 0.1, "begun")
			time.Sleep(5 * time.Second)
			began := time.Now()
			ruqi.Progress(ctx, 0.2, "while it is away")
			if took := time.Since(began); took > 0 {
				return fmt.Errorf("it was held up for %s", took)
			}
			time.Sleep(20 * time.Second)
			return nil
		})
		time.Sleep(2 * time.Second)
		wantProgress(t, "before", w.only(), 0.1, "begun")
		store.beAway(true)
		time.Sleep(10 * time.Second)
		wantProgress(t, "while the store is away", w.only(), 0.1, "begun")
		store.beAway(false)
		time.Sleep(1200 * time.Millisecond)
		wantProgress(t, "after", w.only(), 0.2, "while it is away")
		time.Sleep(20 * time.Second)
		w.stop()
		if run := w.only(); run.State != ruqi.RunSucceeded {
			t.Errorf("the run is %s: %s", run.State, run.Reason)
		}
	})
}

func TestResultsAreKeptHoweverTheRunEnds(t *testing.T) {
	give := func(value any, then func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			ruqi.Progress(ctx, 0.5, "half")
			if err := ruqi.SetResult(ctx, value); err != nil {
				return err
			}
			return then(ctx)
		}
	}
	boom := func(context.Context) error { panic("boom") }
	failing := func(context.Context) error { return errors.New("it went wrong") }
	tooMuch := strings.Repeat("x", ruqi.MaxResult)
	deaf := func(context.Context) error { time.Sleep(time.Hour); return nil }
	for name, c := range map[string]struct {
		task   func(context.Context) error
		state  ruqi.RunState
		reason string
		result string
	}{
		"success":        {give(map[string]any{"b": 1, "a": "<&>"}, nothing), ruqi.RunSucceeded, "", `{"a":"<&>","b":1}`},
		"an error":       {give([]int{1}, failing), ruqi.RunFailed, "it went wrong", `[1]`},
		"a panic":        {give("x", boom), ruqi.RunFailed, "panic: boom", `"x"`},
		"its timeout":    {give(1, sleeping(time.Hour)), ruqi.RunTimedOut, "ended after its timeout of 1m0s", `1`},
		"given up":       {give(1, deaf), ruqi.RunTimedOut, "ended after its timeout of 1m0s; it did not stop and was given up", `1`},
		"the last one":   {give(1, give(json.RawMessage(` { } `), nothing)), ruqi.RunSucceeded, "", `{}`},
		"taken back":     {give(1, give(nil, nothing)), ruqi.RunSucceeded, "", ``},
		"none":           {nothing, ruqi.RunSucceeded, "", ``},
		"too large":      {give(1, give(tooMuch, nothing)), ruqi.RunFailed, "set a result: 65538 bytes of JSON; accepted are at most 65536", `1`},
		"no JSON":        {give(json.RawMessage("{"), nothing), ruqi.RunFailed, "set a result: it cannot be encoded: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input", ``},
		"no value":       {give(func() {}, nothing), ruqi.RunFailed, "set a result: it cannot be encoded: json: unsupported type: func()", ``},
		"ends the job":   {give(1, func(context.Context) error { return ruqi.Finish }), ruqi.RunSucceeded, "", `1`},
		"a goroutine's":  {func(ctx context.Context) error { return inGoroutine(give(1, nothing), ctx) }, ruqi.RunSucceeded, "", `1`},
		"refused, heard": {func(ctx context.Context) error { return refused(ctx, tooMuch) }, ruqi.RunSucceeded, "", ``},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard []ruqi.Event
				listening := make(chan struct{})
				w, _ := notingWorld(t, ruqi.Policy{Timeout: time.Minute, KillGrace: time.Second}, func(ctx context.Context) error {
					<-listening
					return c.task(ctx)
				})
				remove := w.s.Listen(func(e ruqi.Event) { heard = append(heard, e) }, ruqi.EventRunExecuted, ruqi.EventRunError, ruqi.EventRunTimedOut)
				close(listening)
				time.Sleep(2 * time.Minute)
				run := w.only()
				if run.State != c.state || run.Reason != c.reason || string(run.Result) != c.result {
					t.Errorf("the run is %s (%s) with the result %.100q", run.State, run.Reason, run.Result)
				}
				if name != "none" && name != "refused, heard" {
					wantProgress(t, "at its end", run, 0.5, "half")
				} else if run.Progress != nil {
					t.Errorf("its progress is %v", *run.Progress)
				}
				time.Sleep(time.Hour)
				w.stop()
				remove()
				synctest.Wait()
				if len(heard) != 1 || string(heard[0].Run.Result) != c.result {
					t.Errorf("the end is told by %+v", heard)
				}
			})
		})
	}
}

func inGoroutine(task func(context.Context) error, ctx context.Context) error {
	done := make(chan error)
	go func() { done <- task(ctx) }()
	return <-done
}

func refused(ctx context.Context, value any) error {
	if err := ruqi.SetResult(ctx, value); !errors.Is(err, ruqi.ErrInvalid) {
		return fmt.Errorf("a result that is too large gives %w", err)
	}
	return nil
}

func TestWhatIsToldAfterTheEndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error, 1)
		w, store := notingWorld(t, ruqi.Policy{}, func(ctx context.Context) error {
			go func() {
				time.Sleep(10 * time.Second)
				ruqi.Progress(ctx, 1, "late")
				late <- ruqi.SetResult(ctx, "late")
			}()
			ruqi.Progress(ctx, 0.5, "half")
			return ruqi.SetResult(ctx, "in time")
		})
		if err := <-late; !errors.Is(err, ruqi.ErrEnded) {
			t.Errorf("a result after the end gives %v", err)
		}
		time.Sleep(5 * time.Second)
		w.stop()
		run := w.only()
		wantProgress(t, "after the end", run, 0.5, "half")
		if string(run.Result) != `"in time"` {
			t.Errorf("the result is %q", run.Result)
		}
		if notes, _ := store.noted(); len(notes) != 0 {
			t.Errorf("written apart from the end was %v", notes)
		}
	})
}

func TestAnotherAttemptBeginsWithNothingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := notingWorld(t, ruqi.Policy{Retry: &ruqi.Retry{Max: 1, Delay: time.Second}}, func(ctx context.Context) error {
			if run, _ := ruqi.CurrentRun(ctx); run.Attempt > 1 {
				return nil
			}
			ruqi.Progress(ctx, 0.5, "half")
			return errors.Join(ruqi.SetResult(ctx, 1), errors.New("once more"))
		})
		time.Sleep(time.Minute)
		w.stop()
		all := runs(t, w.s, "j")
		if len(all) != 2 || string(all[0].Result) != "1" || all[1].Result != nil || all[1].Progress != nil || all[1].ProgressText != "" || all[1].State != ruqi.RunSucceeded {
			t.Errorf("the attempts are %+v", all)
		}
	})
}

func TestManyMayTellAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := notingWorld(t, ruqi.Policy{}, func(ctx context.Context) error {
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					for range 50 {
						ruqi.Progress(ctx, float64(i)/20, fmt.Sprint(i))
						if err := ruqi.SetResult(ctx, i); err != nil {
							t.Error(err)
						}
						time.Sleep(50 * time.Millisecond)
					}
				})
			}
			all.Wait()
			return nil
		})
		time.Sleep(10 * time.Second)
		w.stop()
		run := w.only()
		if run.Progress == nil || fmt.Sprint(*run.Progress*20) != run.ProgressText || len(bytes.TrimSpace(run.Result)) == 0 {
			t.Errorf("a progress and a text that were not told together: %v %q, the result %s", run.Progress, run.ProgressText, run.Result)
		}
	})
}

func TestOutsideARunNothingIsTold(t *testing.T) {
	ruqi.Progress(t.Context(), 0.5, "half")
	if err := ruqi.SetResult(t.Context(), 1); err == nil || errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("a result outside a run gives %v", err)
	}
	ctx := ruqi.WithExecution(t.Context(), ruqi.Execution{}) // of an executor's test, say
	ruqi.Progress(ctx, 0.5, "half")
	if err := ruqi.SetResult(ctx, 1); err == nil {
		t.Error("a result that nobody takes is no fault")
	}
}
