package wire

import (
	"encoding/json"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Run is a run as the API shows it. Its times are in UTC.
type Run struct {
	ID       int64  `json:"id"`
	JobID    string `json:"job_id"`
	JobName  string `json:"job_name"`
	Cause    string `json:"cause" enum:"schedule,manual,retry,startup,backfill,dependency"`
	Attempt  int    `json:"attempt"`
	ParentID *int64 `json:"parent_id" doc:"The first attempt, on later ones."`

	Nominal  time.Time  `json:"nominal_time" doc:"The fire time."`
	Due      time.Time  `json:"due_time" doc:"The same with jitter, or when a queued run may start."`
	Started  *time.Time `json:"started_at"`
	Finished *time.Time `json:"finished_at"`
	State    string     `json:"state" enum:"queued,running,succeeded,failed,timed_out,cancelled,lost,missed,skipped"`
	Reason   string     `json:"reason"`
	Task     string     `json:"task" doc:"The text of what ran; its job may be gone."`
	Instance string     `json:"instance" doc:"Who runs or ran it; empty for runs that never started."`
	Epoch    int64      `json:"epoch" doc:"Which life of that instance."`

	ExitCode     *int            `json:"exit_code"`
	Signal       *string         `json:"signal"`
	OutputBytes  int64           `json:"output_bytes"`
	OutputCut    bool            `json:"output_cut" doc:"The middle of the output was not kept."`
	Result       json.RawMessage `json:"result" doc:"What the task gave as its result, any JSON; null: nothing."`
	Progress     *float64        `json:"progress" doc:"How far the task said it was, from 0 to 1."`
	ProgressText *string         `json:"progress_text" doc:"Where it stood, in its words."`
	Params       json.RawMessage `json:"params"`

	Coalesced     int64      `json:"coalesced" doc:"How many other fires this row stands for."`
	CoalescedFrom *time.Time `json:"coalesced_from" doc:"The earliest of them."`
	Batch         int64      `json:"batch" doc:"Ties the rows of one catch-up together; 0: none."`
	CancelBy      string     `json:"cancel_by" doc:"Who asked for its end; empty: nobody."`
	CPUSeconds    float64    `json:"cpu_seconds"`
	MaxRSS        int64      `json:"max_rss_bytes"`
}

// FromRun returns the run's shape.
func FromRun(run ruqi.Run) Run {
	shape := Run{
		ID: run.ID, JobID: run.JobID, JobName: run.JobName,
		Cause: string(run.Cause), Attempt: run.Attempt,
		Nominal: run.Nominal.UTC(), Due: run.Due.UTC(),
		Started: inUTC(run.Started), Finished: inUTC(run.Finished),
		State: string(run.State), Reason: run.Reason, Task: run.Task,
		Instance: run.Owner.Instance, Epoch: run.Owner.Epoch,
		ExitCode: run.ExitCode, OutputBytes: run.OutputBytes, OutputCut: run.OutputCut,
		Result: orNull(run.Result), Progress: run.Progress, Params: orObject(run.Params),
		Coalesced: run.Coalesced, CoalescedFrom: inUTC(run.CoalescedFrom), Batch: run.Batch,
		CancelBy: run.CancelBy, CPUSeconds: run.CPU.Seconds(), MaxRSS: run.MaxRSS,
	}
	if run.ParentID != 0 {
		shape.ParentID = &run.ParentID
	}
	if run.Signal != "" {
		shape.Signal = &run.Signal
	}
	if run.ProgressText != "" {
		shape.ProgressText = &run.ProgressText
	}
	return shape
}

// Run returns the library's run.
func (r Run) Run() ruqi.Run {
	run := ruqi.Run{
		ID: r.ID, JobID: r.JobID, JobName: r.JobName,
		Cause: ruqi.Cause(r.Cause), Attempt: r.Attempt,
		Nominal: r.Nominal.UTC(), Due: r.Due.UTC(),
		Started: inUTC(r.Started), Finished: inUTC(r.Finished),
		State: ruqi.RunState(r.State), Reason: r.Reason, Task: r.Task,
		Owner:    ruqi.Owner{Instance: r.Instance, Epoch: r.Epoch},
		ExitCode: r.ExitCode, OutputBytes: r.OutputBytes, OutputCut: r.OutputCut,
		Progress: r.Progress, Params: r.Params,
		Coalesced: r.Coalesced, CoalescedFrom: inUTC(r.CoalescedFrom), Batch: r.Batch,
		CancelBy: r.CancelBy, MaxRSS: r.MaxRSS,
		CPU: time.Duration(r.CPUSeconds * float64(time.Second)).Round(time.Microsecond),
	}
	if !isNull(r.Result) {
		run.Result = r.Result
	}
	if r.ParentID != nil {
		run.ParentID = *r.ParentID
	}
	if r.Signal != nil {
		run.Signal = *r.Signal
	}
	if r.ProgressText != nil {
		run.ProgressText = *r.ProgressText
	}
	return run
}

// A RunRequest is the body of a manual start.
type RunRequest struct {
	Params json.RawMessage `json:"params,omitempty" doc:"An object laid over the job's own params."`
}

func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}
