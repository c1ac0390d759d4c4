package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
)

// A Definition is what a user says of a job.
type Definition struct {
	ID          string            `json:"id" doc:"Up to 255 printable characters; slashes are allowed. Left out on creation: a random one is given."`
	Name        string            `json:"name" doc:"For people. Empty: the id."`
	Description string            `json:"description"`
	Trigger     json.RawMessage   `json:"trigger" doc:"When: an object with a member kind."`
	Task        json.RawMessage   `json:"task" doc:"What: an object with a member kind."`
	Executor    string            `json:"executor" doc:"The pool of slots its runs use. Empty: the pool of the task's kind."`
	Priority    int               `json:"priority"`
	Labels      map[string]string `json:"labels"`
	Tags        []string          `json:"tags" nullable:"false"`
	Params      json.RawMessage   `json:"params" doc:"An object handed to every run."`
	Policy      Policy            `json:"policy"`
}

// A Job is a job as the API shows it: its definition, and from state on where it
// stands. Those last members are read-only; they may be sent back unchanged.
type Job struct {
	Definition

	State       string     `json:"state" enum:"active,paused,finished" doc:"On creation active or paused; else read-only."`
	StateReason string     `json:"state_reason" readOnly:"true"`
	Parked      string     `json:"parked" readOnly:"true" doc:"Why no live instance can run the job; empty when one can."`
	NextNominal *time.Time `json:"next_nominal_time" readOnly:"true" doc:"The next fire time of the trigger."`
	NextDue     *time.Time `json:"next_due_time" readOnly:"true" doc:"The same with jitter."`
	RunCount    int64      `json:"run_count" readOnly:"true" doc:"Runs of cause schedule."`
	Version     int64      `json:"version" readOnly:"true" doc:"Counts changes of the definition; the ETag."`
	Created     time.Time  `json:"created_at" readOnly:"true"`
	Updated     time.Time  `json:"updated_at" readOnly:"true"`
}

// A Policy is a job's policy as the API shows it, every default written out.
type Policy struct {
	Coalesce           bool    `json:"coalesce" doc:"Run only the last of several due fires. Default true."`
	MisfireGrace       *string `json:"misfire_grace" doc:"How late a fire may start; null: never too late."`
	CatchupLimit       int     `json:"catchup_limit"`
	MaxInstances       int     `json:"max_instances"`
	Overlap            string  `json:"overlap"`
	Timeout            *string `json:"timeout" doc:"Ends a run that takes longer; null: none."`
	KillGrace          string  `json:"kill_grace"`
	OnLost             string  `json:"on_lost"`
	Jitter             string  `json:"jitter"`
	MaxRuns            *int64  `json:"max_runs"`
	DeleteWhenFinished bool    `json:"delete_when_finished"`
	Retry              *Retry  `json:"retry,omitempty" doc:"Tries failed and timed-out runs again. Left out: not."`
	RunOnStart         bool    `json:"run_on_start,omitempty" doc:"Runs the job each time an instance starts, beside its trigger. Left out: not."`
}

// A Retry is a job's retries as the API shows them.
type Retry struct {
	Max      int    `json:"max" doc:"How many attempts may follow the first."`
	Delay    string `json:"delay" doc:"The wait before the second attempt."`
	Backoff  string `json:"backoff" enum:"exponential,linear,fixed" doc:"How the wait grows."`
	MaxDelay string `json:"max_delay"`
}

// readOnly are the members of Job that are the server's to say.
var readOnly = []string{"state", "state_reason", "parked", "next_nominal_time", "next_due_time", "run_count", "version", "created_at", "updated_at"}

// FromSpec returns the shape of a definition.
func FromSpec(spec ruqi.JobSpec) (Definition, error) {
	job, err := FromJob(ruqi.Job{JobSpec: spec})
	return job.Definition, err
}

// FromJob returns the job's shape. Its fire times are shown in the trigger's zone where it has one, all others in UTC.
func FromJob(job ruqi.Job) (Job, error) {
	zone := Zone(job.Trigger)
	shape := Job{
		Definition: Definition{
			ID: job.ID, Name: job.Name, Description: job.Description,
			Trigger: json.RawMessage("null"), Task: json.RawMessage("null"),
			Executor: job.Executor, Priority: job.Priority,
			Labels: orEmpty(job.Labels), Tags: append([]string{}, job.Tags...),
			Params: orObject(job.Params), Policy: fromPolicy(job.Policy),
		},
		State: string(job.State), StateReason: job.StateReason, Parked: job.Parked,
		NextNominal: inZone(job.NextNominal, zone), NextDue: inZone(job.NextDue, zone),
		RunCount: job.RunCount, Version: job.Version,
		Created: job.Created.UTC(), Updated: job.Updated.UTC(),
	}
	if shape.Name == "" {
		shape.Name = job.ID
	}
	var err error
	if job.Trigger != nil {
		if shape.Trigger, err = job.Trigger.MarshalJSON(); err != nil {
			return Job{}, fmt.Errorf("trigger of job %s: %w", job.ID, err)
		}
	}
	if job.Task != nil {
		shape.Task, err = job.Task.MarshalJSON()
		if errors.Is(err, ruqi.ErrClosure) && job.Version != 0 {
			// A closure has no encoding, but a job that has one can be looked at like any other.
			shape.Task, err = json.Marshal(map[string]string{"kind": job.Task.Kind(), "name": job.Task.String()})
		}
		if err != nil {
			return Job{}, fmt.Errorf("task of job %s: %w", job.ID, err)
		}
	}
	return shape, nil
}

