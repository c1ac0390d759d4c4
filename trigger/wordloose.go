package trigger

import (
	"math/bits"
	"slices"
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
	if at := r.spelled(); at != "" && len(list) == 1 {
		r.rest = asWords([]string{"at", at}) // 0930
	}
	if !r.all() {
		return s, false
	}
	return r.saying(list)
}

// all gathers from all of the words, and reports whether each is understood, and the days are of one list.
func (r *looseReader) all() bool {
	list := r.rest
	for len(r.rest) > 0 {
		on, dom, apart := r.on, r.dom, apart(list[:len(list)-len(r.rest)])
		r.on, r.dom = 0, 0
		if !r.one() || apart && (on != 0 && r.on != 0 || dom != 0 && r.dom != 0) {
			return false
		}
		r.on, r.dom = r.on|on, r.dom|dom
	}
	return true
}

// apart reports whether a day behind words is in no list with those before it: every weekday at 9 on monday.
func apart(before []word) bool {
	n := len(before)
	for n > 0 && slices.Contains([]string{"on", "every", "the"}, before[n-1].text) {
		n--
	}
	if n == 0 {
		return true
	}
	last := wordReader{rest: before[n-1 : n]}
	if _, day := last.weekday(); day && n == len(before) {
		return false // monday wednesday
	}
	return last.peek() != "," && last.peek() != "and"
}

// yearLike reports whether a word can be a year as well as a time of day.
func yearLike(text string) bool {
	return len(text) == len("2030") && number(text) && (text[:2] == "19" || text[:2] == "20")
}

// inMonth returns the cron expression of days and times that are those of one month; empty for other words.
func inMonth(list []string) string {
	r := looseReader{wordReader: wordReader{rest: asWords(list)}}
	if !r.all() {
		return ""
	}
	s := saying{secs: r.secs}
	if r.month == 0 || r.dom != 0 || r.weekly || r.monthly || r.yearly || r.daily == (r.on != 0) || !r.inPart(&s) {
		return ""
	}
	dow := "*"
	if !r.daily {
		dow = dowField(r.on)
	}
	expr, rest := typed{secs: s.secs, months: []int{r.month}}.cron("*", dow)
	if rest != "" {
		return ""
	}
	return expr
}

// one reads the next of what is gathered.
func (r *looseReader) one() bool {
	switch next := r.peek(); next {
	case "every", "on", "the", "of", "and", ",":
		if r.skip(next); next == "every" && r.peek() == "day" && number(r.word(1)) {
			return false // every day 15
		}
		return true
	case "week", "weeks", "weekly":
		r.weekly = true
		return r.skip(next)
	case "year", "years", "yearly", "annually":
		r.yearly = true
		return r.skip(next)
	case "at": // at the end of the month
		if !r.isTime() {
			return r.skip("at")
		}
	case "in": // in the morning, in march
		if r.skip("in"); r.skip("the") {
			return r.dayPart()
		}
		if month, ok := r.wordReader.month(); ok && r.month == 0 {
			r.month = month
			return true
		}
		return false
	case "month", "months", "monthly":
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
	case named && dom > 0 && (r.word(1) == "day" || r.word(1) == "of" || r.monthly && (r.word(1) == "" || r.word(1) == "at")):
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
func (r *looseReader) saying(list []string) (s saying, ok bool) {
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
	case r.secs != nil && r.part == "" && !slices.ContainsFunc(list, yearLike):
		s.form, s.on = formWeekdays, everyDay // 9:00 alone
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
