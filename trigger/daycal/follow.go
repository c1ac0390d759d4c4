package daycal

import (
	"slices"
	"time"

	"github.com/teambition/rrule-go"
)

// follow computes the days of a rule: whether it comes at all, and whether the work was enough for that.
//
// What a rule asks of a day, but for the number of its week, depends on the kind of the year alone. So a rule that comes in every period is a
// pattern; else it is gone through. RFC 5545 leaves open what a first day is that the rule does not name: it is no occurrence.
func (r *rule) follow(b *builder) (comes, ok bool) {
	last := min(r.from+era, Last)
	if !r.option.Until.IsZero() {
		last = min(last, dayOf(r.option.Until))
	}
	if last < r.from {
		return false, true
	}
	a := r.asked()
	kind, known := b.asked[a]
	if !known {
		p := a.pattern()
		kind = b.place(&p)
		b.asked[a] = kind
	}
	p := &b.list[kind]
	if max(1, r.option.Interval) > 1 || len(r.option.Bysetpos)+len(r.option.Byweekno) > 0 || r.length > 1 {
		return r.goThrough(p, last, b)
	}
	if n := r.option.Count; n > 0 {
		d := r.from - 1
		for ; n > 0 && d < last; n-- {
			if !b.left.take(1) {
				return false, false
			}
			d = p.next(d+1, last, true)
		}
		last = min(last, d)
	}
	if p.next(r.from, last, true) > last {
		return false, true
	}
	r.line = lineOf(spans{{r.from, last}}, kind)
	if len(r.except) > 0 {
		r.line = b.combine(r.line, lineOf(r.except, daily), opMinus)
	}
	return true, true
}

// goThrough computes the days of a rule one by one.
func (r *rule) goThrough(p *pattern, last Day, b *builder) (comes, ok bool) {
	weeks := r.weeks(last)
	if !b.left.take(len(weeks)) {
		return false, false
	}
	r.days = b.found[:0]
	defer func() { b.found, r.days = r.days, slices.Clone(r.days) }()
	count := r.option.Count
	var found, picked []Day // in one period
	for period := range r.periods(last) {
		found = found[:0]
		for part := range r.within(period, weeks) {
			for d := p.next(part.from, part.to, true); d <= part.to; d = p.next(d+1, part.to, true) {
				found = append(found, d)
			}
		}
		if !b.left.take(1 + len(found)) {
			return false, false
		}
		picked = r.positions(picked[:0], found)
		for _, d := range picked {
			if d < r.from || d > last {
				continue
			}
			if comes = true; !r.except.contains(d) {
				r.add(d)
			}
			if count--; count == 0 {
				return true, true
			}
		}
	}
	return comes, true
}

// add notes an occurrence, later than those before.
func (r *rule) add(d Day) {
	to := min(d+Day(r.length)-1, Last)
	if n := len(r.days); n > 0 && d <= r.days[n-1].to+1 {
		r.days[n-1].to = to
		return
	}
	r.days = append(r.days, span{d, to})
}

// weekStart returns the first day of the week that a day is in.
func (r *rule) weekStart(d Day) Day {
	first := Day(r.option.Wkst.Day()+1) % 7 // rrule counts from Monday
	return d - (Day(d.Weekday())-first+7)%7
}

// periods goes through the years, months, weeks or days that count, from that of the first day on, whole ones. Where all count
// and all their days, they are one.
func (r *rule) periods(last Day) func(yield func(span) bool) {
	interval := max(1, r.option.Interval)
	return func(yield func(span) bool) {
		if interval == 1 && len(r.option.Bysetpos) == 0 {
			yield(span{r.from, last})
			return
		}
		date := r.from.Time()
		for n := 0; ; n += interval {
			var s span
			switch r.option.Freq {
			case rrule.YEARLY:
				s = span{yearStart(date.Year() + n), yearStart(date.Year()+n+1) - 1}
			case rrule.MONTHLY:
				months := int(date.Month()) - 1 + n
				year, month := date.Year()+months/12, time.Month(months%12+1)
				from := NewDay(year, month, 1)
				s = span{from, from + Day(typeOf(year, yearStart(year)).monthLength(month)) - 1}
			case rrule.WEEKLY:
				from := r.weekStart(r.from) + Day(7*n)
				s = span{from, from + 6}
			default:
				s = span{r.from + Day(n), r.from + Day(n)}
			}
			if s.from > last || !yield(s) {
				return
			}
		}
	}
}

// within goes through the parts of a period that BYWEEKNO leaves.
func (r *rule) within(period span, weeks spans) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		if len(r.option.Byweekno) == 0 {
			yield(period)
			return
		}
		for i := weeks.find(period.from); i < len(weeks) && weeks[i].from <= period.to; i++ {
			if !yield(span{max(weeks[i].from, period.from), min(weeks[i].to, period.to)}) {
				return
			}
		}
	}
}

