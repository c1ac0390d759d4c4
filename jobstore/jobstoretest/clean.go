package jobstoretest

import (
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var cleanRules = []rule{
	{name: "Clean/bounds", check: cleanBounds,
		law: "of each job the newest Runs rows that were started, and the newest NonRuns that were not, stay; 0 is no bound"},
	{name: "Clean/age", check: cleanAge,
		law: "ended rows older than Age go, of either class; 0 is for ever"},
	{name: "Clean/alive", check: cleanAlive,
		law: "a queued or running row is never deleted"},
	{name: "Clean/limit", check: cleanLimits,
		law: "one step deletes at most Limit rows, 1,000 when it is 0; fewer than Limit means that nothing more is to be done"},
	{name: "Clean/output", check: cleanOutput,
		law: "a row goes with its output"},
	{name: "Clean/removed jobs", check: cleanRemoved,
		law: "the rows of a removed job are cleaned as those of others"},
	{name: "Clean/names", check: cleanNames,
		law: "runs are found by their job's name as long as they are there, also after the job was renamed, removed, cleaned and added again"},
	{name: "Clean/again", check: cleanAgain,
		law: "what outgrows the bounds after a Clean goes with the next, and so it does when the bounds change"},
}

// cleanAll calls Clean until it has nothing more to do, and returns how many rows went.
func (p *probe) cleanAll(r ruqi.Retention) int {
	limit := r.Limit
	if limit == 0 {
		limit = 1000
	}
	total := 0
	for range 1000 {
		n, err := p.Clean(p.ctx, r)
		p.must("clean", err)
		if n > limit {
			p.errorf("Clean deleted %d rows, the limit was %d", n, limit)
		}
		if total += n; n < limit {
			return total
		}
	}
	p.fatalf("a thousand cleans have no end")
	return 0
}

func (p *probe) rowsOf(job string) []int64 {
	list := runIDs(p.runs(ruqi.RunQuery{Job: job}))
	slices.Reverse(list) // oldest first
	return list
}

func cleanBounds(p *probe) {
	p.addJob("a", idle)
	p.addJob("b", idle)
	p.addJob("mixed", idle)
	a := p.history("a", 6, ruqi.RunSucceeded, ruqi.RunFailed, ruqi.RunLost, ruqi.RunTimedOut)
	b := p.history("b", 2, ruqi.RunSucceeded)
	mixed := p.history("mixed", 12, ruqi.RunSucceeded, ruqi.RunMissed, ruqi.RunSkipped)
	equal(p, "rows gone without bounds", p.cleanAll(ruqi.Retention{}), 0)
	equal(p, "rows gone with 3 runs", p.cleanAll(ruqi.Retention{Runs: 3}), 4)
	same(p, "the rows of a", p.rowsOf("a"), runIDs(a[3:]))
	same(p, "the rows of b", p.rowsOf("b"), runIDs(b))
	var want []int64
	for i, r := range mixed {
		if i > 0 {
			want = append(want, r.ID)
		}
	}
	same(p, "the rows of mixed", p.rowsOf("mixed"), want)
	equal(p, "rows gone with 2 non-runs", p.cleanAll(ruqi.Retention{NonRuns: 2}), 6)
	want = nil
	for i, r := range mixed {
		if i > 0 && (r.State.Started() || i >= 10) {
			want = append(want, r.ID)
		}
	}
	same(p, "the rows of mixed after a bound for non-runs", p.rowsOf("mixed"), want)
	equal(p, "rows gone with 1 and 1", p.cleanAll(ruqi.Retention{Runs: 1, NonRuns: 1}), 2+1+2+1)
	same(p, "the rows of a in the end", p.rowsOf("a"), runIDs(a[5:]))
}

func cleanAge(p *probe) {
	p.addJob("a", idle)
	rows := p.history("a", 10, ruqi.RunSucceeded, ruqi.RunMissed)
	equal(p, "rows gone by an age that none has", p.cleanAll(ruqi.Retention{Age: time.Hour}), 0)
	equal(p, "rows gone by age", p.cleanAll(ruqi.Retention{Age: 4*step + step/2}), 6)
	same(p, "the rows that are younger", p.rowsOf("a"), runIDs(rows[6:]))
	p.clock.move(365 * 24 * time.Hour)
	equal(p, "rows gone without an age, a year later", p.cleanAll(ruqi.Retention{Runs: 100, NonRuns: 100}), 0)
	owner := p.owner("o")
	long := p.startOne(owner, "long")
	p.clock.move(2 * time.Hour)
	p.finish(owner, ended(long.ID, ruqi.RunSucceeded))
	equal(p, "rows gone by age, a year later", p.cleanAll(ruqi.Retention{Age: time.Hour}), 4)
	p.wantState("a run that took longer than the age and ended just now", long.ID, ruqi.RunSucceeded)
}

func cleanAlive(p *probe) {
	owner := p.owner("a")
	p.addJob("job", atMost(1))
	running := p.start(owner, "job")
	queued := p.runNow("job", 3)
	p.history("job", 5, ruqi.RunSucceeded, ruqi.RunMissed)
	p.clock.move(3 * time.Hour)
	p.cleanAll(ruqi.Retention{Runs: 1, NonRuns: 1, Age: time.Hour})
	p.wantState("a running row", running.ID, ruqi.RunRunning)
	for _, q := range queued {
		p.wantState("a queued row", q.ID, ruqi.RunQueued)
	}
	equal(p, "the number of rows", len(p.rowsOf("job")), 4)
	p.finish(owner, ended(running.ID, ruqi.RunSucceeded))
	same(p, "the rows started after", runIDs(p.claim(request(owner), fire).Runs), []int64{queued[0].ID})
}

func cleanLimits(p *probe) {
	var records []ruqi.JobRecord
	for i := range 3 {
		records = append(records, p.record(fmt.Sprint("job", i), idle))
	}
	p.add(records...)
	for i := range 3 {
		p.history(fmt.Sprint("job", i), 420, ruqi.RunSucceeded, ruqi.RunMissed)
	}
	n, err := p.Clean(p.ctx, ruqi.Retention{Runs: 205, NonRuns: 200, Limit: 7})
	p.must("clean", err)
	equal(p, "rows gone with limit 7 of 45", n, 7)
	equal(p, "rows gone in all, with limit 7", p.cleanAll(ruqi.Retention{Runs: 205, NonRuns: 200, Limit: 7}), 38)
	n, err = p.Clean(p.ctx, ruqi.Retention{Age: time.Minute})
	p.must("clean", err)
	equal(p, "rows gone with limit 0", n, 1000)
	equal(p, "the rest", p.cleanAll(ruqi.Retention{Age: time.Second}), 215)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 0)
}

