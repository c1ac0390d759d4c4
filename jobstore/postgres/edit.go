package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
)

// EditJobs edits jobs by hand in one step, as ruqi.JobStore says.
func (s *Store) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) (jobs []ruqi.JobRecord, runs []ruqi.Run, err error) {
	err = s.write(ctx, s.front, "edit jobs", func(st *step) error {
		e := &edits{step: st, query: query}
		defer func() { jobs, runs = e.jobs, e.runs }()
		return e.run(decide)
	})
	if err != nil {
		return nil, nil, err
	}
	return jobs, runs, nil
}

// edits are the step of EditJobs.
type edits struct {
	*step
	query ruqi.JobQuery
	// found are the jobs that are there, by id.
	found map[string]*editedJob
	// pending are writes that were not sent yet.
	pending *pgx.Batch
	rows    []*newRuns
	jobs    []ruqi.JobRecord
	runs    []ruqi.Run
}

// An editedJob is a job under the step's lock.
type editedJob struct {
	jobRow
	active   int
	selected bool
}

func (e *edits) run(decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) error {
	ids, err := e.lock()
	if err != nil {
		return err
	}
	e.pending = &pgx.Batch{}
	done := map[string]bool{}
	for _, id := range ids {
		if len(e.query.IDs) == 0 && (e.found[id] == nil || !e.found[id].selected) {
			continue // it was changed while the step waited for its lock
		}
		if done[id] { // named twice: as it is after the first edit
			if err := e.flush(); err != nil {
				return err
			}
			if err := e.load([]string{id}); err != nil {
				return err
			}
		}
		done[id] = true
		if err := e.edit(id, decide); err != nil {
			return err
		}
	}
	if err := e.flush(); err != nil {
		return err
	}
	return e.commit(nil)
}

// lockRounds bounds how often the jobs are locked anew since others were added under the same ids meanwhile.
const lockRounds = 10

// lock takes the locks of the jobs to edit, in the order of their ids, reads them and returns the ids to go through.
func (e *edits) lock() ([]string, error) {
	limit := e.query.Limit
	ids := e.query.IDs
	if limit > 0 && len(ids) > limit {
		ids = ids[:limit]
	}
	var f filter
	byID := len(ids) > 0
	if byID {
		f.add("d.id = ANY (" + f.value(ids) + "::text[])")
	} else if err := f.jobs(e.query); err != nil {
		return nil, err
	}
	sql := "SELECT j.seq, d.id" + fromJobs + f.where() + " ORDER BY d.id"
	if !byID && limit > 0 {
		sql += " LIMIT " + f.value(limit)
	}
	sql += " FOR NO KEY UPDATE OF j"
	first := true
	for range lockRounds {
		locked := map[int64]bool{}
		var names []string
		b := &pgx.Batch{}
		if first {
			e.begin(b)
			first = false
		}
		queue(b, sql, f.args, func(rows pgx.Rows) error {
			var seq int64
			var id string
			err := rows.Scan(&seq, &id)
			locked[seq], names = true, append(names, id)
			return err
		})
		// The clock is read when the locks are there: nothing of these jobs happens after it but by this step.
		b.Queue(sqlNow, e.store.clock()).QueryRow(func(row pgx.Row) error { return row.Scan(timeAt{&e.now}, &e.tx) })
		if err := e.send(b); err != nil {
			return nil, err
		}
		if !byID {
			ids = names
		}
		if err := e.load(ids); err != nil {
			return nil, err
		}
		fits := true
		for _, job := range e.found {
			fits = fits && locked[job.seq]
		}
		if fits {
			return ids, nil
		}
	}
	return nil, &unavailable{errors.New("jobs were removed and added again all the time")}
}

// load reads the jobs named, which the step has locked.
func (e *edits) load(ids []string) error {
	if e.found == nil {
		e.found = map[string]*editedJob{}
	}
	for _, id := range ids {
		delete(e.found, id)
	}
	if len(ids) == 0 {
		return nil
	}
	var f filter
	wanted := f.value(ids)
	if err := f.jobs(e.query); err != nil {
		return err
	}
	sql := "SELECT " + jobColumns + ", " + active + ", " + f.all() + fromJobs + " WHERE d.id = ANY (" + wanted + "::text[])"
	return e.step.query(sql, f.args, func(rows pgx.Rows) error {
		job := &editedJob{}
		var err error
		job.jobRow, err = scanJobAnd(rows, nil, []any{&job.active, &job.selected})
		e.found[job.ID] = job
		return err
	})
}

