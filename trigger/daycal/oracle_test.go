package daycal_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// lists is a calendar as plain lists of dates, which the oracle goes through one by one.
type lists struct {
	weekdays map[time.Weekday]bool
	dates    map[string]bool
	yearly   map[string]bool
	holidays map[string]bool
	workdays map[string]bool
	unions   []*lists
	without  *lists
}

func (l *lists) has(d time.Time) bool {
	date := d.Format(time.DateOnly)
	in := l.weekdays[d.Weekday()] || l.dates[date] || l.yearly[d.Format("--01-02")] || l.holidays[date]
	for _, u := range l.unions {
		in = in || u.has(d)
	}
	return in && !l.workdays[date] && (l.without == nil || !l.without.has(d))
}

func keys(set map[string]bool) []string {
	list := []string{}
	for key := range set {
		list = append(list, key)
	}
	return list
}

func (l *lists) json() map[string]any {
	weekdays := []string{}
	for w := range l.weekdays {
		weekdays = append(weekdays, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[w])
	}
	all := map[string]any{"weekdays": weekdays, "dates": keys(l.dates), "yearly": keys(l.yearly)}
	if l.holidays != nil {
		all["years"] = map[string]any{"2026": map[string]any{"holidays": keys(l.holidays), "workdays": keys(l.workdays)}}
	}
	var unions []any
	for _, u := range l.unions {
		unions = append(unions, u.json())
	}
	if unions != nil {
		all["union"] = unions
	}
	if l.without != nil {
		all["without"] = l.without.json()
	}
	return all
}

func drawn(r *rand.Rand, deep int) *lists {
	l := &lists{weekdays: map[time.Weekday]bool{}, dates: map[string]bool{}, yearly: map[string]bool{}}
	day := func() time.Time { return time.Date(2026, 1, 1+r.IntN(365), 0, 0, 0, 0, time.UTC) }
	for range r.IntN(3) {
		l.weekdays[time.Weekday(r.IntN(7))] = true
	}
	for range r.IntN(5) {
		first := day()
		for i := range 1 + r.IntN(12) {
			l.dates[first.AddDate(0, 0, i).Format(time.DateOnly)] = true
		}
	}
	for range r.IntN(4) {
		l.yearly[day().Format("--01-02")] = true
	}
	if r.IntN(5) == 0 {
		l.yearly["--02-29"] = true
	}
	if r.IntN(3) == 0 {
		l.holidays, l.workdays = map[string]bool{}, map[string]bool{}
		for range 10 {
			if d := day(); r.IntN(2) == 0 {
				l.holidays[d.Format(time.DateOnly)] = true
			} else if !l.holidays[d.Format(time.DateOnly)] {
				l.workdays[d.Format(time.DateOnly)] = true
			}
		}
		for d := range l.holidays {
			delete(l.workdays, d)
		}
	}
	if deep > 0 {
		for range r.IntN(2) {
			l.unions = append(l.unions, drawn(r, deep-1))
		}
		if r.IntN(2) == 0 {
			l.without = drawn(r, deep-1)
		}
	}
	return l
}

func TestCalendarsAgreeWithTheOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 150 {
		l := drawn(r, 2)
		text, err := json.Marshal(l.json())
		if err != nil {
			t.Fatal(err)
		}
		c := parse(t, string(text))
		first, last := daycal.NewDay(2025, 10, 1), daycal.NewDay(2028, 4, 1)
		lastIn, lastOut := daycal.First-1, daycal.First-1
		for d := first; d <= last; d++ {
			want := l.has(d.Time())
			if c.Contains(d) != want {
				t.Fatalf("%s: %v held is %v, want %v", text, d, !want, want)
			}
			if lastIn >= first {
				check(t, string(text), "PrevIn", d, lastIn, c.PrevIn)
			}
			if lastOut >= first {
				check(t, string(text), "PrevOut", d, lastOut, c.PrevOut)
			}
			if want {
				if lastIn >= first {
					check(t, string(text), "NextIn", lastIn, d, c.NextIn)
				}
				lastIn = d
			} else {
				if lastOut >= first {
					check(t, string(text), "NextOut", lastOut, d, c.NextOut)
				}
				lastOut = d
			}
		}
		canonical, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parse(t, string(canonical)).MarshalJSON(); err != nil || string(again) != string(canonical) {
			t.Fatalf("%s became %s %v", canonical, again, err)
		}
	}
}

