package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
)

const (
	longestText = 1024 // bytes, as of cron expressions
	// mostLength is the longest length, in microseconds: the 292 years of a time.Duration.
	mostLength = int64(1<<63-1) / 1000
)

// A wordError says what is wrong with words, and where.
type wordError struct {
	column   int    // from 1, in bytes; 0: the whole
	read     string // what stands there; empty: the end of the text
	wanted   string // a sentence, or what is accepted
	instead  string // the nearest right spelling, if there is one
	complete bool   // wanted is a sentence
}

func (e *wordError) Error() string {
	var b strings.Builder
	switch {
	case e.complete:
		b.WriteString(e.wanted)
	case e.read == "":
		fmt.Fprintf(&b, "the text ends too early (accepted: %s)", e.wanted)
	default:
		fmt.Fprintf(&b, "%q is not understood here (accepted: %s)", clip(e.read), e.wanted)
	}
	if e.instead != "" {
		b.WriteString("; write " + e.instead)
	}
	if e.column > 0 {
		fmt.Fprintf(&b, ", at column %d", e.column)
	}
	return b.String()
}

// A word is one of a text, in lower case, and where it stands.
type word struct {
	text   string
	column int
}

// words splits a text at blanks; a comma is a word of its own.
func words(text string) []word {
	var list []word
	begin := -1
	end := func(i int) {
		if begin >= 0 {
			list = append(list, word{strings.ToLower(text[begin:i]), begin + 1})
			begin = -1
		}
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			end(i)
		case c == ',':
			end(i)
			list = append(list, word{",", i + 1})
		case begin < 0:
			begin = i
		}
	}
	end(len(text))
	return list
}

// A wordReader reads words from the left.
type wordReader struct {
	rest []word
	end  int // the column after the text
}

// peek returns the next word, empty at the end.
func (r *wordReader) peek() string {
	if len(r.rest) == 0 {
		return ""
	}
	return r.rest[0].text
}

