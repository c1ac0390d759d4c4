package daycal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestASearchLooksAtThreeStretchesAtMost counts what a question may take: no two stretches that follow one another are alike, and one with a
// pattern has a day in it and a day that is not, so that the third at the latest has what is sought.
func TestASearchLooksAtThreeStretchesAtMost(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		var dates []string
		for range r.IntN(200) {
			d := NewDay(2026, 1, 1) + Day(r.IntN(3000))
			dates = append(dates, fmt.Sprintf(`"%s/%s"`, d, d+Day(r.IntN(12))))
		}
		list := strings.Join(dates, ",")
		without := strings.Join(dates[:len(dates)/3], ",")
		c, err := Parse(fmt.Appendf(nil, `{"weekdays":[%q],"dates":[%s],"yearly":["--0%d-29"],"without":{"dates":[%s],"weekdays":[%q]},
			"rules":[{"from":"2026-02-01","days":%d,"rule":"FREQ=WEEKLY;INTERVAL=%d"}]}`,
			weekdayNames[r.IntN(7)], list, 1+r.IntN(9), without, weekdayNames[r.IntN(7)], 1+r.IntN(3), 1+r.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		line := c.days.line
		for i, s := range line {
			if i > 0 && (s.kind == line[i-1].kind || s.from <= line[i-1].from) {
				t.Fatalf("stretch %d of %d, from %v, goes on with the one before", i, len(line), s.from)
			}
			if s.kind <= daily {
				continue
			}
			p, last := &c.days.list[s.kind], line.end(i)
			if p.next(s.from, last, true) > last || p.next(s.from, last, false) > last || p.prev(last, s.from, true) < s.from || p.prev(last, s.from, false) < s.from {
				t.Fatalf("the stretch from %v to %v has one kind of days only", s.from, last)
			}
		}
	}
}

// TestYearsOfDays compares the arithmetic of years with package time, around each New Year and 1 March there is.
func TestYearsOfDays(t *testing.T) {
	for year := 1; year <= 9999; year++ {
		for _, date := range []time.Time{time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(year, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(year, 12, 30, 0, 0, 0, 0, time.UTC), time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)} {
			d := Day(date.Unix() / daySeconds)
			got, kind, place := yearAt(d)
			if got != year || place != date.YearDay()-1 || time.Weekday(kind%7) != time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Weekday() || kind.length() != time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay() {
				t.Fatalf("%v is day %d of %d, of kind %d", date, place, got, kind)
			}
		}
	}
}
