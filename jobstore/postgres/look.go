package postgres

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
)

// defaultClaim is the most jobs of one claim that names no limit.
const defaultClaim = 500

// A want is a claim's request in the form that its statements need.
type want struct {
	owner ruqi.Owner
	// pools are those served, by name, and slots their free slots, at most limit.
	pools []string
	slots []int32
	needs []string
	// except are jobs to leave alone.
	except []string
	limit  int
}

func newWant(request ruqi.ClaimRequest) want {
	w := want{owner: request.Owner, needs: request.Needs, except: request.Except, limit: request.Limit}
	if w.limit <= 0 {
		w.limit = defaultClaim
	}
	w.pools = slices.AppendSeq([]string{}, maps.Keys(request.Slots))
	slices.Sort(w.pools)
	for _, pool := range w.pools {
		w.slots = append(w.slots, int32(max(min(request.Slots[pool], w.limit), 0)))
	}
	if w.needs == nil {
		w.needs = []string{}
	}
	if w.except == nil {
		w.except = []string{}
	}
	return w
}

// open leaves out the pools without a free slot.
func (w want) open() want {
	o := w
	o.pools, o.slots = nil, nil
	for i, pool := range w.pools {
		if w.slots[i] > 0 {
			o.pools, o.slots = append(o.pools, pool), append(o.slots, w.slots[i])
		}
	}
	return o
}

// values are what the parameters of a claim's statements stand for.
func (w want) values(s *Store) map[string]any {
	slots := w.slots
	if slots == nil {
		slots = []int32{}
	}
	return map[string]any{
		"now": s.clock(), "pools": w.pools, "slots": slots, "needs": w.needs, "except": w.except,
		"name": w.owner.Instance, "epoch": w.owner.Epoch,
	}
}

// A claimStatement is a statement of a claim and the parameters that it has, in their order.
type claimStatement struct {
	sql    string
	params []string
}

// queue adds the statement to a batch.
func (c claimStatement) queue(b *pgx.Batch, values map[string]any, each func(pgx.Rows) error) {
	args := make([]any, len(c.params))
	for i, name := range c.params {
		args[i] = values[name]
	}
	queue(b, c.sql, args, each)
}

var claimTypes = map[string]string{
	"pools": "text[]", "slots": "integer[]", "needs": "text[]", "except": "text[]", "name": "text", "epoch": "bigint",
}

var claimWord = regexp.MustCompile(`@[a-z]+`)

// claimText makes a statement of a text with named parts and parameters.
func claimText(text string) claimStatement {
	text = strings.NewReplacer("@lanes", lanes, "@startable", startable, "@waiting", waiting, "@cancels", cancels, "@instances", instancesAlive).Replace(text)
	var c claimStatement
	c.sql = claimWord.ReplaceAllStringFunc(text, func(word string) string {
		name := word[1:]
		at := slices.Index(c.params, name)
		if at < 0 {
			at = len(c.params)
			c.params = append(c.params, name)
		}
		if name == "now" { // the time of the transaction, unless a test has another
			return fmt.Sprintf("coalesce($%d::timestamptz, now())", at+1)
		}
		return fmt.Sprintf("$%d::%s", at+1, claimTypes[name])
	})
	return c
}

// lanes is a query of the first job of each lane: the queue of the jobs of one pool, need and priority, by next time.
// From each lane it leaps to the next, the lower priorities of a need before the next need, so it costs
// the number of lanes and not that of jobs. It reads the pools of the query named pools.
const lanes = `lane (seq) AS (
	SELECT h.seq FROM pools p CROSS JOIN LATERAL (SELECT n.seq FROM rq_job n
		WHERE n.pool = p.pool AND n.state = 0 AND n.next_due IS NOT NULL ORDER BY n.needs, n.priority DESC, n.next_due, n.seq LIMIT 1) h
	UNION ALL
	SELECT coalesce(
		(SELECT n.seq FROM rq_job n WHERE n.pool = j.pool AND n.needs = j.needs AND n.priority < j.priority AND n.state = 0 AND n.next_due IS NOT NULL
			ORDER BY n.priority DESC, n.next_due, n.seq LIMIT 1),
		(SELECT n.seq FROM rq_job n WHERE n.pool = j.pool AND n.needs > j.needs AND n.state = 0 AND n.next_due IS NOT NULL
			ORDER BY n.needs, n.priority DESC, n.next_due, n.seq LIMIT 1))
	FROM lane CROSS JOIN LATERAL (SELECT * FROM rq_job n WHERE n.seq = lane.seq OFFSET 0) j)`

// What is counted of the rows of a job that are alive, named a: those that are active, and the fires that wait.
const (
	countActive  = `count(*) FILTER (WHERE a.state = 1 OR a.batch <> 0)`
	countWaiting = `count(*) FILTER (WHERE a.state = 0 AND a.batch = 0 AND a.cause = 0)`
	aliveOfJob   = ` FROM rq_run a WHERE a.job_id = j.id AND a.state < 2`
)

// active counts the active runs of the job named j.
const active = `(SELECT ` + countActive + aliveOfJob + `)`

