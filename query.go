package ruqi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/text"
)

// health remembers what the store fails at: a heartbeat that passes says nothing of claims.
type health struct {
	log   *slog.Logger
	mu    sync.Mutex // guards fails
	fails map[string]failure
	// passed tells that a kind of call that failed passes again.
	passed signal
}

// A failure is the last error of a kind of call that fails, and since when it does.
type failure struct {
	err   error
	since time.Time
}

// note takes the outcome of a call to the store, of a kind such as "claim".
func (h *health) note(kind string, err error) {
	if ended := h.change(kind, err); ended.err != nil {
		h.log.Info("the store answers again", "after", time.Since(ended.since).Round(time.Millisecond), "was", ended.err)
	}
}

// noteOnce is note for what is not tried again when it was refused for good, as some output or an end is: that is said of what
// was to be written, in the log, and not of the store, which would be told to fail until there is more to write.
func (h *health) noteOnce(kind string, err error) {
	if err != nil && !mayPass(err) && !errors.Is(err, context.Canceled) {
		err = nil
	}
	h.note(kind, err)
}

// change takes the outcome in, and returns the failure that it ends when nothing else fails any more.
func (h *health) change(kind string, err error) failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, failed := h.fails[kind]
	switch {
	case err == nil || errors.Is(err, ErrLeaseLost):
		delete(h.fails, kind)
		if failed {
			h.passed.tell()
		}
		if failed && len(h.fails) == 0 {
			return was
		}
	case errors.Is(err, context.Canceled):
	default:
		if !failed {
			was.since = time.Now()
		}
		if h.fails == nil {
			h.fails = map[string]failure{}
		}
		h.fails[kind] = failure{err, was.since}
	}
	return failure{}
}

// fail reports whether calls of one of the kinds fail.
func (h *health) fail(kinds ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(kinds, func(kind string) bool { return h.fails[kind].err != nil })
}

// failing tells what has failed for the longest time; empty: nothing fails.
func (h *health) failing() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var first failure
	for _, f := range h.fails {
		if first.err == nil || f.since.Before(first.since) {
			first = f
		}
	}
	if first.err == nil {
		return ""
	}
	return fmt.Sprintf("%v (for %s)", first.err, time.Since(first.since).Round(time.Second))
}

// Job implements Operations.
func (s *Scheduler) Job(ctx context.Context, id string) (Job, error) {
	page, err := s.Jobs(ctx, JobQuery{IDs: []string{id}})
	if err != nil {
		return Job{}, err
	}
	if len(page.Jobs) == 0 {
		return Job{}, jobNotFound(id)
	}
	return page.Jobs[0], nil
}

// Jobs implements Operations.
func (s *Scheduler) Jobs(ctx context.Context, query JobQuery) (JobPage, error) {
	var faults Faults
	query.Limit = pageLimit(&faults, query.Limit)
	switch query.Sort {
	case "", SortID, SortNext, SortName, SortCreated, SortNewest:
	default:
		faults.Add("/sort", string(query.Sort), "unknown word; accepted are id, next, name, created and newest%s", object.DidYouMean(query.Sort, SortID, SortNext, SortName, SortCreated, SortNewest))
	}
	faults.Merge("", CheckOffset(query.Offset, query.Cursor))
	switch query.State {
	case "", JobActive, JobPaused, JobFinished:
	default:
		faults.Add("/state", string(query.State), "unknown word; accepted are active, paused and finished%s", object.DidYouMean(query.State, JobActive, JobPaused, JobFinished))
	}
	if len(query.Tags) > maxTags {
		faults.Add("/tag", "", "%d tags; a job has at most %d", len(query.Tags), maxTags)
	}
	if err := faults.Err(); err != nil {
		return JobPage{}, err
	}
	recs, err := s.store.Jobs(ctx, query)
	if err != nil {
		return JobPage{}, err
	}
	serving, err := s.serving(ctx)
	if err != nil {
		return JobPage{}, err
	}
	page := JobPage{Jobs: make([]Job, len(recs.Jobs)), Next: recs.Next, Total: recs.Total}
	for i := range recs.Jobs {
		page.Jobs[i] = s.job(&recs.Jobs[i])
		if page.Jobs[i].Parked == "" && recs.Jobs[i].State != JobFinished {
			page.Jobs[i].Parked = serving.lacks(PoolNeed{recs.Jobs[i].Pool, recs.Jobs[i].Needs})
		}
	}
	return page, nil
}

