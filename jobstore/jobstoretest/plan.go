package jobstoretest

import (
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var planRules = []rule{
	{name: "Claim/running rows", check: planRunning,
		law: "a row born running has the owner and Started = now, and is returned in Runs as it is stored"},
	{name: "Claim/plan sets the job", check: planSetsJob,
		law: "a plan sets the job's state, reason, next times and run count, and nothing else of the record"},
	{name: "Claim/a due time alone", check: planDueAlone,
		law: "a job is claimed by its NextDue, also where it has no NextNominal"},
	{name: "Claim/settled rows", check: planSettles,
		law: "rows of a plan that have ended are returned in Settled, queued ones in neither list, and all keep their fields"},
	{name: "Claim/unique key", check: planUnique,
		law: "a row whose unique key (JobID, Cause, Nominal, Attempt) exists is left out silently, the rest of the plan stands"},
	{name: "Claim/plans in any order", check: planOrder,
		law: "plans come in any order, one a job at most"},
	{name: "Claim/remove", check: planRemoves,
		law: "Plan.Remove deletes the job if, after the plan, none of its runs is queued or running"},
	{name: "Claim/once", check: planOnce,
		law: "what one claim took no other takes"},
}

func planRunning(p *probe) {
	owner := p.owner("a")
	p.addJob("job")
	p.clock.move(time.Second)
	want := row("job", ruqi.CauseSchedule, ruqi.RunRunning, *p.in(-time.Second))
	want.JobName, want.Task, want.Params = "a name", "the task", []byte(`{"a":[1,"ü"]}`)
	want.Due, want.Coalesced, want.CoalescedFrom = *p.in(-time.Millisecond), 4, p.in(-time.Hour)
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		plan := stay(d)
		r := want
		r.Params, r.CoalescedFrom = slices.Clone(r.Params), clonePtr(r.CoalescedFrom)
		plan.Runs = []ruqi.Run{r}
		plan.NextNominal, plan.NextDue = nil, nil
		return plan
	})
	if len(c.Runs) != 1 || len(c.Settled) != 0 || c.Runs[0].ID == 0 {
		p.fatalf("one row born running came back as %d running and %d settled, or without an id", len(c.Runs), len(c.Settled))
	}
	want.ID, want.Owner, want.Started = c.Runs[0].ID, owner, p.in(0)
	p.wantRun("the row returned", c.Runs[0], want)
	p.wantRun("the row stored", p.run(want.ID), want)
}

func planSetsJob(p *probe) {
	owner := p.owner("a")
	p.addJob("job", withPriority(3), func(r *ruqi.JobRecord) { r.Tags = []string{"t"} })
	want := p.job("job")
	p.clock.move(time.Second)
	c := p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
		plan := stay(d)
		plan.NextNominal, plan.NextDue = p.in(time.Hour), p.in(time.Hour+time.Millisecond)
		plan.RunCount = 41
		return plan
	})
	want.NextNominal, want.NextDue, want.RunCount = p.in(time.Hour), p.in(time.Hour+time.Millisecond), 41
	want.Updated = p.job("job").Updated // a plan is no edit: whether it counts as an update is the store's own
	if len(c.Jobs) != 1 {
		p.fatalf("Jobs has %d records, want the one that had a plan", len(c.Jobs))
	}
	c.Jobs[0].Updated = want.Updated
	p.wantRecord("the job returned", c.Jobs[0], want)
	p.wantRecord("the job stored", p.job("job"), want)
	p.clock.move(2 * time.Hour)
	p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
		plan := stay(d)
		plan.State, plan.Reason, plan.NextNominal, plan.NextDue = ruqi.JobFinished, "no fire is left", nil, nil
		return plan
	})
	want.State, want.Reason, want.NextNominal, want.NextDue = ruqi.JobFinished, "no fire is left", nil, nil
	got := p.job("job")
	got.Updated = want.Updated
	p.wantRecord("the job that a plan finished", got, want)
}

