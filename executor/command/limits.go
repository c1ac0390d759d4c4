package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// Limits bound what the processes of a task may take. Zero is no bound beyond that of the service. How they are kept to is
// said in the package's comment.
type Limits struct {
	// CPUTime is the time on the CPU that one process may use, in whole seconds. At its end the process gets SIGXCPU, which
	// ends it unless it takes the signal; five seconds later it is killed.
	CPUTime time.Duration
	// MemoryBytes is the memory that the run's processes may use together, without swap, where it has a control group that bounds
	// memory (Options.Cgroups): beyond it they are killed. Elsewhere it is the address space that one process may have; what it asks for beyond fails.
	MemoryBytes int64
	// OpenFiles is how many files one process may hold open.
	OpenFiles int64
	// Processes is how many processes and threads the run may have, where it has a control group that bounds them. Elsewhere it is how many
	// the task's user may have, those of other tasks counted in; root is not bound by it then.
	Processes int64
}

// Bounds of what can be asked for.
const (
	mostNice = 19
	mostMask = 0o777
	mostCPU  = 400 * duration.Day // longer than a leap year: nothing real takes longer
	// leastMemory is below any program; it catches numbers that were meant in other units.
	leastMemory = 1 << 20
	mostMemory  = 1 << 53 // what every reader of JSON reads right
	// leastFiles is what a shell and the loader of programs need.
	leastFiles    = 16
	mostFiles     = 1 << 30
	mostProcesses = 1 << 22 // the most ids of processes that Linux has
	maskDigits    = 3
	mostUser      = 255 // LOGIN_NAME_MAX of Linux, without its NUL
)

// none reports that nothing is bounded.
func (l Limits) none() bool { return l == Limits{} }

// limitsDocument is the JSON of limits; what is not bounded is left out.
type limitsDocument struct {
	CPUTime     string `json:"cpu_time,omitempty"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	OpenFiles   int64  `json:"open_files,omitempty"`
	Processes   int64  `json:"processes,omitempty"`
}

func (l Limits) document() *limitsDocument {
	if l.none() {
		return nil
	}
	d := &limitsDocument{MemoryBytes: l.MemoryBytes, OpenFiles: l.OpenFiles, Processes: l.Processes}
	if l.CPUTime != 0 {
		d.CPUTime = duration.Format(l.CPUTime)
	}
	return d
}

// decodeLimits reads the member limits.
func decodeLimits(data []byte, faults *ruqi.Faults) Limits {
	var l Limits
	report := func(pointer, value, format string, args ...any) {
		faults.Add("/limits"+pointer, value, format, args...)
	}
	o, err := object.Read(data, report)
	if err != nil {
		report("", string(data), "%v", err)
		return l
	}
	// Zero would be taken for no bound, which is not what it looks like.
	var given bool
	if l.CPUTime, given = object.Parse(o, "cpu_time", `a text such as "30s"`, duration.Parse); given && l.CPUTime == 0 {
		report("/cpu_time", "0s", "must be longer than nothing; leave it out for no bound")
	}
	for name, into := range map[string]*int64{"memory_bytes": &l.MemoryBytes, "open_files": &l.OpenFiles, "processes": &l.Processes} {
		if *into, given = o.Int(name); given && *into == 0 {
			report("/"+name, "0", "must be at least 1; leave it out for no bound")
		}
	}
	o.Done("cpu_time", "memory_bytes", "open_files", "processes")
	return l
}

func (l Limits) check(faults *ruqi.Faults) {
	if l.CPUTime != 0 && (l.CPUTime < time.Second || l.CPUTime > mostCPU || l.CPUTime%time.Second != 0) {
		faults.Add("/limits/cpu_time", l.CPUTime.String(), "%s; accepted are whole seconds from 1s to %s", l.CPUTime, duration.Format(mostCPU))
	}
	within := func(name string, n, least, most int64) {
		if n != 0 && (n < least || n > most) {
			faults.Add("/limits/"+name, strconv.FormatInt(n, 10), "out of range (%d-%d)", least, most)
		}
	}
	within("memory_bytes", l.MemoryBytes, leastMemory, mostMemory)
	within("open_files", l.OpenFiles, leastFiles, mostFiles)
	within("processes", l.Processes, 1, mostProcesses)
}

// checkStart checks what is done between the service and the program, and brings the umask to its one form.
func (t *Task) checkStart(faults *ruqi.Faults) {
	if t.user != "" && !validUser(t.user) {
		faults.Add("/user", t.user, "not a name of a user")
	}
	if t.umask != "" {
		mask, err := parseUmask(t.umask)
		if err != nil {
			faults.Add("/umask", t.umask, "%v", err)
		} else {
			t.umask = mask
		}
	}
	if t.nice < 0 || t.nice > mostNice {
		faults.Add("/nice", strconv.Itoa(t.nice), "out of range (0-%d): %d", mostNice, t.nice)
	}
	t.limits.check(faults)
}

// validUser accepts what may stand in the first column of a passwd file and can be shown.
func validUser(name string) bool {
	plain := func(r rune) bool { return r > ' ' && r != 0x7f && r != ':' && r != '/' && r != '\ufffd' }
	return len(name) <= mostUser && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0
}

// parseUmask returns the mask in three octal digits; empty stays empty.
func parseUmask(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	mask, err := strconv.ParseUint(text, 8, 16)
	if err != nil || len(text) > maskDigits+1 || mask > mostMask {
		return "", fmt.Errorf(`%q is not a umask in octal digits such as "022"`, text)
	}
	return fmt.Sprintf("%0*o", maskDigits, mask), nil
}
