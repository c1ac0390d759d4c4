package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// AsksFor reports whether a trigger of this package fires at a wall time of its zone on days without a clock change: whether it asks
// for the time, also on a day on which a clock change leaves it out. The wall time is the date and time of wall, whatever the zone
// of that. Start and end, and exclusions by the instants of other triggers, do not count. What counts elapsed time, fires once, or is
// of another package asks for no wall time.
func AsksFor(t ruqi.Trigger, wall time.Time) bool {
	if wall.Nanosecond() != 0 {
		return false
	}
	y, m, d := wall.Date()
	return asks(t, time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC).Unix())
}

func asks(t ruqi.Trigger, wall int64) bool {
	switch t := t.(type) {
	case *CronTrigger:
		return t.fault == nil && !t.OnStart() && len(t.expr.Misses(wall)) == 0
	case *CalendarTrigger:
		return t.clock != nil && t.clock.times.Count(wall, wall+1) > 0
	case *EveryTrigger:
		return t.clock != nil && t.clock.times.Count(wall, wall+1) > 0
	case *AnyTrigger:
		for _, part := range t.of {
			if asks(part, wall) {
				return true
			}
		}
	case *AllTrigger:
		for _, part := range t.of {
			if !asks(part, wall) {
				return false
			}
		}
		return len(t.of) > 0
	case *ExceptTrigger:
		return asks(t.of, wall) && !onDays(t.held, wall)
	case *OnlyTrigger:
		return asks(t.of, wall) && (onDays(t.held, wall) || heldByTimes(t.held, wall))
	}
	return false
}

// onDays reports whether the date of a wall time is in one of the calendars.
func onDays(held []Part, wall int64) bool {
	day := floorDay(wall)
	for _, p := range held {
		if p.days != nil && p.days.Contains(day) {
			return true
		}
	}
	return false
}

// heldByTimes reports whether one of the triggers asks for a wall time.
func heldByTimes(held []Part, wall int64) bool {
	for _, p := range held {
		if p.trigger != nil && asks(p.trigger, wall) {
			return true
		}
	}
	return false
}
