package ruqi_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A world is a scheduler on a store in memory, in a bubble of virtual time.
type world struct {
	t     *testing.T
	store *memory.Store
	s     *ruqi.Scheduler
}

func newRegistry() *ruqi.Registry {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	return registry
}

func newWorld(t *testing.T, o ruqi.Options) *world {
	store := memory.Open(memory.Options{Now: o.Now})
	return &world{t: t, store: store, s: newScheduler(t, store, newRegistry(), o)}
}

func newScheduler(t *testing.T, store ruqi.JobStore, registry *ruqi.Registry, o ruqi.Options) *ruqi.Scheduler {
	t.Helper()
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s, err := ruqi.New(store, registry, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) start() {
	w.t.Helper()
	if err := w.s.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stop() {
	w.t.Helper()
	if err := w.s.Shutdown(context.Background()); err != nil {
		w.t.Error(err)
	}
}

func (w *world) add(spec ruqi.JobSpec) ruqi.Job {
	w.t.Helper()
	job, _, err := w.s.AddJob(w.t.Context(), spec, ruqi.Fail)
	if err != nil {
		w.t.Fatal(err)
	}
	return job
}

// runs returns a job's whole history, oldest first.
func runs(t *testing.T, s ruqi.Operations, job string) []ruqi.Run {
	t.Helper()
	var all []ruqi.Run
	query := ruqi.RunQuery{Job: job, Limit: ruqi.MaxPage}
	for {
		page, err := s.Runs(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Runs...)
		if query.Cursor = page.Next; query.Cursor == "" {
			slices.Reverse(all)
			return all
		}
	}
}

func states(runs []ruqi.Run) map[ruqi.RunState]int {
	n := map[ruqi.RunState]int{}
	for _, run := range runs {
		n[run.State]++
	}
	return n
}

func nothing(context.Context) error { return nil }

// sleeping does nothing for d, or until it is told to stop.
func sleeping(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func ptr[T any](v T) *T { return &v }
