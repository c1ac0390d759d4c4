package jobstoretest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var editRules = []rule{
	{name: "EditJobs/add", check: editAdds,
		law: "decide is called with old nil and active 0 for an id that is not there, and Change.Job is then written whole, Created and Updated being the store's now"},
	{name: "EditJobs/modify", check: editModifies,
		law: "a Change.Job of an existing job is written, Updated is set, Created and RunCount are kept"},
	{name: "EditJobs/keep", check: editKeeps,
		law: "a Change without a Job keeps the job as it is, and returns it"},
	{name: "EditJobs/ids in order", check: editInOrder,
		law: "decide is called for each of query.IDs in order, with old nil for one that is not there or that the rest of the query does not select"},
	{name: "EditJobs/query", check: editByQuery,
		law: "without ids the jobs that the query selects are edited, by id, at most Limit of them, and all when Limit is 0"},
	{name: "EditJobs/abort", check: editAborts,
		law: "a Change with Err ends the edit: nothing is written, of no job, and Err is returned as it is"},
	{name: "EditJobs/panic", check: editPanics,
		law: "a panic of decide is passed on to the caller, nothing having been written, and the store goes on"},
	{name: "EditJobs/remove", check: editRemoves,
		law: "Remove deletes the job and returns it as it was: queued rows become cancelled with the reason \"job removed\", running ones go on, history stays"},
	{name: "EditJobs/hasten", check: editHastens,
		law: "Hasten makes the job's queued rows that are due later due now, but those of cause retry, and changes nothing else"},
	{name: "EditJobs/moves", check: editMoves,
		law: "a job whose pool, needs, priority, state or next time is edited is claimed by the new ones"},
	{name: "EditJobs/live", check: editLive,
		law: "a store that keeps live definitions returns the very one it was given; a store that lasts drops it and keeps Spec"},
}

// wantRecord notes every field of a record that is not as wanted, but Live.
func (p *probe) wantRecord(what string, got, want ruqi.JobRecord) {
	text := func(r ruqi.JobRecord) string {
		return fmt.Sprintf("id %q name %q state %s reason %q pool %q needs %q priority %d max %d tags %q version %d runs %d spec %q",
			r.ID, r.Name, r.State, r.Reason, r.Pool, r.Needs, r.Priority, r.MaxInstances, r.Tags, r.Version, r.RunCount, r.Spec)
	}
	equal(p, what, text(got), text(want))
	p.wantTime(what+": NextNominal", got.NextNominal, want.NextNominal)
	p.wantTime(what+": NextDue", got.NextDue, want.NextDue)
	p.wantTime(what+": Created", &got.Created, &want.Created)
	p.wantTime(what+": Updated", &got.Updated, &want.Updated)
}

func editAdds(p *probe) {
	want := ruqi.JobRecord{
		ID: "jobs/日本 1", Name: "a name ü", State: ruqi.JobPaused, Reason: "as it was told", Pool: "command", Needs: "func:send",
		Priority: -7, MaxInstances: 3, Tags: []string{"b", "a", "ü"}, NextNominal: p.in(time.Hour), NextDue: p.in(time.Hour + time.Microsecond),
		Version: 4, Spec: []byte("any\x00bytes\xff"),
	}
	calls := 0
	jobs, runs, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{want.ID}}, func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change {
		calls++
		p.wantTime("the now of decide", &now, p.in(0))
		if id != want.ID || old != nil || active != 0 {
			p.errorf("decide got id %q, old %v, active %d; want %q, nil, 0", id, old, active, want.ID)
		}
		r := clone(want)
		return ruqi.Change{Job: &r}
	})
	p.must("add", err)
	if calls == 0 || len(jobs) != 1 || len(runs) != 0 {
		p.fatalf("decide was called %d times, %d jobs and %d runs came back; want 1 job and no run", calls, len(jobs), len(runs))
	}
	want.Created, want.Updated = p.now(), p.now()
	p.wantRecord("the job returned", jobs[0], want)
	p.wantRecord("the job stored", p.job(want.ID), want)

	bare := ruqi.JobRecord{ID: "bare", Name: "bare", State: ruqi.JobFinished, Pool: pool, Needs: need, MaxInstances: 1, Version: 1, Spec: []byte("{}")}
	p.add(bare)
	bare.Created, bare.Updated = p.now(), p.now()
	p.wantRecord("a job without times and tags", p.job("bare"), bare)
}

