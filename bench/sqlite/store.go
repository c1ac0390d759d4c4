package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

const period = int64(time.Hour / time.Microsecond)

var epoch = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func jobID(i int) string { return fmt.Sprintf("reports/daily/%06d", i) }

const task = "func:noop {}"

// openStore adds the jobs to a store, all due at the same time.
func openStore(ctx context.Context, path string, jobs int) (func(context.Context) error, func() error, error) {
	now := epoch
	s, err := sqlite.Open(ctx, path, sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		return nil, nil, err
	}
	if err := addJobs(ctx, s, jobs); err != nil {
		return nil, nil, err
	}
	instance, err := s.Beat(ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: "bench"}, Lease: 24 * 365 * time.Hour})
	if err != nil {
		return nil, nil, err
	}
	request := ruqi.ClaimRequest{Owner: instance.Owner, Slots: map[string]int{"default": batch}, Needs: []string{"func:noop"}, Limit: batch}
	round := func(ctx context.Context) error {
		for left := jobs; left > 0; {
			claimed, err := s.Claim(ctx, request, plan)
			if err != nil {
				return err
			}
			if len(claimed.Runs) == 0 {
				return fmt.Errorf("%d jobs are due and none was claimed", left)
			}
			left -= len(claimed.Runs)
			done := make([]ruqi.Done, len(claimed.Runs))
			for i, r := range claimed.Runs {
				r.State = ruqi.RunSucceeded
				done[i].Run = r
			}
			late, err := s.Finish(ctx, instance.Owner, done)
			if err != nil || len(late) > 0 {
				return fmt.Errorf("%d runs are late: %w", len(late), err)
			}
		}
		now = now.Add(time.Hour)
		return nil
	}
	return round, s.Close, nil
}

// addJobs adds jobs that are all due at the same time.
func addJobs(ctx context.Context, s *sqlite.Store, jobs int) error {
	for begin := 0; begin < jobs; begin += 1000 {
		var ids []string
		for i := begin; i < min(begin+1000, jobs); i++ {
			ids = append(ids, jobID(i))
		}
		_, _, err := s.EditJobs(ctx, ruqi.JobQuery{IDs: ids}, func(now time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
			return ruqi.Change{Job: &ruqi.JobRecord{
				ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "func:noop", MaxInstances: 1,
				NextNominal: &now, NextDue: &now, Version: 1,
				Spec: []byte(`{"id":"` + id + `","trigger":{"kind":"cron","expr":"0 * * * *","zone":"Europe/Berlin"},"task":{"kind":"func","name":"noop"},"policy":{"misfire_grace":"30s","coalesce":true}}`),
			}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// plan starts one run for each due job and moves the job on by an hour.
func plan(_ time.Time, due []ruqi.Due) []ruqi.Plan {
	plans := make([]ruqi.Plan, len(due))
	for i, d := range due {
		next := d.Job.NextDue.Add(time.Hour)
		plans[i] = ruqi.Plan{
			JobID: d.Job.ID, State: d.Job.State, NextNominal: &next, NextDue: &next, RunCount: d.Job.RunCount + 1,
			Runs: []ruqi.Run{{
				Attempt: 1, JobID: d.Job.ID, JobName: d.Job.Name, Task: task, Cause: ruqi.CauseSchedule, State: ruqi.RunRunning,
				Nominal: *d.Job.NextNominal, Due: *d.Job.NextDue, Params: []byte("{}"),
			}},
		}
	}
	return plans
}
