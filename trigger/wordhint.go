package trigger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
)

// An adverb is a word such as monthly, which names no day or time, and what is written for it: every, every and the day, and the time
// of that day if it has one. One of months says how many; one without a unit is a number of months that the words do not count.
type adverb struct {
	unit, day, time string
	months          int
}

var adverbs = map[string]adverb{
	"minutely":      {"minute", "minute", " at :00", 0},
	"hourly":        {"hour", "hour", " at :00", 0},
	"daily":         {"day", "day", " at 00:00", 0},
	"nightly":       {"day", "day", " at 00:00", 0},
	"everyday":      {"day", "day", "", 0},
	"weekly":        {"week", "monday", " at 00:00", 0},
	"fortnight":     {"2 weeks", "2 weeks", "", 0},
	"fortnightly":   {"2 weeks", "2 weeks on monday", " at 00:00", 0},
	"biweekly":      {"2 weeks", "2 weeks on monday", " at 00:00", 0},
	"bi-weekly":     {"2 weeks", "2 weeks on monday", " at 00:00", 0},
	"monthly":       {"month", "month on the 1st", " at 00:00", 1},
	"quarterly":     {months: 3},
	"semiannually":  {months: 6},
	"semi-annually": {months: 6},
	"half-yearly":   {months: 6},
	"yearly":        {"year", "year on january 1", " at 00:00", 12},
	"annually":      {"year", "year on january 1", " at 00:00", 12},
}

// days reports whether it is one of days, which have times of day.
func (a adverb) days() bool { return a.time == " at 00:00" }

// length is how long it is in words, where it is no number of months.
func (a adverb) length() string {
	if strings.Contains(a.unit, " ") {
		return a.unit
	}
	return "1 " + a.unit
}

// noLength says why months are no length, and which kind counts them.
func (a adverb) noLength() string {
	return fmt.Sprintf("a month has no fixed length: that is a kind calendar, months=%d hour=0, or words with a day, every month on the 1st at 00:00", a.months)
}

// timeWords are names of times of day.
var timeWords = map[string]string{"noon": "12:00", "midday": "12:00", "midnight": "00:00"}

// instead says that the next n words are none of what is accepted, and what is written for them.
func (r *wordReader) instead(n int, wanted, right string) *wordError {
	read := make([]string, n)
	for i := range n {
		read[i] = r.rest[i].text
	}
	return &wordError{column: r.rest[0].column, read: strings.Join(read, " "), wanted: wanted, instead: right}
}

// beginning says what is written for words that many begin with, which none that are accepted do; saidEvery is whether every stood in front.
func (r *wordReader) beginning(saidEvery bool) error {
	every := "every "
	if saidEvery {
		every = ""
	}
	next := r.peek()
	if a, ok := adverbs[next]; ok {
		if a.unit == "" {
			return r.countedAdverb(a)
		}
		after := wordReader{rest: r.rest[1:], end: r.end}
		if secs, err := after.typedTimes(); a.days() && r.word(1) != "at" && err != nil {
			return err
		} else if a.days() && r.word(1) != "at" && len(secs) > 0 {
			return r.instead(len(r.rest)-len(after.rest), acceptedEvery, every+a.day+" at "+timesText(secs)) // monthly 14:00
		}
		if _, named := after.weekday(); named && strings.Contains(a.unit, "week") {
			return r.instead(1, acceptedEvery, every+a.unit+" on") // weekly monday
		}
		switch after := r.word(1); {
		case after == "at" || after == ",":
			if rest := r.rest[1:]; a.days() && !onlyTimes(rest) {
				return r.fail(acceptedEvery) // monthly at 9:00 on the 5th
			}
			return r.instead(1, acceptedEvery, every+a.day)
		case after == "on":
			return r.instead(1, acceptedEvery, every+a.unit)
		}
		if after := r.word(1); after != "" && after != "until" {
			return r.fail(acceptedEvery) // daily with something that is not understood
		}
		return r.instead(1, acceptedEvery, every+a.day+a.time)
	}
	if at, ok := timeWords[next]; ok {
		if after := (wordReader{rest: r.rest[1:]}); after.skip("on") {
			if on, named := after.weekday(); named && len(after.rest) == 0 {
				return r.instead(3, acceptedEvery, every+weekdayText(on)+" at "+at)
			}
		}
		return r.instead(1, acceptedEvery, every+"day at "+at)
	}
	if next == "other" {
		return r.other()
	}
	return r.lengthHint()
}

