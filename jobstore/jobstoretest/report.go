package jobstoretest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var reportRules = []rule{
	{name: "WriteRuns/progress", check: progressKept,
		law: "Progress and ProgressText take the place of what the row has, with output or without; an update whose Progress is nil leaves both"},
	{name: "WriteRuns/progress fence", check: progressFence,
		law: "progress is written only of a run that is still running and owned by owner; the ids of the others are returned as late"},
	{name: "Finish/told", check: finishTold,
		law: "Result is taken from Done.Run if it is not nil, and Progress with ProgressText if Progress is not nil; else those that the row has stay"},
	{name: "Finish/told late", check: finishToldLate,
		law: "of a late end neither Result nor Progress is written"},
}

// tell is an update that says how far a run is.
func tell(id int64, progress float64, text string) ruqi.RunUpdate {
	return ruqi.RunUpdate{ID: id, Progress: &progress, ProgressText: text}
}

func (p *probe) tell(owner ruqi.Owner, updates ...ruqi.RunUpdate) {
	late, err := p.WriteRuns(p.ctx, owner, updates)
	p.must("write runs", err)
	same(p, "late", late, nil)
}

// told is the run as it is to be with that progress.
func told(r ruqi.Run, progress float64, text string) ruqi.Run {
	r.Progress, r.ProgressText = &progress, text
	return r
}

func progressKept(p *probe) {
	owner := p.owner("a")
	first, second := p.startOne(owner, "first"), p.startOne(owner, "second")
	p.wantRun("a run of which nothing was told", p.run(first.ID), first)
	p.tell(owner, tell(first.ID, 0, ""))
	first = told(first, 0, "")
	p.wantRun("a run that is at 0", p.run(first.ID), first)
	p.tell(owner, tell(first.ID, 1.0/3, "日本 <b>&\u202e🙂"), tell(second.ID, 1, "done"))
	first = told(first, 1.0/3, "日本 <b>&\u202e🙂")
	p.wantRun("a run that is at a third", p.run(first.ID), first)
	p.wantRun("another run of the same step", p.run(second.ID), told(second, 1, "done"))
	p.write(owner, first.ID, 0, []byte("some"))
	first.OutputBytes = 4
	p.wantRun("a run after output alone", p.run(first.ID), first)
	both := tell(first.ID, 0.5, "half")
	both.At, both.Output = 4, []byte(" more")
	p.tell(owner, both)
	first = told(first, 0.5, "half")
	first.OutputBytes = 9
	p.wantRun("a run after output and progress", p.run(first.ID), first)
	p.tell(owner, tell(first.ID, 0.25, "")) // back, and no offset: there is no output to be placed
	first = told(first, 0.25, "")
	p.wantRun("a run that went back and says nothing", p.run(first.ID), first)
	p.wantOutput("the output", first.ID, false, stretch{0, "some more"})
	p.write(owner, first.ID, 9, []byte("!"))
	p.wantOutput("the output that goes on", first.ID, false, stretch{0, "some more!"})
}

func progressFence(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	mine, his := p.startOne(a, "mine"), p.startOne(b, "his")
	queued := p.runNow("mine", 1)[0]
	late, err := p.WriteRuns(p.ctx, a, []ruqi.RunUpdate{
		tell(his.ID, 0.5, "not mine"), tell(mine.ID, 0.5, "mine"), tell(queued.ID, 0.5, "queued"), tell(queued.ID+1000, 0.5, "nowhere"),
	})
	p.must("write", err)
	same(p, "late", late, []int64{his.ID, queued.ID, queued.ID + 1000})
	p.wantRun("another's run", p.run(his.ID), his)
	p.wantRun("a queued run", p.run(queued.ID), queued)
	next := p.owner("a")
	late, err = p.WriteRuns(p.ctx, next, []ruqi.RunUpdate{tell(mine.ID, 0.75, "of a later epoch")})
	p.must("write", err)
	same(p, "late for a later epoch", late, []int64{mine.ID})
	mine = told(mine, 0.5, "mine")
	p.wantRun("the run", p.run(mine.ID), mine)
	p.finish(a, ended(mine.ID, ruqi.RunSucceeded))
	want := p.run(mine.ID)
	late, err = p.WriteRuns(p.ctx, a, []ruqi.RunUpdate{tell(mine.ID, 1, "after the end")})
	p.must("write", err)
	same(p, "late after the end", late, []int64{mine.ID})
	p.wantRun("the run after its end", p.run(mine.ID), want)
}

