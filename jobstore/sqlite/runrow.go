package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// runColumns are the columns that scanRun reads, of the table named r.
const runColumns = `r.id, r.parent_id, r.attempt, r.job_id, r.job_name, r.task, r.cause, r.state, r.reason,
	r.nominal, r.due, r.started, r.finished, r.coalesced, r.coalesced_from, r.batch, r.instance, r.epoch,
	r.cancel_by, r.params, r.result, r.progress, r.exit_code, r.signal, r.output_bytes, r.output_cut, r.cpu, r.max_rss`

// runColumnCount is the number of runColumns, for what stands behind them.
const runColumnCount = 28

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
		CPU: time.Duration(r.int(26)) * time.Microsecond, MaxRSS: r.int(27),
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

// sqlInsertRun writes the columns that every row has; the others are left at
// their defaults, which is what most rows want of them.
const sqlInsertRun = `INSERT INTO rq_run
	(id, job_id, cause, nominal, attempt, state, due, started, finished, instance, epoch, batch, parent_id,
	 coalesced, coalesced_from, reason, job_name, task, params)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (nominal, job_id, cause, attempt) DO NOTHING`

// sqlInsertBorn is sqlInsertRun for a plain fire that starts at once.
const sqlInsertBorn = `INSERT INTO rq_run
	(id, job_id, cause, nominal, attempt, state, due, started, instance, epoch, job_name, task, params)
	VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (nominal, job_id, cause, attempt) DO NOTHING`

// sqlSetRest writes what only rows that have ended may bring with them.
const sqlSetRest = `UPDATE rq_run SET exit_code = ?, signal = ?, cpu = ?, max_rss = ?, cancel_by = ?,
	result = ?, progress = ? WHERE id = ?`

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
	var n int64
	if run.State == ruqi.RunRunning && run.Batch == 0 && run.ParentID == 0 && run.Coalesced == 0 && run.CoalescedFrom == nil && run.Reason == "" {
		n, err = st.exec(sqlInsertBorn, id, run.JobID, cause, run.Nominal, run.Attempt, run.Due, run.Started,
			run.Owner.Instance, run.Owner.Epoch, run.JobName, run.Task, textOf(run.Params))
	} else {
		n, err = st.exec(sqlInsertRun, id, run.JobID, cause, run.Nominal, run.Attempt, state, run.Due,
			run.Started, run.Finished, run.Owner.Instance, run.Owner.Epoch, run.Batch, run.ParentID,
			run.Coalesced, run.CoalescedFrom, run.Reason, run.JobName, run.Task, textOf(run.Params))
	}
	if err != nil || n == 0 {
		st.run-- // not used
		return false, err
	}
	run.ID = id
	if err := st.insertRest(run); err != nil {
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

func (st *step) insertRest(run *ruqi.Run) error {
	if run.ExitCode == nil && run.Signal == "" && run.CPU == 0 && run.MaxRSS == 0 && run.CancelBy == "" && run.Result == nil && run.Progress == nil {
		return nil
	}
	_, err := st.exec(sqlSetRest, exitCode(run), run.Signal, run.CPU.Microseconds(), run.MaxRSS, run.CancelBy,
		textOf(run.Result), progress(run), run.ID)
	return err
}

// normalize gives a run that was just written the form it will be read in.
func normalize(run *ruqi.Run) {
	run.Nominal, run.Due = micro(run.Nominal), micro(run.Due)
	run.Started, run.Finished, run.CoalescedFrom = microPtr(run.Started), microPtr(run.Finished), microPtr(run.CoalescedFrom)
	run.OutputBytes, run.OutputCut = 0, false
	run.CPU = run.CPU.Truncate(time.Microsecond)
}

func micro(t time.Time) time.Time { return sqlstore.Time(sqlstore.Micros(t)) }

func microPtr(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	m := micro(*t)
	return &m
}

func textOf(data json.RawMessage) any {
	if data == nil {
		return nil
	}
	return string(data)
}

func exitCode(run *ruqi.Run) any {
	if run.ExitCode == nil {
		return nil
	}
	return int64(*run.ExitCode)
}

func progress(run *ruqi.Run) any {
	if run.Progress == nil {
		return nil
	}
	return *run.Progress
}

const sqlRunByID = `SELECT ` + runColumns + ` FROM rq_run r WHERE r.id = ?`

// runByID reads one run.
func runByID(c *conn, id int64) (run ruqi.Run, err error) {
	found, err := c.one(sqlRunByID, []any{id}, func(r row) { run = scanRun(r) })
	if err == nil && !found {
		err = fmt.Errorf("run %d: %w", id, ruqi.ErrNotFound)
	}
	return run, err
}
