package daycal

import (
	"math/bits"
	"slices"
	"sync"
	"time"
)

// A Calendar is an immutable set of days between First and Last. The zero value is the empty set.
type Calendar struct {
	weekdays uint8      // bit w: time.Weekday w
	yearly   [13]uint32 // by month, bit d: day d of it
	dates    spans
	rules    []rule
	years    []workYear // in order
	union    []*Calendar
	without  *Calendar

	sought             uint8        // the weekdays that are looked through: without those that are taken away for good
	holidays, workdays spans        // of all years
	followed           func() spans // the days of rules; computed when first asked for
}

// compile fills in what follows from the other fields. It is called once, before the calendar is shared.
func (c *Calendar) compile() {
	var holidays, workdays []span
	for _, y := range c.years {
		holidays = append(holidays, y.holidays...)
		workdays = append(workdays, y.workdays...)
	}
	c.holidays, c.workdays = merged(holidays), merged(workdays)
	c.sought = c.weekdays
	if w := c.without; w != nil && w.without == nil && len(w.workdays) == 0 {
		c.sought &^= w.weekdays
	}
	c.followed = sync.OnceValue(func() spans {
		var all []span
		for _, r := range c.rules {
			all = append(all, r.days()...)
		}
		return merged(all)
	})
}

// ruled returns the days of rules.
func (c *Calendar) ruled() spans {
	if c.followed == nil {
		return nil
	}
	return c.followed()
}

// A span is a stretch of days, both ends included.
type span struct{ from, to Day }

// spans are in order, and between two of them there is at least one day.
type spans []span

// merged returns the days of a list in any order.
func merged(list []span) spans {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b span) int { return int(a.from) - int(b.from) })
	all := list[:0]
	for _, s := range list {
		if n := len(all); n > 0 && s.from <= all[n-1].to+1 {
			all[n-1].to = max(all[n-1].to, s.to)
			continue
		}
		all = append(all, s)
	}
	return all
}

// find returns the place of the first span that ends at d or later.
func (list spans) find(d Day) int {
	i, _ := slices.BinarySearchFunc(list, d, func(s span, d Day) int { return int(s.to) - int(d) })
	return i
}

func (list spans) contains(d Day) bool {
	i := list.find(d)
	return i < len(list) && list[i].from <= d
}

// next returns the first day of the list at or after d; Last+1 for none.
func (list spans) next(d Day) Day {
	if i := list.find(d); i < len(list) {
		return max(d, list[i].from)
	}
	return Last + 1
}

// prev returns the last day of the list at or before d; First-1 for none.
func (list spans) prev(d Day) Day {
	i := list.find(d)
	switch {
	case i < len(list) && list[i].from <= d:
		return d
	case i > 0:
		return list[i-1].to
	}
	return First - 1
}

// Contains reports whether the day is one of the calendar's.
func (c *Calendar) Contains(d Day) bool {
	return d >= First && d <= Last && c.has(d) && !c.takes(d)
}

// has is Contains without what is taken away.
func (c *Calendar) has(d Day) bool {
	if c.weekdays>>d.Weekday()&1 == 1 || c.hasYearly(d) || c.dates.contains(d) || c.holidays.contains(d) || c.ruled().contains(d) {
		return true
	}
	for _, u := range c.union {
		if u.Contains(d) {
			return true
		}
	}
	return false
}

func (c *Calendar) hasYearly(d Day) bool {
	if c.yearly == [13]uint32{} {
		return false
	}
	_, month, day := d.Time().Date()
	return c.yearly[month]>>day&1 == 1
}

// takes reports whether the day is taken away from what has says.
func (c *Calendar) takes(d Day) bool {
	return c.workdays.contains(d) || c.without != nil && c.without.Contains(d)
}

