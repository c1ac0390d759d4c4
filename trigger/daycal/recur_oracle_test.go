package daycal_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// A recurrence is a rule as RFC 5545 puts it, which the oracle goes through period by period and day by day, with package time alone.
type recurrence struct {
	freq                                             string
	interval, count                                  int
	until                                            time.Time
	months, monthDays, yearDays, weekNumbers, setpos []int
	weekdays                                         []string // MO, 2TU, -1FR
	weekStart                                        time.Weekday
}

var weekdayOf = map[string]time.Weekday{"SU": 0, "MO": 1, "TU": 2, "WE": 3, "TH": 4, "FR": 5, "SA": 6}

func (r *recurrence) text() string {
	parts := []string{"FREQ=" + r.freq}
	ints := func(name string, list []int) {
		if len(list) > 0 {
			parts = append(parts, name+"="+strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]"))
		}
	}
	if r.interval > 1 {
		parts = append(parts, fmt.Sprint("INTERVAL=", r.interval))
	}
	if r.count > 0 {
		parts = append(parts, fmt.Sprint("COUNT=", r.count))
	}
	if !r.until.IsZero() {
		parts = append(parts, "UNTIL="+r.until.Format("20060102"))
	}
	ints("BYMONTH", r.months)
	ints("BYMONTHDAY", r.monthDays)
	ints("BYYEARDAY", r.yearDays)
	ints("BYWEEKNO", r.weekNumbers)
	if len(r.weekdays) > 0 {
		parts = append(parts, "BYDAY="+strings.Join(r.weekdays, ","))
	}
	ints("BYSETPOS", r.setpos)
	for name, w := range weekdayOf {
		if w == r.weekStart && w != time.Monday {
			parts = append(parts, "WKST="+name)
		}
	}
	return strings.Join(parts, ";")
}

