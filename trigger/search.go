package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/lookback"
)

// Searches through several triggers at once are bounded, since they may have nothing in common.
const (
	// maxAsks is how many questions one search puts to its parts, however deep they are nested: some 4 ms, and 70 years of one
	// trigger that fires each day.
	maxAsks = 25_000
	// mostAsks is how many it puts where it would else not get on: a quarter of a second.
	mostAsks = 64 * maxAsks
	// maxSearches is how many searches Next and Prev make, one after another, as many as ruqi.SearchNext: together half a million questions, a
	// tenth of a second, unless some of them do not get on.
	maxSearches = 20
	// maxCounted is how many fire times are counted one by one before Count gives up.
	maxCounted = 10_000
	// searchSeconds is how far a search looks: the 400 years after which dates and weekdays repeat. It looks further where years, dates or starts
	// that are named come then (see farAfter). searchMicros is the same in microseconds.
	searchSeconds = 146097 * daySeconds
	searchMicros  = searchSeconds * microsecond
)

// A finding is what a search came to.
type finding int8

const (
	never finding = iota // there is no fire time
	upTo                 // there is none up to an instant; beyond it was not looked
	fires                // there is one
)

// A search is one search through a trigger that is made of others. All instants are microseconds. It is used by one goroutine.
type search struct {
	asks  int  // how many questions may still be put to parts
	spent bool // a question was not put, for want of them: what came out may not be whole
}

// ask takes one question.
func (q *search) ask() bool {
	if q.asks <= 0 {
		q.spent = true
		return false
	}
	q.asks--
	return true
}

// divide keeps a share of the questions, so that the first of several parts does not take those of the others, and returns the rest.
func (q *search) divide(parts int) (rest int, spent bool) {
	rest, spent = q.asks-q.asks/parts, q.spent
	q.asks, q.spent = q.asks/parts, false
	return rest, spent
}

// next looks for a trigger's first fire time after an instant; whoever asks does not need one after limit. With fires it is at, and may lie
// after limit. With upTo there is none in (after, at]; at is limit or later, unless the questions were used up.
func (q *search) next(t ruqi.Trigger, after, limit int64) (at int64, is finding) {
	if after >= limit {
		return after, upTo
	}
	switch c := t.(type) { // by name: so the search stays off the heap
	case *AnyTrigger:
		return c.next(q, after, limit)
	case *AllTrigger:
		return c.next(q, after, limit)
	case *ExceptTrigger:
		return c.next(q, after, limit)
	case *OnlyTrigger:
		return c.next(q, after, limit)
	}
	for q.ask() {
		asked := time.UnixMicro(after).UTC()
		s, ok := t.(ruqi.Searcher)
		if !ok {
			if found, ok := t.Next(asked); ok {
				return found.UnixMicro(), fires
			}
			return 0, never
		}
		found, until, ok := s.Search(asked)
		switch {
		case ok:
			return found.UnixMicro(), fires
		case until.IsZero():
			return 0, never
		case !until.After(asked): // it does not get on
			q.spent = true
			return after, upTo
		}
		if after = until.UnixMicro(); after >= limit {
			break
		}
	}
	return after, upTo
}

// prev looks for a trigger's last fire time before an instant, as next does for the first after one: with upTo there is none in [at, before).
func (q *search) prev(t ruqi.Trigger, before, limit int64) (at int64, is finding) {
	if before <= limit {
		return before, upTo
	}
	switch c := t.(type) {
	case *AnyTrigger:
		return c.prev(q, before, limit)
	case *AllTrigger:
		return c.prev(q, before, limit)
	case *ExceptTrigger:
		return c.prev(q, before, limit)
	case *OnlyTrigger:
		return c.prev(q, before, limit)
	}
	asked := time.UnixMicro(before).UTC()
	var found time.Time
	var ok bool
	if s, is := t.(ruqi.Stepper); !is {
		a := asking{t, search{asks: q.asks}}
		found, ok = lookback.Prev(&a, asked)
		q.asks, q.spent = a.asks, q.spent || a.spent
	} else if q.ask() {
		found, ok = s.Prev(asked)
	}
	switch {
	case q.spent:
		return before, upTo
	case ok:
		return found.UnixMicro(), fires
	}
	return 0, never
}

// asking is a trigger whose questions are counted; when none is left the answer is no.
type asking struct {
	trigger ruqi.Trigger
	search
}

// Next implements lookback.Nexter.
func (c *asking) Next(after time.Time) (time.Time, bool) {
	if !c.ask() {
		return time.Time{}, false
	}
	return c.trigger.Next(after)
}

// holds reports whether a trigger fires at an instant; no when the questions were used up.
func (q *search) holds(t ruqi.Trigger, at int64) bool {
	if !q.ask() {
		return false
	}
	switch c := t.(type) {
	case *AnyTrigger:
		return c.holds(q, at)
	case *AllTrigger:
		return c.holds(q, at)
	case *ExceptTrigger:
		return c.holds(q, at)
	case *OnlyTrigger:
		return c.holds(q, at)
	}
	return Matches(t, time.UnixMicro(at).UTC())
}

