package jobstoretest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var instanceRules = []rule{
	{name: "Beat/register", check: beatRegisters,
		law: "a beat with epoch 0 begins a life: the instance is returned as stored, Started and Beat being now and LeaseUntil now + Lease"},
	{name: "Beat/renew", check: beatRenews,
		law: "a beat with an epoch renews the lease and what is told of the instance; Started stays"},
	{name: "Beat/clock offset", check: beatClockOffset,
		law: "the clock offset is kept to the microsecond, ahead or behind, and each beat sets it anew, to not known too"},
	{name: "Beat/epochs", check: beatEpochs,
		law: "each life gets an epoch higher than any before under that name, after a goodbye and after it was forgotten too"},
	{name: "Beat/lost", check: beatLost,
		law: "a beat whose epoch is not the instance's latest is ErrLeaseLost and renews nothing"},
	{name: "Beat/slept", check: beatSlept,
		law: "a beat past the lease renews it as long as no Rescue of another has acted on it; after one it is ErrLeaseLost, whether the instance had runs or not"},
	{name: "Beat/goodbye", check: beatGoodbye,
		law: "a Lease of 0 says goodbye: the row goes as soon as no run names it, and its runs are left to Rescue"},
	{name: "Instances/list", check: instancesList,
		law: "Instances lists every registered instance, by name"},
}

func (p *probe) wantInstance(what string, got, want ruqi.Instance) {
	text := func(i ruqi.Instance) string {
		slots := []string{}
		for _, name := range slices.Sorted(maps.Keys(i.Slots)) {
			slots = append(slots, fmt.Sprint(name, "=", i.Slots[name]))
		}
		offset := "not known"
		if i.ClockOffset != nil {
			offset = i.ClockOffset.String()
		}
		return fmt.Sprintf("%s, epoch %d, lease %s, slots %s, needs %q, state %s, release %q, zones %q, clock offset %s",
			i.Owner.Instance, i.Owner.Epoch, i.Lease, strings.Join(slots, " "), i.Needs, i.State, i.Release, i.Zones, offset)
	}
	equal(p, what, text(got), text(want))
	p.wantTime(what+": Started", &got.Started, &want.Started)
	p.wantTime(what+": Beat", &got.Beat, &want.Beat)
	p.wantTime(what+": LeaseUntil", &got.LeaseUntil, &want.LeaseUntil)
}

func (p *probe) instances() map[string]ruqi.Instance {
	list, err := p.Instances(p.ctx)
	p.must("instances", err)
	byName := map[string]ruqi.Instance{}
	for _, i := range list {
		byName[i.Owner.Instance] = i
	}
	return byName
}

// full is an instance with every field that it tells of itself.
func full(name string, epoch int64) ruqi.Instance {
	offset := -1234567 * time.Microsecond
	return ruqi.Instance{
		Owner: ruqi.Owner{Instance: name, Epoch: epoch}, Lease: 15 * time.Second,
		Slots: map[string]int{"default": 64, "ü": 0}, Needs: []string{"command", "func:a"},
		State: "running", Release: "v1.2.3", Zones: "abc", ClockOffset: &offset,
	}
}

func beatRegisters(p *probe) {
	got, err := p.Beat(p.ctx, full("host:1", 0))
	p.must("beat", err)
	if got.Owner.Epoch < 1 {
		p.errorf("the epoch of a new life is %d", got.Owner.Epoch)
	}
	want := full("host:1", got.Owner.Epoch)
	want.Started, want.Beat, want.LeaseUntil = p.now(), p.now(), *p.in(15 * time.Second)
	p.wantInstance("the instance returned", got, want)
	p.wantInstance("the instance stored", p.instances()["host:1"], want)
}

