package command

import (
	"math"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// Decode reads a task. Its error is an *ruqi.InvalidError with every fault. An
// empty text is the same as none.
func (e *Executor) Decode(data []byte) (ruqi.Task, error) {
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		faults.Add("", string(data), "%v", err)
		return nil, faults.Err()
	}
	o.Kind(kind)
	var t Task
	// A member of the wrong type has its fault already. A stand-in for it keeps
	// the check of the task from telling a second one.
	const standIn = "-"
	var ok bool
	if t.command, ok = o.Text("command"); !ok && o.Has("command") {
		t.command = standIn
	}
	if t.argv, ok = o.Texts("argv"); !ok && o.Has("argv") {
		t.argv = []string{standIn}
	}
	if len(t.argv) == 0 && t.command != "" {
		t.argv = nil
	}
	if t.line, ok = o.Text("line"); !ok && o.Has("line") {
		t.line = standIn
	} else if t.line != "" && (t.command != "" || len(t.argv) > 0) {
		faults.Add("/line", "", "give one of command, argv and line")
		t.line = ""
	}
	t.shell, _ = o.Text("shell")
	if t.env, _ = o.TextMap("env"); len(t.env) == 0 {
		t.env = nil
	}
	t.dir, _ = o.Text("dir")
	t.stdin, _ = o.Text("stdin")
	t.user, _ = o.Text("user")
	t.umask, _ = object.Parse(o, "umask", `a text such as "022"`, parseUmask)
	nice, _ := o.Int("nice")
	t.nice = int(min(max(nice, math.MinInt32), math.MaxInt32)) // what is out of range stays so
	t.login, _ = o.Bool("login")
	if raw, given := o.Raw("limits"); given {
		t.limits = decodeLimits(raw, &faults)
	}
	faults.Merge("", t.checked().err)
	o.Done("kind", "command", "argv", "line", "shell", "env", "dir", "stdin", "user", "umask", "nice", "login", "limits")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &t, nil
}
