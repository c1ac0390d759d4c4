package jobstoretest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/jobstoretest"
)

// everything asks a good store for all that is due in the pools of a request.
func everything(r ruqi.ClaimRequest) ruqi.ClaimRequest {
	r.Slots = maps.Clone(r.Slots)
	for pool := range r.Slots {
		r.Slots[pool] = 1 << 20
	}
	r.Limit = 1 << 20
	return r
}

// within cuts what is due to the slots and the limit of a request.
func within(r ruqi.ClaimRequest, due []ruqi.Due) []ruqi.Due {
	free := maps.Clone(r.Slots)
	var kept []ruqi.Due
	for _, d := range due {
		if free[d.Job.Pool] > 0 && len(kept) < cmp.Or(r.Limit, 500) {
			free[d.Job.Pool]--
			kept = append(kept, d)
		}
	}
	return kept
}

// picking lets a wrapper choose among all that is due.
func picking(b *broken, pick func(ruqi.ClaimRequest, []ruqi.Due) []ruqi.Due) {
	b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
		return b.Store.Claim(ctx, everything(r), func(now time.Time, due []ruqi.Due) []ruqi.Plan {
			if due = pick(r, due); len(due) == 0 {
				return nil
			}
			return decide(now, due)
		})
	}
}

var claimFaults = []fault{
	breaking("offers only what has a fire time", "Claim/a due time alone", func(b *broken) {
		picking(b, func(r ruqi.ClaimRequest, due []ruqi.Due) []ruqi.Due {
			return within(r, slices.DeleteFunc(due, func(d ruqi.Due) bool { return d.Job.NextNominal == nil && d.Job.NextDue != nil }))
		})
	}),
	breaking("claims past the lease", "Claim/lease", func(b *broken) {
		b.beat = func(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
			i.Lease *= 1000
			return b.Store.Beat(ctx, i)
		}
	}),
	breaking("looks at the lease's old end alone", "Claim/life that was ended", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			c, err := b.Store.Claim(ctx, r, decide)
			if errors.Is(err, ruqi.ErrLeaseLost) && strings.HasPrefix(r.Owner.Instance, "a rescued") {
				return ruqi.Claimed{}, nil
			}
			return c, err
		}
	}),
	breaking("hands out the same row twice", "Claim/once", func(b *broken) {
		var last []ruqi.Run
		var mu sync.Mutex
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			c, err := b.Store.Claim(ctx, r, decide)
			mu.Lock()
			defer mu.Unlock()
			c.Runs = append(c.Runs, last...)
			last = slices.Clone(c.Runs[:min(1, len(c.Runs))])
			return c, err
		}
	}),
	breaking("ignores priority", "Claim/order", func(b *broken) {
		picking(b, func(r ruqi.ClaimRequest, due []ruqi.Due) []ruqi.Due {
			slices.SortStableFunc(due, func(x, y ruqi.Due) int {
				if x.Job.NextDue == nil || y.Job.NextDue == nil {
					return 0
				}
				return x.Job.NextDue.Compare(*y.Job.NextDue)
			})
			return within(r, due)
		})
	}),
	breaking("lets a full pool hide others", "Claim/full pool", func(b *broken) {
		picking(b, func(r ruqi.ClaimRequest, due []ruqi.Due) []ruqi.Due {
			return within(r, due[:min(len(due), 500)]) // the first of all, then by pool
		})
	}),
	breaking("ignores the limit", "Claim/limit", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			r.Limit = 1 << 20
			return b.Store.Claim(ctx, r, decide)
		}
	}),
	breaking("ignores the exceptions", "Claim/except", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			r.Except = nil
			return b.Store.Claim(ctx, r, decide)
		}
	}),
	breaking("forgets the unique key", "Claim/unique key", func(b *broken) {
		var mu sync.Mutex
		seen := map[string]int{}
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			return b.Store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				mu.Lock()
				defer mu.Unlock()
				plans := decide(now, due)
				for _, p := range plans {
					for i := range p.Runs {
						key := fmt.Sprint(p.JobID, p.Runs[i].Cause, p.Runs[i].Nominal, p.Runs[i].Attempt)
						p.Runs[i].Attempt += 1000 * seen[key]
						seen[key]++
					}
				}
				return plans
			})
		}
	}),
	breaking("counts all queued rows as fires that wait", "Claim/fires that wait", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			queued := map[string]int{}
			page, err := b.Store.Runs(ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued}})
			if err != nil {
				return ruqi.Claimed{}, err
			}
			for _, run := range page.Runs {
				queued[run.JobID]++
			}
			return b.Store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				for i := range due {
					due[i].Waiting = queued[due[i].Job.ID]
				}
				return decide(now, due)
			})
		}
	}),
	breaking("forgets what is left of a batch when a plan cancels", "Claim/cancel a batch by a plan", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			return b.Store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				plans := decide(now, due)
				for i := range plans {
					if plans[i].Cancel != "" && due[0].Active > 1 {
						plans[i].Cancel = ""
					}
				}
				return plans
			})
		}
	}),
	breaking("hastens nothing", "EditJobs/hasten", func(b *broken) {
		b.edit = func(ctx context.Context, q ruqi.JobQuery, decide decideEdit) ([]ruqi.JobRecord, []ruqi.Run, error) {
			return b.Store.EditJobs(ctx, q, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
				change := decide(now, id, old, active)
				change.Hasten = false
				return change
			})
		}
	}),
	breaking("forgets what a row runs that starts", "Claim/the task of what starts", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			return b.Store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				plans := decide(now, due)
				for i := range plans {
					plans[i].Task = ""
				}
				return plans
			})
		}
	}),
	breaking("forgets that a plan asks runs to end", "Claim/cancel by a plan", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			return b.Store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				plans := decide(now, due)
				for i := range plans {
					plans[i].Cancel = ""
				}
				return plans
			})
		}
	}),
	breaking("shows queued rows past the limit of the job", "Claim/queued rows and the limit", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			waiting, err := b.Store.Runs(ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued}, Limit: ruqi.MaxPage})
			if err != nil {
				return ruqi.Claimed{}, err
			}
			slices.Reverse(waiting.Runs)
			shown := false
			show := func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				shown = true
				for _, row := range waiting.Runs {
					if !slices.ContainsFunc(due, func(d ruqi.Due) bool { return d.Job.ID == row.JobID }) {
						due = append(due, ruqi.Due{Job: ruqi.JobRecord{ID: row.JobID, MaxInstances: 1}, Active: 1, Queued: []ruqi.Run{row}})
					}
				}
				return decide(now, due)
			}
			c, err := b.Store.Claim(ctx, r, show)
			if err == nil && !shown && len(waiting.Runs) > 0 {
				show(c.Now, nil)
			}
			return c, err
		}
	}),
	breaking("counts the instances that are listed", "Claim/instances", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			c, err := b.Store.Claim(ctx, r, decide)
			if err != nil {
				return c, err
			}
			all, err := b.Store.Instances(ctx)
			c.Instances = len(all)
			return c, err
		}
	}),
	breaking("tells no next time without slots", "Claim/next", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			c, err := b.Store.Claim(ctx, r, decide)
			if !slices.ContainsFunc(slices.Collect(maps.Values(r.Slots)), func(n int) bool { return n > 0 }) {
				c.Next = nil
			}
			return c, err
		}
	}),
	breaking("decides on what it saw before the step", "race/claims", func(b *broken) {
		b.claim = func(ctx context.Context, r ruqi.ClaimRequest, decide decideClaim) (ruqi.Claimed, error) {
			var plans []ruqi.Plan
			_, err := b.Store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
				plans = decide(now, due)
				return nil
			})
			if err != nil {
				return ruqi.Claimed{}, err
			}
			for range 10 {
				runtime.Gosched() // others come in between
			}
			return b.Store.Claim(ctx, everything(r), func(time.Time, []ruqi.Due) []ruqi.Plan { return plans })
		}
	}),
}

