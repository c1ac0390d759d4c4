package trigger

import (
	"math/bits"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// monthDays are days of every month, or of one month of the year: bits 1-31, and bit 0 for the last day. A month without such a day has
// none of it.
type monthDays struct {
	dom   uint32
	month int // 1-12; 0 for every month
}

// in returns the days of a month, by its index, as bits 1-31.
func (m monthDays) in(month int64) uint32 {
	if m.month != 0 && int(month%12)+1 != m.month {
		return 0
	}
	length := cronexpr.DaysIn(int(month/12), int(month%12)+1)
	return (m.dom&^1 | m.dom&1<<length) & (1<<(length+1) - 1)
}

// next implements daySet. Every date that is asked for comes within eight years, from one leap day to the next around 1900.
func (m monthDays) next(day int64) (int64, bool) {
	y, month, dom := cronexpr.Civil(day)
	at := monthIndex(y, month)
	set := m.in(at) &^ (1<<dom - 1)
	for set == 0 {
		if at++; at > lastMonth {
			return 0, false
		}
		set = m.in(at)
	}
	return cronexpr.DayNumber(int(at/12), int(at%12)+1, bits.TrailingZeros32(set)), true
}

// prev implements daySet.
func (m monthDays) prev(day int64) (int64, bool) {
	y, month, dom := cronexpr.Civil(min(day, lastDay))
	at := monthIndex(y, month)
	set := m.in(at) & (2<<dom - 1)
	for set == 0 {
		if at--; at < 0 {
			return 0, false
		}
		set = m.in(at)
	}
	return cronexpr.DayNumber(int(at/12), int(at%12)+1, bits.Len32(set)-1), true
}

// cycleMonths are the months after which months have the same lengths again: 400 years, with so many days.
const (
	cycleMonths = 4800
	cycleDays   = 146_097
)

// count implements daySet. It takes a few microseconds for a century, and no more than 400 years are walked.
func (m monthDays) count(from, until int64) int64 {
	if until = min(until, lastDay+1); until <= from {
		return 0
	}
	var n int64
	if cycles := (until - from) / cycleDays; cycles > 0 {
		for at := range int64(cycleMonths) {
			n += cycles * int64(bits.OnesCount32(m.in(at)))
		}
		from += cycles * cycleDays
	}
	y, month, dom := cronexpr.Civil(from)
	first := monthIndex(y, month)
	y, month, end := cronexpr.Civil(until)
	last := monthIndex(y, month)
	for at := first; at <= last; at++ {
		set := m.in(at)
		if at == first {
			set &^= 1<<dom - 1
		}
		if at == last {
			set &= 1<<end - 1
		}
		n += int64(bits.OnesCount32(set))
	}
	return n
}
