package cronexpr

import "math/bits"

// A yearSet holds the years of a year field, as bits from minYear.
type yearSet [(maxYear - minYear + 64) / 64]uint64

// add puts every step-th year from from to to into the set.
func (s *yearSet) add(from, to, step int) {
	from -= minYear
	to -= minYear
	if step >= 64 {
		for y := from; y <= to; y += step {
			s[y/64] |= 1 << (y % 64)
		}
		return
	}
	var every uint64 // the pattern of the step, from bit 0
	for bit := 0; bit < 64; bit += step {
		every |= 1 << bit
	}
	for y := from; y <= to; {
		word, bit := y/64, y%64
		set := every << bit
		if left := to - word*64; left < 63 {
			set &= 2<<left - 1
		}
		s[word] |= set
		y += (64 - bit + step - 1) / step * step // the first of the next word
	}
}

// next returns the first year of the set from y on. Within the searches it would
// take the registers that expressions without years need.
//
//go:noinline
func (s *yearSet) next(y int) (int, bool) {
	i := max(y-minYear, 0)
	for word := i / 64; word < len(s); word++ {
		if set := s[word] >> (i % 64); set != 0 {
			return minYear + i + bits.TrailingZeros64(set), true
		}
		i = (word + 1) * 64
	}
	return 0, false
}

// prev returns the last year of the set up to y.
//
//go:noinline
func (s *yearSet) prev(y int) (int, bool) {
	i := min(y, maxYear) - minYear
	for i >= 0 {
		if set := s[i/64] << (63 - i%64); set != 0 {
			return minYear + i - bits.LeadingZeros64(set), true
		}
		i = i/64*64 - 1
	}
	return 0, false
}

// full reports whether every year is in the set.
func (s *yearSet) full() bool {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n == maxYear-minYear+1
}

// weekDays returns the days of a month, as bits 1-31, that lie in the given weeks
// of ISO 8601. A week has the number it has in the year of its Thursday.
func weekDays(weeks uint64, firstDay int64, length int) (days uint32) {
	y, _, _ := civil(firstDay)
	begin, end := dayNumber(y, 1, 1), dayNumber(y+1, 1, 1)
	monday := firstDay - int64((weekdayOf(firstDay)+6)%7)
	for ; monday < firstDay+int64(length); monday += 7 {
		thursday := monday + 3
		var n int64
		switch {
		case thursday < begin:
			n = (thursday-dayNumber(y-1, 1, 1))/7 + 1
		case thursday < end:
			n = (thursday-begin)/7 + 1
		default:
			n = 1
		}
		if weeks>>n&1 == 0 {
			continue
		}
		if shift := monday - firstDay + 1; shift >= 0 {
			days |= 0x7f << shift
		} else {
			days |= 0x7f >> -shift
		}
	}
	return days
}
