package daycal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An event is what counts of a VEVENT.
type event struct {
	line      int // of its BEGIN
	uid       string
	summary   string
	start     stamp
	end       stamp
	lasts     time.Duration
	tooLong   string // a DURATION past longest
	rules     []string
	rdates    []stamp
	exdates   []stamp
	recurs    stamp // the occurrence of a series in whose place it stands
	cancelled bool
	offsets   []int // seconds: of the zone in which it begins, where it is one of those that only the file knows

	// What follows from the above, by finish. Days are those of the wall clock of the zone in which the event begins.
	from   Day
	clock  time.Duration // of the begin, since midnight
	zone   *time.Location
	length int // days
	also   []Day
	except []span
}

// title names the event for a message.
func (e *event) title() string {
	name := e.summary
	if name == "" {
		name = e.uid
	}
	if name == "" {
		return fmt.Sprintf("the event of line %d", e.line)
	}
	return fmt.Sprintf("event %q of line %d", clip(name), e.line)
}

// A stamp is a date, or a date and a time of day: in UTC, in a zone, or on a wall clock of which nothing is known.
type stamp struct {
	given bool
	timed bool
	utc   bool
	at    time.Time      // its date and clock, as they are written, as if in UTC
	zone  *time.Location // where it is written; nil for UTC and for none
}

// in returns the date and the time since midnight on the wall clock of a zone. What is written without a zone, or in one that is not
// known, and all dates, stand as they are.
func (s stamp) in(zone *time.Location) (Day, time.Duration) {
	t := s.at
	switch {
	case !s.timed:
	case s.utc && zone != nil:
		t = t.In(zone)
	case s.zone != nil && zone != nil && s.zone != zone:
		year, month, day := t.Date()
		hour, minute, second := t.Clock()
		t = time.Date(year, month, day, hour, minute, second, 0, s.zone).In(zone)
	}
	hour, minute, second := t.Clock()
	return DayAt(t), time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
}

// parseStamp reads 20261225, 20261225T093000, or 20261225T083000Z.
func parseStamp(text string, zone *time.Location) (stamp, error) {
	text = strings.ToUpper(strings.TrimSpace(text))
	s := stamp{given: true, zone: zone}
	var err error
	if s.at, err = time.Parse("20060102", text); err != nil {
		s.timed, s.utc = true, strings.HasSuffix(text, "Z")
		if s.at, err = time.Parse("20060102T150405", strings.TrimSuffix(text, "Z")); err != nil {
			return stamp{}, fmt.Errorf("%q is not a date that exists, such as 20261225 or 20261225T093000", clip(text))
		}
	}
	if s.utc {
		s.zone = nil
	}
	if d := DayAt(s.at); d <= First || d >= Last { // a day that a zone may move it by is left
		return stamp{}, fmt.Errorf("%q is out of range, times are from 0001-01-02 to 9999-12-30", clip(text))
	}
	return s, nil
}

// read takes one property in.
func (e *event) read(l line, zones *zones) (err error) {
	zone, err := zones.named(l.params["TZID"])
	if err != nil {
		return err
	}
	switch l.name {
	case "UID":
		e.uid = l.value
	case "SUMMARY":
		e.summary = l.value
	case "DTSTART":
		e.start, err = parseStamp(l.value, zone)
		e.offsets = zones.offsets[zone]
	case "DTEND":
		e.end, err = parseStamp(l.value, zone)
	case "DURATION":
		if e.lasts, err = parseDuration(l.value); errors.Is(err, errTooLong) {
			e.tooLong, err = clip(l.value), nil // finish tells it, with the name of the event
		}
	case "RRULE":
		e.rules = append(e.rules, strings.TrimSuffix(strings.TrimSpace(l.value), ";"))
	case "EXRULE":
		err = fmt.Errorf("it is not supported; RFC 5545 has EXDATE only")
	case "RDATE":
		e.rdates, err = readStamps(e.rdates, l.value, zone)
	case "EXDATE":
		e.exdates, err = readStamps(e.exdates, l.value, zone)
	case "RECURRENCE-ID":
		if l.params["RANGE"] != "" {
			return fmt.Errorf("RANGE is not supported; a change of all later occurrences is an event of its own")
		}
		e.recurs, err = parseStamp(l.value, zone)
	case "STATUS":
		e.cancelled = strings.EqualFold(strings.TrimSpace(l.value), "CANCELLED")
	}
	return err
}

