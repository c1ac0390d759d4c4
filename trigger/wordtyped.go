package trigger

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// typed is what words that are refused say all the same of times and days: what is suggested in their place says it too.
type typed struct {
	secs   []int32 // times of day, ascending
	months []int   // 1 to 12
	dom    int     // the day of the month; 0: none, or the last
	last   bool    // the last day of the month
}

// A monthly is what words say of steps of months or years.
type monthly struct {
	typed
	date  monthDays // of the year
	start string    // the first date
}

// readMonthly reads what stands beside every 2 months, all of it: ok is false where some of it cannot be told.
func readMonthly(list []word) (m monthly, ok bool, err error) {
	if m.typed, err = readTyped(list); err != nil {
		return m, false, err
	}
	r := wordReader{rest: withoutZone(beforeUntil(list))}
	m.dom, m.last, m.secs = 0, false, nil
	days := 0
	for len(r.rest) > 0 {
		if times := r; m.secs == nil {
			if secs, err := times.typedTimes(); err == nil && len(secs) > 0 {
				r, m.secs = times, secs
				continue
			}
		}
		next := r.peek()
		switch {
		case next == "on" || next == "the" || next == "day" && r.word(1) != "":
			r.skip(next)
			continue
		case slices.Contains(startWords, next):
			r.skip(next)
			r.skip("on")
			if m.start = r.yearDate(); m.start == "" || len(m.start) > len("2030-03-01") {
				return m, false, nil
			}
		case next == "last" && r.word(1) == "day":
			r.rest, m.last = r.rest[2:], true
		case next == "first":
			r.skip(next)
			r.skip("day")
			m.dom = 1
		default:
			var s saying
			if date := r; date.readDate(&s) == nil {
				r, m.date = date, s.dates
			} else if m.dom, err = r.dom(acceptedDay); err != nil {
				return m, false, nil
			}
			r.skip("day")
		}
		days++
	}
	return m, days <= 1, nil
}

// readTyped looks for times and days anywhere in the words before until. The error is that of a time that cannot be read: whatever was
// suggested would have another one.
func readTyped(list []word) (t typed, err error) {
	list = beforeUntil(list)
	for i := range list {
		r := wordReader{rest: list[i:], end: list[len(list)-1].column + len(list[len(list)-1].text)}
		if month, ok := r.month(); ok {
			t.months = append(t.months, month)
			continue
		}
		if t.secs != nil {
			continue
		}
		if t.secs, err = r.typedTimes(); err != nil {
			return t, err
		}
	}
	for i := range list {
		r := wordReader{rest: list[i:]}
		if !r.skip("on") {
			continue
		}
		r.skip("the")
		if r.peek() == "last" && r.word(1) == "day" {
			t.last = true
		} else if dom, err := r.dom(acceptedDay); err == nil && t.dom == 0 && r.peek() != "working" && r.peek() != "business" {
			t.dom = dom
		}
	}
	return t, nil
}

func beforeUntil(list []word) []word {
	if i := slices.IndexFunc(list, func(w word) bool { return w.text == "until" }); i >= 0 {
		return list[:i]
	}
	return list
}

// typedTimes reads at 14:00, also a list, noon, or a time without at; none for other words, and for at :15.
func (r *wordReader) typedTimes() (secs []int32, err error) {
	at := r.skip("at")
	if at && strings.HasPrefix(r.peek(), ":") {
		return nil, nil
	}
	if next := r.peek(); next != "" && next[0] >= '0' && next[0] <= '9' {
		at = at || strings.Contains(next, ":") || strings.HasSuffix(next, "am") || strings.HasSuffix(next, "pm")
	}
	for first := true; first || r.and(); first = false {
		named := timeWords[r.peek()] != ""
		sec, err := r.time()
		var wrong *wordError
		if err != nil && (at || named) && errors.As(err, &wrong) && wrong.instead != "" { // 14, 9.30, noon
			spelled := wordReader{rest: words(wrong.instead)}
			if sec, err = spelled.time(); err == nil {
				r.rest = r.rest[1:]
			}
		}
		switch {
		case err == nil:
			secs = append(secs, sec)
		case at && first:
			return nil, err
		default:
			return slices.Compact(slices.Sorted(slices.Values(secs))), nil // "at 9:00, except holidays"
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(secs))), nil
}

// cron returns an expression of the times, 00:00 where there is none, and those fields; of times with other minutes than the first, and
// other seconds, rest is what is said.
func (t typed) cron(dom, dow string) (expr, rest string) {
	secs := t.secs
	if len(secs) == 0 {
		secs = []int32{0}
	}
	var hours []string
	for _, sec := range secs {
		if sec%3600 == secs[0]%3600 {
			hours = append(hours, strconv.Itoa(int(sec/3600)))
		}
	}
	if len(hours) < len(secs) {
		rest = "; the other times want a trigger of their own"
	}
	month := "*"
	if len(t.months) > 0 {
		month = joined(t.months)
	}
	expr = fmt.Sprintf("%d %s %s %s %s", secs[0]/60%60, strings.Join(hours, ","), dom, month, dow)
	if second := secs[0] % 60; second != 0 {
		expr = fmt.Sprintf("%d %s", second, expr)
	}
	return expr, rest
}

