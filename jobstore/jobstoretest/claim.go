package jobstoretest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var claimRules = []rule{
	{name: "Claim/due", check: claimDue,
		law: "a claim is shown active jobs with NextDue <= now, whole, and no others"},
	{name: "Claim/order", check: claimOrder,
		law: "a pool's slots go to the higher priority first, then to the longest due"},
	{name: "Claim/slots", check: claimSlots,
		law: "a claim takes at most n jobs for each pool with n free slots, and nothing of pools that are not named or full"},
	{name: "Claim/full pool", check: claimFullPool,
		law: "a full pool never hides another, however many jobs of high priority wait for it"},
	{name: "Claim/needs", check: claimNeeds,
		law: "a claim is shown only jobs whose Needs is in the request's, and others never hide them"},
	{name: "Claim/except", check: claimExcept,
		law: "a claim is not shown the jobs of Except, and they never hide others"},
	{name: "Claim/limit", check: claimLimit,
		law: "a claim takes at most Limit jobs, 500 when it is 0"},
	{name: "Claim/lease", check: claimLease,
		law: "a claim of an owner whose lease is not alive on the store's clock is ErrLeaseLost, and nothing is taken"},
	{name: "Claim/life that was ended", check: claimEndedLife,
		law: "a claim of a life that was rescued, or has said goodbye, is ErrLeaseLost, whatever the store's clock says later"},
	{name: "Claim/instances", check: claimInstances,
		law: "Instances counts the instances alive on the store's clock, the owner's own included, with and without something due"},
	{name: "Claim/no plan", check: claimNoPlan,
		law: "a job without a plan stays as it is, and is offered again"},
	{name: "Claim/panic", check: claimPanics,
		law: "a panic of decide is passed on to the caller, nothing having been written, and the store goes on"},
	{name: "Claim/cancel", check: claimCancel,
		law: "Cancel lists the owner's running runs whose end was asked for, with no free slots as well, until they end"},
}

func (p *probe) wantOffered(what string, r ruqi.ClaimRequest, want ...string) {
	got := []string{}
	for id := range p.offered(r) {
		got = append(got, id)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.errorf("%s: a claim is shown %q, want %q", what, got, want)
	}
}

func claimDue(p *probe) {
	owner := p.owner("a")
	want := p.add(
		p.record("due", func(r *ruqi.JobRecord) {
			r.Name, r.Tags, r.Priority, r.Reason, r.Version = "n", []string{"t"}, 5, "why", 9
		}),
		p.record("late", p.later(-time.Hour)),
		p.record("soon", p.later(time.Microsecond)),
		p.record("never", idle),
		p.record("paused", func(r *ruqi.JobRecord) { r.State = ruqi.JobPaused }),
		p.record("finished", func(r *ruqi.JobRecord) { r.State = ruqi.JobFinished }),
		p.record("jitter", func(r *ruqi.JobRecord) { r.NextDue = p.in(time.Second) }),
	)
	p.wantOffered("at first", request(owner), "due", "late")
	d := p.offered(request(owner))["due"]
	p.wantRecord("the job shown", d.Job, want[0])
	equal(p, "its active runs", d.Active, 0)
	equal(p, "its queued rows", len(d.Queued), 0)
	p.clock.move(time.Microsecond)
	p.wantOffered("a microsecond later", request(owner), "due", "late", "soon")
	p.clock.move(time.Second)
	p.wantOffered("a second later", request(owner), "due", "late", "soon", "jitter")
	c, err := p.Claim(p.ctx, request(owner), func(now time.Time, _ []ruqi.Due) []ruqi.Plan {
		p.wantTime("the now of decide", &now, p.in(0))
		return nil
	})
	p.must("claim", err)
	p.wantTime("Claimed.Now", &c.Now, p.in(0))
}

func claimOrder(p *probe) {
	owner := p.owner("a")
	p.add(
		p.record("3", withPriority(1), p.later(-time.Second)), p.record("5", p.later(-time.Second)), p.record("1", withPriority(9)),
		p.record("6", withPriority(-5), p.later(-time.Hour)), p.record("4", p.later(-time.Minute)), p.record("2", withPriority(1), p.later(-time.Minute)),
	)
	var got []string
	r := request(owner)
	r.Slots = map[string]int{pool: 1}
	for range 6 {
		c := p.claim(r, once)
		for _, run := range c.Runs {
			got = append(got, run.JobID)
		}
	}
	equal(p, "jobs in the order in which one slot at a time took them", strings.Join(got, ""), "123456")
	p.add(p.record("low", withPriority(-1), p.later(-time.Hour)), p.record("high", withPriority(1)), p.record("mid"))
	r.Slots[pool] = 2
	p.wantOffered("two slots for three jobs", r, "high", "mid")
	p.set("low", withPriority(7))
	p.wantOffered("two slots, after the lowest was raised to the highest", r, "high", "low")
}

