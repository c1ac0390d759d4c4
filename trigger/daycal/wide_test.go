package daycal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

const wide = 40_000 // dates

// wideCalendars say very many things, each of which has to be asked about a day.
func wideCalendars() map[string]string {
	var dates, parts, yearly, nested, rules, zigzag []string
	for i := range wide {
		date := (daycal.NewDay(1901, 1, 1) + daycal.Day(2*i)).String()
		dates = append(dates, fmt.Sprintf("%q", date))
		if i%4 == 3 {
			parts = append(parts, fmt.Sprintf(`{"dates":[%s]}`, strings.Join(dates[i-3:], ",")))
		}
		if i < 5_000 {
			nested = append(nested, fmt.Sprintf(`{"weekdays":["mon"],"without":{"dates":[%q]}}`, date))
			monday := daycal.NewDay(1901, 1, 7) + daycal.Day(7*i)
			zigzag = append(zigzag, fmt.Sprintf(`"%s/%s"`, monday, monday+4)) // all days but the weekend, which is there by its weekdays
		}
	}
	for i := range 366 {
		yearly = append(yearly, fmt.Sprintf("%q", time.Date(2000, 1, 1+i, 0, 0, 0, 0, time.UTC).Format("--01-02")))
	}
	for i := range 50 {
		rules = append(rules, fmt.Sprintf(`{"from":"2020-01-%02d","days":3,"rule":"FREQ=WEEKLY;INTERVAL=%d"}`, i%28+1, i+2))
	}
	list := func(texts []string) string { return "[" + strings.Join(texts, ",") + "]" }
	return map[string]string{
		"dates":                        `{"dates":` + list(dates) + `}`,
		"a union of calendars":         `{"union":` + list(parts) + `}`,
		"dates and weekends":           `{"weekdays":["sat","sun"],"dates":` + list(dates) + `}`,
		"all dates of every year":      `{"yearly":` + list(yearly) + `}`,
		"all but some dates":           `{"yearly":` + list(yearly) + `,"without":{"dates":` + list(dates) + `}}`,
		"calendars that lack a day":    `{"union":` + list(nested) + `}`,
		"working weeks and weekends":   `{"weekdays":["sat","sun"],"dates":` + list(zigzag) + `}`,
		"weekends and working weeks":   `{"union":[{"weekdays":["sat","sun"]},{"dates":` + list(zigzag) + `}],"without":{"dates":["2026-01-01"]}}`,
		"weekends without all of them": `{"weekdays":["sat","sun"],"without":{"weekdays":["sat"],"yearly":` + list(yearly) + `}}`,
		"many rules":                   `{"rules":` + list(rules) + `}`,
		"days that seldom come":        `{"rules":[{"from":"0001-01-02","rule":"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO"}]}`,
		"all days":                     `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"]}`,
		"no day":                       `{}`,
		"a day in the year 9999":       `{"dates":["9999-12-30"]}`,
		"all days but one":             `{"dates":["0001-01-02/9999-12-29"]}`,
	}
}

// TestWideCalendarsAreAskedQuickly holds that an answer takes a binary search, not a walk: whatever the calendar, from any day.
func TestWideCalendarsAreAskedQuickly(t *testing.T) {
	for name, text := range wideCalendars() {
		t.Run(name, func(t *testing.T) {
			c := parse(t, text)
			days := []daycal.Day{daycal.First - 1, daycal.First, 0, daycal.NewDay(1900, 12, 31), daycal.NewDay(2026, 1, 1), daycal.NewDay(2026, 7, 4), daycal.Last, daycal.Last + 1}
			ask := func() {
				for _, d := range days {
					c.Contains(d)
					c.NextIn(d)
					c.NextOut(d)
					c.PrevIn(d)
					c.PrevOut(d)
				}
			}
			if n := testing.AllocsPerRun(10, ask); n > 0 {
				t.Errorf("40 questions allocate %v times", n)
			}
			const rounds = 1_000
			begin := time.Now()
			for range rounds {
				ask()
			}
			// 0.1 µs a question, and 1 µs where the days seldom come, on a machine that has nothing else to do; by days or by rules each takes a
			// millisecond and more. What a question looks at is counted by TestASearchLooksAtThreeStretchesAtMost.
			if took := time.Since(begin); took > rounds*40*50*time.Microsecond {
				t.Errorf("a question takes %v", took/(rounds*40))
			}
			for _, in := range []ruqi.Language{ruqi.English, ruqi.Chinese} {
				if words := c.Describe(in); len(words) > 1000 {
					t.Errorf("it is described in %d bytes: %.300s…", len(words), words)
				}
			}
		})
	}
}

