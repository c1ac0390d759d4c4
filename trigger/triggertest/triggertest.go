// Package triggertest holds the laws of ruqi.Trigger as a test: a package that
// implements a trigger calls Run from one of its own.
package triggertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// Run checks that a trigger keeps the laws of ruqi.Trigger, and those of
// ruqi.Binder, ruqi.Bound, ruqi.Stepper, ruqi.Ender, ruqi.Elapser, ruqi.Matcher, ruqi.Describer and ruqi.Explainer if it
// implements them. newTrigger returns the same trigger at each call, bound or not; decode is what the kind is
// registered with. Each failure names the law that was broken. Run under the race
// detector it also finds unguarded state.
func Run(t *testing.T, newTrigger func() ruqi.Trigger, decode func(data []byte) (ruqi.Trigger, error)) {
	t.Helper()
	err := Check(newTrigger, decode)
	if err == nil {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		t.Error(line)
	}
}

// Check is Run without a test: it returns all broken laws, joined, one a line.
func Check(newTrigger func() ruqi.Trigger, decode func(data []byte) (ruqi.Trigger, error)) error {
	c := &checker{newTrigger: newTrigger, decode: decode}
	if c.bind() {
		c.next()
		c.encoding()
		c.binding()
		c.stepping()
		c.searching()
		c.matching()
		c.describing()
		c.explaining()
		c.concurrency()
		c.end()
	}
	return errors.Join(c.broken...)
}

const (
	// fires is how many fire times are compared after each instant.
	fires = 40
	// patience is how long one question may take. What takes longer hangs, or
	// walks the years one fire at a time.
	patience = 2 * time.Second
)

// zoneName is where triggers without a zone are bound; it has clock changes.
const zoneName = "Europe/Berlin"

var (
	anchor      = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	otherAnchor = time.Date(2027, 5, 5, 5, 5, 5, 0, time.UTC)
	// instants are what is asked about: near clock changes, leap days and the ends of
	// years, on the second and between.
	instants = []time.Time{
		time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC),
		time.Date(2026, 10, 24, 22, 30, 0, 500, time.UTC),
		time.Date(2028, 2, 28, 12, 0, 0, 999_999_999, time.UTC),
		time.Date(2040, 12, 30, 23, 59, 59, 0, time.UTC),
		time.Date(2099, 12, 31, 23, 59, 59, 1000, time.UTC),
	}
)

type checker struct {
	newTrigger func() ruqi.Trigger
	decode     func(data []byte) (ruqi.Trigger, error)
	zone       *time.Location
	trigger    ruqi.Trigger // bound
	broken     []error
}

// breaks notes a broken law: the law as a sentence, then what was seen.
func (c *checker) breaks(law, seen string, args ...any) {
	c.broken = append(c.broken, fmt.Errorf("%s: %s", law, fmt.Sprintf(seen, args...)))
}

// bind makes the trigger that is asked; false when there is none.
func (c *checker) bind() bool {
	zone, err := time.LoadLocation(zoneName)
	if err != nil {
		c.breaks("the suite needs the zone "+zoneName, "%v", err)
		return false
	}
	c.zone = zone
	c.trigger = c.newTrigger()
	if c.trigger == nil {
		c.breaks("newTrigger returns a trigger", "it returned nil")
		return false
	}
	if b, ok := c.trigger.(ruqi.Binder); ok {
		bound, err := b.Bind(zone, anchor, "seed")
		if err != nil || bound == nil {
			c.breaks("Bind fills in what is missing", "got %v, %v", bound, err)
			return false
		}
		c.trigger = bound
	}
	return true
}

// ask calls Next, and gives up when it takes too long.
func (c *checker) ask(after time.Time) (at time.Time, ok bool) {
	start := time.Now()
	at, ok = c.trigger.Next(after)
	if took := time.Since(start); took > patience {
		c.breaks("Next answers in bounded time, also when the answer is no", "after %v it took %v", after, took)
	}
	return at, ok
}

// walk returns the next fire times; it ends early when one is not later.
func (c *checker) walk(after time.Time) (list []time.Time) {
	for range fires {
		at, ok := c.ask(after)
		if !ok {
			return list
		}
		if !at.After(after) {
			c.breaks("each answer of Next is strictly later than the question", "after %v came %v", after, at)
			return list
		}
		list = append(list, at)
		after = at
	}
	return list
}

