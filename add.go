package ruqi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// MaxBatch is how many jobs AddJobs takes in one step of the store: enough that what a step costs does not count, few enough that it does
// not hold up the fires of others.
const MaxBatch = 500

// An Addition is what became of one of many jobs.
type Addition struct {
	// Job is the job as it now is, Added what happened to it; both are empty where Err is not nil.
	Job   Job
	Added Added
	// Changed reports whether something was written: not so for a job that was kept, or replaced by an equal one.
	Changed bool
	// Err is what AddJob would have returned for this job alone. The others are added all the same.
	Err error
}

// AddJob implements Operations.
func (s *Scheduler) AddJob(ctx context.Context, spec JobSpec, onConflict OnConflict) (Job, Added, error) {
	given, onConflict, err := s.checkAdd(ctx, spec, onConflict)
	if err != nil {
		return Job{}, "", err
	}
	recs, _, err := s.editOne(ctx, given.spec.ID, func(now time.Time, old *JobRecord) (change Change, err error) {
		change, given.added, err = s.decideAdd(given.take(), onConflict, old, now)
		return change, err
	})
	if err != nil {
		return Job{}, "", err
	}
	s.catchUp(ctx, recs)
	job := s.job(&recs[0])
	s.emitAdded(job.ID, given.added)
	return job, given.added, nil
}

// A givenSpec is a checked definition for the decision about one job, which may have to be made again. A new job keeps the
// definition that its decision took: to copy it first would be a sixth of all that adding a job allocates.
type givenSpec struct {
	spec *JobSpec
	// What a decision changes, as it was given.
	trigger            Trigger
	task               Task
	paused, acceptPast bool

	taken bool
	added Added // what the last decision says
}

func give(spec *JobSpec) *givenSpec {
	return &givenSpec{spec: spec, trigger: spec.Trigger, task: spec.Task, paused: spec.Paused, acceptPast: spec.AcceptPast}
}

// take returns the definition for one decision, which may change it and keep it.
func (g *givenSpec) take() *JobSpec {
	if !g.taken {
		g.taken = true
		return g.spec
	}
	again := *g.spec // whoever has it only reads it by now
	again.Trigger, again.Task, again.Paused, again.AcceptPast = g.trigger, g.task, g.paused, g.acceptPast
	return &again
}

