package jobstoretest

import (
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var runsRules = []rule{
	{name: "Runs/filters", check: runsFilters,
		law: "each field of a RunQuery selects runs, newest first, and all that are given must hold"},
	{name: "Runs/pages", check: runsPages,
		law: "a cursor goes on where its page ended, also when newer runs were added, and the last page has none"},
	{name: "Runs/page size", check: runsPageSize,
		law: "a page has fifty runs when Limit is 0, and never more than 1,000"},
	{name: "Runs/bad cursor", check: runsBadCursor,
		law: "a wrong cursor is an *InvalidError for /cursor"},
	{name: "Count/all", check: countAll,
		law: "Count tells jobs by state, jobs not finished by pool and need, and running and queued runs"},
}

// history settles n rows of a job that has no next time, a step apart, oldest first, in these states by turns.
func (p *probe) history(id string, n int, states ...ruqi.RunState) []ruqi.Run {
	from := p.now().Add(time.Duration(-n) * step)
	_, runs := p.edit(id, func(ruqi.JobRecord) ruqi.Change {
		var c ruqi.Change
		for i := range n {
			r := row(id, ruqi.CauseSchedule, states[i%len(states)], from.Add(time.Duration(i)*step))
			r.Finished = clonePtr(&r.Nominal)
			if r.State.Started() {
				r.Started = clonePtr(&r.Nominal)
			}
			c.Runs = append(c.Runs, r)
		}
		return c
	})
	if len(runs) != n {
		p.fatalf("%d settled rows were inserted as %d", n, len(runs))
	}
	slices.SortFunc(runs, func(a, b ruqi.Run) int { return a.Nominal.Compare(b.Nominal) })
	return runs
}

func runsFilters(p *probe) {
	owner := p.owner("a")
	p.addJob("b", atMost(9), func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = p.in(time.Hour), p.in(time.Hour) })
	missed := p.history("b", 2, ruqi.RunMissed, ruqi.RunSkipped)
	running := p.startOne(owner, "job", func(r *ruqi.JobRecord) { r.Name = "job" })
	queued := p.runNow("b", 1)[0]
	done := p.startOne(owner, "done")
	p.finish(owner, ended(done.ID, ruqi.RunSucceeded))
	all := []int64{done.ID, queued.ID, running.ID, missed[1].ID, missed[0].ID}
	if !slices.IsSortedFunc(all, func(a, b int64) int { return int(b - a) }) {
		p.fatalf("run ids do not grow: %v", all)
	}
	now, before, after := p.now(), p.now().Add(-step), p.now().Add(time.Microsecond)
	cases := []struct {
		what  string
		query ruqi.RunQuery
		want  []int64
	}{
		{"everything", ruqi.RunQuery{}, all},
		{"ids", ruqi.RunQuery{IDs: []int64{missed[0].ID, 99999, done.ID}}, []int64{done.ID, missed[0].ID}},
		{"a job", ruqi.RunQuery{Job: "b"}, []int64{queued.ID, missed[1].ID, missed[0].ID}},
		{"no job", ruqi.RunQuery{Job: "none"}, nil},
		{"a name", ruqi.RunQuery{Name: "job"}, []int64{running.ID}},
		{"queued", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued}}, []int64{queued.ID}},
		{"alive", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning, ruqi.RunQueued}}, []int64{queued.ID, running.ID}},
		{"ended and alive", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning, ruqi.RunMissed}}, []int64{running.ID, missed[0].ID}},
		{"a cause", ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseManual}}, []int64{queued.ID}},
		{"two causes", ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseManual, ruqi.CauseSchedule}}, all},
		{"from", ruqi.RunQuery{From: &now}, []int64{done.ID, queued.ID, running.ID}},
		{"to", ruqi.RunQuery{To: &now}, []int64{missed[1].ID, missed[0].ID}},
		{"from and to", ruqi.RunQuery{From: &before, To: &now}, []int64{missed[1].ID}},
		{"to a microsecond later", ruqi.RunQuery{From: &now, To: &after}, []int64{done.ID, queued.ID, running.ID}},
		{"a job, states and a cause", ruqi.RunQuery{Job: "b", States: []ruqi.RunState{ruqi.RunMissed, ruqi.RunQueued}, Causes: []ruqi.Cause{ruqi.CauseSchedule}}, []int64{missed[0].ID}},
	}
	for _, c := range cases {
		same(p, "runs by "+c.what, runIDs(p.runs(c.query)), c.want)
	}
}

