package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

const (
	runsPath = "/api/v1/runs"
	runPath  = runsPath + "/{id}"
)

// RunRef names a run as JobRef names a job.
type RunRef struct {
	ID   string `path:"id" doc:"The run's id; or - with the id in the query."`
	Real string `query:"id" doc:"The run's id where the path has -."`
}

func (r RunRef) id() (int64, error) {
	text, err := JobRef(r).id()
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, malformed("/id", cut(text), "the id of a run is a whole number from 1 up")
	}
	return id, nil
}

type runAnswer struct{ Body wire.Run }

func answerRun(run ruqi.Run, err error) (*runAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &runAnswer{Body: wire.FromRun(run)}, nil
}

type listRuns struct {
	Job      string   `query:"job" doc:"Runs of the job with that id."`
	Name     string   `query:"name" doc:"Runs of jobs of that name."`
	States   []string `query:"state,explode" enum:"queued,running,succeeded,failed,timed_out,cancelled,lost,missed,skipped" doc:"Given again: any of the states."`
	Causes   []string `query:"cause,explode" enum:"schedule,manual,retry,startup,backfill,dependency" doc:"Given again: any of the causes."`
	From     string   `query:"from" doc:"Runs whose nominal time is not before it. RFC 3339 with an offset."`
	To       string   `query:"to" doc:"Runs whose nominal time is before it."`
	Executed bool     `query:"executed" doc:"true: runs that were started and have ended. Then total tells how many there are, where no more is asked for than a job, a name and, as states, succeeded alone or all the other ends; else it is null."`
	IDs      []int64  `query:"id" doc:"These runs alone, separated by commas."`
	Paging
}

type runPageAnswer struct{ Body wire.Page[wire.Run] }

func (a *api) registerRuns() {
	register(a, huma.Operation{OperationID: "list-runs", Method: http.MethodGet, Path: runsPath, Summary: "List runs, newest first", Tags: []string{"runs"}}, a.listRuns)
	register(a, huma.Operation{OperationID: "get-run", Method: http.MethodGet, Path: runPath, Summary: "Get a run", Tags: []string{"runs"}},
		func(ctx context.Context, in *struct{ RunRef }) (*runAnswer, error) {
			id, err := in.id()
			if err != nil {
				return nil, err
			}
			return answerRun(a.Operations.FindRun(ctx, id))
		})
	register(a, huma.Operation{
		OperationID: "cancel-run", Method: http.MethodPost, Path: runPath + "/cancel", Summary: "Ask a run to end", Tags: []string{"runs"},
		Description: "A queued run ends at once, a running one within about a second and its kill grace; 409 when it has ended already.",
	}, func(ctx context.Context, in *struct{ RunRef }) (*runAnswer, error) {
		id, err := in.id()
		if err != nil {
			return nil, err
		}
		return answerRun(a.Operations.CancelRun(ctx, id, bearerName(ctx)))
	})
}

func (a *api) listRuns(ctx context.Context, in *listRuns) (*runPageAnswer, error) {
	query := ruqi.RunQuery{IDs: in.IDs, Job: in.Job, Name: in.Name, Executed: in.Executed, Cursor: in.Cursor, Offset: in.Offset, Limit: in.limit()}
	for _, state := range in.States {
		query.States = append(query.States, ruqi.RunState(state))
	}
	for _, cause := range in.Causes {
		query.Causes = append(query.Causes, ruqi.Cause(cause))
	}
	var err error
	if query.From, err = queryTime("/from", in.From); err != nil {
		return nil, err
	}
	if query.To, err = queryTime("/to", in.To); err != nil {
		return nil, err
	}
	found, err := a.Operations.Runs(ctx, query)
	if err != nil {
		return nil, err
	}
	return &runPageAnswer{Body: wire.FromRunPage(found)}, nil
}

// queryTime reads a time from the query, where a "+" that was not percent-encoded arrives as a blank.
func queryTime(pointer, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := wire.ParseTime(strings.Replace(text, " ", "+", 1))
	if err != nil {
		return nil, malformed(pointer, cut(text), err.Error())
	}
	return &t, nil
}
