package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A decision is a plan and the job it is for.
type decision struct {
	*ruqi.Plan
	job *candidate
}

// apply writes the plans and ends the step.
func (cl *claim) apply(taken []*candidate, plans []ruqi.Plan) error {
	byID := make(map[string]*candidate, len(taken))
	for _, c := range taken {
		byID[c.ID] = c
	}
	decisions := make([]decision, 0, len(plans))
	single := true // one new row each, and nothing else
	for i := range plans {
		plan := &plans[i]
		c := byID[plan.JobID]
		if c == nil {
			continue // not offered, or planned already
		}
		delete(byID, plan.JobID)
		decisions = append(decisions, decision{plan, c})
		single = single && len(plan.Runs) == 1 && len(plan.Start) == 0 && !plan.Remove && plan.Cancel == ""
	}
	runs := &newRuns{}
	runs.grow(len(decisions))
	for _, d := range decisions {
		for i := range d.Runs {
			run := &d.Runs[i]
			run.JobID = d.job.ID
			if run.State == ruqi.RunRunning {
				run.Owner, run.Finished = cl.want.owner, nil
				cl.starts(run, cl.now)
			}
			before := len(runs.runs)
			if err := runs.add(run, cl.now); err != nil {
				return fmt.Errorf("plan of job %q: %w", d.JobID, err)
			}
			single = single && len(runs.runs) > before
		}
	}
	if single && len(decisions) > 0 {
		return cl.applySingle(decisions, runs)
	}
	return cl.applyAny(decisions, runs)
}

// starts notes when a run has started, as it will be read.
func (cl *claim) starts(run *ruqi.Run, at time.Time) {
	if run.State == ruqi.RunRunning {
		run.Started = microPtr(&at)
	}
}

// jobArgs are the new values of the jobs, one array a column, in the order of jobTypes.
func (cl *claim) jobArgs(decisions []decision) ([]any, error) {
	n := len(decisions)
	seq, active, waiting, count := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	state, reason := make([]int16, n), make([]string, n)
	nominal, due := make(stamps, 0, n), make(stamps, 0, n)
	for i, d := range decisions {
		code, err := sqlstore.JobStateCode(d.State)
		if err != nil {
			return nil, fmt.Errorf("plan of job %q: %w", d.JobID, err)
		}
		seq[i], active[i], waiting[i], count[i] = d.job.seq, int64(d.job.active), int64(d.job.waiting), d.RunCount
		state[i], reason[i] = int16(code), textOf(d.Reason)
		nominal = append(nominal, stamp(microPtr(d.NextNominal)))
		due = append(due, stamp(microPtr(d.NextDue)))
	}
	return []any{seq, active, waiting, state, reason, nominal, due, count}, nil
}

var jobTypes = []string{"bigint", "bigint", "bigint", "smallint", "text", "timestamptz", "timestamptz", "bigint"}

// advance is the update of the jobs of a claim, which are those of the query v. A plan lands only if the job has no more
// active runs, and no more fires that wait, than its decision saw.
const advance = `UPDATE rq_job j SET state = v.to_state, reason = v.to_reason, next_nominal = v.to_nominal, next_due = v.to_due, run_count = v.to_count
	FROM v WHERE j.seq = v.seq AND (SELECT ` + countActive + ` <= v.seen AND ` + countWaiting + ` <= v.waits` + aliveOfJob + `)`

// counted reads the clock after advance has counted the active runs: what it did not count has ended before. Runs start then. It
// is $1 in tests.
const counted = `counted AS MATERIALIZED (SELECT coalesce($1::timestamptz, clock_timestamp()) AS at)`

const jobNames = `seq, seen, waits, to_state, to_reason, to_nominal, to_due, to_count`

// told ends a statement that writes plans: the jobs whose plans landed, the ids that their rows were to have, in the same
// order, those of the rows whose keys were free, and when they have started.
const told = `SELECT (SELECT array_agg(seq) FROM numbered), (SELECT array_agg(run) FROM numbered), (SELECT array_agg(id) FROM inserted), (SELECT at FROM counted)`

