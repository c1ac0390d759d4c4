package trigger_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := trigger.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestWhatOthersGotWrong has cases from public reports about other schedulers.
func TestWhatOthersGotWrong(t *testing.T) {
	for _, c := range []struct {
		id, kind, text, zone, from string
		want                       []string
	}{
		{"CR01 a weekday number is crontab's", "cron", "0 10 * * 1", "Europe/Berlin", "2026-11-30T12:00:00+01:00",
			[]string{"2026-12-07T10:00:00+01:00", "2026-12-14T10:00:00+01:00", "2026-12-21T10:00:00+01:00", "2026-12-28T10:00:00+01:00", "2027-01-04T10:00:00+01:00"}},
		{"CR01 and its name is the same day", "cron", "0 10 * * mon", "Europe/Berlin", "2026-11-30T12:00:00+01:00",
			[]string{"2026-12-07T10:00:00+01:00", "2026-12-14T10:00:00+01:00", "2026-12-21T10:00:00+01:00", "2026-12-28T10:00:00+01:00", "2027-01-04T10:00:00+01:00"}},
		{"CR01 0 is Sunday", "cron", "0 10 * * 0", "UTC", "2026-12-01T00:00:00Z", []string{"2026-12-06T10:00:00Z"}},
		{"CR01 7 is Sunday", "cron", "0 10 * * 7", "UTC", "2026-12-01T00:00:00Z", []string{"2026-12-06T10:00:00Z"}},
		{"CR03 a range up to 7", "cron", "45 4 * * 6-7", "UTC", "2026-12-01T00:00:00Z",
			[]string{"2026-12-05T04:45:00Z", "2026-12-06T04:45:00Z", "2026-12-12T04:45:00Z"}},
		{"CR07 a step counts from the start of its range", "cron", "0 8 * * 1-7/2", "UTC", "2026-12-01T00:00:00Z",
			[]string{"2026-12-02T08:00:00Z", "2026-12-04T08:00:00Z", "2026-12-06T08:00:00Z", "2026-12-07T08:00:00Z", "2026-12-09T08:00:00Z"}},
		{"DZ01 a time in the gap runs after it", "cron", "0 2 * * *", "America/Los_Angeles", "2025-03-08T12:00:00-08:00",
			[]string{"2025-03-09T03:00:00-07:00", "2025-03-10T02:00:00-07:00"}},
		{"DZ03 a gap at midnight, Santiago", "cron", "0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"}},
		{"DZ03 a gap at midnight, Cairo", "cron", "0 0 * * *", "Africa/Cairo", "2027-04-29T12:00:00Z",
			[]string{"2027-04-30T01:00:00+03:00", "2027-05-01T00:00:00+03:00"}},
		{"DZ05 no instant comes again in a fold", "cron", "0 1-23/2 * * *", "Europe/London", "2024-10-26T23:59:00Z",
			[]string{"2024-10-27T01:00:00+01:00", "2024-10-27T03:00:00Z", "2024-10-27T05:00:00Z", "2024-10-27T07:00:00Z"}},
		{"DZ07 another zone's change is none of ours", "cron", "30 1 * * *", "UTC", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T01:30:00Z"}},
		{"DZ09 in the gap", "cron", "30 2 * * *", "America/New_York", "2027-03-13T12:00:00-05:00",
			[]string{"2027-03-14T03:00:00-04:00", "2027-03-15T02:30:00-04:00"}},
		{"DZ09 beside it the seconds go on", "cron", "*/7 * * * * *", "America/New_York", "2027-03-14T01:59:49-05:00",
			[]string{"2027-03-14T01:59:56-05:00", "2027-03-14T03:00:00-04:00", "2027-03-14T03:00:07-04:00"}},
		{"DZ11 a gap at the end of a day", "cron", "30 23 * * *", "America/Nuuk", "2024-03-28T12:00:00Z",
			[]string{"2024-03-28T23:30:00-02:00", "2024-03-29T23:30:00-02:00", "2024-03-31T00:00:00-01:00", "2024-03-31T23:30:00-01:00"}},
		{"IV03 an interval counts from its start", "interval", "hours=2 start_date=2026-11-28T10:00:00", "UTC", "2026-11-29T13:07:00Z",
			[]string{"2026-11-29T14:00:00Z"}},
		{"IV05 a day is 24 hours", "interval", "days=7 start_date=2019-03-26T16:00:00", "Europe/Brussels", "2019-03-26T16:00:00+01:00",
			[]string{"2019-04-02T17:00:00+02:00", "2019-04-09T17:00:00+02:00"}},
		{"PD05 a date on the day of a change", "date", "2027-03-14T03:30", "America/New_York", "2027-01-01T00:00:00Z",
			[]string{"2027-03-14T03:30:00-04:00"}},
	} {
		trig, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{Zone: c.zone})
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		if got := next(trig, instant(t, c.from), len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q in %s after %s:\n got %v\nwant %v", c.id, c.text, c.zone, c.from, got, c.want)
		}
	}
	for _, c := range []struct{ id, text, part, says string }{
		{"CR05 a range that wraps", "0 8 * * 5-1/2", "day_of_week", "fri,sun"},
		{"CR09 a step of zero", "15/0 * * * *", "minute", "step of 0"},
		{"CR09 a step of zero", "*/0 * * * *", "minute", "step of 0"},
		{"CR11 a zone without end", "TZ=TZ=TZ=", "expression", "no fields"},
		{"CR11 a zone without fields", "CRON_TZ=UTC", "expression", "no fields"},
		{"CR11 a zone in quotes", `CRON_TZ="Asia/Tokyo" 0 9 * * *`, "tz", "without quotes"},
		{"CR13 never", "0 0 31 2 *", "day", "never fire"},
		{"CR13 never", "0 0 31 4 *", "day", "never fire"},
		{"CR17 eight fields", "30 */1 9-15 mon-fri * * * *", "expression", "found 8 fields, wanted 5"},
		{"CR17 seven fields", "0 */30 0-6 * * * *", "expression", "found 7 fields, wanted 5"},
		{"the host's zone", "TZ=Local 0 0 * * *", "tz", "IANA"},
		{"a path for a zone", "TZ=../etc/passwd 0 0 * * *", "tz", "IANA"},
		{"no zone", "TZ= 0 0 * * *", "tz", "no zone"},
		{"an unknown zone", "TZ=Europe/Atlantis 0 0 * * *", "tz", "there is no zone"},
		{"the place of an unknown zone", "TZ=Europe/Berln 0 0 * * *", "tz", `did you mean "Europe/Berlin"?, at column 4`},
		{"the place of an unknown zone", "TZ=Europe/Berln @every 5m", "tz", `did you mean "Europe/Berlin"?, at column 4`},
		{"an empty zone of an interval", "TZ= @every 5m", "tz", "no zone"},
		{"the place of a path for a zone", " CRON_TZ=../etc/passwd 0 0 * * *", "tz", "such as Europe/Berlin or UTC, at column 10"},
	} {
		_, err := trigger.Parse("cron", c.text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), c.part+": ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q: got %v, want %s … %s", c.id, c.text, err, c.part, c.says)
		}
	}
	cr15, err := trigger.Cron("0 0 29 * *", trigger.CronOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := cr15.Prev(instant(t, "2028-03-02T00:00:00Z")); !ok || !at.Equal(instant(t, "2028-02-29T00:00:00Z")) {
		t.Errorf("CR15 back over a leap day: got %v %v", at, ok)
	}
}

