package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A statement of the store, and why it may do what others may not.
type planned struct {
	name, sql string
	// scan and sort say why the statement may walk a whole table or index, or sort.
	scan, sort string
}

const listed = "the list holds the runs that were alive when their turn came"

func plannedStatements(t *testing.T) []planned {
	list := []planned{
		{name: "lease", sql: sqlLease},
		{name: "count alive", sql: sqlCountAlive, scan: "walks the instances, which are few"},
		{name: "cancels", sql: sqlCancels},
		{name: "pool after", sql: sqlPoolAfter},
		{name: "lanes", sql: sqlLanes},
		{name: "first due", sql: sqlFirstDue},
		{name: "queued after", sql: sqlQueuedAfter},
		{name: "due up to", sql: sqlDueUpTo},
		{name: "turns up to", sql: sqlTurnsUpTo},
		{name: "turns of rows", sql: sqlTurnsOfRows},
		{name: "turns by leaps", sql: sqlTurnsByLeaps},
		{name: "active up to", sql: sqlActiveUpTo},
		{name: "plain queued", sql: sqlPlainQueued},
		{name: "due jobs", sql: sqlDueJobs},
		{name: "job by seq", sql: sqlJobBySeq},
		{name: "definition", sql: sqlDefinition},
		{name: "job by id", sql: sqlJobByID},
		{name: "advance", sql: sqlAdvance},
		{name: "settle", sql: sqlSettle},
		{name: "start", sql: sqlStart},
		{name: "set task", sql: sqlSetTask},
		{name: "waiting", sql: sqlWaiting},
		{name: "cancel job", sql: sqlCancelJob},
		{name: "cancel batches", sql: sqlCancelBatches},
		{name: "hasten", sql: sqlHasten},
		{name: "finish", sql: sqlFinish},
		{name: "finish more", sql: sqlFinishMore},
		{name: "delete more", sql: sqlDeleteMore},
		{name: "alive", sql: sqlAlive},
		{name: "active", sql: sqlActive},
		{name: "end job", sql: sqlEndJob},
		{name: "update job", sql: sqlUpdateJob},
		{name: "update definition", sql: sqlUpdateDefinition},
		{name: "cancel removed", sql: sqlCancelRemoved},
		{name: "cancel queued", sql: sqlCancelQueued},
		{name: "cancel running", sql: sqlCancelRunning},
		{name: "run by id", sql: sqlRunByID},
		{name: "has runs", sql: sqlHasRuns},
		{name: "set reason", sql: sqlSetReason},
		{name: "extent", sql: sqlExtent},
		{name: "set extent", sql: sqlSetExtent},
		{name: "last chunk", sql: sqlLastChunk},
		{name: "chunk", sql: sqlChunk},
		{name: "chunks", sql: sqlChunks},
		{name: "drop chunks", sql: sqlDropChunks},
		{name: "ledger", sql: sqlLedger},
		{name: "set ledger", sql: sqlSetLedger},
		{name: "renew", sql: sqlRenew},
		{name: "too old", sql: sqlTooOld},
		{name: "last run", sql: sqlLastRun},
		{name: "jobs since", sql: sqlJobsSince, sort: "tells jobs apart among the rows since the last pass"},
		{name: "job after", sql: sqlJobAfter},
		{name: "has more", sql: sqlHasMore},
		{name: "kept", sql: sqlKept},
		{name: "before", sql: sqlBefore},
		{name: "delete output", sql: sqlDeleteOutput},
		{name: "delete runs", sql: sqlDeleteRuns},
		{name: "has job", sql: sqlHasJob},
		{name: "tally up to", sql: sqlTallyUpTo},
		{name: "tally: ends since", sql: sqlUntalliedEnds, scan: listed},
		{name: "tally: not yet", sql: sqlNotYet, scan: "the index holds the few runs that are alive"},
		{name: "tally: no more", sql: sqlNoMore},
		{name: "tally: none there", sql: sqlNoneThere},
		{name: "tally of all", sql: sqlTallyRange[0]},
		{name: "tally of jobs", sql: sqlTallyRange[1], sort: "puts the runs of one step together by job"},
		{name: "tally of names", sql: sqlTallyRange[2], sort: "puts the runs of one step together by name"},
		{name: "tally of a list", sql: sqlTallyList[1], sort: "puts the runs of one step together by job"},
		{name: "tally of what goes", sql: sqlTallyGone[1], sort: "puts the runs of one step together by job"},
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

		{name: "view of a job", sql: `SELECT * FROM ruqi_jobs WHERE id = ?`},
		{name: "view of a history", sql: `SELECT * FROM ruqi_jobs_history WHERE job_id = ?`, scan: "puts the first pieces of each output together"},
		{name: "view of a run", sql: `SELECT * FROM ruqi_jobs_history WHERE id = ?`, scan: "puts the first pieces of the output together"},

		{name: "open jobs", sql: sqlOpenJobs, scan: "the index holds the few runs that are alive"},
		{name: "runs alive", sql: sqlRunsAlive, scan: "the index holds the few runs that are alive, and an instance has died"},
		{name: "count running", sql: sqlCountRunning, scan: "the index holds the few runs that are alive"},
		{name: "count queued", sql: sqlCountQueued, scan: "the index holds the few runs that are queued"},
		{name: "count states", sql: sqlCountStates, scan: "counts all jobs", sort: "groups into three"},
		{name: "count needs", sql: sqlCountNeeds, scan: "counts all jobs", sort: "groups into a few"},
	}
	at := time.Unix(0, 0)
	for name, query := range map[string]ruqi.RunQuery{
		"all runs":            {},
		"next page of runs":   {Cursor: ""},
		"runs of a job":       {Job: "a"},
		"failed runs of job":  {Job: "a", States: []ruqi.RunState{ruqi.RunFailed}},
		"failed runs":         {States: []ruqi.RunState{ruqi.RunFailed}},
		"runs alive":          {States: []ruqi.RunState{ruqi.RunQueued, ruqi.RunRunning}},
		"alive or failed":     {States: []ruqi.RunState{ruqi.RunRunning, ruqi.RunFailed}},
		"running runs":        {States: []ruqi.RunState{ruqi.RunRunning}},
		"succeeded runs":      {States: []ruqi.RunState{ruqi.RunSucceeded}},
		"rare ends":           {States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost}},
		"runs by id":          {IDs: []int64{1, 2}},
		"runs by name":        {Name: "a"},
		"runs between":        {Job: "a", From: &at, To: &at},
		"runs of some causes": {Causes: []ruqi.Cause{ruqi.CauseManual}},
		"executed runs":       {Executed: true},
		"executed, of a job":  {Executed: true, Job: "a"},
		"executed, of a name": {Executed: true, Name: "a", Offset: 100},
		"bad runs of a job":   {Executed: true, Job: "a", States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost}},
		"bad runs of a name":  {Executed: true, Name: "a", States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost}},
		"executed and bad":    {Executed: true, States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunTimedOut, ruqi.RunCancelled, ruqi.RunLost}},
	} {
		sql, _, err := runsQuery(query, nil, sqlstore.Span{Limit: 50, Offset: query.Offset})
		if err != nil {
			t.Fatal(err)
		}
		p := planned{name: name, sql: sql}
		if query.Name != "" || len(query.States) > 1 || len(query.States) == 1 && !query.States[0].Ended() {
			p.sort = "puts the rows of several jobs or states, or the few that are alive, in the order of ids"
		}
		if len(query.States) > 0 && !query.States[0].Ended() {
			p.scan = "the index holds the few runs that are alive"
		}
		list = append(list, p)
	}
	fromEnd, _, err := runsQuery(ruqi.RunQuery{Executed: true, Offset: 100}, nil, sqlstore.Span{Limit: 50, Offset: 100, Back: true})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, planned{name: "executed runs, from the end", sql: fromEnd})
	for name, query := range map[string]ruqi.JobQuery{
		"jobs by id":      {},
		"jobs by name":    {Sort: ruqi.SortName},
		"jobs by created": {Sort: ruqi.SortCreated},
		"jobs by newest":  {Sort: ruqi.SortNewest},
		"jobs by next":    {Sort: ruqi.SortNext},
		"jobs on start":   {OnStart: true},
		"jobs of a name":  {Name: "a", Sort: ruqi.SortNewest},
		"named jobs":      {IDs: []string{"a"}},
	} {
		page, _, _, _, order, err := jobsQuery(query, 50)
		if err != nil {
			t.Fatal(err)
		}
		p := planned{name: name, sql: page}
		sort := query.Sort
		if sort == "" {
			sort = ruqi.SortID
		}
		q := query
		row := ruqi.JobRecord{ID: "a", Name: "a", NextDue: &at, Created: at}
		cursor := order.cursor(&row)
		cursor.Sort = string(sort)
		q.Cursor = cursor.String()
		after, _, _, _, _, err := jobsQuery(q, 50)
		if err != nil {
			t.Fatal(err)
		}
		p2 := planned{name: name + ", next page", sql: after}
		switch {
		case query.Name != "":
			p.sort, p2.sort = "sorts the jobs of a name", "sorts the jobs of a name"
		case query.Sort == ruqi.SortNext:
			p.scan, p.sort = "sorts all jobs: an index by next time would have to be written with each fire", "keeps one page"
			p2.scan, p2.sort = p.scan, p.sort
		case len(query.IDs) > 0:
		case query.OnStart:
			p.scan = "the index holds the jobs that run on start"
		default:
			p.scan = "walks the index in its order up to a page"
		}
		list = append(list, p, p2)
		if q := query; len(q.IDs) == 0 && !q.OnStart && q.Name == "" && q.Sort != ruqi.SortNext {
			q.Offset = 100
			far, _, _, _, _, err := jobsQuery(q, 50)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, planned{name: name + ", by offset", sql: far, scan: p.scan, sort: "sorts the jobs of one page"})
		}
	}
	return list
}

