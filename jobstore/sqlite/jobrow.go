package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// jobColumns are the columns that scanJob reads, of the tables named j (rq_job)
// and d (rq_definition).
const jobColumns = `j.seq, j.id, j.state, j.reason, j.pool, j.needs, j.priority, j.max_instances,
	j.next_nominal, j.next_due, j.run_count, d.name, d.version, d.tags, d.created, d.updated, d.spec, d.on_start`

// A jobRow is a record and its row's number.
type jobRow struct {
	ruqi.JobRecord
	seq int64
}

func scanJob(r row) (jobRow, error) {
	j := jobRow{seq: r.int(0), JobRecord: ruqi.JobRecord{
		ID: r.text(1), State: sqlstore.JobState(r.int(2)), Reason: r.text(3),
		Pool: r.text(4), Needs: r.text(5), Priority: int(r.int(6)), MaxInstances: int(r.int(7)),
		NextNominal: r.timePtr(8), NextDue: r.timePtr(9), RunCount: r.int(10),
		Name: r.text(11), Version: r.int(12), Created: r.time(14), Updated: r.time(15), Spec: r.bytes(16), OnStart: r.int(17) != 0,
	}}
	if !r.null(13) {
		if err := json.Unmarshal(r.bytes(13), &j.Tags); err != nil {
			return j, fmt.Errorf("tags of job %q: %w", j.ID, err)
		}
	}
	return j, nil
}

const sqlJobByID = `SELECT ` + jobColumns + ` FROM rq_job j CROSS JOIN rq_definition d ON d.seq = j.seq WHERE j.id = ?`

// jobByID reads one job, or nil.
func jobByID(c *conn, id string) (*jobRow, error) {
	var found *jobRow
	var scanning error
	_, err := c.one(sqlJobByID, []any{id}, func(r row) {
		var j jobRow
		j, scanning = scanJob(r)
		found = &j
	})
	if err == nil {
		err = scanning
	}
	return found, err
}

const sqlInsertJob = `INSERT INTO rq_job (id, state, reason, pool, needs, priority, max_instances, next_nominal, next_due, run_count, rev)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) RETURNING seq`
const sqlInsertDefinition = `INSERT INTO rq_definition (seq, name, version, tags, created, updated, spec, id, on_start) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const sqlUpdateJob = `UPDATE rq_job SET state = ?, reason = ?, pool = ?, needs = ?, priority = ?, max_instances = ?,
	next_nominal = ?, next_due = ?, rev = rev + 1 WHERE seq = ?`
const sqlUpdateDefinition = `UPDATE rq_definition SET name = ?, version = ?, tags = ?, updated = ?, spec = ?, on_start = ? WHERE seq = ?`

// putJob writes the record over old, or as a new job. Created, Updated and, of an
// existing job, RunCount and ID are the store's.
func (st *step) putJob(job *ruqi.JobRecord, old *jobRow) error {
	state, err := sqlstore.JobStateCode(job.State)
	if err != nil {
		return err
	}
	var tags any
	if len(job.Tags) > 0 {
		tags = jsonOf(job.Tags)
	} else {
		job.Tags = nil
	}
	job.Live, job.Updated = nil, st.now
	job.NextNominal, job.NextDue = microPtr(job.NextNominal), microPtr(job.NextDue)
	st.hint = true
	if old == nil {
		job.Created = st.now
		var seq int64
		st.changed++ // a query does not count them
		_, err := st.one(sqlInsertJob, []any{job.ID, state, job.Reason, job.Pool, job.Needs, job.Priority, job.MaxInstances,
			job.NextNominal, job.NextDue, job.RunCount}, func(r row) { seq = r.int(0) })
		if err == nil {
			_, err = st.exec(sqlInsertDefinition, seq, job.Name, job.Version, tags, st.us, st.us, specOf(job), job.ID, flag(job.OnStart))
		}
		if err == nil {
			_, err = st.exec(sqlInsertRunName, job.Name, job.ID)
		}
		return err
	}
	job.ID, job.Created, job.RunCount = old.ID, old.Created, old.RunCount
	_, err = st.exec(sqlUpdateJob, state, job.Reason, job.Pool, job.Needs, job.Priority, job.MaxInstances,
		job.NextNominal, job.NextDue, old.seq)
	if err == nil {
		_, err = st.exec(sqlUpdateDefinition, job.Name, job.Version, tags, st.us, specOf(job), flag(job.OnStart), old.seq)
	}
	if err == nil && job.Name != old.Name {
		_, err = st.exec(sqlInsertRunName, job.Name, job.ID)
	}
	return err
}

// flag is a truth as SQLite has it.
func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

func specOf(job *ruqi.JobRecord) any {
	if job.Spec == nil {
		return nil
	}
	return job.Spec
}

const sqlDeleteJob = `DELETE FROM rq_job WHERE seq = ?`
const sqlDeleteDefinition = `DELETE FROM rq_definition WHERE seq = ?`
const sqlCancelRemoved = `UPDATE rq_run SET state = 5, reason = 'job removed', finished = ?
	WHERE job_id = ? AND state < 2 AND state = 0`
const sqlHasRuns = `SELECT EXISTS (SELECT 1 FROM rq_run WHERE job_id = ?)`
const sqlForgetNames = `DELETE FROM rq_run_name WHERE job_id = ?`

// removeJob deletes the job and cancels its queued rows.
func (st *step) removeJob(seq int64, id string) error {
	_, err := st.exec(sqlCancelRemoved, st.us, id)
	if err == nil {
		_, err = st.exec(sqlDeleteJob, seq)
	}
	if err == nil {
		_, err = st.exec(sqlDeleteDefinition, seq)
	}
	if err == nil {
		err = st.forgetNames(id)
	}
	st.hint = true
	return err
}

// forgetNames drops the names under which the runs of a removed job are listed, once none is left.
func (st *step) forgetNames(id string) error {
	has, err := st.count(sqlHasRuns, id)
	if err == nil && has == 0 {
		_, err = st.exec(sqlForgetNames, id)
	}
	return err
}

const sqlAlive = `SELECT count(*) FROM rq_run WHERE job_id = ? AND state < 2`
const sqlActive = `SELECT count(*) FROM rq_run WHERE job_id = ? AND state < 2 AND (state = 1 OR batch <> 0)`

// removeIfDone deletes the job if it is finished and no run of it is queued or running.
func (st *step) removeIfDone(j *jobRow) error {
	if j == nil || j.State != ruqi.JobFinished {
		return nil
	}
	alive, err := st.count(sqlAlive, j.ID)
	if err != nil || alive > 0 {
		return err
	}
	return st.removeJob(j.seq, j.ID)
}
