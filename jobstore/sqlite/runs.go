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
		indexed := table == "rq_run r" && len(query.IDs) == 0
		if table, err = f.states(query.States, table, indexed); err != nil {
			return "", nil, err
		}
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
	return "SELECT " + runColumns + " FROM " + table + runMore + f.where() + " ORDER BY r.id DESC LIMIT ?", append(f.args, limit), nil
}

// states adds the term of the states, and names the table with the index that
// finds them when nothing better does. Successes have none: they are most of the history, and the
// walk down the ids meets them at once.
func (f *filter) states(states []ruqi.RunState, table string, index bool) (string, error) {
	var codes []string
	alive, rare, common := false, false, false
	for _, state := range states {
		code, err := sqlstore.RunStateCode(state)
		if err != nil {
			return "", ruqi.Invalid("/states", string(state), "a run has no such state")
		}
		codes = append(codes, strconv.FormatInt(code, 10))
		alive = alive || !state.Ended()
		common = common || state == ruqi.RunSucceeded
		rare = rare || state.Ended() && state != ruqi.RunSucceeded
	}
	in := "r.state IN (" + strings.Join(codes, ", ") + ")"
	f.add(in)
	switch {
	case !index || common:
	case alive && rare:
		f.add(`r.id IN (SELECT r.id FROM rq_run r INDEXED BY rq_run_alive WHERE r.state < 2 AND ` + in +
			` UNION ALL SELECT r.id FROM rq_run r INDEXED BY rq_run_state WHERE r.state > 2 AND ` + in + `)`)
	case alive:
		f.add("r.state < 2")
		return table + " INDEXED BY rq_run_alive", nil
	case rare:
		f.add("r.state > 2")
		return table + " INDEXED BY rq_run_state", nil
	}
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
