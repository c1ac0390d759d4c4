package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A law is one that every step keeps: its SQL finds the rows that break it, and a sentence says so of each, with the columns for
// its verbs.
type law struct{ fault, sql string }

var laws = []law{
	{sqlstore.FaultLedger, `SELECT count(*) FROM rq_ledger WHERE one = 1 HAVING count(*) <> 1`},
	{sqlstore.FaultRunIDs, `SELECT s.last_value, m.id FROM rq_run_id s CROSS JOIN (SELECT max(id) AS id FROM rq_run) m WHERE m.id > s.last_value`},
	{sqlstore.FaultEpochs, `SELECT s.last_value, m.epoch FROM rq_epoch s CROSS JOIN (SELECT max(epoch) AS epoch FROM rq_instance) m WHERE m.epoch > s.last_value`},
	{sqlstore.FaultNoSpec, `SELECT j.id FROM rq_job j WHERE NOT EXISTS (SELECT FROM rq_definition d WHERE d.seq = j.seq AND d.id = j.id) ORDER BY j.id`},
	{"there is a definition of %q without a job", `SELECT d.id FROM rq_definition d WHERE NOT EXISTS (SELECT FROM rq_job j WHERE j.seq = d.seq) ORDER BY d.id`},
	{sqlstore.FaultJobState, `SELECT j.id, j.state FROM rq_job j WHERE j.state NOT BETWEEN 0 AND 2 ORDER BY j.id`},
	{sqlstore.FaultRunState, `SELECT r.id, r.state FROM rq_run r WHERE r.state NOT BETWEEN 0 AND 8 ORDER BY r.id`},
	{sqlstore.FaultOwner, `SELECT r.id, r.job_id, r.instance, r.epoch FROM rq_run r WHERE r.state < 2 AND r.state = 1
		AND NOT EXISTS (SELECT FROM rq_instance i WHERE i.name = r.instance AND i.epoch = r.epoch) ORDER BY r.id`},
	{sqlstore.FaultNoStart, `SELECT r.id, r.job_id FROM rq_run r WHERE r.state < 2 AND r.state = 1 AND r.started IS NULL ORDER BY r.id`},
	{sqlstore.FaultNobodysRun, `SELECT r.id, r.job_id FROM rq_run r WHERE r.state = 0 AND NOT EXISTS (SELECT FROM rq_definition d WHERE d.id = r.job_id) ORDER BY r.id`},
	{sqlstore.FaultNoEnd, `SELECT r.id FROM rq_run r WHERE r.state >= 2 AND r.finished IS NULL ORDER BY r.id`},
	{sqlstore.FaultNobodysText, `SELECT DISTINCT o.run_id FROM rq_output o WHERE NOT EXISTS (SELECT FROM rq_run r WHERE r.id = o.run_id)`},
	{sqlstore.FaultTally, `SELECT CASE n.scope WHEN 0 THEN 'all jobs' WHEN 1 THEN 'job ' || n.a || ' under the name ' || n.b ELSE 'the name ' || n.a END, sum(n.s)::bigint, sum(n.o)::bigint FROM (
		SELECT scope, a, b, succeeded AS s, others AS o FROM rq_tally
		UNION ALL SELECT k.scope, k.a, k.b, -x.s, -x.o FROM (SELECT r.job_id, r.job_name, count(*) FILTER (WHERE r.state = 2) AS s, count(*) FILTER (WHERE r.state <> 2) AS o
			FROM rq_run r LEFT JOIN rq_untallied u ON u.run_id = r.id WHERE r.id <= (SELECT m.run FROM rq_tally_mark m) AND u.run_id IS NULL AND ` + executed + `
			GROUP BY r.job_id, r.job_name) x CROSS JOIN LATERAL (` + tallyScopes + `) k) n
		GROUP BY n.scope, n.a, n.b HAVING sum(n.s) <> 0 OR sum(n.o) <> 0`},
	{sqlstore.FaultNoTotal, `SELECT CASE t.scope WHEN 0 THEN 'all jobs' WHEN 1 THEN 'job ' || t.a || ' under the name ' || t.b ELSE 'the name ' || t.a END
		FROM rq_tally t WHERE t.succeeded = 0 AND t.others = 0 ORDER BY t.scope, t.a, t.b`},
	{sqlstore.FaultNotListed, `SELECT u.run_id FROM rq_untallied u WHERE NOT EXISTS (SELECT FROM rq_run r WHERE r.id = u.run_id) ORDER BY u.run_id`},
	{sqlstore.FaultUntallied, `SELECT r.id, r.job_id FROM rq_run r WHERE r.state < 2 AND r.id <= (SELECT m.run FROM rq_tally_mark m)
		AND NOT EXISTS (SELECT FROM rq_untallied u WHERE u.run_id = r.id) ORDER BY r.id`},
	// What the claim and the uniqueness of fires stand on; an index that a crash or a change of the system's library left invalid is not used.
	{"index %[1]s is not valid: REINDEX INDEX %[1]s", `SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relname LIKE 'rq\_%' AND NOT i.indisvalid`},
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

// tell lists the rows that break a law.
func tell(ctx context.Context, tx pgx.Tx, law law) ([]string, error) {
	rows, err := tx.Query(ctx, law.sql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var faults sqlstore.Faults
	for rows.Next() {
		columns, err := rows.Values()
		if err != nil {
			return nil, err
		}
		faults.Add(law.fault, columns...)
	}
	return faults.List(), rows.Err()
}

func (s *Store) noStore() error {
	return &sqlstore.NoStore{Where: s.Location()}
}
