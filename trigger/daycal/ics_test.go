package daycal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// calendarOf is an iCalendar file of some lines, without a zone.
func calendarOf(lines string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + strings.ReplaceAll(lines, "\n", "\r\n") + "\r\nEND:VCALENDAR\r\n"
}

func eventOf(lines string) string { return "BEGIN:VEVENT\n" + lines + "\nEND:VEVENT" }

func TestFormsOfCalendarFiles(t *testing.T) {
	plain := calendarOf(eventOf("DTSTART;VALUE=DATE:20260501\nDTEND;VALUE=DATE:20260503"))
	for name, file := range map[string]string{
		"CRLF": plain, "LF": strings.ReplaceAll(plain, "\r\n", "\n"), "a mark of the byte order": "\ufeff" + plain, "blank lines": "\r\n\r\n" + strings.ReplaceAll(plain, "\r\n", "\r\n\r\n"),
		"no last line end": strings.TrimRight(plain, "\r\n"), "small letters": strings.ToLower(plain), "folded with a blank": strings.ReplaceAll(plain, "2026", "20\r\n 26"),
		"folded with a tab": strings.ReplaceAll(plain, "2026", "20\n\t26"), "folded in a name": strings.ReplaceAll(plain, "DTEND", "DT\r\n EN\r\n D"),
		"folded within a character": strings.Replace(plain, "DTSTART", "SUMMARY:\xe5\xbf\r\n \x83\r\nDTSTART", 1),
		"an empty fold":             strings.Replace(plain, "VALUE", "\r\n VALUE", 1),
		"two calendars in a file":   plain + calendarOf(eventOf("DTSTART:20260502")),
		"what is no event": calendarOf("BEGIN:VTODO\nDTSTART:20260707\nEND:VTODO\nBEGIN:VFREEBUSY\nDTSTART:20260708T000000Z\nEND:VFREEBUSY\nBEGIN:VJOURNAL\nDTSTART:20260709\nEND:VJOURNAL\n" +
			eventOf("DTSTART:20260501\nDURATION:P2D")),
		"days that show as free": calendarOf(eventOf("DTSTART:20260501\nDTEND:20260503\nTRANSP:TRANSPARENT\nX-MICROSOFT-CDO-BUSYSTATUS:FREE")),
		"tentative":              calendarOf(eventOf("DTSTART:20260501\nDTEND:20260503\nSTATUS:TENTATIVE")),
		"a length in weeks":      calendarOf(eventOf("DTSTART:20260501\nDURATION:P0W\nRDATE:20260502")),
		"a length with a sign":   calendarOf(eventOf("DTSTART:20260501\nDURATION:+PT36H")),
	} {
		c, err := daycal.Parse([]byte(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(daysIn(c), " "); got != "2026-05-01 2026-05-02" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestTimesInCalendarFiles holds that an event's days are those of the wall clock of the zone in which it begins.
func TestTimesInCalendarFiles(t *testing.T) {
	tokyo, newYork := "X-WR-TIMEZONE:Asia/Tokyo\n", "DTSTART;TZID=America/New_York:20260105T200000\n"
	romance := "BEGIN:VTIMEZONE\nTZID:Romance Standard Time\nBEGIN:DAYLIGHT\nDTSTART:16010101T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT\n" +
		"BEGIN:STANDARD\nDTSTART:16010101T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\nEND:VTIMEZONE\n"
	for name, c := range map[string]struct{ lines, want string }{
		"UTC without a zone":                   {eventOf("DTSTART:20260501T233000Z\nDTEND:20260502T003000Z"), "2026-05-01 2026-05-02"},
		"UTC in the file's zone":               {tokyo + eventOf("DTSTART:20260501T233000Z\nDTEND:20260502T003000Z"), "2026-05-02"},
		"no zone at all":                       {tokyo + eventOf("DTSTART:20260501T233000\nDTEND:20260502T003000"), "2026-05-01 2026-05-02"},
		"an end in UTC":                        {eventOf(newYork + "DTEND:20260106T020000Z"), "2026-01-05"},
		"an end in UTC, written first":         {eventOf("DTEND:20260106T060000Z\n" + strings.TrimSpace(newYork)), "2026-01-05 2026-01-06"},
		"an end in another zone":               {eventOf("DTSTART;TZID=Asia/Tokyo:20260105T170000\nDTEND;TZID=America/Los_Angeles:20260105T100000"), "2026-01-05 2026-01-06"},
		"an end before the begin by the clock": {eventOf("DTSTART;TZID=Asia/Tokyo:20260105T170000\nDTEND;TZID=America/Los_Angeles:20260105T050000"), "2026-01-05"},
		"EXDATE in UTC":                        {eventOf(newYork + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260107T010000Z"), "2026-01-05 2026-01-07"},
		"EXDATE in another zone":               {eventOf(newYork + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Asia/Tokyo:20260107T100000"), "2026-01-05 2026-01-07"},
		"RDATE in UTC":                         {eventOf(newYork + "RDATE:20260110T010000Z"), "2026-01-05 2026-01-09"},
		"RDATE as a period":                    {eventOf(newYork + "RDATE;VALUE=PERIOD:20260110T010000Z/PT1H"), "2026-01-05 2026-01-09"},
		"RDATE that is taken away":             {eventOf("DTSTART:20260105\nRDATE:20260110,20260111\nEXDATE:20260110\nEXDATE:20260105"), "2026-01-11"},
		"RECURRENCE-ID in UTC": {eventOf("UID:a\n"+newYork+"RRULE:FREQ=DAILY;COUNT=3") + "\n" + eventOf("UID:a\nRECURRENCE-ID:20260107T010000Z\nDTSTART;TZID=America/New_York:20260120T200000"),
			"2026-01-05 2026-01-07 2026-01-20"},
		"RECURRENCE-ID of an extra day": {eventOf("UID:a\nDTSTART:20260105\nRDATE:20260110") + "\n" + eventOf("UID:a\nRECURRENCE-ID:20260110\nDTSTART:20260112"), "2026-01-05 2026-01-12"},
		"an event without UID is no other's": {eventOf("DTSTART:20260105\nRRULE:FREQ=DAILY;COUNT=2") + "\n" + eventOf("RECURRENCE-ID:20260106\nDTSTART:20260120"),
			"2026-01-05 2026-01-06 2026-01-20"},
		"a series that is cancelled but for one": {eventOf("UID:a\nDTSTART:20260105\nRRULE:FREQ=DAILY;COUNT=3\nSTATUS:CANCELLED") + "\n" + eventOf("UID:a\nRECURRENCE-ID:20260106\nDTSTART:20260106"), "2026-01-06"},
		"UNTIL of days, with a time":             {"X-WR-TIMEZONE:America/New_York\n" + eventOf("DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY;UNTIL=20260107T000000Z"), "2026-01-05 2026-01-06 2026-01-07"},
		"UNTIL as a date, of a time":             {eventOf(newYork + "RRULE:FREQ=DAILY;UNTIL=20260106"), "2026-01-05 2026-01-06"},
		"UNTIL on the clock, without UTC":        {eventOf(newYork + "RRULE:FREQ=DAILY;UNTIL=20260107T195959"), "2026-01-05 2026-01-06"},
		"UNTIL on the next day in UTC":           {eventOf(newYork + "RRULE:FREQ=DAILY;UNTIL=20260107T010000Z"), "2026-01-05 2026-01-06"},
		"two rules":                              {eventOf("DTSTART:20260105\nRRULE:FREQ=DAILY;COUNT=2\nRRULE:FREQ=WEEKLY;COUNT=2;"), "2026-01-05 2026-01-06 2026-01-12"},
		"a rule of nights":                       {eventOf(newYork + "DURATION:PT10H\nRRULE:FREQ=WEEKLY;COUNT=2"), "2026-01-05 2026-01-06 2026-01-12 2026-01-13"},
		"COUNT counts what is taken away":        {eventOf("DTSTART:20260105\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260106"), "2026-01-05 2026-01-07"},
		"the last working day of a month":        {eventOf("DTSTART:20260130\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=3"), "2026-01-30 2026-02-27 2026-03-31"},
		"a zone with a prefix":                   {eventOf("DTSTART;TZID=/citadel.org/20210210_1/America/New_York:20260105T200000\nDTEND:20260106T020000Z"), "2026-01-05"},
		"a zone in quotes":                       {eventOf("DTSTART;TZID=\"America/New_York\":20260105T200000\nDTEND:20260106T020000Z"), "2026-01-05"},
		"a zone that the file explains": {"BEGIN:VTIMEZONE\nTZID:Eastern (odd)\nX-LIC-LOCATION:America/New_York\nEND:VTIMEZONE\n" +
			eventOf("DTSTART;TZID=Eastern (odd):20260105T200000\nDTEND:20260106T020000Z"), "2026-01-05"},
		"a zone that the file explains at its end": {eventOf("DTSTART;TZID=Eastern:20260105T200000\nDTEND:20260106T020000Z") +
			"\nBEGIN:VTIMEZONE\nTZID:Eastern\nX-LIC-LOCATION:America/New_York\nEND:VTIMEZONE", "2026-01-05"},
		"UNTIL in a zone that only the file knows, in summer": {romance + eventOf("DTSTART;TZID=Romance Standard Time:20260706T090000\nRRULE:FREQ=DAILY;UNTIL=20260708T070000Z"),
			"2026-07-06 2026-07-07 2026-07-08"},
		"UNTIL in a zone that only the file knows, in winter": {romance + eventOf("DTSTART;TZID=Romance Standard Time:20260105T003000\nRRULE:FREQ=DAILY;UNTIL=20260106T233000Z"),
			"2026-01-05 2026-01-06 2026-01-07"},
		"an end in UTC, in such a zone":    {romance + eventOf("DTSTART;TZID=Romance Standard Time:20260105T220000\nDTEND:20260105T233000Z"), "2026-01-05 2026-01-06"},
		"a zone of which nothing is known": {eventOf("DTSTART;TZID=Romance Standard Time:20260105T233000\nDTEND;TZID=Romance Standard Time:20260106T003000"), "2026-01-05 2026-01-06"},
		"the zones of two calendars":       {tokyo + eventOf("DTSTART:20260501T233000Z") + "\nEND:VCALENDAR\nBEGIN:VCALENDAR\n" + eventOf("DTSTART:20260511T233000Z"), "2026-05-02 2026-05-11"},
	} {
		got, err := daycal.Parse([]byte(calendarOf(c.lines)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if days := strings.Join(daysIn(got), " "); days != c.want {
			t.Errorf("%s: %s, want %s", name, days, c.want)
		}
	}
}

// TestEventsAgreeWithTheirDays compares files of many events with the days written out, event by event.
func TestEventsAgreeWithTheirDays(t *testing.T) {
	var lines, want []string
	for i := range 700 { // each a day in which the one before ends
		from := daycal.NewDay(2026, 1, 1) + daycal.Day(i)
		stamp := func(d daycal.Day) string { return d.Time().Format("20060102") }
		switch i % 7 {
		case 0:
			lines = append(lines, eventOf(fmt.Sprintf("UID:%d\nDTSTART;VALUE=DATE:%s\nDTEND;VALUE=DATE:%s", i, stamp(from), stamp(from+2))))
			want = append(want, from.String(), (from + 1).String())
		case 2:
			lines = append(lines, eventOf(fmt.Sprintf("UID:%d\nDTSTART;TZID=Europe/Berlin:%sT090000\nDURATION:PT8H\nEXDATE;TZID=Europe/Berlin:%sT090000\nRDATE;TZID=Europe/Berlin:%sT090000", i, stamp(from), stamp(from), stamp(from+1))))
			want = append(want, (from + 1).String())
		case 4:
			lines = append(lines, eventOf(fmt.Sprintf("UID:%d\nSTATUS:CANCELLED\nDTSTART:%s", i, stamp(from))))
		case 5:
			lines = append(lines, eventOf(fmt.Sprintf("UID:%d\nDTSTART:%s\nRRULE:FREQ=DAILY;COUNT=1", i, stamp(from))))
			want = append(want, from.String())
			if i >= 600 { // a hundred rules are the most
				lines = lines[:len(lines)-1]
				want = want[:len(want)-1]
			}
		}
	}
	if got := daysIn(parse(t, calendarOf(strings.Join(lines, "\n")))); !slices.Equal(got, want) {
		t.Errorf("%d days, want %d", len(got), len(want))
	}
}

func TestHugeCalendarFiles(t *testing.T) {
	long := strings.Repeat("x", 900_000)
	for name, c := range map[string]struct{ file, want string }{
		"a long line":          {calendarOf("X-NOTE:" + long + "\n" + eventOf("DTSTART:20260501")), ""},
		"a line of many folds": {calendarOf("X-NOTE:" + strings.Repeat("x\n ", 200_000) + "\n" + eventOf("DTSTART:20260501")), ""},
		"many lines":           {calendarOf(strings.Repeat("X:\n", 200_000) + eventOf("DTSTART:20260501")), ""},
		"many parameters":      {calendarOf(eventOf("DTSTART" + strings.Repeat(";A=B", 200_000) + ":20260501")), ""},
		"many that begin":      {"BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:A\n", 100_000), "BEGIN:A without its END"},
		"too many events":      {calendarOf(strings.Repeat("BEGIN:VEVENT\nDTSTART:20260501\nEND:VEVENT\n", 23_000)), "more than 20000 events"},
		"too much":             {calendarOf(strings.Repeat(long, 2)), "1048576 are the most"},
		"no event":             {calendarOf("X-NOTE:x"), "has no event"},
	} {
		d, err := daycal.Parse([]byte(c.file))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %.200v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000):
			t.Errorf("%s: %.300v, want %s", name, err, c.want)
		case err == nil && strings.Join(daysIn(d), " ") != "2026-05-01":
			t.Errorf("%s: %v", name, daysIn(d))
		}
	}
}

func TestACountOfZeroIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"rules":[{"from":"2020-01-01","rule":"FREQ=DAILY;COUNT=0"}]}`,
		"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20200101\nRRULE:FREQ=DAILY;COUNT=0\nEND:VEVENT\nEND:VCALENDAR\n",
	} {
		if c, err := daycal.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "COUNT is more than zero") {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
}
