package memory_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// addInterval adds one job as Scheduler.AddJob does: one edit each.
func addInterval(b *testing.B, s *memory.Store, spec *ruqi.JobSpec, next time.Time) {
	query := ruqi.JobQuery{IDs: []string{spec.ID}}
	_, _, err := s.EditJobs(context.Background(), query, func(now time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
		due := next
		return ruqi.Change{Job: &ruqi.JobRecord{
			ID: id, Name: spec.Name, State: ruqi.JobActive, Pool: "default", Needs: "func:closure", MaxInstances: 1,
			Tags: spec.Tags, NextNominal: &next, NextDue: &due, Version: 1, Live: spec,
		}}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAdd adds jobs that are due at different times, and tells the live heap that the store
// keeps for each: their definitions are made before, and not counted.
func BenchmarkAdd(b *testing.B) {
	specs := make([]*ruqi.JobSpec, b.N)
	for i := range specs {
		id := fmt.Sprint("job-", i)
		specs[i] = &ruqi.JobSpec{ID: id, Name: id}
	}
	s := memory.Open(memory.Options{})
	start := time.Now().Add(time.Hour)
	before := heap()
	b.ReportAllocs()
	b.ResetTimer()
	for i, spec := range specs {
		addInterval(b, s, spec, start.Add(time.Duration(i%86400)*time.Second))
	}
	b.StopTimer()
	b.ReportMetric(float64(heap()-before)/float64(b.N), "live-B/job")
	runtime.KeepAlive(specs)
	runtime.KeepAlive(s)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// fires is a store with jobs that fire each second, and an instance that takes them.
type fires struct {
	store *memory.Store
	now   time.Time
	owner ruqi.Owner
}

func newFires(b *testing.B, jobs int) *fires {
	f := &fires{now: time.Unix(1_800_000_000, 0)}
	f.store = memory.Open(memory.Options{Now: func() time.Time { return f.now }})
	for i := range jobs {
		id := fmt.Sprint("job-", i)
		addInterval(b, f.store, &ruqi.JobSpec{ID: id, Name: id}, f.now.Add(time.Duration(i)*time.Second/time.Duration(jobs)))
	}
	i, err := f.store.Beat(context.Background(), ruqi.Instance{Owner: ruqi.Owner{Instance: "bench"}, Lease: 1e6 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	f.owner = i.Owner
	return f
}

// fire claims a batch, and ends it.
func (f *fires) fire(b *testing.B) int {
	request := ruqi.ClaimRequest{Owner: f.owner, Slots: map[string]int{"default": 1000}, Needs: []string{"func:closure"}}
	claimed, err := f.store.Claim(context.Background(), request, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		plans := make([]ruqi.Plan, len(due))
		times := make([]time.Time, len(due))
		rows := make([]ruqi.Run, len(due))
		for i := range due {
			j := &due[i].Job
			times[i] = j.NextNominal.Add(time.Second)
			rows[i] = ruqi.Run{Attempt: 1, JobID: j.ID, JobName: j.Name, Task: "func:closure", Cause: ruqi.CauseSchedule,
				State: ruqi.RunRunning, Nominal: *j.NextNominal, Due: *j.NextDue}
			plans[i] = ruqi.Plan{JobID: j.ID, State: j.State, NextNominal: &times[i], NextDue: &times[i], RunCount: j.RunCount + 1, Runs: rows[i : i+1]}
		}
		return plans
	})
	if err != nil {
		b.Fatal(err)
	}
	done := make([]ruqi.Done, len(claimed.Runs))
	for i, r := range claimed.Runs {
		done[i].Run = r
		done[i].Run.State = ruqi.RunSucceeded
	}
	if late, err := f.store.Finish(context.Background(), f.owner, done); err != nil || len(late) > 0 {
		b.Fatal(late, err)
	}
	return len(done)
}

// BenchmarkFire claims and ends fires in batches of up to 500 among many jobs; an
// operation is one fire. History is cleaned as it grows, as an engine does.
func BenchmarkFire(b *testing.B) {
	for _, jobs := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("jobs=", jobs), func(b *testing.B) {
			f := newFires(b, jobs)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; {
				f.now = f.now.Add(5 * time.Millisecond)
				for {
					some := f.fire(b)
					if n += some; some == 0 {
						break
					}
					if _, err := f.store.Clean(context.Background(), ruqi.Retention{Runs: 10, Limit: 1000}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkClaimIdle claims where nothing is due among 100,000 jobs.
func BenchmarkClaimIdle(b *testing.B) {
	f := newFires(b, 100_000)
	f.now = f.now.Add(-time.Hour)
	b.ResetTimer()
	for range b.N {
		f.fire(b)
	}
}

// BenchmarkClean deletes rows of many jobs, 1,000 a step; an operation is one row.
func BenchmarkClean(b *testing.B) {
	f := newFires(b, 1_000)
	for n := 0; n < b.N; {
		f.now = f.now.Add(time.Second)
		for some := 1; some > 0; n += some {
			some = f.fire(b)
		}
	}
	before := heap()
	f.now = f.now.Add(time.Hour)
	b.ResetTimer()
	gone, longest := 0, time.Duration(0)
	for {
		start := time.Now()
		n, err := f.store.Clean(context.Background(), ruqi.Retention{Age: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		longest = max(longest, time.Since(start))
		if gone += n; n < 1000 {
			break
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(longest.Microseconds()), "longest-step-µs")
	b.ReportMetric(float64(before-heap())/float64(max(gone, 1)), "live-B/row")
	runtime.KeepAlive(f)
}
