package wire

import (
	"encoding/json"
	"time"
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
