package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// Claim takes what is due, as ruqi.JobStore says: in two round trips where each job has one plain fire. After a
// claim that found nothing it looks first, with one statement that locks nothing.
func (s *Store) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(now time.Time, due []ruqi.Due) []ruqi.Plan) (claimed ruqi.Claimed, err error) {
	w := newWant(request)
	if !s.busy.Load() || len(w.open().pools) == 0 {
		l := &look{}
		b := &pgx.Batch{}
		sqlLook.queue(b, w.values(s), l.scan)
		if err := s.look(ctx, s.engine, b); err != nil {
			return ruqi.Claimed{}, s.translate(ctx, "claim", err)
		}
		if !l.alive {
			return ruqi.Claimed{}, s.translate(ctx, "claim", &asIs{leaseLost(w.owner)})
		}
		if !l.ripe {
			return l.claimed(), nil
		}
	}
	err = s.write(ctx, s.engine, "claim", func(st *step) error {
		cl := &claim{step: st, want: w}
		defer func() { claimed = cl.claimed }()
		return cl.take(decide)
	})
	s.busy.Store(err == nil && len(claimed.Jobs) > 0)
	if err != nil {
		return ruqi.Claimed{}, err
	}
	return claimed, nil
}

// A claim is the step of Claim.
type claim struct {
	*step
	want    want
	claimed ruqi.Claimed
	// started is when what the claim starts has started.
	started time.Time
	// last is what the end of the step tells.
	last look
}

// A candidate is a job that a claim holds the lock of.
type candidate struct {
	ruqi.JobRecord
	definition sqlstore.Definition
	seq, rev   int64
	// due is the time of its fire, or of the oldest row that may start.
	due time.Time
	// active counts its active runs. It may be older than the lock where queued is 0; the plan's write counts again.
	active int
	// waiting counts the fires that wait; the write counts these again as well.
	waiting int
	// queued counts its queued rows, rows are those that may start.
	queued int
	rows   []ruqi.Run
	// lane numbers the lane that it was read from, last says that the lane may have more; 0: from none.
	lane int64
	last bool
}

// sqlOwner looks at the lease, which nobody can end until the step does.
var sqlOwner = claimText(`SELECT txid_current(), i.lease > 0 AND i.lease_until > @now
	AND NOT EXISTS (SELECT FROM rq_instance l WHERE l.name = i.name AND l.epoch > i.epoch)
	FROM rq_instance i WHERE i.name = @name AND i.epoch = @epoch FOR KEY SHARE`)

// sqlClock reads the clock of a claim, when the active runs were counted: what ended before that has ended before it. $1 takes
// the place of the server's clock in tests.
const sqlClock = `SELECT coalesce($1::timestamptz, clock_timestamp())`

const hotColumns = `x.seq, x.rev, x.state, x.reason, x.next_nominal, x.next_due, x.run_count`

// sqlDueJobs takes jobs that are due, lane by lane, as many of each as there are slots, and less where several
// lanes share a pool: what is locked in vain others cannot take.
var sqlDueJobs = claimText(`WITH RECURSIVE pools (pool) AS (SELECT unnest(@pools)), @lanes,
ripe AS (SELECT j.pool, j.needs, j.priority, s.free, count(*) OVER (PARTITION BY j.pool) AS beside, row_number() OVER () AS number
	FROM lane CROSS JOIN LATERAL (SELECT * FROM rq_job n WHERE n.seq = lane.seq OFFSET 0) j CROSS JOIN unnest(@pools, @slots) s (pool, free)
	WHERE s.pool = j.pool AND j.next_due <= @now AND j.needs = ANY (@needs))
SELECT ` + hotColumns + `, a.active, a.queued, l.number, x.place = l.most AND l.most < l.free
FROM (SELECT *, CASE WHEN beside = 1 THEN free ELSE least(free, 2 * free / beside + 4) END AS most FROM ripe) l
CROSS JOIN LATERAL (SELECT y.*, row_number() OVER () AS place FROM (SELECT n.* FROM rq_job n
	WHERE n.pool = l.pool AND n.needs = l.needs AND n.priority = l.priority AND n.state = 0 AND n.next_due IS NOT NULL AND n.next_due <= @now
	AND n.id <> ALL (@except) ORDER BY n.next_due, n.seq LIMIT l.most FOR NO KEY UPDATE SKIP LOCKED) y) x
CROSS JOIN LATERAL (SELECT ` + countActive + ` AS active, count(*) FILTER (WHERE a.state = 0) AS queued
	FROM rq_run a WHERE a.job_id = x.id AND a.state < 2) a`)

