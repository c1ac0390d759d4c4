package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A pool with a flood of due jobs of high priority and few slots does not keep the jobs of another waiting: those start
// within ten times the poll at most, while the flood goes on.
func TestNoPoolStarvesBehindAnother(t *testing.T) {
	const (
		flood  = 200 // jobs that are due all the time, of which two run at once
		fires  = 20  // of the other pool's job
		every  = 100 * time.Millisecond
		latest = 10 * time.Second // ten times the poll
	)
	s := &site{t: t, address: postgrestest.Shared(t).Schema(t)}
	options := ruqi.Options{Slots: map[string]int{"flood": 1, "steady": 4}}
	nodes := []*ruqi.Scheduler{s.node("a", options), s.node("b", options)}
	for i := range flood {
		s.add(nodes[i%2], ruqi.JobSpec{
			ID: fmt.Sprintf("flood%03d", i), Trigger: trigger.EveryDuration(10 * time.Millisecond), Task: ruqi.Call("work", work{Takes: 20 * time.Millisecond}),
			Executor: "flood", Priority: 1_000_000,
		})
	}
	coalesce := false
	s.add(nodes[0], ruqi.JobSpec{
		ID: "steady", Trigger: trigger.EveryDuration(every), Task: ruqi.Call("work", work{}), Executor: "steady",
		Policy: ruqi.Policy{Coalesce: &coalesce, MaxInstances: 1000, CatchupLimit: 1000},
	})
	until(t, fires*every+latest, fmt.Sprintf("%d fires of the other pool have started", fires), func() bool { return len(s.starts("steady")) >= fires })
	var most time.Duration
	for _, b := range s.starts("steady") {
		late := b.run.Started.Sub(b.run.Nominal)
		most = max(most, late)
		if late > latest {
			t.Errorf("the fire of %s started %s late", b.run.Nominal, late)
		}
	}
	page, err := nodes[0].Jobs(t.Context(), ruqi.JobQuery{Pool: "flood", Sort: ruqi.SortNext, Limit: 1})
	if err != nil || page.Total != flood || time.Until(*page.Jobs[0].NextDue) > 0 {
		t.Errorf("there is no flood any more: %v", err)
	}
	if len(s.starts("flood000")) == 0 {
		t.Error("the first job of the flood has not run")
	}
	t.Logf("beside the flood the other pool's fires start at most %s late", most)
}