var editFaults = []fault{
	breaking("edits one job after the other", "EditJobs/abort", func(b *broken) {
		b.edit = func(ctx context.Context, q ruqi.JobQuery, decide decideEdit) (jobs []ruqi.JobRecord, runs []ruqi.Run, err error) {
			if len(q.IDs) < 2 {
				return b.Store.EditJobs(ctx, q, decide)
			}
			for _, id := range q.IDs {
				q.IDs = []string{id}
				j, r, err := b.Store.EditJobs(ctx, q, decide)
				if err != nil {
					return nil, nil, err
				}
				jobs, runs = append(jobs, j...), append(runs, r...)
			}
			return jobs, runs, nil
		}
	}),
	breaking("leaves the queued rows of a removed job", "EditJobs/remove", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			page, err := b.Store.Runs(ctx, q)
			for i := range page.Runs {
				if r := &page.Runs[i]; r.Reason == "job removed" {
					r.State, r.Reason, r.Finished = ruqi.RunQueued, "", nil
				}
			}
			return page, err
		}
	}),
	breaking("writes a run count that an edit names", "EditJobs/modify", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			page, err := b.Store.Jobs(ctx, q)
			for i := range page.Jobs {
				if page.Jobs[i].Version > 1 {
					page.Jobs[i].RunCount = 77
				}
			}
			return page, err
		}
	}),
	breaking("edits what another changed since", "race/edits and claims", func(b *broken) {
		b.edit = func(ctx context.Context, q ruqi.JobQuery, decide decideEdit) ([]ruqi.JobRecord, []ruqi.Run, error) {
			changes := map[string]ruqi.Change{}
			jobs, runs, err := b.Store.EditJobs(ctx, q, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
				c := decide(now, id, old, active)
				changes[id] = c
				return ruqi.Change{Err: c.Err}
			})
			if err != nil {
				return jobs, runs, err
			}
			for range 10 {
				runtime.Gosched() // others come in between
			}
			return b.Store.EditJobs(ctx, q, func(_ time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change { return changes[id] })
		}
	}),
	breaking("takes any cursor", "Jobs/bad cursor", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			page, err := b.Store.Jobs(ctx, q)
			if err != nil && ctx.Err() == nil {
				q.Cursor = ""
				return b.Store.Jobs(ctx, q)
			}
			return page, err
		}
	}),
	breaking("takes a search for a pattern", "Jobs/search", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			q.Search = strings.Trim(q.Search, "%_")
			return b.Store.Jobs(ctx, q)
		}
	}),
	breaking("counts one page for all", "Jobs/pages", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			page, err := b.Store.Jobs(ctx, q)
			page.Total = int64(len(page.Jobs))
			return page, err
		}
	}),
	breaking("tells times in a zone of its own", "every method/microseconds", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			page, err := b.Store.Jobs(ctx, q)
			for _, j := range page.Jobs {
				if j.NextDue != nil {
					*j.NextDue = j.NextDue.In(time.FixedZone("own", 3600))
				}
			}
			return page, err
		}
	}),
}

