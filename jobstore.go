package ruqi

import (
	"context"
	"time"
)

// A JobStore keeps jobs, runs, their output and the instances that share it. It
// is the truth: whatever is not in it did not happen.
//
// Laws for every method:
//
//   - It is one atomic step. It happens whole or not at all, whoever races and
//     whenever the process dies; a step that has returned without an error survives a
//     kill of the process (a store in memory excepted).
//   - Time is the store's own clock, read once a step, in UTC and microseconds, and
//     handed to the decide function. Times given are kept to the microsecond.
//   - A decide function is pure. The store may call it again in the same step, and may hold locks
//     while it runs; it must not call the store. What it returned lands only if what it
//     saw still holds: the job's version and next time, no more active runs, the states of the runs.
//     A panic of decide is passed on to the caller, nothing having been written.
//   - Slices and pointers handed in and out belong to the receiver afterwards, those
//     inside records included, except JobRecord.Live, which is shared and never changed.
//   - All methods may be called by many goroutines and, where the store lasts, by many processes.
//   - When ctx ends, the method returns its error soon; the step has then happened or not.
//   - ErrUnavailable (wrapped) means that nothing was written and the call may be tried again. A commit
//     whose outcome is uncertain is settled by reading before the method returns.
//
// A store proves the laws with jobstore/jobstoretest.
type JobStore interface {
	// EditJobs adds, changes, pauses, removes and starts jobs by hand. The jobs are
	// those that query selects; when query.IDs is not empty, decide is called for
	// each of these in order, with old nil for one that is not there (or that the
	// rest of the query does not select). active is the job's number of active runs: running, and
	// queued rows of a batch. A Change with Err ends the edit: nothing is written
	// and Err is returned as it is. At most query.Limit jobs are edited (0: no limit), by id.
	//
	// Change.Job nil keeps the job. Else it is written; the store sets Created
	// when the job is new and Updated always, and keeps RunCount of an existing job.
	// Change.Hasten makes queued rows that are due later due now, but those of cause retry. Change.Remove
	// deletes the job: its queued rows become cancelled with the reason "job removed",
	// running ones go on, history stays. Change.Runs are inserted in the same step: rows that
	// have ended (settled fires; left out where their unique key exists), or queued ones of cause manual or startup,
	// whose Nominal and Due the store sets to now, Nominal plus a microsecond until the unique key is free.
	//
	// Returned are the jobs as they are after the step (those removed, as they
	// were), and the inserted runs with their ids.
	EditJobs(ctx context.Context, query JobQuery, decide func(now time.Time, id string, old *JobRecord, active int) Change) ([]JobRecord, []Run, error)

	// Jobs returns one page of jobs. A wrong cursor is an *InvalidError for "/cursor", an Offset that is negative or stands
	// beside a cursor one for "/offset"; so are those of Runs.
	Jobs(ctx context.Context, query JobQuery) (JobRecordPage, error)

	// Claim takes what is due for the owner: active jobs with NextDue <= now, and jobs
	// with queued rows that may start. For each pool in request.Slots with n > 0 free slots it
	// takes at most n jobs, higher priority first, then the longest due, among
	// jobs whose Needs is in request.Needs and whose id is not in request.Except; at most request.Limit in all. A
	// full pool never hides another.
	//
	// decide sees them with their active count, the number of fires that wait, and the queued rows that may start, oldest first. A plan
	// lands only if its job has no more of either when it is written; it may have less, since runs end meanwhile:
	//   - Due <= now;
	//   - a batch row only when no row of its batch is running, and then only the oldest of the batch;
	//     not while its job is paused;
	//   - a row of cause manual also when its job is paused or finished, another row not when paused;
	//   - rows outside a batch only while active < the job's MaxInstances.
	//
	// It returns at most one Plan a job, in any order; a job without a plan stays as it is.
	//
	// A plan sets the job's state, reason, next times and run count (nothing else of the
	// record), asks active runs to end where it says so, inserts its rows (running ones with this owner and Started = now) and
	// turns the queued rows in Plan.Start into running ones of this owner, with the task of Plan.Task. A row whose unique key
	// (JobID, Cause, Nominal, Attempt) exists is left out silently: the fire has its outcome already.
	//
	// ErrLeaseLost when the owner's lease is not alive on the store's clock: nothing is taken.
	// With no free slots nothing is taken, but Next, Cancel, Instances and Now are still told.
	Claim(ctx context.Context, request ClaimRequest, decide func(now time.Time, due []Due) []Plan) (Claimed, error)

	// Finish ends runs. Each is written only if it is still running and owned by
	// owner; the ids of the others are returned as late: nothing of theirs
	// is written but a note at the end of their reason. State, Reason, Finished (the store's
	// now if nil), ExitCode, Signal, CPU, MaxRSS are taken from Done.Run; its Result if it is not nil, and its Progress
	// with its ProgressText if Progress is not nil: else those that the row has stay. Done.Again is
	// inserted as a new row in the same step (its ID is set), with its Due kept and, if Due is zero, now; for a job that is
	// gone it ends as cancelled at once, since nobody could ever start it. It is left out, its ID being 0, for a run that has CancelBy:
	// who asked for its end does not want it again.
	// EndJob, if not empty, finishes the run's job with that reason: no next time; an already
	// finished or removed job stays. RemoveJob deletes the job in the same step if it is finished
	// and none of its runs is queued or running any more.
	Finish(ctx context.Context, owner Owner, done []Done) (late []int64, err error)

	// WriteRuns appends output to running runs and says how far they are, with the same fence as Finish.
	// Of the whole output the store keeps the first and the last half of its cap
	// (a setting of the store; 1 MiB by default) and sets OutputBytes and OutputCut. Progress and ProgressText
	// take the place of what the row has where the update's Progress is not nil.
	WriteRuns(ctx context.Context, owner Owner, updates []RunUpdate) (late []int64, err error)

	// Beat registers an instance or renews its lease: LeaseUntil = now + Lease. With
	// Epoch 0 the instance begins a new life: the store gives it an epoch higher than any before
	// under that name, and the runs of earlier lives are thereby left to Rescue.
	// With an epoch it renews, also a lease that has ended, as long as no Rescue has acted
	// on it: a machine that slept alone keeps its runs. ErrLeaseLost if that epoch is not the
	// instance's latest, or was rescued. A Lease of 0 says goodbye: the row goes as soon as no run names it.
	// The instance is returned as stored, with Beat set to the store's now. A renewal of which the answer is lost is
	// ErrUnavailable all the same: it may have happened, and once more changes nothing.
	Beat(ctx context.Context, instance Instance) (Instance, error)

	// Rescue ends the running runs of owners whose lease has ended or whose epoch is not the
	// latest, except those of owner itself; at most limit a step, oldest first. decide gets each dead
	// run and its job (nil if it is gone), and its Done is written as by Finish.
	// An instance found past its lease is over from then on, whether it had runs or not: its epoch never
	// renews again. When it owns no run any more it is forgotten. The ended runs are returned.
	Rescue(ctx context.Context, owner Owner, limit int, decide func(now time.Time, dead Run, job *JobRecord) Done) ([]Run, error)

	// Cancel asks a run to end. A queued one is cancelled at once, its Reason "cancelled by BY"; of a running
	// one CancelBy is set, for its owner to hear with its next Claim (a second
	// request changes nothing). ErrNotFound; ErrEnded if it has ended. The run is returned as it is then.
	Cancel(ctx context.Context, run int64, by string) (Run, error)

	// Runs returns one page of runs, newest first. Where RunQuery.Tallied says so it tells their Total, true for the same state of the
	// store as the page. It comes from counters: a million runs cost no more than a few.
	Runs(ctx context.Context, query RunQuery) (RunPage, error)

	// Output returns at most limit bytes (at least 1, at most 1 MiB) of a run's output, from the
	// offset from on. ErrNotFound if there is no such run.
	Output(ctx context.Context, run int64, from int64, limit int) (OutputPart, error)

	// Clean deletes history past its retention with its output, never a queued or
	// running row, and returns how many rows went: at most retention.Limit. Fewer than
	// Limit means that nothing more is to be done now. It alone is no single step: it may work in
	// several short ones, so that claims never wait for it, and what the first have deleted stays deleted when a later one fails.
	Clean(ctx context.Context, retention Retention) (int, error)

	// Count tells how much there is.
	Count(ctx context.Context) (Counts, error)

	// Instances lists every registered instance, by name.
	Instances(ctx context.Context) ([]Instance, error)

	// Close releases what the store holds. Calls after it fail.
	Close() error
}

