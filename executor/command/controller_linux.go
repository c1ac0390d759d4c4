package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup is the group within its own that the service moves to where controllers are to be had: the kernel enables none for
// the groups in one that has processes itself.
const ownGroup = "ruqi-service"

// controllers are what bounds a run as a whole, all its processes together.
type controllers struct{ memory, pids bool }

func (c controllers) names() []string {
	var names []string
	if c.memory {
		names = append(names, "memory")
	}
	if c.pids {
		names = append(names, "pids")
	}
	return names
}

// readControllers reads a list of them, as cgroup.controllers and cgroup.subtree_control are. What cannot be read has none.
func readControllers(path string) controllers {
	data, err := os.ReadFile(path)
	if err != nil {
		return controllers{}
	}
	names := strings.Fields(string(data))
	return controllers{slices.Contains(names, "memory"), slices.Contains(names, "pids")}
}

// A groupWriter writes into a file of a group. It is a value so that tests can stand in for the kernel.
type groupWriter func(path, text string) error

func writeGroup(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// enable makes the controllers of a group bound those within it, and returns which do. Where the group has this process in it, that
// moves to one of its own, unless other processes are left there: then all is as it was before. Only a group that was handed to
// the service may be changed so; mine says whether this is one.
func enable(dir string, mine bool, write groupWriter) controllers {
	control := filepath.Join(dir, "cgroup.subtree_control")
	there := readControllers(filepath.Join(dir, "cgroup.controllers"))
	if on := readControllers(control); on == there || !mine {
		return on
	}
	wish := "+" + strings.Join(there.names(), " +")
	err := write(control, wish)
	if errors.Is(err, syscall.EBUSY) {
		own := filepath.Join(dir, ownGroup)
		if err = os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return readControllers(control)
		}
		const self = "0" // the process that writes it
		if err = write(filepath.Join(own, "cgroup.procs"), self); err == nil {
			if err = write(control, wish); err != nil {
				_ = write(filepath.Join(dir, "cgroup.procs"), self) // back
			}
		}
		if err != nil {
			_ = syscall.Rmdir(own)
		}
	}
	return readControllers(control)
}

// delegated reports whether a group was handed to the service, to do with what is below it as it likes: by systemd, which marks
// the group, or as the root of a container's name space.
func delegated(dir string, own []byte) bool {
	if bytes.Contains(own, []byte("0::/\n")) {
		_, err := os.Stat(filepath.Join(dir, "cgroup.events")) // the root of the whole system has none
		return err == nil
	}
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		value := make([]byte, 1)
		if n, err := syscall.Getxattr(dir, name, value); err == nil && n == 1 && value[0] == '1' {
			return true
		}
	}
	return false
}

// bound bounds a run's group and returns the limits that are left for its processes one by one.
func (c *cgroups) bound(g *cgroup, l Limits) Limits {
	if g == nil {
		return l
	}
	if c.has.memory && l.MemoryBytes != 0 && writeGroup(filepath.Join(g.dir, "memory.max"), strconv.FormatInt(l.MemoryBytes, 10)) == nil {
		// Else what is too much would be written to disk, and one process killed where the others wait for it. Without swap there is no such file.
		_ = writeGroup(filepath.Join(g.dir, "memory.swap.max"), "0")
		_ = writeGroup(filepath.Join(g.dir, "memory.oom.group"), "1")
		l.MemoryBytes = 0
	}
	if c.has.pids && l.Processes != 0 && writeGroup(filepath.Join(g.dir, "pids.max"), strconv.FormatInt(l.Processes, 10)) == nil {
		l.Processes = 0
	}
	return l
}

// notes says which limits the run came to; they tell why it ended as it did.
func (g *cgroup) notes(l Limits) []string {
	if g == nil {
		return nil
	}
	var notes []string
	// Others may kill for memory, too: the host, and the group that this one is in. Then the limit here was not met.
	if l.MemoryBytes != 0 && g.happened("memory.events", "oom_kill") && g.happened("memory.events", "oom") {
		notes = append(notes, fmt.Sprintf("it was killed at its limit of memory (%d bytes)", l.MemoryBytes))
	}
	if l.Processes != 0 && g.happened("pids.events", "max") {
		notes = append(notes, fmt.Sprintf("it came to its limit of processes (%d)", l.Processes))
	}
	return notes
}

// happened reports whether a count of a group's events is not zero.
func (g *cgroup) happened(file, event string) bool {
	data, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == event {
			return count != "0"
		}
	}
	return false
}
