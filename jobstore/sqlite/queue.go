package sqlite

import (
	"cmp"
	"slices"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// waiting is what queued rows may start now.
type waiting struct {
	jobs map[int64]*waitingJob // by seq
}

// A waitingJob is a job with queued rows that may start.
type waitingJob struct {
	seq      int64
	id, pool string
	priority int64
	// due is the time of the oldest of rows, since that of the job's oldest fire that is due, if that is earlier.
	due, since int64
	rows       []int64
}

// urgent returns the most urgent jobs of a pool but those seen, at most so many.
func (w *waiting) urgent(pool string, seen map[int64]bool, most int) []*waitingJob {
	var list []*waitingJob
	for _, job := range w.jobs {
		if job.pool == pool && !seen[job.seq] {
			list = append(list, job)
		}
	}
	slices.SortFunc(list, func(a, b *waitingJob) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id))
	})
	return list[:min(most, len(list))]
}

// A queue is what is read of the queued rows of one job.
type queue struct {
	job      *waitingJob
	standing sqlstore.Standing
	// batches are the lowest row of each batch, plain the oldest of each cause outside of batches; causes are the codes of these.
	batches, plain []sqlstore.Queued
	causes         []int64
}

// What a claim reads of the queued rows grows with the jobs and their batches, and not with the rows: of each job, batch and cause (a
// turn) only the first row, to which the index leaps. Where nearly every row is of another job, or most jobs have rows that are due
// much later, it reads the rows that are due instead; see turns.
const (
	// The first row of each turn.
	turnLeap = `SELECT * FROM (SELECT n.id FROM rq_run n INDEXED BY rq_run_turn
		WHERE n.state = 0 AND n.job_id > '' ORDER BY n.job_id, n.batch, n.cause, n.due LIMIT 1)
	UNION ALL
	SELECT coalesce(
		(SELECT n.id FROM rq_run n INDEXED BY rq_run_turn
			WHERE n.state = 0 AND n.job_id = r.job_id AND n.batch = r.batch AND n.cause > r.cause ORDER BY n.cause, n.due LIMIT 1),
		(SELECT n.id FROM rq_run n INDEXED BY rq_run_turn
			WHERE n.state = 0 AND n.job_id = r.job_id AND n.batch > r.batch ORDER BY n.batch, n.cause, n.due LIMIT 1),
		(SELECT n.id FROM rq_run n INDEXED BY rq_run_turn
			WHERE n.state = 0 AND n.job_id > r.job_id ORDER BY n.job_id, n.batch, n.cause, n.due LIMIT 1))
	FROM head CROSS JOIN rq_run r ON r.id = head.id`
	// Of a batch its lowest id alone may start, which need not be the first by time. The last column tells for it whether its batch
	// runs, and for a row outside of batches whether anything of its job is active.
	turnRows = `SELECT q.id, q.due, q.cause, q.batch, j.seq, j.id, j.pool, j.needs, j.priority, j.state, j.max_instances, j.next_due,
	CASE q.batch WHEN 0 THEN
		EXISTS (SELECT 1 FROM rq_run a INDEXED BY rq_run_alive WHERE a.job_id = q.job_id AND a.state < 2 AND a.state = 1) OR
		EXISTS (SELECT 1 FROM rq_run a INDEXED BY rq_run_alive WHERE a.job_id = q.job_id AND a.state < 2 AND a.state = 0 AND a.batch > 0) OR
		EXISTS (SELECT 1 FROM rq_run a INDEXED BY rq_run_alive WHERE a.job_id = q.job_id AND a.state < 2 AND a.state = 0 AND a.batch < 0)
	ELSE
		EXISTS (SELECT 1 FROM rq_run a INDEXED BY rq_run_alive WHERE a.job_id = q.job_id AND a.state < 2 AND a.state = 1 AND a.batch = q.batch)
	END
	FROM head CROSS JOIN rq_run r ON r.id = head.id
	CROSS JOIN rq_run q ON q.id = CASE r.batch WHEN 0 THEN r.id ELSE (SELECT f.id FROM rq_run f INDEXED BY rq_run_alive
		WHERE f.job_id = r.job_id AND f.state < 2 AND f.state = 0 AND f.batch = r.batch ORDER BY f.id LIMIT 1) END
	CROSS JOIN rq_job j ON j.id = q.job_id WHERE q.due <= ?1`

	sqlTurnsByLeaps = `WITH RECURSIVE head (id) AS (` + turnLeap + `) ` + turnRows
	sqlTurnsOfRows  = `WITH head (id) AS (SELECT id FROM rq_run INDEXED BY rq_run_queued WHERE state = 0 AND due <= ?1 ORDER BY due, id) ` + turnRows

	sqlDueUpTo   = `SELECT count(*) FROM (SELECT 1 FROM rq_run INDEXED BY rq_run_queued WHERE state = 0 AND due <= ? LIMIT ?)`
	sqlTurnsUpTo = `WITH RECURSIVE head (id) AS (` + turnLeap + ` LIMIT ?) SELECT count(*) FROM head`
)

const (
	// fewRows are read as they are: as cheap as it is to find out more.
	fewRows = 64
	// leapCost is how many rows cost about as much to read as a leap to the next turn.
	leapCost = 8
)