// count returns how many fire times lie in (after, until], or a negative number when they are too many to count.
func (q *search) count(t ruqi.Trigger, after, until int64) (n int64) {
	if after >= until {
		return 0
	}
	switch c := t.(type) {
	case *AnyTrigger:
		n = c.count(q, after, until)
	case *AllTrigger:
		n = c.count(q, after, until)
	case *ExceptTrigger:
		n = c.count(q, after, until)
	case *OnlyTrigger:
		n = c.count(q, after, until)
	case ruqi.Stepper:
		if q.ask() {
			n = c.Count(time.UnixMicro(after).UTC(), time.UnixMicro(until).UTC())
		}
	default:
		n = q.walk(t, after, until)
	}
	if q.spent {
		return -1
	}
	return n
}

// walk counts one by one.
func (q *search) walk(t ruqi.Trigger, after, until int64) (n int64) {
	for after < until {
		at, is := q.next(t, after, until)
		switch {
		case q.spent || n > maxCounted:
			return -1
		case is != fires || at > until:
			return n
		}
		n++
		after = at
	}
	return n
}

// onward searches from an instant for the first fire time of a trigger that is made of others, with more questions where some do not lead
// anywhere: a day of moved fire times is looked through as a whole.
func onward(c composite, from, limit int64) (at int64, is finding) {
	for asks := maxAsks; asks <= mostAsks; asks *= 4 {
		if at, is = (&search{asks: asks}).next(c, from, limit); is != upTo || at > from {
			break
		}
	}
	return at, is
}

// backward is onward backwards.
func backward(c composite, from, limit int64) (at int64, is finding) {
	for asks := maxAsks; asks <= mostAsks; asks *= 4 {
		if at, is = (&search{asks: asks}).prev(c, from, limit); is != upTo || at < from {
			break
		}
	}
	return at, is
}

// searchOnce answers Search of a trigger that is made of others.
func searchOnce(c composite, z *zone, after time.Time) (at, until time.Time, ok bool) {
	from := clampMicros(after, false)
	limit := from + searchMicros
	found, is := onward(c, from, limit)
	if is == upTo && found >= limit {
		if limit = farAfter(c, from); found < limit {
			found, is = onward(c, found, limit)
		}
	}
	switch {
	case is == fires:
		return z.timeMicro(found), time.Time{}, true
	case is == upTo && found < limit:
		return time.Time{}, z.timeMicro(found), false
	}
	return time.Time{}, time.Time{}, false
}

// farAfter returns up to where there must be no fire time after an instant before it is said that there is none: 400 years after all that is unlike
// what comes then.
func farAfter(t ruqi.Trigger, from int64) int64 {
	return min(max(from, unlike(t).to), always.to) + searchMicros
}

// farBefore is farAfter backwards.
func farBefore(t ruqi.Trigger, from int64) int64 {
	return max(min(from, unlike(t).from), always.from) - searchMicros
}

// searchNext answers Next of a trigger that is made of others.
func searchNext(c composite, z *zone, after time.Time) (time.Time, bool) {
	start := clampMicros(after, false)
	from, limit := start, start+searchMicros
	for range maxSearches {
		at, is := onward(c, from, limit)
		switch {
		case is == fires:
			return z.timeMicro(at), true
		case is != upTo || at <= from:
			return time.Time{}, false
		case at >= limit:
			if limit = farAfter(c, start); at >= limit {
				return time.Time{}, false
			}
		}
		from = at
	}
	return time.Time{}, false
}

// searchPrev is searchNext backwards. It also tells whether there may be a fire time that was not found.
func searchPrev(c composite, z *zone, before time.Time) (at time.Time, ok, gaveUp bool) {
	start := clampMicros(before, true)
	from, limit := start, start-searchMicros
	for range maxSearches {
		at, is := backward(c, from, limit)
		switch {
		case is == fires:
			return z.timeMicro(at), true, false
		case is != upTo:
			return time.Time{}, false, false
		case at >= from:
			return time.Time{}, false, true
		case at <= limit:
			if limit = farBefore(c, start); at <= limit {
				return time.Time{}, false, false
			}
		}
		from = at
	}
	return time.Time{}, false, true
}

// mayFire reports whether a trigger fires after the instant, or has fired before: yes when the questions are used up.
func (q *search) mayFire(t ruqi.Trigger, at time.Time) bool {
	start := clampMicros(at, false)
	limit := start + searchMicros
	reached, is := q.next(t, start, limit)
	if is == upTo && reached >= limit {
		limit = farAfter(t, start)
		reached, is = q.next(t, reached, limit)
	}
	if is == fires || is == upTo && reached < limit {
		return true
	}
	limit = start - searchMicros
	reached, is = q.prev(t, start+1, limit)
	if is == upTo && reached <= limit {
		limit = farBefore(t, start)
		reached, is = q.prev(t, reached, limit)
	}
	return is == fires || is == upTo && reached > limit
}

// searchCount answers Count of a trigger that is made of others.
func searchCount(c composite, after, until time.Time) int64 {
	return (&search{asks: mostAsks}).count(c, clampMicros(after, false), clampMicros(until, false)) // a quarter of a second at most
}

// searchAt answers Matches of a trigger that is made of others.
func searchAt(c composite, at time.Time) bool {
	micros, ok := wholeMicros(at)
	for asks := maxAsks; ok; asks *= 4 { // as many as onward may take to find it
		q := search{asks: asks}
		if holds := q.holds(c, micros); !q.spent || asks >= mostAsks {
			return holds
		}
	}
	return false
}