// countedAdverb says how quarterly is written, with the typed time and day.
func (r *wordReader) countedAdverb(a adverb) error {
	m, ok, err := readMonthly(r.rest[1:])
	dom := strconv.Itoa(max(m.dom, 1))
	switch {
	case err != nil:
		return err
	case !ok || m.start != "" || m.date.dom != 0:
		return r.refuse("the words do not count months: a kind cron does, with */%d as its month", a.months)
	case m.last:
		dom = "L"
	}
	expr, rest := typed{secs: m.secs}.cron(dom, "*")
	fields := strings.Fields(expr)
	fields[len(fields)-2] = fmt.Sprintf("*/%d", a.months)
	return r.refuse("the words do not count months: that is a kind cron, %s%s", strings.Join(fields, " "), rest+besideOf(r.rest))
}

// spelled returns how noon, 9.30, 17h and 1730 are written, if the next word is such a time of day.
func (r *wordReader) spelled() string {
	if at, ok := timeWords[r.peek()]; ok {
		return at
	}
	text := r.peek()
	rights := []string{strings.Replace(text, ".", ":", 2)}
	if hour, minute, ok := strings.Cut(text, "h"); ok { // 17h, 17h30
		if minute == "" {
			minute = "00"
		}
		rights = append(rights, hour+":"+minute)
	}
	if len(text) == len("1730") && number(text) {
		rights = append(rights, text[:2]+":"+text[2:])
	}
	for _, right := range rights {
		if right == text {
			continue
		}
		again := wordReader{rest: slices.Clone(r.rest[:min(2, len(r.rest))])} // the time, and am or pm
		again.rest[0].text = right
		if _, err := again.clock(); err == nil {
			return right
		}
	}
	return ""
}

// word returns a word further on, empty after the end.
func (r *wordReader) word(i int) string {
	if i >= len(r.rest) {
		return ""
	}
	return r.rest[i].text
}

// other says how every other day is written; nil for other words.
func (r *wordReader) other() error {
	after := *r
	after.rest = after.rest[1:]
	if done, err := after.readMonths(&saying{}, 2); done {
		return err
	}
	named := after.peek()
	if on, ok := after.weekday(); ok && on == mondayFriday {
		return r.refuse(notCounted)
	} else if ok {
		return r.instead(2, acceptedEvery, "2 weeks on "+named)
	}
	if _, ok := after.unit(); ok {
		return r.instead(2, acceptedEvery, "2 "+strings.TrimSuffix(named, "s")+"s")
	}
	return nil
}

// isoLength reads p1dt1h30m of ISO 8601, whose months and years are no lengths: an m before the t is a month. It is 0 for other texts.
func isoLength(text string) time.Duration {
	text, ok := strings.CutPrefix(text, "p")
	date, clock, timed := strings.Cut(text, "t")
	if !ok || timed == (clock == "") || strings.Trim(date, ".0123456789wd") != "" || strings.Trim(clock, ".0123456789hms") != "" || strings.Contains(clock, "ms") {
		return 0
	}
	days, wrong := duration.Parse(cmp.Or(date, "0"))
	hours, err := duration.Parse(cmp.Or(clock, "0"))
	if wrong != nil || err != nil {
		return 0
	}
	return days + hours
}

