package trigger

import (
	"strconv"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronwords"
)

var (
	_ ruqi.Describer = (*CronTrigger)(nil)
	_ ruqi.Describer = (*IntervalTrigger)(nil)
	_ ruqi.Describer = (*DateTrigger)(nil)
)

// Describe implements ruqi.Describer: "at 02:30 on Monday to Friday, Europe/Berlin time". Where a clock change may meet a
// time of the expression it says what happens then.
func (t *CronTrigger) Describe(in ruqi.Language) string {
	switch {
	case t.fault != nil:
		return faulty(in)
	case t.OnStart():
		return worded(in, "at each start of an instance, never by the clock", "每次实例启动时触发，不按时钟")
	}
	fields := t.expr.Fields
	decided := t.expr.Hashed() && t.seed != ""
	if decided {
		fields = t.expr.Decided
	}
	words := cronwords.Fields{MondayFirst: t.expr.MondayFirst(), Either: t.expr.Either()}
	for _, f := range fields() {
		switch f.Name {
		case "second":
			words.Second = f.Text
		case "minute":
			words.Minute = f.Text
		case "hour":
			words.Hour = f.Text
		case "day":
			words.Day = f.Text
		case "month":
			words.Month = f.Text
		case "day_of_week":
			words.Weekday = f.Text
		case "week":
			words.Week = f.Text
		case "year":
			words.Year = f.Text
		}
	}
	e := cronwords.Read(words)
	b := make([]byte, 0, 256) // bytes: most phrases fit, with their zone
	if in == ruqi.Chinese {
		b = e.Chinese(b)
	} else {
		b = e.English(b)
	}
	if decided {
		b = append(b, worded(in, " (H set by the job's id)", "（H 由任务 id 选定）")...)
	}
	b = t.span.describe(appendZone(b, in, t.zone), in, t.zone)
	return string(t.describeChanges(b, in))
}

func worded(in ruqi.Language, english, chinese string) string {
	if in == ruqi.Chinese {
		return chinese
	}
	return english
}

func faulty(in ruqi.Language) string { return worded(in, "never: it is invalid", "从不：无效") }

// appendZone names the zone; nothing before it is known.
func appendZone(b []byte, in ruqi.Language, z *zone) []byte {
	switch {
	case z == nil:
		return b
	case in == ruqi.Chinese:
		b = append(b, "，"...)
		return append(append(b, z.loc.String()...), " 时间"...)
	case z == utc:
		return append(b, ", UTC"...)
	}
	b = append(append(b, ", "...), z.loc.String()...)
	return append(b, " time"...)
}

// describe appends start and end.
func (l limits) describe(b []byte, in ruqi.Language, z *zone) []byte {
	if l.start != none {
		b = append(b, worded(in, ", from ", "，自 ")...)
		b = append(appendDate(b, l.start, z), worded(in, " on", " 起")...)
	}
	if l.end != none {
		b = append(b, worded(in, ", until ", "，至 ")...)
		b = append(appendDate(b, l.end, z), worded(in, "", " 止")...)
	}
	return b
}

// appendDate appends an instant on the zone's wall clock: "2026-03-01 10:00". Seconds are left out where there are none.
// A time that the clock shows twice has its offset behind it.
func appendDate(b []byte, micros int64, z *zone) []byte {
	at := z.timeMicro(micros)
	layout := "2006-01-02 15:04"
	if at.Second() != 0 || at.Nanosecond() != 0 {
		layout = "2006-01-02 15:04:05.999999"
	}
	if z.twice(micros) {
		layout += " -07:00"
	}
	return at.AppendFormat(b, layout)
}

// twice reports whether the wall clock shows an instant's time twice.
func (z *zone) twice(micros int64) bool {
	if z == nil {
		return false
	}
	at := floorSeconds(micros)
	s := z.find(at)
	wall := at + s.off
	return s.before > s.off && wall < s.begin+s.before || s.after < s.off && wall >= s.end+s.after
}

// The clock changes from 2026 to 2034 stand for those to come: a zone that has none then has given them up.
const (
	changesFrom = 1767225600 // 2026-01-01
	changesTo   = 2051222400 // 2035-01-01
)

