package ruqi_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestARehearsalTellsWhatAnAddWouldDoAndDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newRegistry()
		ruqi.Func(registry, "f", func(context.Context, struct{}) error { return nil })
		s := newScheduler(t, memory.Open(memory.Options{}), registry, ruqi.Options{})
		w := &world{t: t, s: s}
		w.start()
		defer w.stop()
		spec := ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(6 * time.Hour), Task: ruqi.Call("f", nil), Params: json.RawMessage(`{"a":1,"b":2}`)}
		job, added, err := s.RehearseJob(t.Context(), spec, ruqi.Replace)
		if err != nil || added != ruqi.Created || job.Version != 1 || job.State != ruqi.JobActive || !job.NextNominal.Equal(time.Now().Add(6*time.Hour)) || job.Created.IsZero() {
			t.Errorf("a new job: %s %+v, %v", added, job, err)
		}
		if _, err := s.Job(t.Context(), "x"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Fatalf("the rehearsal added it: %v", err)
		}
		first := w.add(spec)
		time.Sleep(time.Hour)
		equal := spec
		equal.Params = json.RawMessage(`{ "b":2, "a":1 }`)
		if job, added, err = s.RehearseJob(t.Context(), equal, ruqi.Replace); err != nil || added != ruqi.Replaced || job.Version != 1 || !job.NextNominal.Equal(*first.NextNominal) {
			t.Errorf("an equal job: %s version %d, next at %v, %v", added, job.Version, job.NextNominal, err)
		}
		other := spec
		other.Trigger, other.Executor, other.Paused = trigger.EveryDuration(time.Hour), "nowhere", true
		if job, added, err = s.RehearseJob(t.Context(), other, ruqi.Replace); err != nil || added != ruqi.Replaced || job.Version != 2 || job.State != ruqi.JobPaused || !strings.Contains(job.Parked, "nowhere") {
			t.Errorf("a change: %s %+v, %v", added, job, err)
		}
		if _, _, err := s.RehearseJob(t.Context(), spec, ruqi.Fail); !errors.Is(err, ruqi.ErrExists) {
			t.Errorf("an id that is taken: %v", err)
		}
		past := spec
		past.ID, past.Trigger = "past", trigger.Date(time.Now().Add(-time.Hour))
		if _, _, err := s.RehearseJob(t.Context(), past, ruqi.Replace); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "no fire time left") {
			t.Errorf("what never fires: %v", err)
		}
		past.Trigger = trigger.Every(1).Monday().At("09:00").From("2000-01-04").Until("2000-01-05") // a Tuesday and a Wednesday
		if _, _, err := s.RehearseJob(t.Context(), past, ruqi.Replace); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "never fires: it has no fire time until its end, 2000-01-05T23:59:59") {
			t.Errorf("what has no fire time between its start and its end: %v", err)
		}
		if now, err := s.Job(t.Context(), "x"); err != nil || now.Version != 1 || now.Executor != first.Executor || now.State != ruqi.JobActive {
			t.Errorf("the job is now %+v, %v", now, err)
		}
	})
}

func TestMembersOfParamsInAnotherOrderAreNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		registry := newRegistry()
		ruqi.Func(registry, "f", func(context.Context, struct{}) error { return nil })
		w.s = newScheduler(t, w.store, registry, ruqi.Options{})
		spec := ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("f", nil), Params: json.RawMessage(`{"b":1.0,"a":[{"d":1,"c":2}]}`)}
		w.add(spec)
		for i, params := range []string{`{"a":[{"c":2,"d":1}],"b":1.0}`, `{"b":1.5,"a":[{"d":1,"c":2}]}`} {
			again := spec
			again.Params = json.RawMessage(params)
			if job, _, err := w.s.AddJob(t.Context(), again, ruqi.Replace); err != nil || job.Version != int64(i)+1 {
				t.Errorf("%s: version %d, %v", params, job.Version, err)
			}
		}
	})
}