// A Waker is a JobStore that can tell when another user of the store changed
// something a scheduler waits for: jobs, queued runs, cancels, ends. It is a
// hint that may be lost; the poll each second is the truth.
type Waker interface {
	// Wake returns a new channel that receives after changes, at most one waiting,
	// until stop is called.
	Wake() (hints <-chan struct{}, stop func())
}

// A LiveKeeper is a JobStore in this process's memory. It keeps JobRecord.Live
// beside or in place of Spec, so that closures can be jobs and nothing is encoded in vain.
type LiveKeeper interface {
	KeepsLive()
}

// A Locator is a JobStore that can say where it is.
type Locator interface {
	// Location returns the store's kind and where it is, without secrets: "sqlite:/var/lib/ruqi/ruqi.db".
	Location() string
}

// A Caretaker is a JobStore whose tables have a schema that releases bring up, and that can be looked over
// while schedulers work on it. Its methods change nothing.
type Caretaker interface {
	// Schema tells the schema of the store and those this release can work with. On a store that was opened to be kept
	// as it is, also where there is none yet.
	Schema(ctx context.Context) (SchemaState, error)
	// Now tells the store's time, on which leases are judged. It waits for no step that writes.
	Now(ctx context.Context) (time.Time, error)
	// Check looks for damage, and for rows that break the laws of JobStore. It returns a sentence for each fault, the
	// first of very many of one kind, and none when the store is sound. ErrNotFound (wrapped) when there is no
	// store to check. It reads everything, which takes about as long as a copy; ctx ends it.
	Check(ctx context.Context) ([]string, error)
}