// NextIn returns the first day of the calendar after a day. ok is false when there is none within 400 years.
func (c *Calendar) NextIn(after Day) (d Day, ok bool) {
	d = max(after, First-1) + 1
	for limit := min(Last, d+era); d <= limit; d++ {
		if d = c.nextHad(d); d > limit {
			break
		}
		if !c.takes(d) {
			return d, true
		}
	}
	return 0, false
}

// nextHad returns the first day at or after d for which has is true, but for some that takes takes; Last+1 for none.
func (c *Calendar) nextHad(d Day) Day {
	best := min(c.dates.next(d), c.holidays.next(d), c.ruled().next(d))
	if c.sought != 0 {
		twoWeeks := uint16(c.sought)<<7 | uint16(c.sought)
		best = min(best, d+Day(bits.TrailingZeros16(twoWeeks>>d.Weekday())))
	}
	if c.yearly != [13]uint32{} {
		best = min(best, c.nextYearly(d))
	}
	for _, u := range c.union {
		if next, ok := u.NextIn(d - 1); ok {
			best = min(best, next)
		}
	}
	return best
}

// leapMonths is how many months 29 February may be away: eight years of them, around 1900.
const leapMonths = 8*12 + 1

// nextYearly returns the first yearly day at or after d.
func (c *Calendar) nextYearly(d Day) Day {
	year, month, day := d.Time().Date()
	for range leapMonths {
		for set := c.yearly[month] >> day << day; set != 0; set &= set - 1 {
			if found := NewDay(year, month, bits.TrailingZeros32(set)); found.Time().Month() == month {
				return found
			}
		}
		if month, day = month+1, 1; month > time.December {
			year, month = year+1, time.January
		}
	}
	return Last + 1
}

// PrevIn returns the last day of the calendar before a day. ok is false when there is none within 400 years.
func (c *Calendar) PrevIn(before Day) (d Day, ok bool) {
	d = min(before, Last+1) - 1
	for limit := max(First, d-era); d >= limit; d-- {
		if d = c.prevHad(d); d < limit {
			break
		}
		if !c.takes(d) {
			return d, true
		}
	}
	return 0, false
}

// prevHad is nextHad backwards: First-1 for none.
func (c *Calendar) prevHad(d Day) Day {
	best := max(c.dates.prev(d), c.holidays.prev(d), c.ruled().prev(d))
	if c.sought != 0 {
		twoWeeks := uint16(c.sought)<<7 | uint16(c.sought)
		back := bits.LeadingZeros16(twoWeeks << (15 - 7 - d.Weekday()))
		best = max(best, d-Day(back))
	}
	if c.yearly != [13]uint32{} {
		best = max(best, c.prevYearly(d))
	}
	for _, u := range c.union {
		if prev, ok := u.PrevIn(d + 1); ok {
			best = max(best, prev)
		}
	}
	return best
}

// prevYearly returns the last yearly day at or before d.
func (c *Calendar) prevYearly(d Day) Day {
	year, month, day := d.Time().Date()
	for range leapMonths {
		for set := c.yearly[month] << (31 - day) >> (31 - day); set != 0; {
			n := 31 - bits.LeadingZeros32(set)
			if found := NewDay(year, month, n); found.Time().Month() == month {
				return found
			}
			set &^= 1 << n
		}
		if month, day = month-1, 31; month < time.January {
			year, month = year-1, time.December
		}
	}
	return First - 1
}

// NextOut returns the first day after a day that is not in the calendar. ok is false when there is none within 400 years.
func (c *Calendar) NextOut(after Day) (d Day, ok bool) {
	d = max(after, First-1) + 1
	for limit := min(Last, d+era); d <= limit; d++ {
		if !c.Contains(d) {
			return d, true
		}
	}
	return 0, false
}

// PrevOut returns the last day before a day that is not in the calendar. ok is false when there is none within 400 years.
func (c *Calendar) PrevOut(before Day) (d Day, ok bool) {
	d = min(before, Last+1) - 1
	for limit := max(First, d-era); d >= limit; d-- {
		if !c.Contains(d) {
			return d, true
		}
	}
	return 0, false
}
