package trigger

import (
	"math/bits"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// A wallClock is a set of wall times that hangs in a zone: what calendar triggers and words about the time of day have in
// common. It is immutable.
type wallClock struct {
	times    wallTimes
	zone     *zone
	rules    rules
	from, to int64 // the first and the last second at which it may fire, inclusive
}

// next returns the first fire time strictly after the instant after. It does not allocate.
func (c *wallClock) next(after time.Time) (time.Time, bool) {
	// A fraction of a second is cut: the next whole second is after it.
	from := max(min(max(after.Unix(), earliest-1), latest)+1, c.from)
	w := walker{c.times, c.zone, c.rules}
	at, ok := w.next(from)
	if !ok || at > c.to {
		return time.Time{}, false
	}
	return time.Unix(at, 0).In(c.zone.loc), true
}

// prev returns the last fire time strictly before the instant before.
func (c *wallClock) prev(before time.Time) (time.Time, bool) {
	until := min(ceilSeconds(clampMicros(before, true)), c.to+1)
	w := walker{c.times, c.zone, c.rules}
	at, ok := w.prev(until)
	if !ok || at < c.from {
		return time.Time{}, false
	}
	return c.zone.time(at), true
}

// count returns how many fire times lie in (after, until].
func (c *wallClock) count(after, until time.Time) int64 {
	from := max(floorSeconds(clampMicros(after, false))+1, c.from)
	to := min(floorSeconds(clampMicros(until, false)), c.to) + 1
	w := walker{c.times, c.zone, c.rules}
	return w.count(from, to)
}

func (c *wallClock) matches(at time.Time) bool {
	got, ok := c.next(at.Add(-time.Nanosecond))
	return ok && got.Equal(at)
}

// dayTimes are times of day on the days of a set.
type dayTimes struct {
	days daySet
	secs []int32 // seconds of the day, ascending, at least one
}

// A daySet is a set of days, numbered as cronexpr does.
type daySet interface {
	// next returns the first at or after day, prev the last at or before it; count those in [from, until).
	next(day int64) (int64, bool)
	prev(day int64) (int64, bool)
	count(from, until int64) int64
}

// Next implements wallTimes.
func (s *dayTimes) Next(wall, limit int64) (int64, bool) {
	day, sod := cronexpr.FloorDay(wall)
	found, ok := s.days.next(day)
	if ok && found == day {
		for _, sec := range s.secs {
			if int(sec) >= sod {
				at := day*daySeconds + int64(sec)
				return at, at < limit
			}
		}
		found, ok = s.days.next(day + 1)
	}
	at := found*daySeconds + int64(s.secs[0])
	return at, ok && at < limit
}

// Prev implements wallTimes.
func (s *dayTimes) Prev(wall, limit int64) (int64, bool) {
	day, sod := cronexpr.FloorDay(wall)
	found, ok := s.days.prev(day)
	if ok && found == day {
		for _, sec := range slices.Backward(s.secs) {
			if int(sec) < sod {
				at := day*daySeconds + int64(sec)
				return at, at >= limit
			}
		}
		found, ok = s.days.prev(day - 1)
	}
	at := found*daySeconds + int64(s.secs[len(s.secs)-1])
	return at, ok && at >= limit
}

// Count implements wallTimes.
func (s *dayTimes) Count(from, until int64) int64 {
	if until <= from {
		return 0
	}
	d1, s1 := cronexpr.FloorDay(from)
	d2, s2 := cronexpr.FloorDay(until)
	n := s.days.count(d1, d2) * int64(len(s.secs))
	if s1 > 0 {
		n -= s.days.count(d1, d1+1) * s.below(s1)
	}
	if s2 > 0 {
		n += s.days.count(d2, d2+1) * s.below(s2)
	}
	return n
}

// Horizon implements wallTimes: a chain may have a step of any length.
func (s *dayTimes) Horizon() int64 { return latest - earliest }

// below returns how many of the times of a day are earlier than sod.
func (s *dayTimes) below(sod int) (n int64) {
	for _, sec := range s.secs {
		if int(sec) < sod {
			n++
		}
	}
	return n
}

// weekdays is a set of days by their weekday: bit 0 is Sunday.
type weekdays uint8

const (
	everyDay     weekdays = 0x7f
	mondayFriday weekdays = 0x3e
)

func (w weekdays) next(day int64) (int64, bool) {
	first := cronexpr.Weekday(day)
	ahead := uint32(w)>>first | uint32(w)<<(7-first)
	return day + int64(bits.TrailingZeros32(ahead)), true
}

func (w weekdays) prev(day int64) (int64, bool) {
	last := cronexpr.Weekday(day)
	behind := uint32(w)<<7 | uint32(w) // bit 7+d is the weekday d of this week
	behind &= 1<<(8+last) - 1
	return day - int64(7+last-(bits.Len32(behind)-1)), true
}

func (w weekdays) count(from, until int64) int64 {
	if until <= from {
		return 0
	}
	weeks := (until - from) / 7
	n := weeks * int64(bits.OnesCount8(uint8(w)))
	for day := from + 7*weeks; day < until; day++ {
		n += int64(w >> cronexpr.Weekday(day) & 1)
	}
	return n
}

// beats are the wall times offset seconds into each period, which divides a day.
type beats struct{ period, offset int64 }

// Next implements wallTimes.
func (b *beats) Next(wall, limit int64) (int64, bool) {
	at := wall + floorMod(b.offset-wall, b.period)
	return at, at < limit
}

// Prev implements wallTimes.
func (b *beats) Prev(wall, limit int64) (int64, bool) {
	at := wall - 1 - floorMod(wall-1-b.offset, b.period)
	return at, at >= limit
}

// Horizon implements wallTimes.
func (b *beats) Horizon() int64 { return settled }

// Count implements wallTimes.
func (b *beats) Count(from, until int64) int64 {
	if until <= from {
		return 0
	}
	return floorDiv(until-1-b.offset, b.period) - floorDiv(from-1-b.offset, b.period)
}

func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

func floorMod(a, b int64) int64 {
	if a %= b; a < 0 {
		a += b
	}
	return a
}
