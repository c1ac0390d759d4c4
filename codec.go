package ruqi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
)

// specVersion is written into every stored definition, so that a later release
// knows which rules it was written by.
const specVersion = 1

// specJSON is the shape of a definition, as in the API and in job files.
type specJSON struct {
	V           int               `json:"v,omitempty"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Trigger     json.RawMessage   `json:"trigger"`
	Task        json.RawMessage   `json:"task"`
	Executor    string            `json:"executor"`
	Priority    int               `json:"priority"`
	Labels      map[string]string `json:"labels"`
	Tags        []string          `json:"tags"`
	Params      json.RawMessage   `json:"params"`
	Policy      policyJSON        `json:"policy"`
}

type policyJSON struct {
	Coalesce           bool    `json:"coalesce"`
	MisfireGrace       *string `json:"misfire_grace"`
	CatchupLimit       int     `json:"catchup_limit"`
	MaxInstances       int     `json:"max_instances"`
	Overlap            Overlap `json:"overlap"`
	Timeout            *string `json:"timeout"`
	KillGrace          string  `json:"kill_grace"`
	OnLost             OnLost  `json:"on_lost"`
	Jitter             string  `json:"jitter"`
	MaxRuns            *int64  `json:"max_runs"`
	DeleteWhenFinished bool    `json:"delete_when_finished"`
}

// EncodeJob writes a definition as one JSON object, every option written out: the
// shape that the API shows. ErrClosure (wrapped) for a task that is a closure.
func (r *Registry) EncodeJob(spec JobSpec) ([]byte, error) { return encodeJob(spec, 0) }

func encodeJob(spec JobSpec, version int) ([]byte, error) {
	if isNil(spec.Trigger) || isNil(spec.Task) {
		return nil, Invalid("", "", "a definition without a trigger or a task cannot be encoded")
	}
	trigger, err := spec.Trigger.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode trigger: %w", err)
	}
	task, err := spec.Task.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode task: %w", err)
	}
	p := spec.Policy.WithDefaults()
	shape := specJSON{
		V: version, ID: spec.ID, Name: spec.Name, Description: spec.Description,
		Trigger: trigger, Task: task,
		Executor: spec.Executor, Priority: spec.Priority,
		Labels: spec.Labels, Tags: spec.Tags, Params: spec.Params,
		Policy: policyJSON{
			Coalesce: *p.Coalesce, MisfireGrace: durationText(p.MisfireGrace), CatchupLimit: p.CatchupLimit,
			MaxInstances: p.MaxInstances, Overlap: p.Overlap, KillGrace: duration.Format(p.KillGrace),
			OnLost: p.OnLost, Jitter: duration.Format(p.Jitter), DeleteWhenFinished: p.DeleteWhenFinished,
		},
	}
	if p.Timeout > 0 {
		shape.Policy.Timeout = durationText(&p.Timeout)
	}
	if p.MaxRuns > 0 {
		shape.Policy.MaxRuns = &p.MaxRuns
	}
	if shape.Labels == nil {
		shape.Labels = map[string]string{}
	}
	if shape.Tags == nil {
		shape.Tags = []string{}
	}
	if len(shape.Params) == 0 {
		shape.Params = json.RawMessage("{}")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(shape); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func durationText(d *time.Duration) *string {
	if d == nil {
		return nil
	}
	text := duration.Format(*d)
	return &text
}

// DecodeJob reads a definition as a user writes it. It refuses members it does not know and values it
// does not accept, all at once, in an *InvalidError. What is left out is left at its zero value.
func (r *Registry) DecodeJob(data []byte) (JobSpec, error) { return r.decodeJob(data, true) }

// decodeJob is lenient towards unknown members in stored rows: a newer release may have written them.
func (r *Registry) decodeJob(data []byte, strict bool) (JobSpec, error) {
	var spec JobSpec
	var faults Faults
	o := readObject("", data, strict, &faults)
	if o == nil {
		return spec, faults.Err()
	}
	version := specVersion
	if !strict { // users do not write versions, the store does
		readInto(o, "v", &version, "a whole number")
	}
	if version < 1 || version > specVersion {
		faults.Add("/v", fmt.Sprint(version), "written by rules of version %d; this release knows those up to %d", version, specVersion)
	}
	o.text("id", &spec.ID)
	o.text("name", &spec.Name)
	o.text("description", &spec.Description)
	if raw := o.take("trigger"); raw != nil {
		trigger, err := r.DecodeTrigger(raw)
		faults.Merge("/trigger", err)
		spec.Trigger = trigger
	}
	if raw := o.take("task"); raw != nil {
		task, err := r.DecodeTask(raw)
		faults.Merge("/task", err)
		spec.Task = task
	}
	o.text("executor", &spec.Executor)
	readInto(o, "priority", &spec.Priority, "a whole number")
	readInto(o, "labels", &spec.Labels, "an object of texts")
	readInto(o, "tags", &spec.Tags, "a list of texts")
	if raw := o.take("params"); raw != nil {
		if _, err := paramsOf(raw); err != nil {
			faults.Merge("/params", err)
		}
		if !bytes.Equal(raw, []byte("{}")) {
			spec.Params = raw
		}
	}
	if raw := o.take("policy"); raw != nil {
		spec.Policy = decodePolicy(raw, &faults, strict)
	}
	if strict {
		o.refuseRest()
	}
	return spec, faults.Err()
}

func decodePolicy(data []byte, faults *Faults, strict bool) Policy {
	var p Policy
	o := readObject("/policy", data, strict, faults)
	if o == nil {
		return p
	}
	readInto(o, "coalesce", &p.Coalesce, "true or false")
	if d, given := o.duration("misfire_grace"); given {
		p.MisfireGrace = &d
	}
	readPositive(o, "catchup_limit", &p.CatchupLimit)
	readPositive(o, "max_instances", &p.MaxInstances)
	readInto(o, "overlap", &p.Overlap, "a text")
	p.Timeout = o.positive("timeout")
	p.KillGrace = o.positive("kill_grace")
	readInto(o, "on_lost", &p.OnLost, "a text")
	p.Jitter, _ = o.duration("jitter")
	readPositive(o, "max_runs", &p.MaxRuns)
	readInto(o, "delete_when_finished", &p.DeleteWhenFinished, "true or false")
	readInto(o, "run_on_start", &p.RunOnStart, "true or false")
	readInto(o, "pause_after_failures", &p.PauseAfterFailures, "a whole number")
	if raw := o.take("retry"); raw != nil {
		p.Retry = &Retry{}
	}
	if strict {
		o.refuseRest()
	}
	return p
}

// paramsOf reads params, which are a JSON object; nil is an empty one.
func paramsOf(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, Invalid("", string(raw), "not a JSON object")
	}
	return members, nil
}

// mergeParams lays the members of over above those of under.
func mergeParams(under, over json.RawMessage) (json.RawMessage, error) {
	top, err := paramsOf(over)
	if err != nil || len(top) == 0 {
		return under, err
	}
	all, err := paramsOf(under)
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, top)
	return json.Marshal(all)
}

// object reads a JSON object member by member and knows which it has not been asked for.
type object struct {
	pointer string
	strict  bool // what a user wrote, not what the store kept
	members map[string]json.RawMessage
	faults  *Faults
}

func readObject(pointer string, data []byte, strict bool, faults *Faults) *object {
	d := json.NewDecoder(bytes.NewReader(data))
	o := &object{pointer: pointer, strict: strict, faults: faults}
	err := d.Decode(&o.members)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if err == nil && o.members == nil {
		err = errors.New("null")
	}
	if err != nil {
		faults.Add(pointer, string(data), "not a JSON object: %v", err)
		return nil
	}
	return o
}

// take removes a member and returns it; nil when it is missing or null.
func (o *object) take(name string) json.RawMessage {
	raw, ok := o.members[name]
	delete(o.members, name)
	if !ok || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	return raw
}

func (o *object) text(name string, into *string) { readInto(o, name, into, "a text") }

// duration reads a text such as "90s"; missing, null or wrong is not given.
func (o *object) duration(name string) (time.Duration, bool) {
	var text string
	if raw := o.take(name); raw == nil {
		return 0, false
	} else if err := json.Unmarshal(raw, &text); err != nil {
		o.faults.Add(o.pointer+"/"+name, string(raw), "not a text such as \"90s\"")
		return 0, false
	}
	d, err := duration.Parse(text)
	if err != nil {
		o.faults.Add(o.pointer+"/"+name, text, "%v", err)
		return 0, false
	}
	return d, true
}

// positive reads a duration for which zero would mean that none was given.
func (o *object) positive(name string) time.Duration {
	d, given := o.duration(name)
	if given && d == 0 && o.strict {
		o.faults.Add(o.pointer+"/"+name, "0s", "must be longer than nothing; leave it out for the default")
	}
	return d
}

// readPositive reads a number for which zero would mean that none was given.
func readPositive[N int | int64](o *object, name string, into *N) {
	if readInto(o, name, into, "a whole number") && *into == 0 && o.strict {
		o.faults.Add(o.pointer+"/"+name, "0", "must be at least 1; leave it out for the default")
	}
}

// readInto reads a member of the type of into and reports whether it was there and right.
func readInto[T any](o *object, name string, into *T, accepted string) bool {
	raw := o.take(name)
	if raw == nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		o.faults.Add(o.pointer+"/"+name, string(raw), "not %s", accepted)
		return false
	}
	return true
}

// refuseRest notes every member that nobody asked for.
func (o *object) refuseRest() {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		o.faults.Add(o.pointer+"/"+name, string(o.members[name]), "unknown member")
	}
}
