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
	l.onClock(t.clock, t.gap, t.fold, false, at, func(day int64, sod int) {
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
	l.onClock(t.clock, t.gap, t.fold, s.form == formBeat, at, func(day int64, sod int) {
		switch s.form {
		case formBeat:
			if s.beat.period == 3600 {
				l.field("minute", int(s.beat.offset/60), sod/60%60)
			}
			l.field("second", int(s.beat.offset%60), sod%60)
			return
		case formDays, formDates:
			l.date(t.clock.times.(*dayTimes).days, day)
		case formWeekdays:
			if is := cronexpr.Weekday(day); s.on>>is&1 == 0 {
				d := tell(ruqi.English)
				d.weekdays(s.on)
				l.add("day_of_week", "the weekday is %s, and it asks for %s", time.Weekday(is), d.b)
			}
		}
		if !hasTime(s.secs, sod) {
			l.add("time", "the time is %s, and it asks for %s", timeText(int32(sod)), strings.ReplaceAll(timesText(s.secs), ", ", " or "))
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
	if t.start.kind != edgeNone && clampMicros(at, false) < t.start.micros {
		l.add("start", "the start is %s, which is later", t.start.text(z))
	}
	if anchor != none && clampMicros(at, false) <= anchor {
		l.add("anchor", "it counts from %s, and fires after that", formatMicros(anchor, z))
	}
	if t.end.kind != edgeNone && clampMicros(at, true) > t.end.micros {
		l.add("end", "the end is %s, which is earlier", t.end.text(z))
	}
}

// date says that a day is none of a chain, and which are.
func (l *rulings) date(days daySet, day int64) {
	if days.count(day, day+1) != 0 {
		return
	}
	d := tell(ruqi.English)
	d.put("the date is ", "")
	d.date(day)
	d.put(", which is none of the chain", "")
	if before, ok := days.prev(day - 1); ok {
		d.put("; the one before is ", "")
		d.date(before)
	}
	if after, ok := days.next(day + 1); ok {
		d.put("; the next is ", "")
		d.date(after)
	}
	l.add("date", "%s", d.b)
}

func (l *rulings) field(part string, want, is int) {
	if want != is {
		l.add(part, "the %s is %d, and it asks for %d", part, is, want)
	}
}

// onClock says what the wall clock rules out: fields tells about a wall time that is none of the set.
func (l *rulings) onClock(c *wallClock, gap Gap, fold Fold, starred bool, at time.Time, fields func(day int64, sod int)) {
	if at.Nanosecond() != 0 {
		l.add("second", "the instant has a fraction of a second, and it fires at whole seconds")
	}
	seconds := floorSeconds(clampMicros(at, false))
	at = time.Unix(seconds, 0)
	wall := seconds + c.zone.find(seconds).off
	other := *c
	if c.times.Count(wall, wall+1) > 0 {
		other.rules = rulesOf(gap, FoldBoth, starred)
		if !c.matches(at) && other.matches(at) {
			pass := "second"
			if c.rules.onlySecond {
				pass = "first"
			}
			l.add("fold", "a clock change brings %s twice, this is the %s time, and fold is %s", at.In(c.zone.loc).Format("15:04:05"), pass, fold)
		}
		return
	}
	fields(cronexpr.FloorDay(wall))
	for _, rule := range []Gap{GapRunAfter, GapShift} {
		other.rules = rulesOf(rule, fold, starred)
		if !c.matches(at) && other.matches(at) {
			l.add("gap", "a clock change leaves out a time that it asks for, which would fire here if gap were %s, and gap is %s", rule, gap)
			return
		}
	}
}

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
