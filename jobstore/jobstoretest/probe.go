package jobstoretest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A probe is one case under way: a store, its clock, and what was found wrong.
type probe struct {
	Store
	ctx   context.Context
	clock *clock
	open  func(Options) Store
	cap   int64

	lasting bool

	mu     sync.Mutex
	faults []string // guarded by mu
	opened []Store  // guarded by mu
}

// caseTime bounds one case: a store that hangs is a store that fails. The slowest case
// of the slowest store takes some seconds.
const caseTime = 2 * time.Minute

// errStop ends a case whose next steps have no sense any more.
var errStop = errors.New("stop")

// try runs one case, and returns what it broke.
func try(t testing.TB, r rule, place func(testing.TB) func(Options) Store, lasting bool) *Failure {
	t.Helper()
	open := place(t) // it may wait its turn, which is none of the case's time
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	defer cancel()
	p := &probe{ctx: ctx, clock: newClock(), open: open, lasting: lasting}
	p.Store = p.handle()
	defer p.closeAll()
	func() {
		defer func() {
			if v := recover(); v != nil && v != errStop {
				p.errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		r.check(p)
		p.wantSound()
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) == 0 {
		return nil
	}
	return &Failure{Rule: r.name, Law: r.law, Faults: p.faults}
}

// errorf notes what is wrong and goes on.
func (p *probe) errorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const most = 20 // a race that goes wrong goes wrong a thousand times
	if len(p.faults) < most {
		p.faults = append(p.faults, fmt.Sprintf(format, args...))
	}
}

// fatalf notes what is wrong and ends the case. It is for the case's own goroutine only.
func (p *probe) fatalf(format string, args ...any) {
	p.errorf(format, args...)
	panic(errStop)
}

// must ends the case when a step failed that should not.
func (p *probe) must(step string, err error) {
	if err != nil {
		p.fatalf("%s: %v", step, err)
	}
}

// wantErr notes an error that is not target.
func (p *probe) wantErr(step string, err, target error) {
	if !errors.Is(err, target) {
		p.errorf("%s: error %v, want %v", step, err, target)
	}
}

// wantInvalid notes an error that does not fault the pointer.
func (p *probe) wantInvalid(step string, err error, pointer string) {
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || !slices.ContainsFunc(invalid.Faults, func(f ruqi.Fault) bool { return f.Pointer == pointer }) {
		p.errorf("%s: error %v, want an *InvalidError for %s", step, err, pointer)
	}
}

// wantSound notes what a store that lasts, and can look itself over, finds wrong after a case.
func (p *probe) wantSound() {
	if !p.lasting {
		return
	}
	caretaker, ok := p.handle().(ruqi.Caretaker)
	if !ok {
		return
	}
	faults, err := caretaker.Check(p.ctx)
	p.must("check", err)
	for _, fault := range faults {
		p.errorf("after the case Check finds: %s", fault)
	}
	if now, err := caretaker.Now(p.ctx); err != nil || !now.Equal(p.now()) {
		p.errorf("the store's time is %s, %v, want %s", now, err, p.now())
	}
	if state, err := caretaker.Schema(p.ctx); err != nil || state.Has != state.Knows || state.Oldest < 1 || state.Oldest > state.Has {
		p.errorf("the schema of a store that was opened is %+v, %v", state, err)
	}
}

// handle opens one more handle on the case's data.
func (p *probe) handle() Store {
	s := p.open(Options{Now: p.clock.now, OutputCap: p.cap})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened = append(p.opened, s)
	return s
}

// handles returns n handles to race on: as many of their own where the store lasts, else the one.
func (p *probe) handles(n int) []Store {
	list := []Store{p.Store}
	for len(list) < n {
		if p.lasting {
			list = append(list, p.handle())
		} else {
			list = append(list, p.Store)
		}
	}
	return list
}

// close closes one handle.
func (p *probe) close(s Store) {
	p.mu.Lock()
	p.opened = slices.DeleteFunc(p.opened, func(other Store) bool { return other == s })
	p.mu.Unlock()
	if err := s.Close(); err != nil {
		p.errorf("close: %v", err)
	}
}

func (p *probe) closeAll() {
	for {
		p.mu.Lock()
		if len(p.opened) == 0 {
			p.mu.Unlock()
			return
		}
		s := p.opened[len(p.opened)-1]
		p.mu.Unlock()
		p.close(s)
	}
}

// capped opens the case's store anew with a cap for output.
func (p *probe) capped(limit int64) {
	p.close(p.Store)
	p.cap = limit
	p.Store = p.handle()
}

// A clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time // guarded by mu
}

