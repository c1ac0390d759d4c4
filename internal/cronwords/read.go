package cronwords

import (
	"math/bits"
	"strconv"
	"strings"
)

// Fields are the canonical texts of an expression's fields. An empty one is *; an empty Second is 0.
type Fields struct {
	Second, Minute, Hour, Day, Month, Weekday, Week, Year string
	// MondayFirst: weeks run from Monday to Sunday, which matters for steps such as */2 and mon/3; else from Sunday.
	MondayFirst bool
	// Either: a date matches when either of the two day fields does; else both must.
	Either bool
}

// An Expression is what fields mean, taken apart. It is immutable and safe for concurrent use.
type Expression struct {
	second, minute, hour, day, month, weekday, week field

	year     []span // empty: every year
	yearText string
	either   bool
}

// A field is a set of numbers, and what else its text has. The numbers of weekdays are 0 for Sunday to 6.
type field struct {
	text     string
	set      uint64
	full     bool // all numbers there are
	specials []special
	hash     *span // H: from, to and step, zero for none
	mixed    bool  // it has other elements beside the H, or several
}

// A span is a range of numbers with a step.
type span struct{ from, to, step int }

type specialKind uint8

const (
	fromLast specialKind = iota // n days before the last day of the month
	lastFull                    // the last Monday to Friday
	nearest                     // the Monday to Friday nearest to day n
	nth                         // the nth weekday of the month
	lastNth                     // the last such weekday of the month
)

// A special is an element that depends on the month.
type special struct {
	kind specialKind
	n    int
	day  int // weekday
}

var (
	fromSunday = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	ordinals   = [6]string{"", "1st", "2nd", "3rd", "4th", "5th"}
)

// firstYear is what a step of all years counts from, and lastYear where years end.
const (
	firstYear = 1970
	lastYear  = 9999
)

// hashDays: H in the day field keeps to the days that every month has.
const hashDays = 28

// Read takes fields apart. What it does not understand counts as *, so that a text is always said.
func Read(f Fields) *Expression {
	e := &Expression{either: f.Either, yearText: f.Year}
	if f.Second == "" {
		f.Second = "0"
	}
	e.second = readField(f.Second, 0, 59, nil)
	e.minute = readField(f.Minute, 0, 59, nil)
	e.hour = readField(f.Hour, 0, 23, nil)
	e.day = readField(f.Day, 1, 31, nil)
	e.month = readField(f.Month, 1, 12, nil)
	e.week = readField(f.Week, 1, 53, nil)
	week := [7]int{0, 1, 2, 3, 4, 5, 6}
	if f.MondayFirst {
		week = [7]int{1, 2, 3, 4, 5, 6, 0}
	}
	e.weekday = readField(f.Weekday, 0, 6, &week)
	e.year = readYears(f.Year)
	if e.either && (e.day.open() || e.weekday.open()) {
		e.day.set, e.day.full, e.day.specials, e.day.hash = 0, true, nil, nil
		e.weekday.set, e.weekday.full, e.weekday.specials, e.weekday.hash = 0, true, nil, nil
	}
	return e
}

// open reports whether the field rules nothing out.
func (f *field) open() bool { return f.full }

// readField reads a list of elements. week has the weekdays in their order, nil for other fields.
func readField(text string, low, high int, week *[7]int) field {
	f := field{text: text}
	if text == "" || text == "*" || text == "?" {
		f.full, f.text = true, "*"
		return f
	}
	for rest := text; rest != ""; {
		var element string
		element, rest, _ = strings.Cut(rest, ",")
		f.element(element, low, high, week)
	}
	simple := low == 0 && week == nil || low == 1 && high == 31 // fields whose every form of H has words of its own
	if f.hash != nil && (strings.Contains(text, ",") || !simple && text != "H") {
		f.mixed, f.hash = true, &span{low, high, 1}
	}
	all := uint64(1)<<(high+1) - uint64(1)<<low
	f.full = f.set == all || f.set == 0 && len(f.specials) == 0 && f.hash == nil
	return f
}

func (f *field) element(text string, low, high int, week *[7]int) {
	body, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		step = max(1, number(stepText))
	}
	if strings.HasPrefix(body, "H") {
		from, to := low, high
		if low == 1 && high == 31 {
			to = hashDays
		}
		if inside, found := strings.CutPrefix(body, "H("); found {
			a, b, _ := strings.Cut(strings.TrimSuffix(inside, ")"), "-")
			from, to = value(a, week), value(b, week)
		}
		switch size := to - from + 1; {
		case size > 1 && !stepped, size > 1 && step >= size: // one of them: there is none a step further on
			f.hash = &span{from, to, 0}
			return
		case size > 1 && step > 1:
			f.hash = &span{from, to, step}
			return
		}
		body, step = strconv.Itoa(from)+"-"+strconv.Itoa(to), 1 // all of them, whatever the id
	}
	if body == "L" && week != nil { // the last day of the week, as quartz counts it
		f.set |= 1 << 6
		return
	}
	if s, ok := readSpecial(body); ok {
		f.specials = append(f.specials, s)
		return
	}
	from, to := low, high
	if body != "*" && body != "?" {
		a, b, ranged := strings.Cut(body, "-")
		from = value(a, week)
		switch {
		case ranged:
			to = value(b, week)
		case !stepped:
			to = from
		}
	}
	if from < low || from > high || to < low || to > high {
		return
	}
	if to < from {
		to += high - low + 1 // it wraps, and so does the step
	}
	for v := from; v <= to; v += step {
		bit := v
		if bit > high {
			bit -= high - low + 1
		}
		if week != nil {
			bit = week[bit]
		}
		f.set |= 1 << bit
	}
}

