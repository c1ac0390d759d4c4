package ruqi

import (
	"context"
	"time"
)

// A Rehearser tells what adding a job would do, and does nothing. A Scheduler is one, and so is a client.Client.
type Rehearser interface {
	// RehearseJob is AddJob up to the moment in which something would be written: the same checks, the same errors,
	// and the job as it would then be. Its Version is the stored one where nothing would change, and higher by one where
	// something would; unlike AddJob's answer it has Parked set as Job has. It holds for the moment only: the job may change before it is added.
	RehearseJob(ctx context.Context, spec JobSpec, onConflict OnConflict) (Job, Added, error)
}

var _ Rehearser = (*Scheduler)(nil)

// RehearseJob implements Rehearser. The time is the store's, as well as it is known from the last heartbeat.
func (s *Scheduler) RehearseJob(ctx context.Context, spec JobSpec, onConflict OnConflict) (Job, Added, error) {
	given, onConflict, err := s.checkAdd(ctx, spec, onConflict)
	if err != nil {
		return Job{}, "", err
	}
	page, err := s.store.Jobs(ctx, JobQuery{IDs: []string{given.spec.ID}, Limit: 1})
	if err != nil {
		return Job{}, "", err
	}
	live, err := s.serving(ctx)
	if err != nil {
		return Job{}, "", err
	}
	now := s.storeNow(nil)
	var old *JobRecord
	if len(page.Jobs) > 0 {
		old = &page.Jobs[0]
	}
	change, added, err := s.decideAdd(given.take(), onConflict, old, now)
	if err != nil {
		return Job{}, "", err
	}
	rec := change.Job
	if rec == nil {
		rec = old
	} else if err := s.pretend(rec, old, now); err != nil {
		return Job{}, "", err
	}
	job := s.job(rec)
	if change.Job != nil {
		job.Parked = "" // what keeps the stored definition from running says nothing of the new one
	}
	if job.Parked == "" && rec.State != JobFinished {
		job.Parked = live.lacks(PoolNeed{rec.Pool, rec.Needs})
	}
	return job, added, nil
}

// pretend makes of a record that would be written what the store would keep. Its definition is decoded beside the
// cache, in which another may stand under the same version soon.
func (s *Scheduler) pretend(rec, old *JobRecord, now time.Time) (err error) {
	rec.Created, rec.Updated = now, now
	if old != nil {
		rec.Created, rec.RunCount = old.Created, old.RunCount
	}
	if rec.Live == nil {
		rec.Live, err = s.decodeSpec(rec)
	}
	return err
}
