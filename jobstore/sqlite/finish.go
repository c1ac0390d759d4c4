package sqlite

import (
	"context"
	"fmt"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const sqlFinish = `UPDATE rq_run SET state = ?, finished = ?, reason = ?
	WHERE id = ? AND state = 1 AND instance = ? AND epoch = ?`
const sqlFinishMore = `INSERT INTO rq_run_more (run_id, exit_code, signal, cpu, max_rss) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (run_id) DO UPDATE SET exit_code = excluded.exit_code, signal = excluded.signal, cpu = excluded.cpu, max_rss = excluded.max_rss`

// sqlSay keeps what a run told of itself: what is not told now stays.
const sqlSay = `INSERT INTO rq_run_more (run_id, result, progress, progress_text) VALUES (?, ?, ?, ?)
	ON CONFLICT (run_id) DO UPDATE SET result = ifnull(excluded.result, result), progress = ifnull(excluded.progress, progress),
	progress_text = CASE WHEN excluded.progress IS NULL THEN progress_text ELSE excluded.progress_text END`

// Finish ends runs, as ruqi.JobStore says.
func (s *Store) Finish(ctx context.Context, owner ruqi.Owner, done []ruqi.Done) (late []int64, err error) {
	if len(done) == 0 {
		return nil, ctx.Err()
	}
	err = s.write(ctx, "finish", func(st *step) error {
		late = nil
		for i := range done {
			written, err := st.finish(owner, &done[i])
			if err != nil {
				return fmt.Errorf("run %d: %w", done[i].Run.ID, err)
			}
			if !written {
				late = append(late, done[i].Run.ID)
				if err := st.note(owner, &done[i].Run); err != nil {
					return err
				}
			}
		}
		st.hint = true
		_, err := st.exec(sqlForgetGone, owner.Instance, owner.Epoch)
		return err
	})
	if err != nil {
		return nil, err
	}
	return late, nil
}

// finish writes one end, and reports false when the run is not the owner's any more.
func (st *step) finish(owner ruqi.Owner, done *ruqi.Done) (written bool, err error) {
	run := &done.Run
	if !run.State.Ended() {
		return false, fmt.Errorf("%q is not the state of an ended run: %w", string(run.State), ruqi.ErrInvalid)
	}
	state, err := sqlstore.RunStateCode(run.State)
	if err != nil {
		return false, err
	}
	finished := st.us
	if run.Finished != nil {
		finished = sqlstore.Micros(*run.Finished)
	}
	// The reason of a started batch row, say, is replaced by what its end tells, be it nothing.
	n, err := st.exec(sqlFinish, state, finished, run.Reason, run.ID, owner.Instance, owner.Epoch)
	if err == nil && n > 0 && hasEnd(run) {
		_, err = st.exec(sqlFinishMore, run.ID, exitCode(run), run.Signal, run.CPU.Microseconds(), run.MaxRSS)
	}
	if err == nil && n > 0 && (run.Result != nil || run.Progress != nil) {
		_, err = st.exec(sqlSay, run.ID, textOf(run.Result), number(run.Progress), run.ProgressText)
	}
	if err != nil || n == 0 {
		return false, err
	}
	if done.Again == nil && done.EndJob == "" && !done.RemoveJob {
		return true, nil
	}
	return true, st.afterFinish(done)
}

const sqlEndJob = `UPDATE rq_job SET state = 2, reason = ?, next_nominal = NULL, next_due = NULL WHERE seq = ? AND state <> 2`

// afterFinish does what an end brings with it for the run's job.
func (st *step) afterFinish(done *ruqi.Done) error {
	run, err := runByID(st.conn, done.Run.ID)
	if err != nil {
		return err
	}
	job, err := jobByID(st.conn, run.JobID)
	if err != nil {
		return err
	}
	if done.Again != nil && run.CancelBy != "" {
		done.Again.ID = 0 // a try before may have begun it
	} else if done.Again != nil {
		if done.Again.ID, err = st.again(*done.Again, job); err != nil {
			return err
		}
	}
	if done.EndJob != "" && job != nil && job.State != ruqi.JobFinished {
		if _, err := st.exec(sqlEndJob, done.EndJob, job.seq); err != nil {
			return err
		}
		job.State = ruqi.JobFinished
	}
	if done.RemoveJob {
		return st.removeIfDone(job)
	}
	return nil
}

// again inserts the next attempt. Without its job it is cancelled at once, as the queued
// rows were when the job was removed.
func (st *step) again(run ruqi.Run, job *jobRow) (id int64, err error) {
	if run.Due.IsZero() {
		run.Due = st.now
	}
	if run.State == "" {
		run.State = ruqi.RunQueued
	}
	name := ""
	if job != nil {
		name = job.Name
	} else if run.State == ruqi.RunQueued {
		run.State, run.Reason = ruqi.RunCancelled, "job removed"
	}
	_, err = st.insertRun(&run, name)
	return run.ID, err
}

const sqlReason = `SELECT reason FROM rq_run WHERE id = ?`
const sqlSetReason = `UPDATE rq_run SET reason = ? WHERE id = ?`

// note adds a late result to the end of the run's reason. The same word twice says no more.
func (st *step) note(owner ruqi.Owner, run *ruqi.Run) error {
	var reason string
	found, err := st.one(sqlReason, []any{run.ID}, func(r row) { reason = r.text(0) })
	if err != nil || !found {
		return err
	}
	text, changed := sqlstore.LateNote(reason, owner, run.State)
	if !changed {
		return nil
	}
	_, err = st.exec(sqlSetReason, text, run.ID)
	return err
}