func editModifies(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(5))
	p.claim(request(owner), fire)
	born := p.job("job")
	equal(p, "RunCount after one fire", born.RunCount, 1)
	p.clock.move(time.Hour)
	got := p.set("job", func(r *ruqi.JobRecord) {
		r.Name, r.Priority, r.Tags, r.Version = "other", 9, []string{"t"}, 2
		r.State, r.Reason = ruqi.JobPaused, "because"
		r.Spec = []byte("{2}")
		r.RunCount = 77
		r.Created = p.now()
		idle(r)
	})
	want := born
	want.Name, want.Priority, want.Tags, want.Version = "other", 9, []string{"t"}, 2
	want.State, want.Reason, want.Spec, want.Updated = ruqi.JobPaused, "because", []byte("{2}"), p.now()
	want.NextNominal, want.NextDue = nil, nil
	p.wantRecord("the job returned", got, want)
	p.wantRecord("the job stored", p.job("job"), want)
}

func editKeeps(p *probe) {
	want := p.addJob("job", withPriority(3))
	p.clock.move(time.Hour)
	got, runs := p.edit("job", func(ruqi.JobRecord) ruqi.Change { return ruqi.Change{} })
	p.wantRecord("the job returned", got, want)
	p.wantRecord("the job stored", p.job("job"), want)
	equal(p, "the number of rows", len(runs), 0)
	jobs, _, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"none"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change { return ruqi.Change{} })
	p.must("edit of a job that is not there", err)
	if len(jobs) != 0 || p.hasJob("none") {
		p.errorf("a Change without a Job made a job of nothing")
	}
}

func editInOrder(p *probe) {
	p.add(p.record("a"), p.record("b", func(r *ruqi.JobRecord) { r.Version = 2 }), p.record("c"))
	var seen []string
	look := func(_ time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
		if old != nil {
			id += "!"
			equal(p, "the id of old", old.ID+"!", id)
		}
		seen = append(seen, id)
		return ruqi.Change{}
	}
	_, _, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"c", "none", "b", "a"}}, look)
	p.must("edit", err)
	same(p, "decide was called for", seen, []string{"c!", "none", "b!", "a!"})
	seen = nil
	_, _, err = p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"c", "b"}, Version: 2}, look)
	p.must("edit", err)
	same(p, "decide was called with a version in the query for", seen, []string{"c", "b!"})
}

func editByQuery(p *probe) {
	tag := func(tags ...string) func(*ruqi.JobRecord) {
		return func(r *ruqi.JobRecord) { r.Tags = tags }
	}
	p.add(p.record("d", tag("x")), p.record("a", tag("x", "y")), p.record("c"), p.record("b", tag("x")))
	edited := func(query ruqi.JobQuery) []string {
		jobs, _, err := p.EditJobs(p.ctx, query, func(_ time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
			if old == nil {
				return ruqi.Change{Err: errors.New("decide got old nil for a job the query selected")}
			}
			old.Version++
			return ruqi.Change{Job: old}
		})
		p.must("edit", err)
		return ids(jobs)
	}
	same(p, "edit of tag x", edited(ruqi.JobQuery{Tags: []string{"x"}}), []string{"a", "b", "d"})
	same(p, "edit of tag x, two at most", edited(ruqi.JobQuery{Tags: []string{"x"}, Limit: 2}), []string{"a", "b"})
	same(p, "edit of a search", edited(ruqi.JobQuery{Search: "C"}), []string{"c"})
	for id, version := range map[string]int64{"a": 3, "b": 3, "c": 2, "d": 2} {
		equal(p, "the version of "+id, p.job(id).Version, version)
	}
	var many []ruqi.JobRecord
	for i := range 120 {
		many = append(many, p.record(fmt.Sprintf("m%03d", i)))
	}
	p.add(many...)
	equal(p, "the number of jobs edited without a limit", len(edited(ruqi.JobQuery{})), 124)
}

func editAborts(p *probe) {
	want := p.addJob("a")
	cause := fmt.Errorf("stop at b: %w", ruqi.ErrVersion)
	jobs, runs, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"a", "new", "b"}}, func(now time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
		switch id {
		case "a":
			old.Name = "changed"
			return ruqi.Change{Job: old, Runs: []ruqi.Run{row("a", ruqi.CauseManual, ruqi.RunQueued, time.Time{})}}
		case "new":
			r := p.record("new")
			return ruqi.Change{Job: &r}
		}
		return ruqi.Change{Err: cause}
	})
	if err != cause {
		p.errorf("the error is %v, want the very one of the Change", err)
	}
	if len(jobs)+len(runs) > 0 {
		p.errorf("an edit that failed returned %d jobs and %d runs", len(jobs), len(runs))
	}
	p.wantRecord("the job edited before the error", p.job("a"), want)
	equal(p, "a job added before the error is there", p.hasJob("new"), false)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 0)
}

