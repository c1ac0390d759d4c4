package ruqi

import (
	"context"
	"errors"
)

// A Scheduler runs the jobs of a store on this process. Its methods may be
// called by many goroutines.
type Scheduler struct{}

var _ Operations = (*Scheduler)(nil)

var errSoon = errors.New("being written")

// New returns a scheduler over the store. It does nothing until it is started. All
// faults of the options are reported at once.
func New(store JobStore, registry *Registry, options Options) (*Scheduler, error) {
	return nil, errSoon
}

// Start registers the instance with the store and runs jobs in the background until Shutdown.
func (s *Scheduler) Start(ctx context.Context) error { return errSoon }

// Run starts the scheduler, waits until ctx ends, and shuts down.
func (s *Scheduler) Run(ctx context.Context) error { return errSoon }

// Pause makes this instance claim nothing until Resume; other instances go on.
func (s *Scheduler) Pause() {}

// Resume ends a Pause, as an outage ends.
func (s *Scheduler) Resume() {}

// Shutdown stops claiming, waits for running runs (Options.Drain at the most, or until ctx ends),
// ends those that are left, and says goodbye to the store, which stays open.
func (s *Scheduler) Shutdown(ctx context.Context) error { return errSoon }

// Tick does what is due now, waits for it, and returns how many runs ended.
func (s *Scheduler) Tick(ctx context.Context) (int, error) { return 0, errSoon }

// Listen adds a listener for the kinds given, or for all. stop removes it and waits for it.
func (s *Scheduler) Listen(listener Listener, kinds ...EventKind) (stop func()) { return func() {} }
