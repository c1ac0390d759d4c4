package trigger

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

const (
	acceptedDay  = "a day of the month, such as 15th, or last day"
	acceptedDate = "a date of the year, such as march 15, or 15th of march"
	lastDom      = 1 // the bit of the last day of a month
)

var monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// readMonths reads month or year after every or a number, and its days; done is false for other words.
func (r *wordReader) readMonths(s *saying, n int64) (done bool, err error) {
	at := *r
	name := strings.TrimSuffix(r.peek(), "s")
	if name != "month" && name != "year" {
		return false, nil
	}
	r.rest = r.rest[1:]
	if n > 1 {
		return true, at.countedMonths(name, n, r.rest)
	}
	if !r.skip("on") {
		t, err := readTyped(r.rest)
		if err != nil {
			return true, err
		}
		if !onlyTimes(r.rest) {
			t.secs = nil // 9 in the evening
		}
		if name == "month" {
			return true, r.refuse("a month has no time of its own: say the day, as in every month on the 15th%s", t.behind())
		}
		return true, r.refuse("a year has no time of its own: say the date, as in every year on march 15%s", t.behind())
	}
	s.form = formDates
	if name == "month" {
		err = r.readDoms(s)
	} else {
		err = r.readDate(s)
	}
	if err == nil {
		err = r.readOptionalTimes(s)
	}
	return true, err
}

// readDoms reads the 1st, 15th and last day.
func (r *wordReader) readDoms(s *saying) error {
	for first := true; first || r.and(); first = false {
		r.skip("the")
		if r.skip("last") {
			if !r.skip("day") {
				return r.fail("day")
			}
			s.dates.dom |= lastDom
			continue
		}
		dom, err := r.dom(acceptedDay)
		if err != nil {
			return err
		}
		s.dates.dom |= 1 << dom
	}
	return nil
}

// dom reads a day of the month, as a number or an ordinal.
func (r *wordReader) dom(wanted string) (int, error) {
	text := r.peek()
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	dom, err := strconv.Atoi(number)
	switch {
	case err != nil || strings.Trim(number, "0123456789") != "":
		return 0, r.fail(wanted)
	case dom < 1 || dom > 31:
		return 0, r.refuse("a month has no day %d (accepted: 1-31)", dom)
	case number != text && text != ordinal(dom):
		e := &wordError{column: r.rest[0].column, read: text, wanted: wanted, instead: ordinal(dom)}
		return 0, e
	}
	r.rest = r.rest[1:]
	return dom, nil
}

// readDate reads march 15, or the 15th of march.
func (r *wordReader) readDate(s *saying) (err error) {
	at := *r
	var dom int
	r.skip("the")
	if month, named := r.month(); named {
		r.skip("the")
		s.dates.month = month
		if dom, err = r.dom(acceptedDate); err != nil {
			return err
		}
	} else {
		if !r.beginsLength() {
			return r.fail(acceptedDate, monthNames[:]...)
		}
		if dom, err = r.dom(acceptedDate); err != nil {
			return err
		}
		r.skip("of")
		if s.dates.month, named = r.month(); !named {
			return r.fail("january … december", monthNames[:]...)
		}
	}
	if dom > cronexpr.DaysIn(2000, s.dates.month) {
		return at.refuse("%s has no day %d, so this would never fire", time.Month(s.dates.month), dom)
	}
	s.dates.dom = 1 << dom
	return nil
}

// month reads the name of a month.
func (r *wordReader) month() (int, bool) {
	for i, full := range monthNames {
		if name := r.peek(); name == full || name == full[:3] {
			r.rest = r.rest[1:]
			return i + 1, true
		}
	}
	return 0, false
}

// readWeeksOn reads on monday, and the times, after N weeks.
func (r *wordReader) readWeeksOn(s *saying, n int64) error {
	r.skip("on")
	at := *r
	on, ok := r.weekday()
	if !ok {
		known := weekdayWords
		if n > 1 { // weeks are counted from one of them
			known = weekdayNames[:]
		}
		return r.fail("weekday, monday … sunday", known...)
	}
	if n == 1 {
		s.form, s.length, s.on = formWeekdays, 0, on
		return r.readWeekdays(s)
	}
	if next := r.peek(); bits.OnesCount8(uint8(on)) > 1 || next == "," || next == "and" {
		return at.refuse("weeks are counted from one weekday, since with several the words do not say which of them begins; give a trigger for each of them")
	}
	s.form, s.length, s.on, s.days = formDays, 0, on, 7*n
	return r.readOptionalTimes(s)
}

// readOptionalTimes reads the times of day, 00:00 where there are none.
func (r *wordReader) readOptionalTimes(s *saying) error {
	if r.peek() != "at" {
		s.secs = []int32{0}
		return nil
	}
	return r.readTimes(s)
}

// text returns the canonical words.
func (m monthDays) text() string {
	if m.month != 0 {
		return "year on " + monthNames[m.month-1] + " " + strconv.Itoa(bits.TrailingZeros32(m.dom))
	}
	var list []string
	for set := m.dom &^ lastDom; set != 0; set &= set - 1 {
		list = append(list, ordinal(bits.TrailingZeros32(set)))
	}
	if m.dom&lastDom != 0 {
		list = append(list, "last day")
	}
	return "month on the " + strings.Join(list, ", ")
}

// dates puts the days of months: "on the 1st and 15th of the month", "on 15 March of every year".
func (d *telling) dates(m monthDays) {
	if m.month != 0 {
		dom := bits.TrailingZeros32(m.dom)
		d.put("every year on "+strconv.Itoa(dom)+" "+time.Month(m.month).String(), "每年 "+strconv.Itoa(m.month)+" 月 "+strconv.Itoa(dom)+" 日")
		if m.month == 2 && dom == 29 {
			d.put(", where there is one", "（没有该日的年份除外）")
		}
		return
	}
	d.put("every month on the ", "每月")
	n := bits.OnesCount32(m.dom)
	i, lacking := 0, false
	for set := m.dom &^ lastDom; set != 0; set &= set - 1 {
		dom := bits.TrailingZeros32(set)
		if d.list(i, n); i == 0 {
			d.put("", " ") // before a number
		}
		d.put(ordinal(dom), strconv.Itoa(dom)+" 日")
		i, lacking = i+1, lacking || dom > 28
	}
	if m.dom&lastDom != 0 {
		d.list(i, n)
		d.put("last day", "最后一天")
	}
	if lacking {
		d.put(", where there is one", "（没有该日的月份除外）")
	}
}
