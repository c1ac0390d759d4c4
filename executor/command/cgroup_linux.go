package command

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	groupPrefix = "ruqi-run-"
	// sweepAge is how old a group is that another service has surely filled or left.
	sweepAge = time.Minute
	// mostGroupDepth bounds how deep groups within a run's group are looked for.
	mostGroupDepth = 16
)

// A cgroups makes a control group for each run, within the group that this process is in; nil makes none. A process
// cannot leave its group without the right to write in another one, whatever it does to its session, parents and environment.
// Where the service may have controllers, the group bounds the run as a whole.
type cgroups struct {
	dir string
	has controllers
	log *slog.Logger

	mu      sync.Mutex      // guards all below
	off     bool            // the last starts in groups failed, and went well without
	fails   int             // how many of the last did
	left    map[string]bool // directories of runs that have ended, which could not be removed yet
	timer   *time.Timer     // of the next look at those; nil until there was one
	planned bool
	wait    time.Duration
}

// A cgroup is that of one run; nil is none.
type cgroup struct {
	dir string
	fd  int
}

// openCgroups returns the groups of this process, if it may make any, and tells the log once what it found.
func openCgroups(log *slog.Logger) *cgroups {
	dir, mine, err := ownCgroup()
	var c *cgroups
	if err == nil {
		c, err = newCgroups(dir, log)
	}
	if err != nil {
		log.Info("commands are found by their session, parents and environment: there are no control groups to use", "reason", err.Error())
		return nil
	}
	c.has = enable(dir, mine, writeGroup)
	log.Info("each run of a command has a control group", "path", dir, "bounds", c.has.names())
	return c
}

// newCgroups tries that a group can be made in a directory, and removes what earlier services left there.
func newCgroups(dir string, log *slog.Logger) (*cgroups, error) {
	probe := filepath.Join(dir, groupPrefix+"probe-"+rand.Text())
	if err := os.Mkdir(probe, 0o755); err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(probe) }() // the sweep of a later start takes it
	if _, err := os.Stat(filepath.Join(probe, "cgroup.procs")); err != nil {
		return nil, err
	}
	c := &cgroups{dir: dir, log: log, left: map[string]bool{}}
	c.sweep(time.Now())
	return c, nil
}

// sweep removes the empty groups that services which were killed left. One with processes stays: they are of a run that
// is lost, which EndLost ends, or were left behind by one that ended.
func (c *cgroups) sweep(now time.Time) {
	entries, err := os.ReadDir(c.dir) // no pattern: names of units may have backslashes
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), groupPrefix) && now.Sub(info.ModTime()) >= sweepAge {
			removeGroup(filepath.Join(c.dir, entry.Name()))
		}
	}
}

// name is that of a run's group, made of nothing but the run's row, as its mark is.
func (c *cgroups) name(run int64, mark string) string {
	sum := sha256.Sum256([]byte(mark))
	return filepath.Join(c.dir, fmt.Sprintf("%s%d-%x", groupPrefix, run, sum[:8]))
}

// make returns a new group for a run; nil where there is none to have.
func (c *cgroups) make(run int64, mark string) *cgroup {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	off := c.off
	c.mu.Unlock()
	if off {
		return nil
	}
	dir := c.name(run, mark)
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		var fd int
		if fd, err = syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err == nil {
			return &cgroup{dir, fd}
		}
		removeGroup(dir)
	}
	c.failed(err)
	return nil
}

// mostFails is how many starts on end may fail in their groups and go well without, before it is taken for a fault of the groups: the
// system may be short of something for a moment, or a program be replaced in it.
const mostFails = 3

// failed notes a start that went well without its group alone, or a group that could not be made. It turns the groups off after some.
func (c *cgroups) failed(err error) {
	c.mu.Lock()
	c.fails++
	first := !c.off && c.fails >= mostFails
	c.off = c.off || first
	c.mu.Unlock()
	if first {
		c.log.Warn("control groups cannot be used any more; commands are found by their session, parents and environment", "error", err.Error())
	}
}

// went notes a start that went well in its group; nil: it had none.
func (c *cgroups) went(g *cgroup) {
	if g != nil {
		c.mu.Lock()
		c.fails = 0
		c.mu.Unlock()
	}
}

// into has a process start in the group.
func (g *cgroup) into(attributes *syscall.SysProcAttr) {
	if g != nil {
		attributes.UseCgroupFD, attributes.CgroupFD = true, g.fd
	}
}

// release gives the group up once its run has ended; what the run left behind keeps it until it is empty.
func (c *cgroups) release(g *cgroup) {
	if g == nil {
		return
	}
	syscall.Close(g.fd)
	if removeGroup(g.dir) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left[g.dir] = true
	c.plan(lookEvery)
}

