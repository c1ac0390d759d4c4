//go:build unix

package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// program returns the path and the arguments to start. Names without a slash are looked up in
// the PATH of the command, not of the service.
func (t *Task) program(environ []string) (path string, argv []string, err error) {
	argv = t.argv
	if argv == nil {
		shell := t.shell
		if shell == "" {
			shell = DefaultShell
		}
		argv = []string{shell, "-c", t.command}
		if t.login {
			argv = []string{shell, "-l", "-c", t.command}
		}
	}
	path = argv[0]
	if strings.ContainsRune(path, '/') {
		return path, argv, nil
	}
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		candidate := filepath.Join(dir, path)
		if filepath.IsAbs(dir) && executable(candidate) == nil {
			return candidate, argv, nil
		}
	}
	return "", nil, fmt.Errorf("%s is in no directory of PATH", t.what())
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&0o111 == 0:
		return fs.ErrPermission
	}
	return nil
}

// startError explains why a program could not be started. The system's error tells neither a
// missing directory from a missing program nor from a missing interpreter.
func (t *Task) startError(path, dir string, who *account, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno // without the path that os adds
	}
	by := "the user of the service"
	if who != nil && who.credential != nil {
		by = "the user " + who.name
	}
	if dir != "" {
		what := "the directory " + dir
		if t.dir == "" {
			what = "the home directory " + dir + " (give the task a dir)"
		}
		if info, statErr := os.Stat(dir); statErr != nil {
			return fmt.Errorf("not started: %s: %w", what, bare(statErr))
		} else if !info.IsDir() {
			return fmt.Errorf("not started: %s is no directory", dir)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
	}
	what := t.what()
	switch executable := executable(path); {
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("not started: arguments and environment together are too long for the system: %w", err)
	case errors.Is(executable, fs.ErrNotExist):
		return fmt.Errorf("not started: %s does not exist: %w", what, err)
	case errors.Is(executable, syscall.EISDIR):
		return fmt.Errorf("not started: %s is a directory: %w", what, err)
	case errors.Is(executable, fs.ErrPermission):
		return fmt.Errorf("not started: %s is not executable by %s: %w", what, by, err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("not started: %s is no executable file; a script needs #! and its interpreter in its first line: %w", what, err)
	case errors.Is(err, fs.ErrNotExist) && isScript(path):
		return fmt.Errorf("not started: the interpreter in the first line of %s does not exist: %w", what, err)
	case errors.Is(err, fs.ErrPermission) && who != nil && who.credential != nil:
		// What the service may see, the user may not.
		return fmt.Errorf("not started: %s may not execute %s, or not enter its directory: %w", by, what, err)
	}
	return fmt.Errorf("not started: %s: %w", what, err)
}

func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(file, head)
	return err == nil && bytes.Equal(head, []byte("#!"))
}
