package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// defaultClaim is the most jobs of one claim that names no limit.
const defaultClaim = 500

// Claim takes what is due, as ruqi.JobStore says. It looks first, beside all
// writers, and opens a write transaction only when there is something to take.
// Request.Slots names the pools that the instance serves; when it is empty, Next is told for every pool.
func (s *Store) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(now time.Time, due []ruqi.Due) []ruqi.Plan) (claimed ruqi.Claimed, err error) {
	want := newWant(request)
	due := false
	err = s.readQuick(ctx, "claim", func(c *conn) error {
		now, us := s.clock()
		l := &look{conn: c, want: want, now: now, us: us}
		if err := l.lease(); err != nil {
			return err
		}
		claimed = ruqi.Claimed{Now: now}
		if claimed.Instances, err = l.alive(); err != nil {
			return err
		}
		if claimed.Cancel, err = l.cancels(); err != nil {
			return err
		}
		if due, err = l.due(); err != nil || due {
			return err
		}
		claimed.Next, err = l.next()
		return err
	})
	if err != nil {
		return ruqi.Claimed{}, err
	}
	if !due {
		return claimed, nil
	}
	err = s.write(ctx, "claim", func(st *step) error {
		claimed = ruqi.Claimed{Now: st.now}
		cl := &claim{step: st, look: look{conn: st.conn, want: want, now: st.now, us: st.us}, claimed: &claimed}
		return cl.take(decide)
	})
	if err != nil {
		return ruqi.Claimed{}, err
	}
	return claimed, nil
}

// A want is a request in the form that the look for it needs.
type want struct {
	ruqi.ClaimRequest
	// pools are those served, by name; open are those with free slots.
	pools, open []string
	needs       map[string]bool
	except      map[string]bool
	limit       int
	// turns is the statement that reads the queued rows, once it is chosen; see look.turns.
	turns string
}

func newWant(request ruqi.ClaimRequest) *want {
	w := &want{ClaimRequest: request, needs: map[string]bool{}, limit: request.Limit}
	if w.limit <= 0 {
		w.limit = defaultClaim
	}
	w.pools = slices.Sorted(maps.Keys(request.Slots))
	for _, pool := range w.pools {
		if request.Slots[pool] > 0 {
			w.open = append(w.open, pool)
		}
	}
	for _, need := range request.Needs {
		w.needs[need] = true
	}
	if len(request.Except) > 0 {
		w.except = map[string]bool{}
		for _, id := range request.Except {
			w.except[id] = true
		}
	}
	return w
}

// serves reports whether the instance can run the job and is to look at it.
func (w *want) serves(id, needs string) bool { return w.needs[needs] && !w.except[id] }

// A look answers what a request could take at a time. It only reads.
type look struct {
	*conn
	want *want
	now  time.Time
	us   int64
	// all are the pools to tell Next for; see pools.
	all []string
	// known are the lanes of each pool, once read.
	known map[string][]*lane
	// waiting are the queued rows that are due, once read.
	waiting *waiting
}

const sqlLease = `SELECT lease_until FROM rq_instance WHERE name = ? AND epoch = ? AND lease > 0
	AND epoch = (SELECT max(epoch) FROM rq_instance WHERE name = ?)`

// lease returns ruqi.ErrLeaseLost unless the owner's lease is alive.
func (l *look) lease() error {
	owner := l.want.Owner
	until, err := l.count(sqlLease, owner.Instance, owner.Epoch, owner.Instance)
	if err != nil {
		return err
	}
	if until <= l.us {
		return fmt.Errorf("instance %s, epoch %d: %w", owner.Instance, owner.Epoch, ruqi.ErrLeaseLost)
	}
	return nil
}

const sqlCountAlive = `SELECT count(*) FROM rq_instance i WHERE lease > 0 AND lease_until > ?
	AND epoch = (SELECT max(epoch) FROM rq_instance l WHERE l.name = i.name)`

// alive counts the instances whose lease holds, the owner's own included.
func (l *look) alive() (int, error) {
	n, err := l.count(sqlCountAlive, l.us)
	return int(n), err
}

const sqlCancels = `SELECT id FROM rq_run WHERE instance = ? AND epoch = ? AND state = 1 AND cancel_by <> '' ORDER BY id`

// cancels lists the owner's runs whose end was asked for.
func (l *look) cancels() (ids []int64, err error) {
	err = l.query(sqlCancels, []any{l.want.Owner.Instance, l.want.Owner.Epoch}, func(r row) error {
		ids = append(ids, r.int(0))
		return nil
	})
	return ids, err
}

const sqlPoolAfter = `SELECT pool FROM rq_job INDEXED BY rq_job_due
	WHERE next_due IS NOT NULL AND state = 0 AND pool > ? ORDER BY pool LIMIT 1`

