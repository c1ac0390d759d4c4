package jobstoretest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var finishRules = []rule{
	{name: "Finish/facts", check: finishFacts,
		law: "State, Reason, Finished, ExitCode, Signal, CPU and MaxRSS are taken from Done.Run, Finished being the store's now if nil, and nothing else of the row changes"},
	{name: "Finish/fence", check: finishFence,
		law: "a run is written only if it is still running and owned by owner, instance and epoch; the ids of the others are returned as late"},
	{name: "Finish/late note", check: finishLate,
		law: "of a late end nothing is written but a note at the end of the run's reason: no end of the job, no new row, no removal"},
	{name: "Finish/some late", check: finishSomeLate,
		law: "a late run among others keeps none of them from being written"},
	{name: "Finish/again", check: finishAgain,
		law: "Done.Again is inserted as a new row in the same step, with its Due kept, or now if Due is zero"},
	{name: "Finish/again without a job", check: finishAgainGone,
		law: "a row that nothing could start because its job is gone does not wait: its end is \"job removed\""},
	{name: "Finish/again after a cancel", check: finishAgainAsked,
		law: "Done.Again is left out, its id being 0, for a run whose end was asked for"},
	{name: "Finish/end job", check: finishEndsJob,
		law: "EndJob finishes the run's job with that reason and no next time; a finished or removed job stays as it is"},
	{name: "Finish/remove job", check: finishRemovesJob,
		law: "RemoveJob deletes the job if it is finished and none of its runs is queued or running any more"},
	{name: "Finish/frees", check: finishFrees,
		law: "an end lowers the job's active count at once"},
}

func finishFacts(p *probe) {
	owner := p.owner("a")
	first, second := p.startOne(owner, "first"), p.startOne(owner, "second")
	p.clock.move(time.Minute)
	code := 3
	end := first
	end.State, end.Reason, end.ExitCode, end.Signal, end.CPU, end.MaxRSS = ruqi.RunFailed, "exit status 3, ü", &code, "", 1500*time.Millisecond, 1<<33
	done := ruqi.Done{Run: end}
	done.Run.Task, done.Run.JobName, done.Run.Nominal = "else", "else", p.now() // not taken
	done.Run.ExitCode = clonePtr(&code)
	signalled := ruqi.Done{Run: ruqi.Run{ID: second.ID, State: ruqi.RunTimedOut, Signal: "KILL", CPU: time.Microsecond, Finished: p.in(-time.Second)}}
	p.finish(owner, done, signalled)
	end.Finished = p.in(0)
	p.wantRun("the first run", p.run(first.ID), end)
	want := second
	want.State, want.Signal, want.CPU, want.Finished = ruqi.RunTimedOut, "KILL", time.Microsecond, p.in(-time.Second)
	p.wantRun("the second run", p.run(second.ID), want)
	for _, state := range ruqi.RunStates()[2:7] {
		r := p.startOne(owner, string(state))
		p.finish(owner, ended(r.ID, state))
		p.wantState("a run that ended "+string(state), r.ID, state)
	}
}

// wantLate ends a run in vain.
func (p *probe) wantLate(what string, owner ruqi.Owner, done ruqi.Done) {
	late, err := p.Finish(p.ctx, owner, []ruqi.Done{done})
	p.must("finish", err)
	same(p, "late "+what, late, []int64{done.Run.ID})
}

func finishFence(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	r := p.startOne(a, "job")
	done := ended(r.ID, ruqi.RunSucceeded)
	p.wantLate("for another instance", b, done)
	p.wantLate("for an epoch to come", ruqi.Owner{Instance: "a", Epoch: a.Epoch + 1000}, done)
	p.wantLate("for nobody", ruqi.Owner{}, done)
	p.wantState("the run after words of others", r.ID, ruqi.RunRunning)
	p.wantLate("of a run that is not there", a, ended(r.ID+1000, ruqi.RunSucceeded))
	queued := p.runNow("job", 1)[0]
	p.wantLate("of a queued run", a, ended(queued.ID, ruqi.RunSucceeded))
	p.wantState("the queued run", queued.ID, ruqi.RunQueued)
	next := p.owner("a")
	p.wantLate("for a later epoch of the same instance", next, done)
	p.wantState("the run after a later epoch's word", r.ID, ruqi.RunRunning)
	p.finish(a, done)
	p.wantState("the run after its owner's word", r.ID, ruqi.RunSucceeded)
	p.wantLate("a second time", a, ended(r.ID, ruqi.RunFailed))
	p.wantState("the run after a second word", r.ID, ruqi.RunSucceeded)
}

