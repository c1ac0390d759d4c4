package ruqi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// Limits of what a user may write.
const (
	maxText        = 255     // characters of ids, names, tags, labels, pools: what a key column of any database holds
	maxDescription = 4096    // characters
	maxTags        = 64      // tags, and labels
	maxParams      = 1 << 16 // bytes
	maxPriority    = 1_000_000
	maxCatchup     = 1000
	maxConcurrent  = 1000
	maxRetries     = 100
	leastGrace     = time.Second          // a start takes milliseconds, under load more
	maxPolicyTime  = 400 * 24 * time.Hour // longer than a leap year: nothing real waits longer
)

// WithDefaults returns the policy with what is open filled in.
func (p Policy) WithDefaults() Policy {
	if p.Coalesce == nil {
		p.Coalesce = &coalesceByDefault
	}
	if p.CatchupLimit == 0 {
		p.CatchupLimit = DefaultCatchupLimit
	}
	if p.MaxInstances == 0 {
		p.MaxInstances = DefaultMaxInstances
	}
	if p.Overlap == "" {
		p.Overlap = OverlapSkip
	}
	if p.KillGrace == 0 {
		p.KillGrace = DefaultKillGrace
	}
	if p.OnLost == "" {
		p.OnLost = LostFail
	}
	return p
}

// unlimited stands for no bound of active runs; the stores know only a number.
const unlimited = 1 << 30

// limit is how many runs of the job may be active.
func (p Policy) limit() int {
	if p.Overlap == OverlapAllow {
		return unlimited
	}
	return p.MaxInstances
}

var coalesceByDefault = true // shared by every default policy: a million jobs point here

func (p Policy) check(faults *Faults) {
	span := func(name string, d time.Duration) {
		if d%time.Microsecond != 0 {
			faults.Add("/policy/"+name, d.String(), "not in whole microseconds (is a unit missing?)")
		}
		if d < 0 || d > maxPolicyTime {
			faults.Add("/policy/"+name, d.String(), "out of range; accepted is 0s to %dd", int(maxPolicyTime.Hours()/24))
		}
	}
	within := func(name string, n, least, most int64) {
		if n < least || n > most {
			faults.Add("/policy/"+name, fmt.Sprint(n), "out of range (%d-%d)", least, most)
		}
	}
	if p.MisfireGrace != nil {
		if span("misfire_grace", *p.MisfireGrace); *p.MisfireGrace >= 0 && *p.MisfireGrace < leastGrace {
			faults.Add("/policy/misfire_grace", p.MisfireGrace.String(), "below %s no run could ever be in time; leave it out for no limit", leastGrace)
		}
	}
	span("timeout", p.Timeout)
	span("kill_grace", p.KillGrace)
	span("jitter", p.Jitter)
	within("catchup_limit", int64(p.CatchupLimit), 1, maxCatchup)
	within("max_instances", int64(p.MaxInstances), 1, maxConcurrent)
	within("max_runs", p.MaxRuns, 0, 1<<53)
	if p.Overlap == OverlapAllow && p.MaxInstances > 1 {
		// 1 is the default, and written out in every definition that is shown.
		faults.Add("/policy/max_instances", fmt.Sprint(p.MaxInstances), "overlap allow knows no limit; leave max_instances out, or take overlap skip or queue, which keep to it")
	}
	if !slices.Contains(overlaps(), p.Overlap) {
		faults.Add("/policy/overlap", string(p.Overlap), "unknown word; accepted are skip, queue, queue_one, cancel_running and allow%s", object.DidYouMean(p.Overlap, overlaps()...))
	}
	if p.OnLost != LostFail && p.OnLost != LostRerun {
		faults.Add("/policy/on_lost", string(p.OnLost), "unknown word; accepted are fail and rerun%s", object.DidYouMean(p.OnLost, LostFail, LostRerun))
	}
	if p.Retry != nil {
		p.Retry.check(faults, span, within)
	}
	if p.PauseAfterFailures != 0 {
		faults.Add("/policy/pause_after_failures", fmt.Sprint(p.PauseAfterFailures), "not supported yet")
	}
}

