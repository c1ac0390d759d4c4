package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// Ends go in three statements: most have nothing but a state and a reason, those of processes more, and some runs told of themselves.
const (
	endSet    = `UPDATE rq_run r SET state = v.state, finished = coalesce(v.finished, $3::timestamptz, statement_timestamp()), reason = v.reason`
	endWhere  = ` WHERE ` + sameID + ` AND ` + stillAlive + ` AND r.` + stateIs + ` 1 AND r.instance = $1 AND r.epoch = $2 RETURNING r.id`
	sqlFinish = endSet + ` FROM unnest($4::bigint[], $5::smallint[], $6::timestamptz[], $7::text[]) v (id, state, finished, reason)` + endWhere

	endSetMore    = endSet + `, exit_code = v.exit_code, signal = v.signal, cpu = v.cpu, max_rss = v.max_rss`
	endMore       = `$4::bigint[], $5::smallint[], $6::timestamptz[], $7::text[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[]`
	endMoreNames  = `id, state, finished, reason, exit_code, signal, cpu, max_rss`
	sqlFinishMore = endSetMore + ` FROM unnest(` + endMore + `) v (` + endMoreNames + `)` + endWhere

	// What is not told now stays.
	sqlFinishSaid = endSetMore + `, result = coalesce(v.result, r.result), progress = coalesce(v.progress, r.progress),
	progress_text = CASE WHEN v.progress IS NULL THEN r.progress_text ELSE v.progress_text END
	FROM unnest(` + endMore + `, $12::text[], $13::double precision[], $14::text[]) v (` + endMoreNames + `, result, progress, progress_text)` + endWhere
)

// sqlLockRuns takes the locks of runs that are alive in the order of their ids.
const sqlLockRuns = `SELECT r.id FROM unnest($1::bigint[]) v (id) CROSS JOIN LATERAL (SELECT n.id FROM rq_run n WHERE n.id = v.id AND n.state < 2 FOR NO KEY UPDATE) r`

// Finish ends runs, as ruqi.JobStore says: in two round trips where nothing follows from the ends.
func (s *Store) Finish(ctx context.Context, owner ruqi.Owner, done []ruqi.Done) (late []int64, err error) {
	if len(done) == 0 {
		return nil, ctx.Err()
	}
	err = s.write(ctx, s.engine, "finish", func(st *step) error {
		written := map[int64]bool{}
		ends, err := newEnds(done)
		if err != nil {
			return err
		}
		if err := st.start(func(b *pgx.Batch) { ends.queue(b, s, owner, written) }); err != nil {
			return err
		}
		late = nil
		var effects []*ruqi.Done
		notes := map[int64]ruqi.RunState{}
		for i := range done {
			d := &done[i]
			if !written[d.Run.ID] {
				late = append(late, d.Run.ID)
				notes[d.Run.ID] = d.Run.State
				continue
			}
			delete(written, d.Run.ID) // a second end of the same run is late
			if d.Again != nil || d.EndJob != "" || d.RemoveJob {
				effects = append(effects, d)
			}
		}
		b := &pgx.Batch{}
		if err := st.noteLate(b, owner, notes); err != nil {
			return err
		}
		if len(effects) > 0 {
			jobs, err := st.lockJobsOf(effects)
			if err != nil {
				return err
			}
			if err := st.effects(b, effects, jobs); err != nil {
				return err
			}
		}
		b.Queue(sqlForgetGone, owner.Instance, owner.Epoch)
		return st.commit(b)
	})
	if err != nil {
		return nil, err
	}
	s.waker.tell() // who waits on this store; others have their poll
	return late, nil
}

// ends are results of runs: those without and those with what the end of a process brings, and those that told of themselves, each by
// id, the order in which rows are locked.
type ends struct{ plain, more, said []*ruqi.Run }

func newEnds(done []ruqi.Done) (ends, error) {
	var e ends
	seen := make(map[int64]bool, len(done))
	for i := range done {
		run := &done[i].Run
		if !run.State.Ended() {
			return e, fmt.Errorf("run %d: %q is not the state of an ended run: %w", run.ID, string(run.State), ruqi.ErrInvalid)
		}
		if seen[run.ID] {
			continue
		}
		seen[run.ID] = true
		switch {
		case run.Result != nil || run.Progress != nil:
			e.said = append(e.said, run)
		case hasEnd(run):
			e.more = append(e.more, run)
		default:
			e.plain = append(e.plain, run)
		}
	}
	for _, list := range [][]*ruqi.Run{e.plain, e.more, e.said} {
		slices.SortFunc(list, func(a, b *ruqi.Run) int { return cmp.Compare(a.ID, b.ID) })
		for _, run := range list {
			if _, err := sqlstore.RunStateCode(run.State); err != nil {
				return e, fmt.Errorf("run %d: %w", run.ID, err)
			}
		}
	}
	return e, nil
}