// TestStatementsUseTheirIndexes looks at the plan of each statement: none but
// those with a reason walks a table of jobs or runs, or sorts.
func TestStatementsUseTheirIndexes(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ruqi.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, p := range plannedStatements(t) {
		t.Run(p.name, func(t *testing.T) {
			var steps []string
			err := s.read(t.Context(), "explain", func(c *conn) error {
				return c.query("EXPLAIN QUERY PLAN "+p.sql, make([]any, 40), func(r row) error {
					steps = append(steps, r.text(3))
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			plan := strings.Join(steps, "\n\t")
			scans, sorts := false, false
			for _, step := range steps {
				scans = scans || scansTable(step)
				sorts = sorts || strings.Contains(step, "TEMP B-TREE")
			}
			if scans != (p.scan != "") {
				t.Errorf("scans: %v, expected %q\n\t%s\n%s", scans, p.scan, plan, p.sql)
			}
			if sorts && p.sort == "" {
				t.Errorf("sorts without a reason\n\t%s\n%s", plan, p.sql)
			}
		})
	}
}

// scansTable reports whether the step walks a whole table or index; json_each and
// subqueries are walked by their nature.
func scansTable(step string) bool {
	words := strings.Fields(step)
	if len(words) < 2 || words[0] != "SCAN" {
		return false
	}
	switch words[1] {
	case "json_each", "CONSTANT", "head":
		return false
	}
	return !strings.HasPrefix(words[1], "(subquery")
}
