package cronwords

import (
	"math/bits"
	"strconv"
)

var (
	englishDays   = [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	englishMonths = [13]string{"", "January", "February", "March", "April", "May", "June", "July", "August",
		"September", "October", "November", "December"}
	englishNth = [6]string{"", "first", "second", "third", "fourth", "fifth"}
)

const (
	englishWeekday = "weekday (Monday to Friday)"
	byID           = " set by the job's id"
)

// English appends the phrase: "at 09:00 and 17:00 on Monday to Friday".
func (e *Expression) English(b []byte) []byte {
	p := e.plan()
	b = e.englishTime(b, &p)
	before := len(b)
	b = e.englishDate(b)
	everyDay := e.day.full && e.weekday.full && (p.kind == byList || p.kind == byWindows || p.kind == byHash && e.oncePerHash())
	if everyDay {
		date := string(b[before:])
		b = append(append(b[:before], " every day"...), date...)
	}
	return b
}

func (e *Expression) englishTime(b []byte, p *plan) []byte {
	switch p.kind {
	case byList:
		b = append(b, "at "...)
		for i, at := range p.times[:p.n] {
			b = englishJoin(b, i, p.n)
			b = clock(b, at, p.seconds)
		}
	case byStep:
		b = englishStep(b, p.step)
		b = englishOffset(b, p)
	case byWindows:
		said := false
		for i, w := range p.windows {
			b = englishJoin(b, i, len(p.windows))
			switch {
			case w.from == w.to:
				b = clock(append(b, "at "...), w.from, p.seconds)
				continue
			case !said:
				b = append(englishStep(b, p.step), ' ')
			}
			said = true
			b = clock(append(b, "from "...), w.from, p.seconds)
			b = clock(append(b, " to "...), w.to, p.seconds)
		}
	case byHash:
		b = e.englishHash(b)
	case byFields:
		b = e.englishFields(b)
	}
	return b
}

// englishJoin appends what stands before the ith of n parts.
func englishJoin(b []byte, i, n int) []byte {
	switch {
	case i == 0:
		return b
	case i == n-1:
		return append(b, " and "...)
	}
	return append(b, ", "...)
}

func englishStep(b []byte, step int) []byte {
	unit := " seconds"
	switch {
	case step%3600 == 0:
		step, unit = step/3600, " hours"
	case step%60 == 0:
		step, unit = step/60, " minutes"
	}
	b = append(b, "every "...)
	if step == 1 {
		return append(b, unit[1:len(unit)-1]...)
	}
	return append(strconv.AppendInt(b, int64(step), 10), unit...)
}

// englishOffset says where in its unit a step stands that goes through the whole day.
func englishOffset(b []byte, p *plan) []byte {
	minute, second := p.offset/60%60, p.offset%60
	switch {
	case p.offset == 0 && p.step%3600 == 0:
		return append(b, " on the hour"...)
	case p.offset == 0:
		return b
	case p.step < 60:
		b = append(b, " from second "...)
		return append(strconv.AppendInt(b, int64(second), 10), " of each minute on"...)
	case p.step < 3600 && minute > 0:
		b = append(b, " from minute "...)
		b = append(strconv.AppendInt(b, int64(minute), 10), " of each hour on"...)
	case p.step >= 3600:
		b = append(b, " at minute "...)
		b = strconv.AppendInt(b, int64(minute), 10)
	}
	if second == 0 {
		return b
	}
	switch {
	case p.step >= 3600:
		b = append(b, ", second "...)
	case minute > 0:
		b = append(b, ", at second "...)
	default:
		b = append(b, " at second "...)
	}
	return strconv.AppendInt(b, int64(second), 10)
}

// englishFields says the fields one by one, the smallest first.
func (e *Expression) englishFields(b []byte) []byte {
	s, m, h := e.second.numbers(0, 59), e.minute.numbers(0, 59), e.hour.numbers(0, 23)
	seconds := s != 1
	single := s&(s-1) == 0
	step, offset, even := cyclic(m, 60)
	even = even && step < 60 && offset == 0
	secondStep, _, evenSeconds := cyclic(s, 60)
	evenSeconds = evenSeconds && secondStep < 60
	switch {
	case even && single:
		b = englishStep(b, step*60)
		if seconds {
			b = englishAt(append(b, ' '), "second", s, 60)
		}
		if e.hour.full {
			return b
		}
		return englishNumbers(append(b, " in "...), "hour", h, 24)
	case seconds:
		b = englishAt(b, "second", s, 60)
		joint := " of "
		if evenSeconds {
			joint = " in "
		}
		switch {
		case e.minute.full && e.hour.full:
			return append(append(b, joint...), "every minute"...)
		case e.minute.full && evenSeconds:
			return englishNumbers(append(b, joint...), "hour", h, 24)
		case e.minute.full:
			b = append(append(b, joint...), "every minute"...)
			return englishNumbers(append(b, " in "...), "hour", h, 24)
		}
		b = englishNumbers(append(b, joint...), "minute", m, 60)
	default:
		b = englishAt(b, "minute", m, 60)
	}
	if e.hour.full {
		return append(b, " of every hour"...)
	}
	return englishNumbers(append(b, " of "...), "hour", h, 24)
}

// englishAt is englishNumbers with "at" before what is no step.
func englishAt(b []byte, unit string, set uint64, size int) []byte {
	if step, offset, ok := cyclic(set, size); ok && offset == 0 && step < size && unit == "second" {
		return englishStep(b, step)
	}
	if _, ok := sparse(set); !ok {
		b = append(b, "at "...)
	}
	return englishNumbers(b, unit, set, size)
}

// sparse returns the step of a set that is better said by its step than by its numbers.
func sparse(set uint64) (step int, ok bool) {
	const enough = 5 // numbers: fewer are as short in a list
	if bits.OnesCount64(set) < enough {
		return 0, false
	}
	step, ok = even(set)
	return step, ok && step > 1
}

// englishNumbers says a set of numbers: "minute 5", "minutes 0, 7 and 20 to 25", "every 7th minute from 0 to 56".
func englishNumbers(b []byte, unit string, set uint64, size int) []byte {
	if step, ok := sparse(set); ok {
		b = append(b, "every "...)
		b = append(append(englishOrdinal(b, step), ' '), unit...)
		if low(set) == 0 && high(set)+step == size {
			return b
		}
		b = append(b, " from "...)
		b = strconv.AppendInt(b, int64(low(set)), 10)
		b = append(b, " to "...)
		return strconv.AppendInt(b, int64(high(set)), 10)
	}
	b = append(b, unit...)
	if set&(set-1) != 0 {
		b = append(b, 's')
	}
	b = append(b, ' ')
	return grouped(b, set, englishJoin, " to ", func(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) })
}