// checkValues checks what a definition says of itself; what is left out is no fault. params reports whether those can be given to a task.
func (spec *JobSpec) checkValues(faults *Faults) (params bool) {
	given := func(pointer, text string) {
		if text != "" {
			checkText(faults, pointer, text, maxText)
		}
	}
	given("/id", spec.ID)
	if spec.ID == "." || spec.ID == ".." {
		faults.Add("/id", spec.ID, "%q is no id: it would be lost in a path", spec.ID)
	}
	given("/name", spec.Name)
	if n := utf8.RuneCountInString(spec.Description); n > maxDescription || !utf8.ValidString(spec.Description) {
		faults.Add("/description", spec.Description, "accepted is UTF-8 text of at most %d characters", maxDescription)
	}
	checkWords(faults, spec)
	switch err := checkParams(spec.Params); {
	case err != nil:
		faults.Merge("/params", err)
	case len(spec.Params) > maxParams:
		faults.Add("/params", "", "%d bytes; accepted are at most %d", len(spec.Params), maxParams)
	default:
		params = true
	}
	given("/executor", spec.Executor)
	if spec.Priority < -maxPriority || spec.Priority > maxPriority {
		faults.Add("/priority", fmt.Sprint(spec.Priority), "out of range (-%d to %d)", maxPriority, maxPriority)
	}
	spec.Policy.WithDefaults().check(faults)
	return params
}

// complete checks a definition, all faults at once, and fills in what is open. What its trigger is bound with is known only
// within the store's step, which tells what is wrong with that; here it is bound only to be told of together with what else is
// wrong. was is the task that the job has had until now, nil for none: it is not vetted again.
func (s *Scheduler) complete(spec *JobSpec, was Task) error {
	var faults Faults
	if spec.ID == "" {
		spec.ID = strings.ToLower(rand.Text())
	}
	if spec.Name == "" {
		spec.Name = spec.ID
	}
	spec.Policy = spec.Policy.WithDefaults()
	if spec.checkValues(&faults) {
		faults.Merge("/params", s.registry.checkCall(spec.Task, spec.Params))
	}
	spec.Task, spec.Executor = s.completeTask(&faults, spec, was)
	var unresolved error
	if !isNil(spec.Trigger) {
		spec.Trigger, unresolved = s.resolveTrigger(spec.Trigger)
	}
	switch starter, ok := spec.Trigger.(Starter); {
	case isNil(spec.Trigger):
		faults.Add("/trigger", "", "missing")
		return faults.Err()
	case unresolved != nil:
		faults.Merge("", unresolved)
		return faults.Err()
	case ok && starter.OnStart() && !spec.Policy.RunOnStart:
		faults.Add("/policy/run_on_start", "false", "%v never fires by the clock; with policy.run_on_start the job runs each time an instance starts", spec.Trigger)
	}
	wrong := faults.Err()
	if wrong != nil {
		wrong = joinFaults(wrong, s.unbindable(spec, micro(s.options.Now())))
	}
	return wrong
}

func (s *Scheduler) completeTask(faults *Faults, spec *JobSpec, was Task) (Task, string) {
	if isNil(spec.Task) {
		faults.Add("/task", "", "missing")
		return nil, spec.Executor
	}
	executor, ok := s.registry.Executor(spec.Task.Kind())
	if !ok {
		faults.Add("/task/kind", spec.Task.Kind(), "unknown task kind")
		return spec.Task, spec.Executor
	}
	if spec.Executor == "" {
		spec.Executor = executor.Pool()
		checkText(faults, "/executor", spec.Executor, maxText) // an executor may have a wrong name
	}
	if f, ok := spec.Task.(*FuncTask); ok {
		if len(f.args) > maxParams {
			faults.Add("/task/args", "", "%d bytes; accepted are at most %d", len(f.args), maxParams)
		}
		// A closure is taken here: whether the store can keep it is for record to say. A function that
		// takes its arguments needs no way through JSON, which would be most of the cost of adding a job.
		if f.closure != nil || f.err == nil && s.registry.CheckFunc(f.name, f.args) == nil {
			return f, spec.Executor
		}
	}
	data, err := spec.Task.MarshalJSON()
	if err == nil {
		var task Task
		if task, err = executor.Decode(data); err == nil {
			if vetter, ok := executor.(Vetter); ok && !sameTask(was, task) {
				faults.Merge("/task", vetter.Vet(task))
			}
			return task, spec.Executor
		}
	}
	faults.Merge("/task", err)
	return spec.Task, spec.Executor
}