var runFaults = []fault{
	breaking("ends runs of others", "Finish/fence", func(b *broken) {
		b.finish = func(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
			for _, d := range done {
				page, err := b.Store.Runs(ctx, ruqi.RunQuery{IDs: []int64{d.Run.ID}})
				if err != nil {
					return nil, err
				}
				for _, r := range page.Runs {
					o = r.Owner
				}
			}
			return b.Store.Finish(ctx, o, done)
		}
	}),
	breaking("does what a late end asks for", "Finish/late note", func(b *broken) {
		b.finish = func(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
			late, err := b.Store.Finish(ctx, o, done)
			for _, d := range done {
				if slices.Contains(late, d.Run.ID) && d.Again != nil {
					_, _, err = b.Store.EditJobs(ctx, ruqi.JobQuery{IDs: []string{d.Again.JobID}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
						return ruqi.Change{Runs: []ruqi.Run{*d.Again}}
					})
				}
			}
			return late, err
		}
	}),
	breaking("forgets EndJob", "Finish/end job", func(b *broken) {
		b.finish = func(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
			done = slices.Clone(done)
			for i := range done {
				done[i].EndJob = ""
			}
			return b.Store.Finish(ctx, o, done)
		}
	}),
	breaking("takes its own time for the end", "Finish/facts", func(b *broken) {
		b.finish = func(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
			done = slices.Clone(done)
			for i := range done {
				done[i].Run.Finished = nil
			}
			return b.Store.Finish(ctx, o, done)
		}
	}),
	{"cuts the output in the wrong place", "WriteRuns/cap", func(o jobstoretest.Options) jobstoretest.Store {
		o.OutputCap += o.OutputCap / 4
		return good(o)
	}},
	breaking("closes gaps in the output", "WriteRuns/gap", func(b *broken) {
		b.write = func(ctx context.Context, o ruqi.Owner, updates []ruqi.RunUpdate) ([]int64, error) {
			for i := range updates {
				page, err := b.Store.Runs(ctx, ruqi.RunQuery{IDs: []int64{updates[i].ID}})
				if err != nil {
					return nil, err
				}
				for _, r := range page.Runs {
					updates[i].At = r.OutputBytes
				}
			}
			return b.Store.WriteRuns(ctx, o, updates)
		}
	}),
	breaking("keeps text, not bytes", "WriteRuns/bytes", func(b *broken) {
		b.write = func(ctx context.Context, o ruqi.Owner, updates []ruqi.RunUpdate) ([]int64, error) {
			for i := range updates {
				updates[i].Output = []byte(strings.ToValidUTF8(string(updates[i].Output), "?"))
			}
			return b.Store.WriteRuns(ctx, o, updates)
		}
	}),
	breaking("gives every life the same epoch", "Beat/epochs", func(b *broken) {
		b.beat = func(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
			got, err := b.Store.Beat(ctx, i)
			got.Owner.Epoch = min(got.Owner.Epoch, 1)
			return got, err
		}
	}),
	breaking("keeps a clock offset that is not known any more", "Beat/clock offset", func(b *broken) {
		var mu sync.Mutex
		var last *time.Duration
		b.beat = func(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
			mu.Lock()
			defer mu.Unlock()
			if i.ClockOffset == nil && i.Owner.Epoch != 0 {
				i.ClockOffset = last
			}
			got, err := b.Store.Beat(ctx, i)
			last = got.ClockOffset
			return got, err
		}
	}),
	breaking("takes the runs of an instance that slept alone", "Beat/slept", func(b *broken) {
		b.beat = func(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
			if _, err := b.Store.Rescue(ctx, ruqi.Owner{}, 1, lost); err != nil {
				return i, err
			}
			return b.Store.Beat(ctx, i)
		}
	}),
	breaking("rescues its own runs", "Rescue/own", func(b *broken) {
		b.rescue = func(ctx context.Context, o ruqi.Owner, limit int, d decideDead) ([]ruqi.Run, error) {
			return b.Store.Rescue(ctx, ruqi.Owner{}, limit, d)
		}
	}),
	breaking("rescues more than it may", "Rescue/limit", func(b *broken) {
		b.rescue = func(ctx context.Context, o ruqi.Owner, limit int, d decideDead) ([]ruqi.Run, error) {
			return b.Store.Rescue(ctx, o, limit+1, d)
		}
	}),
	breaking("lets a second cancel have its way", "Cancel/running", func(b *broken) {
		b.cancel = func(ctx context.Context, id int64, by string) (ruqi.Run, error) {
			r, err := b.Store.Cancel(ctx, id, by)
			if r.CancelBy != "" {
				r.CancelBy = by
			}
			return r, err
		}
	}),
	breaking("lists runs from the oldest", "Runs/filters", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			page, err := b.Store.Runs(ctx, q)
			slices.Reverse(page.Runs)
			return page, err
		}
	}),
	breaking("cleans what is running", "Clean/alive", func(b *broken) {
		b.clean = func(ctx context.Context, r ruqi.Retention) (int, error) {
			page, err := b.Store.Runs(ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}})
			if err != nil {
				return 0, err
			}
			for _, run := range page.Runs {
				done := ruqi.Done{Run: ruqi.Run{ID: run.ID, State: ruqi.RunLost, Finished: run.Started}}
				if _, err := b.Store.Finish(ctx, run.Owner, []ruqi.Done{done}); err != nil {
					return 0, err
				}
			}
			return b.Store.Clean(ctx, r)
		}
	}),
	breaking("keeps runs and non-runs by one bound", "Clean/bounds", func(b *broken) {
		b.clean = func(ctx context.Context, r ruqi.Retention) (int, error) {
			r.NonRuns = r.Runs
			return b.Store.Clean(ctx, r)
		}
	}),
	breaking("forgets the name of a job whose history went", "Clean/names", func(b *broken) {
		var gone atomic.Bool
		b.clean = func(ctx context.Context, r ruqi.Retention) (int, error) {
			n, err := b.Store.Clean(ctx, r)
			if page, _ := b.Store.Runs(ctx, ruqi.RunQuery{}); n > 0 && len(page.Runs) == 0 {
				gone.Store(true)
			}
			return n, err
		}
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			if q.Name == "a" && gone.Load() {
				return ruqi.RunPage{}, nil
			}
			return b.Store.Runs(ctx, q)
		}
	}),
	breaking("does not count what waits", "Count/all", func(b *broken) {
		b.count = func(ctx context.Context) (ruqi.Counts, error) {
			c, err := b.Store.Count(ctx)
			c.Queued = 0
			return c, err
		}
	}),
}

func lost(_ time.Time, dead ruqi.Run, _ *ruqi.JobRecord) ruqi.Done {
	return ruqi.Done{Run: ruqi.Run{ID: dead.ID, State: ruqi.RunLost, Reason: "its instance died"}}
}
