package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// onStart is a job with RunOnStart and no time of its own, unless a change says otherwise.
func onStart(id string, task func(context.Context) error, change ...func(*ruqi.JobSpec)) ruqi.JobSpec {
	spec := ruqi.JobSpec{ID: id, Trigger: trigger.Crontab("@reboot"), Task: ruqi.Do(task), Policy: ruqi.Policy{RunOnStart: true}}
	for _, c := range change {
		c(&spec)
	}
	return spec
}

// starting starts a new scheduler of that name on the store, as a program that was started anew has one.
func starting(t *testing.T, store ruqi.JobStore, name string) *ruqi.Scheduler {
	t.Helper()
	s := newScheduler(t, store, newRegistry(), ruqi.Options{Instance: name})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func stopping(t *testing.T, s *ruqi.Scheduler) {
	t.Helper()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// told lists cause, state and reason of runs.
func told(all []ruqi.Run) []string {
	list := []string{}
	for _, run := range all {
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", run.Cause, run.State, run.Reason), ": "))
	}
	return list
}

func TestEachStartOfAnInstanceRunsTheJobOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s := starting(t, store, "a")
		w := &world{t: t, store: store, s: s}
		w.add(onStart("on", nothing))
		w.add(onStart("paused", nothing, func(spec *ruqi.JobSpec) { spec.Paused = true }))
		w.add(onStart("finished", nothing, func(spec *ruqi.JobSpec) { spec.Trigger, spec.Policy.MaxRuns = trigger.Crontab("* * * * *"), 1 }))
		w.add(onStart("both", nothing, func(spec *ruqi.JobSpec) { spec.Trigger, spec.Policy.MaxRuns = trigger.Crontab("0 0 * * *"), 9 }))
		off := onStart("off", nothing, func(spec *ruqi.JobSpec) {
			spec.Trigger, spec.Policy.RunOnStart = trigger.Crontab("0 0 * * *"), false
		})
		w.add(off)
		time.Sleep(2 * time.Minute)
		for id, want := range map[string]int{"on": 0, "paused": 0, "finished": 1, "both": 0, "off": 0} {
			if n := len(runs(t, s, id)); n != want {
				t.Errorf("job %s has %d runs after it was added, want %d", id, n, want)
			}
		}
		stopping(t, s)
		begin := time.Now().UTC().Truncate(time.Microsecond)
		for n := range 3 {
			s = starting(t, store, "a")
			time.Sleep(time.Minute)
			for id, want := range map[string]int{"on": n + 1, "paused": 0, "finished": 1, "both": n + 1, "off": 0} {
				if all := runs(t, s, id); len(all) != want {
					t.Errorf("job %s has after start %d the runs %q, want %d", id, n+1, told(all), want)
				}
			}
			stopping(t, s)
		}
		first := runs(t, s, "on")[0]
		if first.Cause != ruqi.CauseStartup || first.State != ruqi.RunSucceeded || !first.Nominal.Equal(begin) || !first.Due.Equal(begin) || first.Started == nil || first.Attempt != 1 || first.Task == "" {
			t.Errorf("the run of a start is %+v", first)
		}
		if job, err := s.Job(t.Context(), "both"); err != nil || job.RunCount != 0 || job.State != ruqi.JobActive {
			t.Errorf("after three starts the job has count %d and is %s, %v", job.RunCount, job.State, err)
		}
	})
}

func TestWhatAStartDoesAtTheLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy ruqi.Policy
		want   []string // after three starts, 1 s apart, of a task that takes 10 s
		states []ruqi.RunState
	}{
		{"skip", ruqi.Policy{}, []string{
			"startup running", "startup skipped: 1 active, 0 of earlier starts waiting, max_instances is 1",
			"startup skipped: 1 active, 0 of earlier starts waiting, max_instances is 1",
		}, []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunSkipped, ruqi.RunSkipped}},
		{"queue", ruqi.Policy{Overlap: ruqi.OverlapQueue}, []string{
			"startup running", "startup queued: 1 active, 0 of earlier starts waiting, max_instances is 1 (overlap: queue)",
			"startup queued: 1 active, 1 of earlier starts waiting, max_instances is 1 (overlap: queue)",
		}, []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunSucceeded, ruqi.RunSucceeded}},
		{"queue_one", ruqi.Policy{Overlap: ruqi.OverlapQueueOne}, []string{
			"startup running", "startup queued: 1 active, 0 of earlier starts waiting, max_instances is 1 (overlap: queue_one)",
			"startup skipped: 1 active, 1 of earlier starts waiting, max_instances is 1; of those that wait there may be 1 (overlap: queue_one)",
		}, []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunSucceeded, ruqi.RunSkipped}},
		{"allow", ruqi.Policy{Overlap: ruqi.OverlapAllow}, []string{"startup running", "startup running", "startup running"},
			[]ruqi.RunState{ruqi.RunSucceeded, ruqi.RunSucceeded, ruqi.RunSucceeded}},
		{"cancel_running", ruqi.Policy{Overlap: ruqi.OverlapCancelRunning}, []string{"startup cancelled", "startup cancelled", "startup running"},
			[]ruqi.RunState{ruqi.RunCancelled, ruqi.RunCancelled, ruqi.RunSucceeded}},
		{"skip, two at a time", ruqi.Policy{MaxInstances: 2}, []string{
			"startup running", "startup running", "startup skipped: 2 active, 0 of earlier starts waiting, max_instances is 2",
		}, []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunSucceeded, ruqi.RunSkipped}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.Open(memory.Options{})
				w := &world{t: t, store: store, s: newScheduler(t, store, newRegistry(), ruqi.Options{})}
				w.add(onStart("job", sleeping(10*time.Second), func(spec *ruqi.JobSpec) {
					spec.Policy = c.policy
					spec.Policy.RunOnStart = true
				}))
				time.Sleep(time.Millisecond)
				var all []*ruqi.Scheduler
				for n := range 3 { // the instances of a store: each start counts
					all = append(all, starting(t, store, fmt.Sprint(n)))
					time.Sleep(time.Second)
				}
				time.Sleep(1500 * time.Millisecond)
				got := told(runs(t, w.s, "job"))
				for i := range got {
					if strings.HasPrefix(got[i], "startup cancelled") || strings.HasPrefix(got[i], "startup running") {
						got[i] = strings.Join(strings.Fields(strings.ReplaceAll(got[i], ":", " "))[:2], " ")
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("after the starts there is %q, want %q", got, c.want)
				}
				time.Sleep(time.Minute)
				var states []ruqi.RunState
				for _, run := range runs(t, w.s, "job") {
					states = append(states, run.State)
				}
				if !slices.Equal(states, c.states) {
					t.Errorf("in the end they are %v, want %v", states, c.states)
				}
				for _, s := range all {
					stopping(t, s)
				}
			})
		})
	}
}

// As with a newer fire, what is left of a batch is active, and not wanted any more when a start takes its place.
func TestAStartCancelsWhatIsLeftOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		w := &world{t: t, store: store, s: newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "first"})}
		w.start()
		begin := time.Now()
		policy := ruqi.Policy{Overlap: ruqi.OverlapCancelRunning, Coalesce: ptr(false), RunOnStart: true}
		w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(90 * time.Second)), Policy: policy})
		w.s.Pause()
		time.Sleep(3*time.Minute + time.Second)
		w.s.Resume() // three fires are due
		time.Sleep(9 * time.Second)
		second := starting(t, store, "second")
		time.Sleep(30 * time.Second)
		want := []string{"60: 181-190 cancelled", "120: --190 cancelled", "180: --190 cancelled", "190: 190-- running"}
		if told := outcomes(begin, runs(t, w.s, "x")); !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
		stopping(t, second)
		w.stop()
	})
}

// A heldStore holds up the look for what a start is to cancel until held says go on.
type heldStore struct {
	*memory.Store
	job  string
	held func()
}

func (s *heldStore) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	if query.Job == s.job && slices.Contains(query.States, ruqi.RunRunning) {
		s.held()
	}
	return s.Store.Runs(ctx, query)
}

// Between the step that queues a start's run and the look for what it replaces, the one that ran may end and the start's own
// run begin: it must not be taken for the one that is to go.
func TestAStartDoesNotCancelItsOwnRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		w := &world{t: t, store: store, s: newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "first"})}
		w.start()
		release := make(chan struct{})
		var calls atomic.Int32
		w.add(onStart("x", func(ctx context.Context) error {
			if calls.Add(1) == 1 {
				<-release
				return nil
			}
			return sleeping(10 * time.Second)(ctx)
		}, func(spec *ruqi.JobSpec) { spec.Policy.Overlap = ruqi.OverlapCancelRunning }))
		if _, err := w.s.RunNow(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		looks := 0
		held := &heldStore{Store: store, job: "x", held: func() {
			if looks++; looks == 1 {
				close(release)
				time.Sleep(2 * time.Second) // the first instance claims what waits
			}
		}}
		second := starting(t, held, "second")
		time.Sleep(30 * time.Second)
		want := []string{"manual succeeded", "startup succeeded"}
		if got := told(runs(t, w.s, "x")); looks == 0 || len(got) != 2 || got[0] != want[0] || !strings.HasPrefix(got[1], want[1]) {
			t.Errorf("after %d looks got %q, want %q", looks, got, want)
		}
		stopping(t, second)
		w.stop()
	})
}