func beatRenews(p *probe) {
	first, err := p.Beat(p.ctx, full("a", 0))
	p.must("beat", err)
	p.clock.move(14 * time.Second)
	want := full("a", first.Owner.Epoch)
	want.Slots, want.Needs, want.State, want.Lease = map[string]int{"default": 1}, []string{"x"}, "paused", 20*time.Second
	in := want
	in.Slots, in.Needs, in.ClockOffset = maps.Clone(want.Slots), slices.Clone(want.Needs), clonePtr(want.ClockOffset)
	got, err := p.Beat(p.ctx, in)
	p.must("beat", err)
	want.Started, want.Beat, want.LeaseUntil = first.Started, p.now(), *p.in(20 * time.Second)
	p.wantInstance("the instance returned", got, want)
	p.wantInstance("the instance stored", p.instances()["a"], want)
	p.clock.move(19 * time.Second)
	_, err = p.Claim(p.ctx, request(first.Owner), planner(once).decide)
	p.must("a claim within the renewed lease", err)
}

func beatClockOffset(p *probe) {
	first := p.beat("a", lease)
	if first.ClockOffset != nil {
		p.errorf("the clock offset of a beat without one is %s", first.ClockOffset)
	}
	check := func(what string, got, want *time.Duration) {
		switch {
		case got == nil && want == nil:
		case got == nil || want == nil:
			p.errorf("%s is %v, want %v", what, got, want)
		case *got%time.Microsecond != 0 || (*got-*want).Abs() >= time.Microsecond:
			p.errorf("%s is %s, want %s to the microsecond", what, got, want)
		}
	}
	ahead, behind, odd, none := 90*time.Minute+time.Microsecond, -time.Microsecond, 1500*time.Nanosecond, time.Duration(0)
	for _, offset := range []*time.Duration{&ahead, &behind, nil, &odd, &none} {
		in := full("a", first.Owner.Epoch)
		in.ClockOffset = clonePtr(offset)
		got, err := p.Beat(p.ctx, in)
		p.must("beat", err)
		check("the clock offset returned", got.ClockOffset, offset)
		check("the clock offset stored", p.instances()["a"].ClockOffset, offset)
	}
	next := p.beat("a", lease)
	check("the clock offset of the next life", next.ClockOffset, nil)
}

func beatEpochs(p *probe) {
	last := int64(0)
	higher := func(what string) ruqi.Owner {
		o := p.beat("a", 10*time.Second).Owner
		if o.Epoch <= last {
			p.errorf("the epoch %s is %d, want more than %d", what, o.Epoch, last)
		}
		last = o.Epoch
		return o
	}
	higher("of the first life")
	owner := higher("of a second life while the first is alive")
	_, err := p.Beat(p.ctx, ruqi.Instance{Owner: owner})
	p.must("goodbye", err)
	higher("after a goodbye")
	p.clock.move(time.Minute)
	_, err = p.Rescue(p.ctx, p.owner("b"), 10, lose)
	p.must("rescue", err)
	if _, ok := p.instances()["a"]; ok {
		p.errorf("the instance past its lease is still listed")
	}
	higher("after it was forgotten")
}

func beatLost(p *probe) {
	first := p.beat("a", 10*time.Second)
	renew := func(what string, owner ruqi.Owner) {
		_, err := p.Beat(p.ctx, ruqi.Instance{Owner: owner, Lease: time.Hour})
		p.wantErr("a beat "+what, err, ruqi.ErrLeaseLost)
	}
	renew("of an instance never heard of", ruqi.Owner{Instance: "nobody", Epoch: 3})
	renew("with an epoch to come", ruqi.Owner{Instance: "a", Epoch: first.Owner.Epoch + 1})
	second := p.beat("a", 10*time.Second)
	renew("with an earlier epoch", first.Owner)
	p.wantTime("LeaseUntil after beats in vain", &second.LeaseUntil, p.in(10*time.Second))
	stored := p.instances()["a"]
	p.wantTime("LeaseUntil stored", &stored.LeaseUntil, p.in(10*time.Second))
}

