package sqlite

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// jobFilter holds the terms of a query but its cursor.
func jobFilter(query ruqi.JobQuery) (filter, error) {
	var f filter
	if len(query.IDs) > 0 {
		f.add("j.id IN (SELECT value FROM json_each(?))", jsonOf(query.IDs))
	}
	switch wanted := slices.Compact(slices.Sorted(slices.Values(query.Tags))); len(wanted) {
	case 0:
	case 1: // most questions: nothing to sort for each row
		f.add("EXISTS (SELECT 1 FROM json_each(d.tags) WHERE value = ?)", wanted[0])
	default:
		// One term for all: SQL that grew with the tags would come to the bound of its depth.
		f.add("(SELECT count(DISTINCT value) FROM json_each(d.tags) WHERE value IN (SELECT value FROM json_each(?))) = ?", jsonOf(wanted), len(wanted))
	}
	if query.Name != "" {
		f.add("d.name = ?", query.Name)
	}
	if query.Pool != "" {
		f.add("j.pool = ?", query.Pool)
	}
	if query.State != "" {
		code, err := sqlstore.JobStateCode(query.State)
		if err != nil {
			return f, ruqi.Invalid("/state", string(query.State), "a job has no such state")
		}
		f.add("j.state = ?", code)
	}
	if query.Version != 0 {
		f.add("d.version = ?", query.Version)
	}
	if query.OnStart {
		f.add("d.on_start = 1")
	}
	if query.Search != "" {
		// lower() of SQLite knows the letters of ASCII alone.
		f.add("(instr(lower(j.id), lower(?)) > 0 OR instr(lower(d.name), lower(?)) > 0)", query.Search, query.Search)
	}
	return f, nil
}

// A jobOrder is one order of jobs: the tables in the order they are walked, the
// term that goes on behind a cursor, and the ORDER BY.
type jobOrder struct {
	from, after, by string
	// narrow is the table that alone has the order.
	narrow string
	// cursor tells the place of a job, args the values of the marks in after.
	cursor func(*ruqi.JobRecord) sqlstore.Cursor
	args   func(sqlstore.Cursor) []any
}

const byID = `rq_job j CROSS JOIN rq_definition d ON d.seq = j.seq`
const byStart = `rq_definition d INDEXED BY rq_definition_start CROSS JOIN rq_job j ON j.seq = d.seq`
const byName = `rq_definition d INDEXED BY rq_definition_name CROSS JOIN rq_job j ON j.seq = d.seq`
const byDefinition = `rq_definition d CROSS JOIN rq_job j ON j.seq = d.seq`

var jobOrders = map[ruqi.JobSort]jobOrder{
	ruqi.SortID: {
		from: byID, after: "j.id > ?", by: "j.id", narrow: "rq_job j",
		cursor: func(j *ruqi.JobRecord) sqlstore.Cursor { return sqlstore.Cursor{ID: j.ID} },
		args:   func(c sqlstore.Cursor) []any { return []any{c.ID} },
	},
	// No index serves this order: it would have to be written with each fire. The
	// narrow table is sorted, of which only a page is kept.
	ruqi.SortNext: {
		from: byID, after: "(j.next_due IS NULL, ifnull(j.next_due, 0), j.id) > (?, ?, ?)",
		by: "j.next_due IS NULL, j.next_due, j.id", narrow: "rq_job j",
		cursor: func(j *ruqi.JobRecord) sqlstore.Cursor {
			c := sqlstore.Cursor{ID: j.ID, None: j.NextDue == nil}
			if j.NextDue != nil {
				c.Number = sqlstore.Micros(*j.NextDue)
			}
			return c
		},
		args: func(c sqlstore.Cursor) []any {
			none := 0
			if c.None {
				none = 1
			}
			return []any{none, c.Number, c.ID}
		},
	},
	ruqi.SortName: {
		from: byDefinition, after: "(d.name, d.id) > (?, ?)", by: "d.name, d.id", narrow: "rq_definition d",
		cursor: func(j *ruqi.JobRecord) sqlstore.Cursor { return sqlstore.Cursor{Text: j.Name, ID: j.ID} },
		args:   func(c sqlstore.Cursor) []any { return []any{c.Text, c.ID} },
	},
	ruqi.SortCreated: {
		from: byDefinition, after: "(d.created, d.id) > (?, ?)", by: "d.created, d.id", narrow: "rq_definition d",
		cursor: createdCursor,
		args:   func(c sqlstore.Cursor) []any { return []any{c.Number, c.ID} },
	},
	ruqi.SortNewest: {
		from: byDefinition, after: "d.created <= ? AND (d.created < ? OR d.id > ?)", by: "d.created DESC, d.id", narrow: "rq_definition d",
		cursor: createdCursor,
		args:   func(c sqlstore.Cursor) []any { return []any{c.Number, c.Number, c.ID} },
	},
}