// A SchemaState says which schema a store has, and whether a release can work on it: when Oldest <= Knows, and
// Has >= Knows or it may be brought up.
type SchemaState struct {
	// Has is the number of the store's schema; 0: there is none yet.
	Has int
	// Knows is the newest schema that this release knows, and would bring the store up to.
	Knows int
	// Oldest is the oldest schema whose programs may still work on the store; 0 where there is none yet.
	Oldest int
}

// A JobRecord is a job as a store keeps it. The store never reads Spec, and
// returns the record even when no one can decode it any more.
type JobRecord struct {
	ID, Name string
	State    JobState
	Reason   string
	// Pool, Priority and Needs select who claims it, and in which order.
	Pool         string
	Needs        string
	Priority     int
	MaxInstances int
	// OnStart is Policy.RunOnStart: such jobs are found by JobQuery.OnStart without a look at all others.
	OnStart bool
	Tags    []string
	// NextDue is when it is to be claimed, NextNominal the fire time that is due then. NextDue alone is when its trigger is to be searched further
	// (see Searcher); for a store that makes no difference, but for the views it has for reports, which show no next run then.
	NextNominal *time.Time
	NextDue     *time.Time
	// Version counts definition changes and pauses, never fires; the decide function sets it.
	Version int64
	// RunCount counts runs started with cause schedule.
	RunCount         int64
	Created, Updated time.Time
	// Spec is the encoded definition (Registry.EncodeJob); nil only where Live is kept in its place.
	Spec []byte
	// Live is the decoded definition; never changed once it is in a record. A store that lasts drops it.
	Live *JobSpec
}

// A JobRecordPage is one page of records; see JobPage.
type JobRecordPage struct {
	Jobs  []JobRecord
	Next  string
	Total int64
}

// A Due is a job that has something to start.
type Due struct {
	Job JobRecord
	// Active counts the job's running runs and its queued rows of batches.
	Active int
	// Waiting counts its queued rows of cause schedule that are of no batch.
	Waiting int
	// Queued are rows that may start now, oldest first.
	Queued []Run
}

// A Change is what an edit does to one job.
type Change struct {
	Job    *JobRecord
	Remove bool
	// Hasten makes the job's queued rows that are due later, but those of cause retry, due now.
	Hasten bool
	Runs   []Run
	Err    error
}