// sqlApplyPlain writes plans of one plain birth each, in one statement.
var sqlApplyPlain = `WITH v AS MATERIALIZED (SELECT * FROM unnest(` + arrays(4, append(slices.Clone(jobTypes),
	"timestamptz", "timestamptz", "int", "smallint", "text", "text", "text")...) + `) v (` + jobNames + `, nominal, due, attempt, cause, job_name, task, params)),
` + counted + `, advanced AS (` + advance + ` RETURNING j.id AS job_id, v.*),
numbered AS MATERIALIZED (SELECT nextval('rq_run_id') AS run, * FROM advanced),
inserted AS (INSERT INTO rq_run_alive (id, nominal, due, attempt, cause, state, job_id, job_name, task, params, started, instance, epoch)
	SELECT run, nominal, due, attempt, cause, 1, job_id, job_name, task, params, (SELECT at FROM counted), $2::text, $3::bigint FROM numbered n WHERE ` + freeKey + ` RETURNING id)
` + told

// sqlApplyFull does the same for one row of any kind each.
var sqlApplyFull = `WITH v AS MATERIALIZED (SELECT * FROM unnest(` + arrays(2, append(slices.Clone(jobTypes), fullTypes...)...) + `) v (` + jobNames + `, ` + newRunColumns + `)),
` + counted + `, advanced AS (` + advance + ` RETURNING v.*),
numbered AS MATERIALIZED (SELECT nextval('rq_run_id') AS run, * FROM advanced),
inserted AS (INSERT INTO rq_run (id, ` + newRunColumns + `)
	SELECT run, ` + strings.Replace(newRunColumns, "started", "CASE WHEN state = 1 THEN (SELECT at FROM counted) END", 1) + ` FROM numbered n WHERE ` + freeKey + ` RETURNING id)
` + told

// applySingle writes plans of one row each, with the end of the step in the same round trip.
func (cl *claim) applySingle(decisions []decision, runs *newRuns) error {
	jobs, err := cl.jobArgs(decisions)
	if err != nil {
		return err
	}
	clock := cl.store.clock()
	sql, args := sqlApplyFull, append(append([]any{clock}, jobs...), runs.fullArgs()...)
	if runs.plain {
		owner := cl.want.owner
		sql = sqlApplyPlain
		args = append(append([]any{clock, owner.Instance, owner.Epoch}, jobs...),
			runs.nominal, runs.due, runs.attempt, runs.cause, runs.name, runs.task, runs.params)
	}
	var seqs, ids, inserted []int64
	b := &pgx.Batch{}
	queue(b, sql, args, func(rows pgx.Rows) error { return rows.Scan(&seqs, &ids, &inserted, timeAt{&cl.started}) })
	nameRuns(b, decisions, runs)
	cl.end(b)
	if err := cl.commit(b); err != nil {
		return err
	}
	if cl.lost {
		return cl.recover(decisions, runs, nil, nil)
	}
	for _, run := range runs.runs {
		cl.starts(run, cl.started)
	}
	cl.tell(decisions, runs, landed(decisions, runs, seqs, ids, inserted))
	return nil
}

// landed gives the inserted rows their ids, from what told tells, and returns the jobs whose plans landed. Each decision has one row.
func landed(decisions []decision, runs *newRuns, seqs, ids, inserted []int64) map[int64]bool {
	applied := make(map[int64]bool, len(seqs))
	place := make(map[int64]int, len(decisions))
	for i, d := range decisions {
		place[d.job.seq] = i
	}
	var free map[int64]bool
	if len(inserted) < len(ids) { // some keys were taken: those fires have their outcome already
		free = make(map[int64]bool, len(inserted))
		for _, id := range inserted {
			free[id] = true
		}
	}
	for i, seq := range seqs {
		applied[seq] = true
		if free == nil || free[ids[i]] {
			runs.runs[place[seq]].ID = ids[i]
		}
	}
	return applied
}

// nameRuns lists runs under names that are not their jobs'.
func nameRuns(b *pgx.Batch, decisions []decision, runs *newRuns) {
	names := make(map[string]string, len(decisions))
	for _, d := range decisions {
		names[d.job.ID] = d.job.Name
	}
	for _, run := range runs.runs {
		if run.JobName != names[run.JobID] {
			b.Queue(sqlInsertRunName, run.JobName, run.JobID)
		}
	}
}