func createdCursor(j *ruqi.JobRecord) sqlstore.Cursor {
	return sqlstore.Cursor{Number: sqlstore.Micros(j.Created), ID: j.ID}
}

// jobsQuery builds the query of a page and that of its total.
func jobsQuery(query ruqi.JobQuery, limit int) (page, total string, pageArgs, totalArgs []any, order jobOrder, err error) {
	sort := query.Sort
	if sort == "" {
		sort = ruqi.SortID
	}
	order, ok := jobOrders[sort]
	if !ok {
		return "", "", nil, nil, order, ruqi.Invalid("/sort", string(sort), "jobs are sorted by id, next, name, created or newest")
	}
	if err := ruqi.CheckOffset(query.Offset, query.Cursor); err != nil {
		return "", "", nil, nil, order, err
	}
	f, err := jobFilter(query)
	if err != nil {
		return "", "", nil, nil, order, err
	}
	from := byID
	if query.OnStart { // which are few, and have an index
		from = byStart
		if sort == ruqi.SortID {
			order.from, order.by, order.after = byStart, "d.id", "d.id > ?"
		}
	}
	if query.Name != "" && len(query.IDs) == 0 { // few have the same
		from, order.from = byName, byName
	}
	total, totalArgs = "SELECT count(*) FROM "+from+f.where(), f.args
	if len(f.terms) == 0 {
		total = "SELECT count(*) FROM rq_definition"
	}
	paged := filter{terms: f.terms[:len(f.terms):len(f.terms)], args: f.args[:len(f.args):len(f.args)]}
	if query.Cursor != "" {
		cursor, err := sqlstore.ParseCursor(query.Cursor, string(sort))
		if err != nil {
			return "", "", nil, nil, order, err
		}
		paged.add(order.after, order.args(cursor)...)
	}
	page = "SELECT " + jobColumns + " FROM " + order.from
	if len(f.terms) == 0 && (query.Offset > 0 || sort == ruqi.SortNext) {
		// What is passed over, or sorted, is so in the narrow table or its index alone.
		alias := order.narrow[len(order.narrow)-1:]
		page += " WHERE " + alias + ".seq IN (SELECT " + alias + ".seq FROM " + order.narrow + paged.where() + " ORDER BY " + order.by + " LIMIT ? OFFSET ?) ORDER BY " + order.by
		return page, total, append(paged.args, limit, query.Offset), totalArgs, order, nil
	}
	page += paged.where() + " ORDER BY " + order.by + " LIMIT ? OFFSET ?"
	return page, total, append(paged.args, limit, query.Offset), totalArgs, order, nil
}

// Jobs returns one page of jobs.
func (s *Store) Jobs(ctx context.Context, query ruqi.JobQuery) (ruqi.JobRecordPage, error) {
	size := sqlstore.PageSize(query.Limit)
	sql, totalSQL, args, totalArgs, order, err := jobsQuery(query, size+1)
	if err != nil {
		return ruqi.JobRecordPage{}, err
	}
	var page ruqi.JobRecordPage
	err = s.read(ctx, "jobs", func(c *conn) error {
		page = ruqi.JobRecordPage{}
		err := c.query(sql, args, func(r row) error {
			j, err := scanJob(r)
			page.Jobs = append(page.Jobs, j.JobRecord)
			return err
		})
		if err != nil {
			return err
		}
		page.Total, err = c.count(totalSQL, totalArgs...)
		return err
	})
	if err != nil {
		return ruqi.JobRecordPage{}, err
	}
	if len(page.Jobs) > size {
		page.Jobs = page.Jobs[:size]
		cursor := order.cursor(&page.Jobs[size-1])
		cursor.Sort = string(query.Sort)
		if cursor.Sort == "" {
			cursor.Sort = string(ruqi.SortID)
		}
		page.Next = cursor.String()
	}
	return page, nil
}