// grouped appends the numbers of a set, three or more neighbours as a range.
func grouped(b []byte, set uint64, join func(b []byte, i, n int) []byte, to string, name func(b []byte, v int) []byte) []byte {
	var items [64]span
	n := 0
	for _, r := range runs(set) {
		if r.to-r.from >= 2 {
			items[n] = r
			n++
			continue
		}
		for v := r.from; v <= r.to; v++ {
			items[n] = span{v, v, 1}
			n++
		}
	}
	for i, item := range items[:n] {
		b = name(join(b, i, n), item.from)
		if item.to != item.from {
			b = name(append(b, to...), item.to)
		}
	}
	return b
}

func englishOrdinal(b []byte, n int) []byte {
	b = strconv.AppendInt(b, int64(n), 10)
	switch {
	case n%10 == 1 && n%100 != 11:
		return append(b, "st"...)
	case n%10 == 2 && n%100 != 12:
		return append(b, "nd"...)
	case n%10 == 3 && n%100 != 13:
		return append(b, "rd"...)
	}
	return append(b, "th"...)
}

// englishHash says times of day that hang on the job's id.
func (e *Expression) englishHash(b []byte) []byte {
	s, m, h := &e.second, &e.minute, &e.hour
	plainSecond := s.hash == nil && !s.full && s.set == 1 || s.hash != nil && s.hash.step == 0
	free := m.hash != nil && m.hash.step == 0 // the minute is any of a range
	hours, single := h.stretch()
	switch {
	case plainSecond && free && h.hash != nil && h.hash.step == 0:
		b = append(b, "at a time"...)
		if *h.hash != (span{0, 23, 0}) || *m.hash != (span{0, 59, 0}) {
			b = clock(append(b, " from "...), h.hash.from*3600+m.hash.from*60, false)
			b = clock(append(b, " to "...), h.hash.to*3600+m.hash.to*60, false)
			if *m.hash != (span{0, 59, 0}) && h.hash.from != h.hash.to {
				b = englishRange(append(b, " with a minute from "...), m.hash)
			}
		}
		return append(b, byID...)
	case plainSecond && free && single:
		b = clock(append(b, "at a time from "...), hours*3600+m.hash.from*60, false)
		b = clock(append(b, " to "...), hours*3600+m.hash.to*60, false)
		return append(b, byID...)
	case plainSecond && h.full && m.hash != nil && *m.hash == (span{0, 59, m.hash.step}) && !m.mixed && m.hash.step > 0 && m.hash.even():
		b = englishStep(b, m.hash.step*60)
		return append(b, ", beginning at a minute"+byID...)
	case plainSecond && h.full:
		b = append(b, "every hour "...)
		return m.englishHashed(b, "minute", 60)
	}
	if !plainSecond || s.hash != nil {
		b = append(s.englishHashed(b, "second", 60), " of "...)
	}
	from := len(b)
	b = m.englishHashed(b, "minute", 60)
	if at := "at "; from > 0 && string(b[from:from+len(at)]) == at {
		b = append(b[:from], b[from+len(at):]...)
	}
	b = append(b, " of "...)
	from = len(b)
	b = h.englishHashed(b, "hour", 24)
	if at := "at "; string(b[from:from+len(at)]) == at {
		b = append(b[:from], b[from+len(at):]...)
	}
	return b
}

