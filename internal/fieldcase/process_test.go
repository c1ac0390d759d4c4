//go:build linux

package fieldcase_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/trigger"
)

// family starts, and names by their ids: itself, a child, one in a session of its own, and two that have nothing left of
// their run, neither session nor parents nor environment, of which one has forked the other. None of them hears TERM.
const family = `trap "" TERM; echo $$; sleep 300 & echo $!; setsid sleep 300 & echo $!
(setsid env -i /bin/sh -c 'trap "" TERM; echo $$; (setsid /bin/sh -c "trap \"\" TERM; echo \$\$; echo ready; while :; do sleep 300; done" &); while :; do sleep 300; done' &)
while :; do wait; sleep 300; done`

const familySize = 5

// awaitFamily waits until the run has started it all and returns the ids.
func (s *service) awaitFamily(run int64) []int {
	s.t.Helper()
	var pids []int
	s.eventually("the family is there", func() bool {
		part, err := s.Output(s.t.Context(), run, 0, 1024)
		if err != nil || !bytes.Contains(part.Bytes, []byte("ready")) {
			return false
		}
		pids = pids[:0]
		for line := range strings.Lines(string(part.Bytes)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == familySize
	})
	s.t.Cleanup(func() {
		for _, pid := range pids {
			if lives(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return pids
}

// lives reports whether a process is there and more than an entry that nobody has asked for.
func lives(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	return string(fields[0]) != "Z" && string(fields[0]) != "X"
}

func (s *service) wantGone(pids []int) {
	s.t.Helper()
	for _, pid := range pids {
		if lives(pid) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // for the message alone
			s.t.Errorf("process %d lives: %q", pid, line)
		}
	}
}

// PR01, PR03, SH03: after a cancel, a timeout and an end of the service, nothing is left of a run, whatever its processes did, with
// control groups and without.
func TestNothingIsLeftOfARunHoweverItEnds(t *testing.T) {
	for _, way := range []string{"auto", "off"} {
		t.Run("control groups "+way, func(t *testing.T) {
			s := serve(t, "--cgroup", way)
			policy := ruqi.Policy{KillGrace: 300 * time.Millisecond}
			s.add("cancelled", trigger.EveryDuration(time.Hour), command.Shell(family), policy)
			s.add("stopped", trigger.EveryDuration(time.Hour), command.Shell(family), policy)
			policy.Timeout = 2 * time.Second
			s.add("timed out", trigger.EveryDuration(time.Hour), command.Shell(family), policy)
			started := func(id string) (ruqi.Run, []int) {
				run, err := s.RunNow(t.Context(), id, nil)
				if err != nil {
					t.Fatal(err)
				}
				return run, s.awaitFamily(run.ID)
			}
			run, pids := started("cancelled")
			if _, err := s.CancelRun(t.Context(), run.ID, "by a test"); err != nil {
				t.Fatal(err)
			}
			if run, err := s.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunCancelled {
				t.Errorf("it is %+v, %v", run, err)
			}
			s.wantGone(pids)

			run, pids = started("timed out")
			if run, err := s.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunTimedOut {
				t.Errorf("it is %+v, %v", run, err)
			}
			s.wantGone(pids)

			// Two at once, as an end of the service mostly finds them.
			_, pids = started("stopped")
			_, more := started("cancelled")
			if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if <-s.Ended; s.Err != nil {
				t.Errorf("the service ends with %v", s.Err)
			}
			s.wantGone(append(pids, more...))
			if way == "off" && strings.Contains(s.log.String(), "control group") {
				t.Errorf("it uses what is off:\n%s", s.log)
			}
		})
	}
}

// SH01: what a service that was killed had started is ended when its run is found lost: all of it where there are control groups,
// else what still carries the run's mark.
func TestWhatAKilledServiceLeftIsEnded(t *testing.T) {
	dir := t.TempDir()
	s := serveBy(t, nil, dir)
	s.add("x", trigger.EveryDuration(time.Hour), command.Shell(family), ruqi.Policy{})
	run, err := s.RunNow(t.Context(), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	pids := s.awaitFamily(run.ID)
	if !strings.Contains(s.log.String(), "each run of a command has a control group") {
		pids = pids[:familySize-2] // the other two have no mark
	}
	s.Kill()
	again := serveBy(t, nil, dir)
	if run, err = again.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunLost {
		t.Errorf("it is %+v, %v", run, err)
	}
	again.eventually("nothing of it is left", func() bool {
		for _, pid := range pids {
			if lives(pid) {
				return false
			}
		}
		return true
	})
}

// PR07: a run whose process was killed by hand ends, and a stop that comes too late does no harm.
func TestARunWhoseProcessIsGoneIsFinalAtOnce(t *testing.T) {
	s := serve(t)
	s.add("x", trigger.EveryDuration(time.Hour), command.Shell("echo $$; exec sleep 300"), ruqi.Policy{})
	run, err := s.RunNow(t.Context(), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	s.eventually("it runs", func() bool {
		part, err := s.Output(t.Context(), run.ID, 0, 64)
		if err != nil {
			return false
		}
		n, err := fmt.Sscan(string(part.Bytes), &pid)
		return n == 1 && err == nil
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, cancelled := s.CancelRun(t.Context(), run.ID, "by a test") // ErrEnded, or in time
	if run, err = s.WaitRun(t.Context(), run.ID); err != nil || !run.State.Ended() || run.Signal != "SIGKILL" {
		t.Errorf("it is %+v, %v; the stop said %v", run, err, cancelled)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it was final after %s", took)
	}
}

// firstProcess returns how a program is made the first process of a space of its own, as in a container. Where the machine lets nobody do so
// it is nil: the service inherits orphans there too.
func firstProcess(t *testing.T) []string {
	t.Helper()
	plain := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	for _, by := range [][]string{plain, append(slices.Clone(plain), "--user", "--map-root-user")} {
		out, err := exec.CommandContext(t.Context(), by[0], append(slices.Clone(by[1:]), "true")...).CombinedOutput()
		if err == nil {
			return by
		}
		t.Logf("%q: %v: %s", by, err, out)
	}
	return nil
}

// PR05: as the first process of a container the service reaps what jobs leave behind, and takes no exit code of a job for it.
func TestAServiceThatIsTheFirstProcessKeepsExitCodes(t *testing.T) {
	const runs = 1000
	by := firstProcess(t)
	s := serveBy(t, by, t.TempDir(), "--slots", "command=16")
	// Each leaves an orphan behind, which ends while others run.
	task := command.Shell(`(setsid sleep 0.05 >/dev/null 2>&1 &); echo $PPID; exit $((RUQI_PARAM_N % 3))`)
	s.add("x", trigger.EveryDuration(time.Hour), task, ruqi.Policy{Overlap: ruqi.OverlapAllow})
	var all sync.WaitGroup
	next := make(chan int)
	for range 16 {
		all.Go(func() {
			for n := range next {
				run, err := s.RunNow(t.Context(), "x", json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)))
				if err == nil {
					run, err = s.WaitRun(t.Context(), run.ID)
				}
				if err != nil || run.ExitCode == nil || *run.ExitCode != n%3 {
					t.Errorf("exit %d became %+v, %v", n%3, run, err)
				}
			}
		})
	}
	for n := range runs {
		next <- n
	}
	close(next)
	all.Wait()
	page, err := s.Runs(t.Context(), ruqi.RunQuery{Job: "x", Limit: 1})
	if err != nil || len(page.Runs) != 1 {
		t.Fatal(err)
	}
	parent, pid := fmt.Sprintln(s.Cmd.Process.Pid), fmt.Sprint(s.Cmd.Process.Pid)
	if by != nil { // its id is 1 to itself, and another to us
		init, err := exec.CommandContext(t.Context(), "ps", "-o", "pid=", "--ppid", pid).Output()
		if err != nil {
			t.Fatal(err)
		}
		parent, pid = "1\n", strings.TrimSpace(string(init))
	}
	if part, err := s.Output(t.Context(), page.Runs[0].ID, 0, 64); err != nil || string(part.Bytes) != parent {
		t.Errorf("the parent of a command is %q, %v, want %q", part.Bytes, err, parent)
	}
	// Nothing more runs, and yet the orphans are reaped.
	s.eventually("no zombie is left", func() bool {
		out, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "--ppid", pid).Output() // exit 1: there is none
		return !strings.Contains(string(out), "Z")
	})
}
