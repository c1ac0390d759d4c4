package command

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/argv"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// Bounds of a task.
const (
	// MostText bounds, in bytes, the command, all of argv, all of env, and stdin,
	// each for itself. A Linux kernel takes 128 KiB in one argument; half of it leaves room.
	MostText = 64 << 10
	// MostEnv bounds the entries of env.
	MostEnv = 256
	// mostPath bounds dir and shell: PATH_MAX of Linux.
	mostPath = 4096
)

// DefaultShell is the shell of a task that names none. On Windows that is
// the program named by ComSpec.
const DefaultShell = "/bin/sh"

const kind = "command"

// A Task starts a program. It is immutable; the With methods return changed copies.
type Task struct {
	command string
	argv    []string // nil: command
	line    string   // what argv was split from; empty: it was given
	shell   string   // empty: DefaultShell
	env     map[string]string
	dir     string
	stdin   string
	user    string // empty: that of the service
	umask   string // octal, three digits; empty: that of the service
	nice    int
	login   bool
	limits  Limits
	err     error // of check
}

var _ ruqi.Task = (*Task)(nil)

// Shell returns a task that gives text to a shell: DefaultShell -c text.
func Shell(text string) *Task {
	return (&Task{command: text}).checked()
}

// Argv returns a task that starts a program without a shell. The first argument is the
// program: a path, or a name that is looked up in PATH.
func Argv(argv ...string) *Task {
	return (&Task{argv: append([]string{}, argv...)}).checked()
}

// Line returns a task that starts a program without a shell. The text is split into arguments as a shell splits words, and nothing in
// it is expanded; the task is shown as it was written.
func Line(text string) *Task {
	return (&Task{line: text}).checked()
}

// WithShell returns the task with another shell: a path or a name looked up in PATH.
// It must take the arguments -c TEXT.
func (t *Task) WithShell(shell string) *Task {
	c := *t
	c.shell = shell
	return c.checked()
}

// WithEnv returns the task with env as its own part of the environment, in place of what it had.
func (t *Task) WithEnv(env map[string]string) *Task {
	c := *t
	c.env = maps.Clone(env)
	return c.checked()
}

// WithDir returns the task with a working directory, as a whole path. Empty, it is the service's; a relative one is
// refused when its job is added or its task changed. One that was stored before is relative to the service's.
func (t *Task) WithDir(dir string) *Task {
	c := *t
	c.dir = dir
	return c.checked()
}

// WithStdin returns the task with a text for its standard input. Empty: nothing to read.
func (t *Task) WithStdin(text string) *Task {
	c := *t
	c.stdin = text
	return c.checked()
}

// WithUser returns the task as another user: its process has the user's id, group and supplementary groups, and HOME, USER,
// LOGNAME and SHELL from the user's entry in the system. Only a service that runs as root can be another user than itself; that
// and whether there is such a user is looked at when a job is added and again at each run. Empty: the user of the service.
func (t *Task) WithUser(name string) *Task {
	c := *t
	c.user = name
	return c.checked()
}

// WithUmask returns the task with a umask in octal, such as "022": the rights that files it makes shall not have. Empty: that of
// the service.
func (t *Task) WithUmask(mask string) *Task {
	c := *t
	c.umask = mask
	return c.checked()
}

// WithNice returns the task with a lower priority for the CPU, 1 to 19, as nice(1) has it: it is added to that of the service, and
// 19 is the most. 0: as the service.
func (t *Task) WithNice(n int) *Task {
	c := *t
	c.nice = n
	return c.checked()
}

// WithLogin returns the task in the environment that its user has after a login; see the package's comment.
func (t *Task) WithLogin() *Task {
	c := *t
	c.login = true
	return c.checked()
}

// WithLimits returns the task with bounds of what its processes may take, in place of those it had.
func (t *Task) WithLimits(limits Limits) *Task {
	c := *t
	c.limits = limits
	return c.checked()
}

// Err returns what is wrong with the task: an *ruqi.InvalidError with every fault,
// the same that Decode would return for its JSON; nil when nothing is.
func (t *Task) Err() error { return t.err }

// Kind returns "command".
func (t *Task) Kind() string { return kind }

// Needs returns "command".
func (t *Task) Needs() string { return kind }

// String returns the command, the line, or argv quoted for a shell. The environment and the
// input, where secrets belong, are left out.
func (t *Task) String() string {
	switch {
	case t.line != "":
		return t.line
	case t.argv == nil:
		return t.command
	}
	quoted := make([]string, len(t.argv))
	for i, arg := range t.argv {
		quoted[i] = argv.Quote(arg)
	}
	return strings.Join(quoted, " ")
}

