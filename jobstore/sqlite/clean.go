package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const (
	defaultClean = 1000 // rows of one Clean that names no limit
	// cleanStep is how many rows go in one write transaction: some milliseconds, in
	// which no claim has to wait longer.
	cleanStep = 250
)

// Clean deletes history past its retention, as ruqi.JobStore says. What is to go is
// looked for beside all writers, and goes in several short steps: when one of
// them fails, those before it stand. Then it counts what was executed since the last time.
func (s *Store) Clean(ctx context.Context, retention ruqi.Retention) (int, error) {
	limit := retention.Limit
	if limit <= 0 {
		limit = defaultClean
	}
	if err := s.sweep.Lock(ctx); err != nil {
		return 0, fmt.Errorf("clean: %w", err)
	}
	defer s.sweep.Unlock()
	var rows []sqlstore.Found
	err := s.read(ctx, "clean", func(c *conn) (err error) {
		if rows, err = s.tooOld(c, retention, limit); err != nil {
			return err
		}
		rows, err = s.sweep.TooMany(history{c}, retention, limit, rows)
		return err
	})
	if err != nil {
		s.sweep.Forget()
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
			s.sweep.Forget() // what was found and did not go has to be found again
			return 0, err
		}
	}
	return gone, s.foldTally(ctx)
}

const sqlTooOld = `SELECT id, job_id FROM rq_run INDEXED BY rq_run_finished WHERE finished < ? AND state > 1 ORDER BY finished LIMIT ?`

// tooOld finds rows that ended before the retention's age.
func (s *Store) tooOld(c *conn, retention ruqi.Retention, limit int) (rows []sqlstore.Found, err error) {
	if retention.Age <= 0 {
		return nil, nil
	}
	_, us := s.clock()
	err = c.query(sqlTooOld, []any{us - retention.Age.Microseconds(), limit}, func(r row) error {
		rows = append(rows, sqlstore.Found{ID: r.int(0), Job: r.text(1)})
		return nil
	})
	return rows, err
}

const sqlLastRun = `SELECT ifnull(max(id), 0) FROM rq_run`
const sqlOpenJobs = `SELECT DISTINCT job_id FROM rq_run INDEXED BY rq_run_alive WHERE state < 2`
const sqlJobsSince = `SELECT DISTINCT job_id FROM rq_run NOT INDEXED WHERE id > ?`
const sqlJobAfter = `SELECT job_id FROM rq_run INDEXED BY rq_run_job WHERE job_id > ? ORDER BY job_id LIMIT 1`

// A history answers what a sweep asks, on one state of the file.
type history struct{ *conn }

// LastRun implements sqlstore.History.
func (h history) LastRun() (int64, error) { return h.count(sqlLastRun) }

// OpenJobs implements sqlstore.History.
func (h history) OpenJobs() ([]string, error) { return h.texts(sqlOpenJobs) }

// JobsSince implements sqlstore.History.
func (h history) JobsSince(run int64) ([]string, error) { return h.texts(sqlJobsSince, run) }

// JobAfter implements sqlstore.History.
func (h history) JobAfter(job string) (after string, found bool, err error) {
	found, err = h.one(sqlJobAfter, []any{job}, func(r row) { after = r.text(0) })
	return after, found, err
}

func (h history) texts(sql string, args ...any) (list []string, err error) {
	err = h.query(sql, args, func(r row) error {
		list = append(list, r.text(0))
		return nil
	})
	return list, err
}

const sqlHasMore = `SELECT count(*) FROM (SELECT 1 FROM rq_run INDEXED BY rq_run_job WHERE job_id = ? LIMIT ?)`

// The oldest row of a class that stays, and those before it, oldest first.
const sqlKept = `SELECT id FROM rq_run INDEXED BY rq_run_job
	WHERE job_id = ? AND state BETWEEN ? AND ? ORDER BY id DESC LIMIT 1 OFFSET ?`
const sqlBefore = `SELECT id FROM rq_run INDEXED BY rq_run_job
	WHERE job_id = ? AND id < ? AND state BETWEEN ? AND ? ORDER BY id`

// Excess implements sqlstore.History.
func (h history) Excess(job string, class sqlstore.Class, keep int, each func(run int64) bool) error {
	// Most jobs have no more rows than they may, which the index alone tells.
	if n, err := h.count(sqlHasMore, job, keep+1); err != nil || n <= int64(keep) {
		return err
	}
	kept, err := h.count(sqlKept, job, class.First, class.Last, keep-1)
	if err != nil {
		return err
	}
	return h.query(sqlBefore, []any{job, kept, class.First, class.Last}, func(r row) error {
		if !each(r.int(0)) {
			return errStop
		}
		return nil
	})
}

const sqlDeleteOutput = `DELETE FROM rq_output WHERE run_id IN (SELECT value FROM json_each(?))`
const sqlDeleteRuns = `DELETE FROM rq_run WHERE id IN (SELECT value FROM json_each(?)) AND state > 1`
const sqlDeleteMore = `DELETE FROM rq_run_more WHERE run_id IN (SELECT value FROM json_each(?))`
const sqlHasJob = `SELECT EXISTS (SELECT 1 FROM rq_job WHERE id = ?)`

// deleteRuns deletes rows and their output, and counts the rows.
func (st *step) deleteRuns(rows []sqlstore.Found) (int, error) {
	ids := make([]int64, len(rows))
	jobs := make([]string, len(rows))
	for i, r := range rows {
		ids[i], jobs[i] = r.ID, r.Job
	}
	list := jsonOf(ids)
	if err := st.untally(list); err != nil {
		return 0, fmt.Errorf("tally: %w", err)
	}
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
