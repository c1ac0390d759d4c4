package daycal

import (
	"math/bits"
	"slices"
)

// A Calendar is an immutable set of days between First and Last. The zero value is the empty set.
//
// Contains, NextIn, PrevIn, NextOut and PrevOut take a binary search, and allocate nothing, whatever the calendar is made of.
type Calendar struct {
	weekdays uint8      // bit w: time.Weekday w
	yearly   [13]uint32 // by month, bit d: day d of it
	dates    spans
	rules    []rule
	years    []workYear // in order
	union    []*Calendar
	without  *Calendar

	days search // all of the above; empty in a calendar that is part of another
}

// compile computes the days of a calendar, once, before it is shared.
func (c *Calendar) compile(b *builder) {
	line := b.settled(b.line(c))
	// Of the patterns that came up on the way few are left.
	places := map[int32]int32{never: never, daily: daily}
	list := slices.Clone(b.list[:2])
	for i, s := range line {
		place, ok := places[s.kind]
		if !ok {
			place = int32(len(list))
			places[s.kind] = place
			list = append(list, b.list[s.kind])
		}
		line[i].kind = place
	}
	c.days = search{slices.Clip(line), slices.Clip(list)}
}

// A builder computes the days of a calendar, within bounds.
type builder struct {
	*table
	left  work   // for rules
	found []span // of one rule, while it is gone through
	parts int    // calendars within the one that is read
	wrong int    // faults, as far as they are counted
}

// enough counts a fault, and reports whether there are so many that the rest is not read.
func (b *builder) enough() bool {
	b.wrong++
	return b.wrong >= maxFaults
}

func newBuilder() *builder { return &builder{table: newTable(), left: maxWork} }

// line returns the days of a calendar.
func (b *builder) line(c *Calendar) timeline {
	var g gathered
	b.gather(c, &g)
	p := yearlyPattern(g.weekdays, &g.yearly)
	list := []timeline{{{First, b.place(&p)}}, lineOf(g.merged(), daily)}
	line := b.union(append(list, g.lines...))
	if days := c.workdays(); len(days) > 0 {
		line = b.combine(line, lineOf(days, daily), opMinus)
	}
	if c.without != nil {
		line = b.combine(line, b.line(c.without), opMinus)
	}
	return line
}

// gathered is what a calendar puts together.
type gathered struct {
	weekdays uint8
	yearly   [13]uint32
	days     []spans
	lines    []timeline
}

// merged returns the days. Many are put in order by way of a bit for each day there is, which takes a fraction of sorting them.
func (g *gathered) merged() spans {
	const many = 20_000 // as long as looking through all bits takes
	n := 0
	for _, list := range g.days {
		n += len(list)
	}
	if n < many {
		return merged(slices.Concat(g.days...))
	}
	set := make([]uint64, (Last-First)/64+1)
	for _, list := range g.days {
		for _, s := range list {
			for d := max(s.from, First) - First; d <= min(s.to, Last)-First; {
				if d%64 == 0 && s.to-First >= d+63 {
					set[d/64] = 1<<64 - 1
					d += 64
					continue
				}
				set[d/64] |= 1 << (d % 64)
				d++
			}
		}
	}
	var all spans
	for at, word := range set {
		for word != 0 {
			low := bits.TrailingZeros64(word)
			n := bits.TrailingZeros64(^(word >> low))
			from := First + Day(64*at+low)
			if k := len(all); k > 0 && all[k-1].to == from-1 {
				all[k-1].to += Day(n)
			} else {
				all = append(all, span{from, from + Day(n) - 1})
			}
			if low+n == 64 {
				break
			}
			word = word >> (low + n) << (low + n)
		}
	}
	return all
}

func (b *builder) gather(c *Calendar, g *gathered) {
	g.weekdays |= c.weekdays
	for m, days := range c.yearly {
		g.yearly[m] |= days
	}
	g.days = append(g.days, c.dates)
	for _, y := range c.years {
		g.days = append(g.days, y.holidays)
	}
	for i := range c.rules {
		r := &c.rules[i]
		if r.line != nil {
			g.lines = append(g.lines, r.line)
		}
		g.days = append(g.days, r.days)
		r.line, r.days = nil, nil // no longer needed
	}
	for _, u := range c.union {
		if u.plain() {
			b.gather(u, g)
		} else {
			g.lines = append(g.lines, b.line(u))
		}
	}
}

// plain reports whether a calendar takes nothing away, so that within another it is what it names.
func (c *Calendar) plain() bool { return c.without == nil && len(c.workdays()) == 0 }

// workdays returns the make-up working days of all years.
func (c *Calendar) workdays() spans {
	var list []span
	for _, y := range c.years {
		list = append(list, y.workdays...)
	}
	return merged(list)
}

// Contains reports whether the day is one of the calendar's.
func (c *Calendar) Contains(d Day) bool { return c.days.has(d) }

// NextIn returns the first day of the calendar after a day. ok is false when there is none up to Last.
func (c *Calendar) NextIn(after Day) (d Day, ok bool) {
	return upTo(c.days.next(max(after, First-1)+1, true))
}

// NextOut returns the first day after a day that is not in the calendar. ok is false when there is none up to Last.
func (c *Calendar) NextOut(after Day) (d Day, ok bool) {
	return upTo(c.days.next(max(after, First-1)+1, false))
}

// PrevIn returns the last day of the calendar before a day. ok is false when there is none from First on.
func (c *Calendar) PrevIn(before Day) (d Day, ok bool) {
	return downTo(c.days.prev(min(before, Last+1)-1, true))
}

// PrevOut returns the last day before a day that is not in the calendar. ok is false when there is none from First on.
func (c *Calendar) PrevOut(before Day) (d Day, ok bool) {
	return downTo(c.days.prev(min(before, Last+1)-1, false))
}

// Irregular returns the first and the last day of the shortest stretch outside of which the days of the calendar come again every 400 years: that of
// the single dates, and of the years that rules begin and end in. ok is false when there is none.
func (c *Calendar) Irregular() (first, last Day, ok bool) {
	line := c.days.line
	if len(line) < 2 {
		return 0, 0, false
	}
	return line[1].from - 1, line[len(line)-1].from, true
}

func upTo(d Day) (Day, bool) {
	if d > Last {
		return 0, false
	}
	return d, true
}

func downTo(d Day) (Day, bool) {
	if d < First {
		return 0, false
	}
	return d, true
}
