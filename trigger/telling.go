package trigger

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// A telling is a description that is being written, in one of two languages.
type telling struct {
	b       []byte
	chinese bool
	// unchanging leaves out what clock changes do.
	unchanging bool
}

func tell(in ruqi.Language) *telling {
	return &telling{b: make([]byte, 0, 256), chinese: in == ruqi.Chinese} // bytes: most fit
}

func (d *telling) put(english, chinese string) {
	if d.chinese {
		english = chinese
	}
	d.b = append(d.b, english...)
}

// never puts what stands for a trigger that is wrong.
func (d *telling) never() { d.put("never: it is invalid", "从不：无效") }

// number puts a number.
func (d *telling) number(n int64) { d.b = strconv.AppendInt(d.b, n, 10) }

// list puts what stands between the parts of a list of n before part i.
func (d *telling) list(i, n int) {
	switch {
	case i == 0:
	case i == n-1:
		d.put(" and ", "和")
	default:
		d.put(", ", "、")
	}
}

// times puts times of day: "09:00 and 17:00".
func (d *telling) times(secs []int32) {
	for i, sec := range secs {
		switch {
		case i == 0:
		case i == len(secs)-1:
			d.put(" and ", " 和 ")
		default:
			d.put(", ", "、")
		}
		d.b = append(d.b, timeText(sec)...)
	}
}

var chineseWeekdays = [...]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"}

func (d *telling) weekday(day int) { d.put(time.Weekday(day).String(), chineseWeekdays[day]) }

// weekdays puts "Monday to Friday" or "Monday and Thursday".
func (d *telling) weekdays(on weekdays) {
	n := bits.OnesCount8(uint8(on))
	if n > 2 {
		// One run, maybe over the end of the week: its first day is the one that follows a day off.
		for first := range 7 {
			run := weekdays((uint(1)<<n - 1) << first)
			run = run&everyDay | weekdays((uint(1)<<n-1)<<first>>7)
			if run == on {
				d.weekday(first)
				d.put(" to ", "至")
				d.weekday((first + n - 1) % 7)
				return
			}
		}
	}
	i := 0
	for _, day := range mondayFirst {
		if on>>day&1 != 0 {
			d.list(i, n)
			d.weekday(int(day))
			i++
		}
	}
}

// lengthIn puts a length of microseconds that words can say: "5 minutes", "a microsecond" never among them.
func (d *telling) lengthIn(length int64) {
	if length%microsecond != 0 {
		d.b = append(d.b, lengthText(length, true)...)
		return
	}
	unit, name := largestUnit(length, 0)
	d.count(length/unit, name)
}

var chineseUnits = map[string]string{"second": "秒", "minute": "分钟", "hour": "小时", "day": "天", "week": "周", "month": "个月", "year": "年"}

// count puts "1 week", "3 days".
func (d *telling) count(n int64, unit string) {
	d.number(n)
	d.put(" "+unit, " "+chineseUnits[unit])
	if n != 1 {
		d.put("s", "")
	}
}

// every puts "every week", "every 3 days".
func (d *telling) every(n int64, unit string) {
	d.put("every ", "每")
	if n != 1 {
		d.put("", " ")
		d.count(n, unit)
		return
	}
	d.put(unit, strings.TrimPrefix(chineseUnits[unit], "个"))
}

// zone names the zone, once there is one.
func (d *telling) zone(z *zone) {
	switch {
	case z == nil:
	case z == utc && !d.chinese:
		d.put(", UTC", "")
	default:
		d.put(", ", "，")
		d.b = append(d.b, z.loc.String()...)
		d.put(" time", " 时间")
	}
}

// date puts the date of a day number.
func (d *telling) date(day int64) {
	y, m, dom := cronexpr.Civil(day)
	d.b = fmt.Appendf(d.b, "%04d-%02d-%02d", y, m, dom)
}