// plan sees that there is a look at what is left, unless there is one sooner. The caller holds mu.
func (c *cgroups) plan(wait time.Duration) {
	if c.planned && c.wait <= wait {
		return
	}
	c.wait, c.planned = wait, true
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.again)
	} else {
		c.timer.Reset(wait)
	}
}

// again tries to remove what is left, and comes again less often while there is any.
func (c *cgroups) again() {
	c.mu.Lock()
	c.planned = false
	dirs := slices.Collect(maps.Keys(c.left))
	c.mu.Unlock()
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !removeGroup(dir) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, dir := range dirs {
		delete(c.left, dir)
	}
	if len(c.left) > 0 {
		c.plan(min(2*c.wait, longestLook))
	}
}

// populated reports whether a process lives in the group or in those within it.
func (g *cgroup) populated() bool {
	if g == nil {
		return false
	}
	data, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err == nil && bytes.Contains(data, []byte("populated 1\n"))
}

// removeGroup removes a group and those within it, as far as they are empty, and reports whether it is gone.
func removeGroup(dir string) bool {
	dirs := groupsBelow(dir)
	slices.Reverse(dirs) // the inner ones first
	gone := true
	for _, d := range dirs {
		err := syscall.Rmdir(d)
		gone = err == nil || errors.Is(err, fs.ErrNotExist)
	}
	return gone
}

// groupsBelow lists a group and those that its processes made within it, the outer ones first.
func groupsBelow(dir string) []string {
	all := []string{dir}
	for depth, next := 0, all; depth < mostGroupDepth && len(next) > 0; depth++ {
		var inner []string
		for _, d := range next {
			entries, err := os.ReadDir(d)
			if err != nil {
				continue
			}
			for _, entry := range entries {
				if entry.IsDir() {
					inner = append(inner, filepath.Join(d, entry.Name()))
				}
			}
		}
		all, next = append(all, inner...), inner
	}
	return all
}

// members returns the ids of the processes in the group and those within it.
func (g *cgroup) members() map[int]bool {
	if g == nil {
		return nil
	}
	return membersOf(g.dir)
}

func membersOf(dir string) map[int]bool {
	all := map[int]bool{}
	for _, d := range groupsBelow(dir) {
		data, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		if err != nil {
			continue // removed, or of threads only: then they are of a process that is listed above
		}
		for line := range strings.Lines(string(data)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
				all[pid] = true
			}
		}
	}
	return all
}

// kill ends all processes in the group at once, where the kernel can (5.14 and later).
func (g *cgroup) kill() {
	if g != nil {
		killGroup(g.dir)
	}
}

func killGroup(dir string) {
	file, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return // the members are killed one by one
	}
	defer file.Close()
	_, _ = file.WriteString("1")
}

// ownCgroup returns the directory of the group that this process is in, and whether it is the service's to divide.
func ownCgroup() (dir string, mine bool, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false, err
	}
	if dir, err = cgroupDir(mounts, own); err != nil {
		return "", false, err
	}
	return dir, delegated(dir, own), nil
}

// cgroupDir finds a group's directory in what /proc says of mounts and of a process.
func cgroupDir(mounts, own []byte) (string, error) {
	path := ""
	for line := range bytes.Lines(own) {
		// The hierarchy of version 2 has the number 0 and no name.
		if rest, ok := bytes.CutPrefix(bytes.TrimRight(line, "\n"), []byte("0::")); ok {
			path = string(rest)
		}
	}
	switch {
	case path == "":
		return "", errors.New("the system has no control groups of version 2")
	case strings.HasPrefix(path, "/.."):
		return "", errors.New("the control group of this process is outside of what it may see")
	}
	for line := range strings.Lines(string(mounts)) {
		// 41 31 0:38 ROOT POINT OPTIONS … - cgroup2 SOURCE OPTIONS
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !found || !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		root, point := fields[3], fields[4]
		if strings.HasPrefix(root, "/..") {
			continue // it shows what is outside of what this process may see
		}
		below, err := filepath.Rel(root, path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue // this mount shows another part of the tree
		}
		return filepath.Join(unescape(point), below), nil
	}
	return "", errors.New("no control groups of version 2 are mounted")
}

// unescape reads a path of mountinfo, in which blanks and the like are written as \040.
func unescape(text string) string {
	for _, pair := range [][2]string{{`\040`, " "}, {`\011`, "\t"}, {`\012`, "\n"}, {`\134`, `\`}} {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}
