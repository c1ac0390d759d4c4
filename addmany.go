package ruqi

import (
	"context"
	"time"
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

// AddJobs is AddJob for many: in the order of specs, MaxBatch in one step of the store, which is many times cheaper than a step for each.
// What is wrong with one job keeps no other out. When it fails, the steps before have happened; nothing else has.
func (s *Scheduler) AddJobs(ctx context.Context, specs []JobSpec, onConflict OnConflict) ([]Addition, error) {
	onConflict, err := onConflict.checked()
	if err != nil {
		return nil, err
	}
	all := make([]Addition, len(specs))
	for from := 0; from < len(specs); from += MaxBatch {
		to := min(from+MaxBatch, len(specs))
		if err := s.addBatch(ctx, specs[from:to], onConflict, all[from:to]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addBatch adds jobs in one step.
func (s *Scheduler) addBatch(ctx context.Context, specs []JobSpec, onConflict OnConflict, all []Addition) error {
	checked := make([]JobSpec, len(specs))
	place := map[string]int{} // by id
	var ids []string
	for i, spec := range specs {
		spec, err := s.complete(spec, nil)
		if _, twice := place[spec.ID]; err == nil && twice {
			err = Invalid("/id", spec.ID, "stands twice in one batch")
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
		change, added, err := s.decideAdd(checked[i], onConflict, old, now)
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
	for r := range recs {
		i := place[recs[r].ID]
		if all[i].Err != nil {
			continue
		}
		s.unread.forget(recs[r].ID)
		s.removeIfFinished(ctx, &recs[r])
		all[i].Job = s.job(&recs[r])
		switch all[i].Added {
		case Created:
			s.emit(Event{Kind: EventJobAdded, JobID: recs[r].ID})
		case Replaced:
			s.emit(Event{Kind: EventJobModified, JobID: recs[r].ID})
		}
	}
	return nil
}
