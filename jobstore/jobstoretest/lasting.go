package jobstoretest

import (
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var lastingRules = []rule{
	{name: "lasting/everything", check: lastsAll, lasting: true,
		law: "what a step wrote is there for a handle that is opened after the store was closed: jobs, runs, output, instances, records"},
	{name: "lasting/handles", check: lastsTwice, lasting: true,
		law: "what one handle wrote the others see at once, and all of them may write"},
	{name: "lasting/order", check: lastsOrder, lasting: true,
		law: "run ids, epochs and appended keys go on growing after the store was closed and across handles"},
}

func lastsAll(p *probe) {
	owner := p.owner("a")
	run := p.startOne(owner, "job", func(r *ruqi.JobRecord) { r.Tags = []string{"t"} })
	p.write(owner, run.ID, 0, []byte("out\x00put"))
	p.addJob("done")
	p.finish(owner, ended(p.start(owner, "done").ID, ruqi.RunSucceeded))
	p.runNow("done", 1)
	p.must("put", p.put("k", "a", 0, "data"))
	jobs, runs, instances := p.list(ruqi.JobQuery{}), p.runs(ruqi.RunQuery{}), p.instances()
	p.close(p.Store)
	p.Store = p.handle()
	for i, j := range p.list(ruqi.JobQuery{}) {
		p.wantRecord("a job", j, jobs[i])
	}
	for i, r := range p.runs(ruqi.RunQuery{}) {
		p.wantRun("a run", r, runs[i])
	}
	equal(p, "the number of jobs", len(p.list(ruqi.JobQuery{})), len(jobs))
	equal(p, "the number of runs", len(p.runs(ruqi.RunQuery{})), len(runs))
	p.wantInstance("the instance", p.instances()["a"], instances["a"])
	p.wantOutput("the output", run.ID, false, stretch{0, "out\x00put"})
	p.wantRecordData("k", "a", 1, "data")
	p.write(owner, run.ID, 7, []byte("more"))
	p.wantOutput("the output that goes on", run.ID, false, stretch{0, "out\x00putmore"})
	p.finish(owner, ended(run.ID, ruqi.RunSucceeded))
	p.clock.move(time.Second)
	equal(p, "the number of queued rows started", len(p.claim(request(owner), fire).Runs), 1)
}

func lastsTwice(p *probe) {
	first, second := p.Store, p.handle()
	owner := p.owner("a")
	p.addJob("job")
	p.Store = second
	run := p.start(owner, "job")
	p.write(owner, run.ID, 0, []byte("output"))
	p.Store = first
	p.wantRun("the run that the other handle started", p.run(run.ID), func() ruqi.Run { r := run; r.OutputBytes = 6; return r }())
	p.wantOutput("the output that the other handle wrote", run.ID, false, stretch{0, "output"})
	p.wantOffered("what the other handle took", request(owner))
	_, err := p.Cancel(p.ctx, run.ID, "ann")
	p.must("cancel", err)
	p.Store = second
	same(p, "the cancel that the other handle asked for", p.claim(request(owner), fire).Cancel, []int64{run.ID})
	p.finish(owner, ended(run.ID, ruqi.RunCancelled))
	p.Store = first
	p.wantLate("of a run that the other handle ended", owner, ended(run.ID, ruqi.RunSucceeded))
	p.remove("job")
	p.Store = second
	equal(p, "a job that the other handle removed is there", p.hasJob("job"), false)
	p.must("put", p.put("k", "a", 0, "x"))
	p.Store = first
	p.wantErr("put of a record that the other handle made", p.put("k", "a", 0, "y"), ruqi.ErrConflict)
	p.close(second)
	p.addJob("after the other was closed")
}

func lastsOrder(p *probe) {
	run, epoch, key := int64(0), int64(0), ""
	var names []string
	for i := range 4 {
		job := fmt.Sprint("job", i)
		owner := p.owner("a")
		r := p.startOne(owner, job)
		p.finish(owner, ended(r.ID, ruqi.RunSucceeded))
		k, err := p.Append(p.ctx, "audit", nil)
		p.must("append", err)
		if r.ID <= run || owner.Epoch <= epoch || k <= key {
			p.errorf("after run %d, epoch %d and key %q came %d, %d and %q", run, epoch, key, r.ID, owner.Epoch, k)
		}
		run, epoch, key = r.ID, owner.Epoch, k
		names = append(names, k)
		// Nothing that the next could count on stays: the last run, instance and record go.
		p.clock.move(time.Hour)
		equal(p, "rows gone", p.cleanAll(ruqi.Retention{Age: time.Minute}), 1)
		_, err = p.Beat(p.ctx, ruqi.Instance{Owner: owner})
		p.must("goodbye", err)
		p.must("delete", p.Delete(p.ctx, "audit", k, 1))
		if i%2 == 0 {
			p.close(p.Store)
		}
		p.Store = p.handle()
	}
	if !slices.IsSorted(names) {
		p.errorf("the keys do not grow: %q", names)
	}
}
