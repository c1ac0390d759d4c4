package trigger

import (
	"sort"
	"sync/atomic"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// A chain is a set of dates: the first, and from each the next by one step. A step adds months, keeping the day of the month,
// again and again until that date exists, and then days. It is found where it is asked for, not walked from its start; a chain with months and days in its step,
// which has no formula, remembers every 16th date. It is safe for concurrent use.
type chain struct {
	first        int64 // day number
	months, days int64 // of a step, not both 0
	// marks are the dates 0, 16, 32, …, as far as they were needed: for steps of both months and days.
	marks atomic.Pointer[[]int64]
}

// markEvery: 16 steps take well under a microsecond, and the marks of a century of months are 600 bytes.
const markEvery = 16

// lastDay is the last day of the year 9999.
var lastDay = cronexpr.DayNumber(9999, 12, 31)

func newChain(first, months, days int64) *chain {
	return &chain{first: first, months: months, days: days}
}

// next implements daySet.
func (c *chain) next(day int64) (int64, bool) {
	switch {
	case day <= c.first:
		return c.first, true
	case day > lastDay:
		return 0, false
	case c.months == 0:
		found := c.first + (day-c.first+c.days-1)/c.days*c.days
		return found, found <= lastDay
	case c.days == 0:
		return c.nextMonth(day)
	}
	at, ok := c.mark(day), true
	for ok && at < day {
		at, ok = c.step(at)
	}
	return at, ok
}

// prev implements daySet.
func (c *chain) prev(day int64) (int64, bool) {
	if day = min(day, lastDay); day < c.first {
		return 0, false
	}
	switch {
	case c.months == 0:
		return day - (day-c.first)%c.days, true
	case c.days == 0:
		return c.prevMonth(day)
	}
	at := c.mark(day)
	for {
		following, ok := c.step(at)
		if !ok || following > day {
			return at, true
		}
		at = following
	}
}

// count implements daySet.
func (c *chain) count(from, until int64) int64 {
	from, until = max(from, c.first), min(until, lastDay+1)
	if from >= until {
		return 0
	}
	switch {
	case c.months == 0:
		return (until-1-c.first)/c.days - (from-1-c.first+c.days)/c.days + 1
	case c.days == 0:
		var n int64
		for at, ok := c.nextMonth(from); ok && at < until; at, ok = c.nextMonth(at + 1) {
			n++
		}
		return n
	}
	return c.below(until) - c.below(from)
}

// below returns how many dates of a chain with marks are earlier than day.
func (c *chain) below(day int64) int64 {
	at := c.mark(day)
	if at > day {
		return 0 // the first
	}
	marks := *c.marks.Load()
	n := int64(sort.Search(len(marks), func(i int) bool { return marks[i] > at })-1) * markEvery
	for ok := true; ok && at < day; at, ok = c.step(at) {
		n++
	}
	return n
}

// nextMonth is next for steps of months alone: the day of the month is always that of the first date.
func (c *chain) nextMonth(day int64) (int64, bool) {
	year, month, dom := cronexpr.Civil(c.first)
	start := monthIndex(year, month)
	y, m, _ := cronexpr.Civil(day)
	for at := start + max(0, (monthIndex(y, m)-start)/c.months)*c.months; at <= lastMonth; at += c.months {
		if found, ok := dateIn(at, dom); ok && found >= day {
			return found, true
		}
	}
	return 0, false
}

// prevMonth is prev for steps of months alone.
func (c *chain) prevMonth(day int64) (int64, bool) {
	year, month, dom := cronexpr.Civil(c.first)
	start := monthIndex(year, month)
	y, m, _ := cronexpr.Civil(day)
	for at := start + (monthIndex(y, m)-start)/c.months*c.months; at >= start; at -= c.months {
		if found, ok := dateIn(at, dom); ok && found <= day {
			return found, true
		}
	}
	return 0, false
}

// lastMonth is December 9999.
const lastMonth = 9999*12 + 11

func monthIndex(year, month int) int64 { return int64(year*12 + month - 1) }

// dateIn returns the day number of a day in a month, if the month has it.
func dateIn(month int64, dom int) (int64, bool) {
	y, m := int(month/12), int(month%12)+1
	if dom > cronexpr.DaysIn(y, m) {
		return 0, false
	}
	return cronexpr.DayNumber(y, m, dom), true
}

// step returns the date after a date of the chain; false: it is past the year 9999.
func (c *chain) step(day int64) (int64, bool) {
	if c.months > 0 {
		y, m, dom := cronexpr.Civil(day)
		at, exists := monthIndex(y, m), false
		for !exists {
			if at += c.months; at > lastMonth {
				return 0, false
			}
			day, exists = dateIn(at, dom)
		}
	}
	day += c.days
	return day, day <= lastDay
}

// mark returns the last marked date at or before day, or the first of all.
func (c *chain) mark(day int64) int64 {
	marks := c.marks.Load()
	if marks == nil || (*marks)[len(*marks)-1] < day {
		marks = c.extend(marks, day)
	}
	list := *marks
	i := sort.Search(len(list), func(i int) bool { return list[i] > day })
	return list[max(i-1, 0)]
}

// extend marks dates until one is after day, or there are no more. Two that extend at the same time come to the same marks.
func (c *chain) extend(marks *[]int64, day int64) *[]int64 {
	list := []int64{c.first}
	if marks != nil {
		list = append(make([]int64, 0, 2*len(*marks)), *marks...)
	}
	for at := list[len(list)-1]; at <= day; list = append(list, at) {
		ok := true
		for range markEvery {
			if at, ok = c.step(at); !ok {
				c.marks.Store(&list)
				return &list
			}
		}
	}
	c.marks.Store(&list)
	return &list
}
