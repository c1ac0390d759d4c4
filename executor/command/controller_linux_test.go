package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ruqi-dev/ruqi/executor/command"
)

// A kernel stands for control groups: directories whose files it fills, with the rule that a group which has processes
// itself enables no controllers.
type kernel struct {
	t    *testing.T
	dir  string
	self string // the group of this process
	// crowded: others than this process are in the group, too.
	crowded bool
	writes  []string
}

func newKernel(t *testing.T, offered, enabled string) *kernel {
	t.Helper()
	k := &kernel{t: t, dir: t.TempDir()}
	k.self = k.dir
	k.put("cgroup.controllers", offered)
	k.put("cgroup.subtree_control", enabled)
	return k
}

func (k *kernel) put(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o644); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kernel) write(path, text string) error {
	name, err := filepath.Rel(k.dir, path)
	if err != nil {
		k.t.Fatal(err)
	}
	k.writes = append(k.writes, name+"="+text)
	switch filepath.Base(path) {
	case "cgroup.procs":
		k.self = filepath.Dir(path)
	case "cgroup.subtree_control":
		if k.crowded || k.self == k.dir {
			return &os.PathError{Op: "write", Path: path, Err: syscall.EBUSY}
		}
		k.put(name, strings.ReplaceAll(text, "+", ""))
	}
	return nil
}

func TestControllersAreEnabledInAGroupOfTheService(t *testing.T) {
	for name, c := range map[string]struct {
		offered, enabled string
		mine, crowded    bool
		want             []string
		wantMoved        bool
	}{
		"a delegated group":             {"cpuset cpu io memory pids\n", "", true, false, []string{"memory", "pids"}, true},
		"it has one of them":            {"cpu pids\n", "", true, false, []string{"pids"}, true},
		"others are in the group":       {"memory pids\n", "", true, true, nil, false},
		"it belongs to somebody else":   {"memory pids\n", "", false, false, nil, false},
		"somebody has enabled them":     {"memory pids\n", "memory pids\n", false, false, []string{"memory", "pids"}, false},
		"there are none, as beside v1":  {"\n", "", true, false, nil, false},
		"names that are like the names": {"memory2 rpids\n", "", true, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKernel(t, c.offered, c.enabled)
			k.crowded = c.crowded
			if got := command.Enable(k.dir, c.mine, k.write); !slices.Equal(got, c.want) {
				t.Errorf("enabled are %v, want %v; written was %q", got, c.want, k.writes)
			}
			_, err := os.Stat(filepath.Join(k.dir, "ruqi-service"))
			if moved := k.self != k.dir; moved != c.wantMoved || moved != (err == nil) {
				t.Errorf("this process is in %s, and its group: %v; written was %q", k.self, err, k.writes)
			}
		})
	}
}

func TestAGroupBoundsItsRunAsAWhole(t *testing.T) {
	all := command.Limits{CPUTime: 5e9, MemoryBytes: 1 << 20, OpenFiles: 20, Processes: 7}
	for name, c := range map[string]struct {
		memory, pids bool
		files        []string // that the group has
		left         command.Limits
		want         map[string]string
	}{
		"both": {true, true, []string{"memory.max", "memory.swap.max", "memory.oom.group", "pids.max"}, command.Limits{CPUTime: 5e9, OpenFiles: 20},
			map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "7"}},
		"no swap":           {true, true, []string{"memory.max", "pids.max"}, command.Limits{CPUTime: 5e9, OpenFiles: 20}, map[string]string{"memory.max": "1048576", "pids.max": "7"}},
		"memory alone":      {true, false, []string{"memory.max"}, command.Limits{CPUTime: 5e9, OpenFiles: 20, Processes: 7}, map[string]string{"memory.max": "1048576"}},
		"neither":           {false, false, []string{"memory.max", "pids.max"}, all, map[string]string{"memory.max": "", "pids.max": ""}},
		"not to be written": {true, true, nil, all, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			group := command.NewBoundGroup(dir, c.memory, c.pids)
			if left := group.Bound(all); left != c.left {
				t.Errorf("left are %+v, want %+v", left, c.left)
			}
			for file, want := range c.want {
				if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v, want %q", file, got, err, want)
				}
			}
		})
	}
}

func TestLimitsThatARunCameToAreTold(t *testing.T) {
	dir := t.TempDir()
	group := command.NewBoundGroup(dir, true, true)
	limits := command.Limits{MemoryBytes: 1 << 20, Processes: 7}
	put := func(memory, pids string) {
		t.Helper()
		for name, text := range map[string]string{"memory.events": memory, "pids.events": pids} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := group.Notes(limits); got != nil {
		t.Errorf("of a group without events %q is told", got)
	}
	put("low 0\nmax 31\noom 0\noom_kill 0\noom_group_kill 0\n", "max 0\n")
	if got := group.Notes(limits); got != nil {
		t.Errorf("of a run within its limits %q is told", got)
	}
	put("low 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n", "max 0\n")
	if got := group.Notes(limits); got != nil {
		t.Errorf("of a run that others killed for memory %q is told", got)
	}
	put("low 0\nmax 31\noom 1\noom_kill 3\noom_group_kill 1\n", "max 2\n")
	want := []string{"it was killed at its limit of memory (1048576 bytes)", "it came to its limit of processes (7)"}
	if got := group.Notes(limits); !slices.Equal(got, want) {
		t.Errorf("told is %q, want %q", got, want)
	}
	if got := group.Notes(command.Limits{}); got != nil {
		t.Errorf("of a run without limits %q is told", got)
	}
}
