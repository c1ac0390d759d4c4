package command

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// A tree is what a program started outside its own group, as far as /proc shows it. It belongs to one goroutine.
type tree struct {
	root  int
	mark  string
	group *cgroup
	since uint64 // when the program started; 0: it was gone already
	found []status
}

// status is what /proc/PID/stat says.
type status struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64 // clock ticks since boot; with the pid it names a process for good
}

// newTree looks once, before the program has heard of its end: later its children may have lost their parents. The
// caller holds the process from being reaped, unless it was.
func newTree(root int, mark string, reaped bool, group *cgroup) *tree {
	t := &tree{root: root, mark: mark, group: group}
	if !reaped {
		if s, ok := readStatus(root); ok {
			t.since = s.start
		}
	}
	t.find()
	return t
}

// find looks for what lives outside the group now and reports whether there is anything.
func (t *tree) find() bool {
	var found []status
	for _, s := range family(t.root, t.mark, t.group.members(), t.since, t.found) {
		if s.group != t.root {
			found = append(found, s)
		}
	}
	t.found = found
	return len(found) > 0
}

// alive reports whether any of those found lives.
func (t *tree) alive() bool {
	for _, s := range t.found {
		if s.lives() {
			return true
		}
	}
	return false
}

// signal sends to those found, and to no other process that has got one of their ids.
func (t *tree) signal(signal syscall.Signal) {
	for _, s := range t.found {
		if s.signal(signal) && signal == syscall.SIGTERM {
			s.signal(syscall.SIGCONT)
		}
	}
}

// signal sends to the process, and to no other that has got its id, and reports whether it was there and could be sent to.
func (s status) signal(signal syscall.Signal) bool {
	// The handle is a pidfd where the kernel has them: what it names stays the same between
	// the look and the signal.
	process, err := os.FindProcess(s.pid)
	if err != nil {
		return false
	}
	defer process.Release()
	now, ok := readStatus(s.pid)
	return ok && now.start == s.start && process.Signal(signal) == nil
}

// lives reports whether the process, and no other with its id, has not ended.
func (s status) lives() bool {
	now, ok := readStatus(s.pid)
	return ok && now.start == s.start && !now.ended()
}

// ended tells what is no more than an entry, which its parent has not asked for yet.
func (s status) ended() bool { return s.state == 'Z' || s.state == 'X' }

// countLeft counts what a program that has ended left behind.
func countLeft(root int, mark string, group *cgroup) (n int, known bool) {
	return len(family(root, mark, group.members(), 0, nil)), true
}

// family returns the living processes that belong to a program without the program itself: those in its session or
// group, those in its control group or with its mark in their environment, orphans that can be of no other, those known from an earlier look, and all their descendants. since is
// when it started; 0 where that is not known.
func family(root int, mark string, group map[int]bool, since uint64, known []status) []status {
	all := slices.DeleteFunc(processes(), func(s status) bool { return s.pid == root || s.start < since })
	// Where there is a control group, it has them all.
	adopted := map[int]bool{}
	if group == nil {
		adopted = orphans.of(root, mark, all)
	}
	members := map[int]uint64{}
	if since != 0 {
		if s, ok := readStatus(root); ok && s.start == since {
			members[root] = since // its children are its own while it has its id
		}
	}
	return withDescendants(all, members, known, func(s status) bool {
		return s.session == root || s.group == root || group[s.pid] || adopted[s.pid] || holds(environOf(s.pid), mark)
	})
}

// withDescendants returns those of all that live and belong, were known from an earlier look, or descend from such or from
// the members, by their ids and starts. The first process, this one and, through it alone, its children are never among them.
func withDescendants(all []status, members map[int]uint64, known []status, belongs func(status) bool) []status {
	before := make(map[int]uint64, len(known)) // pid to start
	for _, s := range known {
		before[s.pid] = s.start
	}
	self := os.Getpid()
	var out, rest []status
	for _, s := range all {
		start, old := before[s.pid]
		switch {
		case s.pid == self, s.pid == 1, s.ended():
		case old && start == s.start, belongs(s):
			members[s.pid] = s.start
			out = append(out, s)
		default:
			rest = append(rest, s)
		}
	}
	for grown := true; grown; {
		grown = false
		next := rest[:0]
		for _, s := range rest {
			// A parent that is younger has an id that was another's when the child was looked at.
			start, member := members[s.parent]
			if !member || s.start < start {
				next = append(next, s)
				continue
			}
			members[s.pid], grown = s.start, true
			out = append(out, s)
		}
		rest = next
	}
	return out
}

// groupLives reports whether the group has a member that has not ended.
func groupLives(group int) bool {
	return slices.ContainsFunc(processes(), func(s status) bool {
		return s.group == group && !s.ended()
	})
}

// processes reads all of /proc; what ends in the meantime is left out.
func processes() []status {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make([]status, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStatus(pid); ok {
			all = append(all, s)
		}
	}
	return all
}

func readStatus(pid int) (status, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	// The name, in parentheses, may hold anything, parentheses and blanks included.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return status{}, false
	}
	// proc(5) counts from 1 with the pid; after the name come the fields 3 and up.
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 20 {
		return status{}, false
	}
	s := status{pid: pid, state: fields[0][0]}
	s.parent, _ = strconv.Atoi(string(fields[1]))
	s.group, _ = strconv.Atoi(string(fields[2]))
	s.session, _ = strconv.Atoi(string(fields[3]))
	s.start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return s, err == nil
}

// mostEnviron bounds what is read of a process's environment: twice what a task may have of env and params together
// with a service's own. A program that starts others seldom moves what it was given first far back.
const mostEnviron = 512 << 10

// environOf returns what the process was started with, entries ended by NUL; nothing where it is not allowed to look.
func environOf(pid int) []byte {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	defer file.Close()
	data, _ := io.ReadAll(io.LimitReader(file, mostEnviron))
	return data
}

// holds reports whether an environment has exactly the entry.
func holds(environ []byte, entry string) bool {
	for e := range bytes.SplitSeq(environ, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}
