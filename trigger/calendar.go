package trigger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// CalendarOptions say when a calendar trigger fires. The zero value has no step and is refused.
type CalendarOptions struct {
	// Years, Months, Weeks and Days are the step from one date to the next, together; at least one is more than zero. Years
	// and months keep the day of the month, and are added again until that date exists: monthly from 31 January is 31
	// March, 31 May, … Weeks and days are added then.
	Years, Months, Weeks, Days int
	// Hour, Minute and Second are the time of day. Zero: midnight.
	Hour, Minute, Second int
	// Start and End are the first and the last instant at which the trigger may fire, inclusive; the chain of dates
	// begins with the date of the start. Without a start it begins on the day the trigger is bound, and fires after that moment. The
	// fraction of a microsecond is cut.
	Start, End *time.Time
	// StartText and EndText are the same as text: "2026-03-01", which means all of that day, or "2026-03-01 10:00"; without an
	// offset they are read in the trigger's zone. Empty: not given. Not both a time and a text.
	StartText, EndText string
	// Zone is where the wall clock hangs; it must have an IANA name. Nil: the one Bind is given.
	Zone *time.Location
	// Gap and Fold are about clock changes. Empty: GapRunAfter, FoldAuto (which is the first time).
	Gap  Gap
	Fold Fold
}

// A CalendarTrigger fires at one time of day on a chain of dates: every third day, the 15th of every other month. A day is one on the
// calendar, whatever the clock does. It implements ruqi.Binder, ruqi.Bound, ruqi.Stepper, ruqi.Ender, ruqi.Matcher,
// ruqi.Describer and ruqi.Explainer.
type CalendarTrigger struct {
	years, months, weeks, days int
	hour, minute, second       int
	anchor                     int64 // microseconds; none until bound, and when there is a start
	zone                       *zone // nil until bound
	term                       term
	gap                        Gap
	fold                       Fold
	clock                      *wallClock // nil until there is a first date
	fault                      error
}

var (
	_ ruqi.Binder    = (*CalendarTrigger)(nil)
	_ ruqi.Bound     = (*CalendarTrigger)(nil)
	_ ruqi.Stepper   = (*CalendarTrigger)(nil)
	_ ruqi.Ender     = (*CalendarTrigger)(nil)
	_ ruqi.Matcher   = (*CalendarTrigger)(nil)
	_ ruqi.Describer = (*CalendarTrigger)(nil)
	_ ruqi.Explainer = (*CalendarTrigger)(nil)
)

// Calendar returns a calendar trigger, or an *ruqi.InvalidError with every fault; the pointers are those of the JSON form
// ("/days", "/hour", "/zone", …).
func Calendar(o CalendarOptions) (*CalendarTrigger, error) {
	t := newCalendar(o)
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}

func newCalendar(o CalendarOptions) *CalendarTrigger {
	t := &CalendarTrigger{
		years: o.Years, months: o.Months, weeks: o.Weeks, days: o.Days, hour: o.Hour, minute: o.Minute, second: o.Second,
		anchor: none, gap: o.Gap, fold: o.Fold,
	}
	var faults ruqi.Faults
	total, wrong := 0, false
	for _, part := range []struct {
		name     string
		n, least int
		most     int
		step     bool
	}{
		// The longest steps are those that fit in the years 1 to 9999.
		{"years", o.Years, 0, 9998, true}, {"months", o.Months, 0, 12 * 9998, true},
		{"weeks", o.Weeks, 0, 521_000, true}, {"days", o.Days, 0, 3_650_000, true},
		{"hour", o.Hour, 0, 23, false}, {"minute", o.Minute, 0, 59, false}, {"second", o.Second, 0, 59, false},
	} {
		if part.n < part.least || part.n > part.most {
			faults.Add("/"+part.name, fmt.Sprint(part.n), "%d is out of range (%d-%d)", part.n, part.least, part.most)
			wrong = wrong || part.step
		} else if part.step {
			total += part.n
		}
	}
	if total == 0 && !wrong {
		faults.Add("/days", "", "interval: there is no step; give years, months, weeks or days of more than zero")
	}
	if o.Zone != nil {
		var err error
		t.zone, err = zoneOf(o.Zone)
		faults.Merge("/zone", err)
	}
	t.gap, t.fold = readRules(t.gap, t.fold, &faults)
	t.term = readTerm(o.Start, o.StartText, o.End, o.EndText, t.zone, &faults)
	if t.fault = faults.Err(); t.fault == nil {
		t.wind()
	}
	return t
}

