package cronexpr

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error says which part of an expression is wrong, where, and what would be
// right.
type Error struct {
	// Field is the part: second, minute, hour, day, month, day_of_week, tz, or
	// expression when the whole is meant.
	Field string
	// Column is the place of the first wrong byte in the expression, from 1.
	Column int
	// Read is what stands there, cut to 40 bytes.
	Read string
	// Reason says what is wrong with it, without naming the field.
	Reason string
	// Accepted says what the field takes; empty when Reason has said it.
	Accepted string
	// Suggestion is the nearest spelling that is accepted in the place of Read; empty when there is none.
	Suggestion string

	others []*Error // of the fields further on
}

// Error returns the whole in one line, the field first, and behind it what is wrong with other fields.
func (e *Error) Error() string {
	var b strings.Builder
	e.appendTo(&b)
	for _, other := range e.others {
		b.WriteString("; ")
		other.appendTo(&b)
	}
	return b.String()
}

func (e *Error) appendTo(b *strings.Builder) {
	b.WriteString(e.Field)
	b.WriteString(": ")
	b.WriteString(e.Reason)
	if e.Accepted != "" {
		fmt.Fprintf(b, " (accepted: %s)", e.Accepted)
	}
	if e.Suggestion != "" {
		fmt.Fprintf(b, "; write %s", e.Suggestion)
	}
	if e.Column > 0 {
		fmt.Fprintf(b, ", at column %d", e.Column)
	}
}

// mostRead is how much of a wrong text is shown, in bytes: as much as fits in a
// line beside the explanation.
const mostRead = 40

// head returns at most mostRead bytes of a text, without part of a character at the end.
func head(text string) string {
	if len(text) <= mostRead {
		return text
	}
	end := mostRead
	for end > mostRead-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// shown cuts a wrong text for a message and takes care that no control byte or
// broken character reaches a terminal.
func shown(text string) string {
	quoted := fmt.Sprintf("%q", strings.ToValidUTF8(head(text), "\ufffd"))
	if len(text) > mostRead {
		quoted += "…"
	}
	return quoted
}
