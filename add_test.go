package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestEachOfManyJobsIsAddedForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		hourly := func(id string) ruqi.JobSpec {
			return ruqi.JobSpec{ID: id, Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)}
		}
		daily := ruqi.JobSpec{ID: "changed", Trigger: trigger.Crontab("@daily"), Task: ruqi.Do(nothing)}
		before := w.add(hourly("there"))
		w.add(hourly("changed"))
		specs := []ruqi.JobSpec{hourly("a"), {ID: "bad", Task: ruqi.Do(nothing)}, hourly("there"), hourly("a"), daily, {Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)}}
		for _, c := range []struct {
			how  ruqi.OnConflict
			want string
		}{
			{ruqi.Fail, "created changed|invalid|exists|invalid|exists|created changed"},
			{ruqi.Keep, "kept|invalid|kept|invalid|kept|created changed"},
			// A closure is never the same as another.
			{ruqi.Replace, "replaced changed|invalid|replaced changed|invalid|replaced changed|created changed"},
		} {
			all, err := w.s.AddJobs(t.Context(), specs, c.how)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, a := range all {
				switch {
				case errors.Is(a.Err, ruqi.ErrInvalid):
					got += "invalid"
				case errors.Is(a.Err, ruqi.ErrExists):
					got += "exists"
				default:
					if got += string(a.Added); a.Changed {
						got += " changed"
					}
					if a.Err != nil || a.Job.NextNominal == nil || specs[i].ID != "" && a.Job.ID != specs[i].ID {
						t.Errorf("%s: job %d is %+v", c.how, i, a)
					}
				}
				if i < len(all)-1 {
					got += "|"
				}
			}
			if got != c.want {
				t.Errorf("%s: %s, want %s", c.how, got, c.want)
			}
		}
		after, err := w.s.Job(t.Context(), "there")
		if err != nil || !after.NextNominal.Equal(*before.NextNominal) {
			t.Errorf("an equal trigger lost its rhythm: %v, was %v, %v", after.NextNominal, before.NextNominal, err)
		}
		if _, err := w.s.AddJobs(t.Context(), specs, "perhaps"); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("an unknown word: %v", err)
		}
		if all, err := w.s.AddJobs(t.Context(), nil, ""); err != nil || len(all) != 0 {
			t.Errorf("none: %v, %v", all, err)
		}
		time.Sleep(time.Hour + time.Second)
		if n := len(runs(t, w.s, "a")); n != 1 {
			t.Errorf("it ran %d times within the hour", n)
		}
	})
}

func TestMoreJobsThanOneStepTakes(t *testing.T) {
	w := newWorld(t, ruqi.Options{})
	specs := make([]ruqi.JobSpec, 2*ruqi.MaxBatch+1)
	for i := range specs {
		specs[i] = ruqi.JobSpec{ID: fmt.Sprint("job-", i), Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)}
	}
	all, err := w.s.AddJobs(t.Context(), specs, ruqi.Fail)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range all {
		if a.Err != nil || a.Added != ruqi.Created || a.Job.ID != specs[i].ID {
			t.Fatalf("job %d is %+v", i, a)
		}
	}
	again := append(specs[:ruqi.MaxBatch:ruqi.MaxBatch], specs[0]) // in another step than the first
	if all, err = w.s.AddJobs(t.Context(), again, ruqi.Replace); err != nil || all[0].Err != nil || !errors.Is(all[len(again)-1].Err, ruqi.ErrInvalid) {
		t.Errorf("an id that stands twice: %+v, %v", all[len(all)-1], err)
	}
	page, err := w.s.Jobs(t.Context(), ruqi.JobQuery{Limit: 1})
	if err != nil || page.Total != int64(len(specs)) {
		t.Errorf("there are %d jobs, %v", page.Total, err)
	}
}

// A twiceStore asks for each decision about a job twice, as a database does whose step has to be begun anew.
type twiceStore struct{ *memory.Store }

func (s twiceStore) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	return s.Store.EditJobs(ctx, query, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
		decide(now.Add(-time.Hour/2), id, old, active)
		return decide(now, id, old, active)
	})
}

func TestADecisionThatIsMadeAnewDecidesAboutTheJobAsItWasGiven(t *testing.T) {
	store := memory.Open(memory.Options{})
	defer store.Close()
	s := newScheduler(t, twiceStore{store}, newRegistry(), ruqi.Options{})
	spec := ruqi.JobSpec{ID: "paused", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Paused: true}
	job, added, err := s.AddJob(t.Context(), spec, ruqi.Fail)
	if err != nil {
		t.Fatal(err)
	}
	if added != ruqi.Created || job.State != ruqi.JobPaused {
		t.Errorf("the paused job is %s and %s", added, job.State)
	}
	spec.ID, spec.Paused = "active", false
	began := time.Now()
	if job, _, err = s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	if next := job.NextNominal; next == nil || next.Before(began.Add(time.Hour-time.Minute)) {
		t.Errorf("its first fire is %v, counted from the first decision", next)
	}
}
