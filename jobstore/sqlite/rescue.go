package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A life of an instance is over when its lease has ended or a later life began, and one that is not known, of
// which a store that was mended by hand may have rows, was never alive.
const sqlDeadLives = `SELECT name, epoch FROM rq_instance i
	WHERE lease = 0 OR lease_until <= ? OR epoch < (SELECT max(epoch) FROM rq_instance l WHERE l.name = i.name)
	UNION SELECT instance, epoch FROM rq_run r INDEXED BY rq_run_alive WHERE state < 2 AND state = 1
	AND NOT EXISTS (SELECT 1 FROM rq_instance k WHERE k.name = r.instance AND k.epoch = r.epoch)`
const sqlRunsAlive = `SELECT id, instance, epoch FROM rq_run INDEXED BY rq_run_alive WHERE state < 2 AND state = 1`
const sqlEndLife = `UPDATE rq_instance SET lease = 0 WHERE name = ? AND epoch = ?`
const sqlForgetLife = `DELETE FROM rq_instance WHERE name = ? AND epoch = ?`

// defaultRescue is how many runs one Rescue ends when no limit is given.
const defaultRescue = 500

// Rescue ends the running runs of dead instances, as ruqi.JobStore says. It writes nothing when
// all are alive. A limit of 0 or less means 500.
func (s *Store) Rescue(ctx context.Context, owner ruqi.Owner, limit int, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) (ended []ruqi.Run, err error) {
	if limit <= 0 {
		limit = defaultRescue
	}
	anyDead := false
	err = s.readQuick(ctx, "rescue", func(c *conn) error {
		_, us := s.clock()
		lives, err := deadLives(c, us, owner)
		anyDead = len(lives) > 0
		return err
	})
	if err != nil || !anyDead {
		return nil, err
	}
	err = s.write(ctx, "rescue", func(st *step) error {
		ended = nil
		lives, err := deadLives(st.conn, st.us, owner)
		if err != nil {
			return err
		}
		ids, err := st.orphans(lives)
		if err != nil {
			return err
		}
		for _, id := range ids.most(limit) {
			run, err := st.rescue(id, decide)
			if err != nil {
				return fmt.Errorf("run %d: %w", id, err)
			}
			ended = append(ended, run)
		}
		st.hint = len(ended) > 0
		return st.forgetLives(lives)
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}

// deadLives lists the lives that are over, but the one that asks.
func deadLives(c *conn, us int64, but ruqi.Owner) (lives []ruqi.Owner, err error) {
	err = c.query(sqlDeadLives, []any{us}, func(r row) error {
		if life := (ruqi.Owner{Instance: r.text(0), Epoch: r.int(1)}); life != but {
			lives = append(lives, life)
		}
		return nil
	})
	return lives, err
}

// orphans are the running runs of dead lives.
type orphans map[ruqi.Owner][]int64

// most returns the oldest runs.
func (o orphans) most(limit int) []int64 {
	var ids []int64
	for _, runs := range o {
		ids = append(ids, runs...)
	}
	slices.Sort(ids)
	return ids[:min(limit, len(ids))]
}

func (st *step) orphans(lives []ruqi.Owner) (orphans, error) {
	dead := orphans{}
	for _, life := range lives {
		dead[life] = nil
	}
	err := st.query(sqlRunsAlive, nil, func(r row) error {
		owner := ruqi.Owner{Instance: r.text(1), Epoch: r.int(2)}
		if _, over := dead[owner]; over {
			dead[owner] = append(dead[owner], r.int(0))
		}
		return nil
	})
	return dead, err
}

// forgetLives drops the lives that own no run any more, and lets the others never renew.
func (st *step) forgetLives(lives []ruqi.Owner) error {
	left, err := st.orphans(lives)
	if err != nil {
		return err
	}
	for _, life := range lives {
		statement := sqlForgetLife
		if len(left[life]) > 0 {
			statement = sqlEndLife
		}
		if _, err := st.exec(statement, life.Instance, life.Epoch); err != nil {
			return err
		}
	}
	return nil
}

// rescue ends one run of a dead instance.
func (st *step) rescue(id int64, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) (ruqi.Run, error) {
	run, err := runByID(st.conn, id)
	if err != nil {
		return run, err
	}
	job, err := jobByID(st.conn, run.JobID)
	if err != nil {
		return run, err
	}
	var record *ruqi.JobRecord
	if job != nil {
		record = &job.JobRecord
	}
	owner := run.Owner
	done := decide(st.now, run, record)
	done.Run.ID = id
	if _, err := st.finish(owner, &done); err != nil {
		return run, err
	}
	return runByID(st.conn, id)
}
