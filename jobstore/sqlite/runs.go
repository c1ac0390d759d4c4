package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A filter is a WHERE clause in the making: fixed texts, and values for their marks.
type filter struct {
	terms []string
	args  []any
}

func (f *filter) add(term string, args ...any) {
	f.terms = append(f.terms, term)
	f.args = append(f.args, args...)
}

func (f *filter) where() string {
	if len(f.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.terms, " AND ")
}

// runSort names the only order of runs in their cursors.
const runSort = "run"

// fewJobs is up to how many jobs a name's runs are looked for job by job. With more the walk down the ids meets them soon.
const fewJobs = 256 // about as many rows either way, where 100,000 jobs have a history

const sqlNameJobs = `SELECT job_id FROM rq_run_name WHERE name = ? LIMIT ?`

// Runs returns one page of runs, newest first.
func (s *Store) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	if err := ruqi.CheckOffset(query.Offset, query.Cursor); err != nil {
		return ruqi.RunPage{}, err
	}
	size := sqlstore.PageSize(query.Limit)
	var page ruqi.RunPage
	err := s.read(ctx, "runs", func(c *conn) (err error) {
		page = ruqi.RunPage{}
		var jobs []string
		if query.Name != "" && query.Job == "" && len(query.IDs) == 0 {
			if jobs, err = (history{c}).texts(sqlNameJobs, query.Name, fewJobs+1); err != nil {
				return err
			}
		}
		page.Total, err = total(c, &query, len(jobs) <= fewJobs)
		if err != nil {
			return err
		}
		rows := sqlstore.Span{Limit: size + 1, Offset: query.Offset}
		if sqlstore.WholeHistory(&query) {
			rows = rows.Of(*page.Total)
		}
		sql, args, err := runsQuery(query, jobs, rows)
		if err != nil {
			return &asIs{err}
		}
		if page.Total != nil && *page.Total <= int64(query.Offset) {
			return nil // there is nothing to look for
		}
		err = c.query(sql, args, func(r row) error {
			page.Runs = append(page.Runs, scanRun(r))
			return nil
		})
		if rows.Back {
			slices.Reverse(page.Runs)
		}
		return err
	})
	var own *asIs
	if errors.As(err, &own) {
		err = own.err
	}
	if err != nil {
		return ruqi.RunPage{}, err
	}
	if len(page.Runs) > size {
		page.Runs = page.Runs[:size]
		page.Next = sqlstore.Cursor{Sort: runSort, Number: page.Runs[size-1].ID}.String()
	}
	return page, nil
}

// runsQuery chooses the index by what the query names; jobs are those that have had its name, where it names no job: more than
// fewJobs stand for many. The page is walked from its
// cursor down, so that a page costs its own rows and those that the filter drops between them. Rows are read back for a query of
// sqlstore.WholeHistory alone.
func runsQuery(query ruqi.RunQuery, jobs []string, rows sqlstore.Span) (sql string, args []any, err error) {
	below := int64(math.MaxInt64)
	if query.Cursor != "" {
		cursor, err := sqlstore.ParseCursor(query.Cursor, runSort)
		if err != nil {
			return "", nil, err
		}
		below = cursor.Number
	}
	var f filter
	f.add("r.id < ?", below)
	if query.Job != "" {
		f.add("r.job_id = ?", query.Job)
	}
	if query.Name != "" {
		f.add("r.job_name = ?", query.Name)
	}
	if query.Executed {
		f.add(executed)
	}
	if len(query.Causes) > 0 {
		codes, err := causeCodes(query.Causes)
		if err != nil {
			return "", nil, err
		}
		f.add("r.cause IN (" + codes + ")")
	}
	if query.From != nil {
		f.add("r.nominal >= ?", *query.From)
	}
	if query.To != nil {
		f.add("r.nominal < ?", *query.To)
	}
	// The terms that may use an index; a plus sign keeps the others from it.
	table, far := "rq_run r", query.Offset+rows.Limit
	switch {
	case len(query.IDs) > 0:
		f.add("r.id IN (SELECT value FROM json_each(?))", jsonOf(query.IDs))
	case query.Job != "" && sqlstore.BadOnly(query.States):
		table = "rq_run r INDEXED BY rq_run_bad"
		f.add(bad)
	case query.Job != "":
		table = "rq_run r INDEXED BY rq_run_job"
	case query.Name != "" && len(jobs) <= fewJobs:
		if _, err := f.states(query.States, table, false, far); err != nil {
			return "", nil, err
		}
		index := "rq_run_job"
		if sqlstore.BadOnly(query.States) {
			index = "rq_run_bad"
			f.add(bad)
		}
		f.each(index, "r.job_id = ?", padded(jobs), far)
		query.States = nil // said
	case query.Name != "" && !sqlstore.BadOnly(query.States):
		table = "rq_run r NOT INDEXED"
	}
	if len(query.States) > 0 {
		indexed := table == "rq_run r" && len(query.IDs) == 0
		if table, err = f.states(query.States, table, indexed, far); err != nil {
			return "", nil, err
		}
	}
	order := " ORDER BY r.id DESC"
	if rows.Back {
		order = " ORDER BY r.id"
	}
	return "SELECT " + runColumns + " FROM " + table + runMore + f.where() + order + " LIMIT ? OFFSET ?", append(f.args, rows.Limit, rows.Offset), nil
}

