package daycal_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// ics is an iCalendar file of events, with the line ends of RFC 5545.
func ics(events ...string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-TIMEZONE:Asia/Tokyo\n")
	for _, e := range events {
		b.WriteString("BEGIN:VEVENT\n" + e + "\nEND:VEVENT\n")
	}
	b.WriteString("END:VCALENDAR\n")
	return strings.ReplaceAll(b.String(), "\n", "\r\n")
}

// daysIn lists the days of a calendar in the years 2026 and 2027.
func daysIn(c *daycal.Calendar) (list []string) {
	for d := daycal.NewDay(2025, time.December, 31); ; {
		next, ok := c.NextIn(d)
		if !ok || next.Time().Year() > 2027 {
			return list
		}
		list = append(list, next.String())
		d = next
	}
}

func TestCalendarFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want string // days, with a blank between
	}{
		"a day":                   {ics("DTSTART;VALUE=DATE:20260501\nSUMMARY:Labour Day"), "2026-05-01"},
		"an end that is not in":   {ics("DTSTART;VALUE=DATE:20260501\nDTEND;VALUE=DATE:20260503"), "2026-05-01 2026-05-02"},
		"an end that is the same": {ics("DTSTART;VALUE=DATE:20260501\nDTEND;VALUE=DATE:20260501"), "2026-05-01"},
		"a length":                {ics("DTSTART;VALUE=DATE:20260501\nDURATION:P3D"), "2026-05-01 2026-05-02 2026-05-03"},
		"a length of a week and hours": {ics("DTSTART:20260501T230000\nDURATION:P1DT2H"),
			"2026-05-01 2026-05-02 2026-05-03"},
		"times touch the days they are on":      {ics("DTSTART;TZID=Europe/Berlin:20260501T220000\nDTEND;TZID=Europe/Berlin:20260502T010000"), "2026-05-01 2026-05-02"},
		"an end at midnight is before that day": {ics("DTSTART:20260501T220000\nDTEND:20260502T000000"), "2026-05-01"},
		"UTC is looked at in the file's zone":   {ics("DTSTART:20260501T160000Z\nDTEND:20260501T170000Z"), "2026-05-02"},
		"a moment":                              {ics("DTSTART:20260501T120000"), "2026-05-01"},
		"before 1970 and a rule": {ics("DTSTART;VALUE=DATE:19490501\nRRULE:FREQ=YEARLY"),
			"2026-05-01 2027-05-01"},
		"a rule with exceptions and extras": {ics("DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=WEEKLY;COUNT=4\nEXDATE;VALUE=DATE:20260112,20260119\nRDATE;VALUE=DATE:20260601"),
			"2026-01-05 2026-01-26 2026-06-01"},
		"until in UTC, of an event in the morning": {ics("DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=DAILY;UNTIL=20260107T140000Z"),
			"2026-01-05 2026-01-06 2026-01-07"},
		"until in UTC, before that morning": {ics("DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=DAILY;UNTIL=20260107T135959Z"),
			"2026-01-05 2026-01-06"},
		"one of a series is moved": {ics("UID:a\nDTSTART;VALUE=DATE:20260105\nRRULE:FREQ=WEEKLY;COUNT=3",
			"UID:a\nRECURRENCE-ID;VALUE=DATE:20260112\nDTSTART;VALUE=DATE:20260113"), "2026-01-05 2026-01-13 2026-01-19"},
		"one of a series is cancelled": {ics("UID:a\nRECURRENCE-ID;VALUE=DATE:20260112\nDTSTART;VALUE=DATE:20260112\nSTATUS:CANCELLED",
			"UID:a\nDTSTART;VALUE=DATE:20260105\nRRULE:FREQ=WEEKLY;COUNT=3"), "2026-01-05 2026-01-19"},
		"a cancelled event":             {ics("DTSTART;VALUE=DATE:20260105\nSTATUS:CANCELLED", "DTSTART;VALUE=DATE:20260106"), "2026-01-06"},
		"folded lines, alarms, quotes":  {ics("DTSTA\n RT;X-NOTE=\"a;b:c\";VALUE=DATE:2026\n\t0501\nBEGIN:VALARM\nTRIGGER:-PT5M\nDTSTART:20270101T000000\nEND:VALARM"), "2026-05-01"},
		"time zones within are no days": {strings.Replace(ics("DTSTART;VALUE=DATE:20260501"), "BEGIN:VEVENT", "BEGIN:VTIMEZONE\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nRRULE:FREQ=YEARLY\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT", 1), "2026-05-01"},
		"a year of China's holidays": {`{"$schema":"x","year":2026,"papers":["y"],"days":[{"name":"元旦","date":"2026-01-01","isOffDay":true},{"name":"元旦","date":"2026-01-02","isOffDay":true},
			{"name":"元旦","date":"2026-01-04","isOffDay":false}]}`, "2026-01-01 2026-01-02 2026-01-03 2026-01-10"},
		"two years of them": {`[{"year":2027,"days":[{"date":"2027-01-01","isOffDay":true}]},{"year":2026,"days":[{"date":"2026-01-04","isOffDay":false}]}]`,
			"2026-01-03 2026-01-10 2026-01-11"},
	} {
		t.Run(name, func(t *testing.T) {
			got := daysIn(parse(t, c.file))
			want := strings.Fields(c.want)
			if strings.HasPrefix(c.file, "{") || strings.HasPrefix(c.file, "[") {
				got = got[:len(want)] // the weekends go on
			}
			if !slices.Equal(got, want) {
				t.Errorf("holds %v, want %v", got, want)
			}
			canonical, err := parse(t, c.file).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if again := daysIn(parse(t, string(canonical))); !slices.Equal(again[:len(got)], got) {
				t.Errorf("its JSON %s holds %v", canonical, again)
			}
		})
	}
}

func TestWrongCalendarsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "",
		`[]x`:                                 "not JSON",
		"VERSION:2.0\r\nPRODID:x\r\n":         "not an iCalendar file: it does not begin with BEGIN:VCALENDAR",
		`{"dates":"2026-01-01"}`:              "dates: not a list of texts",
		`{"dates":["2026-02-30"]}`:            `dates.0: "2026-02-30" is not a date that exists`,
		`{"dates":["2026-02-03/2026-02-01"]}`: "ends before it begins",
		`{"weekdays":["monday"]}`:             `weekdays.0: "monday" is not one of mon, tue`,
		`{"yearly":["12-25"]}`:                `yearly.0: "12-25" is not a date of every year, such as --12-25`,
		`{"yearly":["--02-30"]}`:              "yearly.0",
		`{"date":[]}`:                         "date: unknown member; accepted are dates, weekdays",
		`{"years":{"26":{}}}`:                 `years.26: "26" is not a year`,
		`{"years":{"2026":{"holiday":[]}}}`:   "years.2026.holiday: unknown member",
		`{"years":{"2026":{"holidays":["2024-01-01"]}}}`:                                                                               "2024-01-01 is not near the year 2026",
		`{"years":{"2026":{"holidays":["2026-01-01/2026-01-05"],"workdays":["2026-01-04"]}}}`:                                          "years.2026.workdays: 2026-01-04 is a holiday as well",
		`{"years":{"2026":{"workdays":["2025-12-28"]},"2025":{"holidays":["2025-12-27/2026-01-02"]}}}`:                                 "years.2026.workdays: 2025-12-28 is a holiday of the year 2025",
		`[{"year":2026,"days":[{"date":"2026-01-04","isOffDay":false}]},{"year":2026,"days":[{"date":"2026-01-04","isOffDay":true}]}]`: "2026-01-04 is a holiday as well",
		`{"rules":[{"rule":"FREQ=YEARLY"}]}`:                                                                                           "rules.0.from: missing",
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=HOURLY"}]}`:                                                                       "a calendar is of days",
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}]}`:                                               "never comes",
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}]}`:                                                "never comes",
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY;INTERVAL=0"}]}`:                                                            "INTERVAL from 1 to 1000",
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY;INTERVAL=9223372036854775807"}]}`:                                          "INTERVAL from 1 to 1000",
		`{"rules":[{"from":"2026-01-01","rule":"BYMONTH=1"}]}`:                                                                         "",
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY","days":400}]}`:                                                            "rules.0.days: out of range (1-366)",
		`{"union":[{"union":[{"union":[{"union":[{"union":[{"union":[{"union":[{"union":[{}]}]}]}]}]}]}]}]}`:                           "nested more than 8 deep",
		`{"without":{"dates":["x"]}}`:                                                                                                  "without.dates.0",
		`[{"year":2026}]`:                                                                                                              "not an object with the members year and days",
		`{"year":2026,"days":[{"date":"2026-01-01"}]}`:                                                                                 "days.0.isOffDay: missing",
		ics():                                                                   "has no event",
		ics("SUMMARY:x"):                                                        "has no DTSTART",
		ics("DTSTART:2026-05-01"):                                               `line 5: DTSTART: "2026-05-01" is not a date that exists, such as 20261225`,
		ics("DTSTART:20260501\nDTEND:20260401"):                                 "ends before it begins",
		ics("DTSTART:20260501\nDTEND:20290401"):                                 "366 are the most",
		ics("DTSTART:20260501\nRRULE:FREQ=SECONDLY"):                            "line 4: RRULE",
		ics("DTSTART:20260501\nDURATION:3 days"):                                "DURATION",
		ics("DTSTART:20260501\nDURATION:P99999999W"):                            "DURATION",
		ics("SUMMARY:Moon\nDTSTART:20260501\nDURATION:P367D"):                   `event "Moon" of line 4: DURATION: "P367D" is longer than 366 days`,
		ics("SUMMARY:Moon\nDTSTART:20260501\nDURATION:P30501W"):                 `event "Moon" of line 4: DURATION: "P30501W" is longer than 366 days`,  // 72 hours more than 2^64 ns
		ics("SUMMARY:Moon\nDTSTART:20260501\nDURATION:P213504D"):                `event "Moon" of line 4: DURATION: "P213504D" is longer than 366 days`, // and of days
		ics("DTSTART:20260501\nDURATION:PT99999999999999999999S\nSUMMARY:Moon"): `event "Moon" of line 4: DURATION: "PT99999999999999999999S" is longer than 366 days`,
		ics("DTSTART:20260501\nDURATION:P366DT1S\nUID:moon"):                    `event "moon" of line 4: DURATION: "P366DT1S" is longer than 366 days`,
		ics("DTSTART:20260501\nDURATION:P99999WX"):                              `line 6: DURATION: "P99999WX" is not a length`,
		ics("SUMMARY:Moon\nDTSTART:20260501\nDURATION:P15000W15000W15000W"):     `event "Moon" of line 4: DURATION: `, // each of them fits, and the sum does not
		ics("DTSTART:20260501\nnonsense"):                                       "line 6: \"nonsense\" is not of the form NAME:value",
		"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260501\n":                     "BEGIN:VEVENT without its END",
		"BEGIN:VCALENDAR\nEND:VEVENT":                                           "END:VEVENT without its BEGIN",
		strings.Repeat(" ", 1<<20) + `{}`:                                       "a calendar of 1048578 bytes",
		`{"rules":[` + strings.Repeat(`{},`, 100) + `{}` + `]}`:                 "101 rules; 100 are the most",
	} {
		start := time.Now()
		c, err := daycal.Parse([]byte(text))
		if err == nil || !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, %v; want %q", text, c, err, want)
		}
		if took := time.Since(start); took > 10*time.Second { // a few milliseconds, but for the race detector
			t.Errorf("%.80q: refused after %v", text, took)
		}
	}
}

