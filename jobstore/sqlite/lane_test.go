package sqlite_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// TestClaimsGoByUrgencyAcrossNeeds compares what a claim offers with a sort of all jobs,
// for random pools, needs, priorities, slots and exceptions.
func TestClaimsGoByUrgencyAcrossNeeds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, _ := newStore(t)
	var jobs []*ruqi.JobRecord
	for i := range 400 {
		r := record(fmt.Sprintf("job-%03d", i), start.Add(time.Duration(random.IntN(200)-150)*time.Second))
		r.Pool = fmt.Sprint("pool-", random.IntN(3))
		r.Needs = fmt.Sprint("func:", random.IntN(12))
		r.Priority = random.IntN(4) * 10
		jobs = append(jobs, r)
	}
	add(t, s, jobs...)
	owner := beat(t, s, "one")
	for range 60 {
		want := ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{}, Limit: random.IntN(120) + 1}
		for i := range 3 {
			want.Slots[fmt.Sprint("pool-", i)] = random.IntN(60)
		}
		for range random.IntN(10) {
			want.Needs = append(want.Needs, fmt.Sprint("func:", random.IntN(15)))
		}
		for range random.IntN(20) {
			want.Except = append(want.Except, fmt.Sprintf("job-%03d", random.IntN(400)))
		}
		var got []string
		claimed, err := s.Claim(t.Context(), want, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
			for _, d := range due {
				got = append(got, d.Job.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		expected, next := byHand(jobs, want)
		if !slices.Equal(got, expected) {
			t.Fatalf("%+v\noffered  %v\nexpected %v", want, got, expected)
		}
		if (claimed.Next == nil) != (next == nil) || next != nil && !claimed.Next.Equal(*next) {
			t.Fatalf("%+v: next is %v, not %v", want, claimed.Next, next)
		}
	}
}

// byHand returns the jobs that a claim is to offer, and the earliest next time of all it could serve.
func byHand(jobs []*ruqi.JobRecord, want ruqi.ClaimRequest) (ids []string, next *time.Time) {
	var due []*ruqi.JobRecord
	for _, j := range jobs {
		if !slices.Contains(want.Needs, j.Needs) || slices.Contains(want.Except, j.ID) {
			continue
		}
		if next == nil || j.NextDue.Before(*next) {
			next = j.NextDue
		}
		if !j.NextDue.After(start) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *ruqi.JobRecord) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.NextDue.Compare(*b.NextDue), cmp.Compare(a.ID, b.ID))
	})
	taken := map[string]int{}
	for _, j := range due {
		if taken[j.Pool] < want.Slots[j.Pool] && len(ids) < want.Limit {
			taken[j.Pool]++
			ids = append(ids, j.ID)
		}
	}
	return ids, next
}