// bad is the condition of the index of executed runs that did not succeed.
const bad = "r.state > 2 AND r.state < 7"

// padded repeats the last job until there are 1, 4, 16, 64 or 256 of them: as many statements are kept as there are texts.
func padded(jobs []string) []any {
	n, last := 1, ""
	for n < len(jobs) {
		n *= 4
	}
	values := make([]any, n)
	for i := range values {
		if i < len(jobs) {
			last = jobs[i]
		}
		values[i] = last
	}
	return values
}

// each replaces the filter by one that, for each value, looks for the first rows that it selects in an index whose order is that
// of ids: what a page needs and no more. term holds the mark for the value, or is formatted with it where it is a number.
func (f *filter) each(index, term string, values []any, far int) {
	var b strings.Builder
	var args []any
	for i, value := range values {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		one := filter{terms: f.terms[:len(f.terms):len(f.terms)], args: f.args[:len(f.args):len(f.args)]}
		if code, ok := value.(int64); ok {
			one.add(fmt.Sprintf(term, code))
		} else {
			one.add(term, value)
		}
		b.WriteString("SELECT id FROM (SELECT r.id FROM rq_run r INDEXED BY " + index + one.where() + " ORDER BY r.id DESC LIMIT ?)")
		args = append(append(args, one.args...), far)
	}
	*f = filter{}
	f.add("r.id IN ("+b.String()+")", args...)
}

// states adds the term of the states, and names the table with the index that
// finds them when nothing better does. Successes have none: they are most of the history, and the
// walk down the ids meets them at once. far is how many rows a page needs.
func (f *filter) states(states []ruqi.RunState, table string, index bool, far int) (string, error) {
	if len(states) == 0 {
		return table, nil
	}
	var codes []string
	var values []any
	alive, rare, common := false, false, false
	for _, state := range slices.Compact(slices.Sorted(slices.Values(states))) {
		code, err := sqlstore.RunStateCode(state)
		if err != nil {
			return "", ruqi.Invalid("/states", string(state), "a run has no such state")
		}
		codes, values = append(codes, strconv.FormatInt(code, 10)), append(values, code)
		alive = alive || !state.Ended()
		common = common || state == ruqi.RunSucceeded
		rare = rare || state.Ended() && state != ruqi.RunSucceeded
	}
	in := "r.state IN (" + strings.Join(codes, ", ") + ")"
	switch {
	case !index || common:
	case alive && rare:
		f.add(`r.id IN (SELECT r.id FROM rq_run r INDEXED BY rq_run_alive WHERE r.state < 2 AND ` + in +
			` UNION ALL SELECT r.id FROM rq_run r INDEXED BY rq_run_state WHERE r.state > 2 AND ` + in + `)`)
	case alive:
		f.add("r.state < 2")
		table += " INDEXED BY rq_run_alive"
	case len(values) > 1:
		f.each("rq_run_state", "r.state > 2 AND r.state = %d", values, far)
		return table, nil
	default:
		f.add("r.state > 2")
		table += " INDEXED BY rq_run_state"
	}
	f.add(in)
	return table, nil
}

func causeCodes(causes []ruqi.Cause) (string, error) {
	var codes []string
	for _, cause := range causes {
		code, err := sqlstore.CauseCode(cause)
		if err != nil {
			return "", ruqi.Invalid("/causes", string(cause), "a run has no such cause")
		}
		codes = append(codes, strconv.FormatInt(code, 10))
	}
	return strings.Join(codes, ", "), nil
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // slices of numbers and strings always encode
	}
	return string(b)
}

const sqlCancelQueued = `UPDATE rq_run SET state = 5, reason = ?, finished = ?, cancel_by = ? WHERE id = ? AND state = 0`
const sqlCancelRunning = `UPDATE rq_run SET cancel_by = ? WHERE id = ? AND state = 1 AND cancel_by = ''`

// Cancel asks a run to end, as ruqi.JobStore says. CancelBy is set on a queued run too.
func (s *Store) Cancel(ctx context.Context, id int64, by string) (run ruqi.Run, err error) {
	err = s.write(ctx, "cancel", func(st *step) error {
		if run, err = runByID(st.conn, id); err != nil {
			return err
		}
		switch {
		case run.State == ruqi.RunQueued:
			_, err = st.exec(sqlCancelQueued, "cancelled by "+by, st.us, by, id)
		case run.State == ruqi.RunRunning:
			_, err = st.exec(sqlCancelRunning, by, id)
		default:
			return fmt.Errorf("run %d: %w", id, ruqi.ErrEnded)
		}
		if err != nil {
			return err
		}
		st.hint = true
		run, err = runByID(st.conn, id)
		return err
	})
	if err != nil {
		return ruqi.Run{}, err
	}
	return run, nil
}
