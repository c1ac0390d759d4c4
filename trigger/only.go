package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An OnlyTrigger fires when another trigger does, on the days and at the times that one of its parts holds. It implements ruqi.Binder,
// ruqi.Bound, ruqi.Stepper, ruqi.Ender, ruqi.Elapser, ruqi.Searcher, ruqi.Matcher, ruqi.Describer and ruqi.Explainer.
type OnlyTrigger struct{ sieve }

var (
	_ ruqi.Binder    = (*OnlyTrigger)(nil)
	_ ruqi.Bound     = (*OnlyTrigger)(nil)
	_ ruqi.Stepper   = (*OnlyTrigger)(nil)
	_ ruqi.Ender     = (*OnlyTrigger)(nil)
	_ ruqi.Elapser   = (*OnlyTrigger)(nil)
	_ ruqi.Searcher  = (*OnlyTrigger)(nil)
	_ ruqi.Matcher   = (*OnlyTrigger)(nil)
	_ ruqi.Describer = (*OnlyTrigger)(nil)
	_ ruqi.Explainer = (*OnlyTrigger)(nil)
)

// Only returns a trigger that fires when of does, on the days and at the times of one of the parts. Days are those of the zone of of;
// parts without a zone live there. What is wrong is told by Bind.
func Only(of ruqi.Trigger, in ...Part) *OnlyTrigger { return newOnly(of, in, ElseSkip) }

func newOnly(of ruqi.Trigger, in []Part, otherwise Else) *OnlyTrigger {
	t := &OnlyTrigger{sieve{of: of, held: in, keeps: true, otherwise: otherwise}}
	t.prepare(t)
	return t
}

// Else returns the trigger with another answer to what becomes of a fire time on a day that no part holds. For ElseNext and
// ElsePrevious all parts are days.
func (t *OnlyTrigger) Else(e Else) *OnlyTrigger { return newOnly(t.of, t.held, e) }

// Kind returns "only".
func (t *OnlyTrigger) Kind() string { return "only" }

// String returns the canonical text, which is the canonical JSON.
func (t *OnlyTrigger) String() string { return textOf(t) }

// Bind binds the trigger, and the parts in its zone. Parts that hold no fire time are refused. The error is an *ruqi.InvalidError.
func (t *OnlyTrigger) Bind(loc *time.Location, anchor time.Time, seed string) (ruqi.Trigger, error) {
	return t.bindWith(newBinder(anchor, seed), loc)
}

func (t *OnlyTrigger) bindWith(b *binder, loc *time.Location) (ruqi.Trigger, error) {
	of, in, err := t.bind(b, "in", loc)
	if err != nil {
		return nil, err
	}
	bound := newOnly(of, in, t.otherwise)
	if !b.mayFire(bound) && b.mayFire(of) {
		return nil, ruqi.Invalid("/in", "", "it holds no fire time, so it never fires")
	}
	return bound, nil
}

// Reanchor moves the trigger, and those parts that count elapsed time from an anchor, too. ok is false when the trigger does not.
func (t *OnlyTrigger) Reanchor(anchor time.Time) (ruqi.Trigger, bool) {
	of, in, ok := t.reanchor(anchor)
	if !ok {
		return nil, false
	}
	return newOnly(of, in, t.otherwise), true
}

// Next returns the first fire time strictly after the instant after. Where parts leave out every fire time for long the search is
// bounded: see Search.
func (t *OnlyTrigger) Next(after time.Time) (time.Time, bool) { return searchNext(t, t.zone, after) }

// Search is Next in one bounded search; it implements ruqi.Searcher.
func (t *OnlyTrigger) Search(after time.Time) (at, until time.Time, ok bool) {
	return searchOnce(t, t.zone, after)
}

// Prev returns the last fire time strictly before the instant before.
func (t *OnlyTrigger) Prev(before time.Time) (time.Time, bool) {
	at, ok, _ := searchPrev(t, t.zone, before)
	return at, ok
}

// GaveUp reports of an instant before which Prev finds no fire time whether there may be one all the same, since the search for it was given up.
func (t *OnlyTrigger) GaveUp(before time.Time) bool {
	_, _, gaveUp := searchPrev(t, t.zone, before)
	return gaveUp
}

// Count returns how many fire times lie in (after, until]; negative when they are too many to count one by one, as they are only
// where fire times are moved or held against another trigger.
func (t *OnlyTrigger) Count(after, until time.Time) int64 { return searchCount(t, after, until) }

// Matches reports whether the trigger fires at exactly this instant.
func (t *OnlyTrigger) Matches(at time.Time) bool { return searchAt(t, at) }

// Describe names the trigger, to what it is limited, and what becomes of the rest.
func (t *OnlyTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *OnlyTrigger) describe(in ruqi.Language, changes bool) string {
	if in == ruqi.Chinese {
		return describe(t.of, in, changes) + "，" + t.describeHeld(in, changes, "仅限", "仅限") + t.otherwise.describe(in)
	}
	return describe(t.of, in, changes) + ", " + t.describeHeld(in, changes, "only on", "only at the times") + t.otherwise.describe(in)
}

// Explain returns what rules the instant out: of the trigger, and each part, when none holds it.
func (t *OnlyTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	return t.explain(t, "in", at, in)
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"only","of":{"kind":"cron",…},"in":[{"days":{"weekdays":["mon","tue"]}}],"else":"skip"}
//
// in one line. For a wrong trigger it returns the fault.
func (t *OnlyTrigger) MarshalJSON() ([]byte, error) { return t.encode(t.Kind(), "in") }

// only decodes the JSON form.
func (r reader) only(data []byte) (ruqi.Trigger, error) {
	of, in, otherwise, err := r.sieve(data, "only", "in")
	if err != nil {
		return nil, err
	}
	t := newOnly(of, in, otherwise)
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}