func planDueAlone(p *probe) {
	owner := p.owner("a")
	p.addJob("job", func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = nil, p.in(time.Hour) })
	p.wantOffered("an hour before the due time", request(owner))
	p.clock.move(time.Hour)
	p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
		p.wantTime("NextNominal", d.Job.NextNominal, nil)
		p.wantTime("NextDue", d.Job.NextDue, p.in(0))
		plan := stay(d)
		plan.NextDue = p.in(time.Minute)
		return plan
	})
	got := p.job("job")
	p.wantTime("NextNominal", got.NextNominal, nil)
	p.wantTime("NextDue", got.NextDue, p.in(time.Minute))
	p.wantOffered("a minute before it is due again", request(owner))
	p.clock.move(time.Minute)
	p.wantOffered("when it is due again", request(owner), "job")
}

func planSettles(p *probe) {
	owner := p.owner("a")
	p.addJob("job")
	missed := row("job", ruqi.CauseSchedule, ruqi.RunMissed, *p.in(-time.Hour))
	missed.Reason, missed.Coalesced, missed.CoalescedFrom, missed.Finished = "too late", 12, p.in(-5*time.Hour), p.in(0)
	rest := row("job", ruqi.CauseSchedule, ruqi.RunQueued, *p.in(-time.Minute))
	rest.Batch = 77
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		plan := once(now, d)
		m, q := missed, rest
		m.CoalescedFrom, m.Finished, m.Params, q.Params = clonePtr(m.CoalescedFrom), clonePtr(m.Finished), slices.Clone(m.Params), slices.Clone(q.Params)
		plan.Runs = append(plan.Runs, m, q)
		return plan
	})
	if len(c.Settled) != 1 || len(c.Runs) != 1 {
		p.fatalf("a running, a missed and a queued row came back as %d running and %d settled, want 1 and 1", len(c.Runs), len(c.Settled))
	}
	missed.ID = c.Settled[0].ID
	p.wantRun("the settled row returned", c.Settled[0], missed)
	p.wantRun("the settled row stored", p.run(missed.ID), missed)
	waiting := p.runs(ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued}})
	if len(waiting) != 1 {
		p.fatalf("%d queued rows are stored, want 1", len(waiting))
	}
	rest.ID = waiting[0].ID
	p.wantRun("the queued row stored", waiting[0], rest)
}

func planUnique(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(9))
	p.addJob("other", atMost(9))
	at := p.now()
	insert := func(rows ...ruqi.Run) ruqi.Claimed {
		p.set("job", func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = clonePtr(&at), clonePtr(&at) })
		return p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
			if d.Job.ID != "job" {
				return nil
			}
			plan := stay(d)
			plan.RunCount++
			plan.NextNominal, plan.NextDue = nil, nil
			plan.Runs = rows
			return plan
		})
	}
	key := func(cause ruqi.Cause, nominal time.Time, attempt int) ruqi.Run {
		r := row("job", cause, ruqi.RunRunning, nominal)
		r.Attempt = attempt
		return r
	}
	equal(p, "the number of first rows", len(insert(key(ruqi.CauseSchedule, at, 1)).Runs), 1)
	equal(p, "the number of rows with another cause, nominal time or attempt", len(insert(
		key(ruqi.CauseBackfill, at, 1), key(ruqi.CauseSchedule, at.Add(time.Microsecond), 1), key(ruqi.CauseSchedule, at.Add(-time.Microsecond), 1), key(ruqi.CauseSchedule, at, 2),
	).Runs), 4)
	settled := key(ruqi.CauseSchedule, at, 1)
	settled.State = ruqi.RunMissed
	c := insert(key(ruqi.CauseSchedule, at, 1), key(ruqi.CauseSchedule, at.Add(time.Hour), 1), settled, key(ruqi.CauseSchedule, at, 2), key(ruqi.CauseSchedule, at.Add(-time.Microsecond), 1))
	if len(c.Runs) != 1 || !c.Runs[0].Nominal.Equal(at.Add(time.Hour)) || len(c.Settled) != 0 {
		p.errorf("of rows whose keys exist and one new one %d running and %d settled came back, want the new one", len(c.Runs), len(c.Settled))
	}
	equal(p, "RunCount, the rest of the plan", p.job("job").RunCount, 3)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{Job: "job"})), 6)
	c = p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
		plan := stay(d)
		plan.NextNominal, plan.NextDue = nil, nil
		plan.Runs = []ruqi.Run{row(d.Job.ID, ruqi.CauseSchedule, ruqi.RunRunning, at)}
		return plan
	})
	equal(p, "the number of rows with the same key but of another job", len(c.Runs), 1)
}

