package ruqi

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi/internal/lookback"
)

// The functions of this file ask any trigger, also one of a kind from elsewhere. Where it lacks the ability (Stepper, Matcher,
// Describer, Explainer) they find the answer by Next alone. All are safe for concurrent use.

// Prev returns a trigger's last fire time strictly before an instant. Of one that is no Stepper, Next is asked some hundred times.
func Prev(t Trigger, before time.Time) (at time.Time, ok bool) {
	if stepper, is := t.(Stepper); is {
		return stepper.Prev(before)
	}
	return lookback.Prev(t, before)
}

// mostSearches is how often SearchNext has a Searcher go on: for those of this module half a million questions to their parts, a tenth of a second.
const mostSearches = 20

// SearchNext is a trigger's Next, which tells whether it gave up: if it finds no fire time and until is not zero, there is none in (after, until],
// and whether there is one later is not known. Of a trigger that is no Searcher until is always zero.
func SearchNext(t Trigger, after time.Time) (at, until time.Time, ok bool) {
	for range mostSearches {
		at, until, ok = searchOnce(t, after)
		if ok || until.IsZero() {
			return at, time.Time{}, ok
		}
		if !until.After(after) {
			break // it does not get on
		}
		after = until
	}
	return time.Time{}, after, false
}

// searchOnce is Search of a trigger that has it, and else Next.
func searchOnce(t Trigger, after time.Time) (at, until time.Time, ok bool) {
	if searcher, can := t.(Searcher); can {
		return searcher.Search(after)
	}
	at, ok = t.Next(after)
	return at, time.Time{}, ok
}

// Matches reports whether a trigger fires at exactly this instant.
func Matches(t Trigger, at time.Time) bool {
	if matcher, is := t.(Matcher); is {
		return matcher.Matches(at)
	}
	return lookback.Matches(t, at)
}

// Describe says in words when a trigger fires, without a full stop; English for a language that is not known. A trigger that
// cannot is described by its String method, or else by its canonical encoding.
func Describe(t Trigger, in Language) string {
	switch t := t.(type) {
	case Describer:
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

// Explain says why a trigger does not fire at an instant: every reason there is, nothing when it does; in English for a language
// that is not known. Of a trigger that cannot say it the one reason is its kind, with the fire times on either side.
func Explain(t Trigger, at time.Time, in Language) []Ruling {
	if explainer, is := t.(Explainer); is {
		return explainer.Explain(at, in)
	}
	if Matches(t, at) {
		return nil
	}
	return []Ruling{{Part: t.Kind(), Message: noFireTime(t, at, in)}}
}

// noFireTime names the fire times on either side of an instant that is none.
func noFireTime(t Trigger, at time.Time, in Language) string {
	before, was := Prev(t, at)
	after, will := t.Next(at)
	english, chinese := "no fire time; there is none at all", "不是触发时刻；根本没有触发时刻"
	switch {
	case was && will:
		english = fmt.Sprintf("no fire time; the ones on either side are %s and %s", instantText(before), instantText(after))
		chinese = fmt.Sprintf("不是触发时刻；前后的触发时刻是 %s 和 %s", instantText(before), instantText(after))
	case was:
		english, chinese = "no fire time; the last one is "+instantText(before), "不是触发时刻；最后一个是 "+instantText(before)
	case will:
		english, chinese = "no fire time; the first one is "+instantText(after), "不是触发时刻；第一个是 "+instantText(after)
	}
	if in == Chinese {
		return chinese
	}
	return english
}

// instantText writes an instant in its own zone for a message.
func instantText(at time.Time) string {
	if _, off := at.Zone(); off%60 != 0 {
		at = at.UTC() // RFC 3339 has no seconds in an offset; local mean times had
	}
	return at.Format("2006-01-02T15:04:05.999999Z07:00")
}
