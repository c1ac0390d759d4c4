package cronwords

import (
	"math/bits"
	"strconv"
)

// englishDate appends which days, with a blank before each part; nothing for every day.
func (e *Expression) englishDate(b []byte) []byte {
	switch {
	case e.day.full && e.weekday.full:
		if !e.month.full {
			b = e.englishMonths(append(b, " in "...))
		}
	case e.weekday.full:
		b = e.englishDays(append(b, " on "...), true)
	case e.day.full:
		b = append(b, " on "...)
		b = e.englishWeekdays(b, " and ")
		if len(e.weekday.specials) > 0 {
			b = e.englishOf(b)
		} else if !e.month.full {
			b = e.englishMonths(append(b, " in "...))
		}
	case e.either:
		b = e.englishDays(append(b, " on "...), e.month.full)
		b = append(b, " or on "...)
		b = e.englishWeekdays(b, " and ")
		if len(e.weekday.specials) > 0 && e.month.full {
			b = e.englishOf(b)
		}
		if !e.month.full {
			b = e.englishMonths(append(b, ", in "...))
		}
	default:
		b = e.englishDays(append(b, " on "...), true)
		b = append(b, " if that is "...)
		b = e.englishWeekdays(b, " or ")
	}
	b = e.englishWeeks(b)
	return e.englishYears(b)
}

func (e *Expression) englishOf(b []byte) []byte {
	if e.month.full {
		return append(b, " of the month"...)
	}
	return e.englishMonths(append(b, " of "...))
}

func (e *Expression) englishMonths(b []byte) []byte {
	if e.month.mixed {
		return append(append(append(b, "month "...), e.month.text...), " (H"+byID+")"...)
	}
	if e.month.hash != nil {
		return append(b, "a month"+byID...)
	}
	return grouped(b, e.month.set, englishJoin, " to ", func(b []byte, v int) []byte { return append(b, englishMonths[v]...) })
}

// englishDays says the day field: "the 1st and 15th of the month", "25 December"; of which months only where wanted.
func (e *Expression) englishDays(b []byte, months bool) []byte {
	d := &e.day
	of := func(b []byte) []byte {
		if months || e.month.full {
			return e.englishOf(b)
		}
		return b
	}
	plain := len(d.specials) == 0 && d.hash == nil
	step, stepped := sparse(d.set)
	switch {
	case plain && months && d.set&(d.set-1) == 0 && !e.month.full && e.month.set != 0 && e.month.set&(e.month.set-1) == 0:
		b = strconv.AppendInt(b, int64(low(d.set)), 10)
		return append(append(b, ' '), englishMonths[low(e.month.set)]...)
	case plain && stepped:
		b = englishOrdinal(append(b, "every "...), step)
		b = of(append(b, " day"...))
		b = englishOrdinal(append(b, " from the "...), low(d.set))
		if high(d.set)+step > 31 {
			return append(b, " on"...)
		}
		return englishOrdinal(append(b, " to the "...), high(d.set))
	case plain:
		return of(grouped(append(b, "the "...), d.set, englishJoin, " to ", englishOrdinal))
	}
	if d.mixed {
		return of(append(append(append(b, "day "...), d.text...), " (H"+byID+")"...))
	}
	n := bits.OnesCount64(d.set) + len(d.specials)
	if d.hash != nil { // it stands alone, being not mixed
		b = append(b, "a day"...)
		if first := *d.hash.first(); first != (span{1, hashDays, 0}) {
			b = englishOrdinal(append(b, " from the "...), first.from)
			b = englishOrdinal(append(b, " to the "...), first.to)
		}
		b = append(of(b), byID...)
		if d.hash.step > 0 {
			b = englishOrdinal(append(b, " and every "...), d.hash.step)
			b = englishOrdinal(append(b, " day after it up to the "...), d.hash.to)
		}
		return b
	}
	said := 0
	for set := d.set; set != 0; set &= set - 1 {
		b = englishOrdinal(append(englishJoin(b, said, n), "the "...), low(set))
		said++
	}
	for _, s := range d.specials {
		b = englishSpecial(englishJoin(b, said, n), s)
		said++
	}
	return of(b)
}

