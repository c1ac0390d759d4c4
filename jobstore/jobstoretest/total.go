package jobstoretest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var totalRules = []rule{
	{name: "Jobs/offset", check: jobsOffset,
		law: "Offset passes over so many jobs of the order, and the cursor of such a page goes on after it"},
	{name: "Jobs/bad offset", check: badOffset,
		law: "an offset below 0, or beside a cursor, is an *InvalidError for /offset, of jobs and of runs"},
	{name: "Jobs/on start", check: jobsOnStart,
		law: "OnStart is kept with a job and selects jobs that have it"},
	{name: "Runs/offset", check: runsOffset,
		law: "Offset passes over so many runs that the query selects, and the cursor of such a page goes on after it"},
	{name: "Runs/executed", check: runsExecuted,
		law: "Executed selects runs that were started and have ended"},
	{name: "Runs/total", check: runsTotal,
		law: "a page of executed runs tells how many there are, where its query is one that is tallied, before and after each step that starts, ends or deletes runs"},
	{name: "Runs/no total", check: runsNoTotal,
		law: "no other page tells a total"},
	{name: "Runs/name of many jobs", check: runsOfAName,
		law: "the runs of a name are all those of its jobs, however many these are, and so are their totals"},
	{name: "race/totals", check: raceTotals,
		law: "however many end runs and clean at once, totals are those of the rows"},
}

