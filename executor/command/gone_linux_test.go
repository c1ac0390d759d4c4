package command

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// leader starts a program that leads a group of its own.
func leader(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A group that was seen empty is gone for good: a system that counts its processes around gives the number to another, whose
// group must not be ended for it.
func TestANumberThatComesAgainIsAnothersGroup(t *testing.T) {
	first := leader(t, "/bin/true")
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	p := &process{Process: first.Process, reaped: true, exited: make(chan struct{}), stopped: make(chan struct{})}
	close(p.exited)
	if p.groupAlive() {
		t.Fatal("the group of a program that has ended alone is alive")
	}

	second := leader(t, "/bin/sleep", "60")
	p.Process = second.Process // as if it had got the first one's number
	if p.groupAlive() {
		t.Error("another's group is taken for one that was gone")
	}
	p.kill(&tree{root: p.Pid, mark: "a mark that no process has", since: 1 << 62})
	time.Sleep(50 * time.Millisecond) // a signal, had there been one, would have been heard
	if err := second.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another's process was ended: %v", err)
	}
	_ = second.Process.Kill() // it is ours, and its end is asked below
	var exit *exec.ExitError
	if err := second.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
}
