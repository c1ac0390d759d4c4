//go:build unix

package command_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

// bound is how long a thing may take that is promised at once.
const bound = 20 * time.Second

// An output keeps what a run writes and lets a test wait for it.
type output struct {
	mu     sync.Mutex // guards kept, changed
	kept   bytes.Buffer
	change chan struct{} // closed and renewed by each write
}

func newOutput() *output { return &output{change: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.change)
	o.change = make(chan struct{})
	return o.kept.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.String()
}

// await waits until the output holds a text and returns all of it.
func (o *output) await(t testing.TB, text string) string {
	t.Helper()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		o.mu.Lock()
		kept, change := o.kept.String(), o.change
		o.mu.Unlock()
		if strings.Contains(kept, text) {
			return kept
		}
		select {
		case <-change:
		case <-timer.C:
			t.Fatalf("the output holds no %q after %s: %q", text, bound, kept)
		}
	}
}

// A started run is one that goes on while the test looks.
type started struct {
	output *output
	end    context.CancelCauseFunc
	done   chan struct{}
	result ruqi.Result
	took   time.Duration
}

func begin(t testing.TB, e ruqi.Executor, task ruqi.Task, execution ruqi.Execution) *started {
	ctx, end := context.WithCancelCause(t.Context())
	s := &started{output: newOutput(), end: end, done: make(chan struct{})}
	execution.Output = s.output
	if execution.Run == nil {
		execution.Run = &ruqi.Run{ID: 4711, JobID: "reports/daily", Attempt: 1, Nominal: time.Unix(1, 0)}
	}
	if execution.KillGrace == 0 {
		execution.KillGrace = bound
	}
	since := time.Now()
	go func() {
		defer close(s.done)
		s.result = e.Execute(ctx, task, execution)
		s.took = time.Since(since)
	}()
	return s
}

func (s *started) wait(t testing.TB) *started {
	t.Helper()
	timer := time.NewTimer(2 * bound)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
		t.Fatalf("Execute did not return; the output is %q", s.output)
	}
	return s
}

// execute runs a task to its end, with the options and the run's row as given.
func execute(t testing.TB, task ruqi.Task, run *ruqi.Run) *started {
	t.Helper()
	return begin(t, command.New(command.Options{}), task, ruqi.Execution{Run: run}).wait(t)
}

func (s *started) succeeded(t testing.TB, text string) {
	t.Helper()
	if s.result.Err != nil || s.output.String() != text {
		t.Errorf("the error is %v, the output %q, expected %q", s.result.Err, s.output, text)
	}
}

func (s *started) exited(t testing.TB, code int) {
	t.Helper()
	if s.result.ExitCode == nil || *s.result.ExitCode != code || s.result.Signal != "" {
		t.Errorf("the end is code %v, signal %q, %v, expected code %d", s.result.ExitCode, s.result.Signal, s.result.Err, code)
	}
}

// pids reads the numbers that a script wrote, one a line.
func pids(t testing.TB, text string) []int {
	t.Helper()
	var all []int
	for line := range strings.Lines(text) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			all = append(all, pid)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no process id in %q", text)
	}
	return all
}

// alive reports whether a process is there and has not ended: an orphan that nobody has reaped yet has.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func wantGone(t testing.TB, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is alive", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// These are set where the system has what they need.
var subreaper, lose, sweep, cut func() int

// This binary is also what some tests start: services that are killed, that inherit orphans or that a run itself started, and a process that goes into a group
// of its own and forgets its environment, which no shell without a terminal does everywhere.
func TestMain(m *testing.M) {
	switch os.Getenv("COMMAND_TEST") {
	case "service":
		e := command.New(command.Options{})
		e.Execute(context.Background(), command.Shell("echo $$; exec sleep 300"), ruqi.Execution{Run: &ruqi.Run{}, Output: os.Stdout})
	case "group":
		syscall.Setpgid(0, 0)
		syscall.Exec("/bin/sh", []string{"sh", "-c", "echo $$; echo ready; exec sleep 300"}, nil)
	case "subreaper":
		os.Exit(subreaper())
	case "cut":
		os.Exit(cut())
	case "lose":
		os.Exit(lose())
	case "sweep":
		os.Exit(sweep())
	default:
		os.Exit(m.Run())
	}
}
