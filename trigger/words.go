package trigger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	longestText = 1024 // bytes, as of cron expressions
	weekMicros  = 7 * daySeconds * microsecond
	// mostLength is the longest length, in microseconds: the 292 years of a time.Duration.
	mostLength = int64(1<<63-1) / 1000
)

// A wordError says what is wrong with words, and where.
type wordError struct {
	column   int    // from 1, in bytes; 0: the whole
	read     string // what stands there; empty: the end of the text
	wanted   string // a sentence, or what is accepted
	instead  string // the nearest right spelling of what stands there, if there is one
	whole    string // that of all of the words, where there is none of what stands there
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
	if e.whole != "" {
		b.WriteString("; as a whole, write " + e.whole)
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
	list := make([]word, 0, len(text)/4+1) // of most texts the words are longer
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
func (r *wordReader) fail(wanted string, known ...string) *wordError {
	e := &wordError{column: r.end, wanted: wanted}
	if len(r.rest) > 0 {
		e.column, e.read = r.rest[0].column, r.rest[0].text
		e.instead = nearest(e.read, known)
		if (e.read == "weekend" || e.read == "weekends") && slices.Contains(known, "weekday") {
			e.instead = "saturday and sunday"
		}
	}
	return e
}

// refuse says in a sentence what is wrong about the next word, or the end.
func (r *wordReader) refuse(format string, args ...any) *wordError {
	e := &wordError{column: r.end, wanted: fmt.Sprintf(format, args...), complete: true}
	if len(r.rest) > 0 {
		e.column = r.rest[0].column
	}
	return e
}

// weekday reads a weekday by its name, "day" not among them.
func (r *wordReader) weekday() (weekdays, bool) {
	name := r.peek()
	if name == "weekday" || name == "weekdays" {
		r.rest = r.rest[1:]
		return mondayFriday, true
	}
	one := strings.TrimSuffix(name, "s")
	for i, full := range weekdayNames {
		if one == full || name == full[:3] {
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
	weekdayWords = append(slices.Clone(weekdayNames[:]), "weekday") // wensday is wednesday
)

const (
	acceptedUnits = "second, minute, hour, day, week, also in the plural"
	acceptedEvery = "a number, second, minute, hour, day, week, month, year, weekday, monday … sunday"
	notCounted    = "weekdays are not counted, by words or by another kind"
	acceptedFirst = "every …, in 5 minutes, at 2030-06-01 09:30, now"
)

// readWords reads a saying and the text after until, empty without it. The error is a *wordError.
func readWords(text string) (s saying, until string, err error) {
	s, until, err = readOnce(text)
	if err != nil {
		err = better(text, err)
	}
	return s, until, err
}

// readOnce is readWords without looking for another spelling of the whole.
func readOnce(text string) (s saying, until string, err error) {
	if len(text) > longestText {
		return s, "", &wordError{column: longestText + 1, wanted: fmt.Sprintf("the text has %d bytes, the most are %d", len(text), longestText), complete: true}
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
		every := r.skip("every")
		if !every && nearest(r.peek(), []string{"every"}) != "" {
			return s, "", r.fail(acceptedFirst, "every")
		}
		if err = r.beginning(every); err == nil {
			err = r.readEvery(&s)
		}
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
	again := *r
	if _, err := again.typedTimes(); err != nil && s.form.wall() && r.peek() != "at" { // monday 24:00
		return err
	}
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
	at := *r
	n, counted, err := r.number()
	switch {
	case err != nil:
		return err
	case !counted:
		return r.readUnit(s)
	case r.skip("to"):
		return r.readRandom(s, n)
	}
	if on, isDay := r.weekday(); isDay {
		switch {
		case n == 1:
			return at.instead(2, acceptedEvery, weekdayText(on))
		case on == mondayFriday:
			return at.refuse(notCounted)
		}
		wrong := at.instead(2, "weekdays are not counted", fmt.Sprintf("%d weeks on %s", n, weekdayText(on)))
		wrong.complete = true
		return wrong
	}
	if done, err := r.readMonths(s, n); done {
		return err
	}
	unit, ok := r.unit()
	if !ok {
		return r.fail(acceptedUnits+", month, year, or to", unitWords...)
	}
	if n > mostLength/unit {
		return at.refuse(tooMuch, strconv.FormatInt(n, 10))
	}
	s.length = n * unit
	switch next := r.peek(); {
	case next == "on" && unit == weekMicros:
		return r.readWeeksOn(s, n)
	case next == "at":
		return r.readDays(s, unit)
	}
	return r.more(s)
}

// readUnit reads what stands after every without a number: a unit, or a length in short.
func (r *wordReader) readUnit(s *saying) error {
	length, ok, err := r.short()
	if err != nil {
		return err
	}
	if ok {
		s.length = length
		return r.more(s)
	}
	if done, err := r.readMonths(s, 1); done {
		return err
	}
	unit, ok := r.unit()
	if !ok {
		return r.fail(acceptedEvery, slices.Concat(weekdayWords, unitWords, []string{"month", "year"})...)
	}
	s.length = unit
	if unit == weekMicros && r.peek() == "on" {
		return r.readWeeksOn(s, 1)
	}
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
		e := r.fail(wanted)
		if number, ok := r.digits(); ok && len(number) <= 2 && number <= "59" {
			e.instead = ":" + ("0" + number)[len(number)-1:]
		}
		return e
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
	return r.readOptionalTimes(s)
}

// readTimes reads at HH:MM[:SS], or a list of them.
func (r *wordReader) readTimes(s *saying) error {
	r.skip("at")
	for first := true; first || r.and(); first = false {
		text := r.peek()
		sec, err := r.time()
		var wrong *wordError
		if errors.As(err, &wrong) && text == "24:00" && s.form == formWeekdays && s.on == everyDay {
			wrong.instead = "00:00" // of each day, as 24:00 is
		}
		if err != nil {
			return err
		}
		s.secs = append(s.secs, sec)
	}
	slices.Sort(s.secs)
	s.secs = slices.Compact(s.secs)
	return nil
}

// time reads H:MM, H:MM:SS, or a time of twelve hours: 9am, 9:30 pm.
func (r *wordReader) time() (int32, error) {
	sec, err := r.clock()
	var wrong *wordError
	if errors.As(err, &wrong) && !wrong.complete && wrong.instead == "" {
		wrong.instead = r.spelled()
	}
	return sec, err
}

// clock is time without looking for another spelling.
func (r *wordReader) clock() (int32, error) {
	text, half := r.peek(), ""
	if len(text) > 2 {
		if tail := text[len(text)-2:]; tail == "am" || tail == "pm" {
			text, half = text[:len(text)-2], tail
		}
	}
	apart := half == "" && len(r.rest) > 1 && (r.rest[1].text == "am" || r.rest[1].text == "pm")
	if apart {
		half = r.rest[1].text
	}
	hours, rest, colon := strings.Cut(text, ":")
	if len(hours) == 1 {
		hours = "0" + hours
	}
	if half != "" && !colon {
		rest = "00"
	}
	t := scanner{rest: hours + ":" + rest}
	hour, minute, second := t.digits(2), t.after(':', 2), 0
	if !t.failed && t.rest != "" {
		second = t.after(':', 2)
	}
	if t.failed || t.rest != "" || hour > 23 || minute > 59 || second > 59 || !colon && half == "" {
		e := r.fail("HH:MM or HH:MM:SS, such as 13:15, or 9am")
		if text == "24:00" || text == "24:00:00" {
			e.wanted = "HH:MM or HH:MM:SS, up to 23:59:59; 24:00 is 00:00 of the day after"
		}
		if text, ok := r.digits(); ok && len(text) < 3 && hour <= 23 && !apart {
			e.instead = fmt.Sprintf("%02d:00", hour)
		}
		return 0, e
	}
	switch {
	case half == "":
	case hour == 12:
		return 0, r.refuse("12%s is noon to some and midnight to others: say 12:%02d or 00:%02d", half, minute, minute)
	case hour == 0 || hour > 12:
		return 0, r.refuse("the hours before %s are 1 to 11: say %02d:%02d", half, hour, minute)
	case half == "pm":
		hour += 12
	}
	r.rest = r.rest[1:]
	if apart {
		r.rest = r.rest[1:]
	}
	return int32(hour*3600 + minute*60 + second), nil
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
	unit, err := r.needUnit(acceptedUnits)
	if err != nil {
		return err
	}
	if most > mostLength/unit {
		return at.refuse(tooMuch, strconv.FormatInt(most, 10))
	}
	if most <= least {
		return at.refuse("the longer length must be more than the shorter one, and %d is not more than %d", most, least)
	}
	s.form, s.length, s.to = formRandom, least*unit, most*unit
	return nil
}

// date takes the words of a date, or of a date and a time.
func (r *wordReader) date() (text string, m moment, err error) {
	text = r.peek()
	if next := r.word(1); next != "" && next[0] >= '0' && next[0] <= '9' && len(text) == len("2026-12-01") {
		text += " " + r.rest[1].text
	}
	if m, err = parseMoment(text); err != nil {
		bad := &wordError{column: r.end, wanted: "there is no date", complete: true}
		var fault *momentError
		if len(r.rest) > 0 && errors.As(err, &fault) {
			bad.column, bad.wanted, bad.instead = r.rest[0].column, fmt.Sprintf("%q %s", clip(text), fault.reason()), fault.near
			bad.read = text
			if fault.near == "" && !strings.Contains(text, " ") {
				bad.column += fault.column - 1
			}
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
	at := *r
	if text, _, err = r.date(); err == nil && (r.peek() != "at" || strings.Contains(text, " ")) {
		return text, nil
	}
	other := at
	if err != nil {
		if wrong := other.period(s.form.wall()); wrong != nil {
			return "", wrong
		}
	}
	if date := other.moment(); date != "" {
		wrong := at.instead(len(at.rest)-len(other.rest), "", date)
		wrong.wanted, wrong.complete = fmt.Sprintf("%q is no date as it is written here", clip(wrong.read)), true
		return "", wrong
	}
	return text, err
}
