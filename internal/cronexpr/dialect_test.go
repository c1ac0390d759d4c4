package cronexpr_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

func TestCanonicalTextOfTheOtherDialects(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"quartz", "0 15 10 ? * 2-6", "0 15 10 ? * mon-fri"},
		{"quartz", "0  15 10 * * ? *", "0 15 10 * * ?"},
		{"quartz", "0 15 10 ? * FRI-MON 2027/3", "0 15 10 ? * fri-mon 2027/3"},
		{"quartz", "0 0 22-02/03 L-3,lw,15w DEC-feb ?", "0 0 22-2/3 L-3,LW,15W 12-2 ?"},
		{"quartz", "0 0 0 ? * 6#3,6L,l,1", "0 0 0 ? * fri#3,friL,sat,sun"},
		{"quartz", "0 0 0 ? * */2", "0 0 0 ? * */2"},
		{"quartz", "0 0 0 ?/2 * ?", "0 0 0 */2 * ?"},
		{"fields", "hour=9", "hour=9"},
		{"fields", "second=0 minute=00 hour=09", "hour=9"},
		{"fields", " minute=*/5\tyear=*  ", "minute=*/5"},
		{"fields", "year=2026", "year=2026"},
		{"fields", "year=*", "year=*"},
		{"fields", "year=2026 day=*", "year=2026 day=*"},
		{"fields", "day='3RD  fri , last,LAST sun' hour='2, 3'", "day='3rd fri,last,last sun' hour=2,3"},
		{"fields", "day_of_week=0-4/2", "day_of_week=mon-fri/2"},
		{"fields", "week=53 day_of_week='*'", "week=53"},
		{"fields", "month=JAN-mar", "month=1-3"},
		{"fields", "second='*/1'", "second=*/1"},
		{"crontab", "h H(0-7)/02 h(1-7) H/3 H(mon-FRI)", "H H(0-7)/2 H(1-7) H/3 H(mon-fri)"},
		{"crontab", "H,30 2 * * *", "H,30 2 * * *"},
	} {
		wantText(t, c.dialect, c.text, c.want)
	}
}

func TestFieldsOfTheOtherDialects(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"quartz", "0 15 10 ? * 6L", "second=0 minute=15 hour=10 day=? month=* day_of_week=friL year=*"},
		{"quartz", "0 15 10 1 1 ? 2027-2030", "second=0 minute=15 hour=10 day=1 month=1 day_of_week=? year=2027-2030"},
		{"fields", "day='2nd tue' minute=5", "second=0 minute=5 hour=* day=2nd tue month=* day_of_week=* week=* year=*"},
		{"fields", "month=2", "second=0 minute=0 hour=0 day=1 month=2 day_of_week=* week=* year=*"},
		{"fields", "year=2026 week=1", "second=0 minute=0 hour=0 day=* month=* day_of_week=* week=1 year=2026"},
		{"crontab", "H 2 * * *", "second=0 minute=H hour=2 day=* month=* day_of_week=*"},
	} {
		wantFields(t, c.dialect, c.text, c.want)
	}
}

func TestWhatCountsAsBeginningWithAStar(t *testing.T) {
	for _, c := range []struct {
		dialect, text string
		want          bool
	}{
		{"fields", "hour=2 minute=30", false},
		{"fields", "hour=2", false},
		{"fields", "day=1", false},
		{"fields", "minute=30", true},
		{"fields", "hour=2 second=30", true},
		{"fields", "hour=*/2", true},
		{"quartz", "0 30 2 ? * *", false},
		{"quartz", "0 0/5 2 * * ?", false},
		{"quartz", "0 */5 2 * * ?", true},
		{"crontab", "H 2 * * *", false},
		{"crontab", "H/15 2 * * *", false},
		{"crontab", "H * * * *", true},
	} {
		if got := parse(t, c.dialect, c.text).Starred(); got != c.want {
			t.Errorf("%s %q follows the real clock: got %v, want %v", c.dialect, c.text, got, c.want)
		}
	}
}

// An element is a piece of a field and what it says about a wall time, worked out
// with the standard library only.
type element struct {
	text string
	fits func(time.Time) bool
}

