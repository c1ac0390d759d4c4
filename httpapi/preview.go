package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
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
	if err := a.learn(ctx, in.RawBody); err != nil {
		return nil, err
	}
	trigger, from, n, err := a.readPreview(in.RawBody)
	if err != nil {
		return nil, err
	}
	shape, err := wire.NewPreview(ctx, trigger, a.Zone, from, n)
	if err != nil {
		var faults ruqi.Faults
		faults.Merge("/trigger", err)
		return nil, faults.Err()
	}
	return &previewAnswer{Body: shape}, nil
}

func (a *api) readPreview(data []byte) (trigger ruqi.Trigger, from time.Time, n int, err error) {
	from, n = a.Now(), wire.DefaultPreview
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return nil, from, n, err
	}
	if raw, given := o.Raw("trigger"); given {
		trigger, err = a.Registry.DecodeTrigger(raw)
		faults.Merge("/trigger", err)
	} else {
		faults.Add("/trigger", "", "missing")
	}
	if at, given := object.Parse(o, "from", "a text", wire.ParseTime); given {
		from = at
	}
	if most, given := o.Int("n"); given {
		if n = int(min(max(most, 0), wire.MaxPreview+1)); n < 1 || n > wire.MaxPreview {
			faults.Add("/n", strconv.FormatInt(most, 10), "out of range (1-%d)", wire.MaxPreview)
		}
	}
	o.Done("trigger", "from", "n")
	return trigger, from, n, faults.Err()
}
