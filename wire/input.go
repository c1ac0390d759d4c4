package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/text"
)

// DecodeNew reads a job that is to be added: its definition, and "state", which may
// be active or paused. The other read-only members are passed over, so that a job
// read from one service can be sent to another. All faults are told at once; what is not JSON at all is an error of
// its own, which NewProblem knows.
func DecodeNew(registry *ruqi.Registry, data []byte) (ruqi.JobSpec, error) {
	var faults ruqi.Faults
	definition, shown, err := split(data, &faults)
	if err != nil {
		return ruqi.JobSpec{}, err
	}
	var state ruqi.JobState
	if raw, given := shown["state"]; given {
		if err := json.Unmarshal(raw, &state); err != nil || state != "" && state != ruqi.JobActive && state != ruqi.JobPaused {
			faults.Add("/state", string(raw), "a job is added in one of two states, and %s is none of them; %s", text.Cut(string(raw), mostShown), Instead(state, ruqi.JobActive, ruqi.JobPaused))
		}
	}
	definition = refuseUnknown(definition, &faults)
	spec, err := registry.DecodeJob(join(definition))
	faults.Merge("", err)
	if slices.ContainsFunc(definition, func(m object.Member) bool { return m.Name == "id" && string(m.Value) == `""` }) {
		// A variable that was not set, more likely than the wish for a random one.
		faults.Add("/id", "", "empty; leave it out to get a random one")
	}
	spec.Paused = state == ruqi.JobPaused
	needParts(definition, &faults)
	return spec, faults.Err()
}

// mostShown is how much of a wrong value is shown in a message.
const mostShown = 60 // bytes

// newMembers are those of a job that is to be added.
var newMembers = []string{"id", "name", "description", "trigger", "task", "executor", "priority", "labels", "tags", "params", "policy", "state"}

// refuseUnknown takes away what is no member of a new job. The library would refuse it, too, but knows no state.
func refuseUnknown(definition []object.Member, faults *ruqi.Faults) []object.Member {
	return slices.DeleteFunc(definition, func(m object.Member) bool {
		unknown := !slices.Contains(newMembers, m.Name)
		if unknown {
			faults.Add(object.Pointer(m.Name), string(m.Value), "unknown member; %s", Instead(m.Name, newMembers...))
		}
		return unknown
	})
}

// DecodeDefinition reads the new definition of the job with that id. Read-only
// members are passed over; the id may be left out, but is not to differ. Errors are as of DecodeNew.
func DecodeDefinition(registry *ruqi.Registry, id string, data []byte) (ruqi.JobSpec, error) {
	return decodeDefinition(registry, id, data, needParts)
}

// decodeDefinition is DecodeDefinition with a further check.
func decodeDefinition(registry *ruqi.Registry, id string, data []byte, check func([]object.Member, *ruqi.Faults)) (ruqi.JobSpec, error) {
	var faults ruqi.Faults
	definition, _, err := split(data, &faults)
	if err != nil {
		return ruqi.JobSpec{}, err
	}
	spec, err := registry.DecodeJob(join(definition))
	faults.Merge("", err)
	if spec.ID != "" && spec.ID != id {
		faults.Add("/id", spec.ID, "the id of a job cannot change; this one is %q", id)
	}
	spec.ID = id
	check(definition, &faults)
	return spec, faults.Err()
}

// needParts refuses a definition without a trigger or a task, so that this is told together with all else.
func needParts(definition []object.Member, faults *ruqi.Faults) {
	for _, name := range [...]string{"task", "trigger"} { // in the order of AddJob
		if !slices.ContainsFunc(definition, func(m object.Member) bool { return m.Name == name && string(m.Value) != "null" }) {
			faults.Add(object.Pointer(name), "", "missing")
		}
	}
}

// Patch returns the job's definition with a JSON merge patch (RFC 7396) laid over
// its shape. Four things are our own: a trigger or task whose kind changes is replaced
// whole, since members of one kind mean nothing in another; a job in the pool of its task's kind moves with the kind to the other's, unless the patch
// names a pool; a new zone of a trigger that is made of others is that of its parts
// which lived in the old one, too; and a read-only member that the patch would change is refused rather than passed over. A patch is laid over what its sender has been shown: of a task that it changes,
// secrets that it does not give are masked in the definition returned.
func Patch(registry *ruqi.Registry, job ruqi.Job, patch []byte) (ruqi.JobSpec, error) {
	var faults ruqi.Faults
	if _, err := object.Read(patch, func(string, string, string, ...any) {}); err != nil {
		return ruqi.JobSpec{}, malformed(err)
	}
	if err := object.Check(patch, faults.Add); err != nil { // what stands twice, at any depth
		return ruqi.JobSpec{}, malformed(err)
	}
	shown := job
	if task, ok := job.Task.(ruqi.Masker); ok {
		shown.Task = task.Masked()
	}
	shape, err := FromJob(shown)
	if err != nil {
		return ruqi.JobSpec{}, err
	}
	text, err := json.Marshal(shape)
	if err != nil {
		return ruqi.JobSpec{}, err
	}
	before, err := tree(text)
	if err != nil {
		return ruqi.JobSpec{}, err
	}
	change, err := tree(patch)
	if err != nil {
		return ruqi.JobSpec{}, err
	}
	settle(before, change)
	settlePool(registry, &job, before, change)
	for _, name := range readOnly {
		if value, given := change[name]; given {
			if was, now := compact(before[name]), compact(value); was != now {
				hint := ""
				if name == "state" {
					hint = "; POST …/pause and …/resume change it"
				}
				faults.Add(object.Pointer(name), now, "read-only%s", hint)
			}
		}
	}
	// What the patch does not name stays the same value, also where it has no encoding that can be read
	// here: a closure, a kind of a newer release.
	_, newTrigger := change["trigger"]
	_, newTask := change["task"]
	after, _ := merge(before, change).(map[string]any) // change is an object, so the result is one
	if !newTrigger {
		delete(after, "trigger")
	}
	if !newTask {
		delete(after, "task")
	}
	if text, err = json.Marshal(after); err != nil {
		return ruqi.JobSpec{}, err
	}
	spec, err := decodeDefinition(registry, job.ID, text, func([]object.Member, *ruqi.Faults) {}) // what the patch does not name is there
	faults.Merge("", err)
	if !newTrigger {
		spec.Trigger = job.Trigger
	}
	if !newTask {
		spec.Task = job.Task
	}
	return spec, faults.Err()
}