// newClock stands at a time with a fraction of a microsecond, in a zone that is not UTC: a
// store has to make the best of both.
func newClock() *clock {
	zone := time.FixedZone("east", 8*60*60)
	return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, zone)}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// now is what the store should take the time for.
func (p *probe) now() time.Time { return p.clock.now().UTC().Truncate(time.Microsecond) }

// in is a time from now.
func (p *probe) in(d time.Duration) *time.Time {
	t := p.now().Add(d)
	return &t
}

// What the suite's jobs and instances agree on.
const (
	pool  = "default"
	need  = "test"
	lease = 24 * time.Hour // outlasts whatever a case does with the clock, unless it says otherwise
	step  = time.Minute    // from one fire of a job to the next
)

// record is an active job of the pool, due now.
func (p *probe) record(id string, change ...func(*ruqi.JobRecord)) ruqi.JobRecord {
	r := ruqi.JobRecord{
		ID: id, Name: id, State: ruqi.JobActive, Pool: pool, Needs: need, MaxInstances: 1,
		NextNominal: p.in(0), NextDue: p.in(0), Version: 1, Spec: []byte(`{"v":1}`),
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// later sets the job's next time to d from now.
func (p *probe) later(d time.Duration) func(*ruqi.JobRecord) {
	return func(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = p.in(d), p.in(d) }
}

// idle leaves the job without a next time.
func idle(r *ruqi.JobRecord) { r.NextNominal, r.NextDue = nil, nil }

func inState(state ruqi.JobState) func(*ruqi.JobRecord) {
	return func(r *ruqi.JobRecord) {
		if r.State = state; state != ruqi.JobActive {
			idle(r)
		}
	}
}

func atMost(n int) func(*ruqi.JobRecord) { return func(r *ruqi.JobRecord) { r.MaxInstances = n } }

func withPriority(n int) func(*ruqi.JobRecord) { return func(r *ruqi.JobRecord) { r.Priority = n } }

// add writes the records in one edit and returns them as they came back.
func (p *probe) add(records ...ruqi.JobRecord) []ruqi.JobRecord {
	byID := map[string]ruqi.JobRecord{}
	var ids []string
	for _, r := range records {
		byID[r.ID] = r
		ids = append(ids, r.ID)
	}
	jobs, _, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: ids}, func(_ time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
		if old != nil {
			return ruqi.Change{Err: fmt.Errorf("job %q is there already", id)}
		}
		r := clone(byID[id])
		return ruqi.Change{Job: &r}
	})
	p.must("add jobs", err)
	return jobs
}

// addJob is add for one job.
func (p *probe) addJob(id string, change ...func(*ruqi.JobRecord)) ruqi.JobRecord {
	jobs := p.add(p.record(id, change...))
	if len(jobs) != 1 {
		p.fatalf("adding %q returned %d jobs, want it alone", id, len(jobs))
	}
	return jobs[0]
}

// clone copies what a record points to: what is handed in belongs to the store.
func clone(r ruqi.JobRecord) ruqi.JobRecord {
	r.Tags, r.Spec = slices.Clone(r.Tags), slices.Clone(r.Spec)
	r.NextNominal, r.NextDue = clonePtr(r.NextNominal), clonePtr(r.NextDue)
	return r
}

func clonePtr[T any](t *T) *T {
	if t == nil {
		return nil
	}
	v := *t
	return &v
}

// edit decides one job that must be there, and returns it with the rows that were inserted.
func (p *probe) edit(id string, decide func(old ruqi.JobRecord) ruqi.Change) (ruqi.JobRecord, []ruqi.Run) {
	jobs, runs, err := p.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{id}}, func(_ time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
		if old == nil {
			return ruqi.Change{Err: fmt.Errorf("job %q: %w", id, ruqi.ErrNotFound)}
		}
		return decide(*old)
	})
	p.must("edit "+id, err)
	if len(jobs) != 1 {
		p.fatalf("edit of %q returned %d jobs, want it alone", id, len(jobs))
	}
	return jobs[0], runs
}

// set changes the fields of a job.
func (p *probe) set(id string, change func(*ruqi.JobRecord)) ruqi.JobRecord {
	job, _ := p.edit(id, func(old ruqi.JobRecord) ruqi.Change {
		change(&old)
		return ruqi.Change{Job: &old}
	})
	return job
}

func (p *probe) remove(id string) ruqi.JobRecord {
	job, _ := p.edit(id, func(ruqi.JobRecord) ruqi.Change { return ruqi.Change{Remove: true} })
	return job
}

// runNow queues n manual rows of a job in one edit.
func (p *probe) runNow(id string, n int) []ruqi.Run {
	_, runs := p.edit(id, func(ruqi.JobRecord) ruqi.Change {
		var c ruqi.Change
		for range n {
			c.Runs = append(c.Runs, row(id, ruqi.CauseManual, ruqi.RunQueued, time.Time{}))
		}
		return c
	})
	if len(runs) != n {
		p.fatalf("%d manual rows were inserted as %d", n, len(runs))
	}
	return runs
}

// row is a new row of a job.
func row(job string, cause ruqi.Cause, state ruqi.RunState, nominal time.Time) ruqi.Run {
	return ruqi.Run{Attempt: 1, JobID: job, JobName: job, Task: "test", Cause: cause, State: state, Nominal: nominal, Due: nominal, Params: []byte("{}")}
}

// jobsByID lists jobs of a query; there must be one page of them.
func (p *probe) list(query ruqi.JobQuery) []ruqi.JobRecord {
	page, err := p.Jobs(p.ctx, query)
	p.must("jobs", err)
	return page.Jobs
}

func (p *probe) job(id string) ruqi.JobRecord {
	jobs := p.list(ruqi.JobQuery{IDs: []string{id}})
	if len(jobs) != 1 || jobs[0].ID != id {
		p.fatalf("Jobs by id %q returned %d jobs, want it alone", id, len(jobs))
	}
	return jobs[0]
}

func (p *probe) hasJob(id string) bool { return len(p.list(ruqi.JobQuery{IDs: []string{id}})) > 0 }

// runs lists rows of a query; there must be one page of them.
func (p *probe) runs(query ruqi.RunQuery) []ruqi.Run {
	if query.Limit == 0 {
		query.Limit = ruqi.MaxPage
	}
	page, err := p.Runs(p.ctx, query)
	p.must("runs", err)
	if page.Next != "" {
		p.fatalf("more than %d rows", query.Limit)
	}
	return page.Runs
}

func (p *probe) run(id int64) ruqi.Run {
	runs := p.runs(ruqi.RunQuery{IDs: []int64{id}})
	if len(runs) != 1 || runs[0].ID != id {
		p.fatalf("Runs by id %d returned %d rows, want it alone", id, len(runs))
	}
	return runs[0]
}

// wantState notes a row that is not where it should be.
func (p *probe) wantState(what string, id int64, state ruqi.RunState) ruqi.Run {
	r := p.run(id)
	if r.State != state {
		p.errorf("%s is %s, want %s", what, r.State, state)
	}
	return r
}

// owner registers an instance that stays alive.
func (p *probe) owner(name string) ruqi.Owner { return p.beat(name, lease).Owner }

func (p *probe) beat(name string, lease time.Duration) ruqi.Instance {
	i, err := p.Beat(p.ctx, ruqi.Instance{
		Owner: ruqi.Owner{Instance: name}, Lease: lease, State: "running",
		Slots: map[string]int{pool: 1000}, Needs: []string{need},
	})
	p.must("beat", err)
	return i
}

// request asks for anything a case's jobs need.
func request(owner ruqi.Owner) ruqi.ClaimRequest {
	return ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{pool: 1000}, Needs: []string{need}}
}

// A planner plans one job; nil leaves it.
type planner func(now time.Time, due ruqi.Due) *ruqi.Plan

func (plan planner) decide(now time.Time, due []ruqi.Due) []ruqi.Plan {
	var plans []ruqi.Plan
	for _, d := range due {
		if p := plan(now, d); p != nil {
			plans = append(plans, *p)
		}
	}
	return plans
}

// stay is a plan that changes nothing.
func stay(d ruqi.Due) *ruqi.Plan {
	j := d.Job
	return &ruqi.Plan{JobID: j.ID, State: j.State, Reason: j.Reason, NextNominal: j.NextNominal, NextDue: j.NextDue, RunCount: j.RunCount}
}