// pools returns the pools that the instance serves: those it named, or all that jobs are in.
func (l *look) pools() ([]string, error) {
	if len(l.want.pools) > 0 || l.all != nil {
		return append(l.want.pools, l.all...), nil
	}
	last, found := "", true
	for found {
		var err error
		found, err = l.one(sqlPoolAfter, []any{last}, func(r row) {
			last = r.text(0)
			l.all = append(l.all, last)
		})
		if err != nil {
			return nil, err
		}
	}
	return l.all, nil
}

// firstDue returns the earliest next time of a pool's jobs that the instance serves.
func (l *look) firstDue(pool string) (first *int64, err error) {
	lanes, err := l.lanes(pool)
	if err != nil {
		return nil, err
	}
	for _, ln := range lanes {
		if ln.due != nil && (first == nil || *ln.due < *first) {
			first = ln.due
		}
	}
	return first, nil
}

// due reports whether a pool with free slots has something to take.
func (l *look) due() (bool, error) {
	for _, pool := range l.want.open {
		first, err := l.firstDue(pool)
		if err != nil {
			return false, err
		}
		if first != nil && *first <= l.us {
			return true, nil
		}
	}
	w, err := l.queued()
	if err != nil {
		return false, err
	}
	for _, job := range w.jobs {
		if l.want.Slots[job.pool] > 0 {
			return true, nil
		}
	}
	return false, nil
}

const sqlQueuedAfter = `SELECT r.due, r.cause, j.state, j.pool, j.needs, j.id
	FROM rq_run r INDEXED BY rq_run_queued CROSS JOIN rq_job j ON j.id = r.job_id
	WHERE r.state = 0 AND r.due > ? ORDER BY r.due`

// next returns the earliest time at which something becomes due that the instance
// could serve, Now or earlier when that is so already.
func (l *look) next() (*time.Time, error) {
	var least *int64
	earlier := func(us int64) {
		if least == nil || us < *least {
			least = &us
		}
	}
	pools, err := l.pools()
	if err != nil {
		return nil, err
	}
	for _, pool := range pools {
		first, err := l.firstDue(pool)
		if err != nil {
			return nil, err
		}
		if first != nil {
			earlier(*first)
		}
	}
	w, err := l.queued()
	if err != nil {
		return nil, err
	}
	for _, job := range w.jobs {
		earlier(job.due)
	}
	err = l.query(sqlQueuedAfter, []any{l.us}, func(r row) error {
		if least != nil && r.int(0) >= *least {
			return errStop
		}
		paused := sqlstore.JobState(r.int(2)) == ruqi.JobPaused && sqlstore.Cause(r.int(1)) != ruqi.CauseManual
		if !paused && l.servesPool(r.text(3)) && l.want.serves(r.text(5), r.text(4)) {
			earlier(r.int(0))
			return errStop
		}
		return nil
	})
	if err != nil || least == nil {
		return nil, err
	}
	t := sqlstore.Time(*least)
	return &t, nil
}

func (l *look) servesPool(pool string) bool {
	if len(l.want.pools) == 0 {
		return true
	}
	_, named := l.want.Slots[pool]
	return named
}

// A candidate is a job that a claim may take.
type candidate struct {
	jobRow
	pool   string
	due    int64
	active int
	rows   []int64
	// spec and tags are shared with the definitions kept: to be copied, not handed out.
	spec []byte
	tags []string
}

// byUrgency orders by priority, then by the time of waiting, then by id.
func byUrgency(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.due, b.due), cmp.Compare(a.ID, b.ID))
}

const sqlJobBySeq = `SELECT ` + hotColumns + ` FROM rq_job j WHERE j.seq = ?`

// candidate makes a candidate of a row of hotColumns, or nil if the instance is not to look at the job.
func (cl *claim) candidate(pool string, r row) (*candidate, error) {
	d, err := cl.store.definition(cl.conn, r.int(0), r.int(1))
	if err != nil || !cl.look.want.serves(d.ID, d.Needs) {
		return nil, err
	}
	c := &candidate{pool: pool, spec: d.Spec, tags: d.Tags}
	c.jobRow, c.active = scanHot(&d, r)
	due := c.State == ruqi.JobActive && c.NextDue != nil && !c.NextDue.After(cl.now)
	if due {
		c.due = sqlstore.Micros(*c.NextDue)
	}
	if w := cl.look.waiting.jobs[c.seq]; w != nil {
		c.rows = w.rows
		if !due || w.due < c.due {
			c.due = w.due
		}
	}
	return c, nil
}

// candidates returns the most urgent jobs of an open pool, at most as many as it has slots.
func (cl *claim) candidates(pool string) ([]*candidate, error) {
	slots := min(cl.look.want.Slots[pool], cl.look.want.limit)
	list, err := cl.dueJobs(pool, slots)
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{}
	for _, c := range list {
		seen[c.seq] = true
	}
	for _, w := range cl.look.waiting.urgent(pool, seen, slots) {
		err := cl.query(sqlJobBySeq, []any{w.seq}, func(r row) error {
			c, err := cl.candidate(pool, r)
			if c != nil {
				list = append(list, c)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, byUrgency)
	return list[:min(slots, len(list))], nil
}