// AddJobs is AddJob for many: in the order of specs, MaxBatch in one step of the store, which is many times cheaper than a step for each.
// What is wrong with one job keeps no other out. When it fails, the steps before have happened; nothing else has.
func (s *Scheduler) AddJobs(ctx context.Context, specs []JobSpec, onConflict OnConflict) ([]Addition, error) {
	onConflict, err := onConflict.checked()
	if err != nil {
		return nil, err
	}
	all := make([]Addition, len(specs))
	place := map[string]int{} // by id
	for from := 0; from < len(specs); from += MaxBatch {
		to := min(from+MaxBatch, len(specs))
		if err := s.addBatch(ctx, specs[from:to], onConflict, all[from:to], place); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addBatch adds jobs in one step.
func (s *Scheduler) addBatch(ctx context.Context, specs []JobSpec, onConflict OnConflict, all []Addition, place map[string]int) error {
	if slices.ContainsFunc(specs, func(spec JobSpec) bool { return len(calendarsOf(spec.Trigger)) > 0 }) {
		if err := s.learn(ctx); err != nil {
			return err
		}
	}
	checked := make([]JobSpec, len(specs))
	var ids []string
	for i, spec := range specs {
		spec = spec.clone()
		err := s.neverToo(ctx, s.complete(&spec, nil), &spec, onConflict)
		if _, twice := place[spec.ID]; err == nil && twice {
			err = Invalid("/id", spec.ID, "stands twice among the jobs to add")
		}
		if err != nil {
			all[i].Err = err
			continue
		}
		checked[i], place[spec.ID] = spec, i
		ids = append(ids, spec.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	recs, runs, err := s.store.EditJobs(ctx, JobQuery{IDs: ids}, func(now time.Time, id string, old *JobRecord, _ int) Change {
		i := place[id]
		spec := checked[i] // a copy: one job does not keep the memory of all
		change, added, err := s.decideAdd(&spec, onConflict, old, now)
		if err != nil {
			all[i] = Addition{Err: err}
			return Change{}
		}
		all[i] = Addition{Added: added, Changed: change.Job != nil}
		return change
	})
	if err != nil {
		return err
	}
	s.kick()
	s.emitSettled(runs)
	s.catchUp(ctx, recs)
	for r := range recs {
		i := place[recs[r].ID]
		if all[i].Err != nil {
			continue
		}
		s.unread.forget(recs[r].ID)
		s.removeIfFinished(ctx, &recs[r])
		all[i].Job = s.job(&recs[r])
		s.emitAdded(recs[r].ID, all[i].Added)
	}
	return nil
}

// emitAdded tells listeners what adding a job did; of one that was kept there is nothing to tell.
func (s *Scheduler) emitAdded(id string, added Added) {
	switch added {
	case Created:
		s.emit(Event{Kind: EventJobAdded, JobID: id})
	case Replaced:
		s.emit(Event{Kind: EventJobModified, JobID: id})
	}
}

// checkAdd checks what can be checked of a job that is to be added without a step of the store.
func (s *Scheduler) checkAdd(ctx context.Context, given JobSpec, onConflict OnConflict) (*givenSpec, OnConflict, error) {
	onConflict, err := onConflict.checked()
	if err != nil {
		return nil, "", err
	}
	if len(calendarsOf(given.Trigger)) > 0 {
		if err := s.learn(ctx); err != nil {
			return nil, "", err
		}
	}
	spec := given.clone() // the caller's maps and slices stay the caller's
	if err := s.neverToo(ctx, s.complete(&spec, nil), &spec, onConflict); err != nil {
		return nil, "", err
	}
	return give(&spec), onConflict, nil
}

// WrongBeside adds to the *InvalidError with which the reading of a definition ended (Registry.DecodeJob) what AddJob would refuse the
// rest of it for, spec, so that a user is told all at once. Of what could not be read nothing more is told, nor what may come of its
// being left out. Any other error is returned as it is. It changes nothing.
func (s *Scheduler) WrongBeside(ctx context.Context, wrong error, spec JobSpec, onConflict OnConflict) error {
	if len(calendarsOf(spec.Trigger)) > 0 {
		if err := s.learn(ctx); err != nil {
			return wrong
		}
	}
	spec = spec.clone()
	return s.neverToo(ctx, s.completeBeside(wrong, &spec, nil), &spec, onConflict)
}

// completeBeside is complete for a definition of which a part could not be read: wrong says why.
func (s *Scheduler) completeBeside(wrong error, spec *JobSpec, was Task) error {
	read, ok := wrong.(*InvalidError) // what is wrapped stays as it is
	if !ok {
		return wrong
	}
	var more *InvalidError
	if err := s.complete(spec, was); !errors.As(err, &more) {
		return wrong
	}
	taskRead := !slices.ContainsFunc(read.Faults, func(f Fault) bool { return object.Within("/task", f.Pointer) })
	misnamed := slices.ContainsFunc(read.Faults, func(f Fault) bool {
		return isMisnamed(f) || isMisnamedIn("/policy", f, policyMembers, "pause_after_failures")
	})
	all := Faults{list: slices.Clone(read.Faults)}
	all.mergeNew(slices.DeleteFunc(more.Faults, func(f Fault) bool {
		if f.Pointer == "/policy/run_on_start" && misnamed {
			return true // it may be there, under a wrong name
		}
		return !taskRead && object.Within("/params", f.Pointer) // it is for the task to say which it takes
	}))
	return all.Err()
}

// isMisnamed reports whether a fault is of a member that a definition does not have. What it was meant for seems to be left out.
func isMisnamed(f Fault) bool { return isMisnamedIn("", f, jobMembers, "state") } // which the API takes beside a definition

// isMisnamedIn is isMisnamed for the object at a pointer. Known are members that are read, though none are told that they are accepted.
func isMisnamedIn(pointer string, f Fault, members []string, known string) bool {
	rest, below := strings.CutPrefix(f.Pointer, pointer+"/")
	name, _, _ := strings.Cut(rest, "/")
	return below && name != known && !slices.Contains(members, name)
}

// neverToo adds to what is wrong with a job that its trigger has no fire time left, so that it is not found out when all else is mended. What
// is stored under its id is looked at only where that matters: a trigger that stays as it is may be at its end.
func (s *Scheduler) neverToo(ctx context.Context, wrong error, spec *JobSpec, onConflict OnConflict) error {
	if wrong == nil {
		return nil
	}
	now := s.storeNow(nil)
	never := s.neverBeside(wrong, spec, nil, now)
	if never == nil {
		return wrong
	}
	page, err := s.store.Jobs(ctx, JobQuery{IDs: []string{spec.ID}, Limit: 1})
	if err != nil {
		return wrong
	}
	for i := range page.Jobs {
		stored, err := s.specOf(&page.Jobs[i])
		if onConflict != Replace || err != nil { // nobody knows whether its trigger is the same
			return wrong
		}
		never = s.neverBeside(wrong, spec, stored, now)
	}
	return joinFaults(wrong, never)
}

// neverBeside returns why a new definition of a job, nil where none is stored, has no fire to come; nil where it has, or where that hangs on
// what is wrong with it.
func (s *Scheduler) neverBeside(wrong error, spec, stored *JobSpec, now time.Time) error {
	invalid, ok := wrong.(*InvalidError) // as in completeBeside
	if !ok || isNil(spec.Trigger) {
		return nil
	}
	for _, f := range invalid.Faults {
		if isMisnamed(f) { // it may be the policy
			return nil
		}
		// The first fire hangs on these; of the id some triggers make their times.
		for _, part := range [...]string{"/trigger", "/policy", "/id"} {
			if f.Pointer == "" || object.Within(part, f.Pointer) {
				return nil
			}
		}
	}
	bound := *spec
	same, err := s.rebind(&bound, stored, now)
	if err != nil || same {
		return nil
	}
	_, err = firstOf(&bound, stored, now)
	return err
}

// joinFaults tells what is wrong together; more may be nil.
func joinFaults(wrong, more error) error {
	if more == nil {
		return wrong
	}
	var faults Faults
	faults.Merge("", wrong)
	faults.Merge("", more)
	return faults.Err()
}

// checked is the word with its default.
func (c OnConflict) checked() (OnConflict, error) {
	switch c {
	case "":
		return Fail, nil
	case Fail, Keep, Replace:
		return c, nil
	}
	return "", Invalid("/on_conflict", string(c), "unknown word; accepted are fail, keep and replace%s", object.DidYouMean(c, Fail, Keep, Replace))
}

// decideAdd decides what adding a job does where old is stored under its id; nil: nothing is. The definition is its own.
func (s *Scheduler) decideAdd(spec *JobSpec, onConflict OnConflict, old *JobRecord, now time.Time) (change Change, added Added, err error) {
	switch {
	case old == nil:
		added = Created
		change, err = s.create(spec, now)
	case onConflict != Replace:
		added, err = Kept, s.unbindable(spec, now)
		if err == nil && onConflict == Fail {
			err = fmt.Errorf("job %q %w", spec.ID, ErrExists)
		}
	default:
		added = Replaced
		change, err = s.redefine(old, spec, now)
	}
	return change, added, err
}

// create makes the record of a new job of a definition that is its own.
func (s *Scheduler) create(spec *JobSpec, now time.Time) (Change, error) {
	if err := unmask(spec, nil); err != nil {
		return Change{}, err
	}
	var err error
	if spec.Trigger, err = s.resolveTrigger(spec.Trigger); err != nil {
		return Change{}, err
	}
	if spec.Trigger, err = bind(spec.Trigger, spec.ID, s.options.Zone, now); err != nil {
		return Change{}, err
	}
	first, err := firstOf(spec, nil, now)
	if err != nil {
		return Change{}, err
	}
	if isPast(spec, first, now) {
		return s.past(spec, nil, *first, now)
	}
	return s.write(spec, nil, first)
}