// even reports whether the steps of H are as many whatever the first value.
func (s *span) even() bool { return (s.to-s.from+1)%s.step == 0 }

// first returns the range of which the id chooses the first value.
func (s *span) first() *span {
	if s.step == 0 {
		return s
	}
	return &span{s.from, s.from + s.step - 1, 0}
}

// value reads a number or the name of a weekday, which is its place in the week.
func value(text string, week *[7]int) int {
	if week != nil {
		if day := weekdayOf(text); day >= 0 {
			for i, d := range week {
				if d == day {
					return i
				}
			}
		}
	}
	return number(text)
}

func weekdayOf(text string) int {
	for i, name := range fromSunday {
		if name == text {
			return i
		}
	}
	return -1
}

// number reads digits; -1 for another text.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// readSpecial reads L, L-n, LW, nW, last, d#n, dL, 1st fri and last fri.
func readSpecial(text string) (special, bool) {
	switch text {
	case "L", "last":
		return special{kind: fromLast}, true
	case "LW":
		return special{kind: lastFull}, true
	}
	if back, found := strings.CutPrefix(text, "L-"); found {
		return special{kind: fromLast, n: number(back)}, true
	}
	if day, found := strings.CutSuffix(text, "W"); found {
		return special{kind: nearest, n: number(day)}, true
	}
	if day, week, found := strings.Cut(text, "#"); found {
		return special{kind: nth, n: number(week), day: weekdayOf(day)}, weekdayOf(day) >= 0
	}
	if day, found := strings.CutSuffix(text, "L"); found {
		return special{kind: lastNth, day: weekdayOf(day)}, weekdayOf(day) >= 0
	}
	which, day, found := strings.Cut(text, " ")
	if !found || weekdayOf(day) < 0 {
		return special{}, false
	}
	if which == "last" {
		return special{kind: lastNth, day: weekdayOf(day)}, true
	}
	for n, name := range ordinals {
		if n > 0 && name == which {
			return special{kind: nth, n: n, day: weekdayOf(day)}, true
		}
	}
	return special{}, false
}

func readYears(text string) []span {
	if text == "" || text == "*" || text == "?" {
		return nil
	}
	var list []span
	for rest := text; rest != ""; {
		var element string
		element, rest, _ = strings.Cut(rest, ",")
		body, stepText, stepped := strings.Cut(element, "/")
		s := span{firstYear, lastYear, 1}
		if stepped {
			s.step = max(1, number(stepText))
		}
		if body != "*" && body != "?" {
			a, b, ranged := strings.Cut(body, "-")
			s.from = number(a)
			switch {
			case ranged:
				s.to = number(b)
			case !stepped:
				s.to = s.from
			}
		}
		if s.from == firstYear && s.to == lastYear && s.step == 1 {
			return nil
		}
		list = append(list, s)
	}
	return list
}

// cyclic returns the step and the offset of a set that holds every step-th number of a range from 0 to size-1 and
// goes on evenly into the next: step divides size.
func cyclic(set uint64, size int) (step, offset int, ok bool) {
	n := bits.OnesCount64(set)
	if n == 0 || size%n != 0 {
		return 0, 0, false
	}
	step, offset = size/n, bits.TrailingZeros64(set)
	if offset >= step && n > 1 {
		return 0, 0, false
	}
	for v := offset; v < size; v += step {
		if set>>v&1 == 0 {
			return 0, 0, false
		}
	}
	return step, offset, true
}

// even returns the step of a set of at least three numbers at even distances.
func even(set uint64) (step int, ok bool) {
	first, last := low(set), high(set)
	n := bits.OnesCount64(set)
	if n < 3 || (last-first)%(n-1) != 0 {
		return 0, false
	}
	step = (last - first) / (n - 1)
	for v := first; v <= last; v += step {
		if set>>v&1 == 0 {
			return 0, false
		}
	}
	return step, true
}

func low(set uint64) int  { return bits.TrailingZeros64(set) }
func high(set uint64) int { return bits.Len64(set) - 1 }

// runs returns the stretches of neighbouring numbers of a set.
func runs(set uint64) []span {
	var list []span
	for set != 0 {
		from := low(set)
		length := bits.TrailingZeros64(^(set >> from))
		list = append(list, span{from, from + length - 1, 1})
		set &^= (uint64(1)<<length - 1) << from
	}
	return list
}
