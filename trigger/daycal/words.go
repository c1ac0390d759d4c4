package daycal

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// maxListed is how many dates are named one by one; of more their number is told.
const maxListed = 4

// Describe returns a phrase that names the days, without a full stop: "Saturdays and Sundays, 25 December of every year". Any
// language but Chinese is English.
func (c *Calendar) Describe(in ruqi.Language) string {
	if in == ruqi.Chinese {
		return c.inChinese()
	}
	return c.inEnglish()
}

func (c *Calendar) inEnglish() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.weekdays == 1<<7-1 {
		add("all days")
	} else if c.weekdays != 0 {
		for i := range 7 {
			if w := time.Weekday((i + 1) % 7); c.weekdays>>w&1 == 1 {
				add("%ss", w)
			}
		}
	}
	for _, y := range c.yearlyRuns() {
		if y.from == y.to {
			add("%d %s of every year", y.from.day, y.from.month)
		} else {
			add("%d %s to %d %s of every year", y.from.day, y.from.month, y.to.day, y.to.month)
		}
	}
	if n := len(c.dates); n > maxListed {
		add("%d dates and ranges from %s to %s", n, c.dates[0].from, c.dates[n-1].to)
	} else {
		for _, s := range c.dates {
			parts = append(parts, strings.Replace(s.String(), "/", " to ", 1))
		}
	}
	if n := len(c.years); n == 1 {
		add("the holidays of %d", c.years[0].year)
	} else if n > 1 {
		add("the holidays of %d to %d", c.years[0].year, c.years[n-1].year)
	}
	if n := len(c.rules); n == 1 {
		add("1 recurring event")
	} else if n > 1 {
		add("%d recurring events", n)
	}
	for _, u := range c.union {
		parts = append(parts, u.inEnglish())
	}
	text := joined(parts, ", ", " and ")
	if len(parts) == 0 {
		text = "no day"
	}
	if len(c.workdays) > 0 {
		text += ", but for make-up working days"
	}
	if c.without != nil {
		text += ", but for " + c.without.inEnglish()
	}
	return text
}

func (c *Calendar) inChinese() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.weekdays == 1<<7-1 {
		add("每天")
	} else if c.weekdays != 0 {
		for i, name := range []string{"周一", "周二", "周三", "周四", "周五", "周六", "周日"} {
			if c.weekdays>>((i+1)%7)&1 == 1 {
				parts = append(parts, name)
			}
		}
	}
	for _, y := range c.yearlyRuns() {
		if y.from == y.to {
			add("每年%d月%d日", y.from.month, y.from.day)
		} else {
			add("每年%d月%d日至%d月%d日", y.from.month, y.from.day, y.to.month, y.to.day)
		}
	}
	if n := len(c.dates); n > maxListed {
		add("%s至%s之间的%d个日期或时段", c.dates[0].from, c.dates[n-1].to, n)
	} else {
		for _, s := range c.dates {
			parts = append(parts, strings.Replace(s.String(), "/", "至", 1))
		}
	}
	if n := len(c.years); n == 1 {
		add("%d年的节假日", c.years[0].year)
	} else if n > 1 {
		add("%d至%d年的节假日", c.years[0].year, c.years[n-1].year)
	}
	if n := len(c.rules); n > 0 {
		add("%d个重复日程", n)
	}
	for _, u := range c.union {
		parts = append(parts, u.inChinese())
	}
	text := joined(parts, "、", "和")
	if len(parts) == 0 {
		text = "没有日期"
	}
	if len(c.workdays) > 0 {
		text += "（调休上班日除外）"
	}
	if c.without != nil {
		text += "（" + c.without.inChinese() + "除外）"
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
