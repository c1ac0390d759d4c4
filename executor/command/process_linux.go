package command

import (
	"os"
	"syscall"
	"unsafe"
)

const rssUnit = 1 << 10 // getrusage(2) of Linux counts KiB

// attributes gives the program a session of its own, which a job's shell with job control does not
// leave when it makes groups, and ends it with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// niceness returns how nice a process is, -20 to 19. The system call counts from 40 down to 1, so as not to return an error.
func niceness(pid int) (int, error) {
	const least = 20
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid)
	return least - n, err
}

// pipe returns a pipe whose read end can be given deadlines. The write end blocks, as programs expect of their output.
func pipe() (read, write *os.File, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	return pipeFiles(fds)
}

// The arguments of waitid(2) to wait for the end of one process and leave it as it is.
const (
	byPid   = 1 // P_PID
	leaveIt = syscall.WEXITED | syscall.WNOWAIT
)

// reap waits for the exit and takes the state. The wait itself leaves the process as it is, so that its
// id is free for others only once reaped is set.
func (p *process) reap() (*os.ProcessState, error) {
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(p.Pid), 0, leaveIt, 0, 0)
		if errno != syscall.EINTR {
			break // an error shows itself in Wait
		}
	}
	p.peak = peaks.forget(p.Pid)
	p.mu.Lock()
	defer p.mu.Unlock()
	state, err := p.Wait()
	p.reaped = true
	close(p.exited)
	return state, err
}

// hasExited looks whether a child that was not reaped has ended.
func hasExited(pid int) bool {
	var info struct { // siginfo_t, 128 bytes everywhere
		signal int32 // 0: it has not
		_      [31]int32
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(pid), uintptr(unsafe.Pointer(&info)), leaveIt|syscall.WNOHANG, 0, 0)
	return errno == 0 && info.signal != 0
}
