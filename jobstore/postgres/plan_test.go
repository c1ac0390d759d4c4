package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// A planned statement of the store, and why it may do what others may not.
type planned struct {
	name, sql string
	// scan says why it may read a whole table or index, sort why it may sort more than a handful.
	scan, sort string
}

const (
	fewInstances = "instances are few"
	fewAlive     = "rows that are alive are few"
	listed       = "the list holds the runs that were alive when their turn came"
	oneStep      = "puts the runs of one step together"
)

func plannedStatements(t *testing.T) []planned {
	list := []planned{
		{name: "look", sql: sqlLook.sql, scan: fewInstances, sort: "tells waiting jobs apart"},
		{name: "owner", sql: sqlOwner.sql},
		{name: "due jobs", sql: sqlDueJobs.sql, sort: "puts lanes beside each other by pool"},
		{name: "queued jobs", sql: sqlQueuedJobs.sql, sort: "orders jobs that wait"},
		{name: "definitions", sql: sqlDefinitions},
		{name: "alive runs", sql: sqlAliveRuns, sort: "orders the rows of a few jobs"},
		{name: "apply plain", sql: sqlApplyPlain},
		{name: "apply full", sql: sqlApplyFull},
		{name: "advance", sql: sqlAdvance},
		{name: "start", sql: sqlStart},
		{name: "set task", sql: sqlSetTask},
		{name: "insert runs", sql: sqlInsertRuns},
		{name: "born", sql: sqlBorn},
		{name: "begun runs", sql: sqlBegunRuns},
		{name: "delete idle job", sql: sqlDeleteIdleJob},
		{name: "delete done job", sql: sqlDeleteDoneJob},
		{name: "delete job", sql: sqlDeleteJob},
		{name: "delete definition", sql: sqlDeleteDef},
		{name: "cancel removed", sql: sqlCancelRemoved},
		{name: "forget names of one gone", sql: sqlForgetNamesGone},
		{name: "update job", sql: sqlUpdateJob},
		{name: "update definition", sql: sqlUpdateDefinition},
		{name: "finish", sql: sqlFinish},
		{name: "lock runs", sql: sqlLockRuns, sort: "locks in the order of ids"},
		{name: "finish more", sql: sqlFinishMore},
		{name: "finish what was said", sql: sqlFinishSaid},
		{name: "forget gone", sql: sqlForgetGone, scan: "only of an instance that has said goodbye"},
		{name: "reasons", sql: sqlReasons, sort: "locks in the order of ids"},
		{name: "set reason", sql: sqlSetReason},
		{name: "lock jobs", sql: sqlLockJobs, sort: "locks in the order of ids"},
		{name: "job ids", sql: sqlJobIDs},
		{name: "leave ids", sql: sqlLeaveIDs},
		{name: "jobs of runs", sql: sqlJobsOfRuns, sort: "tells jobs apart"},
		{name: "end job", sql: sqlEndJob},
		{name: "begun", sql: sqlBegun},
		{name: "renewed", sql: sqlRenewed},
		{name: "dead lives", sql: sqlDeadLives, scan: fewInstances + ", and " + fewAlive, sort: "tells owners apart"},
		{name: "lock lives", sql: sqlLockLives, scan: fewInstances, sort: "locks in the order of names"},
		{name: "unknown lives", sql: sqlUnknownLives, scan: fewAlive, sort: "tells owners apart"},
		{name: "dead runs", sql: sqlDeadRuns, scan: fewAlive, sort: "takes the oldest first"},
		{name: "runs by id", sql: sqlRunsByID, sort: "locks in the order of ids"},
		{name: "run by id", sql: sqlRunByID},
		{name: "cancel queued", sql: sqlCancelQueued},
		{name: "cancel running", sql: sqlCancelRunning},
		{name: "asked", sql: sqlAsked},
		{name: "cancel job", sql: sqlCancelJob, sort: "locks in the order of ids"},
		{name: "cancel batches", sql: sqlCancelBatches, sort: "locks in the order of ids"},
		{name: "hasten", sql: sqlHasten, sort: "locks in the order of ids"},
		{name: "extents", sql: sqlExtents, sort: "locks in the order of ids"},
		{name: "set extent", sql: sqlSetExtent},
		{name: "append chunk", sql: sqlAppendChunk},
		{name: "drop chunks", sql: sqlDropChunks},
		{name: "output run", sql: sqlOutputRun},
		{name: "chunks", sql: sqlChunks},
		{name: "too old", sql: sqlTooOld},
		{name: "excess", sql: sqlExcess},
		{name: "last run", sql: sqlLastRun, scan: "takes the last of the index"},
		{name: "open jobs", sql: sqlOpenJobs, scan: fewAlive, sort: "tells jobs apart"},
		{name: "jobs since", sql: sqlJobsSince, sort: "tells jobs apart among the rows since the last pass"},
		{name: "job after", sql: sqlJobAfter},
		{name: "delete runs", sql: sqlDeleteRuns},
		{name: "delete output", sql: sqlDeleteOutput},
		{name: "forget names", sql: sqlForgetNames},
		{name: "tally: last given", sql: sqlLastGiven, scan: "one row"},
		{name: "tally: settled", sql: sqlSettled},
		{name: "tally: lock", sql: sqlLockTally},
		{name: "tally up to", sql: sqlTallyUpTo},
		{name: "tally: not yet", sql: sqlNotYet, scan: fewAlive},
		{name: "tally: set", sql: sqlSetTallied},
		{name: "tally: ends since", sql: sqlEndsSince, scan: listed},
		{name: "tally: no more", sql: sqlUntallied},
		{name: "tally: none there", sql: sqlNoneThere, sort: oneStep},
		{name: "tally of a range", sql: sqlTallyRange, sort: oneStep},
		{name: "tally of a list", sql: sqlTallyList, sort: oneStep},
		{name: "tally of what goes", sql: sqlUntally, sort: oneStep},
		{name: "total of all", sql: sqlTotalAll, scan: listed},
		{name: "total of a job", sql: sqlTotalJob, scan: listed},
		{name: "total of a job and name", sql: sqlTotalJobName, scan: listed},
		{name: "total of a name", sql: sqlTotalName, scan: listed},
		{name: "total of a name of few jobs", sql: sqlTotalFew, scan: listed},
		{name: "jobs of a name", sql: sqlNameJobs},
		{name: "record", sql: sqlRecord},
		{name: "records", sql: sqlRecords},
		{name: "update record", sql: sqlUpdateRecord},
		{name: "delete record", sql: sqlDeleteRecord},
		{name: "new key", sql: sqlNewKey},
		{name: "instances", sql: sqlInstances, scan: fewInstances, sort: fewInstances},
		{name: "view of a job", sql: `SELECT * FROM ruqi_jobs j WHERE id = (SELECT id FROM rq_definition d WHERE d.id = $1)`, scan: "a report reads the jobs"},
		{name: "view of a run", sql: `SELECT * FROM ruqi_jobs_history WHERE id = $1`, sort: "puts the pieces of an output together"},
		{name: "view of a history", sql: `SELECT * FROM ruqi_jobs_history WHERE job_id = $1`, sort: "puts the pieces of outputs together"},
	}
	runs := func(name string, query ruqi.RunQuery, why planned) {
		sql, _, err := runsQuery(query, true, sqlstore.Span{Limit: 50, Offset: query.Offset})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, planned{name: "runs " + name, sql: sql, scan: why.scan, sort: why.sort})
	}
	now := time.Now()
	walk := planned{scan: "walks down the ids until the page is full"}
	runs("", ruqi.RunQuery{}, walk)
	runs("by id", ruqi.RunQuery{IDs: []int64{1}}, planned{sort: "orders the rows named"})
	aliveOfJob := planned{sort: "orders those of the job that are alive; its history comes in order"}
	runs("of a job", ruqi.RunQuery{Job: "x"}, aliveOfJob)
	runs("of a job and state", ruqi.RunQuery{Job: "x", States: []ruqi.RunState{ruqi.RunFailed}}, planned{})
	runs("failed", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost}}, planned{sort: "merges the states"})
	runs("alive", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning, ruqi.RunQueued}}, planned{scan: fewAlive, sort: fewAlive})
	runs("succeeded", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunSucceeded}}, walk)
	runs("of a name", ruqi.RunQuery{Name: "x"}, planned{sort: "merges the jobs of a name"})
	runs("executed", ruqi.RunQuery{Executed: true}, walk)
	runs("executed of a job", ruqi.RunQuery{Executed: true, Job: "x"}, planned{})
	runs("executed of a name", ruqi.RunQuery{Executed: true, Name: "x", Offset: 100}, planned{sort: "merges the jobs of a name"})
	runs("executed and bad", ruqi.RunQuery{Executed: true, States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunTimedOut, ruqi.RunCancelled, ruqi.RunLost}}, planned{sort: "merges the states"})
	runs("started by hand", ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseManual, ruqi.CauseRetry}}, planned{scan: fewAlive, sort: "merges the causes"})
	runs("of a time", ruqi.RunQuery{From: &now, To: &now}, planned{scan: walk.scan, sort: "orders the rows of the time"})
	fromEnd, _, err := runsQuery(ruqi.RunQuery{Executed: true, Offset: 100}, true, sqlstore.Span{Limit: 50, Offset: 100, Back: true})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, planned{name: "runs executed, from the end", sql: fromEnd, scan: "walks up the ids until the page is full"})
	for sort := range jobOrders {
		sql, _, _, _, err := jobsQuery(ruqi.JobQuery{Sort: sort}, sqlstore.Span{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		p := planned{name: "jobs by " + string(sort), sql: sql, scan: "walks the order until the page is full"}
		if sort == ruqi.SortNext {
			p.sort = "no index serves this order: it would be written with each fire"
		}
		list = append(list, p)
		if sort != ruqi.SortNext {
			for _, rows := range []sqlstore.Span{{Limit: 50, Offset: 100}, {Limit: 50, Offset: 100, Back: true}} {
				far, _, _, _, err := jobsQuery(ruqi.JobQuery{Sort: sort, Offset: rows.Offset}, rows)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, planned{name: fmt.Sprint("jobs by ", sort, " and ", rows), sql: far, scan: p.scan, sort: "orders the jobs of one page"})
			}
		}
	}
	onStart, _, _, _, err := jobsQuery(ruqi.JobQuery{OnStart: true}, sqlstore.Span{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	return append(list, planned{name: "jobs on start", sql: onStart, scan: "the index holds them alone"})
}

// Pages of what is rare walk an index of their own: the walk down the ids would read the whole history for nothing.
func TestPagesOfRareRunsHaveTheirIndex(t *testing.T) {
	s, err := Open(t.Context(), postgrestest.Shared(t).Schema(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	conn, err := s.engine.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, c := range []struct {
		query ruqi.RunQuery
		index string
	}{
		{ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseRetry}}, "rq_run_cause"},
		{ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseManual, ruqi.CauseStartup}}, "rq_run_cause"},
		{ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunLost, ruqi.RunFailed}}, "rq_run_state"},
		{ruqi.RunQuery{Job: "x"}, "rq_run_job"},
		{ruqi.RunQuery{Job: "x", States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost}}, "rq_run_bad"},
		{ruqi.RunQuery{Name: "x", States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost}}, "rq_run_bad"},
	} {
		sql, _, err := runsQuery(c.query, true, sqlstore.Span{Limit: 50, Offset: c.query.Offset})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		planOf(t, conn.Conn(), sql).walk(func(n *planNode) { found = found || n.Index == c.index })
		if !found {
			t.Errorf("%+v does not read %s", c.query, c.index)
		}
	}
}

