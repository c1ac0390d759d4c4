package ruqi

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// JobState says whether a job has fires to come.
type JobState string

const (
	// JobActive: the job fires when its trigger says so.
	JobActive JobState = "active"
	// JobPaused: the job has no fires until it is resumed; run-now still works.
	JobPaused JobState = "paused"
	// JobFinished: the trigger has no fire time left, max_runs is reached, or a
	// run returned Finish.
	JobFinished JobState = "finished"
)

// A JobSpec is what a user says of a job: its definition.
type JobSpec struct {
	// ID names the job in its store: up to 255 characters, printable, not "." or
	// ".."; slashes are allowed. Empty: a random one is given.
	ID string
	// Name is for people, up to 255 characters. Empty: the ID.
	Name string
	// Description is free text, up to 4,096 characters.
	Description string
	// Trigger says when; required. It is bound when the job is added.
	Trigger Trigger
	// Task says what; required.
	Task Task
	// Executor is the pool of slots the job's runs use. Empty: the pool of the
	// task's kind.
	Executor string
	// Priority orders jobs that wait for a slot of one pool: higher first, then
	// the longest due. From -1,000,000 to 1,000,000; default 0.
	Priority int
	// Labels and Tags are for people and filters: at most 64 each, up to 255
	// characters each.
	Labels map[string]string
	Tags   []string
	// Params is a JSON object handed to every run; nil is {}. At most 64 KiB.
	Params json.RawMessage
	// Policy says what happens when things do not go by the clock.
	Policy Policy
	// Paused adds the job paused. It is a request to AddJob, not part of the
	// stored definition: a replace leaves a paused job paused.
	Paused bool
	// AcceptPast takes a trigger whose fires have all passed, too late for any of them to start, which is refused otherwise: the last
	// of them is recorded as missed, and the job has finished. Like Paused it is a request, to AddJob, AddJobs and ModifyJob. Only a Scheduler
	// does it; a client.Client refuses it.
	AcceptPast bool
}

// Overlap says what happens to a fire that finds its job at max_instances.
type Overlap string

const (
	// OverlapSkip records the fire as skipped.
	OverlapSkip Overlap = "skip"
	// OverlapQueue lets the fire wait, as a queued run, until others have ended. What waits is started in its order, each by
	// itself. At most Policy.CatchupLimit fires wait; those that come then are skipped.
	OverlapQueue Overlap = "queue"
	// OverlapQueueOne is OverlapQueue where at most one fire waits.
	OverlapQueueOne Overlap = "queue_one"
	// OverlapCancelRunning asks the active runs to end and lets the fire wait for that, as the only one: those that come
	// meanwhile are skipped, and ask again. While its pool has no free slot the fire stays due, and nobody is asked.
	OverlapCancelRunning Overlap = "cancel_running"
	// OverlapAllow knows no limit: MaxInstances does not count.
	OverlapAllow Overlap = "allow"
)

func overlaps() []Overlap {
	return []Overlap{OverlapSkip, OverlapQueue, OverlapQueueOne, OverlapCancelRunning, OverlapAllow}
}

// OnLost says what happens to a run whose instance died.
type OnLost string

const (
	// LostFail leaves the run as lost.
	LostFail OnLost = "fail"
	// LostRerun starts it again as a new attempt.
	LostRerun OnLost = "rerun"
)

// A Policy says how a job behaves when it is late, overlaps itself, takes too
// long or loses its instance. The zero value is the default policy.
type Policy struct {
	// Coalesce runs only the last of several due fires and counts the others on
	// it. Nil: true. False runs them all, oldest first, as one batch.
	Coalesce *bool
	// MisfireGrace is how late a fire may start; later is missed. Nil: never
	// too late. At least 1 s.
	MisfireGrace *time.Duration
	// CatchupLimit is how many of the newest due fires are looked at one by one
	// after an outage; older ones are one missed row. 1 to 1,000; 0: 100.
	CatchupLimit int
	// MaxInstances bounds the active runs of the job over all instances of the
	// store. 1 to 1,000; 0: 1. With OverlapAllow it does not count, and more than 1 is refused.
	MaxInstances int
	// Overlap says what happens at MaxInstances. Empty: OverlapSkip.
	Overlap Overlap
	// Timeout ends a run that takes longer. 0: none.
	Timeout time.Duration
	// KillGrace is the time between the polite and the hard end of a run. 0: 10 s.
	KillGrace time.Duration
	// OnLost says what happens when the instance dies. Empty: LostFail.
	OnLost OnLost
	// Jitter delays each fire by up to this much, the same for the same fire on
	// every instance, never past the next fire or the trigger's end. 0: none.
	Jitter time.Duration
	// MaxRuns finishes the job after that many runs of cause schedule. 0: no bound.
	MaxRuns int64
	// DeleteWhenFinished removes the job when it has finished and no run of it
	// is left active; its history stays.
	DeleteWhenFinished bool

	// Retry tries failed and timed-out runs again. Nil: they are not.
	Retry *Retry

	// RunOnStart runs the job once each time an instance starts, beside its trigger, as a run of cause startup; a paused or
	// finished job does not. At MaxInstances Overlap decides, as for a fire. Each instance of a store counts: where it should be once for
	// all of them, leave it off. The run goes to any instance that has a free slot.
	RunOnStart bool

	// PauseAfterFailures is reserved: a job that sets it is refused.
	PauseAfterFailures int
}

