package ruqi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A lease is what this instance knows of its life in the store.
type lease struct {
	mu    sync.Mutex // guards all
	now   Owner
	until time.Time // on this process's monotonic clock: until when starts are safe
	over  bool      // the store said that the epoch is over
	// What the last heartbeat told of the clocks; nil before the first. Never changed once it is here.
	clocks *clocks
	calm   time.Time     // on this process's monotonic clock: until when nobody is rescued
	asks   chan struct{} // wakes the beat loop; capacity 1
	beaten chan struct{} // wakes the rescue loop after a heartbeat; capacity 1
}

// ask makes the next heartbeat come at once.
func (l *lease) ask() {
	select {
	case l.asks <- struct{}{}:
	default:
	}
}

func (l *lease) owner() Owner {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// trusted reports whether runs may be started: until one heartbeat before the lease ends.
func (l *lease) trusted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.safe()
}

// holds reports whether what is claimed in the owner's name may be started: it is the present life, and its lease is
// trusted.
func (l *lease) holds(owner Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now == owner && l.safe()
}

// safe is trusted for who holds mu.
func (l *lease) safe() bool { return !l.over && time.Now().Before(l.until) }

func (l *lease) renewed(owner Owner, until time.Time, seen clocks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.until, l.over, l.clocks = owner, until, false, &seen
	select {
	case l.beaten <- struct{}{}:
	default:
	}
}

// holdOff keeps the rescue loop from acting until then, at least.
func (l *lease) holdOff(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.calm) {
		l.calm = until
	}
}

// mayRescue reports whether nothing speaks against taking those for dead whose lease has ended.
func (l *lease) mayRescue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.safe() && !time.Now().Before(l.calm)
}

// lastClocks returns what the last heartbeat told of the clocks; nil before the first.
func (l *lease) lastClocks() *clocks {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clocks
}

// clockOffset returns how far this machine's clock was ahead of the store's at the last heartbeat; nil before the first.
func (l *lease) clockOffset() *time.Duration {
	seen := l.lastClocks()
	if seen == nil {
		return nil
	}
	offset := seen.offset()
	return &offset
}

// storeNow returns what the store's clock shows now, going by the last heartbeat; false before the first.
func (l *lease) storeNow() (time.Time, bool) {
	seen := l.lastClocks()
	if seen == nil {
		return time.Time{}, false
	}
	return seen.now(), true
}

// end marks the owner's epoch as over; false if it was known, or is not the present one.
func (l *lease) end(owner Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.now != owner {
		return false
	}
	l.over = true
	return true
}

func (l *lease) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// register begins a new life of this instance in the store.
func (s *Scheduler) register(ctx context.Context) error {
	// Before the first claim, which could not read jobs that use calendars. What keeps them from being read for good keeps only such
	// jobs from running.
	if err := s.learn(ctx); err != nil && mayPass(err) {
		return fmt.Errorf("register instance %s: %w", s.options.Instance, err)
	}
	if err := s.beat(ctx, 0); err != nil {
		return fmt.Errorf("register instance %s: %w", s.options.Instance, err)
	}
	return nil
}

// beat renews the lease of the epoch, or begins a new one with epoch 0.
func (s *Scheduler) beat(ctx context.Context, epoch int64) error {
	asked, wall := time.Now(), s.options.Now()
	needs := s.registry.Needs() // asked anew with each beat: a function registered later counts from then on
	s.needs.Store(&needs)
	instance, err := s.store.Beat(ctx, Instance{
		Owner: Owner{s.options.Instance, epoch}, Lease: s.options.Lease,
		Slots: s.options.Slots, Needs: needs, State: s.stateName(), Release: s.options.Release,
		ClockOffset: s.lease.clockOffset(), Zones: s.zones.String(),
	})
	s.health.note("heartbeat", err)
	if err != nil {
		return err
	}
	seen := clocks{store: instance.Beat, asked: asked, answered: time.Now(), wall: wall}
	if last := s.lease.lastClocks(); last != nil {
		s.holdRescues(seen.jump(last))
	}
	if !s.lease.trusted() {
		// Whatever kept this instance from the store, or from living, may have kept the others from it, too: they get a
		// lease's time to say that they live.
		s.lease.holdOff(time.Now().Add(s.options.Lease))
	}
	s.lease.renewed(instance.Owner, asked.Add(s.options.Lease-s.heartbeat()), seen)
	if offset := seen.offset(); offset > jumpLeast || offset < -jumpLeast {
		s.log.Debug("this machine's clock and the store's differ", "by", offset)
	}
	return nil
}

func (s *Scheduler) heartbeat() time.Duration { return s.options.Lease / beatsPerLease }

