package trigger

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A looseReader gathers what words say of days and times, in whatever order they stand.
type looseReader struct {
	wordReader
	on      weekdays
	dom     uint32 // as of monthDays
	month   int
	daily   bool // day, or morning
	part    string
	weekly  bool
	monthly bool
	yearly  bool
	secs    []int32
}

// dayParts are parts of the day: the hours from and to, exclusive, that they have. Night goes on after midnight.
var dayParts = map[string][2]int32{"morning": {0, 12}, "afternoon": {12, 18}, "evening": {17, 24}, "night": {20, 30}}

// loosely reads words about days and times in another order than they are accepted in; ok is false where it is not plain what they mean.
func loosely(list []string) (s saying, ok bool) {
	r := looseReader{wordReader: wordReader{rest: asWords(list)}}
	for len(r.rest) > 0 {
		if !r.one() {
			return s, false
		}
	}
	return r.saying()
}

// one reads the next of what is gathered.
func (r *looseReader) one() bool {
	switch next := r.peek(); next {
	case "every", "on", "the", "of", "and", ",":
		if r.skip(next); next == "every" && r.peek() == "day" && number(r.word(1)) {
			return false // every day 15
		}
		return true
	case "week", "weeks":
		r.weekly = true
		return r.skip(next)
	case "year", "years":
		r.yearly = true
		return r.skip(next)
	case "at": // at the end of the month
		if !r.isTime() {
			return r.skip("at")
		}
	case "in": // in the morning
		return r.skip("in") && r.skip("the") && r.dayPart()
	case "month", "months":
		r.monthly = true
		return r.skip(next)
	case "day", "days", "daily", "everyday":
		if next == "day" && number(r.word(1)) && !isTime(r.word(1), r.word(2)) { // day 15
			return r.skip(next) && r.domNumber()
		}
		r.daily = true
		return r.skip(next)
	case "last", "end":
		return r.lastDay()
	case "start", "beginning":
		r.dom |= 1 << 1
		return r.skip(next) && r.peek() == "of"
	}
	if r.isTime() {
		secs, err := r.typedTimes()
		if err != nil || len(secs) == 0 || r.secs != nil {
			return false
		}
		r.secs = secs
		return true
	}
	if on, ok := r.weekdays(); ok {
		r.on |= on
		return true
	}
	if month, ok := r.wordReader.month(); ok {
		if r.month != 0 {
			return false
		}
		r.month = month
		r.skip("the")
		if number(r.peek()) {
			return r.domNumber()
		}
		return true
	}
	return r.dayPart() || r.day()
}

// isTime reports whether a time of day comes.
func (r *looseReader) isTime() bool {
	return r.peek() == "at" && r.word(1) != "the" || isTime(r.peek(), r.word(1))
}

// weekdays reads a weekday, or the weekend.
func (r *looseReader) weekdays() (weekdays, bool) {
	if next := r.peek(); next == "weekend" || next == "weekends" {
		return 1<<0 | 1<<6, r.skip(next)
	}
	return r.weekday()
}

func (r *looseReader) dayPart() bool {
	part := strings.TrimSuffix(r.peek(), "s")
	if _, ok := dayParts[part]; !ok || r.part != "" {
		return false
	}
	r.part = part
	return r.skip(r.peek())
}

// lastDay reads last day, or end of the month.
func (r *looseReader) lastDay() bool {
	if r.skip("last") {
		if !r.skip("day") {
			return false
		}
	} else if r.skip("end"); r.peek() != "of" {
		return false
	}
	r.dom |= lastDom
	return true
}

// day reads a day of the month: 15th, first day; a number only in front of a month.
func (r *looseReader) day() bool {
	dom, named := ordinals[r.peek()]
	switch {
	case named && dom > 0 && (r.word(1) == "day" || r.word(1) == "of"):
		r.rest = r.rest[1:]
	case named && r.word(1) != "day" && r.word(1) != "of" && !strings.ContainsAny(r.peek(), "123456789"):
		return false // first monday
	case number(r.peek()):
		after := wordReader{rest: r.rest[1:]}
		after.skip("of")
		if _, ok := after.month(); !ok {
			return false
		}
		return r.domNumber()
	default:
		var err error
		if dom, err = r.wordReader.dom(""); err != nil {
			return false
		}
	}
	r.skip("day")
	r.dom |= 1 << dom
	return true
}

func (r *looseReader) domNumber() bool {
	dom, err := r.wordReader.dom("")
	r.dom |= 1 << dom
	return err == nil
}

// saying returns what was gathered, if it is one thing.
func (r *looseReader) saying() (s saying, ok bool) {
	s.secs = r.secs
	if !r.inPart(&s) {
		return s, false
	}
	if r.part != "" && r.on == 0 && r.dom == 0 {
		r.daily = true
	}
	switch {
	case r.weekly && (r.on == 0 || r.daily), r.yearly && r.month == 0:
		return s, false
	case r.dom != 0:
		if r.on != 0 || r.daily || r.month != 0 && (r.monthly || bits.OnesCount32(r.dom) > 1 || r.dom == lastDom) {
			return s, false
		}
		s.form, s.dates = formDates, monthDays{dom: r.dom, month: r.month}
	case r.month != 0 || r.monthly || r.daily && r.on != 0:
		return s, false
	case r.on != 0 || r.daily && r.secs != nil:
		if s.form, s.on = formWeekdays, r.on; r.daily {
			s.on = everyDay
		}
	default:
		return s, false
	}
	if s.secs == nil {
		s.secs = []int32{0}
	}
	return s, true
}