func finishTold(p *probe) {
	owner := p.owner("a")
	code, whole := 3, 1.0
	large := json.RawMessage(`{"a\u0000":[1,"ü<&>",{"b":12345678901234567890.50}],"long":"` + strings.Repeat("x", 65_000) + `"}`)
	type end struct {
		what string
		run  ruqi.Run // what is told, its id and state apart
	}
	ends := []end{
		{"nothing", ruqi.Run{}},
		{"a result", ruqi.Run{Result: large}},
		{"a result and how it ended", ruqi.Run{Result: json.RawMessage(`[]`), ExitCode: &code, CPU: time.Second}},
		{"a progress", ruqi.Run{Progress: &whole, ProgressText: "all"}},
		{"a progress without a text, and how it ended", ruqi.Run{Progress: &whole, Signal: "TERM"}},
		{"both", ruqi.Run{Progress: &whole, ProgressText: "all", Result: json.RawMessage(`"x"`)}},
	}
	// Each kind of end twice, after a run that told its progress and after one that did not; all in one step.
	var done []ruqi.Done
	want := map[int64]ruqi.Run{}
	what := map[int64]string{}
	for _, spoke := range []bool{false, true} {
		for _, e := range ends {
			id := e.what
			if spoke {
				id += " after a progress"
			}
			r := p.startOne(owner, id)
			if spoke {
				p.tell(owner, tell(r.ID, 0.5, "half"))
				r = told(r, 0.5, "half")
			}
			d := ruqi.Done{Run: e.run}
			d.Run.ID, d.Run.State, d.Run.Finished = r.ID, ruqi.RunFailed, p.in(0)
			d.Run.Result, d.Run.ExitCode, d.Run.Progress = append(json.RawMessage(nil), e.run.Result...), clonePtr(e.run.ExitCode), clonePtr(e.run.Progress)
			done = append(done, d)
			r.State, r.Finished, r.ExitCode, r.Signal, r.CPU, r.Result = ruqi.RunFailed, p.in(0), e.run.ExitCode, e.run.Signal, e.run.CPU, e.run.Result
			if e.run.Progress != nil {
				r = told(r, *e.run.Progress, e.run.ProgressText)
			}
			want[r.ID], what[r.ID] = r, id
		}
	}
	p.finish(owner, done...)
	for id, run := range want {
		p.wantRun("a run that ended with "+what[id], p.run(id), run)
	}
}

func finishToldLate(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	r := p.startOne(a, "job")
	p.tell(a, tell(r.ID, 0.5, "half"))
	r = told(r, 0.5, "half")
	whole := 1.0
	said := func() ruqi.Done {
		d := ended(r.ID, ruqi.RunSucceeded)
		d.Run.Result, d.Run.Progress, d.Run.ProgressText = json.RawMessage(`1`), clonePtr(&whole), "all"
		return d
	}
	check := func(what string) {
		got := p.run(r.ID)
		got.State, got.Reason, got.Finished = r.State, r.Reason, r.Finished
		p.wantRun(what, got, r)
	}
	p.wantLate("for another instance", b, said())
	check("the run after another's word")
	p.wantLate("for a later epoch", p.owner("a"), said())
	check("the run after a later epoch's word")
	p.finish(a, ended(r.ID, ruqi.RunLost))
	p.wantLate("a second time", a, said())
	check("the run after a word about its end")
}