// numeric makes an element of a field with plain numbers; label spells a value.
func numeric(r *rand.Rand, low, high int, wrap bool, value func(time.Time) int, label func(int) string) element {
	step, suffix := 1, ""
	if r.IntN(2) == 0 {
		step = 1 + r.IntN(9)
		suffix = fmt.Sprintf("/%d", step)
	}
	from := low + r.IntN(high-low+1)
	to := from + r.IntN(high-from+1)
	if wrap && r.IntN(2) == 0 {
		to = low + r.IntN(high-low+1)
	}
	var set []int
	add := func(from, to int) {
		size := high - low + 1
		if to < from {
			to += size
		}
		for v := from; v <= to; v += step {
			set = append(set, (v-low)%size+low)
		}
	}
	var text string
	switch r.IntN(4) {
	case 0:
		text = "*" + suffix
		add(low, high)
	case 1:
		text = label(from) + suffix
		if suffix == "" {
			add(from, from)
		} else {
			add(from, high)
		}
	default:
		text = label(from) + "-" + label(to) + suffix
		add(from, to)
	}
	return element{text, func(at time.Time) bool { return slices.Contains(set, value(at)) }}
}

func plain(n int) string { return fmt.Sprint(n) }

// last returns the last day of the month of a wall time.
func last(at time.Time) int {
	return time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// nearestWorkday walks outwards from a day of the month of a wall time.
func nearestWorkday(at time.Time, n int) int {
	for _, ahead := range []int{0, -1, 1, -2, 2} {
		day := time.Date(at.Year(), at.Month(), n+ahead, 0, 0, 0, 0, time.UTC)
		if day.Month() == at.Month() && day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			return day.Day()
		}
	}
	return 0
}

var weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// A made expression is a text and its fields.
type made struct {
	text string
	fits []func(time.Time) bool
}

func (m made) matches(at time.Time) bool {
	return !slices.ContainsFunc(m.fits, func(fits func(time.Time) bool) bool { return !fits(at) })
}

// makeList joins one to three elements.
func makeList(r *rand.Rand, one func() element) element {
	var list []element
	for range 1 + r.IntN(3) {
		list = append(list, one())
	}
	var texts []string
	for _, e := range list {
		texts = append(texts, e.text)
	}
	return element{strings.Join(texts, ","), func(at time.Time) bool {
		return slices.ContainsFunc(list, func(e element) bool { return e.fits(at) })
	}}
}

var (
	valueOfMonth = func(at time.Time) int { return int(at.Month()) }
	valueOfDay   = func(at time.Time) int { return at.Day() }
	valueOfHour  = func(at time.Time) int { return at.Hour() }
	valueOfWeek  = func(at time.Time) int { _, week := at.ISOWeek(); return week }
)

// makeFields makes an expression of the dialect fields.
func makeFields(r *rand.Rand) made {
	var m made
	var texts []string
	add := func(name string, one func() element) {
		if r.IntN(2) == 0 {
			e := makeList(r, one)
			texts = append(texts, name+"='"+e.text+"'")
			m.fits = append(m.fits, e.fits)
		}
	}
	add("year", func() element {
		from := 2000 + r.IntN(60)
		to, step := from+r.IntN(20), 1+r.IntN(4)
		return element{fmt.Sprintf("%d-%d/%d", from, to, step), func(at time.Time) bool {
			return at.Year() >= from && at.Year() <= to && (at.Year()-from)%step == 0
		}}
	})
	add("month", func() element { return numeric(r, 1, 12, false, valueOfMonth, plain) })
	add("week", func() element { return numeric(r, 1, 53, false, valueOfWeek, plain) })
	add("day_of_week", func() element {
		return numeric(r, 0, 6, false, func(at time.Time) int { return (int(at.Weekday()) + 6) % 7 }, plain)
	})
	add("day", func() element {
		switch d, n := r.IntN(7), 1+r.IntN(5); r.IntN(4) {
		case 0:
			return element{"last", func(at time.Time) bool { return at.Day() == last(at) }}
		case 1:
			return element{"last " + weekdayNames[d], func(at time.Time) bool {
				return int(at.Weekday()) == d && at.Day()+7 > last(at)
			}}
		case 2:
			return element{[]string{"", "1st ", "2nd ", "3rd ", "4th ", "5th "}[n] + weekdayNames[d], func(at time.Time) bool {
				return int(at.Weekday()) == d && (at.Day()+6)/7 == n
			}}
		}
		return numeric(r, 1, 31, false, valueOfDay, plain)
	})
	hour := makeList(r, func() element { return numeric(r, 0, 23, false, valueOfHour, plain) })
	texts = append(texts, "hour="+hour.text)
	m.fits = append(m.fits, hour.fits, func(at time.Time) bool { return at.Minute() == 0 && at.Second() == 0 })
	r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	m.text = strings.Join(texts, " ")
	return m
}

