package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

// previewLimit bounds the search for fire times of one request, which takes a few milliseconds but for triggers that are made to be
// slow: each time of those may take a tenth of a second, and a thousand may be asked for.
const previewLimit = time.Second

type previewTrigger struct {
	RawBody []byte `contentType:"application/json"`
}

type previewAnswer struct{ Body wire.Preview }

func (a *api) registerPreview() {
	request := newBody("A trigger as in a job.")
	register(a, huma.Operation{
		OperationID: "preview-trigger", Method: http.MethodPost, Path: "/api/v1/triggers/preview",
		Summary: "See when a trigger fires, in words and times, and why not at another", Tags: []string{"triggers"}, RequestBody: request.RequestBody,
		Description: fmt.Sprintf("The search for times ends after %v, with what was found; a warning says so then.", previewLimit),
	}, a.previewTrigger)
	request.describe(a.schema(wire.PreviewRequest{}), true, "application/json")
}

func (a *api) previewTrigger(ctx context.Context, in *previewTrigger) (*previewAnswer, error) {
	if err := a.learn(ctx, in.RawBody); err != nil {
		return nil, err
	}
	trigger, ask, err := a.readPreview(in.RawBody)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, previewLimit)
	defer cancel()
	shape, err := wire.NewPreview(limited, trigger, a.Zone, ask)
	if err != nil {
		var faults ruqi.Faults
		faults.Merge("/trigger", err)
		return nil, faults.Err()
	}
	if limited.Err() != nil {
		shape.Warnings = append(shape.Warnings, fmt.Sprintf("the search was ended after %v, with %d times and %d before: ask for fewer, or later ones from the last", previewLimit, len(shape.Times), len(shape.Previous)))
	}
	return &previewAnswer{Body: shape}, nil
}

func (a *api) readPreview(data []byte) (trigger ruqi.Trigger, ask wire.PreviewQuestion, err error) {
	ask = wire.PreviewQuestion{From: a.Now(), N: wire.DefaultPreview, Why: true}
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return nil, ask, err
	}
	if raw, given := o.Raw("trigger"); given {
		trigger, err = a.Registry.DecodeTrigger(raw)
		faults.Merge("/trigger", err)
	} else {
		faults.Add("/trigger", "", "missing")
	}
	if at, given := object.Parse(o, "from", "a text", wire.ParseTime); given {
		ask.From = at
	}
	if at, given := object.Parse(o, "until", "a text", wire.ParseTime); given {
		ask.Until = &at
	}
	if at, given := object.Parse(o, "at", "a text", wire.ParseTime); given {
		ask.At = &at
	}
	count := func(name string, least int64, into *int) {
		most, given := o.Int(name)
		switch {
		case !given:
		case most < least || most > wire.MaxPreview:
			faults.Add("/"+name, strconv.FormatInt(most, 10), "out of range (%d-%d)", least, wire.MaxPreview)
		default:
			*into = int(most)
		}
	}
	count("n", 1, &ask.N)
	count("previous", 0, &ask.Previous)
	o.Done("trigger", "from", "until", "n", "previous", "at")
	return trigger, ask, faults.Err()
}
