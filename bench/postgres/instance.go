package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger"
)

// batch is how many runs are in a transaction: the most of one claim.
const batch = 500

// Functions of the jobs.
const (
	nothing = "nothing" // returns at once
	note    = "note"    // notes how late it is
)

// openStore opens the store at an address: that of a database, or the path of a file.
func openStore(ctx context.Context, address string) (ruqi.JobStore, error) {
	if strings.HasPrefix(address, "postgres:") {
		return postgres.Open(ctx, address, postgres.Options{})
	}
	return sqlite.Open(ctx, address, sqlite.Options{})
}

func newRegistry() *ruqi.Registry {
	r := ruqi.NewRegistry()
	trigger.Register(r)
	gofunc.Register(r)
	return r
}

// instances are schedulers of one process.
type instances struct {
	stores     []ruqi.JobStore
	schedulers []*ruqi.Scheduler
	called     atomic.Int64

	mu   sync.Mutex // guards late
	late []float64
}

// racers is how many schedulers a process has that stands for a cluster.
const racers = 3

// openInstances starts n schedulers, each on a store of its own. keep is how many runs of each job are kept, as in ruqi.Options.
func openInstances(ctx context.Context, address string, slots, keep, n int) (worker, error) {
	w := &instances{}
	for range n {
		if err := w.open(ctx, address, slots, keep); err != nil {
			return nil, errors.Join(err, w.close(ctx))
		}
	}
	return w, nil
}

func (w *instances) open(ctx context.Context, address string, slots, keep int) error {
	store, err := openStore(ctx, address)
	if err != nil {
		return err
	}
	w.stores = append(w.stores, store)
	registry := newRegistry()
	ruqi.Func(registry, nothing, func(context.Context, struct{}) error { w.called.Add(1); return nil })
	ruqi.Func(registry, note, func(ctx context.Context, _ struct{}) error {
		now := time.Now()
		run, _ := ruqi.CurrentRun(ctx)
		w.called.Add(1)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.late = append(w.late, float64(now.Sub(run.Due).Nanoseconds())/1e6)
		return nil
	})
	s, err := ruqi.New(store, registry, ruqi.Options{
		Slots: map[string]int{"default": slots}, Zone: time.UTC, KeepRuns: keep, KeepNonRuns: keep,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	w.schedulers = append(w.schedulers, s)
	return s.Start(ctx)
}

func (w *instances) do(ctx context.Context, what string, n int) (answer, error) {
	switch what {
	case "only":
		return answer{}, w.only(ctx, n)
	case "cpu":
		return answer{}, nil
	case "called":
		return answer{Called: w.called.Load()}, nil
	case "late":
		w.mu.Lock()
		defer w.mu.Unlock()
		a := answer{Late: w.late}
		w.late = nil
		return a, nil
	}
	return answer{}, fmt.Errorf("an instance cannot do %q", what)
}

// only lets one of the schedulers work, by number from 1 on, and all for 0; none has a higher number than there are.
func (w *instances) only(_ context.Context, n int) error {
	for i, s := range w.schedulers {
		if n == 0 || n == i+1 {
			s.Resume()
		} else {
			s.Pause()
		}
	}
	return nil
}

func (w *instances) close(ctx context.Context) error {
	var all []error
	for _, s := range w.schedulers {
		all = append(all, s.Shutdown(context.WithoutCancel(ctx)))
	}
	for _, s := range w.stores {
		all = append(all, s.Close())
	}
	return errors.Join(all...)
}