// makeQuartz makes an expression of the dialect quartz.
func makeQuartz(r *rand.Rand) made {
	hour := makeList(r, func() element { return numeric(r, 0, 23, true, valueOfHour, plain) })
	month := makeList(r, func() element { return numeric(r, 1, 12, true, valueOfMonth, plain) })
	m := made{fits: []func(time.Time) bool{hour.fits, month.fits, func(at time.Time) bool { return at.Minute() == 0 && at.Second() == 0 }}}
	dom, dow := "?", "?"
	if r.IntN(2) == 0 {
		e := makeList(r, func() element {
			switch n := 1 + r.IntN(30); r.IntN(6) {
			case 0:
				return element{"L", func(at time.Time) bool { return at.Day() == last(at) }}
			case 1:
				return element{"LW", func(at time.Time) bool { return at.Day() == nearestWorkday(at, last(at)) }}
			case 2:
				return element{fmt.Sprintf("L-%d", n), func(at time.Time) bool { return at.Day()+n == last(at) }}
			case 3:
				return element{fmt.Sprintf("%dW", n), func(at time.Time) bool {
					return n <= last(at) && at.Day() == nearestWorkday(at, n)
				}}
			}
			return numeric(r, 1, 31, true, valueOfDay, plain)
		})
		dom = e.text
		m.fits = append(m.fits, e.fits)
	} else {
		e := makeList(r, func() element {
			switch d, n := r.IntN(7), 1+r.IntN(5); r.IntN(5) {
			case 0:
				return element{fmt.Sprintf("%d#%d", d+1, n), func(at time.Time) bool {
					return int(at.Weekday()) == d && (at.Day()+6)/7 == n
				}}
			case 1:
				return element{weekdayNames[d] + "L", func(at time.Time) bool {
					return int(at.Weekday()) == d && at.Day()+7 > last(at)
				}}
			}
			return numeric(r, 1, 7, true, func(at time.Time) int { return int(at.Weekday()) + 1 }, plain)
		})
		dow = e.text
		m.fits = append(m.fits, e.fits)
	}
	m.text = fmt.Sprintf("0 0 %s %s %s %s", hour.text, dom, month.text, dow)
	if r.IntN(2) == 0 {
		from, step := 1970+r.IntN(80), 1+r.IntN(5)
		m.text += fmt.Sprintf(" %d/%d", from, step)
		m.fits = append(m.fits, func(at time.Time) bool { return at.Year() >= from && (at.Year()-from)%step == 0 })
	}
	return m
}