func claimSlots(p *probe) {
	owner := p.owner("a")
	for _, pool := range []string{"a", "b", "c"} {
		for i := range 5 {
			p.addJob(fmt.Sprint(pool, i), p.later(time.Duration(i-10)*time.Second), func(r *ruqi.JobRecord) { r.Pool = pool })
		}
	}
	r := request(owner)
	r.Slots = map[string]int{"a": 2, "b": 3, "c": 0}
	p.wantOffered("slots a 2, b 3, c 0", r, "a0", "a1", "b0", "b1", "b2")
	r.Slots = map[string]int{"c": 9}
	p.wantOffered("slots c 9", r, "c0", "c1", "c2", "c3", "c4")
	r.Slots = map[string]int{"c": -1, "d": 5}
	p.wantOffered("slots c -1, d 5", r)
	r.Slots = nil
	p.wantOffered("no slots", r)
	if c := p.claim(r, once); len(c.Runs) != 0 {
		p.errorf("a claim without slots started %d runs", len(c.Runs))
	}
}

func claimFullPool(p *probe) {
	owner := p.owner("a")
	var records []ruqi.JobRecord
	for i := range 1200 {
		records = append(records, p.record(fmt.Sprint("full", i), withPriority(100), p.later(-time.Hour), func(r *ruqi.JobRecord) { r.Pool = "full" }))
	}
	records = append(records, p.record("other"), p.record("third", withPriority(-100), func(r *ruqi.JobRecord) { r.Pool = "third" }))
	p.add(records...)
	r := request(owner)
	r.Slots = map[string]int{"full": 0, pool: 1, "third": 1}
	p.wantOffered("with the pool of 1,200 jobs full", r, "other", "third")
	r.Slots["full"] = 3
	shown := p.offered(r)
	equal(p, "the number of jobs shown with three slots in that pool", len(shown), 5)
	for _, id := range []string{"other", "third"} {
		if _, ok := shown[id]; !ok {
			p.errorf("job %q is hidden by a pool with less slots than jobs", id)
		}
	}
}

func claimNeeds(p *probe) {
	owner := p.owner("a")
	var records []ruqi.JobRecord
	for i := range 1200 {
		records = append(records, p.record(fmt.Sprint("strange", i), withPriority(100), p.later(-time.Hour), func(r *ruqi.JobRecord) { r.Needs = "strange" }))
	}
	needs := func(n string) func(*ruqi.JobRecord) { return func(r *ruqi.JobRecord) { r.Needs = n } }
	records = append(records, p.record("a", needs("func:a")), p.record("A", needs("func:A")), p.record("b", needs("func:b")), p.record("c", needs("func:c")))
	p.add(records...)
	r := request(owner)
	r.Slots[pool] = 2
	for _, c := range []struct {
		needs []string
		want  []string
	}{
		{[]string{"func:a"}, []string{"a"}}, {[]string{"func:A", "func:b"}, []string{"A", "b"}}, {[]string{"func"}, nil}, {nil, nil}, {[]string{"func:c", "none"}, []string{"c"}},
	} {
		r.Needs = c.needs
		p.wantOffered(fmt.Sprintf("needs %q", c.needs), r, c.want...)
	}
}

func claimExcept(p *probe) {
	owner := p.owner("a")
	r := request(owner)
	r.Slots[pool] = 3
	var records []ruqi.JobRecord
	for i := range 600 {
		id := fmt.Sprint("unreadable", i)
		r.Except = append(r.Except, id)
		records = append(records, p.record(id, withPriority(100), p.later(-time.Hour)))
	}
	p.add(append(records, p.record("a"), p.record("b"))...)
	p.wantOffered("with 600 jobs excepted", r, "a", "b")
	c := p.claim(r, once)
	equal(p, "the number of runs started", len(c.Runs), 2)
	r.Except = r.Except[1:]
	p.wantOffered("after one was taken back", r, "unreadable0")
}

func claimLimit(p *probe) {
	owner := p.owner("a")
	var records []ruqi.JobRecord
	for i := range 520 {
		records = append(records, p.record(fmt.Sprint("job", i), withPriority(i), func(r *ruqi.JobRecord) { r.Pool = []string{pool, "other"}[i%2] }))
	}
	p.add(records...)
	r := request(owner)
	r.Slots["other"] = 1000
	equal(p, "the number of jobs shown without a limit", len(p.offered(r)), 500)
	r.Limit = 7
	equal(p, "the number of jobs shown with limit 7", len(p.offered(r)), 7)
	r.Limit = 505
	equal(p, "the number of jobs shown with limit 505", len(p.offered(r)), 505)
}

