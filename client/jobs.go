package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

// AddJob implements ruqi.Operations.
func (c *Client) AddJob(ctx context.Context, spec ruqi.JobSpec, onConflict ruqi.OnConflict) (ruqi.Job, ruqi.Added, error) {
	text, err := c.newDefinition(spec)
	if err != nil {
		return ruqi.Job{}, "", err
	}
	return c.AddDefinition(ctx, text, onConflict)
}

// AddDefinition is AddJob for a definition in JSON, which the service alone reads: it may be of
// kinds that this program does not know.
func (c *Client) AddDefinition(ctx context.Context, definition json.RawMessage, onConflict ruqi.OnConflict) (ruqi.Job, ruqi.Added, error) {
	return c.added(ctx, addRequest(definition, onConflict), onConflict)
}

var _ ruqi.Rehearser = (*Client)(nil)

// RehearseJob implements ruqi.Rehearser.
func (c *Client) RehearseJob(ctx context.Context, spec ruqi.JobSpec, onConflict ruqi.OnConflict) (ruqi.Job, ruqi.Added, error) {
	text, err := c.newDefinition(spec)
	if err != nil {
		return ruqi.Job{}, "", err
	}
	return c.RehearseDefinition(ctx, text, onConflict)
}

// RehearseDefinition is RehearseJob for a definition in JSON.
func (c *Client) RehearseDefinition(ctx context.Context, definition json.RawMessage, onConflict ruqi.OnConflict) (ruqi.Job, ruqi.Added, error) {
	r := addRequest(definition, onConflict)
	r.query.Set("dry_run", "true")
	return c.added(ctx, r, onConflict)
}

// ReplaceDefinition is AddDefinition with Replace for a job that is there, at that version: ErrVersion when it is at
// another one, ErrNotFound when it is gone.
func (c *Client) ReplaceDefinition(ctx context.Context, definition json.RawMessage, version int64) (ruqi.Job, error) {
	r := addRequest(definition, ruqi.Replace)
	r.header = ifMatch(version)
	job, _, err := c.added(ctx, r, ruqi.Replace)
	return job, err
}

func addRequest(definition json.RawMessage, onConflict ruqi.OnConflict) request {
	query := url.Values{}
	set(query, "on_conflict", string(onConflict))
	return request{method: http.MethodPost, path: "/jobs", query: query, body: definition}
}

func ifMatch(version int64) http.Header {
	return http.Header{"If-Match": {`"` + strconv.FormatInt(version, 10) + `"`}}
}

// added sends a request that adds a job, and tells what came of it.
func (c *Client) added(ctx context.Context, r request, onConflict ruqi.OnConflict) (ruqi.Job, ruqi.Added, error) {
	var shape wire.Job
	resp, err := c.do(ctx, r, &shape)
	if err != nil {
		return ruqi.Job{}, "", err
	}
	job, err := shape.Job(c.registry)
	switch {
	case err != nil:
		return ruqi.Job{}, "", err
	case resp.StatusCode == http.StatusCreated, resp.Header.Get("Ruqi-Added") == string(ruqi.Created):
		return job, ruqi.Created, nil
	case onConflict == ruqi.Keep:
		return job, ruqi.Kept, nil
	}
	return job, ruqi.Replaced, nil
}

// newDefinition writes the definition of a job that is to be added.
func (c *Client) newDefinition(spec ruqi.JobSpec) (json.RawMessage, error) {
	body, err := c.definition(spec)
	if err != nil {
		return nil, err
	}
	if spec.ID == "" {
		delete(body, "id") // the service refuses an empty one
	}
	if spec.Paused {
		body["state"] = json.RawMessage(`"paused"`)
	}
	return json.Marshal(body)
}

// PatchJob changes the parts of a job's definition that a JSON merge patch names, in one step.
func (c *Client) PatchJob(ctx context.Context, id string, patch json.RawMessage) (ruqi.Job, error) {
	r := jobRequest(http.MethodPatch, id, "")
	r.body = patch
	return c.jobOf(ctx, r)
}

// definition returns the members of a job's definition. What was not given is left out: the
// service's own checks are to speak of it.
func (c *Client) definition(spec ruqi.JobSpec) (map[string]json.RawMessage, error) {
	if spec.AcceptPast {
		return nil, ruqi.Invalid("/accept_past", "true", "over HTTP a start that has passed is refused; leave it out")
	}
	shape, err := wire.FromSpec(spec)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(shape)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	err = json.Unmarshal(text, &members)
	return members, err
}

