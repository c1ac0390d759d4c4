package trigger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestWordsHaveOneCanonicalForm(t *testing.T) {
	for _, c := range []struct{ text, kind, want string }{
		{"every 10 minutes", "interval", "every 10m"},
		{"EVERY Hour", "interval", "every 1h"},
		{"every 60 minutes", "interval", "every 1h"},
		{"every day", "interval", "every 1d"},
		{"every weeks", "interval", "every 7d"},
		{"90s", "interval", "every 1m30s"},
		{"5 seconds", "interval", "every 5s"},
		{"every 1 hour 30 minutes", "interval", "every 1h30m"},
		{"hours=1 minutes=30", "interval", "every 1h30m"},
		{"every 500ms", "interval", "every 500ms"},
		{"every 5 to 10 minutes", "every", "every 5 to 10 minutes"},
		{"every 300 TO 600 seconds", "every", "every 5 to 10 minutes"},
		{"every 7 to 14 days", "every", "every 1 to 2 weeks"},
		{"every day at 10:30", "every", "every day at 10:30"},
		{"every 1 day at 10:30:00", "every", "every day at 10:30"},
		{"day at 17:00, 09:00 and 17:00", "every", "every day at 09:00, 17:00"},
		{"every weekday", "every", "every weekday at 00:00"},
		{"every Mon, tue and WEDNESDAY and Thursdays,fri at 08:00:05", "every", "every weekday at 08:00:05"},
		{"sunday and monday at 13:15", "every", "every monday, sunday at 13:15"},
		{"every weekday, saturday and sunday at 10:00", "every", "every day at 10:00"},
		{"every 3 days at 09:00", "every", "every 3 days at 09:00"},
		{"every 14 days at 09:00", "every", "every 2 weeks at 09:00"},
		{"every week at 09:00", "every", "every week at 09:00"},
		{"every minute at :05", "every", "every minute at :05"},
		{"every hour at :05", "every", "every hour at :05"},
		{"every hour at :05:00", "every", "every hour at :05"},
		{"every hour at :05:07", "every", "every hour at :05:07"},
		{"in 5 minutes", "every", "in 5 minutes"},
		{"in 1h30m", "every", "in 90 minutes"},
		{"in 1 day", "every", "in 1 day"},
		{"in 1.5s", "every", "in 1s500ms"},
		{"at 2026-12-01", "date", "2026-12-01T00:00:00"},
		{"at 2026-12-01 09:30", "date", "2026-12-01T09:30:00"},
		{"at 2026-12-01T09:30:00.5+02:00", "date", "2026-12-01T07:30:00.5Z"},
		{"every monday at 13:15 until 2030-01-01", "every", "every monday at 13:15 until 2030-01-01"},
		{"every monday at 13:15 until 2030-01-01 10:00", "every", "every monday at 13:15 until 2030-01-01T10:00:00"},
		{"every 5 to 10 minutes until 2030-01-01", "every", "every 5 to 10 minutes until 2030-01-01T00:00:00"},
	} {
		trig, err := trigger.Parse("every", c.text, trigger.ParseOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := trig.(interface{ String() string }).String(); got != c.want || trig.Kind() != c.kind {
			t.Errorf("%q: got %s %q, want %s %q", c.text, trig.Kind(), got, c.kind, c.want)
		}
		if c.kind != "every" {
			continue
		}
		again, err := trigger.Parse("every", c.want, trigger.ParseOptions{})
		if err != nil || encoded(t, again) != encoded(t, trig) {
			t.Errorf("%q is read back as %v %v", c.want, again, err)
		}
	}
}

func encoded(t *testing.T, trig ruqi.Trigger) string {
	t.Helper()
	text, err := trig.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWrongWordsAreRefusedWithTheirColumn(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "too early (accepted: every …, in 5 minutes, at 2030-06-01 09:30, now), at column 1"},
		{"evry day", `"evry" is not understood here (accepted: every …, in 5 minutes, at 2030-06-01 09:30, now); write every, at column 1`},
		{"every", "the text ends too early (accepted: a number, second, minute, hour, day, week, month, year, weekday, monday … sunday), at column 6"},
		{"every mondy at 10:00", "; write monday, at column 7"},
		{"every  wendesday", "; write wednesday, at column 8"},
		{"every 5 minuts", "; write minutes, at column 9"},
		{"every fortnight", `"fortnight" is not understood here (accepted: a number, second, minute, hour, day, week, month, year, weekday, monday … sunday); write 2 weeks, at column 7`},
		{"every monday at 25:00", `"25:00" is not understood here (accepted: HH:MM or HH:MM:SS, such as 13:15, or 9am), at column 17`},
		{"every monday at 9", `(accepted: HH:MM or HH:MM:SS, such as 13:15, or 9am); write 09:00, at column 17`},
		{"every day at 10:00,", "at column 20"},
		{"every monday and at 10:00", `"at" is not understood here (accepted: weekday, monday … sunday), at column 18`},
		{"every monday at 10:00 utnil 2026-01-01", "; write until, at column 23"},
		{"every 0 minutes", "more than zero, at column 7"},
		{"every 5 to 5 minutes", "5 is not more than 5, at column 12"},
		{"every 5 to 3 minutes", "3 is not more than 5, at column 12"},
		{"every 2 mondays", "weekdays are not counted; write 2 weeks on monday, at column"},
		{"every 10 minutes at :05", `"every 10 minutes" counts elapsed time and has no time of day`},
		{"every 5 to 10 minutes at 10:00", "a random interval has no time of day, at column 23"},
		{"every minute at :60", `":60" is not understood here (accepted: :SS, such as :30), at column 17`},
		{"every hour at 15", "(accepted: :MM or :MM:SS, such as :15); write :15, at column 15"},
		{"every hour at :59:60", "at column 15"},
		{"every 99999999999999999999 days", "292 years are the most, at column 7"},
		{"every 99999999 weeks", "292 years are the most"},
		{"every 290 weeks 99999999 weeks", "292 years are the most"},
		{"every 1 to 99999999 weeks", "292 years are the most, at column 12"},
		{"every day at 10:00 until", "there is no date, at column 25"},
		{"every day at 10:00 until 2026-02-30", `"2026-02-30" is not a date that exists`},
		{"every day at 10:00 until tomorrow", "at column 26"},
		{"in", "a length of time such as 5 minutes"},
		{"in 5", "(accepted: second, minute, hour, day, week, also in the plural), at column 5"},
		{"in 0 minutes", "more than zero"},
		{"at noon", `"noon" is not a date that exists`},
		{"at 2026-12-01 09:30 sharp", "(accepted: nothing more), at column 21"},
		{"now until 2026-01-01", "what fires once has no end, at column 5"},
		{"every day at 10:00 " + strings.Repeat("x", 1024), "the text has 1043 bytes, the most are 1024"},
		{"every \x00", "is not understood"},
		{"every ½ hour", "is not understood"},
		{"now", "depends on the moment it is asked"},
	} {
		var err error
		fastest := time.Hour
		for range 10 {
			start := time.Now()
			_, err = trigger.Parse("every", c.text, trigger.ParseOptions{})
			fastest = min(fastest, time.Since(start))
		}
		if fastest > 20*time.Millisecond { // 1 ms, with room for a loaded machine
			t.Errorf("%q: refusing took %v", c.text, fastest)
		}
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || invalid.Faults[0].Pointer != "/text" || !strings.HasPrefix(invalid.Faults[0].Message, "every: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.says)
		}
	}
}

