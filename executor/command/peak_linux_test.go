package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

// raisePeak makes the service's own peak larger than that of any program here, so that the system's figure tells nothing.
func raisePeak(t *testing.T) (peak int64) {
	t.Helper()
	ballast := make([]byte, 200<<20)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	runtime.KeepAlive(ballast)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	return own.Maxrss << 10
}

// A holder is a script that goes on until it is let go: how long it takes until a running program is looked at hangs on what else the
// machine has, whose processes are all read in a look.
type holder string

func newHolder(t *testing.T) holder { return holder(filepath.Join(t.TempDir(), "go")) }

// sleeping is a script that holds nothing.
func (h holder) sleeping() string { return "while [ ! -e " + string(h) + " ]; do sleep 0.1; done" }

// holding is a script that has 50 MB in its shell. Without the last word the shell would become the sleep.
func (h holder) holding() string {
	return `x=$(head -c 50000000 /dev/zero | tr "\\0" x); ` + h.sleeping() + "; :"
}

// mostUnseen bounds how long a program may go unseen: on a machine with thousands of processes, under the race detector, looks can be
// twenty seconds apart.
const mostUnseen = 40 * time.Second

// free waits until each program has been seen to hold at least so much, for mostUnseen at the most, and lets them go. Their output begins
// with their process id.
func (h holder) free(t *testing.T, least map[*started]int64) {
	t.Helper()
	deadline := time.Now().Add(mostUnseen)
	for s, bytes := range least {
		first, _, _ := strings.Cut(s.output.await(t, "\n"), "\n")
		pid, err := strconv.Atoi(first)
		if err != nil {
			t.Error(err)
		}
		for command.PeakOf(pid) < bytes && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if err := os.WriteFile(string(h), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

const held = 50_000_000

func TestMemoryBelowThatOfTheServiceIsSeen(t *testing.T) {
	own := raisePeak(t)
	plain, grouped := command.New(command.Options{}), command.New(command.Options{Cgroups: true})
	for name, of := range map[string]string{
		"of the program itself":            "%s",
		"of a child":                       "(%s); :",
		"of a child that was not awaited":  "(%s) & sleep 0.1; wait",
		"of a child in a group of its own": "set -m; (%s) & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, e := range map[string]*command.Executor{"plain": plain, "with control groups where there are any": grouped} {
				h := newHolder(t)
				s := begin(t, e, command.Shell("echo $$; "+fmt.Sprintf(of, h.holding())), ruqi.Execution{})
				h.free(t, map[*started]int64{s: held})
				if rss := s.wait(t).result.MaxRSS; rss < held || rss >= own || rss > 150<<20 {
					t.Errorf("%s: a program that holds 50 MB took %d bytes, %v: %s", name, rss, s.result.Err, s.output)
				}
			}
		})
	}
}

func TestProgramsAtOnceHaveTheirOwnMemory(t *testing.T) {
	raisePeak(t)
	e, h := command.New(command.Options{}), newHolder(t)
	large := begin(t, e, command.Shell("echo $$; "+h.holding()), ruqi.Execution{})
	all := map[*started]int64{large: held}
	for range 20 {
		all[begin(t, e, command.Shell("echo $$; "+h.sleeping()), ruqi.Execution{})] = 1
	}
	h.free(t, all)
	for s := range all {
		rss := s.wait(t).result.MaxRSS
		switch {
		case s == large && rss < held:
			t.Errorf("beside small ones a program that holds 50 MB took %d bytes", rss)
		case s != large && (rss <= 0 || rss > 40<<20):
			t.Errorf("a small program took %d bytes", rss)
		}
	}
}

// A process of a run may have left its session, and its group where that is given to another one to keep: su and systemd-run do so.
func TestMemoryOutsideOfTheSessionOrTheGroupIsSeen(t *testing.T) {
	own := raisePeak(t)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := command.CgroupDir(mounts, mine)
	if err == nil {
		err = command.OpenCgroupsIn(dir)
	}
	if err != nil {
		t.Logf("there are no control groups here: %v", err)
		return
	}
	other := filepath.Join(dir, "ruqi-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	defer command.RemoveGroup(other)
	move := "echo $$ > " + other + "/cgroup.procs; "
	e := command.New(command.Options{Cgroups: true})
	for name, of := range map[string]string{
		"a child with a session of its own": "setsid --wait sh -c '%s'",
		"a program that has left its group": move + "%s",
		"a child of one that has":           move + "(%s); :",
	} {
		h := newHolder(t)
		s := begin(t, e, command.Shell("echo $$; "+fmt.Sprintf(of, strings.ReplaceAll(h.holding(), "'", ""))), ruqi.Execution{})
		h.free(t, map[*started]int64{s: held})
		if rss := s.wait(t).result.MaxRSS; rss < held || rss >= own {
			t.Errorf("%s: a program that holds 50 MB took %d bytes, %v: %s", name, rss, s.result.Err, s.output)
		}
	}
}

// Of a run with a group its members are read, in whatever session they are.
func TestThePeakOfAGroupIsThatOfItsMembers(t *testing.T) {
	raisePeak(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if peak := command.PeakOfGroup(dir); peak < 200<<20 {
		t.Errorf("it is %d bytes, of a process that has had 200 MiB", peak)
	}
	if peak := command.PeakOfGroup(t.TempDir()); peak != 0 {
		t.Errorf("of no process it is %d bytes", peak)
	}
}

// A short command is not held up by being looked at.
func TestAShortCommandHasNoMemory(t *testing.T) {
	raisePeak(t)
	e := command.New(command.Options{})
	unknown := 0
	for range 50 {
		s := begin(t, e, command.Argv("true"), ruqi.Execution{}).wait(t)
		if s.result.MaxRSS == 0 {
			unknown++
		} else if s.result.MaxRSS > 40<<20 || s.took < 5*time.Millisecond {
			t.Errorf("in %s true took %d bytes", s.took, s.result.MaxRSS)
		}
	}
	if unknown == 0 {
		t.Error("every one was looked at, however short")
	}
}