func cleanOutput(p *probe) {
	owner := p.owner("a")
	var runs []ruqi.Run
	for i := range 3 {
		p.clock.move(step)
		if i == 0 {
			p.addJob("job")
		} else {
			p.set("job", func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = p.in(0), p.in(0) })
		}
		r := p.start(owner, "job")
		p.write(owner, r.ID, 0, []byte("some output"))
		p.finish(owner, ended(r.ID, ruqi.RunSucceeded))
		runs = append(runs, r)
	}
	equal(p, "rows gone", p.cleanAll(ruqi.Retention{Runs: 1}), 2)
	for _, r := range runs[:2] {
		_, err := p.Output(p.ctx, r.ID, 0, 10)
		p.wantErr("the output of a run that was cleaned", err, ruqi.ErrNotFound)
		_, err = p.Cancel(p.ctx, r.ID, "ann")
		p.wantErr("cancel of a run that was cleaned", err, ruqi.ErrNotFound)
		p.wantLate("of a run that was cleaned", owner, ended(r.ID, ruqi.RunFailed))
	}
	p.wantOutput("the output that stays", runs[2].ID, true, stretch{0, "some output"})
}

func cleanRemoved(p *probe) {
	p.addJob("a", idle)
	p.addJob("b", idle)
	a := p.history("a", 4, ruqi.RunSucceeded)
	p.history("b", 2, ruqi.RunMissed)
	p.remove("a")
	p.remove("b")
	equal(p, "rows gone", p.cleanAll(ruqi.Retention{Runs: 1, NonRuns: 5}), 3)
	same(p, "the rows that stay", p.rowsOf("a"), runIDs(a[3:]))
	p.clock.move(time.Hour)
	equal(p, "rows gone by age", p.cleanAll(ruqi.Retention{Age: time.Minute}), 3)
	p.addJob("a", idle)
	p.history("a", 1, ruqi.RunMissed)
	equal(p, "the number of rows of a job that came back", len(p.rowsOf("a")), 1)
}

func cleanNames(p *probe) {
	named := func(step, name string, want []ruqi.Run) {
		ids := runIDs(want)
		slices.Reverse(ids) // newest first
		same(p, "the runs found by name "+step, runIDs(p.runs(ruqi.RunQuery{Name: name})), ids)
	}
	p.addJob("a", idle)
	rows := p.history("a", 3, ruqi.RunSucceeded)
	p.set("a", func(r *ruqi.JobRecord) { r.Name = "another" })
	named("after the job was renamed", "a", rows)
	named("that the job has and its runs had not", "another", nil)
	p.cleanAll(ruqi.Retention{Runs: 2})
	named("after one of them went", "a", rows[1:])
	p.remove("a")
	p.cleanAll(ruqi.Retention{Runs: 1})
	named("after the job was removed and one more went", "a", rows[2:])
	p.clock.move(time.Hour)
	p.cleanAll(ruqi.Retention{Age: time.Minute})
	named("after all went", "a", nil)
	p.addJob("a", idle)
	rows = p.history("a", 2, ruqi.RunSucceeded)
	named("after the job was added again", "a", rows)
	p.remove("a")
	p.addJob("a", idle) // while its history holds the name
	p.clock.move(time.Hour)
	p.cleanAll(ruqi.Retention{Age: time.Minute})
	named("after the history of the job's former life went", "a", nil)
	rows = p.history("a", 2, ruqi.RunMissed)
	named("of what came after", "a", rows)
}

func cleanAgain(p *probe) {
	owner := p.owner("a")
	p.addJob("job")
	bounds := ruqi.Retention{Runs: 2, NonRuns: 2}
	for i := range 6 {
		c := p.claim(request(owner), fire)
		if len(c.Runs) != 1 {
			p.fatalf("fire %d started %d runs, want 1", i, len(c.Runs))
		}
		p.finish(owner, ended(c.Runs[0].ID, ruqi.RunSucceeded))
		want := 0
		if i >= 2 {
			want = 1
		}
		equal(p, fmt.Sprintf("rows gone after fire %d", i), p.cleanAll(bounds), want)
		p.clock.move(step)
	}
	bounds.Runs = 1
	equal(p, "rows gone after the bound was lowered", p.cleanAll(bounds), 1)
}
