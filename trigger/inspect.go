package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// The functions of this file ask any trigger, also one of a kind that is not of this package. Where a trigger lacks the
// ability (ruqi.Stepper, ruqi.Matcher, ruqi.Describer, ruqi.Explainer) they find the answer by Next. All are safe for
// concurrent use; a trigger that is not bound answers as its Next does.

// Following returns the first n fire times strictly after an instant, in order; fewer when fewer are left.
func Following(t ruqi.Trigger, after time.Time, n int) []time.Time {
	var list []time.Time
	for len(list) < n {
		at, ok := t.Next(after)
		if !ok {
			break
		}
		list = append(list, at)
		after = at
	}
	return list
}

// Previous returns the last n fire times strictly before an instant, the latest first; fewer when there were fewer.
func Previous(t ruqi.Trigger, before time.Time, n int) []time.Time {
	var list []time.Time
	for len(list) < n {
		at, ok := ruqi.Prev(t, before)
		if !ok {
			break
		}
		list = append(list, at)
		before = at
	}
	return list
}

// Between returns the fire times from the instant from to the instant to, both inclusive, in order. It stops after limit
// of them; more tells that there are others.
func Between(t ruqi.Trigger, from, to time.Time, limit int) (times []time.Time, more bool) {
	after := from.Add(-1)
	for {
		at, ok := t.Next(after)
		if !ok || at.After(to) {
			return times, false
		}
		if len(times) >= limit {
			return times, true
		}
		times = append(times, at)
		after = at
	}
}

// The range in which fire times are looked for: 0001-01-02 to 9999-12-30.
var (
	dawn = time.Unix(earliest, 0).UTC()
	dusk = time.Unix(latest+1, 0).UTC()
)

// First returns the first fire time of all; for most triggers without a start that is one in the year 1. ok is false for a trigger
// that never fires.
func First(t ruqi.Trigger) (at time.Time, ok bool) { return t.Next(dawn.Add(-1)) }

// Last returns the last fire time of all; for most triggers without an end that is one in the year 9999. ok is false for
// a trigger that never fires.
func Last(t ruqi.Trigger) (at time.Time, ok bool) { return ruqi.Prev(t, dusk) }

// Matches reports whether a trigger fires at exactly this instant.
func Matches(t ruqi.Trigger, at time.Time) bool { return ruqi.Matches(t, at) }

// Describe says in words when a trigger fires, as ruqi.Describe does.
func Describe(t ruqi.Trigger, in ruqi.Language) string { return ruqi.Describe(t, in) }

// Explain says why a trigger does not fire at an instant, as ruqi.Explain does.
func Explain(t ruqi.Trigger, at time.Time, in ruqi.Language) []ruqi.Ruling {
	return ruqi.Explain(t, at, in)
}
