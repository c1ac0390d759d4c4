package ruqi_test

import (
	"context"
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

// outcomes tells of each run when it was due, when it started and ended, in seconds after begin, and its state.
func outcomes(begin time.Time, all []ruqi.Run) []string {
	after := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return fmt.Sprint(t.Sub(begin).Round(time.Second).Seconds())
	}
	slices.SortStableFunc(all, func(a, b ruqi.Run) int { return a.Nominal.Compare(b.Nominal) })
	var told []string
	for _, run := range all {
		told = append(told, fmt.Sprintf("%s: %s-%s %s", after(&run.Nominal), after(run.Started), after(run.Finished), run.State))
	}
	return told
}

// Six fires, ten seconds apart, of a task that takes 24 s.
func TestWhatAFireDoesAtTheLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy ruqi.Policy
		want   []string
	}{
		{"skip", ruqi.Policy{}, []string{
			"0: 0-24 succeeded", "10: --10 skipped", "20: --20 skipped", "30: 30-54 succeeded", "40: --40 skipped", "50: --50 skipped",
		}},
		{"queue", ruqi.Policy{Overlap: ruqi.OverlapQueue}, []string{
			"0: 0-24 succeeded", "10: 24-48 succeeded", "20: 48-72 succeeded", "30: 72-96 succeeded", "40: 96-120 succeeded", "50: 120-144 succeeded",
		}},
		{"queue, two of which may wait", ruqi.Policy{Overlap: ruqi.OverlapQueue, CatchupLimit: 2}, []string{
			"0: 0-24 succeeded", "10: 24-48 succeeded", "20: 48-72 succeeded", "30: 72-96 succeeded", "40: --40 skipped", "50: 96-120 succeeded",
		}},
		{"queue_one", ruqi.Policy{Overlap: ruqi.OverlapQueueOne}, []string{
			"0: 0-24 succeeded", "10: 24-48 succeeded", "20: --20 skipped", "30: 48-72 succeeded", "40: --40 skipped", "50: 72-96 succeeded",
		}},
		{"cancel_running", ruqi.Policy{Overlap: ruqi.OverlapCancelRunning}, []string{
			"0: 0-10 cancelled", "10: 10-20 cancelled", "20: 20-30 cancelled", "30: 30-40 cancelled", "40: 40-50 cancelled", "50: 50-74 succeeded",
		}},
		{"allow", ruqi.Policy{Overlap: ruqi.OverlapAllow}, []string{
			"0: 0-24 succeeded", "10: 10-34 succeeded", "20: 20-44 succeeded", "30: 30-54 succeeded", "40: 40-64 succeeded", "50: 50-74 succeeded",
		}},
		{"queue beside another", ruqi.Policy{Overlap: ruqi.OverlapQueue, MaxInstances: 2}, []string{
			"0: 0-24 succeeded", "10: 10-34 succeeded", "20: 24-48 succeeded", "30: 34-58 succeeded", "40: 48-72 succeeded", "50: 58-82 succeeded",
		}},
		{"cancel_running, two of them", ruqi.Policy{Overlap: ruqi.OverlapCancelRunning, MaxInstances: 2}, []string{
			"0: 0-20 cancelled", "10: 10-20 cancelled", "20: 20-40 cancelled", "30: 30-40 cancelled", "40: 40-64 succeeded", "50: 50-74 succeeded",
		}},
		{"queue of a job with few runs", ruqi.Policy{Overlap: ruqi.OverlapQueue, MaxRuns: 3}, []string{
			"0: 0-24 succeeded", "10: 24-48 succeeded", "20: 48-72 succeeded",
		}},
		{"what waits is not too late", ruqi.Policy{Overlap: ruqi.OverlapQueueOne, MisfireGrace: ptr(time.Second)}, []string{
			"0: 0-24 succeeded", "10: 24-48 succeeded", "20: --20 skipped", "30: 48-72 succeeded", "40: --40 skipped", "50: 72-96 succeeded",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				begin := time.Now().Add(10 * time.Second)
				end := begin.Add(50 * time.Second)
				every, err := trigger.Interval(10*time.Second, trigger.IntervalOptions{Start: &begin, End: &end})
				if err != nil {
					t.Fatal(err)
				}
				w.add(ruqi.JobSpec{ID: "x", Trigger: every, Task: ruqi.Do(sleeping(24 * time.Second)), Policy: c.policy})
				time.Sleep(10 * time.Minute)
				all := runs(t, w.s, "x")
				if told := outcomes(begin, all); !slices.Equal(told, c.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(c.want, "\n"))
				}
				for _, run := range all {
					if run.State != ruqi.RunSucceeded && run.Reason == "" {
						t.Errorf("the run of %s is %s without a reason", run.Nominal, run.State)
					}
				}
				counted := 0
				for _, run := range all {
					if run.State.Started() {
						counted++
					}
				}
				if job, err := w.s.Job(t.Context(), "x"); err != nil || job.RunCount != int64(counted) || job.State != ruqi.JobFinished {
					t.Errorf("%d runs were counted, want %d; the job is %s, %v", job.RunCount, counted, job.State, err)
				}
				w.stop()
			})
		})
	}
}