func planOrder(p *probe) {
	owner := p.owner("a")
	var records []ruqi.JobRecord
	for i := range 20 {
		records = append(records, p.record(fmt.Sprint("job", i), withPriority(i)))
	}
	p.add(records...)
	c, err := p.Claim(p.ctx, request(owner), func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		plans := planner(once).decide(now, due)
		slices.Reverse(plans)
		return plans
	})
	p.must("claim", err)
	equal(p, "the number of runs", len(c.Runs), 20)
	equal(p, "the number of jobs", len(c.Jobs), 20)
	for _, r := range records {
		runs := p.runs(ruqi.RunQuery{Job: r.ID})
		if len(runs) != 1 {
			p.errorf("job %s has %d rows, want 1", r.ID, len(runs))
		}
	}
}

func planRemoves(p *probe) {
	owner := p.owner("a")
	p.add(p.record("busy"), p.record("waiting"), p.record("done"), p.record("older", atMost(2)))
	p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID != "older" {
			return nil
		}
		return fire(now, d)
	})
	p.clock.move(2 * step)
	last := func(now time.Time, d ruqi.Due) *ruqi.Plan {
		plan := once(now, d)
		plan.State, plan.Reason, plan.Remove = ruqi.JobFinished, "no fire is left", true
		switch d.Job.ID {
		case "waiting":
			plan.Runs[0].State = ruqi.RunQueued
		case "done", "older":
			plan.Runs[0].State = ruqi.RunMissed
		}
		return plan
	}
	c := p.claim(request(owner), last)
	equal(p, "the number of jobs returned", len(c.Jobs), 4)
	for id, want := range map[string]bool{"busy": true, "waiting": true, "done": false, "older": true} {
		equal(p, fmt.Sprintf("job %q is there", id), p.hasJob(id), want)
	}
	equal(p, "the number of rows of the removed job", len(p.runs(ruqi.RunQuery{Job: "done"})), 1)
}

func planOnce(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	p.add(p.record("1"), p.record("2"), p.record("3"))
	r := request(a)
	r.Limit = 2
	equal(p, "the number of runs of the first claim", len(p.claim(r, fire).Runs), 2)
	equal(p, "the number of runs of the second claim", len(p.claim(request(b), fire).Runs), 1)
	equal(p, "the number of runs of the third claim", len(p.claim(request(a), fire).Runs), 0)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 3)
	for _, id := range []string{"1", "2", "3"} {
		p.wantTime("the next time of job "+id, p.job(id).NextDue, p.in(step))
	}
}

var queueRules = []rule{
	{name: "Claim/queued rows", check: queueStarts,
		law: "queued rows are shown oldest first once due, and Plan.Start makes them running ones of the owner, started now"},
	{name: "Claim/queued rows and the limit", check: queueLimit,
		law: "rows outside a batch are shown only while active is less than the job's MaxInstances"},
	{name: "Claim/queued rows of a batch", check: queueBatch,
		law: "a row of a batch is shown only when no row of its batch is running, and then only the oldest, whatever the limit"},
	{name: "Claim/queued rows while paused", check: queuePaused,
		law: "a row of cause manual is shown also when its job is paused or finished, another row, one of a batch too, not when paused"},
	{name: "Claim/queued rows and the pool", check: queuePool,
		law: "a job with queued rows is claimed by its pool, needs, priority and due time as any other, once a claim"},
	{name: "Claim/fires that wait", check: queueWaiting,
		law: "Waiting counts the job's queued rows of cause schedule that are of no batch, and no others; a row among them starts as any other"},
	{name: "Claim/cancel by a plan", check: planCancels,
		law: "Plan.Cancel asks the job's running runs to end, in its name, those that nobody has asked, and no others"},
	{name: "Claim/cancel a batch by a plan", check: planCancelsBatch,
		law: "Plan.Cancel cancels the queued rows of the job's batches, in its name, at once, and none of them starts by the same plan"},
	{name: "Claim/the task of what starts", check: queueTask,
		law: "a row that starts has the task of Plan.Task, or keeps its own where that is empty; rows that wait on keep theirs"},
	{name: "Claim/start only what was shown", check: queueOffered,
		law: "what a plan starts lands only if its state still holds: a row that was not shown is not started"},
}

