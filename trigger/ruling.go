package trigger

import (
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// Explain implements ruqi.Explainer. The parts are "date", "hour", "minute", "second", "start", "end", "anchor", "gap" and
// "fold".
func (t *CalendarTrigger) Explain(at time.Time) []ruqi.Ruling {
	if t.Matches(at) {
		return nil
	}
	var l rulings
	if !l.stand(t.fault, t.clock != nil) {
		return l.list
	}
	l.edges(t.term, t.anchor, t.zone, at)
	l.onClock(t.clock, at, func(day int64, sod int) {
		l.date(t.clock.times.(*dayTimes).days, day)
		l.field("hour", t.hour, sod/3600)
		l.field("minute", t.minute, sod/60%60)
		l.field("second", t.second, sod%60)
	})
	return l.list
}

// Explain implements ruqi.Explainer. The parts are "date", "day_of_week", "time", "minute", "second", "interval", "start", "end",
// "anchor", "gap" and "fold".
func (t *EveryTrigger) Explain(at time.Time) []ruqi.Ruling {
	if t.Matches(at) {
		return nil
	}
	var l rulings
	s := &t.saying
	single, once := t.single()
	if !l.stand(t.fault, t.clock != nil || once || s.form == formRandom && t.seed != nil) {
		return l.list
	}
	if once {
		l.add("date", "it fires once, at %s", t.zone.timeMicro(single).Format(time.RFC3339Nano))
		return l.list
	}
	l.edges(t.term, t.anchor, t.zone, at)
	if t.clock == nil {
		if len(l.list) == 0 {
			l.add("interval", "its times are %d to %d seconds apart, at random; %s", s.length/microsecond, s.to/microsecond, sides(t, at))
		}
		return l.list
	}
	l.onClock(t.clock, at, func(day int64, sod int) {
		switch s.form {
		case formBeat:
			if s.beat.period == 3600 {
				l.field("minute", int(s.beat.offset/60), sod/60%60)
			}
			l.field("second", int(s.beat.offset%60), sod%60)
			return
		case formDays:
			l.date(t.clock.times.(*dayTimes).days, day)
		case formWeekdays:
			if is := cronexpr.Weekday(day); s.on>>is&1 == 0 {
				d := tell(ruqi.English)
				d.weekdays(s.on)
				l.add("day_of_week", "it asks for %s, and this is a %s", d.b, time.Weekday(is))
			}
		}
		if !hasTime(s.secs, sod) {
			l.add("time", "it asks for %s, and it is %s", strings.ReplaceAll(timesText(s.secs), ", ", " or "), timeText(int32(sod)))
		}
	})
	return l.list
}

func hasTime(secs []int32, sod int) bool {
	for _, sec := range secs {
		if int(sec) == sod {
			return true
		}
	}
	return false
}

// rulings collects what rules an instant out.
type rulings struct{ list []ruqi.Ruling }

func (l *rulings) add(part, message string, args ...any) {
	l.list = append(l.list, ruqi.Ruling{Part: part, Message: fmt.Sprintf(message, args...)})
}

// stand reports whether a trigger can fire at all, and else says why not.
func (l *rulings) stand(fault error, settled bool) bool {
	switch {
	case fault != nil:
		l.add("trigger", "it is invalid: %v", fault)
	case !settled:
		l.add("anchor", "it counts from the moment it is bound, and it is not bound")
	default:
		return true
	}
	return false
}

// edges says whether an instant is before the start or the anchor, or after the end.
func (l *rulings) edges(t term, anchor int64, z *zone, at time.Time) {
	micros := clampMicros(at, false)
	if t.start.kind != edgeNone && micros < t.start.micros {
		l.add("start", "it starts on %s", t.start.text(z))
	}
	if anchor != none && micros <= anchor {
		l.add("anchor", "it counts from %s, and fires after that", formatMicros(anchor, z))
	}
	if t.end.kind != edgeNone && micros > t.end.micros {
		l.add("end", "it ended on %s", t.end.text(z))
	}
}

// date says that a day is none of a chain, and which are.
func (l *rulings) date(days daySet, day int64) {
	if days.count(day, day+1) != 0 {
		return
	}
	d := tell(ruqi.English)
	d.date(day)
	before, was := days.prev(day)
	if after, will := days.next(day); will {
		d.put(" is none of its dates; the next is ", "")
		d.date(after)
	} else {
		d.put(" is none of its dates", "")
	}
	if was {
		d.put(", the one before is ", "")
		d.date(before)
	}
	l.add("date", "%s", d.b)
}

func (l *rulings) field(part string, want, is int) {
	if want != is {
		l.add(part, "it asks for %d, and it is %d", want, is)
	}
}

// onClock says what the wall clock rules out: fields tells about a wall time that is none of the set.
func (l *rulings) onClock(c *wallClock, at time.Time, fields func(day int64, sod int)) {
	if at.Nanosecond() != 0 {
		l.add("second", "it fires on whole seconds, and this is %s", at.In(c.zone.loc).Format("15:04:05.999999999"))
	}
	seconds := floorSeconds(clampMicros(at, false))
	s := c.zone.find(seconds)
	wall := seconds + s.off
	if c.times.Count(wall, wall+1) == 0 {
		fields(cronexpr.FloorDay(wall))
		w := walker{c.times, c.zone, c.rules}
		w.runAfter = true
		if low, high, any := w.missed(s); any && seconds == s.begin && c.times.Count(low, high) > 0 {
			l.add("gap", "the clock leaves out what it asks for, from %s to %s, and what is left out does not fire here",
				wallText(low), wallText(high))
		}
		return
	}
	if len(l.list) == 0 {
		pass := "first"
		if c.rules.onlySecond {
			pass = "second"
		}
		l.add("fold", "the clock shows %s twice, and it fires the %s time", wallText(wall), pass)
	}
}

// wallText writes a time on the wall clock.
func wallText(wall int64) string { return time.Unix(wall, 0).UTC().Format("2006-01-02 15:04:05") }

// sides names the fire times on either side of an instant.
func sides(t ruqi.Stepper, at time.Time) string {
	var parts []string
	if before, ok := t.Prev(at); ok {
		parts = append(parts, "the one before is "+before.Format(time.RFC3339Nano))
	}
	if after, ok := t.Next(at); ok {
		parts = append(parts, "the next is "+after.Format(time.RFC3339Nano))
	}
	return strings.Join(parts, ", ")
}
