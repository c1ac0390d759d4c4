package memory_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// TestStoreAgreesWithAModel edits jobs at random, and compares lists and claims with
// what a plain map says: the ordering by id and the queues are put together lazily, and
// this is where they would come apart.
func TestStoreAgreesWithAModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	now := time.Unix(1_800_000_000, 0).UTC()
	s := memory.Open(memory.Options{Now: func() time.Time { return now }})
	i, err := s.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "a"}, Lease: 1e6 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	model := map[string]ruqi.JobRecord{}
	for range 400 {
		ids := make([]string, 1+random.IntN(20))
		for i := range ids {
			ids[i] = fmt.Sprintf("job%03d", random.IntN(300))
		}
		remove := random.IntN(3) == 0
		_, _, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: ids}, func(now time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
			if _, there := model[id]; there != (old != nil) {
				t.Errorf("job %s is there: store %t, model %t", id, old != nil, there)
			}
			if remove {
				delete(model, id)
				return ruqi.Change{Remove: true}
			}
			next := now.Add(time.Duration(random.IntN(2000)-1000) * time.Second)
			r := ruqi.JobRecord{ID: id, State: ruqi.JobActive, Pool: "default", Needs: fmt.Sprint("n", random.IntN(3)), Priority: random.IntN(3), NextNominal: &next, NextDue: &next}
			model[id] = r
			return ruqi.Change{Job: &r}
		})
		if err != nil {
			t.Fatal(err)
		}
		// The clock goes back at times: what was due then is not any more.
		now = now.Add(time.Duration(random.IntN(200)-80) * time.Second)
		compareList(t, s, model)
		compareClaim(t, s, i.Owner, model, now, 1+random.IntN(30))
		if t.Failed() {
			return
		}
	}
}

func compareList(t *testing.T, s *memory.Store, model map[string]ruqi.JobRecord) {
	page, err := s.Jobs(t.Context(), ruqi.JobQuery{Limit: ruqi.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range page.Jobs {
		got = append(got, j.ID)
	}
	if want := slices.Sorted(maps.Keys(model)); !slices.Equal(got, want) {
		t.Errorf("jobs are %v, want %v", got, want)
	}
}

// compareClaim wants the n first of the due jobs by priority, then due time.
func compareClaim(t *testing.T, s *memory.Store, owner ruqi.Owner, model map[string]ruqi.JobRecord, now time.Time, n int) {
	var want []ruqi.JobRecord
	for _, j := range model {
		if !j.NextDue.After(now) && j.Needs != "n2" {
			want = append(want, j)
		}
	}
	order := func(a, b ruqi.JobRecord) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		return a.NextDue.Compare(*b.NextDue)
	}
	slices.SortFunc(want, order)
	want = want[:min(n, len(want))]
	request := ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{"default": n}, Needs: []string{"n1", "n0"}}
	var got []ruqi.JobRecord
	_, err := s.Claim(t.Context(), request, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		for _, d := range due {
			got = append(got, d.Job)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("a claim is shown %d jobs, want %d", len(got), len(want))
	}
	for i := range want {
		if order(got[i], want[i]) != 0 {
			t.Errorf("job %d of a claim is %s (priority %d, due %s), want %s (%d, %s)",
				i, got[i].ID, got[i].Priority, got[i].NextDue, want[i].ID, want[i].Priority, want[i].NextDue)
		}
	}
}