func TestOptionsThatWordsDoNotHaveAreRefused(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		o          trigger.ParseOptions
		pointer    string
	}{
		{"every", "every 5 to 10 minutes", trigger.ParseOptions{Gap: "skip"}, "/gap"},
		{"every", "every 5 minutes", trigger.ParseOptions{Fold: "both"}, "/fold"},
		{"every", "every day at 10:00", trigger.ParseOptions{Fold: "never"}, "/fold"},
		{"every", "every day at 10:00", trigger.ParseOptions{Gap: "never"}, "/gap"},
		{"every", "every day at 10:00", trigger.ParseOptions{Dialect: "quartz"}, "/dialect"},
		{"every", "every day at 10:00 until 2027-01-01", trigger.ParseOptions{End: "2027-01-01"}, "/end"},
		{"every", "in 5 minutes", trigger.ParseOptions{End: "2027-01-01"}, "/end"},
		{"every", "at 2026-12-01", trigger.ParseOptions{Start: "2027-01-01"}, "/start"},
		{"every", "every day at 10:00", trigger.ParseOptions{Start: "2027-01-02", End: "2027-01-01"}, "/end"},
		{"every", "every day at 10:00", trigger.ParseOptions{Zone: "Local"}, "/zone"},
		{"every", "at 2026-03-29 02:30", trigger.ParseOptions{Zone: "Europe/Berlin"}, "/text"},
		{"calendar", "days=1", trigger.ParseOptions{Dialect: "quartz"}, "/dialect"},
		{"calendar", "days=1 start_date=2026-01-01", trigger.ParseOptions{Start: "2026-01-01"}, "/start"},
		{"calendar", "days=1 start_date=2026-03-29T02:30", trigger.ParseOptions{Zone: "Europe/Berlin"}, "/start"},
		{"calendar", "dasy=1", trigger.ParseOptions{}, "/days"},
		{"calendar", "days=1 gap=skip", trigger.ParseOptions{}, "/days"},
		{"calendar", "days=1 days=2", trigger.ParseOptions{}, "/days"},
		{"calendar", "days=x", trigger.ParseOptions{}, "/days"},
		{"calendar", "days=-1", trigger.ParseOptions{}, "/days"},
		{"calendar", "days=1 hour=24", trigger.ParseOptions{}, "/hour"},
		{"calendar", "days=1 end_date=", trigger.ParseOptions{}, "/end"},
		{"calendar", "days=1 hour=" + strings.Repeat("0", 1024), trigger.ParseOptions{}, "/days"},
	} {
		_, err := trigger.Parse(c.kind, c.text, c.o)
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s %q %+v: got %v", c.kind, c.text, c.o, err)
			continue
		}
		if len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != c.pointer {
			t.Errorf("%s %q %+v: got %q: %v, want one fault at %s", c.kind, c.text, c.o, invalid.Faults[0].Pointer, err, c.pointer)
		}
	}
	if _, err := trigger.Parse("calendar", "dasy=1", trigger.ParseOptions{}); !strings.Contains(err.Error(), "dasy: unknown word") || !strings.Contains(err.Error(), "write days=") {
		t.Errorf("dasy: %v", err)
	}
}