// tell makes what the claim returns.
func (cl *claim) tell(decisions []decision, runs *newRuns, applied map[int64]bool) {
	for _, d := range decisions {
		if !applied[d.job.seq] {
			continue
		}
		c := d.job
		job := c.definition.Record() // decide has the memory of the one before
		job.State, job.Reason, job.RunCount = d.State, d.Reason, d.RunCount
		job.NextNominal, job.NextDue = copyTime(d.NextNominal), copyTime(d.NextDue)
		cl.claimed.Jobs = append(cl.claimed.Jobs, job)
	}
	for _, run := range runs.runs {
		switch {
		case run.ID == 0:
		case run.State == ruqi.RunRunning:
			cl.claimed.Runs = append(cl.claimed.Runs, *run)
		case run.State.Ended():
			cl.claimed.Settled = append(cl.claimed.Settled, *run)
		}
	}
}

func copyTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	c := *t
	return &c
}

var sqlAdvance = `WITH v AS MATERIALIZED (SELECT * FROM unnest(` + arrays(2, jobTypes...) + `) v (` + jobNames + `)), ` + counted + ` ` + advance + ` RETURNING j.seq, (SELECT at FROM counted)`

// sqlCancelJob takes the locks in the order of the ids; the sum keeps the planner from walking all rows that are alive in this order. It waits for who has a run: a write of output, which is over soon, or an end, which waits for the job for a second at most.
const sqlCancelJob = `UPDATE rq_run_alive r SET cancel_by = $2 FROM (SELECT a.id FROM rq_run a WHERE a.job_id = $1 AND a.state < 2 AND a.` + stateIs + ` 1 AND a.cancel_by IS NULL
	ORDER BY a.id + 0 FOR NO KEY UPDATE) v WHERE ` + sameID + ` AND r.state < 2`

// sqlCancelBatches waits for who cancels one of the rows, and nobody else.
const sqlCancelBatches = `UPDATE rq_run r SET state = 5, reason = $3, finished = $4, cancel_by = $2 FROM (SELECT a.id FROM rq_run a
	WHERE a.job_id = $1 AND a.state < 2 AND a.` + stateIs + ` 0 AND a.batch <> 0 ORDER BY a.id + 0 FOR NO KEY UPDATE) v WHERE ` + sameID + ` AND ` + stillAlive

const sqlSetTask = `UPDATE rq_run_alive r SET task = $2 FROM unnest($1::bigint[]) v (id) WHERE ` + sameID + ` AND r.state < 2 AND r.` + stateIs + ` 0`

const sqlStart = `UPDATE rq_run_alive r SET state = 1, started = $2, instance = $3, epoch = $4 FROM unnest($1::bigint[]) v (id)
	WHERE ` + sameID + ` AND r.state < 2 AND r.` + stateIs + ` 0 RETURNING ` + runColumns

// applyAny writes plans of any kind: first the jobs, then what follows for those whose plans landed.
func (cl *claim) applyAny(decisions []decision, runs *newRuns) error {
	jobs, err := cl.jobArgs(decisions)
	if err != nil {
		return err
	}
	applied := map[int64]bool{}
	err = cl.query(sqlAdvance, append([]any{cl.store.clock()}, jobs...), func(rows pgx.Rows) error {
		var seq int64
		err := rows.Scan(&seq, timeAt{&cl.started})
		applied[seq] = true
		return err
	})
	if err != nil {
		return err
	}
	landed := &newRuns{}
	landed.grow(len(runs.runs))
	start := []int64{}
	b := &pgx.Batch{}
	for _, d := range decisions {
		if !applied[d.job.seq] {
			continue
		}
		if d.Cancel != "" {
			b.Queue(sqlCancelJob, d.job.ID, textOf(d.Cancel))
			b.Queue(sqlCancelBatches, d.job.ID, textOf(d.Cancel), textOf("cancelled by "+d.Cancel), cl.now)
			cl.hint = true
		}
		for i := range d.Runs {
			cl.starts(&d.Runs[i], cl.started)
			if err := landed.add(&d.Runs[i], cl.now); err != nil {
				return err
			}
		}
		before := len(start)
		for _, id := range d.Start {
			if slices.ContainsFunc(d.job.rows, func(r ruqi.Run) bool { return r.ID == id }) {
				start = append(start, id)
			}
		}
		if d.Task != "" && len(start) > before {
			b.Queue(sqlSetTask, slices.Clone(start[before:]), textOf(d.Task)) // a clone: start is sorted below
		}
	}
	if len(start) > 0 {
		slices.Sort(start)
		owner := cl.want.owner
		queue(b, sqlStart, []any{start, cl.started, owner.Instance, owner.Epoch}, func(rows pgx.Rows) error {
			run, err := scanRun(rows)
			cl.claimed.Runs = append(cl.claimed.Runs, run)
			return err
		})
	}
	landed.insert(b)
	nameRuns(b, decisions, landed)
	for _, d := range decisions {
		if d.Remove && applied[d.job.seq] {
			queueRemoval(b, sqlDeleteIdleJob, d.job.ID, d.job.seq, cl.now)
		}
	}
	cl.end(b)
	if err := cl.commit(b); err != nil {
		return err
	}
	if cl.lost {
		return cl.recover(decisions, landed, start, applied)
	}
	cl.tell(decisions, landed, applied)
	return nil
}

