package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
)

// toldFaults is how many faults of one kind Check tells: enough to see what they have in common.
const toldFaults = 10

// A law is a query of rows that should not be, each told as a sentence by the server.
var laws = []string{
	`SELECT 'the row of rq_ledger, with the schema of the store, is gone' WHERE NOT EXISTS (SELECT FROM rq_ledger WHERE one = 1)`,
	`SELECT format('run ids are counted up to %s, but there is a run %s: the ids between would be given twice', s.last_value, m.id)
		FROM rq_run_id s CROSS JOIN (SELECT max(id) AS id FROM rq_run) m WHERE m.id > s.last_value`,
	`SELECT format('epochs are counted up to %s, but there is an instance with epoch %s: the fence of its runs would not hold', s.last_value, m.epoch)
		FROM rq_epoch s CROSS JOIN (SELECT max(epoch) AS epoch FROM rq_instance) m WHERE m.epoch > s.last_value`,
	`SELECT format('job "%s" has no definition', j.id) FROM rq_job j WHERE NOT EXISTS (SELECT FROM rq_definition d WHERE d.seq = j.seq AND d.id = j.id) ORDER BY j.id`,
	`SELECT format('there is a definition of "%s" without a job', d.id) FROM rq_definition d WHERE NOT EXISTS (SELECT FROM rq_job j WHERE j.seq = d.seq) ORDER BY d.id`,
	`SELECT format('job "%s" is in the state %s, which is none', j.id, j.state) FROM rq_job j WHERE j.state NOT BETWEEN 0 AND 2 ORDER BY j.id`,
	`SELECT format('run %s is in the state %s, which is none', r.id, r.state) FROM rq_run r WHERE r.state NOT BETWEEN 0 AND 8 ORDER BY r.id`,
	`SELECT format('run %s of job "%s" is running under instance %s, epoch %s, which the store does not know', r.id, r.job_id, r.instance, r.epoch)
		FROM rq_run r WHERE r.state < 2 AND r.state = 1 AND NOT EXISTS (SELECT FROM rq_instance i WHERE i.name = r.instance AND i.epoch = r.epoch) ORDER BY r.id`,
	`SELECT format('run %s of job "%s" is running and has no time of its start', r.id, r.job_id) FROM rq_run r WHERE r.state < 2 AND r.state = 1 AND r.started IS NULL ORDER BY r.id`,
	`SELECT format('run %s is queued, but its job "%s" is removed: nobody will start it', r.id, r.job_id)
		FROM rq_run r WHERE r.state = 0 AND NOT EXISTS (SELECT FROM rq_definition d WHERE d.id = r.job_id) ORDER BY r.id`,
	`SELECT format('run %s has ended and has no time of its end', r.id) FROM rq_run r WHERE r.state > 1 AND r.finished IS NULL ORDER BY r.id`,
	`SELECT DISTINCT format('there is output of a run %s that is not there', o.run_id) FROM rq_output o WHERE NOT EXISTS (SELECT FROM rq_run r WHERE r.id = o.run_id)`,
	// What the claim and the uniqueness of fires stand on; an index that a crash or a change of the system's library left invalid is not used.
	`SELECT format('index %s is not valid: REINDEX INDEX %s', c.relname, c.relname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relname LIKE 'rq\_%' AND NOT i.indisvalid`,
}

// Now implements ruqi.Caretaker. It can be asked of a standby too.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.oneRow(ctx, sqlClock, []any{s.clock()}, func(row pgx.Row) error { return row.Scan(timeAt{&now}) })
	return now, s.translate(ctx, "now", err)
}

// Check implements ruqi.Caretaker. It looks at one state of the database, beside whoever works on it. Damage
// of the server's files is for the server's own tools (pg_amcheck).
func (s *Store) Check(ctx context.Context) (faults []string, err error) {
	state, err := s.Schema(ctx)
	switch {
	case err != nil:
		return nil, err
	case state.Has == 0:
		return nil, s.noStore()
	}
	// It reads everything, which takes longer than a step may.
	conn, err := s.front.Acquire(ctx)
	if err != nil {
		return nil, s.translate(ctx, "check", &unavailable{err})
	}
	defer conn.Release()
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		// Plans for everything, not for the rows of a step.
		if _, err := tx.Exec(ctx, `SELECT set_config(name, 'on', true) FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_bitmapscan']) name`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlNoLimits); err != nil {
			return err
		}
		for _, law := range laws {
			broken, err := tell(ctx, tx, law)
			if err != nil {
				return err
			}
			faults = append(faults, broken...)
		}
		return nil
	})
	if err != nil {
		return nil, s.translate(ctx, "check", err)
	}
	return faults, nil
}

// tell lists the first rows, and how many there are more.
func tell(ctx context.Context, tx pgx.Tx, law string) (told []string, err error) {
	rows, err := tx.Query(ctx, law)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	more := 0
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if len(told) < toldFaults {
			told = append(told, text)
		} else {
			more++
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if more > 0 {
		told = append(told, fmt.Sprintf("and %d more faults like the last", more))
	}
	return told, nil
}

func (s *Store) noStore() error {
	return fmt.Errorf("there is no store at %s yet: ruqi store migrate makes one: %w", s.Describe(), ruqi.ErrNotFound)
}
