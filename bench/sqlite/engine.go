package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger"
)

// openEngine starts a whole scheduler, whose jobs all become due when the round moves its clock on.
func openEngine(ctx context.Context, path string, jobs int) (func(context.Context) error, func() error, error) {
	var now, called atomic.Int64
	now.Store(epoch.UnixMicro())
	clock := func() time.Time { return time.UnixMicro(now.Load()) }
	store, err := sqlite.Open(ctx, path, sqlite.Options{Now: clock})
	if err != nil {
		return nil, nil, err
	}
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	ruqi.Func(registry, "noop", func(context.Context, struct{}) error { called.Add(1); return nil })
	s, err := ruqi.New(store, registry, ruqi.Options{
		Slots: map[string]int{"default": 4 * batch}, Lease: time.Hour, Now: clock, Zone: time.UTC,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, nil, err
	}
	start := epoch.Add(roundStep)
	every, err := trigger.Interval(roundStep, trigger.IntervalOptions{Start: &start})
	if err != nil {
		return nil, nil, err
	}
	for i := range jobs {
		if _, _, err := s.AddJob(ctx, ruqi.JobSpec{ID: jobID(i), Trigger: every, Task: ruqi.Call("noop", nil)}, ruqi.Fail); err != nil {
			return nil, nil, err
		}
	}
	if err := s.Start(ctx); err != nil {
		return nil, nil, err
	}
	round := func(ctx context.Context) error {
		called.Store(0)
		now.Add(roundStep.Microseconds())
		if err := s.Wakeup(ctx); err != nil {
			return err
		}
		return drained(ctx, store, &called, int64(jobs))
	}
	closing := func() error {
		if err := s.Shutdown(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		return store.Close()
	}
	return round, closing, nil
}

// roundStep is the interval of the engine's jobs: below its lease, so that a round is no outage.
const roundStep = 10 * time.Second

// drained waits until all jobs have run and no run is alive, asking each 2 ms.
func drained(ctx context.Context, store *sqlite.Store, called *atomic.Int64, jobs int64) error {
	for range 30_000 {
		if called.Load() == jobs {
			alive, err := store.Runs(ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}, Limit: 1})
			if err != nil || len(alive.Runs) == 0 {
				return err
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("%d of %d jobs have run after a minute", called.Load(), jobs)
}
