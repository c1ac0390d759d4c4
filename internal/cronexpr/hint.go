package cronexpr

import "strings"

// heals reports whether what is suggested is right in its place: then the text is read, or wrong only further on.
func (e *Error) heals(d *Dialect, text string) bool {
	from := e.Column - 1
	if from < 0 || from > len(text) || !strings.HasPrefix(text[from:], e.Read) {
		return false // what was read is too long to be shown
	}
	right := text[:from] + e.Suggestion + text[from+len(e.Read):]
	if len(right) > MaxLength {
		return false
	}
	_, err := parse(d, right, "")
	return err == nil || err.Column >= e.Column+len(e.Suggestion) && err.Reason != givenTwice
}

// hint adds to the fault of a text that it is right elsewhere: in Quartz, if it looks like one of there, with ? or seven fields; or as
// arguments in Python.
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
