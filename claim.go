package ruqi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pollEvery is how often the store is asked even when nothing is known to be due: edits and
	// cancels of other instances take effect within a second.
	pollEvery = time.Second
	// claimLimit bounds the jobs of one step: 500 rows make one step of a database a few milliseconds long.
	claimLimit = 500
	// maxFinished is at how many ended runs that wait for the store nothing new is started. What has a slot by then may end as well.
	maxFinished = 4096
	// maxFinishedBytes bounds their output beside it.
	maxFinishedBytes = 256 << 20
	// gatherMost is the least time from the beginning of a claim to the next when nothing is due: fires closer together are
	// claimed together, which halves the cost of a steady load for a lateness that no one sees. Where claims take long it is less, see
	// gatherFor, but not less than gatherLeast. For busyFor after a claim of gatherEnough jobs it is busyWait, and hints of the store are
	// followed at once. What gathers while a slow store answers counts, but a fifth of the wait is always left to the store.
	gatherMost, gatherLeast, busyWait = 16 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond
	gatherEnough                      = 64
	busyFor                           = 100 * time.Millisecond
	// leastWait is the first wait after a claim that found something due and could do nothing.
	leastWait = time.Millisecond
	// spreadMost is the longest wait, by chance, before a claim for a fire time that other instances wait for too: else all
	// would come in the same microsecond, each time, and queue for the same rows or the one lock. It is some claims long and seen
	// by nobody. Nothing depends on it but the load.
	spreadMost = 5 * time.Millisecond
	// The waits after a failed claim: doubled from the first to the last.
	firstBackoff, lastBackoff = 100 * time.Millisecond, 5 * time.Second
)

// claimLoop takes what is due and hands it out, until ctx ends. It alone decides when to look.
func (s *Scheduler) claimLoop(ctx context.Context) {
	var hints <-chan struct{}
	if s.waker != nil {
		ch, stop := s.waker.Wake()
		defer stop()
		hints = ch
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	backoff, fruitless := firstBackoff, leastWait
	var looked, next time.Time // when the loop began to look last, and when it will again
	var busy time.Time         // until when the load counts as high
	gather, calm := gatherMost, true
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.kicks:
		case <-hints: // often of this instance's own ends: they are gathered, too
			if soon := looked.Add(gather); calm && time.Now().Before(soon) {
				if soon.Before(next) {
					next = soon
					timer.Reset(time.Until(soon))
				}
				continue
			}
		}
		wait := pollEvery
		looked = time.Now()
		claimed, _, _, err := s.claim(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = backoff
			backoff = min(2*backoff, lastBackoff)
		default:
			backoff = firstBackoff
			if len(claimed.Jobs) >= gatherEnough {
				busy = time.Now().Add(busyFor)
			}
			now := time.Now()
			if gather, calm = gatherFor(now.Sub(looked)), !now.Before(busy); !calm {
				gather = busyWait
			}
			wait, fruitless = nextLook(&claimed, max(gather-now.Sub(looked), gather/5), fruitless)
			if claimed.Instances > 1 && aimed(&claimed) {
				wait += rand.N(spreadMost)
			}
			if s.unread.grown.Swap(false) { // what was found unreadable stood in the way of others
				wait, fruitless = 0, leastWait
			}
			switch s.aside.Load() { // so does what waits for ends, and it is to be looked at again
			case newAside:
				wait, fruitless = leastWait, leastWait
			case someAside:
				wait = min(wait, asideFor)
			}
		}
		if wait == pollEvery {
			wait = s.untilBeatOf(pollEvery)
		}
		next = time.Now().Add(wait)
		timer.Reset(wait)
	}
}

// untilBeatOf is the time to the next moment that is a multiple of every after the loops were started. Loops with nothing to do wake at
// the same moments: to wake a process costs more than what they do then.
func (s *Scheduler) untilBeatOf(every time.Duration) time.Duration {
	return every - time.Since(s.looping)%every
}

// gatherFor is the time from the beginning of a claim to the next, after one that took so long. The first fire of those that gather waits for both,
// and for the ends of the fires before it, which the store writes meanwhile: what a claim takes counts twice.
func gatherFor(took time.Duration) time.Duration {
	return max(gatherMost-2*took, gatherLeast)
}

