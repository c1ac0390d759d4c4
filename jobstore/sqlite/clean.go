package sqlite

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ruqi-dev/ruqi"
)

const (
	defaultClean = 1000 // rows of one Clean that names no limit
	// cleanStep is how many rows go in one write transaction: some milliseconds, in
	// which no claim has to wait longer.
	cleanStep = 250
)

// A sweep remembers how far Clean has come, so that a pass looks only at jobs
// that got rows since the last one. It is lost with the process; the first pass then looks at all.
type sweep struct {
	// mu is held by the Clean under way and guards the fields below.
	mu sync.Mutex
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

// A found row is one to delete.
type found struct {
	id  int64
	job string
}

// Clean deletes history past its retention, as ruqi.JobStore says. What is to go is
// looked for beside all writers, and goes in several short steps: when one of
// them fails, those before it stand.
func (s *Store) Clean(ctx context.Context, retention ruqi.Retention) (int, error) {
	limit := retention.Limit
	if limit <= 0 {
		limit = defaultClean
	}
	s.clean.mu.Lock()
	defer s.clean.mu.Unlock()
	var rows []found
	err := s.read(ctx, "clean", func(c *conn) error {
		var err error
		if rows, err = s.tooOld(c, retention, limit); err != nil {
			return err
		}
		return s.clean.tooMany(c, retention, limit, &rows)
	})
	if err != nil {
		return 0, err
	}
	gone := 0
	for part := range slices.Chunk(rows, cleanStep) {
		err := s.write(ctx, "clean", func(st *step) error {
			n, err := st.deleteRuns(part)
			gone += n
			return err
		})
		if err != nil {
			s.clean.mark = 0 // what was found and did not go has to be found again
			return 0, err
		}
	}
	return gone, nil
}

const sqlTooOld = `SELECT id, job_id FROM rq_run INDEXED BY rq_run_finished WHERE finished < ? AND state > 1 ORDER BY finished LIMIT ?`

// tooOld finds rows that ended before the retention's age.
func (s *Store) tooOld(c *conn, retention ruqi.Retention, limit int) (rows []found, err error) {
	if retention.Age <= 0 {
		return nil, nil
	}
	_, us := s.clock()
	err = c.query(sqlTooOld, []any{us - retention.Age.Microseconds(), limit}, func(r row) error {
		rows = append(rows, found{r.int(0), r.text(1)})
		return nil
	})
	return rows, err
}

const sqlLastRun = `SELECT ifnull(max(id), 0) FROM rq_run`
const sqlOpenJobs = `SELECT DISTINCT job_id FROM rq_run INDEXED BY rq_run_alive WHERE state < 2`
const sqlJobsSince = `SELECT DISTINCT job_id FROM rq_run NOT INDEXED WHERE id > ?`

// begin starts a pass.
func (w *sweep) begin(c *conn) error {
	mark, err := c.count(sqlLastRun)
	if err != nil {
		return err
	}
	w.whole, w.after, w.left = w.mark == 0, "", nil
	if !w.whole {
		w.left = w.open
		err = c.query(sqlJobsSince, []any{w.mark}, func(r row) error {
			w.left = append(w.left, r.text(0))
			return nil
		})
		if err != nil {
			return err
		}
		slices.Sort(w.left)
		w.left = slices.Compact(w.left)
	}
	w.mark, w.open = max(mark, 1), nil
	return c.query(sqlOpenJobs, nil, func(r row) error {
		w.open = append(w.open, r.text(0))
		return nil
	})
}

const sqlJobAfter = `SELECT job_id FROM rq_run INDEXED BY rq_run_job WHERE job_id > ? ORDER BY job_id LIMIT 1`

// next returns the job to look at, or false at the end of the pass.
func (w *sweep) next(c *conn) (job string, more bool, err error) {
	if w.whole {
		more, err = c.one(sqlJobAfter, []any{w.after}, func(r row) { job = r.text(0) })
		w.whole = more
		return job, more, err
	}
	if len(w.left) == 0 {
		return "", false, nil
	}
	return w.left[0], true, nil
}

// passed says that the job has been looked at.
func (w *sweep) passed(job string) {
	if w.whole {
		w.after = job
	} else {
		w.left = w.left[1:]
	}
}

// tooMany adds rows of jobs that have more than the retention keeps, until there are limit.
func (w *sweep) tooMany(c *conn, retention ruqi.Retention, limit int, rows *[]found) error {
	if retention.Runs <= 0 && retention.NonRuns <= 0 {
		return nil
	}
	if retention.Runs != w.runs || retention.NonRuns != w.nonRuns {
		w.runs, w.nonRuns = retention.Runs, retention.NonRuns
		w.mark, w.whole, w.left, w.open = 0, false, nil, nil
	}
	chosen := map[int64]bool{}
	for _, r := range *rows {
		chosen[r.id] = true
	}
	began := false
	for len(*rows) < limit {
		job, more, err := w.next(c)
		if err != nil {
			return err
		}
		if !more {
			if began {
				return nil
			}
			began = true
			if err := w.begin(c); err != nil {
				w.mark = 0
				return err
			}
			continue
		}
		all, err := w.excess(c, job, limit, chosen, rows)
		if err != nil {
			return err
		}
		if all {
			w.passed(job)
		}
	}
	return nil
}

const sqlHasMore = `SELECT count(*) FROM (SELECT 1 FROM rq_run INDEXED BY rq_run_job WHERE job_id = ? LIMIT ?)`

// The oldest row that stays, and those before it, oldest first.
const sqlKeptRun = `SELECT id FROM rq_run INDEXED BY rq_run_job
	WHERE job_id = ? AND state BETWEEN 2 AND 6 ORDER BY id DESC LIMIT 1 OFFSET ?`
const sqlKeptNonRun = `SELECT id FROM rq_run INDEXED BY rq_run_job
	WHERE job_id = ? AND state BETWEEN 7 AND 8 ORDER BY id DESC LIMIT 1 OFFSET ?`
const sqlRunsBefore = `SELECT id FROM rq_run INDEXED BY rq_run_job
	WHERE job_id = ? AND id < ? AND state BETWEEN 2 AND 6 ORDER BY id`
const sqlNonRunsBefore = `SELECT id FROM rq_run INDEXED BY rq_run_job
	WHERE job_id = ? AND id < ? AND state BETWEEN 7 AND 8 ORDER BY id`

// excess adds the rows of one job that are too many, oldest first. It reports
// whether that were all of them.
func (w *sweep) excess(c *conn, job string, limit int, chosen map[int64]bool, rows *[]found) (all bool, err error) {
	all = true
	for _, class := range []struct {
		keep         int
		kept, before string
	}{
		{w.runs, sqlKeptRun, sqlRunsBefore},
		{w.nonRuns, sqlKeptNonRun, sqlNonRunsBefore},
	} {
		if class.keep <= 0 {
			continue
		}
		// Most jobs have no more rows than they may, which the index alone tells.
		if n, err := c.count(sqlHasMore, job, class.keep+1); err != nil || n <= int64(class.keep) {
			if err != nil {
				return false, err
			}
			continue
		}
		kept, err := c.count(class.kept, job, class.keep-1)
		if err != nil {
			return false, err
		}
		err = c.query(class.before, []any{job, kept}, func(r row) error {
			if id := r.int(0); !chosen[id] {
				if len(*rows) == limit {
					all = false
					return errStop
				}
				chosen[id] = true
				*rows = append(*rows, found{id, job})
			}
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	return all, nil
}

const sqlDeleteOutput = `DELETE FROM rq_output WHERE run_id IN (SELECT value FROM json_each(?))`
const sqlDeleteRuns = `DELETE FROM rq_run WHERE id IN (SELECT value FROM json_each(?)) AND state > 1`
const sqlDeleteMore = `DELETE FROM rq_run_more WHERE run_id IN (SELECT value FROM json_each(?))`
const sqlHasJob = `SELECT EXISTS (SELECT 1 FROM rq_job WHERE id = ?)`

// deleteRuns deletes rows and their output, and counts the rows.
func (st *step) deleteRuns(rows []found) (int, error) {
	ids := make([]int64, len(rows))
	jobs := make([]string, len(rows))
	for i, r := range rows {
		ids[i], jobs[i] = r.id, r.job
	}
	list := jsonOf(ids)
	for _, sql := range []string{sqlDeleteOutput, sqlDeleteMore} {
		if _, err := st.exec(sql, list); err != nil {
			return 0, err
		}
	}
	n, err := st.exec(sqlDeleteRuns, list)
	if err != nil {
		return 0, err
	}
	slices.Sort(jobs)
	for _, job := range slices.Compact(jobs) {
		has, err := st.count(sqlHasJob, job)
		if err == nil && has == 0 {
			err = st.forgetNames(job)
		}
		if err != nil {
			return 0, fmt.Errorf("names of job %q: %w", job, err)
		}
	}
	return int(n), nil
}
