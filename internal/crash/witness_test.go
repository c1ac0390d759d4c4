//go:build linux

package crash_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/standard"
)

// glimpseEvery is the pause between two looks. A page holds what ends in several seconds, so that hardly a row is
// seen only after a late finish.
const glimpseEvery = 250 * time.Millisecond

// A witness looks at the store all the time and remembers each row as it was when it had just ended.
type witness struct {
	t     *testing.T
	store ruqi.JobStore
	group sync.WaitGroup
	seen  map[int64]ruqi.Run // of the looking goroutine, until it has ended
	looks int
}

// newWitness opens a store that can be reached now; later it may be away for a while.
func newWitness(t *testing.T, address string) *witness {
	t.Helper()
	opened, err := standard.OpenStore(t.Context(), address, standard.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, store: opened.Jobs, seen: map[int64]ruqi.Run{}}
	t.Cleanup(func() {
		w.group.Wait()
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// begin looks until ctx ends.
func (w *witness) begin(ctx context.Context) {
	w.group.Go(func() {
		pace := time.NewTicker(glimpseEvery)
		defer pace.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-pace.C:
			}
			page, err := w.store.Runs(ctx, ruqi.RunQuery{Limit: ruqi.MaxPage})
			if err != nil {
				continue // it is away
			}
			w.looks++
			for _, r := range page.Runs {
				if _, known := w.seen[r.ID]; !known && r.State.Ended() {
					w.seen[r.ID] = r
				}
			}
		}
	})
}

// owned waits until each row that is running has an owner who lives.
func (w *witness) owned(limit time.Duration) {
	w.t.Helper()
	var left []string
	await(w.t, "living owner of each running row", limit, func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), readyLimit)
		defer cancel()
		page, err := w.store.Runs(ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}, Limit: ruqi.MaxPage})
		if err != nil {
			w.t.Error(err)
			return true
		}
		instances, err := w.store.Instances(ctx) // read after the rows: whoever owns them is still there, or is gone
		if err != nil {
			w.t.Error(err)
			return true
		}
		left = ownerless(page.Runs, instances, time.Now())
		return len(left) == 0
	})
	show(w.t, left)
}

// ownerless lists the rows whose owners are not among those who live.
func ownerless(running []ruqi.Run, instances []ruqi.Instance, now time.Time) []string {
	living := map[ruqi.Owner]bool{}
	for _, i := range instances {
		living[i.Owner] = i.LeaseUntil.After(now)
	}
	var left []string
	for _, r := range running {
		if !living[r.Owner] {
			left = append(left, fmt.Sprintf("%s: run %d is running, and its owner %v does not live", r.JobID, r.ID, r.Owner))
		}
	}
	return left
}

// instances waits until the store knows exactly so many instances: those that died are forgotten.
func (w *witness) instances(n int, limit time.Duration) {
	w.t.Helper()
	var all []ruqi.Instance
	await(w.t, fmt.Sprintf("list of %d instances", n), limit, func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), readyLimit)
		defer cancel()
		var err error
		if all, err = w.store.Instances(ctx); err != nil {
			w.t.Error(err)
			return true
		}
		return len(all) == n
	})
	if len(all) != n {
		w.t.Errorf("the instances are %+v", all)
	}
}

// judge compares what was seen with what is there in the end. The looking must have ended.
func (w *witness) judge(h history) []string {
	if len(w.seen) == 0 {
		return []string{"no row was seen on the way: nothing is known of late finishes"}
	}
	faults, noted := judgeEnded(w.seen, h)
	w.t.Logf("%d looks, %d ended rows seen, %d of which got a note later", w.looks, len(w.seen), noted)
	return faults
}

// judgeEnded checks that rows that had ended are as they were, but for notes at the end of their reasons.
func judgeEnded(seen map[int64]ruqi.Run, h history) (faults []string, noted int) {
	j := &judge{}
	left := maps.Clone(seen)
	for _, now := range h.runs {
		before, known := left[now.ID]
		if !known {
			continue
		}
		delete(left, now.ID)
		if !strings.HasPrefix(now.Reason, before.Reason) {
			j.fault("%s: run %d had ended with the reason %q and has %q", now.JobID, now.ID, before.Reason, now.Reason)
		}
		if now.Reason != before.Reason {
			noted++
		}
		reason := now.Reason
		now.Reason = before.Reason
		if !reflect.DeepEqual(now, before) {
			now.Reason = reason
			j.fault("%s: run %d had ended as %+v and is now %+v", now.JobID, now.ID, before, now)
		}
	}
	for id, r := range left {
		if m := memoryOf(h.rows[r.JobID]); m == (memory{}) {
			j.fault("%s: run %d had ended and is gone", r.JobID, id)
		}
	}
	return j.faults, noted
}

// TestCrashWitnessFindsWhatIsPlanted tries the witness before it is trusted.
func TestCrashWitnessFindsWhatIsPlanted(t *testing.T) {
	for _, c := range []struct {
		title, want string
		spoil       func(r *ruqi.Run)
	}{
		{"a row as it was passes", "", func(*ruqi.Run) {}},
		{"a note passes", "", func(r *ruqi.Run) { r.Reason += "; its instance ended it later as succeeded" }},
		{"another reason", "had ended with the reason", func(r *ruqi.Run) { r.Reason = "other" }},
		{"another state", "had ended as", func(r *ruqi.Run) { r.State = ruqi.RunSucceeded }},
		{"another end", "had ended as", func(r *ruqi.Run) { later := second(9); r.Finished = &later }},
		{"output", "had ended as", func(r *ruqi.Run) { r.OutputBytes++ }},
		{"alive again", "had ended as", func(r *ruqi.Run) { r.State, r.Finished = ruqi.RunRunning, nil }},
		{"gone", "had ended and is gone", func(r *ruqi.Run) { r.ID = 99 }},
	} {
		t.Run(c.title, func(t *testing.T) {
			_, rows := plant()
			seen := map[int64]ruqi.Run{4: rows[3]} // a lost one
			c.spoil(&rows[3])
			faults, _ := judgeEnded(seen, history{runs: rows, rows: map[string][]ruqi.Run{"job": rows}})
			one(t, c.want, faults)
		})
	}
	now := second(10)
	instance := ruqi.Instance{Owner: plantOwner, LeaseUntil: now.Add(time.Second)}
	running := []ruqi.Run{{ID: 1, JobID: "job", Owner: plantOwner}}
	one(t, "", ownerless(running, []ruqi.Instance{instance}, now))
	one(t, "does not live", ownerless(running, []ruqi.Instance{instance}, now.Add(2*time.Second)))
	one(t, "does not live", ownerless([]ruqi.Run{{ID: 1, Owner: ruqi.Owner{Instance: "one", Epoch: 2}}}, []ruqi.Instance{instance}, now))
}
