package jobstoretest_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// totaling lets a wrapper tell another total.
func totaling(b *broken, tell func(q ruqi.RunQuery, page *ruqi.RunPage)) {
	b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
		page, err := b.Store.Runs(ctx, q)
		if err == nil {
			tell(q, &page)
		}
		return page, err
	}
}

var totalFaults = []fault{
	breaking("lists the newest jobs with the last id first", "Jobs/sorts", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			page, err := b.Store.Jobs(ctx, q)
			for i := 1; i < len(page.Jobs) && q.Sort == ruqi.SortNewest; i++ {
				if page.Jobs[i].Created.Equal(page.Jobs[i-1].Created) {
					page.Jobs[i-1], page.Jobs[i] = page.Jobs[i], page.Jobs[i-1]
				}
			}
			return page, err
		}
	}),
	breaking("passes over pages, not jobs", "Jobs/offset", func(b *broken) {
		b.jobs = func(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
			q.Offset *= max(q.Limit, 1)
			return b.Store.Jobs(ctx, q)
		}
	}),
	breaking("takes any offset", "Jobs/bad offset", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			if q.Offset < 0 || q.Cursor != "" {
				q.Offset = 0
			}
			return b.Store.Runs(ctx, q)
		}
	}),
	breaking("forgets with an edit that a job runs on start", "Jobs/on start", func(b *broken) {
		b.edit = func(ctx context.Context, q ruqi.JobQuery, decide decideEdit) ([]ruqi.JobRecord, []ruqi.Run, error) {
			return b.Store.EditJobs(ctx, q, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
				c := decide(now, id, old, active)
				if old != nil && c.Job != nil {
					c.Job.OnStart = false
				}
				return c
			})
		}
	}),
	breaking("passes over runs that are not selected", "Runs/offset", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			if q.Offset > 0 && len(q.States) > 0 {
				q.Offset--
			}
			return b.Store.Runs(ctx, q)
		}
	}),
	breaking("takes what was cancelled while it waited for executed", "Runs/executed", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			if q.Executed && len(q.States) == 1 && q.States[0] == ruqi.RunCancelled {
				q.Executed = false
			}
			return b.Store.Runs(ctx, q)
		}
	}),
	breaking("does not count off what Clean deletes", "Runs/total", func(b *broken) {
		var gone atomic.Int64
		b.clean = func(ctx context.Context, r ruqi.Retention) (int, error) {
			n, err := b.Store.Clean(ctx, r)
			gone.Add(int64(n))
			return n, err
		}
		totaling(b, func(q ruqi.RunQuery, page *ruqi.RunPage) {
			if page.Total != nil && q.Job == "" && q.Name == "" && len(q.States) == 0 {
				*page.Total += gone.Load()
			}
		})
	}),
	breaking("counts what ran when it was counted as of now", "Runs/total", func(b *broken) {
		var counted sync.Map // those that were alive at a clean, by id
		b.clean = func(ctx context.Context, r ruqi.Retention) (int, error) {
			page, err := b.Store.Runs(ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued, ruqi.RunRunning}})
			for _, run := range page.Runs {
				counted.Store(run.ID, true)
			}
			if err != nil {
				return 0, err
			}
			return b.Store.Clean(ctx, r)
		}
		totaling(b, func(_ ruqi.RunQuery, page *ruqi.RunPage) {
			for _, run := range page.Runs {
				if _, was := counted.Load(run.ID); was && page.Total != nil {
					*page.Total--
				}
			}
		})
	}),
	breaking("counts by the name that the job has now", "Runs/total", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			page, err := b.Store.Runs(ctx, q)
			if q.Name == "same" && q.Job == "a" && page.Total != nil {
				all, e := b.Store.Runs(ctx, ruqi.RunQuery{Job: "a", Executed: true, States: q.States})
				if e != nil {
					return page, e
				}
				page.Total = all.Total
			}
			return page, err
		}
	}),
	breaking("looks for the runs of a name in the first jobs alone", "Runs/name of many jobs", func(b *broken) {
		b.runs = func(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
			page, err := b.Store.Runs(ctx, q)
			if q.Name == "crowd" && q.Job == "" {
				page.Runs = slices.DeleteFunc(page.Runs, func(r ruqi.Run) bool { return r.JobID > "job064" })
			}
			return page, err
		}
	}),
	breaking("tells the rows of the page as their total", "Runs/no total", func(b *broken) {
		totaling(b, func(_ ruqi.RunQuery, page *ruqi.RunPage) {
			if n := int64(len(page.Runs)); page.Total == nil {
				page.Total = &n
			}
		})
	}),
	breaking("loses ends from its totals beside a clean", "race/totals", func(b *broken) {
		var cleaning atomic.Int32
		var lost atomic.Bool // a page was read while somebody cleaned
		b.clean = func(ctx context.Context, r ruqi.Retention) (int, error) {
			cleaning.Add(1)
			defer cleaning.Add(-1)
			runtime.Gosched() // others come in between
			return b.Store.Clean(ctx, r)
		}
		totaling(b, func(q ruqi.RunQuery, page *ruqi.RunPage) {
			if cleaning.Load() > 0 {
				lost.Store(true)
			}
			if page.Total != nil && q.Job == "job0" && lost.Load() {
				*page.Total++
			}
		})
	}),
	breaking("gives two starts at one time the same key", "EditJobs/startup rows", func(b *broken) {
		b.edit = func(ctx context.Context, q ruqi.JobQuery, decide decideEdit) ([]ruqi.JobRecord, []ruqi.Run, error) {
			jobs, runs, err := b.Store.EditJobs(ctx, q, decide)
			for i := range runs {
				if runs[i].Cause == ruqi.CauseStartup {
					runs[i].Nominal = runs[i].Due
				}
			}
			return jobs, runs, err
		}
	}),
}