func midnight(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// week returns the number of the week of a day from the first with four days in a year, and how many that year has.
func (r *recurrence) week(d time.Time) (number, of int) {
	start := d.AddDate(0, 0, -(int(d.Weekday())-int(r.weekStart)+7)%7)
	year := start.AddDate(0, 0, 3).Year() // the year of most days of the week
	for s := start; s.AddDate(0, 0, 3).Year() == year; s = s.AddDate(0, 0, -7) {
		number++
	}
	of = number - 1
	for s := start; s.AddDate(0, 0, 3).Year() == year; s = s.AddDate(0, 0, 7) {
		of++
	}
	return number, of
}

// nth reports whether n counts a day from the begin or the end of a stretch of days of its weekday.
func nth(n, fromBegin, fromEnd int) bool {
	return n > 0 && n == (fromBegin-1)/7+1 || n < 0 && -n == (fromEnd-1)/7+1
}

func either(list []int, n, fromEnd int) bool {
	return slices.Contains(list, n) || slices.Contains(list, -fromEnd)
}

func (r *recurrence) asks(from, d time.Time) bool {
	inMonth := midnight(d.Year(), d.Month()+1, 0).Day()
	inYear := midnight(d.Year(), 12, 31).YearDay()
	given := len(r.monthDays)+len(r.yearDays)+len(r.weekdays) > 0
	number, of := 0, 0
	if len(r.weekNumbers) > 0 {
		number, of = r.week(d)
	}
	switch {
	case len(r.months) > 0 && !slices.Contains(r.months, int(d.Month())),
		len(r.yearDays) > 0 && !either(r.yearDays, d.YearDay(), inYear-d.YearDay()+1),
		len(r.monthDays) > 0 && !either(r.monthDays, d.Day(), inMonth-d.Day()+1),
		len(r.weekNumbers) > 0 && !either(r.weekNumbers, number, of-number+1):
		return false
	case !given && (r.freq == "WEEKLY" || len(r.weekNumbers) > 0) && d.Weekday() != from.Weekday(),
		!given && r.freq == "MONTHLY" && d.Day() != from.Day(),
		!given && r.freq == "YEARLY" && len(r.weekNumbers) == 0 && (d.Day() != from.Day() || len(r.months) == 0 && d.Month() != from.Month()):
		return false
	case len(r.weekdays) == 0:
		return true
	}
	return slices.ContainsFunc(r.weekdays, func(text string) bool {
		w := weekdayOf[text[len(text)-2:]]
		n, _ := strconv.Atoi(text[:len(text)-2])
		switch {
		case w != d.Weekday():
			return false
		case n == 0:
			return true
		case r.freq == "YEARLY" && len(r.months) == 0:
			return nth(n, d.YearDay(), inYear-d.YearDay()+1)
		}
		return nth(n, d.Day(), inMonth-d.Day()+1)
	})
}

// days returns the occurrences up to a day.
func (r *recurrence) days(from, last time.Time) (all []string) {
	var begin time.Time
	var step func(time.Time) time.Time
	switch n := max(1, r.interval); r.freq {
	case "YEARLY":
		begin, step = midnight(from.Year(), 1, 1), func(d time.Time) time.Time { return d.AddDate(n, 0, 0) }
	case "MONTHLY":
		begin, step = midnight(from.Year(), from.Month(), 1), func(d time.Time) time.Time { return d.AddDate(0, n, 0) }
	case "WEEKLY":
		begin, step = from.AddDate(0, 0, -(int(from.Weekday())-int(r.weekStart)+7)%7), func(d time.Time) time.Time { return d.AddDate(0, 0, 7*n) }
	default:
		begin, step = from, func(d time.Time) time.Time { return d.AddDate(0, 0, n) }
	}
	for ; !begin.After(last); begin = step(begin) {
		end := map[string]time.Time{"YEARLY": begin.AddDate(1, 0, 0), "MONTHLY": begin.AddDate(0, 1, 0), "WEEKLY": begin.AddDate(0, 0, 7), "DAILY": begin.AddDate(0, 0, 1)}[r.freq]
		var set []time.Time
		for d := begin; d.Before(end); d = d.AddDate(0, 0, 1) {
			if r.asks(from, d) {
				set = append(set, d)
			}
		}
		for i, d := range set {
			switch {
			case len(r.setpos) > 0 && !either(r.setpos, i+1, len(set)-i), d.Before(from):
				continue
			case d.After(last), !r.until.IsZero() && d.After(r.until), r.count > 0 && len(all) == r.count:
				return all
			}
			all = append(all, d.Format(time.DateOnly))
		}
	}
	return all
}

func drawnRecurrence(r *rand.Rand) *recurrence {
	rule := &recurrence{freq: []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY"}[r.IntN(4)], interval: 1, weekStart: time.Monday}
	some := func(most int, negative bool) (list []int) {
		for range 1 + r.IntN(3) {
			n := 1 + r.IntN(most)
			if negative && r.IntN(3) == 0 {
				n = -n
			}
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		return list
	}
	if r.IntN(3) == 0 {
		rule.interval = 1 + r.IntN(5)
	}
	if r.IntN(4) == 0 {
		rule.months = some(12, false)
	}
	if r.IntN(4) == 0 && rule.freq != "WEEKLY" {
		rule.monthDays = some(31, true)
	}
	if rule.freq == "YEARLY" && r.IntN(6) == 0 {
		rule.yearDays = some(366, true)
	}
	if rule.freq == "YEARLY" && r.IntN(4) == 0 {
		rule.weekNumbers = some(53, true)
	}
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(3) {
			name := []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}[r.IntN(7)]
			if rule.freq == "MONTHLY" && r.IntN(2) == 0 {
				name = strconv.Itoa(r.IntN(13)-6) + name
			} else if rule.freq == "YEARLY" && r.IntN(2) == 0 && len(rule.weekNumbers) == 0 {
				name = strconv.Itoa(r.IntN(107)-53) + name
			}
			rule.weekdays = append(rule.weekdays, strings.TrimPrefix(name, "0"))
		}
	}
	if r.IntN(3) == 0 {
		rule.setpos = some(4, true)
	}
	if r.IntN(3) == 0 {
		rule.weekStart = time.Weekday(r.IntN(7))
	}
	switch r.IntN(4) {
	case 0:
		rule.count = 1 + r.IntN(30)
	case 1:
		rule.until = midnight(2026+r.IntN(20), time.Month(1+r.IntN(12)), 1+r.IntN(28))
	}
	return rule
}

// heldUpTo lists the days of a calendar up to one.
func heldUpTo(c *daycal.Calendar, last time.Time) (all []string) {
	for d := daycal.First - 1; ; {
		next, ok := c.NextIn(d)
		if !ok || next > daycal.DayAt(last) {
			return all
		}
		all, d = append(all, next.String()), next
	}
}

func ruleCalendar(from time.Time, text string) ([]byte, error) {
	return json.Marshal(map[string]any{"rules": []any{map[string]any{"from": from.Format(time.DateOnly), "rule": text}}})
}

func TestRulesAgreeWithTheOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for range 300 {
		rule := drawnRecurrence(r)
		from := midnight(2020+r.IntN(9), time.Month(1+r.IntN(12)), 1+r.IntN(31))
		last := from.AddDate(12, 0, 0)
		text, err := ruleCalendar(from, rule.text())
		if err != nil {
			t.Fatal(err)
		}
		want := rule.days(from, last)
		c, err := daycal.Parse(text)
		if err != nil {
			if len(want) > 0 || !strings.Contains(err.Error(), "never comes") {
				t.Fatalf("%s: %v, the oracle has %v", text, err, want)
			}
			continue
		}
		compared++
		if got := heldUpTo(c, last); !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("%s: after %d it has %v, want %v", text, i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		}
	}
	if compared < 100 {
		t.Errorf("only %d rules came at all", compared)
	}
}

