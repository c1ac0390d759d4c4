package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// keep looks at a file that is to be kept as it is, and notes why it is no store of this release, if it is none.
func (s *Store) keep(ctx context.Context) error {
	if there, err := findFile(s.path); err != nil || !there {
		s.unfit = s.noStore()
		return err
	}
	err := s.readAny(ctx, ctx, "open", func(c *conn) error {
		if err := s.refuseForeign(c); err != nil {
			return err
		}
		has, oldest, err := schemaOf(c)
		switch {
		case err != nil:
			return err
		case oldest > s.schema:
			return s.tooNew(has)
		case has == 0:
			s.unfit = s.noStore()
		case has < s.schema:
			s.unfit = fmt.Errorf("sqlite: %s has schema %d, and this release works on %d: ruqi store migrate brings it up", s.path, has, s.schema)
		}
		return nil
	})
	if isDamage(err) { // which Check tells
		s.unfit, err = err, nil
	}
	return err
}

func isDamage(err error) bool {
	var coded *sqlite.Error
	return errors.As(err, &coded) && coded.Code()&0xff == lib.SQLITE_CORRUPT
}

func (s *Store) noStore() error {
	return &sqlstore.NoStore{Where: s.path}
}

// Schema implements ruqi.Caretaker.
func (s *Store) Schema(ctx context.Context) (ruqi.SchemaState, error) {
	state := ruqi.SchemaState{Knows: int(s.schema)}
	if there, err := findFile(s.path); err != nil || !there {
		return state, err
	}
	err := s.readAny(ctx, ctx, "schema", func(c *conn) error {
		has, oldest, err := schemaOf(c)
		state.Has, state.Oldest = int(has), int(oldest)
		return err
	})
	return state, err
}

// Now implements ruqi.Caretaker. The file has no clock: all who share it have the one of their host.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, _ := s.clock()
	return now, ctx.Err()
}

var integrity = law{"SQLite finds damage: %s", `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`}

// Check implements ruqi.Caretaker. It looks at one state of the file, beside whoever works on it.
func (s *Store) Check(ctx context.Context) (faults []string, err error) {
	if there, err := findFile(s.path); err != nil || !there {
		return nil, errors.Join(err, s.noStore())
	}
	err = s.readAny(ctx, ctx, "check", func(c *conn) error {
		ledger, err := c.count(sqlHasLedger)
		if err != nil {
			return err
		}
		if ledger == 0 {
			return s.noStore()
		}
		if faults, err = tell(c, integrity); err != nil || len(faults) > 0 {
			return err // of damaged pages nothing more is worth asking
		}
		all := laws
		if has, _, err := schemaOf(c); err != nil {
			return err
		} else if has >= firstWithTally {
			all = append(laws[:len(laws):len(laws)], tallyLaws...)
		}
		for _, law := range all {
			broken, err := tell(c, law)
			if err != nil {
				return err
			}
			faults = append(faults, broken...)
		}
		return nil
	})
	if isDamage(err) {
		return append(faults, err.Error()), nil
	}
	return faults, err
}

// tell lists the rows that break a law.
func tell(c *conn, law law) ([]string, error) {
	var faults sqlstore.Faults
	err := c.query(law.sql, nil, func(r row) error {
		columns := make([]any, len(r))
		for i, v := range r {
			columns[i] = v
		}
		faults.Add(law.fault, columns...)
		return nil
	})
	return faults.List(), err
}

// A law is one that every step keeps: its SQL finds the rows that break it, and a sentence says so of each, with the columns for
// its verbs.
type law struct{ fault, sql string }