// goodbye tells the store that this life is over.
func (s *Scheduler) goodbye(ctx context.Context) error {
	_, err := s.store.Beat(ctx, Instance{Owner: s.lease.owner(), State: "stopping"})
	if errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}

// lost is called when the store says that the owner's epoch is over: what runs under it
// belongs to others now.
func (s *Scheduler) lost(owner Owner) {
	if !s.lease.end(owner) {
		return
	}
	s.log.Error("lease lost: ending what runs, beginning anew", "instance", owner.Instance, "epoch", owner.Epoch)
	for _, a := range s.runs.all() {
		if a.owner == owner {
			a.stopBy(ErrLeaseLost)
		}
	}
}

// beatLimit is how long one beat may take: two heartbeats, so that a call that hangs leaves time for two more.
func (s *Scheduler) beatLimit() time.Duration { return 2 * s.heartbeat() }

// beatLoop keeps the lease alive, until ctx ends. It does nothing else: whatever could hang has a loop of its own.
func (s *Scheduler) beatLoop(ctx context.Context) {
	timer := time.NewTimer(s.untilBeatOf(s.heartbeat()))
	defer timer.Stop()
	again := time.NewTimer(0) // when a lost life is followed by the next
	again.Stop()
	var lastLost time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		case <-s.lease.asks:
			if s.lease.isOver() {
				continue
			}
		case <-timer.C:
			timer.Reset(s.untilBeatOf(s.heartbeat()))
			if s.lease.isOver() && (time.Since(lastLost) < s.options.Lease || s.state.Load() != stateRunning) {
				continue
			}
		}
		owner, trusted := s.lease.owner(), s.lease.trusted()
		if s.lease.isOver() {
			owner.Epoch = 0
		}
		limit, cancel := context.WithTimeout(ctx, s.beatLimit())
		err := s.beat(limit, owner.Epoch)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrLeaseLost):
			s.lost(owner)
			switch {
			case s.state.Load() != stateRunning: // the end: no new life for what is left
			case time.Since(lastLost) < s.options.Lease:
				s.log.Error("lease lost twice in a row: another process may use this instance's name", "instance", owner.Instance)
				again.Reset(s.options.Lease)
			default:
				again.Reset(0) // begin anew, at once
			}
			lastLost = time.Now()
		case err != nil:
			s.log.Warn("heartbeat failed", "error", err)
			if owner.Epoch == 0 {
				again.Reset(s.heartbeat())
			}
		case !trusted:
			s.kick() // nothing could be claimed meanwhile
		}
	}
}

// reconcileEvery is after how many heartbeats an instance looks for rows of its own that it does not know, without a reason to
// doubt: once a minute with the default lease. A standby that took over without the last commits may have such rows.
const reconcileEvery = 20

// compareEvery is after how many heartbeats an instance compares its zones with those of the others: when it starts, then once a
// minute with the default lease.
const compareEvery = 20

// rescueLoop ends the runs of instances that are dead, and those of claims that went wrong, until ctx ends. It acts
// right after a heartbeat, which has just compared the store's clock with the monotonic one.
func (s *Scheduler) rescueLoop(ctx context.Context) {
	told := map[string]string{} // of zones that differ
	for beats := 1; ; beats++ {
		select {
		case <-ctx.Done():
			return
		case <-s.lease.beaten:
		}
		if beats%reconcileEvery == 0 {
			s.doubt.Store(true)
		}
		limit, cancel := context.WithTimeout(ctx, s.options.Lease)
		if s.lease.mayRescue() {
			s.rescueAll(limit)
		}
		if s.lease.trusted() {
			s.reconcile(limit)
		}
		if beats%compareEvery == 1 {
			s.compareZones(limit, told)
		}
		cancel()
	}
}

// holdRescues keeps this instance from taking others for dead for one lease after the store's clock jumped forward: their leases
// have ended by that clock, but each of them that lives renews its own with its next heartbeat.
func (s *Scheduler) holdRescues(jump time.Duration) {
	if jump >= jumpLeast {
		s.lease.holdOff(time.Now().Add(s.options.Lease))
	}
}

// rescueStep bounds the runs ended in one step of the store.
const rescueStep = 500

// rescueSteps bounds the steps between two heartbeats.
const rescueSteps = 10

