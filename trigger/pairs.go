package trigger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

// A pair is a word of the form name=value, a value with a blank in single quotes.
type pair struct {
	name, value         string
	column, valueColumn int // from 1, in bytes
	bare                bool
}

// fault notes what is wrong about a pair, at a column of the text.
func (w pair) fault(faults *ruqi.Faults, pointer string, column int, format string, args ...any) {
	faults.Add(pointer, w.name+"="+w.value, "%s: %s, at column %d", clip(w.name), fmt.Sprintf(format, args...), column)
}

// pairs reads a text of such words.
type pairs struct {
	text       string
	pointer    string          // of what is wrong with a word that has no member of its own
	names      string          // of the words that are known
	start, end string          // the values of start_date and end_date, or what was given beside them
	at         map[string]pair // by pointer, the word a value came from
	prefix     bool            // whether faults of what was given beside the text begin with its name
}

// read gives each word to take, which reports whether it knows it; start_date and end_date are known already.
func (p *pairs) read(faults *ruqi.Faults, take func(pair) bool) {
	seen := map[string]bool{}
	for _, w := range splitPairs(p.text) {
		switch {
		case seen[w.name]:
			w.fault(faults, p.pointer, w.column, "given twice")
		case w.bare:
			p.isBare(w, faults)
		case w.name == "start_date":
			p.date(w, "/start", &p.start, faults)
		case w.name == "end_date":
			p.date(w, "/end", &p.end, faults)
		case !take(w):
			p.unknown(w, faults)
		}
		seen[w.name] = true
	}
}

func (p *pairs) date(w pair, pointer string, into *string, faults *ruqi.Faults) {
	_, err := parseMoment(w.value)
	switch {
	case *into != "":
		w.fault(faults, pointer, w.column, "given twice")
	case w.value == "":
		w.fault(faults, pointer, w.valueColumn, "there is no date after the =")
	case err != nil:
		faults.Add(pointer, w.value, "%s: %q %v", w.name, clip(w.value), within(err, w.valueColumn))
	default:
		*into, p.at[pointer] = w.value, w
	}
}

// misled are words of other forms, and what they are here.
var misled = map[string]string{
	"day":         "the day of the month is that of the start, start_date=2027-01-15; or say a kind every, every month on the 15th at 09:00, or cron",
	"month":       "the month is that of the start, start_date=2027-03-15, with years=1; or say a kind every, every year on march 15 at 09:00, or cron",
	"year":        "the year is that of the start, start_date=2027-03-15",
	"day_of_week": "days of the week are those of kind every, every monday at 09:00, or of cron",
	"jitter":      "the jitter is a policy of the job",
	"timezone":    "the zone is given beside it",
}

// unknown refuses a word that is not of the form.
func (p *pairs) unknown(w pair, faults *ruqi.Faults) {
	e := wordError{column: w.column, complete: true, wanted: "unknown word; accepted are " + p.names, instead: nearestName(w.name, p.names)}
	if is := misled[w.name]; is != "" {
		e.wanted, e.instead = "unknown word; "+is, ""
	}
	faults.Add(p.pointer, w.name+"="+w.value, "%s: %v", clip(w.name), &e)
}

// isBare refuses a word without the =.
func (p *pairs) isBare(w pair, faults *ruqi.Faults) {
	if w.name == "," {
		faults.Add(p.pointer, w.name, "%s, at column %d", "words stand apart by blanks, without commas", w.column)
		return
	}
	e := wordError{column: w.column, complete: true, wanted: "not of the form name=value; accepted are " + p.names}
	faults.Add(p.pointer, w.name, "%s: %v", clip(w.name), &e)
}

// name adds the faults of a trigger that was made of the words, each with the name of the word it is about, and where that stands.
func (p *pairs) name(err error, faults *ruqi.Faults) {
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		return
	}
	for _, f := range invalid.Faults {
		w, written := p.at[f.Pointer]
		switch {
		case strings.HasPrefix(f.Message, "interval: "): // of all of the step
		case written:
			f.Message = fmt.Sprintf("%s: %s, at column %d", w.name, f.Message, max(w.column, w.valueColumn))
		case p.prefix:
			f.Message = strings.TrimPrefix(f.Pointer, "/") + ": " + f.Message
		}
		faults.Add(f.Pointer, f.Value, "%s", f.Message)
	}
}

// nearestName returns what to write for a wrong name, one of those that end with = in known; empty when none is near.
func nearestName(wrong, known string) string {
	near := nearest(strings.ToLower(wrong), strings.Fields(strings.ReplaceAll(known, "=", "")))
	if near == "" {
		return ""
	}
	return near + "="
}

// splitPairs splits at blanks that are not in single quotes, and takes the quotes off.
func splitPairs(text string) []pair {
	var list []pair
	for at := 0; at < len(text); {
		if text[at] == ' ' || text[at] == '\t' {
			at++
			continue
		}
		w := pair{column: at + 1, bare: true}
		var b strings.Builder
		quoted := false
		for ; at < len(text) && (quoted || text[at] != ' ' && text[at] != '\t'); at++ {
			switch c := text[at]; {
			case c == '\'':
				quoted = !quoted
			case c == '=' && w.bare:
				w.name, w.bare = b.String(), false
				b.Reset()
				if w.valueColumn = at + 2; strings.HasPrefix(text[at+1:], "'") {
					w.valueColumn++
				}
			default:
				b.WriteByte(c)
			}
		}
		if w.value = b.String(); w.bare {
			w.name, w.value = w.value, ""
		}
		list = append(list, w)
	}
	return list
}
