package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A term is from when to when a trigger fires on the wall clock, inclusive. A bare date as start or end means all of that day, and
// stays a date in the canonical form.
type term struct{ start, end edge }

// An edge is one side of a term.
type edge struct {
	kind   edgeKind
	moment moment // as it was written: for a date and a wall time
	micros int64  // none without an edge; for a date and a wall time as the zone, or UTC while there is none, has it
}

type edgeKind uint8

const (
	edgeNone    edgeKind = iota
	edgeInstant          // known
	edgeDate             // a bare date
	edgeWall             // a wall time that awaits its zone
)

// readTerm reads start and end from whichever form they were given in.
func readTerm(start *time.Time, startText string, end *time.Time, endText string, z *zone, faults *ruqi.Faults) term {
	t := term{readEdge(start, startText, "start", faults), readEdge(end, endText, "end", faults)}
	return t.in(z, faults)
}

func readEdge(at *time.Time, text, what string, faults *ruqi.Faults) edge {
	e := edge{micros: none}
	switch {
	case at != nil && text != "":
		faults.Add("/"+what, text, "given as a time and as a text; give one of them")
	case at != nil:
		micros, ok := fromTime(*at)
		if !ok {
			faults.Add("/"+what, at.String(), outOfRange)
			break
		}
		e = edge{kind: edgeInstant, micros: micros}
	case text != "":
		m, err := parseMoment(text)
		switch {
		case err != nil:
			faults.Add("/"+what, text, "%q %v", clip(text), err)
		case m.zoned:
			e = edge{kind: edgeInstant, micros: (m.wall-m.offset)*microsecond + m.micros}
		case len(text) == len("2026-12-01"):
			e.kind, e.moment = edgeDate, m
		default:
			e.kind, e.moment = edgeWall, m
		}
	}
	return e
}

// in returns the term with dates and wall times read in z. While z is nil they stand for UTC, and are read again.
func (t term) in(z *zone, faults *ruqi.Faults) term {
	t.start = t.start.in(z, "start", faults)
	t.end = t.end.in(z, "end", faults)
	// An instant beside what awaits its zone: which is earlier depends on the zone.
	settled := z != nil || t.start.kind == t.end.kind || t.start.kind != edgeInstant && t.end.kind != edgeInstant
	if settled && t.start.micros != none && t.end.micros != none && t.end.micros < t.start.micros {
		faults.Add("/end", t.end.text(z), "it is before the start")
	}
	return t
}

func (e edge) in(z *zone, what string, faults *ruqi.Faults) edge {
	switch e.kind {
	case edgeDate:
		at := z
		if at == nil {
			at = utc
		}
		if what == "start" {
			e.micros = at.reaches(e.moment.wall) * microsecond
		} else {
			e.micros = at.leaves(e.moment.wall+daySeconds)*microsecond - 1
		}
	case edgeWall:
		micros, err := e.moment.resolve(z, "/"+what, "")
		faults.Merge("", err)
		e.micros = micros
		if err == nil && z != nil {
			return edge{kind: edgeInstant, micros: micros}
		}
	}
	return e
}

// text returns the canonical form.
func (e edge) text(z *zone) string {
	switch e.kind {
	case edgeDate:
		return e.moment.text()[:len("2026-12-01")]
	case edgeWall:
		return e.moment.text()
	}
	return formatMicros(e.micros, z)
}

// json is text as a member that is null without an edge.
func (e edge) json(z *zone) *string {
	if e.kind == edgeNone {
		return nil
	}
	text := e.text(z)
	return &text
}

// day returns the date of a start, as a day number.
func (e edge) day(z *zone) int64 {
	if e.kind != edgeInstant {
		return floorDiv(e.moment.wall, daySeconds)
	}
	return z.dayOf(e.micros)
}

// dayOf returns the date that the calendar on the wall shows at an instant in microseconds, as a day number; a nil zone is UTC.
func (z *zone) dayOf(micros int64) int64 {
	s := floorSeconds(micros)
	return floorDiv(s+z.offsetAt(s), daySeconds)
}

// offsetAt returns the offset at an instant; a nil zone is UTC.
func (z *zone) offsetAt(seconds int64) int64 {
	if z == nil {
		return 0
	}
	return z.find(seconds).off
}

// reaches returns the first instant at which the wall clock shows wall or what is later.
func (z *zone) reaches(wall int64) int64 {
	const reach = 36 * 3600 // as in instant
	for s := z.find(wall - reach); ; s = z.find(s.to) {
		if wall-s.off < s.to || s.to > latest {
			return max(wall-s.off, s.from)
		}
	}
}

// leaves returns the instant after the last one at which the wall clock shows what is earlier than wall.
func (z *zone) leaves(wall int64) int64 {
	const reach = 36 * 3600 // as in instant
	for s := z.find(wall + reach); ; s = z.find(s.from - 1) {
		if wall-s.off > s.from || s.from <= earliest {
			return min(wall-s.off, s.to)
		}
	}
}

// seconds returns the first and the last whole second of the term.
func (t term) seconds() (from, to int64) {
	from, to = earliest, latest
	if t.start.micros != none {
		from = ceilSeconds(t.start.micros)
	}
	if t.end.micros != none {
		to = floorSeconds(t.end.micros)
	}
	return from, to
}
