package calendar_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// away is a store whose records cannot be read, for one reason or another.
type away struct {
	ruqi.JobStore
	ruqi.RecordStore
	err atomic.Pointer[error]
}

func (a *away) set(err error) { a.err.Store(&err) }

func (a *away) Get(ctx context.Context, kind, key string) (ruqi.Record, error) {
	if err := a.err.Load(); err != nil && *err != nil {
		return ruqi.Record{}, *err
	}
	return a.RecordStore.Get(ctx, kind, key)
}

// An instance that started without knowing the calendars would park the jobs that use them.
func TestAnInstanceDoesNotStartWhileTheCalendarsAreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.Open(memory.Options{})
		s := &away{JobStore: m, RecordStore: m}
		s.set(fmt.Errorf("records: %w", ruqi.ErrUnavailable))
		one := newInstance(t, s, "one")
		if err := one.Start(t.Context()); !errors.Is(err, ruqi.ErrUnavailable) {
			t.Errorf("it starts: %v", err)
		}
		s.set(nil)
		one.start()
		defer one.stop()
		one.put("holidays", noDays)
		one.add("work", off("holidays"))
		s.set(fmt.Errorf("records: %w", ruqi.ErrUnavailable)) // away while it runs: what is known stays
		time.Sleep(12 * hour)
		if ran := one.days(); ran != "01 " {
			t.Errorf("it ran on the days %q", ran)
		}
		if err := one.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "records") {
			t.Errorf("it is ready: %v", err)
		}
		s.set(nil)
		time.Sleep(time.Minute)
		if err := one.Ready(t.Context()); err != nil {
			t.Errorf("it is not ready again: %v", err)
		}
	})
}

// What is wrong for good with the record of the calendars keeps only jobs that use some from running.
func TestAnIndexThatCannotBeReadLeavesOtherJobsAlone(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		before := newInstance(t, s, "before")
		before.put("holidays", noDays)
		before.add("work", off("holidays"))
		r, err := s.Get(t.Context(), "calendars", "index")
		if err != nil {
			t.Fatal(err)
		}
		whole := r.Data
		r.Data = []byte("[")
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		one := newInstance(t, s, "one").start()
		defer one.stop()
		once, _, err := one.AddJob(t.Context(), ruqi.JobSpec{ID: "once", Trigger: soon{}, Task: ruqi.Call("note", nil)}, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * hour) // it was parked at nine, for half a minute
		if all := one.runsOf(once.ID); len(all) != 1 || all[0].State != ruqi.RunSucceeded {
			t.Errorf("another job has the runs %+v", all)
		}
		if job := one.job("work"); job.Parked == "" || job.State != ruqi.JobActive {
			t.Errorf("the job that uses one is %s, parked %q", job.State, job.Parked)
		}
		r.Version++
		r.Data = whole
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second) // sooner than a job that could not be read is looked at again
		if got := one.history("work"); got != "01 succeeded" {
			t.Errorf("mended, it has the history %q", got)
		}
	})
}

// soon fires once, an hour after the beginning.
type soon struct{}

func (soon) Next(after time.Time) (time.Time, bool) {
	at := epoch.Add(hour)
	return at, at.After(after)
}

func (soon) Kind() string                 { return "soon" }
func (soon) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"soon"}`), nil }
