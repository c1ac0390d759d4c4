package command

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// orphans is one for the process, as its children are.
var orphans = orphanage{adopting: sync.OnceValue(adopts), programs: map[int]struct{}{}}

// An orphanage reaps what programs left behind, where that becomes this process's own child once it has lost its
// parents: as the first process of a container, or as a subreaper. There nobody else would, and every daemon that a job
// started would be a zombie for ever.
//
// It takes a child for an orphan if it is in another session than this process, as all commands are,
// and is no program that a run waits for. Children that a program started with package os/exec are in its own session
// and keep their exit status, unless they were given another by SysProcAttr.Setsid.
type orphanage struct {
	adopting func() bool
	starting sync.RWMutex // held for reading while a program is there that is not in programs yet

	mu       sync.Mutex // guards programs and looked
	programs map[int]struct{}
	looked   time.Time
}

// lookEvery bounds what the looks cost. The zombies of a second are few.
const lookEvery = time.Second

// start calls a function that starts a program, and notes its id.
func (o *orphanage) start(start func() (*os.Process, error)) (*os.Process, error) {
	if !o.adopting() {
		return start()
	}
	o.starting.RLock()
	defer o.starting.RUnlock()
	process, err := start()
	if err == nil {
		o.mu.Lock()
		o.programs[process.Pid] = struct{}{}
		o.mu.Unlock()
	}
	return process, err
}

// ended forgets a program that has been reaped, and now and then reaps the orphans that have ended.
func (o *orphanage) ended(pid int) {
	if !o.adopting() {
		return
	}
	o.mu.Lock()
	delete(o.programs, pid)
	now := time.Now()
	due := now.Sub(o.looked) >= lookEvery
	if due {
		o.looked = now
	}
	o.mu.Unlock()
	if due {
		o.reap()
	}
}

func (o *orphanage) reap() {
	o.starting.Lock()
	defer o.starting.Unlock()
	self, ok := readStatus(os.Getpid())
	if !ok {
		return
	}
	for _, s := range processes() {
		if s.state != 'Z' || s.parent != self.pid || s.session == self.session {
			continue
		}
		o.mu.Lock()
		_, waited := o.programs[s.pid]
		o.mu.Unlock()
		if !waited {
			syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// adopts asks the system whether orphans become children of this process.
func adopts() bool {
	const getChildSubreaper = 37 // PR_GET_CHILD_SUBREAPER of prctl(2)
	var subreaper int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getChildSubreaper, uintptr(unsafe.Pointer(&subreaper)), 0)
	return os.Getpid() == 1 || errno == 0 && subreaper != 0
}
