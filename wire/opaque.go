package wire

import (
	"encoding/json"
	"time"
)

// opaque is the JSON object of a trigger or a task of an unknown kind, kept byte for byte.
type opaque json.RawMessage

// Kind returns the object's member "kind".
func (o opaque) Kind() string {
	var head struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(o, &head) // what has no kind has an empty one
	return head.Kind
}

// MarshalJSON returns the object as it came.
func (o opaque) MarshalJSON() ([]byte, error) { return o, nil }

// String returns the object's text.
func (o opaque) String() string { return string(o) }

// opaqueTrigger never fires here: only a program that knows its kind can say when.
type opaqueTrigger struct{ opaque }

func (opaqueTrigger) Next(time.Time) (time.Time, bool) { return time.Time{}, false }

type opaqueTask struct{ opaque }

func (t opaqueTask) Needs() string { return t.Kind() }
