package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/ruqi-dev/ruqi"
)

// Options tune an Executor. The zero value is ready for use.
type Options struct {
	// Environ is the environment that every command starts from, as NAME=value. What
	// begins with RUQI_ is left out. Nil: os.Environ().
	Environ []string
	// Disabled runs no command at all: none is taken when a job is added or changed, and jobs that are there wait for an
	// instance that runs commands. False: commands are run.
	Disabled bool
	// Programs are the paths of the programs that may be started, absolute and written as tasks name them: a link to one of them is
	// another path. A text for a shell may be run where the shell is listed. While there are any, a task's env may not
	// hold what changes how a program is loaded (LD_PRELOAD and the like). What a listed program starts itself is not judged, so an
	// interpreter in the list allows everything. Nil: any program.
	Programs []string
	// Users are the names of the users that commands may run as. A task that names none runs as the user of the service, and
	// is refused where that is not listed. Nil: any user that the system lets the service become.
	Users []string
	// Cgroups gives each run a control group of version 2 of its own, within that of this process, where Linux lets it: all that a
	// command starts is found and ended by it, whatever it does. Where that cannot be, processes are found as without. False: no groups.
	Cgroups bool
	// Subreaper makes this process the parent of what its commands leave behind when their own parents have ended, in place of the
	// first process of the system, where Linux lets it: it reaps them, and can tell of most that have cleared their environment
	// too whose they are. It holds for the whole process and for good, so it is not for a library to do unasked. False: not.
	Subreaper bool
	// Logger is told which way is used, and when that changes. Nil: nobody is.
	Logger *slog.Logger
}

// An Executor runs commands. Its methods may be called by many goroutines.
type Executor struct {
	environ  []string
	disabled bool
	programs []string // nil: any
	users    []string // nil: any
	cgroups  *cgroups // nil: none
	owner    string   // the name of the user of the service
	// nonce and starts make RUQI_PROCESS_TREE unlike any other on the host where the run does not say whose it is.
	nonce  string
	starts atomic.Int64
}

var (
	_ ruqi.Sweeper = (*Executor)(nil)
	_ ruqi.Vetter  = (*Executor)(nil)
)

// New returns an executor. It keeps the environment of the service as it is now.
func New(options Options) *Executor {
	environ := options.Environ
	if environ == nil {
		environ = os.Environ()
	}
	log := options.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Executor{
		environ: baseEnviron(environ), nonce: rand.Text(),
		disabled: options.Disabled, programs: slices.Clone(options.Programs), users: slices.Clone(options.Users),
		owner: ownAccount().name,
	}
	for _, name := range e.users {
		if _, err := user.Lookup(name); err != nil {
			log.Warn("a user that commands may run as is not known here", "user", name)
		}
	}
	for _, path := range e.programs {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			log.Warn("a program that commands may start is not there", "program", path)
		}
	}
	if options.Subreaper {
		becomeSubreaper(log)
	}
	if options.Cgroups && !options.Disabled {
		e.cgroups = openCgroups(log)
	}
	return e
}

// Register adds New(options) to the registry. It panics if the kind "command" is taken.
func Register(registry *ruqi.Registry, options Options) {
	registry.RegisterExecutor(New(options))
}

// Kind returns "command".
func (e *Executor) Kind() string { return kind }

// Pool returns "command".
func (e *Executor) Pool() string { return kind }

// Needs returns "command"; nothing where commands are disabled.
func (e *Executor) Needs() []string {
	if e.disabled {
		return nil
	}
	return []string{kind}
}

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
	who, err := t.account()
	if err == nil {
		err = e.allowed(t, who)
	}
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %w", err)}
	}
	mark := markOf(execution.Run)
	if mark == "" {
		mark = treeName + "=" + e.nonce + "-" + strconv.FormatInt(e.starts.Add(1), 10)
	}
	environ, err := e.environFor(t, who, execution.Run, mark)
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %w", err)}
	}
	if e.programs != nil {
		// Judged by the path that is started, whatever the environment has become since the task was vetted.
		if err := e.allowedProgram(t, environ); err != nil {
			return ruqi.Result{Err: fmt.Errorf("not started: %w", err)}
		}
	}
	heard := hear(&execution)
	result := e.run(ctx, t, who, environ, mark, execution)
	heard.end(&result)
	return result
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