// A fire that waits is like any row that waits: it goes with its job, waits while that is paused, and can be cancelled.
func TestAFireThatWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, w *world, waits int64)
		want string
	}{
		{"the job is removed", func(t *testing.T, w *world, _ int64) {
			if err := w.s.RemoveJob(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		}, "cancelled"},
		{"the job is paused", func(t *testing.T, w *world, _ int64) {
			if _, err := w.s.PauseJob(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		}, "queued"},
		{"it is cancelled", func(t *testing.T, w *world, waits int64) {
			if _, err := w.s.CancelRun(t.Context(), waits, "me"); err != nil {
				t.Error(err)
			}
		}, "cancelled"},
		{"overlap is not to queue any more", func(t *testing.T, w *world, _ int64) {
			if _, err := w.s.ModifyJob(t.Context(), "x", func(j *ruqi.Job) error { j.Policy.Overlap = ruqi.OverlapSkip; return nil }); err != nil {
				t.Error(err)
			}
		}, "succeeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(90 * time.Second)), Policy: ruqi.Policy{Overlap: ruqi.OverlapQueue}})
				time.Sleep(2*time.Minute + 10*time.Second)
				all := runs(t, w.s, "x")
				if len(all) != 2 || all[1].State != ruqi.RunQueued || all[1].Cause != ruqi.CauseSchedule {
					t.Fatalf("the runs are %v", states(all))
				}
				c.do(t, w, all[1].ID)
				time.Sleep(3 * time.Minute)
				if all := runs(t, w.s, "x"); string(all[1].State) != c.want {
					t.Errorf("it is %s, want %s", all[1].State, c.want)
				}
				if err := w.s.RemoveJob(context.Background(), "x"); err != nil && c.name != "the job is removed" {
					t.Error(err)
				}
				w.stop()
			})
		})
	}
}

// What waits runs the task that its job has when its turn comes, and its row says so.
func TestARowSaysWhatItRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newRegistry()
		for _, name := range []string{"old", "new"} {
			ruqi.Func(registry, name, func(ctx context.Context, _ struct{}) error {
				fmt.Fprint(ruqi.Output(ctx), name)
				return sleeping(90 * time.Second)(ctx)
			})
		}
		s := newScheduler(t, memory.Open(memory.Options{}), registry, ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		spec := ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Call("old", nil), Policy: ruqi.Policy{Overlap: ruqi.OverlapQueue}}
		if _, _, err := s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute + 10*time.Second)
		if _, err := s.ModifyJob(t.Context(), "x", func(j *ruqi.Job) error { j.Task = ruqi.Call("new", nil); return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		for i, run := range runs(t, s, "x")[:3] {
			part, err := s.Output(t.Context(), run.ID, 0, 100)
			if said := string(part.Bytes); err != nil || run.Task != said || said != []string{"old", "new", "new"}[i] {
				t.Errorf("run %d says it ran %q, and was %q, %v", i, run.Task, said, err)
			}
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A batch that finds its job at the limit waits row by row.
func TestABatchThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		takes := 170 * time.Second // the first of them
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Policy: ruqi.Policy{Overlap: ruqi.OverlapQueue, Coalesce: ptr(false)}, Task: ruqi.Do(func(ctx context.Context) error {
			long := takes
			takes = 10 * time.Second
			return sleeping(long)(ctx)
		})})
		begin := time.Now()
		if _, err := w.s.RunNow(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.s.Pause()
		time.Sleep(2*time.Minute + 30*time.Second)
		w.s.Resume()
		time.Sleep(44 * time.Second)
		want := []string{"0: 0-170 succeeded", "60: 170-180 succeeded", "120: 180-190 succeeded", "180: 190-- running"}
		if told := outcomes(begin, runs(t, w.s, "x")); !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
		w.stop()
	})
}

// What is left of a batch is active, and not wanted any more when a newer fire comes.
func TestANewerFireCancelsWhatIsLeftOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		begin := time.Now()
		policy := ruqi.Policy{Overlap: ruqi.OverlapCancelRunning, Coalesce: ptr(false)}
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(90 * time.Second)), Policy: policy})
		w.s.Pause()
		time.Sleep(4*time.Minute + time.Second)
		w.s.Resume() // four fires are due
		time.Sleep(2 * time.Minute)
		want := []string{"60: 241-300 cancelled", "120: --300 cancelled", "180: --300 cancelled", "240: --300 cancelled", "300: 300-360 cancelled", "360: 360-- running"}
		if told := outcomes(begin, runs(t, w.s, "x")); !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
		w.stop()
	})
}

// When an instance comes back, what waited is started, and waits no longer: the fire that became due meanwhile takes its place.
func TestAFireTakesThePlaceOfOneThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		begin := time.Now()
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(90 * time.Second)), Policy: ruqi.Policy{Overlap: ruqi.OverlapQueueOne}})
		time.Sleep(2*time.Minute + time.Second)
		w.s.Pause() // one runs, until 2:30, and one waits
		time.Sleep(6 * time.Minute)
		w.s.Resume()
		time.Sleep(10 * time.Second)
		want := []string{"60: 60-150 succeeded", "120: 481-- running", "480: --- queued"}
		if told := outcomes(begin, runs(t, w.s, "x")); !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
		w.stop()
	})
}

// A job whose runs do not hear is asked again with each fire, and so is whatever came to run meanwhile.
func TestEachFireAsksWhatRunsToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(59 * time.Minute)), Policy: ruqi.Policy{Overlap: ruqi.OverlapCancelRunning}})
		time.Sleep(time.Minute + time.Second)
		first := runs(t, w.s, "x")[0]
		byHand, err := w.s.RunNow(t.Context(), "x", nil) // it waits before the next fire does
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if all := runs(t, w.s, "x"); states(all)[ruqi.RunCancelled] != 1 || all[0].ID != first.ID {
			t.Errorf("after the second fire the runs are %v", states(all))
		}
		time.Sleep(time.Minute)
		if run, err := w.s.FindRun(t.Context(), byHand.ID); err != nil || run.State != ruqi.RunCancelled {
			t.Errorf("what was started by hand in between is %s after the third fire, %v", run.State, err)
		}
		w.stop()
	})
}
