package daycal

import (
	"math/bits"
	"time"
)

// yearTypes are how many kinds of years there are: with and without 29 February, from each weekday on.
const yearTypes = 14

// A pattern is a set of days that is the same in all years of a kind, such as every Saturday, or every 25 December: for each kind
// of year one bit a day, 1 January first.
type pattern [yearTypes][6]uint64

// A yearType is the place of a kind of year in a pattern: the weekday of its 1 January, and seven more in a leap year.
type yearType int

func (y yearType) length() int { return 365 + int(y)/7 }

// monthLength returns how many days a month of such a year has.
func (y yearType) monthLength(m time.Month) int {
	switch m {
	case time.February:
		return 28 + int(y)/7
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// yearStart returns 1 January of a year from 1 to 10000.
func yearStart(year int) Day {
	y := year - 1
	return First + Day(365*y+y/4-y/100+y/400)
}

// yearAt returns the year in which a day from 0001-01-01 on is, its kind, and the day's place in it, from 0.
func yearAt(d Day) (year int, kind yearType, place int) {
	const (
		four    = 4*365 + 1
		century = 25*four - 1
	)
	rest := uint32(d - First) // since 0001-01-01
	eras := rest / era
	rest %= era
	centuries := min(rest/century, 3) // 31 December of the last has a day more
	rest -= centuries * century
	fours := rest / four
	rest %= four
	years := min(rest/365, 3)
	year = int(400*eras+100*centuries+4*fours+years) + 1
	place = int(rest - 365*years)
	return year, typeOf(year, d-Day(place)), place
}

func typeOf(year int, start Day) yearType {
	kind := yearType(start.Weekday())
	if leap(year) {
		kind += 7
	}
	return kind
}

func (p *pattern) set(kind yearType, place int) { p[kind][place/64] |= 1 << (place % 64) }

func (p *pattern) has(d Day) bool {
	_, kind, place := yearAt(d)
	return p[kind][place/64]>>(place%64)&1 == 1
}

// next returns the first day from d to last that the pattern has, or with in false, lacks; last+1 for none. It goes from year to year: 40
// are the most between two days of a pattern that is not empty (29 February on one weekday, around a century without it).
func (p *pattern) next(d, last Day, in bool) Day {
	for year, kind, place := yearAt(d); ; place = 0 {
		start := yearStart(year)
		for w := place / 64; w < 6; w++ {
			word := p.word(kind, w, in)
			if w == place/64 {
				word = word >> (place % 64) << (place % 64)
			}
			if word != 0 {
				return min(start+Day(64*w+bits.TrailingZeros64(word)), last+1)
			}
		}
		if start += Day(kind.length()); start > last {
			return last + 1
		}
		year++
		kind = typeOf(year, start)
	}
}

// prev returns the last day from first to d that the pattern has, or lacks; first-1 for none.
func (p *pattern) prev(d, first Day, in bool) Day {
	for year, kind, place := yearAt(d); ; {
		start := yearStart(year)
		for w := place / 64; w >= 0; w-- {
			word := p.word(kind, w, in)
			if w == place/64 {
				word = word << (63 - place%64) >> (63 - place%64)
			}
			if word != 0 {
				return max(start+Day(64*w+63-bits.LeadingZeros64(word)), first-1)
			}
		}
		if start <= first {
			return first - 1
		}
		year--
		kind = typeOf(year, yearStart(year))
		place = kind.length() - 1
	}
}

// word returns 64 days of a year, those that the pattern has or those that it lacks.
func (p *pattern) word(kind yearType, w int, in bool) uint64 {
	if in {
		return p[kind][w]
	}
	return always[kind][w] &^ p[kind][w]
}

// always has every day, and weekly those of one weekday.
var (
	always = func() (p pattern) {
		for kind := range yearType(yearTypes) {
			for place := range kind.length() {
				p.set(kind, place)
			}
		}
		return p
	}()
	weekly = func() (all [7]pattern) {
		for kind := range yearType(yearTypes) {
			for place := range kind.length() {
				all[(int(kind)+place)%7].set(kind, place)
			}
		}
		return all
	}()
)

// yearlyPattern returns the days of weekdays, bit w of them, and the dates of every year, bit d of each month.
func yearlyPattern(weekdays uint8, yearly *[13]uint32) (p pattern) {
	for w := range weekly {
		if weekdays>>w&1 == 1 {
			p = join(&p, &weekly[w], opOr)
		}
	}
	for kind := range yearType(yearTypes) {
		place := 0
		for m := time.January; m <= time.December; m++ {
			length := kind.monthLength(m)
			for set := yearly[m] & (1<<(length+1) - 1); set != 0; set &= set - 1 {
				p.set(kind, place+bits.TrailingZeros32(set)-1)
			}
			place += length
		}
	}
	return p
}

// An op puts two sets together.
type op uint8

const (
	opOr    op = iota // what either has
	opAnd             // what both have
	opMinus           // what the first has and the second lacks
)

func join(a, b *pattern, o op) (p pattern) {
	for kind := range p {
		for w := range p[kind] {
			switch o {
			case opOr:
				p[kind][w] = a[kind][w] | b[kind][w]
			case opAnd:
				p[kind][w] = a[kind][w] & b[kind][w]
			default:
				p[kind][w] = a[kind][w] &^ b[kind][w]
			}
		}
	}
	return p
}
