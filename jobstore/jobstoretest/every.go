package jobstoretest

import (
	"context"
	"errors"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var everyRules = []rule{
	{name: "every method/ended context", check: everyContext,
		law: "when ctx ends, a method returns its error; a context that has ended before the call leaves nothing written"},
	{name: "every method/microseconds", check: everyMicrosecond,
		law: "times given are kept to the microsecond, whatever their zone and century, and come back in UTC"},
	{name: "every method/ownership", check: everyOwnership,
		law: "slices and pointers handed out belong to the receiver: changing them changes nothing in the store"},
	{name: "Close/after", check: closeAfter,
		law: "calls after Close fail"},
	{name: "Wake/hints", check: wakeHints,
		law: "a Waker hints after changes of jobs, queued runs, cancels and ends, at most one waiting, until stop is called"},
}

// A call is one method with arguments that would write something.
type call struct {
	name string
	do   func(context.Context, Store) error
}

// calls lists every method. owner must be alive, run its running run, and "due" a due job.
func (p *probe) calls(owner ruqi.Owner, run int64) []call {
	return []call{
		{"EditJobs", func(ctx context.Context, s Store) error {
			_, _, err := s.EditJobs(ctx, ruqi.JobQuery{IDs: []string{"new"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
				r := p.record("new")
				return ruqi.Change{Job: &r}
			})
			return err
		}},
		{"Jobs", func(ctx context.Context, s Store) error { _, err := s.Jobs(ctx, ruqi.JobQuery{}); return err }},
		{"Claim", func(ctx context.Context, s Store) error {
			_, err := s.Claim(ctx, request(owner), planner(fire).decide)
			return err
		}},
		{"WriteRuns", func(ctx context.Context, s Store) error {
			_, err := s.WriteRuns(ctx, owner, []ruqi.RunUpdate{{ID: run, Output: []byte("x")}})
			return err
		}},
		{"Cancel", func(ctx context.Context, s Store) error { _, err := s.Cancel(ctx, run, "ann"); return err }},
		{"Finish", func(ctx context.Context, s Store) error {
			_, err := s.Finish(ctx, owner, []ruqi.Done{ended(run, ruqi.RunSucceeded)})
			return err
		}},
		{"Beat", func(ctx context.Context, s Store) error {
			_, err := s.Beat(ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: "new"}, Lease: lease})
			return err
		}},
		{"Rescue", func(ctx context.Context, s Store) error { _, err := s.Rescue(ctx, owner, 10, lose); return err }},
		{"Runs", func(ctx context.Context, s Store) error { _, err := s.Runs(ctx, ruqi.RunQuery{}); return err }},
		{"Output", func(ctx context.Context, s Store) error { _, err := s.Output(ctx, run, 0, 10); return err }},
		{"Clean", func(ctx context.Context, s Store) error {
			_, err := s.Clean(ctx, ruqi.Retention{Age: time.Microsecond})
			return err
		}},
		{"Count", func(ctx context.Context, s Store) error { _, err := s.Count(ctx); return err }},
		{"Instances", func(ctx context.Context, s Store) error { _, err := s.Instances(ctx); return err }},
		{"Put", func(ctx context.Context, s Store) error {
			return s.Put(ctx, ruqi.Record{Kind: "k", Key: "new"})
		}},
		{"Get", func(ctx context.Context, s Store) error { _, err := s.Get(ctx, "k", "a"); return err }},
		{"List", func(ctx context.Context, s Store) error { _, err := s.List(ctx, "k", "", "", 0); return err }},
		{"Delete", func(ctx context.Context, s Store) error { return s.Delete(ctx, "k", "a", 1) }},
		{"Append", func(ctx context.Context, s Store) error { _, err := s.Append(ctx, "log", nil); return err }},
	}
}

// prepare makes what calls needs, and an orphan and history for Rescue and Clean.
func (p *probe) prepare() (ruqi.Owner, ruqi.Run) {
	p.orphan("dead", "orphan")
	owner := p.owner("a")
	run := p.startOne(owner, "job")
	p.addJob("due")
	p.history("due", 2, ruqi.RunMissed)
	p.must("put", p.put("k", "a", 0, "x"))
	return owner, run
}