// queue queues the writing of the ends of runs that still run for the owner; their ids come into written.
func (e ends) queue(b *pgx.Batch, s *Store, owner ruqi.Owner, written map[int64]bool) {
	note := func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		written[id] = true
		return err
	}
	if all := slices.Concat(e.plain, e.more, e.said); len(all) > max(len(e.plain), len(e.more), len(e.said)) { // each statement takes its locks in an order of its own
		ids := make([]int64, len(all))
		for i, run := range all {
			ids[i] = run.ID
		}
		slices.Sort(ids)
		b.Queue(sqlLockRuns, ids)
	}
	if len(e.plain) > 0 {
		queue(b, sqlFinish, endArgs(s, owner, e.plain), note)
	}
	if len(e.more) > 0 {
		queue(b, sqlFinishMore, endMoreArgs(s, owner, e.more), note)
	}
	if len(e.said) == 0 {
		return
	}
	result, progress, text := make([]*string, len(e.said)), make([]*float64, len(e.said)), make([]*string, len(e.said))
	for i, run := range e.said {
		result[i], progress[i], text[i] = jsonText(run.Result), run.Progress, orNil(textOf(run.ProgressText))
	}
	queue(b, sqlFinishSaid, append(endMoreArgs(s, owner, e.said), result, progress, text), note)
}

// endMoreArgs are the values that the statements for more than a state and a reason have.
func endMoreArgs(s *Store, owner ruqi.Owner, runs []*ruqi.Run) []any {
	exit, signal := make([]*int64, len(runs)), make([]*string, len(runs))
	cpu, rss := make([]*int64, len(runs)), make([]*int64, len(runs))
	for i, run := range runs {
		exit[i], signal[i], cpu[i], rss[i] = exitCode(run), orNil(textOf(run.Signal)), orNil(run.CPU.Microseconds()), orNil(run.MaxRSS)
	}
	return append(endArgs(s, owner, runs), exit, signal, cpu, rss)
}

// endArgs are the values that all statements have.
func endArgs(s *Store, owner ruqi.Owner, runs []*ruqi.Run) []any {
	ids, states := make([]int64, len(runs)), make([]int16, len(runs))
	finished, reasons := make(stamps, 0, len(runs)), make([]string, len(runs))
	for i, run := range runs {
		code, _ := sqlstore.RunStateCode(run.State) // newEnds has seen to it
		ids[i], states[i], reasons[i] = run.ID, int16(code), textOf(run.Reason)
		finished = append(finished, stamp(run.Finished))
	}
	return []any{owner.Instance, owner.Epoch, s.clock(), ids, states, finished, reasons}
}

const sqlReasons = `SELECT r.id, r.reason FROM unnest($1::bigint[]) v (id) CROSS JOIN LATERAL (SELECT n.id, n.reason FROM rq_run n WHERE n.id = v.id FOR NO KEY UPDATE) r`
const sqlSetReason = `UPDATE rq_run SET reason = $2 WHERE id = $1`

// noteLate queues notes at the end of the reasons of runs that were not the owner's any more.
func (st *step) noteLate(b *pgx.Batch, owner ruqi.Owner, late map[int64]ruqi.RunState) error {
	if len(late) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(late))
	for id := range late {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return st.query(sqlReasons, []any{ids}, func(rows pgx.Rows) error {
		var id int64
		var reason string
		err := rows.Scan(&id, &reason)
		if text, changed := sqlstore.LateNote(reason, owner, late[id]); changed {
			b.Queue(sqlSetReason, id, textOf(text))
		}
		return err
	})
}

// sqlLockJobs locks the jobs of runs, in the order of their ids. They are read by the statement after it: what waits for a lock sees
// the job as it is then, and its definition as it was before.
const sqlLockJobs = `SELECT j.seq FROM (SELECT DISTINCT r.job_id FROM ` + runsOfIDs + `) q
	CROSS JOIN LATERAL (SELECT * FROM rq_definition n WHERE n.id = q.job_id) d CROSS JOIN rq_job j WHERE j.seq = d.seq ORDER BY j.id FOR NO KEY UPDATE OF j`
const sqlJobsOfRuns = `SELECT ` + jobColumns + ` FROM (SELECT DISTINCT r.job_id FROM ` + runsOfIDs + `) q
	CROSS JOIN LATERAL (SELECT * FROM rq_definition n WHERE n.id = q.job_id) d CROSS JOIN rq_job j WHERE j.seq = d.seq`
const sqlJobIDs = `SELECT r.id, r.job_id FROM ` + runsOfIDs

// jobsOf are jobs by the ids of their runs; nil where the job is gone.
type jobsOf map[int64]*jobRow

// sqlSoon bounds the wait for jobs: who holds one must not hold up the ends of all others for long.
const sqlSoon = `SELECT set_config('lock_timeout', '1000', true)` // ms

