package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/ruqi-dev/ruqi"
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
	return fmt.Errorf("sqlite: there is no store at %s yet: ruqi store migrate makes one: %w", s.path, ruqi.ErrNotFound)
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

const sqlIntegrity = `PRAGMA integrity_check`

// toldFaults is how many faults of one kind Check tells: enough to see what they have in common.
const toldFaults = 10

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
		if faults, err = list(c, sqlIntegrity, func(r row) string {
			if text := r.text(0); text != "ok" {
				return "SQLite finds damage: " + text
			}
			return ""
		}); err != nil || len(faults) > 0 {
			return err // of damaged pages nothing more is worth asking
		}
		for _, law := range laws {
			broken, err := list(c, law.sql, law.tell)
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

// list tells the first rows, and how many there are more. A row that has no text is none.
func list(c *conn, sql string, tell func(row) string) (told []string, err error) {
	more := 0
	err = c.query(sql, nil, func(r row) error {
		switch text := tell(r); {
		case text == "":
		case len(told) < toldFaults:
			told = append(told, text)
		default:
			more++
		}
		return nil
	})
	if more > 0 {
		told = append(told, fmt.Sprintf("and %d more faults like the last", more))
	}
	return told, err
}

// A law is one that every step keeps, the first schema's included: its SQL finds the rows that break it.
type law struct {
	sql  string
	tell func(row) string
}

var laws = []law{
	{`SELECT count(*) FROM rq_ledger WHERE one = 1`, func(r row) string {
		if r.int(0) == 1 {
			return ""
		}
		return "the row of rq_ledger, with the counters of the store, is gone"
	}},
	{`SELECT l.run, m.id FROM rq_ledger l, (SELECT max(id) AS id FROM rq_run) m WHERE m.id > l.run`, func(r row) string {
		return fmt.Sprintf("run ids are counted up to %d, but there is a run %d: the ids between would be given twice", r.int(0), r.int(1))
	}},
	{`SELECT l.epoch, m.epoch FROM rq_ledger l, (SELECT max(epoch) AS epoch FROM rq_instance) m WHERE m.epoch > l.epoch`, func(r row) string {
		return fmt.Sprintf("epochs are counted up to %d, but there is an instance with epoch %d: the fence of its runs would not hold", r.int(0), r.int(1))
	}},
	{`SELECT id FROM rq_job j WHERE NOT EXISTS (SELECT 1 FROM rq_definition d WHERE d.seq = j.seq) ORDER BY id`, func(r row) string {
		return fmt.Sprintf("job %q has no definition", r.text(0))
	}},
	{`SELECT name FROM rq_definition d WHERE NOT EXISTS (SELECT 1 FROM rq_job j WHERE j.seq = d.seq) ORDER BY name`, func(r row) string {
		return fmt.Sprintf("there is a definition of the name %q without a job", r.text(0))
	}},
	{`SELECT id, state FROM rq_job WHERE state NOT BETWEEN 0 AND 2 ORDER BY id`, func(r row) string {
		return fmt.Sprintf("job %q is in the state %d, which is none", r.text(0), r.int(1))
	}},
	{`SELECT id, state FROM rq_run NOT INDEXED WHERE state NOT BETWEEN 0 AND 8 ORDER BY id`, func(r row) string {
		return fmt.Sprintf("run %d is in the state %d, which is none", r.int(0), r.int(1))
	}},
	{`SELECT id, job_id, instance, epoch FROM rq_run r WHERE state < 2 AND state = 1
		AND NOT EXISTS (SELECT 1 FROM rq_instance i WHERE i.name = r.instance AND i.epoch = r.epoch) ORDER BY id`, func(r row) string {
		return fmt.Sprintf("run %d of job %q is running under instance %s, epoch %d, which the store does not know", r.int(0), r.text(1), r.text(2), r.int(3))
	}},
	{`SELECT id, job_id FROM rq_run WHERE state < 2 AND state = 1 AND started IS NULL ORDER BY id`, func(r row) string {
		return fmt.Sprintf("run %d of job %q is running and has no time of its start", r.int(0), r.text(1))
	}},
	{`SELECT id, job_id FROM rq_run r WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM rq_job j WHERE j.id = r.job_id) ORDER BY id`, func(r row) string {
		return fmt.Sprintf("run %d is queued, but its job %q is removed: nobody will start it", r.int(0), r.text(1))
	}},
	{`SELECT DISTINCT run_id FROM rq_output o WHERE NOT EXISTS (SELECT 1 FROM rq_run r WHERE r.id = o.run_id)`, func(r row) string {
		return fmt.Sprintf("there is output of a run %d that is not there", r.int(0))
	}},
	{`SELECT run_id FROM rq_run_more m WHERE NOT EXISTS (SELECT 1 FROM rq_run r WHERE r.id = m.run_id)`, func(r row) string {
		return fmt.Sprintf("there are details of a run %d that is not there", r.int(0))
	}},
}