// nextLook is how long the loop may wait after a claim. When something is due and yet nothing
// could be done (no slot, locked by another, blocked by a running run), it waits longer each time; the end of a run kicks.
func nextLook(claimed *Claimed, gather, fruitless time.Duration) (wait, nextFruitless time.Duration) {
	switch {
	case claimed.Next == nil:
		return pollEvery, leastWait
	case claimed.Next.After(claimed.Now):
		return min(max(claimed.Next.Sub(claimed.Now), gather), pollEvery), leastWait
	case len(claimed.Jobs) >= claimLimit, len(claimed.Jobs) > 0 && claimed.Now.Sub(*claimed.Next) > gather:
		return 0, leastWait // there was more than one step takes
	case len(claimed.Jobs) > 0: // what came due during the claim; for want of slots, an end of a run kicks
		return gather, leastWait
	}
	return fruitless, min(2*fruitless, pollEvery)
}

// aimed reports whether the wait after a claim ends at the time of a fire, which all instances know, and not with the poll or
// because something is due already.
func aimed(claimed *Claimed) bool {
	return claimed.Next != nil && claimed.Next.After(claimed.Now) && claimed.Next.Sub(claimed.Now) < pollEvery
}

// claim makes one step: it takes what is due within the free slots, and starts it. Jobs that it could do nothing about, and that may have stood
// in the way of others, are returned as passed; the next claims leave them aside.
func (s *Scheduler) claim(ctx context.Context) (claimed Claimed, started []*activeRun, passed []string, err error) {
	select {
	case s.claiming <- struct{}{}:
		defer func() { <-s.claiming }()
	case <-ctx.Done():
		return Claimed{}, nil, nil, context.Cause(ctx)
	}
	owner := s.lease.owner()
	s.finished.forget()
	s.stillEnding()
	request := ClaimRequest{Owner: owner, Needs: *s.needs.Load(), Except: slices.Concat(s.unread.ids(), s.outage.aside(), s.ending), Limit: claimLimit}
	if s.mayStart() {
		request.Slots = s.runs.free()
	}
	var decided decisions
	if s.health.fail("claim", "heartbeat") {
		s.outage.on = true
	}
	asked := time.Now()
	claimed, err = s.store.Claim(ctx, request, func(now time.Time, due []Due) []Plan {
		decided = s.decide(now, due, request.Slots, s.outage.unsettled(now))
		return decided.plans
	})
	s.health.note("claim", err)
	if err != nil {
		switch {
		case errors.Is(err, ErrLeaseLost):
			s.lease.ask() // the next beat tells whether it is lost for good
		case ctx.Err() != nil && s.state.Load() != stateRunning: // the end: nothing was to be claimed any more
		case errors.Is(err, ErrUnavailable):
			s.log.Warn("claim failed", "error", err)
		default: // it may have happened all the same
			s.doubt.Store(true)
			s.log.Warn("claim failed", "error", err)
		}
		return Claimed{}, nil, nil, err
	}
	if len(decided.broken) > 0 && s.calendarsMoved(ctx) { // they may be readable by now
		decided.outdated = slices.AppendSeq(decided.outdated, maps.Keys(decided.broken))
		decided.broken = nil
	}
	for id, err := range decided.broken {
		s.park(id, err)
	}
	if len(decided.outdated) > 0 {
		s.follower.ask(decided.outdated)
		decided.waits = append(decided.waits, decided.outdated...)
	}
	passed = slices.AppendSeq(slices.Concat(decided.waits, decided.ending), maps.Keys(decided.broken))
	if s.outage.on {
		s.outage.on, s.outage.upTo, s.outage.over = false, claimed.Now, time.Now().Add(settleFor)
	}
	aside := s.outage.wait(decided.waits)
	switch {
	case len(decided.ending) > 0:
		aside = newAside
	case len(s.ending) > 0:
		aside = max(aside, someAside)
	}
	s.aside.Store(aside)
	s.ending = append(s.ending, decided.ending...)
	full := filled(request.Slots, &claimed)
	s.blocked.Store(len(s.ending) > 0 || claimed.Next != nil && !claimed.Next.After(claimed.Now) && (full || len(claimed.Jobs) == 0))
	s.looks.note(claimed.Now, claimed.Next)
	jump := s.watch.see(&clocks{store: claimed.Now, asked: asked, answered: time.Now()})
	s.holdRescues(jump)
	if s.setBack = s.setBack || jump < 0; s.setBack { // a failover, which sets clocks back, is when the store is away
		s.setBack = !s.reanchorAll(ctx) || !s.hastenAll(ctx, claimed.Now)
	}
	if s.lease.holds(owner) {
		started = s.dispatch(owner, &claimed)
	} else if len(claimed.Runs) > 0 {
		s.leave(claimed.Runs)
	}
	s.emitSettled(claimed.Settled)
	s.emitFinished(decided.finished, claimed.Jobs)
	if len(claimed.Cancel) > 0 {
		s.cancelAsked(ctx, claimed.Cancel)
	}
	return claimed, started, passed, nil
}

