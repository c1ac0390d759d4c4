package ruqi

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// listenerQueue is how many events may wait for a listener; more are dropped and counted.
const listenerQueue = 1024

// listeners are the functions that hear events, each on a goroutine of its own.
type listeners struct {
	log     *slog.Logger
	mu      sync.RWMutex // guards list, closed
	list    []*listening
	closed  bool
	any     atomic.Int32 // len(list), to make an event that no one hears cost nothing
	dropped atomic.Int64
}

type listening struct {
	listener Listener
	kinds    []EventKind
	queue    chan Event
	stop     chan struct{}
	once     sync.Once
	done     chan struct{}
}

// Listen adds a listener for the kinds given, or for all. stop removes it; it waits until the
// listener has heard what was told before, so a listener must not call its own stop. After Shutdown there is nothing to hear.
func (s *Scheduler) Listen(listener Listener, kinds ...EventKind) (stop func()) {
	l := &listening{listener: listener, kinds: kinds, queue: make(chan Event, listenerQueue), stop: make(chan struct{}), done: make(chan struct{})}
	s.listeners.mu.Lock()
	if s.listeners.closed {
		s.listeners.mu.Unlock()
		return func() {}
	}
	s.listeners.list = append(s.listeners.list, l)
	s.listeners.any.Store(int32(len(s.listeners.list)))
	s.listeners.mu.Unlock()
	go l.loop(s.listeners.log)
	return func() {
		s.listeners.mu.Lock()
		s.listeners.list = slices.DeleteFunc(slices.Clone(s.listeners.list), func(other *listening) bool { return other == l })
		s.listeners.any.Store(int32(len(s.listeners.list)))
		s.listeners.mu.Unlock()
		l.once.Do(func() { close(l.stop) })
		<-l.done
	}
}

func (l *listening) loop(log *slog.Logger) {
	defer close(l.done)
	for {
		select {
		case e := <-l.queue:
			l.hear(e, log)
		case <-l.stop:
			for { // what was told before the stop is still heard
				select {
				case e := <-l.queue:
					l.hear(e, log)
				default:
					return
				}
			}
		}
	}
}

func (l *listening) hear(e Event, log *slog.Logger) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("listener panicked", "event", string(e.Kind), "error", fmt.Sprint(p))
		}
	}()
	l.listener(e)
}

// drainWait is how long a listener may take over the last events at shutdown.
const drainWait = time.Second

// close lets the listeners hear what is queued, for drainWait at the most, and ends them.
func (ls *listeners) close() {
	ls.mu.Lock()
	list := ls.list
	ls.list, ls.closed = nil, true
	ls.any.Store(0)
	ls.mu.Unlock()
	limit := time.NewTimer(drainWait)
	defer limit.Stop()
	for _, l := range list {
		l.once.Do(func() { close(l.stop) })
	}
	for _, l := range list {
		select {
		case <-l.done:
		case <-limit.C:
			return // one that hangs is left behind
		}
	}
}

// emit hands an event to the listeners. It never blocks.
func (s *Scheduler) emit(e Event) {
	if s.listeners.any.Load() == 0 {
		return
	}
	if e.Time.IsZero() {
		e.Time = s.options.Now().UTC()
	}
	s.listeners.mu.RLock()
	defer s.listeners.mu.RUnlock()
	for _, l := range s.listeners.list {
		if len(l.kinds) > 0 && !slices.Contains(l.kinds, e.Kind) {
			continue
		}
		select {
		case l.queue <- e:
		default:
			s.listeners.dropped.Add(1)
		}
	}
}

func (s *Scheduler) emitRun(kind EventKind, run *Run, reason string) {
	if s.listeners.any.Load() == 0 {
		return
	}
	row := *run
	s.emit(Event{Kind: kind, JobID: run.JobID, Run: &row, Reason: reason})
}

// endEvents says which event tells of which end.
var endEvents = map[RunState]EventKind{
	RunSucceeded: EventRunExecuted, RunFailed: EventRunError, RunTimedOut: EventRunTimedOut,
	RunCancelled: EventRunCancelled, RunLost: EventRunLost, RunMissed: EventRunMissed, RunSkipped: EventRunMaxInstances,
}

// emitEnd tells of a run that has ended, or of a fire that was settled without one.
func (s *Scheduler) emitEnd(run *Run) {
	if s.listeners.any.Load() == 0 {
		return
	}
	if kind, ok := endEvents[run.State]; ok {
		s.emitRun(kind, run, run.Reason)
	}
}

func (s *Scheduler) emitSettled(runs []Run) {
	for i := range runs {
		s.emitEnd(&runs[i])
	}
}
