package cronexpr

import (
	"fmt"
	"slices"
	"strings"
)

// keyed reads a text of name=value words. A value with a blank stands in single
// quotes.
func (p *parser) keyed(text string) *Error {
	var values [units]word  // by the place in the dialect's list
	least, before := -1, -1 // places in the list: the last one given, and that of the word before
	for rest := (word{text, 1}).trim(); rest.text != ""; rest = rest.trim() {
		i, value, after, err := p.pair(rest)
		if err != nil {
			if before >= 0 {
				p.blankWithin(err, values[before], rest)
			}
			if i < 0 && p.fault != nil {
				err.Accepted = "" // as the first one said
			}
			if p.note(err); i >= 0 || len(p.fault.others)+1 == mostUnknown {
				return p.fault
			}
			rest, before = after, -1 // no field has that name
			continue
		}
		f := &p.d.fields[i]
		if values[i].column != 0 {
			p.note(&Error{Field: unitNames[f.unit], Column: rest.column, Read: cut(rest.text), Reason: givenTwice})
			return p.fault
		}
		values[i], rest, least, before = value, after, max(least, i), i
	}
	if least < 0 && p.fault == nil {
		return &Error{Field: "expression", Column: 1, Reason: "is empty", Accepted: p.d.wants()}
	}
	var ends [units]int
	for i := range p.d.fields {
		f := &p.d.fields[i]
		switch {
		case values[i].column != 0:
			if err := p.field(f, values[i]); err != nil {
				p.note(err)
			}
		case i < least:
			p.star(f)
			p.buf = append(p.buf, '*')
		default:
			p.leaveOut(f)
			p.buf = append(p.buf, f.absentText()...)
		}
		ends[i] = len(p.buf)
	}
	if p.fault != nil {
		return p.fault
	}
	all, from := string(p.buf), 0
	for i := range p.d.fields {
		p.e.fields[p.d.fields[i].unit] = all[from:ends[i]]
		from = ends[i]
	}
	p.e.text = p.shortest()
	return p.finish()
}

const (
	givenTwice = "given twice"
	// mostUnknown is how many names of no field are told: to look for what each was meant to be takes some ten microseconds, and
	// once more for each of the others.
	mostUnknown = 3
)

// blankWithin says of the fault of a word that is a weekday, after a value that is a position in the month, that the two are one value.
func (p *parser) blankWithin(fault *Error, before, w word) {
	name := w.text
	if i := strings.IndexAny(name, " \t"); i >= 0 {
		name = name[:i]
	}
	position := strings.ToLower(before.text)
	if position != "last" && !slices.Contains(ordinals[:], position) || nearest(fromSunday, name) == "" {
		return
	}
	*fault = Error{Field: unitNames[day], Column: before.column, Read: before.text + " " + name,
		Reason: "a value with a blank stands in single quotes", Suggestion: "'" + position + " " + nearest(fromSunday, name) + "'"}
}

// trim takes the blanks off.
func (w word) trim() word {
	text := strings.TrimLeft(w.text, " \t")
	return word{strings.TrimRight(text, " \t"), w.column + len(w.text) - len(text)}
}

// behind returns what follows a value: from the next blank, or from behind the quotes it stands in.
func (w word) behind() word {
	end, from := " \t", 0
	if w.text != "" && (w.text[0] == '\'' || w.text[0] == '"') {
		end, from = w.text[:1], 1
	}
	n := strings.IndexAny(w.text[from:], end)
	if n < 0 {
		n = len(w.text)
	} else {
		n += 2 * from
	}
	return word{w.text[n:], w.column + n}
}

// pair takes one word off: the place of its field in the list, -1 where no field has that name, and its value.
func (p *parser) pair(w word) (place int, value, after word, fault *Error) {
	end := strings.IndexAny(w.text, " \t=")
	if end <= 0 || w.text[end] != '=' {
		text := w.text
		if blank := strings.IndexAny(text, " \t"); blank >= 0 {
			text = text[:blank]
		}
		fault = &Error{Field: "expression", Column: w.column, Read: cut(text),
			Reason: shown(text) + " is not of the form name=value", Accepted: p.d.wants()}
		return 0, value, after, fault
	}
	name := w.text[:end]
	value = word{w.text[end+1:], w.column + end + 1}
	if place = p.d.keyword(name); place < 0 {
		return place, value, value.behind(), p.unknown(word{name, w.column}, value.text)
	}
	p.quoted[p.d.fields[place].unit] = strings.HasPrefix(value.text, "'")
	switch {
	case strings.HasPrefix(value.text, "'"):
		quoted, rest, closed := strings.Cut(value.text[1:], "'")
		after = word{rest, value.column + len(quoted) + 2}
		switch {
		case !closed:
			fault = &Error{Field: "expression", Column: value.column, Read: cut(value.text), Reason: "the quote is not closed"}
		case rest != "" && rest[0] != ' ' && rest[0] != '\t':
			fault = &Error{Field: "expression", Column: after.column, Read: cut(rest), Reason: "a blank is missing after the quote"}
		}
		value = word{quoted, value.column + 1}
	case strings.HasPrefix(value.text, `"`):
		quoted, _, _ := strings.Cut(value.text[1:], `"`)
		fault = &Error{Field: unitNames[p.d.fields[place].unit], Column: value.column, Read: cut(`"` + quoted + `"`),
			Reason: "a value stands in single quotes, not in double ones", Suggestion: "'" + quoted + "'"}
	default:
		after = value.behind()
		value.text = value.text[:len(value.text)-len(after.text)]
	}
	if fault == nil && strings.Trim(value.text, " \t") == "" {
		f := &p.d.fields[place]
		fault = &Error{Field: unitNames[f.unit], Column: value.column, Reason: "there is no value after the =", Accepted: f.accepted}
	}
	return place, value.trim(), after, fault
}

