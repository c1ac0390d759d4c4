package trigger

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/lookback"
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
		at, ok := prev(t, before)
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

// The range in which fire times are looked for: the years 1 to 9999.
var (
	dawn = time.Unix(earliest, 0).UTC()
	dusk = time.Unix(latest+1, 0).UTC()
)

// First returns the first fire time of all; for most triggers without a start that is one in the year 1. ok is false for a trigger
// that never fires.
func First(t ruqi.Trigger) (at time.Time, ok bool) { return t.Next(dawn.Add(-1)) }

// Last returns the last fire time of all; for most triggers without an end that is one in the year 9999. ok is false for
// a trigger that never fires.
func Last(t ruqi.Trigger) (at time.Time, ok bool) { return prev(t, dusk) }

// prev returns the last fire time strictly before an instant. Without ruqi.Stepper it asks Next some hundred times.
func prev(t ruqi.Trigger, before time.Time) (time.Time, bool) {
	if stepper, ok := t.(ruqi.Stepper); ok {
		return stepper.Prev(before)
	}
	return lookback.Prev(t, before)
}

// Matches reports whether a trigger fires at exactly this instant.
func Matches(t ruqi.Trigger, at time.Time) bool {
	if matcher, ok := t.(ruqi.Matcher); ok {
		return matcher.Matches(at)
	}
	return lookback.Matches(t, at)
}

// Describe says in words when a trigger fires, without a full stop; English for a language that is not known. A trigger
// that cannot is described by its String method, or else by its canonical encoding.
func Describe(t ruqi.Trigger, in ruqi.Language) string {
	switch t := t.(type) {
	case ruqi.Describer:
		return t.Describe(in)
	case fmt.Stringer:
		return t.String()
	}
	text, err := t.MarshalJSON()
	if err != nil {
		return t.Kind()
	}
	return string(text)
}

// Explain says why a trigger does not fire at an instant: every reason there is, nothing when it does. Of a trigger that
// cannot say it the one reason is its kind, with the fire times on either side.
func Explain(t ruqi.Trigger, at time.Time) []ruqi.Ruling {
	if explainer, ok := t.(ruqi.Explainer); ok {
		return explainer.Explain(at)
	}
	if Matches(t, at) {
		return nil
	}
	return []ruqi.Ruling{{Part: t.Kind(), Message: "no fire time; " + neighbours(t, at)}}
}

// neighbours names the fire times on either side of an instant, in words.
func neighbours(t ruqi.Trigger, at time.Time) string {
	before, was := prev(t, at)
	after, will := t.Next(at)
	switch {
	case was && will:
		return fmt.Sprintf("the ones on either side are %s and %s", instantText(before), instantText(after))
	case was:
		return "the last one is " + instantText(before)
	case will:
		return "the first one is " + instantText(after)
	}
	return "there is none at all"
}

// instantText writes an instant in its own zone for a message.
func instantText(at time.Time) string {
	if _, off := at.Zone(); off%60 != 0 {
		at = at.UTC() // RFC 3339 has no seconds in an offset; local mean times had
	}
	return at.Format("2006-01-02T15:04:05.999999Z07:00")
}
