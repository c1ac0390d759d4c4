package trigger

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
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
//   - cron: an expression of the dialect. "@every 90s" gives an interval.
//   - interval: "5 seconds", "every 5 seconds", "every minute", "1 week",
//     "1h30m", "2d"; or "weeks= days= hours= minutes= seconds= start_date=
//     end_date=" with whole numbers, a value with a blank in single quotes.
//   - date: what DateText reads, "now", or "in 5 minutes".
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
		err = ruqi.Invalid("/kind", kind, "%q is not one of cron, interval, date, calendar, every, any, all, except, only", clip(kind))
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

func tooLong(pointer, text string) error {
	return ruqi.Invalid(pointer, clip(text), "expression: the text has %d bytes, the most are %d", len(text), longestText)
}

func parseCron(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	if length, found := strings.CutPrefix(strings.TrimSpace(text), "@every "); found && (o.Dialect == "" || o.Dialect == "crontab") {
		var faults ruqi.Faults
		o.refuse(&faults, "interval", "gap", o.Gap, "fold", o.Fold)
		every, err := duration.Parse(strings.TrimSpace(length))
		if err != nil {
			faults.Add("/expr", text, "expression: @every: %v", err)
			return nil, faults.Err()
		}
		t, err := Interval(every, IntervalOptions{Zone: loc, StartText: o.Start, EndText: o.End})
		faults.Merge("", err)
		return t, faults.Err()
	}
	return Cron(text, CronOptions{
		Dialect: o.Dialect, Seed: o.Seed, Zone: loc, StartText: o.Start, EndText: o.End, Gap: Gap(o.Gap), Fold: Fold(o.Fold),
	})
}

func parseInterval(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	var faults ruqi.Faults
	if len(text) > longestText {
		return nil, tooLong("/every", text)
	}
	w := intervalWords{start: o.Start, end: o.End}
	if strings.Contains(text, "=") {
		w.read(text, &faults)
	} else {
		every, ok := parseLength(text)
		if !ok {
			faults.Add("/every", text, "every: %q is not a length of time (accepted: 90s, 1h30m, 2d, 5 seconds, every 5 minutes, 1 week, or %s)%s", clip(text), intervalNames, nearestUnit(text))
		}
		w.every, w.named = every, map[string]string{"/every": "every"}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	t, err := Interval(w.every, IntervalOptions{Zone: loc, StartText: w.start, EndText: w.end})
	if err == nil {
		return t, nil
	}
	var invalid *ruqi.InvalidError
	if errors.As(err, &invalid) {
		for i, f := range invalid.Faults {
			if name := w.named[f.Pointer]; name != "" {
				invalid.Faults[i].Message = name + ": " + f.Message
			}
		}
	}
	return nil, err
}

const intervalNames = "weeks= days= hours= minutes= seconds= start_date= end_date="

// nearestName returns what to write for a wrong name, one of those that end with = in known; empty when none is near.
func nearestName(wrong, known string) string {
	near := nearest(wrong, strings.Fields(strings.ReplaceAll(known, "=", "")))
	if near == "" {
		return ""
	}
	return "; write " + near + "="
}

// nearestUnit returns what to write for the first wrong unit of a length in words; empty when none is near.
func nearestUnit(text string) string {
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if _, right := lengthUnits[strings.TrimSuffix(word, "s")]; right {
			continue
		}
		if near := nearest(word, []string{"seconds", "minutes", "hours", "days", "weeks"}); near != "" {
			return "; write " + near
		}
	}
	return ""
}

// intervalWords collects the words of the form "hours=1 start_date=2026-01-01".
type intervalWords struct {
	every      time.Duration
	start, end string
	named      map[string]string // by pointer, the word a value came from
}