func jobsOffset(p *probe) {
	var want []string
	for i := range 7 {
		want = append(want, p.addJob(fmt.Sprint("job", i), func(r *ruqi.JobRecord) { r.Tags = []string{fmt.Sprint(i % 2)} }).ID)
		p.clock.move(time.Second)
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for _, c := range []struct {
		query ruqi.JobQuery
		all   []string
	}{
		{ruqi.JobQuery{}, want}, {ruqi.JobQuery{Sort: ruqi.SortNext}, want}, {ruqi.JobQuery{Sort: ruqi.SortName}, want},
		{ruqi.JobQuery{Sort: ruqi.SortCreated}, want}, {ruqi.JobQuery{Sort: ruqi.SortNewest}, newest},
		{ruqi.JobQuery{Sort: ruqi.SortNewest, Tags: []string{"0"}}, []string{"job6", "job4", "job2", "job0"}},
		{ruqi.JobQuery{IDs: []string{"job5", "job1", "job3"}}, []string{"job1", "job3", "job5"}},
	} {
		for offset := range len(c.all) + 2 {
			q := c.query
			q.Offset, q.Limit = offset, 2
			what := fmt.Sprintf("jobs of %+v", q)
			page, err := p.Jobs(p.ctx, q)
			p.must(what, err)
			from := min(offset, len(c.all))
			same(p, what, ids(page.Jobs), c.all[from:min(from+2, len(c.all))])
			equal(p, "the total of "+what, page.Total, int64(len(c.all)))
			equal(p, "there is a page after "+what, page.Next != "", offset+2 < len(c.all))
			if q.Offset, q.Cursor = 0, page.Next; page.Next != "" {
				same(p, "the rest after "+what, p.pages(q, int64(len(c.all))), c.all[offset+2:])
			}
		}
	}
	same(p, "an edit that names an offset", func() (got []string) {
		_, _, err := p.EditJobs(p.ctx, ruqi.JobQuery{Tags: []string{"1"}, Offset: 2}, func(_ time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
			got = append(got, id)
			return ruqi.Change{}
		})
		p.must("edit", err)
		return got
	}(), []string{"job1", "job3", "job5"})
}

func badOffset(p *probe) {
	p.add(p.record("a", idle), p.record("b", idle))
	p.history("a", 3, ruqi.RunSucceeded)
	jobs, err := p.Jobs(p.ctx, ruqi.JobQuery{Limit: 1})
	p.must("jobs", err)
	runs, err := p.Runs(p.ctx, ruqi.RunQuery{Limit: 1})
	p.must("runs", err)
	for offset, cursors := range map[int][2]string{-1: {}, 1: {jobs.Next, runs.Next}} {
		_, err := p.Jobs(p.ctx, ruqi.JobQuery{Offset: offset, Cursor: cursors[0]})
		p.wantInvalid(fmt.Sprintf("jobs with offset %d and cursor %q", offset, cursors[0]), err, "/offset")
		_, err = p.Runs(p.ctx, ruqi.RunQuery{Offset: offset, Cursor: cursors[1]})
		p.wantInvalid(fmt.Sprintf("runs with offset %d and cursor %q", offset, cursors[1]), err, "/offset")
	}
}

func jobsOnStart(p *probe) {
	on := func(r *ruqi.JobRecord) { r.OnStart = true }
	p.add(p.record("a", on), p.record("b"), p.record("c", on, inState(ruqi.JobPaused)), p.record("d"))
	equal(p, "OnStart of a job that has it", p.job("a").OnStart, true)
	equal(p, "OnStart of a job that has it not", p.job("b").OnStart, false)
	same(p, "jobs by OnStart", ids(p.list(ruqi.JobQuery{OnStart: true})), []string{"a", "c"})
	same(p, "active jobs by OnStart", ids(p.list(ruqi.JobQuery{OnStart: true, State: ruqi.JobActive})), []string{"a"})
	p.set("a", func(r *ruqi.JobRecord) { r.OnStart = false })
	p.set("d", on)
	p.set("c", func(r *ruqi.JobRecord) { r.Version++ })
	same(p, "jobs by OnStart after edits", ids(p.list(ruqi.JobQuery{OnStart: true})), []string{"c", "d"})
	owner := p.owner("o")
	c := p.claim(request(owner), fire)
	for _, j := range c.Jobs {
		equal(p, "OnStart of job "+j.ID+" as a claim returns it", j.OnStart, j.ID == "d")
	}
	same(p, "jobs by OnStart after a claim", ids(p.list(ruqi.JobQuery{OnStart: true})), []string{"c", "d"})
}

func runsOffset(p *probe) {
	p.addJob("a", idle)
	p.addJob("b", idle)
	p.history("a", 9, ruqi.RunSucceeded, ruqi.RunFailed, ruqi.RunMissed)
	p.clock.move(time.Hour)
	p.history("b", 6, ruqi.RunLost, ruqi.RunTimedOut, ruqi.RunSkipped)
	for _, query := range []ruqi.RunQuery{
		{}, {Job: "a"}, {Name: "b"}, {Executed: true}, {Executed: true, Name: "a"}, {States: []ruqi.RunState{ruqi.RunMissed}},
		{States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunLost, ruqi.RunTimedOut}}, {Name: "a", States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunMissed}},
	} {
		all := runIDs(p.runs(query))
		if len(all) < 3 {
			p.errorf("there are %d runs of %+v", len(all), query)
		}
		for offset := range len(all) + 2 {
			q := query
			q.Offset, q.Limit = offset, 2
			what := fmt.Sprintf("runs of %+v", q)
			page, err := p.Runs(p.ctx, q)
			p.must(what, err)
			from := min(offset, len(all))
			same(p, what, runIDs(page.Runs), all[from:min(from+2, len(all))])
			equal(p, "there is a page after "+what, page.Next != "", offset+2 < len(all))
			if q.Offset, q.Cursor, q.Limit = 0, page.Next, 0; page.Next != "" {
				same(p, "the rest after "+what, runIDs(p.runs(q)), all[offset+2:])
			}
		}
	}
}

// badEnds are the ends of executed runs that did not succeed.
var badEnds = []ruqi.RunState{ruqi.RunLost, ruqi.RunFailed, ruqi.RunCancelled, ruqi.RunTimedOut}

