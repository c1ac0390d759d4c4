package ruqi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ruqi-dev/ruqi/internal/text"
)

// Why a run was ended before its own end; context.Cause of its context.
var (
	errTimeout   = errors.New("timeout")
	errCancelled = errors.New("cancelled")
	errShutdown  = errors.New("its instance was shut down")
)

// errGoexit is how a task ends that neither returns nor panics.
var errGoexit = errors.New("its goroutine was ended by runtime.Goexit")

// abandonAfter is how long, past its kill grace, a run that was told to stop may
// go on before the scheduler gives it up: a goroutine cannot be ended by force. Its slot is free then.
const abandonAfter = 5 * time.Second

// An activeRun is a run of this instance from its claim to its written end.
type activeRun struct {
	s      *Scheduler
	run    *Run
	spec   *JobSpec
	owner  Owner
	began  time.Time // on this process's monotonic clock
	ctx    context.Context
	cancel context.CancelCauseFunc
	output output
	report report
	// ended is set by whoever records the end: the execution, or who gave up waiting for it.
	ended   atomic.Bool
	stopped atomic.Bool
	timeout *time.Timer
	ending  ending  // once it is queued to be written
	written written // told when the end is in the store, or never will be
}

// An ending is what a Done says beyond the run as it was started: in this form it waits for the store, since a whole row
// of each end would be copied twice, pointer by pointer.
type ending struct {
	state        RunState
	reason       string
	finished     time.Time
	result       Result // its facts
	value        json.RawMessage
	progress     *float64
	progressText string
	again        *Run
	endJob       string
	removeJob    bool
}

// fill writes the end of the run as the store is told of it; its time goes where finished points to.
func (a *activeRun) fill(done *Done, finished *time.Time) {
	e := &a.ending
	run := &done.Run
	*run, *finished = *a.run, e.finished
	run.State, run.Reason, run.Finished = e.state, e.reason, finished
	run.ExitCode, run.Signal, run.CPU, run.MaxRSS = e.result.ExitCode, e.result.Signal, e.result.CPU, e.result.MaxRSS
	run.Result, run.Progress, run.ProgressText = e.value, e.progress, e.progressText
	done.Again, done.EndJob, done.RemoveJob = e.again, e.endJob, e.removeJob
}

// A written tells any number of waiters, once, that an end was written. The zero value is ready for use: few runs have
// anyone who waits, so the channel is made for the first.
type written struct {
	mu   sync.Mutex // guards ch, over
	ch   chan struct{}
	over bool
}

// wait returns a channel that is closed when it is told, at once when it was.
func (w *written) wait() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ch == nil {
		w.ch = make(chan struct{})
		if w.over {
			close(w.ch)
		}
	}
	return w.ch
}

func (w *written) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over && w.ch != nil {
		close(w.ch)
	}
	w.over = true
}

// activeRuns are the runs of this instance and its slots.
type activeRuns struct {
	mu    sync.Mutex // guards used, byID, idle, resting
	sizes map[string]int
	used  map[string]int
	byID  map[int64]*activeRun
	idle  signal
	// resting says that the output loop waits for busy, since nothing ran; capacity 1.
	resting bool
	busy    chan struct{}
}

// free returns the free slots of each pool, 0 where it is full.
func (a *activeRuns) free() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	free := make(map[string]int, len(a.sizes))
	for pool, size := range a.sizes {
		free[pool] = max(size-a.used[pool], 0)
	}
	return free
}

func (a *activeRuns) use() map[string]SlotUse {
	a.mu.Lock()
	defer a.mu.Unlock()
	use := make(map[string]SlotUse, len(a.sizes))
	for pool, size := range a.sizes {
		use[pool] = SlotUse{Used: a.used[pool], Size: size}
	}
	return use
}

func (a *activeRuns) add(runs []*activeRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range runs {
		a.byID[r.run.ID] = r
		a.used[r.spec.Executor]++
	}
	if a.resting && len(runs) > 0 {
		a.resting = false
		select {
		case a.busy <- struct{}{}:
		default: // told already, to a loop that ended first
		}
	}
}

// rest reports whether nothing runs; then the next run is told to busy.
func (a *activeRuns) rest() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resting = len(a.byID) == 0
	return a.resting
}

// release frees the run's slot.
func (a *activeRuns) release(r *activeRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[r.spec.Executor]--
}

// remove forgets the run, whose end waits to be written by then.
func (a *activeRuns) remove(r *activeRun) {
	a.mu.Lock()
	delete(a.byID, r.run.ID)
	idle := len(a.byID) == 0
	a.mu.Unlock()
	if idle {
		a.idle.tell()
	}
}

