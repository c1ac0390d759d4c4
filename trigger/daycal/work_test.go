package daycal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// Rules are followed when a job's next time is sought, which happens within a step of the store: a small file must not make
// that long.
func TestRulesThatTakeTooLongToFollowAreRefused(t *testing.T) {
	rules := func(n int, rule string) string {
		list := make([]map[string]any, n)
		for i := range list {
			list[i] = map[string]any{"from": "2026-01-01", "rule": rule}
		}
		text, _ := json.Marshal(map[string]any{"rules": list})
		return string(text)
	}
	nested := func(n int, text string) string {
		return `{"union":[` + strings.TrimSuffix(strings.Repeat(text+",", n), ",") + `]}`
	}
	file := func(n int, rule string) string {
		var b strings.Builder
		b.WriteString("BEGIN:VCALENDAR\n")
		for i := range n {
			fmt.Fprintf(&b, "BEGIN:VEVENT\nUID:%d\nDTSTART:20260101\nRRULE:%s\nEND:VEVENT\n", i, rule)
		}
		b.WriteString("END:VCALENDAR\n")
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{"the days off of a country", rules(40, "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"), false},
		{"a hundred yearly events", file(100, "FREQ=YEARLY"), false},
		{"weekends in a few words", rules(10, "FREQ=WEEKLY;BYDAY=SA,SU"), false},
		{"the last working day of each month", rules(30, "FREQ=MONTHLY;BYDAY=-1FR"), false},
		{"a hundred short stretches of days", file(100, "FREQ=DAILY;COUNT=14"), false},
		{"a hundred courses of some weeks", file(100, "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=20"), false},
		{"a hundred that are long over", file(100, "FREQ=DAILY;UNTIL=20270101"), false},
		{"every day, a hundred times", rules(100, "FREQ=DAILY"), true},
		{"every other day, a hundred times", rules(100, "FREQ=DAILY;INTERVAL=2"), true},
		{"all weekdays of the year, a hundred times", rules(100, "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU"), true},
		{"in calendars within a calendar", nested(100, rules(1, "FREQ=DAILY")), true},
		{"what never comes, in a file", file(9000, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), true},
		{"what seldom comes, in a file", file(100, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO"), true},
		{"so many that few come", rules(100, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;COUNT=2"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			days, err := daycal.Parse([]byte(c.text))
			if (err != nil) != c.refused {
				t.Fatalf("refused: %v, want %v (%.200v)", err != nil, c.refused, err)
			}
			if err != nil && !strings.Contains(err.Error(), "takes too long") {
				t.Fatalf("%.300v does not say that it takes too long", err)
			}
			if err == nil {
				days.NextIn(0)
			}
			if took := time.Since(begin); took > 10*time.Second { // a fraction of one on a machine that has nothing else to do
				t.Fatalf("it took %v", took)
			}
		})
	}
}
