package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

var (
	// dayNow are words for days that are another one tomorrow.
	dayNow = []string{"today", "tomorrow", "tonight"}
	// startWords are words behind which a start stands.
	startWords = []string{"starting", "from", "since", "beginning", "start", "after"}
	// untilWords stand between the hours from and to.
	untilWords = []string{"and", "to", "-", "until", "till", "through"}
)

// beside says of words that are accepted but for a zone, a start, a number of runs, or hours of the day, where those are given; nil for
// other words.
func beside(text string, list []word) *wordError {
	for _, told := range []func(string, []word) *wordError{otherDay, someHours, onTheClock, started, inZone, someTimes} {
		if wrong := told(text, list); wrong != nil {
			return wrong
		}
	}
	return nil
}

// toldAt says in a sentence what is wrong about a word.
func toldAt(w word, format string, args ...any) *wordError {
	return &wordError{column: w.column, wanted: fmt.Sprintf(format, args...), complete: true}
}

// repeated returns a text as it is written, and what it says; ok is false where it says no times that repeat.
func repeated(text string) (whole string, s saying, ok bool) {
	whole, err := follow(text)
	if err != nil {
		whole, _ = again(text, words(text))
	}
	if whole == "" {
		return "", s, false
	}
	s, _, err = readOnce(whole)
	return whole, s, err == nil && !s.form.once()
}

// otherDay says of tomorrow, or next monday, that it is not always the same.
func otherDay(_ string, list []word) *wordError {
	for i, w := range list {
		n := 0
		switch {
		case slices.Contains(dayNow, w.text):
			n = 1
		case (w.text == "next" || w.text == "this") && i+1 < len(list) && dayNamed(list[i+1].text) >= 0:
			n = 2
		default:
			continue
		}
		rest := slices.Concat(list[:i], list[i+n:])
		if i > 0 && slices.ContainsFunc(rest, func(w word) bool {
			_, adverb := adverbs[w.text]
			return adverb || slices.Contains(startWords, w.text) || slices.Contains([]string{"every", "each", "until", "till"}, w.text)
		}) {
			return nil
		}
		return toldAt(w, "that is another day tomorrow, and a trigger is not: give the date, as in at 2030-06-01%s, or a time from now, in 5 minutes", timeBeside(w.text, rest))
	}
	return nil
}

// timeBeside returns the time that stands beside tomorrow or tonight, with a blank in front; empty where there is none, or several.
func timeBeside(day string, rest []word) string {
	r := looseReader{wordReader: wordReader{rest: asWords(plainly(rest))}}
	if day == "tonight" {
		r.part = "night"
	}
	if !r.all() {
		return ""
	}
	s := saying{secs: r.secs}
	if len(r.secs) != 1 || !r.inPart(&s) {
		return ""
	}
	return " " + timeText(s.secs[0])
}

// someHours says how every 10 minutes between 9:00 and 17:00, on some weekdays, or both, are a cron expression.
func someHours(_ string, list []word) *wordError {
	beside := ""
	if inner := withoutZone(list); len(inner) < len(list) {
		list, beside = inner, besideOf(list)
	}
	at := slices.IndexFunc(list, func(w word) bool { return w.text == "between" || w.text == "from" || w.text == "on" })
	texts := plainly(list)
	from, until := -1, -1
	if i := slices.IndexFunc(texts, func(w string) bool { return w == "between" || w == "from" }); i >= 0 {
		if len(texts) < i+4 || !slices.Contains(untilWords, texts[i+2]) {
			return nil
		}
		from, until = hourOf(texts[i+1]), hourOf(texts[i+3])
		if from < 0 || until < 0 || until == from {
			return nil
		}
		if until < from && from <= 12 && !(ofOneHalf(texts[i+1]) && ofOneHalf(texts[i+3])) {
			return nil // from 9 to 5
		}
		texts = slices.Concat(texts[:i], texts[i+4:])
	}
	var rest []string
	named := false
	for i, w := range texts {
		day := wordReader{rest: asWords([]string{w})}
		if _, ok := day.weekday(); ok && named && apart(asWords(texts[:i])) {
			return nil // on weekdays on monday
		} else if ok {
			named = true
		} else if w != "on" && w != "," && w != "and" {
			rest = append(rest, w)
		}
	}
	days := typedDays(asWords(texts))
	if from < 0 && days == "*" || !slices.ContainsFunc(rest, func(w string) bool { return w == "every" || adverbs[w].unit != "" }) {
		return nil
	}
	whole, err := follow(strings.Join(rest, " "))
	if err != nil {
		return nil
	}
	length, ok := stepOf(whole)
	if !ok {
		return nil
	}
	cron := hoursOf(length, from, until, days)
	if cron == "" {
		return nil
	}
	if from < 0 {
		return toldAt(list[max(at, 0)], "the words count elapsed time on all days: that is a kind cron, %s%s", cron, beside)
	}
	return toldAt(list[max(at, 0)], "the words have no hours from and to: that is a kind cron, %s%s", cron, beside)
}

