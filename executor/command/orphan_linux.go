package command

import (
	"bytes"
	"cmp"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// orphans is one for the process, as its children are.
var orphans = orphanage{inherits: sync.OnceValue(inherits), programs: map[int]*era{}}

// An orphanage reaps what programs left behind, where that becomes this process's own child once it has lost its
// parents: as the first process of a container, or as a subreaper. There nobody else would, and every daemon that a job
// started would be a zombie for ever.
//
// It takes a child for an orphan if it is in another session than this process, as all commands are,
// and is no program that a run waits for. Children that a program started with package os/exec are in its own session
// and keep their exit status, unless they were given another by SysProcAttr.Setsid.
//
// It also tells whose an orphan is that has nothing left of its run: of the run that was under way when it was born, if
// that was one alone.
type orphanage struct {
	inherits func() bool  // asked once
	asked    atomic.Bool  // this process has become a subreaper by itself
	starting sync.RWMutex // held for reading while a program is there that is not in programs yet

	mu       sync.Mutex // guards all below
	programs map[int]*era
	past     []era  // programs that have ended, while one that ran at the same time has not
	blurred  uint64 // what was born until then is nobody's for sure: past had to be cut
	looked   time.Time
	timer    *time.Timer // nil until there is something to look for
	wait     time.Duration
}

// An era is the life of a program in clock ticks since boot.
type era struct {
	start, end uint64
	stopped    bool // its run was ended before its time
}

const (
	// lookEvery bounds what the looks for zombies cost; those of a second are few.
	lookEvery = time.Second
	// longestLook is how long a zombie may stay when nothing else runs.
	longestLook = time.Minute
	// mostPast bounds what is remembered beside a program that runs for days.
	mostPast = 4096
)

// adopting reports whether orphans become children of this process.
func (o *orphanage) adopting() bool { return o.asked.Load() || o.inherits() }

// start calls a function that starts a program, and notes its id.
func (o *orphanage) start(start func() (*os.Process, error)) (*os.Process, error) {
	if !o.adopting() {
		return start()
	}
	o.starting.RLock()
	defer o.starting.RUnlock()
	born := ticks() // or a little later
	process, err := start()
	if err == nil {
		o.mu.Lock()
		o.programs[process.Pid] = &era{start: born, end: math.MaxUint64}
		o.mu.Unlock()
	}
	return process, err
}

// stopping notes that a program's run is being ended.
func (o *orphanage) stopping(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if program := o.programs[pid]; program != nil {
		program.stopped = true
	}
}

// ended forgets a program that has been reaped, and now and then reaps the orphans that have ended.
func (o *orphanage) ended(pid int) {
	if !o.adopting() {
		return
	}
	o.mu.Lock()
	o.forget(pid, ticks()+1) // the tick that goes on is its own
	now := time.Now()
	wait := lookEvery - now.Sub(o.looked)
	if wait > 0 {
		o.plan(wait)
	}
	o.mu.Unlock()
	if wait <= 0 {
		o.reap()
	}
}

// forget moves a program to the past. The caller holds mu.
func (o *orphanage) forget(pid int, end uint64) {
	program := o.programs[pid]
	if program == nil {
		return
	}
	delete(o.programs, pid)
	program.end = end
	o.past = append(o.past, *program)
	oldest := end // another may start in the same tick
	for _, p := range o.programs {
		oldest = min(oldest, p.start)
	}
	o.past = slices.DeleteFunc(o.past, func(e era) bool { return e.end < oldest })
	if len(o.past) > mostPast {
		for _, e := range o.past[:mostPast/2] {
			o.blurred = max(o.blurred, e.end)
		}
		o.past = slices.Delete(o.past, 0, mostPast/2)
	}
}

// plan sees that there is a look after a time. The caller holds mu.
func (o *orphanage) plan(wait time.Duration) {
	o.wait = wait
	if o.timer == nil {
		o.timer = time.AfterFunc(wait, o.reap)
	} else {
		o.timer.Reset(wait)
	}
}

// reap takes the orphans that have ended; while others live it comes again.
func (o *orphanage) reap() {
	o.starting.Lock()
	defer o.starting.Unlock()
	self, ok := readStatus(os.Getpid())
	if !ok {
		return
	}
	alive := false
	for _, s := range processes() {
		if s.parent != self.pid || s.session == self.session || o.waited(s.pid) {
			continue
		}
		if s.state == 'Z' {
			syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		} else {
			alive = true
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looked = time.Now()
	if alive {
		o.plan(min(max(2*o.wait, lookEvery), longestLook))
	}
}

func (o *orphanage) waited(pid int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.programs[pid] != nil
}

// of returns, of all processes, the orphans that a program's run left, though nothing of them says so: those born
// when no program was there but such as were or are being stopped, this one among them. What carries another run's mark, or is in
// the session of another program, is that run's; and while an older orphan lives that nothing tells of, and that is not this run's,
// the younger ones may be its children.
func (o *orphanage) of(root int, mark string, all []status) map[int]bool {
	if !o.adopting() {
		return nil
	}
	self, ok := readStatus(os.Getpid())
	if !ok {
		return nil
	}
	c := o.census()
	var children []status
	for _, s := range all {
		_, program := c.programs[s.pid]
		if s.parent == self.pid && s.session != self.session && s.pid != root && !program && !s.ended() {
			children = append(children, s)
		}
	}
	slices.SortFunc(children, func(a, b status) int { return cmp.Compare(a.start, b.start) })
	found := map[int]bool{}
	for _, s := range children {
		environ := environOf(s.pid)
		_, other := c.programs[s.session]
		switch {
		case s.session == root || s.group == root || holds(environ, mark):
			found[s.pid] = true
		case other || bytes.Contains(environ, []byte(treeName+"=")):
			// It says whose it is.
		case c.sole(root, s):
			found[s.pid] = true
		default:
			return found
		}
	}
	return found
}

// A census is what an orphanage knew at one moment.
type census struct {
	programs map[int]era
	past     []era
	blurred  uint64
}

func (o *orphanage) census() census {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := census{programs: make(map[int]era, len(o.programs)), past: slices.Clone(o.past), blurred: o.blurred}
	for pid, e := range o.programs {
		c.programs[pid] = *e
	}
	return c
}

// sole reports whether a process can only be of one program, or of others that are being ended just as well.
func (c *census) sole(root int, s status) bool {
	own, ok := c.programs[root]
	if !ok || !own.stopped || s.start < own.start || s.start <= c.blurred {
		return false
	}
	running := func(e era) bool { return !e.stopped && e.start <= s.start && s.start <= e.end }
	for _, e := range c.programs {
		if running(e) {
			return false
		}
	}
	return !slices.ContainsFunc(c.past, running)
}

// ticks returns the time since boot as /proc tells it of the start of a process: 100 ticks a second on every Linux.
func ticks() uint64 {
	const (
		bootTime = 7 // CLOCK_BOOTTIME of clock_gettime(2)
		hertz    = 100
	)
	var now syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, bootTime, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0
	}
	return uint64(now.Nano() / int64(time.Second/hertz))
}

// becomeSubreaper makes this process the parent of all that its commands leave behind.
func becomeSubreaper(log *slog.Logger) {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER of prctl(2)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		log.Warn("this process cannot take on what commands leave behind", "error", errno.Error())
		return
	}
	orphans.asked.Store(true)
}

// inherits asks the system whether orphans become children of this process.
func inherits() bool {
	const getChildSubreaper = 37 // PR_GET_CHILD_SUBREAPER of prctl(2)
	var subreaper int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getChildSubreaper, uintptr(unsafe.Pointer(&subreaper)), 0)
	return os.Getpid() == 1 || errno == 0 && subreaper != 0
}