func (r *wordReader) skip(word string) bool {
	if r.peek() != word {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// fail says that the next word is none of what is accepted; the nearest of known is offered.
func (r *wordReader) fail(wanted string, known ...string) error {
	e := &wordError{column: r.end, wanted: wanted}
	if len(r.rest) > 0 {
		e.column, e.read = r.rest[0].column, r.rest[0].text
		e.instead = nearest(e.read, known)
	}
	return e
}

// refuse says in a sentence what is wrong about the next word, or the end.
func (r *wordReader) refuse(format string, args ...any) error {
	e := &wordError{column: r.end, wanted: fmt.Sprintf(format, args...), complete: true}
	if len(r.rest) > 0 {
		e.column = r.rest[0].column
	}
	return e
}

// number reads a whole number of at least one.
func (r *wordReader) number() (n int64, isNumber bool, err error) {
	text := r.peek()
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n > mostLength:
		return 0, true, r.refuse("%s is too much, 292 years are the most", clip(text))
	case n == 0:
		return 0, true, r.refuse("the length must be more than zero")
	}
	r.rest = r.rest[1:]
	return n, true, nil
}

// unit reads a unit of time, in the singular or plural.
func (r *wordReader) unit() (unit int64, ok bool) {
	length, ok := lengthUnits[strings.TrimSuffix(r.peek(), "s")]
	if ok {
		r.rest = r.rest[1:]
	}
	return length.Microseconds(), ok
}

// weekday reads a weekday by its name, "day" not among them.
func (r *wordReader) weekday() (weekdays, bool) {
	name := r.peek()
	if name == "weekday" || name == "weekdays" {
		r.rest = r.rest[1:]
		return mondayFriday, true
	}
	for i, full := range weekdayNames {
		if name == full || name == full[:3] || name == full+"s" {
			r.rest = r.rest[1:]
			return 1 << i, true
		}
	}
	return 0, false
}

// and skips what stands between the parts of a list.
func (r *wordReader) and() bool {
	comma := r.skip(",")
	return r.skip("and") || comma
}

var (
	unitWords    = []string{"seconds", "minutes", "hours", "days", "weeks", "second", "minute", "hour", "day", "week"}
	weekdayWords = append([]string{"weekday"}, weekdayNames[:]...)
)

const (
	acceptedUnits = "second, minute, hour, day, week, also in the plural"
	acceptedEvery = "a number, second, minute, hour, day, week, weekday, monday … sunday"
	acceptedFirst = "every …, in 5 minutes, at 2026-12-01 09:30, now"
)

// readWords reads a saying and the text after until, empty without it. The error is a *wordError.
func readWords(text string) (s saying, until string, err error) {
	if len(text) > longestText {
		return s, "", &wordError{wanted: fmt.Sprintf("the text has %d bytes, the most are %d", len(text), longestText), complete: true}
	}
	r := wordReader{words(text), len(text) + 1}
	switch {
	case r.peek() == "":
		return s, "", r.fail(acceptedFirst)
	case r.skip("now"):
		s.form = formIn
	case r.skip("in"):
		s.form = formIn
		s.length, err = r.lengths()
	case r.skip("at"):
		err = r.readAt(&s)
	default:
		if !r.skip("every") && nearest(r.peek(), []string{"every"}) != "" {
			return s, "", r.fail(acceptedFirst, "every")
		}
		err = r.readEvery(&s)
	}
	if err == nil && r.peek() == "until" {
		until, err = r.readUntil(&s)
	}
	if err == nil && len(r.rest) > 0 {
		err = r.rests(&s)
	}
	return s, until, err
}

// rests says why there is a word too many.
func (r *wordReader) rests(s *saying) error {
	switch {
	case s.form.once():
		return r.fail("nothing more")
	case s.form.wall() || r.peek() != "at":
		return r.fail("until …, or nothing more", "at", "until")
	case s.form == formRandom:
		return r.refuse("a random interval has no time of day")
	}
	return r.refuse("%q counts elapsed time and has no time of day; that have day, weekday, monday … sunday, N days, minute (at :SS) and hour (at :MM)", s.text())
}

// readEvery reads what stands after every.
func (r *wordReader) readEvery(s *saying) error {
	if on, ok := r.weekday(); ok {
		s.form, s.on = formWeekdays, on
		return r.readWeekdays(s)
	}
	n, counted, err := r.number()
	switch {
	case err != nil:
		return err
	case !counted:
		return r.readUnit(s)
	case r.skip("to"):
		return r.readRandom(s, n)
	}
	if _, isDay := r.weekday(); isDay {
		return r.refuse("weekdays are not counted; write every monday at 13:15, or every 2 weeks at 13:15 with a start on that day")
	}
	unit, ok := r.unit()
	if !ok {
		return r.fail(acceptedUnits+", or to", unitWords...)
	}
	if n > mostLength/unit {
		return r.refuse("%d is too much, 292 years are the most", n)
	}
	s.length = n * unit
	if r.peek() == "at" {
		return r.readDays(s, unit)
	}
	return r.more(s)
}

// more reads the other parts of a length such as 1 hour 30 minutes.
func (r *wordReader) more(s *saying) error {
	if p := r.peek(); p == "" || p[0] < '0' || p[0] > '9' {
		return nil
	}
	length, err := r.lengths()
	if err == nil && length > mostLength-s.length {
		err = r.refuse("it is too much, 292 years are the most")
	}
	s.length += length
	return err
}

// readUnit reads what stands after every without a number: a unit, or a length in short.
func (r *wordReader) readUnit(s *saying) error {
	if length, err := duration.Parse(r.peek()); err == nil && length >= time.Microsecond {
		s.length = length.Microseconds()
		r.rest = r.rest[1:]
		return nil
	}
	unit, ok := r.unit()
	if !ok {
		return r.fail(acceptedEvery, append(weekdayWords, unitWords...)...)
	}
	s.length = unit
	if r.peek() != "at" {
		return nil
	}
	switch unit {
	case 60 * microsecond:
		return r.readBeat(s, 60, ":SS, such as :30")
	case 3600 * microsecond:
		return r.readBeat(s, 3600, ":MM or :MM:SS, such as :15")
	}
	return r.readDays(s, unit)
}

// readBeat reads at :SS or at :MM[:SS].
func (r *wordReader) readBeat(s *saying, period int64, wanted string) error {
	r.skip("at")
	text := scanner{rest: r.peek()}
	offset := int64(text.after(':', 2))
	if period == 3600 {
		offset *= 60
		if text.rest != "" {
			second := text.after(':', 2)
			text.failed = text.failed || second > 59
			offset += int64(second)
		}
	}
	if text.failed || text.rest != "" || offset >= period {
		return r.fail(wanted)
	}
	r.rest = r.rest[1:]
	s.form, s.length, s.beat = formBeat, 0, beats{period, offset}
	return nil
}

// readDays reads the times after N days, or says that the unit has none.
func (r *wordReader) readDays(s *saying, unit int64) error {
	if unit < daySeconds*microsecond {
		return r.rests(s)
	}
	s.days = s.length / (daySeconds * microsecond)
	if s.form, s.length = formDays, 0; s.days == 1 {
		s.form, s.days, s.on = formWeekdays, 0, everyDay
	}
	return r.readTimes(s)
}

// readWeekdays reads the other weekdays of a list, and the times.
func (r *wordReader) readWeekdays(s *saying) error {
	for r.and() {
		on, ok := r.weekday()
		if !ok {
			return r.fail("weekday, monday … sunday", weekdayWords...)
		}
		s.on |= on
	}
	if r.peek() != "at" {
		s.secs = []int32{0}
		return nil
	}
	return r.readTimes(s)
}

// readTimes reads at HH:MM[:SS], or a list of them.
func (r *wordReader) readTimes(s *saying) error {
	r.skip("at")
	for first := true; first || r.and(); first = false {
		sec, ok := readTime(r.peek())
		if !ok {
			return r.fail("HH:MM or HH:MM:SS, such as 13:15")
		}
		r.rest = r.rest[1:]
		s.secs = append(s.secs, sec)
	}
	slices.Sort(s.secs)
	s.secs = slices.Compact(s.secs)
	return nil
}

// readTime reads HH:MM or HH:MM:SS.
func readTime(text string) (sec int32, ok bool) {
	t := scanner{rest: text}
	hour, minute, second := t.digits(2), t.after(':', 2), 0
	if !t.failed && t.rest != "" {
		second = t.after(':', 2)
	}
	ok = !t.failed && t.rest == "" && hour <= 23 && minute <= 59 && second <= 59
	return int32(hour*3600 + minute*60 + second), ok
}

// readRandom reads the longer length after to.
func (r *wordReader) readRandom(s *saying, least int64) error {
	at := *r
	most, ok, err := r.number()
	if err != nil {
		return err
	}
	if !ok {
		return r.fail("a whole number")
	}
	unit, ok := r.unit()
	if !ok {
		return r.fail(acceptedUnits, unitWords...)
	}
	if most > mostLength/unit {
		return at.refuse("%d is too much, 292 years are the most", most)
	}
	if most <= least {
		return at.refuse("the longer length must be more than the shorter one, and %d is not more than %d", most, least)
	}
	s.form, s.length, s.to = formRandom, least*unit, most*unit
	return nil
}

// lengths reads 5 minutes, 1 hour 30 minutes, or 1h30m.
func (r *wordReader) lengths() (total int64, err error) {
	if length, err := duration.Parse(r.peek()); err == nil && length >= time.Microsecond {
		r.rest = r.rest[1:]
		return length.Microseconds(), nil
	}
	for first := true; first || r.peek() != "" && r.peek()[0] >= '0' && r.peek()[0] <= '9'; first = false {
		n, ok, err := r.number()
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, r.fail("a length of time such as 5 minutes, 1 hour 30 minutes, 90s")
		}
		unit, ok := r.unit()
		if !ok {
			return 0, r.fail(acceptedUnits, unitWords...)
		}
		if n > (mostLength-total)/unit {
			return 0, r.refuse("it is too much, 292 years are the most")
		}
		total += n * unit
	}
	return total, nil
}

