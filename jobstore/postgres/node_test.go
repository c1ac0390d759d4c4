package postgres_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/trigger"
)

// patience is for what takes a second or less on an idle machine.
const patience = 30 * time.Second

// A site is what the schedulers of a test have in common.
type site struct {
	t       *testing.T
	address string

	mu    sync.Mutex // guards began
	began []began
}

// began is one start of a task, as the task itself sees it.
type began struct {
	node string
	run  ruqi.Run
}

// work is what the jobs of a site do.
type work struct {
	Takes time.Duration // how long a run takes. 0: no time
	Says  string        // what it prints
}

// node starts a scheduler on a store of its own. It is shut down at the end of the test.
func (s *site) node(name string, o ruqi.Options) *ruqi.Scheduler {
	s.t.Helper()
	store, err := postgres.Open(s.t.Context(), s.address, postgres.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	n := s.on(store, name, o)
	if err := n.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			s.t.Error(err)
		}
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return n
}

// on makes a scheduler on a store, which the caller starts and ends.
func (s *site) on(store ruqi.JobStore, name string, o ruqi.Options) *ruqi.Scheduler {
	s.t.Helper()
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	ruqi.Func(registry, "work", func(ctx context.Context, w work) error {
		run, _ := ruqi.CurrentRun(ctx)
		s.mu.Lock()
		s.began = append(s.began, began{name, run})
		s.mu.Unlock()
		if _, err := io.WriteString(ruqi.Output(ctx), w.Says); err != nil {
			return err
		}
		select {
		case <-time.After(w.Takes):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	o.Instance = name
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n, err := ruqi.New(store, registry, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *site) add(n *ruqi.Scheduler, spec ruqi.JobSpec) ruqi.Job {
	s.t.Helper()
	job, _, err := n.AddJob(s.t.Context(), spec, ruqi.Fail)
	if err != nil {
		s.t.Fatal(err)
	}
	return job
}

// starts returns what tasks of a job were started, in the order they were.
func (s *site) starts(job string) []began {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.began), func(b began) bool { return b.run.JobID != job })
}

// rows returns the whole history of a job, oldest first.
func (s *site) rows(n *ruqi.Scheduler, job string) []ruqi.Run {
	s.t.Helper()
	var all []ruqi.Run
	for query := (ruqi.RunQuery{Job: job, Limit: ruqi.MaxPage}); ; {
		page, err := n.Runs(s.t.Context(), query)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, page.Runs...)
		if query.Cursor = page.Next; query.Cursor == "" {
			slices.Reverse(all)
			return all
		}
	}
}

// until looks again and again until it is so, and ends the test when it never is.
func until(t *testing.T, limit time.Duration, what string, so func() bool) {
	t.Helper()
	end := time.Now().Add(limit)
	for !so() {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