// A Plan is what a claim does to one job.
type Plan struct {
	// JobID names it; State, Reason, NextNominal, NextDue and RunCount are its new ones.
	JobID       string
	State       JobState
	Reason      string
	NextNominal *time.Time
	NextDue     *time.Time
	RunCount    int64
	// Remove deletes the job if, after this plan, none of its runs is queued or running.
	Remove bool
	// Cancel asks the job's active runs to end, in this name, as JobStore.Cancel does: the running ones, and the queued rows of batches,
	// which end at once and are not among those to start. Empty: it does not.
	Cancel string
	// Runs are new rows: born running, queued, or ended.
	Runs []Run
	// Start names queued rows to start.
	Start []int64
	// Task is what these rows run, where their job was changed while they waited. Empty: what they say already.
	Task string
}

// A ClaimRequest says what an instance can take.
type ClaimRequest struct {
	Owner Owner
	// Slots are the free slots of each pool; a pool with 0 takes nothing, but Next still speaks of it. Empty: nothing
	// is taken and Next speaks of every pool.
	Slots map[string]int
	// Needs lists what the instance can serve.
	Needs []string
	// Except names jobs that the instance found it cannot read.
	Except []string
	// Limit bounds the jobs of one step; 0: 500.
	Limit int
}

// A Claimed is what a claim took.
type Claimed struct {
	// Runs are the rows now running under the owner.
	Runs []Run
	// Jobs are the records, as they are after the step, of the jobs that had a plan.
	Jobs []JobRecord
	// Settled are the rows that were inserted already ended.
	Settled []Run
	// Cancel lists the owner's running runs whose end was asked for.
	Cancel []int64
	// Next is the earliest time after Now at which a job or a queued row that this instance
	// could serve becomes due; nil: none. Now or earlier: something due was left, for want of a slot or of room
	// in the step. A queued row that waits for its job's limit or its batch need not count.
	Next *time.Time
	// Instances counts the instances that are alive at Now, the owner's own included: their latest lives whose lease
	// has not ended and that have neither said goodbye nor been rescued. It is a hint for spreading load.
	Instances int
	Now       time.Time
}

// A Done is the end of a run.
type Done struct {
	Run       Run
	Again     *Run
	EndJob    string
	RemoveJob bool
}

// A RunUpdate appends to a running run's output, says how far it is, or both.
type RunUpdate struct {
	ID int64
	// At is the offset of Output[0] in the stream. It is past the stored end when the
	// instance itself had to drop a middle part; never before it. Without Output it means nothing.
	At     int64
	Output []byte
	// Progress and ProgressText are as in Run. Nil: there is nothing new of either.
	Progress     *float64
	ProgressText string
}

// An Instance is one scheduler process as the store knows it.
type Instance struct {
	Owner Owner
	// Started is the begin of this epoch, Beat the last sign of life, LeaseUntil its end without another.
	Started, Beat, LeaseUntil time.Time
	Lease                     time.Duration
	// Slots are the sizes of its pools, Needs what it can serve.
	Slots map[string]int
	Needs []string
	// State is "running", "paused" or "stopping", as it last said; see also InstanceLost.
	State string
	// Release is its version. Zones are those that it computes fire times with, a hash of each one's offsets from 1970 to 2100 behind
	// the name, as in "Europe/Berlin=1c0a1c3f UTC=66a9ea20", in order; at most 100.
	Release string
	Zones   string
	// ClockOffset is how far the instance's clock is ahead of the store's, negative when it is behind, as it last
	// measured with a heartbeat; kept to the microsecond. Nil: not known. Each Beat sets it anew, to nil too.
	// Nothing is decided by it.
	ClockOffset *time.Duration
}

// A Retention says how much history stays.
type Retention struct {
	// Runs and NonRuns are how many of the newest rows of each job stay: those that were
	// started (or lost), and those that were not (missed, skipped). 0: no bound.
	Runs, NonRuns int
	// Age is how long ended rows stay. 0: for ever.
	Age time.Duration
	// Limit is the most rows one step deletes; 0: 1,000.
	Limit int
}

// Counts tell how much a store holds.
type Counts struct {
	Jobs map[JobState]int64
	// Needs counts the jobs that are not finished by pool and need.
	Needs map[PoolNeed]int64
	// Running and Queued count runs.
	Running, Queued int64
}

// A PoolNeed is what a job asks of an instance.
type PoolNeed struct{ Pool, Need string }
