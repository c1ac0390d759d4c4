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

// A fading trigger takes a while and then panics, once its time is over.
type fading struct {
	ruqi.Trigger
	over  *atomic.Bool
	asked *atomic.Int64
}

func (f fading) Next(after time.Time) (time.Time, bool) {
	if f.over.Load() {
		f.asked.Add(1)
		time.Sleep(20 * time.Millisecond)
		panic("it is over")
	}
	return f.Trigger.Next(after)
}

// A pausing store notes how often triggers are asked in each claim.
type pausing struct {
	*memory.Store
	asked *atomic.Int64
	steps []int64
}

func (p *pausing) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	return p.Store.Claim(ctx, request, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		before := p.asked.Load()
		plans := decide(now, due)
		p.steps = append(p.steps, p.asked.Load()-before)
		return plans
	})
}

// Triggers that fail after a while are no reason for a long step either, and keep no other job from its fire, however few slots there are.
func TestTriggersThatFailArePassedInSeveralSteps(t *testing.T) {
	const jobs = 40
	for _, slots := range []int{3, 100} {
		var ahead, asked atomic.Int64
		var over atomic.Bool
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		store := &pausing{Store: memory.Open(memory.Options{Now: now}), asked: &asked}
		s := newScheduler(t, store, newRegistry(), ruqi.Options{Now: now, Slots: map[string]int{"default": slots}})
		add := func(spec ruqi.JobSpec) {
			spec.Task = ruqi.Do(nothing)
			if _, _, err := s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
				t.Fatal(err)
			}
		}
		for i := range jobs {
			add(ruqi.JobSpec{ID: strconv.Itoa(i), Priority: 1, Trigger: fading{trigger.Crontab("0 * * * *"), &over, &asked}})
		}
		add(ruqi.JobSpec{ID: "sound", Trigger: trigger.Crontab("0 * * * *")})
		ahead.Store(int64(2 * time.Hour))
		over.Store(true)
		if n, err := s.Tick(t.Context()); n != 1 || err != nil || asked.Load() != jobs {
			t.Errorf("%d slots: %d jobs have run, %d were asked: %v", slots, n, asked.Load(), err)
		}
		if most := slices.Max(store.steps); most >= jobs {
			t.Errorf("%d slots: of %d jobs that fail the claims asked %v", slots, jobs, store.steps)
		}
	}
}
