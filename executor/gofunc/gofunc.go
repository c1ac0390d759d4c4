// Package gofunc runs Go functions: those registered under a name (ruqi.Func,
// ruqi.Call) and closures (ruqi.Do). Its tasks are of kind "func":
//
//	{"kind":"func","name":"send","args":{"to":"ops"}}
//
// The run's params are laid over the arguments, as ruqi.Func says.
//
// A function runs on the goroutine that calls Execute, so a run costs little more
// than the call. The scheduler may let that goroutine go on with another run: who locks it to a thread
// (runtime.LockOSThread) unlocks it, and leaves the thread as it was. Its context ends when the run is to end (context.Cause says why).
// Go has no way to end a function by force: one that ignores its context keeps its
// slot until it returns.
package gofunc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

const kind = "func"

// closure stands where a function's name would.
var closure = ruqi.Do(nil).Name()

// An Executor runs the functions of one registry. Its methods may be called by many goroutines.
type Executor struct {
	registry *ruqi.Registry
}

var _ ruqi.Vetter = (*Executor)(nil)

// New returns an executor of the registry's functions, those registered later included.
func New(registry *ruqi.Registry) *Executor {
	return &Executor{registry: registry}
}

// Register adds New(registry) to the registry. It panics if the kind "func" is taken.
func Register(registry *ruqi.Registry) {
	registry.RegisterExecutor(New(registry))
}

// Kind returns "func".
func (e *Executor) Kind() string { return kind }

// Pool returns "default".
func (e *Executor) Pool() string { return "default" }

// Needs returns "func:NAME" for each registered function and "func:closure".
func (e *Executor) Needs() []string {
	names := e.registry.Functions()
	needs := make([]string, 0, len(names)+1)
	for _, name := range names {
		needs = append(needs, "func:"+name)
	}
	return append(needs, "func:"+closure)
}

// Decode reads a call of a function. One that is registered here must take the arguments, else a run could only fail. One that is
// not is another program's: what that has stored can be read and shown here. Its error is an *ruqi.InvalidError.
func (e *Executor) Decode(data []byte) (ruqi.Task, error) {
	var faults ruqi.Faults
	o, err := object.ReadKept(data, faults.Add) // arguments are what a program gave; users' texts have been checked
	if err != nil {
		faults.Add("", string(data), "%v", err)
		return nil, faults.Err()
	}
	o.Kind(kind)
	name, named := o.Text("name")
	args, given := o.Raw("args")
	switch {
	case named && name == closure:
		faults.Add("/name", name, "%q stands for a function without a name, which only the program that has it can give", name)
	case named && name != "":
		if err := e.registry.CheckFunc(name, args); !errors.Is(err, ruqi.ErrNotFound) {
			e.refuse(&faults, name, args, err)
		}
	case named || !o.Has("name"):
		faults.Add("/name", "", "the name of a registered function is expected")
	}
	o.Done("kind", "name", "args")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if !given {
		return ruqi.Call(name, nil), nil
	}
	task := ruqi.Call(name, args)
	if err := task.Err(); err != nil {
		return nil, ruqi.Invalid("/args", string(args), "cannot be encoded: %v", err)
	}
	return task, nil
}

// Vet refuses a call of a function that is not registered here, or does not take the arguments.
func (e *Executor) Vet(task ruqi.Task) error {
	t, ok := task.(*ruqi.FuncTask)
	switch {
	case !ok:
		return ruqi.Invalid("/kind", task.Kind(), "no function")
	case t.Err() != nil:
		return ruqi.Invalid("/args", "", "cannot be encoded: %v", t.Err())
	case t.Closure() != nil:
		return nil
	}
	var faults ruqi.Faults
	e.refuse(&faults, t.Name(), t.Args(), e.registry.CheckFunc(t.Name(), t.Args()))
	return faults.Err()
}

