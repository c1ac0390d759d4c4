package sqlite

import (
	"context"

	"github.com/ruqi-dev/ruqi"
)

const (
	// tallyStep is how many runs are counted in one write transaction: some milliseconds.
	tallyStep = 500
	// tallySteps bounds the work of one Clean: a store with a long history that has just been brought up is counted in the
	// course of some, and 100,000 runs in the 30 s between two are more than one file takes.
	tallySteps = 200
)

// Why it is done so: docs/adr/0012-totals-up-to-a-mark.md.

// executed selects, of the rows of rq_run r, those that were started and have ended.
const executed = `r.state BETWEEN 2 AND 6 AND r.started IS NOT NULL`

const (
	sqlTallied    = `SELECT tallied FROM rq_ledger WHERE one = 1`
	sqlSetTallied = `UPDATE rq_ledger SET tallied = ? WHERE one = 1`
	// The last of so many runs after the mark, and their number.
	sqlTallyUpTo = `SELECT max(id), count(*) FROM (SELECT id FROM rq_run NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?)`
	// Runs that have ended since their turn came.
	sqlUntalliedEnds = `SELECT json_group_array(u.run_id), count(*) FROM
	(SELECT u.run_id FROM rq_untallied u CROSS JOIN rq_run r ON r.id = u.run_id WHERE r.state > 1 LIMIT ?) u`
	sqlNotYet    = `INSERT INTO rq_untallied SELECT id FROM rq_run INDEXED BY rq_run_alive WHERE state < 2 AND id > ? AND id <= ?`
	sqlNoMore    = `DELETE FROM rq_untallied WHERE run_id IN (SELECT value FROM json_each(?))`
	sqlNoneThere = `DELETE FROM rq_tally WHERE succeeded = 0 AND others = 0 AND scope = ?1 AND a IN
	(SELECT CASE ?1 WHEN 0 THEN '' WHEN 1 THEN r.job_id ELSE r.job_name END FROM json_each(?2) CROSS JOIN rq_run r ON r.id = json_each.value)`

	tallyAll   = `INSERT INTO rq_tally SELECT 0, '', '', s, o FROM (SELECT ?1 * sum(r.state = 2) AS s, ?1 * sum(r.state <> 2) AS o FROM `
	tallyJobs  = `INSERT INTO rq_tally SELECT 1, r.job_id, r.job_name, ?1 * sum(r.state = 2), ?1 * sum(r.state <> 2) FROM `
	tallyNames = `INSERT INTO rq_tally SELECT 2, r.job_name, '', ?1 * sum(r.state = 2), ?1 * sum(r.state <> 2) FROM `
	tallyOnTop = ` ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, others = others + excluded.others`
	// The runs after ?2 up to ?3, or those of a list.
	tallyRange = `rq_run r NOT INDEXED WHERE r.id > ?2 AND r.id <= ?3 AND ` + executed
	tallyList  = `json_each(?2) CROSS JOIN rq_run r ON r.id = json_each.value WHERE ` + executed
	// Those that go: of the ones above the mark, or on the list, nothing was counted.
	tallyGone = tallyList + ` AND r.id <= ?3 AND NOT EXISTS (SELECT 1 FROM rq_untallied u WHERE u.run_id = r.id)`
)

// tallySQL is the statement of each scope that adds runs, or with the sign -1 takes them away.
func tallySQL(source string) [3]string {
	return [3]string{
		tallyAll + source + ") WHERE s <> 0 OR o <> 0" + tallyOnTop,
		tallyJobs + source + " GROUP BY r.job_id, r.job_name" + tallyOnTop,
		tallyNames + source + " AND r.job_name <> r.job_id GROUP BY r.job_name" + tallyOnTop,
	}
}

var sqlTallyRange, sqlTallyList, sqlTallyGone = tallySQL(tallyRange), tallySQL(tallyList), tallySQL(tallyGone)

