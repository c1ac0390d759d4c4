package trigger

import (
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// AsksFor reports whether a trigger of this package fires at a wall time of its zone on days without a clock change: whether it asks
// for the time, also on a day on which a clock change leaves it out. The wall time is the date and time of wall, whatever the zone
// of that. Start and end, and exclusions by the instants of other triggers, do not count. What counts elapsed time, fires once, or is
// of another package asks for no wall time. A time that is moved to another day is asked for there.
func AsksFor(t ruqi.Trigger, wall time.Time) bool {
	return asks(t, wall, func(*zone) bool { return true })
}

// A LeftOut is a wall time that a clock change leaves out.
type LeftOut struct {
	Wall   time.Time // its date and time, whatever the zone
	Change time.Time // the instant at which a clock is set forward over it
}

// Asks is AsksFor for parts in zones whose clock is set forward over the time; others do not ask for it.
func (l LeftOut) Asks(t ruqi.Trigger) bool { return asks(t, l.Wall, l.in) }

// MakesGood reports whether a trigger that asks for the time fires at an instant because of a gap rule, of its own or of a part, or of the
// rule for times that are moved to other days. What it fires at there by itself, or makes good of other times, does not count.
func (l LeftOut) MakesGood(t ruqi.Trigger, at time.Time) bool {
	return at.Nanosecond() == 0 && l.Asks(t) && l.makesGood(t, at)
}

func (l LeftOut) in(z *zone) bool {
	s := z.find(l.Change.Unix())
	wall := wallSeconds(l.Wall)
	return s.begin == l.Change.Unix() && wall >= s.begin+s.before && wall < s.begin+s.off
}

func (l LeftOut) makesGood(t ruqi.Trigger, at time.Time) bool {
	if !Matches(t, at) {
		return false
	}
	here := func(part ruqi.Trigger) bool { return l.Asks(part) && l.makesGood(part, at) }
	switch t := t.(type) {
	case *CronTrigger:
		return l.by(t.walker(), at)
	case *CalendarTrigger:
		return l.by(walker{t.clock.times, t.clock.zone, t.clock.rules}, at)
	case *EveryTrigger:
		return l.by(walker{t.clock.times, t.clock.zone, t.clock.rules}, at)
	case *AnyTrigger:
		return slices.ContainsFunc(t.of, here)
	case *AllTrigger:
		return slices.ContainsFunc(t.of, here)
	case *ExceptTrigger:
		return here(t.of) || l.moves(&t.sieve, at)
	case *OnlyTrigger:
		return here(t.of) || l.moves(&t.sieve, at) || slices.ContainsFunc(t.held, func(p Part) bool { return p.trigger != nil && here(p.trigger) })
	}
	return false
}

// moves reports whether a fire time of another day, moved to the time, is placed at an instant: whatever the gap rule, at the first after the gap.
func (l LeftOut) moves(s *sieve, at time.Time) bool {
	return at.Equal(l.Change) && question{wall: wallSeconds(l.Wall), in: l.in}.ofMoved(s)
}

// by reports whether the rules of a walker make the time good at an instant.
func (l LeftOut) by(w walker, at time.Time) bool {
	s := w.zone.find(l.Change.Unix())
	switch _, _, any := w.missed(s); {
	case !any:
		return false
	case w.runAfter:
		return at.Unix() == s.begin
	}
	return at.Unix() == wallSeconds(l.Wall)-s.before
}

func wallSeconds(wall time.Time) int64 {
	y, m, d := wall.Date()
	return time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC).Unix()
}

func asks(t ruqi.Trigger, wall time.Time, in func(*zone) bool) bool {
	return wall.Nanosecond() == 0 && question{wall: wallSeconds(wall), in: in}.of(t)
}

// A question is whether triggers in some zones ask for a wall time.
type question struct {
	wall int64
	in   func(*zone) bool
	// clock is the zone whose clock shows the wall time; nil for that of each trigger.
	clock *zone
}

// wallIn returns the wall time on the clock of a zone.
func (q question) wallIn(z *zone) int64 {
	if q.clock == nil || q.clock == z {
		return q.wall
	}
	at, _, ok := q.clock.instant(q.wall)
	if !ok {
		return q.wall
	}
	return at + z.find(at).off
}

func (q question) of(t ruqi.Trigger) bool {
	switch t := t.(type) {
	case *CronTrigger:
		return t.fault == nil && !t.OnStart() && len(t.expr.Misses(q.wallIn(t.walker().zone))) == 0 && q.in(t.walker().zone)
	case *CalendarTrigger:
		return q.ofClock(t.clock)
	case *EveryTrigger:
		return q.ofClock(t.clock)
	case *AnyTrigger:
		return slices.ContainsFunc(t.of, q.of)
	case *AllTrigger:
		return len(t.of) > 0 && !slices.ContainsFunc(t.of, func(part ruqi.Trigger) bool { return !q.of(part) })
	case *ExceptTrigger:
		return q.of(t.of) && !q.onDays(&t.sieve) || q.ofMoved(&t.sieve)
	case *OnlyTrigger:
		return q.ofMoved(&t.sieve) || q.of(t.of) && (q.onDays(&t.sieve) || slices.ContainsFunc(t.held, func(p Part) bool { return p.trigger != nil && q.of(p.trigger) }))
	}
	return false
}

func (q question) ofClock(c *wallClock) bool {
	if c == nil || !q.in(c.zone) {
		return false
	}
	wall := q.wallIn(c.zone)
	return c.times.Count(wall, wall+1) > 0
}

// ofMoved reports whether a fire time on a day that is left out is moved to the wall time.
func (q question) ofMoved(s *sieve) bool {
	if s.fault != nil || s.otherwise == ElseSkip {
		return false
	}
	wall := q.wallIn(s.zone)
	day := floorDay(wall)
	if !s.stays(day) || !q.in(s.zone) {
		return false
	}
	first, last := s.sources(day)
	for d := first; d <= last; d++ {
		if (question{wall - int64(day-d)*daySeconds, func(*zone) bool { return true }, s.zone}).of(s.of) {
			return true
		}
	}
	return false
}

// onDays reports whether the date of the wall time is in one of the calendars of a sieve.
func (q question) onDays(s *sieve) bool {
	if s.fault != nil {
		return false
	}
	day := floorDay(q.wallIn(s.zone))
	return slices.ContainsFunc(s.held, func(p Part) bool { return p.days != nil && p.days.Contains(day) })
}
