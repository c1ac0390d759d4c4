package legacy

import (
	"context"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// misfireGrace is how late a job that was added here may start, as the original had it.
const misfireGrace = 30 * time.Second

// A jobRow is a job as clients know it. Some members stand twice: old pages bind either name.
type jobRow struct {
	ID         string  `json:"job_id"`
	Name       string  `json:"job_name"`
	Trigger    string  `json:"job_trigger"`
	OldTrigger string  `json:"Job_trigger"`
	Cmd        string  `json:"cmd"`
	Rule       string  `json:"rule"`
	Next       *string `json:"next_run_time"` // null: it has none, as a rule because it is paused
	OldNext    string  `json:"nexttime"`
	Created    string  `json:"c_time"`
}

func (h *Handler) jobRow(job *ruqi.Job) jobRow {
	row := jobRow{
		ID: job.ID, Name: job.Name, Trigger: job.Trigger.Kind(), OldTrigger: job.Trigger.Kind(),
		Cmd: job.Task.String(), Rule: h.rule(job.Trigger), OldNext: "None", Created: h.time(job.Created),
	}
	if job.NextDue != nil {
		next := h.time(*job.NextDue)
		row.Next, row.OldNext = &next, next
	}
	return row
}

func (h *Handler) job(ctx context.Context, p *params) (any, error) {
	job, err := h.Operations.Job(ctx, p.text("job_id"))
	if err != nil {
		return nil, err
	}
	return h.jobRow(&job), nil
}

// jobs lists a page of jobs, or all of them, the newest first.
func (h *Handler) jobs(ctx context.Context, p *params) (any, error) {
	offset, size, all, err := p.page()
	if err != nil {
		return nil, err
	}
	query := ruqi.JobQuery{Name: p.text("job_name"), Sort: ruqi.SortNewest, Offset: offset, Limit: size}
	if id := p.text("job_id"); id != "" {
		query.IDs, query.Sort = []string{id}, ruqi.SortID // one at the most, which a store finds by its id
	}
	if all {
		query.Limit = ruqi.MaxPage
	}
	read := func() ([]any, int64, error) {
		page, err := h.Operations.Jobs(ctx, query)
		if err != nil {
			return nil, 0, err
		}
		list := make([]any, len(page.Jobs))
		for i := range page.Jobs {
			list[i] = h.jobRow(&page.Jobs[i])
		}
		query.Cursor = page.Next
		return list, page.Total, nil
	}
	list, total, err := read()
	if err != nil {
		return nil, err
	}
	found := &rows{total: total, list: list}
	if all && query.Cursor != "" {
		found.more = func() ([]any, error) {
			if query.Cursor == "" {
				return nil, nil
			}
			list, _, err := read()
			return list, err
		}
	}
	return found, nil
}

func (h *Handler) add(ctx context.Context, p *params) (any, error) {
	trigger, err := h.trigger(p.text("job_trigger"), p.text("rule"), h.Now())
	if err != nil {
		return nil, err
	}
	work, err := h.work(p.text("cmd"))
	if err != nil {
		return nil, err
	}
	grace, coalesce := misfireGrace, false
	_, _, err = h.Operations.AddJob(ctx, ruqi.JobSpec{
		ID: p.text("job_id"), Name: p.text("job_name"), Trigger: trigger, Task: work.task, AcceptPast: true,
		Policy: ruqi.Policy{Coalesce: &coalesce, MisfireGrace: &grace, DeleteWhenFinished: true, Timeout: work.limit},
	}, ruqi.Fail)
	return nil, err
}

// modify changes name, trigger and task. What is sent back as it was shown stays as it is, also where this API could not have made it.
func (h *Handler) modify(ctx context.Context, p *params) (any, error) {
	// Read before the step of the store, which must be quick; what is wrong counts only where it is new.
	trigger, wrongRule := h.trigger(p.text("job_trigger"), p.text("rule"), h.Now())
	work, wrongCmd := h.work(p.text("cmd"))
	_, err := h.Operations.ModifyJob(ctx, p.text("job_id"), func(job *ruqi.Job) error {
		job.Name = p.text("job_name")
		if p.text("job_trigger") != job.Trigger.Kind() || p.text("rule") != h.rule(job.Trigger) {
			if wrongRule != nil {
				return wrongRule
			}
			job.Trigger, job.AcceptPast = trigger, true
		}
		if p.text("cmd") != job.Task.String() {
			if wrongCmd != nil {
				return wrongCmd
			}
			if work.task.Kind() != job.Task.Kind() {
				job.Executor = "" // the pool of the new kind
			}
			job.Task, job.Policy.Timeout = work.task, work.limit
		}
		return nil
	})
	return nil, err
}

func (h *Handler) remove(ctx context.Context, p *params) (any, error) {
	return nil, h.Operations.RemoveJob(ctx, p.text("job_id"))
}

func (h *Handler) pause(ctx context.Context, p *params) (any, error) {
	_, err := h.Operations.PauseJob(ctx, p.text("job_id"))
	return nil, err
}

// resume sets a job going again, and removes it when it could never run.
func (h *Handler) resume(ctx context.Context, p *params) (any, error) {
	id := p.text("job_id")
	job, err := h.Operations.ResumeJob(ctx, id)
	if err != nil || job.State != ruqi.JobFinished {
		return nil, err
	}
	// Only as long as it is finished: somebody may give it another trigger meanwhile.
	if _, err := h.Operations.RemoveJobs(ctx, ruqi.JobQuery{IDs: []string{id}, State: ruqi.JobFinished}); err != nil {
		return nil, err
	}
	return nil, failed(statFailed, reasonNoNext, "%s; the job is removed", job.StateReason)
}
