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
