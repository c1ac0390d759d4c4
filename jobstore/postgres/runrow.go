package postgres

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// runColumns are the columns that scanRun reads, of the table named r.
const runColumns = `r.id, r.parent_id, r.attempt, r.job_id, r.job_name, r.task, r.cause, r.state, r.reason,
	r.nominal, r.due, r.started, r.finished, r.coalesced, r.coalesced_from, r.batch, r.instance, r.epoch,
	r.cancel_by, r.params, r.result, r.progress, r.exit_code, r.signal, r.output_bytes, r.output_cut, r.cpu, r.max_rss, r.progress_text`

func scanRun(rows pgx.Row) (ruqi.Run, error) {
	var run ruqi.Run
	var cause, state int16
	var parent, coalesced, exit, bytes, cpu, rss *int64
	var cancelBy, params, result, signal, text *string
	var cut *bool
	err := rows.Scan(&run.ID, &parent, &run.Attempt, &run.JobID, &run.JobName, &run.Task, &cause, &state, &run.Reason,
		timeAt{&run.Nominal}, timeAt{&run.Due}, timeOrNil{&run.Started}, timeOrNil{&run.Finished}, &coalesced, timeOrNil{&run.CoalescedFrom},
		&run.Batch, &run.Owner.Instance, &run.Owner.Epoch, &cancelBy, &params, &result, &run.Progress, &exit, &signal, &bytes, &cut, &cpu, &rss, &text)
	if err != nil {
		return run, err
	}
	run.Cause, run.State = sqlstore.Cause(int64(cause)), sqlstore.RunState(int64(state))
	run.ParentID, run.Coalesced, run.CancelBy, run.Signal = zero(parent), zero(coalesced), zero(cancelBy), zero(signal)
	run.OutputBytes, run.OutputCut, run.MaxRSS, run.ProgressText = zero(bytes), zero(cut), zero(rss), zero(text)
	run.CPU = time.Duration(zero(cpu)) * time.Microsecond
	if params != nil {
		run.Params = json.RawMessage(*params)
	}
	if result != nil {
		run.Result = json.RawMessage(*result)
	}
	if exit != nil {
		code := int(*exit)
		run.ExitCode = &code
	}
	return run, nil
}

// A rowWith is a row with more columns at its end than are asked for.
type rowWith struct {
	pgx.Row
	more []any
}

func (r rowWith) Scan(targets ...any) error { return r.Row.Scan(append(targets, r.more...)...) }

// A runKey is what is unique of a run.
type runKey struct {
	job     string
	cause   int16
	nominal int64
	attempt int
}

// newRuns are rows to be inserted, column by column.
type newRuns struct {
	runs []*ruqi.Run
	keys map[runKey]int

	nominal, due, started, finished, coalescedFrom stamps
	epoch, batch                                   []int64
	attempt                                        []int32
	cause, state                                   []int16
	job, name, task, instance, reason              []string
	params, cancelBy, signal, result, progressText []*string
	parent, coalesced, exit, cpu, rss              []*int64
	progress                                       []*float64
	plain                                          bool
}

func (n *newRuns) grow(size int) {
	n.keys = make(map[runKey]int, size)
	n.plain = true
	n.nominal, n.due = make(stamps, 0, size), make(stamps, 0, size)
	n.attempt, n.cause = make([]int32, 0, size), make([]int16, 0, size)
	n.job, n.name, n.task = make([]string, 0, size), make([]string, 0, size), make([]string, 0, size)
	n.params = make([]*string, 0, size)
}

