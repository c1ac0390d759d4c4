package ruqi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A broken record neither stops the loop nor is lost; mended, it goes on.
func TestAJobThatCannotBeReadIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s := newScheduler(t, store, newRegistry(), ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		parked := make(chan ruqi.Event, 10)
		s.Listen(func(e ruqi.Event) { parked <- e }, ruqi.EventJobParked)
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "works", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		put := func(spec string, version int64) {
			_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"odd"}}, func(now time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
				return ruqi.Change{Job: &ruqi.JobRecord{ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "func:closure", MaxInstances: 1,
					NextNominal: &now, NextDue: &now, Version: version, Spec: []byte(spec)}}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		put(`{"v":9,"trigger":{"kind":"moon","phase":"full"},"task":{"kind":"func","name":"closure"}}`, 1)
		time.Sleep(10*time.Second + 500*time.Millisecond)
		if n := len(runs(t, s, "works")); n != 10 {
			t.Errorf("beside a broken job another ran %d times in ten seconds", n)
		}
		job, err := s.Job(t.Context(), "odd")
		if err != nil || !strings.Contains(job.Parked, "moon") {
			t.Fatalf("the job is shown as parked %q, %v", job.Parked, err)
		}
		if data, err := job.Trigger.MarshalJSON(); err != nil || !strings.Contains(string(data), "full") {
			t.Errorf("its trigger is kept as %s, %v", data, err)
		}
		if e := <-parked; e.JobID != "odd" {
			t.Errorf("the event names %q", e.JobID)
		}
		if _, err := s.PauseJob(t.Context(), "odd"); err != nil {
			t.Errorf("it cannot be paused: %v", err)
		}
		if all := runs(t, s, "odd"); len(all) != 1 || all[0].State != ruqi.RunMissed {
			t.Errorf("its due fire is settled as %v", states(all))
		}
		if err := s.RemoveJob(t.Context(), "odd"); err != nil {
			t.Errorf("it cannot be removed: %v", err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A function that this program does not have is another program's: its job is shown as it is and can be changed, and waits.
func TestAJobWhoseFunctionIsOfAnotherProgramIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s := newScheduler(t, store, newRegistry(), ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		const spec = `{"v":1,"name":"other","trigger":{"kind":"interval","every":"1s","anchor":"2000-01-01T00:00:00Z"},"task":{"kind":"func","name":"elsewhere","args":{"to":"x"}},"params":{"b":2}}`
		_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"other"}}, func(now time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
			due := now.Add(time.Second)
			return ruqi.Change{Job: &ruqi.JobRecord{ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "func:elsewhere", MaxInstances: 1,
				NextNominal: &due, NextDue: &due, Version: 1, Spec: []byte(spec)}}
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second + 500*time.Millisecond)
		job, err := s.Job(t.Context(), "other")
		if err != nil || fmt.Sprint(job.Task) != `elsewhere{"to":"x"}` || job.Parked == "" || strings.Contains(job.Parked, "read") {
			t.Errorf("it is shown as %v, parked %q, %v", job.Task, job.Parked, err)
		}
		if all := runs(t, s, "other"); len(all) != 0 {
			t.Errorf("it ran here: %v", states(all))
		}
		modify := func(change func(job *ruqi.Job)) error {
			_, err := s.ModifyJob(t.Context(), "other", func(job *ruqi.Job) error { change(job); return nil })
			return err
		}
		if err := modify(func(job *ruqi.Job) { job.Description, job.Trigger = "said", trigger.EveryDuration(time.Minute) }); err != nil {
			t.Errorf("all but its task is changed: %v", err)
		}
		var invalid *ruqi.InvalidError
		err = modify(func(job *ruqi.Job) { job.Task = ruqi.Call("elsewhere", map[string]string{"to": "y"}) })
		if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "/task/name" {
			t.Errorf("its arguments are changed: %v", err)
		}
		if _, err := s.PauseJob(t.Context(), "other"); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Any number of jobs that cannot be read stand in nobody's way.
func TestManyUnreadableJobsStandInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s := newScheduler(t, store, newRegistry(), ruqi.Options{Slots: map[string]int{"default": 4}})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{fmt.Sprint("odd", i)}}, func(now time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
				due := now.Add(-time.Hour)
				return ruqi.Change{Job: &ruqi.JobRecord{ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "func:closure", MaxInstances: 1,
					NextNominal: &due, NextDue: &due, Version: 1, Spec: []byte(`{"trigger":{"kind":"moon"},"task":{"kind":"func","name":"closure"}}`)}}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "good", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute + 500*time.Millisecond)
		if all := runs(t, s, "good"); len(all) < 110 {
			t.Errorf("beside 400 jobs that cannot be read a good one ran %d times in 120 s", len(all))
		}
		if status, err := s.Status(t.Context()); err != nil || status.Parked != 400 {
			t.Errorf("%d jobs are counted as parked, %v", status.Parked, err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A panicking trigger fires until it is told to break.
type panicking struct {
	ruqi.Trigger
	broken *atomic.Bool
}

func (p panicking) Next(after time.Time) (time.Time, bool) {
	if p.broken.Load() {
		panic("no more")
	}
	return p.Trigger.Next(after)
}

func (panicking) Kind() string { return "panicking" }

func (p panicking) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"kind": "panicking"})
}