// instant puts an instant on the wall clock of the zone: "2026-03-01 10:00", with the offset where the clock shows it twice.
func (d *telling) instant(micros int64, z *zone) {
	at := z.timeMicro(micros)
	layout := "2006-01-02 15:04"
	if at.Second() != 0 || at.Nanosecond() != 0 {
		layout = "2006-01-02 15:04:05.999999"
	}
	if z.twice(micros) {
		layout += " -07:00"
	}
	d.b = at.AppendFormat(d.b, layout)
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

// edge puts a start or an end.
func (d *telling) edge(e edge, z *zone) {
	if e.kind == edgeDate {
		d.date(floorDiv(e.moment.wall, daySeconds))
		return
	}
	d.instant(e.micros, z)
}

// term puts start and end.
func (d *telling) term(t term, z *zone) {
	if t.start.kind != edgeNone {
		d.put(", from ", "，自 ")
		d.edge(t.start, z)
		d.put(" on", " 起")
	}
	if t.end.kind != edgeNone {
		d.put(", until ", "，至 ")
		d.edge(t.end, z)
		d.put("", " 止")
	}
}

// changes says what a clock change does to times of day, if one of the years ahead meets them. Those that are starred follow the real
// clock, which leaves none of them out; within reports whether one lies in [low, high) on the wall clock.
func (d *telling) changes(z *zone, starred bool, within func(low, high int64) bool, gap Gap, r rules, fold Fold) {
	if z == nil || z == utc || d.unchanging {
		return
	}
	meetsGap, meetsFold := meetsChanges(z, starred, within)
	if meetsGap {
		d.put("; a time that a clock change leaves out ", "；时钟调整跳过的时刻")
		switch gap {
		case GapSkip:
			d.put("does not fire", "不触发")
		case GapShift:
			d.put("fires later by as much as is left out", "按跳过的时长顺延触发")
		default:
			d.put("fires right after it", "在调整后立即触发")
		}
	}
	switch {
	case !meetsFold || starred && fold == FoldAuto:
		return
	case meetsGap:
		d.put("; one that comes twice ", "；重复的时刻")
	default:
		d.put("; a time that a clock change brings twice ", "；时钟调整后重复的时刻")
	}
	switch {
	case r.onlyFirst:
		d.put("fires the first time", "只在第一次触发")
	case r.onlySecond:
		d.put("fires the second time", "只在第二次触发")
	default:
		d.put("fires both times", "两次都触发")
	}
}

// meetsChanges reports whether times of day lie in a gap or a fold of the zone in the years ahead.
func meetsChanges(z *zone, starred bool, within func(low, high int64) bool) (gap, fold bool) {
	// 2026 to 2034: the rules of today. A zone without a change then has given them up; those further on nobody knows.
	const from, to = 1767225600, 2051222400
	for s := z.find(from); s.from < to && !(gap && fold); s = z.find(s.to) {
		if s.from != s.begin || s.before == s.off {
			continue
		}
		low, high := s.begin+s.before, s.begin+s.off
		switch {
		case low > high:
			fold = fold || within(high, low)
		case high-low <= longestGap:
			gap = gap || !starred && within(low, high)
		}
	}
	return gap, fold
}

// anyWithin returns a function that reports whether one of the times of day lies in [low, high) on the wall clock.
func anyWithin(secs []int32) func(low, high int64) bool {
	return func(low, high int64) bool {
		for _, sec := range secs {
			if floorMod(int64(sec)-low, daySeconds) < high-low {
				return true
			}
		}
		return false
	}
}

// steps puts a chain's step in days: "every 3 days", or "every 2 weeks on Monday" once its first date is known.
func (d *telling) steps(days, first int64, known bool) {
	if days%7 != 0 {
		d.every(days, "day")
		return
	}
	d.every(days/7, "week")
	switch {
	case !known:
	case days == 7 && d.chinese:
		d.b = append(d.b, strings.TrimPrefix(chineseWeekdays[cronexpr.Weekday(first)], "周")...)
	default:
		d.put(" on ", "的")
		d.weekday(cronexpr.Weekday(first))
	}
}

// counted puts what a chain is counted from, where it is not the start.
func (d *telling) counted(t term, anchor int64, z *zone) {
	switch {
	case t.start.kind != edgeNone:
	case anchor != none:
		d.put(", counted from ", "，自 ")
		d.date(z.dayOf(anchor))
		d.put("", " 起计")
	default:
		d.put(", counted from the day it is set", "，自设定之日起计")
	}
}

// Describe implements ruqi.Describer: "at 09:00 every month on the 15th, Europe/Berlin time, from 2026-01-15 on".
func (t *CalendarTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *CalendarTrigger) describe(in ruqi.Language, changes bool) string {
	d := tell(in)
	d.unchanging = !changes
	if t.fault != nil {
		d.never()
		return string(d.b)
	}
	secs := []int32{int32(t.hour*3600 + t.minute*60 + t.second)}
	d.put("at "+timeText(secs[0])+" ", "")
	first, known := firstDay(t.term, t.anchor, t.zone)
	months, days := int64(12*t.years+t.months), int64(7*t.weeks+t.days)
	if months+days == 1 || months == 12 && days == 0 || months == 0 && days == 7 {
		d.put("", "在")
	}
	switch {
	case months == 0:
		d.steps(days, first, known)
	case days == 0:
		d.months(months, first, known)
	default:
		d.mixed([]int{t.years, t.months, t.weeks, t.days})
	}
	d.put("", "的 "+timeText(secs[0]))
	d.zone(t.zone)
	d.counted(t.term, t.anchor, t.zone)
	d.term(t.term, t.zone)
	d.changes(t.zone, false, anyWithin(secs), t.gap, rulesOf(t.gap, t.fold, false), t.fold)
	return string(d.b)
}

// firstDay returns the first date of a chain, if it is known: that of the start, or of the anchor.
func firstDay(t term, anchor int64, z *zone) (int64, bool) {
	switch {
	case t.start.kind != edgeNone:
		return t.start.day(z), true
	case anchor != none:
		return z.dayOf(anchor), true
	}
	return 0, false
}

// months puts a step of months: "every 2 months on the 31st, where there is one".
func (d *telling) months(n, first int64, known bool) {
	years := n%12 == 0
	if years {
		d.every(n/12, "year")
	} else {
		d.every(n, "month")
	}
	if !known {
		return
	}
	_, month, dom := cronexpr.Civil(first)
	if n != 1 && n != 12 {
		d.put("", "的")
	}
	switch {
	case years:
		d.put(fmt.Sprintf(" on %d %s", dom, time.Month(month)), fmt.Sprintf(" %d 月 %d 日", month, dom))
		if month == 2 && dom == 29 {
			d.put(", where there is one", "（没有该日的年份除外）")
		}
	default:
		d.put(" on the "+ordinal(dom), fmt.Sprintf(" %d 日", dom))
		if dom > 28 {
			d.put(", where there is one", "（没有该日的月份除外）")
		}
	}
}

// mixed puts a step of months and days: "every 1 month and 3 days".
func (d *telling) mixed(parts []int) {
	n := 0
	for _, part := range parts {
		if part > 0 {
			n++
		}
	}
	d.put("every ", "每隔 ")
	i := 0
	for at, part := range parts {
		if part > 0 {
			switch {
			case i > 0 && i == n-1:
				d.put(" and ", "零 ")
			case i > 0:
				d.put(", ", " ")
			}
			d.count(int64(part), [...]string{"year", "month", "week", "day"}[at])
			i++
		}
	}
}

func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// Describe implements ruqi.Describer: "at 13:15 on Monday, Europe/Berlin time, until 2030-01-01".
func (t *EveryTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *EveryTrigger) describe(in ruqi.Language, changes bool) string {
	d := tell(in)
	d.unchanging = !changes
	if t.fault != nil {
		d.never()
		return string(d.b)
	}
	s := &t.saying
	switch s.form {
	case formWeekdays:
		d.put("at ", "在每")
		if d.chinese {
			d.days(s.on)
			d.put("", "的 ")
			d.times(s.secs)
		} else {
			d.times(s.secs)
			d.days(s.on)
		}
	case formDays:
		d.put("at ", "")
		if s.days == 7 {
			d.put("", "在")
		}
		first, known := firstDay(t.term, t.anchor, t.zone)
		if s.on != 0 {
			first, known = s.first(first), true
		}
		if d.chinese {
			d.steps(s.days, first, known)
			d.put("", "的 ")
			d.times(s.secs)
		} else {
			d.times(s.secs)
			d.put(" ", "")
			d.steps(s.days, first, known)
		}
	case formDates:
		d.put("at ", "在")
		if d.chinese {
			d.dates(s.dates)
			d.put("", "的 ")
			d.times(s.secs)
		} else {
			d.times(s.secs)
			d.put(" ", "")
			d.dates(s.dates)
		}
	case formBeat:
		d.beat(s.beat)
	case formRandom:
		unit, name := largestUnit(s.length, s.to)
		d.put("every ", "每 ")
		d.number(s.length / unit)
		d.put(" to ", " 至 ")
		d.count(s.to/unit, name)
		d.put(" at random", "（随机）")
	case formInterval:
		d.put("every ", "每 ")
		d.lengthIn(s.length)
	default:
		d.once(t)
	}
	d.zone(t.zone)
	switch {
	case s.form == formDays:
		d.counted(t.term, t.anchor, t.zone)
	case s.form == formRandom && t.anchor != none:
		d.put(", counted from ", "，自 ")
		d.instant(t.anchor, t.zone)
		d.put("", " 起计")
	}
	d.term(t.term, t.zone)
	switch s.form {
	case formBeat:
		d.changes(t.zone, true, func(_, _ int64) bool { return true }, t.gap, rulesOf(t.gap, t.fold, true), t.fold)
	case formWeekdays, formDays, formDates:
		d.changes(t.zone, false, anyWithin(s.secs), t.gap, rulesOf(t.gap, t.fold, false), t.fold)
	}
	return string(d.b)
}

// days puts the days of a week on which something is.
func (d *telling) days(on weekdays) {
	if on == everyDay {
		d.put(" every day", "天")
		return
	}
	d.put(" on ", "")
	d.weekdays(on)
}

func (d *telling) beat(b beats) {
	if b.period == 60 {
		d.put("every minute at second ", "每分钟的第 ")
		d.number(b.offset)
		d.put("", " 秒")
		return
	}
	d.put("every hour at minute ", "每小时的第 ")
	d.number(b.offset / 60)
	d.put("", " 分")
	if second := b.offset % 60; second != 0 {
		d.put(", second ", " ")
		d.number(second)
		d.put("", " 秒")
	}
}

// once puts a single time.
func (d *telling) once(t *EveryTrigger) {
	at, known := t.single()
	switch {
	case known:
		d.put("once at ", "在 ")
		d.instant(at, t.zone)
		d.put("", " 执行一次")
	case t.saying.length == 0:
		d.put("once, as soon as it is set", "设定后立即执行一次")
	default:
		d.put("once, ", "设定 ")
		d.lengthIn(t.saying.length)
		d.put(" after it is set", "后执行一次")
	}
}
