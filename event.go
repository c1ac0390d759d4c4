package ruqi

import "time"

// EventKind names what happened.
type EventKind string

const (
	EventStarted     EventKind = "scheduler.started"
	EventShutdown    EventKind = "scheduler.shutdown"
	EventPaused      EventKind = "scheduler.paused"
	EventResumed     EventKind = "scheduler.resumed"
	EventJobAdded    EventKind = "job.added"
	EventJobRemoved  EventKind = "job.removed"
	EventJobsRemoved EventKind = "job.all_removed"
	EventJobModified EventKind = "job.modified"
	// EventJobFinished: the job has no fires to come.
	EventJobFinished EventKind = "job.finished"
	// EventJobParked: this instance met a job that it cannot read.
	EventJobParked EventKind = "job.parked"

	// EventRunSubmitted: a run was handed to its executor. EventRunStarted: the
	// executor has begun.
	EventRunSubmitted EventKind = "run.submitted"
	EventRunStarted   EventKind = "run.started"
	// EventRunExecuted: succeeded. EventRunError: failed.
	EventRunExecuted  EventKind = "run.executed"
	EventRunError     EventKind = "run.error"
	EventRunCancelled EventKind = "run.cancelled"
	EventRunTimedOut  EventKind = "run.timed_out"
	EventRunLost      EventKind = "run.lost"
	// EventRunRetrying: a new attempt was queued.
	EventRunRetrying EventKind = "run.retrying"
	// EventRunMissed: a fire was recorded as missed.
	EventRunMissed EventKind = "run.missed"
	// EventRunMaxInstances: a fire was recorded as skipped.
	EventRunMaxInstances EventKind = "run.max_instances"
)

// An Event tells a listener what its scheduler did. It is a copy.
type Event struct {
	Kind  EventKind
	Time  time.Time
	JobID string
	// Run is the run's row for run.* events, else nil; that of an end has the result.
	Run *Run
	// Reason says why, where there is a why: an error, or the reason of a state.
	Reason string
}

// A Listener hears events. It runs on a goroutine of its own, one event after
// the other; a panic is logged and the next event is still delivered. When it falls
// more than 1,024 events behind, further ones are dropped and counted (Status.EventsDropped).
type Listener func(Event)
