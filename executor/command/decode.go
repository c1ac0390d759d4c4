package command

import (
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
	t.shell, _ = o.Text("shell")
	if t.env, _ = o.TextMap("env"); len(t.env) == 0 {
		t.env = nil
	}
	t.dir, _ = o.Text("dir")
	t.stdin, _ = o.Text("stdin")
	if user, _ := o.Text("user"); user != "" {
		faults.Add("/user", user, "commands run as the user of the service; another user comes later, leave it empty")
	}
	faults.Merge("", t.checked().err)
	o.Done("kind", "command", "argv", "shell", "env", "dir", "user", "stdin")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &t, nil
}