// sqlQueuedJobs takes jobs of which a queued row may start.
var sqlQueuedJobs = claimText(`SELECT ` + hotColumns + `
FROM unnest(@pools, @slots) s (pool, free) CROSS JOIN LATERAL (SELECT j.* FROM @waiting
	WHERE j.pool = s.pool AND j.needs = ANY (@needs) AND j.id <> ALL (@except) AND @startable
	ORDER BY j.priority DESC, q.due, j.seq LIMIT s.free FOR NO KEY UPDATE OF j SKIP LOCKED) x`)

// take locks what is due, offers it to decide and writes its plans.
func (cl *claim) take(decide func(now time.Time, due []ruqi.Due) []ruqi.Plan) error {
	taken, err := cl.candidates()
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		offer := make([]ruqi.Due, len(taken))
		for i, c := range taken {
			offer[i] = ruqi.Due{Job: c.JobRecord, Active: c.active, Waiting: c.waiting, Queued: c.rows}
		}
		if err := cl.apply(taken, decide(cl.now, offer)); err != nil {
			return err
		}
	} else {
		b := &pgx.Batch{}
		cl.end(b)
		if err := cl.commit(b); err != nil {
			return err
		}
		if cl.lost {
			return &unavailable{errors.New("the answer was lost")} // nothing was to be written
		}
	}
	told := cl.last.claimed()
	cl.claimed.Now, cl.claimed.Next, cl.claimed.Cancel, cl.claimed.Instances = cl.now, told.Next, told.Cancel, told.Instances
	return nil
}

// end queues the last look.
func (cl *claim) end(b *pgx.Batch) {
	sqlLook.queue(b, cl.want.values(cl.store), cl.last.scan)
}

// candidates locks jobs that have something to start, and returns the most urgent, at most limit.
func (cl *claim) candidates() ([]*candidate, error) {
	values := cl.want.open().values(cl.store)
	b := &pgx.Batch{}
	cl.begin(b)
	alive := false
	sqlOwner.queue(b, values, func(rows pgx.Rows) error { return rows.Scan(&cl.tx, &alive) })
	var found []*candidate
	sqlDueJobs.queue(b, values, func(rows pgx.Rows) error {
		c := &candidate{}
		found = append(found, c)
		return c.scan(rows, &c.active, &c.queued, &c.lane, &c.last)
	})
	var waiting []*candidate
	sqlQueuedJobs.queue(b, values, func(rows pgx.Rows) error {
		c := &candidate{queued: 1}
		waiting = append(waiting, c)
		return c.scan(rows)
	})
	cl.clock(b)
	if err := cl.send(b); err != nil {
		return nil, err
	}
	if !alive {
		return nil, &asIs{leaseLost(cl.want.owner)}
	}
	for _, c := range waiting {
		if i := slices.IndexFunc(found, func(f *candidate) bool { return f.seq == c.seq }); i < 0 {
			found = append(found, c)
		}
	}
	if err := cl.define(found); err != nil {
		return nil, err
	}
	found, err := cl.standing(found)
	if err != nil {
		return nil, err
	}
	return cl.mostUrgent(found), nil
}

// clock queues the reading of the clock.
func (cl *claim) clock(b *pgx.Batch) {
	queue(b, sqlClock, []any{cl.store.clock()}, func(rows pgx.Rows) error { return rows.Scan(timeAt{&cl.now}) })
}

// scan reads hotColumns and what comes after them.
func (c *candidate) scan(rows pgx.Rows, more ...any) error {
	var state int16
	targets := append([]any{&c.seq, &c.rev, &state, &c.Reason, timeOrNil{&c.NextNominal}, timeOrNil{&c.NextDue}, &c.RunCount}, more...)
	err := rows.Scan(targets...)
	c.State = sqlstore.JobState(int64(state))
	if c.NextDue != nil {
		c.due = *c.NextDue
	}
	return err
}

const sqlDefinitions = `SELECT j.rev, ` + jobColumns + ` FROM unnest($1::bigint[]) v (seq) CROSS JOIN rq_job j CROSS JOIN rq_definition d WHERE j.seq = v.seq AND d.seq = v.seq`

// define fills in what does not change with each fire.
func (cl *claim) define(list []*candidate) error {
	var missing []int64
	for _, c := range list {
		var known bool
		if c.definition, known = cl.store.definitions.Get(c.seq, c.rev); !known {
			missing = append(missing, c.seq)
		}
	}
	if len(missing) > 0 {
		fresh := make(map[int64]sqlstore.Definition, len(missing))
		err := cl.query(sqlDefinitions, []any{missing}, func(rows pgx.Rows) error {
			var d sqlstore.Definition
			job, err := scanJob(rows, &d.Rev)
			d.JobRecord, d.Seq = job.JobRecord, job.seq
			fresh[d.Seq] = d
			cl.store.definitions.Put(d)
			return err
		})
		if err != nil {
			return err
		}
		for _, c := range list {
			if d, ok := fresh[c.seq]; ok {
				c.definition = d
			}
		}
	}
	for _, c := range list {
		hot := c.JobRecord
		c.JobRecord = c.definition.Record()
		c.State, c.Reason, c.NextNominal, c.NextDue, c.RunCount = hot.State, hot.Reason, hot.NextNominal, hot.NextDue, hot.RunCount
	}
	return nil
}

