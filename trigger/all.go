package trigger

import (
	"math/big"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An AllTrigger fires at the instants at which every part does. It implements ruqi.Binder, ruqi.Bound, ruqi.Stepper, ruqi.Ender,
// ruqi.Elapser, ruqi.Searcher, ruqi.Matcher, ruqi.Describer and ruqi.Explainer.
//
// The search for a common instant is bounded: see Search. Intervals are put together by arithmetic beforehand, so that two of them are never searched through.
type AllTrigger struct {
	of    []ruqi.Trigger
	zone  *zone // nil until bound
	fault error // told by Bind
	asked []ruqi.Trigger
	never bool // two of its intervals never meet
}

var (
	_ ruqi.Binder    = (*AllTrigger)(nil)
	_ ruqi.Bound     = (*AllTrigger)(nil)
	_ ruqi.Stepper   = (*AllTrigger)(nil)
	_ ruqi.Ender     = (*AllTrigger)(nil)
	_ ruqi.Elapser   = (*AllTrigger)(nil)
	_ ruqi.Searcher  = (*AllTrigger)(nil)
	_ ruqi.Matcher   = (*AllTrigger)(nil)
	_ ruqi.Describer = (*AllTrigger)(nil)
	_ ruqi.Explainer = (*AllTrigger)(nil)
)

// All returns a trigger that fires when all of the given ones do, to the microsecond. Parts without a zone live in the one it is bound in,
// which is also the one that its times are shown in. What is wrong is told by Bind.
func All(of ...ruqi.Trigger) *AllTrigger { return newAll(of, nil) }

func newAll(of []ruqi.Trigger, z *zone) *AllTrigger {
	t := &AllTrigger{of: slices.Clone(of), zone: z}
	var faults ruqi.Faults
	if len(of) == 0 {
		faults.Add("/of", "", "empty; it takes at least one")
	}
	checkParts(t, listPointer("of"), &faults)
	if t.fault = faults.Err(); t.fault == nil {
		t.prepare()
	}
	return t
}

// prepare puts the intervals among the parts together.
func (t *AllTrigger) prepare() {
	var one *IntervalTrigger
	for _, part := range t.of {
		i, ok := part.(*IntervalTrigger)
		if ok {
			_, ok = i.first()
		}
		switch {
		case !ok:
			t.asked = append(t.asked, part)
		case one == nil:
			one = i
		default:
			if one = meeting(one, i); one == nil {
				t.never = true
				return
			}
		}
	}
	if one != nil {
		t.asked = append(t.asked, one)
	}
}

// meeting returns the interval of the instants that two have in common, by the Chinese remainder theorem; nil for none.
func meeting(a, b *IntervalTrigger) *IntervalTrigger {
	firstA, _ := a.first()
	firstB, _ := b.first()
	// Wanted: x = firstA + k·a.every = firstB + l·b.every. With g = gcd = u·a.every + v·b.every there is one if g divides
	// firstB-firstA, and k = (firstB-firstA)/g·u modulo b.every/g.
	lengthA, lengthB := big.NewInt(a.every), big.NewInt(b.every)
	u := new(big.Int)
	g := new(big.Int).GCD(u, nil, lengthA, lengthB)
	apart := big.NewInt(firstB - firstA)
	steps, rest := new(big.Int).QuoRem(apart, g, new(big.Int))
	if rest.Sign() != 0 {
		return nil
	}
	cycle := new(big.Int).Quo(lengthB, g)
	k := steps.Mul(steps, u)
	k.Mod(k, cycle)
	every := new(big.Int).Mul(lengthA, cycle)
	x := k.Mul(k, lengthA)
	x.Add(x, big.NewInt(firstA)) // the first one at or after firstA
	if late := new(big.Int).Sub(big.NewInt(firstB), x); late.Sign() > 0 {
		up := late.Add(late, every)
		up.Sub(up, big.NewInt(1))
		x.Add(x, up.Quo(up, every).Mul(up, every))
	}
	const longest = (latest - earliest) * microsecond
	m := &IntervalTrigger{every: longest, anchor: none, start: none, end: min(a.last(), b.last()), zone: a.zone}
	if every.IsInt64() {
		m.every = min(every.Int64(), longest)
	}
	if !x.IsInt64() || x.Int64() > m.end {
		return nil
	}
	m.start = x.Int64()
	return m
}

func (t *AllTrigger) parts() ([]ruqi.Trigger, []Part) { return t.of, nil }

// Kind returns "all".
func (t *AllTrigger) Kind() string { return "all" }

// String returns the canonical text, which is the canonical JSON.
func (t *AllTrigger) String() string { return textOf(t) }

// Bind binds every part, in the trigger's zone if it has one, else in the given one. Parts that never meet are refused. The error is
// an *ruqi.InvalidError.
func (t *AllTrigger) Bind(loc *time.Location, anchor time.Time, seed string) (ruqi.Trigger, error) {
	return t.bindWith(newBinder(anchor, seed), loc)
}

func (t *AllTrigger) bindWith(b *binder, loc *time.Location) (ruqi.Trigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	z, of, err := b.in(t.zone, t.of, loc)
	if err != nil {
		return nil, err
	}
	bound := newAll(of, z)
	if !b.mayFire(bound) && !slices.ContainsFunc(of, func(part ruqi.Trigger) bool { return !b.mayFire(part) }) {
		return nil, ruqi.Invalid("/of", "", "the parts have no fire time in common, so it never fires")
	}
	return bound, nil
}

// Binding returns the zone and the anchor that the parts were bound with, nil and the zero time where there is none.
func (t *AllTrigger) Binding() (*time.Location, time.Time) { return bindingOf(t.zone, t.of) }

// EndTime returns the earliest end of a part, if one has an end.
func (t *AllTrigger) EndTime() (end time.Time, ok bool) {
	if t.fault != nil {
		return time.Time{}, false
	}
	for _, part := range t.of {
		if e, is := part.(ruqi.Ender); is {
			if at, has := e.EndTime(); has && (!ok || at.Before(end)) {
				end, ok = at, true
			}
		}
	}
	return end, ok
}

// Reanchor moves every part. ok is false unless all of them count elapsed time from an anchor.
func (t *AllTrigger) Reanchor(anchor time.Time) (ruqi.Trigger, bool) {
	moved, ok := reanchorList(t.of, anchor)
	if !ok || t.fault != nil {
		return nil, false
	}
	return newAll(moved, t.zone), true
}

// Next returns the first instant strictly after the instant after at which all parts fire. The search is bounded: see Search.
func (t *AllTrigger) Next(after time.Time) (time.Time, bool) { return searchNext(t, t.zone, after) }

// Search is Next in one bounded search; it implements ruqi.Searcher.
func (t *AllTrigger) Search(after time.Time) (at, until time.Time, ok bool) {
	return searchOnce(t, t.zone, after)
}

// next lets the parts overtake one another until they stand at one instant.
func (t *AllTrigger) next(q *search, after, limit int64) (int64, finding) {
	if t.fault != nil || t.never {
		return 0, never
	}
	at, agreed := after+1, 0
	for i := 0; at <= limit; i = (i + 1) % len(t.asked) {
		next, is := q.next(t.asked[i], at-1, limit)
		switch {
		case is == never:
			return 0, never
		case is == upTo && next < at:
			return at - 1, upTo
		case is == upTo:
			at, agreed = next+1, 0
		case next > at:
			at, agreed = next, 1
		default:
			agreed++
		}
		if agreed == len(t.asked) {
			return at, fires
		}
	}
	return at - 1, upTo
}

// Prev returns the last instant strictly before the instant before at which all parts fire.
func (t *AllTrigger) Prev(before time.Time) (time.Time, bool) {
	at, ok, _ := searchPrev(t, t.zone, before)
	return at, ok
}

// GaveUp reports of an instant before which Prev finds no fire time whether there may be one all the same, since the search for it was given up.
func (t *AllTrigger) GaveUp(before time.Time) bool {
	_, _, gaveUp := searchPrev(t, t.zone, before)
	return gaveUp
}

// prev is next backwards.
func (t *AllTrigger) prev(q *search, before, limit int64) (int64, finding) {
	if t.fault != nil || t.never {
		return 0, never
	}
	at, agreed := before-1, 0
	for i := 0; at >= limit; i = (i + 1) % len(t.asked) {
		prev, is := q.prev(t.asked[i], at+1, limit)
		switch {
		case is == never:
			return 0, never
		case is == upTo && prev > at:
			return at + 1, upTo
		case is == upTo:
			at, agreed = prev-1, 0
		case prev < at:
			at, agreed = prev, 1
		default:
			agreed++
		}
		if agreed == len(t.asked) {
			return at, fires
		}
	}
	return at + 1, upTo
}

// Count returns how many fire times lie in (after, until]; negative when they are too many to count one by one.
func (t *AllTrigger) Count(after, until time.Time) int64 { return searchCount(t, after, until) }

func (t *AllTrigger) count(q *search, after, until int64) int64 {
	switch {
	case t.fault != nil || t.never:
		return 0
	case len(t.asked) == 1:
		return q.count(t.asked[0], after, until)
	}
	return q.walk(t, after, until)
}

// Matches reports whether all parts fire at exactly this instant.
func (t *AllTrigger) Matches(at time.Time) bool { return searchAt(t, at) }

func (t *AllTrigger) holds(q *search, at int64) bool {
	return t.fault == nil && !t.never && !slices.ContainsFunc(t.asked, func(part ruqi.Trigger) bool { return !q.holds(part, at) })
}

// Describe lists the parts.
func (t *AllTrigger) Describe(in ruqi.Language) string { return t.describe(in, true) }

func (t *AllTrigger) describe(in ruqi.Language, changes bool) string {
	if in == ruqi.Chinese {
		return "仅在以下各项同时触发的时刻：" + describeList(t.of, in, changes, "；")
	}
	return "whenever these fire at one instant: " + describeList(t.of, in, changes, "; ")
}

// Explain returns what rules the instant out of those parts that do not fire then.
func (t *AllTrigger) Explain(at time.Time, in ruqi.Language) (rulings []ruqi.Ruling) {
	for i, part := range t.of {
		rulings = append(rulings, explainPart(part, at, in, pathOf("of", i))...)
	}
	return rulings
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"all","zone":"Europe/Berlin","of":[{"kind":"cron",…},{"kind":"interval",…}]}
//
// in one line; zone is null before Bind. For a wrong trigger it returns the fault.
func (t *AllTrigger) MarshalJSON() ([]byte, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	return listJSON(t.Kind(), t.zone, t.of)
}

// all decodes the JSON form.
func (r reader) all(data []byte) (ruqi.Trigger, error) {
	z, of, err := r.zoneAndList(data, "all")
	if err != nil {
		return nil, err
	}
	t := newAll(of, z)
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}
