package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
)

const instanceColumns = `name, epoch, started, beat, lease_until, lease, state, release, zones, slots, needs, clock_offset`

const sqlInstance = `SELECT ` + instanceColumns + ` FROM rq_instance WHERE name = ? ORDER BY epoch DESC LIMIT 1`
const sqlInstances = `SELECT ` + instanceColumns + ` FROM rq_instance i
	WHERE epoch = (SELECT max(epoch) FROM rq_instance l WHERE l.name = i.name) ORDER BY name`
const sqlInsertInstance = `INSERT INTO rq_instance (` + instanceColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const sqlRenew = `UPDATE rq_instance SET beat = ?, lease_until = ?, lease = ?, state = ?, release = ?, zones = ?, slots = ?, needs = ?, clock_offset = ?
	WHERE name = ? AND epoch = ?`

// The row of an instance that has said goodbye goes with its last run, and so do earlier lives without one.
const sqlForgetGone = `DELETE FROM rq_instance WHERE name = ? AND epoch = ? AND lease = 0 AND ` + sqlOwnsNothing
const sqlForgetEarlier = `DELETE FROM rq_instance WHERE name = ? AND epoch < ? AND ` + sqlOwnsNothing
const sqlOwnsNothing = `NOT EXISTS (SELECT 1 FROM rq_run r INDEXED BY rq_run_alive
	WHERE r.state < 2 AND r.state = 1 AND r.instance = rq_instance.name AND r.epoch = rq_instance.epoch)`

func scanInstance(r row) (ruqi.Instance, error) {
	i := ruqi.Instance{
		Owner:   ruqi.Owner{Instance: r.text(0), Epoch: r.int(1)},
		Started: r.time(2), Beat: r.time(3), LeaseUntil: r.time(4),
		Lease: time.Duration(r.int(5)) * time.Microsecond,
		State: r.text(6), Release: r.text(7), Zones: r.text(8),
	}
	if !r.null(9) {
		if err := json.Unmarshal(r.bytes(9), &i.Slots); err != nil {
			return i, fmt.Errorf("slots of instance %s: %w", i.Owner.Instance, err)
		}
	}
	if !r.null(10) {
		if err := json.Unmarshal(r.bytes(10), &i.Needs); err != nil {
			return i, fmt.Errorf("needs of instance %s: %w", i.Owner.Instance, err)
		}
	}
	if !r.null(11) {
		offset := time.Duration(r.int(11)) * time.Microsecond
		i.ClockOffset = &offset
	}
	return i, nil
}

// latest reads the latest life of an instance.
func latest(c *conn, name string) (i ruqi.Instance, found bool, err error) {
	err = c.query(sqlInstance, []any{name}, func(r row) (err error) {
		found = true
		i, err = scanInstance(r)
		return err
	})
	return i, found, err
}

// Beat registers an instance or renews its lease, as ruqi.JobStore says.
func (s *Store) Beat(ctx context.Context, in ruqi.Instance) (out ruqi.Instance, err error) {
	err = s.write(ctx, "beat", func(st *step) error {
		lease := max(in.Lease, 0).Microseconds()
		until := st.us + lease
		var slots, needs, offset any
		if in.Slots != nil {
			slots = jsonOf(in.Slots)
		}
		if in.Needs != nil {
			needs = jsonOf(in.Needs)
		}
		if in.ClockOffset != nil {
			offset = in.ClockOffset.Microseconds()
		}
		name, epoch := in.Owner.Instance, in.Owner.Epoch
		if epoch == 0 {
			st.epoch++
			epoch = st.epoch
			_, err = st.exec(sqlInsertInstance, name, epoch, st.us, st.us, until, lease, in.State, in.Release, in.Zones, slots, needs, offset)
			if err == nil {
				_, err = st.exec(sqlForgetEarlier, name, epoch)
			}
		} else {
			was, found, e := latest(st.conn, name)
			if e != nil {
				return e
			}
			if !found || was.Owner.Epoch != epoch || was.Lease == 0 { // 0: it said goodbye, or was rescued
				return fmt.Errorf("instance %s, epoch %d: %w", name, epoch, ruqi.ErrLeaseLost)
			}
			_, err = st.exec(sqlRenew, st.us, until, lease, in.State, in.Release, in.Zones, slots, needs, offset, name, epoch)
		}
		if err != nil {
			return err
		}
		if out, _, err = latest(st.conn, name); err != nil {
			return err
		}
		if lease == 0 {
			_, err = st.exec(sqlForgetGone, name, epoch)
		}
		return err
	})
	if err != nil {
		return ruqi.Instance{}, err
	}
	return out, nil
}

// Instances lists every registered instance, by name.
func (s *Store) Instances(ctx context.Context) (list []ruqi.Instance, err error) {
	err = s.read(ctx, "instances", func(c *conn) error {
		list = nil
		return c.query(sqlInstances, nil, func(r row) error {
			i, err := scanInstance(r)
			list = append(list, i)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