func TestAWrongDayIsToldOnceAndWhole(t *testing.T) {
	for text, want := range map[string]string{
		`{"dates":["2027/04/05"]}`:                             `dates.0: "2027/04/05" is not a date that exists, such as 2026-12-25; did you mean "2027-04-05"?`,
		`{"dates":["2027.4.5"]}`:                               `dates.0: "2027.4.5" is not a date that exists, such as 2026-12-25; did you mean "2027-04-05"?`,
		`{"dates":["5/4/2027"]}`:                               `dates.0: "5/4/2027" is not a date that exists, such as 2026-12-25, nor a range such as 2026-12-24/2027-01-01`,
		`{"dates":["2027-04-05/2027-04-31"]}`:                  `dates.0: "2027-04-05/2027-04-31": "2027-04-31" is not a date that exists, such as 2026-12-25`,
		`{"dates":["2027-02-03/2027-02-01"]}`:                  `dates.0: "2027-02-03/2027-02-01" ends before it begins`,
		`{"dates":[20270405]}`:                                 `dates.0: not a date such as "2026-12-25"`,
		`{"rules":[{"from":"2027/4/5","rule":"FREQ=YEARLY"}]}`: `rules.0.from: "2027/4/5" is not a date that exists, such as 2026-12-25; did you mean "2027-04-05"?`,
		`{"weekdays":[6]}`:                                     `weekdays.0: not one of mon, tue, wed, thu, fri, sat, sun`,
		`{"weekdays":["satt"]}`:                                `weekdays.0: "satt" is not one of mon, tue, wed, thu, fri, sat, sun; did you mean "sat"?`,
		`{"weekdays":["Saturday"]}`:                            `weekdays.0: "Saturday" is not one of mon, tue, wed, thu, fri, sat, sun; did you mean "sat"?`,
		`{"weekdays":["tues"]}`:                                `weekdays.0: "tues" is not one of mon, tue, wed, thu, fri, sat, sun; did you mean "tue"?`,
		`{"weekdays":["wendesday"]}`:                           `weekdays.0: "wendesday" is not one of mon, tue, wed, thu, fri, sat, sun; did you mean "wed"?`,
		`{"weekdays":["x"]}`:                                   `weekdays.0: "x" is not one of mon, tue, wed, thu, fri, sat, sun`,
		`{"yearly":["12/25"]}`:                                 `yearly.0: "12/25" is not a date of every year, such as --12-25, nor a range such as --12-24/--12-26`,
		`{"yearly":["12-25"]}`:                                 `yearly.0: "12-25" is not a date of every year, such as --12-25; did you mean "--12-25"?`,
		`{"yearly":["2026-12-25"]}`:                            `yearly.0: "2026-12-25" is not a date of every year, such as --12-25; did you mean "--12-25"?`,
		`{"yearly":["--12-25/--12-32"]}`:                       `yearly.0: "--12-25/--12-32": "--12-32" is not a date of every year, such as --12-25`,
		`{"yearly":[1]}`:                                       `yearly.0: not a date of every year such as "--12-25"`,
	} {
		if _, err := daycal.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	many := `{"dates":[` + strings.Repeat("1,", 100_000) + `1]}`
	var invalid *ruqi.InvalidError
	if _, err := daycal.Parse([]byte(many)); !errors.As(err, &invalid) || len(invalid.Faults) > 101 {
		t.Errorf("of a list of numbers are told %d faults", len(invalid.Faults))
	}
}

func TestTheZeroCalendarIsEmpty(t *testing.T) {
	var c daycal.Calendar
	if _, ok := c.NextIn(0); ok || c.Contains(0) {
		t.Error("it holds a day")
	}
	if err := json.Unmarshal([]byte(`{"dates":["1970-01-01"]}`), &c); err != nil || !c.Contains(0) {
		t.Errorf("decoded into, it does not hold the day: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"dates":["1970-01-32"]}`), &c); !errors.Is(err, ruqi.ErrInvalid) || !c.Contains(0) {
		t.Errorf("a wrong date: %v", err)
	}
}

func TestCalendarsInWords(t *testing.T) {
	for text, want := range map[string][2]string{
		`{}`:                         {"no day", "没有日期"},
		`{"weekdays":["sun","sat"]}`: {"Saturdays and Sundays", "周六和周日"},
		`{"weekdays":["mon","tue","wed","thu","fri","sat","sun"],"without":{"yearly":["--12-25"]}}`: {
			"all days, but for 25 December of every year", "每天（每年12月25日除外）"},
		`{"yearly":["--12-30/--01-02","--05-01"],"dates":["2026-01-05/2026-01-07"]}`: {
			"1 May of every year, 30 December to 2 January of every year and 2026-01-05 to 2026-01-07",
			"每年5月1日、每年12月30日至1月2日和2026-01-05至2026-01-07"},
		`{"dates":["2026-01-01","2026-02-01","2026-03-01","2026-04-01","2026-05-01/2026-05-03"]}`: {
			"5 dates and ranges from 2026-01-01 to 2026-05-03", "2026-01-01至2026-05-03之间的5个日期或时段"},
		`{"years":{"2025":{"holidays":["2025-01-01"]},"2026":{"workdays":["2026-01-04"]}}}`: {
			"Saturdays, Sundays and the holidays of 2025 to 2026 (none are known of other years), but for make-up working days",
			"周六、周日和2025至2026年（其他年份未收录）的节假日（调休上班日除外）"},
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY"}],"union":[{"dates":["2026-01-01"]}]}`: {
			"1 recurring event and 2026-01-01", "1个重复日程和2026-01-01"},
	} {
		c := parse(t, text)
		if en, zh := c.Describe(ruqi.English), c.Describe(ruqi.Chinese); en != want[0] || zh != want[1] {
			t.Errorf("%s: %q and %q, want %q", text, en, zh, want)
		}
	}
	first, last, ok := parse(t, `{"union":[{"years":{"2025":{},"2026":{}}},{"years":{"2028":{}}}]}`).Years()
	if first != 2025 || last != 2028 || !ok {
		t.Errorf("years %d to %d %v, want 2025 to 2028", first, last, ok)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"dates":["2026-05-01","2026-12-24/2027-01-01"],"weekdays":["sat"],"yearly":["--07-04"],"without":{"dates":["2026-07-04"]}}`,
		`{"years":{"2026":{"holidays":["2026-01-01"],"workdays":["2026-01-04"]}},"rules":[{"from":"2026-01-01","days":2,"rule":"FREQ=YEARLY;BYDAY=4TH;BYMONTH=11"}]}`,
		`[{"year":2026,"days":[{"date":"2026-01-01","isOffDay":true}]}]`,
		`{"union":[{"weekdays":["mon"],"without":{"yearly":["--02-29"]}},{"dates":["0001-01-02/9999-12-30"]}],"rules":[{"from":"2026-01-01","days":9,"rule":"FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,TU;BYSETPOS=-1;WKST=SU"}]}`,
		`{"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY;BYWEEKNO=53,-1;BYDAY=SU"},{"from":"2026-01-01","rule":"FREQ=MONTHLY;BYDAY=-6MO,5TU;COUNT=9"},{"from":"9999-12-30","rule":"FREQ=DAILY"}]}`,
		ics("UID:a\nDTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;INTERVAL=2;COUNT=5", "UID:a\nRECURRENCE-ID:20260107T090000Z\nDTSTART:20260108T090000Z\nRDATE:20260401T000000Z\nSTATUS:TENTATIVE"),
		ics("DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20300101T000000Z\nEXDATE:20260130T090000"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := daycal.Parse(data)
		if err != nil {
			if !errors.Is(err, ruqi.ErrInvalid) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		text, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := daycal.Parse(text)
		if err != nil {
			t.Fatalf("%q gave %s: %v", data, text, err)
		}
		second, err := again.MarshalJSON()
		if err != nil || string(second) != string(text) {
			t.Fatalf("%s became %s %v", text, second, err)
		}
		sameDays(t, string(text), c, again)
		for _, in := range []ruqi.Language{ruqi.English, ruqi.Chinese} {
			if words := c.Describe(in); len(words) > 5000 { // some ten items, of which each takes away some
				t.Fatalf("%.200s is described in %d bytes", text, len(words))
			}
		}
	})
}