// readRules applies the defaults of gap and fold.
func readRules(gap Gap, fold Fold, faults *ruqi.Faults) (Gap, Fold) {
	switch gap {
	case "":
		gap = GapRunAfter
	case GapRunAfter, GapShift, GapSkip:
	default:
		faults.Add("/gap", string(gap), "%q is not one of run_after, shift, skip%s", clip(string(gap)), object.DidYouMean(gap, GapRunAfter, GapShift, GapSkip))
	}
	switch fold {
	case "":
		fold = FoldAuto
	case FoldAuto, FoldFirst, FoldBoth, FoldSecond:
	default:
		faults.Add("/fold", string(fold), "%q is not one of auto, first, both, second%s", clip(string(fold)), object.DidYouMean(fold, FoldAuto, FoldFirst, FoldBoth, FoldSecond))
	}
	return gap, fold
}

// wind makes the clock, once the first date is known.
func (t *CalendarTrigger) wind() {
	started := t.term.start.kind != edgeNone
	if !started && t.anchor == none {
		return
	}
	z := t.zone
	if z == nil {
		z = utc
	}
	from, to := t.term.seconds()
	var first int64
	if started {
		first = t.term.start.day(z)
	} else {
		first = z.dayOf(t.anchor)
		from = max(from, floorSeconds(t.anchor)+1)
	}
	t.clock = &wallClock{
		times: &dayTimes{
			days: newChain(first, int64(12*t.years+t.months), int64(7*t.weeks+t.days)),
			secs: []int32{int32(t.hour*3600 + t.minute*60 + t.second)},
		},
		zone: z, rules: rulesOf(t.gap, t.fold, false), from: from, to: to,
	}
}

// Kind returns "calendar".
func (t *CalendarTrigger) Kind() string { return "calendar" }

