package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

func TestTheGroupOfThisProcessIsFound(t *testing.T) {
	const (
		unified = "31 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	)
	for name, test := range map[string]struct{ mounts, own, want string }{
		"of a unit":                         {unified, "0::/system.slice/ruqi.service\n", "/sys/fs/cgroup/system.slice/ruqi.service"},
		"the root of a container":           {unified, "0::/\n", "/sys/fs/cgroup"},
		"beside version 1":                  {hybrid, "9:name=systemd:/x\n1:cpu:/y\n0::/z\n", "/sys/fs/cgroup/unified/z"},
		"a mount of a part of the tree":     {"31 24 0:26 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/a/b\n", "/sys/fs/cgroup/b"},
		"a mount of another part":           {"31 24 0:26 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/b\n", ""},
		"a mount from outside":              {"31 24 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/\n", ""},
		"outside the name space":            {unified, "0::/../x\n", ""},
		"a name with blanks, fields beside": {"31 24 0:26 / /sys/a\\040b rw shared:9 master:1 - cgroup2 cgroup rw\n", "0::/c d\n", "/sys/a b/c d"},
		"version 1 alone":                   {"40 31 0:37 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "1:cpu:/y\n", ""},
		"nothing mounted":                   {"22 1 8:1 / / rw - ext4 /dev/root rw\n", "0::/\n", ""},
		"nothing at all":                    {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := command.CgroupDir([]byte(test.mounts), []byte(test.own))
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("it is %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// A directory of plain files stands for a group: what is read and written there is the same.
func TestFilesOfAGroup(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("run/cgroup.procs", "12\n7\n")
	write("run/inner/cgroup.procs", "30\n0\nx\n")
	write("run/inner/deeper/cgroup.procs", "")
	write("run/cgroup.kill", "")
	got := slices.Sorted(maps.Keys(command.MembersOf(filepath.Join(dir, "run"))))
	if !slices.Equal(got, []int{7, 12, 30}) { // 0 is a process of another name space
		t.Errorf("its members are %v", got)
	}
	command.KillGroup(filepath.Join(dir, "run"))
	if text, err := os.ReadFile(filepath.Join(dir, "run/cgroup.kill")); err != nil || string(text) != "1" {
		t.Errorf("to end it %q was written, %v", text, err)
	}
	command.KillGroup(filepath.Join(dir, "none")) // an older kernel's, or one that is gone
	if err := os.MkdirAll(filepath.Join(dir, "empty/a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !command.RemoveGroup(filepath.Join(dir, "empty")) || command.RemoveGroup(filepath.Join(dir, "run")) {
		t.Error("what is empty goes, with what is in it, and nothing else")
	}
	if err := command.OpenCgroupsIn(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is no group is opened: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, command.GroupPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("the look left %v, %v", left, err)
	}
}

// A start that fails in its group for a moment does not take the groups from all that follow.
func TestGroupsAreGivenUpAfterSeveralFailures(t *testing.T) {
	for _, c := range []struct {
		starts []bool
		used   bool
	}{
		{[]bool{false}, true}, {[]bool{false, false}, true}, {[]bool{false, false, false}, false},
		{[]bool{false, false, true, false, false}, true}, {[]bool{false, false, false, true}, false},
	} {
		if got := command.GroupsAfter(c.starts...); got != c.used {
			t.Errorf("after %v groups are used: %v", c.starts, got)
		}
	}
}

// Names of units may have backslashes, which a pattern would read otherwise.
func TestLeftGroupsAreFoundWhateverTheirPlaceIsCalled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a\x2db[c].slice`)
	left, other := filepath.Join(dir, command.GroupPrefix+"1-a"), filepath.Join(dir, "other")
	for _, d := range []string{left, other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command.SweepGroups(dir, time.Now())
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a group that another service is about to fill: %v", err)
	}
	command.SweepGroups(dir, time.Now().Add(time.Hour))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old group: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a group of somebody else: %v", err)
	}
}

// cutOff is a script whose child has nothing left of its run: no session, no parent, no environment, and no ear for TERM. It is
// run a tenth of a second after a start, since what is born within hundredths of another run's end is nobody's for sure.
const cutOff = `(setsid env -i /bin/sh -c 'trap "" TERM; echo $$; (setsid /bin/sh -c "trap \"\" TERM; echo \$\$; echo ready; while :; do sleep 300; done" &); while :; do sleep 300; done' &); sleep 300`

// The tree of a run is empty after a cancel, however far its processes went: by the control group where the system has them, by
// being the parent of orphans where not.
func TestCancelEndsWhatCutAllTies(t *testing.T) {
	for _, options := range []string{"both", "subreaper", "beside a daemon"} {
		t.Run(options, func(t *testing.T) {
			service := exec.Command(os.Args[0])
			service.Env = append(os.Environ(), "COMMAND_TEST=cut", "CUT="+options)
			if out, err := service.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func init() { cut = cutAllTies }

// cutAllTies is the service of that test. It returns its exit status.
func cutAllTies() int {
	var log bytes.Buffer
	e := command.New(command.Options{Subreaper: true, Cgroups: os.Getenv("CUT") == "both", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if n := strings.Count(log.String(), "msg="); n > 1 {
		fmt.Println("which way is used is told", n, "times:", log.String())
		return 1
	}
	t := quiet{}
	daemon := 0
	if os.Getenv("CUT") == "beside a daemon" {
		// What an earlier run left stays, and does not make unsure whose the others are, since it says whose it is.
		kept := begin(t, e, command.Shell("setsid sleep 300 >/dev/null 2>&1 & echo $!"), ruqi.Execution{}).wait(t)
		daemon = pids(t, kept.output.String())[0]
		defer func() { _ = syscall.Kill(daemon, syscall.SIGKILL) }() // os.Exit comes after this returns
	}
	out := newOutput()
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan ruqi.Result, 1)
	go func() {
		done <- e.Execute(ctx, command.Shell("sleep 0.1; "+cutOff), ruqi.Execution{Run: &ruqi.Run{ID: 1, JobID: "cut"}, Output: out, KillGrace: 300 * time.Millisecond})
	}()
	text := out.await(t, "ready")
	cancel(errStop)
	select {
	case <-done:
	case <-time.After(bound):
		fmt.Println("it did not end")
		return 1
	}
	status := 0
	if os.Getenv("CUT") == "beside a daemon" {
		status = sparesStrangers(t, e)
	}
	for _, pid := range pids(t, text) {
		if alive(pid) {
			fmt.Println(pid, "is alive")
			_ = syscall.Kill(pid, syscall.SIGKILL)
			status = 1
		}
	}
	if daemon != 0 && !alive(daemon) {
		fmt.Println("another run's daemon was ended too")
		status = 1
	}
	if len(pids(t, text)) != 2 {
		fmt.Println("it said", text)
		status = 1
	}
	return status
}

// sparesStrangers cancels a run while there is an orphan that nothing tells of, left by an earlier run. It returns an exit status.
func sparesStrangers(t testing.TB, e *command.Executor) int {
	s := begin(t, e, command.Shell(`(setsid env -i sleep 300 >/dev/null 2>&1 & echo $!)`), ruqi.Execution{}).wait(t)
	stranger := pids(t, s.output.String())[0]
	defer func() { _ = syscall.Kill(stranger, syscall.SIGKILL) }()
	s = begin(t, e, command.Shell("echo ready; sleep 300"), ruqi.Execution{})
	s.output.await(t, "ready")
	s.end(errStop)
	s.wait(t)
	if !alive(stranger) {
		fmt.Println("an orphan of an earlier run was ended")
		return 1
	}
	return 0
}

// quiet is what the helpers of tests speak to in a process that is no test.
type quiet struct{ testing.TB }

func (quiet) Helper()                  {}
func (quiet) Context() context.Context { return context.Background() }
func (quiet) Fatalf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}
func (quiet) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

// What a run left behind is counted though nothing ties it to the run, and keeps the group until it ends. Where there are no groups
// commands run all the same.
func TestAGroupGoesWhenItIsEmpty(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	e := command.New(command.Options{Cgroups: true})
	left := `(setsid env -i sleep 300 >/dev/null 2>&1 & echo $!) && echo hi`
	s := begin(t, e, command.Shell(left), ruqi.Execution{Run: &ruqi.Run{ID: 1<<40 + int64(os.Getpid())}}).wait(t)
	s.exited(t, 0)
	all := pids(t, s.output.String())
	defer func() { _ = syscall.Kill(all[0], syscall.SIGKILL) }() // gone already, as a rule
	dir, err := command.CgroupDir(mounts, own)
	if err == nil {
		err = command.OpenCgroupsIn(dir)
	}
	if err != nil {
		t.Logf("there are no control groups here: %v", err)
		return
	}
	if s.result.Note != "left 1 process behind" {
		t.Errorf("the note is %q", s.result.Note)
	}
	// A service that starts removes what one that was killed left empty, but nothing that another may just be filling.
	old, young := filepath.Join(dir, command.GroupPrefix+t.Name()+"-old"), filepath.Join(dir, command.GroupPrefix+t.Name()+"-young")
	for _, d := range []string{old, young} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		defer command.RemoveGroup(d)
	}
	if err := os.Chtimes(old, time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := command.OpenCgroupsIn(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty group is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("a group that has just been made is gone: %v", err)
	}
	group := filepath.Join(dir, fmt.Sprintf("%s%d-*", command.GroupPrefix, 1<<40+os.Getpid()))
	if found, err := filepath.Glob(group); err != nil || len(found) != 1 {
		t.Fatalf("its groups are %v, %v", found, err)
	}
	if err := syscall.Kill(all[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(bound); ; <-poll.C {
		if found, err := filepath.Glob(group); err == nil && len(found) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("its group is still there")
		}
	}
}