// A service that is started over and over and never comes to run anything leaves one run that waits, not one a start.
func TestStartsThatRunNothingLeaveOneRunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		w := &world{t: t, store: store, s: newScheduler(t, store, newRegistry(), ruqi.Options{})}
		w.add(onStart("job", nothing))
		time.Sleep(time.Millisecond)
		for range 3 {
			s := newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "a"})
			s.Pause()
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			stopping(t, s)
		}
		want := []string{"startup queued", "startup skipped: 0 active, 1 of earlier starts waiting, max_instances is 1", "startup skipped: 0 active, 1 of earlier starts waiting, max_instances is 1"}
		if got := told(runs(t, w.s, "job")); !slices.Equal(got, want) {
			t.Errorf("there is %q, want %q", got, want)
		}
	})
}

func TestAnInstanceThatCannotRunTheJobLeavesItToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		able := newRegistry()
		ran := make(chan struct{}, 1)
		ruqi.Func(able, "only here", func(context.Context, struct{}) error { ran <- struct{}{}; return nil })
		other := newScheduler(t, store, able, ruqi.Options{Instance: "able"})
		spec := onStart("job", nothing)
		spec.Task = ruqi.Call("only here", nil)
		if _, _, err := other.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		first := starting(t, store, "not able")
		time.Sleep(time.Minute)
		if got := told(runs(t, first, "job")); !slices.Equal(got, []string{"startup queued"}) {
			t.Errorf("where nobody can run it there is %q", got)
		}
		if err := other.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ran
		stopping(t, other)
		stopping(t, first)
	})
}

// An awayStore does not answer some edits: so many after so many that it answers.
type awayStore struct {
	*memory.Store
	first, away, edits atomic.Int32
}

func (s *awayStore) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	s.edits.Add(1)
	if s.first.Add(-1) < 0 && s.away.Add(-1) >= 0 {
		return nil, nil, fmt.Errorf("away: %w", ruqi.ErrUnavailable)
	}
	return s.Store.EditJobs(ctx, query, decide)
}

// What the store was away for is queued when it answers again, once; jobs that were added meanwhile belong to no start.
func TestAStartWaitsForItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &awayStore{Store: memory.Open(memory.Options{})}
		w := &world{t: t, s: newScheduler(t, store, newRegistry(), ruqi.Options{})}
		w.add(onStart("job", nothing))
		time.Sleep(time.Millisecond)
		store.away.Store(5)
		s := starting(t, store, "a")
		time.Sleep(time.Millisecond)
		if _, _, err := newScheduler(t, store.Store, newRegistry(), ruqi.Options{}).AddJob(t.Context(), onStart("later", nothing), ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := told(runs(t, s, "job")); !slices.Equal(got, []string{"startup succeeded"}) || store.edits.Load() < 6 {
			t.Errorf("after %d edits there is %q", store.edits.Load(), got)
		}
		if got := told(runs(t, s, "later")); len(got) != 0 {
			t.Errorf("a job that was added after the start has %q", got)
		}
		stopping(t, s)
	})
}

// More jobs than one step takes: what is queued before the store goes away is not queued again.
func TestAStartThatIsInterruptedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &awayStore{Store: memory.Open(memory.Options{})}
		w := &world{t: t, s: newScheduler(t, store.Store, newRegistry(), ruqi.Options{})}
		const jobs = ruqi.MaxPage + 500
		for i := range jobs {
			w.add(onStart(fmt.Sprint("job", i), nothing))
		}
		time.Sleep(time.Millisecond)
		store.first.Store(1)
		store.away.Store(3)
		s := starting(t, store, "a")
		time.Sleep(time.Minute)
		for i := range jobs {
			if all := runs(t, s, fmt.Sprint("job", i)); len(all) != 1 || all[0].State != ruqi.RunSucceeded {
				t.Fatalf("job %d has %q", i, told(all))
			}
		}
		stopping(t, s)
	})
}

func TestAJobWithoutTimesStaysActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		_, _, err := w.s.AddJob(t.Context(), onStart("job", nothing, func(spec *ruqi.JobSpec) { spec.Policy.RunOnStart = false }), ruqi.Fail)
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "/policy/run_on_start" || !strings.Contains(err.Error(), "policy.run_on_start") {
			t.Errorf("@reboot without run_on_start: %v", err)
		}
		idle := func(what string, job ruqi.Job, err error, want ruqi.JobState) {
			t.Helper()
			if err != nil || job.State != want || job.NextNominal != nil || job.NextDue != nil {
				t.Errorf("%s it is %s (%s), next %v, %v", what, job.State, job.StateReason, job.NextNominal, err)
			}
		}
		job := w.add(onStart("job", nothing))
		idle("after it was added", job, nil, ruqi.JobActive)
		job, err = w.s.PauseJob(t.Context(), "job")
		idle("paused", job, err, ruqi.JobPaused)
		job, err = w.s.ResumeJob(t.Context(), "job")
		idle("resumed", job, err, ruqi.JobActive)
		job, err = w.s.ModifyJob(t.Context(), "job", func(job *ruqi.Job) error { job.Description = "x"; return nil })
		idle("changed", job, err, ruqi.JobActive)
		if _, err = w.s.ModifyJob(t.Context(), "job", func(job *ruqi.Job) error { job.Policy.RunOnStart = false; return nil }); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("without run_on_start it is taken: %v", err)
		}

		at := time.Now().Add(time.Minute)
		w.add(onStart("once", nothing, func(spec *ruqi.JobSpec) { spec.Trigger = trigger.Date(at) }))
		time.Sleep(2 * time.Minute)
		job, err = w.s.Job(t.Context(), "once")
		idle("after its date", job, err, ruqi.JobActive)
		if got := told(runs(t, w.s, "once")); !slices.Equal(got, []string{"schedule succeeded"}) {
			t.Errorf("at its date there was %q", got)
		}
		job, err = w.s.ModifyJob(t.Context(), "once", func(job *ruqi.Job) error { job.Policy.RunOnStart = false; return nil })
		idle("without run_on_start, after its date", job, err, ruqi.JobFinished)
		job, err = w.s.ModifyJob(t.Context(), "once", func(job *ruqi.Job) error { job.Policy.RunOnStart = true; return nil })
		idle("with it again", job, err, ruqi.JobFinished)
		job, err = w.s.ResumeJob(t.Context(), "once")
		idle("resumed after its date", job, err, ruqi.JobActive)
	})
}

// A speechless task is of a kind of the user's own, and cannot say what it is.
type speechless struct{ *ruqi.FuncTask }

func (speechless) String() string { panic("no text") }

// An unsure store writes startup rows, and says that it does not know.
type unsure struct {
	*memory.Store
	told  atomic.Int32
	after func()
}

func (u *unsure) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	jobs, runs, err := u.Store.EditJobs(context.WithoutCancel(ctx), query, decide)
	if err == nil && query.OnStart && u.told.Add(1) == 1 {
		u.after()
		return nil, nil, errors.New("it is not known whether the step happened")
	}
	return jobs, runs, err
}

// What may have been written is not written again, whatever ended in the middle of it.
func TestAStartWhoseOutcomeIsNotKnownIsNotRepeated(t *testing.T) {
	for name, cut := range map[string]bool{"the answer is lost": false, "the context of Start ends in it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				store := &unsure{Store: memory.Open(memory.Options{}), after: func() {
					if cut {
						cancel()
					}
				}}
				w := &world{t: t, s: newScheduler(t, store, newRegistry(), ruqi.Options{})}
				w.add(onStart("job", nothing))
				time.Sleep(time.Second)
				if err := w.s.Start(ctx); err != nil && !cut {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if got := told(runs(t, w.s, "job")); len(got) != 1 {
					t.Errorf("the runs of one start are %q", got)
				}
				w.stop()
			})
		})
	}
}

// On a machine whose clock begins in the past jobs are newer than now; they were there before this start all the same.
func TestAStartUnderAClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Int64
		now := func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
		store := memory.Open(memory.Options{Now: now})
		first := newScheduler(t, store, newRegistry(), ruqi.Options{Now: now, Instance: "first"})
		w := &world{t: t, store: store, s: first}
		w.add(onStart("new", nothing))
		time.Sleep(time.Minute)
		back.Store(int64(48 * time.Hour))
		second := newScheduler(t, store, newRegistry(), ruqi.Options{Now: now, Instance: "second"})
		if err := second.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := told(runs(t, second, "new")); len(got) != 1 || got[0] != "startup succeeded" {
			t.Errorf("the runs of a start two days ago are %q", got)
		}
		stopping(t, second)
	})
}

// What panics for one job is the fault of that job alone.
func TestAStartPassesOverAJobThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s := newScheduler(t, store, newRegistry(), ruqi.Options{})
		w := &world{t: t, store: store, s: s}
		w.add(onStart("a", nothing))
		w.add(onStart("b", nothing))
		_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"a"}}, func(_ time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
			changed, spec := *old, *old.Live
			spec.Task = speechless{ruqi.Do(nothing)}
			changed.Live, changed.Version = &spec, old.Version+1
			return ruqi.Change{Job: &changed}
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.start()
		time.Sleep(10 * time.Second)
		if got := told(runs(t, s, "b")); len(got) != 1 || got[0] != "startup succeeded" {
			t.Errorf("beside a job that panics the runs are %q", got)
		}
		w.stop()
	})
}
