package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

var _ ruqi.Elapser = (*IntervalTrigger)(nil)

// Reanchor implements ruqi.Elapser: the same interval, counted from the anchor on. ok is false
// for one with a start, whose fire times its user has fixed, and for one that is not bound.
func (t *IntervalTrigger) Reanchor(anchor time.Time) (ruqi.Trigger, bool) {
	if t.start != none || t.anchor == none {
		return nil, false
	}
	moved := *t
	moved.anchor = anchor.UnixMicro()
	return &moved, true
}
