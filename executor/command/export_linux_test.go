package command

import "log/slog"

// What the tests of files that stand for control groups see.
var (
	CgroupDir   = cgroupDir
	RemoveGroup = removeGroup
)

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
