package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi/wire"
)

// readyTimeout is how long the store may take to show that it is there: less than
// the 5 s that orchestrators commonly give a probe.
const readyTimeout = 3 * time.Second

type statusAnswer struct{ Body wire.Status }

type instancesAnswer struct{ Body wire.InstanceList }

type healthAnswer struct {
	Status int
	Body   struct {
		Status string `json:"status" doc:"alive, ready or not ready."`
	}
}

func (a *api) registerStatus() {
	register(a, huma.Operation{OperationID: "get-status", Method: http.MethodGet, Path: "/api/v1/status", Summary: "See how the instance and its store are", Tags: []string{"service"}},
		func(ctx context.Context, _ *struct{}) (*statusAnswer, error) {
			status, err := a.Operations.Status(ctx)
			if err != nil {
				return nil, err
			}
			return &statusAnswer{Body: wire.FromStatus(status, a.Now())}, nil
		})
	register(a, huma.Operation{OperationID: "wake-up", Method: http.MethodPost, Path: "/api/v1/wakeup", Summary: "Look for due jobs now", Tags: []string{"service"}},
		func(ctx context.Context, _ *struct{}) (*struct{}, error) { return nil, a.Operations.Wakeup(ctx) })
	register(a, huma.Operation{OperationID: "list-instances", Method: http.MethodGet, Path: "/api/v1/instances", Summary: "List the instances that share the store", Tags: []string{"service"}}, a.listInstances)
	nobody := []map[string][]string{}
	register(a, huma.Operation{OperationID: "health", Method: http.MethodGet, Path: "/healthz", Summary: "Whether the process serves", Tags: []string{"service"}, Security: nobody},
		func(context.Context, *struct{}) (*healthAnswer, error) { return health(http.StatusOK, "alive"), nil })
	register(a, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/readyz", Summary: "Whether the instance runs jobs and its store answers", Tags: []string{"service"}, Security: nobody,
		Responses: map[string]*huma.Response{"503": {Description: "Not ready; the status, which asks for a token, says why."}},
	}, a.ready)
}

func (a *api) listInstances(ctx context.Context, _ *struct{}) (*instancesAnswer, error) {
	list, err := a.Instances.Instances(ctx)
	if err != nil {
		return nil, err
	}
	return &instancesAnswer{Body: wire.FromInstances(list)}, nil
}

// ready does not say why not: whoever asks has shown no token. The log and the status do.
func (a *api) ready(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := a.Ready(ctx); err != nil {
		a.Logger.DebugContext(ctx, "instance is not ready", "error", err)
		return health(http.StatusServiceUnavailable, "not ready"), nil
	}
	return health(http.StatusOK, "ready"), nil
}

func health(status int, text string) *healthAnswer {
	out := &healthAnswer{Status: status}
	out.Body.Status = text
	return out
}

// registerOpenAPI serves the document of all the routes, itself included. It is made once, here, after
// the last route.
func (a *api) registerOpenAPI() {
	var document json.RawMessage
	register(a, huma.Operation{OperationID: "get-openapi", Method: http.MethodGet, Path: "/api/openapi.json", Summary: "This document", Tags: []string{"service"}},
		func(context.Context, *struct{}) (*struct{ Body json.RawMessage }, error) {
			return &struct{ Body json.RawMessage }{document}, nil
		})
	openapi := a.huma.OpenAPI()
	// Huma's own error shapes are not what this API answers with.
	delete(openapi.Components.Schemas.Map(), "ErrorModel")
	delete(openapi.Components.Schemas.Map(), "ErrorDetail")
	text, err := json.Marshal(openapi)
	if err != nil {
		panic("httpapi: " + err.Error()) // types of this package that cannot be described
	}
	document = text
}