func TestTheOtherDialectsAgreeWithAWalkOverEveryHour(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	asked := 0
	for range 150 {
		dialect, m := "fields", makeFields(r)
		if r.IntN(2) == 0 {
			dialect, m = "quartz", makeQuartz(r)
		}
		e, err := cronexpr.Parse(cronexpr.Lookup(dialect), m.text)
		if err != nil {
			if !strings.Contains(err.Error(), "would never fire") {
				t.Fatalf("%s %q: %v", dialect, m.text, err)
			}
			e = nil
		}
		// Two years, with the first week of one and the last of another.
		from := time.Date(1995+r.IntN(80), time.Month(1+r.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
		until := from.AddDate(2, 0, 10)
		var hits []int64
		for at := from; at.Before(until); at = at.Add(time.Hour) {
			if m.matches(at) {
				hits = append(hits, at.Unix())
			}
		}
		if e == nil {
			if len(hits) > 0 {
				t.Fatalf("%s %q is refused, but matches %v", dialect, m.text, time.Unix(hits[0], 0).UTC())
			}
			continue
		}
		asked += len(hits)
		if got := e.Count(from.Unix(), until.Unix()); got != int64(len(hits)) {
			t.Fatalf("%s %q: Count from %v = %d, a walk finds %d", dialect, m.text, from, got, len(hits))
		}
		at := from.Unix()
		for _, want := range hits {
			got, ok := e.Next(at, until.Unix())
			if !ok || got != want {
				t.Fatalf("%s %q: Next(%v) = %v %v, a walk finds %v", dialect, m.text, time.Unix(at, 0).UTC(), time.Unix(got, 0).UTC(), ok, time.Unix(want, 0).UTC())
			}
			at = got + 1
		}
		if got, ok := e.Next(at, until.Unix()); ok {
			t.Fatalf("%s %q: Next(%d) = %d, a walk finds nothing before the limit", dialect, m.text, at, got)
		}
		at = until.Unix()
		for i := len(hits) - 1; i >= 0; i-- {
			got, ok := e.Prev(at, from.Unix())
			if !ok || got != hits[i] {
				t.Fatalf("%s %q: Prev(%v) = %v %v, a walk finds %v", dialect, m.text, time.Unix(at, 0).UTC(), time.Unix(got, 0).UTC(), ok, time.Unix(hits[i], 0).UTC())
			}
			at = got
		}
		if got, ok := e.Prev(at, from.Unix()); ok {
			t.Fatalf("%s %q: Prev(%d) = %d, a walk finds nothing after the limit", dialect, m.text, at, got)
		}
	}
	t.Logf("%d fire times compared", asked)
}

func TestWeeksAreThoseOfISO8601InEveryYearOfTwoCycles(t *testing.T) {
	var weeks []*cronexpr.Expr
	for n := range 53 {
		weeks = append(weeks, parse(t, "fields", fmt.Sprintf("week=%d", n+1)))
	}
	for at := time.Date(1599, 12, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2401; at = at.AddDate(0, 0, 1) {
		if at.Month() > 1 && at.Month() < 12 && at.Day() > 7 {
			continue // the turn of the year, and a week of each other month
		}
		_, n := at.ISOWeek()
		if !matches(weeks[n-1], at.Unix()) {
			t.Fatalf("week=%d does not match %v", n, at)
		}
		if matches(weeks[n%53], at.Unix()) {
			t.Fatalf("week=%d matches %v, which is in week %d", n%53+1, at, n)
		}
	}
}

func TestFarYearsAreFound(t *testing.T) {
	from := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC).Unix()
	for _, c := range []struct{ dialect, text, want string }{
		{"fields", "year=9999", "9999-01-01"},
		{"fields", "year=9999 week=52 day_of_week=fri", "9999-12-31"},
		{"quartz", "0 0 0 29 2 ? 9995-9999", "9996-02-29"},
		{"quartz", "0 0 0 29 2 ? 2000,9997/3", ""},
	} {
		e := parse(t, c.dialect, c.text)
		got := ""
		if at, ok := e.Next(from, from+e.Horizon()); ok {
			got = time.Unix(at, 0).UTC().Format(time.DateOnly)
		}
		if got != c.want {
			t.Errorf("%q: after 2026 comes %q, want %q", c.text, got, c.want)
		}
	}
	e := parse(t, "quartz", "0 0 0 1 1 ? 1971")
	if at, ok := e.Prev(from+8000*366*86400, from-e.Horizon()); !ok || time.Unix(at, 0).UTC().Year() != 1971 {
		t.Errorf("before the year 10000 comes %v %v, want 1971", at, ok)
	}
}

func TestYearsAreTheFirstAndTheLastThatAreNamed(t *testing.T) {
	for text, want := range map[string][2]int{
		"0 0 12 1 1 ? 2600": {2600, 2600}, "0 0 12 1 1 ? 2031-2044/3,2090": {2031, 2090}, "0 0 12 1 1 ? 2050,1999": {1999, 2050}, "0 0 12 1 1 ? *": {}, "0 0 12 1 1 ?": {},
	} {
		first, last, named := parse(t, "quartz", text).Years()
		if first != want[0] || last != want[1] || named != (want[0] > 0) {
			t.Errorf("%s: %d to %d, %t", text, first, last, named)
		}
	}
}