// describeChanges says what a clock change does to the times of the expression, if there may be one that meets them.
func (t *CronTrigger) describeChanges(b []byte, in ruqi.Language) []byte {
	if t.zone == nil || t.zone == utc {
		return b
	}
	gap, fold := t.meetsChanges()
	if gap && !t.expr.Starred() {
		b = append(b, worded(in, "; a time that a clock change leaves out ", "；时钟调整跳过的时刻")...)
		switch t.gap {
		case GapSkip:
			b = append(b, worded(in, "does not fire", "不触发")...)
		case GapShift:
			b = append(b, worded(in, "fires later by as much as is left out", "按跳过的时长顺延触发")...)
		default:
			b = append(b, worded(in, "fires right after it", "在调整后立即触发")...)
		}
	}
	if !fold || t.expr.Starred() && t.fold == FoldAuto {
		return b
	}
	lead := worded(in, "; one that comes twice ", "；重复的时刻")
	if !gap || t.expr.Starred() {
		lead = worded(in, "; a time that a clock change brings twice ", "；时钟调整后重复的时刻")
	}
	b = append(b, lead...)
	switch {
	case t.rules.onlyFirst:
		return append(b, worded(in, "fires the first time", "只在第一次触发")...)
	case t.rules.onlySecond:
		return append(b, worded(in, "fires the second time", "只在第二次触发")...)
	}
	return append(b, worded(in, "fires both times", "两次都触发")...)
}

// meetsChanges reports whether the times of day of the expression lie in a gap or a fold of its zone in the years ahead.
func (t *CronTrigger) meetsChanges() (gap, fold bool) {
	for s := t.zone.find(changesFrom); s.from < changesTo && !(gap && fold); s = t.zone.find(s.to) {
		if s.from != s.begin || s.before == s.off {
			continue
		}
		low, high := s.begin+s.before, s.begin+s.off
		switch {
		case low > high:
			fold = fold || t.expr.TimeWithin(high, low)
		case high-low <= longestGap:
			gap = gap || t.expr.TimeWithin(low, high)
		}
	}
	return gap, fold
}

// Describe implements ruqi.Describer: "every 1 hour and 30 minutes, Europe/Berlin time".
func (t *IntervalTrigger) Describe(in ruqi.Language) string {
	if t.fault() != nil {
		return faulty(in)
	}
	b := appendLength(make([]byte, 0, 128), in, t.every)
	b = appendZone(b, in, t.zone)
	if t.start == none && t.anchor != none {
		b = append(b, worded(in, ", counted from ", "，自 ")...)
		b = append(appendDate(b, t.anchor, t.zone), worded(in, "", " 起计")...)
	}
	return string(limits{start: t.start, end: t.end}.describe(b, in, t.zone))
}

// lengths are the units an interval is told in. Days are told only where there is nothing else, and are said to be of 24
// hours, since they are none of the calendar.
var lengths = []struct {
	micros           int64
	english, chinese string
}{
	{24 * 3600 * microsecond, "day", "天"}, {3600 * microsecond, "hour", "小时"}, {60 * microsecond, "minute", "分钟"},
	{microsecond, "second", "秒"}, {1000, "millisecond", "毫秒"}, {1, "microsecond", "微秒"},
}

// appendLength appends "every 5 minutes".
func appendLength(b []byte, in ruqi.Language, micros int64) []byte {
	const day = 24 * 3600 * microsecond
	b = append(b, worded(in, "every ", "每")...)
	if micros == day {
		return append(b, worded(in, "24 hours", " 24 小时")...)
	}
	units := lengths
	if micros%day != 0 {
		units = units[1:]
	}
	rest, parts := micros, 0
	for _, u := range units {
		if rest >= u.micros {
			rest %= u.micros
			parts++
		}
	}
	said := 0
	for _, u := range units {
		n := micros / u.micros
		if micros %= u.micros; n == 0 {
			continue
		}
		said++
		if in == ruqi.Chinese {
			if n > 1 || parts > 1 {
				b = append(strconv.AppendInt(append(b, ' '), n, 10), ' ')
			}
			b = append(b, u.chinese...)
		} else {
			switch {
			case said > 1 && said == parts:
				b = append(b, " and "...)
			case said > 1:
				b = append(b, ", "...)
			}
			if n > 1 || parts > 1 {
				b = append(strconv.AppendInt(b, n, 10), ' ')
			}
			if b = append(b, u.english...); n > 1 {
				b = append(b, 's')
			}
		}
		if u.micros == day {
			b = append(b, worded(in, " of 24 hours", "（每天 24 小时）")...)
		}
	}
	return b
}

// Describe implements ruqi.Describer: "once at 2026-03-01 10:00, Europe/Berlin time".
func (t *DateTrigger) Describe(in ruqi.Language) string {
	if t.fault != nil {
		return faulty(in)
	}
	b := append(make([]byte, 0, 64), worded(in, "once at ", "在 ")...)
	b = append(appendDate(b, t.at, t.zone), worded(in, "", " 执行一次")...)
	return string(appendZone(b, in, t.zone))
}
