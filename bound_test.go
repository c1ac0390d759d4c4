package ruqi_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A full store lets jobs be claimed, but takes no ends and no output while it is full.
type full struct {
	*memory.Store
	full atomic.Bool
}

func (f *full) Finish(ctx context.Context, o ruqi.Owner, d []ruqi.Done) ([]int64, error) {
	if f.full.Load() {
		time.Sleep(300 * time.Millisecond) // it takes its time to say so
		return nil, errAway
	}
	return f.Store.Finish(ctx, o, d)
}

func (f *full) WriteRuns(ctx context.Context, o ruqi.Owner, u []ruqi.RunUpdate) ([]int64, error) {
	if f.full.Load() {
		return nil, errAway
	}
	return f.Store.WriteRuns(ctx, o, u)
}

// What waits for a store that does not take it is bounded: at 4,096 ends, or 256 MiB of output, nothing new is
// started. What has a slot by then ends as well; what is due stays due, and nothing is lost.
func TestWhatWaitsForTheStoreIsBounded(t *testing.T) {
	for _, c := range []struct {
		name        string
		jobs        int
		output      int // bytes of each run
		least, most int // started while the store is full
	}{
		{"ends", 6000, 0, 4096, 4095 + 1000},        // what is in one of the 1,000 slots when the bound is reached ends as well
		{"output", 330, 1 << 20, 256, 256 + 64},     // or as many as there are slots
		{"little output", 330, 512 << 10, 330, 330}, // 165 MiB
		{"few ends", 4000, 0, 4000, 4000},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &full{Store: memory.Open(memory.Options{OutputCap: 1 << 10})}
				s := newScheduler(t, store, newRegistry(), ruqi.Options{Slots: map[string]int{"default": 64, "wide": 1000}})
				pool := "wide"
				if c.output > 0 {
					pool = "default"
				}
				var began atomic.Int64
				said := make([]byte, c.output)
				at := time.Now().Add(time.Minute)
				for i := range c.jobs {
					_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: fmt.Sprint("j", i), Executor: pool, Trigger: trigger.Date(at), Task: ruqi.Do(func(ctx context.Context) error {
						began.Add(1)
						_, err := ruqi.Output(ctx).Write(said)
						return err
					})}, ruqi.Fail)
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				store.full.Store(true)
				time.Sleep(70 * time.Second)
				first := int(began.Load())
				if first < c.least || first > c.most {
					t.Errorf("%d runs began while their ends could not be written, want %d to %d", first, c.least, c.most)
				}
				time.Sleep(20 * time.Second)
				if later := int(began.Load()); later != first {
					t.Errorf("%d more began while the bound was reached", later-first)
				}
				store.full.Store(false)
				time.Sleep(20 * time.Second)
				if n := int(began.Load()); n != c.jobs {
					t.Errorf("%d of %d jobs began", n, c.jobs)
				}
				counts, err := store.Count(t.Context())
				if err != nil || counts.Running != 0 || counts.Jobs[ruqi.JobFinished] != int64(c.jobs) {
					t.Errorf("in the end there are %+v, %v", counts, err)
				}
				lost, err := s.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunLost, ruqi.RunFailed, ruqi.RunMissed, ruqi.RunSkipped}})
				if err != nil || len(lost.Runs) > 0 {
					t.Errorf("%d runs did not go well, %v", len(lost.Runs), err)
				}
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A shutdown beside a store that takes nothing any more leaves no goroutine behind, whatever its ends would have brought with them.
// The bubble of the test fails with those that are left.
func TestAShutdownLeavesNobodyWaitingForAnEnd(t *testing.T) {
	for name, policy := range map[string]ruqi.Policy{"plain": {}, "with its job": {DeleteWhenFinished: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &full{Store: memory.Open(memory.Options{})}
				s := newScheduler(t, store, newRegistry(), ruqi.Options{Drain: -1})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(sleeping(time.Hour)), Policy: policy}, ruqi.Fail); err != nil {
					t.Fatal(err)
				}
				time.Sleep(90 * time.Second)
				store.full.Store(true)
				if err := s.Shutdown(t.Context()); err == nil {
					t.Error("the shutdown does not say that an end is not recorded")
				}
			})
		})
	}
}