// TestRulesAgreeWithTheLibrary compares with rrule-go, in what that does by the RFC.
func TestRulesAgreeWithTheLibrary(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		rule := drawnRecurrence(r)
		from := midnight(2020+r.IntN(9), time.Month(1+r.IntN(12)), 1+r.IntN(31))
		numbers, plain := false, false
		for i, w := range rule.weekdays {
			if len(w) == 2 {
				plain = true
				continue
			}
			numbers = true
			if n, _ := strconv.Atoi(w[:len(w)-2]); rule.freq == "MONTHLY" || len(rule.months) > 0 {
				rule.weekdays[i] = strconv.Itoa((n%4+4)%4+1) + w[len(w)-2:] // it panics for a fifth from the end in a month of four
			}
		}
		switch {
		case numbers && plain, // together they never come there; BYDAY is a list of what comes
			rule.freq == "WEEKLY" && len(rule.setpos) > 0 && from.Weekday() != rule.weekStart,           // its first week begins with the first day
			slices.ContainsFunc(rule.weekNumbers, func(n int) bool { return n > 51 || n < -51 }),        // it counts the weeks of the year before wrongly, and knows the first from its end by 1 alone
			len(rule.weekNumbers) > 0 && len(rule.weekdays)+len(rule.monthDays)+len(rule.yearDays) == 0: // all days of the week
			continue
		}
		last := from.AddDate(12, 0, 0)
		option, err := rrule.StrToROption(rule.text())
		if err != nil {
			t.Fatal(err)
		}
		option.Dtstart = from
		if option.Until.IsZero() || option.Until.After(last) {
			option.Until = last
		}
		theirs, err := rrule.NewRRule(*option)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, d := range theirs.All() {
			want = append(want, d.Format(time.DateOnly))
		}
		text, err := ruleCalendar(from, rule.text())
		if err != nil {
			t.Fatal(err)
		}
		c, err := daycal.Parse(text)
		if err != nil {
			if len(want) > 0 || !strings.Contains(err.Error(), "never comes") {
				t.Fatalf("%s: %v, the library has %v", text, err, want)
			}
			continue
		}
		if got := heldUpTo(c, last); !slices.Equal(got, want) {
			t.Fatalf("%s: it has %v, the library %v", text, got[:min(9, len(got))], want[:min(9, len(want))])
		}
	}
}

