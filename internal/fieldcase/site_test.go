package fieldcase_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/internal/said"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A site is a store and the nodes on it, in a bubble of virtual time.
type site struct {
	t *testing.T
	// open returns the store as one more process would: a handle of its own where the store has handles.
	open func() ruqi.JobStore
	path string // the file of a store on disk

	jump   atomic.Int64 // how far the clock of store and nodes is from virtual time
	logged said.Text

	mu    sync.Mutex // guards began
	began []began
}

// began is one start of a task, as the task itself sees it.
type began struct {
	node string
	run  ruqi.Run
	at   time.Time
}

// onEachStore runs a test on each store that there is, in virtual time.
func onEachStore(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { inMemory(t, test) })
	t.Run("sqlite", func(t *testing.T) { onSQLite(t, test) })
}

func inMemory(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t}
		store := memory.Open(memory.Options{Now: s.now})
		s.open = func() ruqi.JobStore { return store }
		test(t, s)
	})
}

func onSQLite(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, path: filepath.Join(t.TempDir(), "ruqi.db")}
		s.open = func() ruqi.JobStore { return openSQLite(t, s.path, s.now) }
		test(t, s)
	})
}

func openSQLite(t *testing.T, path string, now func() time.Time) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// now is the clock of the site.
func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.jump.Load())) }

// set moves the clock to an instant.
func (s *site) set(to time.Time) { s.jump.Store(int64(time.Until(to))) }

// A node is one instance. Its gate stands between it and the store.
type node struct {
	*ruqi.Scheduler
	t    *testing.T
	gate *gate
}

// work is what the jobs of a site do.
type work struct {
	// Takes is how long a run takes. Default: no time.
	Takes time.Duration
}

