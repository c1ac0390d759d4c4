package ruqi

import (
	"context"
	"sync"
	"time"
)

const (
	// flushEvery is how old output may become before it is written: with the poll
	// of a reader it is visible well within a second.
	flushEvery = 200 * time.Millisecond
	// keepHead and keepTail are what a run keeps in memory of output that is not written yet: half the
	// cap of a store each. Only output faster than the store loses its middle here.
	keepHead, keepTail = 512 << 10, 512 << 10 // bytes
)

// An output gathers what a task writes until it is flushed. The zero value is ready for use.
type output struct {
	mu     sync.Mutex // guards all
	head   []byte     // stream bytes below keepHead not yet flushed
	headAt int64
	tail   []byte // stream bytes from keepHead on not yet flushed, the newest of them
	tailAt int64
	total  int64
	closed bool
	// flying says that what was taken last is on its way to the store.
	flying bool
}

// Write implements io.Writer. It never blocks on the store and never fails; what is
// written after the run's end is dropped.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return len(p), nil
	}
	n := len(p)
	if room := keepHead - o.total; room > 0 {
		if len(o.head) == 0 {
			o.headAt = o.total
		}
		part := p[:min(int64(len(p)), room)]
		o.head = append(o.head, part...)
		o.total += int64(len(part))
		p = p[len(part):]
	}
	if len(p) > 0 {
		if len(o.tail) == 0 {
			o.tailAt = o.total
		}
		o.tail = append(o.tail, p...)
		o.total += int64(len(p))
		if len(o.tail) > 2*keepTail { // twice, so that each byte is moved once at most
			cut := len(o.tail) - keepTail
			o.tail = append(o.tail[:0], o.tail[cut:]...)
			o.tailAt += int64(cut)
		}
	}
	return n, nil
}

// take returns what is to be written and forgets it, until put or landed says what became of it.
func (o *output) take(id int64) []RunUpdate {
	o.mu.Lock()
	defer o.mu.Unlock()
	var updates []RunUpdate
	if len(o.head) > 0 {
		updates = append(updates, RunUpdate{ID: id, At: o.headAt, Output: o.head})
		o.head = nil
	}
	if len(o.tail) > 0 {
		updates = append(updates, RunUpdate{ID: id, At: o.tailAt, Output: o.tail})
		o.tail = nil
	}
	o.flying = len(updates) > 0
	return updates
}

// landed says that what was taken is on its way no more.
func (o *output) landed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying = false
}

// put gives back what could not be written: it is older than all that came since.
func (o *output) put(updates []RunUpdate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := len(updates) - 1; i >= 0; i-- {
		u := updates[i]
		switch {
		case u.At < keepHead:
			o.head, o.headAt = append(u.Output, o.head...), u.At
		case len(o.tail) == 0:
			o.tail, o.tailAt = u.Output, u.At
		case u.At+int64(len(u.Output)) == o.tailAt && len(u.Output)+len(o.tail) <= 2*keepTail:
			o.tail, o.tailAt = append(u.Output, o.tail...), u.At
		}
	}
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// outputLoop writes the output of running runs while they run, until ctx ends. While nothing runs it sleeps: five looks a
// second were most of what an idle service did.
func (s *Scheduler) outputLoop(ctx context.Context) {
	timer := time.NewTimer(flushEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.runs.busy:
			timer.Reset(flushEvery)
		case <-timer.C:
			s.flushOutput(ctx)
			if !s.runs.rest() {
				timer.Reset(flushEvery)
			}
		}
	}
}

// flushOutput writes what the running runs have written, and said of themselves, since the last time. What a store cannot
// take now stays.
func (s *Scheduler) flushOutput(ctx context.Context) {
	byOwner := map[Owner][]*activeRun{}
	now := time.Now()
	for _, a := range s.runs.all() {
		if a.output.waiting() || a.report.due(now) {
			byOwner[a.owner] = append(byOwner[a.owner], a)
		}
	}
	for owner, runs := range byOwner {
		s.writeOutput(ctx, owner, runs)
	}
}

// size is how many bytes wait.
func (o *output) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(len(o.head) + len(o.tail))
}

// waiting reports whether something is not in the store yet: it is here still, or on its way.
func (o *output) waiting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.head) > 0 || len(o.tail) > 0 || o.flying
}

// outputStep bounds the bytes written in one step of the store.
const outputStep = 4 << 20

// writeOutput writes the runs' output in steps of a few megabytes. The output loop calls it for runs that
// go on and the finish loop for those that have ended; one at a time, so that a run's output keeps its order and no
// end overtakes it.
func (s *Scheduler) writeOutput(ctx context.Context, owner Owner, runs []*activeRun) {
	if len(runs) == 0 {
		return
	}
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return
	}
	for len(runs) > 0 {
		var updates []RunUpdate
		taken := map[int64][]RunUpdate{}
		size, n := 0, 0
		now := time.Now()
		for ; n < len(runs) && size < outputStep; n++ {
			part := runs[n].output.take(runs[n].run.ID)
			taken[runs[n].run.ID] = part
			updates = append(updates, runs[n].report.join(part, runs[n].run.ID, now)...)
			for _, u := range part {
				size += len(u.Output)
			}
		}
		var late []int64
		var err error
		if len(updates) > 0 { // else another has written it meanwhile
			late, err = s.store.WriteRuns(ctx, owner, updates)
			s.health.noteOnce("output", err)
		}
		for _, a := range runs[:n] {
			if err != nil && (mayPass(err) || ctx.Err() != nil) {
				a.output.put(taken[a.run.ID])
				a.report.put()
			}
			a.output.landed()
		}
		if err != nil {
			s.log.Warn("output could not be written", "runs", n, "error", err)
			return
		}
		for _, id := range late {
			if a := s.runs.get(id); a != nil && a.owner == owner {
				a.stopBy(ErrLeaseLost)
			}
		}
		runs = runs[n:]
	}
}