// stepOf returns the length of words that say nothing else: every 5 minutes, or every hour at :00.
func stepOf(whole string) (length int64, ok bool) {
	s, end, err := readOnce(whole)
	switch {
	case err != nil || end != "":
		return 0, false
	case s.form == formBeat && s.beat.offset == 0:
		return s.beat.period * microsecond, true
	}
	return s.length, s.form == formInterval
}

// hoursOf returns the cron expression of a length between hours of the day, -1 where there are none, on days; empty where it is not one.
// Hours that go on after midnight are those of no weekday.
func hoursOf(length int64, from, until int, days string) string {
	hours, minutes := length/(3600*microsecond), length/(60*microsecond)
	between := "*"
	if from >= 0 {
		between = hoursBetween(from, until)
	}
	switch night := until < from; {
	case night && days != "*":
		return ""
	case length%(3600*microsecond) == 0 && hours == 1:
		return "0 " + between + " * * " + days
	case length%(3600*microsecond) == 0 && night && hours < 24:
		var list []int
		for hour := from; hour <= until+24; hour += int(hours) {
			list = append(list, hour%24)
		}
		return "0 " + joined(list) + " * * *"
	case length%(3600*microsecond) == 0 && hours < 24 && (from >= 0 || 24%hours == 0):
		return "0 " + between + "/" + strconv.FormatInt(hours, 10) + " * * " + days
	case length%(60*microsecond) != 0 || minutes >= 60 || 60%minutes != 0:
		return ""
	}
	step := "*/" + strconv.FormatInt(minutes, 10)
	if minutes == 1 {
		step = "*"
	}
	if from < 0 {
		return step + " * * * " + days
	}
	last := int32((until+24)%24*3600+daySeconds) - int32(minutes*60)
	return step + " " + hoursBetween(from, (until+23)%24) + " * * " + days + " (the last of a day at " + timeText(last%daySeconds) + ")"
}

// hoursBetween returns the field of hours from one to another, through midnight where the other is the lower one.
func hoursBetween(from, until int) string {
	through := func(from, until int) string {
		if from == until {
			return strconv.Itoa(from)
		}
		return strconv.Itoa(from) + "-" + strconv.Itoa(until)
	}
	if from <= until {
		return through(from, until)
	}
	return through(from, 23) + "," + through(0, until)
}

// hourOf reads 9, 9:00 or 9am as an hour; -1 for other words.
func hourOf(text string) int {
	r := wordReader{rest: asWords([]string{"at", text})}
	secs, err := r.typedTimes()
	if err != nil || len(secs) != 1 || secs[0]%3600 != 0 || len(r.rest) > 0 {
		return -1
	}
	return int(secs[0] / 3600)
}

// ofOneHalf reports whether an hour says which half of the day it is of: 9am, noon, or 0.
func ofOneHalf(text string) bool {
	return strings.HasSuffix(text, "m") || timeWords[text] != "" || hourOf(text) == 0
}

