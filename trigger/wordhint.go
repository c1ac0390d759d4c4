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
			return r.refuse("the words do not count months: that is a kind cron, 0 0 1 */%d *", a.months)
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
		return r.instead(1, acceptedEvery, every+"day at "+at)
	}
	if next == "other" {
		return r.other()
	}
	return r.lengthHint()
}

// spelled returns how noon and 9.30 are written, if the next word is such a time of day.
func (r *wordReader) spelled() string {
	if at, ok := timeWords[r.peek()]; ok {
		return at
	}
	again := wordReader{rest: slices.Clone(r.rest)}
	if right := strings.Replace(r.peek(), ".", ":", 2); right != r.peek() {
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

// elsewhere says which kind of trigger says what the words do not: working days, holidays, the first Monday. It is nil for other words.
func elsewhere(list []word) error {
	var expr, day string
	working, left, counted := -1, -1, -1
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
			continue
		case "workday", "workdays":
			if working < 0 {
				working = i
			}
			continue
		case "except", "unless", "excluding", "holiday", "holidays":
			if left < 0 {
				left = i
			}
			continue
		}
		n, isOrdinal := ordinals[w.text]
		at := wordReader{rest: list[i+1:]}
		if on, ok := at.weekday(); isOrdinal && counted < 0 && ok && on != mondayFriday {
			counted, day = i, list[i+1].text[:3]
			if expr = day + "L"; n > 0 {
				expr = fmt.Sprintf("%s#%d", day, n)
			}
		}
	}
	has := func(text string) bool { return slices.ContainsFunc(list, func(w word) bool { return w.text == text }) }
	say := func(i int, format string, args ...any) error {
		return &wordError{column: list[i].column, wanted: fmt.Sprintf(format, args...), complete: true}
	}
	cron, not, otherwise := "0 9 * * *", `{"calendar":"holidays"}`, ""
	switch {
	case counted >= 0:
		cron = "0 9 * * " + expr
	case working >= 0 && has("last"):
		cron, otherwise = "0 9 L * *", `,"else":"previous"`
	case working >= 0 && (has("first") || has("1st")):
		cron, otherwise = "0 9 1 * *", `,"else":"next"`
	}
	if has("next") {
		otherwise = `,"else":"next"`
	}
	if working >= 0 {
		not = `{"days":{"weekdays":["sat","sun"]}},` + not
	}
	except := fmt.Sprintf(`{"kind":"except","of":{"kind":"cron","expr":"%s"},"not":[%s]%s}`, cron, not, otherwise)
	switch {
	case left >= 0:
		return say(left, "the words leave no days out: that is a kind except, %s", except)
	case working >= 0:
		return say(working, "the words know no holidays: Monday to Friday is every weekday, and without holidays it is a kind except, %s", except)
	case counted >= 0 && strings.HasSuffix(expr, "#2"):
		return say(counted, "the words do not count the weekdays of a month: that is a kind cron, %s; every second week is every 2 weeks on %s", cron, day)
	case counted >= 0:
		return say(counted, "the words do not count the weekdays of a month: that is a kind cron, %s", cron)
	}
	return nil
}