func everyContext(p *probe) {
	owner, run := p.prepare()
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	for _, c := range p.calls(owner, run.ID) {
		if err := c.do(ctx, p.Store); !errors.Is(err, context.Canceled) {
			p.errorf("%s with a cancelled context: error %v, want %v", c.name, err, context.Canceled)
		}
	}
	same(p, "jobs", ids(p.list(ruqi.JobQuery{})), []string{"due", "job", "orphan"})
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 4)
	p.wantRun("the run", p.run(run.ID), run)
	equal(p, "the number of running rows", len(p.runs(ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}})), 2)
	equal(p, "the number of instances", len(p.instances()), 2)
	same(p, "keys", p.keys("k", "", "", 0), []string{"a"})
	same(p, "appended keys", p.keys("log", "", "", 0), []string{})
	for _, c := range p.calls(owner, run.ID) {
		if err := c.do(p.ctx, p.Store); err != nil {
			p.errorf("%s with a good context after: %v", c.name, err)
		}
	}
}

func everyMicrosecond(p *probe) {
	owner := p.owner("a")
	zone := time.FixedZone("west", -9*3600-1800)
	p.addJob("job", idle)
	for _, t := range []time.Time{
		time.Date(2026, 3, 29, 1, 59, 59, 999_999_000, time.UTC), time.Date(2026, 10, 25, 2, 30, 0, 1_000, zone),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 1_000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, zone),
	} {
		due := t.Add(time.Microsecond)
		got := p.set("job", func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = clonePtr(&t), clonePtr(&due) })
		stored := p.job("job")
		for _, j := range []ruqi.JobRecord{got, stored} {
			p.wantTime("NextNominal", j.NextNominal, &t)
			p.wantTime("NextDue", j.NextDue, &due)
		}
		_, runs := p.edit("job", func(ruqi.JobRecord) ruqi.Change {
			r := row("job", ruqi.CauseSchedule, ruqi.RunMissed, t)
			r.Due, r.CoalescedFrom, r.Finished = due, clonePtr(&t), clonePtr(&due)
			return ruqi.Change{Runs: []ruqi.Run{r}}
		})
		if len(runs) != 1 {
			p.fatalf("one settled row came back as %d", len(runs))
		}
		for _, r := range []ruqi.Run{runs[0], p.run(runs[0].ID)} {
			p.wantTime("Nominal", &r.Nominal, &t)
			p.wantTime("Due", &r.Due, &due)
			p.wantTime("CoalescedFrom", r.CoalescedFrom, &t)
			p.wantTime("Finished", r.Finished, &due)
		}
	}
	p.set("job", p.later(time.Microsecond))
	p.wantOffered("a microsecond before the due time", request(owner))
	p.clock.move(time.Microsecond)
	p.wantOffered("at the due time", request(owner), "job")
}

// spoil changes what a record points to.
func spoil(r ruqi.JobRecord) {
	for i := range r.Tags {
		r.Tags[i] = "spoilt"
	}
	clear(r.Spec)
	for _, t := range []*time.Time{r.NextNominal, r.NextDue} {
		if t != nil {
			*t = time.Time{}
		}
	}
}

func spoilRun(r ruqi.Run) {
	clear(r.Params)
	clear(r.Result)
	for _, t := range []*time.Time{r.Started, r.Finished, r.CoalescedFrom} {
		if t != nil {
			*t = time.Time{}
		}
	}
	if r.ExitCode != nil {
		*r.ExitCode = -99
	}
	if r.Progress != nil {
		*r.Progress = -99
	}
}

