package cronexpr

import (
	"math/bits"
	"strings"
)

// yearKinds: seven weekdays, and three ways in which a year and the one before it may
// have a leap day, for both never have one.
const yearKinds = 7 * 3

// someDate reports whether any date matches. Which dates of a year do depends on its
// kind alone: on the weekday of 1 January, on its length, and, for the first days and
// their week, on the length of the year before. So one year of each kind is asked; in
// 400 years there is every kind there is.
func (e *Expr) someDate() bool {
	from, to := 2000, 2399
	if e.years != nil {
		from, to = minYear, maxYear
	}
	var asked uint32
	for y := from; y <= to && bits.OnesCount32(asked) < yearKinds; y++ {
		if e.years != nil {
			var ok bool
			if y, ok = e.years.next(y); !ok {
				break
			}
		}
		begin := dayNumber(y, 1, 1)
		kind := weekdayOf(begin)*4 + leap(y)*2 + leap(y-1)
		if asked>>kind&1 != 0 {
			continue
		}
		asked |= 1 << kind
		if _, ok := e.nextDay(begin, dayNumber(y+1, 1, 1)*daySeconds); ok {
			return true
		}
	}
	return false
}

// leap returns the leap days of a year.
func leap(year int) int { return daysIn(year, 2) - 28 }

// restricts reports whether the field of a date says more than "every".
func (e *Expr) restricts(u unit) bool {
	text := e.fields[u]
	return text != "" && text != "*" && text != "?"
}

// neverFires says which field of the date keeps the others from ever matching: the
// first without which there would be a date.
func (p *parser) neverFires() *Error {
	blamed := day
	for _, u := range []unit{week, weekday, day, month, year} {
		if p.e.restricts(u) && p.e.without(u).someDate() {
			blamed = u
			break
		}
	}
	var others []string
	for _, u := range []unit{day, month, weekday, week, year} {
		if u != blamed && p.e.restricts(u) {
			others = append(others, unitNames[u]+" "+cut(p.e.fields[u]))
		}
	}
	text := p.e.fields[blamed]
	return &Error{Field: unitNames[blamed], Column: max(p.columns[blamed], 1), Read: cut(text),
		Reason: "no date has " + unitNames[blamed] + " " + cut(text) + with(others) + ", so this would never fire"}
}

func with(others []string) string {
	if len(others) == 0 {
		return ""
	}
	return " with " + strings.Join(others, " and ")
}

// without returns the expression with one field of the date open.
func (e *Expr) without(u unit) *Expr {
	open := *e
	open.days.every, open.days.weekdays = false, false
	switch u {
	case week:
		open.weeks = 0
	case weekday:
		open.days.dow, open.days.nth = 0x7f, weekdaysOf{}
	case day:
		open.days.dom = 1<<32 - 2
	case month:
		open.month = 1<<13 - 2
	case year:
		open.years = nil
	}
	return &open
}
