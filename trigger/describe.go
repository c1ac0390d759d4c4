package trigger

import (
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
func (t *CronTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *CronTrigger) describe(in ruqi.Language, changes bool) string {
	d := tell(in)
	d.unchanging = !changes
	switch {
	case t.fault != nil:
		d.never()
		return string(d.b)
	case t.OnStart():
		d.put("at each start of an instance, never by the clock", "每次实例启动时触发，不按时钟")
		return string(d.b)
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
	if d.chinese {
		d.b = e.Chinese(d.b)
	} else {
		d.b = e.English(d.b)
	}
	if decided {
		d.put(" (H set by the job's id)", "（H 由任务 id 选定）")
	}
	d.zone(t.zone)
	d.term(t.span.term(), t.zone)
	d.changes(t.zone, t.expr.Starred(), t.expr.TimeWithin, t.gap, t.rules, t.fold)
	return string(d.b)
}

// term returns the limits as a term of instants.
func (l limits) term() term {
	edgeOf := func(micros int64) edge {
		if micros == none {
			return edge{micros: none}
		}
		return edge{kind: edgeInstant, micros: micros}
	}
	return term{edgeOf(l.start), edgeOf(l.end)}
}

// Describe implements ruqi.Describer: "every 1 hour and 30 minutes, Europe/Berlin time".
func (t *IntervalTrigger) Describe(in ruqi.Language) string {
	d := tell(in)
	if t.fault() != nil {
		d.never()
		return string(d.b)
	}
	d.length(t.every)
	d.zone(t.zone)
	if t.start == none && t.anchor != none {
		d.put(", counted from ", "，自 ")
		d.instant(t.anchor, t.zone)
		d.put("", " 起计")
	}
	d.term(limits{start: t.start, end: t.end}.term(), t.zone)
	return string(d.b)
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

// length puts "every 5 minutes".
func (d *telling) length(micros int64) {
	const day = 24 * 3600 * microsecond
	d.put("every ", "每")
	if micros == day {
		d.put("24 hours", " 24 小时")
		return
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
		switch {
		case said == 1:
		case said == parts:
			d.put(" and ", "")
		default:
			d.put(", ", "")
		}
		if n > 1 || parts > 1 {
			d.put("", " ")
			d.number(n)
			d.put(" ", " ")
		}
		d.put(u.english, u.chinese)
		if n > 1 {
			d.put("s", "")
		}
		if u.micros == day {
			d.put(" of 24 hours", "（每天 24 小时）")
		}
	}
}

// Describe implements ruqi.Describer: "once at 2026-03-01 10:00, Europe/Berlin time".
func (t *DateTrigger) Describe(in ruqi.Language) string {
	d := tell(in)
	if t.fault != nil {
		d.never()
		return string(d.b)
	}
	d.put("once at ", "在 ")
	d.instant(t.at, t.zone)
	d.put("", " 执行一次")
	d.zone(t.zone)
	return string(d.b)
}