// shown lists the rows that a claim is shown of a job.
func (p *probe) shown(owner ruqi.Owner, id string) []int64 {
	return runIDs(p.offered(request(owner))[id].Queued)
}

func queueStarts(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(9), idle)
	first := p.runNow("job", 1)[0]
	p.clock.move(time.Second)
	second := p.runNow("job", 1)[0]
	p.clock.move(time.Second)
	same(p, "the rows shown", p.shown(owner, "job"), []int64{first.ID, second.ID})
	d := p.offered(request(owner))["job"]
	if len(d.Queued) > 0 {
		p.wantRun("the row shown", d.Queued[0], first)
	}
	c := p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
		plan := stay(d)
		plan.Start = []int64{first.ID}
		return plan
	})
	if len(c.Runs) != 1 {
		p.fatalf("starting one queued row returned %d runs", len(c.Runs))
	}
	want := first
	want.State, want.Owner, want.Started = ruqi.RunRunning, owner, p.in(0)
	p.wantRun("the row returned", c.Runs[0], want)
	p.wantRun("the row stored", p.run(first.ID), want)
	same(p, "the rows shown after", p.shown(owner, "job"), []int64{second.ID})
	run := p.startOne(owner, "failing")
	again := row("failing", ruqi.CauseRetry, ruqi.RunQueued, run.Nominal)
	again.Attempt, again.Due = 2, *p.in(time.Hour)
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: run.ID, State: ruqi.RunFailed}, Again: &again})
	same(p, "the rows shown before the row is due", p.shown(owner, "failing"), []int64{})
	p.clock.move(time.Hour)
	equal(p, "the number of rows shown once the row is due", len(p.shown(owner, "failing")), 1)
}

func queueTask(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(9), idle)
	rows := p.runNow("job", 3)
	p.clock.move(time.Second)
	for i, task := range []string{"", "another task ü"} {
		c := p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
			plan := stay(d)
			plan.Start, plan.Task = []int64{rows[i].ID}, task
			return plan
		})
		want := rows[i]
		want.State, want.Owner, want.Started = ruqi.RunRunning, owner, p.in(0)
		if task != "" {
			want.Task = task
		}
		if len(c.Runs) != 1 {
			p.fatalf("starting one queued row returned %d runs", len(c.Runs))
		}
		p.wantRun("the row returned", c.Runs[0], want)
		p.wantRun("the row stored", p.run(want.ID), want)
	}
	p.wantRun("a row that waits on", p.run(rows[2].ID), rows[2])
}

func queueLimit(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(2))
	running := p.start(owner, "job")
	rows := p.runNow("job", 3)
	p.clock.move(time.Second)
	if got := p.shown(owner, "job"); len(got) == 0 || got[0] != rows[0].ID {
		p.errorf("with one of two instances free the rows shown are %v, want %d first", got, rows[0].ID)
	}
	equal(p, "the number of rows started with one of two instances free", len(p.claim(request(owner), fire).Runs), 1)
	p.wantOffered("at the limit", request(owner))
	p.finish(owner, ended(running.ID, ruqi.RunSucceeded))
	c := p.claim(request(owner), fire)
	same(p, "the rows started after an end", runIDs(c.Runs), []int64{rows[1].ID})
	p.wantOffered("at the limit again", request(owner))
	p.set("job", atMost(3))
	same(p, "the rows started after the limit was raised", runIDs(p.claim(request(owner), fire).Runs), []int64{rows[2].ID})
}

func queueBatch(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(1))
	rows := p.batch(owner, "job", 3)
	same(p, "the rows shown while the first is running", p.shown(owner, "job"), []int64{})
	manual := p.runNow("job", 1)[0]
	p.clock.move(time.Second)
	for i := 1; i < 3; i++ {
		p.finish(owner, ended(rows[i-1].ID, ruqi.RunFailed))
		same(p, "the rows shown after an end, while a manual row waits for the limit", p.shown(owner, "job"), []int64{rows[i].ID})
		c := p.claim(request(owner), fire)
		same(p, "the rows started", runIDs(c.Runs), []int64{rows[i].ID})
		equal(p, "the batch of the row", c.Runs[0].Batch, rows[0].Batch)
		same(p, "the rows shown after the start", p.shown(owner, "job"), []int64{})
	}
	p.finish(owner, ended(rows[2].ID, ruqi.RunFailed))
	same(p, "the rows shown after the batch", p.shown(owner, "job"), []int64{manual.ID})
}

