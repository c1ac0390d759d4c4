package cronexpr

import "math/bits"

// Next returns the first matching wall second at or after wall, if there is one
// before limit (wall seconds).
func (e *Expr) Next(wall, limit int64) (int64, bool) {
	d, sod := floorDay(wall)
	if !e.days.every {
		found, ok := e.nextDay(d, limit)
		if !ok {
			return 0, false
		}
		if found != d {
			wall = found*daySeconds + int64(e.first)
			return wall, wall < limit
		}
	}
	if sod <= e.last {
		wall = d*daySeconds + int64(e.nextTime(sod))
		return wall, wall < limit
	}
	d++
	if !e.days.every {
		var ok bool
		if d, ok = e.nextDay(d, limit); !ok {
			return 0, false
		}
	}
	wall = d*daySeconds + int64(e.first)
	return wall, wall < limit
}

// Prev returns the last matching wall second before wall, if there is one at or
// after limit (wall seconds).
func (e *Expr) Prev(wall, limit int64) (int64, bool) {
	d, sod := floorDay(wall - 1)
	found, ok := e.prevDay(d, limit)
	if !ok {
		return 0, false
	}
	if found == d && sod < e.first {
		if found, ok = e.prevDay(d-1, limit); !ok {
			return 0, false
		}
	}
	at := e.last
	if found == d {
		at = e.prevTime(sod)
	}
	wall = found*daySeconds + int64(at)
	return wall, wall >= limit
}

// Count returns how many wall seconds in [from, until) match. It counts months,
// not seconds.
func (e *Expr) Count(from, until int64) int64 {
	if until <= from {
		return 0
	}
	d1, s1 := floorDay(from)
	d2, s2 := floorDay(until)
	n := e.countDays(d1, d2) * int64(e.perDay)
	if s1 > 0 && e.matches(d1) {
		n -= int64(e.countTimes(s1))
	}
	if s2 > 0 && e.matches(d2) {
		n += int64(e.countTimes(s2))
	}
	return n
}

// matches reports whether a day matches.
func (e *Expr) matches(d int64) bool {
	return e.countDays(d, d+1) == 1
}

// nextDay returns the first matching day at or after d that begins before limit.
func (e *Expr) nextDay(d, limit int64) (int64, bool) {
	if e.days.weekdays {
		w := weekdayOf(d)
		ahead := uint32(e.days.dow)>>w | uint32(e.days.dow)<<(7-w)
		d += int64(bits.TrailingZeros32(ahead))
		return d, d*daySeconds < limit
	}
	y, m, dom := civil(d)
	for {
		if e.month>>m == 0 { // none left in this year
			y, m, dom = y+1, bits.TrailingZeros32(e.month), 1
		} else if skip := bits.TrailingZeros32(e.month >> m); skip > 0 {
			m, dom = m+skip, 1
		}
		if e.years != nil {
			named, ok := e.years.next(y)
			if !ok {
				return 0, false
			}
			if named != y {
				y, m, dom = named, bits.TrailingZeros32(e.month), 1
			}
		}
		first := dayNumber(y, m, 1)
		if first*daySeconds >= limit {
			return 0, false
		}
		days := e.mask(first, daysIn(y, m)) >> dom
		if days != 0 {
			d = first + int64(dom-1+bits.TrailingZeros32(days))
			return d, d*daySeconds < limit
		}
		m, dom = m+1, 1
	}
}