func TestTheFirstAndLastAnswers(t *testing.T) {
	all := `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"]}`
	for _, c := range []struct {
		text     string
		ask      func(*daycal.Calendar, daycal.Day) (daycal.Day, bool)
		from     daycal.Day
		want     string // empty: there is none
		question string
	}{
		{all, (*daycal.Calendar).NextOut, 0, "", "the next day out of all days"},
		{all, (*daycal.Calendar).PrevOut, 0, "", "the last day out of all days"},
		{`{"dates":["2026-01-01/2026-12-31"]}`, (*daycal.Calendar).NextOut, daycal.NewDay(2025, 12, 31), "2027-01-01", "the next day after a year that is all in"},
		{`{"dates":["2026-01-01/2026-12-31"]}`, (*daycal.Calendar).PrevOut, daycal.NewDay(2027, 1, 1), "2025-12-31", "the last day before a year that is all in"},
		{`{"dates":["0001-01-02/9999-12-29"]}`, (*daycal.Calendar).NextOut, 0, "9999-12-30", "the last day there is"},
		{`{"dates":["0001-01-03/9999-12-30"]}`, (*daycal.Calendar).PrevOut, 0, "0001-01-02", "the first day there is"},
		{`{"dates":["9999-12-30"]}`, (*daycal.Calendar).NextIn, daycal.First - 9, "9999-12-30", "a date further away than all years repeat in"},
		{`{"dates":["0001-01-02"]}`, (*daycal.Calendar).PrevIn, daycal.Last + 9, "0001-01-02", "a date as far back"},
		{`{"yearly":["--02-29"],"without":{"weekdays":["mon","tue","wed","thu","fri","sat"]}}`, (*daycal.Calendar).NextIn, daycal.NewDay(1880, 3, 1), "1920-02-29",
			"29 February on a Sunday around 1900"},
		{`{"weekdays":["sat"],"without":` + all + `}`, (*daycal.Calendar).NextIn, 0, "", "a day of none"},
	} {
		d, ok := c.ask(parse(t, c.text), c.from)
		if got := d.String(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s %v, want %q", c.question, got, ok, c.want)
		}
	}
}

func TestWideCalendarsInWords(t *testing.T) {
	wide := wideCalendars()
	if got := parse(t, wide["a union of calendars"]).Describe(ruqi.English); got != "40,000 dates and ranges from 1901-01-01 to 2120-01-11" {
		t.Errorf("a union: %s", got)
	}
	got := parse(t, wide["calendars that lack a day"]).Describe(ruqi.English)
	if !strings.HasPrefix(got, "Mondays, but for 1901-01-01, Mondays, but for 1901-01-03") || !strings.HasSuffix(got, " and 4,995 more") {
		t.Errorf("calendars: %s", got)
	}
	if got := parse(t, wide["calendars that lack a day"]).Describe(ruqi.Chinese); !strings.HasSuffix(got, "和另外4,995项") {
		t.Errorf("calendars: %s", got)
	}
	for text, want := range map[string]string{
		`{"yearly":["--01-01","--01-03","--01-05","--01-07","--01-09","--01-11","--01-13","--01-15","--01-17","--01-19","--01-21","--01-23"]}`: " 19 January of every year and 2 more",
		`{"years":{"2025":{},"2026":{},"2028":{}}}`: "the holidays of 2025 to 2026 and 2028 (none are known of other years)",
		`{"union":[{"dates":["2026-01-02"]},{"weekdays":["mon"]},{"union":[{"dates":["2026-01-03"]}]},{"weekdays":["tue"],"without":{"yearly":["--12-25"]}}]}`: "Mondays, 2026-01-02 to 2026-01-03 and " +
			"Tuesdays, but for 25 December of every year",
	} {
		if got := parse(t, text).Describe(ruqi.English); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestWideCalendarsAreReadBack(t *testing.T) {
	for name, text := range wideCalendars() {
		c := parse(t, text)
		canonical, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		sameDays(t, name, c, parse(t, string(canonical)))
	}
}

// sameDays compares the days of two calendars from 1970 to 2100.
func sameDays(t *testing.T, text string, c, again *daycal.Calendar) {
	t.Helper()
	last := daycal.NewDay(2100, 12, 31)
	for d, in := daycal.NewDay(1970, 1, 1)-1, true; d <= last; in = !in {
		next, other := (*daycal.Calendar).NextIn, (*daycal.Calendar).NextOut
		if !in {
			next, other = other, next
		}
		a, hasA := next(c, d)
		b, hasB := next(again, d)
		if a != b || hasA != hasB {
			t.Fatalf("%.200s: after %v it has %v %v, read back %v %v", text, d, a, hasA, b, hasB)
		}
		if !hasA {
			return
		}
		if c.Contains(a) != in || again.Contains(a) != in {
			t.Fatalf("%.200s: %v is next, and held: %v, read back %v", text, a, c.Contains(a), again.Contains(a))
		}
		if a > d+1 { // the days on the way are of the other kind
			if b, ok := other(c, d); !ok || b != d+1 {
				t.Fatalf("%.200s: between %v and %v comes %v %v", text, d, a, b, ok)
			}
		}
		d = a
	}
}

func BenchmarkWideCalendar(b *testing.B) {
	wide := wideCalendars()
	for _, name := range []string{"dates", "dates and weekends", "calendars that lack a day", "many rules", "days that seldom come"} {
		var c daycal.Calendar
		if err := json.Unmarshal([]byte(wide[name]), &c); err != nil {
			b.Fatal(err)
		}
		first := daycal.NewDay(1901, 1, 1)
		for question, ask := range map[string]func(daycal.Day){
			"Contains": func(d daycal.Day) { c.Contains(d) }, "NextIn": func(d daycal.Day) { c.NextIn(d) }, "NextOut": func(d daycal.Day) { c.NextOut(d) },
			"PrevIn": func(d daycal.Day) { c.PrevIn(d) }, "PrevOut": func(d daycal.Day) { c.PrevOut(d) },
		} {
			b.Run(name+"/"+question, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					ask(first + daycal.Day(i*37%80_000))
				}
			})
		}
		b.Run(name+"/Parse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := daycal.Parse([]byte(wide[name])); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
