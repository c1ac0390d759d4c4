package sqlite

import "github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"

const sqlDefinition = `SELECT j.rev, ` + jobColumns + ` FROM rq_job j CROSS JOIN rq_definition d ON d.seq = j.seq WHERE j.seq = ?`

// definition returns the definition of the job in row seq at rev.
func (s *Store) definition(c *conn, seq, rev int64) (sqlstore.Definition, error) {
	if d, known := s.definitions.Get(seq, rev); known {
		return d, nil
	}
	var d sqlstore.Definition
	err := c.query(sqlDefinition, []any{seq}, func(r row) error {
		job, err := scanJob(r[1:])
		d = sqlstore.Definition{JobRecord: job.JobRecord, Seq: seq, Rev: r.int(0)}
		return err
	})
	if err == nil {
		s.definitions.Put(d)
	}
	return d, err
}

// hotColumns are what changes with each fire, and the job's active runs.
const hotColumns = `j.seq, j.rev, j.state, j.reason, j.next_nominal, j.next_due, j.run_count,
	(SELECT count(*) FROM rq_run a INDEXED BY rq_run_alive WHERE a.job_id = j.id AND a.state < 2 AND (a.state = 1 OR a.batch <> 0))`

// scanHot makes a record, whose slices are its own, of a definition and a row of hotColumns.
func scanHot(d *sqlstore.Definition, r row) (j jobRow, active int) {
	j = jobRow{JobRecord: d.Record(), seq: r.int(0)}
	j.State, j.Reason = sqlstore.JobState(r.int(2)), r.text(3)
	j.NextNominal, j.NextDue, j.RunCount = r.timePtr(4), r.timePtr(5), r.int(6)
	return j, int(r.int(7))
}
