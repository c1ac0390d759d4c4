package ruqi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/lookback"
)

// pastAllowance is how late a one-shot date may be when it is added without a misfire grace: time for
// a request to travel, not for a plan to be forgotten.
const pastAllowance = 60 * time.Second

// editOne runs a decision on one job in one step of the store.
func (s *Scheduler) editOne(ctx context.Context, id string, decide func(now time.Time, old *JobRecord) (Change, error)) ([]JobRecord, []Run, error) {
	recs, runs, err := s.store.EditJobs(ctx, JobQuery{IDs: []string{id}}, func(now time.Time, _ string, old *JobRecord, _ int) Change {
		change, err := decide(now, old)
		if err != nil {
			change = Change{Err: err}
		}
		return change
	})
	if err == nil {
		s.unread.forget(id)
		s.kick()
		s.emitSettled(runs)
		for i := range recs {
			s.removeIfFinished(ctx, &recs[i])
		}
	}
	return recs, runs, err
}

// removeIfFinished removes a job that is to be deleted when it has finished, if it was the edit that finished it, or that asked for
// its removal: no run of it may end any more and take it along.
func (s *Scheduler) removeIfFinished(ctx context.Context, rec *JobRecord) {
	if rec.State != JobFinished {
		return
	}
	if spec, err := s.specOf(rec); err == nil && spec.Policy.DeleteWhenFinished {
		s.removeIfDone(ctx, rec.ID)
	}
}

// firstOf is the next fire of a job that is new or has a new trigger: the first after now, or, if there is none, the one that has just
// passed. It must have one, unless it runs on start: then it may have none, or one that is to be looked for further.
func firstOf(spec, old *JobSpec, now time.Time) (*fire, error) {
	at, until, ok := SearchNext(spec.Trigger, now)
	switch {
	case ok:
		first := jittered(spec, at)
		return &first, nil
	case !until.IsZero() && spec.Policy.RunOnStart:
		return &fire{due: micro(until)}, nil
	case !until.IsZero():
		return nil, Invalid("/trigger", "", "no fire time was found up to %s, where the search was given up: so many times are left out one by one; give the trigger a start, or say it with fewer times to leave out",
			until.Format(time.RFC3339Nano))
	}
	last, ok := lastFire(spec, old, now)
	switch {
	case ok:
		return &last, nil
	case spec.Policy.RunOnStart:
		return nil, nil
	}
	return nil, neverFires(spec, now)
}

// lastFire is the fire that has just passed, unless the old trigger had it, too: then it has its outcome.
func lastFire(spec, old *JobSpec, now time.Time) (fire, bool) {
	allowance := pastAllowance
	if spec.Policy.MisfireGrace != nil {
		allowance = *spec.Policy.MisfireGrace
	}
	at, ok := spec.Trigger.Next(now.Add(-allowance - time.Microsecond))
	if !ok && !spec.AcceptPast {
		return fire{}, false
	}
	if stepper, can := spec.Trigger.(Stepper); can {
		if last, found := stepper.Prev(now.Add(time.Microsecond)); found && last.After(at) {
			at = last // of many that have passed the last alone
		}
	}
	if at.IsZero() {
		return fire{}, false
	}
	if old != nil {
		if was, fired := old.Trigger.Next(at.Add(-time.Microsecond)); fired && was.Equal(at) {
			return fire{}, false
		}
	}
	return jittered(spec, at), true
}

// neverFires says why a trigger has no fire time any more, or never had one.
func neverFires(spec *JobSpec, now time.Time) error {
	if stepper, ok := spec.Trigger.(Stepper); ok {
		last, ok := stepper.Prev(now)
		if !ok && lookback.GaveUp(stepper, now) {
			return Invalid("/trigger", "", "has no fire time left")
		}
		if ok {
			return Invalid("/trigger", "", "has no fire time left: the last was %s, %s ago; a start up to 60s late is accepted, a later one only within a misfire_grace",
				last.Format(time.RFC3339Nano), duration.Format(now.Sub(last).Truncate(time.Second)))
		}
	}
	if ender, ok := spec.Trigger.(Ender); ok {
		if end, ok := ender.EndTime(); ok {
			return Invalid("/trigger", "", "never fires: it has no fire time until its end, %s", end.Format(time.RFC3339Nano))
		}
	}
	return Invalid("/trigger", "", "never fires")
}

