package original_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

const (
	// soon is ten times the second within which everything takes effect on every node.
	soon = 10 * time.Second
	// patience is for what is promised without a time.
	patience = 30 * time.Second
	// shortLease is for nodes that are to be taken for dead: long for a busy machine, short for a test.
	shortLease = 3 * time.Second
)

// A site is a database and the nodes on it.
type site struct {
	t       *testing.T
	address string
	release chan struct{} // closed when runs that wait may end

	mu     sync.Mutex // guards what follows
	began  []began
	active map[string]int // runs of a job under way now
	most   map[string]int // and the most there were
}

// began is one start of a task, as the task itself sees it.
type began struct {
	node string
	run  ruqi.Run
}

func newSite(t *testing.T) *site {
	t.Helper()
	t.Parallel() // most of a test is waiting
	return &site{t: t, address: postgrestest.Shared(t).Schema(t), release: make(chan struct{}), active: map[string]int{}, most: map[string]int{}}
}

// A node is one scheduler, with its store behind a gate.
type node struct {
	*ruqi.Scheduler
	s        *site
	gate     *gate
	registry *ruqi.Registry
}

// work is what jobs do.
type work struct {
	Takes time.Duration // how long a run takes
	Waits bool          // it takes until the site releases it
}

// node makes a scheduler that is not started. Its store is closed at the end of the test.
func (s *site) node(name string, o ruqi.Options) *node {
	s.t.Helper()
	store, err := postgres.Open(s.t.Context(), s.address, postgres.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	})
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	command.Register(registry, command.Options{})
	ruqi.Func(registry, "work", func(ctx context.Context, w work) error {
		run, _ := ruqi.CurrentRun(ctx)
		s.begin(name, run)
		defer s.end(run.JobID)
		timer := time.NewTimer(w.Takes)
		defer timer.Stop()
		released := s.release
		if w.Waits {
			timer.Stop()
		} else {
			released = nil
		}
		select {
		case <-timer.C:
			return nil
		case <-released:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	o.Instance, o.Zone, o.Logger = name, time.UTC, slog.New(slog.NewTextHandler(io.Discard, nil))
	n := &node{s: s, gate: &gate{Store: store}, registry: registry}
	if n.Scheduler, err = ruqi.New(n.gate, registry, o); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// start starts nodes at the same moment. They are shut down at the end of the test.
func (s *site) start(nodes ...*node) {
	s.t.Helper()
	errs := make([]error, len(nodes))
	var group sync.WaitGroup
	for i, n := range nodes {
		s.t.Cleanup(func() {
			n.gate.dead.Store(false)
			if err := n.Shutdown(context.Background()); err != nil {
				s.t.Error(err)
			}
		})
		group.Go(func() { errs[i] = n.Start(s.t.Context()) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

// nodes makes and starts n nodes, named a, b, c.
func (s *site) nodes(n int, o ruqi.Options) []*node {
	s.t.Helper()
	var list []*node
	for i := range n {
		list = append(list, s.node(string(rune('a'+i)), o))
	}
	s.start(list...)
	return list
}

func (n *node) add(spec ruqi.JobSpec) ruqi.Job {
	n.s.t.Helper()
	job, _, err := n.AddJob(n.s.t.Context(), spec, ruqi.Fail)
	if err != nil {
		n.s.t.Fatal(err)
	}
	return job
}

func spec(id string, tr ruqi.Trigger, w work, policy ruqi.Policy) ruqi.JobSpec {
	return ruqi.JobSpec{ID: id, Trigger: tr, Task: ruqi.Call("work", w), Policy: policy}
}

// job reads a job.
func (n *node) job(id string) ruqi.Job {
	n.s.t.Helper()
	job, err := n.Job(n.s.t.Context(), id)
	if err != nil {
		n.s.t.Fatal(err)
	}
	return job
}

// rows returns the history of a job, oldest first.
func (n *node) rows(job string) []ruqi.Run {
	n.s.t.Helper()
	var all []ruqi.Run
	for query := (ruqi.RunQuery{Job: job, Limit: ruqi.MaxPage}); ; {
		page, err := n.Runs(n.s.t.Context(), query)
		if err != nil {
			n.s.t.Fatal(err)
		}
		all = append(all, page.Runs...)
		if query.Cursor = page.Next; query.Cursor == "" {
			slices.Reverse(all)
			return all
		}
	}
}

func states(rows []ruqi.Run) map[ruqi.RunState]int {
	n := map[ruqi.RunState]int{}
	for i := range rows {
		n[rows[i].State]++
	}
	return n
}

func (s *site) begin(node string, run ruqi.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = append(s.began, began{node, run})
	s.active[run.JobID]++
	s.most[run.JobID] = max(s.most[run.JobID], s.active[run.JobID])
}

func (s *site) end(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[job]--
}

// starts returns what tasks of a job were started, in the order they were; of all jobs if it is empty.
func (s *site) starts(job string) []began {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.began), func(b began) bool { return job != "" && b.run.JobID != job })
}

// shares counts the starts of each node.
func (s *site) shares(job string) map[string]int {
	n := map[string]int{}
	for _, b := range s.starts(job) {
		n[b.node]++
	}
	return n
}

// shift makes a job due so much earlier.
func (s *site) shift(job string, by time.Duration) {
	s.t.Helper()
	c := s.connect()
	tag, err := c.Exec(s.t.Context(), `UPDATE rq_job SET next_due = next_due - $2 * interval '1 microsecond', next_nominal = next_nominal - $2 * interval '1 microsecond' WHERE id = $1`, job, by.Microseconds())
	if err != nil || tag.RowsAffected() != 1 {
		s.t.Fatalf("%d jobs are shifted, %v", tag.RowsAffected(), err)
	}
}

// connect connects as somebody who knows nothing of Ruqi.
func (s *site) connect() *pgx.Conn {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// until looks again and again until it is so, and ends the test when it is not within the limit.
func (s *site) until(limit time.Duration, what string, so func() bool) {
	s.t.Helper()
	end := time.Now().Add(limit)
	for !so() {
		if time.Now().After(end) {
			s.t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// watch lets so much time pass. What is to be seen is that nothing happens in it.
func watch(d time.Duration) { time.Sleep(d) }

// A gate is a store as a scheduler knows it, which can be cut off.
type gate struct {
	*postgres.Store
	dead   atomic.Bool  // nothing gets through
	lose   atomic.Bool  // the next claim that takes something is the last word that gets through: its answer does not
	claims atomic.Int64 // how many there were
}

var errCut = fmt.Errorf("the line is cut: %w", ruqi.ErrUnavailable)

func (g *gate) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	g.claims.Add(1)
	if g.dead.Load() {
		return ruqi.Claimed{}, errCut
	}
	claimed, err := g.Store.Claim(ctx, r, decide)
	if len(claimed.Runs) > 0 && g.lose.Swap(false) {
		g.dead.Store(true)
		return ruqi.Claimed{}, errCut
	}
	return claimed, err
}

func (g *gate) Finish(ctx context.Context, o ruqi.Owner, d []ruqi.Done) ([]int64, error) {
	if g.dead.Load() {
		return nil, errCut
	}
	return g.Store.Finish(ctx, o, d)
}

func (g *gate) WriteRuns(ctx context.Context, o ruqi.Owner, u []ruqi.RunUpdate) ([]int64, error) {
	if g.dead.Load() {
		return nil, errCut
	}
	return g.Store.WriteRuns(ctx, o, u)
}

func (g *gate) Beat(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
	if g.dead.Load() {
		return ruqi.Instance{}, errCut
	}
	return g.Store.Beat(ctx, i)
}

func (g *gate) Rescue(ctx context.Context, o ruqi.Owner, limit int, decide func(time.Time, ruqi.Run, *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	if g.dead.Load() {
		return nil, errCut
	}
	return g.Store.Rescue(ctx, o, limit, decide)
}

func ptr[T any](v T) *T { return &v }