// rescueAll ends the running runs of dead instances.
func (s *Scheduler) rescueAll(ctx context.Context) {
	for range rescueSteps {
		again := map[int64]*Run{}
		dead, err := s.store.Rescue(ctx, s.lease.owner(), rescueStep, func(now time.Time, dead Run, job *JobRecord) Done {
			done := s.rescue(now, dead, job)
			again[dead.ID] = done.Again
			return done
		})
		s.health.note("rescue", err)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				s.log.Warn("runs of dead instances could not be ended", "error", err)
			}
			return
		}
		for i := range dead {
			s.log.Warn("run lost: its instance died", "run", dead[i].ID, "job", dead[i].JobID, "instance", dead[i].Owner.Instance)
			s.tellEnd(&dead[i], again[dead[i].ID])
		}
		if len(dead) > 0 {
			s.sweep(ctx, dead)
			s.ends.tell()
			s.kick()
		}
		if len(dead) < rescueStep {
			return
		}
	}
}

// sweep ends what lost runs have left on this machine.
func (s *Scheduler) sweep(ctx context.Context, lost []Run) {
	for _, executor := range s.registry.sweepers() {
		if n := executor.EndLost(ctx, lost); n > 0 {
			s.log.Warn("processes of lost runs ended", "processes", n)
		}
	}
}

// reconcile looks for rows that run under this instance's name and that it knows nothing of: those of a
// claim whose answer was lost on the way, or came too late. They are ended as lost, so that no row stays running for ever.
func (s *Scheduler) reconcile(ctx context.Context) {
	if !s.doubt.Swap(false) {
		return
	}
	select {
	case s.claiming <- struct{}{}: // no claim is on its way while we look
		defer func() { <-s.claiming }()
	case <-ctx.Done():
		s.doubt.Store(true)
		return
	}
	known := s.inHand() // no other can come
	owner, query := s.lease.owner(), RunQuery{States: []RunState{RunRunning}, Limit: MaxPage}
	for {
		page, err := s.store.Runs(ctx, query)
		if err != nil {
			s.doubt.Store(true)
			return
		}
		for _, run := range page.Runs {
			if run.Owner != owner || known[run.ID] {
				continue
			}
			s.log.Error("a claimed run was never started; ending it as lost", "run", run.ID, "job", run.JobID)
			if err := s.endUnstarted(ctx, owner, run); err != nil {
				s.doubt.Store(true)
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return
		}
	}
}

// inHand are the runs that are active or ending. One that ends is among those ending before it leaves the active ones, so the active ones
// are read first: the other way round one could be in neither, and be taken for lost.
func (s *Scheduler) inHand() map[int64]bool {
	active := s.runs.all()
	known := s.finished.ids()
	for _, a := range active {
		known[a.run.ID] = true
	}
	return known
}

// endUnstarted ends one run that this instance claimed and never started.
func (s *Scheduler) endUnstarted(ctx context.Context, owner Owner, run Run) error {
	page, err := s.store.Jobs(ctx, JobQuery{IDs: []string{run.JobID}, Limit: 1})
	if err != nil {
		return err
	}
	var job *JobRecord
	if len(page.Jobs) > 0 {
		job = &page.Jobs[0]
	}
	now := s.storeNow(nil)
	done := s.lose(now, run, job, "its instance does not know it: the answer to its claim was lost or came too late, or its end could not be written")
	done.Run.Finished = nil // the store's now, exactly
	late, err := s.store.Finish(ctx, owner, []Done{done})
	if err == nil && len(late) == 0 {
		done.Run.Finished = &now
		s.tellEnd(&done.Run, done.Again)
		s.ends.tell()
		s.kick()
	}
	return err
}

// tellEnd tells listeners of a run that has ended, and of the attempt that follows it, if one does.
func (s *Scheduler) tellEnd(run, again *Run) {
	s.emitEnd(run)
	if again != nil && again.ID != 0 {
		s.emitRun(EventRunRetrying, again, again.Reason)
	}
}

// rescue decides about one run of a dead instance. It is pure but for reading definitions.
func (s *Scheduler) rescue(now time.Time, dead Run, job *JobRecord) Done {
	return s.lose(now, dead, job, fmt.Sprintf("instance %s died, or could not reach the store for longer than its lease", dead.Owner.Instance))
}

// lose ends a run that nobody runs, and begins it anew where its job says so.
func (s *Scheduler) lose(now time.Time, dead Run, job *JobRecord, why string) Done {
	dead.State, dead.Finished, dead.Reason = RunLost, &now, why
	if dead.CancelBy != "" { // who asked for its end has it; it does not begin anew
		dead.State, dead.Reason = RunCancelled, fmt.Sprintf("cancelled by %s; %s", dead.CancelBy, dead.Reason)
	}
	done := Done{Run: dead}
	if job == nil {
		return done
	}
	if spec, err := s.specOf(job); err == nil || triggerAlone(err) {
		done.Again = nextAttempt(&dead, spec, now)
		done.RemoveJob = spec.Policy.DeleteWhenFinished
	}
	return done
}
