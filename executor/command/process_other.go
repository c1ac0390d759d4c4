//go:build !unix

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// cgroups stands for the control groups that Linux has.
type cgroups struct{}

func openCgroups(*slog.Logger) *cgroups { return nil }

// becomeSubreaper does nothing: nothing is inherited here.
func becomeSubreaper(*slog.Logger) {}

// drain is how long a pipe that others hold is read once the program has ended.
const drain = 2 * time.Second

// run starts the program and sees it through. What it started itself is not ended with it. The program is ended by force as
// soon as the context ends: there is no grace for execution.Hard to cut short.
func (e *Executor) run(ctx context.Context, t *Task, _ *account, environ []string, _ string, execution ruqi.Execution) ruqi.Result {
	path, argv, err := t.program(environ)
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %s: %w", t.what(), bare(err))}
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = argv
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, t.dir, drain
	var killed atomic.Bool
	cmd.Cancel = func() error {
		if cmd.Process.Kill() != nil { // it has ended by itself; until that was waited for, Windows denies the access
			return os.ErrProcessDone
		}
		killed.Store(true)
		return nil
	}
	out := &output{to: execution.Output}
	defer out.close()
	cmd.Stdout, cmd.Stderr = out, out
	if t.stdin != "" {
		cmd.Stdin = strings.NewReader(t.stdin)
	}
	if t.argv == nil && t.shell == "" {
		commandLine(cmd, path, t.command)
	}
	if err := cmd.Start(); err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %s: %w", t.what(), bare(err))}
	}
	err = cmd.Wait()
	result := ruqi.Result{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), ByItself: !killed.Load()}
	code := cmd.ProcessState.ExitCode()
	if code >= 0 {
		result.ExitCode = &code
	}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		result.Note = "its output was held open by another process"
	case code > 0:
		result.Err = fmt.Errorf("exit status %d", code)
	case err != nil && !errors.As(err, &exit):
		result.Err = fmt.Errorf("wait for the program: %w", bare(err))
	case err != nil:
		result.Err = errors.New("ended by force")
	}
	return result
}

// output hands on what is written until the run ends: a read of a pipe that
// others hold cannot be broken off everywhere.
type output struct {
	mu sync.Mutex // guards to
	to io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil {
		return 0, os.ErrClosed
	}
	return o.to.Write(p)
}

func (o *output) close() {
	o.mu.Lock()
	o.to = nil
	o.mu.Unlock()
}