func (a *activeRuns) get(id int64) *activeRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byID[id]
}

func (a *activeRuns) all() []*activeRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*activeRun, 0, len(a.byID))
	for r := range maps.Values(a.byID) {
		all = append(all, r)
	}
	return all
}

// count returns how many run.
func (a *activeRuns) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.byID)
}

// wait returns when nothing runs any more, or ctx ends.
func (a *activeRuns) wait(ctx context.Context) {
	for {
		idle := a.idle.wait()
		if a.count() == 0 {
			return
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}

func (a *activeRuns) stopAll(cause error) {
	for _, r := range a.all() {
		r.stopBy(cause)
	}
}

// roomOfRuns is how many runs share one allocation, and so how many the longest of them keeps in memory: 8 are 5 KiB.
const roomOfRuns = 8

// claimedSpecs finds the definitions of claimed jobs. Runs mostly come in the order of their jobs, so that the next is the one.
type claimedSpecs struct {
	s    *Scheduler
	jobs []JobRecord
	last int // where the last one was found
	spec *JobSpec
	byID map[string]int // made when one was not there
}

// of returns the definition of a job; nil: it was not claimed, or cannot be read.
func (c *claimedSpecs) of(id string) *JobSpec {
	at := c.last
	if c.spec != nil && c.jobs[at].ID == id {
		return c.spec
	}
	if c.spec != nil {
		at++
	}
	if at >= len(c.jobs) || c.jobs[at].ID != id {
		if c.byID == nil {
			c.byID = make(map[string]int, len(c.jobs))
			for i := range c.jobs {
				c.byID[c.jobs[i].ID] = i
			}
		}
		var there bool
		if at, there = c.byID[id]; !there {
			return nil
		}
	}
	spec, err := c.s.specOf(&c.jobs[at])
	if err != nil && !triggerAlone(err) { // a calendar may be gone since the claim: the run has its task
		return nil
	}
	c.last, c.spec = at, spec
	return spec
}

// dispatch registers the claimed runs and lets each begin at once.
func (s *Scheduler) dispatch(owner Owner, claimed *Claimed) []*activeRun {
	if len(claimed.Runs) == 0 {
		return nil
	}
	specs := claimedSpecs{s: s, jobs: claimed.Jobs}
	began := time.Now()
	started := make([]*activeRun, 0, len(claimed.Runs))
	var room []activeRun
	for i := range claimed.Runs {
		run := &claimed.Runs[i]
		spec := specs.of(run.JobID)
		if spec == nil { // a store that breaks its law: the run gets its end, nothing else is known of it
			spec = &JobSpec{ID: run.JobID, Task: unreadable{}, Policy: Policy{}.WithDefaults()}
		}
		if len(room) == 0 {
			room = make([]activeRun, min(roomOfRuns, len(claimed.Runs)-i))
		}
		a := &room[0]
		room = room[1:]
		a.s, a.run, a.spec, a.owner, a.began = s, run, spec, owner, began
		a.ctx, a.cancel = context.WithCancelCause(context.Background())
		started = append(started, a)
	}
	s.runs.add(started)
	begin := make([]*activeRun, 0, len(started))
	for _, a := range started {
		if s.state.Load() >= stateEnding { // the store answered when the drain was over
			a.stopBy(errShutdown)
			a.end(&Result{Err: errShutdown, Note: "never started"})
			continue
		}
		if limit := a.spec.Policy.Timeout; limit > 0 {
			a.timeout = time.AfterFunc(limit, func() { a.stopBy(errTimeout) })
		}
		s.emitRun(EventRunSubmitted, a.run, "")
		begin = append(begin, a)
	}
	s.begin.add(begin)
	return started
}

// execute runs the task to its end.
func (a *activeRun) execute() {
	a.s.emitRun(EventRunStarted, a.run, "")
	result := Result{Err: errGoexit}
	defer func() { a.end(&result) }() // also when the task ends its goroutine with runtime.Goexit
	result = a.call()
}

// call asks the executor; a panic is the run's failure, not the program's.
func (a *activeRun) call() (result Result) {
	defer func() {
		if p := recover(); p != nil {
			byItself := result.ByItself || a.ctx.Err() == nil
			fmt.Fprintf(&a.output, "panic: %v\n\n%s", p, debug.Stack())
			result = Result{Err: fmt.Errorf("panic: %v", p), ByItself: byItself}
		}
	}()
	executor, ok := a.s.registry.Executor(a.spec.Task.Kind())
	if !ok {
		return Result{Err: fmt.Errorf("no executor for tasks of kind %q", a.spec.Task.Kind())}
	}
	result = executor.Execute(a.ctx, a.spec.Task, Execution{Run: a.run, Output: &a.output, KillGrace: a.spec.Policy.KillGrace, Hard: a.s.hard, Reporter: &a.report})
	result.ByItself = result.ByItself || a.ctx.Err() == nil // what ends it from here on comes too late
	result.Err = plain(result.Err)
	return result
}

// A plainError is what the engine keeps of a task's error. It is read here, where a panic of the error's own methods (a
// nil pointer in an interface, say) is still the run's.
type plainError struct {
	text   string
	finish bool
}

func (e plainError) Error() string        { return e.text }
func (e plainError) Is(target error) bool { return e.finish && target == Finish }

func plain(err error) error {
	if err == nil {
		return nil
	}
	return plainError{text: cutReason(err.Error()), finish: errors.Is(err, Finish)}
}

// stopBy ends the run's context. What does not stop by itself is given up after its kill grace and abandonAfter.
func (a *activeRun) stopBy(cause error) {
	if a.stopped.Swap(true) {
		return
	}
	a.cancel(cause)
	giveUp := func() { a.end(&Result{Err: cause, Note: "it did not stop and was given up"}) }
	timer := time.AfterFunc(a.spec.Policy.KillGrace+abandonAfter, giveUp)
	go func() {
		select {
		case <-a.s.hard: // the grace is over
			if timer.Stop() {
				time.AfterFunc(abandonAfter, giveUp)
			}
		case <-a.written.wait():
			timer.Stop()
		}
	}()
}

// end records how the run ended, once, and frees its slot.
func (a *activeRun) end(result *Result) {
	if a.ended.Swap(true) {
		return
	}
	if a.timeout != nil {
		a.timeout.Stop()
	}
	e := &a.ending
	e.state, e.reason = a.outcome(result)
	if result.Note != "" {
		e.reason = joinReason(e.reason, result.Note)
	}
	e.finished = a.run.Started.Add(time.Since(a.began)).Truncate(time.Microsecond) // on the store's clock, without asking it
	e.result = *result
	e.value, e.progress, e.progressText = a.report.close()
	if e.state == RunSucceeded && errors.Is(result.Err, Finish) {
		e.endJob = "its task has finished it"
	}
	if e.state != RunSucceeded {
		ended := *a.run
		ended.State, ended.Reason = e.state, e.reason
		e.again = nextAttempt(&ended, a.spec, e.finished)
	}
	e.removeJob = a.spec.Policy.DeleteWhenFinished
	a.cancel(nil)
	a.s.runs.release(a) // first, so that the claim that follows the written end finds it
	a.s.finished.add(a)
	a.s.runs.remove(a)
}

// outcome is the state a run ends in, and why. What ended its context comes before
// what the task made of that, but not before an end that the task had come to by itself.
func (a *activeRun) outcome(result *Result) (RunState, string) {
	err, cause := result.Err, context.Cause(a.ctx)
	if result.ByItself {
		cause = nil
	}
	switch {
	case cause == nil && (err == nil || errors.Is(err, Finish)):
		return RunSucceeded, ""
	case cause == nil:
		return RunFailed, err.Error()
	case errors.Is(cause, ErrLeaseLost): // where a Rescue has not said so already
		return RunLost, "its instance's lease was lost while it ran"
	case errors.Is(cause, errTimeout):
		return RunTimedOut, fmt.Sprintf("ended after its timeout of %s", a.spec.Policy.Timeout)
	default:
		return RunCancelled, cause.Error()
	}
}

// maxReason bounds reasons, which stand in lists: the whole is in the output.
const maxReason = 2000 // bytes

func cutReason(reason string) string { return text.Cut(reason, maxReason) }

func joinReason(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// cancelAsked ends runs of this instance that someone asked to end.
func (s *Scheduler) cancelAsked(ctx context.Context, ids []int64) {
	var mine []int64
	for _, id := range ids {
		if a := s.runs.get(id); a != nil && !a.stopped.Load() {
			mine = append(mine, id)
		}
	}
	if len(mine) == 0 {
		return
	}
	page, err := s.store.Runs(ctx, RunQuery{IDs: mine, Limit: MaxPage})
	if err != nil {
		s.log.Warn("cancel requests could not be read", "error", err)
		return // the next claim names them again
	}
	for i := range page.Runs {
		s.cancelHere(&page.Runs[i])
	}
}

// cancelHere ends the run if it is active on this instance and was asked to end.
func (s *Scheduler) cancelHere(run *Run) {
	if run.CancelBy == "" || run.State != RunRunning {
		return
	}
	if a := s.runs.get(run.ID); a != nil {
		a.stopBy(fmt.Errorf("%w by %s", errCancelled, run.CancelBy))
	}
}