// besides are the other keywords of APScheduler's CronTrigger.
var besides = map[string]string{
	"start_date": "the start is", "end_date": "the end is", "timezone": "the zone is", "jitter": "the jitter is a policy of the job,",
}

// otherNames are names that other programs have for the fields: cron's manual, Python's datetime and struct tm, and what is said in short.
var otherNames = map[string]unit{
	"sec": second, "secs": second, "min": minute, "mins": minute, "hr": hour, "hrs": hour, "mth": month, "mths": month, "yr": year, "yrs": year,
	"dom": day, "mday": day, "monthday": day, "dayofmonth": day, "date": day,
	"dow": weekday, "wday": weekday, "weekday": weekday, "weekdays": weekday, "dayofweek": weekday, "daysofweek": weekday,
	"isoweek": week, "weekofyear": week,
}

// joinedName takes out what stands between the parts of a name: day_of_week is dayofweek.
var joinedName = strings.NewReplacer("_", "", "-", "")

// meant returns the field that a keyword is meant for, with that value; empty where there is none.
func meant(names []string, keyword, value string) string {
	keyword = strings.ToLower(keyword)
	best, found := 3, ""
	if u, ok := otherNames[joinedName.Replace(keyword)]; ok {
		found = unitNames[u]
	} else if u, ok := otherNames[strings.TrimSuffix(keyword, "s")]; ok {
		found = unitNames[u]
	} else {
		for _, name := range names {
			if d := distance(name, keyword); d < best {
				best, found = d, name
			}
		}
	}
	if found == unitNames[day] && ofWeek(value) {
		return unitNames[weekday]
	}
	return found
}

// ofWeek reports whether a value begins with the name of a weekday.
func ofWeek(value string) bool {
	value = strings.TrimLeft(strings.ToLower(value), "'\" ")
	return value != "" && nearest(fromSunday, value[:len(value)-len(strings.TrimLeft(value, "abcdefghijklmnopqrstuvwxyz"))]) != ""
}

// unknown refuses a word that is no field. The error has its name as the field
// where that is one word of letters.
func (p *parser) unknown(w word, value string) *Error {
	names := make([]string, len(p.d.fields))
	for i := range names {
		names[i] = unitNames[p.d.fields[i].unit]
	}
	fault := &Error{Field: "expression", Column: w.column, Read: cut(w.text + "="), Accepted: strings.Join(names, ", ")}
	if len(w.text) <= mostRead && strings.Trim(strings.ToLower(w.text), "abcdefghijklmnopqrstuvwxyz_") == "" {
		fault.Field = w.text
	}
	if beside := besides[w.text]; beside != "" {
		fault.Reason = shown(w.text) + " is no field of the expression; " + beside + " given beside it"
		return fault
	}
	fault.Reason = shown(w.text) + " is not a field"
	if len(w.text) > mostRead {
		return fault
	}
	if name := meant(names, w.text, value); name != "" {
		fault.Suggestion = name + "="
		if value = strings.TrimLeft(value, "'\" "); name == unitNames[weekday] && value != "" && value[0] >= '0' && value[0] <= '9' {
			fault.Reason += ", but day_of_week is: its numbers are 0 for Monday to 6 for Sunday"
		}
	}
	return fault
}

// shortest returns the canonical text: the fields that differ from what they stand
// for when left out.
func (p *parser) shortest() string {
	fields := p.d.fields
	least := len(fields) - 1
	for least > 0 && p.e.fields[fields[least].unit] == fields[least].absentText() {
		least--
	}
	var b []byte
	for i := range fields[:least+1] {
		text := p.e.fields[fields[i].unit]
		if i < least && text == "*" {
			continue
		}
		quote := ""
		if strings.Contains(text, " ") {
			quote = "'"
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%s=%s%s%s", unitNames[fields[i].unit], quote, text, quote)
	}
	return string(b)
}