// panics calls f and reports whether it panicked with the value.
func (p *probe) panics(what string, f func(), want any) {
	defer func() {
		if got := recover(); got != want {
			p.errorf("the panic of %s arrived as %v, want %v", what, got, want)
		}
	}()
	f()
}

func editPanics(p *probe) {
	want := p.addJob("a")
	p.panics("decide", func() {
		_, _, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"a", "b"}}, func(_ time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
			if id == "b" {
				panic("from decide")
			}
			old.Name = "changed"
			return ruqi.Change{Job: old}
		})
		p.errorf("the edit returned, error %v", err)
	}, "from decide")
	p.wantRecord("the job", p.job("a"), want)
	p.set("a", func(r *ruqi.JobRecord) { r.Name = "after" })
}

func editRemoves(p *probe) {
	owner := p.owner("a")
	running := p.startOne(owner, "job", atMost(1))
	old := p.startOne(owner, "done")
	p.finish(owner, ended(old.ID, ruqi.RunSucceeded))
	waiting := p.runNow("job", 2)
	before := p.job("job")
	p.clock.move(time.Second)
	p.wantRecord("the job removed, as it was", p.remove("job"), before)
	p.remove("done")
	equal(p, "the removed job is there", p.hasJob("job"), false)
	for _, q := range waiting {
		r := p.wantState("a queued row of a removed job", q.ID, ruqi.RunCancelled)
		equal(p, "its reason", r.Reason, "job removed")
		p.wantTime("its Finished", r.Finished, p.in(0))
	}
	p.wantState("a running row of a removed job", running.ID, ruqi.RunRunning)
	p.wantState("history of a removed job", old.ID, ruqi.RunSucceeded)
	p.finish(owner, ended(running.ID, ruqi.RunFailed))
	p.wantState("the running row after its end", running.ID, ruqi.RunFailed)
	equal(p, "the number of jobs that a claim is shown", len(p.offered(request(owner))), 0)
	again := p.addJob("job")
	equal(p, "RunCount of a job that is added anew", again.RunCount, 0)
	equal(p, "the number of rows of its forerunner", len(p.runs(ruqi.RunQuery{Job: "job"})), 3)
}

func editMoves(p *probe) {
	owner := p.owner("a")
	p.addJob("job")
	r := ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{"other": 1}, Needs: []string{"more"}}
	shown := func(what string, want bool) {
		_, got := p.offered(r)["job"]
		equal(p, "a claim is shown a job "+what, got, want)
	}
	shown("of another pool and need", false)
	p.set("job", func(j *ruqi.JobRecord) { j.Pool, j.Needs = "other", "more" })
	shown("that was moved to its pool and need", true)
	equal(p, "the old pool's claim is shown it", len(p.offered(request(owner))), 0)
	p.set("job", p.later(time.Hour))
	shown("whose time was put off", false)
	p.set("job", p.later(-time.Hour))
	shown("whose time was brought forward", true)
	p.set("job", inState(ruqi.JobPaused))
	shown("that was paused", false)
	p.set("job", func(j *ruqi.JobRecord) { j.State, j.NextNominal, j.NextDue = ruqi.JobActive, p.in(0), p.in(0) })
	shown("that was resumed", true)
	p.add(p.record("rival", func(j *ruqi.JobRecord) { j.Pool, j.Needs, j.Priority = "other", "more", 1 }))
	shown("that has a rival of higher priority for the one slot", false)
	p.set("job", withPriority(2))
	shown("whose priority was raised above its rival's", true)
}

func editLive(p *probe) {
	live := &ruqi.JobSpec{ID: "job", Name: "live", Tags: []string{"of the definition"}}
	p.addJob("job", func(r *ruqi.JobRecord) { r.Live, r.Tags = live, []string{"x"} })
	got := p.job("job")
	same(p, "the tags", got.Tags, []string{"x"})
	equal(p, "the name", got.Name, "job")
	if _, keeps := p.Store.(ruqi.LiveKeeper); keeps {
		equal(p, "Live", got.Live, live)
		return
	}
	if got.Live != nil {
		p.errorf("a store that does not say that it keeps live definitions returned one")
	}
	if !bytes.Equal(got.Spec, []byte(`{"v":1}`)) {
		p.errorf("Spec is %q, want what was given", got.Spec)
	}
}

