package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/netfault"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// A badNetwork is a store behind a proxy, and one that sees what happened.
type badNetwork struct {
	*postgres.Store
	proxy *netfault.Proxy
	sure  *postgres.Store
	owner ruqi.Owner
}

func newBadNetwork(t *testing.T) *badNetwork {
	t.Helper()
	return newBadNetworkAt(t, postgrestest.Shared(t).Schema(t))
}

func newBadNetworkAt(t *testing.T, address string) *badNetwork {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := &badNetwork{}
	if b.proxy, err = netfault.Open(t.Context(), u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	if b.sure, err = postgres.Open(t.Context(), address, postgres.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.sure.Close() })
	u.Host = b.proxy.Addr()
	if b.Store, err = postgres.Open(t.Context(), u.String(), postgres.Options{StepLimit: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	b.add(t, "job")
	instance, err := b.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "a"}, Lease: time.Hour, Slots: map[string]int{"default": 10}, Needs: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	b.owner = instance.Owner
	// A connection's first step prepares its statements, with answers of their own; from the second on only a step's are under way.
	for range 2 {
		claimed, err := b.claim(t.Context(), func() {})
		if err != nil || len(claimed.Runs) != 1 {
			t.Fatalf("%d runs claimed, %v", len(claimed.Runs), err)
		}
		run := claimed.Runs[0]
		run.State = ruqi.RunFailed
		if _, err := b.Finish(t.Context(), b.owner, []ruqi.Done{{Run: run}}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// add adds a job that is due all the time.
func (b *badNetwork) add(t *testing.T, id string) {
	t.Helper()
	due := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	_, _, err := b.sure.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{id}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
		return ruqi.Change{Job: &ruqi.JobRecord{
			ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "x", MaxInstances: 1000, Version: 1, Spec: []byte("{}"),
			NextNominal: &due, NextDue: &due,
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claim starts one run of each job; between is called when the jobs are locked and nothing is written.
func (b *badNetwork) claim(ctx context.Context, between func()) (ruqi.Claimed, error) {
	return b.claimAs(ctx, 10, func(*ruqi.Plan) {}, between)
}

// claimAs is claim for a number of jobs, with plans that are changed; rows that may start are started.
func (b *badNetwork) claimAs(ctx context.Context, most int, change func(*ruqi.Plan), between func()) (ruqi.Claimed, error) {
	request := ruqi.ClaimRequest{Owner: b.owner, Slots: map[string]int{"default": most}, Needs: []string{"x"}}
	return b.Claim(ctx, request, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		between()
		plans := make([]ruqi.Plan, len(due))
		for i, d := range due {
			next := d.Job.NextDue.Add(time.Second)
			plans[i] = ruqi.Plan{
				JobID: d.Job.ID, State: d.Job.State, NextNominal: &next, NextDue: &next, RunCount: d.Job.RunCount + 1,
				Runs: []ruqi.Run{{Cause: ruqi.CauseSchedule, State: ruqi.RunRunning, Nominal: *d.Job.NextNominal, Due: *d.Job.NextDue, Attempt: 1, JobName: d.Job.Name, Task: "x"}},
			}
			for _, run := range d.Queued {
				plans[i].Start = append(plans[i].Start, run.ID)
			}
			change(&plans[i])
		}
		return plans
	})
}

// rows counts the rows of a state, seen from outside.
func (b *badNetwork) rows(t *testing.T, state ruqi.RunState) int {
	t.Helper()
	page, err := b.sure.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{state}, Limit: ruqi.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Runs)
}

func TestACommitWhoseAnswerIsLostIsLookedUp(t *testing.T) {
	b := newBadNetwork(t)
	claimed, err := b.claim(t.Context(), func() { b.proxy.Cut(netfault.ToClient, 0) })
	if err != nil || len(claimed.Runs) != 1 {
		t.Fatalf("a claim that happened told %d runs, %v", len(claimed.Runs), err)
	}
	if n := b.rows(t, ruqi.RunRunning); n != 1 {
		t.Fatalf("%d rows run", n)
	}
}

func TestACommitThatNeverArrivedIsUnavailable(t *testing.T) {
	b := newBadNetwork(t)
	_, err := b.claim(t.Context(), func() { b.proxy.Cut(netfault.ToServer, 0) })
	if !errors.Is(err, ruqi.ErrUnavailable) {
		t.Fatalf("the error is %v", err)
	}
	if n := b.rows(t, ruqi.RunRunning); n != 0 {
		t.Fatalf("%d rows run", n)
	}
	claimed, err := b.claim(t.Context(), func() {})
	if err != nil || len(claimed.Runs) != 1 {
		t.Fatalf("the next claim told %d runs, %v", len(claimed.Runs), err)
	}
}

func TestACommitIntoABlackHoleIsLookedUpWhenTheWayIsClear(t *testing.T) {
	b := newBadNetwork(t)
	timer := time.AfterFunc(4*time.Second, b.proxy.Heal)
	defer timer.Stop()
	claimed, err := b.claim(t.Context(), func() { b.proxy.Drop(netfault.ToClient) })
	if err != nil || len(claimed.Runs) != 1 {
		t.Fatalf("a claim that happened told %d runs, %v", len(claimed.Runs), err)
	}
	if n := b.rows(t, ruqi.RunRunning); n != 1 {
		t.Fatalf("%d rows run", n)
	}
}

// A commit of which nobody could find out whether it happened is neither told as done nor tried again.
func TestACommitThatCannotBeLookedUpIsNotKnown(t *testing.T) {
	const unknown = "it is not known whether the step happened"
	t.Run("the store is closed meanwhile", func(t *testing.T) {
		b := newBadNetwork(t)
		closed := make(chan error, 1)
		timer := time.AfterFunc(4*time.Second, func() { closed <- b.Close() }) // in the midst of looking it up
		defer timer.Stop()
		_, err := b.claim(t.Context(), func() { b.proxy.Drop(netfault.ToClient) })
		if err == nil || errors.Is(err, ruqi.ErrUnavailable) || !strings.Contains(err.Error(), unknown) || !strings.Contains(err.Error(), "the store is closed") {
			t.Errorf("the error is %v", err)
		}
		if n := b.rows(t, ruqi.RunRunning); n != 1 {
			t.Errorf("%d rows run: nothing was tried", n)
		}
		b.proxy.Heal()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
	t.Run("its caller gives up", func(t *testing.T) {
		b := newBadNetwork(t)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err := b.claim(ctx, func() { b.proxy.Drop(netfault.ToClient) })
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ruqi.ErrUnavailable) || !strings.Contains(err.Error(), unknown) {
			t.Errorf("the error is %v", err)
		}
		if n := b.rows(t, ruqi.RunRunning); n != 1 {
			t.Errorf("%d rows run: nothing was tried", n)
		}
		b.proxy.Heal()
	})
	t.Run("the server keeps no word of it", func(t *testing.T) {
		address := postgrestest.Shared(t).Schema(t)
		run(t, address, "CREATE FUNCTION txid_status(bigint) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'")
		// What the schema has comes before what the server has.
		b := newBadNetworkAt(t, with(t, address, func(u *url.URL) { parameter("search_path", u.Query().Get("search_path")+",pg_catalog")(u) }))
		_, err := b.claim(t.Context(), func() { b.proxy.Cut(netfault.ToClient, 0) })
		if err == nil || errors.Is(err, ruqi.ErrUnavailable) || !strings.Contains(err.Error(), unknown) || !strings.Contains(err.Error(), "keeps no word of it") {
			t.Errorf("the error is %v", err)
		}
		if n := b.rows(t, ruqi.RunRunning); n != 1 {
			t.Errorf("%d rows run: nothing was tried", n)
		}
	})
}

// When the answers to the commits of all connections of a pool are lost, what became of each step, and what it did, is looked up beside
// the pool, in which none is free.
func TestLostCommitsOfAWholePoolAreLookedUp(t *testing.T) {
	const editors, loops = 4, 5 // connections
	b := newBadNetwork(t)
	for i := range loops {
		b.add(t, fmt.Sprint("job", i))
	}
	edit := func(ctx context.Context, i int, between func()) error { // that changes nothing: what follows the decision is the commit alone
		_, _, err := b.EditJobs(ctx, ruqi.JobQuery{IDs: []string{fmt.Sprint("new", i)}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
			between()
			return ruqi.Change{}
		})
		return err
	}
	claim := func(ctx context.Context, _ int, between func()) error {
		claimed, err := b.claimAs(ctx, 1, func(*ruqi.Plan) {}, between)
		if err == nil && len(claimed.Runs) != 1 {
			return fmt.Errorf("%d runs claimed", len(claimed.Runs))
		}
		return err
	}
	for _, c := range []struct {
		title string
		conns int
		step  func(ctx context.Context, i int, between func()) error
	}{{"edits", editors, edit}, {"claims", loops, claim}} {
		t.Run(c.title, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			// onAll has a step on each connection; last is called when all have decided.
			onAll := func(last func()) error {
				var group, begun sync.WaitGroup
				begun.Add(c.conns)
				var once sync.Once
				errs := make([]error, c.conns)
				for i := range c.conns {
					group.Go(func() {
						errs[i] = c.step(ctx, i, func() {
							begun.Done()
							begun.Wait()
							once.Do(last)
						})
					})
				}
				group.Wait()
				return errors.Join(errs...)
			}
			for range 2 { // which prepares the statements on each connection
				if err := onAll(func() {}); err != nil {
					t.Fatal(err)
				}
			}
			timer := time.AfterFunc(3*time.Second, b.proxy.Heal)
			defer timer.Stop()
			from := time.Now()
			if err := onAll(func() { b.proxy.Drop(netfault.ToClient) }); err != nil {
				t.Errorf("steps that happened told %v", err)
			}
			if took := time.Since(from); took < 2*time.Second {
				t.Errorf("it took %s: no answer was lost", took)
			}
		})
	}
	if n := b.rows(t, ruqi.RunRunning); n != 3*loops {
		t.Errorf("%d rows run", n)
	}
}

// TestWhatIsToldOfAStepIsTrue cuts connections after random numbers of bytes in the middle of steps.
// What a step says must be what happened, whichever byte was the last.
func TestWhatIsToldOfAStepIsTrue(t *testing.T) {
	b := newBadNetwork(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	ways := []netfault.Direction{netfault.ToServer, netfault.ToClient}
	cut := func(most int64) { b.proxy.Cut(ways[random.IntN(2)], random.Int64N(most)) }
	appended, running, ended, edited := 0, 0, 0, 0
	outcome := func(step string, n *int, by int, err error) {
		t.Helper()
		switch {
		case err == nil:
			*n += by
		case errors.Is(err, ruqi.ErrUnavailable):
		default:
			t.Fatalf("%s: %v", step, err)
		}
	}
	const rounds = 60
	for i := range rounds {
		cut(600)
		_, err := b.Append(t.Context(), "log", []byte("x"))
		outcome("append", &appended, 1, err)
		b.proxy.Heal()

		claimed, err := b.claim(t.Context(), func() { cut(1500) })
		outcome("claim", &running, len(claimed.Runs), err)
		b.proxy.Heal()

		done := make([]ruqi.Done, len(claimed.Runs))
		for i, run := range claimed.Runs {
			run.State = ruqi.RunSucceeded
			done[i] = ruqi.Done{Run: run}
		}
		cut(1000)
		late, err := b.Finish(t.Context(), b.owner, done)
		outcome("finish", &ended, len(done), err)
		if len(late) > 0 {
			t.Fatalf("round %d: %v are late: the end was sent twice", i, late)
		}
		b.proxy.Heal()

		cut(3000)
		_, _, err = b.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"job"}}, func(_ time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
			old.Version++
			return ruqi.Change{Job: old}
		})
		outcome("edit", &edited, 1, err)
		b.proxy.Heal()

		if got := b.rows(t, ruqi.RunRunning) + b.rows(t, ruqi.RunSucceeded); got != running {
			t.Fatalf("round %d: %d rows are there, %d were told", i, got, running)
		}
		if got := b.rows(t, ruqi.RunSucceeded); got != ended {
			t.Fatalf("round %d: %d rows have ended, %d were told", i, got, ended)
		}
	}
	list, err := b.sure.List(t.Context(), "log", "", "", 1000)
	if err != nil || len(list) != appended {
		t.Errorf("%d records are there, %d were told, %v", len(list), appended, err)
	}
	page, err := b.sure.Jobs(t.Context(), ruqi.JobQuery{})
	if err != nil || page.Jobs[0].Version != int64(1+edited) {
		t.Errorf("version %d after %d edits that were told, %v", page.Jobs[0].Version, edited, err)
	}
	t.Logf("of %d each: %d appended, %d claimed, %d ended, %d edited", rounds, appended, running, ended, edited)
	for what, n := range map[string]int{"appends": appended, "claims": running, "edits": edited} {
		if n == 0 || n == rounds {
			t.Errorf("%d of %d %s happened: the cuts were not in their midst", n, rounds, what)
		}
	}
}
