//go:build unix

package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

var errStop = errors.New("stopped by a test")

func TestCancelEndsTheWholeGroup(t *testing.T) {
	task := command.Shell("echo $$; sleep 300 & echo $!; sleep 300 & echo $!; echo ready; wait")
	s := begin(t, command.New(command.Options{}), task, ruqi.Execution{})
	all := pids(t, s.output.await(t, "ready"))
	s.end(errStop)
	s.wait(t)
	if s.result.Signal != "SIGTERM" || s.result.Err == nil || s.result.Note != "" {
		t.Errorf("the end is %+v", s.result)
	}
	if len(all) != 3 {
		t.Errorf("the output is %q", s.output)
	}
	wantGone(t, all)
}

func TestATaskThatDoesNotHearTermIsKilledAfterItsGrace(t *testing.T) {
	const grace = 300 * time.Millisecond
	task := command.Shell("trap '' TERM; echo $$; sleep 300 & echo $!; echo ready; while :; do wait; done")
	s := begin(t, command.New(command.Options{}), task, ruqi.Execution{KillGrace: grace})
	all := pids(t, s.output.await(t, "ready"))
	since := time.Now()
	s.end(errStop)
	s.wait(t)
	if took := time.Since(since); took < grace || took > grace+bound {
		t.Errorf("it ended after %s", took)
	}
	if s.result.Signal != "SIGKILL" {
		t.Errorf("the end is %+v", s.result)
	}
	wantGone(t, all)
}

func TestTheHardEndCutsTheGraceShort(t *testing.T) {
	deaf := `trap "" TERM; echo $$; sleep 300 & echo $!; echo ready; while :; do wait; done`
	for name, script := range map[string]string{
		"of a program that does not hear TERM":               deaf,
		"of what a program that has ended by TERM left over": "sh -c '" + deaf + "'; echo never",
	} {
		t.Run(name, func(t *testing.T) {
			hard := make(chan struct{})
			s := begin(t, command.New(command.Options{}), command.Shell(script), ruqi.Execution{KillGrace: time.Hour, Hard: hard})
			all := pids(t, s.output.await(t, "ready"))
			s.end(errStop)
			select {
			case <-s.done:
				t.Fatalf("it had no grace: %+v", s.result)
			case <-time.After(200 * time.Millisecond):
			}
			close(hard)
			s.wait(t)
			wantGone(t, all)
		})
	}
}

func TestAHardEndAloneEndsNothing(t *testing.T) {
	hard := make(chan struct{})
	close(hard)
	begin(t, command.New(command.Options{}), command.Shell("sleep 0.1; echo hi"), ruqi.Execution{Hard: hard}).wait(t).succeeded(t, "hi\n")
}

func TestAStoppedTaskHearsItsEnd(t *testing.T) {
	task := command.Shell("trap 'echo bye; exit 0' TERM; echo $$; echo ready; while :; do sleep 300 & wait; done")
	s := begin(t, command.New(command.Options{}), task, ruqi.Execution{})
	pid := pids(t, s.output.await(t, "ready"))[0]
	syscall.Kill(pid, syscall.SIGSTOP)
	s.end(errStop)
	s.wait(t).exited(t, 0)
	if !strings.HasSuffix(s.output.String(), "bye\n") {
		t.Errorf("the output is %q", s.output)
	}
}

func TestChildrenOfAShellThatEndsFirstHaveTheGraceToo(t *testing.T) {
	// The shell ends at once by TERM, its child takes a while to say good-bye.
	inner := "trap 'sleep 0.2; echo bye; exit 0' TERM; echo ready; while :; do sleep 300 & wait; done"
	s := begin(t, command.New(command.Options{}), command.Shell("sh -c \""+inner+"\"; echo never"), ruqi.Execution{})
	s.output.await(t, "ready")
	s.end(errStop)
	s.wait(t)
	if got := s.output.String(); got != "ready\nbye\n" {
		t.Errorf("the output is %q", got)
	}
}

func TestTheLastWordsOfATaskThatIsEndedAreKept(t *testing.T) {
	task := command.Shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 300 & wait; done")
	s := begin(t, command.New(command.Options{}), task, ruqi.Execution{})
	s.output.await(t, "ready")
	s.end(errStop)
	s.wait(t).exited(t, 5)
	if got := s.output.String(); got != "ready\nbye\n" {
		t.Errorf("the output is %q", got)
	}
}

func TestWhatHoldsThePipeDoesNotHoldTheRun(t *testing.T) {
	s := execute(t, command.Shell("sleep 300 & echo $!; echo hi"), nil)
	s.exited(t, 0)
	all := pids(t, s.output.String())
	if s.took > bound || s.result.Err != nil || !strings.HasPrefix(s.result.Note, "left ") {
		t.Errorf("after %s the end is %+v", s.took, s.result)
	}
	if !alive(all[0]) {
		t.Error("what was left behind by a good end was killed")
	}
	syscall.Kill(all[0], syscall.SIGKILL)
}

