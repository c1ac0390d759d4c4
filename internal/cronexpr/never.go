package cronexpr

import "strings"

// The dates of a cycle of the calendar, as day numbers: those of 2000 to 2399, and
// those of all years that a year field can name.
const (
	firstOfCycle = 10957 // 2000-01-01
	firstOfYears = 0     // 1970-01-01
)

// someDate reports whether any date matches.
func (e *Expr) someDate() bool {
	from := int64(firstOfCycle)
	if e.years != nil {
		from = firstOfYears
	}
	_, ok := e.nextDay(from, from*daySeconds+e.Horizon())
	return ok
}

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