func queuePaused(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(9))
	rows := p.batch(owner, "job", 2)
	p.finish(owner, ended(rows[0].ID, ruqi.RunSucceeded))
	failed := p.startOne(owner, "retried", atMost(9))
	again := row("retried", ruqi.CauseRetry, ruqi.RunQueued, failed.Nominal)
	again.Attempt = 2
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: failed.ID, State: ruqi.RunFailed}, Again: &again})
	manual := []ruqi.Run{p.runNow("job", 1)[0], p.runNow("retried", 1)[0]}
	p.clock.move(time.Second)
	for i, id := range []string{"job", "retried"} {
		p.set(id, inState(ruqi.JobPaused))
		same(p, "the rows shown of paused job "+id, p.shown(owner, id), []int64{manual[i].ID})
		p.set(id, inState(ruqi.JobFinished))
		equal(p, "the number of rows shown of finished job "+id, len(p.shown(owner, id)), 2)
		p.set(id, func(r *ruqi.JobRecord) { r.State = ruqi.JobActive })
		equal(p, "the number of rows shown of resumed job "+id, len(p.shown(owner, id)), 2)
	}
	p.set("job", inState(ruqi.JobPaused))
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID != "job" {
			return nil
		}
		return fire(now, d)
	})
	same(p, "the rows started of a paused job", runIDs(c.Runs), []int64{manual[0].ID})
	equal(p, "the state of the job after", p.job("job").State, ruqi.JobPaused)
}

func queuePool(p *probe) {
	owner := p.owner("a")
	p.addJob("both")
	p.addJob("high", idle, withPriority(5), atMost(9))
	p.addJob("else", idle, func(r *ruqi.JobRecord) { r.Pool = "else" })
	p.addJob("strange", idle, func(r *ruqi.JobRecord) { r.Needs = "strange" })
	for _, id := range []string{"both", "high", "high", "else", "strange"} {
		p.runNow(id, 1)
	}
	p.clock.move(time.Second)
	p.wantOffered("all of the pool", request(owner), "both", "high")
	r := request(owner)
	r.Slots = map[string]int{pool: 1}
	p.wantOffered("one slot", r, "high")
	r.Except = []string{"high"}
	p.wantOffered("one slot, with an exception", r, "both")
	r.Slots = map[string]int{"else": 1}
	p.wantOffered("the other pool", r, "else")
}

// makeDue makes a job due now.
func (p *probe) makeDue(id string) {
	now := p.now()
	p.set(id, func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = &now, clonePtr(&now) })
}

// wait lets the fire that is due wait for its turn.
func wait(_ time.Time, d ruqi.Due) *ruqi.Plan {
	plan := stay(d)
	nominal := *d.Job.NextNominal
	next := nominal.Add(time.Minute)
	plan.NextNominal, plan.NextDue = &next, &next
	plan.Runs = []ruqi.Run{row(d.Job.ID, ruqi.CauseSchedule, ruqi.RunQueued, nominal)}
	return plan
}

func queueWaiting(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(1))
	running := p.start(owner, "job")
	due := func() ruqi.Due {
		p.makeDue("job")
		return p.offered(request(owner))["job"]
	}
	equal(p, "Waiting when nothing waits", due().Waiting, 0)
	p.runNow("job", 2)
	again := row("failing", ruqi.CauseRetry, ruqi.RunQueued, p.now())
	again.Attempt = 2
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: p.startOne(owner, "failing").ID, State: ruqi.RunFailed}, Again: &again})
	p.clock.move(time.Second)
	equal(p, "Waiting while two that were started by hand wait", due().Waiting, 0)
	for n := range 3 {
		p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
			if d.Job.ID != "job" {
				return nil
			}
			return wait(now, d)
		})
		p.clock.move(time.Second)
		d := due()
		equal(p, "Waiting after so many fires were let wait", d.Waiting, n+1)
		equal(p, "Active beside them", d.Active, 1)
		equal(p, "the number of rows shown at the limit", len(d.Queued), 0)
	}
	p.finish(owner, ended(running.ID, ruqi.RunSucceeded))
	equal(p, "Waiting when nothing is active any more", due().Waiting, 3)
	for range 5 { // two by hand, three fires
		p.clock.move(time.Second)
		c := p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
			if d.Job.ID != "job" {
				return nil
			}
			plan := stay(d)
			plan.Start = runIDs(d.Queued)[:1]
			plan.NextNominal, plan.NextDue = nil, nil
			return plan
		})
		if len(c.Runs) != 1 {
			p.fatalf("an end let %d rows start, want 1", len(c.Runs))
		}
		p.finish(owner, ended(c.Runs[0].ID, ruqi.RunSucceeded))
	}
	equal(p, "Waiting when all have run", due().Waiting, 0)
	p.addJob("batched", atMost(1))
	p.batch(owner, "batched", 3)
	p.clock.move(time.Second)
	p.makeDue("batched")
	equal(p, "Waiting of a job with the rest of a batch", p.offered(request(owner))["batched"].Waiting, 0)
}

