//go:build !unix

package command

import (
	"errors"
	"os/exec"
	"path/filepath"
)

// program returns the path and the arguments to start. Names without a separator are looked up in the
// PATH of the service, as the system has it.
func (t *Task) program(environ []string) (path string, argv []string, err error) {
	argv = t.argv
	switch {
	case argv != nil:
	case t.shell != "":
		argv = []string{t.shell, "-c", t.command}
	default:
		shell := lookup(environ, "ComSpec")
		if shell == "" {
			shell = "cmd.exe"
		}
		argv = []string{shell, "/d", "/s", "/c", t.command}
	}
	if filepath.Base(argv[0]) != argv[0] {
		return argv[0], argv, nil // of the directory of the task
	}
	path, err = exec.LookPath(argv[0])
	var wrong *exec.Error
	if errors.As(err, &wrong) {
		err = wrong.Err // without the program's name
	}
	return path, argv, err
}