// sqlAliveRuns reads what of jobs is alive: runs that run, queued rows without a batch, and of each batch the oldest, which alone may start;
// with each of them how many runs of its job are active, and how many fires wait.
const sqlAliveRuns = `SELECT ` + runColumns + `, c.active, c.waiting FROM unnest($1::text[]) v (job_id)
	CROSS JOIN LATERAL (SELECT sum(g.active)::bigint AS active, sum(g.waiting)::bigint AS waiting, array_agg(g.oldest) AS oldest
		FROM (SELECT ` + countActive + ` AS active, ` + countWaiting + ` AS waiting,
			min(a.id) FILTER (WHERE a.state = 0 AND a.batch <> 0) AS oldest
			FROM rq_run a WHERE a.job_id = v.job_id AND a.state < 2 GROUP BY a.batch OFFSET 0) g) c
	CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.job_id = v.job_id AND n.state < 2
		AND (n.batch = 0 OR n.` + stateIs + ` 1 OR n.id = ANY (c.oldest)) OFFSET 0) r ORDER BY r.due, r.id`

// A standing is what sqlAliveRuns says of one job.
type standing struct {
	runs            []ruqi.Run
	active, waiting int
}

// standing reads, under the locks, the runs of the jobs that have queued ones, and leaves out the jobs that
// have nothing to start after all.
func (cl *claim) standing(list []*candidate) ([]*candidate, error) {
	jobs := []string{}
	for _, c := range list {
		if c.queued > 0 {
			jobs = append(jobs, c.ID)
		}
	}
	if len(jobs) == 0 {
		return list, nil
	}
	alive := make(map[string]standing, len(jobs))
	b := &pgx.Batch{}
	queue(b, sqlAliveRuns, []any{jobs}, func(rows pgx.Rows) error {
		var job standing
		run, err := scanRun(rowWith{rows, []any{&job.active, &job.waiting}})
		job.runs = append(alive[run.JobID].runs, run)
		alive[run.JobID] = job
		return err
	})
	cl.clock(b)
	if err := cl.send(b); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(c *candidate) bool {
		if c.queued > 0 {
			c.stand(cl.now, alive[c.ID])
		}
		fires := c.State == ruqi.JobActive && c.NextDue != nil && !c.NextDue.After(cl.now)
		if len(c.rows) > 0 && (!fires || c.rows[0].Due.Before(c.due)) {
			c.due = c.rows[0].Due
		}
		return !fires && len(c.rows) == 0
	}), nil
}

// stand sets what follows from the job's runs that are alive, by due time.
func (c *candidate) stand(now time.Time, alive standing) {
	standing := sqlstore.Standing{State: c.State, MaxInstances: c.MaxInstances, Active: alive.active, Busy: map[int64]bool{}, First: map[int64]int64{}}
	var queued []sqlstore.Queued
	byID := make(map[int64]ruqi.Run, len(alive.runs))
	for _, run := range alive.runs {
		if run.State == ruqi.RunRunning {
			standing.Busy[run.Batch] = true
			continue
		}
		if first, known := standing.First[run.Batch]; !known || run.ID < first {
			standing.First[run.Batch] = run.ID
		}
		byID[run.ID] = run
		queued = append(queued, sqlstore.Queued{ID: run.ID, Due: run.Due, Cause: run.Cause, Batch: run.Batch})
	}
	c.active, c.waiting, c.rows = alive.active, alive.waiting, nil
	for _, q := range sqlstore.Startable(now, standing, queued) {
		c.rows = append(c.rows, byID[q.ID])
	}
}

// mostUrgent orders the candidates by priority, then by the time of waiting, and keeps as many of each pool as it has slots.
func (cl *claim) mostUrgent(list []*candidate) []*candidate {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.due.Compare(b.due), cmp.Compare(a.ID, b.ID))
	})
	free := make(map[string]int, len(cl.want.pools))
	for i, pool := range cl.want.pools {
		free[pool] = int(cl.want.slots[i])
	}
	kept := list[:0]
	for _, c := range list {
		if free[c.Pool] <= 0 || len(kept) == cl.want.limit {
			continue
		}
		free[c.Pool]--
		if c.last { // what its lane has beyond it may come before all that follow
			free[c.Pool] = 0
		}
		kept = append(kept, c)
	}
	return kept
}
