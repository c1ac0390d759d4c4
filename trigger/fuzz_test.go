package trigger_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// sound checks what holds for every trigger that was accepted, and that it does not take long.
func sound(t *testing.T, trig ruqi.Trigger) {
	t.Helper()
	began := time.Now()
	anchor := time.Date(2026, 3, 28, 23, 59, 59, 999_999_000, time.UTC)
	for _, zone := range []*time.Location{time.UTC, zone(t, "Africa/Casablanca")} {
		bound, err := trig.(ruqi.Binder).Bind(zone, anchor, "seed")
		if err != nil {
			var invalid *ruqi.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("Bind returns %T: %v", err, err)
			}
			continue
		}
		soundBound(t, bound, anchor)
	}
	if took := time.Since(began); took > 5*time.Second { // a loaded machine, and thousands of questions
		t.Fatalf("%T %v: the questions took %v", trig, trig, took)
	}
}

func soundBound(t *testing.T, bound ruqi.Trigger, anchor time.Time) {
	t.Helper()
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
	for _, after := range []time.Time{anchor, time.Unix(0, 0), time.Date(2040, 12, 30, 23, 0, 0, 0, time.UTC)} {
		if a, b := next(bound, after, 5), next(again, after, 5); !slices.Equal(a, b) {
			t.Fatalf("%s: after %v come %v, decoded %v", text, after, a, b)
		}
		if err := properties(bound, after, 5); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if e, ok := bound.(ruqi.Explainer); ok {
			at, fires := bound.Next(after)
			if fires && len(e.Explain(at, ruqi.English)) > 0 {
				t.Fatalf("%s: %v is a fire time, and ruled out by %v", text, at, e.Explain(at, ruqi.English))
			}
			if fires && at.Sub(after) > 1 && len(e.Explain(at.Add(-1), ruqi.English)) == 0 {
				t.Fatalf("%s: nothing rules %v out", text, at.Add(-1))
			}
		}
	}
	if d, ok := bound.(ruqi.Describer); ok {
		for _, in := range []ruqi.Language{ruqi.English, ruqi.Chinese} {
			if words := d.Describe(in); words == "" || !utf8.ValidString(words) || words != again.(ruqi.Describer).Describe(in) {
				t.Fatalf("%s: described as %q", text, words)
			}
		}
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
	for _, row := range storedRows(f) {
		f.Add([]byte(row.Stored))
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

// FuzzClockChange compares an expression made from the seed with a walk over real minutes.
func FuzzClockChange(f *testing.F) {
	zones, err := embeddedZones()
	if err != nil {
		f.Fatal(err)
	}
	for i, change := range []string{"2026-03-29T01:00:00Z", "2011-12-30T10:00:00Z", "2040-12-31T12:00:00Z", "2087-05-11T02:00:00Z"} {
		f.Add(uint64(i), uint16(37*i), instant(f, change).Unix(), uint8(i))
	}
	first, last := time.Date(1973, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), sweepUntil.Unix()
	f.Fuzz(func(t *testing.T, seed uint64, zoneIndex uint16, at int64, rule uint8) {
		z := zones[int(zoneIndex)%len(zones)]
		if at < first || at > last {
			at = first + int64(uint64(at)%uint64(last-first))
		}
		at -= at % 60
		rules := allRules[int(rule)%len(allRules)]
		e := randomExpr(rand.New(rand.NewPCG(seed, 8)), false)
		trig, err := trigger.Cron(e.text, trigger.CronOptions{Zone: zone(t, z.name), Gap: rules.gap, Fold: rules.fold})
		if err != nil {
			refused(t, err) // a date that does not exist
			return
		}
		from, until := time.Unix(at, 0).Add(-6*time.Hour), time.Unix(at, 0).Add(6*time.Hour)
		compare(t, e.text+" in "+z.name, trig, from, until, e.fires(z.loc, from, until, 60, rules.gap, rules.fold))
	})
}
