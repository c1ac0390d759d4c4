package trigger

import (
	"math"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A stretch is all instants from its first to its last, in microseconds; there is none where from is later than to.
type stretch struct{ from, to int64 }

var (
	nowhere = stretch{math.MaxInt64, math.MinInt64}
	always  = stretch{earliest*microsecond - 1, (latest + 1) * microsecond}
	// Before 1800 all clocks show local mean time; after 2100 all follow a rule, Morocco's since 2087.
	ofClocks = stretch{time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()}
)

// and returns the shortest stretch that has both.
func (s stretch) and(other stretch) stretch {
	return stretch{min(s.from, other.from), max(s.to, other.to)}
}

// wider returns the stretch with some microseconds on either side.
func (s stretch) wider(by int64) stretch {
	if s.from > s.to {
		return s
	}
	return stretch{s.from - by, s.to + by}
}

// ofEdges returns the stretch between the instants that are given.
func ofEdges(edges ...int64) stretch {
	s := nowhere
	for _, at := range edges {
		if at != none {
			s = s.and(stretch{at, at})
		}
	}
	return s
}

func ofZone(z *zone) stretch {
	if z == nil || z == utc {
		return nowhere
	}
	return ofClocks
}

// clockMicros is more than the clocks of two zones are apart.
const clockMicros = 2 * dayMicros

// unlike returns the stretch outside of which the fire times of a trigger come again every 400 years, or there are none: it has all years,
// dates, starts and ends that the trigger names. What has another period is unlike to the end of time; so is a trigger of another package.
func unlike(t ruqi.Trigger) stretch {
	switch t := t.(type) {
	case *CronTrigger:
		return t.unlike()
	case *DateTrigger:
		return ofEdges(t.at)
	case *IntervalTrigger:
		return t.unlike()
	case *CalendarTrigger:
		return t.clock.unlike()
	case *EveryTrigger:
		return t.unlike()
	case composite:
		return unlikeParts(t)
	}
	return always
}

func unlikeParts(c composite) stretch {
	s := nowhere
	triggers, calendars := c.parts()
	for _, part := range triggers {
		s = s.and(unlike(part))
	}
	for _, p := range calendars {
		if p.days == nil {
			continue
		}
		if first, last, ok := p.days.Irregular(); ok {
			s = s.and(stretch{int64(first) * dayMicros, int64(last) * dayMicros}.wider(clockMicros))
		}
	}
	switch c := c.(type) {
	case *ExceptTrigger:
		s = s.wider(c.farthest())
	case *OnlyTrigger:
		s = s.wider(c.farthest())
	}
	return s
}

// farthest returns how far fire times are moved at most.
func (s *sieve) farthest() int64 {
	if s.otherwise == ElseSkip {
		return 0
	}
	return maxMoved*dayMicros + clockMicros
}

func (t *CronTrigger) unlike() stretch {
	if t.fault != nil || t.OnStart() {
		return nowhere
	}
	s := ofZone(t.zone).and(ofEdges(t.span.start, t.span.end))
	if first, last, named := t.expr.Years(); named {
		begin, end := time.Date(first, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(last+1, 1, 1, 0, 0, 0, 0, time.UTC)
		s = s.and(stretch{begin.UnixMicro(), end.UnixMicro()}.wider(clockMicros))
	}
	return s
}

func (t *IntervalTrigger) unlike() stretch {
	first, ok := t.first()
	if !ok {
		return nowhere
	}
	s := ofEdges(first, t.end)
	if t.end == none && searchMicros%t.every != 0 {
		s.to = always.to
	}
	return s
}

func (t *EveryTrigger) unlike() stretch {
	if t.clock != nil {
		return t.clock.unlike()
	}
	if t.saying.form == formRandom {
		origin, _, ok := t.origin()
		switch {
		case !ok:
			return nowhere
		case t.term.end.kind == edgeNone:
			return stretch{origin, always.to}
		}
		return ofEdges(origin, t.term.end.micros)
	}
	if at, ok := t.single(); ok {
		return ofEdges(at)
	}
	return nowhere
}

func (c *wallClock) unlike() stretch {
	if c == nil {
		return nowhere
	}
	s := ofZone(c.zone)
	if c.from > earliest {
		s = s.and(ofEdges(c.from * microsecond))
	}
	if c.to < latest {
		s = s.and(ofEdges(c.to * microsecond))
	}
	if times, ok := c.times.(*dayTimes); ok {
		if days, ok := times.days.(*chain); ok {
			s = s.and(ofEdges(days.first * dayMicros).wider(clockMicros))
			if c.to == latest && !days.repeats() {
				s.to = always.to
			}
		}
	}
	return s
}

// repeats reports whether the dates come again every 400 years.
func (c *chain) repeats() bool {
	switch {
	case c.months == 0:
		return cycleDays%c.days == 0
	case c.days == 0:
		return cycleMonths%c.months == 0
	}
	return false
}
