//go:build unix

package command

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// wrapper is what a task with a umask, a niceness or limits starts as: os/exec can set none of them between the fork and the
// program, and a library cannot start the binary it is in. It is one text for all tasks; what a task says is handed to
// it as arguments, which no shell reads. In their order: the umask, seconds of CPU before the signal and before the kill, KiB of
// address space, open files, processes, each empty where there is none; then the program and its arguments.
//
// It waits for a line on descriptor 3, says on 4 what cannot be set, and closes both as it becomes the program, whose
// id is the same. Shells do not agree on the letter of the limit of processes: it is -u for most, -p for dash and ash.
const wrapper = `
lacks() { echo "$1" >&4; exit 125; }
read -r go <&3 || exit 125
[ -z "$1" ] || umask "$1" || lacks umask
[ -z "$2" ] || { ulimit -S -t "$2" && ulimit -H -t "$3"; } 2>/dev/null || lacks cpu_time
[ -z "$4" ] || ulimit -v "$4" 2>/dev/null || lacks memory_bytes
[ -z "$5" ] || ulimit -n "$5" 2>/dev/null || lacks open_files
[ -z "$6" ] || ulimit -u "$6" 2>/dev/null || ulimit -p "$6" 2>/dev/null || lacks processes
shift 6
[ -x "$1" ] && ! [ -d "$1" ] || lacks program
exec "$@" 3<&- 4>&-
`

// cpuGrace is how long after SIGXCPU a process is killed that has used up its time.
const cpuGrace = 5 * time.Second

// wrapped reports whether something is to be set between the service and the program.
func (t *Task) wrapped() bool { return t.umask != "" || t.nice != 0 || !t.limits.none() }

// wrap returns what is to be started in place of the program, with those limits.
func (t *Task) wrap(path string, argv []string, limits Limits) (string, []string) {
	if !filepath.IsAbs(path) {
		path = "./" + path // so that it is neither an option nor looked up
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	seconds, killed := number(int64(limits.CPUTime/time.Second)), ""
	if seconds != "" {
		killed = number(int64((limits.CPUTime + cpuGrace) / time.Second))
	}
	const kib = 1 << 10
	all := []string{"sh", "-c", wrapper, "sh", t.umask, seconds, killed, number((limits.MemoryBytes + kib - 1) / kib), number(limits.OpenFiles), number(limits.Processes), path}
	return DefaultShell, append(all, argv[1:]...)
}

// A gate is the service's side of a wrapper; nil where the program is started itself.
type gate struct {
	nice            int
	goOn, told      *os.File
	childGo, childA *os.File // the other ends, until the start
}

func newGate(t *Task) (*gate, error) {
	if !t.wrapped() {
		return nil, nil
	}
	childGo, goOn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	told, childA, err := os.Pipe()
	if err != nil {
		childGo.Close()
		goOn.Close()
		return nil, err
	}
	return &gate{t.nice, goOn, told, childGo, childA}, nil
}

// files are the descriptors of the wrapper from 3 on.
func (g *gate) files() []*os.File {
	if g == nil {
		return nil
	}
	return []*os.File{g.childGo, g.childA}
}

// started closes the wrapper's ends, which it has by then or never will.
func (g *gate) started() {
	if g != nil {
		g.childGo.Close()
		g.childA.Close()
	}
}

func (g *gate) close() {
	if g != nil {
		g.goOn.Close()
		g.told.Close()
	}
}

// pass lowers the priority of the wrapper, which waits, lets it go on and waits until it has become the program or has
// ended. It returns what the wrapper lacks, empty for nothing.
func (g *gate) pass(pid int) (lacking string) {
	if g == nil {
		return ""
	}
	defer g.close()
	if g.nice != 0 && makeNicer(pid, g.nice) != nil {
		return "nice" // the wrapper ends with the gate
	}
	if _, err := g.goOn.WriteString("\n"); err != nil {
		return "" // it was ended before; how, its status tells
	}
	const most = 64 // bytes; it says one word
	word, _ := io.ReadAll(io.LimitReader(g.told, most))
	return strings.TrimSpace(string(word))
}

// lackError explains what could not be done between the service and the program.
func (t *Task) lackError(lacking, path string, who *account) error {
	switch lacking {
	case "program":
		at := path
		if dir := t.startDir(who); dir != "" && !filepath.IsAbs(path) {
			at = filepath.Join(dir, path)
		}
		err := bare(executable(at))
		if err == nil {
			err = fs.ErrPermission // not for the service, but for the user
		}
		return t.startError(path, t.startDir(who), who, err)
	case "umask", "nice":
		return fmt.Errorf("not started: its %s cannot be set", lacking)
	}
	return fmt.Errorf("not started: its limit of %s cannot be set; the service's own is lower", lacking)
}

// makeNicer adds to the niceness of a process.
func makeNicer(pid, n int) error {
	now, err := niceness(pid)
	if err != nil {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, pid, min(now+n, mostNice))
}
