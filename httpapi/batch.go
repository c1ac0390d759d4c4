package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

// batches adds many jobs in few steps; a *ruqi.Scheduler does.
type batches interface {
	AddJobs(ctx context.Context, specs []ruqi.JobSpec, onConflict ruqi.OnConflict) ([]ruqi.Addition, error)
}

type addJobs struct {
	OnConflict string `query:"on_conflict" enum:"fail,keep,replace" default:"fail" doc:"What to do when an id is taken."`
	RawBody    []byte `contentType:"application/json"`
}

type additionsAnswer struct{ Body wire.Additions }

// registerBatch adds the route for many jobs, where the operations can do that.
func (a *api) registerBatch() {
	if _, can := a.Operations.(batches); !can {
		return
	}
	request := newBody(fmt.Sprintf("Up to %d definitions, as they would be added alone.", ruqi.MaxBatch))
	register(a, huma.Operation{
		OperationID: "add-jobs", Method: http.MethodPost, Path: "/api/v1/job-batches", Summary: "Add many jobs", Tags: []string{"jobs"},
		Description: "Each job is added or refused for itself; the answer has an item for each, in their order.",
		RequestBody: request.RequestBody,
	}, a.addJobs)
	request.describe(&huma.Schema{
		Type: huma.TypeObject, Required: []string{"jobs"},
		Properties: map[string]*huma.Schema{"jobs": {Type: huma.TypeArray, Items: a.definition()}},
	}, true, "application/json")
}

func (a *api) addJobs(ctx context.Context, in *addJobs) (*additionsAnswer, error) {
	definitions, err := readBatch(in.RawBody)
	if err != nil {
		return nil, err
	}
	if err := a.learn(ctx, in.RawBody); err != nil {
		return nil, err
	}
	out := &additionsAnswer{Body: wire.Additions{Items: make([]wire.Addition, len(definitions))}}
	var specs []ruqi.JobSpec
	var places []int
	for i, definition := range definitions {
		spec, err := wire.DecodeNew(a.Registry, definition)
		if err != nil {
			out.Body.Items[i].Problem = a.problem(ctx, a.wrongBeside(ctx, err, spec, in.OnConflict))
			continue
		}
		specs, places = append(specs, spec), append(places, i)
	}
	added, err := a.Operations.(batches).AddJobs(ctx, specs, ruqi.OnConflict(in.OnConflict))
	if err != nil {
		return nil, err
	}
	for n, addition := range added {
		item := &out.Body.Items[places[n]]
		if addition.Err != nil {
			item.Problem = a.problem(ctx, addition.Err)
			continue
		}
		shape, err := wire.FromJob(masked(addition.Job))
		if err != nil {
			return nil, err
		}
		*item = wire.Addition{Added: addition.Added, Changed: addition.Changed, Job: &shape}
	}
	return out, nil
}

// problem is what a job of a batch is told.
func (a *api) problem(ctx context.Context, err error) *wire.Problem {
	var told *failure
	errors.As(a.fail(ctx, err), &told)
	return told.problem
}

// readBatch parts the body into its definitions, which are read one by one.
func readBatch(data []byte) ([]json.RawMessage, error) {
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return nil, err
	}
	var definitions []json.RawMessage
	raw, given := o.Raw("jobs")
	switch {
	case !given:
		faults.Add("/jobs", "", "missing")
	case json.Unmarshal(raw, &definitions) != nil:
		faults.Add("/jobs", cut(string(raw)), "accepted is a list of jobs")
	case len(definitions) > ruqi.MaxBatch:
		faults.Add("/jobs", "", "%d jobs; accepted are at most %d", len(definitions), ruqi.MaxBatch)
	}
	o.Done("jobs")
	return definitions, faults.Err()
}
