package trigger

import (
	"errors"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// microsecond is how many fit in a second.
const microsecond = 1_000_000

// A moment is a date-time as a user wrote it: with an offset an instant, else a
// time on the wall clock of a zone that may not be known yet.
type moment struct {
	wall   int64 // seconds on the wall clock
	micros int64 // of the second
	zoned  bool  // an offset or Z was given
	offset int64 // seconds east of UTC
}

// What is wrong with a text that should be a moment; their texts stand behind it in messages.
var (
	errNoDate = errors.New("is not a date that exists (accepted are such as 2026-12-01, 2026-12-01 09:30, " +
		"2026-12-01 09:30:15.25 and 2026-12-01T09:30:00+01:00)")
	errRange = errors.New("is out of range, the years are 1 to 9999")
)

// parseMoment reads a date, or a date and a time with a blank or T between, with
// a fraction and an offset. Digits of the fraction after the sixth are cut. The error is errNoDate or errRange.
func parseMoment(text string) (moment, error) {
	var m moment
	s := scanner{rest: text}
	year, month, day := s.digits(4), s.after('-', 2), s.after('-', 2)
	var hour, minute, second int
	if !s.failed && s.rest != "" {
		if !s.skip('T') && !s.skip('t') && !s.skip(' ') {
			return m, errNoDate
		}
		hour, minute = s.digits(2), s.after(':', 2)
		if s.skip(':') {
			second = s.digits(2)
			if s.skip('.') {
				m.micros = s.fraction()
			}
		}
		m.zoned, m.offset = s.zone()
	}
	if s.failed || s.rest != "" || hour > 23 || minute > 59 || second > 59 {
		return m, errNoDate
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day || int(t.Month()) != month {
		return m, errNoDate
	}
	m.wall = t.Unix()
	if s := m.wall - m.offset; s < earliest || s > latest {
		return m, errRange
	}
	return m, nil
}

// A scanner reads fixed forms; once it has failed it stays so.
type scanner struct {
	rest   string
	failed bool
}

func (s *scanner) fail() int {
	s.failed = true
	return 0
}

// digits reads exactly n ASCII digits.
func (s *scanner) digits(n int) (value int) {
	if s.failed || len(s.rest) < n {
		return s.fail()
	}
	for i := range n {
		c := s.rest[i]
		if c < '0' || c > '9' {
			return s.fail()
		}
		value = value*10 + int(c-'0')
	}
	s.rest = s.rest[n:]
	return value
}

// after reads c and n digits.
func (s *scanner) after(c byte, n int) int {
	if !s.skip(c) {
		return s.fail()
	}
	return s.digits(n)
}

func (s *scanner) skip(c byte) bool {
	if s.failed || s.rest == "" || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// fraction reads the digits after the point as microseconds.
func (s *scanner) fraction() (micros int64) {
	unit := int64(microsecond / 10)
	n := 0
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		micros += int64(s.rest[n]-'0') * unit
		unit /= 10
		n++
	}
	if n == 0 || n > 9 {
		s.fail()
	}
	s.rest = s.rest[n:]
	return micros
}

// zone reads Z or an offset, if there is one.
func (s *scanner) zone() (zoned bool, offset int64) {
	sign := int64(1)
	switch {
	case s.skip('Z'), s.skip('z'):
		return true, 0
	case s.skip('+'):
	case s.skip('-'):
		sign = -1
	default:
		return false, 0
	}
	h, m := s.digits(2), s.after(':', 2)
	if h > 23 || m > 59 {
		s.fail()
	}
	return true, sign * int64(h*3600+m*60)
}

// resolve returns the instant of a moment in a zone, in microseconds. A wall time
// in a fold is the first of the two; one in a gap is refused, naming the times on
// either side; prefix begins the message.
func (m moment) resolve(z *zone, pointer, prefix string) (int64, error) {
	if m.zoned {
		return (m.wall-m.offset)*microsecond + m.micros, nil
	}
	if z == nil {
		z = utc
	}
	t, gap, ok := z.instant(m.wall)
	if !ok {
		return 0, ruqi.Invalid(pointer, m.text(), "%s%s does not exist in %s, where the clock skips it; the nearest times that do are %s and %s",
			prefix, m.text(), z.loc, z.time(gap.begin-1).Format(time.RFC3339), z.time(gap.begin).Format(time.RFC3339))
	}
	return t*microsecond + m.micros, nil
}

// text returns the canonical form of a wall time.
func (m moment) text() string {
	return time.UnixMicro(m.wall*microsecond + m.micros).UTC().Format("2006-01-02T15:04:05.999999")
}

// formatMicros writes an instant as RFC 3339 with the zone's offset, and with as many
// digits of the fraction as it has.
func formatMicros(micros int64, z *zone) string {
	t := z.timeMicro(micros)
	if _, off := t.Zone(); off%60 != 0 {
		t = t.UTC() // RFC 3339 has no seconds in an offset; local mean times had
	}
	return t.Format("2006-01-02T15:04:05.999999Z07:00")
}

// fromTime returns a time's microseconds, cut, and whether it is one a trigger can
// mean.
func fromTime(t time.Time) (micros int64, ok bool) {
	s := t.Unix()
	if s < earliest || s > latest {
		return 0, false
	}
	return t.UnixMicro(), true
}

// clampMicros is fromTime for questions: a time outside the years 1 to 9999
// becomes the nearest bound. up rounds a fraction of a microsecond up.
func clampMicros(t time.Time, up bool) int64 {
	s := t.Unix()
	switch {
	case s < earliest:
		return earliest * microsecond
	case s > latest:
		return (latest + 1) * microsecond
	}
	micros := t.UnixMicro()
	if up && t.Nanosecond()%1000 != 0 {
		micros++
	}
	return micros
}
