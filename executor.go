package ruqi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Task is what a job does: an immutable value of a kind that an Executor of
// the Registry knows.
type Task interface {
	// Kind returns the name under which the Registry finds the executor.
	Kind() string
	// MarshalJSON returns the canonical encoding: one JSON object with a member "kind".
	MarshalJSON() ([]byte, error)
	// String returns the task as a person would write it, for history. Secrets
	// that the task knows as such are left out.
	String() string
	// Needs returns what an instance must have to run the task, for example
	// "command" or "func:send".
	Needs() string
}

// Mask stands in a task that is shown for a secret that is not.
const Mask = "********"

// A Masker is a Task that may hold secrets which are not for everyone who may look at jobs.
type Masker interface {
	Task

	// Masked returns the task as the API shows it, with Mask in the place of its secrets.
	Masked() Task
	// Unmasked returns the task with the secrets of stored, the one that was shown (nil: none was), where Mask stands. Its
	// error is an *InvalidError that names what has no secret to take, or would send one elsewhere than it went before.
	Unmasked(stored Task) (Task, error)
}

// An Executor runs the tasks of one kind. An implementation proves its laws with
// executor/executortest.
type Executor interface {
	// Kind returns the kind of tasks, the same always.
	Kind() string
	// Pool returns the pool of slots for jobs that name none.
	Pool() string
	// Needs lists every Task.Needs this executor can serve now.
	Needs() []string
	// Decode reads what Task.MarshalJSON wrote, or what a user wrote by hand. It
	// refuses unknown members and wrong values with an *InvalidError that lists
	// all faults, its pointers relative to the task's object.
	Decode(data []byte) (Task, error)
	// Execute runs the task to its end and reports how it ended. It is called by
	// many goroutines at once. When ctx ends (cancel, timeout, shutdown; see
	// context.Cause) it asks the task to stop, gives it execution.KillGrace, then ends it
	// by force, with everything the task started, and returns (a task that has ended by itself by then is left as it ended, see Result.ByItself); when execution.Hard is closed it does not wait for the grace. It never returns
	// while something it started still writes to execution.Output. A panic of the task is a
	// failed run; a panic of Execute itself is recovered by the engine.
	Execute(ctx context.Context, task Task, execution Execution) Result
}

// A Sweeper is an Executor whose tasks may outlive the instance that started them.
type Sweeper interface {
	Executor

	// EndLost ends at once, by force, what the given runs have left on this machine; their
	// instance is dead. What they left on other machines is not for it to find. It is bounded in time and
	// returns how many processes it ended.
	EndLost(ctx context.Context, runs []Run) int
}

// A Vetter is an Executor that does not take every task it can decode: what a task asks for may be missing on this machine, or not
// be allowed to this instance.
type Vetter interface {
	Executor

	// Vet returns why the task may not be run here, as an *InvalidError with pointers relative to the task's object; nil
	// when it may. It is asked when a job is added or its task changed, possibly while the store holds the job, so it is quick and
	// has no effect. Execute asks for itself: between the two things may have changed, and another instance may have taken the job.
	Vet(task Task) error
}

// An Execution is one start of a task as the executor sees it.
type Execution struct {
	// Run is the run's row as it was started. Its slices and pointers are not to be changed.
	Run *Run
	// Output takes what the task writes. Write never blocks on the store and
	// never fails; it may be called by many goroutines.
	Output io.Writer
	// KillGrace is the time between the polite and the hard end.
	KillGrace time.Duration
	// Hard is closed when the hard end is to come at once, whatever is left of the grace. Nil: never.
	Hard <-chan struct{}
	// Reporter takes what the task tells of itself. Nil: nobody asks.
	Reporter Reporter
}

// A Reporter takes what a task tells of itself while it runs. It may be called by many goroutines, and never blocks on
// the store. What is told after the run's end changes nothing.
type Reporter interface {
	// Progress says how far the task is, as the function Progress does.
	Progress(fraction float64, text string)
	// SetResult gives the run its result in the place of an earlier one: one JSON value of at most MaxResult bytes
	// without the blanks between its parts, which is copied; null takes the earlier one back. A value that cannot be one
	// is an *InvalidError, and the earlier one stays.
	SetResult(value json.RawMessage) error
}

// A Result is how an execution ended by itself. When its context ended first,
// the engine records the cause (cancelled, timed_out, …) and takes only the facts below it.
type Result struct {
	// Err is nil for success. Its text is the run's reason. An error that wraps Finish is a
	// success that ends the job.
	Err error
	// ByItself says that the task had ended by itself before anything asked it to, though the context may have ended since, while Execute
	// put things in order. Then Err counts, and the context's cause does not. Where the context is alive when Execute
	// returns, the engine knows that without being told.
	ByItself bool
	// ExitCode and Signal say how a process ended.
	ExitCode *int
	Signal   string
	// CPU is user and system time, MaxRSS the largest resident size in bytes; 0: not known.
	CPU    time.Duration
	MaxRSS int64
	// Note is added to the reason whatever the state, for example that children were left behind.
	Note string
}

type executionKey struct{}

// WithExecution returns a context that carries the execution to the task; executors of
// functions use it so that Output, CurrentRun, Progress and SetResult work.
func WithExecution(ctx context.Context, e Execution) context.Context {
	return context.WithValue(ctx, executionKey{}, &e)
}

// Output returns the run's output: what is written to it is kept with the run. Outside a run it discards.
func Output(ctx context.Context) io.Writer {
	if e, ok := ctx.Value(executionKey{}).(*Execution); ok {
		return e.Output
	}
	return io.Discard
}

// CurrentRun returns the run whose task ctx belongs to.
func CurrentRun(ctx context.Context) (Run, bool) {
	if e, ok := ctx.Value(executionKey{}).(*Execution); ok {
		return *e.Run, true
	}
	return Run{}, false
}

// Progress says how far the run is: a fraction from 0 to 1, and where it stands in words. It is seen within a second and
// kept with the run; of what is told more often the last counts. It never blocks and never fails.
//
// A fraction below 0 counts as 0, one above 1 as 1, and NaN as the one told before (0 at first). Of the text one line of
// MaxProgressText characters is kept. Outside a run it does nothing.
func Progress(ctx context.Context, fraction float64, text string) {
	if e, ok := ctx.Value(executionKey{}).(*Execution); ok && e.Reporter != nil {
		e.Reporter.Progress(fraction, text)
	}
}

// SetResult gives the run its result, in the place of an earlier one: anything that encoding/json can encode into
// MaxResult bytes; nil takes the earlier one back. It is kept with the run's end, however that ends. A value
// that cannot be kept is an *InvalidError, and the earlier one stays. Outside a run, and after its end, it fails.
func SetResult(ctx context.Context, value any) error {
	e, ok := ctx.Value(executionKey{}).(*Execution)
	if !ok || e.Reporter == nil {
		return errors.New("set a result: the context is not that of a run")
	}
	data, err := encodeResult(value)
	if err == nil {
		err = e.Reporter.SetResult(data)
	}
	if err != nil {
		return fmt.Errorf("set a result: %w", err)
	}
	return nil
}