// past makes the change that stores a definition whose only fire was too long ago to be run: the fire is recorded, and the job has finished.
func (s *Scheduler) past(spec *JobSpec, old *JobRecord, last fire, now time.Time) (Change, error) {
	change, err := s.write(spec, old, nil)
	if err == nil && change.Job.State == JobActive {
		change.Job.State, change.Job.Reason = JobFinished, noFiresLeft
		change.Runs = []Run{newRun(change.Job, spec, CauseSchedule, last, RunMissed, fmt.Sprintf("too late: due %s before it was set", duration.Format(now.Sub(last.nominal).Truncate(time.Second))))}
	}
	return change, err
}

// isPast reports whether a fire was taken by AcceptPast alone, without a grace that would judge it when it is claimed.
func isPast(spec *JobSpec, first *fire, now time.Time) bool {
	return spec.AcceptPast && spec.Policy.MisfireGrace == nil && first != nil && !first.isLook() && first.nominal.Before(now.Add(-pastAllowance))
}

// write makes the change that stores a definition with its next fire, nil where it has none.
func (s *Scheduler) write(spec *JobSpec, old *JobRecord, next *fire) (Change, error) {
	rec, err := s.record(spec)
	if err != nil {
		return Change{}, err
	}
	rec.State, rec.Version = JobActive, 1
	if old != nil {
		rec.Version = old.Version + 1
		if old.State == JobPaused {
			rec.State, rec.Reason = JobPaused, old.Reason
		}
	}
	if spec.Paused {
		rec.State, rec.Reason = JobPaused, "paused when added"
	}
	spec.Paused, spec.AcceptPast = false, false
	if rec.State == JobActive {
		rec.NextNominal, rec.NextDue = next.stored()
	}
	return Change{Job: &rec}, nil
}

// redefine replaces the definition of a stored job, which keeps its next time if its trigger is the same.
func (s *Scheduler) redefine(old *JobRecord, given *JobSpec, now time.Time) (Change, error) {
	var err error
	if given.Trigger, err = s.resolveTrigger(given.Trigger); err != nil {
		return Change{}, err
	}
	before, err := s.replan(now, old)
	if err != nil || before.Job == nil { // a trigger that cannot be planned may be replaced all the same
		return s.redefineCurrent(old, given, now)
	}
	// First as its calendars' change would have it: a next time that is kept must be theirs.
	rec := *before.Job
	rec.Version, rec.RunCount, rec.Created, rec.Updated = old.Version, old.RunCount, old.Created, old.Updated
	change, err := s.redefineCurrent(&rec, given, now)
	if err != nil {
		return Change{}, err
	}
	if change.Job == nil {
		return before, nil
	}
	change.Runs = append(before.Runs, change.Runs...)
	return change, nil
}

