package sqlite

// A lane is the queue of the jobs of one pool, need and priority, by next time. A claim
// merges the lanes that it serves.
type lane struct {
	pool, needs string
	priority    int64
	// due is the next time of the first job that the instance is to look at; nil: there is none.
	due *int64
	// rows are the next jobs of the lane that were read and not taken yet, of which read were read; open
	// says that there may be more.
	rows []*candidate
	read int
	open bool
}

// The first job of each lane of a pool. From each lane it leaps to the next, the lower
// priorities of a need before the next need, so it costs the number of lanes and not that of jobs.
const sqlLanes = `WITH RECURSIVE head (seq) AS (
	SELECT * FROM (SELECT n.seq FROM rq_job n INDEXED BY rq_job_due
		WHERE n.pool = ?1 AND n.next_due IS NOT NULL AND n.state = 0 ORDER BY n.needs, n.priority DESC, n.next_due LIMIT 1)
	UNION ALL
	SELECT ifnull(
		(SELECT n.seq FROM rq_job n INDEXED BY rq_job_due
			WHERE n.pool = ?1 AND n.needs = j.needs AND n.priority < j.priority AND n.next_due IS NOT NULL AND n.state = 0
			ORDER BY n.priority DESC, n.next_due LIMIT 1),
		(SELECT n.seq FROM rq_job n INDEXED BY rq_job_due
			WHERE n.pool = ?1 AND n.needs > j.needs AND n.next_due IS NOT NULL AND n.state = 0
			ORDER BY n.needs, n.priority DESC, n.next_due LIMIT 1))
	FROM head CROSS JOIN rq_job j ON j.seq = head.seq)
	SELECT j.needs, j.priority, j.next_due, j.id FROM head CROSS JOIN rq_job j ON j.seq = head.seq`

// lanes returns the lanes of a pool that the instance serves. They are read once a look.
func (l *look) lanes(pool string) ([]*lane, error) {
	if lanes, known := l.known[pool]; known {
		return lanes, nil
	}
	var lanes, excepted []*lane
	err := l.query(sqlLanes, []any{pool}, func(r row) error {
		if !l.want.needs[r.text(0)] {
			return nil
		}
		due := r.int(2)
		ln := &lane{pool: pool, needs: r.text(0), priority: r.int(1), due: &due, open: true}
		if l.want.except[r.text(3)] {
			excepted = append(excepted, ln)
		}
		lanes = append(lanes, ln)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, ln := range excepted {
		if err := ln.first(l); err != nil {
			return nil, err
		}
	}
	if l.known == nil {
		l.known = map[string][]*lane{}
	}
	l.known[pool] = lanes
	return lanes, nil
}

const sqlFirstDue = `SELECT next_due, id FROM rq_job INDEXED BY rq_job_due
	WHERE pool = ? AND needs = ? AND priority = ? AND next_due IS NOT NULL AND state = 0 ORDER BY next_due`

// first finds the first job of the lane that is not excepted.
func (ln *lane) first(l *look) error {
	ln.due = nil
	return l.query(sqlFirstDue, []any{ln.pool, ln.needs, ln.priority}, func(r row) error {
		if l.want.except[r.text(1)] {
			return nil
		}
		due := r.int(0)
		ln.due = &due
		return errStop
	})
}

const sqlDueJobs = `SELECT ` + hotColumns + ` FROM rq_job j INDEXED BY rq_job_due
	WHERE j.pool = ? AND j.needs = ? AND j.priority = ? AND j.next_due <= ? AND j.state = 0 ORDER BY j.next_due LIMIT ? OFFSET ?`

// fill reads up to size more jobs that are due, when none is at hand.
func (ln *lane) fill(cl *claim, size int) error {
	for len(ln.rows) == 0 && ln.open {
		got := 0
		err := cl.query(sqlDueJobs, []any{ln.pool, ln.needs, ln.priority, cl.us, size, ln.read}, func(r row) error {
			got++
			c, err := cl.candidate(ln.pool, r)
			if c != nil {
				ln.rows = append(ln.rows, c)
			}
			return err
		})
		if err != nil {
			return err
		}
		ln.read += got
		ln.open = got == size
	}
	return nil
}

// dueJobs merges the lanes of a pool up to a number of jobs.
func (cl *claim) dueJobs(pool string, most int) ([]*candidate, error) {
	all, err := cl.look.lanes(pool)
	if err != nil {
		return nil, err
	}
	var lanes []*lane
	for _, ln := range all {
		if ln.due != nil && *ln.due <= cl.us {
			lanes = append(lanes, ln)
		}
	}
	const spare = 4 // rows a lane: most lanes give a few, and what is read in vain costs little
	size := most
	if len(lanes) > 1 {
		size = min(most, 2*most/len(lanes)+spare)
	}
	var list []*candidate
	for len(list) < most {
		var best *lane
		for _, ln := range lanes {
			if best != nil && best.rows[0].Priority > int(ln.priority) {
				continue // it has its turn when the higher ones are empty
			}
			if err := ln.fill(cl, size); err != nil {
				return nil, err
			}
			if len(ln.rows) > 0 && (best == nil || byUrgency(ln.rows[0], best.rows[0]) < 0) {
				best = ln
			}
		}
		if best == nil {
			break
		}
		list, best.rows = append(list, best.rows[0]), best.rows[1:]
	}
	return list, nil
}