// Bind returns the trigger with what it lacks: the zone, in which start and end are read, and the anchor unless it has a
// start. The anchor is no fire time itself. The error is an *ruqi.InvalidError.
func (t *CalendarTrigger) Bind(loc *time.Location, anchor time.Time, _ string) (ruqi.Trigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	if t.zone != nil && t.clock != nil {
		return t, nil
	}
	bound := *t
	var faults ruqi.Faults
	bound.zone, bound.term = bindTerm(t.zone, loc, t.term, &faults)
	if bound.term.start.kind == edgeNone && bound.anchor == none {
		bound.anchor = bindAnchor(anchor, &faults)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	bound.wind()
	return &bound, nil
}

// bindTerm returns the zone, loc if there is none yet, and the term read there.
func bindTerm(z *zone, loc *time.Location, t term, faults *ruqi.Faults) (*zone, term) {
	if z != nil {
		return z, t
	}
	z, err := zoneOf(loc)
	if faults.Merge("/zone", err); err != nil {
		return nil, t
	}
	return z, t.in(z, faults)
}

func bindAnchor(anchor time.Time, faults *ruqi.Faults) int64 {
	micros, ok := fromTime(anchor)
	if !ok {
		faults.Add("/anchor", anchor.String(), outOfRange)
	}
	return micros
}

// Binding returns the zone, nil before Bind, and the anchor, the zero time before Bind and when there is a start.
func (t *CalendarTrigger) Binding() (*time.Location, time.Time) { return binding(t.zone, t.anchor) }

func binding(z *zone, anchor int64) (loc *time.Location, at time.Time) {
	if z != nil {
		loc = z.loc
	}
	if anchor != none {
		at = z.timeMicro(anchor)
	}
	return loc, at
}

// String returns the canonical text: "months=1 hour=9 start_date=2026-01-31". Parse reads it back.
func (t *CalendarTrigger) String() string {
	var b strings.Builder
	for _, part := range []struct {
		name string
		n    int
	}{
		{"years", t.years}, {"months", t.months}, {"weeks", t.weeks}, {"days", t.days}, {"hour", t.hour}, {"minute", t.minute}, {"second", t.second},
	} {
		if part.n != 0 {
			fmt.Fprintf(&b, " %s=%d", part.name, part.n)
		}
	}
	if t.term.start.kind != edgeNone {
		b.WriteString(" start_date=" + t.term.start.text(t.zone))
	}
	if t.term.end.kind != edgeNone {
		b.WriteString(" end_date=" + t.term.end.text(t.zone))
	}
	return strings.TrimPrefix(b.String(), " ")
}

// EndTime returns the end, inclusive, if one was given: of a bare date the last microsecond.
func (t *CalendarTrigger) EndTime() (time.Time, bool) {
	return t.zone.timeMicro(t.term.end.micros), t.term.end.kind != edgeNone
}

// Next returns the first fire time strictly after the instant after. A trigger without start has none before it is
// bound. It does not allocate, but for the marks of a step of both months and days.
func (t *CalendarTrigger) Next(after time.Time) (time.Time, bool) {
	if t.clock == nil {
		return time.Time{}, false
	}
	return t.clock.next(after)
}

// Prev returns the last fire time strictly before the instant before.
func (t *CalendarTrigger) Prev(before time.Time) (time.Time, bool) {
	if t.clock == nil {
		return time.Time{}, false
	}
	return t.clock.prev(before)
}

// Count returns how many fire times lie in (after, until], exactly.
func (t *CalendarTrigger) Count(after, until time.Time) int64 {
	if t.clock == nil {
		return 0
	}
	return t.clock.count(after, until)
}

// Matches reports whether the trigger fires at exactly this instant.
func (t *CalendarTrigger) Matches(at time.Time) bool { return t.clock != nil && t.clock.matches(at) }

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"calendar","years":0,"months":1,"weeks":0,"days":0,"hour":9,"minute":0,"second":0,"anchor":null,
//	 "zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":"2026-03-01","end":null}
//
// in one line; zone and anchor are null before Bind, anchor also when there is a start. For a wrong trigger it returns the
// fault.
func (t *CalendarTrigger) MarshalJSON() ([]byte, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	return json.Marshal(struct {
		Kind   string  `json:"kind"`
		Years  int     `json:"years"`
		Months int     `json:"months"`
		Weeks  int     `json:"weeks"`
		Days   int     `json:"days"`
		Hour   int     `json:"hour"`
		Minute int     `json:"minute"`
		Second int     `json:"second"`
		Anchor *string `json:"anchor"`
		Zone   *string `json:"zone"`
		Gap    Gap     `json:"gap"`
		Fold   Fold    `json:"fold"`
		Start  *string `json:"start"`
		End    *string `json:"end"`
	}{t.Kind(), t.years, t.months, t.weeks, t.days, t.hour, t.minute, t.second, microsText(t.anchor, t.zone), t.zone.name(),
		t.gap, t.fold, t.term.start.json(t.zone), t.term.end.json(t.zone)})
}

// microsText returns an instant as the JSON has it, nil for none.
func microsText(micros int64, z *zone) *string {
	if micros == none {
		return nil
	}
	text := formatMicros(micros, z)
	return &text
}

// DecodeCalendar reads the JSON form of a calendar trigger. A step is required, of years, months, weeks and days together; a member that is
// null counts as not given. The error is an *ruqi.InvalidError with every fault.
func DecodeCalendar(data []byte) (ruqi.Trigger, error) {
	d, err := decodeObject(data, "calendar")
	if err != nil {
		return nil, err
	}
	o := CalendarOptions{
		Years: d.number("years", 1), Months: d.number("months", 1), Weeks: d.number("weeks", 1), Days: d.number("days", 1),
		Hour: d.number("hour", 0), Minute: d.number("minute", 0), Second: d.number("second", 0),
		Zone: d.zone(), StartText: d.text("start"), EndText: d.text("end"), Gap: Gap(d.text("gap")), Fold: Fold(d.text("fold")),
	}
	if d.misspelled(calendarMembers, "years", "months", "weeks", "days") && o.Years == 0 && o.Months == 0 && o.Weeks == 0 && o.Days == 0 {
		o.Days = 1 // what should have been the step has been spoken of
	}
	t := newCalendar(o)
	d.faults.Merge("", t.fault)
	if anchor := d.anchor(t.term.start.kind != edgeNone); anchor != none && t.fault == nil {
		t.anchor = anchor
		t.wind()
	}
	d.Done(calendarMembers...)
	if err := d.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}
