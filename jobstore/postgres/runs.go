package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// runSort names the only order of runs in their cursors.
const runSort = "run"

// fewJobs is up to how many jobs a name's runs are looked for job by job. With more the walk down the ids meets them soon.
const fewJobs = 256 // about as many rows either way, where 100,000 jobs have a history

const sqlNameJobs = `SELECT count(*) FROM (SELECT FROM rq_run_name n WHERE n.name = $1 LIMIT $2) n`

// few reports whether few jobs have had the name that a query is about.
func (s *Store) few(ctx context.Context, query *ruqi.RunQuery) (bool, error) {
	if query.Name == "" || query.Job != "" || len(query.IDs) > 0 {
		return true, nil
	}
	n := 0
	b := &pgx.Batch{}
	b.Queue(sqlNameJobs, query.Name, fewJobs+1).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	err := s.look(ctx, s.front, b)
	return n <= fewJobs, err
}

// Runs returns one page of runs, newest first.
func (s *Store) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	if err := ruqi.CheckOffset(query.Offset, query.Cursor); err != nil {
		return ruqi.RunPage{}, err
	}
	size := sqlstore.PageSize(query.Limit)
	few, err := s.few(ctx, &query) // a hint that may be old: either way is right
	if err != nil {
		return ruqi.RunPage{}, s.translate(ctx, "runs", err)
	}
	rows := sqlstore.Span{Limit: size + 1, Offset: query.Offset}
	sql, args, err := runsQuery(query, few, rows)
	if err != nil {
		return ruqi.RunPage{}, err
	}
	var page ruqi.RunPage
	fill := func(b *pgx.Batch) {
		page.Runs = nil
		queue(b, sql, args, func(rows pgx.Rows) error {
			run, err := scanRun(rows)
			page.Runs = append(page.Runs, run)
			return err
		})
	}
	good, bad, tallied := query.Tallied()
	count := func(b *pgx.Batch) {
		totals, values := totalSQL(&query, few)
		b.Queue(totals, values...).QueryRow(func(row pgx.Row) error {
			var succeeded, others, total int64
			err := row.Scan(&succeeded, &others)
			if good {
				total += succeeded
			}
			if bad {
				total += others
			}
			page.Total = &total
			return err
		})
	}
	switch {
	case query.Offset >= s.farOffset && sqlstore.WholeHistory(&query):
		err = s.readingAfter(ctx, count, func(b *pgx.Batch) {
			rows = rows.Of(*page.Total)
			sql, args, _ = runsQuery(query, few, rows) // it has been built before
			fill(b)
		})
		if rows.Back {
			slices.Reverse(page.Runs)
		}
	case tallied:
		err = s.reading(ctx, func(b *pgx.Batch) { // of one state with the page
			fill(b)
			count(b)
		})
	default:
		b := &pgx.Batch{}
		fill(b)
		err = s.look(ctx, s.front, b)
	}
	if err != nil {
		return ruqi.RunPage{}, s.translate(ctx, "runs", err)
	}
	if len(page.Runs) > size {
		page.Runs = page.Runs[:size]
		page.Next = sqlstore.Cursor{Sort: runSort, Number: page.Runs[size-1].ID}.String()
	}
	return page, nil
}

// runsQuery builds the query of a page. It is walked from its cursor down, so that a page costs its own rows and
// those that the filter drops between them. few says that few jobs have had its name. Rows are read back for a query of
// sqlstore.WholeHistory alone.
func runsQuery(query ruqi.RunQuery, few bool, rows sqlstore.Span) (sql string, args []any, err error) {
	var f filter
	below := int64(math.MaxInt64)
	if query.Cursor != "" {
		cursor, err := sqlstore.ParseCursor(query.Cursor, runSort)
		if err != nil {
			return "", nil, err
		}
		below = cursor.Number
	}
	under := f.value(below)
	f.add("r.id < " + under)
	far := query.Offset + rows.Limit // rows that a page needs
	also := ""                       // of what is asked for beside what an index is walked by
	if query.Executed {
		f.add(executed)
		also = " AND " + strings.ReplaceAll(executed, "r.", "n.")
	}
	ofStates, badOnly := "", sqlstore.BadOnly(query.States)
	if len(query.States) > 0 {
		codes := make([]int16, len(query.States))
		for i, state := range query.States {
			code, err := sqlstore.RunStateCode(state)
			if err != nil {
				return "", nil, ruqi.Invalid("/states", string(state), "a run has no such state")
			}
			codes[i] = int16(code)
		}
		ofStates = ".state = ANY (" + f.value(codes) + "::smallint[])"
		if badOnly {
			f.add("r.state > 2 AND r.state < 7")
		}
	}
	if len(query.IDs) > 0 {
		f.add("r.id = ANY (" + f.value(query.IDs) + "::bigint[])")
	}
	if query.Job != "" {
		f.add("r.job_id = " + f.value(query.Job))
	}
	from := "rq_run r"
	if query.Name != "" {
		name := f.value(query.Name)
		f.add("r.job_name = " + name)
		switch {
		case query.Job != "" || len(query.IDs) > 0:
		case few:
			inner, page := also, "OFFSET 0"
			if ofStates != "" {
				inner += " AND n" + ofStates
			}
			if badOnly {
				inner += " AND n.state > 2 AND n.state < 7"
			}
			if len(query.Causes) == 0 && query.From == nil && query.To == nil {
				page = "ORDER BY n.id DESC LIMIT " + f.value(far) // no job gives more than a page
			}
			from = "rq_run_name m CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.job_id = m.job_id AND n.job_name = m.name AND n.id < " + under + inner + " " + page + ") r"
			f.add("m.name = " + name)
		default:
			also += " AND n.job_name = " + name
		}
	}
	alone := from == "rq_run r" && query.Job == "" && len(query.IDs) == 0 && query.From == nil && query.To == nil
	if len(query.States) > 0 {
		from = f.states(query.States, ofStates, from, under, also, alone && len(query.Causes) == 0, far)
	}
	if len(query.Causes) > 0 {
		codes := make([]int16, len(query.Causes))
		for i, cause := range query.Causes {
			code, err := sqlstore.CauseCode(cause)
			if err != nil {
				return "", nil, ruqi.Invalid("/causes", string(cause), "a run has no such cause")
			}
			codes[i] = int16(code)
		}
		list := f.value(codes) + "::smallint[]"
		f.add("r.cause = ANY (" + list + ")")
		if alone && len(query.States) == 0 && !slices.Contains(query.Causes, ruqi.CauseSchedule) {
			from = "unnest(" + list + ") c (cause) CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.cause = c.cause AND n.cause <> 0 AND n.id < " +
				under + also + " ORDER BY n.id DESC LIMIT " + f.value(far) + ") r"
		}
	}
	if query.From != nil {
		f.add("r.nominal >= " + f.value(*query.From))
	}
	if query.To != nil {
		f.add("r.nominal < " + f.value(*query.To))
	}
	most := " LIMIT " + f.value(rows.Limit)
	if !rows.Back {
		most = " DESC" + most
	}
	if query.Offset > 0 {
		most += " OFFSET " + f.value(rows.Offset)
	}
	return "SELECT " + runColumns + " FROM " + from + f.where() + " ORDER BY r.id" + most, f.args, nil
}

