package trigger

import (
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// Explain implements ruqi.Explainer. The parts are "date", "hour", "minute", "second", "start", "end", "anchor", "gap",
// "fold", and "year" of an instant out of range.
func (t *CalendarTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	if t.Matches(at) {
		return nil
	}
	l := rulings{in: in}
	if !l.stand(t.fault, t.clock != nil) {
		return l.list
	}
	if l.list = beyond(at, in); l.list != nil {
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
// "anchor", "gap", "fold", and "year" of an instant out of range.
func (t *EveryTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	if t.Matches(at) {
		return nil
	}
	l := rulings{in: in}
	s := &t.saying
	single, once := t.single()
	if !l.stand(t.fault, t.clock != nil || once || s.form == formRandom && t.seed != nil) {
		return l.list
	}
	if once {
		l.add("date", "it fires once, at %s", "它只触发一次，在 %s", t.zone.timeMicro(single).Format(time.RFC3339Nano))
		return l.list
	}
	if l.list = beyond(at, in); l.list != nil {
		return l.list
	}
	l.edges(t.term, t.anchor, t.zone, at)
	if t.clock == nil {
		if len(l.list) == 0 {
			l.add("interval", "its times are %d to %d seconds apart, at random; %s", "它的触发时刻随机相隔 %d 到 %d 秒；%s", s.length/microsecond, s.to/microsecond, sides(t, at, in))
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
				d := tell(in)
				d.weekdays(s.on)
				l.add("day_of_week", "the weekday is %s, and it asks for %s", "这一天是%s，而它要求%s", dayName(time.Weekday(is), in), d.b)
			}
		}
		if !hasTime(s.secs, sod) {
			l.add("time", "the time is %s, and it asks for %s", "时间为 %s，而它要求 %s", timeText(int32(sod)), strings.ReplaceAll(timesText(s.secs), ", ", say(in, " or ", " 或 ")))
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

// rulings collects what rules an instant out, in one language.
type rulings struct {
	in   ruqi.Language
	list []ruqi.Ruling
}

func (l *rulings) add(part, english, chinese string, args ...any) {
	l.list = append(l.list, ruqi.Ruling{Part: part, Message: say(l.in, english, chinese, args...)})
}

// say formats the text of a language; English for one that is not known. Both take the same arguments.
func say(in ruqi.Language, english, chinese string, args ...any) string {
	if in == ruqi.Chinese {
		english = chinese
	}
	return fmt.Sprintf(english, args...)
}

// dayName names a weekday.
func dayName(day time.Weekday, in ruqi.Language) string {
	if in == ruqi.Chinese {
		return chineseWeekdays[day]
	}
	return day.String()
}

// foldText says of a wall time, which comes twice, that it does not fire this time.
func foldText(wall time.Time, second bool, fold Fold, in ruqi.Language) string {
	pass, chinese := "second", "二"
	if second {
		pass, chinese = "first", "一"
	}
	return say(in, "a clock change brings %s twice, this is the %s time, and fold is %s", "时钟变更使 %s 出现两次，此刻是第%s次，而 fold 为 %s",
		wall.Format("15:04:05"), say(in, pass, chinese), fold)
}

// What a start and an end say, of every kind.
const (
	startLater, startLaterChinese = "the start is %s, which is later", "开始时间为 %s，比此刻晚"
	endEarlier, endEarlierChinese = "the end is %s, which is earlier", "结束时间为 %s，比此刻早"
)

// stand reports whether a trigger can fire at all, and else says why not.
func (l *rulings) stand(fault error, settled bool) bool {
	switch {
	case fault != nil:
		l.add("trigger", "it is invalid: %v", "它无效：%v", fault)
	case !settled:
		l.add("anchor", "it counts from the moment it is bound, and it is not bound", "它从绑定之时起计，而它还没有绑定")
	default:
		return true
	}
	return false
}

// edges says whether an instant is before the start or the anchor, or after the end.
func (l *rulings) edges(t term, anchor int64, z *zone, at time.Time) {
	if t.start.kind != edgeNone && clampMicros(at, false) < t.start.micros {
		l.add("start", startLater, startLaterChinese, t.start.text(z))
	}
	if anchor != none && clampMicros(at, false) <= anchor {
		l.add("anchor", "it counts from %s, and fires after that", "它自 %s 起计，在其后触发", formatMicros(anchor, z))
	}
	if t.end.kind != edgeNone && clampMicros(at, true) > t.end.micros {
		l.add("end", endEarlier, endEarlierChinese, t.end.text(z))
	}
}

// date says that a day is none of a chain, and which are.
func (l *rulings) date(days daySet, day int64) {
	if days.count(day, day+1) != 0 {
		return
	}
	d := tell(l.in)
	d.put("the date is ", "日期为 ")
	d.date(day)
	d.put(", which is none of the chain", "，不在其日期序列中")
	if before, ok := days.prev(day - 1); ok {
		d.put("; the one before is ", "；前一个是 ")
		d.date(before)
	}
	if after, ok := days.next(day + 1); ok {
		d.put("; the next is ", "；后一个是 ")
		d.date(after)
	}
	l.add("date", "%s", "%s", d.b)
}

func (l *rulings) field(part string, want, is int) {
	if want != is {
		l.add(part, "the %s is %d, and it asks for %d", "%s为 %d，而它要求 %d", fieldName(part, l.in), is, want)
	}
}

// onClock says what the wall clock rules out: fields tells about a wall time that is none of the set.
func (l *rulings) onClock(c *wallClock, gap Gap, fold Fold, starred bool, at time.Time, fields func(day int64, sod int)) {
	if at.Nanosecond() != 0 {
		l.add("second", "the instant has a fraction of a second, and it fires at whole seconds", "此刻带有不足一秒的部分，而它只在整秒触发")
	}
	seconds := floorSeconds(clampMicros(at, false))
	at = time.Unix(seconds, 0)
	wall := seconds + c.zone.find(seconds).off
	other := *c
	if c.times.Count(wall, wall+1) > 0 {
		other.rules = rulesOf(gap, FoldBoth, starred)
		if !c.matches(at) && other.matches(at) {
			text := foldText(at.In(c.zone.loc), c.rules.onlySecond, fold, l.in)
			l.add("fold", "%s", "%s", text)
		}
		return
	}
	fields(cronexpr.FloorDay(wall))
	for _, rule := range []Gap{GapRunAfter, GapShift} {
		other.rules = rulesOf(rule, fold, starred)
		if !c.matches(at) && other.matches(at) {
			l.add("gap", "a clock change leaves out a time that it asks for, which would fire here if gap were %s, and gap is %s",
				"时钟变更跳过了它要求的一个时刻；若 gap 为 %s，它会在此刻触发，而 gap 为 %s", rule, gap)
			return
		}
	}
}

// sides names the fire times on either side of an instant.
func sides(t ruqi.Stepper, at time.Time, in ruqi.Language) string {
	var parts []string
	if before, ok := t.Prev(at); ok {
		parts = append(parts, say(in, "the one before is %s", "前一个是 %s", before.Format(time.RFC3339Nano)))
	}
	if after, ok := t.Next(at); ok {
		parts = append(parts, say(in, "the next is %s", "后一个是 %s", after.Format(time.RFC3339Nano)))
	}
	return strings.Join(parts, say(in, ", ", "，"))
}