// onTheClock says how every 4 hours at :30, or at 6:00, is written.
func onTheClock(_ string, list []word) *wordError {
	at := slices.IndexFunc(list, func(w word) bool { return w.text == "at" })
	if at < 1 || !slices.Contains([]string{"hour", "hours", "hourly", "minute", "minutes", "min", "mins"}, list[at-1].text) {
		return nil
	}
	whole, err := follow(strings.Join(plainly(list[:at]), " "))
	if err != nil {
		return nil
	}
	length, ok := stepOf(whole)
	hours, minutes := length/(3600*microsecond), length/(60*microsecond)
	if !ok || length%(60*microsecond) != 0 || minutes < 2 {
		return nil
	}
	if length == 3600*microsecond {
		minutes, ok := minutesOf(textsOf(list[at+1:]))
		if !ok {
			return nil
		}
		return toldAt(list[at], "the words have one minute of an hour: that is a kind cron, %s * * * *", minutes)
	}
	typed := clip(strings.Join(textsOf(list[:at]), " "))
	say := func(format string, args ...any) *wordError {
		return toldAt(list[at], "%q counts elapsed time and has no time of day: on the clock that is a kind cron, %s", typed, fmt.Sprintf(format, args...))
	}
	r := wordReader{rest: list[at:]}
	if secs, err := r.typedTimes(); err == nil && len(secs) == 1 && len(r.rest) == 0 && length%(3600*microsecond) == 0 && hours > 1 && 24%hours == 0 {
		step := int32(hours * 3600)
		first := secs[0] % step
		if hours < 4 {
			if first%60 != 0 {
				return nil
			}
			return say("%d %d-23/%d * * *", first/60%60, first/3600, hours)
		}
		day := saying{form: formWeekdays, on: everyDay}
		for sec := first; sec < daySeconds; sec += step {
			day.secs = append(day.secs, sec)
		}
		return &wordError{column: list[at].column, wanted: fmt.Sprintf("%q counts elapsed time and has no time of day", typed), complete: true, whole: day.text()}
	}
	minute := scanner{rest: r.peek()}
	n := minute.after(':', 2)
	switch {
	case minute.failed || minute.rest != "" || n > 59 || len(r.rest) != 1:
		return nil
	case length%(3600*microsecond) == 0 && hours > 1 && hours < 24 && 24%hours == 0:
		return say("%d */%d * * *", n, hours)
	case minutes < 60 && 60%minutes == 0:
		return say("%d-59/%d * * * *", n%int(minutes), minutes)
	}
	return nil
}

// minutesOf reads :15 and :45, or 15 and 45, as a field.
func minutesOf(texts []string) (field string, ok bool) {
	var minutes []int
	for i, w := range texts {
		minute := asMinute(strings.TrimPrefix(w, ":"))
		switch {
		case minute < 60:
			minutes = append(minutes, minute)
		case i == 0 || w != "and" && w != ",":
			return "", false
		}
	}
	return joined(slices.Compact(slices.Sorted(slices.Values(minutes)))), len(minutes) > 1
}