// prevDay returns the last matching day at or before d that ends after limit.
func (e *Expr) prevDay(d, limit int64) (int64, bool) {
	if e.days.every {
		return d, (d+1)*daySeconds > limit
	}
	if e.days.weekdays {
		// The weekdays from d back, d's own as bit 6.
		behind := uint32(e.days.dow)<<7 | uint32(e.days.dow)
		behind = behind >> (weekdayOf(d) + 1) & 0x7f
		d -= int64(7 - bits.Len32(behind))
		return d, (d+1)*daySeconds > limit
	}
	y, m, dom := civil(d)
	for {
		if below := e.month & (2<<m - 1); below == 0 { // none left in this year
			y, m, dom = y-1, bits.Len32(e.month)-1, 31
		} else if last := bits.Len32(below) - 1; last < m {
			m, dom = last, 31
		}
		if e.years != nil {
			named, ok := e.years.prev(y)
			if !ok {
				return 0, false
			}
			if named != y {
				y, m, dom = named, bits.Len32(e.month)-1, 31
			}
		}
		first := dayNumber(y, m, 1)
		length := daysIn(y, m)
		if (first+int64(length))*daySeconds <= limit {
			return 0, false
		}
		days := e.mask(first, length) & uint32(uint64(2)<<dom-1)
		if days != 0 {
			d = first + int64(bits.Len32(days)-2)
			return d, (d+1)*daySeconds > limit
		}
		m, dom = m-1, 31
	}
}

// countDays returns how many days in [from, until) match.
func (e *Expr) countDays(from, until int64) int64 {
	if from >= until {
		return 0
	}
	if e.days.every {
		return until - from
	}
	y, m, dom := civil(from)
	var n int64
	for first := from - int64(dom-1); first < until; {
		if e.years != nil {
			named, ok := e.years.next(y)
			if !ok {
				return n
			}
			if named != y {
				y, m, dom = named, 1, 1
				first = dayNumber(y, m, dom)
				continue
			}
		}
		length := daysIn(y, m)
		if e.month>>m&1 != 0 {
			days := e.mask(first, length)
			days = days >> dom << dom
			if left := until - first; left < int64(length) {
				days &= 2<<left - 1
			}
			n += int64(bits.OnesCount32(days))
		}
		first += int64(length)
		dom = 1
		if m++; m > 12 {
			y, m = y+1, 1
		}
	}
	return n
}

// nextTime returns the first matching second of the day at or after sod, which
// must not be after e.last.
func (e *Expr) nextTime(sod int) int {
	h := sod / 3600
	m := sod / 60 % 60
	if e.hour>>h&1 != 0 {
		if e.minute>>m&1 != 0 {
			s := sod % 60
			if ahead := e.second >> s; ahead != 0 {
				return sod + bits.TrailingZeros64(ahead)
			}
		}
		if ahead := e.minute >> m >> 1; ahead != 0 {
			m += 1 + bits.TrailingZeros64(ahead)
			return h*3600 + m*60 + bits.TrailingZeros64(e.second)
		}
	}
	h += 1 + bits.TrailingZeros32(e.hour>>h>>1)
	return h*3600 + e.first%3600
}

// prevTime returns the last matching second of the day at or before sod, which
// must not be before e.first.
func (e *Expr) prevTime(sod int) int {
	h := sod / 3600
	m := sod / 60 % 60
	if e.hour>>h&1 != 0 {
		if e.minute>>m&1 != 0 {
			s := sod % 60
			if behind := e.second & (2<<s - 1); behind != 0 {
				return sod - s + bits.Len64(behind) - 1
			}
		}
		if behind := e.minute & (1<<m - 1); behind != 0 {
			return h*3600 + (bits.Len64(behind)-1)*60 + bits.Len64(e.second) - 1
		}
	}
	h = bits.Len32(e.hour&(1<<h-1)) - 1
	return h*3600 + e.last%3600
}

// countTimes returns how many seconds of a matching day match before sod.
func (e *Expr) countTimes(sod int) int {
	h := sod / 3600
	m := sod / 60 % 60
	s := sod % 60
	seconds := bits.OnesCount64(e.second)
	n := bits.OnesCount32(e.hour&(1<<h-1)) * bits.OnesCount64(e.minute) * seconds
	if e.hour>>h&1 != 0 {
		n += bits.OnesCount64(e.minute&(1<<m-1)) * seconds
		if e.minute>>m&1 != 0 {
			n += bits.OnesCount64(e.second & (1<<s - 1))
		}
	}
	return n
}