// laws hold in the first schema too.
var laws = []law{
	{sqlstore.FaultLedger, `SELECT count(*) FROM rq_ledger WHERE one = 1 HAVING count(*) <> 1`},
	{sqlstore.FaultRunIDs, `SELECT l.run, m.id FROM rq_ledger l, (SELECT max(id) AS id FROM rq_run) m WHERE m.id > l.run`},
	{sqlstore.FaultEpochs, `SELECT l.epoch, m.epoch FROM rq_ledger l, (SELECT max(epoch) AS epoch FROM rq_instance) m WHERE m.epoch > l.epoch`},
	{sqlstore.FaultNoSpec, `SELECT id FROM rq_job j WHERE NOT EXISTS (SELECT 1 FROM rq_definition d WHERE d.seq = j.seq) ORDER BY id`},
	{"there is a definition of the name %q without a job", `SELECT name FROM rq_definition d WHERE NOT EXISTS (SELECT 1 FROM rq_job j WHERE j.seq = d.seq) ORDER BY name`},
	{sqlstore.FaultJobState, `SELECT id, state FROM rq_job WHERE state NOT BETWEEN 0 AND 2 ORDER BY id`},
	{sqlstore.FaultRunState, `SELECT id, state FROM rq_run NOT INDEXED WHERE state NOT BETWEEN 0 AND 8 ORDER BY id`},
	{sqlstore.FaultOwner, `SELECT id, job_id, instance, epoch FROM rq_run r WHERE state < 2 AND state = 1
		AND NOT EXISTS (SELECT 1 FROM rq_instance i WHERE i.name = r.instance AND i.epoch = r.epoch) ORDER BY id`},
	{sqlstore.FaultNoStart, `SELECT id, job_id FROM rq_run WHERE state < 2 AND state = 1 AND started IS NULL ORDER BY id`},
	{sqlstore.FaultNobodysRun, `SELECT id, job_id FROM rq_run r WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM rq_job j WHERE j.id = r.job_id) ORDER BY id`},
	{sqlstore.FaultNobodysText, `SELECT DISTINCT run_id FROM rq_output o WHERE NOT EXISTS (SELECT 1 FROM rq_run r WHERE r.id = o.run_id)`},
	{"there are details of a run %d that is not there", `SELECT run_id FROM rq_run_more m WHERE NOT EXISTS (SELECT 1 FROM rq_run r WHERE r.id = m.run_id)`},
}

const firstWithTally = 3 // schema

var tallyLaws = []law{
	{sqlstore.FaultTally, `SELECT CASE scope WHEN 0 THEN 'all jobs' WHEN 1 THEN 'job ' || a || ' under the name ' || b ELSE 'the name ' || a END, sum(s), sum(o) FROM (
		SELECT scope, a, b, succeeded AS s, others AS o FROM rq_tally
		UNION ALL SELECT 0, '', '', -sum(s), -sum(o) FROM (` + tallied + `)
		UNION ALL SELECT 1, job_id, job_name, -s, -o FROM (` + tallied + `)
		UNION ALL SELECT 2, job_name, '', -s, -o FROM (` + tallied + `) WHERE job_name <> job_id)
		GROUP BY scope, a, b HAVING sum(s) <> 0 OR sum(o) <> 0`},
	{sqlstore.FaultNoTotal, `SELECT CASE scope WHEN 0 THEN 'all jobs' WHEN 1 THEN 'job ' || a || ' under the name ' || b ELSE 'the name ' || a END
		FROM rq_tally WHERE succeeded = 0 AND others = 0 ORDER BY scope, a, b`},
	{sqlstore.FaultNotListed, `SELECT run_id FROM rq_untallied u WHERE NOT EXISTS (SELECT 1 FROM rq_run r WHERE r.id = u.run_id) ORDER BY run_id`},
	{sqlstore.FaultUntallied, `SELECT id, job_id FROM rq_run r WHERE state < 2 AND id <= (SELECT tallied FROM rq_ledger)
		AND NOT EXISTS (SELECT 1 FROM rq_untallied u WHERE u.run_id = r.id) ORDER BY id`},
}

// tallied counts by job and name what the tally should hold.
const tallied = `SELECT r.job_id, r.job_name, sum(r.state = 2) AS s, sum(r.state <> 2) AS o FROM rq_run r NOT INDEXED WHERE r.id <= (SELECT tallied FROM rq_ledger)
	AND r.id NOT IN (SELECT run_id FROM rq_untallied) AND ` + executed + ` GROUP BY r.job_id, r.job_name`
