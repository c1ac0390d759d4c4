package ruqi

import (
	"context"
	"time"
)

const (
	// cleanEvery is how often history is looked through; a full step is followed by the next after cleanPause.
	cleanEvery = 30 * time.Second
	// cleanPause lets claims in between the steps of a long cleaning.
	cleanPause = 20 * time.Millisecond
	// cleanStep bounds the rows deleted in one step: a few milliseconds of a database.
	cleanStep = 1000
)

// cleanLoop deletes history past its retention in short steps, until ctx ends.
func (s *Scheduler) cleanLoop(ctx context.Context) {
	retention := Retention{Runs: s.options.KeepRuns, NonRuns: s.options.KeepNonRuns, Age: s.options.KeepAge, Limit: cleanStep}
	timer := time.NewTimer(cleanEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait := cleanEvery
		n, err := s.store.Clean(ctx, retention)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Warn("history could not be cleaned", "error", err)
		case n >= cleanStep:
			wait = cleanPause
		}
		timer.Reset(wait)
	}
}
