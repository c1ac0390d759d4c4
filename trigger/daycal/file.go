package daycal

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// maxEvents bounds the events of an iCalendar file: the holidays of a country for fifty years are a thousand.
const maxEvents = 20_000

// isCalendarFile reports whether a text is an iCalendar file.
func isCalendarFile(data []byte) bool {
	const begin = "BEGIN:VCALENDAR"
	return len(data) >= len(begin) && strings.EqualFold(string(data[:len(begin)]), begin)
}

// parseFile reads an iCalendar file (RFC 5545): the days on which its events take place, on the wall clock of the zone they are written
// in; times in UTC on that of X-WR-TIMEZONE where the file has one. Of an event only its times, its recurrence and whether it is
// cancelled count.
func parseFile(data []byte, b *builder, faults *ruqi.Faults) *Calendar {
	c := &Calendar{}
	events, err := readEvents(data)
	if err != nil {
		faults.Merge("", err)
		return c
	}
	if len(events) == 0 {
		faults.Add("", "", "the iCalendar file has no event")
		return c
	}
	// What a single event says of one occurrence takes that out of the series of the same UID, in whose zone it is looked at.
	zoneOf, recurring := map[string]*time.Location{}, map[string][]stamp{}
	for _, e := range events {
		if e.uid == "" {
			continue
		}
		if !e.recurs.given {
			zoneOf[e.uid] = e.zone
			continue
		}
		recurring[e.uid] = append(recurring[e.uid], e.recurs)
	}
	replaced := map[string]spans{}
	for uid, list := range recurring {
		var days []span
		for _, s := range list {
			d, _ := s.in(zoneOf[uid])
			days = append(days, span{d, d})
		}
		replaced[uid] = merged(days)
	}
	var dates []span
	for _, e := range events {
		if e.cancelled {
			continue
		}
		if len(c.rules) > maxRules {
			break // it is refused
		}
		r := rule{from: e.from, length: e.length, except: merged(e.except)}
		if !e.recurs.given && len(replaced[e.uid]) > 0 {
			r.except = merged(slices.Concat(r.except, replaced[e.uid]))
		}
		starts := e.also
		if len(e.rules) == 0 || e.recurs.given {
			starts = append(starts, e.from)
			e.rules = nil
		}
		for _, d := range starts {
			if !r.except.contains(d) {
				dates = append(dates, span{d, d + Day(e.length) - 1})
			}
		}
		for _, text := range e.rules {
			if err := r.parse(e.localUntil(text), b); err != nil {
				faults.Add("", text, "line %d: RRULE: %s: %s", e.line, e.title(), err.Error())
				if b.left < 0 || b.fault != nil || b.enough() {
					return c // the others would take too long as well
				}
				continue
			}
			c.rules = append(c.rules, r)
		}
	}
	if len(c.rules) > maxRules {
		faults.Add("", "", "%d rules; %d are the most", len(c.rules), maxRules)
	}
	c.dates = merged(dates)
	slices.SortStableFunc(c.rules, func(a, b rule) int { return cmp.Compare(a.from, b.from) })
	return c
}

// A line is a content line: NAME;PARAM=value:value.
type line struct {
	number int
	name   string
	params map[string]string
	value  string
}

// readLines puts folded lines together and takes them apart.
func readLines(data []byte) ([]line, error) {
	var all []line
	var text []byte
	number := 0
	flush := func() error {
		if len(bytes.TrimSpace(text)) == 0 {
			return nil
		}
		l, ok := parseLine(string(text))
		if !ok {
			return fmt.Errorf("line %d: %q is not of the form NAME:value", number, clip(string(text)))
		}
		l.number = number
		all = append(all, l)
		return nil
	}
	for i, raw := range bytes.Split(data, []byte("\n")) {
		raw = bytes.TrimSuffix(raw, []byte("\r"))
		if len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\t') {
			text = append(text, raw[1:]...)
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		text, number = append(text[:0], raw...), i+1
	}
	return all, flush()
}

func parseLine(text string) (l line, ok bool) {
	quoted, from := false, 0
	var parts []string
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';' || c == ':':
			parts = append(parts, text[from:i])
			from = i + 1
			if c == ':' {
				l.name, l.value = strings.ToUpper(parts[0]), text[from:]
				for _, p := range parts[1:] {
					name, value, _ := strings.Cut(p, "=")
					if l.params == nil {
						l.params = map[string]string{}
					}
					l.params[strings.ToUpper(name)] = strings.Trim(value, `"`)
				}
				return l, l.name != ""
			}
		}
	}
	return l, false
}

// readEvents collects the events of a file.
func readEvents(data []byte) ([]*event, error) {
	lines, err := readLines(data)
	if err != nil {
		return nil, err
	}
	var all []*event
	var open []string
	var e *event
	known := &zones{known: map[string]*time.Location{}, offsets: map[*time.Location][]int{}}
	file := time.UTC
	if err := known.explain(lines); err != nil {
		return nil, err
	}
	for _, l := range lines {
		value := strings.ToUpper(strings.TrimSpace(l.value))
		switch {
		case l.name == "BEGIN":
			if len(open) == 0 {
				file = time.UTC
			}
			open = append(open, value)
			if value == "VEVENT" && e == nil {
				e = &event{line: l.number}
			}
		case l.name == "END":
			if len(open) == 0 || open[len(open)-1] != value {
				return nil, fmt.Errorf("line %d: END:%s without its BEGIN", l.number, clip(value))
			}
			open = open[:len(open)-1]
			if value != "VEVENT" || slices.Contains(open, value) {
				continue
			}
			if err := e.finish(file); err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", e.line, e.title(), err)
			}
			if all = append(all, e); len(all) > maxEvents {
				return nil, fmt.Errorf("more than %d events", maxEvents)
			}
			e = nil
		case l.name == "X-WR-TIMEZONE" && len(open) == 1:
			loc, err := known.named(l.value)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", l.number, l.name, err)
			}
			if loc != nil {
				file = loc
			}
		case e != nil && open[len(open)-1] == "VEVENT":
			if err := e.read(l, known); err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", l.number, clip(l.name), err)
			}
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("BEGIN:%s without its END", clip(open[len(open)-1]))
	}
	return all, nil
}
