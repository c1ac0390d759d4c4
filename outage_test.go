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

// A run that ended while the store was away is not what a fire finds its job at the limit for: its end is written first, whoever
// ran it.
func TestEndsOfAnOutageComeBeforeItsFires(t *testing.T) {
	for _, instances := range []int{1, 3} {
		// The store is back at least 4 s before the next fire: what runs late has ended by then.
		for _, away := range []time.Duration{14 * time.Second, 21 * time.Second, 33 * time.Second, 10 * time.Minute} {
			t.Run(fmt.Sprint(instances, " instances, ", away), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memory.Open(memory.Options{})
					registry := newRegistry()
					ruqi.Func(registry, "work", func(ctx context.Context, _ struct{}) error {
						_, err := ruqi.Output(ctx).Write([]byte("ok")) // it is written before the end
						return errors.Join(err, sleeping(3*time.Second)(ctx))
					})
					var gates []*gate
					var all []*ruqi.Scheduler
					for i := range instances {
						g := &gate{Store: store}
						s := newScheduler(t, g, registry, ruqi.Options{Instance: fmt.Sprint("i", i), Slots: map[string]int{"default": 3}})
						if err := s.Start(t.Context()); err != nil {
							t.Fatal(err)
						}
						gates, all = append(gates, g), append(all, s)
						time.Sleep(300 * time.Millisecond) // they do not look at the same times
					}
					const jobs = 9
					begin := time.Now().Add(15 * time.Second)
					for i := range jobs {
						if i >= 3*instances {
							break // as many as run at once
						}
						every, err := trigger.Interval(15*time.Second, trigger.IntervalOptions{Start: &begin})
						if err != nil {
							t.Fatal(err)
						}
						if _, _, err := all[0].AddJob(t.Context(), ruqi.JobSpec{ID: fmt.Sprint("j", i), Trigger: every, Task: ruqi.Call("work", nil)}, ruqi.Fail); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Until(begin) + 1600*time.Millisecond)
					for _, g := range gates { // not in step, so that one notices after another that it is over
						g.refuse.Store(true)
						time.Sleep(400 * time.Millisecond)
					}
					time.Sleep(away)
					for _, g := range gates {
						g.refuse.Store(false)
					}
					time.Sleep(29 * time.Second)
					for _, s := range all {
						if err := s.Shutdown(t.Context()); err != nil {
							t.Error(err)
						}
					}
					for i := range min(jobs, 3*instances) {
						rows := runs(t, all[0], fmt.Sprint("j", i))
						if n := states(rows); n[ruqi.RunSucceeded] != len(rows) {
							t.Errorf("the runs of job %d are %v", i, n)
						}
						covered(t, rows, 15*time.Second)
					}
				})
			})
		}
	}
}

// Jobs that wait for ends after an outage leave their pool to others.
func TestWhatWaitsForEndsHidesNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		s := newScheduler(t, g, newRegistry(), ruqi.Options{Slots: map[string]int{"default": 8}, Drain: -1})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		add := func(id, pool string, at time.Time, priority int, task func(context.Context) error) {
			every, err := trigger.Interval(time.Minute, trigger.IntervalOptions{Start: &at})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: id, Executor: pool, Priority: priority, Trigger: every, Task: ruqi.Do(task)}, ruqi.Fail); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now().Add(10 * time.Second)
		for i := range 4 { // they fill half of the pool, and are at their limit for good
			add(fmt.Sprint("long", i), "default", start, 5, sleeping(time.Hour))
		}
		for i := range 3 {
			add(fmt.Sprint("short", i), "default", start.Add(65*time.Second), 0, nothing)
		}
		time.Sleep(time.Until(start.Add(55 * time.Second)))
		g.refuse.Store(true)
		time.Sleep(20 * time.Second) // the next fire of the long ones, and the first of the short ones
		g.refuse.Store(false)
		back := time.Now()
		time.Sleep(15 * time.Second)
		for i := range 3 {
			rows := runs(t, s, fmt.Sprint("short", i))
			if len(rows) == 0 || rows[0].Started == nil || rows[0].Started.Sub(back) > 5500*time.Millisecond {
				t.Errorf("the runs of short%d are %v; the first should have started when the store was back, at %s", i, rows, back)
			}
		}
		for i := range 4 { // and in the end it is said that they were at their limit
			if n := states(runs(t, s, fmt.Sprint("long", i))); n[ruqi.RunSkipped] != 1 || n[ruqi.RunRunning] != 1 {
				t.Errorf("the runs of long%d are %v", i, n)
			}
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
