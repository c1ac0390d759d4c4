package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// jobColumns are the columns that scanJob reads, of the tables named j (rq_job)
// and d (rq_definition).
const jobColumns = `j.seq, d.id, j.state, j.reason, j.pool, j.needs, j.priority, j.max_instances,
	j.next_nominal, j.next_due, j.run_count, d.name, d.version, d.tags, d.created, d.updated, d.spec, d.on_start`

// A jobRow is a record and its row's number.
type jobRow struct {
	ruqi.JobRecord
	seq int64
}

// scanJob reads jobColumns; before are the targets of columns in front of them.
func scanJob(rows pgx.Row, before ...any) (jobRow, error) {
	return scanJobAnd(rows, before, nil)
}

func scanJobAnd(rows pgx.Row, before, after []any) (jobRow, error) {
	var j jobRow
	var state int16
	targets := append(append(before, &j.seq, &j.ID, &state, &j.Reason, &j.Pool, &j.Needs, &j.Priority, &j.MaxInstances,
		timeOrNil{&j.NextNominal}, timeOrNil{&j.NextDue}, &j.RunCount, &j.Name, &j.Version, &j.Tags,
		timeAt{&j.Created}, timeAt{&j.Updated}, &j.Spec, &j.OnStart), after...)
	err := rows.Scan(targets...)
	j.State = sqlstore.JobState(int64(state))
	return j, err
}

const sqlInsertJob = `WITH d AS (INSERT INTO rq_definition (id, name, version, tags, created, updated, spec, on_start) VALUES ($1, $2, $3, $4, $5, $5, $6, $16) RETURNING seq, id)
	INSERT INTO rq_job (seq, id, state, reason, pool, needs, priority, max_instances, next_nominal, next_due, run_count, rev)
	SELECT seq, id, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1 FROM d`
const sqlUpdateJob = `UPDATE rq_job SET state = $2, reason = $3, pool = $4, needs = $5, priority = $6, max_instances = $7,
	next_nominal = $8, next_due = $9, rev = rev + 1 WHERE seq = $1`
const sqlUpdateDefinition = `UPDATE rq_definition SET name = $2, version = $3, tags = $4, updated = $5, spec = $6, on_start = $7 WHERE seq = $1`

// queueJob queues the writing of a record over old, or as a new job. Created, Updated and, of an
// existing job, RunCount and ID are the store's.
func queueJob(b *pgx.Batch, job *ruqi.JobRecord, old *jobRow, now time.Time) error {
	state, err := sqlstore.JobStateCode(job.State)
	if err != nil {
		return err
	}
	if len(job.Tags) == 0 {
		job.Tags = nil
	}
	job.Live, job.Updated = nil, now
	job.Name, job.Reason = textOf(job.Name), textOf(job.Reason)
	job.NextNominal, job.NextDue = microPtr(job.NextNominal), microPtr(job.NextDue)
	if old == nil {
		job.Created = now
		b.Queue(sqlInsertJob, job.ID, job.Name, job.Version, job.Tags, now, job.Spec,
			int16(state), job.Reason, job.Pool, job.Needs, job.Priority, job.MaxInstances, job.NextNominal, job.NextDue, job.RunCount, job.OnStart)
		b.Queue(sqlHoldRunName, job.Name, job.ID)
		return nil
	}
	job.ID, job.Created, job.RunCount = old.ID, old.Created, old.RunCount
	b.Queue(sqlUpdateJob, old.seq, int16(state), job.Reason, job.Pool, job.Needs, job.Priority, job.MaxInstances, job.NextNominal, job.NextDue)
	b.Queue(sqlUpdateDefinition, old.seq, job.Name, job.Version, job.Tags, now, job.Spec, job.OnStart)
	if job.Name != old.Name {
		b.Queue(sqlInsertRunName, job.Name, job.ID)
	}
	return nil
}

// Whether a removal goes on is decided by its first statement; the others follow what it has left.
const (
	sqlDeleteJob       = `DELETE FROM rq_job WHERE seq = $1`
	sqlDeleteIdleJob   = `DELETE FROM rq_job j WHERE j.seq = $1 AND NOT EXISTS (SELECT FROM rq_run r WHERE r.job_id = j.id AND r.state < 2 OFFSET 0)`
	sqlDeleteDoneJob   = sqlDeleteIdleJob + ` AND j.state = 2`
	sqlGone            = `NOT EXISTS (SELECT FROM rq_job j WHERE j.seq = $1)`
	sqlDeleteDef       = `DELETE FROM rq_definition d WHERE d.seq = $1 AND ` + sqlGone
	sqlCancelRemoved   = `UPDATE rq_run SET state = 5, reason = 'job removed', finished = $3 WHERE job_id = $2 AND state < 2 AND ` + stateIs + ` 0 AND ` + sqlGone
	sqlForgetNamesGone = `DELETE FROM rq_run_name n WHERE n.job_id = $2 AND ` + sqlGone + ` AND NOT EXISTS (SELECT FROM rq_run r WHERE r.job_id = $2)`
)

// queueRemoval queues the removal of a job by one of the statements above, and what goes with it: its queued rows are cancelled.
func queueRemoval(b *pgx.Batch, by, id string, seq int64, now time.Time) {
	b.Queue(by, seq)
	b.Queue(sqlDeleteDef, seq)
	b.Queue(sqlCancelRemoved, seq, id, now)
	b.Queue(sqlForgetNamesGone, seq, id)
}
