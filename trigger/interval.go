package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
)

// IntervalOptions tune an interval trigger. The zero value is ready for use.
type IntervalOptions struct {
	// Start is the first fire time; the others follow at whole multiples of the
	// length. Nil: the trigger is anchored when it is bound, and fires first one
	// length later.
	Start *time.Time
	// End is the last instant at which the trigger may fire, inclusive. Nil: no bound.
	End *time.Time
	// StartText and EndText are the same as text, such as "2026-03-01" (which
	// means 00:00) or "2026-03-01 10:00"; without an offset they are read in the
	// trigger's zone. Empty: not given. Not both a time and a text.
	StartText, EndText string
	// Zone is where start and end are read and fire times are shown; it must have an
	// IANA name. Nil: the one Bind is given.
	Zone *time.Location
}

// An IntervalTrigger fires every so often in elapsed time: a day is 24 hours, and
// a clock change moves the fire times on the wall clock. It does not drift: fire
// times are start + k × length. It implements ruqi.Binder, ruqi.Bound,
// ruqi.Stepper, ruqi.Ender, ruqi.Elapser, ruqi.Matcher, ruqi.Describer and
// ruqi.Explainer. A bound one takes 64 bytes; the zone is shared.
type IntervalTrigger struct {
	every      int64 // microseconds
	anchor     int64 // microseconds; none until bound, and when there is a start
	start, end int64 // microseconds, or none
	zone       *zone // nil until bound
	open       *open // nil when there is nothing left to read or to complain about
}

// open is what an interval keeps until it is bound.
type open struct {
	written *written
	fault   error
}

var (
	_ ruqi.Binder  = (*IntervalTrigger)(nil)
	_ ruqi.Bound   = (*IntervalTrigger)(nil)
	_ ruqi.Stepper = (*IntervalTrigger)(nil)
	_ ruqi.Ender   = (*IntervalTrigger)(nil)
)

// Interval returns an interval trigger of a length of at least a microsecond, or
// an *ruqi.InvalidError with every fault; the pointers are those of the JSON form
// ("/every", "/start", …).
func Interval(every time.Duration, o IntervalOptions) (*IntervalTrigger, error) {
	t := newInterval(every, o)
	if err := t.fault(); err != nil {
		return nil, err
	}
	return t, nil
}

// EveryDuration returns an interval trigger without options. A length below a microsecond
// is told by Bind, that is when a job with it is added.
func EveryDuration(every time.Duration) *IntervalTrigger {
	return newInterval(every, IntervalOptions{})
}

func newInterval(every time.Duration, o IntervalOptions) *IntervalTrigger {
	t := &IntervalTrigger{anchor: none}
	var faults ruqi.Faults
	switch {
	case every <= 0:
		faults.Add("/every", duration.Format(every), "the length must be more than zero")
	case every < time.Microsecond:
		faults.Add("/every", every.String(), "the length must be at least a microsecond")
	case every%time.Microsecond != 0:
		faults.Add("/every", every.String(), "the length must be a whole number of microseconds")
	}
	t.every = every.Microseconds()
	if o.Zone != nil {
		var err error
		t.zone, err = zoneOf(o.Zone)
		faults.Merge("/zone", err)
	}
	l := readLimits(o.Start, o.StartText, o.End, o.EndText, t.zone, &faults)
	t.start, t.end = l.start, l.end
	if err := faults.Err(); err != nil || l.written != nil {
		t.open = &open{l.written, err}
	}
	return t
}

func (t *IntervalTrigger) fault() error {
	if t.open == nil {
		return nil
	}
	return t.open.fault
}

// Kind returns "interval".
func (t *IntervalTrigger) Kind() string { return "interval" }

// Bind returns the trigger with what it lacks: the zone, and the anchor unless it
// has a start. The anchor is no fire time itself. The error is an
// *ruqi.InvalidError.
func (t *IntervalTrigger) Bind(loc *time.Location, anchor time.Time, _ string) (ruqi.Trigger, error) {
	if err := t.fault(); err != nil {
		return nil, err
	}
	if t.zone != nil && t.anchored() {
		return t, nil
	}
	bound := *t
	bound.open = nil
	var faults ruqi.Faults
	if bound.zone == nil {
		var err error
		bound.zone, err = zoneOf(loc)
		if faults.Merge("/zone", err); err != nil {
			return nil, faults.Err()
		}
	}
	if t.open != nil {
		l := limits{t.start, t.end, t.open.written}.in(bound.zone, &faults)
		bound.start, bound.end = l.start, l.end
	}
	if !bound.anchored() {
		micros, ok := fromTime(anchor)
		if !ok {
			faults.Add("/anchor", anchor.String(), outOfRange)
		}
		bound.anchor = micros
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &bound, nil
}

func (t *IntervalTrigger) anchored() bool { return t.start != none || t.anchor != none }

// Binding returns the zone, nil before Bind, and the anchor, the zero time before
// Bind and when there is a start.
func (t *IntervalTrigger) Binding() (loc *time.Location, anchor time.Time) {
	if t.zone != nil {
		loc = t.zone.loc
	}
	if t.anchor != none {
		anchor = t.zone.timeMicro(t.anchor)
	}
	return loc, anchor
}

// EndTime returns the end, inclusive, if one was given.
func (t *IntervalTrigger) EndTime() (time.Time, bool) {
	return t.zone.timeMicro(t.end), t.end != none
}

// Every returns the length.
func (t *IntervalTrigger) Every() time.Duration { return time.Duration(t.every) * time.Microsecond }

// String returns the length in words: "every 1h30m".
func (t *IntervalTrigger) String() string { return "every " + duration.Format(t.Every()) }

// first returns the first fire time; later ones are whole lengths after it. ok is
// false for a trigger that is not anchored yet, or wrong.
func (t *IntervalTrigger) first() (micros int64, ok bool) {
	if !t.anchored() || t.fault() != nil {
		return 0, false
	}
	if t.start != none {
		return t.start, true
	}
	return t.anchor + t.every, true
}

// last returns the last instant at which it may fire.
func (t *IntervalTrigger) last() int64 {
	if t.end != none {
		return t.end
	}
	return latest * microsecond
}

// Next returns the first fire time strictly after the instant after. A trigger
// without start has none before it is bound. It does not allocate.
func (t *IntervalTrigger) Next(after time.Time) (time.Time, bool) {
	at, ok := t.first()
	if !ok {
		return time.Time{}, false
	}
	if from := clampMicros(after, false); from >= at {
		at += ((from-at)/t.every + 1) * t.every
	}
	if at > t.last() {
		return time.Time{}, false
	}
	return t.zone.timeMicro(at), true
}

// Prev returns the last fire time strictly before the instant before.
func (t *IntervalTrigger) Prev(before time.Time) (time.Time, bool) {
	first, ok := t.first()
	until := min(clampMicros(before, true)-1, t.last())
	if !ok || until < first {
		return time.Time{}, false
	}
	return t.zone.timeMicro(until - (until-first)%t.every), true
}

// Count returns how many fire times lie in (after, until], exactly.
func (t *IntervalTrigger) Count(after, until time.Time) int64 {
	first, ok := t.first()
	if !ok {
		return 0
	}
	upTo := func(micros int64) int64 {
		if micros = min(micros, t.last()); micros < first {
			return 0
		}
		return (micros-first)/t.every + 1
	}
	return max(0, upTo(clampMicros(until, false))-upTo(clampMicros(after, false)))
}