// add takes a run in, giving it the form in which it will be read. It belongs to the store. A second of the same key is left out.
func (n *newRuns) add(run *ruqi.Run, now time.Time) error {
	run.Attempt = max(run.Attempt, 1)
	state, err := sqlstore.RunStateCode(run.State)
	if err != nil {
		return err
	}
	cause, err := sqlstore.CauseCode(run.Cause)
	if err != nil {
		return err
	}
	if run.State.Ended() && run.Finished == nil {
		run.Finished = &now
	}
	run.Nominal, run.Due = micro(run.Nominal), micro(run.Due)
	run.Started, run.Finished, run.CoalescedFrom = microPtr(run.Started), microPtr(run.Finished), microPtr(run.CoalescedFrom)
	run.OutputBytes, run.OutputCut = 0, false
	run.CPU = run.CPU.Truncate(time.Microsecond)
	run.JobName, run.Task, run.Reason, run.CancelBy = textOf(run.JobName), textOf(run.Task), textOf(run.Reason), textOf(run.CancelBy)
	key := runKey{run.JobID, int16(cause), sqlstore.Micros(run.Nominal), run.Attempt}
	if _, twice := n.keys[key]; twice {
		return nil
	}
	n.keys[key] = len(n.runs)
	n.runs = append(n.runs, run)
	n.nominal = append(n.nominal, stamp(&run.Nominal))
	n.due = append(n.due, stamp(&run.Due))
	n.attempt = append(n.attempt, int32(run.Attempt))
	n.cause = append(n.cause, int16(cause))
	n.state = append(n.state, int16(state))
	n.job, n.name, n.task = append(n.job, run.JobID), append(n.name, run.JobName), append(n.task, run.Task)
	n.params = append(n.params, jsonText(run.Params))
	n.plain = n.plain && plainBirth(run)
	return nil
}

// plainBirth reports whether the run has nothing but what a plain birth writes.
func plainBirth(run *ruqi.Run) bool {
	return run.State == ruqi.RunRunning && run.Batch == 0 && run.Reason == "" && run.CancelBy == "" && !hasMore(run)
}

// hasMore reports whether the run has what only some have.
func hasMore(run *ruqi.Run) bool {
	return run.ParentID != 0 || run.Coalesced != 0 || run.CoalescedFrom != nil || run.Result != nil || run.Progress != nil || hasEnd(run)
}

// hasEnd reports whether the run has what the end of a process brings.
func hasEnd(run *ruqi.Run) bool {
	return run.ExitCode != nil || run.Signal != "" || run.CPU != 0 || run.MaxRSS != 0
}

func exitCode(run *ruqi.Run) *int64 {
	if run.ExitCode == nil {
		return nil
	}
	code := int64(*run.ExitCode)
	return &code
}

// newRunColumns are the columns of every insertion that is not plain, in the order of fullArgs.
const newRunColumns = `nominal, due, attempt, cause, state, job_id, job_name, task, params, started, finished, instance, epoch,
	batch, reason, cancel_by, parent_id, coalesced, coalesced_from, exit_code, signal, cpu, max_rss, result, progress, progress_text`

// fullArgs are the values for newRunColumns, one array a column.
func (n *newRuns) fullArgs() []any {
	for _, run := range n.runs {
		n.started = append(n.started, stamp(run.Started))
		n.finished = append(n.finished, stamp(run.Finished))
		n.coalescedFrom = append(n.coalescedFrom, stamp(run.CoalescedFrom))
		n.instance, n.epoch = append(n.instance, run.Owner.Instance), append(n.epoch, run.Owner.Epoch)
		n.batch, n.reason = append(n.batch, run.Batch), append(n.reason, run.Reason)
		n.cancelBy, n.signal = append(n.cancelBy, orNil(run.CancelBy)), append(n.signal, orNil(run.Signal))
		n.parent, n.coalesced = append(n.parent, orNil(run.ParentID)), append(n.coalesced, orNil(run.Coalesced))
		n.exit, n.cpu, n.rss = append(n.exit, exitCode(run)), append(n.cpu, orNil(run.CPU.Microseconds())), append(n.rss, orNil(run.MaxRSS))
		n.result, n.progress = append(n.result, jsonText(run.Result)), append(n.progress, run.Progress)
		n.progressText = append(n.progressText, orNil(textOf(run.ProgressText)))
	}
	return []any{n.nominal, n.due, n.attempt, n.cause, n.state, n.job, n.name, n.task, n.params, n.started, n.finished, n.instance, n.epoch,
		n.batch, n.reason, n.cancelBy, n.parent, n.coalesced, n.coalescedFrom, n.exit, n.signal, n.cpu, n.rss, n.result, n.progress, n.progressText}
}