func beatSlept(p *probe) {
	idle, busy := p.beat("idle", 10*time.Second).Owner, p.beat("busy", 10*time.Second).Owner
	first := p.startOne(busy, "first")
	p.startOne(busy, "second")
	sleep := func() {
		p.clock.move(time.Hour)
		_, err := p.Claim(p.ctx, request(busy), planner(once).decide)
		p.wantErr("a claim past the lease", err, ruqi.ErrLeaseLost)
	}
	sleep()
	_, err := p.Rescue(p.ctx, busy, 10, lose)
	p.must("a rescue of its own", err)
	_, err = p.Beat(p.ctx, ruqi.Instance{Owner: busy, Lease: 10 * time.Second})
	p.must("a beat past the lease that no one has rescued", err)
	p.wantState("a run of an instance that slept", first.ID, ruqi.RunRunning)
	_, err = p.Claim(p.ctx, request(busy), planner(once).decide)
	p.must("a claim within the lease renewed", err)
	_, err = p.Beat(p.ctx, ruqi.Instance{Owner: idle, Lease: time.Hour})
	p.wantErr("a beat of an idle instance that was rescued", err, ruqi.ErrLeaseLost)

	sleep()
	ended, err := p.Rescue(p.ctx, p.owner("other"), 1, lose)
	p.must("rescue", err)
	same(p, "runs rescued", runIDs(ended), []int64{first.ID})
	_, err = p.Beat(p.ctx, ruqi.Instance{Owner: busy, Lease: time.Hour})
	p.wantErr("a beat of an instance of whose runs one was rescued", err, ruqi.ErrLeaseLost)
	_, err = p.Claim(p.ctx, request(busy), planner(once).decide)
	p.wantErr("a claim of an instance of whose runs one was rescued", err, ruqi.ErrLeaseLost)
	ended, err = p.Rescue(p.ctx, p.owner("other"), 10, lose)
	p.must("rescue", err)
	equal(p, "the number of runs left for the next rescue", len(ended), 1)
}

func beatGoodbye(p *probe) {
	idle, busy, other := p.owner("idle"), p.owner("busy"), p.owner("other")
	r := p.startOne(busy, "job")
	for _, o := range []ruqi.Owner{idle, busy} {
		_, err := p.Beat(p.ctx, ruqi.Instance{Owner: o})
		p.must("goodbye", err)
	}
	if _, ok := p.instances()["idle"]; ok {
		p.errorf("an instance without runs is listed after its goodbye")
	}
	_, err := p.Beat(p.ctx, ruqi.Instance{Owner: busy, Lease: lease})
	p.wantErr("a beat after a goodbye", err, ruqi.ErrLeaseLost)
	p.clock.move(time.Microsecond)
	ended, err := p.Rescue(p.ctx, other, 10, lose)
	p.must("rescue", err)
	same(p, "runs rescued of the instance that said goodbye", runIDs(ended), []int64{r.ID})
	_, err = p.Rescue(p.ctx, other, 10, lose)
	p.must("rescue", err)
	if _, ok := p.instances()["busy"]; ok {
		p.errorf("an instance is listed after its goodbye and the end of its runs")
	}
}

func instancesList(p *probe) {
	var names []string
	for _, name := range []string{"b", "ü:2", "a", "B"} {
		p.owner(name)
	}
	list, err := p.Instances(p.ctx)
	p.must("instances", err)
	for _, i := range list {
		names = append(names, i.Owner.Instance)
	}
	same(p, "instances", names, []string{"B", "a", "b", "ü:2"})
}

