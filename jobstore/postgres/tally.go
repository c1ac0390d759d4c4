package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
)

const (
	// tallyStep is how many runs are counted in one transaction: some milliseconds.
	tallyStep = 2000
	// tallySteps bounds the work of one Clean: a store with a long history is counted in the course of some, and 400,000 runs
	// in the 30 s between two are more than one server takes.
	tallySteps = 200
	// settleTries and settlePause are how long one waits for transactions that gave a run its id and have not ended: steps
	// take milliseconds. What is not settled then waits for the next Clean.
	settleTries, settlePause = 10, 20 * time.Millisecond
)

// Why it is done so: docs/adr/0012-totals-up-to-a-mark.md.

// executed selects, of the rows of rq_run r, those that were started and have ended.
const executed = `r.state BETWEEN 2 AND 6 AND r.started IS NOT NULL`

const (
	// The last id that was given. A step has the number of its transaction before it takes an id: all that took one up to this are
	// older than a transaction that gets its number after it has read this.
	sqlLastGiven = `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM rq_run_id`
	sqlSettled   = `SELECT txid_snapshot_xmin(txid_current_snapshot()) >= $1`
	sqlLockTally = `SELECT run FROM rq_tally_mark WHERE one = 1 FOR UPDATE`
	// The last of so many runs after the mark, and their number.
	sqlTallyUpTo  = `SELECT coalesce(max(n.id), 0), count(*) FROM (SELECT id FROM rq_run WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) n`
	sqlNotYet     = `INSERT INTO rq_untallied SELECT id FROM rq_run WHERE id > $1 AND id <= $2 AND state < 2`
	sqlSetTallied = `UPDATE rq_tally_mark SET run = $1 WHERE one = 1`
	sqlEndsSince  = `SELECT u.run_id FROM rq_untallied u CROSS JOIN LATERAL (SELECT FROM rq_run r WHERE r.id = u.run_id AND r.state >= 2 OFFSET 0) r LIMIT $1`
	sqlUntallied  = `DELETE FROM rq_untallied u USING unnest($1::bigint[]) v (id) WHERE u.run_id = v.id`
	sqlNoneThere  = `DELETE FROM rq_tally t USING (` + tallyKeys + ` FROM ` + runsOfIDs + `) x
	CROSS JOIN LATERAL (` + tallyScopes + `) k) n WHERE t.scope = n.scope AND t.a = n.a AND t.b = n.b AND t.succeeded = 0 AND t.others = 0`

	tallyKeys   = `SELECT DISTINCT k.scope, k.a, k.b FROM (SELECT r.job_id, r.job_name`
	tallyScopes = `SELECT 0::smallint AS scope, ''::text COLLATE "C" AS a, ''::text COLLATE "C" AS b UNION ALL SELECT 1::smallint, x.job_id, x.job_name
	UNION ALL SELECT 2::smallint, x.job_name, '' WHERE x.job_name <> x.job_id`

	// What some runs add to all scopes, or with the sign - take away.
	tallyInto = `INSERT INTO rq_tally AS t (scope, a, b, succeeded, others) SELECT k.scope, k.a, k.b, `
	tallyFrom = ` FROM (SELECT r.job_id, r.job_name, count(*) FILTER (WHERE r.state = 2) AS s, count(*) FILTER (WHERE r.state <> 2) AS o FROM `
	tallyOnto = ` GROUP BY r.job_id, r.job_name) x CROSS JOIN LATERAL (` + tallyScopes + `) k GROUP BY k.scope, k.a, k.b
	ON CONFLICT (scope, a, b) DO UPDATE SET succeeded = t.succeeded + excluded.succeeded, others = t.others + excluded.others`
	notListed = ` AND NOT EXISTS (SELECT FROM rq_untallied u WHERE u.run_id = r.id)`

	sqlTallyRange = tallyInto + `sum(x.s), sum(x.o)` + tallyFrom + `rq_run r WHERE r.id > $1 AND r.id <= $2 AND ` + executed + notListed + tallyOnto
	sqlTallyList  = tallyInto + `sum(x.s), sum(x.o)` + tallyFrom + `unnest($1::bigint[]) v (id) CROSS JOIN rq_run r WHERE r.id = v.id AND ` + executed + tallyOnto
	sqlUntally    = tallyInto + `-sum(x.s), -sum(x.o)` + tallyFrom + `unnest($1::bigint[]) v (id) CROSS JOIN rq_run r WHERE r.id = v.id AND ` + executed +
		` AND r.id <= (SELECT m.run FROM rq_tally_mark m WHERE m.one = 1)` + notListed + tallyOnto
)

