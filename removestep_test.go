package ruqi_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A timing store notes how long each edit is decided about.
type timing struct {
	*memory.Store
	edits []time.Duration
}

func (m *timing) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	var took time.Duration
	defer func() { m.edits = append(m.edits, took) }()
	return m.Store.EditJobs(ctx, query, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
		begin := time.Now()
		defer func() { took += time.Since(begin) }()
		return decide(now, id, old, active)
	})
}

// A slow trigger takes a while for each answer.
type slow struct{ ruqi.Trigger }

func (s slow) Next(after time.Time) (time.Time, bool) {
	time.Sleep(50 * time.Millisecond)
	return s.Trigger.Next(after)
}

// Many jobs whose fires take long to count are removed in as many steps as it takes: a step of the store has ten seconds.
func TestJobsWithManyFiresAreRemovedInSeveralSteps(t *testing.T) {
	const jobs = 40
	for name, query := range map[string]func(ids []string) ruqi.JobQuery{
		"all":    func([]string) ruqi.JobQuery { return ruqi.JobQuery{} },
		"by id":  func(ids []string) ruqi.JobQuery { return ruqi.JobQuery{IDs: ids} },
		"by tag": func([]string) ruqi.JobQuery { return ruqi.JobQuery{Tags: []string{"many"}} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &timing{Store: memory.Open(memory.Options{})}
				s := newScheduler(t, store, newRegistry(), ruqi.Options{})
				var ids []string
				for i := range jobs {
					id := strconv.Itoa(i)
					ids = append(ids, id)
					_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: id, Tags: []string{"many"}, Trigger: slow{trigger.Crontab("* * * * *")}, Task: ruqi.Do(nothing)}, ruqi.Fail)
					if err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(24 * time.Hour)
				store.edits = nil
				ids = append(ids, "none of that id")
				if n, err := s.RemoveJobs(t.Context(), query(ids)); n != jobs || err != nil {
					t.Errorf("%d jobs were removed: %v", n, err)
				}
				if most := slices.Max(store.edits); most > 2*time.Second {
					t.Errorf("one of %d steps takes %v", len(store.edits), most)
				}
				page, err := s.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunMissed}})
				if err != nil || len(page.Runs) != jobs {
					t.Errorf("the history has %d rows: %v", len(page.Runs), err)
				}
			})
		})
	}
}
