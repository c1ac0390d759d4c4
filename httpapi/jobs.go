package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

const (
	jobsPath = "/api/v1/jobs"
	jobPath  = jobsPath + "/{id}"
)

// JobRef names a job in the path, or, for ids that a proxy on the way might
// change, as ?id= beside a "-" in the path. It has an exported name because huma looks into no other
// embedded structs.
type JobRef struct {
	ID   string `path:"id" doc:"The job's id, percent-encoded; or - with the id in the query."`
	Real string `query:"id" doc:"The job's id where the path has -."`
}

func (r JobRef) id() (string, error) {
	switch {
	case r.ID == "-" && r.Real == "":
		return "", malformed("/id", "", "with - in the path the id is wanted as ?id=")
	case r.ID == "-":
		return r.Real, nil
	case r.Real != "":
		return "", malformed("/id", r.Real, "?id= is for paths with - in the place of the id")
	}
	return r.ID, nil
}

type jobAnswer struct {
	ETag string `header:"ETag" doc:"The job's version, for If-Match."`
	Body wire.Job
}

func answerJob(job ruqi.Job, err error) (*jobAnswer, error) {
	if err != nil {
		return nil, err
	}
	shape, err := wire.FromJob(masked(job))
	if err != nil {
		return nil, err
	}
	return &jobAnswer{ETag: etag(job.Version), Body: shape}, nil
}

// masked is the job as the API shows it.
func masked(job ruqi.Job) ruqi.Job {
	if task, ok := job.Task.(ruqi.Masker); ok {
		job.Task = task.Masked()
	}
	return job
}

type listJobs struct {
	Search   string   `query:"search" doc:"Jobs whose id or name contains the text, letter case of ASCII ignored."`
	State    string   `query:"state" enum:"active,paused,finished"`
	Tags     []string `query:"tag,explode" doc:"Jobs that have the tag; given again, all of the tags."`
	Name     string   `query:"name" doc:"Jobs of exactly that name."`
	Executor string   `query:"executor" doc:"Jobs of that pool."`
	IDs      []string `query:"id,explode" doc:"These jobs alone."`
	Version  int64    `query:"version" minimum:"1" doc:"Jobs at that version."`
	Sort     string   `query:"sort" enum:"id,next,name,created,newest" default:"id" doc:"Smallest first, but for newest, which is the latest created first; jobs without a next time come last."`
	OnStart  bool     `query:"run_on_start" doc:"true: jobs that run when an instance starts."`
	Paging
}

// Paging is the part of a list's query that all lists have.
type Paging struct {
	Cursor string `query:"cursor" doc:"next_cursor of the page before."`
	Offset int    `query:"offset" doc:"From 0 up: how many are passed over before the page begins; not beside a cursor."`
	Limit  int    `query:"limit" minimum:"1" default:"50" doc:"Items a page; more than 1000 is taken as 1000."`
}

func (p Paging) limit() int { return min(p.Limit, ruqi.MaxPage) }

type jobPageAnswer struct{ Body wire.Page[wire.Job] }

type addJob struct {
	OnConflict string `query:"on_conflict" enum:"fail,keep,replace" default:"fail" doc:"What to do when the id is taken."`
	DryRun     bool   `query:"dry_run" doc:"Check the job, answer 200 with the job as it would be, and change nothing. The version is the stored one where nothing would change, else the next."`
	IfMatch    string `header:"If-Match" doc:"With on_conflict=replace: ETags of the versions to replace; a job that is not there is not added then. * or none: any."`
	RawBody    []byte `contentType:"application/json"`
}

type addedAnswer struct {
	Status   int
	Added    string `header:"Ruqi-Added" doc:"created, kept or replaced; with dry_run, what adding it would do."`
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     wire.Job
}

type changeJob struct {
	JobRef
	IfMatch string `header:"If-Match" doc:"ETags of the versions to change; * or none: any."`
	RawBody []byte `contentType:"application/json"`
}

type removeJob struct {
	JobRef
	IfMatch string `header:"If-Match" doc:"ETags of the versions to remove; * or none: any."`
}