var rescueRules = []rule{
	{name: "Rescue/earlier life", check: rescueEarlierLife,
		law: "an earlier life stays dead when the later one is forgotten before all its runs are ended"},
	{name: "Rescue/dead", check: rescueDead,
		law: "Rescue ends the running runs of owners whose lease has ended, decide's Done being written as by Finish, and returns them"},
	{name: "Rescue/epochs", check: rescueEpochs,
		law: "Rescue ends the runs of earlier lives of an instance, its new life being the rescuer or not"},
	{name: "Rescue/own", check: rescueOwn,
		law: "Rescue leaves alone the runs of owner itself, even past its lease, and those of owners that are alive"},
	{name: "Rescue/limit", check: rescueLimit,
		law: "Rescue ends at most limit runs a step, oldest first"},
	{name: "Rescue/rerun", check: rescueRerun,
		law: "a rerun that decide asks for is inserted in the same step and its id set in Again, and EndJob and RemoveJob act as in Finish"},
	{name: "Rescue/job gone", check: rescueGone,
		law: "decide gets the run's job as it is, nil if it is gone"},
	{name: "Rescue/forget", check: rescueForgets,
		law: "instances past their lease that own no run any more are forgotten, others and the rescuer itself not"},
	{name: "Rescue/panic", check: rescuePanics,
		law: "a panic of decide is passed on to the caller, nothing having been written, and the store goes on"},
}

// lose is the plainest decision about a dead run.
func lose(_ time.Time, dead ruqi.Run, _ *ruqi.JobRecord) ruqi.Done {
	return ruqi.Done{Run: ruqi.Run{ID: dead.ID, State: ruqi.RunLost, Reason: "its instance died"}}
}

// orphan starts the run of a new job under an instance that is dead then.
func (p *probe) orphan(instance, job string) ruqi.Run {
	o := p.beat(instance, 10*time.Second).Owner
	r := p.startOne(o, job)
	p.clock.move(time.Minute)
	return r
}

func rescueDead(p *probe) {
	owner := p.owner("b")
	r := p.orphan("a", "job")
	var shown ruqi.Run
	ended, err := p.Rescue(p.ctx, owner, 10, func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
		p.wantTime("the now of decide", &now, p.in(0))
		shown = dead
		if job == nil || job.ID != "job" {
			p.errorf("decide got job %v, want \"job\"", job)
		}
		return lose(now, dead, job)
	})
	p.must("rescue", err)
	p.wantRun("the run shown", shown, r)
	if len(ended) != 1 {
		p.fatalf("Rescue returned %d runs, want 1", len(ended))
	}
	want := r
	want.State, want.Reason, want.Finished = ruqi.RunLost, "its instance died", p.in(0)
	p.wantRun("the run returned", ended[0], want)
	p.wantRun("the run stored", p.run(r.ID), want)
	p.wantLate("of a run that was rescued", r.Owner, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunSucceeded}})
	p.wantState("the run", r.ID, ruqi.RunLost)
	again, err := p.Rescue(p.ctx, owner, 10, lose)
	p.must("rescue", err)
	equal(p, "the number of runs rescued twice", len(again), 0)
}

func rescueEpochs(p *probe) {
	first := p.startOne(p.owner("a"), "first")
	second := p.owner("a")
	mine := p.startOne(second, "second")
	ended, err := p.Rescue(p.ctx, second, 10, lose)
	p.must("rescue", err)
	same(p, "runs rescued by the instance's next life", runIDs(ended), []int64{first.ID})
	p.owner("a")
	ended, err = p.Rescue(p.ctx, p.owner("b"), 10, lose)
	p.must("rescue", err)
	same(p, "runs rescued by another instance", runIDs(ended), []int64{mine.ID})
}

func rescueOwn(p *probe) {
	own := p.beat("a", 10*time.Second).Owner
	mine := p.startOne(own, "mine")
	his := p.startOne(p.owner("b"), "his")
	p.clock.move(time.Minute)
	ended, err := p.Rescue(p.ctx, own, 10, lose)
	p.must("rescue", err)
	same(p, "runs rescued", runIDs(ended), []int64{})
	p.wantState("the rescuer's own run", mine.ID, ruqi.RunRunning)
	p.wantState("the run of an instance that is alive", his.ID, ruqi.RunRunning)
	p.finish(own, ruqi.Done{Run: ruqi.Run{ID: mine.ID, State: ruqi.RunSucceeded}})
}

