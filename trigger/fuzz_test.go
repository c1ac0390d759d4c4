package trigger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// sound checks what holds for every trigger that was accepted.
func sound(t *testing.T, trig ruqi.Trigger) {
	t.Helper()
	anchor := time.Date(2026, 3, 28, 23, 59, 59, 999_999_000, time.UTC)
	bound, err := trig.(ruqi.Binder).Bind(time.UTC, anchor, "")
	if err != nil {
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("Bind returns %T: %v", err, err)
		}
		return
	}
	text, err := bound.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := decode(text)
	if err != nil {
		t.Fatalf("%s cannot be decoded: %v", text, err)
	}
	if second, _ := again.MarshalJSON(); string(second) != string(text) {
		t.Fatalf("%s is decoded as %s", text, second)
	}
	after := anchor
	for range 5 {
		at, ok := bound.Next(after)
		same, okSame := again.Next(after)
		if ok != okSame || !at.Equal(same) {
			t.Fatalf("%s: after %v come %v %v and %v %v", text, after, at, ok, same, okSame)
		}
		if !ok {
			return
		}
		if !at.After(after) {
			t.Fatalf("%s: after %v comes %v", text, after, at)
		}
		if n := bound.(ruqi.Stepper).Count(after, at); n != 1 {
			t.Fatalf("%s: Count(%v, %v) = %d", text, after, at, n)
		}
		if m, ok := bound.(ruqi.Matcher); ok && (!m.Matches(at) || m.Matches(at.Add(-1))) {
			t.Fatalf("%s: fires at %v, but matches it: %v, the nanosecond before: %v", text, at, m.Matches(at), m.Matches(at.Add(-1)))
		}
		after = at
	}
}

func refused(t *testing.T, err error) {
	t.Helper()
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 || invalid.Faults[0].Message == "" {
		t.Fatalf("refused with %T: %v", err, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range [][3]string{
		{"cron", "day='3rd fri,last' hour=1 year=2030-2040/3", "fields"}, {"cron", "week=53 minute='*/5 , 7'", "fields"},
		{"cron", "0 0 22-2/3 ? 11-2 fri-mon,6#3,l 2027/2", "quartz"}, {"cron", "0 0 0 L-3,LW,15w * ?", "quartz"},
		{"cron", "0 0 0 last * 0-6", "ruqi"}, {"cron", "H H(1-5)/2 H/3 * H(mon-fri)", "crontab"},
		{"cron", "*/5 0-8 L,15W * fri#2"}, {"cron", "CRON_TZ=Asia/Tokyo 0 9 * * *"}, {"cron", "@every 1h"}, {"cron", "@daily"},
		{"interval", "weeks=1 start_date='2026-03-28 20:15:00' end_date=2026-04-01"}, {"interval", "every 5 minutes"},
		{"interval", "1.5h"}, {"date", "2026-03-29 02:30:00.000001"}, {"date", "2026-03-29T02:30:00-23:59"}, {"date", "in 5 minutes"},
		{"every", "every monday, thursday at 13:15, 17:00:30 until 2030-01-01"}, {"every", "every 5 to 10 minutes"}, {"every", "every 3 days at 09:00"},
		{"every", "every hour at :15"}, {"every", "in 1 hour 30 minutes"}, {"every", "at 2026-12-01 09:30"}, {"every", "every minuet"},
		{"calendar", "years=1 months=1 days=1 hour=2 start_date=2024-02-29 end_date='2030-01-01 10:00'"}, {"calendar", "weeks=2"},
	} {
		f.Add(seed[0], seed[1], seed[2], "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, kind, text, dialect, zone string) {
		trig, err := trigger.Parse(kind, text, trigger.ParseOptions{Dialect: dialect, Zone: zone, Now: time.Unix(1_800_000_000, 0)})
		if err != nil {
			refused(t, err)
			return
		}
		sound(t, trig)
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"cron","expr":"30 2 * * mon-fri","dialect":"crontab","zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null}`,
		`{"kind":"cron","expr":"year=2030 week=5 day='1st mon'","dialect":"fields","zone":"America/New_York","fold":"both"}`,
		`{"kind":"cron","expr":"0 0 12 ? * 6L 2030/2","dialect":"quartz","zone":"UTC","gap":"skip"}`,
		`{"kind":"cron","expr":"H H * * *","seed":"nightly"}`,
		`{"kind":"interval","every":"90s","anchor":"2026-03-01T10:00:00+01:00","zone":"Europe/Berlin","start":null,"end":"2027-01-01"}`,
		`{"kind":"date","at":"2026-03-01T10:00:00.25+01:00","zone":"Europe/Berlin"}`,
		`{"kind":"calendar","years":1,"months":1,"days":1,"hour":9,"anchor":"2026-03-01T10:00:00+01:00","zone":"Europe/Berlin","start":null}`,
		`{"kind":"every","text":"every 5 to 10 minutes","anchor":"2026-03-01T10:00:00+01:00","seed":"a","zone":"Europe/Berlin","end":"2027-01-01"}`,
		`{"kind":"every","text":"every 3 days at 09:00","start":"2027-01-01","gap":"shift"}`,
		`{"kind":"date","at":"9999-12-31","zone":null}`, `{"kind":"interval","every":"1us"}`, `{"kind":`, `[{}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trig, err := decode(data)
		if err != nil {
			refused(t, err)
			return
		}
		sound(t, trig)
	})
}