// TestRulesThatOthersGetWrong has what is known to go wrong in programs that follow rules.
func TestRulesThatOthersGetWrong(t *testing.T) {
	for _, c := range []struct{ from, rule, want string }{
		{"2024-02-29", "FREQ=YEARLY;COUNT=3", "2024-02-29 2028-02-29 2032-02-29"},
		{"2024-01-31", "FREQ=MONTHLY;COUNT=3", "2024-01-31 2024-03-31 2024-05-31"},
		{"2024-01-01", "FREQ=MONTHLY;BYDAY=-5MO;COUNT=2", "2024-01-01 2024-04-01"},
		{"2024-01-01", "FREQ=MONTHLY;BYDAY=5MO,WE;COUNT=3", "2024-01-03 2024-01-10 2024-01-17"},
		{"2027-01-02", "FREQ=YEARLY;BYWEEKNO=-1,-2;COUNT=6", "2027-01-02 2027-12-25 2028-01-01 2028-12-23 2028-12-30 2029-12-22"},
		{"2026-01-01", "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;COUNT=2", "2026-12-28 2032-12-27"},
		{"2022-12-11", "FREQ=YEARLY;INTERVAL=3;BYWEEKNO=-53;BYDAY=SU,MO,WE;COUNT=4", "2025-12-29 2025-12-31 2031-12-29 2031-12-31"},
		{"2026-01-01", "FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO,SU;COUNT=3", "2026-01-04 2027-01-04 2027-01-10"},
		{"2026-01-01", "FREQ=YEARLY;WKST=SU;BYWEEKNO=1;BYDAY=SU;COUNT=2", "2026-01-04 2027-01-03"},
		{"1997-08-05", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05 1997-08-10 1997-08-19 1997-08-24"},
		{"1997-08-05", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05 1997-08-17 1997-08-19 1997-08-31"},
		{"2024-02-01", "FREQ=WEEKLY;BYDAY=MO,WE;BYSETPOS=2,3;COUNT=2", "2024-02-07 2024-02-14"},
		{"2024-11-10", "FREQ=WEEKLY;WKST=WE;BYSETPOS=1;BYDAY=MO,TU,WE;COUNT=3", "2024-11-13 2024-11-20 2024-11-27"},
		{"2010-01-01", "FREQ=MONTHLY;BYMONTHDAY=20,31;BYSETPOS=-2;COUNT=3", "2010-01-20 2010-03-20 2010-05-20"},
		{"2023-01-01", "FREQ=YEARLY;BYMONTHDAY=20;BYDAY=MO;BYSETPOS=3;COUNT=2", "2023-11-20 2034-11-20"},
		{"2024-01-01", "FREQ=YEARLY;BYYEARDAY=-366,366;COUNT=3", "2024-01-01 2024-12-31 2028-01-01"},
		{"2026-01-01", "FREQ=DAILY;BYMONTHDAY=-1;COUNT=3", "2026-01-31 2026-02-28 2026-03-31"},
		{"2026-12-20", "FREQ=DAILY;COUNT=1", "2026-12-20"},
		{"2026-01-05", "FREQ=WEEKLY;UNTIL=20260119T235959Z", "2026-01-05 2026-01-12 2026-01-19"},
		{"9999-12-01", "FREQ=MONTHLY;BYMONTHDAY=1,30,31", "9999-12-01 9999-12-30"},
		{"9998-12-31", "FREQ=YEARLY;INTERVAL=1000", "9998-12-31"},
		{"1896-02-29", "FREQ=YEARLY;COUNT=2", "1896-02-29 1904-02-29"},
	} {
		text := fmt.Sprintf(`{"rules":[{"from":%q,"rule":%q}]}`, c.from, c.rule)
		if got, want := heldUpTo(parse(t, text), midnight(9999, 12, 30)), strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s from %s: %v, want %v", c.rule, c.from, got[:min(len(got), 9)], want)
		}
	}
	for _, rule := range []string{
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=YEARLY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=30", "FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=3;BYSETPOS=3",
		"FREQ=MONTHLY;BYMONTHDAY=-31;BYMONTH=4,6,9,11", "FREQ=MONTHLY;BYDAY=-53MO", "FREQ=MONTHLY;BYDAY=6MO", "FREQ=YEARLY;BYMONTH=1;BYDAY=-10MO", "FREQ=YEARLY;BYWEEKNO=2;BYMONTH=7",
		"FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29", "FREQ=DAILY;BYSETPOS=2", "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=-2", "FREQ=DAILY;UNTIL=20251231",
	} {
		if _, err := daycal.Parse(fmt.Appendf(nil, `{"rules":[{"from":"2026-01-01","rule":%q}]}`, rule)); err == nil || !strings.Contains(err.Error(), "never comes") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
