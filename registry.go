package ruqi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/text"
)

// A Registry knows the kinds of triggers and tasks and the functions of a
// program. It is explicit: nothing registers itself. Registering is for the start of a program;
// all methods may be called by many goroutines.
type Registry struct {
	mu        sync.RWMutex // guards the maps
	triggers  map[string]func([]byte) (Trigger, error)
	executors map[string]Executor
	functions map[string]function

	// What parts of stored definitions were read as.
	triggersRead memo[Trigger]
	tasksRead    memo[Task]
	policiesRead memo[Policy]
}

type function struct {
	names argumentNames
	check func(args json.RawMessage) error
	call  func(ctx context.Context, args json.RawMessage) error
}

// NewRegistry returns an empty registry; trigger.Register and the Register
// functions of the executor packages fill it.
func NewRegistry() *Registry {
	return &Registry{
		triggers:  map[string]func([]byte) (Trigger, error){},
		executors: map[string]Executor{},
		functions: map[string]function{},
	}
}

// RegisterTrigger teaches the registry to decode a kind of trigger. decode refuses
// unknown members and wrong values with an *InvalidError whose pointers are relative to the object.
// It panics if the kind is taken.
func (r *Registry) RegisterTrigger(kind string, decode func(data []byte) (Trigger, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.triggers[kind]; taken {
		panic("ruqi: trigger kind " + kind + " registered twice")
	}
	r.triggers[kind] = decode
}

// TriggerKinds lists the kinds of triggers that the registry decodes, in order.
func (r *Registry) TriggerKinds() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.triggers))
}

// RegisterExecutor adds the executor of one kind of task. It panics if the kind is taken.
func (r *Registry) RegisterExecutor(e Executor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.executors[e.Kind()]; taken {
		panic("ruqi: executor kind " + e.Kind() + " registered twice")
	}
	r.executors[e.Kind()] = e
}

// Func registers fn under a name, by which jobs refer to it (Call). Its arguments
// are plain JSON: they are decoded into a new Args for each run, and checked when a
// job is added (unknown members are refused). Where Args is a struct with fields, or a map, the run's params are laid over
// them: a param takes the place of the whole argument of its name, and one that the function does not take is refused when
// its job is added or run by hand. Any other function finds its params with CurrentRun. It panics
// if the name is taken, empty, or "closure".
func Func[Args any](r *Registry, name string, fn func(ctx context.Context, args Args) error) {
	decode := func(data json.RawMessage) (Args, error) {
		var args Args
		if len(data) == 0 {
			return args, nil
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&args); err != nil {
			return args, err
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return args, errors.New("more than one JSON value")
		}
		return args, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.functions[name]; taken || name == "" || name == closureName {
		panic(fmt.Sprintf("ruqi: function name %q is empty, reserved, or registered twice", name))
	}
	r.functions[name] = function{
		names: namesOf(reflect.TypeFor[Args]()),
		check: func(data json.RawMessage) error { _, err := decode(data); return err },
		call: func(ctx context.Context, data json.RawMessage) error {
			args, err := decode(data)
			if err != nil {
				return fmt.Errorf("arguments of %s: %w", name, err)
			}
			return fn(ctx, args)
		},
	}
}

// Functions lists the registered names in order.
func (r *Registry) Functions() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.functions))
}

// CheckFunc reports whether the function exists (ErrNotFound) and takes these arguments.
func (r *Registry) CheckFunc(name string, args json.RawMessage) error {
	f, err := r.function(name)
	if err != nil {
		return err
	}
	return f.check(args)
}

func (r *Registry) function(name string) (function, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	f, ok := r.functions[name]
	if !ok {
		return f, fmt.Errorf("function %q: %w", name, ErrNotFound)
	}
	return f, nil
}

// Executor returns the executor of a kind of task.
func (r *Registry) Executor(kind string) (Executor, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.executors[kind]
	return e, ok
}

func (r *Registry) sweepers() []Sweeper {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []Sweeper
	for _, e := range r.executors {
		if sweeper, ok := e.(Sweeper); ok {
			all = append(all, sweeper)
		}
	}
	return all
}