func runsExecuted(p *probe) {
	owner := p.owner("a")
	p.addJob("job", idle, atMost(9))
	rows := p.history("job", 7, ruqi.RunStates()[2:]...)
	queued := p.runNow("job", 2)
	_, err := p.Cancel(p.ctx, queued[0].ID, "ann")
	p.must("cancel", err)
	running := p.startOne(owner, "other")
	done := p.startOne(owner, "done")
	p.finish(owner, ended(done.ID, ruqi.RunCancelled))
	want := append([]int64{done.ID}, runIDs(rows[:5])...)
	slices.Sort(want[1:])
	slices.Reverse(want[1:])
	same(p, "executed runs", runIDs(p.runs(ruqi.RunQuery{Executed: true})), want)
	same(p, "executed runs of a job", runIDs(p.runs(ruqi.RunQuery{Executed: true, Job: "job"})), want[1:])
	same(p, "executed runs that were cancelled", runIDs(p.runs(ruqi.RunQuery{Executed: true, States: []ruqi.RunState{ruqi.RunCancelled}})), []int64{done.ID, rows[3].ID})
	same(p, "executed runs that run", runIDs(p.runs(ruqi.RunQuery{Executed: true, IDs: []int64{running.ID, queued[1].ID}})), nil)
	same(p, "executed runs that were missed", runIDs(p.runs(ruqi.RunQuery{Executed: true, States: []ruqi.RunState{ruqi.RunMissed, ruqi.RunSkipped}})), nil)
}

// wantTotals compares the totals of all executed runs, and those of jobs and names, with the rows.
func (p *probe) wantTotals(when string, jobs, names []string) {
	if err := p.totals(p.Store, when, jobs, names); err != nil {
		p.must("totals "+when, err)
	}
}

func (p *probe) totals(s Store, when string, jobs, names []string) error {
	var queries []ruqi.RunQuery
	for _, job := range append([]string{""}, jobs...) {
		for _, name := range append([]string{""}, names...) {
			queries = append(queries, ruqi.RunQuery{Job: job, Name: name})
		}
	}
	for _, query := range queries {
		for _, states := range [][]ruqi.RunState{nil, {ruqi.RunSucceeded}, badEnds} {
			query.Executed, query.States, query.Limit, query.Cursor = true, states, ruqi.MaxPage, ""
			page, err := s.Runs(p.ctx, query)
			if err != nil {
				return err
			}
			if page.Total == nil {
				p.errorf("%s the page of %+v tells no total", when, query)
				continue
			}
			if page.Next == "" && *page.Total != int64(len(page.Runs)) {
				p.errorf("%s the total of %+v is %d, and there are %d runs", when, query, *page.Total, len(page.Runs))
			}
		}
	}
	return nil
}

func runsTotal(p *probe) {
	jobs, names := []string{"a", "b", "c", "none"}, []string{"a", "b", "same", "none"}
	same := func(r *ruqi.JobRecord) { r.Name = "same" }
	clean := func(r ruqi.Retention) {
		for range 3 { // what one leaves the next may take up
			_, err := p.Clean(p.ctx, r)
			p.must("clean", err)
			p.wantTotals("after a clean", jobs, names)
		}
	}
	owner := p.owner("o")
	p.wantTotals("of an empty store", jobs, names)
	clean(ruqi.Retention{Runs: 100})
	p.addJob("a", idle, atMost(9))
	p.addJob("b", idle, same)
	p.history("a", 14, ruqi.RunStates()[2:]...)
	p.wantTotals("of a history", jobs, names)
	clean(ruqi.Retention{Runs: 100})
	queued := p.runNow("a", 5) // the marks that a clean may keep pass runs that wait, and that run
	clean(ruqi.Retention{Runs: 100})
	running := p.claim(request(owner), fire).Runs
	if len(running) == 0 {
		p.fatalf("nothing was started")
	}
	p.wantTotals("while runs are alive", jobs, names)
	clean(ruqi.Retention{Runs: 100})
	for i, run := range running {
		done := ended(run.ID, []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunFailed}[i%2])
		done.Run.Finished = p.in(-time.Hour) // an end that comes late has the time at which it was
		p.finish(owner, done)
		p.wantTotals("after an end", jobs, names)
	}
	for _, run := range queued {
		if _, err := p.Cancel(p.ctx, run.ID, "ann"); err == nil {
			p.wantTotals("after a cancel", jobs, names)
		}
	}
	clean(ruqi.Retention{Runs: 100})
	p.set("a", same)
	p.clock.move(time.Hour)
	_, err := p.edits("a", "same", ruqi.RunSucceeded, 3)
	p.must("history", err)
	p.wantTotals("under a new name", jobs, names)
	clean(ruqi.Retention{Runs: 4, NonRuns: 1})
	p.remove("b")
	_, err = p.edits("a", "a", ruqi.RunFailed, 2)
	p.must("history", err)
	clean(ruqi.Retention{Runs: 2})
	p.clock.move(time.Hour)
	clean(ruqi.Retention{Age: time.Minute})
	equal(p, "the total in the end", *p.total(ruqi.RunQuery{Executed: true}), int64(0))
	_, err = p.edits("a", "same", ruqi.RunSucceeded, 2)
	p.must("history", err)
	late := p.startOne(owner, "c", same)
	p.wantTotals("after all was deleted", jobs, names)
	clean(ruqi.Retention{Runs: 100})
	p.finish(owner, ended(late.ID, ruqi.RunFailed))
	p.clock.move(time.Hour)
	clean(ruqi.Retention{Age: time.Minute}) // it goes before it was counted
	equal(p, "the total after all was deleted again", *p.total(ruqi.RunQuery{Executed: true}), int64(0))
}

