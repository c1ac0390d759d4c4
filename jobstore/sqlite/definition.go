package sqlite

import (
	"slices"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// maxKnown bounds what is kept of definitions in memory: 32 MiB, or some 50,000
// jobs of the usual size. Beyond it all is forgotten, and read again as it is needed.
const maxKnown = 32 << 20

// definitions keeps the wide part of jobs that were claimed, so that a claim reads
// only what changes with each fire. An entry is good as long as its rev is that of the
// row: every edit raises it, and row numbers are never used again. It belongs to whoever holds the
// write connection.
type definitions struct {
	known map[int64]*definition
	bytes int
}

// A definition is a record but for what changes with each fire.
type definition struct {
	ruqi.JobRecord
	rev int64
}

const sqlDefinition = `SELECT j.rev, ` + jobColumns + ` FROM rq_job j CROSS JOIN rq_definition d ON d.seq = j.seq WHERE j.seq = ?`

// get returns the definition of the job in row seq at rev.
func (ds *definitions) get(c *conn, seq, rev int64) (*definition, error) {
	if d := ds.known[seq]; d != nil && d.rev == rev {
		return d, nil
	}
	d := &definition{}
	err := c.query(sqlDefinition, []any{seq}, func(r row) error {
		job, err := scanJob(r[1:])
		d.JobRecord, d.rev = job.JobRecord, r.int(0)
		return err
	})
	if err != nil {
		return nil, err
	}
	if ds.bytes > maxKnown || ds.known == nil {
		ds.known, ds.bytes = map[int64]*definition{}, 0
	}
	const fixed = 300 // bytes of a record and its place in the map, about
	ds.known[seq], ds.bytes = d, ds.bytes+fixed+len(d.Spec)+len(d.ID)+len(d.Name)
	return d, nil
}

// hotColumns are what changes with each fire, and the job's active runs.
const hotColumns = `j.seq, j.rev, j.state, j.reason, j.next_nominal, j.next_due, j.run_count,
	(SELECT count(*) FROM rq_run a INDEXED BY rq_run_alive WHERE a.job_id = j.id AND a.state < 2 AND (a.state = 1 OR a.batch <> 0))`

// scanHot makes a record, whose slices are its own, of a definition and a row of hotColumns.
func (d *definition) scanHot(r row) (j jobRow, active int) {
	j = jobRow{JobRecord: d.JobRecord, seq: r.int(0)}
	j.State, j.Reason = sqlstore.JobState(r.int(2)), r.text(3)
	j.NextNominal, j.NextDue, j.RunCount = r.timePtr(4), r.timePtr(5), r.int(6)
	j.Spec, j.Tags = slices.Clone(d.Spec), slices.Clone(d.Tags)
	return j, int(r.int(7))
}