func planCancels(p *probe) {
	owner, other := p.owner("a"), p.owner("b")
	p.addJob("job", atMost(9))
	again := func(owner ruqi.Owner) ruqi.Run {
		p.clock.move(time.Second)
		p.makeDue("job")
		return p.start(owner, "job")
	}
	first, second, done := again(owner), again(other), again(owner)
	p.finish(owner, ended(done.ID, ruqi.RunSucceeded))
	bystander := p.startOne(owner, "bystander")
	p.set("bystander", idle)
	_, err := p.Cancel(p.ctx, second.ID, "ann")
	p.must("cancel", err)
	waiting := p.runNow("job", 1)[0]
	p.clock.move(time.Second)
	p.makeDue("job")
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		plan := wait(now, d)
		plan.Cancel = "a newer fire"
		return plan
	})
	same(p, "Cancel of the claim whose plan asks", c.Cancel, []int64{first.ID})
	for id, by := range map[int64]string{first.ID: "a newer fire", second.ID: "ann", done.ID: "", bystander.ID: "", waiting.ID: ""} {
		equal(p, fmt.Sprintf("CancelBy of run %d", id), p.run(id).CancelBy, by)
	}
	p.wantState("a run that was asked to end", first.ID, ruqi.RunRunning)
	p.wantState("a row that waits", waiting.ID, ruqi.RunQueued)
}

func planCancelsBatch(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(9))
	p.addJob("bystander", atMost(9))
	mine, others := p.batch(owner, "job", 3), p.batch(owner, "bystander", 2)
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: mine[0].ID, State: ruqi.RunSucceeded}})
	byHand := p.runNow("job", 1)[0]
	p.clock.move(time.Second)
	p.makeDue("job")
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID != "job" {
			return nil
		}
		plan := wait(now, d)
		plan.Cancel, plan.Start = "a newer fire", []int64{mine[1].ID}
		return plan
	})
	same(p, "the rows started by the plan", runIDs(c.Runs), []int64{})
	for _, row := range mine[1:] {
		r := p.wantState("a queued row of a batch", row.ID, ruqi.RunCancelled)
		equal(p, "its reason", r.Reason, "cancelled by a newer fire")
		equal(p, "its CancelBy", r.CancelBy, "a newer fire")
		if r.Finished == nil {
			p.errorf("it has no end")
		}
	}
	p.wantState("a row started by hand", byHand.ID, ruqi.RunQueued)
	p.wantState("a row of another job's batch", others[1].ID, ruqi.RunQueued)
	equal(p, "the job's active runs after", p.offered(request(owner))["job"].Active, 0)
}

func queueOffered(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(1))
	p.addJob("limited", idle)
	rows := p.batch(owner, "job", 3)
	p.addJob("driver")
	other := p.runNow("limited", 1)[0]
	p.clock.move(time.Second)
	p.set("job", func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = p.in(0), p.in(0) })
	c := p.claim(request(owner), func(_ time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID != "job" {
			return nil
		}
		plan := stay(d)
		plan.Start = []int64{rows[1].ID, rows[2].ID, other.ID, 1 << 40}
		return plan
	})
	equal(p, "the number of rows started that were not shown", len(c.Runs), 0)
	p.wantState("a row whose batch is running", rows[1].ID, ruqi.RunQueued)
	p.wantState("a row of another job", other.ID, ruqi.RunQueued)
}
