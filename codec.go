package ruqi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// specVersion is written into every stored definition, so that a later release
// knows which rules it was written by.
const specVersion = 1

// specJSON is the shape of a definition, as in the API and in job files.
type specJSON struct {
	V           int             `json:"v,omitempty"`
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Trigger     json.RawMessage `json:"trigger"`
	// Calendars are the versions of the named calendars that the job's next time was found by. They stand in what is stored alone, and
	// only where the trigger uses some: definitions that were stored before stay as they are, to the byte.
	Calendars map[string]int64  `json:"calendars,omitempty"`
	Task      json.RawMessage   `json:"task"`
	Executor  string            `json:"executor"`
	Priority  int               `json:"priority"`
	Labels    map[string]string `json:"labels"`
	Tags      []string          `json:"tags"`
	Params    json.RawMessage   `json:"params"`
	Policy    policyJSON        `json:"policy"`
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
	// Left out where there is none, and where it is off: definitions that were stored before stay as they are, to the byte.
	Retry      *retryJSON `json:"retry,omitempty"`
	RunOnStart bool       `json:"run_on_start,omitempty"`
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
			Retry: encodeRetry(p.Retry), RunOnStart: p.RunOnStart,
		},
	}
	if p.Timeout > 0 {
		shape.Policy.Timeout = durationText(&p.Timeout)
	}
	if p.MaxRuns > 0 {
		shape.Policy.MaxRuns = &p.MaxRuns
	}
	if version > 0 {
		shape.Calendars = versionsOf(spec.Trigger)
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

// The members of a definition as users write it, and of its policy.
var (
	jobMembers    = []string{"id", "name", "description", "trigger", "task", "executor", "priority", "labels", "tags", "params", "policy"}
	policyMembers = []string{
		"coalesce", "misfire_grace", "catchup_limit", "max_instances", "overlap", "timeout", "kill_grace", "on_lost",
		"jitter", "max_runs", "delete_when_finished", "retry", "run_on_start",
	}
)

// DecodeJob reads a definition as a user writes it. It refuses members it does not know or that stand twice, and values it
// does not accept, those out of range included, all at once, in an *InvalidError; the definition is then what the others make. What is left
// out is left at its zero value. What takes a scheduler to tell, such as the functions of a program or the next fire of a trigger, AddJob looks at.
func (r *Registry) DecodeJob(data []byte) (JobSpec, error) { return r.decodeJob(data, true) }

// decodeJob is lenient towards unknown members in stored rows: a newer release may have written them.
func (r *Registry) decodeJob(data []byte, strict bool) (JobSpec, error) {
	var spec JobSpec
	var faults Faults
	d := decodeObject("", data, strict, &faults)
	if d == nil {
		return spec, faults.Err()
	}
	version := int64(specVersion)
	if !strict { // users do not write versions, the store does
		if n, given := d.Int("v"); given {
			version = n
		}
	}
	if version < 1 || version > specVersion {
		faults.Add("/v", fmt.Sprint(version), "written by rules of version %d; this release knows those up to %d", version, specVersion)
	}
	spec.ID, _ = d.Text("id")
	spec.Name, _ = d.Text("name")
	spec.Description, _ = d.Text("description")
	if raw, given := d.Raw("trigger"); given {
		spec.Trigger = readPart(d, "/trigger", raw, &r.triggersRead, r.DecodeTrigger, goesByNoCalendar)
	}
	if raw, given := d.Raw("task"); given {
		spec.Task = readPart(d, "/task", raw, &r.tasksRead, r.DecodeTask, func(Task) bool { return true })
	}
	spec.Executor, _ = d.Text("executor")
	priority, _ := d.Int("priority")
	spec.Priority = whole(priority)
	spec.Labels, _ = d.TextMap("labels")
	spec.Tags, _ = d.Texts("tags")
	params := d.Raw
	if strict {
		params = d.Any
	}
	if raw, given := params("params"); given {
		if !bytes.Equal(raw, []byte("{}")) {
			if _, err := paramsOf(raw); err != nil {
				faults.Merge("/params", err)
			}
			spec.Params = raw
		}
	}
	if raw, given := d.Raw("policy"); given {
		decode := func(raw []byte) (Policy, bool) {
			told := len(faults.list)
			p := decodePolicy(raw, &faults, strict)
			return p, len(faults.list) == told
		}
		if strict {
			spec.Policy, _ = decode(raw)
		} else {
			spec.Policy = r.policiesRead.read(raw, decode)
		}
	}
	if strict {
		d.Done(jobMembers...)
		var values Faults
		spec.checkValues(&values)
		faults.mergeNew(values.list)
	}
	return spec, faults.Err()
}

// readPart reads the trigger or the task of a definition. What was stored is remembered, unless keep says no.
func readPart[T any](d *decoder, pointer string, raw []byte, known *memo[T], decode func([]byte) (T, error), keep func(T) bool) T {
	read := func(raw []byte) (T, bool) {
		part, err := decode(raw)
		d.mergePart(pointer, raw, err)
		return part, err == nil && keep(part)
	}
	if !d.strict {
		return known.read(raw, read)
	}
	from := len(d.faults.list)
	part, _ := read(raw)
	if told := d.faults.list[from:]; len(told) > 0 {
		var err error
		if part, err = decode(withoutFaults(pointer, raw, told)); err != nil { // the faults are told; a part that is nothing without them is none
			var none T
			return none
		}
	}
	return part
}

// withoutFaults is the text of a part without the members that are wrong.
func withoutFaults(pointer string, raw []byte, told []Fault) []byte {
	var parts []string
	for _, fault := range told {
		parts = append(parts, strings.TrimPrefix(fault.Pointer, pointer))
	}
	return object.TextWithout(raw, parts)
}

// goesByNoCalendar reports whether the trigger will be the same whenever it is decoded.
func goesByNoCalendar(t Trigger) bool { return len(calendarsOf(t)) == 0 }

func decodePolicy(data []byte, faults *Faults, strict bool) Policy {
	var p Policy
	d := decodeObject("/policy", data, strict, faults)
	if d == nil {
		return p
	}
	if coalesce, given := d.Bool("coalesce"); given {
		p.Coalesce = &coalesce
	}
	if grace, given := d.duration("misfire_grace"); given {
		p.MisfireGrace = &grace
	}
	p.CatchupLimit = whole(d.atLeastOne("catchup_limit"))
	p.MaxInstances = whole(d.atLeastOne("max_instances"))
	overlap, _ := d.Text("overlap")
	p.Overlap = Overlap(overlap)
	p.Timeout = d.positive("timeout")
	p.KillGrace = d.positive("kill_grace")
	lost, _ := d.Text("on_lost")
	p.OnLost = OnLost(lost)
	p.Jitter, _ = d.duration("jitter")
	p.MaxRuns = d.atLeastOne("max_runs")
	p.DeleteWhenFinished, _ = d.Bool("delete_when_finished")
	p.RunOnStart, _ = d.Bool("run_on_start")
	pause, _ := d.Int("pause_after_failures")
	p.PauseAfterFailures = whole(pause)
	if raw, given := d.Raw("retry"); given {
		p.Retry = decodeRetry(raw, faults, strict)
	}
	if strict {
		d.Done(policyMembers...)
	}
	return p
}

// paramsOf reads params, which are a JSON object; nil is an empty one.
func paramsOf(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
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

// decoder reads the members of a definition, or of its policy.
type decoder struct {
	*object.Object
	pointer string
	strict  bool // what a user wrote, not what the store kept
	faults  *Faults
}

// decodeObject returns nil, and notes why, for what is no object.
func decodeObject(pointer string, data []byte, strict bool, faults *Faults) *decoder {
	read := object.ReadKept
	if strict {
		read = object.Read
	}
	o, err := read(data, func(below, value, format string, args ...any) { faults.Add(pointer+below, value, format, args...) })
	if err != nil {
		faults.Add(pointer, string(data), "%v", err)
		return nil
	}
	return &decoder{o, pointer, strict, faults}
}

// mergePart takes over what the decoder of a part says. Of what a user wrote, members that stand twice anywhere within
// are refused whether or not that decoder saw them.
func (d *decoder) mergePart(pointer string, raw []byte, err error) {
	from := len(d.faults.list)
	d.faults.Merge(pointer, err)
	if !d.strict {
		return
	}
	told := d.faults.list[from:]
	_ = object.Check(raw, func(below, value, format string, args ...any) { // the text has been read already
		if !slices.ContainsFunc(told, func(f Fault) bool { return f.Pointer == pointer+below }) {
			d.faults.Add(pointer+below, value, format, args...)
		}
	})
}

// duration reads a length of time; missing, null or wrong is not given.
func (d *decoder) duration(name string) (time.Duration, bool) {
	return object.Parse(d.Object, name, `a text such as "90s"`, duration.Parse)
}

// positive reads a duration for which zero would mean that none was given.
func (d *decoder) positive(name string) time.Duration {
	length, given := d.duration(name)
	if given && length == 0 && d.strict {
		d.faults.Add(d.pointer+"/"+name, "0s", "must be longer than nothing; leave it out for the default")
	}
	return length
}

// atLeastOne reads a number for which zero would mean that none was given.
func (d *decoder) atLeastOne(name string) int64 {
	n, given := d.Int(name)
	if given && n == 0 && d.strict {
		d.faults.Add(d.pointer+"/"+name, "0", "must be at least 1; leave it out for the default")
	}
	return n
}

// whole cuts a number to those that fit an int on every machine; all others are out of every range there is.
func whole(n int64) int { return int(min(max(n, math.MinInt32), math.MaxInt32)) }
