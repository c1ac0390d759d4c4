package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// limits are the first and the last instant of a trigger, inclusive, in
// microseconds; none when not given.
type limits struct {
	start, end int64
	written    *written // how they were given, while a zone to read them in is awaited
}

type written struct{ start, end *moment }

// readLimits reads start and end from whichever form they were given in. Wall
// times are read in z; while it is nil they are kept for in, and stand for UTC.
func readLimits(start *time.Time, startText string, end *time.Time, endText string, z *zone, faults *ruqi.Faults) limits {
	l := limits{start: none, end: none}
	var w written
	l.start, w.start = readLimit(start, startText, z, "start", faults)
	l.end, w.end = readLimit(end, endText, z, "end", faults)
	if z == nil && (w.start != nil || w.end != nil) {
		kept := w // most triggers have none, and allocate nothing
		l.written = &kept
		if w.start == nil || w.end == nil {
			return l // an instant beside a wall time: which is earlier depends on the zone
		}
	}
	l.check(faults)
	return l
}

func readLimit(at *time.Time, text string, z *zone, what string, faults *ruqi.Faults) (int64, *moment) {
	switch {
	case at != nil && text != "":
		faults.Add("/"+what, text, "given as a time and as a text; give one of them")
	case at != nil:
		if micros, ok := fromTime(*at); ok {
			return micros, nil
		}
		faults.Add("/"+what, at.String(), outOfRange)
	case text != "":
		m, err := parseMoment(text)
		if err != nil {
			faults.Add("/"+what, text, "%q %v", clip(text), err)
			return none, nil
		}
		micros, err := m.resolve(z, "/"+what, "")
		faults.Merge("", err)
		if err == nil && !m.zoned {
			return micros, &m
		}
		if err == nil {
			return micros, nil
		}
	}
	return none, nil
}

func (l limits) check(faults *ruqi.Faults) {
	if l.start != none && l.end != none && l.end < l.start {
		faults.Add("/end", formatMicros(l.end, nil), "it is before the start")
	}
}

// in returns the limits with wall times read in z.
func (l limits) in(z *zone, faults *ruqi.Faults) limits {
	w := l.written
	if w == nil {
		return l
	}
	l.written = nil
	if w.start != nil {
		micros, err := w.start.resolve(z, "/start", "")
		faults.Merge("", err)
		l.start = micros
	}
	if w.end != nil {
		micros, err := w.end.resolve(z, "/end", "")
		faults.Merge("", err)
		l.end = micros
	}
	if faults.Err() == nil {
		l.check(faults)
	}
	return l
}

// texts returns the canonical forms of start and end, nil for none.
func (l limits) texts(z *zone) (start, end *string) {
	text := func(micros int64, m *moment) *string {
		s := ""
		switch {
		case micros == none:
			return nil
		case m != nil:
			s = m.text()
		default:
			s = formatMicros(micros, z)
		}
		return &s
	}
	var w written
	if l.written != nil {
		w = *l.written
	}
	return text(l.start, w.start), text(l.end, w.end)
}
