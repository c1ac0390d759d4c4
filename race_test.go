package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A job paused, changed or removed while two instances claim it: the later word stands, and every
// fire up to it is settled once. Real goroutines, real time, a thousand edits on each store.
func TestEditsRaceClaims(t *testing.T) {
	// Each opens a place of its own, and returns what gives each instance its store there.
	stores := map[string]func(t *testing.T) func() ruqi.JobStore{
		"memory": func(*testing.T) func() ruqi.JobStore {
			store := memory.Open(memory.Options{})
			return func() ruqi.JobStore { return store }
		},
		"sqlite": func(t *testing.T) func() ruqi.JobStore {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ruqi.db"), sqlite.Options{})
			closed(t, store, err)
			return func() ruqi.JobStore { return store }
		},
		"postgres": func(t *testing.T) func() ruqi.JobStore {
			address := postgrestest.Shared(t).Schema(t)
			return func() ruqi.JobStore {
				store, err := postgres.Open(t.Context(), address, postgres.Options{})
				return closed(t, store, err)
			}
		},
	}
	for name, place := range stores {
		t.Run(name, func(t *testing.T) {
			open, registry := place(t), newRegistry()
			var seen alone
			ruqi.Func(registry, "work", seen.work)
			var instances []*ruqi.Scheduler
			for i := range 2 {
				s := newScheduler(t, open(), registry, ruqi.Options{Instance: fmt.Sprint("i", i), Lease: 20 * time.Second})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				instances = append(instances, s)
			}
			const workers, edits = 8, 125 // a thousand edits
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() { editAtRandom(t, instances[w%2], fmt.Sprint("job", w), edits) })
			}
			wg.Wait()
			for w := range workers {
				if err := instances[0].RemoveJob(t.Context(), fmt.Sprint("job", w)); err != nil && !errors.Is(err, ruqi.ErrNotFound) {
					t.Error(err)
				}
			}
			for _, s := range instances {
				if err := s.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}
			for w := range workers {
				id := fmt.Sprint("job", w)
				oneByOne(t, id, settledOnce(t, instances[0], id))
			}
			for _, fault := range seen.faults {
				t.Error(fault)
			}
		})
	}
}

// alone sees to it that no two runs of a job are under way at once, whatever their rows say.
type alone struct {
	mu     sync.Mutex // guards what follows
	under  map[string]int64
	faults []string
}

func (a *alone) work(ctx context.Context, _ struct{}) error {
	run, _ := ruqi.CurrentRun(ctx)
	a.mu.Lock()
	if other, busy := a.under[run.JobID]; busy {
		a.faults = append(a.faults, fmt.Sprintf("run %d of %s began while run %d was under way", run.ID, run.JobID, other))
	}
	if a.under == nil {
		a.under = map[string]int64{}
	}
	a.under[run.JobID] = run.ID
	a.mu.Unlock()
	time.Sleep(time.Millisecond) // a third of the time between two fires
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.under, run.JobID)
	return nil
}

// closed returns a store that was opened, to be closed at the end of the test.
func closed(t *testing.T, store ruqi.JobStore, err error) ruqi.JobStore {
	t.Helper()
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

const raceEvery = 3 * time.Millisecond

// editAtRandom adds a job of a short interval and changes it again and again, checking after each word that it stands.
func editAtRandom(t *testing.T, s *ruqi.Scheduler, id string, edits int) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := t.Context()
	add := func() {
		_, _, err := s.AddJob(ctx, ruqi.JobSpec{ID: id, Trigger: trigger.EveryDuration(raceEvery), Task: ruqi.Call("work", nil)}, ruqi.Replace)
		if err != nil {
			t.Errorf("seed %d: add: %v", seed, err)
		}
	}
	add()
	for n := range edits {
		time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond) // the fires race on the real clock; there is no event to wait for
		var err error
		var job ruqi.Job
		switch r.IntN(4) {
		case 0:
			if job, err = s.PauseJob(ctx, id); err == nil && (job.State != ruqi.JobPaused || job.NextDue != nil) {
				t.Errorf("seed %d, edit %d: paused it is %s", seed, n, job.State)
			}
			if err == nil {
				pausedStaysQuiet(t, s, id)
				_, err = s.ResumeJob(ctx, id)
			}
		case 1:
			every := raceEvery + time.Duration(r.IntN(3))*time.Millisecond
			job, err = s.ModifyJob(ctx, id, func(j *ruqi.Job) error {
				j.Trigger = trigger.EveryDuration(every)
				j.Description = fmt.Sprint(n)
				return nil
			})
			if err == nil && job.Description != fmt.Sprint(n) {
				t.Errorf("seed %d, edit %d: a modify was lost", seed, n)
			}
		case 2:
			if err = s.RemoveJob(ctx, id); err == nil {
				if _, gone := s.Job(ctx, id); !errors.Is(gone, ruqi.ErrNotFound) {
					t.Errorf("seed %d, edit %d: removed it is still there: %v", seed, n, gone)
				}
				add()
			}
		case 3:
			_, err = s.RunNow(ctx, id, nil)
		}
		if err != nil {
			t.Errorf("seed %d, edit %d: %v", seed, n, err)
			return
		}
	}
}

// pausedStaysQuiet checks that nothing of cause schedule is claimed after the pause.
func pausedStaysQuiet(t *testing.T, s *ruqi.Scheduler, id string) {
	newest := func() (id64 int64) {
		page, err := s.Runs(t.Context(), ruqi.RunQuery{Job: id, Causes: []ruqi.Cause{ruqi.CauseSchedule}, Limit: 1})
		if err != nil {
			t.Error(err)
			return 0
		}
		if len(page.Runs) == 0 {
			return 0
		}
		return page.Runs[0].ID
	}
	before := newest()
	time.Sleep(2 * raceEvery)
	if after := newest(); after != before {
		t.Errorf("run %d of %s was started after the pause", after, id)
	}
}

// settledOnce checks a whole history: no fire twice, no row left alive. It returns the runs that were started.
func settledOnce(t *testing.T, s *ruqi.Scheduler, id string) (started []ruqi.Run) {
	t.Helper()
	seen := map[string]int64{}
	for _, run := range runs(t, s, id) {
		if !run.State.Ended() {
			t.Errorf("run %d of %s is still %s", run.ID, id, run.State)
		}
		key := fmt.Sprint(run.Cause, run.Nominal.UnixMicro(), run.Attempt)
		if other, twice := seen[key]; twice {
			t.Errorf("runs %d and %d of %s are one fire", other, run.ID, id)
		}
		seen[key] = run.ID
		if run.Started != nil {
			started = append(started, run)
		}
	}
	if len(started) == 0 {
		t.Errorf("nothing of %s ever ran: the race was none", id)
	}
	return started
}

// oneByOne checks that runs of a job do not overlap by the times of their rows.
func oneByOne(t *testing.T, id string, started []ruqi.Run) {
	t.Helper()
	slices.SortFunc(started, func(a, b ruqi.Run) int { return a.Started.Compare(*b.Started) })
	for i := 1; i < len(started); i++ {
		last, run := &started[i-1], &started[i]
		if run.Started.Before(*last.Finished) {
			t.Errorf("run %d of %s started %s before the end of run %d", run.ID, id, last.Finished.Sub(*run.Started), last.ID)
		}
	}
}
