package trigger

import (
	"encoding/json"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// EveryOptions go with the words of an every trigger. The zero value is ready for use.
type EveryOptions struct {
	// Zone is where the wall clock hangs; it must have an IANA name. Nil: the one Bind is given.
	Zone *time.Location
	// Start and End are the first and the last instant at which the trigger may fire, inclusive. Nil: no bound. What fires once
	// has none. The fraction of a microsecond is cut.
	Start, End *time.Time
	// StartText and EndText are the same as text, such as "2026-03-01" or "2026-03-01 10:00"; without an offset they are
	// read in the trigger's zone. A bare date means all of that day where the words name a time of day, and 00:00 where they
	// name a length of time. Empty: not given. Not both a time and a text; and no end where the words say until.
	StartText, EndText string
	// Gap and Fold are about clock changes, for words that name a time of day. Empty: GapRunAfter, FoldAuto.
	Gap  Gap
	Fold Fold
}

// An EveryTrigger is a time in words:
//
//   - "every 10 minutes", "every hour": elapsed time, counted from the moment it is bound, with units from second to week.
//     Bound it is an interval trigger.
//   - "every 5 to 10 minutes": at random, each fire time that long after the one before, the same on every instance.
//   - "every day at 10:30", "every weekday at 09:00, 17:00", "every monday, thursday at 13:15:30", "every monday" (at 00:00): on the
//     wall clock.
//   - "every 3 days at 09:00", "every 2 weeks on monday at 09:00": on the calendar, from the day it is bound or the start, or the first monday
//     from there on.
//   - "every month on the 1st, 15th and last day at 09:00", "every year on march 15 at 9:30pm": on those dates, where there are such.
//   - "every minute at :30", "every hour at :15": on the wall clock, following the real time through a clock change.
//   - "in 5 minutes", "now", "at 2030-06-01 09:30": once. A date is a date trigger when it is bound.
//
// All but those that fire once may end with "until 2030-01-01" or "until 2030-01-01 10:00", inclusive. It implements
// ruqi.Binder, ruqi.Bound, ruqi.Stepper, ruqi.Ender, ruqi.Elapser, ruqi.Matcher, ruqi.Describer and ruqi.Explainer.
type EveryTrigger struct {
	saying saying
	anchor int64   // microseconds; none until bound, and when there is a start
	seed   *string // of a random interval; nil until bound
	zone   *zone   // nil until bound
	term   term
	gap    Gap
	fold   Fold
	clock  *wallClock // of words about the time of day, once there is a first date
	fault  error      // what Words returns at once and the builder leaves for Bind to tell
}

var (
	_ ruqi.Binder    = (*EveryTrigger)(nil)
	_ ruqi.Bound     = (*EveryTrigger)(nil)
	_ ruqi.Stepper   = (*EveryTrigger)(nil)
	_ ruqi.Ender     = (*EveryTrigger)(nil)
	_ ruqi.Elapser   = (*EveryTrigger)(nil)
	_ ruqi.Matcher   = (*EveryTrigger)(nil)
	_ ruqi.Describer = (*EveryTrigger)(nil)
	_ ruqi.Explainer = (*EveryTrigger)(nil)
)

// Words reads a time in words; "every" may be left out in front. The error is an *ruqi.InvalidError with every fault; the
// pointers are those of the JSON form ("/text", "/zone", …).
func Words(text string, o EveryOptions) (*EveryTrigger, error) {
	s, until, err := readWords(text)
	if err != nil {
		var faults ruqi.Faults
		faults.Add("/text", text, "every: %v", err)
		_, fault := newEvery(saying{form: formInterval, length: microsecond}, "", o).settled()
		faults.Merge("", fault)
		return nil, faults.Err()
	}
	return newEvery(s, until, o).settled()
}

func (t *EveryTrigger) settled() (*EveryTrigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}

func newEvery(s saying, until string, o EveryOptions) *EveryTrigger {
	t := &EveryTrigger{saying: s, anchor: none, gap: o.Gap, fold: o.Fold}
	var faults ruqi.Faults
	if o.Zone != nil {
		var err error
		t.zone, err = zoneOf(o.Zone)
		faults.Merge("/zone", err)
	}
	if s.form.once() && (o.Start != nil || o.StartText != "") {
		faults.Add("/start", o.StartText, "what fires once has no start")
	}
	if s.form.once() && (o.End != nil || o.EndText != "") {
		faults.Add("/end", o.EndText, "what fires once has no end")
	}
	if until != "" {
		if o.End != nil || o.EndText != "" {
			faults.Add("/end", o.EndText, "the words name an end, too; give one of them")
		}
		o.End, o.EndText = nil, until
	}
	if !s.form.wall() {
		t.refuseRules(&faults)
	}
	t.gap, t.fold = readRules(t.gap, t.fold, &faults)
	t.term = term{t.readEdge(o.Start, o.StartText, "start", &faults), t.readEdge(o.End, o.EndText, "end", &faults)}.in(t.zone, &faults)
	if s.form == formAt {
		if _, err := s.at.resolve(t.zone, "/text", "every: "); err != nil {
			faults.Merge("", err)
		}
	}
	if t.fault = faults.Err(); t.fault == nil {
		t.wind()
	}
	return t
}

// refuseRules notes rules about the wall clock that the words do not name.
func (t *EveryTrigger) refuseRules(faults *ruqi.Faults) {
	const message = "it concerns times of day, and these words name none"
	if t.gap != "" && t.gap != GapRunAfter {
		faults.Add("/gap", string(t.gap), message)
		t.gap = ""
	}
	if t.fold != "" && t.fold != FoldAuto {
		faults.Add("/fold", string(t.fold), message)
		t.fold = ""
	}
}

// readEdge reads a start or an end. Where the words name a length of time a bare date means 00:00, as for an interval trigger.
func (t *EveryTrigger) readEdge(at *time.Time, text, what string, faults *ruqi.Faults) edge {
	e := readEdge(at, text, what, faults)
	if e.kind == edgeDate && !t.saying.form.wall() {
		e.kind = edgeWall
	}
	return e
}

// wind makes the clock of words about the time of day, once the first date is known.
func (t *EveryTrigger) wind() {
	if !t.saying.form.wall() {
		return
	}
	z := t.zone
	if z == nil {
		z = utc
	}
	c := &wallClock{zone: z, rules: rulesOf(t.gap, t.fold, t.saying.form == formBeat)}
	c.from, c.to = t.term.seconds()
	switch t.saying.form {
	case formWeekdays:
		c.times = &dayTimes{t.saying.on, t.saying.secs}
	case formDates:
		c.times = &dayTimes{t.saying.dates, t.saying.secs}
	case formBeat:
		c.times = &t.saying.beat
	case formDays:
		var first int64
		switch {
		case t.term.start.kind != edgeNone:
			first = t.term.start.day(z)
		case t.anchor != none:
			first = z.dayOf(t.anchor)
			c.from = max(c.from, floorSeconds(t.anchor)+1)
		default:
			return
		}
		c.times = &dayTimes{newChain(t.saying.first(first), 0, t.saying.days), t.saying.secs}
	}
	t.clock = c
}

// Kind returns "every".
func (t *EveryTrigger) Kind() string { return "every" }

// Bind returns the trigger with what it lacks: the zone, the anchor of words that count from one, unless there is a start,
// and the seed of a random interval. Words that an interval or a date trigger can say become one. The error is an *ruqi.InvalidError.
func (t *EveryTrigger) Bind(loc *time.Location, anchor time.Time, seed string) (ruqi.Trigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	bound := *t
	var faults ruqi.Faults
	bound.zone, bound.term = bindTerm(t.zone, loc, t.term, &faults)
	if faults.Err() == nil {
		switch t.saying.form {
		case formInterval:
			return bound.interval(anchor)
		case formAt:
			return bound.date()
		}
	}
	if t.saying.form.anchored() && bound.anchor == none && bound.term.start.kind == edgeNone {
		bound.anchor = bindAnchor(anchor, &faults)
	}
	if t.saying.form == formRandom && bound.seed == nil {
		bound.seed = &seed
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	bound.wind()
	return &bound, nil
}

// interval returns the interval trigger that the words mean.
func (t *EveryTrigger) interval(anchor time.Time) (ruqi.Trigger, error) {
	i := &IntervalTrigger{every: t.saying.length, anchor: t.anchor, start: t.term.start.micros, end: t.term.end.micros, zone: t.zone}
	return i.Bind(t.zone.loc, anchor, "")
}

// date returns the date trigger that the words mean.
func (t *EveryTrigger) date() (ruqi.Trigger, error) {
	at, err := t.saying.at.resolve(t.zone, "/text", "every: ")
	if err != nil {
		return nil, err
	}
	return &DateTrigger{at: at, zone: t.zone}, nil
}

// Binding returns the zone, nil before Bind, and the anchor, the zero time before Bind and when there is none.
func (t *EveryTrigger) Binding() (*time.Location, time.Time) { return binding(t.zone, t.anchor) }

// EndTime returns the end, inclusive, if one was given: of a day the last microsecond.
func (t *EveryTrigger) EndTime() (time.Time, bool) {
	return t.zone.timeMicro(t.term.end.micros), t.term.end.kind != edgeNone
}

// Reanchor implements ruqi.Elapser: a random interval, counted from the anchor on. ok is false for all other words, and for a random
// interval with a start or one that is not bound.
func (t *EveryTrigger) Reanchor(anchor time.Time) (ruqi.Trigger, bool) {
	if t.saying.form != formRandom || t.anchor == none {
		return nil, false
	}
	moved := *t
	moved.anchor = anchor.UnixMicro()
	return &moved, true
}

// LongestGap returns the longest time between two fire times of a random interval; 0 for other words.
func (t *EveryTrigger) LongestGap() time.Duration {
	return time.Duration(t.saying.to) * time.Microsecond
}

// String returns the words in their canonical form, with the end.
func (t *EveryTrigger) String() string {
	text := t.saying.text()
	if t.term.end.kind != edgeNone {
		text += " until " + t.term.end.text(t.zone)
	}
	return text
}

// single returns the one fire time of words that fire once, in microseconds; before Bind there is none.
func (t *EveryTrigger) single() (at int64, ok bool) {
	switch {
	case t.fault != nil:
	case t.saying.form == formIn && t.anchor != none:
		return t.anchor + t.saying.length, t.anchor+t.saying.length <= latest*microsecond
	case t.saying.form == formAt:
		at, err := t.saying.at.resolve(t.zone, "", "")
		return at, err == nil
	}
	return 0, false
}

// Next returns the first fire time strictly after the instant after. Words that count from an anchor have none before
// Bind. It does not allocate.
func (t *EveryTrigger) Next(after time.Time) (time.Time, bool) {
	if t.clock != nil {
		return t.clock.next(after)
	}
	if t.saying.form == formRandom {
		return t.nextRandom(after)
	}
	if at, ok := t.single(); ok && at > clampMicros(after, false) {
		return t.zone.timeMicro(at), true
	}
	return time.Time{}, false
}

// Prev returns the last fire time strictly before the instant before.
func (t *EveryTrigger) Prev(before time.Time) (time.Time, bool) {
	if t.clock != nil {
		return t.clock.prev(before)
	}
	if t.saying.form == formRandom {
		return t.prevRandom(before)
	}
	if at, ok := t.single(); ok && at < clampMicros(before, true) {
		return t.zone.timeMicro(at), true
	}
	return time.Time{}, false
}

// Count returns how many fire times lie in (after, until], exactly.
func (t *EveryTrigger) Count(after, until time.Time) int64 {
	if t.clock != nil {
		return t.clock.count(after, until)
	}
	if t.saying.form == formRandom {
		return t.countRandom(after, until)
	}
	if at, ok := t.single(); ok && at > clampMicros(after, false) && at <= clampMicros(until, false) {
		return 1
	}
	return 0
}

// Matches reports whether the trigger fires at exactly this instant.
func (t *EveryTrigger) Matches(at time.Time) bool {
	next, ok := t.Next(at.Add(-time.Nanosecond))
	return ok && next.Equal(at)
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"every","text":"every monday at 13:15","anchor":null,"seed":null,"zone":"Europe/Berlin",
//	 "gap":"run_after","fold":"auto","start":null,"end":"2030-01-01"}
//
// in one line; zone and anchor are null before Bind, anchor also for words that do not count from one, and seed for all but a random
// interval. What the words said after until is the end. For a wrong trigger it returns the fault.
func (t *EveryTrigger) MarshalJSON() ([]byte, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	return json.Marshal(struct {
		Kind   string  `json:"kind"`
		Text   string  `json:"text"`
		Anchor *string `json:"anchor"`
		Seed   *string `json:"seed"`
		Zone   *string `json:"zone"`
		Gap    Gap     `json:"gap"`
		Fold   Fold    `json:"fold"`
		Start  *string `json:"start"`
		End    *string `json:"end"`
	}{t.Kind(), t.saying.text(), microsText(t.anchor, t.zone), t.seed, t.zone.name(), t.gap, t.fold,
		t.term.start.json(t.zone), t.term.end.json(t.zone)})
}

// DecodeEvery reads the JSON form of an every trigger. Only text is required; a member that is null counts as not given, and so do an anchor and a
// seed of words that have none. The error is an *ruqi.InvalidError with every fault.
func DecodeEvery(data []byte) (ruqi.Trigger, error) {
	d, err := decodeObject(data, "every")
	if err != nil {
		return nil, err
	}
	text, given := d.Need("text")
	o := EveryOptions{Zone: d.zone(), StartText: d.text("start"), EndText: d.text("end"), Gap: Gap(d.text("gap")), Fold: Fold(d.text("fold"))}
	t, err := Words(text, o)
	if given {
		d.faults.Merge("", err)
	}
	seed, seeded := d.Text("seed")
	anchor := d.anchor(t != nil && t.term.start.kind != edgeNone)
	// Words that were changed may stand beside the anchor and the seed of those before, which they have no use for.
	if t != nil && seeded && t.saying.form == formRandom {
		t.seed = &seed
	}
	if t != nil && t.saying.form.anchored() {
		t.anchor = anchor
		t.wind()
	}
	d.Done("kind", "text", "anchor", "seed", "zone", "gap", "fold", "start", "end")
	if err := d.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}