// CheckOffset refuses, for "/offset", an offset that is negative, over MaxOffset, or stands beside a cursor: the check of
// JobQuery and RunQuery that a store makes. Its error is an *InvalidError.
func CheckOffset(offset int, cursor string) error {
	var faults Faults
	if offset < 0 {
		faults.Add("/offset", fmt.Sprint(offset), "negative")
	}
	if offset > MaxOffset {
		faults.Add("/offset", fmt.Sprint(offset), "more than %d", MaxOffset)
	}
	if offset > 0 && cursor != "" {
		faults.Add("/offset", fmt.Sprint(offset), "stands beside a cursor; give one of them")
	}
	return faults.Err()
}

func pageLimit(faults *Faults, limit int) int {
	if limit < 0 {
		faults.Add("/limit", fmt.Sprint(limit), "negative")
	}
	if limit == 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// serving is what the live instances, this one counted in, can run between them.
type serving []Instance

func (s *Scheduler) serving(ctx context.Context) (serving, error) {
	instances, err := s.store.Instances(ctx)
	if err != nil {
		return nil, err
	}
	live := serving{{Owner: Owner{Instance: s.options.Instance}, Slots: s.options.Slots, Needs: s.registry.Needs()}}
	now := s.storeNow(instances)
	for _, i := range instances {
		if i.Owner.Instance != s.options.Instance && i.Alive(now) {
			live = append(live, i)
		}
	}
	return live, nil
}

// lacks says what no live instance has; empty when one has all.
func (live serving) lacks(want PoolNeed) string {
	for _, i := range live {
		if i.Slots[want.Pool] > 0 && slices.Contains(i.Needs, want.Need) {
			return ""
		}
	}
	return fmt.Sprintf("no live instance has slots in pool %q and can run %q", want.Pool, want.Need)
}

// FindRun implements Operations.
func (s *Scheduler) FindRun(ctx context.Context, id int64) (Run, error) {
	page, err := s.store.Runs(ctx, RunQuery{IDs: []int64{id}, Limit: 1})
	if err != nil {
		return Run{}, err
	}
	if len(page.Runs) == 0 {
		return Run{}, runNotFound(id)
	}
	return page.Runs[0], nil
}

func runNotFound(id int64) error { return fmt.Errorf("run %d: %w", id, ErrNotFound) }

// WaitRun implements Operations. It asks at most each second, sooner when a run of this instance ends.
func (s *Scheduler) WaitRun(ctx context.Context, id int64) (Run, error) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	for {
		ends := s.ends.wait()
		run, err := s.FindRun(ctx, id)
		if err != nil || run.State.Ended() {
			return run, err
		}
		timer.Reset(pollEvery)
		select {
		case <-ends:
		case <-timer.C:
		case <-ctx.Done():
			return run, context.Cause(ctx)
		}
	}
}

// CancelRun implements Operations.
func (s *Scheduler) CancelRun(ctx context.Context, id int64, by string) (Run, error) {
	if by == "" {
		by = "a user"
	}
	var faults Faults
	checkText(&faults, "/by", by, maxText)
	if err := faults.Err(); err != nil {
		return Run{}, err
	}
	run, err := s.store.Cancel(ctx, id, by)
	if err != nil {
		return run, err
	}
	if run.State.Ended() {
		s.emitEnd(&run)
		s.ends.tell()
		s.removeIfDone(ctx, run.JobID)
	}
	s.cancelHere(&run)
	return run, nil
}

// removeIfDone removes a finished job that is to be deleted and whose last queued run was cancelled: no run of it
// will end any more and take it along.
func (s *Scheduler) removeIfDone(ctx context.Context, id string) {
	alive, err := s.store.Runs(ctx, RunQuery{Job: id, States: []RunState{RunQueued, RunRunning}, Limit: 1})
	if err != nil || len(alive.Runs) > 0 {
		return
	}
	_, _, err = s.store.EditJobs(ctx, JobQuery{IDs: []string{id}, State: JobFinished}, func(now time.Time, _ string, old *JobRecord, active int) Change {
		if old == nil || active > 0 {
			return Change{}
		}
		spec, err := s.specOf(old)
		return Change{Remove: err == nil && spec.Policy.DeleteWhenFinished}
	})
	if err != nil {
		s.log.Warn("a finished job could not be removed", "job", id, "error", err)
	}
}

