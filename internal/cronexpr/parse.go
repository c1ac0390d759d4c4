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

func appendInt(buf []byte, n int) []byte { return strconv.AppendInt(buf, int64(n), 10) }

// Parse reads an expression of a dialect. The error is always an *Error, found in
// time proportional to the length of the text. H stand for what the empty seed
// makes of them; whether an expression with H ever fires is not asked, for it may
// depend on the seed.
func Parse(d *Dialect, text string) (*Expr, error) {
	if d.macros && text != "" && text[0] == '@' {
		if e := macroExprs[text]; e != nil {
			return e, nil
		}
	}
	e, err := parse(d, text, "")
	if err == nil {
		return e, nil
	}
	err.keepWhatHeals(d, text)
	err.hint(d, text)
	return nil, err
}

// Seeded returns the expression with its H decided by a seed. The error is an
// *Error: with that seed it never fires.
func (e *Expr) Seeded(seed string) (*Expr, error) {
	if !e.hashed {
		return e, nil
	}
	again, err := parse(e.dialect, e.text, seed)
	if err != nil {
		return nil, err
	}
	again.zone = e.zone
	return again, nil
}

// A word is a part of the text and the column of its first byte, from 1.
type word struct {
	text   string
	column int
}

// words splits at blanks and tabs.
func words(list []word, text string, column int) []word {
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

// A parser reads one expression.
type parser struct {
	e       *Expr
	d       *Dialect
	seed    string
	buf     []byte // the canonical text so far
	starred [units]bool
	columns [units]int  // where a field stands; 0 where it is left out
	quoted  [units]bool // whether its value stands in quotes
	fault   *Error      // of the first field that has one
}

// note keeps the fault of a field, of which others may have more.
func (p *parser) note(fault *Error) {
	if p.fault == nil {
		p.fault = fault
		return
	}
	p.fault.others = append(p.fault.others, fault)
}

func parse(d *Dialect, text, seed string) (*Expr, *Error) {
	if len(text) > MaxLength {
		return nil, &Error{Field: "expression", Column: MaxLength + 1, Read: text[:mostRead],
			Reason: fmt.Sprintf("%d bytes are too many, %d is the most", len(text), MaxLength)}
	}
	var room [units + 1]word
	var buf [64]byte
	p := parser{e: &Expr{dialect: d}, d: d, seed: seed, buf: buf[:0]}
	if d.keyed {
		if err := p.keyed(text); err != nil {
			return nil, err
		}
		return p.e, nil
	}
	list := words(room[:0], text, 1)
	if len(list) == 0 {
		return nil, &Error{Field: "expression", Column: 1, Reason: "is empty", Accepted: d.wants()}
	}
	list, err := p.zoneInFront(list, text)
	if err != nil {
		return nil, err
	}
	if d.macros && list[0].text[0] == '@' {
		e, err := macro(list)
		if err != nil {
			return nil, err
		}
		if zone := p.e.zone; zone != "" {
			zoned := *e
			zoned.zone = zone
			e = &zoned
		}
		return e, nil
	}
	if err := p.columnsOf(list, text); err != nil {
		return nil, err
	}
	return p.e, nil
}

// zoneInFront takes TZ=Zone off the list.
func (p *parser) zoneInFront(list []word, text string) ([]word, *Error) {
	name, zone, found := strings.Cut(list[0].text, "=")
	if !found || name != "TZ" && name != "CRON_TZ" {
		return list, nil
	}
	column := list[0].column + len(name) + 1
	if !p.d.zone {
		return nil, &Error{Field: "tz", Column: list[0].column, Read: cut(list[0].text),
			Reason: "a zone in front belongs to the dialect crontab; here it is given beside the expression"}
	}
	if err := checkZone(zone, column); err != nil {
		return nil, err
	}
	p.e.zone = zone
	if list = list[1:]; len(list) == 0 {
		return nil, &Error{Field: "expression", Column: len(text) + 1, Read: cut(text),
			Reason: "there are no fields after the zone", Accepted: p.d.wants()}
	}
	return list, nil
}

// checkZone refuses what cannot be a zone name whatever zones there are.
func checkZone(zone string, column int) *Error {
	fault := &Error{Field: "tz", Column: column, Read: cut(zone), Accepted: "a name such as Europe/Berlin"}
	switch {
	case zone == "":
		fault.Reason = "no zone stands after the ="
	case strings.ContainsAny(zone, `"'`):
		fault.Reason = "the zone stands without quotes here, not as " + shown(zone)
		fault.Suggestion = strings.Trim(zone, `"'`)
	default:
		return nil
	}
	return fault
}

// macroExprs has what the macros stand for, by their names. Nothing writes to it, or to an Expr; a program may have thousands of jobs that
// are @daily.
var macroExprs = func() map[string]*Expr {
	all := make(map[string]*Expr, len(macros))
	d := Lookup(Crontab)
	for _, m := range macros {
		if m.fields == "" {
			all[m.name] = &Expr{dialect: d, never: true, text: reboot}
			continue
		}
		p := parser{e: &Expr{dialect: d}, d: d}
		if err := p.columnsOf(words(nil, m.fields, 1), m.fields); err != nil {
			panic(err) // a macro of the list above is no expression
		}
		all[m.name] = p.e
	}
	return all
}()

// macro returns the expression a macro stands for.
func macro(list []word) (*Expr, *Error) {
	w := list[0]
	fault := &Error{Field: "expression", Column: w.column, Read: cut(w.text)}
	if w.text == "@every" {
		fault.Reason = "@every is an interval, not a cron expression; what fires so is an interval trigger with that length"
		return nil, fault
	}
	if e := macroExprs[w.text]; e != nil {
		if len(list) == 1 {
			return e, nil
		}
		fault.Column = list[1].column
		fault.Read = cut(list[1].text)
		fault.Reason = w.text + " stands alone"
		return nil, fault
	}
	for _, m := range macros {
		if distance(m.name, strings.ToLower(cut(w.text))) <= 1 {
			fault.Suggestion = m.name
		}
	}
	fault.Reason = shown(w.text) + " is not a macro"
	fault.Accepted = "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @reboot"
	return nil, fault
}

// wants says how many fields a dialect has.
func (d *Dialect) wants() string {
	names := make([]string, len(d.fields))
	for i := range d.fields {
		names[i] = unitNames[d.fields[i].unit]
	}
	if d.keyed {
		return "words such as hour=2 minute=30, of " + strings.Join(names, " ")
	}
	most := fmt.Sprintf("%d fields: %s", len(d.fields), strings.Join(names, " "))
	front, end := d.optional()
	if front+end == 0 {
		return most
	}
	names = names[front : len(names)-end]
	return fmt.Sprintf("%d fields: %s; or %s", len(names), strings.Join(names, " "), most)
}

// columnsOf reads the fields of a dialect without names; text is what was given.
func (p *parser) columnsOf(list []word, text string) *Error {
	fields := p.d.fields
	front, end := p.d.optional()
	switch len(list) {
	case len(fields):
		front, end = 0, 0
	case len(fields) - front - end:
	default:
		return p.wrongCount(list)
	}
	var at [units]int // the canonical text ends of the fields in buf
	for i := range fields {
		f := &fields[i]
		if i < front || i >= len(fields)-end {
			p.leaveOut(f)
			at[f.unit] = len(p.buf)
			continue
		}
		if len(p.buf) > 0 {
			p.buf = append(p.buf, ' ')
		}
		if err := p.field(f, list[i-front]); err != nil {
			p.note(err)
		}
		at[f.unit] = len(p.buf)
	}
	if p.fault != nil {
		return p.fault
	}
	if p.e.text = text; string(p.buf) != text { // most texts are canonical: no second one
		p.e.text = string(p.buf)
	}
	from := 0
	for i := front; i < len(fields)-end; i++ {
		to := at[fields[i].unit]
		p.e.fields[fields[i].unit] = p.e.text[from:to]
		from = to + 1
	}
	// What may be left out at the end, and says what it would stand for, is.
	if last := &fields[len(fields)-1]; end == 0 && last.absent != required && p.e.fields[last.unit] == last.absentText() {
		p.e.text = p.e.text[:len(p.e.text)-len(last.absentText())-1]
	}
	return p.finish()
}

// leaveOut gives a field what it stands for when it is left out.
func (p *parser) leaveOut(f *field) {
	p.e.fields[f.unit] = f.absentText()
	if f.absent == absentStar {
		p.star(f)
		return
	}
	p.e.add(f.unit, 1<<f.bit(f.min))
}

// star makes a field hold every value.
func (p *parser) star(f *field) {
	p.starred[f.unit] = true
	if f.unit != year { // no set of years: all of them
		p.e.fill(f, f.min, f.max, 1)
	}
}

// finish checks the fields together.
func (p *parser) finish() *Error {
	e := p.e
	e.starred = p.starred[hour] || p.starred[minute] || p.starred[second]
	e.days.either = p.d.either && !p.starred[day] && !p.starred[weekday]
	if p.d.oneDay && e.restricts(day) && e.restricts(weekday) {
		return &Error{Field: "expression", Column: p.columns[weekday], Read: e.fields[weekday],
			Reason: fmt.Sprintf("day %s and day_of_week %s are both restricted; one of the two must be ?",
				shown(e.fields[day]), shown(e.fields[weekday]))}
	}
	e.finish()
	if e.days.every || e.days.weekdays || e.hashed && p.seed == "" || e.someDate() {
		return nil
	}
	return p.neverFires()
}

func (p *parser) wrongCount(list []word) *Error {
	d := p.d
	noun := "fields"
	if len(list) == 1 {
		noun = "field"
	}
	fault := &Error{Field: "expression", Column: list[0].column, Read: cut(list[0].text),
		Reason: fmt.Sprintf("found %d %s, wanted %s", len(list), noun, d.wants())}
	if len(list) > len(d.fields) {
		extra := list[len(d.fields)]
		fault.Column, fault.Read = extra.column, cut(extra.text)
	}
	switch {
	case strings.Contains(list[0].text, "="):
		fault.Reason += "; name=value is the form of the dialect fields"
	case list[0].text[0] == '@':
		fault.Column, fault.Read = list[0].column, cut(list[0].text)
		fault.Reason = "macros such as @daily belong to the dialect crontab"
		fault.Accepted = d.wants()
	case len(list) == 5:
		fault.Reason += "; five fields are those of the dialect crontab"
	case len(list) > 1:
	case d.macros:
		for _, m := range macros {
			if strings.EqualFold(m.name[1:], list[0].text) {
				fault.Suggestion = m.name
			}
		}
	}
	return fault
}

// add puts bits into the set of a unit.
func (e *Expr) add(u unit, set uint64) {
	switch u {
	case second:
		e.second |= set
	case minute:
		e.minute |= set
	case hour:
		e.hour |= uint32(set)
	case day:
		e.days.dom |= uint32(set)
	case month:
		e.month |= uint32(set)
	case weekday:
		e.days.dow |= uint8(set)
	case week:
		e.weeks |= set
	}
}

// fill puts every step-th value from from to to into the field's set. A range that
// ends before it begins goes on from the lowest value.
func (e *Expr) fill(f *field, from, to, step int) {
	if f.unit == year {
		if e.years == nil {
			e.years = new(yearSet)
		}
		e.years.add(from, to, step)
		return
	}
	size := f.max - f.min + 1
	if to < from {
		to += size
	}
	var set uint64
	if step == 1 && to < 64 && f.unit != weekday && to <= f.max {
		set = (2<<to - 1) &^ (1<<from - 1)
	} else {
		for v := from; v <= to; v += step {
			if v <= f.top {
				set |= 1 << f.bit(v)
			} else {
				set |= 1 << f.bit(v-size)
			}
		}
	}
	e.add(f.unit, set)
}