// redefineCurrent is redefine for a job whose next time is that of its calendars as they are.
func (s *Scheduler) redefineCurrent(old *JobRecord, spec *JobSpec, now time.Time) (Change, error) {
	oldSpec, err := s.specOf(old)
	masks := oldSpec
	if err != nil || s.unread.why(old.ID) != "" {
		oldSpec = nil // what cannot be read, or breaks its law, has nothing to be compared with
		if !triggerAlone(err) {
			masks = nil
		}
	}
	if err := unmask(spec, masks); err != nil {
		return Change{}, err
	}
	same, err := s.rebind(spec, oldSpec, now)
	if err != nil {
		return Change{}, err
	}
	if !same {
		first, err := firstOf(spec, oldSpec, now)
		if err != nil {
			return Change{}, err
		}
		write := s.write
		if isPast(spec, first, now) {
			last := *first
			write = func(spec *JobSpec, old *JobRecord, _ *fire) (Change, error) { return s.past(spec, old, last, now) }
		}
		change, err := write(spec, old, first)
		if err != nil {
			return Change{}, err
		}
		change.Runs = append(s.settle(old, now, "its trigger was changed before it could start"), change.Runs...)
		usedUp(change.Job, spec, old.RunCount)
		return change, nil
	}
	rec, err := s.record(spec)
	if err != nil {
		return Change{}, err
	}
	rec.State, rec.Reason, rec.NextNominal, rec.NextDue = old.State, old.Reason, old.NextNominal, old.NextDue
	if rec.NextNominal != nil && spec.Policy.Jitter != oldSpec.Policy.Jitter {
		next := jittered(spec, *rec.NextNominal)
		rec.NextDue = &next.due
	}
	rec.Version = old.Version + 1
	change := Change{Job: &rec}
	switch {
	case spec.Paused && rec.State == JobActive:
		change.Runs = s.settle(old, now, pausedFirst)
		rec.State, rec.Reason, rec.NextNominal, rec.NextDue = JobPaused, "paused when added", nil, nil
	case sameDefinition(oldSpec, spec):
		return Change{}, nil
	case rec.State == JobActive && rec.NextDue == nil && !spec.Policy.RunOnStart: // nothing will run it any more
		rec.State, rec.Reason = JobFinished, noFiresLeft
	case usedUp(&rec, spec, old.RunCount):
		change.Runs = s.settle(old, now, "its max_runs were lowered before it could start")
	}
	spec.Paused, spec.AcceptPast = false, false
	return change, nil
}

// unmask takes the secrets that were shown masked from the stored definition, nil where there is none.
func unmask(given, stored *JobSpec) error {
	task, ok := given.Task.(Masker)
	if !ok {
		return nil
	}
	var from Task
	if stored != nil {
		from = stored.Task
	}
	whole, err := task.Unmasked(from)
	if err != nil {
		var faults Faults
		faults.Merge("/task", err)
		return faults.Err()
	}
	given.Task = whole
	return nil
}

// rebind binds a new definition: with the stored zone and anchor, so that an equal definition is an
// equal trigger; a different one keeps the zone and counts from now on. same reports which it is.
func (s *Scheduler) rebind(spec, stored *JobSpec, now time.Time) (same bool, err error) {
	zone, anchor := s.options.Zone, now
	if stored != nil {
		storedZone, storedAnchor := binding(stored)
		if storedZone != nil {
			zone = storedZone
		}
		if !storedAnchor.IsZero() {
			anchor = storedAnchor
		}
	}
	given := spec.Trigger
	spec.Trigger, err = bind(given, spec.ID, zone, anchor)
	if err != nil || stored != nil && sameTrigger(stored.Trigger, spec.Trigger) {
		return err == nil, err
	}
	spec.Trigger, err = bind(given, spec.ID, zone, now)
	return false, err
}

// usedUp finishes an active job whose runs so far are all that it may have.
func usedUp(rec *JobRecord, spec *JobSpec, runCount int64) bool {
	if rec.State != JobActive || spec.Policy.MaxRuns == 0 || runCount < spec.Policy.MaxRuns {
		return false
	}
	rec.State, rec.Reason = JobFinished, maxRunsReached(spec)
	rec.NextNominal, rec.NextDue = nil, nil
	return true
}

func maxRunsReached(spec *JobSpec) string {
	return fmt.Sprintf("max_runs reached (%d)", spec.Policy.MaxRuns)
}

const pausedFirst = "its job was paused before it could start"

func sameTrigger(a, b Trigger) bool {
	left, errLeft := a.MarshalJSON()
	right, errRight := b.MarshalJSON()
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// sameDefinition compares encodings, in which the members of params may stand in any order; closures are never the same.
func sameDefinition(a, b *JobSpec) bool {
	left, errLeft := encodeJob(*a, 0)
	right, errRight := encodeJob(*b, 0)
	return errLeft == nil && errRight == nil && (bytes.Equal(left, right) || bytes.Equal(sorted(left), sorted(right)))
}

// sorted writes JSON with the members of each object in the order of their names; numbers stay as they are written.
func sorted(data []byte) []byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return data
	}
	text, err := json.Marshal(value)
	if err != nil {
		return data
	}
	return text
}

