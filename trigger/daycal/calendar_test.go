package daycal_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

func parse(t *testing.T, text string) *daycal.Calendar {
	t.Helper()
	c, err := daycal.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func TestTheFirstAndTheLastDay(t *testing.T) {
	for day, want := range map[daycal.Day]string{daycal.First: "0001-01-02", daycal.Last: "9999-12-30", 0: "1970-01-01"} {
		if day.String() != want {
			t.Errorf("day %d is %v, want %s", int(day), day, want)
		}
		if got := daycal.DayAt(day.Time()); got != day || day.Weekday() != day.Time().Weekday() {
			t.Errorf("%v: back from its time comes %v, its weekday is %v, want %v", day, got, day.Weekday(), day.Time().Weekday())
		}
	}
}

func TestWhatACalendarHolds(t *testing.T) {
	c := parse(t, `{"dates":["2026-05-01","2026-12-24/2027-01-01"],"weekdays":["sat"],"yearly":["--07-04"],"without":{"dates":["2026-07-04"]}}`)
	for text, want := range map[string]bool{
		"2026-05-01": true, "2026-12-23": false, "2026-12-24": true, "2027-01-01": true, "2027-01-03": false,
		"2026-05-02": true, "2026-07-04": false, "2027-07-04": true, "2027-07-05": false,
	} {
		d, err := daycal.ParseDay(text)
		if err != nil {
			t.Fatal(err)
		}
		if c.Contains(d) != want {
			t.Errorf("%s: held is %v, want %v", text, !want, want)
		}
	}
	if d, ok := c.NextOut(daycal.NewDay(2026, time.December, 23)); !ok || d != daycal.NewDay(2027, time.January, 3) {
		t.Errorf("the first day left out after 2026-12-23 is %v %v, want 2027-01-03", d, ok)
	}
}