// leading are the first columns of indexes of runs: a condition that leaves the first one out walks the whole index.
var leading = map[string]string{
	"rq_run_alive_pkey": "id", "rq_run_alive_key": "job_id", "rq_run_cancel": "instance",
	"rq_run_ended_pkey": "id", "rq_run_key": "nominal", "rq_run_job": "job_id",
}

// TestEveryStatementHasItsIndex reads the plans of all statements, on tables that are new and empty, as the
// server's statistics show them for a while, on full ones, and where many runs were alive, and none when they were counted.
func TestEveryStatementHasItsIndex(t *testing.T) {
	s, err := Open(t.Context(), postgrestest.Shared(t).Schema(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, state := range []string{"empty", "full", "emptied"} {
		switch state {
		case "full":
			fill(t, s, 20_000, 100_000)
		case "emptied":
			exec(t, s, `INSERT INTO rq_run (id, nominal, due, attempt, cause, state, job_id, job_name, task)
				SELECT nextval('rq_run_id'), now(), now(), 1, 0, 1, 'job ' || n, 'name', 'task' FROM generate_series(1, 20000) n`)
			exec(t, s, "DELETE FROM rq_run_alive")
			exec(t, s, "VACUUM ANALYZE rq_run_alive")
		}
		conn, err := s.engine.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plannedStatements(t) {
			t.Run(state+"/"+p.name, func(t *testing.T) {
				root := planOf(t, conn.Conn(), p.sql)
				root.walk(func(n *planNode) {
					switch {
					case n.Type == "Seq Scan" && strings.HasPrefix(n.Relation, "rq_"), n.isIndexScan() && n.Cond == "" && n.Index != "":
						if p.scan == "" && n.Relation != "rq_ledger" {
							t.Errorf("it reads all of %s (%s %s)", n.Relation, n.Type, n.Index)
						}
					case n.isIndexScan() && p.scan == "" && leading[n.Index] != "" && !regexp.MustCompile(`\b`+leading[n.Index]+`\b`).MatchString(n.Cond):
						t.Errorf("it walks all of %s for %s", n.Index, n.Cond)
					case n.Type == "Sort":
						if p.sort == "" {
							t.Errorf("it sorts by %v", n.SortKey)
						}
					}
				})
				if t.Failed() {
					t.Logf("%s", root.text)
				}
			})
		}
		conn.Release()
	}
}

// A walk over all jobs of a history goes in short statements: however many jobs there are, each ends long before the limit of a step.
func TestAWalkOverAllJobsIsInShortStatements(t *testing.T) {
	s, err := Open(t.Context(), postgrestest.Shared(t).Schema(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const jobs = 2*walkRuns + 1000
	fill(t, s, jobs, jobs)
	h := &history{store: s, ctx: t.Context(), keep: 1}
	if job, found, err := h.JobAfter(""); found || err != nil {
		t.Errorf("where each job has one run, %q has more: %v", job, err)
	}
	exec(t, s, `INSERT INTO rq_run (id, nominal, due, finished, attempt, cause, state, job_id, job_name, task)
		SELECT nextval('rq_run_id'), now(), now(), now(), 1, 0, 2, j, j, 'task' FROM unnest(ARRAY['job 1', 'job 998', 'job 999']) j`)
	after := ""
	for _, want := range []string{"job 1", "job 998", "job 999", ""} {
		job, found, err := h.JobAfter(after)
		if job != want || found != (want != "") || err != nil {
			t.Errorf("after %q comes %q, %t, %v; want %q", after, job, found, err, want)
		}
		after = want
	}
	b := &pgx.Batch{}
	var plans []struct{ Plan *planNode }
	b.Queue("EXPLAIN (ANALYZE, FORMAT JSON) "+sqlJobAfter, "job 1", h.keep, walkRuns).QueryRow(func(row pgx.Row) error { return row.Scan(&plans) })
	if err := s.look(t.Context(), s.engine, b); err != nil {
		t.Fatal(err)
	}
	walked := 0.0
	plans[0].Plan.walk(func(n *planNode) {
		if n.Relation != "" && (n.Type != "Index Only Scan" || n.Index != "rq_run_job") {
			t.Errorf("it reads %s by %s of %s", n.Relation, n.Type, n.Index)
		}
		if n.Type == "Limit" {
			walked = n.Rows
		}
	})
	if walked != walkRuns {
		t.Errorf("one statement walks over %v runs, want %d", walked, walkRuns)
	}
	since, err := h.JobsSince(0)
	slices.Sort(since)
	if want := []string{"job 1", "job 998", "job 999"}; err != nil || !slices.Equal(slices.Compact(since), want) {
		t.Errorf("of all runs %q have more, %v; want %q", since, err, want)
	}
	if since, err := h.JobsSince(jobs + 3); err != nil || len(since) > 0 {
		t.Errorf("after the last run %q have more: %v", since, err)
	}
	// A bound that is longer than a statement's walk: the job is told apart from one that has as many as it may.
	h.keep = walkRuns + 500
	exec(t, s, `INSERT INTO rq_run (id, nominal, due, finished, attempt, cause, state, job_id, job_name, task)
		SELECT nextval('rq_run_id'), now() - n * interval '1 second', now(), now(), 1, 0, 2, j, j, 'task' FROM unnest(ARRAY['many', 'more']) j CROSS JOIN generate_series(1, $1::bigint) n
		WHERE j = 'more' OR n < $1::bigint`, h.keep+1)
	after = ""
	for _, want := range []string{"more", ""} {
		job, found, err := h.JobAfter(after)
		if job != want || found != (want != "") || err != nil {
			t.Errorf("after %q comes %q, %t, %v; want %q", after, job, found, err, want)
		}
		after = want
	}
}

// A planNode is what EXPLAIN says of one node.
type planNode struct {
	Type     string      `json:"Node Type"`
	Relation string      `json:"Relation Name"`
	Index    string      `json:"Index Name"`
	Cond     string      `json:"Index Cond"`
	SortKey  []string    `json:"Sort Key"`
	Parent   string      `json:"Parent Relationship"`
	Rows     float64     `json:"Actual Rows"`
	Loops    float64     `json:"Actual Loops"`
	Hit      int         `json:"Shared Hit Blocks"`
	Read     int         `json:"Shared Read Blocks"`
	Plans    []*planNode `json:"Plans"`
	text     string
}

func (n *planNode) walk(visit func(*planNode)) {
	visit(n)
	for _, below := range n.Plans {
		below.walk(visit)
	}
}

func (n *planNode) isIndexScan() bool { return n.Type == "Index Scan" || n.Type == "Index Only Scan" }

// planOf returns the plan that a statement of the store runs with, whatever its values.
func planOf(t *testing.T, conn *pgx.Conn, sql string) *planNode {
	t.Helper()
	ctx := t.Context()
	description, err := conn.Prepare(ctx, "planned", sql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Deallocate(ctx, "planned"); err != nil {
			t.Error(err)
		}
	}()
	values := ""
	if n := len(description.ParamOIDs); n > 0 {
		values = "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	var plans []struct{ Plan *planNode }
	var text string
	if err := conn.QueryRow(ctx, "EXPLAIN (FORMAT JSON) EXECUTE planned"+values, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	root := plans[0].Plan
	root.text = text
	return root
}

// fill makes jobs that are not due and history, and brings the server's statistics up to it.
func fill(t testing.TB, s *Store, jobs, runs int) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO rq_definition (id, name, version, created, updated, spec) SELECT 'job ' || n, 'name ' || n % 1000, 1, now(), now(), '{}' FROM generate_series(1, $1::int) n`,
		`INSERT INTO rq_job (seq, id, state, reason, pool, needs, priority, max_instances, next_nominal, next_due, run_count, rev)
			SELECT seq, id, 0, '', 'default', 'func:' || seq % 3, 0, 1, now() + seq % 100 * interval '1 hour' + interval '1 hour', now() + seq % 100 * interval '1 hour' + interval '1 hour', 0, 1
			FROM rq_definition WHERE $1::int > 0`,
		`INSERT INTO rq_run_name (name, job_id) SELECT name, id FROM rq_definition WHERE $1::int > 0`,
	} {
		exec(t, s, sql, jobs)
	}
	exec(t, s, `INSERT INTO rq_run (id, nominal, due, started, finished, attempt, cause, state, job_id, job_name, task)
		SELECT nextval('rq_run_id'), t.at, t.at, t.at, t.at, 1, 0, CASE WHEN n % 1000 = 0 THEN 3 ELSE 2 END, 'job ' || n % $2 + 1, 'name ' || (n % $2 + 1) % 1000, 'task'
		FROM generate_series(1, $1::int) n CROSS JOIN LATERAL (SELECT now() - n * interval '1 second' AS at) t`, runs, jobs)
	for _, table := range []string{"rq_definition", "rq_job", "rq_run", "rq_run_name"} {
		exec(t, s, "VACUUM ANALYZE "+table)
	}
}

func exec(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := s.front.Exec(ctx, sql, args...); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", sql, err))
	}
}