// Job returns the library's job. A trigger or a task whose kind this program does not know is
// kept as it is (see Opaque), so that a job can be listed and passed on by a client that could not run it.
func (j Job) Job(registry *ruqi.Registry) (ruqi.Job, error) {
	policy, err := j.Policy.policy()
	if err != nil {
		return ruqi.Job{}, fmt.Errorf("job %s: %w", j.ID, err)
	}
	job := ruqi.Job{
		JobSpec: ruqi.JobSpec{
			ID: j.ID, Name: j.Name, Description: j.Description,
			Executor: j.Executor, Priority: j.Priority, Labels: j.Labels, Tags: j.Tags,
			Params: j.Params, Policy: policy,
		},
		State: ruqi.JobState(j.State), StateReason: j.StateReason, Parked: j.Parked,
		NextNominal: inUTC(j.NextNominal), NextDue: inUTC(j.NextDue),
		RunCount: j.RunCount, Version: j.Version,
		Created: j.Created.UTC(), Updated: j.Updated.UTC(),
	}
	if !isNull(j.Trigger) {
		if job.Trigger, err = registry.DecodeTrigger(j.Trigger); err != nil {
			job.Trigger = opaqueTrigger{opaque(j.Trigger)}
		}
	}
	if !isNull(j.Task) {
		if job.Task, err = registry.DecodeTask(j.Task); err != nil {
			job.Task = opaqueTask{opaque(j.Task)}
		}
	}
	return job, nil
}

func fromPolicy(given ruqi.Policy) Policy {
	p := given.WithDefaults()
	shape := Policy{
		Coalesce:     *p.Coalesce,
		CatchupLimit: p.CatchupLimit, MaxInstances: p.MaxInstances,
		Overlap: string(p.Overlap), KillGrace: duration.Format(p.KillGrace),
		OnLost: string(p.OnLost), Jitter: duration.Format(p.Jitter),
		DeleteWhenFinished: p.DeleteWhenFinished, RunOnStart: p.RunOnStart,
	}
	if p.MisfireGrace != nil {
		text := duration.Format(*p.MisfireGrace)
		shape.MisfireGrace = &text
	}
	if p.Timeout != 0 {
		text := duration.Format(p.Timeout)
		shape.Timeout = &text
	}
	if p.MaxRuns != 0 {
		shape.MaxRuns = &p.MaxRuns
	}
	if p.Retry != nil {
		r := p.Retry.WithDefaults()
		shape.Retry = &Retry{r.Max, duration.Format(r.Delay), string(r.Backoff), duration.Format(r.MaxDelay)}
	}
	return shape
}

func (p Policy) policy() (ruqi.Policy, error) {
	var faults ruqi.Faults
	length := func(name, text string) time.Duration {
		if text == "" {
			return 0
		}
		d, err := duration.Parse(text)
		if err != nil {
			faults.Add("/policy/"+name, text, "%v", err)
		}
		return d
	}
	policy := ruqi.Policy{
		Coalesce: &p.Coalesce, CatchupLimit: p.CatchupLimit, MaxInstances: p.MaxInstances,
		Overlap: ruqi.Overlap(p.Overlap), OnLost: ruqi.OnLost(p.OnLost),
		KillGrace: length("kill_grace", p.KillGrace), Jitter: length("jitter", p.Jitter),
		DeleteWhenFinished: p.DeleteWhenFinished, RunOnStart: p.RunOnStart,
	}
	if p.MisfireGrace != nil {
		grace := length("misfire_grace", *p.MisfireGrace)
		policy.MisfireGrace = &grace
	}
	if p.Timeout != nil {
		policy.Timeout = length("timeout", *p.Timeout)
	}
	if p.MaxRuns != nil {
		policy.MaxRuns = *p.MaxRuns
	}
	if p.Retry != nil {
		policy.Retry = &ruqi.Retry{
			Max: p.Retry.Max, Delay: length("retry/delay", p.Retry.Delay),
			Backoff: ruqi.Backoff(p.Retry.Backoff), MaxDelay: length("retry/max_delay", p.Retry.MaxDelay),
		}
	}
	return policy, faults.Err()
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

func orObject(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("{}")
	}
	return data
}

func isNull(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }
