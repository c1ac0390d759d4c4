package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/ruqi-dev/ruqi"
)

// Options tune an Executor. The zero value is ready for use.
type Options struct {
	// Environ is the environment that every command starts from, as NAME=value. What
	// begins with RUQI_ is left out. Nil: os.Environ().
	Environ []string
}

// An Executor runs commands. Its methods may be called by many goroutines.
type Executor struct {
	environ []string
	// nonce and starts make RUQI_PROCESS_TREE unlike any other on the host where the run does not say whose it is.
	nonce  string
	starts atomic.Int64
}

var _ ruqi.Sweeper = (*Executor)(nil)

// New returns an executor. It keeps the environment of the service as it is now.
func New(options Options) *Executor {
	environ := options.Environ
	if environ == nil {
		environ = os.Environ()
	}
	return &Executor{environ: baseEnviron(environ), nonce: rand.Text()}
}

// Register adds New(options) to the registry. It panics if the kind "command" is taken.
func Register(registry *ruqi.Registry, options Options) {
	registry.RegisterExecutor(New(options))
}

// Kind returns "command".
func (e *Executor) Kind() string { return kind }

// Pool returns "command".
func (e *Executor) Pool() string { return kind }

// Needs returns "command".
func (e *Executor) Needs() []string { return []string{kind} }

// Execute runs the program to its end; see the package's comment for its
// environment, its output and how it is ended. The error is nil for exit status 0. Its text
// never holds the command, its arguments or its environment: a run's reason is shown and
// logged where those are not.
func (e *Executor) Execute(ctx context.Context, task ruqi.Task, execution ruqi.Execution) ruqi.Result {
	t, ok := task.(*Task)
	if !ok {
		return ruqi.Result{Err: fmt.Errorf("a task of kind %q is no command", task.Kind())}
	}
	if t.err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %w", t.err)}
	}
	if ctx.Err() != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %w", context.Cause(ctx))}
	}
	if t.user != "" || t.umask != "" || t.nice != 0 || t.login || !t.limits.none() {
		return ruqi.Result{Err: errors.New("not started: this release cannot set user, umask, nice, login or limits")}
	}
	mark := markOf(execution.Run)
	if mark == "" {
		mark = treeName + "=" + e.nonce + "-" + strconv.FormatInt(e.starts.Add(1), 10)
	}
	environ, err := e.environFor(t, execution.Run, mark)
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %w", err)}
	}
	return run(ctx, t, environ, mark, execution)
}

// what names the thing that is started without repeating it: it may hold a secret. A
// shell that the task names does not.
func (t *Task) what() string {
	switch {
	case t.argv != nil:
		return "the program"
	case t.shell != "":
		return "the shell " + t.shell
	}
	return "the shell " + DefaultShell
}

// bare takes the operation and the path from an error of package os.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