func TestWhatWritesAllTheTimeDoesNotHoldTheRun(t *testing.T) {
	s := execute(t, command.Shell("(while :; do echo x || exit; done) & exit 0"), nil)
	if s.exited(t, 0); s.took > bound {
		t.Errorf("it took %s", s.took)
	}
}

func TestAContextThatEndsBeforeTheStartStartsNothing(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(errStop)
	out := newOutput()
	result := command.New(command.Options{}).Execute(ctx, command.Shell("echo hi"), ruqi.Execution{Run: &ruqi.Run{}, Output: out})
	if !errors.Is(result.Err, errStop) || result.ExitCode != nil || out.String() != "" {
		t.Errorf("the end is %+v, the output %q", result, out)
	}
}

func TestCancelAtAnyMomentLeavesNothing(t *testing.T) {
	e := command.New(command.Options{})
	for i := range 100 {
		s := begin(t, e, command.Shell("sleep 300 & sleep 300"), ruqi.Execution{})
		timer := time.NewTimer(time.Duration(i) * 50 * time.Microsecond)
		<-timer.C
		s.end(errStop)
		if s.wait(t); s.result.Err == nil {
			t.Fatal("it succeeded")
		}
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("children are left: %q", left)
	}
}

// children lists the children of this process, zombies included, but for the ps that looks.
func children(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "ppid=,pid=,stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if fields[0] == fmt.Sprint(os.Getpid()) && !strings.Contains(line, "ps -A") {
			found = append(found, line)
		}
	}
	return found
}

func openFiles(t testing.TB) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	t.Fatal("this system does not show open files")
	return 0
}

func TestNothingIsLeftInTheService(t *testing.T) {
	for name, options := range map[string]command.Options{"plain": {}, "with control groups where there are any": {Cgroups: true}} {
		t.Run(name, func(t *testing.T) { leavesNothing(t, command.New(options)) })
	}
}

func leavesNothing(t *testing.T, e *command.Executor) {
	round := func() {
		for _, task := range []*command.Task{
			command.Shell("echo hi"), command.Argv("cat").WithStdin("x"), command.Argv("/no/such"), command.Argv("/no/such").WithStdin("x"),
			command.Shell("exit 3"), command.Shell("echo x").WithDir("/no/such"), command.Argv("true").WithStdin(strings.Repeat("x", 60<<10)),
			command.Shell("sleep 1 & exit 0"), command.Shell("echo hi").WithNice(1), command.Argv("/no/such").WithUmask("077"),
			command.Shell("x").WithDir("/no/such").WithNice(1), command.Argv("cat").WithStdin("x").WithLimits(command.Limits{OpenFiles: 50}),
		} {
			begin(t, e, task, ruqi.Execution{}).wait(t)
		}
		s := begin(t, e, command.Shell("echo ready; sleep 300"), ruqi.Execution{})
		s.output.await(t, "ready")
		s.end(errStop)
		s.wait(t)
	}
	round()
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 10 {
		round()
	}
	if got := openFiles(t); got > files {
		t.Errorf("%d files were open, now %d", files, got)
	}
	// A goroutine of the test's own that has closed its channel may still be on its way out.
	for deadline := time.Now().Add(bound); runtime.NumGoroutine() > routines; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines were running, now %d:\n%s", routines, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("children are left: %q", left)
	}
}

// What comes while the pipe is read for what others still write changes nothing: the program has ended, and what it left is left.
func TestAContextThatEndsAfterTheProgramEndsNothing(t *testing.T) {
	for _, code := range []int{0, 3} {
		// The child goes on writing, so that the pipe is read for as long as that may take.
		script := fmt.Sprintf(`(trap "" PIPE; while :; do echo x; sleep 0.05; done) & echo $!; echo $$; echo ready; exit %d`, code)
		for range 5 {
			s := begin(t, command.New(command.Options{}), command.Shell(script), ruqi.Execution{})
			all := pids(t, s.output.await(t, "ready"))
			for deadline := time.Now().Add(bound); alive(all[1]); {
				if time.Now().After(deadline) {
					t.Fatal("the program has not ended")
				}
			}
			var late bool
			select {
			case <-s.done: // this machine was too slow: once more
				late = true
			default:
				s.end(errStop)
			}
			s.wait(t).exited(t, code)
			if !s.result.ByItself || (s.result.Err != nil) != (code != 0) || !strings.HasPrefix(s.result.Note, "left ") {
				t.Errorf("the end is %+v", s.result)
			}
			if !alive(all[0]) {
				t.Error("what was left behind was killed")
			}
			syscall.Kill(-all[1], syscall.SIGKILL)
			if !late {
				break
			}
		}
	}
}