// oncePerHash reports whether times that hang on the job's id are those of certain hours, so that the days want a word.
func (e *Expression) oncePerHash() bool {
	return !e.hour.full && (e.hour.hash == nil || e.hour.hash.step == 0 || !e.hour.hash.even())
}

// stretch returns the one number of a field that has but one.
func (f *field) stretch() (n int, single bool) {
	return low(f.set), f.hash == nil && !f.full && f.set != 0 && f.set&(f.set-1) == 0
}

// englishHashed says one field of an expression that hangs on the job's id.
func (f *field) englishHashed(b []byte, unit string, size int) []byte {
	switch {
	case f.hash == nil && f.full:
		return append(append(b, "every "...), unit...)
	case f.hash == nil:
		return englishAt(b, unit, f.set, size)
	case f.mixed:
		b = append(append(append(b, "at "...), unit...), ' ')
		return append(append(b, f.text...), " (H"+byID+")"...)
	case f.hash.step > 0 && f.hash.even():
		b = append(englishOrdinal(append(b, "at every "...), f.hash.step), ' ')
		b = append(b, unit...)
		if f.hash.from != 0 || f.hash.to != size-1 {
			b = englishRange(append(b, " from "...), f.hash)
		}
		return append(append(b, " with the first"...), byID...)
	case unit == "hour":
		b = append(b, "at an "...)
	default:
		b = append(b, "at a "...)
	}
	b = append(b, unit...)
	if first := f.hash.first(); first.from != 0 || first.to != size-1 {
		b = englishRange(append(b, " from "...), first)
	}
	b = append(b, byID...)
	if f.hash.step > 0 {
		b = englishOrdinal(append(b, " and every "...), f.hash.step)
		b = append(append(append(b, ' '), unit...), " after it up to "...)
		b = strconv.AppendInt(b, int64(f.hash.to), 10)
	}
	return b
}

func englishRange(b []byte, s *span) []byte {
	b = strconv.AppendInt(b, int64(s.from), 10)
	return strconv.AppendInt(append(b, " to "...), int64(s.to), 10)
}
