//go:build linux

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
)

const (
	// settleWait bounds how long everything that is left may take: what waits in queues are seconds of work.
	settleWait = 90 * time.Second
	// leftShown is how much of what is left is shown when that was not enough.
	leftShown = 5
)

// lastFires is how long the triggers still go on after their next fire: so that fires go by without a kill,
// and so that none is over before its change is in the store.
func lastFires(jobs int) time.Duration {
	if jobs > 30 { // their changes take their time
		return 5 * time.Second
	}
	return 1500 * time.Millisecond
}

// settle lets every job come to its end: pauses are ended, triggers get an end in a moment, the sleeper
// is removed, and then all rows must end by themselves.
func settle(t *testing.T, l *ledger, c *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleWait)
	defer cancel()
	page, err := c.Jobs(ctx, ruqi.JobQuery{Limit: ruqi.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	work := make(chan ruqi.Job)
	open := 0 // jobs whose triggers have no end
	for _, job := range page.Jobs {
		if g, err := gridOfJob(job); err == nil && g.end == nil {
			open++
		}
	}
	for range 4 {
		group.Go(func() {
			for job := range work {
				if err := endJob(ctx, l, c, job, lastFires(open)); err != nil {
					t.Errorf("%s: %v", job.ID, err)
				}
			}
		})
	}
	for _, job := range page.Jobs {
		work <- job
	}
	close(work)
	group.Wait()
	limit, stop := context.WithTimeout(t.Context(), 2*settleWait)
	defer stop()
	var active ruqi.JobPage
	var alive ruqi.RunPage
	await(t, "end of all runs", settleWait, func() bool {
		var err error
		if active, err = c.Jobs(limit, ruqi.JobQuery{State: ruqi.JobActive, Limit: leftShown}); err != nil {
			t.Error(err)
			return true
		}
		if alive, err = c.Runs(limit, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued, ruqi.RunRunning}, Limit: leftShown}); err != nil {
			t.Error(err)
			return true
		}
		return len(active.Jobs) == 0 && len(alive.Runs) == 0
	})
	for _, job := range active.Jobs {
		t.Logf("left: job %s is active, %d of it ran; its next time is %v, %s", job.ID, job.RunCount, job.NextNominal, job.Parked)
	}
	for _, run := range alive.Runs {
		t.Logf("left: run %+v", run)
	}
}

// endJob makes one job come to its end.
func endJob(ctx context.Context, l *ledger, c *client.Client, job ruqi.Job, last time.Duration) error {
	if job.State == ruqi.JobFinished {
		return nil
	}
	if job.ID == sleeper {
		sent := time.Now()
		if err := c.RemoveJob(ctx, job.ID); err != nil {
			return err
		}
		l.removed(job.ID, sent, true)
		runs, err := c.Runs(ctx, ruqi.RunQuery{Job: job.ID, States: []ruqi.RunState{ruqi.RunRunning}})
		if err != nil {
			return err
		}
		for _, run := range runs.Runs {
			if _, err := c.CancelRun(ctx, run.ID, ""); err != nil && !errors.Is(err, ruqi.ErrEnded) { // lost meanwhile
				return err
			}
		}
		return nil
	}
	if job.State == ruqi.JobPaused {
		sent := time.Now()
		if _, err := c.ResumeJob(ctx, job.ID); err != nil {
			return err
		}
		l.paused(job.ID, false, sent, time.Now(), true, false)
	}
	g, err := gridOfJob(job)
	if err != nil || g.end != nil { // it ends by itself
		return err
	}
	// A trigger that is changed must have a fire to come.
	for {
		end := time.Now().Add(g.period + last)
		_, err = c.PatchJob(ctx, job.ID, fmt.Appendf(nil, `{"trigger":{"end":%q}}`, end.UTC().Format(time.RFC3339Nano)))
		if !errors.Is(err, ruqi.ErrInvalid) || time.Now().Before(end) {
			return err
		}
		last *= 2 // the end had passed when the store came to it
	}
}

func gridOfJob(job ruqi.Job) (grid, error) {
	text, err := job.Trigger.MarshalJSON()
	if err != nil {
		return grid{}, err
	}
	return gridOf(text)
}
