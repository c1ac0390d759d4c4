//go:build unix && !linux

package command

import (
	"log/slog"
	"os"
	"runtime"
	"syscall"
)

// rssUnit is what getrusage counts: bytes on macOS, KiB on the BSDs.
var rssUnit = func() int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return 1
	}
	return 1 << 10
}()

// attributes gives the program a session of its own.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// niceness returns how nice a process is, -20 to 19 or 20.
func niceness(pid int) (int, error) {
	return syscall.Getpriority(syscall.PRIO_PROCESS, pid)
}

// pipe returns a pipe whose read end can be given deadlines. The write end blocks, as programs expect of their output.
func pipe() (read, write *os.File, err error) {
	var fds [2]int
	// No process may be started between the two steps: it would keep the pipe.
	syscall.ForkLock.RLock()
	if err := syscall.Pipe(fds[:]); err != nil {
		syscall.ForkLock.RUnlock()
		return nil, nil, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	syscall.ForkLock.RUnlock()
	return pipeFiles(fds)
}

// reap waits for the exit and takes the state. Between the two a signal may find the id free; for another
// process to have it, all ids would have to be given in that moment.
func (p *process) reap() (*os.ProcessState, error) {
	state, err := p.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	close(p.exited)
	return state, err
}

// hasExited does not look: reap takes the state in the moment of the exit.
func hasExited(int) bool { return false }

// A tree is empty where there is no way to find the descendants that left the group.
type tree struct{}

func newTree(int, string, bool, *cgroup) *tree { return &tree{} }
func (*tree) find() bool                       { return false }
func (*tree) alive() bool                      { return false }
func (*tree) signal(signal syscall.Signal)     {}

func countLeft(int, string, *cgroup) (n int, known bool) { return 0, false }

// groupLives believes what the look by signal said.
func groupLives(int) bool { return true }

// peaks has nothing to look at: there is no /proc.
var peaks sampler

type sampler struct{}

func (sampler) watch(int, *cgroup) {}

// orphans are left to the first process of the system.
var orphans orphanage

type orphanage struct{}

func (orphanage) start(start func() (*os.Process, error)) (*os.Process, error) { return start() }
func (orphanage) stopping(int)                                                 {}
func (orphanage) ended(int)                                                    {}

func becomeSubreaper(log *slog.Logger) {
	log.Info("what commands leave behind goes to the first process: this system has no other way")
}
