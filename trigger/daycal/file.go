package daycal

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
func parseFile(data []byte, faults *ruqi.Faults) *Calendar {
	c := &Calendar{}
	defer c.compile()
	events, err := readEvents(data)
	if err != nil {
		faults.Merge("", err)
		return c
	}
	if len(events) == 0 {
		faults.Add("", "", "the iCalendar file has no event")
		return c
	}
	// What a single event says of one occurrence takes that out of the series of the same UID.
	replaced := map[string][]span{}
	for _, e := range events {
		if e.replaces != nil {
			replaced[e.uid] = append(replaced[e.uid], *e.replaces)
		}
	}
	var dates []span
	left := work(maxWork)
	for _, e := range events {
		if left < 0 {
			break // it is refused
		}
		if e.cancelled {
			continue
		}
		for _, d := range e.also {
			dates = append(dates, span{d, d + Day(e.length) - 1})
		}
		if len(e.rules) == 0 || e.replaces != nil {
			if !merged(e.except).contains(e.from) {
				dates = append(dates, span{e.from, e.from + Day(e.length) - 1})
			}
			continue
		}
		for _, text := range e.rules {
			r, err := parseRule(e.from, e.length, e.localUntil(text), &left)
			if err != nil {
				faults.Add("", text, "line %d: RRULE: %s", e.line, err.Error())
				continue
			}
			r.except = merged(slices.Concat(e.except, replaced[e.uid]))
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

// An event is what counts of a VEVENT.
type event struct {
	line      int // of its BEGIN
	uid       string
	from      Day
	length    int            // days
	clock     time.Duration  // of the begin, since midnight
	zone      *time.Location // of the begin
	rules     []string
	also      []Day
	except    []span
	replaces  *span // the occurrence of a series in whose place it stands
	cancelled bool
	started   bool
	end       stamp
	lasts     time.Duration
	timed     bool // it begins at a time of day
	hasEnd    bool
}

// localUntil rewrites UNTIL, which is in UTC for an event with a time of day, as the last date on which the event may begin.
func (e *event) localUntil(rule string) string {
	parts := strings.Split(rule, ";")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if !strings.EqualFold(name, "UNTIL") || len(value) <= len("20060102") {
			continue
		}
		s, err := parseStamp(value, e.zone)
		if err != nil {
			continue // parseRule tells it
		}
		if s.clock < e.clock {
			s.day--
		}
		parts[i] = "UNTIL=" + s.day.Time().Format("20060102")
	}
	return strings.Join(parts, ";")
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
	zone := time.UTC
	for _, l := range lines {
		value := strings.ToUpper(strings.TrimSpace(l.value))
		switch {
		case l.name == "BEGIN":
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
			if err := e.finish(); err != nil {
				return nil, fmt.Errorf("line %d: %w", e.line, err)
			}
			if all = append(all, e); len(all) > maxEvents {
				return nil, fmt.Errorf("more than %d events", maxEvents)
			}
			e = nil
		case l.name == "X-WR-TIMEZONE" && len(open) == 1:
			if loc := zoneNamed(l.value); loc != nil {
				zone = loc
			}
		case e != nil && open[len(open)-1] == "VEVENT":
			if err := e.read(l, zone); err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", l.number, clip(l.name), err)
			}
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("BEGIN:%s without its END", clip(open[len(open)-1]))
	}
	return all, nil
}

// zoneNamed returns the zone of an IANA name; nil for the names of other lists.
func zoneNamed(name string) *time.Location {
	name = strings.TrimSpace(name)
	if name == "" || strings.EqualFold(name, "local") {
		return nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return loc
}

// read takes one property in. zone is where times in UTC are looked at.
func (e *event) read(l line, zone *time.Location) (err error) {
	if id := l.params["TZID"]; id != "" {
		if loc := zoneNamed(id); loc != nil {
			zone = loc
		}
	}
	var s stamp
	switch l.name {
	case "UID":
		e.uid = l.value
	case "DTSTART":
		s, err = parseStamp(l.value, zone)
		e.from, e.clock, e.zone, e.started = s.day, s.clock, zone, true
		e.timed = s.timed
	case "DTEND":
		e.end, err = parseStamp(l.value, zone)
		e.hasEnd = true
	case "DURATION":
		e.lasts, err = parseDuration(l.value)
	case "RRULE":
		e.rules = append(e.rules, l.value)
	case "EXRULE":
		err = fmt.Errorf("it is not supported; RFC 5545 has EXDATE only")
	case "RDATE", "EXDATE":
		for _, text := range strings.Split(l.value, ",") {
			text, _, _ = strings.Cut(text, "/") // a period counts by its start
			if s, err = parseStamp(text, zone); err != nil {
				return err
			}
			if l.name == "RDATE" {
				e.also = append(e.also, s.day)
			} else {
				e.except = append(e.except, span{s.day, s.day})
			}
		}
	case "RECURRENCE-ID":
		if l.params["RANGE"] != "" {
			return fmt.Errorf("RANGE is not supported; a change of all later occurrences is an event of its own")
		}
		s, err = parseStamp(l.value, zone)
		e.replaces = &span{s.day, s.day}
	case "STATUS":
		e.cancelled = strings.EqualFold(strings.TrimSpace(l.value), "CANCELLED")
	}
	return err
}

// finish computes how many days the event touches.
func (e *event) finish() error {
	if !e.started {
		return fmt.Errorf("the event has no DTSTART")
	}
	start := stamp{day: e.from, clock: e.clock}.seconds()
	end := start + int64(e.lasts/time.Second)
	if e.hasEnd {
		end = e.end.seconds()
	} else if !e.timed && e.lasts == 0 {
		end = start + daySeconds
	}
	if end < start {
		return fmt.Errorf("the event ends before it begins")
	}
	last := e.from
	if end > start {
		last = dayOf(time.Unix(end-1, 0))
	}
	if e.length = int(last-e.from) + 1; e.length > maxLength {
		return fmt.Errorf("the event lasts %d days; %d are the most", e.length, maxLength)
	}
	return nil
}

// A stamp is a date, or a date and a time of day on the wall clock.
type stamp struct {
	day   Day
	clock time.Duration // since midnight
	timed bool
}

func (s stamp) seconds() int64 { return int64(s.day)*daySeconds + int64(s.clock/time.Second) }

// parseStamp reads 20261225, 20261225T093000, or 20261225T083000Z, which is looked at in zone.
func parseStamp(text string, zone *time.Location) (stamp, error) {
	text = strings.ToUpper(strings.TrimSpace(text))
	t, err := time.Parse("20060102", text)
	timed := err != nil
	if timed {
		if t, err = time.Parse("20060102T150405", strings.TrimSuffix(text, "Z")); err != nil {
			return stamp{}, fmt.Errorf("%q is not a date that exists, such as 20261225 or 20261225T093000", clip(text))
		}
		if strings.HasSuffix(text, "Z") && zone != nil {
			t = t.In(zone)
		}
	}
	s := stamp{day: DayAt(t), timed: timed}
	if s.day < First || s.day > Last {
		return stamp{}, fmt.Errorf("%q is out of range, the years are 1 to 9999", clip(text))
	}
	hour, minute, second := t.Clock()
	s.clock = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	return s, nil
}

// parseDuration reads P1W, P1D, PT1H30M, P1DT12H.
func parseDuration(text string) (time.Duration, error) {
	invalid := fmt.Errorf("%q is not a length such as P1D or PT1H30M", clip(text))
	rest, ok := strings.CutPrefix(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "+"), "P")
	if !ok || rest == "" {
		return 0, invalid
	}
	units := map[string]time.Duration{
		"W": 7 * 24 * time.Hour, "D": 24 * time.Hour, "TH": time.Hour, "TM": time.Minute, "TS": time.Second,
	}
	var total time.Duration
	inTime := ""
	for rest != "" {
		if rest[0] == 'T' && inTime == "" {
			inTime, rest = "T", rest[1:]
			continue
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		const mostDigits = 6 // 99,999 weeks are far past maxLength
		if digits == 0 || digits > mostDigits || digits == len(rest) {
			return 0, invalid
		}
		n, err := strconv.Atoi(rest[:digits])
		unit, known := units[inTime+rest[digits:digits+1]]
		if err != nil || !known {
			return 0, invalid
		}
		total += time.Duration(n) * unit
		rest = rest[digits+1:]
	}
	return total, nil
}