func (a *api) registerJobs() {
	register(a, huma.Operation{OperationID: "list-jobs", Method: http.MethodGet, Path: jobsPath, Summary: "List jobs", Tags: []string{"jobs"}}, a.listJobs)
	register(a, huma.Operation{OperationID: "get-job", Method: http.MethodGet, Path: jobPath, Summary: "Get a job", Tags: []string{"jobs"}},
		func(ctx context.Context, in *struct{ JobRef }) (*jobAnswer, error) {
			id, err := in.id()
			if err != nil {
				return nil, err
			}
			return answerJob(a.Operations.Job(ctx, id))
		})
	added := newBody("The job's definition. Read-only members are passed over, but for state, which may be active or paused.")
	register(a, huma.Operation{
		OperationID: "add-job", Method: http.MethodPost, Path: jobsPath, Summary: "Add a job", Tags: []string{"jobs"},
		Description:   "201: created; 200: the id was taken and the job was kept or replaced, as on_conflict says. With dry_run always 200, and nothing is changed: Ruqi-Added says which it would be.",
		DefaultStatus: http.StatusCreated, RequestBody: added.RequestBody,
		Responses: map[string]*huma.Response{"200": {
			Description: "Kept or replaced, or dry_run",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: a.schema(wire.Job{})}},
		}},
	}, a.addJob)
	definition := a.definition()
	added.describe(definition, true, "application/json")
	put := newBody("The job's new definition, whole. Read-only members are passed over.")
	register(a, huma.Operation{
		OperationID: "put-job", Method: http.MethodPut, Path: jobPath, Summary: "Change a job's definition", Tags: []string{"jobs"},
		RequestBody: put.RequestBody,
	}, a.putJob)
	put.describe(definition, true, "application/json")
	patch := newBody("A JSON merge patch (RFC 7396) of the job. A trigger whose kind changes keeps its zone, start and end where the new kind has them; a task whose kind changes is replaced whole, and a job in the pool of its kind moves to the new kind's unless executor is given. An interval that is given a start loses its anchor. Another zone of a trigger made of others is that of its parts which lived in the old one, too; except and only take it as well.")
	register(a, huma.Operation{
		OperationID: "patch-job", Method: http.MethodPatch, Path: jobPath, Summary: "Change parts of a job's definition", Tags: []string{"jobs"},
		RequestBody: patch.RequestBody,
	}, a.patchJob)
	patch.describe(&huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}, true, "application/merge-patch+json", "application/json")
	register(a, huma.Operation{
		OperationID: "remove-job", Method: http.MethodDelete, Path: jobPath, Summary: "Remove a job; its history stays", Tags: []string{"jobs"},
	}, a.removeJob)
}

// definition describes a job as it may be sent.
func (a *api) definition() *huma.Schema {
	ref := a.input("JobDefinition", wire.Job{}, "trigger", "task")
	schemas := a.huma.OpenAPI().Components.Schemas
	schemas.SchemaFromRef(ref.Ref).Properties["policy"] = a.input("PolicyDefinition", wire.Policy{})
	return ref
}

func (a *api) listJobs(ctx context.Context, in *listJobs) (*jobPageAnswer, error) {
	found, err := a.Operations.Jobs(ctx, ruqi.JobQuery{
		IDs: in.IDs, Tags: in.Tags, Name: in.Name, Pool: in.Executor, State: ruqi.JobState(in.State),
		Search: in.Search, Version: in.Version, OnStart: in.OnStart, Sort: ruqi.JobSort(in.Sort), Cursor: in.Cursor, Offset: in.Offset, Limit: in.limit(),
	})
	if err != nil {
		return nil, err
	}
	for i := range found.Jobs {
		found.Jobs[i] = masked(found.Jobs[i])
	}
	shape, err := wire.FromJobPage(found)
	if err != nil {
		return nil, err
	}
	return &jobPageAnswer{Body: shape}, nil
}

func (a *api) addJob(ctx context.Context, in *addJob) (*addedAnswer, error) {
	if err := a.learn(ctx, in.RawBody); err != nil {
		return nil, err
	}
	spec, err := wire.DecodeNew(a.Registry, in.RawBody)
	if err != nil {
		return nil, a.wrongBeside(ctx, err, spec, in.OnConflict)
	}
	job, added, err := a.add(ctx, in, spec)
	if err != nil {
		return nil, err
	}
	shape, err := wire.FromJob(masked(job))
	if err != nil {
		return nil, err
	}
	out := &addedAnswer{Status: http.StatusOK, Added: string(added), ETag: etag(job.Version), Location: jobLocation(job.ID), Body: shape}
	switch {
	case in.DryRun:
		out.Location = "" // it is nowhere yet
	case added == ruqi.Created:
		out.Status = http.StatusCreated
	}
	return out, nil
}

// wrongBeside adds to what could not be read of a new job what the rest of it would be refused for, where the operations can tell.
func (a *api) wrongBeside(ctx context.Context, wrong error, spec ruqi.JobSpec, onConflict string) error {
	if more, can := a.Operations.(interface {
		WrongBeside(ctx context.Context, wrong error, spec ruqi.JobSpec, onConflict ruqi.OnConflict) error
	}); can {
		return more.WrongBeside(ctx, wrong, spec, ruqi.OnConflict(onConflict))
	}
	return wrong
}

