//go:build unix

package command

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// How a tree of processes is ended.
const (
	// firstPoll and lastPoll bound the steps in which the rest of the tree is looked at while it has its grace. Most end
	// within a millisecond; with a grace of seconds nobody minds 64 ms more.
	firstPoll, lastPoll = time.Millisecond, 64 * time.Millisecond
	// killRounds and killPause bound the hard end: a process that is just starting others may
	// escape one look at /proc, hardly twenty over 200 ms.
	killRounds, killPause = 20, 10 * time.Millisecond
)

// A process is a started program, the leader of its own session and group, so that its id is theirs.
type process struct {
	*os.Process
	mark  string
	group *cgroup
	peak  int64 // the largest resident size that was seen while it ran; valid once reaped, 0: not known

	mu     sync.Mutex // guards reaped; held while a signal is sent, so that it cannot reach another process with the id
	reaped bool
	// gone: the group was seen empty after that. Its number may be another's since.
	gone   atomic.Bool
	exited chan struct{} // closed once reaped

	stopped chan struct{} // closed by stop once all is ended
	asked   bool          // stop came before the program's own end; valid once stopped
	grace   time.Duration
	hard    <-chan struct{} // closed: the grace is over; nil: never
}

// run starts the program and sees it through.
func (e *Executor) run(ctx context.Context, t *Task, who *account, environ []string, mark string, execution ruqi.Execution) ruqi.Result {
	path, argv, err := t.program(environ)
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("not started: %w", err)}
	}
	var runID int64
	if execution.Run != nil {
		runID = execution.Run.ID
	}
	group := e.cgroups.make(runID, mark)
	defer e.cgroups.release(group)
	// The thread stays until the program has ended, because Pdeathsig follows it.
	runtime.LockOSThread()
	l := launch{task: t, limits: e.cgroups.bound(group, t.limits), who: who, path: path, argv: argv, environ: environ, group: group}
	proc, out, in, gate, err := l.start(execution)
	if err != nil && group != nil {
		// A group that is there and cannot be entered is no reason not to run.
		l.limits, l.group = t.limits, nil
		first := err
		if proc, out, in, gate, err = l.start(execution); err == nil {
			e.cgroups.failed(first)
		}
	} else if err == nil {
		e.cgroups.went(group)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return ruqi.Result{Err: err}
	}
	p := &process{Process: proc, mark: mark, group: l.group, grace: execution.KillGrace, hard: execution.Hard, exited: make(chan struct{}), stopped: make(chan struct{})}
	peaks.watch(p.Pid, p.group)
	unwatch := context.AfterFunc(ctx, p.stop)
	lacking := gate.pass(p.Pid)
	state, err := p.reap()
	runtime.UnlockOSThread()
	byItself := unwatch() // from here on the context's end comes too late
	if !byItself {
		<-p.stopped
		byItself = !p.asked
	}
	held := out.drain()
	in.close()
	defer orphans.ended(p.Pid)
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("wait for the program: %w", err)}
	}
	if lacking != "" {
		return ruqi.Result{Err: t.lackError(lacking, path, who)}
	}
	result := resultOf(state)
	result.ByItself = byItself
	result.MaxRSS = max(result.MaxRSS, p.peak)
	notes := l.group.notes(t.limits)
	if held || p.groupAlive() || l.group.populated() {
		notes = append(notes, p.leftNote(held))
	}
	result.Note = strings.Join(notes, "; ")
	return result
}

// A launch is all that a process is made of.
type launch struct {
	task          *Task
	limits        Limits   // what the group does not bound as a whole
	who           *account // nil: the user of the service
	path          string
	argv, environ []string
	group         *cgroup // nil: that of the service
}

// start creates the pipes and the process. On error nothing is left.
func (l *launch) start(execution ruqi.Execution) (*os.Process, *pump, *feeder, *gate, error) {
	t := l.task
	stdin, in, err := openStdin(t.stdin)
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("not started: standard input: %w", bare(err))
	}
	defer stdin.Close()
	read, write, err := pipe()
	if err != nil {
		in.close()
		return nil, nil, nil, nil, fmt.Errorf("not started: the pipe for its output: %w", err)
	}
	defer write.Close()
	gate, err := newGate(t)
	if err != nil {
		in.close()
		read.Close()
		return nil, nil, nil, nil, fmt.Errorf("not started: the pipe for its limits: %w", err)
	}
	defer gate.started()
	attributes := attributes()
	l.group.into(attributes)
	if l.who != nil && l.who.credential != nil {
		attributes.Credential = l.who.credential
		// Else the user could not open /dev/stdout anew, as scripts do. Where a pipe has no owner that is so all the same.
		_ = write.Chown(l.who.uid, -1)
	}
	dir, file, args := t.startDir(l.who), l.path, l.argv
	if gate != nil {
		file, args = t.wrap(l.path, l.argv, l.limits)
	}
	proc, err := orphans.start(func() (*os.Process, error) {
		return os.StartProcess(file, args, &os.ProcAttr{
			Dir:   dir,
			Env:   l.environ,
			Files: append([]*os.File{stdin, write, write}, gate.files()...),
			Sys:   attributes,
		})
	})
	if err != nil {
		gate.close()
		in.close()
		read.Close()
		if gate != nil && executable(file) != nil {
			return nil, nil, nil, nil, fmt.Errorf("not started: umask, nice and limits are set by %s: %w", file, bare(err))
		}
		return nil, nil, nil, nil, t.startError(l.path, dir, l.who, err)
	}
	in.start()
	return proc, newPump(read, execution.Output), in, gate, nil
}

