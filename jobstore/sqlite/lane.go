package sqlite

import (
	"slices"
)

// A lane is the queue of the jobs of one pool that need the same of an instance, by
// priority, then by next time. A claim merges the lanes that it serves.
type lane struct {
	pool, needs string
	// rows are the next jobs of the lane that were read and not taken yet.
	rows []*candidate
	// priority is the one being read, of which read rows were read; open says that it may have more.
	priority int64
	read     int
	open     bool
	// done: nothing due is left to read.
	done bool
}

const sqlNeedFrom = `SELECT needs FROM rq_job INDEXED BY rq_job_due
	WHERE pool = ? AND needs >= ? AND next_due IS NOT NULL AND state = 0 ORDER BY needs LIMIT 1`

// lanes returns the lanes of a pool that have jobs and that the instance serves. It leaps from
// one that it serves to the next that is there, so the shorter list bounds the look-ups.
func (l *look) lanes(pool string) ([]*lane, error) {
	var lanes []*lane
	wanted := l.want.sorted
	for i := 0; i < len(wanted); {
		there := ""
		found, err := l.one(sqlNeedFrom, []any{pool, wanted[i]}, func(r row) { there = r.text(0) })
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
		next, served := slices.BinarySearch(wanted, there)
		if served {
			lanes = append(lanes, &lane{pool: pool, needs: there, priority: above})
			next++
		}
		i = next
	}
	return lanes, nil
}

// above is greater than every priority.
const above = int64(1) << 62

// The highest priority below a given one of which the lane has a job.
const sqlPriorityBelow = `SELECT priority FROM rq_job INDEXED BY rq_job_due
	WHERE pool = ? AND needs = ? AND next_due IS NOT NULL AND state = 0 AND priority < ? ORDER BY priority DESC LIMIT 1`

// descend goes on to the next lower priority of the lane.
func (ln *lane) descend(l *look) (found bool, err error) {
	return l.one(sqlPriorityBelow, []any{ln.pool, ln.needs, ln.priority}, func(r row) { ln.priority = r.int(0) })
}

const sqlFirstDue = `SELECT next_due, id FROM rq_job INDEXED BY rq_job_due
	WHERE pool = ? AND needs = ? AND priority = ? AND next_due IS NOT NULL AND state = 0 ORDER BY next_due`

// first returns the earliest next time in the lane, but of the jobs excepted.
func (ln *lane) first(l *look) (first *int64, err error) {
	for {
		found, err := ln.descend(l)
		if err != nil || !found {
			return first, err
		}
		err = l.query(sqlFirstDue, []any{ln.pool, ln.needs, ln.priority}, func(r row) error {
			due := r.int(0)
			if first != nil && due >= *first {
				return errStop
			}
			if !l.want.serves(r.text(1), ln.needs) {
				return nil
			}
			first = &due
			return errStop
		})
		if err != nil {
			return nil, err
		}
	}
}

const sqlDueJobs = `SELECT ` + hotColumns + ` FROM rq_job j INDEXED BY rq_job_due
	WHERE j.pool = ? AND j.needs = ? AND j.priority = ? AND j.next_due <= ? AND j.state = 0 ORDER BY j.next_due LIMIT ? OFFSET ?`

// fill reads up to size more jobs that are due, when none is at hand.
func (ln *lane) fill(cl *claim, size int) error {
	for len(ln.rows) == 0 && !ln.done {
		if !ln.open {
			found, err := ln.descend(&cl.look)
			if err != nil {
				return err
			}
			ln.open, ln.done, ln.read = found, !found, 0
			continue
		}
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
	lanes, err := cl.look.lanes(pool)
	if err != nil || len(lanes) == 0 {
		return nil, err
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