// isInvalid reports whether an error lists faults.
func isInvalid(err error) bool {
	var invalid *ruqi.InvalidError
	return errors.As(err, &invalid)
}

// add adds the job, or tells what adding it would do.
func (a *api) add(ctx context.Context, in *addJob, spec ruqi.JobSpec) (ruqi.Job, ruqi.Added, error) {
	versions, err := readIfMatch(in.IfMatch)
	if err != nil {
		return ruqi.Job{}, "", err
	}
	onConflict := ruqi.OnConflict(in.OnConflict)
	switch {
	case versions != nil && (onConflict != ruqi.Replace || in.DryRun || spec.ID == ""):
		return ruqi.Job{}, "", malformed("/If-Match", cut(in.IfMatch), "goes with on_conflict=replace and an id, and not with dry_run")
	case versions != nil:
		job, err := a.Operations.ModifyJob(ctx, spec.ID, func(job *ruqi.Job) error {
			if err := versions.check(job); err != nil {
				return err
			}
			job.JobSpec = spec
			return nil
		})
		return job, ruqi.Replaced, err
	case in.DryRun:
		rehearser, ok := a.Operations.(ruqi.Rehearser)
		if !ok {
			return ruqi.Job{}, "", malformed("/dry_run", "true", "this service cannot tell what adding a job would do")
		}
		return rehearser.RehearseJob(ctx, spec, onConflict)
	}
	return a.Operations.AddJob(ctx, spec, onConflict)
}

func (a *api) putJob(ctx context.Context, in *changeJob) (*jobAnswer, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if err := a.learn(ctx, in.RawBody); err != nil {
		return nil, err
	}
	spec, wrong := wire.DecodeDefinition(a.Registry, id, in.RawBody)
	if wrong != nil && !isInvalid(wrong) {
		return nil, wrong
	}
	return a.modify(ctx, id, in.IfMatch, func(job *ruqi.Job) error {
		job.JobSpec = spec
		return wrong
	})
}

func (a *api) patchJob(ctx context.Context, in *changeJob) (*jobAnswer, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return a.modify(ctx, id, in.IfMatch, func(job *ruqi.Job) error {
		spec, err := wire.Patch(a.Registry, *job, in.RawBody)
		job.JobSpec = spec
		return err
	})
}

func (a *api) modify(ctx context.Context, id, ifMatch string, change func(*ruqi.Job) error) (*jobAnswer, error) {
	versions, err := readIfMatch(ifMatch)
	if err != nil {
		return nil, err
	}
	return answerJob(a.Operations.ModifyJob(ctx, id, func(job *ruqi.Job) error {
		if err := versions.check(job); err != nil {
			return err
		}
		return change(job)
	}))
}

func (a *api) removeJob(ctx context.Context, in *removeJob) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	versions, err := readIfMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	if versions == nil {
		return nil, a.Operations.RemoveJob(ctx, id)
	}
	job, err := a.Operations.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	removed := 0
	if versions.match(job.Version) {
		// At that version alone: it may have changed since it was read.
		if removed, err = a.Operations.RemoveJobs(ctx, ruqi.JobQuery{IDs: []string{id}, Version: job.Version}); err != nil {
			return nil, err
		}
	}
	if removed == 0 {
		return nil, fmt.Errorf("job %q is at version %d: %w", id, job.Version, ruqi.ErrVersion)
	}
	return nil, nil
}

// jobLocation returns the path of a job's route.
func jobLocation(id string) string {
	if id == "-" {
		return jobsPath + "/-?id=-" // in the path alone it stands for the id in the query
	}
	return jobsPath + "/" + url.PathEscape(id)
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// versions are those an If-Match accepts; nil: any.
type versions map[int64]bool

func (v versions) match(version int64) bool { return v == nil || v[version] }

// check returns ErrVersion for a job at another version.
func (v versions) check(job *ruqi.Job) error {
	if !v.match(job.Version) {
		return fmt.Errorf("job %q is at version %d: %w", job.ID, job.Version, ruqi.ErrVersion)
	}
	return nil
}

// readIfMatch reads If-Match. Proxies that compress mark our ETags as weak ones; they are read as what they were.
func readIfMatch(header string) (versions, error) {
	header = strings.TrimSpace(header)
	if header == "" || header == "*" {
		return nil, nil
	}
	accepted := versions{}
	for tag := range strings.SplitSeq(header, ",") {
		text := strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
		version, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, malformed("/If-Match", cut(header), `wanted are ETags of this API, such as "3", or *`)
		}
		accepted[version] = true
	}
	return accepted, nil
}
