package ruqi_test

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A counting store notes how many new rows each claim makes.
type counting struct {
	*memory.Store
	rows []int
}

func (c *counting) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	return c.Store.Claim(ctx, request, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		plans, rows := decide(now, due), 0
		for _, plan := range plans {
			rows += len(plan.Runs)
		}
		c.rows = append(c.rows, rows)
		return plans
	})
}

// Many jobs that each catch up with many fires are no reason for a step of more rows than a store can write in its time.
func TestCatchUpsOfManyJobsAreInSeveralSteps(t *testing.T) {
	const jobs, fires, most = 30, 1000, 20_000
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	store := &counting{Store: memory.Open(memory.Options{Now: now})}
	s := newScheduler(t, store, newRegistry(), ruqi.Options{Now: now, Slots: map[string]int{"default": jobs}})
	grace, each := time.Second, false
	for i := range jobs {
		_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{
			ID: strconv.Itoa(i), Trigger: trigger.Crontab("* * * * *"), Task: ruqi.Do(nothing),
			Policy: ruqi.Policy{Coalesce: &each, CatchupLimit: fires, MisfireGrace: &grace},
		}, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
	}
	ahead.Store(int64((fires + 1) * time.Minute))
	if _, err := s.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, n := range store.rows {
		all += n
	}
	if all < jobs*fires || slices.Max(store.rows) >= most+fires+1 {
		t.Errorf("the claims made %v rows: %d, want at least %d, and no more than %d and those of one job in each", store.rows, all, jobs*fires, most)
	}
}
