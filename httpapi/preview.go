package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

const (
	defaultPreview = 5    // times; a week of working days
	maxPreview     = 1000 // times; as many as a page has rows
)

type previewTrigger struct {
	RawBody []byte `contentType:"application/json"`
}

type previewAnswer struct{ Body wire.Preview }

func (a *api) registerPreview() {
	request := newBody("A trigger as in a job.")
	register(a, huma.Operation{
		OperationID: "preview-trigger", Method: http.MethodPost, Path: "/api/v1/triggers/preview",
		Summary: "See the next times of a trigger", Tags: []string{"triggers"}, RequestBody: request.RequestBody,
	}, a.previewTrigger)
	request.describe(a.schema(wire.PreviewRequest{}), true, "application/json")
}

func (a *api) previewTrigger(ctx context.Context, in *previewTrigger) (*previewAnswer, error) {
	trigger, from, n, err := a.readPreview(in.RawBody)
	if err != nil {
		return nil, err
	}
	if binder, ok := trigger.(ruqi.Binder); ok {
		if trigger, err = binder.Bind(a.Zone, from.Truncate(time.Microsecond), "preview"); err != nil {
			var faults ruqi.Faults
			faults.Merge("/trigger", err)
			return nil, faults.Err()
		}
	}
	canonical, err := trigger.MarshalJSON()
	if err != nil {
		return nil, err
	}
	zone := wire.Zone(trigger)
	shape := wire.Preview{Trigger: canonical, Times: []time.Time{}, Warnings: []string{}}
	for at := from; len(shape.Times) < n && ctx.Err() == nil; {
		next, ok := trigger.Next(at)
		if !ok {
			break
		}
		shape.Times = append(shape.Times, wire.In(next, zone))
		at = next
	}
	return &previewAnswer{Body: shape}, nil
}

func (a *api) readPreview(data []byte) (trigger ruqi.Trigger, from time.Time, n int, err error) {
	from, n = a.Now(), defaultPreview
	members, err := wire.Members(data)
	if err != nil {
		return nil, from, n, err
	}
	var faults ruqi.Faults
	given := false
	for _, m := range members {
		switch m.Name {
		case "trigger":
			given = true
			trigger, err = a.Registry.DecodeTrigger(m.Value)
			faults.Merge("/trigger", err)
		case "from":
			var text *string
			if err := json.Unmarshal(m.Value, &text); err != nil {
				faults.Add("/from", string(m.Value), "not a text")
			} else if text != nil {
				if from, err = wire.ParseTime(*text); err != nil {
					faults.Add("/from", *text, "%v", err)
				}
			}
		case "n":
			if err := json.Unmarshal(m.Value, &n); err != nil || n < 1 || n > maxPreview {
				faults.Add("/n", string(m.Value), "not a whole number from 1 to %d", maxPreview)
			}
		default:
			faults.Add(wire.Pointer(m.Name), string(m.Value), "unknown member; accepted are trigger, from and n")
		}
	}
	if !given {
		faults.Add("/trigger", "", "missing")
	}
	return trigger, from, n, faults.Err()
}