// sameTask reports whether a task that is given is the one there was, also as that is shown, without its secrets.
func sameTask(was, given Task) bool {
	if isNil(was) {
		return false
	}
	if shown, ok := given.(Masker); ok {
		if whole, err := shown.Unmasked(was); err == nil {
			given = whole
		}
	}
	before, err := was.MarshalJSON()
	if err != nil {
		return false
	}
	now, err := given.MarshalJSON()
	return err == nil && bytes.Equal(before, now)
}

// unbindable returns what is wrong with what the trigger of a new definition leaves open.
func (s *Scheduler) unbindable(spec *JobSpec, now time.Time) error {
	_, err := bind(spec.Trigger, spec.ID, s.options.Zone, now)
	return err
}

// bind fills in what the trigger leaves open.
func bind(trigger Trigger, id string, zone *time.Location, anchor time.Time) (Trigger, error) {
	binder, ok := trigger.(Binder)
	if !ok {
		return trigger, nil
	}
	bound, err := binder.Bind(zone, anchor, id)
	if err != nil {
		var faults Faults
		faults.Merge("/trigger", err)
		return trigger, faults.Err()
	}
	return bound, nil
}

// binding is what a stored definition's trigger was bound with: nil and zero where it has none.
func binding(stored *JobSpec) (*time.Location, time.Time) {
	if bound, ok := stored.Trigger.(Bound); ok {
		return bound.Binding()
	}
	return nil, time.Time{}
}

// checkParams accepts a JSON object in UTF-8 without NUL characters, which neither an environment nor
// every database takes.
func checkParams(params json.RawMessage) error {
	if !utf8.Valid(params) {
		return Invalid("", "", "not UTF-8")
	}
	members, err := paramsOf(params)
	if err != nil || !bytes.Contains(params, []byte("\\u0000")) {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var value any
		if err := json.Unmarshal(members[name], &value); err != nil {
			return Invalid(object.Pointer(name), "", "not JSON: %v", err)
		}
		if strings.ContainsRune(name, 0) || holdsNUL(value) {
			return Invalid(object.Pointer(name), "", "holds a NUL character")
		}
	}
	return nil
}

func holdsNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, holdsNUL)
	case map[string]any:
		for name, member := range v {
			if strings.ContainsRune(name, 0) || holdsNUL(member) {
				return true
			}
		}
	}
	return false
}

func checkWords(faults *Faults, spec *JobSpec) {
	if len(spec.Tags) > maxTags {
		faults.Add("/tags", "", "%d tags; accepted are at most %d", len(spec.Tags), maxTags)
	}
	for i, tag := range spec.Tags {
		checkText(faults, fmt.Sprintf("/tags/%d", i), tag, maxText)
	}
	if len(spec.Labels) > maxTags {
		faults.Add("/labels", "", "%d labels; accepted are at most %d", len(spec.Labels), maxTags)
	}
	if len(spec.Labels) == 0 {
		return // most jobs have none, and to sort them costs
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Labels)) {
		checkText(faults, "/labels", key, maxText)
		if value := spec.Labels[key]; value != "" {
			checkText(faults, "/labels"+object.Pointer(key), value, maxText)
		}
	}
}

// checkText accepts 1 to most characters of printable Unicode. Marks that are not seen but
// order or join text (U+200F, U+200D) are letters of names in use and pass; control characters do not.
func checkText(faults *Faults, pointer, text string, most int) {
	switch {
	case text == "":
		faults.Add(pointer, "", "empty")
	case !utf8.ValidString(text):
		faults.Add(pointer, text, "not UTF-8")
	case utf8.RuneCountInString(text) > most:
		faults.Add(pointer, text, "%d characters; accepted are at most %d", utf8.RuneCountInString(text), most)
	default:
		for _, r := range text {
			if !unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r) {
				faults.Add(pointer, text, "holds %U, which cannot be printed", r)
				return
			}
		}
	}
}

// isNil reports a missing value, also one that was lost in a typed nil pointer.
func isNil(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *FuncTask:
		return v == nil
	}
	return false
}
