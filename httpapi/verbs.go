package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

type runNow struct {
	JobRef
	RawBody []byte `contentType:"application/json"`
}

type startedAnswer struct {
	Location string `header:"Location"`
	Body     wire.Run
}

func (a *api) registerJobVerbs() {
	for _, verb := range []struct {
		name, summary string
		do            func(context.Context, string) (ruqi.Job, error)
	}{
		{"pause", "Take a job's fires away", a.Operations.PauseJob},
		{"resume", "Give a job its fires back, from now on", a.Operations.ResumeJob},
	} {
		register(a, huma.Operation{
			OperationID: verb.name + "-job", Method: http.MethodPost, Path: jobPath + "/" + verb.name, Summary: verb.summary, Tags: []string{"jobs"},
		}, func(ctx context.Context, in *struct{ JobRef }) (*jobAnswer, error) {
			id, err := in.id()
			if err != nil {
				return nil, err
			}
			return answerJob(verb.do(ctx, id))
		})
	}
	request := newBody("May be left out.")
	register(a, huma.Operation{
		OperationID: "run-job", Method: http.MethodPost, Path: jobPath + "/run", Summary: "Run a job now, beside its schedule", Tags: []string{"jobs"},
		DefaultStatus: http.StatusCreated, RequestBody: request.RequestBody,
	}, a.runNow)
	request.describe(a.schema(wire.RunRequest{}), false, "application/json")
}

func (a *api) runNow(ctx context.Context, in *runNow) (*startedAnswer, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	params, err := readRunRequest(in.RawBody)
	if err != nil {
		return nil, err
	}
	run, err := a.Operations.RunNow(ctx, id, params)
	if err != nil {
		return nil, err
	}
	return &startedAnswer{Location: fmt.Sprintf("%s/%d", runsPath, run.ID), Body: wire.FromRun(run)}, nil
}

func readRunRequest(data []byte) (params json.RawMessage, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return nil, err
	}
	if params, _ = o.Any("params"); len(params) > 0 && params[0] != '{' {
		faults.Add("/params", string(params), "not a JSON object")
	}
	o.Done("params")
	return params, faults.Err()
}