// signalGroup sends to the group and reports whether there was anything to send to. Signal 0 only looks.
func (p *process) signalGroup(signal syscall.Signal) bool {
	return syscall.Kill(-p.Pid, signal) != syscall.ESRCH
}

// groupAlive looks whether the program, which has been reaped, left processes in its group. It takes one that has
// ended and was not reaped by its parent for alive.
func (p *process) groupAlive() bool {
	if p.gone.Load() {
		return false
	}
	if !p.signalGroup(0) {
		p.gone.Store(true)
		return false
	}
	// Where this process inherits orphans, those of this group that have ended are its to reap; waiting for the
	// group takes no one else's children.
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-p.Pid, &status, syscall.WNOHANG, nil)
		if pid <= 0 && err != syscall.EINTR {
			break
		}
	}
	p.gone.Store(!p.signalGroup(0))
	return !p.gone.Load()
}

// stop ends everything that the program started: politely, then, once the grace is over or hard is closed, by force. When the program has ended
// by itself already, what it left stays.
func (p *process) stop() {
	defer close(p.stopped)
	grace := time.NewTimer(p.grace)
	defer grace.Stop()

	p.mu.Lock()
	if p.asked = !p.reaped && !hasExited(p.Pid); !p.asked {
		p.mu.Unlock()
		return
	}
	orphans.stopping(p.Pid)
	tree := newTree(p.Pid, p.mark, p.reaped, p.group)
	p.signalGroup(syscall.SIGTERM)
	p.signalGroup(syscall.SIGCONT) // a stopped process hears TERM only when it goes on
	p.mu.Unlock()
	tree.signal(syscall.SIGTERM)

	select {
	case <-p.exited:
		// The rest of the tree may be cleaning up; the grace is theirs too.
		for step := firstPoll; p.restAlive(tree, step == lastPoll); step = min(2*step, lastPoll) {
			if !pause(step, grace.C, p.hard) {
				break
			}
		}
	case <-grace.C:
	case <-p.hard:
	}
	p.kill(tree)
}

// restAlive looks whether anything but the program itself, which has been reaped, is alive. A thorough look tells the
// living from those that have ended and were not reaped by their parent.
func (p *process) restAlive(tree *tree, thorough bool) bool {
	group := p.groupAlive()
	if group && thorough {
		group = groupLives(p.Pid)
	}
	return group || tree.alive()
}

// kill ends by force what is left, and looks again until nothing is.
func (p *process) kill(tree *tree) {
	for range killRounds {
		p.group.kill()
		p.mu.Lock()
		alive := !p.reaped
		if alive {
			p.signalGroup(syscall.SIGKILL)
		}
		p.mu.Unlock()
		var exited <-chan struct{} = p.exited
		if !alive {
			exited = nil // it is, and would end every pause
			if p.groupAlive() && groupLives(p.Pid) {
				p.signalGroup(syscall.SIGKILL)
				alive = true
			}
		}
		if tree.find() {
			tree.signal(syscall.SIGKILL)
			alive = true
		}
		if !alive {
			return
		}
		pause(killPause, exited, nil)
	}
}

// pause waits for a time and reports whether it passed before either end, nil being none.
func pause[T any](d time.Duration, end <-chan T, hard <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	case <-hard:
		return false
	}
}

// leftNote says how many processes the program left behind; empty for none.
func (p *process) leftNote(held bool) string {
	n, known := countLeft(p.Pid, p.mark, p.group)
	switch {
	case !known:
		return "left processes behind"
	case n == 1:
		return "left 1 process behind"
	case n > 1:
		return "left " + strconv.Itoa(n) + " processes behind"
	case held:
		return "its output was held open by another process"
	}
	return ""
}

// resultOf says how the program ended.
func resultOf(state *os.ProcessState) ruqi.Result {
	result := ruqi.Result{CPU: state.UserTime() + state.SystemTime()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		result.MaxRSS = maxRSS(usage)
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		result.Signal = signalName(status.Signal())
		core := ""
		if status.CoreDump() {
			core = ", core dumped"
		}
		result.Err = fmt.Errorf("ended by signal %s%s", result.Signal, core)
		return result
	}
	code := status.ExitStatus()
	result.ExitCode = &code
	if code != 0 {
		result.Err = fmt.Errorf("exit status %d", code)
	}
	return result
}

// maxRSS returns the largest resident size in bytes as the system tells it at the end, 0 where it does not. A
// child shares the memory of the service until it starts its program, and the system counts
// that as the child's: a figure no larger than the service's own is not about the program.
func maxRSS(child *syscall.Rusage) int64 {
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || child.Maxrss <= own.Maxrss {
		return 0
	}
	return int64(child.Maxrss) * rssUnit
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGIO: "SIGIO",
	syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE", syscall.SIGPROF: "SIGPROF", syscall.SIGQUIT: "SIGQUIT",
	syscall.SIGSEGV: "SIGSEGV", syscall.SIGSYS: "SIGSYS", syscall.SIGTERM: "SIGTERM", syscall.SIGTRAP: "SIGTRAP",
	syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGVTALRM: "SIGVTALRM",
	syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ",
}

func signalName(signal syscall.Signal) string {
	if name, ok := signalNames[signal]; ok {
		return name
	}
	return "signal " + strconv.Itoa(int(signal))
}
