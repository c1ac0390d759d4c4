// Package lookback finds by Next alone what a trigger that cannot look back or match does not say itself.
package lookback

import (
	"sort"
	"time"
)

// A Nexter is what is asked: Next returns the first time strictly after an instant, and never an earlier one for a later
// instant.
type Nexter interface {
	Next(after time.Time) (time.Time, bool)
}

// The years that are looked at, 1 to 9999, in microseconds.
const (
	first int64 = -62135596800 * 1_000_000
	last  int64 = 253402300800*1_000_000 - 1
)

// Prev returns the last time strictly before an instant; times are whole microseconds. It asks Next at most 130 times.
func Prev(t Nexter, before time.Time) (time.Time, bool) {
	until := int64(last + 1)
	if s := before.Unix(); s <= last/1_000_000 {
		until = max(before.UnixMicro(), first)
		if before.Nanosecond()%1000 != 0 {
			until++
		}
	}
	answer := func(back int64) (time.Time, bool) {
		at, ok := t.Next(time.UnixMicro(until - back))
		return at, ok && at.Before(before)
	}
	// The further back the question, the earlier the answer: the shortest way back to a time before the instant leads to
	// the last of them. It is doubled until there is one, then halved.
	most := until - first + 1
	back := int64(1)
	for back < most {
		if _, found := answer(back); found {
			break
		}
		back *= 2
	}
	back = min(back, most)
	shortest := sort.Search(int(back), func(i int) bool {
		_, found := answer(int64(i))
		return found
	})
	at, found := answer(int64(shortest))
	if !found {
		return time.Time{}, false
	}
	return at, true
}

// A Searcher is what GaveUp asks: Search returns the first time strictly after an instant, or else, unless until is zero, that there is none
// in (after, until].
type Searcher interface {
	Search(after time.Time) (at, until time.Time, ok bool)
}

// reach is how many years back is searched: after as many dates and weekdays repeat.
const reach = 400

// A Knower knows itself what GaveUp asks.
type Knower interface {
	GaveUp(before time.Time) bool
}

// GaveUp reports of a trigger that has answered that it has no time before an instant whether it may have one all the same: one that searches
// may have given up. A Knower says it; another Searcher is asked once, for the first time from 400 years before. Of one that is neither an answer is final.
func GaveUp(t any, before time.Time) bool {
	if k, ok := t.(Knower); ok {
		return k.GaveUp(before)
	}
	s, ok := t.(Searcher)
	if !ok {
		return false
	}
	at, until, ok := s.Search(before.AddDate(-reach, 0, 0))
	if ok {
		return at.Before(before)
	}
	return !until.IsZero() && until.Add(time.Microsecond).Before(before)
}

// Matches reports whether Next, asked just before an instant, gives it.
func Matches(t Nexter, at time.Time) bool {
	next, ok := t.Next(at.Add(-1))
	return ok && next.Equal(at)
}
