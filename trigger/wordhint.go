package trigger

import (
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
	"minutely":      {"minute", "minute", "", 0},
	"hourly":        {"hour", "hour", "", 0},
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
		after := wordReader{rest: r.rest[1:]}
		if secs, err := after.typedTimes(); a.time != "" && r.word(1) != "at" && err == nil && len(secs) > 0 {
			return r.instead(len(r.rest)-len(after.rest), acceptedEvery, every+a.day+" at "+timesText(secs)) // monthly 14:00
		}
		if _, named := after.weekday(); named && strings.Contains(a.unit, "week") {
			return r.instead(1, acceptedEvery, every+a.unit+" on") // weekly monday
		}
		switch after := r.word(1); {
		case after == "at" || after == ",":
			return r.instead(1, acceptedEvery, every+a.day)
		case after == "on":
			return r.instead(1, acceptedEvery, every+a.unit)
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
	t, err := readTyped(r.rest)
	if err != nil {
		return err
	}
	dom := "1"
	switch {
	case t.last:
		dom = "L"
	case t.dom > 0:
		dom = strconv.Itoa(t.dom)
	}
	expr, rest := typed{secs: t.secs}.cron(0, dom, "*")
	fields := strings.Fields(expr)
	fields[len(fields)-2] = fmt.Sprintf("*/%d", a.months)
	return r.refuse("the words do not count months: that is a kind cron, %s%s", strings.Join(fields, " "), rest)
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
		again := wordReader{rest: slices.Clone(r.rest)}
		again.rest[0].text = right
		if _, err := again.time(); err == nil {
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
	if on, ok := after.weekday(); ok && on != mondayFriday {
		return r.instead(2, acceptedEvery, "2 weeks on "+named)
	}
	if _, ok := after.unit(); ok {
		return r.instead(2, acceptedEvery, "2 "+strings.TrimSuffix(named, "s")+"s")
	}
	return nil
}

// lengthHint says how 1.5 hours, half an hour and an hour are written; nil for other words.
func (r *wordReader) lengthHint() error {
	first, n := r.peek(), 1
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

// elsewhere says which kind of trigger says what the words do not: working days, holidays, the first Monday. It is nil for other words.
func elsewhere(list []word) error {
	list = beforeUntil(list)
	expr, day, counted := countedDays(list)
	working, left := -1, -1
	for i, w := range list {
		next := ""
		if i+1 < len(list) {
			next = list[i+1].text
		}
		switch w.text {
		case "working", "business", "work":
			if working < 0 && (next == "day" || next == "days") {
				working = i
			}
		case "workday", "workdays":
			if working < 0 {
				working = i
			}
		case "except", "unless", "excluding", "holiday", "holidays":
			if left < 0 {
				left = i
			}
		}
	}
	if left >= 0 && working < 0 && counted < 0 && !slices.ContainsFunc(list, isHoliday) {
		return nil // every day except sunday: words have the other days
	}
	if working < 0 && left < 0 && counted < 0 {
		return nil
	}
	t, err := readTyped(list)
	if err != nil {
		return err
	}
	has := func(text string) bool { return slices.ContainsFunc(list, func(w word) bool { return w.text == text }) }
	say := func(i int, format string, args ...any) error {
		return &wordError{column: list[i].column, wanted: fmt.Sprintf(format, args...), complete: true}
	}
	dom, dow, not, otherwise := "*", "*", `{"calendar":"holidays"}`, ""
	switch {
	case counted >= 0:
		dow = expr
	case working >= 0 && has("last"):
		dom, otherwise = "L", `,"else":"previous"`
	case working >= 0 && (has("first") || has("1st")):
		dom, otherwise = "1", `,"else":"next"`
	}
	cron, rest := t.cron(9*3600, dom, dow)
	of := fmt.Sprintf(`{"kind":"cron","expr":"%s"}`, cron)
	if counted < 0 && working < 0 && left >= 0 {
		of, rest = t.days(list, left)
	}
	if has("next") {
		otherwise = `,"else":"next"`
	}
	switch without := t.leftOut(list, left); {
	case working >= 0:
		not = `{"days":{"weekdays":["sat","sun"]}},` + not
	case without != "":
		not = `{"days":{"weekdays":[` + without + `]}},` + not
	}
	except := fmt.Sprintf(`{"kind":"except","of":%s,"not":[%s]%s}%s`, of, not, otherwise, rest)
	switch {
	case left >= 0:
		return say(left, "the words leave no days out: that is a kind except, %s", except)
	case working >= 0:
		return say(working, "the words know no holidays: Monday to Friday is every weekday, and without holidays it is a kind except, %s", except)
	case strings.HasSuffix(expr, "#2"):
		return say(counted, "the words do not count the weekdays of a month: that is a kind cron, %s%s; every second week is every 2 weeks on %s", cron, rest, day)
	}
	return say(counted, "the words do not count the weekdays of a month: that is a kind cron, %s%s", cron, rest)
}
