package ruqi

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Scheduler runs the jobs of a store on this process. Its methods may be
// called by many goroutines. One that is not started can still edit and list jobs.
type Scheduler struct {
	store     JobStore
	waker     Waker  // the store, if it is one
	location  string // what and where the store is
	registry  *Registry
	options   Options
	log       *slog.Logger
	keepsLive bool
	decoded   decodedJobs
	listeners listeners
	health    health
	looks     looks

	kicks chan struct{} // wakes the claim loop; capacity 1
	ends  signal        // told after ends of runs were written

	lease    lease
	needs    atomic.Pointer[[]string] // what this instance can serve, as of the last heartbeat
	runs     activeRuns
	begin    line // of the claimed runs
	finished finishQueue
	unread   unreadJobs
	follower follower
	watch    clockWatch
	zones    usedZones

	hard      chan struct{} // closed by Abort
	abort     sync.Once
	paused    atomic.Bool
	blocked   atomic.Bool   // the last claim left something due: the end of a run may free it
	claiming  chan struct{} // holds one token while a claim is made and its runs are registered
	outage    outage        // what claims know of it; under claiming
	setBack   bool          // the clock was, and not all has been brought in line with it yet; under claiming
	aside     atomic.Int32  // what the last claim left aside
	ending    []string      // jobs whose fires wait for ends of this instance that are not written; guarded by claiming
	doubt     atomic.Bool   // a claim failed in a way that may have happened in the store all the same
	writing   chan struct{} // holds one token while output is on its way to the store
	lifecycle sync.Mutex    // held by Start, Shutdown and Tick while they change state; guards the next five
	started   bool
	ticks     int             // calls of Tick under way
	loopsEnd  context.Context // ends with the loops; set while they run
	looping   time.Time       // when the loops were started
	state     atomic.Int32
	stop      context.CancelCauseFunc // ends the loops; set while they run
	loops     sync.WaitGroup
}

var _ Operations = (*Scheduler)(nil)

// The states of a scheduler, in the order it goes through them.
const (
	stateStopped int32 = iota
	stateRunning
	stateStopping
	stateEnding // the drain is over: what runs is ended, what was claimed late does not start
	stateShutdown
)

// New returns a scheduler over the store. It does nothing until it is started. All
// faults of the options are reported at once.
func New(store JobStore, registry *Registry, options Options) (*Scheduler, error) {
	options, err := options.withDefaults(runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	_, keepsLive := store.(LiveKeeper)
	s := &Scheduler{
		store: guardedStore{store}, registry: registry, options: options, log: options.Logger, keepsLive: keepsLive,
		kicks: make(chan struct{}, 1), claiming: make(chan struct{}, 1), writing: make(chan struct{}, 1), hard: make(chan struct{}),
	}
	s.location = "a store"
	if d, ok := store.(Locator); ok {
		s.location = d.Location()
	}
	if w, ok := store.(Waker); ok {
		s.waker = w
	}
	s.listeners.log, s.health.log = options.Logger, options.Logger
	s.finished.kicks = make(chan struct{}, 1)
	s.lease.asks, s.lease.beaten = make(chan struct{}, 1), make(chan struct{}, 1)
	s.runs.sizes = options.Slots
	s.runs.used = map[string]int{}
	s.runs.byID = map[int64]*activeRun{}
	s.runs.busy = make(chan struct{}, 1)
	s.watch.log = options.Logger
	s.zones.add(options.Zone)
	s.follower.asks, s.follower.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	return s, nil
}

// Start registers the instance with the store and runs jobs in the background
// until Shutdown. ctx bounds the registration alone. ErrStarted, ErrShutdown.
func (s *Scheduler) Start(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	switch {
	case s.state.Load() == stateShutdown:
		return ErrShutdown
	case s.started:
		return ErrStarted
	case s.ticks == 0:
		s.state.Store(stateRunning) // what the store is told when the instance registers
		if err := s.register(ctx); err != nil {
			s.state.Store(stateStopped)
			return err
		}
		s.startLoops()
	}
	s.started = true
	s.runOnStart(ctx)
	s.loops.Go(func() { s.claimLoop(s.loopsEnd) })
	s.loops.Go(func() { s.cleanLoop(s.loopsEnd) })
	s.log.Info("scheduler started", "instance", s.options.Instance)
	s.emit(Event{Kind: EventStarted})
	return nil
}

// startLoops runs the loops that a scheduler with running runs needs.
func (s *Scheduler) startLoops() {
	ctx, stop := context.WithCancelCause(context.Background())
	s.loopsEnd, s.stop, s.looping = ctx, stop, time.Now()
	s.loops.Go(func() { s.beatLoop(ctx) })
	s.loops.Go(func() { s.rescueLoop(ctx) })
	s.loops.Go(func() { s.finishLoop(ctx) })
	s.loops.Go(func() { s.outputLoop(ctx) })
	if s.options.Calendars != nil {
		s.loops.Go(func() { s.followLoop(ctx) })
	}
}

// Run starts the scheduler, waits until ctx ends, and shuts down, which takes up to
// Options.Drain and the kill grace of what is left.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return s.Shutdown(context.WithoutCancel(ctx))
}

// Pause makes this instance claim nothing until Resume; running runs and other instances go on.
func (s *Scheduler) Pause() {
	if !s.paused.Swap(true) {
		s.emit(Event{Kind: EventPaused})
	}
}

// Resume ends a Pause. What became due meanwhile is handled like after an outage.
func (s *Scheduler) Resume() {
	if s.paused.Swap(false) {
		s.emit(Event{Kind: EventResumed})
		s.kick()
	}
}

