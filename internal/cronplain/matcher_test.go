package cronplain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronplain"
)

// A schedule that differs in one minute of a year is found out.
func TestOneWrongMinuteIsFound(t *testing.T) {
	m, err := cronplain.New("30 4 1 * *")
	if err != nil {
		t.Fatal(err)
	}
	minutes := cronplain.Year(time.UTC)
	monthly := func(after time.Time) (time.Time, bool) {
		after = after.UTC()
		for month := after.Month(); ; month++ {
			if at := time.Date(after.Year(), month, 1, 4, 30, 0, 0, time.UTC); at.After(after) {
				return at, true
			}
		}
	}
	if fired, err := m.Compare(minutes, monthly); fired != 12 || err != nil {
		t.Errorf("it fired %d times, %v", fired, err)
	}
	for name, change := range map[string]func(time.Time) (time.Time, bool){
		"late":     func(at time.Time) (time.Time, bool) { return at.Add(time.Minute), true },
		"early":    func(at time.Time) (time.Time, bool) { return at.Add(-time.Minute), true },
		"a second": func(at time.Time) (time.Time, bool) { return at.Add(time.Second), true },
		"ended":    func(at time.Time) (time.Time, bool) { return at, false },
	} {
		_, err := m.Compare(minutes, func(after time.Time) (time.Time, bool) {
			at, ok := monthly(after)
			if at.Month() == time.November {
				return change(at)
			}
			return at, ok
		})
		if err == nil || !strings.Contains(err.Error(), "2027-11-01 04:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, expr := range []string{"* * * *", "a * * * *", "60 * * * *", "*/0 * * * *"} {
		if _, err := cronplain.New(expr); err == nil {
			t.Errorf("%q is read", expr)
		}
	}
}
