package trigger

import "github.com/ruqi-dev/ruqi/trigger/daycal"

// maxMoved is how many days away a fire time may be moved. A year is more than any holiday lasts.
const maxMoved = 366

// stays reports whether fire times on a day stay there.
func (s *sieve) stays(d daycal.Day) bool {
	return s.holdsDay(d) == s.keeps && d >= daycal.First && d <= daycal.Last && s.zone.shows(d)
}

// nextStay returns the first day after d whose fire times stay.
func (s *sieve) nextStay(q *search, d, until daycal.Day) (daycal.Day, bool) {
	for {
		next, ok := s.nextDay(q, d, until, s.keeps)
		if !ok || q.spent || next > until || s.zone.shows(next) {
			return next, ok
		}
		d = next
	}
}

// prevStay returns the last day before d whose fire times stay.
func (s *sieve) prevStay(q *search, d, until daycal.Day) (daycal.Day, bool) {
	for {
		prev, ok := s.prevDay(q, d, until, s.keeps)
		if !ok || q.spent || prev < until || s.zone.shows(prev) {
			return prev, ok
		}
		d = prev
	}
}

// target returns the day to which fire times on a day belong: itself, or the one they are moved to.
func (s *sieve) target(d daycal.Day) (daycal.Day, bool) {
	step := daycal.Day(1)
	if s.otherwise == ElsePrevious {
		step = -1
	}
	for range maxMoved + 1 {
		if s.stays(d) {
			return d, true
		}
		d += step
	}
	return 0, false
}

// sources returns the days whose fire times are moved to a day; first > last when there are none.
func (s *sieve) sources(d daycal.Day) (first, last daycal.Day) {
	first, last = d, d
	if s.otherwise == ElseNext {
		for d-first < maxMoved && !s.stays(first-1) {
			first--
		}
		return first, d - 1
	}
	for last-d < maxMoved && !s.stays(last+1) {
		last++
	}
	return d + 1, last
}

// moved returns the instant to which a fire time on a day that is left out is moved.
func (s *sieve) moved(at int64) (int64, bool) {
	from := s.zone.day(at)
	to, ok := s.target(from)
	if !ok {
		return 0, false
	}
	t := floorSeconds(at)
	clock := at + s.zone.at(t).off*microsecond - int64(from)*dayMicros
	return s.place(to, clock), true
}

// place returns the instant at which the wall clock shows a time of a day, in microseconds since midnight: the first of two, or the
// first after the gap that it falls into.
func (s *sieve) place(d daycal.Day, clock int64) int64 {
	wall := int64(d)*dayMicros + clock
	t, gap, ok := s.zone.instant(floorSeconds(wall))
	if !ok {
		return gap.begin * microsecond
	}
	return t*microsecond + wall - floorSeconds(wall)*microsecond
}

// nextMoved searches for the first fire time after an instant where those on days that are left out are moved.
func (s *sieve) nextMoved(q *search, after, limit int64) (int64, finding) {
	d, until := s.zone.day(after)-1, s.zone.day(limit)+1 // the clock may go back to the day before
	if !s.stays(d) || s.zone.endOf(d) <= after {
		next, ok := s.nextStay(q, d, until)
		if !ok {
			return 0, never
		}
		d = next
	}
	// What belongs to the days before d is not after the instant, or there is none.
	for s.zone.startOf(d) <= limit && !q.spent {
		at, found := s.firstOn(q, d, after)
		if found && at >= s.zone.startOf(d+1) { // the clock goes back over midnight
			if next, ok := s.nextStay(q, d, until); ok {
				if other, has := s.firstOn(q, next, after); has {
					at = min(at, other)
				}
			}
		}
		switch {
		case q.spent:
			return max(after, s.zone.startOf(d)-1), upTo
		case found:
			return at, fires
		}
		// The first fire time that can belong to a later day.
		from := d + 1
		if s.otherwise == ElsePrevious {
			next, ok := s.nextStay(q, d, until)
			if !ok {
				return 0, never
			}
			from = next
		}
		at, is := q.next(s.of, max(after, s.zone.startOf(from)-1), limit+(maxMoved+1)*dayMicros)
		switch is {
		case never:
			return 0, never
		case upTo:
			at++
		}
		day := max(s.zone.day(at), from)
		to, ok := s.target(day)
		if !ok || to <= d {
			if to, ok = s.nextStay(q, day, until); !ok {
				return 0, never
			}
		}
		d = to
	}
	return max(after, s.zone.startOf(d)-1), upTo
}

