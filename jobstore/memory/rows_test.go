package memory_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// TestRowsKeepWhatTheyWereGiven inserts rows of all kinds at random, cleans, and compares every row that is left with
// what went in: rows name their jobs, owners and names by numbers that are given again, and lie in chunks that go with their last row.
func TestRowsKeepWhatTheyWereGiven(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	now := time.Unix(1_800_000_000, 0).UTC()
	s := memory.Open(memory.Options{Now: func() time.Time { return now }})
	model := map[int64]ruqi.Run{}
	owners := make([]ruqi.Owner, 3)
	for round := range 120 {
		now = now.Add(time.Minute)
		if round%10 == 0 { // a new life: rows of the one before keep its name
			at := round / 10 % len(owners)
			i, err := s.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: fmt.Sprint("i", at)}, Lease: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			owners[at] = i.Owner
		}
		job := fmt.Sprintf("job%02d", random.IntN(20))
		rows := make([]ruqi.Run, random.IntN(40))
		for i := range rows {
			rows[i] = settledRow(random, job, now.Add(time.Duration(i)*time.Second), owners[random.IntN(len(owners))])
		}
		_, written, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{job}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
			return ruqi.Change{Runs: slices.Clone(rows)}
		})
		if err != nil || len(written) != len(rows) {
			t.Fatalf("%d of %d rows written: %v", len(written), len(rows), err)
		}
		for i, r := range written {
			rows[i].ID = r.ID
			model[r.ID] = rows[i]
		}
		if random.IntN(4) == 0 {
			cleanAndForget(t, s, model, ruqi.Retention{Runs: 1 + random.IntN(50), NonRuns: 1 + random.IntN(50),
				Age: time.Duration(random.IntN(3)) * 100 * time.Minute, Limit: 1 + random.IntN(500)})
		}
		if compareRows(t, s, model); t.Failed() {
			return
		}
	}
	cleanAndForget(t, s, model, ruqi.Retention{Age: time.Nanosecond, Limit: 1 << 20})
	if compareRows(t, s, model); len(model) > 40 { // those of the last round have just ended
		t.Errorf("%d rows are left by a clean of all", len(model))
	}
}

// settledRow has at random what only some rows have.
func settledRow(random *rand.Rand, job string, at time.Time, owner ruqi.Owner) ruqi.Run {
	states := []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunSucceeded, ruqi.RunFailed, ruqi.RunMissed, ruqi.RunSkipped, ruqi.RunLost}
	r := ruqi.Run{JobID: job, JobName: job, Task: "echo", Attempt: 1, Cause: ruqi.CauseSchedule, State: states[random.IntN(len(states))],
		Nominal: at, Due: at, Finished: &at}
	if r.State.Started() {
		started := at.Add(-time.Second)
		r.Started, r.Owner = &started, owner
	}
	if random.IntN(3) == 0 {
		r.JobName, r.Task = fmt.Sprint("name", random.IntN(3)), fmt.Sprint("task ", random.IntN(30))
	}
	if random.IntN(8) == 0 {
		r.Reason = fmt.Sprint("reason ", random.IntN(1000))
	}
	if random.IntN(8) == 0 {
		code, share := random.IntN(200), random.Float64()
		r.ExitCode, r.Signal, r.CPU, r.MaxRSS = &code, "killed", time.Duration(random.IntN(1e6))*time.Microsecond, int64(random.IntN(1e9))
		r.Progress, r.ProgressText, r.Result = &share, "on its way", json.RawMessage(`[1,2]`)
	}
	if random.IntN(8) == 0 {
		r.ParentID, r.Coalesced, r.CoalescedFrom, r.Batch = 7, 3, &at, at.UnixMicro()
	}
	switch random.IntN(3) {
	case 0:
		r.Params = json.RawMessage("{}")
	case 1:
		r.Params = json.RawMessage(`{"a":1}`)
	}
	return r
}

// cleanAndForget cleans, and takes out of the model as many rows as are gone.
func cleanAndForget(t *testing.T, s *memory.Store, model map[int64]ruqi.Run, retention ruqi.Retention) {
	n, err := s.Clean(t.Context(), retention)
	if err != nil {
		t.Fatal(err)
	}
	left := map[int64]bool{}
	for _, r := range allRows(t, s, ruqi.RunQuery{}) {
		left[r.ID] = true
	}
	before := len(model)
	maps.DeleteFunc(model, func(id int64, _ ruqi.Run) bool { return !left[id] })
	if before-len(model) != n || n > retention.Limit {
		t.Errorf("clean says %d rows went, and %d did; the limit was %d", n, before-len(model), retention.Limit)
	}
}

func allRows(t *testing.T, s *memory.Store, query ruqi.RunQuery) (all []ruqi.Run) {
	for query.Limit = ruqi.MaxPage; ; {
		page, err := s.Runs(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Runs...)
		if query.Cursor = page.Next; query.Cursor == "" {
			return all
		}
	}
}

func compareRows(t *testing.T, s *memory.Store, model map[int64]ruqi.Run) {
	got := allRows(t, s, ruqi.RunQuery{})
	if len(got) != len(model) {
		t.Fatalf("%d rows are listed, want %d", len(got), len(model))
	}
	ofJob, last := map[string]int{}, int64(1<<53)
	for _, r := range got {
		if want := model[r.ID]; !reflect.DeepEqual(r, want) || r.ID >= last {
			t.Fatalf("row %d after row %d is\n%+v, want\n%+v", r.ID, last, r, want)
		}
		last = r.ID
		ofJob[r.JobID]++
	}
	for job, n := range ofJob {
		if rows := allRows(t, s, ruqi.RunQuery{Job: job}); len(rows) != n {
			t.Fatalf("job %s lists %d rows, want %d", job, len(rows), n)
		}
	}
}