// Needs lists what the registry's executors can serve, sorted.
func (r *Registry) Needs() []string {
	r.mu.RLock()
	all := slices.Collect(maps.Values(r.executors))
	r.mu.RUnlock()
	var needs []string
	for _, e := range all {
		needs = append(needs, e.Needs()...)
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// DecodeTrigger reads a trigger's object by its member "kind".
func (r *Registry) DecodeTrigger(data []byte) (Trigger, error) {
	kind, err := kindOf(data)
	if err != nil {
		return nil, err
	}
	r.mu.RLock()
	decode, ok := r.triggers[kind]
	r.mu.RUnlock()
	if !ok {
		return nil, Invalid("/kind", kind, "unknown trigger kind %q; accepted are %s%s", kind, text.List(r.TriggerKinds()), object.DidYouMean(kind, r.TriggerKinds()...))
	}
	return decode(data)
}

// DecodeTask reads a task's object by its member "kind".
func (r *Registry) DecodeTask(data []byte) (Task, error) {
	kind, err := kindOf(data)
	if err != nil {
		return nil, err
	}
	e, ok := r.Executor(kind)
	if !ok {
		r.mu.RLock()
		known := slices.Sorted(maps.Keys(r.executors))
		r.mu.RUnlock()
		return nil, Invalid("/kind", kind, "unknown task kind %q; accepted are %s%s", kind, text.List(known), object.DidYouMean(kind, known...))
	}
	return e.Decode(data)
}

// kindOf reads the member by which a decoder is chosen; all else is for that to judge.
func kindOf(data []byte) (string, error) {
	var faults Faults
	o, err := object.ReadKept(data, func(string, string, string, ...any) {})
	if err != nil {
		faults.Add("", string(data), "%v", err)
		return "", faults.Err()
	}
	switch kind, ok := o.Text("kind"); {
	case ok && kind != "":
		return kind, nil
	case !ok && o.Has("kind"):
		raw, _ := o.Raw("kind")
		faults.Add("/kind", string(raw), "not a text")
	default:
		faults.Add("/kind", "", "missing")
	}
	return "", faults.Err()
}

// A FuncTask calls a registered function, or a closure.
type FuncTask struct {
	name    string
	args    json.RawMessage
	closure func(context.Context) error
	err     error // of encoding the arguments; told when the job is added
}

// Call returns a task that calls the function registered under name. args is
// anything encoding/json can encode; nil is no arguments.
func Call(name string, args any) *FuncTask {
	t := &FuncTask{name: name}
	if args != nil {
		t.args, t.err = json.Marshal(args)
	}
	return t
}

// closureName stands where a function's name would.
const closureName = "closure"

// Do returns a task that calls fn. Only a store in memory takes it (ErrClosure), since a
// closure cannot be found again after a restart.
func Do(fn func(ctx context.Context) error) *FuncTask {
	return &FuncTask{name: closureName, closure: fn}
}

// Name returns the function's name; "closure" for a closure.
func (t *FuncTask) Name() string { return t.name }

// Args returns the encoded arguments; nil for none. They are not to be changed.
func (t *FuncTask) Args() json.RawMessage { return t.args }

// Closure returns the function given to Do, or nil.
func (t *FuncTask) Closure() func(context.Context) error { return t.closure }

// Err returns what went wrong when the arguments were encoded.
func (t *FuncTask) Err() error { return t.err }

// Kind returns "func".
func (t *FuncTask) Kind() string { return "func" }

// MarshalJSON returns {"kind":"func","name":…,"args":…}; ErrClosure for a closure.
func (t *FuncTask) MarshalJSON() ([]byte, error) {
	switch {
	case t.err != nil:
		return nil, t.err
	case t.closure != nil:
		return nil, ErrClosure
	}
	return json.Marshal(struct {
		Kind string          `json:"kind"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}{"func", t.name, t.args})
}

// String returns the name and the arguments: send{"to":"x"}.
func (t *FuncTask) String() string { return t.name + string(t.args) }

// Needs returns "func:NAME", and "func:closure" for a closure.
func (t *FuncTask) Needs() string { return "func:" + t.name }