func finishLate(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	r := p.startOne(a, "job")
	p.finish(a, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunLost, Reason: "its instance died"}})
	before := p.run(r.ID)
	p.set("job", func(j *ruqi.JobRecord) { *j = p.record("job", p.later(time.Hour)) })
	job := p.job("job")
	p.clock.move(time.Second)
	code := 7
	again := row("job", ruqi.CauseRetry, ruqi.RunQueued, p.now())
	done := ruqi.Done{Again: &again, EndJob: "it said so", RemoveJob: true}
	done.Run = ruqi.Run{ID: r.ID, State: ruqi.RunSucceeded, Reason: "done after all", ExitCode: &code, Signal: "HUP", CPU: time.Second, MaxRSS: 9, Finished: p.in(0)}
	p.wantLate("after the end", b, done)
	after := p.run(r.ID)
	if !strings.HasPrefix(after.Reason, before.Reason) || len(after.Reason) <= len(before.Reason) {
		p.errorf("the reason is %q, want a note at the end of %q", after.Reason, before.Reason)
	}
	after.Reason = before.Reason
	p.wantRun("the run, its reason apart", after, before)
	p.wantRecord("the job", p.job("job"), job)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 1)
	p.set("job", inState(ruqi.JobFinished))
	p.wantLate("after the job has finished", b, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunSucceeded}, RemoveJob: true})
	equal(p, "the job of a late removal is there", p.hasJob("job"), true)
}

func finishSomeLate(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	var done []ruqi.Done
	var late []int64
	for i := range 10 {
		owner := []ruqi.Owner{a, b}[i%2]
		r := p.startOne(owner, fmt.Sprint("job", i))
		done = append(done, ended(r.ID, ruqi.RunSucceeded))
		if owner == b {
			late = append(late, r.ID)
		}
	}
	got, err := p.Finish(p.ctx, a, done)
	p.must("finish", err)
	slices.Sort(got)
	same(p, "the late ones", got, late)
	for _, d := range done {
		want := ruqi.RunSucceeded
		if slices.Contains(late, d.Run.ID) {
			want = ruqi.RunRunning
		}
		p.wantState("a run", d.Run.ID, want)
	}
	p.finish(a) // nothing to end is no error
}

func finishAgain(p *probe) {
	owner := p.owner("a")
	first := p.startOne(owner, "job")
	want := row("job", ruqi.CauseRetry, ruqi.RunQueued, first.Nominal)
	want.Attempt, want.ParentID, want.Due, want.Params = 2, first.ID, *p.in(time.Minute), []byte(`{"a":1}`)
	again := want
	again.Params = slices.Clone(again.Params)
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: first.ID, State: ruqi.RunFailed}, Again: &again})
	newest := func() ruqi.Run { return p.runs(ruqi.RunQuery{Job: "job"})[0] }
	got := newest()
	want.ID = got.ID
	if got.ID <= first.ID {
		p.fatalf("the newest row is %d, want one after %d", got.ID, first.ID)
	}
	p.wantRun("the new row", got, want)
	p.clock.move(time.Minute)
	second := p.claim(request(owner), fire).Runs
	same(p, "the rows started", runIDs(second), []int64{got.ID})
	p.clock.move(time.Second)
	zero := row("job", ruqi.CauseRetry, ruqi.RunQueued, first.Nominal)
	zero.Attempt, zero.Due = 3, time.Time{}
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: got.ID, State: ruqi.RunFailed}, Again: &zero})
	third := newest()
	p.wantTime("Due of a new row that had none", &third.Due, p.in(0))
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: p.start(owner, "job").ID, State: ruqi.RunFailed}, Again: &ruqi.Run{
		JobID: "job", JobName: "job", Task: "test", Cause: ruqi.CauseRetry, Attempt: 3, State: ruqi.RunQueued, Nominal: first.Nominal,
	}})
	equal(p, "the number of rows after a new row whose key exists", len(p.runs(ruqi.RunQuery{Job: "job"})), 3)
}

func finishAgainAsked(p *probe) {
	owner := p.owner("a")
	asked, other := p.startOne(owner, "asked"), p.startOne(owner, "other")
	_, err := p.Cancel(p.ctx, asked.ID, "ann")
	p.must("cancel", err)
	again := make([]ruqi.Run, 2)
	var done []ruqi.Done
	for i, r := range []ruqi.Run{asked, other} {
		again[i] = row(r.JobID, ruqi.CauseRetry, ruqi.RunQueued, r.Nominal)
		again[i].Attempt, again[i].ParentID = 2, r.ID
		done = append(done, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunFailed}, Again: &again[i]})
	}
	p.finish(owner, done...)
	equal(p, "the id of the row left out", again[0].ID, 0)
	equal(p, "the rows of the run that was asked to end", len(p.runs(ruqi.RunQuery{Job: "asked"})), 1)
	equal(p, "the rows of the other", len(p.runs(ruqi.RunQuery{Job: "other"})), 2)
	if again[1].ID == 0 {
		p.errorf("the row that was inserted has no id")
	}
}