func englishSpecial(b []byte, s special) []byte {
	switch s.kind {
	case fromLast:
		switch s.n {
		case 0:
			return append(b, "the last day"...)
		case 1:
			return append(b, "the day before the last day"...)
		}
		b = englishOrdinal(append(b, "the "...), s.n)
		return append(b, " day before the last day"...)
	case lastFull:
		return append(b, "the last "+englishWeekday...)
	case nearest:
		b = append(b, "the "+englishWeekday+" nearest to the "...)
		return englishOrdinal(b, s.n)
	case nth:
		b = append(append(b, "the "...), englishNth[min(max(s.n, 0), 5)]...)
	case lastNth:
		b = append(b, "the last"...)
	}
	return append(append(b, ' '), englishDays[s.day]...)
}

// englishWeekdays says the weekday field: "Monday to Friday", "Monday and the last Friday".
func (e *Expression) englishWeekdays(b []byte, last string) []byte {
	w := &e.weekday
	join := func(b []byte, i, n int) []byte {
		if i > 0 && i == n-1 {
			return append(b, last...)
		}
		return englishJoin(b, i, n)
	}
	if w.mixed {
		return append(append(append(b, "the day of the week "...), w.text...), " (H"+byID+")"...)
	}
	if w.hash != nil {
		return append(b, "a day of the week"+byID...)
	}
	order := weekOrder(w.set)
	n := len(order) + len(w.specials)
	for i, r := range order {
		b = append(join(b, i, n), englishDays[r.from]...)
		if r.to != r.from {
			b = append(append(b, " to "...), englishDays[r.to]...)
		}
	}
	for i, s := range w.specials {
		b = englishSpecial(join(b, len(order)+i, n), s)
	}
	return b
}

// weekOrder returns the weekdays of a set from Monday on, three or more neighbours as a range, which may go on over the
// end of the week: Friday to Monday.
func weekOrder(set uint64) []span {
	set &= 0x7f
	if set == 0 || set == 0x7f {
		return nil
	}
	begin := 1            // Monday
	if set&0b11 == 0b11 { // Sunday and Monday: a stretch may go on over the end of the week
		for set>>((begin+6)%7)&1 != 0 {
			begin = (begin + 6) % 7
		}
		if begin == 0 && set&0b100 == 0 {
			begin = 1 // two days are no stretch
		}
	}
	var list []span
	for i := 0; i < 7; {
		day := (begin + i) % 7
		if set>>day&1 == 0 {
			i++
			continue
		}
		length := 1
		for i+length < 7 && set>>((day+length)%7)&1 != 0 {
			length++
		}
		if length >= 3 {
			list = append(list, span{day, (day + length - 1) % 7, 1})
		} else {
			for k := range length {
				list = append(list, span{(day + k) % 7, (day + k) % 7, 1})
			}
		}
		i += length
	}
	return list
}

func (e *Expression) englishWeeks(b []byte) []byte {
	switch {
	case e.week.full:
		return b
	case e.week.hash != nil:
		return append(b, " in a week"+byID...)
	}
	return englishNumbers(append(b, " in "...), "ISO week", e.week.set, 0)
}

func (e *Expression) englishYears(b []byte) []byte {
	if len(e.year) == 0 {
		return b
	}
	first := e.year[0]
	switch {
	case len(e.year) == 1 && first.from == first.to && !e.month.full && (e.day.full || e.weekday.full):
		b = append(b, ' ') // 1 January 2027
	case len(e.year) == 1 && first.step == 1 && first.to != first.from:
		b = append(b, " from "...)
	default:
		b = append(b, " in "...)
	}
	for i, s := range e.year {
		b = englishJoin(b, i, len(e.year))
		if s.step > 1 {
			b = englishOrdinal(append(b, "every "...), s.step)
			b = append(b, " year from "...)
		}
		b = strconv.AppendInt(b, int64(s.from), 10)
		switch {
		case s.to == s.from:
		case s.to == lastYear:
			b = append(b, " on"...)
		default:
			b = strconv.AppendInt(append(b, " to "...), int64(s.to), 10)
		}
	}
	return b
}