// fire does what an engine would: it starts what waits while there is room, and settles one
// fire of the schedule, whose next is a step later.
func fire(now time.Time, d ruqi.Due) *ruqi.Plan {
	p := stay(d)
	room := d.Job.MaxInstances - d.Active
	for _, q := range d.Queued {
		if q.Batch != 0 {
			p.Start = append(p.Start, q.ID)
		} else if room > 0 {
			room--
			p.Start = append(p.Start, q.ID)
		}
	}
	if d.Job.State != ruqi.JobActive || d.Job.NextDue == nil || d.Job.NextDue.After(now) {
		return p
	}
	r := row(d.Job.ID, ruqi.CauseSchedule, ruqi.RunSkipped, *d.Job.NextNominal)
	if room > 0 {
		r.State = ruqi.RunRunning
		p.RunCount++
	} else {
		r.Reason, r.Finished = "at max_instances", clonePtr(&now)
	}
	next := d.Job.NextNominal.Add(step)
	p.NextNominal, p.NextDue = clonePtr(&next), clonePtr(&next)
	p.Runs = append(p.Runs, r)
	return p
}

// once fires like fire, and leaves the job without a next time.
func once(now time.Time, d ruqi.Due) *ruqi.Plan {
	p := fire(now, d)
	p.NextNominal, p.NextDue = nil, nil
	return p
}

// look notes the jobs it is shown, and leaves them.
func look(seen *[]ruqi.Due) func(time.Time, []ruqi.Due) []ruqi.Plan {
	return func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		*seen = slices.Clone(due)
		return nil
	}
}

func (p *probe) claim(r ruqi.ClaimRequest, plan planner) ruqi.Claimed {
	c, err := p.Claim(p.ctx, r, plan.decide)
	p.must("claim", err)
	return c
}

// offered lists what a claim is shown, by id in the order shown, and takes nothing.
func (p *probe) offered(r ruqi.ClaimRequest) map[string]ruqi.Due {
	var seen []ruqi.Due
	_, err := p.Claim(p.ctx, r, look(&seen))
	p.must("claim", err)
	byID := map[string]ruqi.Due{}
	for _, d := range seen {
		if _, twice := byID[d.Job.ID]; twice {
			p.errorf("a claim is shown job %q twice", d.Job.ID)
		}
		byID[d.Job.ID] = d
	}
	return byID
}

// startOne adds a job that is due and starts its run.
func (p *probe) startOne(owner ruqi.Owner, id string, change ...func(*ruqi.JobRecord)) ruqi.Run {
	p.addJob(id, change...)
	return p.start(owner, id)
}

// start claims the one job and returns its row.
func (p *probe) start(owner ruqi.Owner, id string) ruqi.Run {
	c := p.claim(request(owner), func(now time.Time, d ruqi.Due) *ruqi.Plan {
		if d.Job.ID != id {
			return nil
		}
		return once(now, d)
	})
	if len(c.Runs) != 1 {
		p.fatalf("the claim of %q started %d runs, want 1", id, len(c.Runs))
	}
	return c.Runs[0]
}

func ended(id int64, state ruqi.RunState) ruqi.Done {
	return ruqi.Done{Run: ruqi.Run{ID: id, State: state}}
}

// finish ends runs, none of which may be late.
func (p *probe) finish(owner ruqi.Owner, done ...ruqi.Done) {
	late, err := p.Finish(p.ctx, owner, done)
	p.must("finish", err)
	if len(late) > 0 {
		p.errorf("Finish took %v for late, want none", late)
	}
}

func ids(jobs []ruqi.JobRecord) []string {
	list := []string{}
	for _, j := range jobs {
		list = append(list, j.ID)
	}
	return list
}

func runIDs(runs []ruqi.Run) []int64 {
	list := []int64{}
	for _, r := range runs {
		list = append(list, r.ID)
	}
	return list
}

// equal notes two values that differ.
func equal[T comparable](p *probe, what string, got, want T) {
	if got != want {
		p.errorf("%s is %v, want %v", what, got, want)
	}
}

// same notes two lists that differ.
func same[T comparable](p *probe, what string, got, want []T) {
	if !slices.Equal(got, want) {
		p.errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantTime notes a time that is not the one wanted, to the microsecond, or not in UTC.
func (p *probe) wantTime(what string, got *time.Time, want *time.Time) {
	switch {
	case got == nil && want == nil:
	case got == nil || want == nil:
		p.errorf("%s is %v, want %v", what, got, want)
	case !got.Equal(want.Truncate(time.Microsecond)):
		p.errorf("%s is %s, want %s", what, got.Format(time.RFC3339Nano), want.Format(time.RFC3339Nano))
	case got.Location() != time.UTC:
		p.errorf("%s is in zone %s, want UTC", what, got.Location())
	}
}