func rescueLimit(p *probe) {
	owner := p.owner("z")
	var want []int64
	a, b := p.beat("a", 10*time.Second).Owner, p.beat("b", 10*time.Second).Owner
	for i := range 7 {
		want = append(want, p.startOne([]ruqi.Owner{a, b}[i%2], fmt.Sprint("job", i)).ID)
	}
	p.clock.move(time.Minute)
	for len(want) > 0 {
		ended, err := p.Rescue(p.ctx, owner, 3, lose)
		p.must("rescue", err)
		got := runIDs(ended)
		slices.Sort(got)
		n := min(3, len(want))
		same(p, "runs rescued, three a step", got, want[:n])
		want = want[n:]
	}
	ended, err := p.Rescue(p.ctx, owner, 3, lose)
	p.must("rescue", err)
	equal(p, "the number of runs rescued when none is left", len(ended), 0)
}

func rescueRerun(p *probe) {
	owner := p.owner("b")
	dead := p.orphan("a", "job")
	p.set("job", func(r *ruqi.JobRecord) { r.State = ruqi.JobFinished })
	var written *ruqi.Run
	_, err := p.Rescue(p.ctx, owner, 10, func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
		done := lose(now, dead, job)
		again := row(job.ID, ruqi.CauseRetry, ruqi.RunQueued, dead.Nominal)
		again.Attempt, again.ParentID, again.Due = 2, dead.ID, time.Time{}
		done.Again, done.RemoveJob = &again, true
		written = done.Again
		return done
	})
	p.must("rescue", err)
	rows := p.runs(ruqi.RunQuery{Job: "job"})
	if len(rows) != 2 || rows[0].State != ruqi.RunQueued || rows[0].Attempt != 2 || rows[0].ParentID != dead.ID {
		p.fatalf("after a rerun the rows are %+v, want a queued second attempt and the lost first", rows)
	}
	equal(p, "the id that the store set in Done.Again", written.ID, rows[0].ID)
	p.wantTime("Due of the rerun", &rows[0].Due, p.in(0))
	equal(p, "the job with a rerun waiting is there", p.hasJob("job"), true)
	same(p, "the rows started", runIDs(p.claim(request(owner), fire).Runs), []int64{rows[0].ID})
	p.orphan("a", "ending")
	_, err = p.Rescue(p.ctx, owner, 10, func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
		done := lose(now, dead, job)
		done.EndJob = "lost for good"
		return done
	})
	p.must("rescue", err)
	equal(p, "the reason of the job that decide ended", p.job("ending").Reason, "lost for good")
}

func rescueGone(p *probe) {
	owner := p.owner("b")
	p.orphan("a", "job")
	p.remove("job")
	calls := 0
	ended, err := p.Rescue(p.ctx, owner, 10, func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
		calls++
		if job != nil {
			p.errorf("decide got job %q, which is gone", job.ID)
		}
		return lose(now, dead, job)
	})
	p.must("rescue", err)
	if calls == 0 || len(ended) != 1 {
		p.errorf("decide was called %d times and %d runs ended, want 1", calls, len(ended))
	}
}

func rescueForgets(p *probe) {
	owner := p.owner("rescuer")
	p.orphan("busy", "job")
	p.beat("idle", time.Second)
	p.beat("alive", time.Hour)
	p.clock.move(time.Minute)
	names := func() []string { return slices.Sorted(maps.Keys(p.instances())) }
	same(p, "instances before", names(), []string{"alive", "busy", "idle", "rescuer"})
	for range 2 {
		_, err := p.Rescue(p.ctx, owner, 10, lose)
		p.must("rescue", err)
	}
	same(p, "instances after", names(), []string{"alive", "rescuer"})
}

