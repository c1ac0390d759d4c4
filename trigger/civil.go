package trigger

import "github.com/ruqi-dev/ruqi/trigger/daycal"

// dayMicros is a day on the wall clock.
const dayMicros = daySeconds * microsecond

func floorDay(wall int64) daycal.Day {
	d := wall / daySeconds
	if wall < d*daySeconds {
		d--
	}
	return daycal.Day(d)
}

// day returns the date on the wall clock at an instant, in microseconds.
func (z *zone) day(micros int64) daycal.Day {
	t := floorSeconds(micros)
	return floorDay(t + z.at(t).off)
}

// startOf returns the first instant, in microseconds, at which the wall clock shows a day, or a later one where it skips it.
func (z *zone) startOf(d daycal.Day) int64 {
	t, gap, ok := z.instant(int64(d) * daySeconds)
	if !ok {
		t = gap.begin
	}
	return t * microsecond
}

// shows reports whether the wall clock ever shows a day; zones that changed their side of the date line have left one out.
func (z *zone) shows(d daycal.Day) bool { return z.day(z.startOf(d)) == d }

// endOf returns the instant, in microseconds, after which the wall clock no longer shows a day.
func (z *zone) endOf(d daycal.Day) int64 {
	end := z.startOf(d + 1)
	if s := z.at(end / microsecond); s.foldsOverMidnight() && floorDay(s.end+s.after) == d {
		return (int64(d+1)*daySeconds - s.after) * microsecond
	}
	return end
}

// foldsOverMidnight reports whether the clock change after the span leads back to a day that was over.
func (s *span) foldsOverMidnight() bool {
	return s.after < s.off && floorDay(s.end+s.after) < floorDay(s.end-1+s.off)
}

// foldsOverMidnight reports whether there is such a clock change between two instants.
func (z *zone) foldsOverMidnight(from, to int64) bool {
	until := floorSeconds(to)
	for t := floorSeconds(from) - settled; ; {
		s := z.find(t)
		if s.foldsOverMidnight() {
			return true
		}
		if s.to > until || s.to > latest || s.to <= t {
			return false
		}
		t = s.to
	}
}

// later returns the first instant after one that may show the later day d; its first one may have been before a fold.
func (z *zone) later(at int64, d daycal.Day) int64 {
	if start := z.startOf(d); start > at {
		return start
	}
	return max(at+1, (int64(d)*daySeconds-z.at(floorSeconds(at)).off)*microsecond)
}

// backAfter returns the next clock change after an instant, when it leads back to a day before the one that is shown then.
func (z *zone) backAfter(at int64) (change int64, ok bool) {
	t := floorSeconds(at)
	s := z.at(t)
	return s.end * microsecond, s.foldsOverMidnight() && floorDay(s.end+s.after) < floorDay(t+s.off)
}

// aheadBefore returns the last clock change before an instant, or at it, when a day after the one that is shown then was shown before.
func (z *zone) aheadBefore(at int64) (change int64, ok bool) {
	t := floorSeconds(at)
	s := z.at(t)
	return s.begin * microsecond, s.before > s.off && floorDay(s.begin-1+s.before) > floorDay(t+s.off)
}