// startable says that a queued row of the job named j may start; the rules are those of ruqi.JobStore.Claim. OFFSET 0 keeps
// the planner from reading the rows of all jobs at once in place of those of one. Of a batch it is the oldest row, unless one runs: the rows of a
// job are read once, not once for each of them.
const startable = `(EXISTS (SELECT FROM rq_run q
		WHERE q.job_id = j.id AND q.state < 2 AND q.` + stateIs + ` 0 AND q.batch = 0 AND q.due <= @now AND (q.cause = 1 OR j.state <> 1) OFFSET 0)
		AND ` + active + ` < greatest(j.max_instances, 1)
	OR j.state <> 1 AND EXISTS (SELECT FROM (SELECT DISTINCT ON (b.batch) b.state, b.due FROM rq_run b
		WHERE b.job_id = j.id AND b.state < 2 AND b.batch <> 0 ORDER BY b.batch, b.state DESC, b.id OFFSET 0) f WHERE f.state = 0 AND f.due <= @now))`

// waiting joins the jobs (j) that have queued rows which are due, q.due being the time of the oldest.
const waiting = `(SELECT o.job_id, min(o.due) AS due
		FROM (SELECT r.job_id, r.due FROM rq_run r WHERE r.state = 0 AND r.due <= @now ORDER BY r.due OFFSET 0) o GROUP BY o.job_id) q
	CROSS JOIN LATERAL (SELECT n.seq FROM rq_definition n WHERE n.id = q.job_id OFFSET 0) d JOIN rq_job j ON j.seq = d.seq`

// sqlLook tells, without a lock, what a claim could take and when it is to look again. Without pools it speaks of all.
var sqlLook = claimText(`WITH RECURSIVE every (pool) AS (
	(SELECT n.pool FROM rq_job n WHERE cardinality(@pools) = 0 AND n.state = 0 AND n.next_due IS NOT NULL ORDER BY n.pool LIMIT 1)
	UNION ALL
	SELECT (SELECT n.pool FROM rq_job n WHERE n.pool > e.pool AND n.state = 0 AND n.next_due IS NOT NULL ORDER BY n.pool LIMIT 1)
	FROM every e WHERE e.pool IS NOT NULL),
pools (pool) AS (SELECT unnest(@pools) UNION ALL SELECT e.pool FROM every e WHERE e.pool IS NOT NULL),
@lanes,
head AS (SELECT j.pool, CASE WHEN j.id <> ALL (@except) THEN j.next_due ELSE (SELECT n.next_due FROM rq_job n
		WHERE n.pool = j.pool AND n.needs = j.needs AND n.priority = j.priority AND n.state = 0 AND n.next_due IS NOT NULL AND n.id <> ALL (@except)
		ORDER BY n.next_due, n.seq LIMIT 1) END AS due
	FROM lane CROSS JOIN LATERAL (SELECT * FROM rq_job n WHERE n.seq = lane.seq OFFSET 0) j WHERE j.needs = ANY (@needs)),
ready AS (SELECT j.pool, q.due FROM @waiting
	WHERE (cardinality(@pools) = 0 OR j.pool = ANY (@pools)) AND j.needs = ANY (@needs) AND j.id <> ALL (@except) AND @startable)
SELECT @now,
	EXISTS (SELECT FROM rq_instance i WHERE i.name = @name AND i.epoch = @epoch AND i.lease > 0 AND i.lease_until > @now
		AND NOT EXISTS (SELECT FROM rq_instance l WHERE l.name = i.name AND l.epoch > i.epoch)),
	EXISTS (SELECT FROM unnest(@pools, @slots) s (pool, free) CROSS JOIN (SELECT * FROM head UNION ALL SELECT * FROM ready) w
		WHERE s.free > 0 AND w.pool = s.pool AND w.due <= @now),
	least((SELECT min(due) FROM head), (SELECT min(due) FROM ready),
		(SELECT r.due FROM rq_run r CROSS JOIN LATERAL (SELECT d.seq FROM rq_definition d WHERE d.id = r.job_id) d CROSS JOIN rq_job j
			WHERE j.seq = d.seq AND r.state = 0 AND r.due > @now AND (r.cause = 1 OR j.state <> 1)
			AND (cardinality(@pools) = 0 OR j.pool = ANY (@pools)) AND j.needs = ANY (@needs) AND j.id <> ALL (@except)
			ORDER BY r.due LIMIT 1)),
	@cancels, @instances`)

// cancels lists the owner's runs whose end was asked for.
const cancels = `ARRAY(SELECT r.id FROM rq_run r WHERE r.instance = @name AND r.epoch = @epoch AND r.state = 1 AND r.cancel_by IS NOT NULL ORDER BY r.id)`

// instancesAlive counts the instances whose lease is alive.
const instancesAlive = `(SELECT count(*) FROM rq_instance i WHERE i.lease > 0 AND i.lease_until > @now
	AND NOT EXISTS (SELECT FROM rq_instance l WHERE l.name = i.name AND l.epoch > i.epoch))`

// A look is what sqlLook tells.
type look struct {
	now         time.Time
	alive, ripe bool
	next        *time.Time
	cancel      []int64
	instances   int
}

func (l *look) scan(row pgx.Rows) error {
	return row.Scan(timeAt{&l.now}, &l.alive, &l.ripe, timeOrNil{&l.next}, &l.cancel, &l.instances)
}

// claimed is what a claim that takes nothing tells.
func (l *look) claimed() ruqi.Claimed {
	c := ruqi.Claimed{Now: l.now, Next: l.next, Instances: l.instances}
	if len(l.cancel) > 0 {
		c.Cancel = l.cancel
	}
	return c
}

func leaseLost(owner ruqi.Owner) error {
	return fmt.Errorf("instance %s, epoch %d: %w", owner.Instance, owner.Epoch, ruqi.ErrLeaseLost)
}