// ModifyJob implements Operations.
func (s *Scheduler) ModifyJob(ctx context.Context, id string, change func(job *Job) error) (Job, error) {
	if err := s.learn(ctx); err != nil {
		return Job{}, err
	}
	recs, _, err := s.editOne(ctx, id, func(now time.Time, old *JobRecord) (Change, error) {
		if old == nil {
			return Change{}, jobNotFound(id)
		}
		job := s.job(old)
		was := job.Task
		err := change(&job)
		if err == nil && job.ID != id {
			return Change{}, Invalid("/id", job.ID, "the id of a job cannot change; it is %q", id)
		}
		spec := job.clone() // the caller's maps and slices stay the caller's
		if err != nil {
			err = s.completeBeside(err, &spec, was)
		} else {
			err = s.complete(&spec, was)
		}
		if err != nil {
			if stored, unread := s.specOf(old); unread == nil {
				err = joinFaults(err, s.neverBeside(err, &spec, stored, now))
			}
			return Change{}, err
		}
		return s.redefine(old, &spec, now)
	})
	if err != nil {
		return Job{}, err
	}
	s.catchUp(ctx, recs)
	s.emit(Event{Kind: EventJobModified, JobID: id})
	return s.job(&recs[0]), nil
}

func jobNotFound(id string) error { return fmt.Errorf("job %q: %w", id, ErrNotFound) }

// PauseJob implements Operations. A finished job stays finished.
func (s *Scheduler) PauseJob(ctx context.Context, id string) (Job, error) {
	return s.setState(ctx, id, func(now time.Time, old *JobRecord) (Change, error) {
		if old.State != JobActive {
			return Change{}, nil
		}
		rec := *old
		rec.State, rec.Reason, rec.NextNominal, rec.NextDue = JobPaused, "paused by hand", nil, nil
		rec.Version++
		return Change{Job: &rec, Runs: s.settle(old, now, pausedFirst)}, nil
	})
}

// ResumeJob implements Operations. A finished job is active again if its trigger has a fire to come, or it
// runs on start, and its max_runs are not used up.
func (s *Scheduler) ResumeJob(ctx context.Context, id string) (Job, error) {
	return s.setState(ctx, id, func(now time.Time, old *JobRecord) (Change, error) {
		if old.State == JobActive {
			return Change{}, nil
		}
		spec, err := s.specOf(old)
		if err != nil {
			return Change{}, fmt.Errorf("job %q cannot be read here: %w", id, err)
		}
		rec := *old
		next, ok, err := nextFire(spec, now)
		switch {
		case err != nil:
			return Change{}, err
		case spec.Policy.MaxRuns > 0 && old.RunCount >= spec.Policy.MaxRuns:
			rec.State, rec.Reason = JobFinished, maxRunsReached(spec)
		case !ok && spec.Policy.RunOnStart:
			rec.State, rec.Reason, rec.NextNominal, rec.NextDue = JobActive, "", nil, nil
		case !ok:
			rec.State, rec.Reason = JobFinished, noFiresLeft
		default:
			rec.State, rec.Reason = JobActive, ""
			rec.NextNominal, rec.NextDue = next.stored()
		}
		if rec.State == old.State {
			return Change{}, nil
		}
		rec.Version++
		return Change{Job: &rec}, nil
	})
}

func (s *Scheduler) setState(ctx context.Context, id string, decide func(now time.Time, old *JobRecord) (Change, error)) (Job, error) {
	changed := false
	recs, _, err := s.editOne(ctx, id, func(now time.Time, old *JobRecord) (Change, error) {
		if old == nil {
			return Change{}, jobNotFound(id)
		}
		change, err := decide(now, old)
		changed = change.Job != nil
		return change, err
	})
	if err != nil {
		return Job{}, err
	}
	if changed {
		s.emit(Event{Kind: EventJobModified, JobID: id, Reason: recs[0].Reason})
	}
	return s.job(&recs[0]), nil
}