// readStamps reads a list; a period counts by its start.
func readStamps(list []stamp, text string, zone *time.Location) ([]stamp, error) {
	for item := range strings.SplitSeq(text, ",") {
		item, _, _ = strings.Cut(item, "/")
		s, err := parseStamp(item, zone)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// finish computes which days the event touches. file is where times in UTC are looked at, unless the event begins in a zone of its own.
func (e *event) finish(file *time.Location) error {
	if !e.start.given {
		return fmt.Errorf("the event has no DTSTART")
	}
	if e.tooLong != "" {
		return fmt.Errorf("DURATION: %q is longer than %d days", e.tooLong, maxLength)
	}
	if e.zone = e.start.zone; e.zone == nil || !e.start.timed {
		e.zone = file
	}
	e.from, e.clock = e.start.in(e.zone)
	seconds := func(d Day, clock time.Duration) int64 { return int64(d)*daySeconds + int64(clock/time.Second) }
	start := seconds(e.from, e.clock)
	end := start + int64(e.lasts/time.Second)
	if e.end.given {
		end = seconds(e.end.in(e.zone))
	} else if !e.start.timed && e.lasts == 0 {
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
	for _, s := range e.rdates {
		d, _ := s.in(e.zone)
		e.also = append(e.also, d)
	}
	for _, s := range e.exdates {
		d, _ := s.in(e.zone)
		e.except = append(e.except, span{d, d})
	}
	return nil
}

// localUntil rewrites UNTIL, which is in UTC for an event with a time of day, as the last date on which the event may begin. Of an event without one, the
// date counts as it is written.
func (e *event) localUntil(rule string) string {
	parts := strings.Split(rule, ";")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if !strings.EqualFold(name, "UNTIL") || len(value) <= len("20060102") {
			continue
		}
		s, err := parseStamp(value, nil)
		if err != nil {
			continue // parse tells it
		}
		if !e.start.timed {
			s.timed = false
		}
		last, clock := s.in(e.zone)
		for _, seconds := range e.offsets { // most programs write when the last occurrence begins, in winter or summer time
			if s.utc && s.timed {
				if d, c := s.in(time.FixedZone("", seconds)); c == e.clock {
					last, clock = d, c
				}
			}
		}
		if s.timed && clock < e.clock {
			last--
		}
		parts[i] = "UNTIL=" + last.Time().Format("20060102")
	}
	return strings.Join(parts, ";")
}

// zones are the time zones that a file names.
type zones struct {
	known   map[string]*time.Location // by TZID; nil for a name that is of no list
	offsets map[*time.Location][]int  // of zones of which the file says no more; seconds
}

// maxZones bounds the time zones that a file names, each of which is looked up: there are some 600, and a calendar has a handful.
const maxZones = 200

// named returns the zone of a name: an IANA name, or one that ends in one (/example.org/Europe/Berlin), or as the file explains it. It is nil for
// the names of other lists, which do no harm: what is written in such a zone is looked at there.
func (z *zones) named(name string) (*time.Location, error) {
	if name = strings.TrimSpace(name); name == "" || strings.EqualFold(name, "local") {
		return nil, nil
	}
	if loc, ok := z.known[name]; ok {
		return loc, nil
	}
	if len(z.known) >= maxZones {
		return nil, fmt.Errorf("more than %d time zones", maxZones)
	}
	var found *time.Location
	for rest := strings.TrimLeft(name, "/"); found == nil && rest != ""; {
		if loc, err := time.LoadLocation(rest); err == nil && loc != time.Local {
			found = loc
		}
		_, after, cut := strings.Cut(rest, "/")
		if !cut || strings.Count(rest, "/") > 8 {
			break
		}
		rest = after
	}
	z.known[name] = found
	return found, nil
}

// explain takes in what the VTIMEZONEs of a file say that names stand for, where the names themselves say nothing: an IANA name, or else the
// time in winter and in summer.
func (z *zones) explain(lines []line) error {
	name, location, part, within := "", "", "", false
	offsets := map[string][]int{}
	for _, l := range lines {
		switch value := strings.TrimSpace(l.value); {
		case l.name == "BEGIN" && strings.EqualFold(value, "VTIMEZONE"):
			name, location, within = "", "", true
			offsets = map[string][]int{}
		case within && l.name == "TZID":
			name = value
		case within && l.name == "X-LIC-LOCATION":
			location = value
		case within && l.name == "BEGIN":
			part = strings.ToUpper(value)
		case within && l.name == "TZOFFSETTO":
			if seconds, ok := parseOffset(value); ok {
				offsets[part] = append(offsets[part], seconds)
			}
		case within && l.name == "END" && strings.EqualFold(value, "VTIMEZONE"):
			within = false
			loc, err := z.named(name)
			if err == nil && loc == nil && name != "" {
				if loc, err = z.named(location); loc == nil {
					loc = z.fixed(name, slices.Concat(offsets["STANDARD"], offsets["DAYLIGHT"]))
				}
				z.known[name] = loc
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", l.number, err)
			}
		}
	}
	return nil
}

// fixed returns a zone of the first of some offsets from UTC, of which the others are kept for UNTIL; nil for none.
func (z *zones) fixed(name string, offsets []int) *time.Location {
	if len(offsets) == 0 {
		return nil
	}
	loc := time.FixedZone(name, offsets[0])
	z.offsets[loc] = slices.Compact(slices.Sorted(slices.Values(offsets)))
	return loc
}

// parseOffset reads +0100, -0330 and +001730.
func parseOffset(text string) (seconds int, ok bool) {
	if len(text) != 5 && len(text) != 7 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint((text[1:] + "00")[:6], 10, 32)
	if err != nil || n > 235959 {
		return 0, false
	}
	if seconds = int(n/10000*3600 + n/100%100*60 + n%100); text[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// longest is the longest DURATION: what is longer touches more than maxLength days, whenever it begins.
const longest = maxLength * 24 * time.Hour

var errTooLong = errors.New("longer than the longest event")

// parseDuration reads P1W, P1D, PT1H30M, P1DT12H. The error is errTooLong for what is longer than longest.
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
	inTime, tooLong := "", false
	for rest != "" {
		if rest[0] == 'T' && inTime == "" {
			inTime, rest = "T", rest[1:]
			continue
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits == len(rest) {
			return 0, invalid
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		unit, known := units[inTime+rest[digits:digits+1]]
		switch {
		case !known:
			return 0, invalid
		case err != nil || n > int64((longest-total)/unit): // digits alone fail for their number only
			tooLong = true
		default:
			total += time.Duration(n) * unit
		}
		rest = rest[digits+1:]
	}
	if tooLong {
		return 0, errTooLong
	}
	return total, nil
}
