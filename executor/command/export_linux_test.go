package command

import (
	"errors"
	"log/slog"
	"time"
)

// What the tests of files that stand for control groups see.
var (
	CgroupDir   = cgroupDir
	RemoveGroup = removeGroup
)

// HasExited looks whether a child that was not reaped has ended.
func HasExited(pid int) bool { return hasExited(pid) }

// PeakOf returns the largest size that a running program has been seen to hold.
func PeakOf(pid int) int64 {
	peaks.mu.Lock()
	defer peaks.mu.Unlock()
	if w := peaks.programs[pid]; w != nil {
		return w.peak
	}
	return 0
}

// PeakOfGroup is what a look finds for a program with a directory that stands for its group.
func PeakOfGroup(dir string) int64 {
	const pid = 1<<22 + 1 // that of no process
	return sizesOf(map[int]*watched{pid: {group: &cgroup{dir: dir}}})[pid]
}

// MembersOf returns the ids of the processes in a directory that stands for a group.
func MembersOf(dir string) map[int]bool { return membersOf(dir) }

// KillGroup writes what ends a group.
func KillGroup(dir string) { killGroup(dir) }

// OpenCgroupsIn opens a directory as the group of this process.
func OpenCgroupsIn(dir string) error {
	_, err := newCgroups(dir, slog.New(slog.DiscardHandler))
	return err
}

// GroupPrefix begins the names of the groups of runs.
const GroupPrefix = groupPrefix

// Enable makes the controllers of a directory that stands for a group bound those within it, write standing for the kernel. It
// returns the names of those that do.
func Enable(dir string, mine bool, write func(path, text string) error) []string {
	return enable(dir, mine, write).names()
}

// A BoundGroup is a directory that stands for the group of a run, with controllers.
type BoundGroup struct {
	c *cgroups
	g *cgroup
}

// NewBoundGroup has the named controllers.
func NewBoundGroup(dir string, memory, pids bool) BoundGroup {
	return BoundGroup{&cgroups{has: controllers{memory, pids}}, &cgroup{dir: dir}}
}

// Bound bounds the group and returns what is left for its processes one by one.
func (b BoundGroup) Bound(l Limits) Limits { return b.c.bound(b.g, l) }

// Notes says which limits it came to.
func (b BoundGroup) Notes(l Limits) []string { return b.g.notes(l) }

// GroupsAfter tells whether groups are still used after starts that went well in theirs (true) or without it alone (false).
func GroupsAfter(starts ...bool) bool {
	c := &cgroups{log: slog.New(slog.DiscardHandler)}
	for _, well := range starts {
		if well {
			c.went(&cgroup{})
		} else {
			c.failed(errors.New("not now"))
		}
	}
	return !c.off
}

// SweepGroups removes what is empty and old enough at that time.
func SweepGroups(dir string, now time.Time) { (&cgroups{dir: dir}).sweep(now) }