// Runs implements Operations.
func (s *Scheduler) Runs(ctx context.Context, query RunQuery) (RunPage, error) {
	var faults Faults
	query.Limit = pageLimit(&faults, query.Limit)
	faults.Merge("", CheckOffset(query.Offset, query.Cursor))
	for _, state := range query.States {
		if !slices.Contains(RunStates(), state) {
			faults.Add("/state", string(state), "unknown word; accepted are %s%s", text.List(RunStates()), object.DidYouMean(state, RunStates()...))
		}
	}
	causes := []Cause{CauseSchedule, CauseManual, CauseRetry, CauseStartup, CauseBackfill, CauseDependency}
	for _, cause := range query.Causes {
		if !slices.Contains(causes, cause) {
			faults.Add("/cause", string(cause), "unknown word; accepted are %s%s", text.List(causes), object.DidYouMean(cause, causes...))
		}
	}
	if err := faults.Err(); err != nil {
		return RunPage{}, err
	}
	return s.store.Runs(ctx, query)
}

// maxOutputPart bounds one answer of Output.
const maxOutputPart = 1 << 20 // bytes

// Output implements Operations.
func (s *Scheduler) Output(ctx context.Context, id int64, from int64, limit int) (OutputPart, error) {
	var faults Faults
	if from < 0 {
		faults.Add("/from", fmt.Sprint(from), "negative")
	}
	if limit == 0 {
		limit = maxOutputPart
	}
	if limit < 0 || limit > maxOutputPart {
		faults.Add("/limit", fmt.Sprint(limit), "out of range (1-%d)", maxOutputPart)
	}
	if err := faults.Err(); err != nil {
		return OutputPart{}, err
	}
	return s.store.Output(ctx, id, from, limit)
}

// Ready says, cheaply, why this instance cannot do its work now: its store does not answer, or it does not
// run. nil: it can.
func (s *Scheduler) Ready(ctx context.Context) error {
	if state := s.stateName(); state != "running" && state != "paused" {
		return fmt.Errorf("the scheduler is %s", state)
	}
	if _, err := s.store.Instances(ctx); err != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	if failing := s.health.failing(); failing != "" {
		return fmt.Errorf("the store fails: %s", failing)
	}
	return nil
}

// Status implements Operations. It answers also when the store does not: StoreError says so.
func (s *Scheduler) Status(ctx context.Context) (Status, error) {
	status := Status{
		Instance: s.options.Instance, State: s.stateName(), Store: s.location,
		Slots: s.runs.use(), Needs: s.registry.Needs(), EventsDropped: s.listeners.dropped.Load(),
		Release: s.options.Release, Zone: s.options.Zone.String(), Zones: s.zones.String(), Jobs: map[JobState]int64{},
	}
	status.CheckTime, status.NextWakeup = s.looks.last()
	counts, err := s.store.Count(ctx)
	if err == nil {
		var live serving
		if live, err = s.serving(ctx); err == nil {
			status.Jobs, status.Running, status.Queued = counts.Jobs, counts.Running, counts.Queued
			for need, n := range counts.Needs {
				if live.lacks(need) != "" {
					status.Parked += n
				}
			}
			status.Parked += int64(s.unread.len())
		}
	}
	if ctx.Err() != nil {
		return status, context.Cause(ctx)
	}
	if status.StoreError = s.health.failing(); status.StoreError == "" && err != nil {
		status.StoreError = err.Error()
	}
	return status, nil
}

func (s *Scheduler) stateName() string {
	switch state := s.state.Load(); {
	case state == stateStopping || state == stateEnding:
		return "stopping"
	case state == stateShutdown:
		return "stopped"
	case s.paused.Load():
		return "paused"
	case state == stateStopped:
		return "stopped"
	}
	return "running"
}

// looks remembers when the claim loop looked and will look again.
type looks struct {
	mu   sync.Mutex // guards all
	at   time.Time
	next *time.Time
}

func (l *looks) note(at time.Time, next *time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.next = at, next
}

func (l *looks) last() (at, next *time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() {
		return nil, nil
	}
	copied := l.at
	return &copied, l.next
}
