//go:build linux

package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

// The groups of jobs. The name of a job begins with its group's.
const (
	steady  = "steady"  // never edited until the end: its rows must cover its grid
	policed = "policed" // its policy is edited, its trigger never: the same holds
	paused  = "paused"  // paused and resumed: the same, but for the stretches in which it may have been paused
	turned  = "turned"  // its trigger is edited: no time may have two outcomes, each row an end and a reason
	brief   = "brief"   // added and removed: its rows must cover its grid while it was there
	alone   = "alone"   // the only ones of their store
	sleeper = "sleeper" // its command sleeps for minutes: an orphan would be seen
)

// An order is a job as the tests ask for it.
type order struct {
	id       string
	group    string
	every    time.Duration
	takes    time.Duration // of its command
	coalesce bool
	limit    int // max_instances
	catchup  int
	maxRuns  int64
	rerun    bool
	life     time.Duration // after which its trigger ends, from when it is added; 0: it has no end yet
	silent   bool          // it writes no marks, and is no shell
}

// definition is the job's definition for the API. The mark is written by one write to a file that
// is opened for appending, so that lines never mix.
func (s *site) definition(o order) json.RawMessage {
	task := map[string]any{"kind": "command", "env": map[string]string{nonceName: s.nonce}}
	if o.silent {
		task["argv"] = []string{"sleep", fmt.Sprint(o.takes.Seconds())}
	} else {
		command := fmt.Sprintf("echo \"$RUQI_JOB_ID $RUQI_RUN_ID $RUQI_NOMINAL_TIME\" >>'%s'/\"$RUQI_JOB_ID\"", s.marks())
		if o.takes > 0 {
			command += fmt.Sprintf("; exec sleep %g", o.takes.Seconds())
		}
		task["command"] = command
	}
	policy := map[string]any{"coalesce": o.coalesce, "max_instances": o.limit, "catchup_limit": o.catchup, "kill_grace": "1s"}
	if o.maxRuns > 0 {
		policy["max_runs"] = o.maxRuns
	}
	if o.rerun {
		policy["on_lost"] = "rerun"
	}
	trigger := map[string]any{"kind": "interval", "every": o.every.String()}
	if o.life > 0 {
		trigger["end"] = time.Now().Add(o.life).UTC().Format(time.RFC3339Nano)
	}
	text, err := json.Marshal(map[string]any{"id": o.id, "tags": []string{o.group}, "policy": policy, "trigger": trigger, "task": task})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// orders are the jobs of a load: every kind of policy with every kind of command. The big load has 60.
func orders(big bool) []order {
	var all []order
	most := 1000
	if !big {
		most = 50 // what gathers while the test looks at other stores must not take minutes
	}
	add := func(group string, n int) {
		for i := range n {
			o := order{
				id: fmt.Sprintf("%s-%02d", group, i), group: group, every: time.Second,
				coalesce: i%2 == 0, limit: 1 + i/2%2*2, catchup: []int{2, most, 30}[i%3], rerun: i%5 == 1,
			}
			switch {
			case i%12 == 5:
				o.every = 50 * time.Millisecond
			case i%4 == 1:
				o.every = 200 * time.Millisecond
			}
			switch {
			case i%6 == 4:
				o.takes = 2 * time.Second
			case i%3 == 1:
				o.takes = 100 * time.Millisecond
			}
			if i%7 == 3 {
				o.maxRuns = 20
			}
			all = append(all, o)
		}
	}
	if !big {
		add(steady, 6)
		add(policed, 2)
		add(paused, 2)
		add(turned, 2)
		return all
	}
	add(steady, 36)
	add(policed, 8)
	add(paused, 8)
	add(turned, 7)
	return append(all, order{id: sleeper, group: sleeper, every: 200 * time.Millisecond, takes: 10 * time.Minute, coalesce: true, limit: 1, catchup: 10, rerun: true})
}

// A gateway leads the users to the services that listen.
type gateway struct {
	mu      sync.Mutex // guards present, changed
	present map[int]*client.Client
	changed chan struct{} // closed when present changes
}

func newGateway() *gateway {
	return &gateway{present: map[int]*client.Client{}, changed: make(chan struct{})}
}

// open lets the users in to the service in a slot; nil closes its gate.
func (g *gateway) open(slot int, c *client.Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c == nil {
		delete(g.present, slot)
	} else {
		g.present[slot] = c
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// some returns the client of any service that should listen, or what to wait for when there is none.
func (g *gateway) some() (*client.Client, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.present { // in the order of chance
		return c, nil
	}
	return nil, g.changed
}

func (g *gateway) wait(ctx context.Context) (*client.Client, error) {
	for {
		c, changed := g.some()
		if c != nil {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Users work on the service all the time: each goroutine has jobs of its own, so that it knows
// what was said about them last.
type users struct {
	site    *site
	gate    *gateway
	ledger  *ledger
	wait    time.Duration // for an answer
	retires bool          // a job about which no answer came is left alone from then on: a stopped service may act late
	byHand  []order       // the jobs that are started by hand; nil: all
	asked   atomic.Int64
	heard   atomic.Int64
	group   sync.WaitGroup
}

// userPace is the pause of a user between two requests: four of them make a hundred requests a second.
const userPace = 40 * time.Millisecond

// begin starts the users; they end with ctx.
func (u *users) begin(ctx context.Context, all []order, seed uint64) {
	of := map[string][]order{}
	for _, o := range all {
		of[o.group] = append(of[o.group], o)
	}
	byHand := u.byHand
	if byHand == nil {
		byHand = all
	}
	for i, act := range []func(context.Context, *rand.Rand, int){
		func(ctx context.Context, r *rand.Rand, _ int) { u.runOrCancel(ctx, r, byHand) },
		func(ctx context.Context, r *rand.Rand, _ int) { u.pauseOrResume(ctx, r, of[paused]) },
		func(ctx context.Context, r *rand.Rand, n int) {
			u.modify(ctx, r, append(of[policed], of[turned]...), n)
		},
		func(ctx context.Context, r *rand.Rand, n int) { u.addOrRemove(ctx, r, n) },
	} {
		r := rand.New(rand.NewPCG(seed, uint64(i)+1))
		u.group.Go(func() {
			pace := time.NewTicker(userPace)
			defer pace.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-pace.C:
				}
				act(ctx, r, n)
			}
		})
	}
}

// ask makes one request. It reports whether the answer was heard; a refusal is an answer, but a fault of the test.
func (u *users) ask(ctx context.Context, do func(ctx context.Context, c *client.Client) error) (heard bool, err error) {
	c, err := u.gate.wait(ctx)
	if err != nil {
		return false, err
	}
	// A request that was sent is waited for, also when the test ends meanwhile.
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.wait)
	defer cancel()
	u.asked.Add(1)
	err = do(limit, c)
	var problem *wire.Problem
	switch {
	case err == nil:
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ruqi.ErrUnavailable), limit.Err() != nil,
		errors.As(err, &problem) && problem.Status >= http.StatusInternalServerError: // what the service says of it is heard in its log
		return false, err
	case errors.Is(err, ruqi.ErrEnded), errors.Is(err, ruqi.ErrNotFound), errors.Is(err, ruqi.ErrExists):
	default:
		u.site.t.Errorf("a request was refused: %v", err)
	}
	u.heard.Add(1)
	return true, err
}

// runOrCancel starts runs by hand, and cancels one of those it started.
func (u *users) runOrCancel(ctx context.Context, r *rand.Rand, all []order) {
	if run := u.ledger.someRun(r); run != 0 && r.IntN(3) == 0 {
		var got ruqi.Run
		heard, err := u.ask(ctx, func(ctx context.Context, c *client.Client) (err error) {
			got, err = c.CancelRun(ctx, run, "")
			return err
		})
		if heard && err == nil {
			u.ledger.cancelled(got)
		}
		return
	}
	o := all[r.IntN(len(all))]
	if o.group == sleeper || o.takes > time.Second && r.IntN(8) > 0 {
		return // they would queue up for longer than the test waits
	}
	var got ruqi.Run
	heard, err := u.ask(ctx, func(ctx context.Context, c *client.Client) (err error) {
		got, err = c.RunNow(ctx, o.id, nil)
		return err
	})
	if heard && err == nil {
		u.ledger.started(got)
	}
}

func (u *users) pauseOrResume(ctx context.Context, r *rand.Rand, mine []order) {
	id := mine[r.IntN(len(mine))].id
	if !u.ledger.mayAsk(id) {
		return
	}
	pause := r.IntN(2) == 0
	sent := time.Now()
	heard, err := u.ask(ctx, func(ctx context.Context, c *client.Client) (err error) {
		if pause {
			_, err = c.PauseJob(ctx, id)
		} else {
			_, err = c.ResumeJob(ctx, id)
		}
		return err
	})
	u.ledger.paused(id, pause, sent, time.Now(), heard && err == nil, u.retires)
}

// modify changes a policy, or a trigger, and the description, by which it is known again.
func (u *users) modify(ctx context.Context, r *rand.Rand, mine []order, n int) {
	o := mine[r.IntN(len(mine))]
	if !u.ledger.mayAsk(o.id) {
		return
	}
	word := fmt.Sprintf("%s change %d", o.id, n)
	patch := map[string]any{"description": word}
	if o.group == turned {
		every := []time.Duration{50, 130, 200, 700}[r.IntN(4)] * time.Millisecond
		patch["trigger"] = map[string]any{"every": every.String()}
	} else {
		patch["policy"] = map[string]any{"coalesce": r.IntN(2) == 0, "max_instances": 1 + r.IntN(3), "catchup_limit": 1 + r.IntN(50)}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		u.site.t.Error(err)
	}
	heard, err := u.ask(ctx, func(ctx context.Context, c *client.Client) error {
		_, err := c.PatchJob(ctx, o.id, text)
		return err
	})
	u.ledger.modified(o.id, word, heard && err == nil, u.retires)
}

// addOrRemove adds a job under a new id, or removes one that it added.
func (u *users) addOrRemove(ctx context.Context, r *rand.Rand, n int) {
	if id := u.ledger.oldest(brief, 6); id != "" {
		sent := time.Now()
		heard, err := u.ask(ctx, func(ctx context.Context, c *client.Client) error { return c.RemoveJob(ctx, id) })
		u.ledger.removed(id, sent, heard && (err == nil || errors.Is(err, ruqi.ErrNotFound)))
		return
	}
	o := order{id: fmt.Sprintf("%s-%04d", brief, n), group: brief, every: 100 * time.Millisecond, coalesce: n%2 == 0, limit: 1 + n%2, catchup: 100, rerun: n%3 == 0}
	u.add(ctx, o)
}

// add adds a job and notes what was answered.
func (u *users) add(ctx context.Context, o order) {
	var job ruqi.Job
	u.ledger.adding(o)
	heard, err := u.ask(ctx, func(ctx context.Context, c *client.Client) (err error) {
		job, _, err = c.AddDefinition(ctx, u.site.definition(o), ruqi.Fail)
		return err
	})
	if !heard || err != nil {
		return
	}
	bound, err := gridOfJob(job)
	if err != nil {
		u.site.t.Error(err)
		return
	}
	u.ledger.added(o.id, bound)
}

// addAll adds the jobs that are there from the begin; each must be answered.
func addAll(t *testing.T, u *users, c *client.Client, all []order) {
	t.Helper()
	u.gate.open(0, c)
	var group sync.WaitGroup
	work := make(chan order)
	for range 4 {
		group.Go(func() {
			for o := range work {
				u.add(t.Context(), o)
			}
		})
	}
	for _, o := range all {
		work <- o
	}
	close(work)
	group.Wait()
	for _, o := range all {
		if !u.ledger.known(o.id) {
			t.Fatalf("job %s was not added", o.id)
		}
	}
}
