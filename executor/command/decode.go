package command

import (
	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/internal/strict"
)

// Decode reads a task. Its error is an *ruqi.InvalidError with every fault. An
// empty text is the same as none.
func (e *Executor) Decode(data []byte) (ruqi.Task, error) {
	object, err := strict.Read(data)
	if err != nil {
		return nil, err
	}
	object.Kind(kind)
	var t Task
	// A member of the wrong type has its fault already. A stand-in for it keeps
	// the check of the task from telling a second one.
	const standIn = "-"
	var ok bool
	if t.command, ok = object.Text("command"); !ok && object.Has("command") {
		t.command = standIn
	}
	if t.argv, ok = object.Texts("argv"); !ok && object.Has("argv") {
		t.argv = []string{standIn}
	}
	if len(t.argv) == 0 && t.command != "" {
		t.argv = nil
	}
	t.shell, _ = object.Text("shell")
	if t.env, _ = object.TextMap("env"); len(t.env) == 0 {
		t.env = nil
	}
	t.dir, _ = object.Text("dir")
	t.stdin, _ = object.Text("stdin")
	if user, _ := object.Text("user"); user != "" {
		object.Faults.Add("/user", user, "commands run as the user of the service; another user comes later, leave it empty")
	}
	object.Faults.Merge("", t.checked().err)
	if err := object.Done("kind", "command", "argv", "shell", "env", "dir", "user", "stdin"); err != nil {
		return nil, err
	}
	return &t, nil
}
