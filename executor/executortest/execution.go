package executortest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// settle is how long something is watched that must not happen.
func (t Target) settle() time.Duration { return 200 * time.Millisecond }

// An execution is one call of Execute on a goroutine of its own, so that one that never returns is a
// finding and does not hold the suite.
type execution struct {
	output *output
	done   chan struct{}
	got    outcome // valid once done
}

// An outcome is how Execute came back; detail says that it did not, or how wrongly.
type outcome struct {
	result ruqi.Result
	detail string
	output *output
}

func (o outcome) describe() string {
	if o.detail != "" {
		return o.detail
	}
	return fmt.Sprintf("the result's error is %v, its note %q", o.result.Err, o.result.Note)
}

func (t Target) start(ctx context.Context, task ruqi.Task, grace time.Duration) *execution {
	return t.startHard(ctx, task, grace, nil)
}

// startHard is start with an end of the grace that the trial chooses.
func (t Target) startHard(ctx context.Context, task ruqi.Task, grace time.Duration, hard <-chan struct{}) *execution {
	now := time.Now().UTC()
	run := &ruqi.Run{
		ID: 4711, Attempt: 1, JobID: "executortest", JobName: "executortest", Cause: ruqi.CauseSchedule, State: ruqi.RunRunning,
		Nominal: now, Due: now, Started: &now,
	}
	e := &execution{output: newOutput(), done: make(chan struct{})}
	go func() {
		defer close(e.done)
		defer func() {
			if value := recover(); value != nil {
				e.got.detail = fmt.Sprintf("Execute panicked: %v", value)
			}
			e.output.close()
		}()
		e.got.result = t.Executor.Execute(ctx, task, ruqi.Execution{Run: run, Output: e.output, KillGrace: grace, Hard: hard})
	}()
	return e
}

// wait returns the outcome, at the latest after the bound.
func (e *execution) wait(bound time.Duration) outcome {
	if !e.endsWithin(bound) {
		return outcome{detail: fmt.Sprintf("Execute did not return within %s", bound), output: e.output}
	}
	e.got.output = e.output
	return e.got
}

func (e *execution) endsWithin(bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-e.done:
		return true
	case <-timer.C:
		return false
	}
}

// An output keeps what is written before Execute returns, and tells of what is written later.
type output struct {
	mu     sync.Mutex // guards all below
	kept   strings.Builder
	closed bool

	first, late         chan struct{} // closed at the first write, and at the first one after close
	firstOnce, lateOnce sync.Once
}

func newOutput() *output {
	return &output{first: make(chan struct{}), late: make(chan struct{})}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		o.lateOnce.Do(func() { close(o.late) })
		return len(p), nil
	}
	o.firstOnce.Do(func() { close(o.first) })
	return o.kept.Write(p)
}

func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.String()
}

func (o *output) spoken(bound time.Duration) bool { return happens(o.first, bound) }

func (o *output) spokenLate(bound time.Duration) bool { return happens(o.late, bound) }

func happens(event <-chan struct{}, bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-event:
		return true
	case <-timer.C:
		return false
	}
}