// document is the JSON of a task; what is default is left out.
type document struct {
	Kind    string            `json:"kind"`
	Command string            `json:"command,omitempty"`
	Argv    []string          `json:"argv,omitempty"`
	Line    string            `json:"line,omitempty"`
	Shell   string            `json:"shell,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	Stdin   string            `json:"stdin,omitempty"`
	User    string            `json:"user,omitempty"`
	Umask   string            `json:"umask,omitempty"`
	Nice    int               `json:"nice,omitempty"`
	Login   bool              `json:"login,omitempty"`
	Limits  *limitsDocument   `json:"limits,omitempty"`
}

// MarshalJSON returns the canonical JSON: what is default is left out, env is in
// the order of its names. It returns Err if that is not nil.
func (t *Task) MarshalJSON() ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	given := t.argv
	if t.line != "" {
		given = nil
	}
	return json.Marshal(document{kind, t.command, given, t.line, t.shell, t.env, t.dir, t.stdin, t.user, t.umask, t.nice, t.login, t.limits.document()})
}

// checked notes in err what is wrong with the task.
func (t *Task) checked() *Task {
	var faults ruqi.Faults
	if t.shell == DefaultShell {
		t.shell = "" // the default, given or not, is one task
	}
	t.checkProgram(&faults)
	t.checkEnv(&faults)
	text(&faults, "/dir", t.dir, mostPath)
	text(&faults, "/stdin", t.stdin, MostText)
	t.checkStart(&faults)
	t.err = faults.Err()
	return t
}

func (t *Task) checkProgram(faults *ruqi.Faults) {
	if t.line != "" {
		t.checkLine(faults)
		return
	}
	if len(t.argv) == 0 {
		switch {
		case t.argv != nil:
			faults.Add("/argv", "", "empty; its first element is the program")
		case strings.TrimSpace(t.command) == "":
			faults.Add("/command", t.command, "give a command, or argv")
		}
		text(faults, "/command", t.command, MostText)
		text(faults, "/shell", t.shell, mostPath)
		return
	}
	if t.command != "" {
		faults.Add("/argv", "", "give either command or argv, not both")
	}
	if t.shell != "" {
		faults.Add("/shell", t.shell, "argv is started without a shell; leave it out or give a command")
	}
	if t.argv[0] == "" {
		faults.Add("/argv/0", "", "empty; it is the program")
	}
	total := 0
	for i, arg := range t.argv {
		text(faults, object.Pointer("argv", strconv.Itoa(i)), arg, MostText)
		total += len(arg)
	}
	if total > MostText {
		faults.Add("/argv", "", "%d bytes in all; at most %d", total, MostText)
	}
}

// checkLine splits the line.
func (t *Task) checkLine(faults *ruqi.Faults) {
	text(faults, "/line", t.line, MostText)
	if t.shell != "" {
		faults.Add("/shell", t.shell, "a line is started without a shell; leave it out or give a command")
	}
	words, err := argv.Split(t.line)
	switch {
	case err != nil:
		faults.Add("/line", "", "%v", err)
	case len(words) == 0 || words[0] == "":
		faults.Add("/line", "", "empty; its first word is the program")
	}
	t.argv = words
}

func (t *Task) checkEnv(faults *ruqi.Faults) {
	if len(t.env) > MostEnv {
		faults.Add("/env", "", "%d entries; at most %d", len(t.env), MostEnv)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(t.env)) {
		pointer := object.Pointer("env", name)
		if !validName(name) {
			faults.Add(pointer, name, "not a name of a variable: letters, digits and _ are, not beginning with a digit")
		}
		text(faults, pointer, t.env[name], MostText)
		total += len(name) + len(t.env[name])
	}
	if total > MostText {
		faults.Add("/env", "", "%d bytes in all; at most %d", total, MostText)
	}
}

// text checks a text that a process can be given. Its value is not repeated in the fault: it may be long or secret.
func text(faults *ruqi.Faults, pointer, value string, most int) {
	switch {
	case len(value) > most:
		faults.Add(pointer, "", "%d bytes; at most %d", len(value), most)
	case strings.IndexByte(value, 0) >= 0:
		faults.Add(pointer, "", "holds a NUL byte, which no process can be given")
	case !utf8.ValidString(value):
		faults.Add(pointer, "", "not valid UTF-8")
	}
}

func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
