package sqlite

import (
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A claim is the write step of Claim.
type claim struct {
	*step
	look    look
	claimed *ruqi.Claimed
	// births are plain runs with their ids, yet to be inserted.
	births []birth
	args   []any
}

// A birth is a run that starts at once, and the name under which its job's runs are listed.
type birth struct {
	run     *ruqi.Run
	jobName string
}

// take looks again, under the lock, offers what is due to decide and writes its plans.
func (cl *claim) take(decide func(now time.Time, due []ruqi.Due) []ruqi.Plan) error {
	if err := cl.look.lease(); err != nil {
		return err
	}
	taken, err := cl.allCandidates()
	if err != nil {
		return err
	}
	offer, err := cl.offer(taken)
	if err != nil {
		return err
	}
	if len(offer) > 0 {
		cl.claimed.Runs = make([]ruqi.Run, 0, len(offer))
		cl.claimed.Jobs = make([]ruqi.JobRecord, 0, len(offer))
		byID := make(map[string]*candidate, len(taken))
		for _, c := range taken {
			byID[c.ID] = c
		}
		for _, plan := range decide(cl.now, offer) {
			c := byID[plan.JobID]
			if c == nil {
				continue // not offered, or planned already
			}
			delete(byID, plan.JobID)
			if err := cl.apply(c, &plan); err != nil {
				return fmt.Errorf("plan of job %q: %w", plan.JobID, err)
			}
		}
	}
	if err := cl.bear(); err != nil {
		return err
	}
	if cl.claimed.Cancel, err = cl.look.cancels(); err != nil {
		return err
	}
	if cl.claimed.Instances, err = cl.look.alive(); err != nil {
		return err
	}
	cl.look.waiting, cl.look.known = nil, nil // as they are now
	cl.claimed.Next, err = cl.look.next()
	return err
}

// allCandidates returns the jobs to offer, the most urgent first, at most limit.
func (cl *claim) allCandidates() ([]*candidate, error) {
	if _, err := cl.look.queued(); err != nil {
		return nil, err
	}
	var all []*candidate
	for _, pool := range cl.look.want.open {
		list, err := cl.candidates(pool)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(cl.look.want.open) > 1 {
		slices.SortStableFunc(all, byUrgency)
	}
	return all[:min(cl.look.want.limit, len(all))], nil
}

// offer makes what decide sees: copies that it may keep.
func (cl *claim) offer(taken []*candidate) ([]ruqi.Due, error) {
	offer := make([]ruqi.Due, len(taken))
	for i, c := range taken {
		offer[i] = ruqi.Due{Job: c.JobRecord, Active: c.active}
		// Claimed.Jobs returns the record once more, with memory of its own.
		c.Spec, c.Tags = slices.Clone(c.spec), slices.Clone(c.tags)
		if c.active > 0 || len(c.rows) > 0 { // else nothing waits
			n, err := cl.count(sqlWaiting, c.ID)
			if err != nil {
				return nil, err
			}
			offer[i].Waiting = int(n)
		}
		for _, id := range c.rows {
			run, err := runByID(cl.conn, id)
			if err != nil {
				return nil, err
			}
			offer[i].Queued = append(offer[i].Queued, run)
		}
	}
	return offer, nil
}

const sqlAdvance = `UPDATE rq_job SET next_nominal = ?, next_due = ?, run_count = ? WHERE seq = ?`
const sqlSettle = `UPDATE rq_job SET state = ?, reason = ?, next_nominal = ?, next_due = ?, run_count = ? WHERE seq = ?`
const sqlWaiting = `SELECT count(*) FROM rq_run INDEXED BY rq_run_turn WHERE job_id = ? AND batch = 0 AND cause = 0 AND state = 0`
const sqlCancelJob = `UPDATE rq_run INDEXED BY rq_run_alive SET cancel_by = ? WHERE job_id = ? AND state < 2 AND state = 1 AND cancel_by = ''`
const sqlSetTask = `UPDATE rq_run SET task = ? WHERE id = ? AND job_id = ? AND state = 0`
const sqlCancelBatches = `UPDATE rq_run INDEXED BY rq_run_alive SET state = 5, reason = ?, finished = ?, cancel_by = ? WHERE job_id = ? AND state < 2 AND state = 0 AND batch <> 0`
const sqlStart = `UPDATE rq_run SET state = 1, started = ?, instance = ?, epoch = ? WHERE id = ? AND job_id = ? AND state = 0`

// apply writes one plan.
func (cl *claim) apply(c *candidate, plan *ruqi.Plan) error {
	state, err := sqlstore.JobStateCode(plan.State)
	if err != nil {
		return err
	}
	if plan.State == c.State && plan.Reason == c.Reason {
		_, err = cl.exec(sqlAdvance, plan.NextNominal, plan.NextDue, plan.RunCount, c.seq)
	} else {
		_, err = cl.exec(sqlSettle, state, plan.Reason, plan.NextNominal, plan.NextDue, plan.RunCount, c.seq)
	}
	if err != nil {
		return err
	}
	if plan.Cancel != "" {
		if _, err := cl.exec(sqlCancelJob, plan.Cancel, c.ID); err != nil {
			return err
		}
		if _, err := cl.exec(sqlCancelBatches, "cancelled by "+plan.Cancel, cl.us, plan.Cancel, c.ID); err != nil {
			return err
		}
		cl.hint = true
	}
	c.State, c.Reason, c.RunCount = plan.State, plan.Reason, plan.RunCount
	c.NextNominal, c.NextDue = microPtr(plan.NextNominal), microPtr(plan.NextDue)
	for _, id := range plan.Start {
		if !slices.Contains(c.rows, id) {
			continue // not offered
		}
		if plan.Task != "" {
			if _, err := cl.exec(sqlSetTask, plan.Task, id, c.ID); err != nil {
				return err
			}
		}
		if err := cl.start(c, id); err != nil {
			return err
		}
	}
	for i := range plan.Runs {
		if err := cl.born(c, &plan.Runs[i]); err != nil {
			return err
		}
	}
	if plan.Remove {
		if err := cl.bear(); err != nil {
			return err
		}
		if err := cl.remove(c); err != nil {
			return err
		}
	}
	cl.claimed.Jobs = append(cl.claimed.Jobs, c.JobRecord)
	return nil
}

// start turns a queued row into a running one of the owner.
func (cl *claim) start(c *candidate, id int64) error {
	owner := cl.look.want.Owner
	n, err := cl.exec(sqlStart, cl.us, owner.Instance, owner.Epoch, id, c.ID)
	if err != nil || n == 0 {
		return err
	}
	run, err := runByID(cl.conn, id)
	if err != nil {
		return err
	}
	cl.claimed.Runs = append(cl.claimed.Runs, run)
	return nil
}

// born inserts a new row, unless the fire has its outcome already.
func (cl *claim) born(c *candidate, run *ruqi.Run) error {
	run.JobID = c.ID
	if run.State == ruqi.RunRunning {
		now := cl.now
		run.Owner, run.Started, run.Finished = cl.look.want.Owner, &now, nil
	}
	if plainBirth(run) {
		id, err := cl.nextRun()
		run.ID, run.Attempt = id, max(run.Attempt, 1)
		cl.births = append(cl.births, birth{run, c.Name})
		return err
	}
	inserted, err := cl.insertRun(run, c.Name)
	if err != nil || !inserted {
		return err
	}
	switch {
	case run.State == ruqi.RunRunning:
		cl.claimed.Runs = append(cl.claimed.Runs, *run)
	case run.State.Ended():
		cl.claimed.Settled = append(cl.claimed.Settled, *run)
	}
	return nil
}

// plainBirth reports whether the run has nothing but what sqlInsertBorn writes.
func plainBirth(run *ruqi.Run) bool {
	return run.State == ruqi.RunRunning && run.Batch == 0 && run.Reason == "" && run.CancelBy == "" && !hasMore(run)
}

// bear inserts the births, many in one statement.
func (cl *claim) bear() error {
	for part := range slices.Chunk(cl.births, bornMany) {
		if len(part) == bornMany {
			if err := cl.bearMany(sqlInsertBornMany, part); err != nil {
				return err
			}
			continue
		}
		for i := range part {
			if err := cl.bearMany(sqlInsertBorn, part[i:i+1]); err != nil {
				return err
			}
		}
	}
	cl.births = cl.births[:0]
	return nil
}

const sqlRunExists = `SELECT EXISTS (SELECT 1 FROM rq_run WHERE id = ?)`

// bearMany inserts births with a statement of as many rows. A fire that has its outcome
// already is left out, and its id is not used.
func (cl *claim) bearMany(sql string, births []birth) error {
	cl.args = cl.args[:0]
	var started any = cl.us
	var instance, epoch any = cl.look.want.Owner.Instance, cl.look.want.Owner.Epoch
	for _, b := range births {
		cause, err := sqlstore.CauseCode(b.run.Cause)
		if err != nil {
			return err
		}
		cl.args = append(cl.args, b.run.ID, b.run.JobID, cause, b.run.Nominal, b.run.Attempt, b.run.Due, started,
			instance, epoch, b.run.JobName, b.run.Task, textOf(b.run.Params))
	}
	n, err := cl.exec(sql, cl.args...)
	if err != nil {
		return err
	}
	for _, b := range births {
		if n < int64(len(births)) {
			there, err := cl.count(sqlRunExists, b.run.ID)
			if err != nil {
				return err
			}
			if there == 0 {
				continue
			}
		}
		if b.run.JobName != b.jobName {
			if _, err := cl.exec(sqlInsertRunName, b.run.JobName, b.run.JobID); err != nil {
				return err
			}
		}
		normalize(b.run)
		cl.claimed.Runs = append(cl.claimed.Runs, *b.run)
	}
	return nil
}

// remove deletes the job if nothing of it is alive.
func (cl *claim) remove(c *candidate) error {
	alive, err := cl.count(sqlAlive, c.ID)
	if err != nil || alive > 0 {
		return err
	}
	return cl.removeJob(c.seq, c.ID)
}