// inPart puts the times into the part of the day that was named: 8 in the evening is 20:00. It reports whether they are there.
func (r *looseReader) inPart(s *saying) bool {
	if r.part == "" {
		return true
	}
	hours := dayParts[r.part]
	s.secs = slices.Clone(s.secs)
	for i, sec := range s.secs {
		hour := sec / 3600
		switch {
		case hour >= hours[0] && hour < hours[1], r.part == "night" && hour < hours[1]-24:
		case hour > 0 && hour < 12 && hour+12 >= hours[0] && hour+12 < hours[1]:
			s.secs[i] += 12 * 3600
		default:
			return false
		}
	}
	slices.Sort(s.secs)
	return len(s.secs) > 0
}

// dayNow are words for days that are another one tomorrow.
var dayNow = []string{"today", "tomorrow", "tonight"}

// beside says of words that are accepted but for a zone, a start, or hours of the day, where those are given; nil for other words.
func beside(text string, list []word) *wordError {
	say := func(i int, wanted string) *wordError {
		return &wordError{column: list[i].column, wanted: wanted, complete: true}
	}
	for i, w := range list {
		next := ""
		if i+1 < len(list) {
			next = list[i+1].text
		}
		switch {
		case i == 0 && (slices.Contains(dayNow, w.text) || (w.text == "next" || w.text == "this") && dayNamed(next) >= 0):
			t, err := readTyped(list)
			if err != nil {
				return nil
			}
			return say(i, "that is another day tomorrow, and a trigger is not: give the date, as in at 2026-12-01 "+strings.TrimSuffix(t.at("18:00"), ",")+", or a time from now, in 5 minutes")
		case i > 0 && (w.text == "between" || w.text == "from") || i == 0 && w.text == "between":
			if cron := hoursOf(list, i); cron != "" {
				return say(i, "the words have no hours from and to: that is a kind cron, "+cron)
			}
		}
		if i == 0 {
			continue
		}
		if slices.Contains([]string{"starting", "from", "since", "beginning", "start", "after"}, w.text) {
			if start, without := cutStart(text, list, i); start != "" {
				if whole, err := follow(without); err == nil {
					return say(i, "the words have no start: say "+whole+", with the start beside it (--start '"+start+"')")
				}
			}
		}
		at := i
		if w.text == "in" {
			at++
		}
		if at < len(list) {
			name := text[list[at].column-1:]
			if end := strings.IndexAny(name, " \t\n\r,"); end >= 0 { // the word itself is in lower case, which may be longer
				name = name[:end]
			}
			if !strings.Contains(name, "/") && name != "UTC" {
				continue
			}
			if _, err := loadZone(name); err == nil {
				if whole, err := follow(text[:w.column-1] + text[list[at].column-1+len(name):]); err == nil {
					return say(i, "the words have no zone: say "+whole+", with the zone beside it (--tz "+name+")")
				}
			}
		}
	}
	return nil
}

// cutStart returns the date after starting, with its time, and the text without them.
func cutStart(text string, list []word, i int) (start, without string) {
	at := i + 1
	if at < len(list) && (list[at].text == "on" || list[at].text == "at" || list[at].text == "from") {
		at++
	}
	r := wordReader{rest: list[min(at, len(list)):]}
	start, _, err := r.date()
	if err != nil || strings.ContainsAny(start, "tz") {
		return "", "" // they are in lower case
	}
	without = text[:list[i].column-1]
	if len(r.rest) > 0 {
		without += text[r.rest[0].column-1:]
	}
	return start, without
}

// hoursOf returns the cron expression of every 10 minutes between 9:00 and 17:00, whose hours stand from i on; empty for other words.
func hoursOf(list []word, i int) string {
	if len(list) < i+4 || !slices.Contains([]string{"and", "to", "-", "until", "till", "through"}, list[i+2].text) {
		return ""
	}
	from, until := hourOf(list[i+1].text), hourOf(list[i+3].text)
	if from < 0 || until <= from {
		return ""
	}
	var rest []string
	for _, w := range slices.Concat(list[:i], list[i+4:]) {
		day := wordReader{rest: []word{w}}
		if _, ok := day.weekday(); !ok && w.text != "on" && w.text != "," && w.text != "and" {
			rest = append(rest, w.text)
		}
	}
	s, end, err := readOnce(strings.Join(rest, " "))
	if err != nil || s.form != formInterval || end != "" || !slices.Contains(rest, "every") {
		return ""
	}
	dow := typedDays(slices.Concat(list[:i], list[i+4:]))
	minutes, hours := s.length/(60*microsecond), s.length/(3600*microsecond)
	switch {
	case s.length%(3600*microsecond) == 0 && hours == 1:
		return "0 " + strconv.Itoa(from) + "-" + strconv.Itoa(until) + " * * " + dow
	case s.length%(3600*microsecond) == 0 && hours < 24:
		return "0 " + strconv.Itoa(from) + "-" + strconv.Itoa(until) + "/" + strconv.FormatInt(hours, 10) + " * * " + dow
	case s.length%(60*microsecond) == 0 && minutes < 60 && 60%minutes == 0:
		step := "*/" + strconv.FormatInt(minutes, 10)
		if minutes == 1 {
			step = "*"
		}
		return step + " " + strconv.Itoa(from) + "-" + strconv.Itoa(until-1) + " * * " + dow + " (the last of a day at " + timeText(int32(until*3600)-int32(minutes*60)) + ")"
	}
	return ""
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
