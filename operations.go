package ruqi

import (
	"context"
	"encoding/json"
	"time"
)

// Operations are what can be done with jobs and runs. A Scheduler does them on its
// store, client.Client does them over HTTP on a service; a program that holds an
// Operations need not know which.
//
// All take effect on every instance that shares the store within a second. Errors wrap ErrInvalid,
// ErrNotFound, ErrExists, ErrVersion, ErrEnded or ErrUnavailable.
type Operations interface {
	// AddJob adds a job; what happens when its id is taken is for onConflict to
	// say. The job is returned as it now is.
	AddJob(ctx context.Context, spec JobSpec, onConflict OnConflict) (Job, Added, error)
	// ModifyJob changes a job's definition: change edits the copy it is given (the
	// definition counts, the rest is for it to look at), may be called again, and
	// may refuse with an error, which is returned; to the faults of an *InvalidError others are added that the definition has as
	// change left it. It runs inside a step of the store: it must be
	// quick and must not call the scheduler. The id cannot change. The next fire time is computed anew if
	// the trigger changed, and kept if not. A task of another kind stays in the pool of the job's Executor; an empty one is
	// the kind's own.
	ModifyJob(ctx context.Context, id string, change func(job *Job) error) (Job, error)
	// PauseJob takes the job's fires away until ResumeJob, which computes the next from now. Both
	// are no error on a job that is so already.
	PauseJob(ctx context.Context, id string) (Job, error)
	ResumeJob(ctx context.Context, id string) (Job, error)
	// RemoveJob deletes a job; its running runs go on and its history stays.
	RemoveJob(ctx context.Context, id string) error
	// RemoveJobs deletes every job the query selects (its page and order do not
	// count) and returns how many.
	RemoveJobs(ctx context.Context, query JobQuery) (int, error)
	// Job returns one job.
	Job(ctx context.Context, id string) (Job, error)
	// Jobs returns one page of jobs; a Limit over MaxPage is taken as MaxPage, here and in Runs.
	Jobs(ctx context.Context, query JobQuery) (JobPage, error)
	// RunNow queues a run of the job, paused or not, beside its schedule. params, a
	// JSON object, is laid over the job's own; nil adds nothing.
	RunNow(ctx context.Context, id string, params json.RawMessage) (Run, error)
	// FindRun returns one run.
	FindRun(ctx context.Context, id int64) (Run, error)
	// WaitRun waits until the run has ended, or ctx has.
	WaitRun(ctx context.Context, id int64) (Run, error)
	// CancelRun asks a run to end: a queued one ends at once, a running one within
	// about a second and its kill grace. by names who asks.
	CancelRun(ctx context.Context, id int64, by string) (Run, error)
	// Runs returns one page of runs, newest first.
	Runs(ctx context.Context, query RunQuery) (RunPage, error)
	// Output returns at most limit bytes of a run's output from the offset on; 0: 1 MiB, which is also the most.
	Output(ctx context.Context, id int64, from int64, limit int) (OutputPart, error)
	// Status tells how the instance and its store are.
	Status(ctx context.Context) (Status, error)
	// Wakeup makes the instance look for due jobs now.
	Wakeup(ctx context.Context) error
}

// A Status is how an instance and its store are.
type Status struct {
	Instance string
	// State is "stopped", "running", "paused" or "stopping".
	State string
	// Store is the store's description; StoreError its last failure, empty when it answers.
	Store      string
	StoreError string
	// CheckTime is when the instance last looked for due jobs, NextWakeup when it will
	// again at the latest for a job it knows of. Nil: never, nothing.
	CheckTime, NextWakeup *time.Time
	// Jobs counts jobs by state; Parked those that no live instance can run.
	Jobs   map[JobState]int64
	Parked int64
	// Running and Queued count runs in the store.
	Running, Queued int64
	Slots           map[string]SlotUse
	// Needs is what it can run, as in Instance.
	Needs []string
	// EventsDropped counts events that slow listeners missed.
	EventsDropped int64
	Release       string
	Zone          string
	// Zones are as in Instance.
	Zones string
}

// SlotUse is how full a pool is on the instance.
type SlotUse struct{ Used, Size int }