// A bare date as end means all of that day where a time of day is named, and 00:00 where it is a length of time.
func TestABareDateAsEnd(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct{ kind, text, last, end string }{
		{"every", "every day at 18:00 until 2026-12-03", "2026-12-03T18:00:00+01:00", "2026-12-03T23:59:59.999999+01:00"},
		{"every", "every day at 18:00 until 2026-12-03 18:00", "2026-12-03T18:00:00+01:00", "2026-12-03T18:00:00+01:00"},
		{"every", "every day at 18:00 until 2026-12-03 17:59", "2026-12-02T18:00:00+01:00", "2026-12-03T17:59:00+01:00"},
		{"every", "every hour until 2026-12-03", "2026-12-03T00:00:00+01:00", "2026-12-03T00:00:00+01:00"},
		{"every", "every minute at :30 until 2026-12-03", "2026-12-03T23:59:30+01:00", "2026-12-03T23:59:59.999999+01:00"},
		{"every", "every day at 02:30 until 2026-10-25", "2026-10-25T02:30:00+02:00", "2026-10-25T23:59:59.999999+01:00"},
		{"calendar", "days=1 hour=18 end_date=2026-12-03", "2026-12-03T18:00:00+01:00", "2026-12-03T23:59:59.999999+01:00"},
		{"calendar", "days=1 hour=18 end_date='2026-12-03 17:00'", "2026-12-02T18:00:00+01:00", "2026-12-03T17:00:00+01:00"},
	} {
		trig, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		bound, err := trig.(ruqi.Binder).Bind(berlin, instant(t, "2026-10-19T22:00:00Z"), "")
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		last, ok := bound.(ruqi.Stepper).Prev(instant(t, "2030-01-01T00:00:00Z"))
		if !ok || last.Format(time.RFC3339Nano) != c.last {
			t.Errorf("%q: the last is %v %v, want %s", c.text, last, ok, c.last)
		}
		if end, ok := bound.(ruqi.Ender).EndTime(); !ok || end.Format(time.RFC3339Nano) != c.end {
			t.Errorf("%q: the end is %v %v, want %s", c.text, end, ok, c.end)
		}
		if next, ok := bound.Next(last); ok {
			t.Errorf("%q: after the last comes %v", c.text, next)
		}
	}
	// Days whose midnight the clock leaves out or shows twice, and one that never was.
	for _, c := range []struct {
		zone, day string
		fires     int64
	}{
		{"America/Sao_Paulo", "2018-11-04", 23}, {"America/Havana", "2026-11-01", 25}, {"America/Santiago", "2026-09-06", 23},
		{"Pacific/Apia", "2011-12-30", 0}, {"Pacific/Apia", "2011-12-29", 24}, {"America/Nuuk", "2024-03-30", 23}, {"UTC", "2026-01-01", 24},
		{"Europe/Berlin", "2026-03-29", 23}, {"America/Goose_Bay", "2010-11-06", 25},
	} {
		trig, err := trigger.Words("every hour at :30", trigger.EveryOptions{Zone: zone(t, c.zone), StartText: c.day, EndText: c.day})
		if c.fires == 0 {
			if err == nil && trig.Count(instant(t, "1970-01-01T00:00:00Z"), instant(t, "2100-01-01T00:00:00Z")) != 0 {
				t.Errorf("%s has no %s, but there are fire times", c.zone, c.day)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s on %s: %v", c.zone, c.day, err)
			continue
		}
		n := trig.Count(instant(t, "1970-01-01T00:00:00Z"), instant(t, "2100-01-01T00:00:00Z"))
		if n != c.fires {
			t.Errorf("%s on %s: %d fire times, want %d", c.zone, c.day, n, c.fires)
		}
	}
}

func TestCalendarsAndWordsAreEncodedByteForByte(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	anchor := instant(t, "2026-03-01T09:00:00.000001999Z")
	for _, c := range []struct{ given, want string }{
		{`{"kind":"calendar","months":1,"hour":9}`,
			`{"kind":"calendar","years":0,"months":1,"weeks":0,"days":0,"hour":9,"minute":0,"second":0,"anchor":"2026-03-01T10:00:00.000001+01:00","zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null}`},
		{`{"kind":"calendar","days":2,"second":5,"start":"2026-03-28","end":"2026-10-25 02:30","gap":"skip","fold":"second","zone":"America/New_York"}`,
			`{"kind":"calendar","years":0,"months":0,"weeks":0,"days":2,"hour":0,"minute":0,"second":5,"anchor":null,"zone":"America/New_York","gap":"skip","fold":"second","start":"2026-03-28","end":"2026-10-25T02:30:00-04:00"}`},
		{`{"kind":"every","text":"EVERY mon at 13:15 until 2030-01-01"}`,
			`{"kind":"every","text":"every monday at 13:15","anchor":null,"seed":null,"zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":"2030-01-01"}`},
		{`{"kind":"every","text":"every 5 to 10 minutes","end":"2030-01-01"}`,
			`{"kind":"every","text":"every 5 to 10 minutes","anchor":"2026-03-01T10:00:00.000001+01:00","seed":"the job","zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":"2030-01-01T00:00:00+01:00"}`},
		{`{"kind":"every","text":"every 5 to 10 minutes","seed":"","start":"2026-03-01","zone":"UTC"}`,
			`{"kind":"every","text":"every 5 to 10 minutes","anchor":null,"seed":"","zone":"UTC","gap":"run_after","fold":"auto","start":"2026-03-01T00:00:00Z","end":null}`},
		{`{"kind":"every","text":"every monday at 13:15","anchor":"2020-01-01T00:00:00Z","seed":"of the words before"}`,
			`{"kind":"every","text":"every monday at 13:15","anchor":null,"seed":null,"zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null}`},
		{`{"kind":"every","text":"every 3 days at 09:00"}`,
			`{"kind":"every","text":"every 3 days at 09:00","anchor":"2026-03-01T10:00:00.000001+01:00","seed":null,"zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null}`},
		{`{"kind":"every","text":"in 5 minutes"}`,
			`{"kind":"every","text":"in 5 minutes","anchor":"2026-03-01T10:00:00.000001+01:00","seed":null,"zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null}`},
		{`{"kind":"every","text":"every 10 minutes","end":"2026-03-02"}`,
			`{"kind":"interval","every":"10m","anchor":"2026-03-01T10:00:00.000001+01:00","zone":"Europe/Berlin","start":null,"end":"2026-03-02T00:00:00+01:00"}`},
		{`{"kind":"every","text":"at 2026-10-25 02:30"}`,
			`{"kind":"date","at":"2026-10-25T02:30:00+02:00","zone":"Europe/Berlin"}`},
	} {
		trig, err := decode([]byte(c.given))
		if err != nil {
			t.Errorf("%s: %v", c.given, err)
			continue
		}
		bound, err := trig.(ruqi.Binder).Bind(berlin, anchor, "the job")
		if err != nil {
			t.Errorf("%s: %v", c.given, err)
			continue
		}
		if got := encoded(t, bound); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.given, got, c.want)
		}
	}
	for _, c := range []struct {
		data string
		want []string
	}{
		{`{"kind":"calendar","years":"1","hour":24,"zone":"Local","gap":"no","end":"2026-13-01"}`, []string{"/zone", "/years", "/hour", "/gap", "/end"}},
		{`{"kind":"calendar","days":1.5,"weeks":99999999999}`, []string{"/weeks", "/days"}},
		{`{"kind":"calendar","hour":1}`, []string{"/days"}},
		{`{"kind":"calendar","days":1,"start":"2026-01-01","anchor":"2026-01-01T00:00:00Z"}`, []string{"/anchor"}},
		{`{"kind":"calendar","days":1,"anchor":"2026-01-01"}`, []string{"/anchor"}},
		{`{"kind":"every","text":"every mondy","zone":"Local","fold":"no"}`, []string{"/zone", "/text", "/fold"}},
		{`{"kind":"every"}`, []string{"/text"}},
		{`{"kind":"every","text":"every day at 10:00","start":"2026-01-02","end":"2026-01-01"}`, []string{"/end"}},
	} {
		_, err := decode([]byte(c.data))
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v", c.data, err)
			continue
		}
		got := map[string]bool{}
		for _, f := range invalid.Faults {
			got[f.Pointer] = true
		}
		for _, pointer := range c.want {
			if !got[pointer] {
				t.Errorf("%s: no fault at %s: %v", c.data, pointer, err)
			}
			delete(got, pointer)
		}
		if len(got) > 0 {
			t.Errorf("%s: faults at %v, too: %v", c.data, got, err)
		}
	}
}