// EditJobs edits jobs by hand in one step, as ruqi.JobStore says.
func (s *Store) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) (jobs []ruqi.JobRecord, runs []ruqi.Run, err error) {
	err = s.write(ctx, "edit jobs", func(st *step) error {
		jobs, runs = nil, nil
		ids, err := st.editIDs(query)
		if err != nil {
			return err
		}
		selects := query
		selects.IDs, selects.Cursor, selects.Offset = nil, "", 0
		for _, id := range ids {
			old, err := jobByID(st.conn, id)
			if err != nil {
				return err
			}
			edit := &edit{step: st, id: id, old: old}
			if err := edit.run(selects, decide); err != nil {
				return err
			}
			if edit.result != nil {
				jobs = append(jobs, *edit.result)
			}
			runs = append(runs, edit.runs...)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return jobs, runs, nil
}

// editIDs returns the jobs to edit: those named, or those the query selects, by id.
func (st *step) editIDs(query ruqi.JobQuery) ([]string, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = math.MaxInt
	}
	if len(query.IDs) > 0 {
		return query.IDs[:min(limit, len(query.IDs))], nil
	}
	f, err := jobFilter(query)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = st.query("SELECT j.id FROM "+byID+f.where()+" ORDER BY j.id LIMIT ?", append(f.args, limit), func(r row) error {
		ids = append(ids, r.text(0))
		return nil
	})
	return ids, err
}

// An edit is the change of one job.
type edit struct {
	*step
	id  string
	old *jobRow
	// result is the job as it is afterwards (as it was, if removed); runs are the rows inserted.
	result *ruqi.JobRecord
	runs   []ruqi.Run
}

// sqlHasten makes queued rows due, but those of cause retry.
const sqlHasten = `UPDATE rq_run INDEXED BY rq_run_alive SET due = ? WHERE job_id = ? AND state < 2 AND state = 0 AND cause <> 2 AND due > ?`

func (e *edit) run(query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) error {
	var seen *ruqi.JobRecord
	active := int64(0)
	selected, err := e.selected(query)
	if err != nil {
		return err
	}
	if selected {
		copied := e.old.JobRecord
		seen = &copied
	}
	if active, err = e.count(sqlActive, e.id); err != nil {
		return err
	}
	change := decide(e.now, e.id, seen, int(active))
	if change.Err != nil {
		return &asIs{change.Err}
	}
	if selected {
		fresh, err := jobByID(e.conn, e.id) // decide owns the record it got
		if err != nil {
			return err
		}
		e.result = &fresh.JobRecord
	}
	name := ""
	if e.old != nil {
		name = e.old.Name
	}
	switch {
	case change.Remove:
	case change.Job != nil:
		change.Job.ID = e.id
		if err := e.putJob(change.Job, e.old); err != nil {
			return err
		}
		e.result, name = change.Job, change.Job.Name
	}
	if change.Hasten {
		if _, err := e.exec(sqlHasten, e.us, e.id, e.us); err != nil {
			return err
		}
		e.hint = true
	}
	if err := e.insertRuns(change.Runs, name); err != nil {
		return err
	}
	if change.Remove && e.old != nil {
		return e.removeJob(e.old.seq, e.id)
	}
	return nil
}

// selected reports whether the job is there and the rest of the query selects it.
func (e *edit) selected(query ruqi.JobQuery) (bool, error) {
	if e.old == nil {
		return false, nil
	}
	f, err := jobFilter(query)
	if err != nil || len(f.terms) == 0 {
		return err == nil, err
	}
	f.add("j.seq = ?", e.old.seq)
	n, err := e.count("SELECT count(*) FROM "+byID+f.where(), f.args...)
	return n > 0, err
}

// insertRuns inserts what the edit brings: rows that have ended, and queued ones, whose
// times are the store's when their cause is manual, and those of cause startup.
func (e *edit) insertRuns(runs []ruqi.Run, jobName string) error {
	for i := range runs {
		run := runs[i]
		run.JobID = e.id
		byHand := run.State == ruqi.RunQueued && run.Cause == ruqi.CauseManual || run.Cause == ruqi.CauseStartup
		if byHand {
			run.Nominal, run.Due = e.now, e.now
		}
		for {
			inserted, err := e.insertRun(&run, jobName)
			if err != nil {
				return err
			}
			if inserted {
				e.runs, e.hint = append(e.runs, run), true
				break
			}
			if !byHand {
				break // the fire has its outcome already
			}
			run.Nominal = run.Nominal.Add(time.Microsecond)
		}
	}
	return nil
}

const sqlCountStates = `SELECT state, count(*) FROM rq_job GROUP BY state`
const sqlCountNeeds = `SELECT pool, needs, count(*) FROM rq_job WHERE state <> 2 GROUP BY pool, needs`
const sqlCountRunning = `SELECT count(*) FROM rq_run INDEXED BY rq_run_alive WHERE state < 2 AND state = 1`
const sqlCountQueued = `SELECT count(*) FROM rq_run INDEXED BY rq_run_queued WHERE state = 0`

// Count tells how much there is. It reads the narrow table of jobs as a whole:
// tens of milliseconds for 100,000 of them.
func (s *Store) Count(ctx context.Context) (ruqi.Counts, error) {
	var counts ruqi.Counts
	err := s.read(ctx, "count", func(c *conn) error {
		counts = ruqi.Counts{Jobs: map[ruqi.JobState]int64{}, Needs: map[ruqi.PoolNeed]int64{}}
		err := c.query(sqlCountStates, nil, func(r row) error {
			counts.Jobs[sqlstore.JobState(r.int(0))] = r.int(1)
			return nil
		})
		if err == nil {
			err = c.query(sqlCountNeeds, nil, func(r row) error {
				counts.Needs[ruqi.PoolNeed{Pool: r.text(0), Need: r.text(1)}] = r.int(2)
				return nil
			})
		}
		if err == nil {
			counts.Running, err = c.count(sqlCountRunning)
		}
		if err == nil {
			counts.Queued, err = c.count(sqlCountQueued)
		}
		return err
	})
	return counts, err
}