func (p *probe) total(query ruqi.RunQuery) *int64 {
	page, err := p.Runs(p.ctx, query)
	p.must("runs", err)
	if page.Total == nil {
		p.fatalf("the page of %+v tells no total", query)
	}
	return page.Total
}

// edits settles executed rows of a job under a name.
func (p *probe) edits(job, name string, state ruqi.RunState, n int) ([]ruqi.Run, error) {
	_, runs, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{job}}, func(now time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
		var c ruqi.Change
		for i := range n {
			r := row(id, ruqi.CauseBackfill, state, now.Add(time.Duration(i)*time.Second))
			r.JobName, r.Started, r.Finished = name, clonePtr(&r.Nominal), clonePtr(&r.Nominal)
			c.Runs = append(c.Runs, r)
		}
		if old != nil && old.Name != name {
			renamed := *old
			renamed.Name = name
			c.Job = &renamed
		}
		return c
	})
	p.clock.move(time.Minute)
	return runs, err
}

func runsOfAName(p *probe) {
	const many = 300
	var ids []string
	for i := range many {
		ids = append(ids, fmt.Sprintf("job%03d", i))
	}
	crowded := func(now time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
		job := p.record(id, idle, func(r *ruqi.JobRecord) { r.Name = "crowd" })
		c := ruqi.Change{Job: &job}
		for i, state := range []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunMissed, badEnds[int(id[5])%len(badEnds)]} {
			r := row(id, ruqi.CauseBackfill, state, now.Add(time.Duration(i)*time.Second))
			r.JobName, r.Finished = "crowd", clonePtr(&r.Nominal)
			if state.Started() {
				r.Started = clonePtr(&r.Nominal)
			}
			c.Runs = append(c.Runs, r)
		}
		return c
	}
	var runs []ruqi.Run
	for part := range slices.Chunk(ids, 50) { // few enough for the limit of a step also on a machine that does other things
		_, more, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: part}, crowded)
		p.must("add many jobs of a name", err)
		runs = append(runs, more...)
	}
	p.addJob("alone", idle)
	p.history("alone", 5, ruqi.RunStates()[2:]...)
	of := func(states ...ruqi.RunState) []int64 {
		var list []int64
		for _, r := range runs {
			if len(states) == 0 || slices.Contains(states, r.State) {
				list = append(list, r.ID)
			}
		}
		slices.Sort(list)
		slices.Reverse(list)
		return list
	}
	for _, c := range []struct {
		states   []ruqi.RunState
		executed bool
		want     []int64
	}{
		{nil, false, of()}, {nil, true, of(append(badEnds, ruqi.RunSucceeded)...)},
		{badEnds, true, of(badEnds...)}, {badEnds[:1], false, of(badEnds[0])}, {[]ruqi.RunState{ruqi.RunMissed, ruqi.RunFailed}, false, of(ruqi.RunMissed, ruqi.RunFailed)},
		{[]ruqi.RunState{ruqi.RunSucceeded}, true, of(ruqi.RunSucceeded)}, {[]ruqi.RunState{ruqi.RunQueued}, false, nil},
	} {
		for _, offset := range []int{0, 40} {
			query := ruqi.RunQuery{Name: "crowd", States: c.states, Executed: c.executed, Offset: offset}
			same(p, fmt.Sprintf("runs of %+v", query), runIDs(p.runs(query)), c.want[min(offset, len(c.want)):])
		}
	}
	names := []string{"crowd", "alone"}
	p.wantTotals("of a name of many jobs", ids[:1], names)
	for range 3 {
		_, err := p.Clean(p.ctx, ruqi.Retention{})
		p.must("clean", err)
	}
	p.wantTotals("of a name of many jobs after a clean", ids[:1], names)
}