// sqlHasten makes queued rows due, but those of cause retry.
const sqlHasten = `UPDATE rq_run_alive r SET due = $2 FROM (SELECT a.id FROM rq_run a WHERE a.job_id = $1 AND a.state < 2 AND a.` + stateIs + ` 0 AND a.cause <> 2 AND a.due > $2
	ORDER BY a.id + 0 FOR NO KEY UPDATE) v WHERE ` + sameID + ` AND r.state < 2`

// edit decides about one job and queues what follows.
func (e *edits) edit(id string, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) error {
	old := e.found[id]
	active, name := 0, ""
	var seen *ruqi.JobRecord
	var was *jobRow
	if old != nil {
		active, name, was = old.active, old.Name, &old.jobRow
		if old.selected {
			copied := clone(old.JobRecord)
			seen = &copied
		}
	}
	change := decide(e.now, id, seen, active)
	if change.Err != nil {
		return &asIs{change.Err}
	}
	var result *ruqi.JobRecord
	if seen != nil {
		copied := clone(old.JobRecord)
		result = &copied
	}
	if change.Job != nil && !change.Remove {
		change.Job.ID = id
		if err := queueJob(e.pending, change.Job, was, e.now); err != nil {
			return err
		}
		result, name = change.Job, change.Job.Name
		e.hint = true
	}
	if result != nil {
		e.jobs = append(e.jobs, *result)
	}
	if change.Hasten {
		e.pending.Queue(sqlHasten, id, e.now)
		e.hint = true
	}
	if err := e.insertRuns(id, name, change.Runs); err != nil {
		return err
	}
	if change.Remove && old != nil {
		queueRemoval(e.pending, sqlDeleteJob, id, old.seq, e.now)
		e.hint = true
	}
	return nil
}

// insertRuns queues what the edit brings: rows that have ended, and queued ones, whose
// times are the store's when their cause is manual, and those of cause startup.
func (e *edits) insertRuns(id, jobName string, runs []ruqi.Run) error {
	for i := range runs {
		run := &runs[i]
		run.JobID = id
		byHand := run.State == ruqi.RunQueued && run.Cause == ruqi.CauseManual || run.Cause == ruqi.CauseStartup
		if byHand {
			run.Nominal, run.Due = e.now, e.now
		}
		if run.JobName != jobName {
			e.pending.Queue(sqlInsertRunName, run.JobName, id)
		}
		if !byHand {
			one := &newRuns{}
			one.grow(1)
			if err := one.add(run, e.now); err != nil {
				return err
			}
			one.insert(e.pending)
			e.rows = append(e.rows, one)
			continue
		}
		// Its time must be free, which the row before it in this step may not leave it.
		if err := e.flush(); err != nil {
			return err
		}
		if err := e.insertByHand(run); err != nil {
			return err
		}
	}
	return nil
}

// insertByHand inserts a row at the first microsecond that is free.
func (e *edits) insertByHand(run *ruqi.Run) error {
	for run.ID = 0; run.ID == 0; {
		one := &newRuns{}
		one.grow(1)
		if err := one.add(run, e.now); err != nil {
			return err
		}
		b := &pgx.Batch{}
		one.insert(b)
		if err := e.send(b); err != nil {
			return err
		}
		if run.ID == 0 {
			run.Nominal = run.Nominal.Add(time.Microsecond)
		}
	}
	e.runs, e.hint = append(e.runs, *run), true
	return nil
}

// flush sends what is queued and takes the inserted rows over.
func (e *edits) flush() error {
	if err := e.send(e.pending); err != nil {
		return err
	}
	for _, one := range e.rows {
		for _, run := range one.runs {
			if run.ID != 0 { // else the fire has its outcome already
				e.runs, e.hint = append(e.runs, *run), true
			}
		}
	}
	e.pending, e.rows = &pgx.Batch{}, nil
	return nil
}

// clone copies a record with what it points to.
func clone(r ruqi.JobRecord) ruqi.JobRecord {
	r.Spec, r.Tags = slices.Clone(r.Spec), slices.Clone(r.Tags)
	r.NextNominal, r.NextDue = copyTime(r.NextNominal), copyTime(r.NextDue)
	return r
}