func everyOwnership(p *probe) {
	i, err := p.Beat(p.ctx, full("a", 0))
	p.must("beat", err)
	owner := i.Owner
	p.clock.move(-time.Second)
	tagged := func(r *ruqi.JobRecord) { r.Tags = []string{"a", "b"} }
	for _, r := range p.add(p.record("job", tagged)) {
		spoil(r)
	}
	want := p.record("job", tagged)
	want.Created, want.Updated = p.now(), p.now()
	check := func(after string) { p.wantRecord("the job after "+after+" was spoilt", p.job("job"), want) }
	check("what EditJobs returned")
	spoil(p.job("job"))
	check("what Jobs returned")
	_, _, err = p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"job"}}, func(_ time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
		spoil(*old)
		return ruqi.Change{}
	})
	p.must("edit", err)
	check("what an edit's decide was shown")
	_, err = p.Claim(p.ctx, request(owner), func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		for _, d := range due {
			spoil(d.Job)
		}
		return nil
	})
	p.must("claim", err)
	check("what a claim's decide was shown")
	code, whole := 1, 1.0
	run := p.start(owner, "job")
	p.write(owner, run.ID, 0, []byte("output"))
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: run.ID, State: ruqi.RunFailed, ExitCode: &code, Progress: &whole, Result: []byte(`"x"`)}})
	before := p.run(run.ID)
	kept := p.run(run.ID)
	spoilRun(before)
	p.wantRun("the run after what Runs returned was spoilt", p.run(run.ID), kept)
	part, err := p.Output(p.ctx, run.ID, 0, 100)
	p.must("output", err)
	clear(part.Bytes)
	p.wantOutput("the output after what Output returned was spoilt", run.ID, true, stretch{0, "output"})
	clear(i.Slots)
	clear(i.Needs)
	clear(p.instances()["a"].Slots)
	equal(p, "slots of the instance after what Beat and Instances returned was spoilt", p.instances()["a"].Slots["default"], 64)
	p.must("put", p.put("k", "a", 0, "data"))
	r, err := p.Get(p.ctx, "k", "a")
	p.must("get", err)
	clear(r.Data)
	list, err := p.List(p.ctx, "k", "", "", 0)
	p.must("list", err)
	for _, r := range list {
		clear(r.Data)
	}
	p.wantRecordData("k", "a", 1, "data")
}

func closeAfter(p *probe) {
	owner, run := p.prepare()
	calls := p.calls(owner, run.ID)
	s := p.Store
	p.close(s)
	for _, c := range calls {
		if c.do(p.ctx, s) == nil {
			p.errorf("%s after Close did not fail", c.name)
		}
	}
}

func wakeHints(p *probe) {
	waker, ok := p.Store.(ruqi.Waker)
	if !ok {
		return // an optional ability; there is no rule for a store without it
	}
	owner := p.owner("a")
	hints, stop := waker.Wake()
	defer func() { stop() }()
	// A hint may be lost, but not always: of a hundred changes one is heard.
	heard := func(what string, change func(i int)) {
		select {
		case <-hints:
		default:
		}
		for i := range 100 {
			change(i)
			select {
			case <-hints:
				return
			case <-time.After(50 * time.Millisecond): // some stores hint a moment later
			}
		}
		p.errorf("of a hundred %s none was hinted at", what)
	}
	p.addJob("job", atMost(200))
	heard("edits", func(i int) { p.set("job", withPriority(i)) })
	heard("queued runs", func(int) { p.runNow("job", 1) })
	p.clock.move(time.Second)
	runs := p.claim(request(owner), fire).Runs
	for range 100 {
		if len(runs) > 100 {
			break
		}
		p.clock.move(step)
		runs = append(runs, p.claim(request(owner), fire).Runs...)
	}
	heard("cancels", func(i int) {
		if _, err := p.Cancel(p.ctx, runs[i%len(runs)].ID, "ann"); err != nil {
			p.errorf("cancel: %v", err)
		}
	})
	heard("ends", func(i int) {
		if i < len(runs) {
			p.finish(owner, ended(runs[i].ID, ruqi.RunSucceeded))
		}
	})
	for range 10 {
		p.runNow("job", 1)
	}
	if len(hints) > 1 {
		p.errorf("%d hints are waiting, want at most one", len(hints))
	}
}
