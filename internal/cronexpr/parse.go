package cronexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxLength is the longest text that is read, in bytes. The longest expression
// with a use, a list of all minutes and hours, needs a quarter of it.
const MaxLength = 1024

func itoa(n int) string { return strconv.Itoa(n) }

// Parse reads an expression of a dialect. The error is always an *Error, found in
// time proportional to the length of the text.
func Parse(d *Dialect, text string) (*Expr, error) {
	e, err := parse(d, text)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// A word is a part of the text and the column of its first byte, from 1.
type word struct {
	text   string
	column int
}

// words splits at blanks and tabs.
func words(text string, column int) []word {
	var list []word
	start := -1
	for i := 0; i <= len(text); i++ {
		blank := i == len(text) || text[i] == ' ' || text[i] == '\t'
		switch {
		case blank && start >= 0:
			list = append(list, word{text[start:i], column + start})
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	return list
}

func parse(d *Dialect, text string) (*Expr, *Error) {
	if len(text) > MaxLength {
		return nil, &Error{Field: "expression", Column: MaxLength + 1, Read: text[:mostRead],
			Reason: fmt.Sprintf("%d bytes are too many, %d is the most", len(text), MaxLength)}
	}
	e := &Expr{dialect: d}
	list := words(text, 1)
	if len(list) == 0 {
		return nil, &Error{Field: "expression", Column: 1, Reason: "is empty", Accepted: d.wants()}
	}
	if name, zone, found := strings.Cut(list[0].text, "="); found && d.zone && (name == "TZ" || name == "CRON_TZ") {
		column := list[0].column + len(name) + 1
		if err := checkZone(zone, column); err != nil {
			return nil, err
		}
		e.zone = zone
		if list = list[1:]; len(list) == 0 {
			return nil, &Error{Field: "expression", Column: len(text) + 1, Read: text,
				Reason: "there are no fields after the zone", Accepted: d.wants()}
		}
	}
	if d.macros && list[0].text[0] == '@' {
		fields, err := macro(list)
		if err != nil {
			return nil, err
		}
		if fields == "" {
			e.never, e.text = true, reboot
			return e, nil
		}
		list = words(fields, list[0].column)
	}
	if err := e.readFields(list); err != nil {
		return nil, err
	}
	return e, nil
}

// checkZone refuses what cannot be a zone name whatever zones there are.
func checkZone(zone string, column int) *Error {
	fault := &Error{Field: "tz", Column: column, Read: zone, Accepted: "a name such as Europe/Berlin"}
	switch {
	case zone == "":
		fault.Reason = "no zone stands after the ="
	case strings.ContainsAny(zone, `"'`):
		fault.Reason = "the zone stands without quotes here, not as " + shown(zone)
		fault.Suggestion = "TZ=" + strings.Trim(zone, `"'`)
	default:
		return nil
	}
	return fault
}

// macro returns the fields a macro stands for; reboot has none.
func macro(list []word) (string, *Error) {
	w := list[0]
	fault := &Error{Field: "expression", Column: w.column, Read: w.text}
	if w.text == "@every" {
		fault.Reason = "@every is an interval, not a cron expression"
		fault.Suggestion = "an interval trigger with that length"
		return "", fault
	}
	for _, m := range macros {
		switch {
		case m.name == w.text && len(list) == 1:
			return m.fields, nil
		case m.name == w.text:
			fault.Column = list[1].column
			fault.Read = list[1].text
			fault.Reason = m.name + " stands alone"
			return "", fault
		case strings.EqualFold(m.name, w.text):
			fault.Suggestion = m.name
		}
	}
	fault.Reason = shown(w.text) + " is not a macro"
	fault.Accepted = "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @reboot"
	return "", fault
}

// wants says how many fields a dialect has.
func (d *Dialect) wants() string {
	names := make([]string, len(d.fields))
	for i := range d.fields {
		names[i] = unitNames[d.fields[i].unit]
	}
	most := fmt.Sprintf("%d fields: %s", len(d.fields), strings.Join(names, " "))
	if d.optional == 0 {
		return most
	}
	return fmt.Sprintf("%d fields: %s; or %s", len(d.fields)-d.optional, strings.Join(names[d.optional:], " "), most)
}

func (e *Expr) readFields(list []word) *Error {
	d := e.dialect
	fields := d.fields
	switch len(list) {
	case len(fields):
	case len(fields) - d.optional:
		for _, f := range fields[:d.optional] {
			e.add(f.unit, f.min)
			e.fields[f.unit] = f.text(f.min)
		}
		fields = fields[d.optional:]
	default:
		return e.wrongCount(list)
	}
	var starred [units]bool
	texts := make([]string, len(fields))
	dayColumn := 1
	for i := range fields {
		f := &fields[i]
		r := reader{e: e, f: f, w: list[i]}
		if err := r.read(); err != nil {
			return err
		}
		starred[f.unit] = r.starred
		texts[i] = strings.Join(r.texts, ",")
		e.fields[f.unit] = texts[i]
		if f.unit == day {
			dayColumn = list[i].column
		}
	}
	e.text = strings.Join(texts, " ")
	e.starred = starred[hour] || starred[minute] || starred[second]
	e.days.either = d.either && !starred[day] && !starred[weekday]
	e.finish()

	// 2000-01-01 begins a cycle of the calendar; what does not match in one never does.
	const from = 10957
	if _, ok := e.nextDay(from, (from+cycleDays)*daySeconds); !ok {
		return &Error{Field: unitNames[day], Column: dayColumn, Read: e.text,
			Reason: "no date matches, in any year, so this would never fire"}
	}
	return nil
}

func (e *Expr) wrongCount(list []word) *Error {
	d := e.dialect
	noun := "fields"
	if len(list) == 1 {
		noun = "field"
	}
	fault := &Error{Field: "expression", Column: list[0].column, Read: list[0].text,
		Reason: fmt.Sprintf("found %d %s, wanted %s", len(list), noun, d.wants())}
	if len(list) > len(d.fields) {
		extra := list[len(d.fields)]
		fault.Column, fault.Read = extra.column, extra.text
	}
	if len(list) == 1 && d.macros {
		for _, m := range macros {
			if strings.EqualFold(m.name[1:], list[0].text) {
				fault.Suggestion = m.name
			}
		}
	}
	return fault
}

// add puts a bit into the set of a unit.
func (e *Expr) add(u unit, bit int) {
	switch u {
	case second:
		e.second |= 1 << bit
	case minute:
		e.minute |= 1 << bit
	case hour:
		e.hour |= 1 << bit
	case day:
		e.days.dom |= 1 << bit
	case month:
		e.month |= 1 << bit
	case weekday:
		e.days.dow |= 1 << bit
	}
}
