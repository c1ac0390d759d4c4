package trigger

import (
	"math"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An AnyTrigger fires whenever one of its parts does; where several fire at one instant, once. It implements ruqi.Binder, ruqi.Bound,
// ruqi.Stepper, ruqi.Ender, ruqi.Elapser, ruqi.Searcher, ruqi.Matcher, ruqi.Describer and ruqi.Explainer. A job with several triggers is a job
// with one of this kind.
type AnyTrigger struct {
	of    []ruqi.Trigger
	zone  *zone // nil until bound
	fault error // told by Bind
	// asked are the parts in the order in which they are asked: those that are made of others last, which then need not look further than the others
	// have found.
	asked []ruqi.Trigger
}

var (
	_ ruqi.Binder    = (*AnyTrigger)(nil)
	_ ruqi.Bound     = (*AnyTrigger)(nil)
	_ ruqi.Stepper   = (*AnyTrigger)(nil)
	_ ruqi.Ender     = (*AnyTrigger)(nil)
	_ ruqi.Elapser   = (*AnyTrigger)(nil)
	_ ruqi.Searcher  = (*AnyTrigger)(nil)
	_ ruqi.Matcher   = (*AnyTrigger)(nil)
	_ ruqi.Describer = (*AnyTrigger)(nil)
	_ ruqi.Explainer = (*AnyTrigger)(nil)
)

// Any returns a trigger that fires whenever one of the given ones does. Parts without a zone live in the one it is bound in, which is
// also the one that its times are shown in. What is wrong is told by Bind.
func Any(of ...ruqi.Trigger) *AnyTrigger { return newAny(of, nil) }

func newAny(of []ruqi.Trigger, z *zone) *AnyTrigger {
	t := &AnyTrigger{of: append([]ruqi.Trigger(nil), of...), zone: z}
	var faults ruqi.Faults
	if len(of) == 0 {
		faults.Add("/of", "", "empty; it takes at least one")
	}
	checkParts(t, listPointer("of"), &faults)
	t.fault = faults.Err()
	t.asked = slices.Clone(t.of)
	slices.SortStableFunc(t.asked, func(a, b ruqi.Trigger) int { return made(a) - made(b) })
	return t
}

// made returns 1 for a trigger that is made of others, else 0.
func made(t ruqi.Trigger) int {
	if _, ok := t.(composite); ok {
		return 1
	}
	return 0
}

func (t *AnyTrigger) parts() ([]ruqi.Trigger, []Part) { return t.of, nil }

// Kind returns "any".
func (t *AnyTrigger) Kind() string { return "any" }

// String returns the canonical text, which is the canonical JSON.
func (t *AnyTrigger) String() string { return textOf(t) }

// Bind binds every part, in the trigger's zone if it has one, else in the given one. The error is an *ruqi.InvalidError.
func (t *AnyTrigger) Bind(loc *time.Location, anchor time.Time, seed string) (ruqi.Trigger, error) {
	return t.bindWith(newBinder(anchor, seed), loc)
}

func (t *AnyTrigger) bindWith(b *binder, loc *time.Location) (ruqi.Trigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	z, of, err := b.in(t.zone, t.of, loc)
	if err != nil {
		return nil, err
	}
	return newAny(of, z), nil
}

// Binding returns the zone and the anchor that the parts were bound with, nil and the zero time where there is none.
func (t *AnyTrigger) Binding() (*time.Location, time.Time) { return bindingOf(t.zone, t.of) }

func bindingOf(z *zone, of []ruqi.Trigger) (*time.Location, time.Time) {
	if z == nil {
		return nil, time.Time{}
	}
	return z.loc, anchorIn(of)
}

// EndTime returns the latest end of the parts; there is none unless all have one.
func (t *AnyTrigger) EndTime() (end time.Time, ok bool) {
	if t.fault != nil {
		return time.Time{}, false
	}
	for _, part := range t.of {
		e, is := part.(ruqi.Ender)
		if !is {
			return time.Time{}, false
		}
		at, has := e.EndTime()
		if !has {
			return time.Time{}, false
		}
		if !ok || at.After(end) {
			end, ok = at, true
		}
	}
	return end, ok
}

// Reanchor moves every part. ok is false unless all of them count elapsed time from an anchor: beside times of day, which do not come
// again when the clock is set back, nothing is moved.
func (t *AnyTrigger) Reanchor(anchor time.Time) (ruqi.Trigger, bool) {
	moved, ok := reanchorList(t.of, anchor)
	if !ok || t.fault != nil {
		return nil, false
	}
	return newAny(moved, t.zone), true
}

// Next returns the first fire time of any part strictly after the instant after. Among parts that are made of others the search is bounded: see Search.
func (t *AnyTrigger) Next(after time.Time) (time.Time, bool) { return searchNext(t, t.zone, after) }

// Search is Next in one bounded search; it implements ruqi.Searcher.
func (t *AnyTrigger) Search(after time.Time) (at, until time.Time, ok bool) {
	return searchOnce(t, t.zone, after)
}

func (t *AnyTrigger) next(q *search, after, limit int64) (int64, finding) {
	if t.fault != nil {
		return 0, never
	}
	first, reached, is := int64(math.MaxInt64), int64(math.MaxInt64), never
	for i, part := range t.asked {
		rest, spent := q.divide(len(t.asked) - i)
		at, found := q.next(part, after, min(limit, first))
		q.asks, q.spent = q.asks+rest, spent
		switch {
		case found == fires && at < first:
			first = at
		case found == upTo:
			reached, is = min(reached, at), upTo
		}
	}
	if first != math.MaxInt64 && first-1 <= reached {
		return first, fires
	}
	q.spent = q.spent || is == upTo && reached < limit
	return reached, is
}

// Prev returns the last fire time of any part strictly before the instant before.
func (t *AnyTrigger) Prev(before time.Time) (time.Time, bool) {
	at, ok, _ := searchPrev(t, t.zone, before)
	return at, ok
}

// GaveUp reports of an instant before which Prev finds no fire time whether there may be one all the same, since the search for it was given up.
func (t *AnyTrigger) GaveUp(before time.Time) bool {
	_, _, gaveUp := searchPrev(t, t.zone, before)
	return gaveUp
}

func (t *AnyTrigger) prev(q *search, before, limit int64) (int64, finding) {
	if t.fault != nil {
		return 0, never
	}
	last, reached, is := int64(math.MinInt64), int64(math.MinInt64), never
	for i, part := range t.asked {
		rest, spent := q.divide(len(t.asked) - i)
		at, found := q.prev(part, before, max(limit, last))
		q.asks, q.spent = q.asks+rest, spent
		switch {
		case found == fires && at > last:
			last = at
		case found == upTo:
			reached, is = max(reached, at), upTo
		}
	}
	if last != math.MinInt64 && last+1 >= reached {
		return last, fires
	}
	q.spent = q.spent || is == upTo && reached > limit
	return reached, is
}

// Count returns how many fire times lie in (after, until]; negative when they are more than ten thousand, which are not counted, since
// those that several parts have in common count once.
func (t *AnyTrigger) Count(after, until time.Time) int64 { return searchCount(t, after, until) }

func (t *AnyTrigger) count(q *search, after, until int64) int64 {
	switch {
	case t.fault != nil:
		return 0
	case len(t.of) == 1:
		return q.count(t.of[0], after, until)
	}
	return q.walk(t, after, until)
}

// Matches reports whether one of the parts fires at exactly this instant.
func (t *AnyTrigger) Matches(at time.Time) bool { return searchAt(t, at) }

func (t *AnyTrigger) holds(q *search, at int64) bool {
	return t.fault == nil && slices.ContainsFunc(t.of, func(part ruqi.Trigger) bool { return q.holds(part, at) })
}

// Describe lists the parts.
func (t *AnyTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *AnyTrigger) describe(in ruqi.Language, changes bool) string {
	if in == ruqi.Chinese {
		return describeList(t.of, in, changes, "；以及")
	}
	return describeList(t.of, in, changes, "; and also ")
}

// Explain returns what rules the instant out of each part.
func (t *AnyTrigger) Explain(at time.Time, in ruqi.Language) (rulings []ruqi.Ruling) {
	if t.Matches(at) {
		return nil
	}
	for i, part := range t.of {
		rulings = append(rulings, explainPart(part, at, in, pathOf("of", i))...)
	}
	return rulings
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"any","zone":"Europe/Berlin","of":[{"kind":"cron",…},{"kind":"interval",…}]}
//
// in one line; zone is null before Bind. For a wrong trigger it returns the fault.
func (t *AnyTrigger) MarshalJSON() ([]byte, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	return listJSON(t.Kind(), t.zone, t.of)
}

// any decodes the JSON form.
func (r reader) any(data []byte) (ruqi.Trigger, error) {
	z, of, err := r.zoneAndList(data, "any")
	if err != nil {
		return nil, err
	}
	t := newAny(of, z)
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}

// zoneAndList decodes what any and all are made of.
func (r reader) zoneAndList(data []byte, kind string) (*zone, []ruqi.Trigger, error) {
	d, err := r.object(data, kind)
	if err != nil {
		return nil, nil, err
	}
	var z *zone
	if loc := d.zone(); loc != nil {
		z, err = zoneOf(loc)
		d.faults.Merge("/zone", err)
	}
	of, err := r.list(d, "of")
	if err != nil {
		return nil, nil, err
	}
	d.Done("kind", "zone", "of")
	return z, of, d.faults.Err()
}
