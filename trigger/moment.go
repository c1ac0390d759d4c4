package trigger

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
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
	errNoDate = errors.New("is not a date that exists (accepted are such as 2030-06-01, 2030-06-01 09:30, " +
		"2030-06-01 09:30:15.25 and 2030-06-01T09:30:00+01:00)")
	errRange = errors.New("is " + outOfRange)
)

// A momentError says that a text is no moment, and where.
type momentError struct {
	err    error  // errNoDate or errRange
	why    string // more of it, empty for none: November has 30 days
	column int    // from 1, in bytes
	near   string // the nearest right spelling; empty when there is none
}

func (e *momentError) Error() string {
	text := e.reason()
	if e.near != "" {
		text += "; write " + e.near
	}
	return text + ", at column " + strconv.Itoa(e.column)
}

// reason is what is wrong, without what is written for it and where.
func (e *momentError) reason() string {
	if e.why != "" {
		return e.err.Error() + "; " + e.why
	}
	return e.err.Error()
}

func (e *momentError) Unwrap() error { return e.err }

// within returns an error of parseMoment for a text that begins at a column of a longer one.
func within(err error, column int) error {
	var e *momentError
	if !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.column += column - 1
	return &moved
}

// nearestMoment returns a text that was meant for a moment as it is written; empty when there is none: 2026-1-5 9:00 is
// 2026-01-05 09:00.
func nearestMoment(text string) string {
	const longest = len("2026-12-01T09:30:15.250000+01:00")
	if len(text) > longest || len(text) < len("2026-1-1") {
		return ""
	}
	date, rest := text, ""
	if i := strings.IndexAny(text, "Tt "); i >= 0 {
		date, rest = text[:i], text[i:]
		if hour, _, found := strings.Cut(rest[1:], ":"); found && len(hour) == 1 {
			rest = rest[:1] + "0" + rest[1:]
		}
	}
	parts := strings.FieldsFunc(date, func(r rune) bool { return r == '-' || r == '/' || r == '.' })
	if len(parts) != 3 || len(parts[0]) != 4 {
		return ""
	}
	for i, part := range parts[1:] {
		if len(part) == 1 {
			parts[1+i] = "0" + part
		}
	}
	right := strings.Join(parts, "-") + rest
	if _, err := readMoment(right); err != nil || right == text {
		return ""
	}
	return right
}

// parseMoment reads a date, or a date and a time with a blank or T between, with
// a fraction and an offset. Digits of the fraction after the sixth are cut. The error is a *momentError, and
// is errNoDate or errRange.
func parseMoment(text string) (moment, error) {
	m, err := readMoment(text)
	if err != nil {
		if err.near = nearestMoment(text); err.near != "" {
			err.column = 1 // it takes the place of all of the text
		}
		return m, err
	}
	return m, nil
}

func readMoment(text string) (moment, *momentError) {
	var m moment
	s := scanner{rest: text}
	wrong := func(err error, rest string) (moment, *momentError) {
		return m, &momentError{err: err, column: len(text) - len(rest) + 1}
	}
	year, month, day := s.digits(4), s.after('-', 2), s.after('-', 2)
	if !s.failed && month >= 1 && month <= 12 && day > cronexpr.DaysIn(year, month) {
		_, err := wrong(errNoDate, text[len("2026-12-"):])
		err.why = fmt.Sprintf("%s has %d days", time.Month(month), cronexpr.DaysIn(year, month))
		if month == 2 {
			err.why = fmt.Sprintf("%s %04d has %d days", time.Month(month), year, cronexpr.DaysIn(year, month))
		}
		return m, err
	}
	var hour, minute, second int
	if !s.failed && s.rest != "" {
		if !s.skip('T') && !s.skip('t') && !s.skip(' ') {
			return wrong(errNoDate, s.rest)
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
	switch {
	case s.failed:
		return wrong(errNoDate, s.rest)
	case month < 1 || month > 12:
		return wrong(errNoDate, text[len("2026-"):])
	case day < 1:
		return wrong(errNoDate, text[len("2026-12-"):])
	case hour > 23:
		return wrong(errNoDate, text[len("2026-12-01T"):])
	case minute > 59:
		return wrong(errNoDate, text[len("2026-12-01T09:"):])
	case second > 59:
		return wrong(errNoDate, text[len("2026-12-01T09:30:"):])
	case s.rest != "":
		return wrong(errNoDate, s.rest)
	}
	m.wall = time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix()
	if s := m.wall - m.offset; s < earliest || s > latest {
		return wrong(errRange, text)
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
	if s.failed {
		return 0
	}
	for i := range n {
		if i >= len(s.rest) || s.rest[i] < '0' || s.rest[i] > '9' {
			s.rest = s.rest[i:]
			return s.fail()
		}
		value = value*10 + int(s.rest[i]-'0')
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
// becomes the nearest instant outside, so that all those inside are after, or before, it. up rounds a fraction of a microsecond up.
func clampMicros(t time.Time, up bool) int64 {
	s := t.Unix()
	switch {
	case s < earliest:
		return earliest*microsecond - 1
	case s > latest:
		return (latest + 1) * microsecond
	}
	micros := t.UnixMicro()
	if up && t.Nanosecond()%1000 != 0 {
		micros++
	}
	return micros
}