func (c *checker) next() {
	for _, from := range instants {
		list := c.walk(from)
		for i, at := range list {
			before := from
			if i > 0 {
				before = list[i-1]
			}
			for _, after := range []time.Time{at.Add(-time.Nanosecond), before.Add(at.Sub(before) / 2), before} {
				if got, ok := c.ask(after); !ok || !got.Equal(at) {
					c.breaks("Next is pure: between two fire times every question has the same answer",
						"after %v came %v, but after %v came %v %v", before, at, after, got, ok)
					return
				}
			}
			if at.Nanosecond()%1000 != 0 {
				c.breaks("fire times are whole microseconds", "%v", at)
				return
			}
			if b, ok := c.trigger.(ruqi.Bound); ok {
				if loc, _ := b.Binding(); loc != nil && at.Location().String() != loc.String() {
					c.breaks("fire times are in the trigger's own zone", "the zone is %v, Next gave %v", loc, at.Location())
					return
				}
			}
		}
	}
}

func (c *checker) encode(t ruqi.Trigger) string {
	data, err := t.MarshalJSON()
	if err != nil {
		c.breaks("a bound trigger has an encoding", "%v", err)
		return ""
	}
	return string(data)
}

func (c *checker) encoding() {
	text := c.encode(c.trigger)
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		c.breaks("the encoding is one JSON object", "%s: %v", text, err)
		return
	}
	if kind := c.trigger.Kind(); kind == "" || members["kind"] != kind {
		c.breaks("the encoding has the member kind, which is what Kind says", "Kind says %q, %s", kind, text)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil || compact.String() != text {
		c.breaks("the encoding is canonical: no blanks, and the same each time", "%s", text)
	}
	if again := c.encode(c.trigger); again != text {
		c.breaks("the encoding is canonical: no blanks, and the same each time", "%s, then %s", text, again)
	}
	decoded, err := c.decode([]byte(text))
	if err != nil || decoded == nil {
		c.breaks("what MarshalJSON writes can be decoded", "%s: %v", text, err)
		return
	}
	if again := c.encode(decoded); again != text {
		c.breaks("decoding keeps everything", "%s became %s", text, again)
	}
	c.sameFires("a decoded trigger fires at the same times", c.trigger, decoded)
	extra := `{"not_a_member":1,` + strings.TrimPrefix(text, "{")
	if _, err := c.decode([]byte(extra)); !errors.Is(err, ruqi.ErrInvalid) {
		c.breaks("decoding refuses unknown members with an *ruqi.InvalidError", "%s: %v", extra, err)
	}
	if _, err := c.decode([]byte(`{"kind":`)); !errors.Is(err, ruqi.ErrInvalid) {
		c.breaks("decoding refuses broken JSON with an *ruqi.InvalidError", "%v", err)
	}
}

func (c *checker) sameFires(law string, a, b ruqi.Trigger) {
	for _, from := range instants {
		for range fires {
			x, okX := a.Next(from)
			y, okY := b.Next(from)
			if okX != okY || !x.Equal(y) {
				c.breaks(law, "after %v came %v %v and %v %v", from, x, okX, y, okY)
				return
			}
			if !okX || !x.After(from) {
				break
			}
			from = x
		}
	}
}

func (c *checker) binding() {
	fresh, ok := c.newTrigger().(ruqi.Binder)
	if !ok {
		return
	}
	before := c.encode(fresh)
	text := c.encode(c.trigger)
	bound, err := fresh.Bind(c.zone, anchor, "seed")
	if err != nil {
		c.breaks("Bind gives the same answer each time", "%v", err)
		return
	}
	if again := c.encode(bound); again != text {
		c.breaks("Bind gives the same answer each time", "%s, then %s", text, again)
	}
	if after := c.encode(fresh); after != before {
		c.breaks("Bind leaves its receiver as it was", "%s became %s", before, after)
	}
	binder, ok := bound.(ruqi.Binder)
	if !ok {
		c.breaks("a bound trigger can be bound again", "%T is no ruqi.Binder", bound)
		return
	}
	rebound, err := binder.Bind(time.UTC, otherAnchor, "other seed")
	if err != nil {
		c.breaks("what was given stays: binding a bound trigger changes nothing", "%v", err)
	} else if again := c.encode(rebound); again != text {
		c.breaks("what was given stays: binding a bound trigger changes nothing", "%s became %s", text, again)
	}
	c.reanchoring(bound, fresh)
	b, ok := bound.(ruqi.Bound)
	if !ok {
		return
	}
	loc, at := b.Binding()
	if loc == nil {
		loc = time.UTC
	}
	if at.IsZero() {
		at = otherAnchor // it has none, so it may be any
	}
	rebound, err = fresh.Bind(loc, at, "seed")
	if err != nil {
		c.breaks("bound with its own Binding, an equal definition is an equal trigger", "%v", err)
	} else if again := c.encode(rebound); again != text {
		c.breaks("bound with its own Binding, an equal definition is an equal trigger", "%s became %s", text, again)
	}
}