func rescuePanics(p *probe) {
	owner := p.owner("b")
	first, second := p.orphan("a", "one"), p.orphan("c", "two")
	p.panics("decide", func() {
		_, err := p.Rescue(p.ctx, owner, 10, func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
			if dead.ID == second.ID {
				panic("from decide")
			}
			return lose(now, dead, job)
		})
		p.errorf("the rescue returned, error %v", err)
	}, "from decide")
	p.wantState("a run decided before the panic", first.ID, ruqi.RunRunning)
	ended, err := p.Rescue(p.ctx, owner, 10, lose)
	p.must("rescue", err)
	equal(p, "the number of runs rescued after the panic", len(ended), 2)
}

var cancelRules = []rule{
	{name: "Cancel/queued", check: cancelQueued,
		law: "a queued run is cancelled at once, its Reason \"cancelled by BY\", and never starts"},
	{name: "Cancel/running", check: cancelRunning,
		law: "of a running run CancelBy is set, and a second request changes nothing"},
	{name: "Cancel/errors", check: cancelErrors,
		law: "Cancel of a run that is not there is ErrNotFound, of one that has ended ErrEnded, and changes nothing"},
}

func cancelQueued(p *probe) {
	owner := p.owner("a")
	p.addJob("job", idle, atMost(9))
	r, other := p.runNow("job", 1)[0], p.runNow("job", 1)[0]
	p.clock.move(time.Second)
	got, err := p.Cancel(p.ctx, r.ID, "ann ü")
	p.must("cancel", err)
	equal(p, "the state returned", got.State, ruqi.RunCancelled)
	equal(p, "the reason returned", got.Reason, "cancelled by ann ü")
	stored := p.wantState("the run stored", r.ID, ruqi.RunCancelled)
	equal(p, "the reason stored", stored.Reason, "cancelled by ann ü")
	p.wantTime("Finished", stored.Finished, p.in(0))
	p.wantTime("Started", stored.Started, nil)
	same(p, "the rows started", runIDs(p.claim(request(owner), fire).Runs), []int64{other.ID})
	p.wantOffered("after that", request(owner))
}

func cancelRunning(p *probe) {
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	got, err := p.Cancel(p.ctx, r.ID, "ann")
	p.must("cancel", err)
	want := r
	want.CancelBy = "ann"
	p.wantRun("the run returned", got, want)
	got, err = p.Cancel(p.ctx, r.ID, "bob")
	p.must("a second cancel", err)
	p.wantRun("the run returned to a second request", got, want)
	p.wantRun("the run stored", p.run(r.ID), want)
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: r.ID, State: ruqi.RunCancelled, Reason: "cancelled by ann"}})
	equal(p, "CancelBy after the end", p.run(r.ID).CancelBy, "ann")
}

func cancelErrors(p *probe) {
	_, err := p.Cancel(p.ctx, 4711, "ann")
	p.wantErr("cancel of a run that is not there", err, ruqi.ErrNotFound)
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	p.finish(owner, ended(r.ID, ruqi.RunSucceeded))
	before := p.run(r.ID)
	_, err = p.Cancel(p.ctx, r.ID, "ann")
	p.wantErr("cancel of a run that has ended", err, ruqi.ErrEnded)
	p.wantRun("the run", p.run(r.ID), before)
}

func rescueEarlierLife(p *probe) {
	earlier := p.beat("a", time.Hour)
	for n := range 3 {
		p.startOne(earlier.Owner, fmt.Sprint("job", n))
	}
	p.beat("a", time.Microsecond) // the later life dies without a run
	rescuer := p.owner("b")
	p.clock.move(time.Millisecond)
	for n := range 3 {
		ended, err := p.Rescue(p.ctx, rescuer, 1, lose)
		p.must("rescue", err)
		equal(p, fmt.Sprintf("the number of runs that the rescue after %d ended", n), len(ended), 1)
	}
}