// foldTally moves the mark up to the newest run, in short steps. One instance does so at a time; where another is at it, this one
// leaves it to that.
func (s *Store) foldTally(ctx context.Context) error {
	for range tallySteps {
		more := false
		err := s.write(ctx, s.engine, "tally", func(st *step) (err error) {
			more, err = st.foldTally()
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// foldTally counts some runs, and says whether there are more. Of those that are alive it keeps a list.
func (st *step) foldTally() (more bool, err error) {
	var end, mark, to, n int64
	mine := false
	first := &pgx.Batch{}
	st.begin(first)
	first.Queue(sqlLastGiven).QueryRow(func(row pgx.Row) error { return row.Scan(&end) })
	first.Queue(sqlNow, st.store.clock()).QueryRow(func(row pgx.Row) error { return row.Scan(timeAt{&st.now}, &st.tx) })
	queue(first, sqlLockTally+" SKIP LOCKED", nil, func(rows pgx.Rows) error {
		mine = true
		return rows.Scan(&mark)
	})
	if err := st.send(first); err != nil || !mine {
		return false, err
	}
	ends, err := st.foldEnds()
	if err != nil {
		return false, err
	}
	if end > mark {
		settled, err := st.settled()
		if err != nil {
			return false, err
		}
		if settled {
			err := st.query(sqlTallyUpTo, []any{mark, end, tallyStep}, func(rows pgx.Rows) error { return rows.Scan(&to, &n) })
			if err != nil {
				return false, err
			}
		}
	}
	b := &pgx.Batch{}
	if n > 0 {
		b.Queue(sqlNotYet, mark, to) // first: who ends after it is on the list
		b.Queue(sqlTallyRange, mark, to)
		b.Queue(sqlSetTallied, to)
	}
	return n == tallyStep || ends == tallyStep, st.commit(b)
}

// foldEnds counts runs that have ended since their turn came, and tells how many.
func (st *step) foldEnds() (int, error) {
	var ids []int64
	err := st.query(sqlEndsSince, []any{tallyStep}, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	b := &pgx.Batch{}
	b.Queue(sqlTallyList, ids)
	b.Queue(sqlUntallied, ids)
	return len(ids), st.send(b)
}

// settled waits until all transactions that are older than the step's have ended: then every run with an id up to the last that was
// given when it began is there to be seen, or never will be.
func (st *step) settled() (settled bool, err error) {
	for try := range settleTries {
		if try > 0 {
			select {
			case <-time.After(settlePause):
			case <-st.ctx.Done():
				return false, context.Cause(st.ctx)
			}
		}
		err := st.query(sqlSettled, []any{st.tx}, func(rows pgx.Rows) error { return rows.Scan(&settled) })
		if err != nil || settled {
			return settled, err
		}
	}
	return false, nil
}

// What a total adds up: the tally, the runs above the mark, and those on the list that have ended.
const (
	totalSum   = `SELECT coalesce(sum(t.s), 0)::bigint, coalesce(sum(t.o), 0)::bigint FROM (SELECT succeeded AS s, others AS o FROM rq_tally WHERE `
	totalOf    = ` UNION ALL SELECT count(*) FILTER (WHERE r.state = 2), count(*) FILTER (WHERE r.state <> 2) FROM `
	totalAbove = `r.id > (SELECT m.run FROM rq_tally_mark m WHERE m.one = 1) AND ` + executed
	totalTail  = totalOf + `rq_run r WHERE ` + totalAbove
	// OFFSET 0: from the list, which is short, to the runs, and never from the many runs of a job to the list.
	totalList = totalOf + `rq_untallied u CROSS JOIN LATERAL (SELECT * FROM rq_run r WHERE r.id = u.run_id AND ` + executed + ` OFFSET 0) r WHERE true`
	totalName = totalSum + `scope = 2 AND a = $1 UNION ALL SELECT succeeded, others FROM rq_tally WHERE scope = 1 AND a = $1 AND b = $1`

	sqlTotalAll     = totalSum + `scope = 0` + totalTail + totalList + `) t`
	sqlTotalJob     = totalSum + `scope = 1 AND a = $1` + totalTail + ` AND r.job_id = $1` + totalList + ` AND r.job_id = $1) t`
	sqlTotalJobName = totalSum + `scope = 1 AND a = $1 AND b = $2` + totalTail + ` AND r.job_id = $1 AND r.job_name = $2` + totalList + ` AND r.job_id = $1 AND r.job_name = $2) t`
	sqlTotalName    = totalName + totalTail + ` AND r.job_name = $1` + totalList + ` AND r.job_name = $1) t`
	// Of a name that few jobs have had, these alone are looked at.
	sqlTotalFew = totalName + totalOf + `rq_run_name n CROSS JOIN LATERAL (SELECT * FROM rq_run r WHERE r.job_id = n.job_id AND r.job_name = n.name AND ` + totalAbove +
		` OFFSET 0) r WHERE n.name = $1` + totalList + ` AND r.job_name = $1) t`
)

// totalSQL is the statement that counts the runs that a query selects. few says that few jobs have had its name.
func totalSQL(query *ruqi.RunQuery, few bool) (sql string, args []any) {
	switch {
	case query.Job != "" && query.Name != "":
		return sqlTotalJobName, []any{query.Job, query.Name}
	case query.Job != "":
		return sqlTotalJob, []any{query.Job}
	case query.Name != "" && few:
		return sqlTotalFew, []any{query.Name}
	case query.Name != "":
		return sqlTotalName, []any{query.Name}
	}
	return sqlTotalAll, nil
}
