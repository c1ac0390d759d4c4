package cronexpr

import (
	"slices"
	"strings"
)

// keepWhatHeals takes those suggestions away that are not right in their place.
func (e *Error) keepWhatHeals(d *Dialect, text string) {
	faults := append([]*Error{e}, e.others...)
	for i, fault := range faults {
		if fault.Suggestion != "" && !fault.heals(d, text, slices.Concat(faults[:i], faults[i+1:])) {
			fault.Suggestion = ""
		}
	}
}

// heals reports whether what is suggested is right in its place: then the text is read, or wrong only further on, and in the other fields
// as it was.
func (e *Error) heals(d *Dialect, text string, others []*Error) bool {
	from := e.Column - 1
	if from < 0 || from > len(text) || !strings.HasPrefix(text[from:], e.Read) {
		return false // what was read is too long to be shown
	}
	right := text[:from] + e.Suggestion + text[from+len(e.Read):]
	if len(right) > MaxLength {
		return false
	}
	_, err := parse(d, right, "")
	if err == nil {
		return true
	}
	for _, still := range append([]*Error{err}, err.others...) {
		further := still.Column >= e.Column+len(e.Suggestion) && still.Reason != givenTwice
		if !further && !slices.ContainsFunc(others, func(was *Error) bool { return was.Column == still.Column && was.Reason == still.Reason }) {
			return false
		}
	}
	return true
}

// hint adds to the fault of a text that it is right elsewhere: in Quartz, if it looks like one of there, with ? or seven fields; as
// arguments in Python; or as the line of a crontab.
func (e *Error) hint(d *Dialect, text string) {
	if len(text) > MaxLength || d.oneDay {
		return
	}
	if d.keyed {
		e.apart(d, text)
		return
	}
	var room [units + 1]word
	list := words(room[:0], text, 1)
	if d.macros && e.command(d, text, list) {
		return
	}
	if len(list) != 7 && (len(list) != 6 || !strings.Contains(text, "?")) || list[0].text[0] == '@' {
		return
	}
	if len(list) == 7 {
		e.Reason += "; seven fields are those of the dialect quartz"
	}
	if _, err := parse(Lookup("quartz"), text, ""); err == nil {
		e.Reason += "; this looks like an expression of Quartz, which is read with --dialect quartz"
	}
}

// joining are words that go on with what the fields say, and begin no command.
var joining = []string{"and", "or", "to", "until", "till", "except", "from", "on", "at", "in", "every"}

// command says of the line of a crontab which part of it is the expression. It reports whether it is one: behind the fields, or a macro,
// stands a word that no field begins with or could be meant for.
func (e *Error) command(d *Dialect, text string, list []word) bool {
	fields := 0
	if len(list) > 0 && strings.Contains(list[0].text, "=") {
		fields++ // the zone
	}
	if fields < len(list) && list[fields].text[0] == '@' {
		fields++
	} else {
		fields += 5
	}
	if len(list) <= fields {
		return false
	}
	first := list[fields]
	path := strings.ContainsRune("/.~$", rune(first.text[0])) // no field begins so
	if c := first.text[0] | 0x20; !path && (c < 'a' || c > 'z' || len(first.text) == 1 || slices.Contains(joining, strings.ToLower(first.text))) {
		return false
	}
	name, _, _ := strings.Cut(strings.ReplaceAll(first.text, "-", ","), ",")
	if !path && nearest(fromSunday, name) != "" {
		return false // a day of week behind the seconds
	}
	faults := append([]*Error{e}, e.others...)
	i := slices.IndexFunc(faults, func(fault *Error) bool { return fault.Column == first.column })
	if i >= 0 && faults[i].Suggestion != "" {
		return false
	}
	if _, err := parse(d, "* * * * "+first.text, ""); err == nil {
		return false // the day of week behind the seconds
	}
	said := &Error{Field: "expression", Column: first.column, Read: cut(first.text),
		Reason: shown(first.text) + " is no field, but looks like the beginning of a command, which is given apart"}
	before := strings.TrimRight(text[:first.column-1], " \t")
	if _, err := parse(d, before, ""); err != nil {
		if !path && !slices.ContainsFunc(list[fields:], func(w word) bool { return w.text[0] == '/' }) {
			return false // it may be a wrong field, and another one too
		}
		err.keepWhatHeals(d, before)
		*e = *err
		e.others = append(e.others, said)
		return true
	}
	alone := strings.Join(strings.Fields(before), " ")
	if !path && len(list) == fields+1 && strings.Contains(first.text, "/") && !strings.Contains(first.text, ".") {
		return false // europe/berlin
	}
	if !path && len(list) == fields+1 && fields > 4 && !strings.Contains(first.text, "/") { // it may be a day in another language
		if day := list[fields-3].text; i < 0 || digits(day) || strings.Contains(first.text, "=") {
			return false // and the hour before it
		}
		faults[i].Reason += "; a command is given apart, and the expression alone is " + alone
		return true
	}
	said.Reason += ": the expression alone is " + alone
	*e = *said
	return true
}

// apart says of the fault of a text whose fields have commas between them, as the arguments of APScheduler's CronTrigger have, how it is
// written here.
func (e *Error) apart(d *Dialect, text string) {
	var b strings.Builder
	comma, open := 0, byte(0) // the column of the first one; the quote that is open
	for i := range len(text) {
		c := text[i]
		switch {
		case open != 0 && c == open:
			open, c = 0, '\''
		case open == 0 && (c == '\'' || c == '"'):
			open, c = c, '\''
		case open == 0 && c == ',' && d.beginsField(text[i+1:]):
			if comma == 0 {
				comma = i + 1
			}
			c = ' '
		}
		b.WriteByte(c)
	}
	if comma == 0 {
		return
	}
	right := strings.Join(strings.Fields(b.String()), " ")
	if _, err := parse(d, right, ""); err == nil {
		*e = Error{Field: "expression", Column: comma, Read: ",", Reason: "the fields stand apart by blanks, without commas: write " + right}
	}
}

// beginsField reports whether a text begins with name=.
func (d *Dialect) beginsField(text string) bool {
	name, _, found := strings.Cut(strings.TrimLeft(text, " \t"), "=")
	return found && d.keyword(name) >= 0
}
