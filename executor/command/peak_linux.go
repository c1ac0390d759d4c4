package command

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// How often running programs are looked at.
const (
	// firstLook is soon after the start. The time doubles with each look, so that half of any run's life is seen, until
	// the looks are lastLook apart: what a program holds for less than that late in its life may be missed.
	firstLook, lastLook = 10 * time.Millisecond, time.Second
	// restPerLook is how many times the CPU time of a look the next one has to wait: all looks together take a fiftieth
	// of one CPU at the most, however many programs and processes there are.
	restPerLook = 50
)

// peaks is one for the process.
var peaks = sampler{programs: map[int]*watched{}}

// A sampler looks from time to time how much memory running programs hold, each with all processes of its control group, or of its
// session where it has none or has left it. What
// the system says at a program's end (ru_maxrss) begins with the peak of the service, whose memory the new process
// shares until it starts the program, and so hides every program that stays below. The VmHWM of /proc begins anew with the program.
type sampler struct {
	mu       sync.Mutex       // guards all fields, and those of the watched
	programs map[int]*watched // by process id, which is the session's too
	timer    *time.Timer      // nil until a program is watched
	due      time.Time        // of the next look; zero: none is planned, or one is under way
	looking  bool
	rest     time.Time // no look before
}

// watched is a program that runs.
type watched struct {
	group      *cgroup // nil: none
	began, due time.Time
	peak       int64 // bytes; 0: not known
}

// watch begins with a program that has just been started.
func (s *sampler) watch(pid int, group *cgroup) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watched{group: group, began: now, due: now.Add(firstLook)}
	s.programs[pid] = w
	s.plan(now, w.due)
}

// forget ends it and returns the largest size seen. The program must not have been reaped, so that what
// was read until now was its own and not that of another process with its id.
func (s *sampler) forget(pid int) (peak int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.programs[pid]; w != nil {
		peak = w.peak
		delete(s.programs, pid)
	}
	return peak
}

// plan sees that there is a look at a time, or soon after. The caller holds mu.
func (s *sampler) plan(now, due time.Time) {
	if due.Before(s.rest) {
		due = s.rest
	}
	if s.looking || !s.due.IsZero() && !due.Before(s.due) {
		return
	}
	s.due = due
	if s.timer == nil {
		s.timer = time.AfterFunc(due.Sub(now), s.look)
	} else {
		s.timer.Reset(due.Sub(now))
	}
}

// look reads what is due and plans the next look. Only the timer calls it; with no program there is no next one.
func (s *sampler) look() {
	begin := time.Now()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := threadTime()
	s.mu.Lock()
	if s.looking { // the timer was set anew while this one came
		s.mu.Unlock()
		return
	}
	s.looking, s.due = true, time.Time{}
	due := map[int]*watched{}
	for pid, w := range s.programs {
		if !w.due.After(begin) {
			due[pid] = w
		}
	}
	s.mu.Unlock()

	sizes := sizesOf(due)

	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if len(due) > 0 {
		s.rest = now.Add(restPerLook * (threadTime() - used))
	}
	for pid, w := range due {
		if s.programs[pid] != w {
			continue // it has ended, and a part of what was read may be of others
		}
		w.peak = max(w.peak, sizes[pid])
		w.due = now.Add(min(max(now.Sub(w.began), firstLook), lastLook))
	}
	s.looking = false
	var next time.Time
	for _, w := range s.programs {
		if next.IsZero() || w.due.Before(next) {
			next = w.due
		}
	}
	if !next.IsZero() {
		s.plan(now, next)
	}
}

// threadTime is what the thread has used, in user and system mode.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD of getrusage(2)
	var usage syscall.Rusage
	if syscall.Getrusage(thread, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// sizesOf returns the largest resident size that any process of each program has had so far, by the program's process id.
func sizesOf(programs map[int]*watched) map[int]int64 {
	sizes := make(map[int]int64, len(programs))
	sessions := map[int]bool{}
	for pid, w := range programs {
		members := w.group.members()
		for member := range members {
			sizes[pid] = max(sizes[pid], highWater(member))
		}
		if !members[pid] {
			sessions[pid] = true
		}
	}
	if len(sessions) == 0 {
		return sizes // without a look at all processes of the machine
	}
	for _, p := range processes() {
		if sessions[p.session] {
			sizes[p.session] = max(sizes[p.session], highWater(p.pid))
		}
	}
	return sizes
}

// highWater returns the largest resident size of a process in bytes, 0 when it has ended.
func highWater(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(data, []byte("\nVmHWM:"))
	if !found {
		return 0 // a zombie holds nothing any more
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(line), []byte(" kB"))), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