// Wakeup implements Operations.
func (s *Scheduler) Wakeup(context.Context) error {
	s.follower.wake()
	s.kick()
	return nil
}

// kick makes the claim loop look at once. It never blocks.
func (s *Scheduler) kick() {
	select {
	case s.kicks <- struct{}{}:
	default:
	}
}

// Shutdown stops claiming, waits for running runs (Options.Drain at the most, or until ctx
// ends), ends those that are left, and says goodbye to the store, which stays open. The scheduler cannot be
// started again. The error says what could not be written; on a scheduler that was shut down before it is nil.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.state.Load() != stateRunning {
		s.listeners.close()
		s.state.Store(stateShutdown)
		return nil
	}
	s.state.Store(stateStopping) // from here on a claim takes nothing
	drain, cancel := context.WithTimeout(ctx, s.options.Drain)
	defer cancel()
	select {
	case s.claiming <- struct{}{}: // and none is half way, unless the store hangs
		<-s.claiming
	case <-drain.Done():
	}
	go func() {
		select {
		case <-s.hard:
			cancel()
		case <-drain.Done():
		}
	}()
	waited := s.runs.count()
	if until, _ := drain.Deadline(); waited > 0 && s.options.Drain > 0 {
		s.log.Info("waiting for runs to end", "runs", waited, "until", until.UTC())
	}
	s.runs.wait(drain)
	if left := s.runs.count(); left > 0 {
		s.log.Warn("ending the runs that are left", "runs", left)
	} else if waited > 0 {
		s.log.Info("no run is left", "runs", waited)
	}
	s.state.Store(stateEnding)
	err := s.endAll()
	s.emit(Event{Kind: EventShutdown})
	s.listeners.close()
	s.state.Store(stateShutdown)
	s.log.Info("scheduler shut down", "instance", s.options.Instance)
	return err
}

// Abort makes a Shutdown, under way or to come, end what runs at once and by force: the drain and every
// kill grace are over. It returns at once; Shutdown returns when all is recorded.
func (s *Scheduler) Abort() { s.abort.Do(func() { close(s.hard) }) }

// endWait is how long the last results may take to reach a store that does not answer.
const endWait = 10 * time.Second

// goodbyeWait is how long the goodbye may take at least, also when the last results have taken all of endWait: a step of a
// database takes milliseconds, and those whose end hangs may be ended by others at once instead of after the lease.
const goodbyeWait = 2 * time.Second

// endAll ends what still runs, writes the last results, leaves the store and stops the loops.
func (s *Scheduler) endAll() error {
	s.runs.stopAll(errShutdown)
	s.runs.wait(context.Background()) // bounded: a run that does not stop is abandoned
	until := time.Now().Add(endWait)
	limit, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	unwritten := s.finished.drain(limit)
	s.stop(errShutdown)
	s.loops.Wait()
	s.finished.recall()    // what would be tried again later has no later
	s.writeFinished(limit) // what a claim that answered late has brought
	var err error
	if unwritten > 0 {
		err = errors.New("the store does not answer: the ends of some runs are not recorded; they will be lost")
	}
	leaving, cancelLeaving := context.WithTimeout(context.Background(), max(time.Until(until), goodbyeWait))
	defer cancelLeaving()
	return errors.Join(err, s.goodbye(leaving))
}

// Tick does what is due now and waits until it is done, claims that follow from it
// included; it returns how many runs ended. Tests use it, and programs that have a loop of their own: it needs no
// Start, but may be called beside it, and several at once.
func (s *Scheduler) Tick(ctx context.Context) (int, error) {
	if err := s.beginTick(ctx); err != nil {
		return 0, err
	}
	n, err := s.tick(ctx)
	return n, errors.Join(err, s.endTick())
}

// beginTick registers the instance for the first of the ticks that need it.
func (s *Scheduler) beginTick(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	switch s.state.Load() {
	case stateStopping, stateEnding, stateShutdown:
		return ErrShutdown
	case stateStopped:
		s.state.Store(stateRunning)
		if err := s.register(ctx); err != nil {
			s.state.Store(stateStopped)
			return err
		}
		s.startLoops()
	}
	s.ticks++
	return nil
}

// endTick leaves the store after the last of the ticks, unless the scheduler was started or shut down meanwhile.
func (s *Scheduler) endTick() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.ticks--
	if s.ticks > 0 || s.started || s.state.Load() != stateRunning {
		return nil
	}
	err := s.endAll()
	s.state.Store(stateStopped)
	return err
}

func (s *Scheduler) tick(ctx context.Context) (int, error) {
	total, seen := 0, map[string]bool{}
	var first time.Time
	if err := s.follow(ctx); err != nil {
		return 0, err
	}
	for {
		claimed, started, passed, err := s.claim(ctx)
		if err != nil {
			return total, err
		}
		if first.IsZero() {
			first = claimed.Now
		}
		inTime := len(claimed.Jobs) > 0 && len(started) == 0 // only non-runs: more may be due
		for _, id := range passed {                          // nor do those that nothing can be done about keep others from it
			inTime = inTime || !seen[id]
			seen[id] = true
		}
		for _, run := range started {
			inTime = inTime || !run.run.Due.After(first)
			select {
			case <-run.written.wait():
				total++
			case <-ctx.Done():
				return total, context.Cause(ctx)
			}
		}
		if !inTime {
			return total, nil
		}
	}
}

// A signal tells any number of waiters that something happened, losing no one.
type signal struct {
	mu sync.Mutex // guards ch
	ch chan struct{}
}

// wait returns a channel that is closed at the next tell.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