// refuse adds what is wrong with a call; err is of CheckFunc.
func (e *Executor) refuse(faults *ruqi.Faults, name string, args json.RawMessage, err error) {
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.Is(err, ruqi.ErrNotFound):
		faults.Add("/name", name, "no function %q is registered here; %s", name, told(e.registry.Functions()))
	case errors.As(err, &wrongType) && wrongType.Field != "":
		pointer := object.Pointer(append([]string{"args"}, strings.Split(wrongType.Field, ".")...)...)
		faults.Add(pointer, wrongType.Value, "function %q expects %v here, not %s", name, wrongType.Type, wrongType.Value)
	default:
		faults.Add("/args", string(args), "function %q does not take these arguments: %v", name, err)
	}
}

// told lists the functions that there are.
func told(functions []string) string {
	if len(functions) == 0 {
		return "this program has none: only programs that embed the library and register functions can run such a job, and ruqi serve runs commands"
	}
	return "registered are " + strings.Join(functions, ", ")
}

// Execute calls the function. Its error is the run's, ruqi.Finish included. A
// panic is a failed run with the panic's text as its reason; its stack, from the
// panic down to the function, is written to the output.
func (e *Executor) Execute(ctx context.Context, task ruqi.Task, execution ruqi.Execution) (result ruqi.Result) {
	fn, ok := task.(*ruqi.FuncTask)
	if !ok {
		return ruqi.Result{Err: fmt.Errorf("a task of kind %q is no function", task.Kind())}
	}
	out := &output{to: execution.Output}
	execution.Output = out
	defer func() {
		byItself := ctx.Err() == nil // what follows may take a while
		if value := recover(); value != nil {
			result = ruqi.Result{Err: fmt.Errorf("panic: %v", value)}
			writeStack(out, result.Err)
		}
		out.close()
		result.ByItself = byItself
	}()
	ctx = ruqi.WithExecution(ctx, execution)
	if call := fn.Closure(); call != nil {
		return ruqi.Result{Err: call(ctx)}
	}
	var params json.RawMessage
	if execution.Run != nil {
		params = execution.Run.Params
	}
	return ruqi.Result{Err: e.registry.CallFunc(ctx, fn.Name(), fn.Args(), params)}
}

// output hands on what the function writes until it has returned; a goroutine that
// the function left behind writes into nothing, not into a run that has ended.
type output struct {
	mu sync.RWMutex // guards to; held for reading while writing, since many may write at once
	to io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.to == nil {
		return len(p), nil
	}
	return o.to.Write(p)
}

func (o *output) close() {
	o.mu.Lock()
	o.to = nil
	o.mu.Unlock()
}

// mostFrames bounds the stack that is written: enough to find the place, and a
// runaway recursion does not fill the run's output.
const mostFrames = 64

// callers are what stands between a task's function and the engine.
var callers = []string{
	"github.com/ruqi-dev/ruqi.Func[",
	"github.com/ruqi-dev/ruqi.(*Registry).CallFunc",
	"github.com/ruqi-dev/ruqi/executor/gofunc.(*Executor).Execute",
}

// writeStack writes the reason and the frames from the panic down to Execute. It is
// called by the deferred function of Execute.
func writeStack(out io.Writer, reason error) {
	pcs := make([]uintptr, mostFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	b.WriteString(reason.Error())
	b.WriteString("\n\n")
	for inside := false; ; {
		frame, more := frames.Next()
		if slices.ContainsFunc(callers, func(name string) bool { return strings.HasPrefix(frame.Function, name) }) && inside {
			break
		}
		// What stands above the runtime's panic is this package's own recovery; the
		// runtime's frames below it (a nil pointer, an index) say nothing new.
		if inside && !strings.HasPrefix(frame.Function, "runtime.") {
			b.WriteString(frame.Function + "\n\t" + frame.File + ":" + strconv.Itoa(frame.Line) + "\n")
		}
		inside = inside || frame.Function == "runtime.gopanic"
		if !more {
			break
		}
	}
	io.WriteString(out, b.String())
}