// date takes the words of a date, or of a date and a time.
func (r *wordReader) date() (text string, m moment, err error) {
	text = r.peek()
	if len(r.rest) > 1 && len(text) == len("2026-12-01") {
		text += " " + r.rest[1].text
	}
	if m, err = parseMoment(text); err != nil {
		bad := &wordError{column: r.end, wanted: "there is no date", complete: true}
		if len(r.rest) > 0 {
			bad.column, bad.wanted = r.rest[0].column, fmt.Sprintf("%q %v", clip(text), err)
		}
		return "", m, bad
	}
	r.rest = r.rest[1+strings.Count(text, " "):]
	return text, m, nil
}

// readAt reads the date after at.
func (r *wordReader) readAt(s *saying) (err error) {
	s.form = formAt
	_, s.at, err = r.date()
	return err
}

// readUntil reads the date after until.
func (r *wordReader) readUntil(s *saying) (text string, err error) {
	if s.form.once() {
		return "", r.refuse("what fires once has no end")
	}
	r.skip("until")
	text, _, err = r.date()
	return text, err
}

// nearest returns the word of a list that a wrong one was probably meant to be, or nothing.
func nearest(wrong string, known []string) string {
	best, found := 3, ""
	for _, right := range known {
		// Two slips are too many in a short word.
		if d := distance(wrong, right); d < best && d <= (len(right)+1)/3 && d > 0 {
			best, found = d, right
		}
	}
	return found
}

// distance returns how many letters must be put in, left out, changed or swapped with their neighbour; lengths that differ by more than two
// count as far.
func distance(a, b string) int {
	const far, longest = 99, 16
	if len(a) > longest || len(b) > longest || max(len(a)-len(b), len(b)-len(a)) > 2 {
		return far
	}
	var rows [3][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