// A job whose trigger panics is parked, and can be replaced and removed.
func TestAJobWhoseTriggerPanicsCanBeTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		var broken atomic.Bool
		every, err := trigger.EveryDuration(time.Minute).Bind(time.UTC, time.Now(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"paused", "replaced", "removed"} {
			w.add(ruqi.JobSpec{ID: id, Trigger: panicking{every, &broken}, Task: ruqi.Do(nothing)})
		}
		broken.Store(true)
		time.Sleep(2 * time.Minute)
		if job, err := w.s.Job(t.Context(), "paused"); err != nil || !strings.Contains(job.Parked, "no more") {
			t.Errorf("it is shown as parked %q, %v", job.Parked, err)
		}
		if _, err := w.s.PauseJob(t.Context(), "paused"); err != nil {
			t.Error(err)
		}
		if _, _, err := w.s.AddJob(t.Context(), ruqi.JobSpec{ID: "replaced", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(nothing)}, ruqi.Replace); err != nil {
			t.Error(err)
		}
		if err := w.s.RemoveJob(t.Context(), "removed"); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"paused", "replaced", "removed"} {
			if all := runs(t, w.s, id); len(all) != 1 || all[0].State != ruqi.RunMissed {
				t.Errorf("%s: its due fire is settled as %v", id, states(all))
			}
		}
		time.Sleep(2 * time.Minute)
		if all := runs(t, w.s, "replaced"); len(all) < 2 {
			t.Errorf("the replaced job went on with %v", states(all))
		}
	})
}

func TestBadInputNamesEveryField(t *testing.T) {
	s := newScheduler(t, memory.Open(memory.Options{}), newRegistry(), ruqi.Options{})
	_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{
		ID: "..", Name: strings.Repeat("x", 256), Trigger: trigger.Crontab("61 * * * *"), Task: ruqi.Call("nowhere", nil), Priority: 2_000_000,
		Params: []byte(`[]`), Tags: []string{"ok", "a\x00b"}, Policy: ruqi.Policy{MaxInstances: -1, Overlap: "never", Jitter: -1, Retry: &ruqi.Retry{}},
	}, ruqi.Fail)
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, ruqi.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	got := map[string]bool{}
	for _, f := range invalid.Faults {
		got[f.Pointer] = true
	}
	for _, want := range []string{"/id", "/name", "/trigger/expr", "/task/name", "/priority", "/params", "/tags/1", "/policy/max_instances", "/policy/overlap", "/policy/jitter", "/policy/retry/max"} {
		if !got[want] {
			t.Errorf("the fault of %s is not named in %v", want, err)
		}
	}
	if page, err := s.Jobs(t.Context(), ruqi.JobQuery{}); err != nil || page.Total != 0 {
		t.Errorf("a refused job was half added: %d, %v", page.Total, err)
	}
}

// Of a task that cannot be read, the API shows no secrets either; the job itself keeps them.
func TestATaskThatCannotBeReadIsMasked(t *testing.T) {
	store := memory.Open(memory.Options{})
	s := newScheduler(t, store, newRegistry(), ruqi.Options{})
	const task = `{"headers":{"Accept":"text/plain","X-Api-Key":"s1"},"kind":"moon","n":1.50,"nested":[{"token":"s2","n":null}],"url":"https://u:s3@h/p"}`
	_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"odd"}}, func(_ time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
		return ruqi.Change{Job: &ruqi.JobRecord{ID: id, Name: id, State: ruqi.JobPaused, Pool: "default", Needs: "moon", MaxInstances: 1, Version: 1,
			Spec: []byte(`{"v":1,"trigger":{"kind":"moon"},"task":` + task + `}`)}}
	})
	if err != nil {
		t.Fatal(err)
	}
	job, err := s.Job(t.Context(), "odd")
	if err != nil {
		t.Fatal(err)
	}
	masker, ok := job.Task.(ruqi.Masker)
	if !ok {
		t.Fatalf("it is shown as it is: %T", job.Task)
	}
	const want = `{"headers":{"Accept":"text/plain","X-Api-Key":"********"},"kind":"moon","n":1.50,"nested":[{"n":null,"token":"********"}],"url":"https://u:********@h/p"}`
	if got, err := masker.Masked().MarshalJSON(); err != nil || string(got) != want {
		t.Errorf("it is shown as %s, %v", got, err)
	}
	if got, err := job.Task.MarshalJSON(); err != nil || string(got) != task {
		t.Errorf("it is kept as %s, %v", got, err)
	}
}
