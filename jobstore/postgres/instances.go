package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
)

const instanceColumns = `name, epoch, started, beat, lease_until, lease, clock_offset, state, release, zones, slots, needs`

// The parameters of a beat: now, name, epoch, lease, clock_offset, state, release, zones, slots, needs.
const (
	sqlBeatNow = `coalesce($1::timestamptz, statement_timestamp())`
	sqlBegun   = `INSERT INTO rq_instance (` + instanceColumns + `)
	SELECT $2::text, nextval('rq_epoch') + $3::bigint, t, t, t + $4::bigint * interval '1 microsecond', $4, $5::bigint, $6::text, $7::text, $8::text, $9::text, $10::text
	FROM ` + sqlBeatNow + ` t RETURNING ` + instanceColumns
	sqlRenewed = `UPDATE rq_instance i SET beat = t, lease_until = t + $4::bigint * interval '1 microsecond', lease = $4, clock_offset = $5::bigint,
	state = $6::text, release = $7::text, zones = $8::text, slots = $9::text, needs = $10::text
	FROM ` + sqlBeatNow + ` t WHERE name = $2 AND epoch = $3 AND lease <> 0
	AND NOT EXISTS (SELECT FROM rq_instance l WHERE l.name = i.name AND l.epoch > i.epoch)
	RETURNING ` + instanceColumns + `, (SELECT oldest FROM rq_ledger WHERE one = 1), (SELECT schema FROM rq_ledger WHERE one = 1)`
)

// The row of an instance that has said goodbye goes with its last run, and so do earlier lives without one.
const (
	// A rescue that has the row forgets it itself; to wait for it while holding runs would be the wrong way round.
	sqlForgetGone = `DELETE FROM rq_instance i USING (SELECT n.name, n.epoch FROM rq_instance n
	WHERE n.name = $1 AND n.epoch = $2 AND n.lease = 0 FOR UPDATE SKIP LOCKED) g WHERE i.name = g.name AND i.epoch = g.epoch AND ` + sqlOwnsNothing
	sqlForgetEarlier = `DELETE FROM rq_instance i WHERE name = $1 AND epoch < (SELECT max(l.epoch) FROM rq_instance l WHERE l.name = $1) AND ` + sqlOwnsNothing
	sqlOwnsNothing   = `NOT EXISTS (SELECT FROM rq_run r WHERE r.state < 2 AND r.state = 1 AND r.instance = i.name AND r.epoch = i.epoch)`
)

const sqlInstances = `SELECT ` + instanceColumns + ` FROM rq_instance i
	WHERE epoch = (SELECT max(epoch) FROM rq_instance l WHERE l.name = i.name) ORDER BY name`

func scanInstance(rows pgx.Row, more ...any) (ruqi.Instance, error) {
	var i ruqi.Instance
	var lease int64
	var offset *int64
	var slots, needs *string
	err := rows.Scan(append([]any{&i.Owner.Instance, &i.Owner.Epoch, timeAt{&i.Started}, timeAt{&i.Beat}, timeAt{&i.LeaseUntil}, &lease, &offset,
		&i.State, &i.Release, &i.Zones, &slots, &needs}, more...)...)
	if err != nil {
		return i, err
	}
	i.Lease = time.Duration(lease) * time.Microsecond
	if offset != nil {
		d := time.Duration(*offset) * time.Microsecond
		i.ClockOffset = &d
	}
	if slots != nil {
		if err := json.Unmarshal([]byte(*slots), &i.Slots); err != nil {
			return i, fmt.Errorf("slots of instance %s: %w", i.Owner.Instance, err)
		}
	}
	if needs != nil {
		if err := json.Unmarshal([]byte(*needs), &i.Needs); err != nil {
			return i, fmt.Errorf("needs of instance %s: %w", i.Owner.Instance, err)
		}
	}
	return i, nil
}

// Beat registers an instance or renews its lease, as ruqi.JobStore says. A renewal is one statement; when its answer is
// lost, it may have happened, which the next one does not change.
func (s *Store) Beat(ctx context.Context, in ruqi.Instance) (out ruqi.Instance, err error) {
	var slots, needs *string
	if in.Slots != nil {
		text := textOf(jsonOf(in.Slots))
		slots = &text
	}
	if in.Needs != nil {
		text := textOf(jsonOf(in.Needs))
		needs = &text
	}
	var offset *int64
	if in.ClockOffset != nil {
		us := in.ClockOffset.Microseconds()
		offset = &us
	}
	owner := in.Owner
	args := []any{s.clock(), owner.Instance, owner.Epoch, max(in.Lease, 0).Microseconds(), offset,
		textOf(in.State), textOf(in.Release), textOf(in.Zones), slots, needs}
	found := false
	read := func(rows pgx.Rows) error {
		found = true
		out, err = scanInstance(rows)
		return err
	}
	if owner.Epoch == 0 {
		err := s.write(ctx, s.engine, "beat", func(st *step) error {
			err := st.start(func(b *pgx.Batch) {
				queue(b, sqlBegun, args, read)
				b.Queue(sqlForgetEarlier, owner.Instance)
			})
			if err != nil {
				return err
			}
			return st.commit(nil)
		})
		if err != nil {
			return ruqi.Instance{}, err
		}
		return out, nil
	}
	if in.Lease <= 0 {
		return s.goodbye(ctx, owner, args)
	}
	b := &pgx.Batch{}
	var schema ruqi.SchemaState
	queue(b, sqlRenewed, args, func(rows pgx.Rows) error {
		found = true
		out, err = scanInstance(rows, &schema.Oldest, &schema.Has)
		return err
	})
	if err := s.look(ctx, s.engine, b); err != nil {
		return ruqi.Instance{}, s.translate(ctx, "beat", err)
	}
	switch {
	case !found:
		return ruqi.Instance{}, s.translate(ctx, "beat", &asIs{leaseLost(owner)})
	case schema.Oldest > s.schema: // a newer release migrated under us: whoever cannot renew starts nothing more
		return ruqi.Instance{}, s.tooNew("beat", schema)
	}
	return out, nil
}

// goodbye ends a life.
func (s *Store) goodbye(ctx context.Context, owner ruqi.Owner, args []any) (out ruqi.Instance, err error) {
	err = s.write(ctx, s.engine, "beat", func(st *step) error {
		found := false
		var schema ruqi.SchemaState
		err := st.start(func(b *pgx.Batch) {
			queue(b, sqlRenewed, args, func(rows pgx.Rows) error {
				found = true
				out, err = scanInstance(rows, &schema.Oldest, &schema.Has)
				return err
			})
			b.Queue(sqlForgetGone, owner.Instance, owner.Epoch)
		})
		if err != nil {
			return err
		}
		if !found {
			return &asIs{leaseLost(owner)}
		}
		return st.commit(nil)
	})
	if err != nil {
		return ruqi.Instance{}, err
	}
	return out, nil
}

// Instances lists every registered instance, by name.
func (s *Store) Instances(ctx context.Context) (list []ruqi.Instance, err error) {
	b := &pgx.Batch{}
	queue(b, sqlInstances, nil, func(rows pgx.Rows) error {
		i, err := scanInstance(rows)
		list = append(list, i)
		return err
	})
	if err := s.look(ctx, s.front, b); err != nil {
		return nil, s.translate(ctx, "instances", err)
	}
	return list, nil
}
