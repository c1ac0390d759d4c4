package sqlstore

import (
	"context"
	"slices"
	"sync"

	"github.com/ruqi-dev/ruqi"
)

// A Found row is one for Clean to delete.
type Found struct {
	ID  int64
	Job string
}

// A Class are the rows of a job that one bound of a retention speaks of.
type Class struct {
	// First and Last are the codes of its states.
	First, Last int64
}

// The classes: what was started (or lost), and what was not.
var (
	RunClass    = Class{First: 2, Last: 6}
	NonRunClass = Class{First: 7, Last: 8}
)

// A History answers what a Sweep asks. Where the answers are not on one state of the store, a row that came in between may
// have to wait for the next row of its job to be seen.
type History interface {
	// LastRun returns the highest run id; 0: none.
	LastRun() (int64, error)
	// OpenJobs lists the ids of jobs with runs alive, JobsSince those with runs above an id.
	OpenJobs() ([]string, error)
	JobsSince(run int64) ([]string, error)
	// JobAfter returns the first job id in history greater than the given one; false: there is none.
	JobAfter(job string) (string, bool, error)
	// Excess calls each with the ids of the job's rows of the class but for the keep newest, oldest first,
	// until each returns false.
	Excess(job string, class Class, keep int, each func(run int64) bool) error
}

// A Sweep remembers how far Clean has come, so that a pass looks only at jobs
// that got rows since the last one. It is lost with the process; the first pass then looks at all.
// The zero value has looked at nothing.
type Sweep struct {
	once sync.Once
	// token is held by the Clean under way, to which the fields below belong.
	token chan struct{}
	// runs and nonRuns are the bounds that the fields below are true for.
	runs, nonRuns int
	// whole says that the pass under way goes over all jobs, by id, and has come to after.
	whole bool
	after string
	// left are the jobs that the pass under way has yet to look at, if it is not whole.
	left []string
	// mark is the highest run id when the pass began, and open the jobs that had runs
	// alive then: their rows may count by now without a new id. 0: no pass yet.
	mark int64
	open []string
}

// Lock lets one Clean work at a time. It returns the error of ctx when that ends first.
func (w *Sweep) Lock(ctx context.Context) error {
	w.once.Do(func() { w.token = make(chan struct{}, 1) })
	select {
	case w.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unlock ends it.
func (w *Sweep) Unlock() { <-w.token }

// Forget makes the next pass look at all jobs: what was found was not deleted. The caller holds the lock.
func (w *Sweep) Forget() { w.mark = 0 }

// begin starts a pass.
func (w *Sweep) begin(h History) error {
	mark, err := h.LastRun()
	if err != nil {
		return err
	}
	w.whole, w.after, w.left = w.mark == 0, "", nil
	if !w.whole {
		since, err := h.JobsSince(w.mark)
		if err != nil {
			return err
		}
		w.left = append(w.open, since...)
		slices.Sort(w.left)
		w.left = slices.Compact(w.left)
	}
	w.mark = max(mark, 1)
	w.open, err = h.OpenJobs()
	return err
}

// next returns the job to look at, or false at the end of the pass.
func (w *Sweep) next(h History) (job string, more bool, err error) {
	if w.whole {
		job, more, err = h.JobAfter(w.after)
		w.whole = more
		return job, more, err
	}
	if len(w.left) == 0 {
		return "", false, nil
	}
	return w.left[0], true, nil
}

// passed says that the job has been looked at.
func (w *Sweep) passed(job string) {
	if w.whole {
		w.after = job
	} else {
		w.left = w.left[1:]
	}
}

// TooMany adds rows of jobs that have more than the retention keeps, until there are limit. The caller holds the lock.
func (w *Sweep) TooMany(h History, retention ruqi.Retention, limit int, rows []Found) ([]Found, error) {
	if retention.Runs <= 0 && retention.NonRuns <= 0 {
		return rows, nil
	}
	if retention.Runs != w.runs || retention.NonRuns != w.nonRuns {
		w.runs, w.nonRuns = retention.Runs, retention.NonRuns
		w.mark, w.whole, w.left, w.open = 0, false, nil, nil
	}
	chosen := make(map[int64]bool, len(rows))
	for _, r := range rows {
		chosen[r.ID] = true
	}
	began := false
	for len(rows) < limit {
		job, more, err := w.next(h)
		if err != nil {
			return rows, err
		}
		if !more {
			if began {
				return rows, nil
			}
			began = true
			if err := w.begin(h); err != nil {
				w.Forget()
				return rows, err
			}
			continue
		}
		all := true
		for _, bound := range []struct {
			class Class
			keep  int
		}{{RunClass, w.runs}, {NonRunClass, w.nonRuns}} {
			if bound.keep <= 0 {
				continue
			}
			err := h.Excess(job, bound.class, bound.keep, func(run int64) bool {
				if chosen[run] {
					return true
				}
				if len(rows) == limit {
					all = false
					return false
				}
				chosen[run] = true
				rows = append(rows, Found{ID: run, Job: job})
				return true
			})
			if err != nil {
				return rows, err
			}
		}
		if all {
			w.passed(job)
		}
	}
	return rows, nil
}