var editRunRules = []rule{
	{name: "EditJobs/settled rows", check: editSettles,
		law: "Change.Runs that have ended are inserted in the same step and returned with their ids; a row whose unique key exists is left out"},
	{name: "EditJobs/manual rows", check: editManual,
		law: "queued rows of cause manual have Nominal and Due set to now, plus a microsecond until the unique key is free"},
	{name: "EditJobs/startup rows", check: editStartup,
		law: "rows of cause startup, queued or ended, have Nominal and Due set to now, plus a microsecond until the unique key is free"},
	{name: "EditJobs/active", check: editActive,
		law: "active counts the job's running runs and its queued rows of a batch, not its other queued rows"},
	{name: "EditJobs/ids of runs", check: runIDsGrow,
		law: "run ids are given by the store, grow, and stay below 2^53"},
}

func editSettles(p *probe) {
	p.addJob("job")
	nominal := p.now()
	missed := row("job", ruqi.CauseSchedule, ruqi.RunMissed, nominal)
	missed.Reason, missed.Coalesced, missed.CoalescedFrom, missed.Finished = "job paused", 3, p.in(-time.Hour), p.in(0)
	settle := func() []ruqi.Run {
		_, runs := p.edit("job", func(ruqi.JobRecord) ruqi.Change {
			r := missed
			r.CoalescedFrom, r.Finished, r.Params = clonePtr(r.CoalescedFrom), clonePtr(r.Finished), slices.Clone(r.Params)
			return ruqi.Change{Runs: []ruqi.Run{r}}
		})
		return runs
	}
	first := settle()
	if len(first) != 1 || first[0].ID == 0 {
		p.fatalf("one settled row came back as %d, or without an id", len(first))
	}
	want := missed
	want.ID = first[0].ID
	p.wantRun("the row returned", first[0], want)
	p.wantRun("the row stored", p.run(want.ID), want)
	equal(p, "the number of rows returned for a key that exists", len(settle()), 0)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 1)
}

// wantRun notes every field of a row that is not as wanted.
func (p *probe) wantRun(what string, got, want ruqi.Run) {
	text := func(r ruqi.Run) string {
		exit, progress := "-", "-"
		if r.ExitCode != nil {
			exit = fmt.Sprint(*r.ExitCode)
		}
		if r.Progress != nil {
			progress = fmt.Sprint(*r.Progress)
		}
		return fmt.Sprintf("id %d parent %d attempt %d job %q name %q task %q cause %s state %s reason %q coalesced %d batch %d owner %v cancel %q params %q result %q progress %s %q exit %s signal %q output %d cut %t cpu %s rss %d",
			r.ID, r.ParentID, r.Attempt, r.JobID, r.JobName, r.Task, r.Cause, r.State, r.Reason, r.Coalesced, r.Batch, r.Owner, r.CancelBy,
			r.Params, r.Result, progress, r.ProgressText, exit, r.Signal, r.OutputBytes, r.OutputCut, r.CPU, r.MaxRSS)
	}
	equal(p, what, text(got), text(want))
	p.wantTime(what+": Nominal", &got.Nominal, &want.Nominal)
	p.wantTime(what+": Due", &got.Due, &want.Due)
	p.wantTime(what+": Started", got.Started, want.Started)
	p.wantTime(what+": Finished", got.Finished, want.Finished)
	p.wantTime(what+": CoalescedFrom", got.CoalescedFrom, want.CoalescedFrom)
}

func editManual(p *probe) {
	p.addJob("job", atMost(10))
	runs := append(p.runNow("job", 2), p.runNow("job", 1)...)
	for i, r := range runs {
		want := p.now().Add(time.Duration(i) * time.Microsecond)
		equal(p, "the state", r.State, ruqi.RunQueued)
		p.wantTime(fmt.Sprintf("Nominal of manual row %d at one time", i), &r.Nominal, &want)
		p.wantTime(fmt.Sprintf("Due of manual row %d at one time", i), &r.Due, p.in(0))
		p.wantRun("the row stored", p.run(r.ID), r)
	}
	p.clock.move(time.Microsecond)
	want := p.now().Add(2 * time.Microsecond) // the two before are taken
	r := p.runNow("job", 1)[0]
	p.wantTime("Nominal of a manual row when the microseconds from now on are taken", &r.Nominal, &want)
}

