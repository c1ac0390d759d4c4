package command_test

import (
	"bufio"
	"context"
	"fmt"
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

func TestCancelEndsWhatLeftTheGroup(t *testing.T) {
	for name, script := range map[string]string{
		"in its own session with its parent alive":    `setsid sh -c 'echo $$; echo ready; exec sleep 300' & wait`,
		"in its own session with its parent gone":     `(setsid sh -c 'echo $$; echo ready; exec sleep 300' &); sleep 300`,
		"with a cleared environment but a parent":     `setsid env -i /bin/sh -c 'echo $$; echo ready; exec sleep 300' & wait`,
		"in a group of its own within the session":    `COMMAND_TEST=group "$SELF" & wait`,
		"in the session, all other ties cut":          `(COMMAND_TEST=group "$SELF" &); sleep 300`,
		"deaf to TERM, with deaf children of its own": `setsid sh -c 'trap "" TERM; echo $$; setsid sleep 300 & echo $!; echo ready; while :; do wait; done' & wait`,
		"and holds no pipe":                           `setsid sh -c 'echo $$; echo ready; exec sleep 300 >/dev/null 2>&1' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, command.New(command.Options{}), command.Shell(script).WithEnv(map[string]string{"SELF": os.Args[0]}), ruqi.Execution{KillGrace: 500 * time.Millisecond})
			all := pids(t, s.output.await(t, "ready"))
			s.end(errStop)
			if s.wait(t); s.result.Err == nil {
				t.Error("it succeeded")
			}
			wantGone(t, all)
		})
	}
}

func TestTheHardEndReachesWhatLeftTheGroup(t *testing.T) {
	script := `setsid sh -c 'trap "" TERM; echo $$; setsid sleep 300 & echo $!; echo ready; while :; do wait; done' & wait`
	hard := make(chan struct{})
	s := begin(t, command.New(command.Options{}), command.Shell(script), ruqi.Execution{KillGrace: time.Hour, Hard: hard})
	all := pids(t, s.output.await(t, "ready"))
	s.end(errStop)
	close(hard)
	s.wait(t)
	wantGone(t, all)
}

func TestARunEndsNoOtherRun(t *testing.T) {
	// The same run id in another store, the same service, the same time.
	e := command.New(command.Options{})
	script := "setsid sleep 300 & echo $!; echo ready; wait"
	one, two := begin(t, e, command.Shell(script), ruqi.Execution{}), begin(t, e, command.Shell(script), ruqi.Execution{})
	first, second := pids(t, one.output.await(t, "ready")), pids(t, two.output.await(t, "ready"))
	one.end(errStop)
	one.wait(t)
	wantGone(t, first)
	if !alive(second[0]) {
		t.Error("the other run's process was ended too")
	}
	two.end(errStop)
	two.wait(t)
	wantGone(t, second)
}

// PR03: the run ends, and what was left is noted.
func TestWhatLeftTheGroupAndHoldsThePipeIsCounted(t *testing.T) {
	s := execute(t, command.Shell("setsid sleep 300 & echo $!; echo hi"), nil)
	all := pids(t, s.output.String())
	if s.result.Err != nil || s.result.Note != "left 1 process behind" || s.took > bound {
		t.Errorf("after %s the end is %+v", s.took, s.result)
	}
	syscall.Kill(all[0], syscall.SIGKILL)
	s = execute(t, command.Shell("sleep 300 >/dev/null 2>&1 & echo $!; sleep 300 >/dev/null 2>&1 & echo $!"), nil)
	if s.result.Note != "left 2 processes behind" {
		t.Errorf("the note is %q", s.result.Note)
	}
	for _, pid := range pids(t, s.output.String()) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestAServiceThatIsKilledLeavesNoProgram(t *testing.T) {
	service := exec.Command(os.Args[0])
	service.Env = append(os.Environ(), "COMMAND_TEST=service")
	out, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := pids(t, line)[0]
	service.Process.Kill()
	service.Wait()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(bound); alive(pid); <-poll.C {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the program outlived its service")
		}
	}
}

func TestOrphansThatBecomeChildrenOfTheServiceAreReaped(t *testing.T) {
	service := exec.Command(os.Args[0])
	service.Env = append(os.Environ(), "COMMAND_TEST=subreaper")
	if out, err := service.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func init() { subreaper = adopt }

// adopt is the service of that test. It returns its exit status.
func adopt() int {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER of prctl(2)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		fmt.Println(errno)
		return 1
	}
	e := command.New(command.Options{})
	run := func(text string) ruqi.Result {
		return e.Execute(context.Background(), command.Shell(text), ruqi.Execution{Run: &ruqi.Run{}, Output: os.Stdout})
	}
	own := exec.Command("sh", "-c", "exit 9") // of another package: it is not to be reaped
	if err := own.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	for range 20 {
		run("(setsid true >/dev/null 2>&1 &) ; (sleep 0.01 >/dev/null 2>&1 &)")
	}
	zombies := func() (n int) {
		out, _ := exec.Command("ps", "-A", "-o", "ppid=,stat=").Output()
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); f[0] == strconv.Itoa(os.Getpid()) && strings.HasPrefix(f[1], "Z") {
				n++
			}
		}
		return n
	}
	// Many at once, while the service looks for orphans: each must keep its own exit code.
	deadline := time.Now().Add(bound)
	for zombies() > 1 {
		if time.Now().After(deadline) {
			fmt.Println(zombies(), "zombies are left")
			return 1
		}
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				if r := run(fmt.Sprintf("exit %d", n)); r.ExitCode == nil || *r.ExitCode != n {
					fmt.Println("exit", n, "became", r.Err)
					os.Exit(1)
				}
			})
		}
		all.Wait()
	}
	own.Wait()
	if own.ProcessState == nil || own.ProcessState.ExitCode() != 9 {
		fmt.Println("the exit status of another package's child was taken")
		return 1
	}
	return 0
}

// A program that has ended and was not reaped is told from one that runs.
func TestAnExitIsSeenBeforeItIsReaped(t *testing.T) {
	start := func(argv ...string) *exec.Cmd {
		cmd := exec.Command(argv[0], argv[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	long, short := start("sleep", "300"), start("true")
	for deadline := time.Now().Add(bound); alive(short.Process.Pid); {
		if time.Now().After(deadline) {
			t.Fatal("it does not end")
		}
	}
	for range 2 { // to look changes nothing
		if !command.HasExited(short.Process.Pid) || command.HasExited(long.Process.Pid) {
			t.Error("the one that ended was not seen, or the other was")
		}
	}
	if err := short.Wait(); err != nil || command.HasExited(short.Process.Pid) {
		t.Errorf("it was reaped with %v, and is seen still", err)
	}
	if err := long.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = long.Wait() // killed
}
