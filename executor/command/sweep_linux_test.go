package command_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

func init() { lose, sweep = loseService, sweepService }

// ownedRun is a run of an instance that is named after the process of the test.
func ownedRun(test int, id int64) *ruqi.Run {
	started := time.Date(2025, 3, 1, 12, 0, 0, 1000, time.UTC)
	return &ruqi.Run{
		ID: id, JobID: "reports/daily", Attempt: 1, Nominal: started, Started: &started,
		Owner: ruqi.Owner{Instance: fmt.Sprintf("a/host of tests:%d", test), Epoch: 3},
	}
}

// leaves starts children that outlive it: in its group, in a session of their own, and, last, without an environment
// below a process that has one.
const leaves = `echo $$; sleep 300 & echo $!
	(setsid sh -c 'echo $$; exec sleep 300' &)
	setsid sh -c 'trap "" TERM; echo $$; env -i sleep 300 & echo $!; echo ready; while :; do wait; done' &
	wait`

// loseService is a service that runs one command. It returns its exit status.
func loseService() int {
	id, _ := strconv.ParseInt(os.Getenv("COMMAND_TEST_RUN"), 10, 64)
	run := ownedRun(os.Getppid(), id)
	command.New(command.Options{}).Execute(context.Background(), command.Shell(leaves), ruqi.Execution{Run: run, Output: os.Stdout})
	return 0
}

// lost starts a service with a run, kills it, and returns what the run left behind.
func lost(t *testing.T, id int64) []int {
	t.Helper()
	service := exec.Command(os.Args[0])
	service.Env = append(os.Environ(), "COMMAND_TEST=lose", fmt.Sprint("COMMAND_TEST_RUN=", id))
	out, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	// The pipe is between the service and the test; what the run left behind writes to the service's own, which is gone.
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&text, lines.Text())
		if strings.Count(text.String(), "\n") == 6 { // five ids and ready, in any order
			break
		}
	}
	all := pids(t, text.String())
	if len(all) != 5 {
		t.Fatalf("the run wrote %q", text.String())
	}
	t.Cleanup(func() {
		for _, pid := range all[1:] {
			if alive(pid) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	service.Process.Kill()
	service.Wait()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(bound); alive(all[0]); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatal("the program outlived its service")
		}
	}
	wantAlive(t, all[1:])
	return all[1:]
}

func wantAlive(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("process %d has ended", pid)
		}
	}
}

func TestWhatLostRunsLeftIsEnded(t *testing.T) {
	first, second, third := lost(t, 1), lost(t, 2), lost(t, 3)
	e := command.New(command.Options{})
	runs := []ruqi.Run{*ownedRun(os.Getpid(), 1), *ownedRun(os.Getpid(), 3)}
	since := time.Now()
	if n := e.EndLost(t.Context(), runs); n != len(first)+len(third) {
		t.Errorf("it ended %d, expected %d", n, len(first)+len(third))
	}
	if took := time.Since(since); took > bound {
		t.Errorf("it took %s", took)
	}
	wantGone(t, slices.Concat(first, third))
	wantAlive(t, second)
	if n := e.EndLost(t.Context(), runs); n != 0 {
		t.Errorf("the second time it ended %d", n)
	}
	if n := e.EndLost(t.Context(), []ruqi.Run{*ownedRun(os.Getpid(), 2)}); n != len(second) {
		t.Errorf("of the other run it ended %d, expected %d", n, len(second))
	}
	wantGone(t, second)
}