func TestTheCanonicalEncodingIsByteForByte(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	anchor := instant(t, "2026-03-01T09:00:00.000001999Z")
	for _, c := range []struct{ given, want string }{
		{`{"kind":"cron","expr":"TZ=Europe/Berlin 30 2 * * 1-5"}`,
			`{"kind":"cron","expr":"30 2 * * mon-fri","dialect":"crontab","zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null}`},
		{`{"fold":"both","gap":"skip","end":"2026-10-25 02:30","start":"2026-03-28T23:00:00Z","zone":null,"dialect":"ruqi","expr":" 0 0 0 last * 6 ","kind":"cron"}`,
			`{"kind":"cron","expr":"0 0 0 last * sun","dialect":"ruqi","zone":"Europe/Berlin","gap":"skip","fold":"both","start":"2026-03-29T00:00:00+01:00","end":"2026-10-25T02:30:00+02:00"}`},
		{`{"kind":"cron","expr":"@weekly","zone":"UTC"}`,
			`{"kind":"cron","expr":"0 0 * * sun","dialect":"crontab","zone":"UTC","gap":"run_after","fold":"auto","start":null,"end":null}`},
		{`{"kind":"cron","expr":" @reboot ","fold":"both"}`,
			`{"kind":"cron","expr":"@reboot","dialect":"crontab","zone":"Europe/Berlin","gap":"run_after","fold":"both","start":null,"end":null}`},
		{`{"kind":"interval","every":"5400s"}`,
			`{"kind":"interval","every":"1h30m","anchor":"2026-03-01T10:00:00.000001+01:00","zone":"Europe/Berlin","start":null,"end":null}`},
		{`{"kind":"interval","every":"48h","start":"2026-03-01","end":"2026-04-01"}`,
			`{"kind":"interval","every":"2d","anchor":null,"zone":"Europe/Berlin","start":"2026-03-01T00:00:00+01:00","end":"2026-04-01T00:00:00+02:00"}`},
		{`{"kind":"date","at":"2026-10-25 02:30:00.25"}`,
			`{"kind":"date","at":"2026-10-25T02:30:00.25+02:00","zone":"Europe/Berlin"}`},
		{`{"kind":"date","at":"1800-01-01","zone":null}`,
			`{"kind":"date","at":"1799-12-31T23:06:32Z","zone":"Europe/Berlin"}`},
	} {
		trig, err := decode([]byte(c.given))
		if err != nil {
			t.Errorf("%s: %v", c.given, err)
			continue
		}
		bound, err := trig.(ruqi.Binder).Bind(berlin, anchor, "")
		if err != nil {
			t.Errorf("%s: %v", c.given, err)
			continue
		}
		got, err := json.Marshal(bound)
		if err != nil || string(got) != c.want {
			t.Errorf("%s\n got %s %v\nwant %s", c.given, got, err, c.want)
		}
	}
	unbound, err := trigger.Interval(time.Minute, trigger.IntervalOptions{StartText: "2026-03-29 02:30"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"interval","every":"1m","anchor":null,"zone":null,"start":"2026-03-29T02:30:00","end":null}`
	if got, _ := unbound.MarshalJSON(); string(got) != want {
		t.Errorf("unbound:\n got %s\nwant %s", got, want)
	}
	if _, err := unbound.Bind(berlin, anchor, ""); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "nearest") {
		t.Errorf("a start in the gap of the zone it is bound in: %v", err)
	}
}

func TestDecodingTellsAllFaultsAtOnceWithPointers(t *testing.T) {
	for _, c := range []struct {
		data string
		want []string
	}{
		{`{"kind":"cron","expr":"61 * * * *","dialect":"crontab","zone":"Local","gap":"no","fold":7,"a/b":1,"end":"2026-13-01"}`,
			[]string{"/a~1b", "/zone", "/fold", "/expr", "/gap", "/end"}},
		{`{"kind":"cron","start":"2026-02-01","end":"2026-01-01","zone":"UTC"}`, []string{"/expr"}},
		{`{"kind":"cron","expr":"* * * * *","start":"2026-02-01","end":"2026-01-01","zone":"UTC"}`, []string{"/end"}},
		{`{"kind":"cron","expr":"* * * * *","expr":"* * * * *"}`, []string{"/expr"}},
		{`{"kind":"cron","expr":"* * * * *","dialect":"perl","zone":""}`, []string{"/zone", "/dialect"}},
		{`{"kind":"cron","expr":"@reboot","start":"2026-02-01","end":"2026-03-01","zone":"UTC"}`, []string{"/start", "/end"}},
		{`{"kind":"cron","expr":"@reboot","dialect":"ruqi"}`, []string{"/expr"}},
		{`{"kind":"cron","expr":"@reboot 5"}`, []string{"/expr"}},
		{`{"kind":"cron","expr":"@Reboot"}`, []string{"/expr"}},
		{`{"kind":"interval","every":"0","anchor":"yesterday","extra":null}`, []string{"/extra", "/every", "/anchor"}},
		{`{"kind":"interval","every":90}`, []string{"/every"}},
		{`{"kind":"interval","every":"1s","start":"2026-01-01","anchor":"2026-01-01T00:00:00Z"}`, []string{"/anchor"}},
		{`{"kind":"date"}`, []string{"/at"}},
		{`{"kind":"date","at":"2026-02-30","zone":"../UTC"}`, []string{"/zone", "/at"}},
		{`{"kind":"date","at":"2026-02-28"} {}`, []string{""}},
		{`{"at":"2026-02-28"}`, []string{"/kind"}},
		{`[]`, []string{""}},
	} {
		_, err := decode([]byte(c.data))
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v", c.data, err)
			continue
		}
		var got []string
		for _, f := range invalid.Faults {
			got = append(got, f.Pointer)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) && c.want[0] != "" {
			t.Errorf("%s: faults at %q, want %q: %v", c.data, got, c.want, err)
		}
	}
}

func TestParseReadsWhatUsersType(t *testing.T) {
	now := instant(t, "2026-11-29T12:00:00Z")
	for _, c := range []struct{ kind, text, want string }{
		{"interval", "5 seconds", "every 5s"},
		{"interval", "every 5 Seconds", "every 5s"},
		{"interval", "every minute", "every 1m"},
		{"interval", "1 week", "every 7d"},
		{"interval", "1 hour 30 minutes", "every 1h30m"},
		{"interval", "every 90s", "every 1m30s"},
		{"interval", "2d", "every 2d"},
		{"interval", "weeks=1 days=1 hours=1 minutes=1 seconds=1", "every 8d1h1m1s"},
		{"cron", "@every 90s", "every 1m30s"},
		{"cron", "@reboot", "@reboot"},
		{"cron", "TZ=Asia/Tokyo  @reboot", "@reboot"},
		{"date", "now", "2026-11-29T12:00:00Z"},
		{"date", "in 5 minutes", "2026-11-29T12:05:00Z"},
		{"date", "in 1h30m", "2026-11-29T13:30:00Z"},
		{"date", "2026-12-01", "2026-12-01T00:00:00Z"},
		{"date", "2026-12-01t10:00:00.1234567z", "2026-12-01T10:00:00.123456Z"},
		{"date", "2026-12-01 10:00-05:30", "2026-12-01T15:30:00Z"},
	} {
		trig, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{Zone: "UTC", Now: now})
		if err != nil {
			t.Errorf("%s %q: %v", c.kind, c.text, err)
			continue
		}
		if got := trig.(interface{ String() string }).String(); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.kind, c.text, got, c.want)
		}
	}
	for _, c := range []struct{ kind, text, says string }{
		{"interval", "five minutes", "end_date=)"},
		{"interval", "0 seconds", "every: the length must be more than zero"},
		{"interval", "hours=0", "hours: the length must be more than zero"},
		{"interval", "minutes=5 secnds=3", "write seconds="},
		{"interval", "5 minuts", "write minutes"},
		{"interval", "hours=1" + strings.Repeat(" ", 1024), "the most are 1024"},
		{"date", "2026-01-01" + strings.Repeat(" ", 1024), "the most are 1024"},
		{"every", "hours=1" + strings.Repeat(" ", 1024), "the most are 1024"},
		{"interval", "", "every: "},
		{"interval", "300 years", "every: "},
		{"interval", "999999999999 weeks", "every: "},
		{"interval", "hours=1 hours=2", "hours: given twice"},
		{"interval", "seconds=-1", "seconds: "},
		{"interval", "hours=1 end_date=2026-01-01 start_date=2026-02-01", "end_date: "},
		{"date", "now", "date: "},
		{"date", "2026-02-29", "date: "},
		{"date", "2026-01-01 24:00", "date: "},
		{"moon", "full", "not one of cron, interval"},
	} {
		_, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{})
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(invalid.Faults[0].Message, c.says) {
			t.Errorf("%s %q: got %v, want %s", c.kind, c.text, err, c.says)
		}
	}
	_, err := trigger.Parse("date", "2026-01-01", trigger.ParseOptions{Zone: "../UTC", Gap: "skip", Start: "2026-01-01"})
	for _, part := range []string{"tz: ", "gap: ", "start: "} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("all faults at once: %v lacks %s", err, part)
		}
	}
}

// @reboot stands for the start of an instance and has no time, before or after any.
func TestRebootHasNoTime(t *testing.T) {
	trig := trigger.Crontab("TZ=Europe/Berlin @reboot")
	bound, err := trig.Bind(time.UTC, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	reboot := bound.(*trigger.CronTrigger)
	for _, at := range []string{"1970-01-01T00:00:00Z", "2026-03-29T00:59:59Z", "9998-12-31T00:00:00Z"} {
		if next, ok := reboot.Next(instant(t, at)); ok {
			t.Errorf("after %s it fires at %s", at, next)
		}
		if last, ok := reboot.Prev(instant(t, at)); ok {
			t.Errorf("before %s it fired at %s", at, last)
		}
	}
	if n := reboot.Count(instant(t, "1970-01-01T00:00:00Z"), instant(t, "2070-01-01T00:00:00Z")); n != 0 {
		t.Errorf("it fires %d times", n)
	}
	if zone, _ := reboot.Binding(); !reboot.OnStart() || zone == nil || zone.String() != "Europe/Berlin" {
		t.Errorf("it stands for a start: %v, zone %v", reboot.OnStart(), zone)
	}
	if trigger.Crontab("@daily").OnStart() || trigger.Crontab("wrong").OnStart() {
		t.Error("others stand for a start")
	}
}

func TestTheEndIsTold(t *testing.T) {
	end := instant(t, "2026-10-25T00:30:00Z")
	for _, kind := range []struct{ kind, text string }{{"cron", "* * * * *"}, {"interval", "1h"}} {
		with, err := trigger.Parse(kind.kind, kind.text, trigger.ParseOptions{Zone: "Europe/Berlin", End: "2026-10-25 02:30"})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := with.(ruqi.Ender).EndTime(); !ok || !got.Equal(end) {
			t.Errorf("%s: the end is %v %v, want %v", kind.kind, got, ok, end)
		}
		without, err := trigger.Parse(kind.kind, kind.text, trigger.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := without.(ruqi.Ender).EndTime(); ok {
			t.Errorf("%s: the end is %v, want none", kind.kind, got)
		}
	}
}

func TestAnIntervalIsAnchoredAnewUnlessItsStartIsFixed(t *testing.T) {
	anchor, later := instant(t, "2026-03-01T09:00:00Z"), instant(t, "2026-03-01T08:00:00.5Z")
	bound, err := trigger.EveryDuration(time.Hour).Bind(time.UTC, anchor, "")
	if err != nil {
		t.Fatal(err)
	}
	moved, ok := bound.(ruqi.Elapser).Reanchor(later)
	if !ok {
		t.Fatal("an interval without a start is not anchored anew")
	}
	if at, _ := moved.Next(later); !at.Equal(later.Add(time.Hour)) {
		t.Errorf("the first fire time after the anchor %v is %v", later, at)
	}
	fixed, err := trigger.Interval(time.Hour, trigger.IntervalOptions{Start: &anchor, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []ruqi.Elapser{fixed, trigger.EveryDuration(time.Hour)} {
		if moved, ok := e.Reanchor(later); ok {
			t.Errorf("%v was anchored anew: %v", e, moved)
		}
	}
}

func TestADateThatTheClockSkipsNamesItsNeighbours(t *testing.T) {
	for _, c := range []struct{ text, zone, before, after string }{
		{"2027-03-14 02:30", "America/New_York", "2027-03-14T01:59:59-05:00", "2027-03-14T03:00:00-04:00"},
		{"2011-12-30", "Pacific/Apia", "2011-12-29T23:59:59-10:00", "2011-12-31T00:00:00+14:00"},
	} {
		_, err := trigger.DateText(c.text, zone(t, c.zone))
		if err == nil || !strings.Contains(err.Error(), c.before) || !strings.Contains(err.Error(), c.after) {
			t.Errorf("%s in %s: got %v", c.text, c.zone, err)
		}
	}
}

func TestWrongTriggersInLiteralsSayNoAndTellTheFaultWhenBound(t *testing.T) {
	for _, trig := range []interface {
		ruqi.Binder
		ruqi.Stepper
	}{trigger.Crontab("61 * * * *"), trigger.EveryDuration(0), trigger.EveryDuration(-1), trigger.EveryDuration(1500), trigger.Date(time.Time{})} {
		if _, err := trig.Bind(time.UTC, time.Now(), ""); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("%T: Bind returns %v", trig, err)
		}
		if at, ok := trig.Next(time.Now()); ok {
			t.Errorf("%T: Next returns %v", trig, at)
		}
		if at, ok := trig.Prev(time.Now()); ok {
			t.Errorf("%T: Prev returns %v", trig, at)
		}
		if n := trig.Count(time.Time{}, time.Now()); n != 0 {
			t.Errorf("%T: Count returns %d", trig, n)
		}
		if data, err := trig.MarshalJSON(); err == nil {
			t.Errorf("%T: is encoded as %s", trig, data)
		}
	}
	for _, loc := range []*time.Location{time.Local, time.FixedZone("here", 3600), time.FixedZone("", 0)} {
		if loc.String() == "UTC" {
			continue
		}
		if _, err := trigger.Cron("* * * * *", trigger.CronOptions{Zone: loc}); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("a zone without an IANA name, %q: %v", loc, err)
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	from := instant(t, "2026-11-29T12:34:56.789Z")
	for _, name := range []string{"UTC", "America/New_York", "Australia/Lord_Howe"} {
		for _, expr := range []string{"*/5 * * * *", "0 9 * * 1-5", "30 4 1,15 * 5", "0 0 29 2 *", "59 23 LW 12 fri#2"} {
			trig, err := trigger.Cron(expr, trigger.CronOptions{Zone: zone(t, name)})
			if err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { trig.Next(from); trig.Prev(from) }); n != 0 {
				t.Errorf("%q in %s: %v allocations", expr, name, n)
			}
		}
		bound, err := trigger.EveryDuration(90*time.Second).Bind(zone(t, name), from, "")
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { bound.Next(from) }); n != 0 {
			t.Errorf("interval in %s: %v allocations", name, n)
		}
	}
}

func TestABoundIntervalIsSmall(t *testing.T) {
	const (
		many = 100_000
		most = 80 // bytes: six words, and the size class above
	)
	berlin := zone(t, "Europe/Berlin")
	anchor := instant(t, "2026-11-29T12:34:56Z")
	kept := make([]ruqi.Trigger, many)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		bound, err := trigger.EveryDuration(time.Duration(i+1)*time.Second).Bind(berlin, anchor, "")
		if err != nil {
			t.Fatal(err)
		}
		kept[i] = bound
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / many; each > most {
		t.Errorf("a bound interval keeps %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(kept)
}

func TestLongCountsAreArithmetic(t *testing.T) {
	from, until := instant(t, "1990-01-01T00:00:00Z"), instant(t, "2390-01-01T00:00:00Z")
	every, err := trigger.Cron("* * * * * *", trigger.CronOptions{Zone: zone(t, "America/New_York")})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if n, want := every.Count(from, until), until.Unix()-from.Unix(); n != want {
		t.Errorf("every second of 400 years: %d, want %d", n, want)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("counting took %v", took)
	}
}
