package ruqi

import (
	"encoding/json"
	"slices"
	"time"
)

// RunState says where a run stands. The first two are alive, the others are ends.
type RunState string

const (
	// RunQueued: accepted, waiting for its turn.
	RunQueued RunState = "queued"
	// RunRunning: an instance owns it.
	RunRunning RunState = "running"
	// RunSucceeded: it did what it should.
	RunSucceeded RunState = "succeeded"
	// RunFailed: it ended by itself, and not well.
	RunFailed RunState = "failed"
	// RunTimedOut: it was ended at its timeout.
	RunTimedOut RunState = "timed_out"
	// RunCancelled: a user ended it, or its job was removed while it waited, or
	// its instance shut down.
	RunCancelled RunState = "cancelled"
	// RunLost: its instance died.
	RunLost RunState = "lost"
	// RunMissed: never started: too late, or its job changed before it could.
	RunMissed RunState = "missed"
	// RunSkipped: never started: its job was at max_instances.
	RunSkipped RunState = "skipped"
)

// Ended reports whether the state is final.
func (s RunState) Ended() bool { return s != RunQueued && s != RunRunning }

// Started reports whether a run that ended so has been started at all.
func (s RunState) Started() bool {
	return s != RunQueued && s != RunMissed && s != RunSkipped
}

// RunStates lists every state, those alive first.
func RunStates() []RunState {
	return []RunState{RunQueued, RunRunning, RunSucceeded, RunFailed, RunTimedOut, RunCancelled, RunLost, RunMissed, RunSkipped}
}

// Cause says why a run exists. Backfill and dependency are reserved words.
type Cause string

const (
	CauseSchedule   Cause = "schedule"
	CauseManual     Cause = "manual"
	CauseRetry      Cause = "retry"
	CauseStartup    Cause = "startup"
	CauseBackfill   Cause = "backfill"
	CauseDependency Cause = "dependency"
)

// An Owner is one life of one instance: the name stays, the epoch grows with each start.
type Owner struct {
	Instance string
	Epoch    int64
}

// A Run is one row of history: an execution, or a fire that was not executed and
// why. (JobID, Cause, Nominal, Attempt) is unique in a store.
type Run struct {
	// ID is given by the store; it grows and stays below 2^53.
	ID int64
	// ParentID is the first attempt's id on later attempts, else 0.
	ParentID int64
	// Attempt counts from 1.
	Attempt int
	JobID   string
	JobName string
	// Task is the canonical text of what ran: its job may be gone.
	Task   string
	Cause  Cause
	State  RunState
	Reason string
	// Nominal is the fire time; Due the same with jitter, or when a queued row may start.
	Nominal, Due time.Time
	// Started and Finished are nil until they happen.
	Started, Finished *time.Time
	// Coalesced counts other fires folded into this row, CoalescedFrom is the earliest of them.
	Coalesced     int64
	CoalescedFrom *time.Time
	// Batch ties the rows of one catch-up batch together: the nominal time of
	// its first row in microseconds since 1970; 0: no batch.
	Batch int64
	// Owner is who runs or ran it; zero for rows that never started.
	Owner Owner
	// CancelBy names who asked for the run to end; empty: nobody.
	CancelBy string
	Params   json.RawMessage
	// Result is what the task gave as its result, one JSON value of at most MaxResult bytes; nil: none.
	Result json.RawMessage
	// Progress is how far the task said it was, from 0 to 1, and ProgressText where it stood, at most MaxProgressText
	// characters. The last ones stay when the run has ended. Nil and empty: it said nothing.
	Progress     *float64
	ProgressText string
	// ExitCode and Signal are how a process ended; nil and empty where there was none.
	ExitCode *int
	Signal   string
	// OutputBytes counts the whole output; OutputCut says its middle was not kept.
	OutputBytes int64
	OutputCut   bool
	// CPU is user and system time; MaxRSS the largest resident size in bytes.
	CPU    time.Duration
	MaxRSS int64
}

// A RunQuery selects runs, newest (highest id) first; its zero value selects all, fifty a page.
type RunQuery struct {
	IDs  []int64
	Job  string // job id
	Name string // job name
	// States and Causes select any of the given.
	States []RunState
	Causes []Cause
	// From and To bound the nominal time: From <= nominal < To. Nil: no bound.
	From, To *time.Time
	// Executed selects runs that were started and have ended.
	Executed bool
	// Cursor goes on where a page ended; Offset and Limit as in JobQuery.
	Cursor string
	Offset int
	Limit  int
}

// Tallied reports whether a page of the query tells its Total: it asks for executed runs, and beside that at most for a
// job, a name, and as States for RunSucceeded alone or for all the other ends. succeeded and others say which of them count.
func (q *RunQuery) Tallied() (succeeded, others, ok bool) {
	if !q.Executed || len(q.IDs) > 0 || len(q.Causes) > 0 || q.From != nil || q.To != nil {
		return false, false, false
	}
	if len(q.States) == 0 {
		return true, true, true
	}
	ends, bad := []RunState{RunFailed, RunTimedOut, RunCancelled, RunLost}, 0
	for _, end := range ends {
		if slices.Contains(q.States, end) {
			bad++
		}
	}
	for _, state := range q.States {
		if state != RunSucceeded && !slices.Contains(ends, state) {
			return false, false, false
		}
	}
	switch {
	case bad == 0:
		return true, false, true
	case bad == len(ends) && !slices.Contains(q.States, RunSucceeded):
		return false, true, true
	}
	return false, false, false
}

// A RunPage is one page of runs.
type RunPage struct {
	Runs []Run
	// Next is the cursor of the page after; empty when this is the last.
	Next string
	// Total counts the runs that the query selects over all pages, from counters that the store keeps. Nil: not told; see
	// RunQuery.Tallied.
	Total *int64
}

// An OutputPart is a stretch of a run's output.
type OutputPart struct {
	Bytes []byte
	// At is the offset of Bytes[0] in the whole stream. It is larger than the offset
	// asked for where the middle of the output was not kept.
	At int64
	// Ended: the run has ended and there is nothing after Bytes.
	Ended bool
}
