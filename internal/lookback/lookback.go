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

// Matches reports whether Next, asked just before an instant, gives it.
func Matches(t Nexter, at time.Time) bool {
	next, ok := t.Next(at.Add(-1))
	return ok && next.Equal(at)
}