// RemoveJob implements Operations.
func (s *Scheduler) RemoveJob(ctx context.Context, id string) error {
	_, _, err := s.editOne(ctx, id, func(now time.Time, old *JobRecord) (Change, error) {
		if old == nil {
			return Change{}, jobNotFound(id)
		}
		return s.remove(old, now), nil
	})
	if err == nil {
		s.emit(Event{Kind: EventJobRemoved, JobID: id})
	}
	return err
}

func (s *Scheduler) remove(old *JobRecord, now time.Time) Change {
	return Change{Remove: true, Runs: s.settle(old, now, "its job was removed before it could start")}
}

// removeStep is how many jobs RemoveJobs takes in one step of the store, so that a big
// clearing does not hold up the fires of others.
const removeStep = 500

// RemoveJobs implements Operations. It works in steps of 500, and of fewer where their fires take longer than settlePatience to count: a
// step of the store is bounded in time. When it fails, those before are gone.
func (s *Scheduler) RemoveJobs(ctx context.Context, query JobQuery) (int, error) {
	query.Sort, query.Cursor, query.Offset, query.Limit = SortID, "", 0, removeStep
	all := len(query.IDs) == 0 && len(query.Tags) == 0 && query.Name == "" && query.Pool == "" && query.State == "" && query.Search == "" && query.Version == 0 && !query.OnStart
	query.IDs = slices.Compact(slices.Sorted(slices.Values(query.IDs))) // each is decided about once a step
	total, rest := 0, query.IDs
	for {
		if len(query.IDs) > 0 {
			query.IDs = rest[:min(removeStep, len(rest))]
			rest = rest[len(query.IDs):]
		}
		removing := map[string]bool{} // of those that were there; false: left for the next step
		var step, begin time.Time
		recs, runs, err := s.store.EditJobs(ctx, query, func(now time.Time, id string, old *JobRecord, _ int) Change {
			if old == nil {
				return Change{}
			}
			if !now.Equal(step) { // it has begun, or begun anew
				step, begin = now, time.Now()
			}
			if removing[id] = time.Since(begin) < settlePatience; !removing[id] {
				return Change{}
			}
			return s.remove(old, now)
		})
		if err != nil {
			return total, err
		}
		var removed, left []string
		for i := range recs {
			switch gone, there := removing[recs[i].ID]; {
			case gone:
				removed = append(removed, recs[i].ID)
			case there:
				left = append(left, recs[i].ID)
			}
		}
		slices.Sort(removed)
		removed = slices.Compact(removed)
		if !all {
			for _, id := range removed {
				s.emit(Event{Kind: EventJobRemoved, JobID: id})
			}
		}
		s.emitSettled(runs)
		total += len(removed)
		if len(query.IDs) > 0 {
			rest = append(left, rest...)
		}
		if len(rest) == 0 && len(left) == 0 && (len(query.IDs) > 0 || len(removed) < removeStep) {
			break
		}
	}
	if all {
		s.emit(Event{Kind: EventJobsRemoved})
	}
	s.kick()
	return total, nil
}

// RunNow implements Operations.
func (s *Scheduler) RunNow(ctx context.Context, id string, params json.RawMessage) (Run, error) {
	if err := checkParams(params); err != nil {
		var faults Faults
		faults.Merge("/params", err)
		return Run{}, faults.Err()
	}
	_, runs, err := s.editOne(ctx, id, func(now time.Time, old *JobRecord) (Change, error) {
		if old == nil {
			return Change{}, jobNotFound(id)
		}
		spec, err := s.specOf(old)
		if err != nil {
			return Change{}, fmt.Errorf("job %q cannot be read here: %w", id, err)
		}
		run := newRun(old, spec, CauseManual, fire{now, now}, RunQueued, "")
		if run.Params, err = mergeParams(spec.Params, params); err != nil {
			return Change{}, err
		}
		if len(run.Params) > maxParams {
			return Change{}, Invalid("/params", "", "%d bytes with the job's own; accepted are at most %d", len(run.Params), maxParams)
		}
		var faults Faults
		if faults.Merge("/params", s.registry.checkCall(spec.Task, run.Params)); faults.Err() != nil {
			return Change{}, faults.Err()
		}
		return Change{Runs: []Run{run}}, nil
	})
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}
