package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An ExceptTrigger fires when another trigger does, but for the days and times that its parts hold. It implements ruqi.Binder,
// ruqi.Bound, ruqi.Stepper, ruqi.Ender, ruqi.Elapser, ruqi.Searcher, ruqi.Matcher, ruqi.Describer and ruqi.Explainer.
type ExceptTrigger struct{ sieve }

var (
	_ ruqi.Binder    = (*ExceptTrigger)(nil)
	_ ruqi.Bound     = (*ExceptTrigger)(nil)
	_ ruqi.Stepper   = (*ExceptTrigger)(nil)
	_ ruqi.Ender     = (*ExceptTrigger)(nil)
	_ ruqi.Elapser   = (*ExceptTrigger)(nil)
	_ ruqi.Searcher  = (*ExceptTrigger)(nil)
	_ ruqi.Matcher   = (*ExceptTrigger)(nil)
	_ ruqi.Describer = (*ExceptTrigger)(nil)
	_ ruqi.Explainer = (*ExceptTrigger)(nil)
)

// Except returns a trigger that fires when of does, but not on the days and at the times of the parts. Days are those of the zone of
// of; parts without a zone live there. What is wrong is told by Bind.
//
//	every day at 9, except holidays:   Except(Crontab("0 9 * * *"), Days(holidays))
//	the last working day of the month: Except(Crontab("0 18 L * *"), Days(weekend), Days(holidays)).Else(ElsePrevious)
//	the first Monday, unless a holiday,
//	then the next working day:         Except(Crontab("0 9 * * mon#1"), Days(weekend), Days(holidays)).Else(ElseNext)
func Except(of ruqi.Trigger, not ...Part) *ExceptTrigger { return newExcept(of, not, ElseSkip) }

func newExcept(of ruqi.Trigger, not []Part, otherwise Else) *ExceptTrigger {
	t := &ExceptTrigger{sieve{of: of, held: not, otherwise: otherwise}}
	t.prepare(t)
	return t
}

// Else returns the trigger with another answer to what becomes of a fire time on a day that is left out. For ElseNext and
// ElsePrevious all parts are days.
func (t *ExceptTrigger) Else(e Else) *ExceptTrigger { return newExcept(t.of, t.held, e) }

// Kind returns "except".
func (t *ExceptTrigger) Kind() string { return "except" }

// String returns the canonical text, which is the canonical JSON.
func (t *ExceptTrigger) String() string { return textOf(t) }

// Bind binds the trigger, and the parts in its zone. Parts that leave nothing over are refused. The error is an *ruqi.InvalidError.
func (t *ExceptTrigger) Bind(loc *time.Location, anchor time.Time, seed string) (ruqi.Trigger, error) {
	return t.bindWith(newBinder(anchor, seed), loc)
}

func (t *ExceptTrigger) bindWith(b *binder, loc *time.Location) (ruqi.Trigger, error) {
	of, not, err := t.bind(b, "not", loc)
	if err != nil {
		return nil, err
	}
	bound := newExcept(of, not, t.otherwise)
	if !b.mayFire(bound) && b.mayFire(of) {
		return nil, ruqi.Invalid("/not", "", "it leaves out every fire time, so it never fires")
	}
	return bound, nil
}

// Reanchor moves the trigger, and those parts that count elapsed time from an anchor, too. ok is false when the trigger does not.
func (t *ExceptTrigger) Reanchor(anchor time.Time) (ruqi.Trigger, bool) {
	of, not, ok := t.reanchor(anchor)
	if !ok {
		return nil, false
	}
	return newExcept(of, not, t.otherwise), true
}

// Next returns the first fire time strictly after the instant after. Where parts leave out every fire time for long the search is
// bounded: see Search.
func (t *ExceptTrigger) Next(after time.Time) (time.Time, bool) { return searchNext(t, t.zone, after) }

// Search is Next in one bounded search; it implements ruqi.Searcher.
func (t *ExceptTrigger) Search(after time.Time) (at, until time.Time, ok bool) {
	return searchOnce(t, t.zone, after)
}

// Prev returns the last fire time strictly before the instant before.
func (t *ExceptTrigger) Prev(before time.Time) (time.Time, bool) {
	at, ok, _ := searchPrev(t, t.zone, before)
	return at, ok
}

// GaveUp reports of an instant before which Prev finds no fire time whether there may be one all the same, since the search for it was given up.
func (t *ExceptTrigger) GaveUp(before time.Time) bool {
	_, _, gaveUp := searchPrev(t, t.zone, before)
	return gaveUp
}

// Count returns how many fire times lie in (after, until]; negative when they are too many to count one by one, as they are only
// where fire times are moved or held against another trigger.
func (t *ExceptTrigger) Count(after, until time.Time) int64 { return searchCount(t, after, until) }

// Matches reports whether the trigger fires at exactly this instant.
func (t *ExceptTrigger) Matches(at time.Time) bool { return searchAt(t, at) }

// Describe names the trigger, what is left out, and what becomes of it.
func (t *ExceptTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *ExceptTrigger) describe(in ruqi.Language, changes bool) string {
	if in == ruqi.Chinese {
		return describe(t.of, in, changes) + "，但" + t.describeHeld(in, changes, "不含", "除去") + t.otherwise.describe(in)
	}
	return describe(t.of, in, changes) + ", " + t.describeHeld(in, changes, "except on", "except for the times") + t.otherwise.describe(in)
}

// Explain returns what rules the instant out: of the trigger, and the parts that hold it.
func (t *ExceptTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	return t.explain(t, "not", at, in)
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"except","of":{"kind":"cron",…},"not":[{"calendar":"holidays","version":3},{"days":{"weekdays":["sat","sun"]}}],"else":"skip"}
//
// in one line. For a wrong trigger it returns the fault.
func (t *ExceptTrigger) MarshalJSON() ([]byte, error) { return t.encode(t.Kind(), "not") }

// except decodes the JSON form.
func (r reader) except(data []byte) (ruqi.Trigger, error) {
	of, not, otherwise, err := r.sieve(data, "except", "not")
	if err != nil {
		return nil, err
	}
	t := newExcept(of, not, otherwise)
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}
