package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
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

// Runs returns one page of runs, newest first.
func (s *Store) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	size := sqlstore.PageSize(query.Limit)
	sql, args, err := runsQuery(query, size+1)
	if err != nil {
		return ruqi.RunPage{}, err
	}
	var page ruqi.RunPage
	err = s.read(ctx, "runs", func(c *conn) error {
		page = ruqi.RunPage{}
		return c.query(sql, args, func(r row) error {
			page.Runs = append(page.Runs, scanRun(r))
			return nil
		})
	})
	if err != nil {
		return ruqi.RunPage{}, err
	}
	if len(page.Runs) > size {
		page.Runs = page.Runs[:size]
		page.Next = sqlstore.Cursor{Sort: runSort, Number: page.Runs[size-1].ID}.String()
	}
	return page, nil
}

// runsQuery chooses the index by what the query names. The page is walked from its
// cursor down, so that a page costs its own rows and those that the filter drops between them.
func runsQuery(query ruqi.RunQuery, limit int) (sql string, args []any, err error) {
	below := int64(math.MaxInt64)
	if query.Cursor != "" {
		cursor, err := sqlstore.ParseCursor(query.Cursor, runSort)
		if err != nil {
			return "", nil, err
		}
		below = cursor.Number
	}
	var f filter
	// The terms that may use an index; a plus sign keeps the others from it.
	table := "rq_run r"
	f.add("r.id < ?", below)
	switch {
	case len(query.IDs) > 0:
		f.add("r.id IN (SELECT value FROM json_each(?))", jsonOf(query.IDs))
	case query.Job != "":
		table = "rq_run r INDEXED BY rq_run_job"
	case query.Name != "":
		table = "rq_run r INDEXED BY rq_run_job"
		f.add("r.job_id IN (SELECT n.job_id FROM rq_run_name n WHERE n.name = ?)", query.Name)
	}
	if query.Job != "" {
		f.add("r.job_id = ?", query.Job)
	}
	if query.Name != "" {
		f.add("r.job_name = ?", query.Name)
	}
	if len(query.States) > 0 {
		codes, rarest, err := stateCodes(query.States)
		if err != nil {
			return "", nil, err
		}
		switch {
		case table != "rq_run r" || len(query.IDs) > 0:
		case rarest > 2:
			table = "rq_run r INDEXED BY rq_run_state"
			f.add("r.state > 2")
		}
		f.add("r.state IN (" + codes + ")")
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
	return "SELECT " + runColumns + " FROM " + table + f.where() + " ORDER BY r.id DESC LIMIT ?", append(f.args, limit), nil
}

// stateCodes returns the numbers of the states as a list for SQL, and the least of them.
func stateCodes(states []ruqi.RunState) (list string, least int64, err error) {
	var codes []string
	least = math.MaxInt64
	for _, state := range states {
		code, err := sqlstore.RunStateCode(state)
		if err != nil {
			return "", 0, ruqi.Invalid("/states", string(state), "a run has no such state")
		}
		codes, least = append(codes, strconv.FormatInt(code, 10)), min(least, code)
	}
	return strings.Join(codes, ", "), least, nil
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
