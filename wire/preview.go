package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// How many times a preview has.
const (
	DefaultPreview = 5            // times; a week of working days
	MaxPreview     = ruqi.MaxPage // times; as many as a page has rows
)

// A PreviewRequest asks for the next times of a trigger.
type PreviewRequest struct {
	Trigger json.RawMessage `json:"trigger" doc:"The trigger, as in a job."`
	From    *time.Time      `json:"from,omitempty" doc:"Times strictly after it. Default: now."`
	N       int             `json:"n,omitempty" minimum:"1" maximum:"1000" doc:"How many; default 5."`
}

// A Preview is what a trigger means.
type Preview struct {
	Trigger  json.RawMessage `json:"trigger" doc:"The trigger with everything filled in that was left open."`
	Times    []time.Time     `json:"times" nullable:"false" doc:"In the trigger's zone; fewer than asked for when no more exist."`
	Warnings []string        `json:"warnings" nullable:"false"`
}

// NewPreview returns the first n times of a trigger strictly after an instant. A trigger that has no zone lives in the
// one given. It ends early, with what there is, when the context does.
func NewPreview(ctx context.Context, trigger ruqi.Trigger, zone *time.Location, from time.Time, n int) (Preview, error) {
	if binder, ok := trigger.(ruqi.Binder); ok {
		var err error
		if trigger, err = binder.Bind(zone, from.Truncate(time.Microsecond), "preview"); err != nil {
			return Preview{}, err
		}
	}
	canonical, err := trigger.MarshalJSON()
	if err != nil {
		return Preview{}, err
	}
	shape := Preview{Trigger: canonical, Times: []time.Time{}, Warnings: []string{}}
	if starter, ok := trigger.(ruqi.Starter); ok && starter.OnStart() {
		shape.Warnings = append(shape.Warnings, fmt.Sprintf("%v never fires by the clock: with policy.run_on_start a job runs each time an instance starts", trigger))
	}
	zone = Zone(trigger)
	for at := from; len(shape.Times) < n && ctx.Err() == nil; {
		next, ok := trigger.Next(at)
		if !ok {
			break
		}
		shape.Times = append(shape.Times, In(next, zone))
		at = next
	}
	return shape, nil
}
