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
		refused    string // what the message says
	}{
		{"the days off of a country", rules(40, "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"), ""},
		{"a hundred yearly events", file(100, "FREQ=YEARLY"), ""},
		{"weekends in a few words", rules(10, "FREQ=WEEKLY;BYDAY=SA,SU"), ""},
		{"the last working day of each month", rules(30, "FREQ=MONTHLY;BYDAY=-1FR"), ""},
		{"a hundred short stretches of days", file(100, "FREQ=DAILY;COUNT=14"), ""},
		{"a hundred courses of some weeks", file(100, "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=20"), ""},
		{"a hundred that are long over", file(100, "FREQ=DAILY;UNTIL=20270101"), ""},
		// What comes in every period is not gone through day by day.
		{"every day, a hundred times", rules(100, "FREQ=DAILY"), ""},
		{"all weekdays of the year, a hundred times", rules(100, "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU"), ""},
		{"in calendars within a calendar", nested(100, rules(1, "FREQ=DAILY")), ""},
		{"what seldom comes, in a file", file(100, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO"), ""},
		{"so many that few come", rules(100, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;COUNT=2"), ""},
		{"every other day, as often as there is room for", rules(10, "FREQ=DAILY;INTERVAL=2"), ""},
		{"every other day, a hundred times", rules(100, "FREQ=DAILY;INTERVAL=2"), "takes too long"},
		{"the first of every day, a hundred times", rules(100, "FREQ=DAILY;BYSETPOS=1"), "takes too long"},
		{"every other day within calendars", nested(100, rules(1, "FREQ=DAILY;INTERVAL=2")), "takes too long"},
		{"every other day, in a file", file(100, "FREQ=DAILY;INTERVAL=2"), "line 52: RRULE: event \"10\" of line 52: \"FREQ=DAILY;INTERVAL=2\": following all rules"},
		{"what never comes, in a file", file(9000, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), "never comes"},
		{"what never comes of its period, in a file", file(9000, "FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=3;BYSETPOS=3"), "never comes"},
		{"too many rules", file(9000, "FREQ=DAILY"), "101 rules; 100 are the most"},
		{"a hundred thousand wrong dates", `{"dates":["x"` + strings.Repeat(`,"x"`, 100_000) + `]}`, "more than 100 faults"},
		{"thousands of wrong calendars", `{"union":[1` + strings.Repeat(`,1`, 9_000) + `]}`, "more than 100 faults"},
		{"a hundred thousand calendars", `{"union":[{}` + strings.Repeat(`,{}`, 100_000) + `]}`, "more than 10000 calendars"},
		{"zones without number", file(1, "FREQ=DAILY\n"+strings.Join(zoneLines(300), "\n")), "more than 200 time zones"},
		{"dates that are longer written out", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101\nRDATE:" + dayList(100_000) + "\nEND:VEVENT\nEND:VCALENDAR", "1300000 bytes when it is written out"},
		{"in more ways than any calendar has", varied(3000), "in too many different ways"},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			days, err := daycal.Parse([]byte(c.text))
			if (err != nil) != (c.refused != "") {
				t.Fatalf("refused: %v (%.200v)", err != nil, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Fatalf("%.300v does not say %s", err, c.refused)
			}
			if err != nil && len(err.Error()) > 20_000 { // 100 faults of some 100 bytes
				t.Fatalf("the message has %d bytes", len(err.Error()))
			}
			if err == nil {
				days.NextIn(0)
			}
			if took := time.Since(begin); took > 10*time.Second { // well under 0.1 s on a machine that has nothing else to do
				t.Fatalf("it took %v", took)
			}
		})
	}
}

func zoneLines(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("EXDATE;TZID=Nowhere/Z%d:20260101", i))
	}
	return lines
}

// dayList returns every second day from 1901 on, as an iCalendar file has them.
func dayList(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = (daycal.NewDay(1901, 1, 1) + daycal.Day(2*i)).Time().Format("20060102")
	}
	return strings.Join(list, ",")
}

// varied returns a calendar in which each of many yearly dates does not count in a time of its own.
func varied(n int) string {
	list := make([]string, n)
	for i := range list {
		from := daycal.NewDay(2026, 1, 1) + daycal.Day(3*i)
		list[i] = fmt.Sprintf(`{"yearly":["--%02d-%02d"],"without":{"dates":["%s/%s"]}}`, i%12+1, i%28+1, from, from+1000)
	}
	return `{"union":[` + strings.Join(list, ",") + `]}`
}
