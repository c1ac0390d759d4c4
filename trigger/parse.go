package trigger

import (
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// ParseOptions go with the text of a trigger that a user typed. All but Now are
// text too; empty means not given.
type ParseOptions struct {
	// Dialect is how a cron expression is read: "crontab" (the default), "ruqi",
	// "fields" or "quartz".
	Dialect string
	// Seed decides what H in a cron expression stands for: see CronOptions.Seed.
	Seed string
	// Zone is an IANA name. Empty: the trigger stays without one until Bind.
	Zone string
	// Gap and Fold are for cron, calendar and every: see the constants of type Gap and Fold.
	Gap, Fold string
	// Start and End are for cron, interval, calendar and every, inclusive: see CronOptions.StartText, and for calendar and every EveryOptions.StartText.
	Start, End string
	// Now is what "now" and "in 5 minutes" count from. The zero time: they are
	// refused.
	Now time.Time
	// Registry decodes the JSON of triggers: its kinds, and the calendars it was given a source of, can be parts of a trigger, and a
	// kind of its own can be parsed. nil: the kinds of this package alone.
	Registry *ruqi.Registry
}

// Parse reads a trigger of a kind from what a user typed.
//
//   - cron: an expression of the dialect. "@every 90s" gives an interval; a zone may stand in front.
//   - interval: "5 seconds", "every 5 seconds", "every minute", "1 week",
//     "1h30m", "2d"; or "weeks= days= hours= minutes= seconds= start_date=
//     end_date=" with whole numbers, a value with a blank in single quotes.
//   - date: what DateText reads, "now", or "in 5 minutes"; without Now the latter is a trigger of kind every, and counts from the anchor
//     that Bind is given.
//   - calendar: "years= months= weeks= days= hour= minute= second= start_date= end_date=" with whole numbers.
//   - every: words as EveryTrigger has them. A length of time gives an interval, a date a date; so does "in 5 minutes", when Now is
//     given.
//   - any, all, except, only: the trigger's JSON, made of the kinds of this package and of calendars whose days are written in it;
//     with ParseOptions.Registry, of all that it knows.
//   - any other kind of ParseOptions.Registry: the trigger's JSON.
//
// Texts are of at most 1,024 bytes, but for JSON. The error is an *ruqi.InvalidError with every fault; its pointers are those of the
// JSON form, and its messages begin with the name of the part.
func Parse(kind, text string, o ParseOptions) (ruqi.Trigger, error) {
	var faults ruqi.Faults
	var loc *time.Location
	if o.Zone != "" {
		var err error
		loc, err = LoadZone(o.Zone)
		faults.Merge("/zone", err)
	}
	var t ruqi.Trigger
	var err error
	switch kind {
	case "cron":
		t, err = parseCron(text, loc, o)
	case "interval":
		o.refuse(&faults, kind, "gap", o.Gap, "fold", o.Fold, "dialect", o.Dialect)
		t, err = parseInterval(text, loc, o)
	case "date":
		o.refuse(&faults, kind, "gap", o.Gap, "fold", o.Fold, "dialect", o.Dialect, "start", o.Start, "end", o.End)
		t, err = parseDate(text, loc, o)
	case "calendar":
		o.refuse(&faults, kind, "dialect", o.Dialect)
		t, err = parseCalendar(text, loc, o)
	case "every":
		o.refuse(&faults, kind, "dialect", o.Dialect)
		t, err = parseEvery(text, loc, o)
	case "any", "all", "except", "only":
		o.refuse(&faults, kind, "gap", o.Gap, "fold", o.Fold, "dialect", o.Dialect, "start", o.Start, "end", o.End)
		t, err = parseComposite(kind, text, loc, o.Registry)
	default:
		if o.Registry != nil && slices.Contains(o.Registry.TriggerKinds(), kind) {
			o.refuse(&faults, kind, "gap", o.Gap, "fold", o.Fold, "dialect", o.Dialect, "start", o.Start, "end", o.End)
			t, err = parseComposite(kind, text, loc, o.Registry)
			break
		}
		err = ruqi.Invalid("/kind", kind, "%q is not one of %s%s", clip(kind), strings.Join(kinds[:], ", "), object.DidYouMean(kind, kinds[:]...))
	}
	faults.Merge("", err)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// refuse notes options that a kind does not have.
func (o ParseOptions) refuse(faults *ruqi.Faults, kind string, namesAndValues ...string) {
	for pair := range slices.Chunk(namesAndValues, 2) {
		if pair[1] != "" {
			faults.Add("/"+pair[0], pair[1], "a trigger of kind %s has none", kind)
		}
	}
}

// kinds are those that Parse knows without a registry.
var kinds = [...]string{"cron", "interval", "date", "calendar", "every", "any", "all", "except", "only"}

func tooLong(pointer, text string) error {
	return ruqi.Invalid(pointer, clip(text), "expression: the text has %d bytes, the most are %d, at column %d", len(text), longestText, longestText+1)
}

func parseCron(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	if o.Dialect == "" || o.Dialect == "crontab" {
		if w, zone, found := beginsEvery(text); found {
			return parseEveryMacro(text, w, zone, loc, o)
		}
	}
	return Cron(text, CronOptions{
		Dialect: o.Dialect, Seed: o.Seed, Zone: loc, StartText: o.Start, EndText: o.End, Gap: Gap(o.Gap), Fold: Fold(o.Fold),
	})
}

// beginsEvery reports whether a text of cron is @every, in whatever case, and returns its words from there on and the zone in front.
func beginsEvery(text string) (list []word, zone string, found bool) {
	if len(text) > longestText || !strings.Contains(text, "@") {
		return nil, "", false
	}
	list = words(text)
	if name, _, found := strings.Cut(list[0].text, "="); found && (name == "tz" || name == "cron_tz") && len(list) > 1 {
		// The words are in lower case, and zones are not.
		zone = text[list[0].column+len(name) : list[1].column-1]
		if zone, list = strings.TrimSpace(zone), list[1:]; zone == "" {
			return nil, "", false
		}
	}
	return list, zone, list[0].text == "@every"
}

// parseEveryMacro reads @every 90s. Faults are at /expr.
func parseEveryMacro(text string, list []word, zone string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	var faults ruqi.Faults
	o.refuse(&faults, "interval", "gap", o.Gap, "fold", o.Fold)
	if zone != "" {
		if named := zoneInFront(text, zone, &faults); named != nil {
			loc = named.loc
		}
	}
	r := wordReader{list[1:], len(text) + 1}
	name := list[0]
	if text[name.column-1:name.column-1+len(name.text)] != name.text {
		faults.Add("/expr", text, "expression: %v", &wordError{column: name.column, wanted: "macros are in lower case", complete: true, instead: name.text})
	} else if micros, err := r.every(text); err != nil {
		faults.Add("/expr", text, "expression: @every: %v", err)
	} else {
		t, err := Interval(time.Duration(micros)*time.Microsecond, IntervalOptions{Zone: loc, StartText: o.Start, EndText: o.End})
		faults.Merge("", err)
		return t, faults.Err()
	}
	_, err := Interval(time.Hour, IntervalOptions{Zone: loc, StartText: o.Start, EndText: o.End}) // what else is wrong
	faults.Merge("", err)
	return nil, faults.Err()
}

// every reads the length after @every, which is all of the rest and in short: 90s. One in words is told how it is in short.
func (r *wordReader) every(text string) (int64, error) {
	if len(r.rest) == 0 {
		return 0, r.refuse("there is no length of time (accepted: such as 90s or 1h30m)")
	}
	begin := *r
	micros, ok, err := r.short()
	switch {
	case err != nil:
		return 0, err
	case ok && len(r.rest) == 0:
		return micros, nil
	case strings.HasPrefix(begin.peek(), "-"):
		return 0, begin.refuse("the length must be more than zero")
	}
	e := begin.fail("a length of time such as 90s or 1h30m")
	inWords := begin
	if length, err := inWords.readLength(""); err == nil {
		e.read, e.instead = strings.TrimSpace(text[e.column-1:]), duration.Format(length)
	}
	return 0, e
}

func parseDate(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	if len(text) > longestText {
		return nil, tooLong("/at", text)
	}
	r := wordReader{words(text), len(text) + 1}
	switch {
	case r.peek() == "now" && len(r.rest) == 1:
		if o.Now.IsZero() {
			return nil, ruqi.Invalid("/at", text, "date: %v", r.refuse("now depends on the moment it is asked; give a date such as 2030-06-01 09:30, or a time from then, in 5 minutes"))
		}
		return fixed(o.Now, loc)
	case r.skip("in"):
		length, err := r.readLength("")
		if err != nil {
			return nil, ruqi.Invalid("/at", text, "date: %v", err)
		}
		if o.Now.IsZero() { // so long after the moment it is bound
			return newEvery(saying{form: formIn, length: length.Microseconds()}, "", EveryOptions{Zone: loc}).settled()
		}
		return fixed(o.Now.Add(length), loc)
	case r.peek() == "at" && len(r.rest) > 1:
		from := r.rest[1].column - 1
		if _, err := parseMoment(strings.TrimSpace(text[from:])); err == nil {
			return nil, ruqi.Invalid("/at", text, "date: %v", &wordError{column: r.rest[0].column, wanted: "the date stands alone here", complete: true, instead: strings.TrimSpace(text[from:])})
		}
	}
	date := strings.TrimSpace(text)
	return dateText(date, len(text)-len(strings.TrimLeft(text, " \t\r\n"))+1, loc)
}

// fixed returns the date trigger of an instant.
func fixed(at time.Time, loc *time.Location) (ruqi.Trigger, error) {
	t := Date(at)
	if t.fault != nil {
		return nil, t.fault
	}
	if loc == nil {
		return t, nil
	}
	return t.Bind(loc, time.Time{}, "")
}

// lengthUnits are the words for units, in the singular.
var lengthUnits = map[string]time.Duration{
	"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute,
	"hour": time.Hour, "day": duration.Day, "week": duration.Week,
}
