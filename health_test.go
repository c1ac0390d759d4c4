package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A lame store fails at single methods.
type lame struct {
	*memory.Store
	mu    sync.Mutex // guards fails
	fails map[string]error
}

// fail makes a method fail; with nil it works again.
func (l *lame) fail(method string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails == nil {
		l.fails = map[string]error{}
	}
	l.fails[method] = err
}

func (l *lame) at(method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fails[method]
}

func (l *lame) Beat(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
	if err := l.at("Beat"); err != nil {
		return ruqi.Instance{}, err
	}
	return l.Store.Beat(ctx, i)
}

func (l *lame) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	if err := l.at("Claim"); err != nil {
		return ruqi.Claimed{}, err
	}
	return l.Store.Claim(ctx, r, decide)
}

func (l *lame) WriteRuns(ctx context.Context, o ruqi.Owner, u []ruqi.RunUpdate) ([]int64, error) {
	if err := l.at("WriteRuns"); err != nil {
		return nil, err
	}
	return l.Store.WriteRuns(ctx, o, u)
}

func (l *lame) Finish(ctx context.Context, o ruqi.Owner, d []ruqi.Done) ([]int64, error) {
	if err := l.at("Finish"); err != nil {
		return nil, err
	}
	return l.Store.Finish(ctx, o, d)
}

func (l *lame) Rescue(ctx context.Context, o ruqi.Owner, limit int, decide func(time.Time, ruqi.Run, *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	if err := l.at("Rescue"); err != nil {
		return nil, err
	}
	return l.Store.Rescue(ctx, o, limit, decide)
}

// startLame starts a scheduler on a lame store, with a job that starts, says something and ends each second.
func startLame(t *testing.T) (*lame, *ruqi.Scheduler) {
	t.Helper()
	store := &lame{Store: memory.Open(memory.Options{})}
	s := newScheduler(t, store, newRegistry(), ruqi.Options{Lease: 15 * time.Second})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	talk := ruqi.Do(func(ctx context.Context) error {
		_, err := fmt.Fprint(ruqi.Output(ctx), "said")
		return err
	})
	if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "talk", Trigger: trigger.EveryDuration(time.Second), Task: talk}, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second)
	return store, s
}

// wantStoreError compares what status and readiness say of the store with the text of an error; empty: all is well.
func wantStoreError(t *testing.T, when string, s *ruqi.Scheduler, want string) {
	t.Helper()
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ready := s.Ready(t.Context())
	if want == "" {
		if status.StoreError != "" || ready != nil {
			t.Errorf("%s the store is said to fail: %q, %v", when, status.StoreError, ready)
		}
		return
	}
	if !strings.Contains(status.StoreError, want) || ready == nil || !strings.Contains(ready.Error(), want) {
		t.Errorf("%s the store is said to be so: %q, %v; want %q", when, status.StoreError, ready, want)
	}
}

// A store that fails at one thing and not at others fails: what passes beside it does not clear it, and it alone does.
func TestWhatTheStoreFailsAtIsToldUntilThatPasses(t *testing.T) {
	for _, method := range []string{"Claim", "WriteRuns", "Finish", "Rescue"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := startLame(t)
				wantStoreError(t, "at first", s, "")
				store.fail(method, fmt.Errorf("no luck with %s: %w", method, ruqi.ErrUnavailable))
				for range 6 { // heartbeats pass all the time
					time.Sleep(20 * time.Second)
					wantStoreError(t, "while "+method+" fails", s, "no luck with "+method)
				}
				store.fail(method, nil)
				time.Sleep(time.Minute)
				wantStoreError(t, "when it passes again", s, "")
				if err := s.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Of several things that fail the one is told that has failed for longest, and then the next.
func TestWhatFailsLongestIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := startLame(t)
		store.fail("Claim", errors.New("first"))
		time.Sleep(20 * time.Second)
		store.fail("Rescue", errors.New("second"))
		time.Sleep(45 * time.Second) // each fails with its next call, which is some seconds later
		wantStoreError(t, "while both fail", s, "first (for 1m")
		store.fail("Claim", nil)
		time.Sleep(20 * time.Second)
		wantStoreError(t, "when the first passes", s, "second (for 1m")
		store.fail("Rescue", nil)
		time.Sleep(40 * time.Second)
		wantStoreError(t, "when both pass", s, "")
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// What will not be tried again is not told for ever: nothing would clear it.
func TestAFailureThatNobodyTriesAgainIsNotToldForEver(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		err    error
		all    bool // the whole store is away, for longer than the lease
	}{
		"output that is refused for good":  {"WriteRuns", errors.New("too much to say"), false},
		"output of a run that was lost":    {"WriteRuns", ruqi.ErrUnavailable, true},
		"the end of a run that was lost":   {"Finish", ruqi.ErrUnavailable, true},
		"the end that is refused for good": {"Finish", errors.New("too much to say"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := startLame(t)
				if c.all {
					store.fail("Beat", ruqi.ErrUnavailable)
					store.fail("Claim", ruqi.ErrUnavailable)
				}
				store.fail(c.method, c.err)
				time.Sleep(time.Minute)
				if err := s.RemoveJob(t.Context(), "talk"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				for _, method := range []string{"Beat", "Claim", c.method} {
					store.fail(method, nil)
				}
				time.Sleep(5 * time.Minute)
				wantStoreError(t, "long after", s, "")
				if err := s.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