// ModifyJob implements ruqi.Operations: it gets the job, lets change edit it, and
// puts it back at the version it had, again while others are faster.
func (c *Client) ModifyJob(ctx context.Context, id string, change func(job *ruqi.Job) error) (ruqi.Job, error) {
	var last error
	for range modifyTries {
		job, err := c.Job(ctx, id)
		if err != nil {
			return ruqi.Job{}, err
		}
		version := job.Version
		if err := change(&job); err != nil {
			return ruqi.Job{}, err
		}
		if job.ID != id {
			return ruqi.Job{}, ruqi.Invalid("/id", job.ID, "the id of a job cannot change; this one is %q", id)
		}
		body, err := c.definition(job.JobSpec)
		if err != nil {
			return ruqi.Job{}, err
		}
		r := jobRequest(http.MethodPut, id, "")
		r.body = body
		r.header = ifMatch(version)
		changed, err := c.jobOf(ctx, r)
		if !errors.Is(err, ruqi.ErrVersion) {
			return changed, err
		}
		last = err
	}
	return ruqi.Job{}, fmt.Errorf("job changed %d times while it was to be modified: %w", modifyTries, last)
}

// PauseJob implements ruqi.Operations.
func (c *Client) PauseJob(ctx context.Context, id string) (ruqi.Job, error) {
	return c.jobOf(ctx, jobRequest(http.MethodPost, id, "pause"))
}

// ResumeJob implements ruqi.Operations.
func (c *Client) ResumeJob(ctx context.Context, id string) (ruqi.Job, error) {
	return c.jobOf(ctx, jobRequest(http.MethodPost, id, "resume"))
}

// RemoveJob implements ruqi.Operations.
func (c *Client) RemoveJob(ctx context.Context, id string) error {
	_, err := c.do(ctx, jobRequest(http.MethodDelete, id, ""), nil)
	return err
}

// RemoveJobs implements ruqi.Operations, page by page and job by job: unlike the
// Scheduler's it is no single step, and a failure leaves those removed that were.
func (c *Client) RemoveJobs(ctx context.Context, query ruqi.JobQuery) (int, error) {
	query.Sort, query.Cursor, query.Offset, query.Limit = ruqi.SortID, "", 0, ruqi.MaxPage
	removed := 0
	for {
		page, err := c.Jobs(ctx, query)
		if err != nil {
			return removed, err
		}
		for _, job := range page.Jobs {
			r := jobRequest(http.MethodDelete, job.ID, "")
			if query.Version != 0 {
				r.header = ifMatch(query.Version)
			}
			_, err := c.do(ctx, r, nil)
			switch {
			case errors.Is(err, ruqi.ErrNotFound), errors.Is(err, ruqi.ErrVersion):
				// another was faster; the query selects it no more
			case err != nil:
				return removed, err
			default:
				removed++
			}
		}
		if page.Next == "" {
			return removed, nil
		}
		query.Cursor = page.Next
	}
}

// Job implements ruqi.Operations.
func (c *Client) Job(ctx context.Context, id string) (ruqi.Job, error) {
	return c.jobOf(ctx, jobRequest(http.MethodGet, id, ""))
}

func (c *Client) jobOf(ctx context.Context, r request) (ruqi.Job, error) {
	var shape wire.Job
	if _, err := c.do(ctx, r, &shape); err != nil {
		return ruqi.Job{}, err
	}
	return shape.Job(c.registry)
}

// setPage says which part of a list is wanted.
func setPage(q url.Values, offset, limit int) {
	if offset != 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
}

// Jobs implements ruqi.Operations.
func (c *Client) Jobs(ctx context.Context, query ruqi.JobQuery) (ruqi.JobPage, error) {
	q := url.Values{"id": query.IDs, "tag": query.Tags}
	set(q, "name", query.Name)
	set(q, "executor", query.Pool)
	set(q, "state", string(query.State))
	set(q, "search", query.Search)
	set(q, "sort", string(query.Sort))
	set(q, "cursor", query.Cursor)
	if query.Version != 0 {
		q.Set("version", strconv.FormatInt(query.Version, 10))
	}
	if query.OnStart {
		q.Set("run_on_start", "true")
	}
	setPage(q, query.Offset, query.Limit)
	var shape wire.Page[wire.Job]
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/jobs", query: q}, &shape); err != nil {
		return ruqi.JobPage{}, err
	}
	var page ruqi.JobPage
	for _, item := range shape.Items {
		job, err := item.Job(c.registry)
		if err != nil {
			return ruqi.JobPage{}, err
		}
		page.Jobs = append(page.Jobs, job)
	}
	if shape.NextCursor != nil {
		page.Next = *shape.NextCursor
	}
	if shape.Total != nil {
		page.Total = *shape.Total
	}
	return page, nil
}

// RunNow implements ruqi.Operations.
func (c *Client) RunNow(ctx context.Context, id string, params json.RawMessage) (ruqi.Run, error) {
	r := jobRequest(http.MethodPost, id, "run")
	r.body = wire.RunRequest{Params: params}
	return c.runOf(ctx, r)
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}