// turns returns the statement that reads the first rows that are due of all turns in fewer steps; empty: nothing is due. To
// find out takes, by looking a bit further each time, no more than the better one; it is found out once a claim.
func (l *look) turns() (string, error) {
	if l.want.turns != "" {
		return l.want.turns, nil
	}
	for most := int64(fewRows); ; most *= leapCost {
		due, err := l.count(sqlDueUpTo, l.us, most+1)
		switch {
		case err != nil || due == 0:
			return "", err
		case due <= most:
			l.want.turns = sqlTurnsOfRows
			return l.want.turns, nil
		}
		turns, err := l.count(sqlTurnsUpTo, most/leapCost+1)
		if err != nil {
			return "", err
		}
		if turns <= most/leapCost {
			l.want.turns = sqlTurnsByLeaps
			return l.want.turns, nil
		}
	}
}

// queued reads which queued rows may start, of all jobs that the instance serves.
func (l *look) queued() (*waiting, error) {
	if l.waiting != nil {
		return l.waiting, nil
	}
	queues, err := l.queues()
	if err != nil {
		return nil, err
	}
	w := &waiting{jobs: map[int64]*waitingJob{}}
	for _, q := range queues {
		rows, err := l.rows(q)
		if err != nil {
			return nil, err
		}
		for _, may := range sqlstore.Startable(l.now, q.standing, rows) {
			if len(q.job.rows) == 0 {
				q.job.due = sqlstore.Micros(may.Due)
				q.job.since = min(q.job.since, q.job.due)
			}
			q.job.rows = append(q.job.rows, may.ID)
			w.jobs[q.job.seq] = q.job
		}
	}
	l.waiting = w
	return w, nil
}

// queues reads the first row of each turn.
func (l *look) queues() (list []*queue, err error) {
	sql, err := l.turns()
	if err != nil || sql == "" {
		return nil, err
	}
	type turn struct{ seq, batch, cause int64 }
	known, read := map[int64]*queue{}, map[turn]bool{}
	err = l.query(sql, []any{l.us}, func(r row) error {
		if !l.servesPool(r.text(6)) || !l.want.serves(r.text(5), r.text(7)) {
			return nil
		}
		q, t := known[r.int(4)], turn{seq: r.int(4), batch: r.int(3)}
		if t.batch == 0 {
			t.cause = r.int(2)
		}
		if read[t] {
			return nil
		}
		read[t] = true
		if q == nil {
			q = l.queue(r)
			known[t.seq], list = q, append(list, q)
		}
		first := sqlstore.Queued{ID: r.int(0), Due: r.time(1), Cause: sqlstore.Cause(r.int(2)), Batch: t.batch}
		if t.batch == 0 {
			q.plain, q.causes = append(q.plain, first), append(q.causes, t.cause)
			q.standing.Active = int(r.int(12))
		} else {
			q.batches = append(q.batches, first)
			q.standing.First[t.batch], q.standing.Busy[t.batch] = first.ID, r.int(12) != 0
		}
		return nil
	})
	return list, err
}

// queue makes the queue of a job of its first row that was read.
func (l *look) queue(r row) *queue {
	q := &queue{
		job: &waitingJob{seq: r.int(4), id: r.text(5), pool: r.text(6), priority: r.int(8), since: l.us},
		standing: sqlstore.Standing{State: sqlstore.JobState(r.int(9)), MaxInstances: int(r.int(10)),
			Busy: map[int64]bool{}, First: map[int64]int64{}},
	}
	if q.standing.State == ruqi.JobActive && !r.null(11) {
		q.job.since = min(q.job.since, r.int(11))
	}
	return q
}

// Whether a job has room is known when as many runs as it may have are counted.
const sqlActiveUpTo = `SELECT count(*) FROM (
	SELECT 1 FROM rq_run INDEXED BY rq_run_alive WHERE job_id = ?1 AND state < 2 AND state = 1
	UNION ALL SELECT 1 FROM rq_run INDEXED BY rq_run_alive WHERE job_id = ?1 AND state < 2 AND state = 0 AND batch > 0
	UNION ALL SELECT 1 FROM rq_run INDEXED BY rq_run_alive WHERE job_id = ?1 AND state < 2 AND state = 0 AND batch < 0
	LIMIT ?2)`
const sqlPlainQueued = `SELECT id, due FROM rq_run INDEXED BY rq_run_turn
	WHERE job_id = ? AND batch = 0 AND cause = ? AND due <= ? AND state = 0 ORDER BY due, id LIMIT ?`

// rows returns the rows of a job among which those that may start are, oldest first. A job that may run more than
// once at a time may start more than the first outside of batches, as many as it has room for.
func (l *look) rows(q *queue) ([]sqlstore.Queued, error) {
	plain := q.plain
	if most := q.standing.MaxInstances; len(plain) > 0 && most > 1 {
		active, err := l.count(sqlActiveUpTo, q.job.id, most)
		if err != nil {
			return nil, err
		}
		q.standing.Active = int(active)
		if room := most - q.standing.Active; room > 1 {
			if plain, err = l.plain(q, room); err != nil {
				return nil, err
			}
		}
	}
	rows := slices.Concat(q.batches, plain)
	slices.SortFunc(rows, func(a, b sqlstore.Queued) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
	return rows, nil
}

// plain reads the oldest rows outside of batches, at most so many of each cause.
func (l *look) plain(q *queue, most int) (rows []sqlstore.Queued, err error) {
	for _, cause := range q.causes {
		err := l.query(sqlPlainQueued, []any{q.job.id, cause, l.us, most}, func(r row) error {
			rows = append(rows, sqlstore.Queued{ID: r.int(0), Due: r.time(1), Cause: sqlstore.Cause(cause)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}
