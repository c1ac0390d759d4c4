package cronexpr

import (
	"math/bits"
	"strings"
)

// Either reports whether a date matches when either of the two day fields does; else both must.
func (e *Expr) Either() bool { return e.days.either }

// MondayFirst reports whether the dialect's weeks run from Monday to Sunday, which matters for steps of weekdays.
func (e *Expr) MondayFirst() bool {
	for i := range e.dialect.fields {
		if f := &e.dialect.fields[i]; f.unit == weekday {
			return f.base == 1
		}
	}
	return false
}

// Decided returns the fields like Fields, each H replaced by the values that the seed has chosen. A day field that has H
// beside days that depend on the month keeps its text.
func (e *Expr) Decided() []FieldText {
	list := e.Fields()
	if !e.hashed {
		return list
	}
	for i := range list {
		f := &list[i]
		if !strings.Contains(f.Text, "H") || f.Name == unitNames[day] && e.days.relative {
			continue
		}
		var set uint64
		name := itoa
		switch f.Name {
		case unitNames[second]:
			set = e.second
		case unitNames[minute]:
			set = e.minute
		case unitNames[hour]:
			set = uint64(e.hour)
		case unitNames[day]:
			set = uint64(e.days.dom)
		case unitNames[month]:
			set = uint64(e.month)
		case unitNames[weekday]:
			set = uint64(e.days.dow)
			name = func(n int) string { return fromSunday[n] }
		}
		var texts []string
		for ; set != 0; set &= set - 1 {
			texts = append(texts, name(bits.TrailingZeros64(set)))
		}
		f.Text = strings.Join(texts, ",")
	}
	return list
}

// A Miss is a field that a time on the wall clock does not match.
type Miss struct {
	FieldText
	// Is is what the time has for it: a number, or the name of the weekday.
	Is string
}

// Misses returns the fields that rule out a time on the wall clock, in the order of Fields; none for a time that
// matches. Of two day fields either of which would do both are returned, or none.
func (e *Expr) Misses(wall int64) []Miss {
	var list []Miss
	d, sod := floorDay(wall)
	y, m, dom := civil(d)
	miss := e.dayMisses(d, y, m, dom)
	for _, f := range e.Fields() {
		var missed bool
		var is int
		switch f.Name {
		case unitNames[second]:
			is = sod % 60
			missed = e.second>>is&1 == 0
		case unitNames[minute]:
			is = sod / 60 % 60
			missed = e.minute>>is&1 == 0
		case unitNames[hour]:
			is = sod / 3600
			missed = e.hour>>is&1 == 0
		case unitNames[day]:
			is, missed = dom, miss.day
		case unitNames[month]:
			is, missed = m, e.month>>m&1 == 0
		case unitNames[weekday]:
			if miss.weekday {
				list = append(list, Miss{f, fromSunday[weekdayOf(d)]})
			}
			continue
		case unitNames[week]:
			is, missed = isoWeek(d), e.weeks != 0 && e.weeks>>isoWeek(d)&1 == 0
		case unitNames[year]:
			is = y
			if e.years != nil {
				found, ok := e.years.next(y)
				missed = !ok || found != y
			}
		}
		if missed {
			list = append(list, Miss{f, itoa(is)})
		}
	}
	return list
}

type dayMiss struct{ day, weekday bool }

func (e *Expr) dayMisses(d int64, y, m, dom int) dayMiss {
	r := &e.days
	first := weekdayOf(d - int64(dom-1))
	length := daysIn(y, m)
	days, weekdays := r.dom, spread(r.dow, first)
	if r.relative {
		days |= r.relativeDays(first, length)
		weekdays |= r.nth.days(first, length)
	}
	miss := dayMiss{days>>dom&1 == 0, weekdays>>dom&1 == 0}
	if r.either && miss.day != miss.weekday {
		return dayMiss{}
	}
	return miss
}

// isoWeek returns the number of a day's week in the year of its Thursday.
func isoWeek(d int64) int {
	thursday := d - int64((weekdayOf(d)+6)%7) + 3
	y, _, _ := civil(thursday)
	return int(thursday-dayNumber(y, 1, 1))/7 + 1
}

// TimeWithin reports whether a time of day of the expression, on whatever date, lies in [from, until), which are wall
// seconds less than a day apart.
func (e *Expr) TimeWithin(from, until int64) bool {
	_, first := floorDay(from)
	length := int(until - from)
	if e.never || length <= 0 {
		return false
	}
	if first <= e.last {
		at := e.nextTime(first)
		if at < first+length {
			return true
		}
	}
	return e.first < first+length-daySeconds
}