func claimEndedLife(p *probe) {
	other := p.owner("other")
	for _, c := range []struct {
		what string
		end  func(ruqi.Instance)
	}{
		{"rescued", func(ruqi.Instance) {
			p.clock.move(20 * time.Second)
			_, err := p.Rescue(p.ctx, other, 1, lose) // of two runs one, so that the life stays known
			p.must("rescue", err)
		}},
		{"that said goodbye", func(i ruqi.Instance) {
			_, err := p.Beat(p.ctx, ruqi.Instance{Owner: i.Owner})
			p.must("goodbye", err)
		}},
	} {
		i := p.beat("a "+c.what, 10*time.Second)
		for n := range 2 {
			p.startOne(i.Owner, fmt.Sprint(c.what, n))
		}
		c.end(i)
		p.clock.move(-15 * time.Second) // before the lease's old end
		p.addJob("due " + c.what)
		_, err := p.Claim(p.ctx, request(i.Owner), planner(once).decide)
		p.wantErr("a claim of a life "+c.what, err, ruqi.ErrLeaseLost)
		p.clock.move(15 * time.Second)
	}
}

func claimLease(p *probe) {
	i := p.beat("a", 10*time.Second)
	p.addJob("job")
	dead := func(what string, owner ruqi.Owner) {
		c, err := p.Claim(p.ctx, request(owner), planner(once).decide)
		p.wantErr("a claim "+what, err, ruqi.ErrLeaseLost)
		if len(c.Runs)+len(p.runs(ruqi.RunQuery{})) > 0 {
			p.errorf("a claim %s took something", what)
		}
		r := request(owner)
		r.Slots = nil
		_, err = p.Claim(p.ctx, r, planner(once).decide)
		p.wantErr("a claim without slots "+what, err, ruqi.ErrLeaseLost)
	}
	dead("of an instance never heard of", ruqi.Owner{Instance: "nobody", Epoch: 1})
	dead("of an epoch to come", ruqi.Owner{Instance: "a", Epoch: i.Owner.Epoch + 1})
	p.clock.move(10*time.Second + time.Microsecond)
	dead("past the lease", i.Owner)
	next := p.beat("a", 10*time.Second)
	dead("of an earlier epoch", i.Owner)
	_, err := p.Beat(p.ctx, ruqi.Instance{Owner: next.Owner})
	p.must("goodbye", err)
	dead("after a goodbye", next.Owner)
	last := p.beat("a", 10*time.Second)
	p.clock.move(9 * time.Second)
	equal(p, "the number of runs of a claim within the lease", len(p.claim(request(last.Owner), once).Runs), 1)
}

func claimInstances(p *probe) {
	owner := p.owner("a")
	p.addJob("job")
	none := request(owner)
	none.Slots = map[string]int{pool: 0}
	want := func(what string, n int) {
		equal(p, "the number of instances "+what+", with something due", p.claim(request(owner), fire).Instances, n)
		equal(p, "the number of instances "+what+", with nothing due", p.claim(request(owner), fire).Instances, n)
		equal(p, "the number of instances "+what+", without slots", p.claim(none, fire).Instances, n)
		p.clock.move(step)
	}
	want("alone", 1)
	gone, short := p.owner("gone"), p.beat("short", 2*step).Owner
	p.owner("c")
	want("of four", 4)
	_, err := p.Beat(p.ctx, ruqi.Instance{Owner: gone})
	p.must("goodbye", err)
	want("after a goodbye", 3)
	want("after a lease has ended", 2)
	_, err = p.Beat(p.ctx, ruqi.Instance{Owner: short, Lease: 2 * step})
	p.must("beat", err)
	want("after that lease was renewed", 3)
	p.owner("short")
	busy := p.owner("busy")
	p.startOne(busy, "long")
	_, err = p.Beat(p.ctx, ruqi.Instance{Owner: busy})
	p.must("goodbye with a run", err)
	want("of two lives of one name and beside a goodbye whose run goes on", 3)
	p.clock.move(2 * lease)
	_, err = p.Beat(p.ctx, ruqi.Instance{Owner: owner, Lease: lease})
	p.must("beat", err)
	want("when all others have died", 1)
	_, err = p.Rescue(p.ctx, owner, 10, lose)
	p.must("rescue", err)
	p.clock.move(-3 * step)
	want("when the clock was set back after a rescue", 1)
}

func claimNoPlan(p *probe) {
	owner := p.owner("a")
	p.add(p.record("a"), p.record("b"))
	before := p.job("b")
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID == "b" {
			return nil
		}
		return once(now, d)
	})
	same(p, "the jobs that had a plan", ids(c.Jobs), []string{"a"})
	equal(p, "the number of runs", len(c.Runs), 1)
	p.wantRecord("the job without a plan", p.job("b"), before)
	p.wantOffered("next", request(owner), "b")
}