// spans are the members that a trigger keeps when its kind changes: a job's zone and bounds are no matter of
// how its times are found.
var spans = map[string][]string{
	"cron": {"zone", "start", "end"}, "interval": {"zone", "start", "end"}, "date": {"zone"},
	"calendar": {"zone", "start", "end"}, "every": {"zone", "start", "end"},
}

// settle takes from the job what cannot stand beside a change: of a trigger or task of another kind all that
// the new kind does not have, the anchor of a trigger that is given a start, and the end where the new words name one.
func settle(before, change map[string]any) {
	for _, part := range [...]string{"trigger", "task"} {
		old, _ := before[part].(map[string]any)
		want, _ := change[part].(map[string]any)
		kind, given := want["kind"].(string)
		if given && kind != old["kind"] {
			kept := map[string]any{}
			if part == "trigger" {
				for _, name := range spans[kind] {
					if value := old[name]; value != nil {
						kept[name] = value
					}
				}
			}
			before[part] = kept
			continue
		}
		if part == "trigger" {
			settleZone(old, want)
		}
		if part == "trigger" && want["start"] != nil {
			delete(old, "anchor")
		}
		if words, ok := want["text"].(string); part == "trigger" && ok && slices.Contains(strings.Fields(strings.ToLower(words)), "until") {
			delete(old, "end")
		}
	}
}

// settlePool takes the pool of the old kind from a job whose task becomes one of another kind, so that it gets the new kind's: unless one is
// given, or the job had one that was chosen for it.
func settlePool(registry *ruqi.Registry, job *ruqi.Job, before, change map[string]any) {
	want, _ := change["task"].(map[string]any)
	kind, given := want["kind"].(string)
	if _, chosen := change["executor"]; !given || chosen || job.Task == nil || kind == job.Task.Kind() {
		return
	}
	if executor, known := registry.Executor(job.Task.Kind()); known && job.Executor == executor.Pool() {
		delete(before, "executor")
	}
}

// settleZone moves the parts of a trigger that is made of others along with a change of its zone. Which of them were given that zone
// and which came to live there since they had none is not kept, and is no difference: they are one trigger.
func settleZone(old, change map[string]any) {
	to, given := change["zone"].(string)
	if _, err := time.LoadLocation(to); !given || err != nil || to == "" || to == "Local" || change["of"] != nil {
		return // it is told once, or there are new parts
	}
	switch old["kind"] {
	case "any", "all":
		from, _ := old["zone"].(string)
		moveZone(old["of"], from, to)
	case "except", "only": // they live in the zone of what they take times from
		inner := old
		for inner["zone"] == nil {
			next, ok := inner["of"].(map[string]any)
			if !ok {
				return
			}
			inner = next
		}
		from, _ := inner["zone"].(string)
		for _, name := range [...]string{"of", "not", "in"} {
			moveZone(old[name], from, to)
		}
		delete(change, "zone")
	}
}

// moveZone moves all triggers within a value that live in a zone to another one.
func moveZone(value any, from, to string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			moveZone(item, from, to)
		}
	case map[string]any:
		if v["kind"] != nil && v["zone"] == from {
			v["zone"] = to
		}
		for _, name := range [...]string{"of", "not", "in"} {
			moveZone(v[name], from, to)
		}
	}
}

// merge lays a merge patch over a value.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result, ok := target.(map[string]any)
	if !ok {
		result = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
			continue
		}
		result[name] = merge(result[name], value)
	}
	return result
}

// tree reads a JSON object.
func tree(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // numbers pass through as they were written
	var value map[string]any
	if err := d.Decode(&value); err != nil {
		return nil, ruqi.Invalid("", "", "not a JSON object: %v", err)
	}
	return value, nil
}

func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// split parts the definition from the read-only members, and notes what stands twice.
func split(data []byte, faults *ruqi.Faults) (definition []object.Member, shown map[string]json.RawMessage, err error) {
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return nil, nil, malformed(err)
	}
	shown = map[string]json.RawMessage{}
	for _, m := range o.Members() {
		if slices.Contains(readOnly, m.Name) {
			shown[m.Name] = m.Value
			continue
		}
		definition = append(definition, m)
	}
	return definition, shown, nil
}

// join writes an object of the members.
func join(members []object.Member) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(compact(m.Name)) // a text can always be written
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// malformed makes an ErrInvalid of what is not JSON, and leaves it what NewProblem looks for.
func malformed(err error) error { return &notJSON{err} }

type notJSON struct{ cause error }

func (e *notJSON) Error() string   { return e.cause.Error() }
func (e *notJSON) Unwrap() []error { return []error{e.cause, ruqi.ErrInvalid} }