// stillEnding forgets the jobs that wait for the ends of runs which have been written by now.
func (s *Scheduler) stillEnding() {
	if len(s.ending) == 0 {
		return
	}
	unwritten := s.unwritten()
	s.ending = slices.DeleteFunc(s.ending, func(id string) bool { return unwritten[id] == 0 })
}

// emitFinished tells of the plans that ended their jobs, as far as they have landed: the store may have refused one, or have begun anew
// after the decision and found nothing due.
func (s *Scheduler) emitFinished(plans []Plan, landed []JobRecord) {
	if len(plans) == 0 {
		return
	}
	finished := map[string]bool{}
	for i := range landed {
		finished[landed[i].ID] = landed[i].State == JobFinished
	}
	for i := range plans {
		if finished[plans[i].JobID] {
			s.emit(Event{Kind: EventJobFinished, JobID: plans[i].JobID, Reason: plans[i].Reason})
		}
	}
}

// settleFor is how long after an outage of the store ends of runs may still be on their way: whoever has some tries again within
// lastBackoff.
const settleFor = lastBackoff + time.Second

// An outage is the last time that the store did not answer. Ends of runs that came then are written when it does, here and by
// other instances: until that is over they may be missing.
type outage struct {
	on   bool      // no claim has passed since
	upTo time.Time // on the store's clock
	over time.Time // on this process's
	// waits are jobs at their limit, each with the time until which it is left aside, so that it does not stand in the way of others.
	waits map[string]time.Time
}

// asideFor is how long a job that waits for ends is left aside between two looks at it.
const asideFor = 300 * time.Millisecond

// aside lists the jobs to leave alone now.
func (o *outage) aside() []string {
	if len(o.waits) == 0 {
		return nil
	}
	now := time.Now()
	maps.DeleteFunc(o.waits, func(_ string, until time.Time) bool { return now.After(until) })
	return slices.Collect(maps.Keys(o.waits))
}

// What a claim leaves aside: nothing, some, or some that it has just met.
const noneAside, someAside, newAside = 0, 1, 2

// wait leaves jobs aside for a moment, and says whether any are.
func (o *outage) wait(ids []string) int32 {
	for _, id := range ids {
		if o.waits == nil {
			o.waits = map[string]time.Time{}
		}
		o.waits[id] = time.Now().Add(asideFor)
	}
	switch {
	case len(ids) > 0:
		return newAside
	case len(o.waits) > 0:
		return someAside
	}
	return noneAside
}

// unsettled returns the time up to which ends may be missing; zero: none is.
func (o *outage) unsettled(now time.Time) time.Time {
	switch {
	case o.on:
		return now
	case time.Now().Before(o.over):
		return o.upTo
	}
	return time.Time{}
}