// positions adds to a list those of the days of a period that BYSETPOS names, in order.
func (r *rule) positions(list, found []Day) []Day {
	if len(r.option.Bysetpos) == 0 {
		return found
	}
	for _, at := range r.option.Bysetpos {
		if at < 0 {
			at += len(found) + 1
		}
		if at > 0 && at <= len(found) {
			list = append(list, found[at-1])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// weeks returns the days of the weeks that BYWEEKNO names. The first week of a year is the first with four of its days.
func (r *rule) weeks(last Day) spans {
	if len(r.option.Byweekno) == 0 {
		return nil
	}
	var list []span
	first := func(year int) Day { return r.weekStart(yearStart(year) + 3) }
	for year := r.from.Time().Year() - 1; year <= 9999; year++ {
		start := first(max(year, 1))
		if start > last {
			break
		}
		count := int(first(max(year, 1)+1)-start) / 7
		for _, n := range r.option.Byweekno {
			if n < 0 {
				n += count + 1
			}
			if n >= 1 && n <= count {
				from := start + Day(7*(n-1))
				list = append(list, span{from, from + 6})
			}
		}
	}
	return merged(list)
}

// pattern returns the days that have what is asked.
func (a *asked) pattern() (p pattern) {
	for kind := range yearType(yearTypes) {
		place := 0
		for m := time.January; m <= time.December; m++ {
			length := kind.monthLength(m)
			for day := 1; day <= length; day++ {
				if a.months>>m&1 == 1 && a.hasMonthDay(day, length) && a.hasYearDay(place, kind.length()) {
					if w := time.Weekday((int(kind) + place) % 7); a.byYear && a.hasWeekday(w, place, kind.length()) || !a.byYear && a.hasWeekday(w, day-1, length) {
						p.set(kind, place)
					}
				}
				place++
			}
		}
	}
	return p
}

// asked is what a rule asks of a day but for BYWEEKNO, as sets of bits.
type asked struct {
	months               uint16
	monthDays, fromEnd   uint32    // bit n: the nth day of the month, the nth from its end
	yearDays, yearEnd    [6]uint64 // likewise, of the year
	weekdays             uint8     // bit w: time.Weekday w
	nth, nthEnd          [7]uint64 // of a weekday, bit n: the nth of the month or year
	anyMonthDay, anyYear bool
	anyWeekday, byYear   bool // byYear: a weekday is counted in the year
}

// asked fills in what the rule takes from its first day.
func (r *rule) asked() (a asked) {
	o := &r.option
	date := r.from.Time()
	months, monthDays, weekdays := o.Bymonth, o.Bymonthday, o.Byweekday
	if len(o.Byyearday)+len(o.Bymonthday)+len(o.Byweekday) == 0 {
		own := []rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}[date.Weekday()]
		switch {
		case o.Freq == rrule.WEEKLY, o.Freq == rrule.YEARLY && len(o.Byweekno) > 0:
			weekdays = []rrule.Weekday{own}
		case o.Freq == rrule.YEARLY && len(o.Bymonth) == 0:
			months, monthDays = []int{int(date.Month())}, []int{date.Day()}
		case o.Freq == rrule.YEARLY, o.Freq == rrule.MONTHLY && len(o.Byweekno) == 0:
			monthDays = []int{date.Day()}
		}
	}
	for _, m := range months {
		a.months |= 1 << m
	}
	if len(months) == 0 {
		a.months = 1<<13 - 1
	}
	for _, d := range monthDays {
		if d > 0 {
			a.monthDays |= 1 << d
		} else {
			a.fromEnd |= 1 << -d
		}
	}
	a.anyMonthDay, a.anyYear, a.anyWeekday = len(monthDays) == 0, len(o.Byyearday) == 0, len(weekdays) == 0
	for _, d := range o.Byyearday {
		if d > 0 {
			a.yearDays[d/64] |= 1 << (d % 64)
		} else {
			a.yearEnd[-d/64] |= 1 << (-d % 64)
		}
	}
	a.byYear = o.Freq == rrule.YEARLY && len(o.Bymonth) == 0
	for _, w := range weekdays {
		day, n := (w.Day()+1)%7, w.N()
		switch {
		case n == 0 || o.Freq > rrule.MONTHLY: // a number has no meaning in a week or a day
			a.weekdays |= 1 << day
		case n > 0:
			a.nth[day] |= 1 << n
		default:
			a.nthEnd[day] |= 1 << -n
		}
	}
	return a
}

func (a *asked) hasMonthDay(day, length int) bool {
	return a.anyMonthDay || a.monthDays>>day&1 == 1 || a.fromEnd>>(length-day+1)&1 == 1
}

func (a *asked) hasYearDay(place, length int) bool {
	return a.anyYear || hasBit(&a.yearDays, place+1) || hasBit(&a.yearEnd, length-place)
}

// hasWeekday looks at a weekday at a place, from 0, in a month or a year of some length.
func (a *asked) hasWeekday(w time.Weekday, place, length int) bool {
	return a.anyWeekday || a.weekdays>>w&1 == 1 || a.nth[w]>>(place/7+1)&1 == 1 || a.nthEnd[w]>>((length-1-place)/7+1)&1 == 1
}

func hasBit(set *[6]uint64, n int) bool { return set[n/64]>>(n%64)&1 == 1 }
