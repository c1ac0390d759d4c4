package daycal

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

const (
	maxListed = 4  // dates that are named one by one; of more their number is told
	maxNamed  = 10 // items of all kinds: more are no longer read, and their number is told
)

// Describe returns a phrase that names the days, without a full stop: "Saturdays and Sundays, 25 December of every year". Of a calendar with
// more than some ten items it names these, and how many more there are. Any language but Chinese is English.
func (c *Calendar) Describe(in ruqi.Language) string {
	t := teller{words: english, left: maxNamed}
	if in == ruqi.Chinese {
		t.words = chinese
	}
	return t.days(c)
}

// words are the parts of speech of one language.
type words struct {
	all, none, comma, and string
	weekdays              [7]string // from Monday on
	date, dates           string    // of every year: month and day, as %[1]s %[2]d or numbers
	to                    string    // between two dates
	many                  string    // dates: their number, the first and the last
	years, year           string
	rule, rules           string
	more                  string
	workdays, without     string
	monthName             func(time.Month) any
}

var english = words{
	all: "all days", none: "no day", comma: ", ", and: " and ",
	weekdays: [7]string{"Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"},
	date:     "%[2]d %[1]v of every year", dates: "%[2]d %[1]v to %[4]d %[3]v of every year",
	to: " to ", many: "%[1]s dates and ranges from %[2]s to %[3]s",
	years: "the holidays of %s (none are known of other years)", year: "%d to %d",
	rule: "1 recurring event", rules: "%s recurring events", more: "%s more",
	workdays: ", but for make-up working days", without: ", but for %s",
	monthName: func(m time.Month) any { return m },
}

var chinese = words{
	all: "每天", none: "没有日期", comma: "、", and: "和",
	weekdays: [7]string{"周一", "周二", "周三", "周四", "周五", "周六", "周日"},
	date:     "每年%[1]d月%[2]d日", dates: "每年%[1]d月%[2]d日至%[3]d月%[4]d日",
	to: "至", many: "%[2]s至%[3]s之间的%[1]s个日期或时段",
	years: "%s年（其他年份未收录）的节假日", year: "%d至%d",
	rule: "1个重复日程", rules: "%s个重复日程", more: "另外%s项",
	workdays: "（调休上班日除外）", without: "（%s除外）",
	monthName: func(m time.Month) any { return int(m) },
}

// A teller names the days of a calendar and of those within it, no more than there is room for.
type teller struct {
	words
	left int // items that may still be named
}

// days names the days of a calendar.
func (t *teller) days(c *Calendar) string {
	l := &listed{teller: t}
	l.own(c)
	// What is only added is told as if it stood in one calendar.
	var rest []*Calendar
	flat := &Calendar{}
	for _, u := range c.union {
		rest = flat.absorb(u, rest)
	}
	flat.dates = merged(flat.dates)
	l.own(flat)
	for _, u := range rest {
		if t.left > 0 {
			l.parts = append(l.parts, t.days(u))
		} else {
			l.more++
		}
	}
	text := l.text()
	if len(c.workdays()) > 0 {
		text += t.workdays
	}
	if c.without != nil {
		t.left = max(t.left, 1) // what is taken away is not passed over
		text += fmt.Sprintf(t.without, t.days(c.without))
	}
	return text
}

// absorb takes in what another calendar holds, and adds to a list those within it that cannot be put together with others.
func (c *Calendar) absorb(u *Calendar, rest []*Calendar) []*Calendar {
	if u.without != nil || len(u.years) > 0 {
		return append(rest, u)
	}
	c.weekdays |= u.weekdays
	for m, days := range u.yearly {
		c.yearly[m] |= days
	}
	c.dates = append(c.dates, u.dates...)
	c.rules = append(c.rules, u.rules...)
	for _, inner := range u.union {
		rest = c.absorb(inner, rest)
	}
	return rest
}

// listed are the items of one calendar.
type listed struct {
	*teller
	parts []string
	more  int
}

func (l *listed) add(format string, args ...any) {
	if l.left == 0 {
		l.more++
		return
	}
	l.left--
	l.parts = append(l.parts, fmt.Sprintf(format, args...))
}

func (l *listed) own(c *Calendar) {
	if c.weekdays == 1<<7-1 {
		l.add("%s", l.all)
	} else {
		for i, name := range l.weekdays {
			if c.weekdays>>((i+1)%7)&1 == 1 {
				l.add("%s", name)
			}
		}
	}
	for _, y := range c.yearlyRuns() {
		if y.from == y.to {
			l.add(l.date, l.monthName(y.from.month), y.from.day)
		} else {
			l.add(l.dates, l.monthName(y.from.month), y.from.day, l.monthName(y.to.month), y.to.day)
		}
	}
	if n := len(c.dates); n > maxListed {
		l.add(l.many, grouped(n), c.dates[0].from, c.dates[n-1].to)
	} else {
		for _, s := range c.dates {
			l.add("%s", strings.Replace(s.String(), "/", l.to, 1))
		}
	}
	if len(c.years) > 0 {
		l.add(l.years, l.yearsOf(c.years))
	}
	if n := len(c.rules); n == 1 {
		l.add("%s", l.rule)
	} else if n > 1 {
		l.add(l.rules, grouped(n))
	}
}

// yearsOf names years, those that follow one another together.
func (l *listed) yearsOf(years []workYear) string {
	var parts []string
	more := 0
	for i := 0; i < len(years); {
		from := i
		for i++; i < len(years) && years[i].year <= years[i-1].year+1; i++ {
		}
		switch first, last := years[from].year, years[i-1].year; {
		case len(parts) == maxNamed:
			more++
		case first == last:
			parts = append(parts, strconv.Itoa(first))
		default:
			parts = append(parts, fmt.Sprintf(l.year, first, last))
		}
	}
	return (&listed{teller: l.teller, parts: parts, more: more}).text()
}

func (l *listed) text() string {
	if l.more > 0 {
		l.parts = append(l.parts, fmt.Sprintf(l.teller.more, grouped(l.more)))
	}
	if len(l.parts) == 0 {
		return l.none
	}
	return joined(l.parts, l.comma, l.and)
}

// grouped returns a number with a comma before each three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// joined lists texts: a, b and c.
func joined(parts []string, comma, and string) string {
	n := len(parts) - 1
	if n < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:n], comma) + and + parts[n]
}

type yearRun struct{ from, to yearDate }

// yearlyRuns puts yearly dates that follow one another together.
func (c *Calendar) yearlyRuns() (runs []yearRun) {
	for month := time.January; month <= time.December; month++ {
		for set := c.yearly[month]; set != 0; set &= set - 1 {
			at := yearDate{month, bits.TrailingZeros32(set)}
			if n := len(runs); n > 0 && runs[n-1].to.next() == at {
				runs[n-1].to = at
				continue
			}
			runs = append(runs, yearRun{at, at})
		}
	}
	// What goes on over the end of the year is one run.
	if n := len(runs); n > 1 && runs[n-1].to.next() == runs[0].from {
		runs[n-1].to = runs[0].to
		runs = runs[1:]
	}
	return runs
}
