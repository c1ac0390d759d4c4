package ruqi

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A finishQueue holds ends until they are written. It grows while the store does not
// answer; claims stop at maxFinished.
type finishQueue struct {
	mu      sync.Mutex // guards waiting, writing, later, past, bytes
	waiting []*activeRun
	writing []*activeRun
	later   []*activeRun   // those that something else than the store holds up
	past    [][]*activeRun // written since the last claim began: it may have counted them as active before
	bytes   int64          // of output and results that wait with them
	kicks   chan struct{}  // capacity 1
	empty   signal
}

func (q *finishQueue) add(f *activeRun) {
	q.mu.Lock()
	q.waiting = append(q.waiting, f)
	q.bytes += f.held()
	q.mu.Unlock()
	select {
	case q.kicks <- struct{}{}:
	default:
	}
}

// held is how many bytes an end keeps in memory until it is written.
func (a *activeRun) held() int64 { return a.output.size() + int64(len(a.ending.value)) }

// laterAfter is when ends that were held up are tried again.
const laterAfter = time.Second

// postpone puts ends aside that could not be written, so that they hold up no others.
func (q *finishQueue) postpone(batch []*activeRun) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.later) == 0 {
		time.AfterFunc(laterAfter, q.recall)
	}
	q.later = append(q.later, batch...)
}

// recall lets those that were put aside wait again with the others.
func (q *finishQueue) recall() {
	q.mu.Lock()
	for _, f := range q.later {
		q.bytes += f.held()
	}
	q.waiting, q.later = append(q.waiting, q.later...), nil
	q.mu.Unlock()
	select {
	case q.kicks <- struct{}{}:
	default:
	}
}

// take moves the oldest waiting ends to the caller, who returns them by wrote.
func (q *finishQueue) take(most int) []*activeRun {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(most, len(q.waiting))
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
	q.writing = batch
	return batch
}

func (q *finishQueue) wrote() {
	q.mu.Lock()
	q.past = append(q.past, q.writing)
	q.writing = nil
	if q.bytes > 0 { // mostly nothing waits but the ends themselves
		q.bytes = 0
		for _, f := range q.waiting {
			q.bytes += f.held()
		}
	}
	empty := len(q.waiting)+len(q.later) == 0
	q.mu.Unlock()
	if empty {
		q.empty.tell()
	}
}

// full reports whether as much waits as may: then nothing new is started.
func (q *finishQueue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)+len(q.writing)+len(q.later) >= maxFinished || q.bytes >= maxFinishedBytes
}

func (q *finishQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) + len(q.writing) + len(q.later)
}

// ids are the runs whose ends are on their way to the store.
func (q *finishQueue) ids() map[int64]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := map[int64]bool{}
	for _, f := range q.waiting {
		ids[f.run.ID] = true
	}
	for _, f := range slices.Concat(q.writing, q.later) {
		ids[f.run.ID] = true
	}
	return ids
}

// forget is called when a claim begins: what was written before, it does not count.
func (q *finishQueue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.past = nil
}

// each calls a function with every end that a claim may not know of.
func (q *finishQueue) each(call func(*activeRun)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, batch := range append([][]*activeRun{q.waiting, q.writing, q.later}, q.past...) {
		for _, f := range batch {
			call(f)
		}
	}
}

// unwritten counts by job the runs that have ended here, and that a claim may count as active all the same: their ends are on their way to
// the store, or came there since the claim began.
func (s *Scheduler) unwritten() map[string]int {
	jobs, seen := map[string]int{}, map[*activeRun]bool{}
	count := func(a *activeRun) {
		if !seen[a] {
			seen[a] = true
			jobs[a.run.JobID]++
		}
	}
	for _, a := range s.runs.all() { // first, see inHand
		if a.ended.Load() {
			count(a)
		}
	}
	s.finished.each(count)
	return jobs
}

// drain waits until everything is written, or ctx ends, and returns how many are not.
func (q *finishQueue) drain(ctx context.Context) int {
	for {
		empty := q.empty.wait()
		if q.len() == 0 {
			return 0
		}
		select {
		case <-empty:
		case <-ctx.Done():
			return q.len()
		}
	}
}
