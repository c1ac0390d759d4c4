package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// runColumns are the columns that scanRun reads, of the tables in runTables.
const runColumns = `r.id, m.parent_id, r.attempt, r.job_id, r.job_name, r.task, r.cause, r.state, r.reason,
	r.nominal, r.due, r.started, r.finished, m.coalesced, m.coalesced_from, r.batch, r.instance, r.epoch,
	r.cancel_by, r.params, m.result, m.progress, m.exit_code, m.signal, m.output_bytes, m.output_cut, m.cpu, m.max_rss, m.progress_text`

// runMore joins what only some runs have; the table of runs is named r.
const runMore = ` LEFT JOIN rq_run_more m ON m.run_id = r.id`

func scanRun(r row) ruqi.Run {
	run := ruqi.Run{
		ID: r.int(0), ParentID: r.int(1), Attempt: int(r.int(2)),
		JobID: r.text(3), JobName: r.text(4), Task: r.text(5),
		Cause: sqlstore.Cause(r.int(6)), State: sqlstore.RunState(r.int(7)), Reason: r.text(8),
		Nominal: r.time(9), Due: r.time(10), Started: r.timePtr(11), Finished: r.timePtr(12),
		Coalesced: r.int(13), CoalescedFrom: r.timePtr(14), Batch: r.int(15),
		Owner:    ruqi.Owner{Instance: r.text(16), Epoch: r.int(17)},
		CancelBy: r.text(18), Params: r.bytes(19), Result: r.bytes(20),
		Signal:      r.text(23),
		OutputBytes: r.int(24), OutputCut: r.int(25) != 0,
		CPU: time.Duration(r.int(26)) * time.Microsecond, MaxRSS: r.int(27), ProgressText: r.text(28),
	}
	if p, ok := r[21].(float64); ok {
		run.Progress = &p
	}
	if !r.null(22) {
		code := int(r.int(22))
		run.ExitCode = &code
	}
	return run
}

const sqlInsertRun = `INSERT INTO rq_run
	(id, job_id, cause, nominal, attempt, state, due, started, finished, instance, epoch, batch, cancel_by, reason, job_name, task, params)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (nominal, job_id, cause, attempt) DO NOTHING`

// sqlInsertBorn is sqlInsertRun for plain fires that start at once; the other
// columns have what they need as their defaults. Many rows in one statement cost a
// fifth less than as many statements: its cursors are opened once.
const (
	sqlInsertBornHead = `INSERT INTO rq_run
	(id, job_id, cause, nominal, attempt, state, due, started, instance, epoch, job_name, task, params) VALUES `
	sqlInsertBornRow  = `(?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)`
	sqlInsertBornTail = ` ON CONFLICT (nominal, job_id, cause, attempt) DO NOTHING`
	sqlInsertBorn     = sqlInsertBornHead + sqlInsertBornRow + sqlInsertBornTail
)

const bornMany = 25 // rows; a divisor of a full claim's 500, and far from the limit of values

var sqlInsertBornMany = sqlInsertBornHead + strings.Repeat(sqlInsertBornRow+", ", bornMany-1) + sqlInsertBornRow + sqlInsertBornTail

const sqlInsertMore = `INSERT INTO rq_run_more (run_id, parent_id, coalesced, coalesced_from, exit_code, signal, cpu, max_rss, result, progress, progress_text)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const sqlInsertRunName = `INSERT INTO rq_run_name (name, job_id) VALUES (?, ?) ON CONFLICT DO NOTHING`

// insertRun gives the run an id and writes it. It reports false when its unique
// key is taken. jobName is the name under which the job's runs are listed already, if any.
func (st *step) insertRun(run *ruqi.Run, jobName string) (bool, error) {
	run.Attempt = max(run.Attempt, 1)
	state, err := sqlstore.RunStateCode(run.State)
	if err != nil {
		return false, err
	}
	cause, err := sqlstore.CauseCode(run.Cause)
	if err != nil {
		return false, err
	}
	if run.State.Ended() && run.Finished == nil {
		now := st.now
		run.Finished = &now
	}
	id, err := st.nextRun()
	if err != nil {
		return false, err
	}
	n, err := st.exec(sqlInsertRun, id, run.JobID, cause, run.Nominal, run.Attempt, state, run.Due,
		run.Started, run.Finished, run.Owner.Instance, run.Owner.Epoch, run.Batch,
		run.CancelBy, run.Reason, run.JobName, run.Task, textOf(run.Params))
	if err != nil || n == 0 {
		st.run-- // not used
		return false, err
	}
	run.ID = id
	if err := st.insertMore(run); err != nil {
		return false, err
	}
	if run.JobName != jobName {
		if _, err := st.exec(sqlInsertRunName, run.JobName, run.JobID); err != nil {
			return false, err
		}
	}
	normalize(run)
	return true, nil
}

// insertMore writes what only some runs have, if this one has any of it.
func (st *step) insertMore(run *ruqi.Run) error {
	if !hasMore(run) {
		return nil
	}
	_, err := st.exec(sqlInsertMore, run.ID, run.ParentID, run.Coalesced, run.CoalescedFrom, exitCode(run), run.Signal,
		run.CPU.Microseconds(), run.MaxRSS, textOf(run.Result), number(run.Progress), run.ProgressText)
	return err
}

func hasMore(run *ruqi.Run) bool {
	return run.ParentID != 0 || run.Coalesced != 0 || run.CoalescedFrom != nil || run.Result != nil || run.Progress != nil || hasEnd(run)
}

// hasEnd reports whether the run has what the end of a process brings.
func hasEnd(run *ruqi.Run) bool {
	return run.ExitCode != nil || run.Signal != "" || run.CPU != 0 || run.MaxRSS != 0
}

// normalize gives a run that was just written the form it will be read in.
func normalize(run *ruqi.Run) {
	run.Nominal, run.Due = micro(run.Nominal), micro(run.Due)
	run.Started, run.Finished, run.CoalescedFrom = microPtr(run.Started), microPtr(run.Finished), microPtr(run.CoalescedFrom)
	run.OutputBytes, run.OutputCut = 0, false
	run.CPU = run.CPU.Truncate(time.Microsecond)
}

// micro is t as it will be read: in UTC, to the microsecond.
func micro(t time.Time) time.Time { return sqlstore.Time(sqlstore.Micros(t)) }

// microPtr changes what t points to as micro does; the store owns what it was given.
func microPtr(t *time.Time) *time.Time {
	if t != nil {
		*t = micro(*t)
	}
	return t
}

func textOf(data json.RawMessage) any {
	switch {
	case data == nil:
		return nil
	case string(data) == "{}": // most params; the constant costs no memory
		return "{}"
	}
	return string(data)
}

func exitCode(run *ruqi.Run) any {
	if run.ExitCode == nil {
		return nil
	}
	return int64(*run.ExitCode)
}

func number(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

const sqlRunByID = `SELECT ` + runColumns + ` FROM rq_run r` + runMore + ` WHERE r.id = ?`

// runByID reads one run.
func runByID(c *conn, id int64) (run ruqi.Run, err error) {
	found, err := c.one(sqlRunByID, []any{id}, func(r row) { run = scanRun(r) })
	if err == nil && !found {
		err = fmt.Errorf("run %d: %w", id, ruqi.ErrNotFound)
	}
	return run, err
}
