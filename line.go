package ruqi

import "sync"

// A line holds the runs that are to begin, and keeps goroutines for them. A run that begins never waits for one that
// goes on: while anyone is in line, a goroutine is on its way. But one whose run has ended takes the next, so that many
// short runs need few goroutines: starting one for each, with a stack to grow, took a fifth of the CPU of 100,000 no-op
// runs a second.
type line struct {
	mu      sync.Mutex // guards waiting and coming
	waiting []*activeRun
	coming  bool // a goroutine was started and has not taken a run yet
}

// add lets the runs begin, in their order.
func (l *line) add(runs []*activeRun) {
	l.mu.Lock()
	l.waiting = append(l.waiting, runs...)
	send := l.sends()
	l.mu.Unlock()
	if send {
		go l.work()
	}
}

// sends reports whether the caller, who holds mu, is to start a goroutine.
func (l *line) sends() bool {
	if l.coming || len(l.waiting) == 0 {
		return false
	}
	l.coming = true
	return true
}

// take returns the next run, nil when nobody is in line; arrived says that the caller is the one who was coming.
func (l *line) take(arrived bool) *activeRun {
	l.mu.Lock()
	if arrived {
		l.coming = false
	}
	var next *activeRun
	if len(l.waiting) > 0 {
		next = l.waiting[0]
		l.waiting[0] = nil
		if l.waiting = l.waiting[1:]; len(l.waiting) == 0 {
			l.waiting = nil // the array goes with its last run
		}
	}
	send := l.sends()
	l.mu.Unlock()
	if send {
		go l.work()
	}
	return next
}

// work executes runs until nobody is in line.
func (l *line) work() {
	for a := l.take(true); a != nil; a = l.take(false) {
		a.execute() // where it ends the goroutine (runtime.Goexit), another is on its way for those in line
	}
}