func (w *intervalWords) read(text string, faults *ruqi.Faults) {
	units := map[string]time.Duration{
		"weeks": duration.Week, "days": duration.Day, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second,
	}
	w.named = map[string]string{}
	seen := map[string]bool{}
	for _, word := range splitQuoted(text) {
		name, value, _ := strings.Cut(word, "=")
		if seen[name] {
			faults.Add("/every", word, "%s: given twice", clip(name))
			continue
		}
		seen[name] = true
		switch name {
		case "start_date":
			w.readDate(name, value, "/start", &w.start, faults)
		case "end_date":
			w.readDate(name, value, "/end", &w.end, faults)
		default:
			unit, known := units[name]
			if !known {
				faults.Add("/every", word, "%s: unknown word; accepted are %s%s", clip(name), intervalNames, nearestName(name, intervalNames))
				continue
			}
			w.named["/every"] = name
			n, err := strconv.ParseInt(value, 10, 64)
			switch {
			case err != nil && !errors.Is(err, strconv.ErrRange) || strings.HasPrefix(value, "+"):
				faults.Add("/every", word, "%s: %q is not a whole number", name, clip(value))
			case n < 0:
				faults.Add("/every", word, "%s: %s is below zero", name, clip(value))
			case err != nil || n > int64(math.MaxInt64-w.every)/int64(unit):
				faults.Add("/every", word, "%s: %s is too much, 292 years are the most", name, clip(value))
			default:
				w.every += time.Duration(n) * unit
			}
		}
	}
}

func (w *intervalWords) readDate(name, value, pointer string, into *string, faults *ruqi.Faults) {
	switch {
	case *into != "":
		faults.Add(pointer, value, "%s: given twice", name)
	case value == "":
		faults.Add(pointer, value, "%s: there is no date after the =", name)
	default:
		*into = value
		w.named[pointer] = name
	}
}

// splitQuoted splits at blanks that are not in single quotes, and takes the quotes
// off.
func splitQuoted(text string) []string {
	var list []string
	var b strings.Builder
	quoted, inside := false, false
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\'':
			quoted, inside = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if inside {
				list = append(list, b.String())
				b.Reset()
				inside = false
			}
		default:
			inside = true
			b.WriteByte(c)
		}
	}
	if inside {
		list = append(list, b.String())
	}
	return list
}

// lengthUnits are the words for units, in the singular.
var lengthUnits = map[string]time.Duration{
	"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute,
	"hour": time.Hour, "day": duration.Day, "week": duration.Week,
}

// parseLength reads a length of time in words ("5 minutes", "every hour", "1 hour 30
// minutes") or in short ("1h30m").
func parseLength(text string) (time.Duration, bool) {
	list := strings.Fields(strings.ToLower(text))
	if len(list) > 1 && list[0] == "every" {
		list = list[1:]
	}
	if len(list) == 1 {
		if unit, ok := lengthUnits[list[0]]; ok {
			return unit, true
		}
		d, err := duration.Parse(list[0])
		return d, err == nil
	}
	var total time.Duration
	for pair := range slices.Chunk(list, 2) {
		if len(pair) < 2 {
			return 0, false
		}
		unit, known := lengthUnits[strings.TrimSuffix(pair[1], "s")]
		n, err := strconv.ParseUint(pair[0], 10, 63)
		if !known || err != nil || int64(n) > int64(math.MaxInt64-total)/int64(unit) {
			return 0, false
		}
		total += time.Duration(n) * unit
	}
	return total, len(list) > 0
}

func parseDate(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	if len(text) > longestText {
		return nil, tooLong("/at", text)
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	length, relative := strings.CutPrefix(lower, "in ")
	if !relative && lower != "now" {
		return DateText(strings.TrimSpace(text), loc)
	}
	if o.Now.IsZero() {
		return nil, ruqi.Invalid("/at", text, "date: %q depends on the moment it is asked; give a date", clip(text))
	}
	at := o.Now
	if relative {
		d, ok := parseLength(length)
		if !ok {
			return nil, ruqi.Invalid("/at", text, "date: %q is not a length of time (accepted: in 5 minutes, in 1h30m)", clip(length))
		}
		at = at.Add(d)
	}
	t := Date(at)
	if t.fault != nil {
		return nil, t.fault
	}
	if loc == nil {
		return t, nil
	}
	return t.Bind(loc, time.Time{}, "")
}