// reanchoring compares Reanchor with a Bind at the later anchor.
func (c *checker) reanchoring(bound ruqi.Trigger, fresh ruqi.Binder) {
	const law = "Reanchor gives the trigger as if it had been bound at the anchor"
	e, ok := bound.(ruqi.Elapser)
	if !ok {
		return
	}
	text := c.encode(bound)
	moved, ok := e.Reanchor(otherAnchor)
	if !ok {
		return // its user has fixed the start
	}
	if after := c.encode(bound); after != text {
		c.breaks("Reanchor leaves its receiver as it was", "%s became %s", text, after)
	}
	if b, ok := fresh.(ruqi.Bound); ok {
		if _, given := b.Binding(); !given.IsZero() {
			return // bound from the start: there is nothing to compare with
		}
	}
	want, err := fresh.Bind(c.zone, otherAnchor, "seed")
	if err != nil {
		c.breaks(law, "%v", err)
	} else if a, b := c.encode(moved), c.encode(want); a != b {
		c.breaks(law, "%s, but bound it is %s", a, b)
	}
}

func (c *checker) stepping() {
	s, ok := c.trigger.(ruqi.Stepper)
	if !ok {
		return
	}
	for _, from := range instants {
		list := c.walk(from)
		for i, at := range list {
			if n := s.Count(from, at); n >= 0 && n != int64(i+1) {
				c.breaks("Count agrees with walking", "(%v, %v] holds %d fire times, Count says %d", from, at, i+1, n)
				return
			}
			if n := s.Count(from, at.Add(-time.Nanosecond)); n >= 0 && n != int64(i) {
				c.breaks("Count agrees with walking", "(%v, %v] without its end holds %d fire times, Count says %d", from, at, i, n)
				return
			}
			if got, ok := s.Prev(at.Add(time.Nanosecond)); !ok || !got.Equal(at) {
				c.breaks("Prev is the inverse of Next", "right after %v, Prev gives %v %v", at, got, ok)
				return
			}
			if i == 0 {
				continue
			}
			if got, ok := s.Prev(at); !ok || !got.Equal(list[i-1]) {
				c.breaks("Prev is strictly before the question", "before %v comes %v, Prev gives %v %v", at, list[i-1], got, ok)
				return
			}
		}
		if n := s.Count(from, from); n != 0 {
			c.breaks("an empty range holds no fire time", "Count(%v, the same) = %d", from, n)
		}
		if n := s.Count(from.AddDate(1, 0, 0), from); n != 0 {
			c.breaks("an empty range holds no fire time", "Count(a year after %v, before) = %d", from, n)
		}
	}
	start := time.Now()
	s.Prev(time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC))
	s.Prev(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
	s.Count(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2390, 1, 1, 0, 0, 0, 0, time.UTC))
	if took := time.Since(start); took > patience {
		c.breaks("Prev and Count answer in bounded time", "they took %v", took)
	}
}

func (c *checker) concurrency() {
	want := c.walk(instants[0])
	text := c.encode(c.trigger)
	const askers = 8
	seen := make([]string, askers)
	var wg sync.WaitGroup
	for i := range askers {
		wg.Go(func() {
			after := instants[0]
			for _, at := range want {
				got, ok := c.trigger.Next(after)
				if !ok || !got.Equal(at) {
					seen[i] = fmt.Sprintf("after %v came %v alone, and %v %v among others", after, at, got, ok)
					return
				}
				after = at
			}
			if data, err := c.trigger.MarshalJSON(); err != nil || string(data) != text {
				seen[i] = fmt.Sprintf("the encoding is %s alone, and %s %v among others", text, data, err)
			}
		})
	}
	wg.Wait()
	for _, s := range seen {
		if s != "" {
			c.breaks("a trigger may be asked by many goroutines at once", "%s", s)
			return
		}
	}
}

// end looks for the end of the fire times, and asks about times far away.
func (c *checker) end() {
	list := c.walk(instants[0])
	if e, ok := c.trigger.(ruqi.Ender); ok {
		if end, ok := e.EndTime(); ok {
			c.endTime(end)
		}
	}
	if len(list) < fires {
		after := instants[0]
		if len(list) > 0 {
			after = list[len(list)-1]
		}
		for range 10 {
			after = after.AddDate(40, 0, 0)
			if at, ok := c.ask(after); ok {
				c.breaks("no means never again", "after the last fire time came no, but after %v came %v", after, at)
				return
			}
		}
	}
	for _, after := range farAway {
		if at, ok := c.ask(after); ok && !at.After(after) {
			c.breaks("each answer of Next is strictly later than the question", "after %v came %v", after, at)
		}
	}
}

func (c *checker) endTime(end time.Time) {
	for _, before := range []time.Time{end, end.Add(-time.Nanosecond), end.Add(-time.Hour), end.AddDate(0, -2, 0)} {
		list := c.walk(before)
		if len(list) > 0 && list[len(list)-1].After(end) {
			c.breaks("no fire time is later than EndTime", "the end is %v, a fire time is %v", end, list[len(list)-1])
			return
		}
	}
}
