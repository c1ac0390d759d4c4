// Package memory keeps jobs, runs, output and records in this process's memory.
//
// It is the store for programs that need no history past their own end, for tests,
// and for closures as tasks: a definition is kept as it was given, never encoded.
// It obeys every law of [ruqi.JobStore] and [ruqi.RecordStore] but one: nothing in it
// outlives the process.
//
// All state is behind one mutex, and no step does more work than what it was asked
// about: a claim looks only at what is due, a clean only at what is too much. Where
// that needs an index the comment beside the index says so.
package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// defaultOutputCap is what a run's output may take: 1 MiB, the cap that ruqi.JobStore names.
const defaultOutputCap = 1 << 20

// Options tune a Store. The zero value is ready for use.
type Options struct {
	// Now is the store's clock, read once a step. It must not call the store.
	// Nil: time.Now.
	Now func() time.Time
	// OutputCap is how many bytes of a run's output are kept, half of them from
	// its begin and half from its end. 0 or less: 1 MiB.
	OutputCap int64
}

// A Store is a job store and record store in memory. Its methods may be called by
// many goroutines; what they take and return is the receiver's, as the laws of
// ruqi.JobStore say.
type Store struct {
	clock     func() time.Time
	outputCap int64

	// mu guards every field below, and all that they lead to.
	mu     sync.Mutex
	closed bool

	jobs  map[string]*job
	order ordering
	// groups holds the queues of due jobs by what serves them.
	groups map[ruqi.PoolNeed]*group
	byNeed map[string][]*group
	states [jobStates]int64

	rows     pages
	orphans  map[string]*history // by their id, those that have no job; the others hang on theirs
	byNumber numbered[history]
	waiting  map[*history]struct{} // those with queued rows
	causes   []ruqi.Cause
	running  int64
	queued   int64
	clean    cleaning
	executed tally
	names    map[string]tally // of runs whose job has another id

	instances map[string]*instance
	lives     map[ruqi.Owner]*life
	named     numbered[life] // those that rows name, alive or not
	epoch     int64          // the last one given, to whatever name

	records map[string]*shelf

	wakers wakers
}

var (
	_ ruqi.JobStore    = (*Store)(nil)
	_ ruqi.RecordStore = (*Store)(nil)
	_ ruqi.Waker       = (*Store)(nil)
	_ ruqi.LiveKeeper  = (*Store)(nil)
	_ ruqi.Locator     = (*Store)(nil)
)

// Open returns an empty store.
func Open(options Options) *Store {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.OutputCap <= 0 {
		options.OutputCap = defaultOutputCap
	}
	return &Store{
		clock:     options.Now,
		outputCap: options.OutputCap,
		jobs:      map[string]*job{},
		groups:    map[ruqi.PoolNeed]*group{},
		byNeed:    map[string][]*group{},
		orphans:   map[string]*history{},
		waiting:   map[*history]struct{}{},
		causes:    knownCauses(),
		names:     map[string]tally{},
		instances: map[string]*instance{},
		lives:     map[ruqi.Owner]*life{},
		records:   map[string]*shelf{},
	}
}

var errClosed = errors.New("the store in memory is closed")

// begin opens a step: it takes the lock and reads the clock. The caller unlocks mu
// when, and only when, the error is nil.
func (s *Store) begin(ctx context.Context) (now int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, errClosed
	}
	return s.clock().UnixMicro(), nil
}

// Close drops everything. Calls after it fail; a second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	clock, limit := s.clock, s.outputCap
	empty := Open(Options{Now: clock, OutputCap: limit})
	s.jobs, s.order, s.groups, s.byNeed = empty.jobs, ordering{}, empty.groups, empty.byNeed
	s.rows, s.orphans, s.waiting, s.names = pages{}, empty.orphans, empty.waiting, empty.names
	s.instances, s.lives, s.records = empty.instances, empty.lives, empty.records
	s.byNumber, s.named = numbered[history]{}, numbered[life]{}
	s.closed = true
	return nil
}

// KeepsLive says that JobRecord.Live is kept in place of Spec.
func (s *Store) KeepsLive() {}

// Location returns "memory:".
func (s *Store) Location() string { return "memory:" }

// Count tells how much there is, from counters kept by every step.
func (s *Store) Count(ctx context.Context) (ruqi.Counts, error) {
	if _, err := s.begin(ctx); err != nil {
		return ruqi.Counts{}, err
	}
	defer s.mu.Unlock()
	counts := ruqi.Counts{
		Jobs:    map[ruqi.JobState]int64{},
		Needs:   map[ruqi.PoolNeed]int64{},
		Running: s.running,
		Queued:  s.queued,
	}
	for state, n := range s.states {
		if n > 0 {
			counts.Jobs[jobState(state).word()] = n
		}
	}
	for key, g := range s.groups {
		if g.open > 0 {
			counts.Needs[key] = g.open
		}
	}
	return counts, nil
}

// wakers are the channels that hear of changes. The list is replaced, never
// changed, so that hints are sent without a lock.
type wakers struct {
	list atomic.Pointer[[]chan struct{}]
	mu   sync.Mutex // held to replace list
}

// Wake returns a channel that receives after changes of jobs, queued runs, cancels
// and ends, at most one hint waiting, until stop is called.
func (s *Store) Wake() (hints <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	s.wakers.edit(func(list []chan struct{}) []chan struct{} { return append(list, c) })
	return c, func() {
		s.wakers.edit(func(list []chan struct{}) []chan struct{} {
			return slices.DeleteFunc(list, func(other chan struct{}) bool { return other == c })
		})
	}
}

func (w *wakers) edit(change func([]chan struct{}) []chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []chan struct{}
	if old := w.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = change(list)
	w.list.Store(&list)
}

// hint tells every waker that something changed. It is called without mu.
func (w *wakers) hint() {
	list := w.list.Load()
	if list == nil {
		return
	}
	for _, c := range *list {
		select {
		case c <- struct{}{}:
		default: // a hint is waiting already, and says as much
		}
	}
}

// never stands for a time that is not there.
const never = -1 << 63

// timeOf turns microseconds since 1970 into a time in UTC.
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// timePtr is timeOf for a time that may not be there.
func timePtr(us int64) *time.Time {
	if us == never {
		return nil
	}
	t := timeOf(us)
	return &t
}

// micros is the reverse of timePtr.
func micros(t *time.Time) int64 {
	if t == nil {
		return never
	}
	return t.UnixMicro()
}