// prevMoved is nextMoved backwards.
func (s *sieve) prevMoved(q *search, before, limit int64) (int64, finding) {
	d, until := s.zone.day(before)+1, s.zone.day(limit)-1
	if !s.stays(d) || s.zone.startOf(d) >= before {
		prev, ok := s.prevStay(q, d, until)
		if !ok {
			return 0, never
		}
		d = prev
	}
	for s.zone.endOf(d) > limit && !q.spent {
		at, found := s.lastOn(q, d, before)
		if found && at < s.zone.endOf(d-1) {
			if prev, ok := s.prevStay(q, d, until); ok {
				if other, has := s.lastOn(q, prev, before); has {
					at = max(at, other)
				}
			}
		}
		switch {
		case q.spent:
			return min(before, s.zone.endOf(d)), upTo
		case found:
			return at, fires
		}
		from := d - 1
		if s.otherwise == ElseNext {
			prev, ok := s.prevStay(q, d, until)
			if !ok {
				return 0, never
			}
			from = prev
		}
		at, is := q.prev(s.of, min(before, s.zone.endOf(from)), limit-(maxMoved+1)*dayMicros)
		switch is {
		case never:
			return 0, never
		case upTo:
			at--
		}
		day := min(s.zone.day(at), from)
		to, ok := s.target(day)
		if !ok || to >= d {
			if to, ok = s.prevStay(q, day, until); !ok {
				return 0, never
			}
		}
		d = to
	}
	return min(before, s.zone.endOf(d)), upTo
}

// firstOn returns the first fire time after an instant that belongs to a day: its own, and those that are moved to it.
func (s *sieve) firstOn(q *search, d daycal.Day, after int64) (first int64, ok bool) {
	s.pieces(d, func(from, to, _ int64) bool {
		if at, is := q.next(s.of, max(after, from-1), to-1); is == fires && at < to {
			first, ok = at, true
		}
		return !ok
	})
	// The times of day that are later than after when they are moved to the day.
	low := int64(0)
	if s.zone.startOf(d) <= after {
		t := floorSeconds(after)
		span := s.zone.at(t)
		low = after + span.off*microsecond + 1 - int64(d)*dayMicros
		if span.before > span.off {
			low = max(low, (span.begin+span.before)*microsecond-int64(d)*dayMicros)
		}
	}
	if low >= dayMicros {
		return first, ok
	}
	low = max(low, 0)
	clock := int64(dayMicros)
	for source, last := s.sources(d); source <= last; source++ {
		// Most of the days have no fire time at all.
		at, is := q.next(s.of, s.zone.startOf(source)-1, s.zone.endOf(last)-1)
		if is != fires || at >= s.zone.endOf(last) {
			break
		}
		source = max(source, s.zone.day(at)-1) // the clock may go back to it
		s.pieces(source, func(from, to, off int64) bool {
			begin := max(from, int64(source)*dayMicros+low-off)
			if at, is := q.next(s.of, begin-1, to-1); is == fires && at < to {
				clock = min(clock, at+off-int64(source)*dayMicros)
			}
			return true
		})
	}
	if clock < dayMicros {
		if at := s.place(d, clock); !ok || at < first {
			first, ok = at, true
		}
	}
	return first, ok
}

// lastOn returns the last fire time before an instant that belongs to a day.
func (s *sieve) lastOn(q *search, d daycal.Day, before int64) (last int64, ok bool) {
	s.pieces(d, func(from, to, _ int64) bool {
		if at, is := q.prev(s.of, min(before, to), from); is == fires && at >= from {
			last, ok = at, true // that of a later piece counts
		}
		return true
	})
	// The times of day that are earlier than before when they are moved to the day.
	high := int64(dayMicros)
	if before <= s.zone.endOf(d) {
		t := floorSeconds(before)
		span := s.zone.at(t)
		high = before + span.off*microsecond - int64(d)*dayMicros
		switch begin := (span.begin + span.before) * microsecond; {
		case span.before > span.off:
			high = max(high, begin-int64(d)*dayMicros)
		case span.before < span.off && before == span.begin*microsecond:
			high = begin - int64(d)*dayMicros // what is in the gap comes right after it
		}
	}
	high = min(high, dayMicros)
	clock := int64(-1)
	for source, end := s.sources(d); source <= end; source++ {
		at, is := q.next(s.of, s.zone.startOf(source)-1, s.zone.endOf(end)-1)
		if is != fires || at >= s.zone.endOf(end) {
			break
		}
		source = max(source, s.zone.day(at)-1) // the clock may go back to it
		s.pieces(source, func(from, to, off int64) bool {
			until := min(to, int64(source)*dayMicros+high-off)
			if at, is := q.prev(s.of, until, from); is == fires && at >= from {
				clock = max(clock, at+off-int64(source)*dayMicros)
			}
			return true
		})
	}
	if clock >= 0 {
		if at := s.place(d, clock); !ok || at > last {
			last, ok = at, true
		}
	}
	return last, ok
}

// pieces gives the stretches of a day with one offset, in microseconds, to exclusive, until do returns false. There is more than one
// when the clock is changed on that day.
func (s *sieve) pieces(d daycal.Day, do func(from, to, off int64) bool) {
	begin, end := int64(d)*daySeconds, int64(d+1)*daySeconds
	for t, until := floorSeconds(s.zone.startOf(d)), floorSeconds(s.zone.endOf(d)); t < until; {
		span := s.zone.find(t)
		from, to := max(span.from, begin-span.off), min(span.to, end-span.off)
		if from < to && !do(from*microsecond, to*microsecond, span.off*microsecond) {
			return
		}
		if span.to <= t {
			return
		}
		t = span.to
	}
}