func TestALostRunIsNoOtherThatIsLikeIt(t *testing.T) {
	all := lost(t, 12)
	e := command.New(command.Options{})
	for name, change := range map[string]func(*ruqi.Run){
		"another id":                         func(r *ruqi.Run) { r.ID = 1 },
		"another id that begins the same":    func(r *ruqi.Run) { r.ID = 123 },
		"another job":                        func(r *ruqi.Run) { r.JobID = "reports" },
		"another instance":                   func(r *ruqi.Run) { r.Owner.Instance += "0" },
		"another instance, with a slash":     func(r *ruqi.Run) { r.Owner.Instance = "a%2Fhost" + r.Owner.Instance[len("a/host"):] },
		"another life of the instance":       func(r *ruqi.Run) { r.Owner.Epoch++ },
		"another start, of another store":    func(r *ruqi.Run) { s := r.Started.Add(time.Microsecond); r.Started = &s },
		"a row that never started":           func(r *ruqi.Run) { r.Started = nil },
		"a row that nobody owns":             func(r *ruqi.Run) { r.Owner = ruqi.Owner{} },
		"nobody's row, else without a value": func(r *ruqi.Run) { *r = ruqi.Run{} },
	} {
		run := *ownedRun(os.Getpid(), 12)
		change(&run)
		if n := e.EndLost(t.Context(), []ruqi.Run{run}); n != 0 {
			t.Errorf("%s: it ended %d", name, n)
		}
	}
	wantAlive(t, all)
	// What the store gives back of a run is the same in another zone, and a finer clock is no other start.
	run := *ownedRun(os.Getpid(), 12)
	started := run.Started.In(time.FixedZone("", 3600)).Add(time.Nanosecond)
	run.Started = &started
	if n := e.EndLost(t.Context(), []ruqi.Run{run}); n != len(all) {
		t.Errorf("it ended %d, expected %d", n, len(all))
	}
	wantGone(t, all)
}

func TestARunThatLostItsLeaseIsEndedUnderItsService(t *testing.T) {
	e := command.New(command.Options{})
	run := ownedRun(os.Getpid(), 21)
	s := begin(t, e, command.Shell(leaves), ruqi.Execution{Run: run})
	other := begin(t, e, command.Shell("echo ready; exec sleep 300"), ruqi.Execution{Run: ownedRun(os.Getpid(), 22)})
	other.output.await(t, "ready")
	all := pids(t, s.output.await(t, "ready"))
	if n := command.New(command.Options{}).EndLost(t.Context(), []ruqi.Run{*run}); n < len(all) {
		t.Errorf("it ended %d, expected %d", n, len(all))
	}
	wantGone(t, all)
	if s.wait(t); s.result.Signal != "SIGKILL" {
		t.Errorf("the end is %+v", s.result)
	}
	select {
	case <-other.done:
		t.Errorf("another run of the service ended: %+v", other.result)
	default:
	}
	other.end(errStop)
	other.wait(t)
}

func TestNothingIsLookedForWhenTheContextHasEnded(t *testing.T) {
	all := lost(t, 31)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n := command.New(command.Options{}).EndLost(ctx, []ruqi.Run{*ownedRun(os.Getpid(), 31)}); n != 0 {
		t.Errorf("it ended %d", n)
	}
	wantAlive(t, all)
}

func TestAServiceThatALostRunStartedDoesNotEndItself(t *testing.T) {
	run := ownedRun(os.Getpid(), 41)
	mark := execute(t, command.Shell("echo $RUQI_PROCESS_TREE"), run).output.String()
	service := exec.Command(os.Args[0])
	service.Env = append(os.Environ(), "COMMAND_TEST=sweep", "RUQI_PROCESS_TREE="+strings.TrimSpace(mark), "RUQI_JOB_ID="+run.JobID)
	if out, err := service.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// sweepService is the service of that test. It returns its exit status.
func sweepService() int {
	own := exec.Command("sleep", "300")
	own.Env = []string{}
	if err := own.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer own.Wait()
	defer own.Process.Kill()
	if n := command.New(command.Options{}).EndLost(context.Background(), []ruqi.Run{*ownedRun(os.Getppid(), 41)}); n != 0 || !alive(own.Process.Pid) {
		fmt.Println("it ended", n, "of its own")
		return 1
	}
	return 0
}

func TestAnInstanceMayHaveAnyName(t *testing.T) {
	run := ownedRun(os.Getpid(), 51)
	run.Owner.Instance = "a\x00b\nc=d"
	execute(t, command.Shell("echo hi"), run).succeeded(t, "hi\n")
}