// states adds the term of the states, and returns the tables to read. Those alive and the rare ends have indexes of their own;
// successes are most of the history, and the walk down the ids meets them at once. below is the id that the page is under, also
// the terms of what else is asked for, alone says that nothing more is, far how many rows the page needs.
func (f *filter) states(states []ruqi.RunState, term, from, below, also string, alone bool, far int) string {
	alive, rare, common := false, false, false
	for _, state := range states {
		alive = alive || !state.Ended()
		common = common || state == ruqi.RunSucceeded
		rare = rare || state.Ended() && state != ruqi.RunSucceeded
	}
	f.add("r" + term)
	switch {
	case common:
	case alive && !rare:
		f.add("r.state < 2")
	case rare && !alive && alone: // each state from its own end of the index, and no more of it than a page
		codes := make([]int16, 0, len(states))
		for _, state := range states {
			if code, _ := sqlstore.RunStateCode(state); !slices.Contains(codes, int16(code)) { // it is one: the term has been made
				codes = append(codes, int16(code))
			}
		}
		return "unnest(" + f.value(codes) + "::smallint[]) s (state) CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.state = s.state AND n.state > 2 AND n.id < " +
			below + also + " ORDER BY n.id DESC LIMIT " + f.value(far) + ") r"
	}
	return from
}

// runByID reads one run under its lock, and reports ruqi.ErrNotFound.
func (st *step) runByID(id int64) (run ruqi.Run, err error) {
	found := false
	err = st.query(sqlRunByID+" FOR NO KEY UPDATE", []any{id}, func(rows pgx.Rows) error {
		found = true
		run, err = scanRun(rows)
		return err
	})
	if err == nil && !found {
		err = &asIs{fmt.Errorf("run %d: %w", id, ruqi.ErrNotFound)}
	}
	return run, err
}

const sqlCancelQueued = `UPDATE rq_run SET state = 5, reason = $2, finished = $3, cancel_by = $4 WHERE id = $1 AND state < 2 AND ` + stateIs + ` 0`
const sqlCancelRunning = `UPDATE rq_run SET cancel_by = $2 WHERE id = $1 AND state < 2 AND ` + stateIs + ` 1 AND cancel_by IS NULL`

// Cancel asks a run to end, as ruqi.JobStore says. CancelBy is set on a queued run too.
func (s *Store) Cancel(ctx context.Context, id int64, by string) (run ruqi.Run, err error) {
	by = textOf(by)
	err = s.write(ctx, s.front, "cancel", func(st *step) error {
		if err := st.start(nil); err != nil {
			return err
		}
		if run, err = st.runByID(id); err != nil {
			return err
		}
		b := &pgx.Batch{}
		switch run.State {
		case ruqi.RunQueued:
			b.Queue(sqlCancelQueued, id, "cancelled by "+by, st.now, by)
		case ruqi.RunRunning:
			b.Queue(sqlCancelRunning, id, by)
		default:
			return &asIs{fmt.Errorf("run %d: %w", id, ruqi.ErrEnded)}
		}
		queue(b, sqlRunByID, []any{id}, func(rows pgx.Rows) error {
			run, err = scanRun(rows)
			return err
		})
		st.hint = true
		if err := st.send(b); err != nil {
			return err
		}
		return st.commit(nil)
	})
	if err != nil {
		return ruqi.Run{}, err
	}
	return run, nil
}