// fullTypes are the types of fullArgs.
var fullTypes = []string{"timestamptz", "timestamptz", "int", "smallint", "smallint", "text", "text", "text", "text", "timestamptz", "timestamptz", "text", "bigint",
	"bigint", "text", "text", "bigint", "bigint", "timestamptz", "bigint", "text", "bigint", "bigint", "text", "double precision", "text"}

// born notes the id that a row of returningKey tells, with what comes after it, and returns the place of its run; -1: of none.
func (n *newRuns) born(rows pgx.Rows, more ...any) (at int, err error) {
	var id int64
	var key runKey
	var nominal time.Time
	if err := rows.Scan(append([]any{&id, &key.job, &key.cause, timeAt{&nominal}, &key.attempt}, more...)...); err != nil {
		return -1, err
	}
	key.nominal = sqlstore.Micros(nominal)
	at, known := n.keys[key]
	if !known {
		return -1, nil
	}
	n.runs[at].ID = id
	return at, nil
}

const returningKey = ` RETURNING id, job_id, cause, nominal, attempt`

// freeKey says that no row has the key of the new row n. Who makes runs of a job holds its lock, or that of its id where it is gone, so what
// the statement does not see will not come either.
const freeKey = `NOT EXISTS (SELECT FROM rq_run k WHERE k.nominal = n.nominal AND k.job_id = n.job_id AND k.cause = n.cause AND k.attempt = n.attempt OFFSET 0)`

// sqlInsertRuns inserts rows of any kind whose keys are free.
var sqlInsertRuns = `INSERT INTO rq_run (id, ` + newRunColumns + `)
	SELECT nextval('rq_run_id'), n.* FROM unnest(` + arrays(1, fullTypes...) + `) n (` + newRunColumns + `) WHERE ` + freeKey + returningKey + `, state`

// insert queues the insertion of the rows; those inserted have their ids once the batch is read.
func (n *newRuns) insert(b *pgx.Batch) {
	if len(n.runs) > 0 {
		queue(b, sqlInsertRuns, n.fullArgs(), func(rows pgx.Rows) error {
			var state int16
			_, err := n.born(rows, &state)
			return err
		})
	}
}

// sqlInsertRunName lists a job's runs under a name. sqlHoldRunName does so for a new job: it takes the lock of a row that is there, so
// that Clean, which forgets the names of jobs that are gone, sees the job when it has the lock.
const sqlHoldRunName = `INSERT INTO rq_run_name (name, job_id) VALUES ($1, $2) ON CONFLICT (name, job_id) DO UPDATE SET name = excluded.name`
const sqlInsertRunName = `INSERT INTO rq_run_name (name, job_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`

// sameID finds the rows r, which are alive, by the ids of v. It says "equal" so that only an index with the id of each can serve it: an
// equation could be merged, too, by a walk over all rows that are alive, and when the server's statistics show none (they are
// few, or none were there at the last look) it would take that for as cheap, and walk once for each id.
const sameID = `r.id >= v.id AND r.id <= v.id`

// stillAlive says of rows r that they are alive where a statement moves them to the history. The number is a question, so that the plan
// keeps both partitions, and passes over the history when it is executed: where one partition is left in a plan, PostgreSQL 18 forgets
// that a walk over all its rows is disabled, and takes it while the statistics show few. A statement that moves no row names rq_run_alive.
const stillAlive = `r.state < (SELECT 2)`

// stateIs compares the state of rows that are alive, which the term before it says (state < 2), where they are found by their ids.
// Written so, the index of the queued ones does not serve it: when the server's statistics show none it would take it for empty,
// and walk it for each id.
const stateIs = `state + 0 =`

// runsOfIDs are the rows r, alive and ended, that have the ids $1, in their order. Each is looked for by itself: in a join the server would
// walk all rows that are alive for each id, when its statistics show none.
const runsOfIDs = `unnest($1::bigint[]) v (id) CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.id = v.id OFFSET 0) r`

const sqlRunByID = `SELECT ` + runColumns + ` FROM rq_run r WHERE r.id = $1`