// lockJobs locks and reads the jobs of runs. With the clause SKIP LOCKED, those that another holds are returned as busy.
func (st *step) lockJobs(runs []int64, clause string) (jobs jobsOf, busy map[string]bool, err error) {
	byID := map[string]*jobRow{}
	jobs, busy = jobsOf{}, map[string]bool{}
	b := &pgx.Batch{}
	locked := map[int64]bool{}
	b.Queue(sqlSoon)
	queue(b, sqlLockJobs+clause, []any{runs}, func(rows pgx.Rows) error {
		var seq int64
		err := rows.Scan(&seq)
		locked[seq] = true
		return err
	})
	queue(b, sqlJobsOfRuns, []any{runs}, func(rows pgx.Rows) error {
		job, err := scanJob(rows)
		if locked[job.seq] {
			byID[job.ID] = &job
		} else { // or it came after the lock, which with the next try is seen
			busy[job.ID] = clause != ""
		}
		return err
	})
	queue(b, sqlJobIDs, []any{runs}, func(rows pgx.Rows) error {
		var run int64
		var job string
		err := rows.Scan(&run, &job)
		jobs[run] = byID[job]
		return err
	})
	return jobs, busy, st.send(b)
}

func (st *step) lockJobsOf(done []*ruqi.Done) (jobsOf, error) {
	ids := make([]int64, len(done))
	for i, d := range done {
		ids[i] = d.Run.ID
	}
	jobs, _, err := st.lockJobs(ids, "")
	return jobs, err
}

const sqlEndJob = `UPDATE rq_job SET state = 2, reason = $2, next_nominal = NULL, next_due = NULL WHERE seq = $1 AND state <> 2`

// effects queues what ends bring with them for the runs' jobs, which the step has locked. The next attempts are
// inserted at once, since their ids are told.
func (st *step) effects(b *pgx.Batch, done []*ruqi.Done, jobs jobsOf) error {
	again := &newRuns{}
	again.grow(len(done))
	var gone []string
	asked, err := st.asked(done)
	if err != nil {
		return err
	}
	for _, d := range done {
		job := jobs[d.Run.ID]
		if d.Again != nil && asked[d.Run.ID] {
			d.Again.ID = 0 // a try before may have begun it
		} else if d.Again != nil {
			next := *d.Again // as it came, however often the step begins anew
			next.ID = 0
			if err := st.again(b, again, &next, job); err != nil {
				return err
			}
			defer func() { d.Again.ID = next.ID }()
			if job == nil {
				gone = append(gone, next.JobID)
			}
		}
		if job == nil {
			continue
		}
		if d.EndJob != "" {
			b.Queue(sqlEndJob, job.seq, textOf(d.EndJob))
		}
		if d.RemoveJob {
			queueRemoval(b, sqlDeleteDoneJob, job.ID, job.seq, st.now)
		}
		st.hint = st.hint || d.EndJob != "" || d.RemoveJob
	}
	if len(again.runs) == 0 {
		return nil
	}
	st.hint = true
	first := &pgx.Batch{}
	if len(gone) > 0 {
		slices.Sort(gone)
		gone = slices.Compact(gone)
		first.Queue(sqlTakeIDs, gone)
		first.Queue(sqlLeaveIDs, gone)
	}
	again.insert(first)
	return st.send(first)
}

// What is made of a job that is gone is made under the lock of its id, which is that of whoever adds one: until the step has ended
// there is none, and if there is one by now, the step begins anew, with its lock.
const (
	sqlTakeIDs  = `INSERT INTO rq_definition (id, name, version, created, updated) SELECT v.id, '', 0, now(), now() FROM unnest($1::text[]) v (id)`
	sqlLeaveIDs = `DELETE FROM rq_definition d USING unnest($1::text[]) v (id) WHERE d.id = v.id`
)

const sqlAsked = `SELECT r.id FROM ` + runsOfIDs + ` WHERE r.cancel_by IS NOT NULL`

// asked tells which of the runs that would have a next attempt were asked to end.
func (st *step) asked(done []*ruqi.Done) (map[int64]bool, error) {
	var ids []int64
	for _, d := range done {
		if d.Again != nil {
			ids = append(ids, d.Run.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	asked := map[int64]bool{}
	err := st.query(sqlAsked, []any{ids}, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		asked[id] = true
		return err
	})
	return asked, err
}

// again prepares the next attempt. Without its job it is cancelled at once, as the queued
// rows were when the job was removed.
func (st *step) again(b *pgx.Batch, list *newRuns, run *ruqi.Run, job *jobRow) error {
	if run.Due.IsZero() {
		run.Due = st.now
	}
	if run.State == "" {
		run.State = ruqi.RunQueued
	}
	if job == nil && run.State == ruqi.RunQueued {
		run.State, run.Reason = ruqi.RunCancelled, "job removed"
	}
	if job == nil || job.Name != run.JobName {
		b.Queue(sqlInsertRunName, run.JobName, run.JobID)
	}
	return list.add(run, st.now)
}