func joined(numbers []int) string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = strconv.Itoa(n)
	}
	return strings.Join(list, ",")
}

// calendar returns the time of day as the arguments of a kind calendar, each with a blank behind it; empty where there is none.
func (t typed) calendar() string {
	if len(t.secs) == 0 {
		return ""
	}
	sec := t.secs[0]
	text := fmt.Sprintf("hour=%d ", sec/3600)
	if minute := sec / 60 % 60; minute > 0 {
		text += fmt.Sprintf("minute=%d ", minute)
	}
	if second := sec % 60; second > 0 {
		text += fmt.Sprintf("second=%d ", second)
	}
	return text
}

// behind returns the times as they stand behind days; words without a time are those of 00:00.
func (t typed) behind() string {
	if len(t.secs) == 0 {
		return ""
	}
	return " at " + timesText(t.secs)
}

// countedMonths says how every n months or years are written, with the typed time and day.
func (r *wordReader) countedMonths(name string, n int64, list []word) error {
	m, ok, err := readMonthly(list)
	switch {
	case err != nil:
		return err
	case !ok, name == "year" && (m.dom != 0 || m.last), name == "month" && m.date.dom != 0, m.last && n > 12, !m.last && len(m.secs) > 1:
		return r.refuse("the words do not say which %ss are counted: a kind calendar does, with its first date", name)
	case m.last:
		expr, rest := typed{secs: m.secs}.cron("L", "*")
		fields := strings.Fields(expr)
		fields[len(fields)-2] = fmt.Sprintf("*/%d", n)
		return r.refuse("the words do not count months: that is a kind cron, %s%s", strings.Join(fields, " "), rest+besideOf(r.rest))
	}
	date := cmp.Or(m.start, fmt.Sprintf("2027-01-%02d", cmp.Or(m.dom, 15)))
	if m.date.dom != 0 {
		year := 2027
		if m.date.month == 2 && m.date.dom == 1<<29 {
			year = 2028
		}
		date = fmt.Sprintf("%d-%02d-%02d", year, m.date.month, bits.TrailingZeros32(m.date.dom))
	}
	return r.refuse("the words do not say which %ss are counted: that is a kind calendar with its first date, %ss=%d %sstart_date=%s%s", name, name, n, m.calendar(), date, besideOf(r.rest))
}

// typedDays returns the field of weekdays that are named: mon-fri, or mon,fri; * where there is none.
func typedDays(list []word) string {
	var fields []string
	for i := 0; i < len(list); i++ {
		r := wordReader{rest: list[i:]}
		on, ok := r.weekday()
		if !ok {
			continue
		}
		if on == mondayFriday {
			fields = append(fields, "mon-fri")
			continue
		}
		field := list[i].text[:3]
		if next := r.peek(); next == "to" || next == "through" || next == "-" {
			r.rest = r.rest[1:]
			if end, ok := r.weekday(); ok && end != mondayFriday {
				field += "-" + list[i+2].text[:3]
				i += 2
			}
		}
		fields = append(fields, field)
	}
	if fields == nil {
		return "*"
	}
	return strings.Join(fields, ",")
}

// countDays looks for the weekdays of a month that are counted: mon#1,mon#3, or the last that is no Saturday or Sunday, LW.
func (c *counting) countDays(list []word) {
	var dows, doms []string
	var ordinal, places []int // that are open, and where they stand
	begin, closed := 0, false
	for i, w := range list {
		r := wordReader{rest: list[i:]}
		if n, ok := ordinals[w.text]; ok {
			if closed || ordinal == nil {
				ordinal, places, begin = nil, nil, i
			}
			ordinal, places, closed = append(ordinal, n), append(places, i), false
			continue
		}
		if on, ok := r.weekday(); ok && ordinal != nil && (on != mondayFriday || slices.Max(ordinal) < 2) {
			closed, c.told[i] = true, true
			c.on |= on
			for _, place := range places {
				c.told[place] = true
			}
			if c.counted < 0 {
				c.counted, c.day, c.nth = begin, w.text[:3], ordinal[0]
			}
			for _, n := range ordinal {
				switch {
				case on == mondayFriday:
					doms = append(doms, []string{"LW", "1W"}[n])
				case n == 0:
					dows = append(dows, w.text[:3]+"L")
				default:
					dows = append(dows, fmt.Sprintf("%s#%d", w.text[:3], n))
				}
			}
			continue
		}
		if w.text != "and" && w.text != "," && w.text != "the" {
			ordinal, places = nil, nil
		}
	}
	if len(doms)+len(dows) > 1 {
		c.nth = 0
	}
	c.dom, c.dow = cmp.Or(strings.Join(doms, ","), "*"), cmp.Or(strings.Join(dows, ","), "*")
}