// node makes an instance that is not started yet.
func (s *site) node(name string, o ruqi.Options) *node {
	s.t.Helper()
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	ruqi.Func(registry, "work", func(ctx context.Context, w work) error {
		run, _ := ruqi.CurrentRun(ctx)
		s.mu.Lock()
		s.began = append(s.began, began{name, run, s.now()})
		s.mu.Unlock()
		if w.Takes == 0 {
			return nil
		}
		select {
		case <-time.After(w.Takes):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	o.Instance, o.Now = name, s.now
	o.Logger = slog.New(slog.NewTextHandler(&s.logged, nil))
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	n := &node{t: s.t, gate: &gate{JobStore: s.open()}}
	var err error
	if n.Scheduler, err = ruqi.New(n.gate, registry, o); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// start is node for one that is started at once. It is stopped at the end of the test, if it was not before.
func (s *site) start(name string, o ruqi.Options) *node {
	s.t.Helper()
	n := s.node(name, o)
	if err := n.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { stop(n) })
	return n
}

// stop shuts nodes down as a service manager does.
func stop(nodes ...*node) {
	for _, n := range nodes {
		n.t.Helper()
		if err := n.Shutdown(context.WithoutCancel(n.t.Context())); err != nil {
			n.t.Error(err)
		}
	}
}

// add adds a job that does work.
func (n *node) add(id string, tr ruqi.Trigger, takes time.Duration, policy ruqi.Policy) ruqi.Job {
	n.t.Helper()
	job, _, err := n.AddJob(n.t.Context(), spec(id, tr, takes, policy), ruqi.Fail)
	if err != nil {
		n.t.Fatal(err)
	}
	return job
}

func spec(id string, tr ruqi.Trigger, takes time.Duration, policy ruqi.Policy) ruqi.JobSpec {
	return ruqi.JobSpec{ID: id, Trigger: tr, Task: ruqi.Call("work", work{takes}), Policy: policy}
}

// rows returns the whole history of a job, oldest first.
func (n *node) rows(job string) []ruqi.Run {
	n.t.Helper()
	return history(n.t, n, job)
}

// history returns the whole history of a job, oldest first.
func history(t *testing.T, o ruqi.Operations, job string) []ruqi.Run {
	t.Helper()
	var all []ruqi.Run
	for query := (ruqi.RunQuery{Job: job, Limit: ruqi.MaxPage}); ; {
		page, err := o.Runs(t.Context(), query)
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

// starts returns what tasks of a job were started, in the order they were.
func (s *site) starts(job string) []began {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.began), func(b began) bool { return b.run.JobID != job })
}

// ranOnce checks that a job has so many runs, all successes, each for a time of its own, and that each was started once.
func (s *site) ranOnce(n *node, job string, want int) {
	s.t.Helper()
	rows, starts := n.rows(job), s.starts(job)
	if got := states(rows); len(rows) != want || got[ruqi.RunSucceeded] != want || len(starts) != want {
		s.t.Errorf("%s has the rows %v and was started %d times, want %d successes", job, got, len(starts), want)
	}
	seen := map[time.Time]bool{}
	for _, b := range starts {
		if seen[b.run.Nominal] {
			s.t.Errorf("%s was started twice for %s", job, b.run.Nominal)
		}
		seen[b.run.Nominal] = true
	}
}

func states(rows []ruqi.Run) map[ruqi.RunState]int {
	n := map[ruqi.RunState]int{}
	for i := range rows {
		n[rows[i].State]++
	}
	return n
}

// covered checks that the fires of a job with one period have one outcome each, up to now: a row, or being counted on
// the row after them.
func covered(t *testing.T, rows []ruqi.Run, anchor, now time.Time, period time.Duration) {
	t.Helper()
	last := anchor
	for i := range rows {
		from := rows[i].Nominal
		if rows[i].CoalescedFrom != nil {
			from = *rows[i].CoalescedFrom
		}
		if from.Sub(last) != period || rows[i].Nominal.Sub(from) != time.Duration(rows[i].Coalesced)*period {
			t.Errorf("after %s comes a row of %s for %d more fires", last, rows[i].Nominal, rows[i].Coalesced)
		}
		last = rows[i].Nominal
	}
	if now.Sub(last) > period+time.Second {
		t.Errorf("at %s the last row is of %s", now, last)
	}
}

// A gate can cut an instance off from its store.
type gate struct {
	ruqi.JobStore
	refuse atomic.Bool // every call fails
	claims atomic.Bool // claims alone fail
	held   atomic.Pointer[chan struct{}]
}

var errAway = fmt.Errorf("the line is cut: %w", ruqi.ErrUnavailable)

func (g *gate) pass(ctx context.Context) error {
	if held := g.held.Load(); held != nil {
		select {
		case <-*held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if g.refuse.Load() {
		return errAway
	}
	return nil
}

// Wake passes the store's hints on: they do not go through the line that is cut.
func (g *gate) Wake() (hints <-chan struct{}, stop func()) { return g.JobStore.(ruqi.Waker).Wake() }

// hold makes every call wait until the returned function is called, as in a process that is stopped.
func (g *gate) hold() (release func()) {
	ch := make(chan struct{})
	g.held.Store(&ch)
	return func() { g.held.Store(nil); close(ch) }
}

func (g *gate) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	if err := g.pass(ctx); err != nil {
		return ruqi.Claimed{}, err
	}
	if g.claims.Load() {
		return ruqi.Claimed{}, errAway
	}
	return g.JobStore.Claim(ctx, r, decide)
}

func (g *gate) Finish(ctx context.Context, o ruqi.Owner, d []ruqi.Done) ([]int64, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.JobStore.Finish(ctx, o, d)
}

func (g *gate) Beat(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
	if err := g.pass(ctx); err != nil {
		return ruqi.Instance{}, err
	}
	return g.JobStore.Beat(ctx, i)
}

func (g *gate) Rescue(ctx context.Context, o ruqi.Owner, limit int, decide func(time.Time, ruqi.Run, *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.JobStore.Rescue(ctx, o, limit, decide)
}

func ptr[T any](v T) *T { return &v }