func claimPanics(p *probe) {
	owner := p.owner("a")
	p.add(p.record("a"), p.record("b"))
	before := p.job("a")
	p.panics("decide", func() {
		_, err := p.Claim(p.ctx, request(owner), func(time.Time, []ruqi.Due) []ruqi.Plan { panic("from decide") })
		p.errorf("the claim returned, error %v", err)
	}, "from decide")
	p.wantRecord("the job", p.job("a"), before)
	equal(p, "the number of rows", len(p.runs(ruqi.RunQuery{})), 0)
	p.wantOffered("after the panic", request(owner), "a", "b")
	equal(p, "the number of runs of the next claim", len(p.claim(request(owner), once).Runs), 2)
}

func claimCancel(p *probe) {
	owner, other := p.owner("a"), p.owner("b")
	mine, his := p.startOne(owner, "mine"), p.startOne(other, "his")
	none := request(owner)
	none.Slots = map[string]int{pool: 0}
	same(p, "Cancel before anyone asked", p.claim(none, once).Cancel, nil)
	for _, id := range []int64{mine.ID, his.ID} {
		_, err := p.Cancel(p.ctx, id, "ann")
		p.must("cancel", err)
	}
	same(p, "Cancel without slots", p.claim(none, once).Cancel, []int64{mine.ID})
	same(p, "Cancel a second time", p.claim(request(owner), once).Cancel, []int64{mine.ID})
	same(p, "Cancel of the other instance", p.claim(request(other), once).Cancel, []int64{his.ID})
	p.finish(owner, ended(mine.ID, ruqi.RunCancelled))
	same(p, "Cancel after the run has ended", p.claim(request(owner), once).Cancel, nil)
}

var nextRules = []rule{
	{name: "Claim/next", check: claimNext,
		law: "Next is the earliest time at which a job or a queued row that the instance could serve becomes due, told with no free slots as well; nil when there is none"},
	{name: "Claim/next when something is left", check: claimNextLeft,
		law: "Next is now or earlier when something due was left"},
}

func claimNext(p *probe) {
	owner := p.owner("a")
	next := func(what string, r ruqi.ClaimRequest, want *time.Time) {
		c := p.claim(r, once)
		p.wantTime("Next "+what, c.Next, want)
	}
	full := request(owner)
	full.Slots = map[string]int{pool: 0}
	next("of an empty store", request(owner), nil)
	p.add(
		p.record("b", p.later(2*time.Hour)), p.record("a", p.later(3*time.Hour)), p.record("idle", idle),
		p.record("strange", p.later(time.Minute), func(r *ruqi.JobRecord) { r.Needs = "strange" }),
		p.record("elsewhere", p.later(time.Minute), func(r *ruqi.JobRecord) { r.Pool = "elsewhere" }),
		p.record("paused", p.later(time.Minute), func(r *ruqi.JobRecord) { r.State = ruqi.JobPaused }),
		p.record("unreadable", p.later(time.Minute)),
	)
	r := request(owner)
	r.Except, full.Except = []string{"unreadable"}, []string{"unreadable"}
	next("with two jobs to come", r, p.in(2*time.Hour))
	next("with two jobs to come and no slot", full, p.in(2*time.Hour))
	retry := row("idle", ruqi.CauseRetry, ruqi.RunQueued, *p.in(time.Hour))
	run := p.startOne(owner, "job")
	p.finish(owner, ruqi.Done{Run: ruqi.Run{ID: run.ID, State: ruqi.RunFailed}, Again: &ruqi.Run{
		JobID: "job", JobName: "job", Task: "test", Attempt: 2, Cause: ruqi.CauseRetry, State: ruqi.RunQueued, Nominal: run.Nominal, Due: retry.Due,
	}})
	next("with a queued row to come before", r, p.in(time.Hour))
	p.remove("job")
	next("after that row's job was removed", r, p.in(2*time.Hour))
	p.remove("b")
	next("after the earlier job was removed", r, p.in(3*time.Hour))
}

func claimNextLeft(p *probe) {
	owner := p.owner("a")
	left := func(what string, c ruqi.Claimed) {
		if c.Next == nil || c.Next.After(c.Now) {
			p.errorf("Next is %v when %s, want %s or earlier", c.Next, what, c.Now)
		}
	}
	p.add(p.record("a"), p.record("b"), p.record("c", p.later(time.Hour)))
	r := request(owner)
	r.Limit = 1
	left("the limit left a job", p.claim(r, once))
	r.Limit = 0
	left("a job had no plan", p.claim(r, func(time.Time, ruqi.Due) *ruqi.Plan { return nil }))
	r.Slots = map[string]int{pool: 0}
	left("the pool is full", p.claim(r, once))
	r.Slots[pool] = 5
	p.wantTime("Next after all is taken", p.claim(r, once).Next, p.job("c").NextDue)
}