// tally adds what a source gives to all scopes.
func (st *step) tally(statements [3]string, args ...any) error {
	for _, sql := range statements {
		if _, err := st.exec(sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// foldTally moves the mark up to the newest run, in short steps.
func (s *Store) foldTally(ctx context.Context) error {
	for range s.tallySteps {
		more := false
		err := s.write(ctx, "tally", func(st *step) (err error) {
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
	var ended string
	var ends, to, n int64
	if _, err := st.one(sqlUntalliedEnds, []any{tallyStep}, func(r row) { ended, ends = r.text(0), r.int(1) }); err != nil {
		return false, err
	}
	if ends > 0 {
		if err := st.tally(sqlTallyList, 1, ended); err != nil {
			return false, err
		}
		if _, err := st.exec(sqlNoMore, ended); err != nil {
			return false, err
		}
	}
	mark, err := st.count(sqlTallied)
	if err != nil {
		return false, err
	}
	if _, err := st.one(sqlTallyUpTo, []any{mark, tallyStep}, func(r row) { to, n = r.int(0), r.int(1) }); err != nil || n == 0 {
		return ends == tallyStep, err
	}
	if err := st.tally(sqlTallyRange, 1, mark, to); err != nil {
		return false, err
	}
	if _, err := st.exec(sqlNotYet, mark, to); err != nil {
		return false, err
	}
	_, err = st.exec(sqlSetTallied, to)
	return ends == tallyStep || n == tallyStep, err
}

// untally takes runs that are about to be deleted off the tally.
func (st *step) untally(list string) error {
	mark, err := st.count(sqlTallied)
	if err == nil {
		err = st.tally(sqlTallyGone, -1, list, mark)
	}
	for scope := 0; scope < 3 && err == nil; scope++ {
		_, err = st.exec(sqlNoneThere, scope, list)
	}
	if err == nil {
		_, err = st.exec(sqlNoMore, list)
	}
	return err
}

// What a total adds up: the tally, the runs above the mark, and those on the list that have ended.
const (
	totalAll   = `SELECT succeeded AS s, others AS o FROM rq_tally WHERE scope = 0`
	totalJob   = `SELECT succeeded AS s, others AS o FROM rq_tally WHERE scope = 1 AND a = ?1`
	totalName  = `SELECT succeeded AS s, others AS o FROM rq_tally WHERE scope = 2 AND a = ?1 UNION ALL SELECT succeeded, others FROM rq_tally WHERE scope = 1 AND a = ?1 AND b = ?1`
	totalTail  = ` UNION ALL SELECT ifnull(sum(r.state = 2), 0), ifnull(sum(r.state <> 2), 0) FROM rq_run r`
	totalAbove = ` WHERE r.id > (SELECT tallied FROM rq_ledger WHERE one = 1) AND ` + executed
	totalList  = ` UNION ALL SELECT ifnull(sum(r.state = 2), 0), ifnull(sum(r.state <> 2), 0) FROM rq_untallied u CROSS JOIN rq_run r ON r.id = u.run_id WHERE ` + executed

	sqlTotalAll     = `SELECT ifnull(sum(s), 0), ifnull(sum(o), 0) FROM (` + totalAll + totalTail + ` NOT INDEXED` + totalAbove + totalList + `)`
	sqlTotalJob     = `SELECT ifnull(sum(s), 0), ifnull(sum(o), 0) FROM (` + totalJob + totalTail + ` INDEXED BY rq_run_job` + totalAbove + ofJob + totalList + ofJob + `)`
	sqlTotalJobName = `SELECT ifnull(sum(s), 0), ifnull(sum(o), 0) FROM (` + totalJob + ` AND b = ?2` + totalTail + ` INDEXED BY rq_run_job` + totalAbove + ofJob + named2 + totalList + ofJob + named2 + `)`
	sqlTotalName    = `SELECT ifnull(sum(s), 0), ifnull(sum(o), 0) FROM (` + totalName + totalTail + ` NOT INDEXED` + totalAbove + named1 + totalList + named1 + `)`
	// Of a name that few jobs have had, these alone are looked at.
	sqlTotalFew = `SELECT ifnull(sum(s), 0), ifnull(sum(o), 0) FROM (` + totalName + ` UNION ALL SELECT ifnull(sum(r.state = 2), 0), ifnull(sum(r.state <> 2), 0)
	FROM rq_run_name n CROSS JOIN rq_run r INDEXED BY rq_run_job ON r.job_id = n.job_id` + totalAbove + ` AND n.name = ?1` + named1 + totalList + named1 + `)`
	ofJob          = ` AND r.job_id = ?1`
	named1, named2 = ` AND r.job_name = ?1`, ` AND r.job_name = ?2`
)

// total counts the runs that a query selects, where that is told. few says that few jobs have had its name.
func total(c *conn, query *ruqi.RunQuery, few bool) (*int64, error) {
	good, bad, ok := query.Tallied()
	if !ok {
		return nil, nil
	}
	sql, args := sqlTotalAll, []any{}
	switch {
	case query.Job != "" && query.Name != "":
		sql, args = sqlTotalJobName, []any{query.Job, query.Name}
	case query.Job != "":
		sql, args = sqlTotalJob, []any{query.Job}
	case query.Name != "" && few:
		sql, args = sqlTotalFew, []any{query.Name}
	case query.Name != "":
		sql, args = sqlTotalName, []any{query.Name}
	}
	n := int64(0)
	_, err := c.one(sql, args, func(r row) {
		if good {
			n += r.int(0)
		}
		if bad {
			n += r.int(1)
		}
	})
	return &n, err
}