func check(t *testing.T, text, name string, from, want daycal.Day, ask func(daycal.Day) (daycal.Day, bool)) {
	t.Helper()
	if got, ok := ask(from); !ok || got != want {
		t.Fatalf("%s: %s(%v) = %v %v, want %v", text, name, from, got, ok, want)
	}
}

func TestSearchesEnd(t *testing.T) {
	start := time.Now()
	all := `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"]}`
	for text, in := range map[string]bool{
		`{}`: false, all: true, `{"weekdays":["sat"],"without":{"weekdays":["sat","mon"]}}`: false,
		fmt.Sprintf(`{"weekdays":["sat"],"without":{"union":[%s]}}`, all): false,
	} {
		c := parse(t, text)
		for _, d := range []daycal.Day{daycal.First - 5, daycal.First, 0, daycal.NewDay(2026, 1, 1), daycal.Last, daycal.Last + 5} {
			_, next := c.NextIn(d)
			_, prev := c.PrevIn(d)
			_, out := c.NextOut(d)
			_, back := c.PrevOut(d)
			inside := d > daycal.First && d < daycal.Last
			if inside && (next != in || prev != in || out == in || back == in) {
				t.Errorf("%s from %v: in %v %v, out %v %v", text, d, next, prev, out, back)
			}
			if c.Contains(d) && (d < daycal.First || d > daycal.Last) {
				t.Errorf("%s holds %v", text, d)
			}
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestRulesAgreeWithTheirMeaning goes through 40 years of days with each rule said in Go.
func TestRulesAgreeWithTheirMeaning(t *testing.T) {
	type date = time.Time
	monday := func(d date) date { return d.AddDate(0, 0, -(int(d.Weekday())+6)%7) }
	for rule, is := range map[string]func(from, d date) bool{
		"FREQ=YEARLY":                      func(from, d date) bool { return d.Month() == from.Month() && d.Day() == from.Day() },
		"FREQ=YEARLY;BYMONTH=11;BYDAY=4TH": func(_, d date) bool { return d.Month() == 11 && d.Weekday() == 4 && (d.Day()-1)/7 == 3 },
		"FREQ=MONTHLY;BYDAY=-1FR":          func(_, d date) bool { return d.Weekday() == 5 && d.AddDate(0, 0, 7).Month() != d.Month() },
		"FREQ=MONTHLY;BYMONTHDAY=31":       func(_, d date) bool { return d.Day() == 31 },
		"FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=-1": func(from, d date) bool {
			return d.AddDate(0, 0, 1).Day() == 1 && (int(d.Month())-int(from.Month())+12)%3 == 0
		},
		"FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR": func(from, d date) bool {
			return (d.Weekday() == 1 || d.Weekday() == 5) && int(monday(d).Sub(monday(from)).Hours()/24)/7%2 == 0
		},
		"FREQ=DAILY;INTERVAL=10": func(from, d date) bool { return int(d.Sub(from).Hours()/24)%10 == 0 },
		"FREQ=YEARLY;UNTIL=20300101": func(from, d date) bool {
			return d.Month() == from.Month() && d.Day() == from.Day() && d.Year() < 2030
		},
		"FREQ=YEARLY;COUNT=3": func(from, d date) bool {
			return d.Month() == from.Month() && d.Day() == from.Day() && d.Year() < from.Year()+3
		},
		"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1": func(_, d date) bool {
			for next := d.AddDate(0, 0, 1); next.Month() == d.Month(); next = next.AddDate(0, 0, 1) {
				if next.Weekday() != 0 && next.Weekday() != 6 {
					return false
				}
			}
			return d.Weekday() != 0 && d.Weekday() != 6
		},
	} {
		for _, year := range []int{1971, 2020} {
			from := time.Date(year, 6, 5, 0, 0, 0, 0, time.UTC)
			text := fmt.Sprintf(`{"rules":[{"from":%q,"rule":%q,"except":["2031-06-05"]}]}`, from.Format(time.DateOnly), rule)
			c := parse(t, text)
			for d := from.AddDate(-1, 0, 0); d.Year() < year+40; d = d.AddDate(0, 0, 1) {
				want := !d.Before(from) && is(from, d) && d.Format(time.DateOnly) != "2031-06-05"
				if c.Contains(daycal.DayAt(d)) != want {
					t.Errorf("%s: %s held is %v, want %v", text, d.Format(time.DateOnly), !want, want)
					break
				}
			}
		}
	}
}