func editStartup(p *probe) {
	p.addJob("job", atMost(10), idle)
	for i, state := range []ruqi.RunState{ruqi.RunQueued, ruqi.RunSkipped, ruqi.RunQueued, ruqi.RunSkipped} {
		_, runs := p.edit("job", func(ruqi.JobRecord) ruqi.Change {
			return ruqi.Change{Runs: []ruqi.Run{row("job", ruqi.CauseStartup, state, p.now().Add(-time.Hour))}}
		})
		if len(runs) != 1 {
			p.fatalf("a startup row was inserted as %d", len(runs))
		}
		want := p.now().Add(time.Duration(i) * time.Microsecond)
		equal(p, "the state", runs[0].State, state)
		p.wantTime(fmt.Sprintf("Nominal of startup row %d at one time", i), &runs[0].Nominal, &want)
		p.wantTime(fmt.Sprintf("Due of startup row %d at one time", i), &runs[0].Due, p.in(0))
		p.wantRun("the row stored", p.run(runs[0].ID), runs[0])
	}
	owner := p.owner("o")
	equal(p, "the number of startup rows that a claim starts", len(p.claim(request(owner), fire).Runs), 2)
}

func editActive(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(3))
	count := func() int {
		n := -1
		_, _, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"job"}}, func(_ time.Time, _ string, _ *ruqi.JobRecord, active int) ruqi.Change {
			n = active
			return ruqi.Change{}
		})
		p.must("edit", err)
		return n
	}
	equal(p, "active of a new job", count(), 0)
	rows := p.batch(owner, "job", 3)
	equal(p, "active with one running and two queued rows of a batch", count(), 3)
	p.runNow("job", 2)
	equal(p, "active with manual rows waiting as well", count(), 3)
	p.finish(owner, ended(rows[0].ID, ruqi.RunSucceeded))
	equal(p, "active after the first of the batch has ended", count(), 2)
}

func editHastens(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(9))
	p.addJob("bystander", idle)
	failed := p.startOne(owner, "failing")
	again := row("failing", ruqi.CauseRetry, ruqi.RunQueued, failed.Nominal)
	again.Attempt, again.Due = 2, *p.in(time.Minute)
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: failed.ID, State: ruqi.RunFailed}, Again: &again})
	rows := p.batch(owner, "job", 3)
	p.finish(owner, ended(rows[0].ID, ruqi.RunSucceeded))
	byHand, others := p.runNow("job", 1)[0], p.runNow("bystander", 1)[0]
	p.clock.move(-time.Hour)
	same(p, "the rows shown when the clock was set back", p.shown(owner, "job"), []int64{})
	hasten := func(ruqi.JobRecord) ruqi.Change { return ruqi.Change{Hasten: true} }
	_, runs := p.edit("job", hasten)
	equal(p, "the number of rows returned", len(runs), 0)
	p.edit("failing", hasten)
	for _, want := range []ruqi.Run{rows[1], rows[2], byHand} {
		want.Due = *p.in(0)
		p.wantRun("a row that was hastened", p.run(want.ID), want)
	}
	p.wantRun("a row of another job", p.run(others.ID), others)
	if got := p.runs(ruqi.RunQuery{Job: "failing"})[0]; !got.Due.Equal(again.Due) {
		p.errorf("a further attempt is due %s, want %s as before", got.Due, again.Due)
	}
	same(p, "the rows shown then", p.shown(owner, "job"), []int64{rows[1].ID, byHand.ID})
}

// batch claims the job as a batch of n rows, a step apart, the first running; they are returned in order.
func (p *probe) batch(owner ruqi.Owner, id string, n int) []ruqi.Run {
	p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID != id {
			return nil
		}
		plan := once(now, d)
		first := plan.Runs[0]
		plan.Runs = nil
		for i := range n {
			r := first
			r.Batch = first.Nominal.UnixMicro()
			r.Nominal = first.Nominal.Add(time.Duration(i-n) * step)
			r.Due = r.Nominal
			if i > 0 {
				r.State = ruqi.RunQueued
			}
			plan.Runs = append(plan.Runs, r)
		}
		return plan
	})
	rows := p.runs(ruqi.RunQuery{Job: id})
	if len(rows) < n {
		p.fatalf("a batch of %d rows left %d", n, len(rows))
	}
	rows = rows[:n]
	slices.SortFunc(rows, func(a, b ruqi.Run) int { return a.Nominal.Compare(b.Nominal) })
	return rows
}

func runIDsGrow(p *probe) {
	p.addJob("a", idle)
	p.addJob("b", idle)
	last := int64(0)
	for i := range 20 {
		r := p.runNow(strings.Split("ab", "")[i%2], 1)[0]
		if r.ID <= last || r.ID >= 1<<53 {
			p.fatalf("run %d after %d", r.ID, last)
		}
		last = r.ID
	}
}
