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
	for day, want := range map[daycal.Day]string{daycal.First: "0001-01-01", daycal.Last: "9999-12-31", 0: "1970-01-01"} {
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

// Outside of what is irregular the days come again after 400 years; at its edges they do not.
func TestOutsideOfWhatIsIrregularTheDaysRepeat(t *testing.T) {
	const era = 146097
	for text, want := range map[string]string{
		`{"weekdays":["sat","sun"]}`: "", `{"yearly":["--02-29"],"weekdays":["mon"]}`: "",
		`{"dates":["2500-05-01"]}`: "2500-04-30 to 2500-05-02",
		`{"weekdays":["sun"],"dates":["2027-01-02","2026-12-24/2026-12-26"]}`:                       "2026-12-23 to 2027-01-03",
		`{"rules":[{"rule":"FREQ=WEEKLY;INTERVAL=2;BYDAY=TU;UNTIL=20300101","from":"2026-01-06"}]}`: "",
		`{"rules":[{"rule":"FREQ=YEARLY;BYMONTH=11;BYDAY=4TH","from":"2026-01-01"}]}`:               "",
	} {
		c, err := daycal.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		first, last, ok := c.Irregular()
		if got := first.String() + " to " + last.String(); want != "" && (!ok || got != want) {
			t.Errorf("%s: %s %t, want %s", text, got, ok, want)
		}
		if !ok {
			first, last = daycal.NewDay(2026, 1, 1), daycal.NewDay(2026, 1, 1)
		}
		for d := range daycal.Day(3 * 366) {
			if at := last + 1 + d; at+era <= daycal.Last && c.Contains(at) != c.Contains(at+era) {
				t.Errorf("%s: %v is other than 400 years later; irregular is %v to %v", text, at, first, last)
				break
			}
			if at := first - 1 - d; at-era >= daycal.First && c.Contains(at) != c.Contains(at-era) {
				t.Errorf("%s: %v is other than 400 years earlier; irregular is %v to %v", text, at, first, last)
				break
			}
		}
	}
	if _, _, ok := (&daycal.Calendar{}).Irregular(); ok {
		t.Error("the empty calendar has irregular days")
	}
}
