package ruqi

import (
	"context"
	"encoding/json"
)

func (s *Scheduler) AddJob(ctx context.Context, spec JobSpec, onConflict OnConflict) (Job, Added, error) {
	return Job{}, "", errSoon
}

func (s *Scheduler) ModifyJob(ctx context.Context, id string, change func(job *Job) error) (Job, error) {
	return Job{}, errSoon
}

func (s *Scheduler) PauseJob(ctx context.Context, id string) (Job, error) { return Job{}, errSoon }

func (s *Scheduler) ResumeJob(ctx context.Context, id string) (Job, error) { return Job{}, errSoon }

func (s *Scheduler) RemoveJob(ctx context.Context, id string) error { return errSoon }

func (s *Scheduler) RemoveJobs(ctx context.Context, query JobQuery) (int, error) { return 0, errSoon }

func (s *Scheduler) Job(ctx context.Context, id string) (Job, error) { return Job{}, errSoon }

func (s *Scheduler) Jobs(ctx context.Context, query JobQuery) (JobPage, error) {
	return JobPage{}, errSoon
}

func (s *Scheduler) RunNow(ctx context.Context, id string, params json.RawMessage) (Run, error) {
	return Run{}, errSoon
}

func (s *Scheduler) FindRun(ctx context.Context, id int64) (Run, error) { return Run{}, errSoon }

func (s *Scheduler) WaitRun(ctx context.Context, id int64) (Run, error) { return Run{}, errSoon }

func (s *Scheduler) CancelRun(ctx context.Context, id int64, by string) (Run, error) {
	return Run{}, errSoon
}

func (s *Scheduler) Runs(ctx context.Context, query RunQuery) (RunPage, error) {
	return RunPage{}, errSoon
}

func (s *Scheduler) Output(ctx context.Context, id int64, from int64, limit int) (OutputPart, error) {
	return OutputPart{}, errSoon
}

func (s *Scheduler) Status(ctx context.Context) (Status, error) { return Status{}, errSoon }

func (s *Scheduler) Wakeup(ctx context.Context) error { return errSoon }
