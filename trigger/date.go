package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A DateTrigger fires once. It implements ruqi.Binder, ruqi.Bound, ruqi.Stepper,
// ruqi.Matcher, ruqi.Describer and ruqi.Explainer.
type DateTrigger struct {
	at      int64   // microseconds
	zone    *zone   // nil until bound
	written *moment // a wall time that awaits its zone
	fault   error   // told by Bind
}

var (
	_ ruqi.Binder  = (*DateTrigger)(nil)
	_ ruqi.Bound   = (*DateTrigger)(nil)
	_ ruqi.Stepper = (*DateTrigger)(nil)
)

// Date returns a trigger that fires at an instant; the fraction of a microsecond is
// cut. A time before 0001-01-02 or after 9999-12-30, by UTC, is told by Bind.
func Date(at time.Time) *DateTrigger {
	t := &DateTrigger{}
	micros, ok := fromTime(at)
	if !ok {
		t.fault = ruqi.Invalid("/at", at.String(), "date: "+outOfRange)
	}
	t.at = micros
	return t
}

// DateText returns a trigger that fires at a date-time as a user writes it:
// "2026-03-01" (which means 00:00), "2026-03-01 10:00", "2026-03-01T10:00:00.5+01:00".
// Without an offset it is read in zone, or when zone is nil in the one Bind is given. A
// wall time that comes twice there means the first; one that the clock skips is
// refused, naming the nearest times that exist. The error is an *ruqi.InvalidError.
func DateText(text string, loc *time.Location) (*DateTrigger, error) {
	return dateText(text, 1, loc)
}

// dateText is DateText for a text that begins at a column of a longer one.
func dateText(text string, column int, loc *time.Location) (*DateTrigger, error) {
	t := &DateTrigger{}
	var faults ruqi.Faults
	if loc != nil {
		var err error
		t.zone, err = zoneOf(loc)
		faults.Merge("/zone", err)
	}
	m, err := parseMoment(text)
	if err != nil {
		faults.Add("/at", text, "date: %q %v", clip(text), within(err, column))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	micros, err := m.resolve(t.zone, "/at", "date: ")
	if err != nil {
		return nil, err
	}
	t.at = micros
	if t.zone == nil && !m.zoned {
		t.written = &m
	}
	return t, nil
}

// Kind returns "date".
func (t *DateTrigger) Kind() string { return "date" }

// Bind returns the trigger in the given zone, if it has none; a wall time is read
// there. anchor and seed have no meaning for it. The error is an *ruqi.InvalidError.
func (t *DateTrigger) Bind(loc *time.Location, _ time.Time, _ string) (ruqi.Trigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	if t.zone != nil {
		return t, nil
	}
	bound := DateTrigger{at: t.at}
	var faults ruqi.Faults
	var err error
	bound.zone, err = zoneOf(loc)
	faults.Merge("/zone", err)
	if err == nil && t.written != nil {
		bound.at, err = t.written.resolve(bound.zone, "/at", "date: ")
		faults.Merge("", err)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &bound, nil
}

// Binding returns the zone, nil before Bind, and no anchor.
func (t *DateTrigger) Binding() (*time.Location, time.Time) {
	if t.zone == nil {
		return nil, time.Time{}
	}
	return t.zone.loc, time.Time{}
}

// At returns the instant, in the trigger's zone. Before Bind a wall time without
// a zone stands for UTC.
func (t *DateTrigger) At() time.Time { return t.zone.timeMicro(t.at) }

// String returns the date-time.
func (t *DateTrigger) String() string { return t.text() }

func (t *DateTrigger) text() string {
	if t.written != nil {
		return t.written.text()
	}
	return formatMicros(t.at, t.zone)
}

// Next returns the date if it is strictly after the instant after.
func (t *DateTrigger) Next(after time.Time) (time.Time, bool) {
	if t.fault != nil || t.at <= clampMicros(after, false) {
		return time.Time{}, false
	}
	return t.At(), true
}

// Prev returns the date if it is strictly before the instant before.
func (t *DateTrigger) Prev(before time.Time) (time.Time, bool) {
	if t.fault != nil || t.at >= clampMicros(before, true) {
		return time.Time{}, false
	}
	return t.At(), true
}

// Count returns 1 if the date lies in (after, until], else 0.
func (t *DateTrigger) Count(after, until time.Time) int64 {
	if t.fault != nil || t.at <= clampMicros(after, false) || t.at > clampMicros(until, false) {
		return 0
	}
	return 1
}
