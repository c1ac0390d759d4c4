// Package programtest builds the real program and starts it, for tests that look at it from outside.
package programtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Build builds the program into a folder and returns its path. It takes some seconds, minutes where nothing is built yet: once a package
// is enough.
func Build(dir string) (string, error) {
	path := filepath.Join(dir, "ruqi")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/ruqi-dev/ruqi/cmd/ruqi").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, out)
	}
	return path, nil
}

// ErrEnded: the program ended before it listened.
var ErrEnded = errors.New("the program ended before it listened")

// A Process is the program in a process of its own. Its methods may be called by many goroutines.
type Process struct {
	Cmd *exec.Cmd
	// Ended is closed when the process is gone; Err is then what Cmd.Wait said.
	Ended chan struct{}
	Err   error
	first chan string // its first line; empty when it ends first
}

// Start starts a command that is or becomes the program. Its standard output is read here; everything else is as the command has it.
// The caller sees to its end.
func Start(cmd *exec.Cmd) (*Process, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = writer
	err = cmd.Start()
	_ = writer.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	p := &Process{Cmd: cmd, Ended: make(chan struct{}), first: make(chan string, 1)}
	go func() {
		defer func() { _ = reader.Close() }() // it was only read
		lines := bufio.NewReader(reader)
		line, _ := lines.ReadString('\n') // empty when it ends first
		p.first <- line
		_, _ = io.Copy(io.Discard, lines) // to its end
	}()
	go func() {
		p.Err = cmd.Wait()
		close(p.Ended)
	}()
	return p, nil
}

// Address waits until the program says where it listens, and returns that, such as http://127.0.0.1:8585; it is asked for once. ErrEnded (wrapped) when it ends
// first, another error when that takes longer than limit.
func (p *Process) Address(limit time.Duration) (string, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
		return "", fmt.Errorf("the program does not listen after %s", limit)
	case line := <-p.first:
		address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if !found {
			return "", fmt.Errorf("%w: its first line is %q", ErrEnded, line)
		}
		return address, nil
	}
}

// Kill ends the process as a loss of power would, and waits until it is gone. One that is gone already is left alone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it fails where the process has ended
	<-p.Ended
}

// Token reads the token that a service made in its data directory.
func Token(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "admin-token"))
	return strings.TrimSpace(string(text)), err
}
