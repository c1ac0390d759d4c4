package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
)

// A life of an instance is over when its lease has ended or a later life began, and one that is not known, of
// which a store that was mended by hand may have rows, was never alive.
const sqlDeadLives = `SELECT i.name, i.epoch FROM rq_instance i
	WHERE (i.lease = 0 OR i.lease_until <= coalesce($1::timestamptz, statement_timestamp()) OR EXISTS (SELECT FROM rq_instance l WHERE l.name = i.name AND l.epoch > i.epoch))
	AND NOT (i.name = $2 AND i.epoch = $3)
UNION SELECT r.instance, r.epoch FROM (SELECT DISTINCT a.instance, a.epoch FROM rq_run a WHERE a.state < 2 AND a.state = 1) r
	WHERE NOT EXISTS (SELECT FROM rq_instance k WHERE k.name = r.instance AND k.epoch = r.epoch) AND NOT (r.instance = $2 AND r.epoch = $3)`

// sqlLockLives takes the locks of lives that are over still. One in which a claim is under way is left for the next time.
const sqlLockLives = `SELECT i.name, i.epoch FROM rq_instance i WHERE (i.lease = 0 OR i.lease_until <= coalesce($1::timestamptz, statement_timestamp())
	OR EXISTS (SELECT FROM rq_instance l WHERE l.name = i.name AND l.epoch > i.epoch))
	AND NOT (i.name = $2 AND i.epoch = $3) ORDER BY i.name, i.epoch FOR UPDATE OF i SKIP LOCKED`

// sqlUnknownLives are the owners of running rows that no instance row is known of.
const sqlUnknownLives = `SELECT r.instance, r.epoch FROM (SELECT DISTINCT a.instance, a.epoch FROM rq_run a WHERE a.state < 2 AND a.state = 1) r
	WHERE NOT EXISTS (SELECT FROM rq_instance k WHERE k.name = r.instance AND k.epoch = r.epoch) AND NOT (r.instance = $1 AND r.epoch = $2)`

const sqlDeadRuns = `SELECT ` + runColumns + ` FROM rq_run r WHERE r.state < 2 AND r.state = 1
	AND EXISTS (SELECT FROM unnest($1::text[], $2::bigint[]) v (name, epoch) WHERE r.instance = v.name AND r.epoch = v.epoch)
	ORDER BY r.id LIMIT $3 FOR NO KEY UPDATE OF r`

const (
	sqlForgetLife = `DELETE FROM rq_instance i WHERE name = $1 AND epoch = $2 AND ` + sqlOwnsNothing
	sqlEndLife    = `UPDATE rq_instance SET lease = 0 WHERE name = $1 AND epoch = $2`
)

const sqlRunsByID = `SELECT ` + runColumns + ` FROM ` + runsOfIDs + ` ORDER BY r.id`

// defaultRescue is how many runs one Rescue ends when no limit is given.
const defaultRescue = 500

// Rescue ends the running runs of dead instances, as ruqi.JobStore says. It is one statement when
// all are alive. A limit of 0 or less means 500.
func (s *Store) Rescue(ctx context.Context, owner ruqi.Owner, limit int, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) (ended []ruqi.Run, err error) {
	if limit <= 0 {
		limit = defaultRescue
	}
	anyDead := false
	b := &pgx.Batch{}
	queue(b, sqlDeadLives, []any{s.clock(), owner.Instance, owner.Epoch}, func(pgx.Rows) error {
		anyDead = true
		return nil
	})
	if err := s.look(ctx, s.engine, b); err != nil {
		return nil, s.translate(ctx, "rescue", err)
	}
	if !anyDead {
		return nil, nil
	}
	err = s.write(ctx, s.engine, "rescue", func(st *step) error {
		ended, err = st.rescue(owner, limit, decide)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}

func (st *step) rescue(owner ruqi.Owner, limit int, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	var known, all []ruqi.Owner
	read := func(list *[]ruqi.Owner) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var o ruqi.Owner
			err := rows.Scan(&o.Instance, &o.Epoch)
			*list = append(*list, o)
			return err
		}
	}
	err := st.start(func(b *pgx.Batch) {
		queue(b, sqlLockLives, []any{st.store.clock(), owner.Instance, owner.Epoch}, read(&known))
		queue(b, sqlUnknownLives, []any{owner.Instance, owner.Epoch}, read(&all))
	})
	if err != nil {
		return nil, err
	}
	all = append(all, known...)
	names, epochs := make([]string, len(all)), make([]int64, len(all))
	for i, o := range all {
		names[i], epochs[i] = o.Instance, o.Epoch
	}
	var dead []ruqi.Run
	err = st.query(sqlDeadRuns, []any{names, epochs, limit}, func(rows pgx.Rows) error {
		run, err := scanRun(rows)
		dead = append(dead, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(dead))
	for i := range dead {
		ids[i] = dead[i].ID
	}
	b := &pgx.Batch{}
	if len(dead) > 0 {
		if ids, err = st.endDead(b, dead, ids, decide); err != nil {
			return nil, err
		}
	}
	for _, o := range known {
		b.Queue(sqlEndLife, o.Instance, o.Epoch)
		b.Queue(sqlForgetLife, o.Instance, o.Epoch)
	}
	var ended []ruqi.Run
	queue(b, sqlRunsByID, []any{ids}, func(rows pgx.Rows) error {
		run, err := scanRun(rows)
		ended = append(ended, run)
		return err
	})
	st.hint = st.hint || len(dead) > 0
	if err := st.send(b); err != nil {
		return nil, err
	}
	return ended, st.commit(nil)
}

// endDead asks decide about each run and writes its answers. Runs whose jobs another step holds are left for the next time; the
// ids of the others are returned.
func (st *step) endDead(b *pgx.Batch, dead []ruqi.Run, ids []int64, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) ([]int64, error) {
	jobs, busy, err := st.lockJobs(ids, " SKIP LOCKED")
	if err != nil {
		return nil, err
	}
	dead = slices.DeleteFunc(dead, func(r ruqi.Run) bool { return busy[r.JobID] })
	ids = ids[:0]
	for i := range dead {
		ids = append(ids, dead[i].ID)
	}
	owners := make([]ruqi.Owner, len(dead))
	done := make([]ruqi.Done, len(dead))
	var effects []*ruqi.Done
	for i := range dead {
		owners[i] = dead[i].Owner
		var record *ruqi.JobRecord
		if job := jobs[ids[i]]; job != nil {
			copied := clone(job.JobRecord)
			record = &copied
		}
		done[i] = decide(st.now, dead[i], record)
		done[i].Run.ID = ids[i]
		if d := &done[i]; d.Again != nil || d.EndJob != "" || d.RemoveJob {
			effects = append(effects, d)
		}
	}
	byOwner := map[ruqi.Owner][]ruqi.Done{}
	for i, o := range owners {
		byOwner[o] = append(byOwner[o], done[i])
	}
	distinct := slices.Clone(owners)
	slices.SortFunc(distinct, func(a, b ruqi.Owner) int {
		if c := strings.Compare(a.Instance, b.Instance); c != 0 {
			return c
		}
		return cmp.Compare(a.Epoch, b.Epoch)
	})
	written := map[int64]bool{}
	first := &pgx.Batch{}
	for _, o := range slices.Compact(distinct) {
		e, err := newEnds(byOwner[o])
		if err != nil {
			return nil, err
		}
		e.queue(first, st.store, o, written)
	}
	if err := st.send(first); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !written[id] {
			return nil, fmt.Errorf("run %d: it was locked and yet could not be ended", id)
		}
	}
	return ids, st.effects(b, effects, jobs)
}