func runsPages(p *probe) {
	p.addJob("a", idle)
	p.addJob("b", idle)
	a := p.history("a", 10, ruqi.RunMissed)
	p.history("b", 5, ruqi.RunSkipped)
	for what, query := range map[string]ruqi.RunQuery{"of all": {Limit: 4}, "of a job": {Limit: 3, Job: "a"}, "of a state": {Limit: 5, States: []ruqi.RunState{ruqi.RunMissed}}} {
		whole := query
		whole.Limit = 0
		want := runIDs(p.runs(whole))
		if !slices.IsSortedFunc(want, func(a, b int64) int { return int(b - a) }) {
			p.errorf("runs %s are not newest first: %v", what, want)
		}
		var got []int64
		for range 100 {
			page, err := p.Runs(p.ctx, query)
			p.must("a page", err)
			got = append(got, runIDs(page.Runs)...)
			if len(page.Runs) > query.Limit {
				p.errorf("a page has %d runs, the limit was %d", len(page.Runs), query.Limit)
			}
			if query.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		same(p, "pages "+what, got, want)
	}
	page, err := p.Runs(p.ctx, ruqi.RunQuery{Job: "a", Limit: 4})
	p.must("a page", err)
	p.clock.move(time.Hour)
	p.history("a", 3, ruqi.RunMissed)
	page, err = p.Runs(p.ctx, ruqi.RunQuery{Job: "a", Limit: 4, Cursor: page.Next})
	p.must("a page", err)
	want := runIDs(a[2:6])
	slices.Reverse(want)
	same(p, "the second page after newer runs were added", runIDs(page.Runs), want)
}

func runsPageSize(p *probe) {
	p.addJob("a", idle)
	p.history("a", ruqi.MaxPage+1, ruqi.RunMissed)
	for limit, want := range map[int]int{0: ruqi.DefaultPage, ruqi.MaxPage: ruqi.MaxPage} {
		page, err := p.Runs(p.ctx, ruqi.RunQuery{Limit: limit})
		p.must("runs", err)
		equal(p, fmt.Sprintf("the length of a page with Limit %d", limit), len(page.Runs), want)
		equal(p, "there is a page after it", page.Next != "", true)
	}
	if page, err := p.Runs(p.ctx, ruqi.RunQuery{Limit: 5 * ruqi.MaxPage}); err == nil && len(page.Runs) > ruqi.MaxPage {
		p.errorf("a page has %d runs", len(page.Runs))
	}
}

func runsBadCursor(p *probe) {
	p.addJob("a", idle)
	p.history("a", 3, ruqi.RunMissed)
	for _, cursor := range []string{"x", "-", "???", "bm9uc2Vuc2U", "日本", "1 2"} {
		_, err := p.Runs(p.ctx, ruqi.RunQuery{Cursor: cursor})
		p.wantInvalid(fmt.Sprintf("Runs with cursor %q", cursor), err, "/cursor")
	}
}

func countAll(p *probe) {
	owner := p.owner("a")
	want := func(what string, active, paused, finished, common, strange, running, queued int64) {
		got, err := p.Count(p.ctx)
		p.must("count", err)
		list := func(c ruqi.Counts) []int64 {
			return []int64{c.Jobs[ruqi.JobActive], c.Jobs[ruqi.JobPaused], c.Jobs[ruqi.JobFinished],
				c.Needs[ruqi.PoolNeed{Pool: pool, Need: need}], c.Needs[ruqi.PoolNeed{Pool: "p", Need: "n"}], c.Running, c.Queued}
		}
		same(p, "jobs active, paused, finished; with the common need, a strange one; runs running, queued "+what,
			list(got), []int64{active, paused, finished, common, strange, running, queued})
	}
	want("of an empty store", 0, 0, 0, 0, 0, 0, 0)
	p.add(p.record("1", p.later(time.Hour)), p.record("2", p.later(time.Hour)), p.record("3", inState(ruqi.JobPaused)), p.record("4", inState(ruqi.JobFinished)),
		p.record("5", p.later(time.Hour), func(r *ruqi.JobRecord) { r.Pool, r.Needs = "p", "n" }))
	want("of five jobs", 3, 1, 1, 3, 1, 0, 0)
	run := p.startOne(owner, "6")
	p.runNow("1", 2)
	want("with runs", 4, 1, 1, 4, 1, 1, 2)
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: run.ID, State: ruqi.RunSucceeded}, EndJob: "it said so"})
	p.remove("1")
	p.set("2", inState(ruqi.JobPaused))
	want("after an end, a removal and a pause", 1, 2, 2, 2, 1, 0, 0)
}