func TestCalendarTextIsReadBack(t *testing.T) {
	for _, text := range []string{
		"days=1", "years=1 months=2 weeks=3 days=4 hour=5 minute=6 second=7", "months=1 hour=9 start_date=2026-01-31 end_date=2027-01-31",
		"weeks=2 start_date=2026-01-31T10:00:00Z end_date=2027-01-31T10:00:00.5Z",
	} {
		trig, err := trigger.Parse("calendar", text, trigger.ParseOptions{Zone: "UTC"})
		if err != nil {
			t.Fatal(err)
		}
		if got := trig.(*trigger.CalendarTrigger).String(); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

func TestTheBuilderSaysTheSameAsTheWords(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	end := instant(t, "2030-01-01T00:00:00Z")
	for _, c := range []struct {
		built *trigger.EveryTrigger
		text  string
		o     trigger.EveryOptions
	}{
		{trigger.Every(10).Minutes(), "every 10 minutes", trigger.EveryOptions{}},
		{trigger.Every(1).Second(), "every second", trigger.EveryOptions{}},
		{trigger.Every(90).Seconds(), "every 90 seconds", trigger.EveryOptions{}},
		{trigger.Every(1).Minute(), "every minute", trigger.EveryOptions{}},
		{trigger.Every(1).Hour(), "every hour", trigger.EveryOptions{}},
		{trigger.Every(6).Hours().Until("2030-01-01"), "every 6 hours until 2030-01-01", trigger.EveryOptions{}},
		{trigger.Every(1).Day(), "every day", trigger.EveryOptions{}},
		{trigger.Every(3).Days(), "every 3 days", trigger.EveryOptions{}},
		{trigger.Every(1).Week(), "every week", trigger.EveryOptions{}},
		{trigger.Every(2).Weeks(), "every 2 weeks", trigger.EveryOptions{}},
		{trigger.Every(5).To(10).Minutes(), "every 5 to 10 minutes", trigger.EveryOptions{}},
		{trigger.Every(1).To(2).Hours(), "every 1 to 2 hours", trigger.EveryOptions{}},
		{trigger.Every(1).Day().At("10:30"), "every day at 10:30", trigger.EveryOptions{}},
		{trigger.Every(1).Day().At("10:30", "17:00"), "every day at 10:30, 17:00", trigger.EveryOptions{}},
		{trigger.Every(1).Day().At("10:30").At("11:30"), "every day at 11:30", trigger.EveryOptions{}},
		{trigger.Every(3).Days().At("09:00"), "every 3 days at 09:00", trigger.EveryOptions{}},
		{trigger.Every(2).Weeks().At("09:00").From("2026-03-02"), "every 2 weeks at 09:00", trigger.EveryOptions{StartText: "2026-03-02"}},
		{trigger.Every(1).Minute().At(":30"), "every minute at :30", trigger.EveryOptions{}},
		{trigger.Every(1).Hour().At(":15"), "every hour at :15", trigger.EveryOptions{}},
		{trigger.Every(1).Weekday().At("09:00"), "every weekday at 09:00", trigger.EveryOptions{}},
		{trigger.Every(1).Monday(), "every monday", trigger.EveryOptions{}},
		{trigger.Every(1).Monday().At("13:15"), "every monday at 13:15", trigger.EveryOptions{}},
		{trigger.Every(1).Tuesday(), "every tuesday", trigger.EveryOptions{}},
		{trigger.Every(1).Wednesday(), "every wednesday", trigger.EveryOptions{}},
		{trigger.Every(1).Thursday(), "every thursday", trigger.EveryOptions{}},
		{trigger.Every(1).Friday(), "every friday", trigger.EveryOptions{}},
		{trigger.Every(1).Saturday(), "every saturday", trigger.EveryOptions{}},
		{trigger.Every(1).Sunday(), "every sunday", trigger.EveryOptions{}},
		{trigger.Every(1).On(time.Friday, time.Monday).At("13:15"), "every monday, friday at 13:15", trigger.EveryOptions{}},
		{trigger.Every(1).Monday().At("13:15").Until("2030-01-01").In(berlin), "every monday at 13:15 until 2030-01-01", trigger.EveryOptions{Zone: berlin}},
		{trigger.Every(1).Monday().In(berlin).Until("2030-01-01 10:00").At("13:15"), "every monday at 13:15 until 2030-01-01 10:00", trigger.EveryOptions{Zone: berlin}},
		{trigger.Every(1).Monday().UntilTime(end), "every monday", trigger.EveryOptions{End: &end}},
		{trigger.Every(1).Day().At("02:30").OnClockChange(trigger.GapSkip, trigger.FoldBoth), "every day at 02:30", trigger.EveryOptions{Gap: trigger.GapSkip, Fold: trigger.FoldBoth}},
	} {
		want, err := trigger.Words(c.text, c.o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.built.MarshalJSON()
		if err != nil || string(got) != encoded(t, want) {
			t.Errorf("%s:\n got %s %v\nwant %s", c.text, got, err, encoded(t, want))
		}
	}
	for says, built := range map[string]*trigger.EveryTrigger{
		`"-1" is not understood here`:       trigger.Every(-1).Minutes(),
		"the length must be more than zero": trigger.Every(0).Minutes(),
		"weekdays are not counted":          trigger.Every(2).Monday().At("13:15"),
		"3 is not more than 5":              trigger.Every(5).To(3).Minutes(),
		`"25:00" is not understood here`:    trigger.Every(1).Day().At("25:00").Until("2030-01-01").In(berlin),
		"has no time of day":                trigger.Every(10).Minutes().At("10:00"),
		"no weekday is given":               trigger.Every(1).On(),
		"there is no weekday of number 7":   trigger.Every(1).On(7),
		"is not a date that exists":         trigger.Every(1).Day().Until("someday").At("10:00"),
		"these words name none":             trigger.Every(1).Day().OnClockChange(trigger.GapSkip, ""),
		"the time of day is not one":        trigger.Every(1).Day().At("10:00 until 2030-01-01"),
	} {
		_, err := built.Bind(berlin, end, "")
		if !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", says, err)
		}
		if _, err := json.Marshal(built); err == nil {
			t.Errorf("%s: what is wrong has an encoding", says)
		}
		if at, ok := built.Next(end); ok {
			t.Errorf("%s: what is wrong fires at %v", says, at)
		}
	}
}

func TestNextOfCalendarsAndWordsDoesNotAllocate(t *testing.T) {
	from := instant(t, "2026-03-01T12:00:00Z")
	for _, c := range lawful {
		trig, err := trigger.Parse(c.kind, c.text, c.o)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := trig.(ruqi.Binder).Bind(zone(t, "Europe/Berlin"), from, "job")
		if err != nil {
			t.Fatal(err)
		}
		at := from
		for range 100 {
			at, _ = bound.Next(at) // marks, and the zone's spans
		}
		at = from
		n := testing.AllocsPerRun(50, func() {
			if next, ok := bound.Next(at); ok {
				at = next
			}
		})
		if n != 0 {
			t.Errorf("%s %q: %v allocations", c.kind, c.text, n)
		}
	}
}

// What an interval can say is the same trigger, whichever way it was said.
func TestALengthInWordsIsAnInterval(t *testing.T) {
	for _, o := range []trigger.ParseOptions{
		{}, {Zone: "America/New_York"}, {Start: "2026-03-01"}, {Start: "2026-03-01 10:00", End: "2027-01-01", Zone: "Europe/Berlin"},
		{End: "2027-01-01T00:00:00Z"}, {Start: "2026-03-01T00:00:00Z", End: "2027-01-01 12:00"}, {Start: "2026-03-29 02:30"},
	} {
		words, err := trigger.Parse("every", "every 90 minutes", o)
		if err != nil {
			t.Fatal(err)
		}
		interval, err := trigger.Parse("interval", "90 minutes", o)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := encoded(t, words), encoded(t, interval); a != b {
			t.Errorf("%+v:\n%s\n%s", o, a, b)
		}
		built, err := trigger.Words("every 90 minutes", trigger.EveryOptions{StartText: o.Start, EndText: o.End})
		if err != nil {
			t.Fatal(err)
		}
		loc := zone(t, "Europe/Berlin")
		if o.Zone != "" {
			loc = zone(t, o.Zone)
		}
		want, fault := interval.(ruqi.Binder).Bind(loc, instant(t, "2026-02-01T00:00:00Z"), "")
		for _, trig := range []ruqi.Binder{words.(ruqi.Binder), built} {
			got, err := trig.Bind(loc, instant(t, "2026-02-01T00:00:00Z"), "")
			if (err == nil) != (fault == nil) || err != nil && err.Error() != fault.Error() {
				t.Errorf("%+v: %v, and the interval %v", o, err, fault)
			} else if err == nil && encoded(t, got) != encoded(t, want) {
				t.Errorf("%+v:\n%s\n%s", o, encoded(t, got), encoded(t, want))
			}
		}
	}
}