// clone copies what a definition points to; triggers and tasks are immutable.
func (s JobSpec) clone() JobSpec {
	s.Labels, s.Tags, s.Params = maps.Clone(s.Labels), slices.Clone(s.Tags), slices.Clone(s.Params)
	s.Policy.Coalesce, s.Policy.MisfireGrace = clonePointer(s.Policy.Coalesce), clonePointer(s.Policy.MisfireGrace)
	s.Policy.Retry = clonePointer(s.Policy.Retry)
	return s
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Defaults of Policy.
const (
	DefaultCatchupLimit = 100              // fires; a day of quarter-hours
	DefaultMaxInstances = 1                // a job does not overlap itself unless told
	DefaultKillGrace    = 10 * time.Second // what service managers commonly give between TERM and KILL, rounded up
)

// A Job is a definition and where it stands. It is a copy: changing it changes nothing.
type Job struct {
	JobSpec

	State JobState
	// StateReason says why the job is paused or finished, or active without a fire time to come.
	StateReason string
	// Parked is not empty when no live instance can run the job, and says why.
	// It is computed when asked, never stored; the job goes on by itself once the
	// cause is gone.
	Parked string
	// NextNominal is the fire time to come; NextDue is the same with jitter. Nil: none, or of an active job none that was found yet, as
	// StateReason says then.
	NextNominal, NextDue *time.Time
	// RunCount counts runs of cause schedule.
	RunCount int64
	// Version counts changes of the definition and of pauses, never fires.
	Version          int64
	Created, Updated time.Time
}

// OnConflict says what AddJob does when the id is taken.
type OnConflict string

const (
	// Fail returns ErrExists. The zero value means the same.
	Fail OnConflict = "fail"
	// Keep leaves the stored job as it is and returns it.
	Keep OnConflict = "keep"
	// Replace stores the new definition. An equal trigger keeps its next fire time.
	Replace OnConflict = "replace"
)

// Added says what AddJob did.
type Added string

const (
	Created  Added = "created"
	Kept     Added = "kept"
	Replaced Added = "replaced"
)

// A JobQuery selects jobs; its zero value selects all, fifty a page, by id.
type JobQuery struct {
	// IDs, if not empty, selects these jobs alone.
	IDs []string
	// Tags selects jobs that have all of them.
	Tags []string
	// Name and Pool select equal names and pools; State a state.
	Name  string
	Pool  string
	State JobState
	// Search selects jobs whose id or name contains the text, letter case of ASCII ignored.
	Search string
	// Version, if not 0, selects jobs at that version.
	Version int64
	// OnStart selects jobs with Policy.RunOnStart.
	OnStart bool
	// Sort orders the page: SortID (the zero value means the same), SortNext,
	// SortName, SortCreated or SortNewest; ties by id.
	Sort JobSort
	// Cursor goes on where a page ended: its Next. It is only good for the same query.
	Cursor string
	// Offset is how many jobs are passed over before the page begins. It is refused together with a Cursor, which never shows a
	// job twice when others come and go meanwhile.
	Offset int
	// Limit is the size of a page: 0: 50; at most 1,000.
	Limit int
}

// JobSort orders a list of jobs, smallest first but for SortNewest; jobs without a next time come last.
type JobSort string

const (
	SortID      JobSort = "id"
	SortNext    JobSort = "next"
	SortName    JobSort = "name"
	SortCreated JobSort = "created"
	// SortNewest is the latest created first.
	SortNewest JobSort = "newest"
)

// Sizes of a page.
const (
	DefaultPage = 50
	MaxPage     = 1000
	// MaxOffset bounds JobQuery.Offset and RunQuery.Offset: whoever passes over more goes by a Cursor.
	MaxOffset = 1<<31 - 1
)

// A JobPage is one page of jobs.
type JobPage struct {
	Jobs []Job
	// Next is the cursor of the page after; empty when this is the last.
	Next string
	// Total counts the jobs that the query selects over all pages.
	Total int64
}