// lengthHint says how 1.5 hours, half an hour, an hour and PT1H of ISO 8601 are written; nil for other words.
func (r *wordReader) lengthHint() error {
	first, n := r.peek(), 1
	if length := isoLength(first); length > 0 {
		return r.instead(1, acceptedLength, duration.Format(length))
	}
	switch whole, fraction, point := strings.Cut(first, "."); {
	case first == "half":
		first = "0.5"
		if article := r.word(1); article == "a" || article == "an" {
			n = 2
		}
	case first == "a" || first == "an":
		first = "1"
	case !point || whole == "" || strings.Trim(whole+fraction, "0123456789") != "":
		return nil
	}
	unit, ok := lengthUnits[strings.TrimSuffix(r.word(n), "s")]
	if !ok {
		return nil
	}
	count, err := strconv.ParseFloat(first, 64)
	if err != nil || count <= 0 || count*float64(unit) > float64(math.MaxInt64/2) { // half of the longest: rounding is far from it
		return nil
	}
	length := time.Duration(math.Round(count * float64(unit)))
	for _, whole := range []struct {
		unit time.Duration
		name string
	}{{duration.Week, "week"}, {duration.Day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if length >= whole.unit && length%whole.unit == 0 {
			many := int64(length / whole.unit)
			right := strconv.FormatInt(many, 10) + " " + whole.name
			if many > 1 {
				right += "s"
			}
			return r.instead(n+1, acceptedLength, right)
		}
	}
	return nil
}

// ordinals are how the days of a month are counted.
var ordinals = map[string]int{
	"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5, "last": 0,
}

func isHoliday(w word) bool { return w.text == "holiday" || w.text == "holidays" }

// A counting is where in a month words that are written for others say that something is: on its first Monday, on its last working day.
type counting struct {
	dom, dow         string // the fields of a cron expression
	months           []int  // of the year, where it is one of a year
	on               weekdays
	otherwise        string // the member else, empty for none
	working, counted int    // the places of the words; -1 where there are none
	day              string // the first weekday that is counted
	nth              int    // how it is counted, where it is the only one
	told             []bool // the words that are in the fields
}

func countingOf(list []word) counting {
	c := counting{dom: "*", dow: "*", working: -1, counted: -1, told: make([]bool, len(list))}
	c.countWorking(list)
	if c.working < 0 {
		c.countDays(list)
	}
	year := slices.IndexFunc(list, func(w word) bool { return w.text == "year" })
	if year < 0 || c.nth > 1 || c.dom+c.dow == "**" || strings.Contains(c.dom+c.dow, ",") {
		return c
	}
	if c.told[year] = true; c.nth == 0 {
		c.months = []int{12}
	} else {
		c.months = []int{1}
	}
	return c
}

// countWorking looks for working days, and for the one that is the first or the last of a month.
func (c *counting) countWorking(list []word) {
	for i, w := range list {
		days := i+1 < len(list) && (list[i+1].text == "day" || list[i+1].text == "days")
		if days && (w.text == "working" || w.text == "business" || w.text == "work") {
			c.working, c.told[i], c.told[i+1] = i, true, true
		} else if w.text == "workday" || w.text == "workdays" {
			c.working, c.told[i] = i, true
		}
		if c.working >= 0 {
			break
		}
	}
	if c.working < 1 {
		return
	}
	switch list[c.working-1].text {
	case "last":
		c.dom, c.otherwise = "L", `,"else":"previous"`
	case "first", "1st":
		c.dom, c.otherwise, c.nth = "1", `,"else":"next"`, 1
	}
	c.told[c.working-1], c.on = c.otherwise != "", mondayFriday
}

// says reports whether the words have nothing but what is counted, months, and one list of times: else some of them would be left out.
func (c *counting) says(list []word) bool {
	from, to := timesIn(list)
	counted, named := false, false // a day, and a month behind it
	for i, w := range list {
		r := wordReader{rest: list[i:]}
		_, month := r.month()
		if named && c.told[i] {
			return false // the first Monday of January, and the last Friday of December
		}
		if counted && c.told[i] && !c.told[i-1] && w.text != "year" && apart(list[:i]) {
			return false // the first weekday on the last Friday
		}
		named, counted = named || month && counted, counted || c.told[i] && w.text != "year"
		if !month && !c.told[i] && (i < from || i >= to) && !slices.Contains([]string{"every", "each", "the", "of", "a", "month", "months", "monthly", "on", "at", "in", "and", ","}, w.text) {
			return false
		}
	}
	return true
}

// onlyTimes reports whether words are times of day, right or wrong, and until.
func onlyTimes(list []word) bool {
	list = beforeUntil(list)
	_, err := readTyped(list)
	from, to := timesIn(list)
	return err != nil || from <= 1 && to == len(list)
}

// timesIn returns where the first times of day stand, as readTyped reads them.
func timesIn(list []word) (from, to int) {
	for i := range list {
		r := wordReader{rest: list[i:]}
		if secs, err := r.typedTimes(); err != nil || len(secs) > 0 {
			return i, len(list) - len(r.rest)
		}
	}
	return 0, 0
}

// elsewhere says which kind of trigger says what the words do not: working days, holidays, the first Monday. It is nil for other words.
func elsewhere(list []word) error {
	others, all := besideOf(list), withoutZone(list)
	list = beforeUntil(list)
	c := countingOf(list)
	holiday := holidayOnly(list)
	if c.working < 0 && c.counted < 0 && holiday < 0 {
		return nil
	}
	t, err := readTyped(list)
	if err != nil {
		return err
	}
	if end := (wordReader{rest: all[len(beforeUntil(all)):], end: all[len(all)-1].column}); len(end.rest) > 0 {
		if _, err := end.readUntil(&saying{form: formWeekdays}); err != nil {
			return err
		} else if len(end.rest) > 0 {
			return end.fail("nothing more")
		}
	}
	t.months = append(t.months, c.months...)
	cron, rest := t.cron(c.dom, c.dow)
	rest += others
	say := func(i int, format string, args ...any) error {
		return &wordError{column: list[i].column, wanted: fmt.Sprintf(format, args...), complete: true}
	}
	switch {
	case holiday >= 0:
		return say(holiday, `the words know no holidays: that is a kind only, {"kind":"only","of":{"kind":"cron","expr":"%s"},"in":[{"calendar":"holidays"}]}%s`, cron, rest)
	case c.working >= 0 && !c.says(withoutZone(list)):
		if i := c.working - 1; i >= 0 && (number(list[i].text) || list[i].text == "other" || ordinalWords[list[i].text] > 0) {
			return say(i, "working days are not counted, by words or by another kind")
		}
		return say(c.working, "the words know no holidays: a kind except leaves them out")
	case c.working >= 0:
		return say(c.working, `the words know no holidays: Monday to Friday is every weekday, and without holidays it is a kind except, {"kind":"except","of":{"kind":"cron","expr":"%s"},"not":[{"days":{"weekdays":["sat","sun"]}},{"calendar":"holidays"}]%s}%s`, cron, c.otherwise, rest)
	case !c.says(withoutZone(list)):
		return say(c.counted, "the words do not count the weekdays of a month: a kind cron does, with mon#1 or friL as its day_of_week")
	case c.nth > 1 && list[0].text == "every" && t.months == nil && !slices.ContainsFunc(list, func(w word) bool { return w.text == "month" }):
		return say(c.counted, "the words do not count the weekdays of a month: that is a kind cron, %s%s; every %s week is every %d weeks on %s", cron, rest, [...]string{"second", "third", "fourth", "fifth"}[c.nth-2], c.nth, c.day)
	}
	return say(c.counted, "the words do not count the weekdays of a month: that is a kind cron, %s%s", cron, rest)
}

// isZone reports whether a word is for a zone: europe/berlin or utc, not mon/tue and 12/25/2030.
func isZone(w word) bool {
	before, _, name := strings.Cut(w.text, "/")
	return w.text == "utc" || w.text == "gmt" || name && dayNamed(before) < 0 && !number(before)
}

// withoutZone returns the words but for a zone among them, which is told where it goes.
func withoutZone(list []word) []word {
	return slices.DeleteFunc(slices.Clone(list), isZone)
}

// besideOf says of an end and of a zone in words that they stand beside another kind, in the place of what would be left out.
func besideOf(list []word) string {
	r := wordReader{rest: list[len(beforeUntil(list)):]}
	end, option := len(r.rest) > 0, ""
	if r.skip("until") {
		if text, _, err := r.date(); err == nil {
			if len(text) == len("2026-12-01") { // words have all of that day, other kinds end at its 00:00
				text += " 23:59:59"
			}
			option = " (--end '" + strings.ToUpper(text) + "')"
		}
	}
	zone := slices.ContainsFunc(list, isZone)
	switch {
	case end && zone:
		return ", with the end and the zone beside it" + option
	case end:
		return ", with the end beside it" + option
	case zone:
		return ", with the zone beside it"
	}
	return ""
}

// holidayOnly returns the place of holiday in words that say every holiday, and a time; -1 for other words.
func holidayOnly(list []word) int {
	at := -1
	from, to := timesIn(list)
	for i, w := range list {
		switch {
		case isHoliday(w):
			at = i
		case (i < from || i >= to) && !slices.Contains([]string{"every", "each", "on", "all", "the", "public", "bank", "national"}, w.text):
			return -1
		}
	}
	return at
}