func finishAgainGone(p *probe) {
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	p.remove("job")
	again := row("job", ruqi.CauseRetry, ruqi.RunQueued, r.Nominal)
	again.Attempt = 2
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunFailed}, Again: &again})
	for _, r := range p.runs(ruqi.RunQuery{}) {
		if !r.State.Ended() {
			p.errorf("run %d of a job that is gone is %s for ever", r.ID, r.State)
		}
	}
	counts, err := p.Count(p.ctx)
	p.must("count", err)
	equal(p, "the number of queued rows", counts.Queued, 0)
}

func finishEndsJob(p *probe) {
	owner := p.owner("a")
	end := func(id, reason string) {
		p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: id2run(p, id), State: ruqi.RunSucceeded}, EndJob: reason})
	}
	for _, id := range []string{"active", "paused", "finished", "removed"} {
		p.startOne(owner, id)
		p.set(id, p.later(time.Hour))
	}
	p.set("paused", func(r *ruqi.JobRecord) { r.State, r.Reason = ruqi.JobPaused, "by hand" })
	p.set("finished", func(r *ruqi.JobRecord) { inState(ruqi.JobFinished)(r); r.Reason = "no fire is left" })
	p.remove("removed")
	for _, id := range []string{"active", "paused", "finished", "removed"} {
		end(id, "it said so")
	}
	for id, reason := range map[string]string{"active": "it said so", "paused": "it said so", "finished": "no fire is left"} {
		j := p.job(id)
		equal(p, "the state of job "+id, j.State, ruqi.JobFinished)
		equal(p, "the reason of job "+id, j.Reason, reason)
		p.wantTime("NextNominal of job "+id, j.NextNominal, nil)
		p.wantTime("NextDue of job "+id, j.NextDue, nil)
	}
	equal(p, "the removed job is there", p.hasJob("removed"), false)
	p.clock.move(2 * time.Hour)
	p.wantOffered("after all have finished", request(owner))
}

// id2run is the newest row of a job.
func id2run(p *probe, job string) int64 {
	runs := p.runs(ruqi.RunQuery{Job: job})
	if len(runs) == 0 {
		p.fatalf("job %q has no row", job)
	}
	return runs[0].ID
}

func finishRemovesJob(p *probe) {
	owner := p.owner("a")
	remove := func(id int64) {
		p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: id, State: ruqi.RunSucceeded}, RemoveJob: true})
	}
	there := func(what, id string, want bool) { equal(p, "a job "+what+" is there", p.hasJob(id), want) }
	r := p.startOne(owner, "active")
	p.set("active", p.later(time.Hour))
	remove(r.ID)
	there("that is not finished", "active", true)
	p.addJob("busy", atMost(2))
	p.claim(request(owner), fire)
	p.clock.move(step)
	second := p.start(owner, "busy")
	p.set("busy", inState(ruqi.JobFinished))
	remove(second.ID)
	there("that has a running run", "busy", true)
	queued := p.runNow("busy", 1)[0]
	runs := p.runs(ruqi.RunQuery{Job: "busy", States: []ruqi.RunState{ruqi.RunRunning}})
	if len(runs) != 1 {
		p.fatalf("%d runs are running, want 1", len(runs))
	}
	remove(runs[0].ID)
	there("that has a queued run", "busy", true)
	p.clock.move(time.Second)
	p.claim(request(owner), fire)
	remove(queued.ID)
	there("that has finished with no run left", "busy", false)
	equal(p, "the number of rows that stay", len(p.runs(ruqi.RunQuery{Job: "busy"})), 3)
	r = p.startOne(owner, "both")
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunSucceeded}, EndJob: "it said so", RemoveJob: true})
	there("that EndJob of the same step finished", "both", false)
}

func finishFrees(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(2))
	p.claim(request(owner), fire)
	p.clock.move(step)
	p.claim(request(owner), fire)
	p.clock.move(step)
	equal(p, "active runs shown", p.offered(request(owner))["job"].Active, 2)
	runs := p.runs(ruqi.RunQuery{})
	p.finish(owner, ended(runs[0].ID, ruqi.RunSucceeded))
	equal(p, "active runs shown after an end", p.offered(request(owner))["job"].Active, 1)
	p.finish(owner, ended(runs[1].ID, ruqi.RunFailed))
	equal(p, "active runs shown after two ends", p.offered(request(owner))["job"].Active, 0)
}
