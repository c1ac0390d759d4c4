package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const (
	defaultClean = 1000 // rows of one Clean that names no limit
	cleanStep    = 500  // rows that go in one transaction: some milliseconds
)

// Clean deletes history past its retention, as ruqi.JobStore says. What is to go is
// looked for without a lock, and goes in several short steps: when one of them fails, those before it stand.
// Several instances may clean at once; each row goes once. Then it counts what was executed since the last time.
func (s *Store) Clean(ctx context.Context, retention ruqi.Retention) (int, error) {
	limit := retention.Limit
	if limit <= 0 {
		limit = defaultClean
	}
	if err := s.sweep.Lock(ctx); err != nil {
		return 0, fmt.Errorf("clean: %w", err)
	}
	defer s.sweep.Unlock()
	h := &history{store: s, ctx: ctx, keep: leastKept(retention)}
	rows, err := h.tooOld(retention.Age, limit)
	if err == nil {
		rows, err = s.sweep.TooMany(h, retention, limit, rows)
	}
	if err != nil {
		s.sweep.Forget()
		return 0, s.translate(ctx, "clean", err)
	}
	gone := 0
	for part := range slices.Chunk(rows, cleanStep) {
		n, err := s.deleteRuns(ctx, part)
		if err != nil {
			s.sweep.Forget() // what was found and did not go has to be found again
			return 0, err
		}
		gone += n
	}
	return gone, s.foldTally(ctx)
}

const (
	sqlDeleteRuns   = `DELETE FROM rq_run r USING unnest($1::bigint[]) v (id) WHERE r.id = v.id AND r.state >= 2`
	sqlDeleteOutput = `DELETE FROM rq_output o USING unnest($1::bigint[]) v (id) WHERE o.run_id = v.id AND NOT EXISTS (SELECT FROM rq_run r WHERE r.id = v.id OFFSET 0)`
	sqlLockNames    = `SELECT n.name FROM unnest($1::text[]) v (id) CROSS JOIN rq_run_name n WHERE n.job_id = v.id ORDER BY n.name, n.job_id FOR UPDATE OF n`
	sqlForgetNames  = `DELETE FROM rq_run_name n USING unnest($1::text[]) v (id) WHERE n.job_id = v.id
	AND NOT EXISTS (SELECT FROM rq_definition d WHERE d.id = v.id) AND NOT EXISTS (SELECT FROM rq_run r WHERE r.job_id = v.id OFFSET 0)`
)