func runsNoTotal(p *probe) {
	p.addJob("a", idle)
	p.history("a", 7, ruqi.RunStates()[2:]...)
	now := p.now()
	for _, query := range []ruqi.RunQuery{
		{}, {Job: "a"}, {States: []ruqi.RunState{ruqi.RunSucceeded}},
		{Executed: true, States: []ruqi.RunState{ruqi.RunFailed}}, {Executed: true, States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunTimedOut, ruqi.RunCancelled}},
		{Executed: true, States: append([]ruqi.RunState{ruqi.RunSucceeded}, badEnds...)}, {Executed: true, States: []ruqi.RunState{ruqi.RunMissed}},
		{Executed: true, Causes: []ruqi.Cause{ruqi.CauseSchedule}}, {Executed: true, IDs: []int64{1}},
		{Executed: true, From: &now}, {Executed: true, To: &now},
	} {
		page, err := p.Runs(p.ctx, query)
		p.must("runs", err)
		if page.Total != nil {
			p.errorf("the page of %+v tells a total of %d", query, *page.Total)
		}
	}
	equal(p, "the total on a second page", *p.total(ruqi.RunQuery{Executed: true, Offset: 3, Limit: 1}), int64(5))
}

func raceTotals(p *probe) {
	var jobs, names []string
	for i := range raceJobs {
		id := fmt.Sprint("job", i)
		jobs = append(jobs, id)
		p.addJob(id, func(r *ruqi.JobRecord) { r.Name = fmt.Sprint("name", i%3) })
	}
	names = []string{"name0", "name1", "name2", "job0"}
	var started sync.WaitGroup
	started.Add(racers)
	p.race(racers, func(i int, s Store) {
		beat, err := s.Beat(p.ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: fmt.Sprint("racer", i)}, Lease: lease})
		started.Done()
		if err != nil {
			p.errorf("beat: %v", err)
			return
		}
		started.Wait()
		var mine []ruqi.Run
		for n := range raceSteps {
			p.clock.move(step / racers)
			c, err := s.Claim(p.ctx, request(beat.Owner), planner(fire).decide)
			if err != nil {
				p.errorf("claim: %v", err)
				return
			}
			mine = append(mine, c.Runs...)
			var done []ruqi.Done
			for len(mine) > 2 { // some are alive whenever a mark passes
				done, mine = append(done, ended(mine[0].ID, []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunFailed}[n%2])), mine[1:]
			}
			if _, err := s.Finish(p.ctx, beat.Owner, done); err != nil {
				p.errorf("finish: %v", err)
				return
			}
			if n%3 == i%3 {
				if _, err := s.Clean(p.ctx, ruqi.Retention{Runs: 5}); err != nil {
					p.errorf("clean: %v", err)
					return
				}
			}
			if err := p.totals(s, "in the race", jobs[:1], names[:1]); err != nil {
				p.errorf("totals: %v", err)
				return
			}
		}
	})
	p.wantTotals("after the race", jobs, names)
	for range 3 {
		_, err := p.Clean(p.ctx, ruqi.Retention{Runs: 3})
		p.must("clean", err)
	}
	p.wantTotals("after the race and a clean", jobs, names)
}