// leave starts nothing of what a claim took whose answer came too late: by now others may have taken these runs for
// lost and begun them anew. Those that are still this instance's when its lease is trusted again are ended by reconcile, those of
// an earlier life by Rescue.
func (s *Scheduler) leave(runs []Run) {
	ids := make([]int64, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	s.log.Error("the store answered a claim when the lease could not be trusted any more; its runs are not started", "runs", ids)
	s.doubt.Store(true)
	s.lease.ask()
}

// filled reports whether a claim left a pool without a free slot, so that the end of a run makes room for more.
func filled(free map[string]int, claimed *Claimed) bool {
	taken := map[string]int{}
	for start, end := 0, 0; start < len(claimed.Jobs); start = end { // mostly one pool
		pool := claimed.Jobs[start].Pool
		for end = start; end < len(claimed.Jobs) && claimed.Jobs[end].Pool == pool; end++ {
		}
		taken[pool] += end - start // a job that only settled fires counts too: it is looked at once more for nothing
	}
	for pool, n := range free {
		if taken[pool] >= n {
			return true
		}
	}
	return false
}

// mayStart reports whether this instance may take new runs now.
func (s *Scheduler) mayStart() bool {
	return !s.paused.Load() && s.state.Load() == stateRunning && s.lease.trusted() && !s.finished.full()
}

// decisions are what one claim makes of what is due.
type decisions struct {
	plans    []Plan
	finished []Plan           // those that end their job
	broken   map[string]error // jobs that cannot be read, or break their law
	waits    []string         // jobs at their limit that an outage may have left so
	ending   []string         // jobs at their limit by runs that have ended here
	outdated []string         // jobs whose next time was found by other calendars than this instance knows
}

// planRows is after how many new rows a claim begins no further job. A store writes some 20,000 in a second where its machine is busy, and a step
// has ten.
const planRows = 20_000

// decide plans every due job within the free slots. A job whose definition cannot be read,
// or breaks its law, is left alone and named.
func (s *Scheduler) decide(now time.Time, due []Due, slots map[string]int, unsettled time.Time) decisions {
	free := maps.Clone(slots)
	d := decisions{plans: make([]Plan, 0, len(due))}
	var unwritten map[string]int // made when one is asked for
	begin, rows := time.Now(), 0
	for i := range due {
		if i > 0 && (time.Since(begin) > walkPatience || rows >= planRows) { // the rest is for the next claim
			break
		}
		job, upTo, ending := &due[i].Job, unsettled, false
		if due[i].Active >= job.MaxInstances {
			if unwritten == nil {
				unwritten = s.unwritten()
			}
			if n := unwritten[job.ID]; n > 0 && due[i].Active-n < job.MaxInstances { // its fires wait for these ends
				upTo, ending = now, true
			}
		}
		plan, taken, ok, err := s.planSafely(now, due[i], free[job.Pool], upTo)
		if errors.Is(err, errOutdated) {
			d.outdated = append(d.outdated, job.ID)
			continue
		}
		if err != nil {
			if d.broken == nil {
				d.broken = map[string]error{}
			}
			d.broken[job.ID] = err
			continue
		}
		if !ok {
			switch {
			case free[job.Pool] <= 0:
			case ending:
				d.ending = append(d.ending, job.ID)
			case !unsettled.IsZero():
				d.waits = append(d.waits, job.ID)
			}
			continue
		}
		free[job.Pool] -= taken
		d.plans = append(d.plans, plan)
		rows += len(plan.Runs)
		if plan.State == JobFinished && job.State != JobFinished {
			d.finished = append(d.finished, plan)
		}
	}
	return d
}

// planSafely is planJob for definitions and triggers that may fail or panic.
func (s *Scheduler) planSafely(now time.Time, due Due, free int, unsettled time.Time) (plan Plan, taken int, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its trigger or task panicked: %v", p)
		}
	}()
	if s.planAge(&due.Job) != planCurrent {
		return plan, 0, false, errOutdated
	}
	spec, err := s.specOf(&due.Job)
	if err != nil {
		return plan, 0, false, err
	}
	return planJob(now, due, spec, free, unsettled)
}

// park leaves a job that cannot be read alone for a while.
func (s *Scheduler) park(id string, err error) {
	if s.unread.add(id, err.Error()) {
		s.log.Error("job cannot be read; it is parked on this instance", "job", id, "error", err)
		s.emit(Event{Kind: EventJobParked, JobID: id, Reason: err.Error()})
	}
}

// unreadFor is how long a job that could not be read is left alone: a changed definition is noticed after that.
const unreadFor = 30 * time.Second

// maxUnread bounds the ids sent with each claim.
const maxUnread = 10_000

// unreadJobs remembers which jobs this instance cannot read, so that they do not stand in the
// way of others, each for a while, so that a mended one goes on.
type unreadJobs struct {
	mu    sync.Mutex // guards known, told
	known map[string]unreadJob
	told  map[string]string // id to what was logged, so that it is logged once
	grown atomic.Bool       // known has a new one since the claim loop looked
}

type unreadJob struct {
	until time.Time // on this process's clock
	why   string
}

// ids lists the jobs to leave alone now.
func (u *unreadJobs) ids() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) == 0 {
		return nil
	}
	now := time.Now()
	ids := make([]string, 0, len(u.known))
	for id, job := range u.known {
		if now.After(job.until) {
			delete(u.known, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// add reports whether this fault of the job was not told before.
func (u *unreadJobs) add(id, why string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known == nil {
		u.known, u.told = map[string]unreadJob{}, map[string]string{}
	}
	if len(u.known) < maxUnread {
		u.known[id] = unreadJob{time.Now().Add(unreadFor), why}
		u.grown.Store(true)
	}
	if u.told[id] == why {
		return false
	}
	if len(u.told) >= maxUnread {
		clear(u.told)
	}
	u.told[id] = why
	return true
}

// why says why a job is left alone; empty when it is not.
func (u *unreadJobs) why(id string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known[id].why
}

// len counts the jobs left alone.
func (u *unreadJobs) len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.known)
}

// forgetAll makes every job count as readable again: what they need may be there now.
func (u *unreadJobs) forgetAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.known)
}

// forget makes a job count as readable again: its definition was changed here.
func (u *unreadJobs) forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.known, id)
}