// deleteRuns deletes rows and their output in one step, and counts the rows.
func (s *Store) deleteRuns(ctx context.Context, rows []sqlstore.Found) (gone int, err error) {
	ids, jobs := make([]int64, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		ids[i], jobs[i] = r.ID, r.Job
	}
	slices.Sort(ids)
	slices.Sort(jobs)
	jobs = slices.Compact(jobs)
	err = s.write(ctx, s.engine, "clean", func(st *step) error {
		if err := st.start(nil); err != nil {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(sqlLockTally)
		b.Queue(sqlUntally, ids)
		b.Queue(sqlUntallied, ids)
		b.Queue(sqlNoneThere, ids)
		b.Queue(sqlDeleteRuns, ids).Exec(func(tag pgconn.CommandTag) error {
			gone = int(tag.RowsAffected())
			return nil
		})
		b.Queue(sqlDeleteOutput, ids)
		b.Queue(sqlLockNames, jobs)
		b.Queue(sqlForgetNames, jobs)
		if err := st.send(b); err != nil {
			return err
		}
		return st.commit(nil)
	})
	return gone, err
}

// A history answers what a sweep asks, each with one statement.
type history struct {
	store *Store
	ctx   context.Context
	// keep is the lowest bound of the rows of a job: one that has no more has none too many.
	keep int64
}

func leastKept(r ruqi.Retention) int64 {
	if r.NonRuns <= 0 || r.Runs > 0 && r.Runs < r.NonRuns {
		return int64(r.Runs)
	}
	return int64(r.NonRuns)
}

func (h *history) query(sql string, args []any, each func(pgx.Rows) error) error {
	b := &pgx.Batch{}
	queue(b, sql, args, each)
	return h.store.look(h.ctx, h.store.engine, b)
}

func (h *history) texts(sql string, args ...any) (list []string, err error) {
	err = h.query(sql, args, func(rows pgx.Rows) error {
		var s string
		err := rows.Scan(&s)
		list = append(list, s)
		return err
	})
	return list, err
}

const sqlTooOld = `SELECT r.id, r.job_id FROM rq_run r
	WHERE r.state >= 2 AND r.finished < coalesce($1::timestamptz, now()) - $2::bigint * interval '1 microsecond' ORDER BY r.finished LIMIT $3`

// tooOld finds rows that ended before the retention's age.
func (h *history) tooOld(age time.Duration, limit int) (rows []sqlstore.Found, err error) {
	if age <= 0 {
		return nil, nil
	}
	err = h.query(sqlTooOld, []any{h.store.clock(), age.Microseconds(), limit}, func(r pgx.Rows) error {
		var found sqlstore.Found
		err := r.Scan(&found.ID, &found.Job)
		rows = append(rows, found)
		return err
	})
	return rows, err
}

// walkRuns is over how many runs one statement walks that looks for jobs with too many: some milliseconds. As long as it goes on the
// server keeps what every claim leaves behind in the index of due jobs, and each of the next claims passes over it.
const walkRuns = 2000

// Jobs are walked over, and their rows counted, in the history alone, by name: after many runs the index of those alive is full of entries
// whose rows went on, and each step would pass over all that come after its job; with a condition on the state it would read
// the rows, and not the index alone.
const (
	sqlLastRun  = `SELECT coalesce(max(id), 0) FROM rq_run`
	sqlOpenJobs = `SELECT DISTINCT job_id FROM rq_run WHERE state < 2`
	// The last of so many runs, and of their jobs only those that have more rows than the bound: for most it is asked in vain.
	sqlJobsSince = `WITH n AS MATERIALIZED (SELECT id, job_id FROM rq_run WHERE id > $1 ORDER BY id LIMIT $3::int)
	SELECT (SELECT max(id) FROM n), ARRAY(SELECT j.job FROM (SELECT DISTINCT job_id AS job FROM n) j WHERE ` + crowded + `)`
	// Of so many rows, in the order of their jobs, the first job that has more than the bound, and the last but one, whose rows are
	// all among them; how many rows there were.
	sqlJobAfter = `WITH n AS MATERIALIZED (SELECT job_id FROM rq_run_ended WHERE job_id > $1 ORDER BY job_id LIMIT $3::bigint)
	SELECT (SELECT min(j.job_id) FROM (SELECT job_id FROM n GROUP BY job_id HAVING count(*) > $2::bigint) j),
		(SELECT max(job_id) FROM n WHERE job_id < (SELECT max(job_id) FROM n)), (SELECT count(*) FROM n)`
	crowded = `(SELECT count(*) FROM (SELECT FROM rq_run_ended c WHERE c.job_id = j.job LIMIT $2::bigint + 1) n) > $2::bigint`
)

// LastRun implements sqlstore.History.
func (h *history) LastRun() (id int64, err error) {
	err = h.query(sqlLastRun, nil, func(rows pgx.Rows) error { return rows.Scan(&id) })
	return id, err
}

// OpenJobs implements sqlstore.History.
func (h *history) OpenJobs() ([]string, error) {
	return h.texts(sqlOpenJobs)
}

// JobsSince implements sqlstore.History.
func (h *history) JobsSince(run int64) (jobs []string, err error) {
	for last := &run; last != nil && err == nil; {
		err = h.query(sqlJobsSince, []any{*last, h.keep, walkRuns}, func(rows pgx.Rows) error {
			var some []string
			err := rows.Scan(&last, &some)
			jobs = append(jobs, some...)
			return err
		})
	}
	return jobs, err
}

// JobAfter implements sqlstore.History. Each statement reads more rows than the bound, so that of two jobs it passes one at least.
func (h *history) JobAfter(job string) (after string, found bool, err error) {
	most := walkRuns + h.keep
	for {
		var many, whole *string
		read := int64(0)
		err := h.query(sqlJobAfter, []any{job, h.keep, most}, func(rows pgx.Rows) error { return rows.Scan(&many, &whole, &read) })
		switch {
		case err != nil:
			return "", false, err
		case many != nil:
			return *many, true, nil
		case read < most:
			return "", false, nil
		}
		job = *whole // not nil: one job alone would have had too many
	}
}

// The rows before the oldest that stays, oldest first.
const sqlExcess = `SELECT r.id FROM rq_run r WHERE r.job_id = $1 AND r.state >= 2 AND r.state BETWEEN $2 AND $3
	AND r.id < (SELECT k.id FROM rq_run k WHERE k.job_id = $1 AND k.state >= 2 AND k.state BETWEEN $2 AND $3 ORDER BY k.id DESC LIMIT 1 OFFSET $4 - 1)
	AND r.id > $5 ORDER BY r.id LIMIT $6`

// Excess implements sqlstore.History.
func (h *history) Excess(job string, class sqlstore.Class, keep int, each func(run int64) bool) error {
	after, more := int64(0), true
	for more {
		var ids []int64
		err := h.query(sqlExcess, []any{job, int16(class.First), int16(class.Last), int64(keep), after, defaultClean}, func(rows pgx.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			after = id
			if !each(id) {
				return nil
			}
		}
		more = len(ids) == defaultClean
	}
	return nil
}