// started says of words with a start where it is given.
func started(text string, list []word) *wordError {
	for i, w := range list {
		if !slices.Contains(startWords, w.text) || w.text == "from" && i+1 < len(list) && list[i+1].text == "now" {
			continue
		}
		at := i + 1
		if at < len(list) && slices.Contains([]string{"on", "at", "from", "in"}, list[at].text) {
			at++
		}
		r := wordReader{rest: list[min(at, len(list)):]}
		without := func() (string, saying, bool) { // the words but for the start
			rest := ""
			if len(r.rest) > 0 {
				rest = text[r.rest[0].column-1:]
			}
			return repeated(text[:w.column-1] + rest)
		}
		if start, _, err := r.date(); err == nil && !strings.ContainsAny(start, "tz") { // they are in lower case
			if whole, _, ok := without(); ok {
				return toldAt(w, "the words have no start: say %s, with the start beside it (--start '%s')", whole, start)
			}
			return nil
		}
		if day := startDay(&r); day != "" {
			whole, _, ok := without()
			switch {
			case ok && day == "now":
				return toldAt(w, "the words have no start: say %s, which begins when it is set", whole)
			case ok:
				return toldAt(w, "the words have no start: say %s, with the date of %s beside it as the start (--start)", whole, day)
			}
			return nil
		}
		if len(r.rest) == 0 || w.text == "after" || list[at-1].text != "at" && !isTime(r.peek(), r.word(1)) && !(number(r.peek()) && len(r.rest) == 1) {
			continue // after 5 minutes
		}
		r.rest = slices.Concat([]word{{"at", r.rest[0].column}}, r.rest)
		secs, err := r.typedTimes()
		if err != nil || len(secs) != 1 {
			continue
		}
		whole, s, ok := without()
		switch {
		case ok && s.form == formInterval && s.length%(daySeconds*microsecond) != 0, ok && s.form == formRandom:
			return toldAt(w, "the words have no start: say %s, with the start beside it, a date and %s (--start '2030-06-01 %[2]s')", whole, timeText(secs[0]))
		case ok:
			rest := ""
			if len(r.rest) > 0 {
				rest = " " + text[r.rest[0].column-1:]
			}
			if whole, s, ok := repeated(text[:w.column-1] + "at " + timeText(secs[0]) + rest); ok && s.form.wall() {
				return &wordError{column: w.column, read: w.text, wanted: "until …, or nothing more", whole: whole}
			}
		}
		return nil
	}
	return nil
}

// startDay reads a day that is another one tomorrow: tomorrow, next monday; empty for other words.
func startDay(r *wordReader) string {
	next, named := r.peek(), r.word(1)
	n := 0
	switch {
	case next == "now" || next == "today" || next == "tomorrow" || dayNamed(next) >= 0:
		n = 1
	case next == "next" && (dayNamed(named) >= 0 || named == "week" || named == "month" || named == "year"):
		n = 2
	default:
		return ""
	}
	day := strings.Join(textsOf(r.rest[:n]), " ")
	r.rest = r.rest[n:]
	return day
}

// inZone says of words with a zone where it is given.
func inZone(text string, list []word) *wordError {
	for i, w := range list {
		at := i
		if w.text == "in" {
			at++
		}
		if i == 0 || at >= len(list) {
			continue
		}
		typed := text[list[at].column-1:]
		if end := strings.IndexAny(typed, " \t\n\r,"); end >= 0 { // the word itself is in lower case, which may be longer
			typed = typed[:end]
		}
		name := typed
		if upper := strings.ToUpper(typed); upper == "UTC" || upper == "GMT" {
			name = "UTC"
		} else if !strings.Contains(typed, "/") || strings.Contains(typed, ":") {
			continue
		}
		if !slices.Contains(zonetable.Names(), name) { // to look for the name that was meant takes long
			continue
		}
		whole, _, ok := repeated(text[:w.column-1] + text[list[at].column-1+len(typed):])
		if !ok {
			return nil
		}
		return toldAt(w, "the words have no zone: say %s, with the zone beside it (--tz %s)", whole, name)
	}
	return nil
}

// someTimes says of words with a number of runs at their end where it is given.
func someTimes(text string, list []word) *wordError {
	n := len(list)
	if n < 4 || list[n-1].text != "times" || asNumber(list[n-2].text) == 0 {
		return nil
	}
	at := n - 2
	if list[at-1].text == "for" {
		at--
	}
	whole, s, ok := repeated(text[:list[at].column-1])
	if from, to := timesIn(list[:at]); !ok || !s.form.wall() || from == to { // every day 3 times
		return nil
	}
	return toldAt(list[at], "the words have no number of runs: say %s, with the number of runs beside it (--max-runs %s)", whole, list[n-2].text)
}