// sqlBorn finds rows by what is unique of them. An earlier claim of the owner has started its rows before $3.
const sqlBorn = `SELECT r.id, r.job_id, r.cause, r.nominal, r.attempt, r.started, r.state = 1 AND r.instance = $1 AND r.epoch = $2 AND r.started >= $3 OR r.state <> 1 AND coalesce(r.finished, $3) = $3
	FROM unnest($4::timestamptz[], $5::text[], $6::smallint[], $7::int[]) v (nominal, job_id, cause, attempt)
	CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.nominal = v.nominal AND n.job_id = v.job_id AND n.cause = v.cause AND n.attempt = v.attempt OFFSET 0) r`

// sqlBegunRuns finds which of the rows that were to start run by this claim.
const sqlBegunRuns = `SELECT ` + runColumns + ` FROM unnest($1::bigint[]) v (id) CROSS JOIN rq_run_alive r
	WHERE ` + sameID + ` AND r.state < 2 AND r.` + stateIs + ` 1 AND r.started = $2 AND r.instance = $3 AND r.epoch = $4`

// recover reads what a claim did whose answers were lost: its rows are those with its owner that have started since. A row that has
// been taken away meanwhile is not the claim's any more. applied are the jobs whose plans landed; nil: those that have a row.
func (cl *claim) recover(decisions []decision, runs *newRuns, start []int64, applied map[int64]bool) error {
	for {
		err := cl.store.beside(cl.caller, cl.recovery(runs, start))
		if err == nil {
			break
		}
		if again := cl.store.translate(cl.caller, "claim", err); !errors.Is(again, ruqi.ErrUnavailable) {
			return fmt.Errorf("it happened, but what it took cannot be read: %w", err)
		}
		select {
		case <-time.After(settleWait):
		case <-cl.caller.Done():
			return context.Cause(cl.caller)
		}
	}
	if applied == nil {
		applied = map[int64]bool{}
		for i, d := range decisions { // one row each, in their order
			applied[d.job.seq] = runs.runs[i].ID != 0
		}
	}
	cl.tell(decisions, runs, applied)
	cl.last = look{next: &cl.now} // to look again at once
	return nil
}

// recovery is the batch that recover reads.
func (cl *claim) recovery(runs *newRuns, start []int64) *pgx.Batch {
	owner := cl.want.owner
	cl.claimed.Runs = nil
	b := &pgx.Batch{}
	queue(b, sqlBorn, []any{owner.Instance, owner.Epoch, cl.now, runs.nominal, runs.job, runs.cause, runs.attempt}, func(rows pgx.Rows) error {
		var started *time.Time
		mine := false
		at, err := runs.born(rows, timeOrNil{&started}, &mine)
		switch {
		case err != nil || at < 0:
		case !mine:
			runs.runs[at].ID = 0
		case started != nil:
			cl.starts(runs.runs[at], *started)
		}
		return err
	})
	queue(b, sqlBegunRuns, []any{start, cl.started, owner.Instance, owner.Epoch}, func(rows pgx.Rows) error {
		run, err := scanRun(rows)
		cl.claimed.Runs = append(cl.claimed.Runs, run)
		return err
	})
	return b
}
