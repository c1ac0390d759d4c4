package trigger_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// bindTo binds a cron trigger read from text.
func bindTo(t *testing.T, text, seed string, o trigger.ParseOptions) *trigger.CronTrigger {
	t.Helper()
	trig, err := trigger.Parse("cron", text, o)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := trig.(ruqi.Binder).Bind(time.UTC, time.Time{}, seed)
	if err != nil {
		t.Fatal(err)
	}
	return bound.(*trigger.CronTrigger)
}

func encode(t *testing.T, trig ruqi.Trigger) string {
	t.Helper()
	data, err := json.Marshal(trig)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestHashedExpressionsTakeTheJobsIdAndKeepIt(t *testing.T) {
	const stored = `{"kind":"cron","expr":"H H * * *","dialect":"crontab","zone":"UTC","gap":"run_after","fold":"auto","start":null,"end":null,"seed":"nightly"}`
	bound := bindTo(t, "H h * * *", "nightly", trigger.ParseOptions{})
	if got := encode(t, bound); got != stored {
		t.Fatalf("stored as\n %s, want\n %s", got, stored)
	}
	decoded, err := decode([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	// What was given stays: a seed, as a zone does.
	again, err := decoded.(ruqi.Binder).Bind(time.UTC, time.Time{}, "another")
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, again); got != stored {
		t.Errorf("bound again it is %s", got)
	}
	after := instant(t, "2026-01-01T00:00:00Z")
	want, _ := bound.Next(after)
	if got, _ := again.Next(after); !got.Equal(want) {
		t.Errorf("read back it fires at %v, before at %v", got, want)
	}
	preview := bindTo(t, "H H * * *", "", trigger.ParseOptions{Seed: "nightly"})
	if got, _ := preview.Next(after); !got.Equal(want) {
		t.Errorf("a preview with the seed fires at %v, the job at %v", got, want)
	}
	other := bindTo(t, "H H * * *", "hourly", trigger.ParseOptions{})
	if got, _ := other.Next(after); got.Equal(want) {
		t.Errorf("another job fires at the same time, %v", got)
	}
	// In a zone of its own the expression is still without a seed.
	zoned := bindTo(t, "TZ=Asia/Tokyo H 9 * * *", "nightly", trigger.ParseOptions{})
	if got := encode(t, zoned); !strings.Contains(got, `"zone":"Asia/Tokyo"`) || !strings.HasSuffix(got, `"seed":"nightly"}`) {
		t.Errorf("with a zone in front it is stored as %s", got)
	}
	// Without a seed it is whole, but still open: the next to bind it decides.
	open := bindTo(t, "H H * * *", "", trigger.ParseOptions{})
	if got := encode(t, open); strings.Contains(got, "seed") {
		t.Errorf("bound without a seed it is stored as %s", got)
	}
	if got, ok := open.Next(after); !ok || got.After(after.AddDate(0, 0, 1)) {
		t.Errorf("bound without a seed it fires at %v %v", got, ok)
	}
	// Without H the seed says nothing.
	if got := encode(t, bindTo(t, "0 2 * * *", "nightly", trigger.ParseOptions{Seed: "x"})); strings.Contains(got, "seed") {
		t.Errorf("an expression without H is stored as %s", got)
	}
}

func TestWhatTheSeedKeepsFromFiringIsRefusedAtBind(t *testing.T) {
	_, err := trigger.Crontab("0 0 H(30-31) 2 *").Bind(time.UTC, time.Time{}, "nightly")
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || invalid.Faults[0].Pointer != "/expr" || !strings.Contains(err.Error(), "never fire") {
		t.Errorf("Bind returns %v", err)
	}
	if _, err := trigger.Cron("0 0 H(30-31) 2 *", trigger.CronOptions{Seed: "nightly"}); !errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("Cron returns %v", err)
	}
}

func TestMatchesIsWhatNextGives(t *testing.T) {
	for _, c := range []struct {
		text, dialect, zone, gap, fold string
		at                             string
		want                           bool
	}{
		{"30 2 * * *", "", "America/New_York", "", "", "2026-03-08T03:00:00-04:00", true}, // made good after the gap
		{"30 2 * * *", "", "America/New_York", "shift", "", "2026-03-08T03:00:00-04:00", false},
		{"30 2 * * *", "", "America/New_York", "shift", "", "2026-03-08T03:30:00-04:00", true},
		{"30 2 * * *", "", "America/New_York", "skip", "", "2026-03-08T03:00:00-04:00", false},
		{"30 1 * * *", "", "America/New_York", "", "", "2026-11-01T01:30:00-04:00", true},
		{"30 1 * * *", "", "America/New_York", "", "", "2026-11-01T01:30:00-05:00", false},
		{"30 1 * * *", "", "America/New_York", "", "second", "2026-11-01T01:30:00-05:00", true},
		{"* 1 * * *", "", "America/New_York", "", "", "2026-11-01T01:30:00-05:00", true},
		{"* * * * *", "", "UTC", "", "", "2026-11-01T01:30:00.000001Z", false},
		{"* * * * *", "", "UTC", "", "", "2026-11-01T01:30:01Z", false},
		{"* * * * *", "", "UTC", "", "", "2026-11-01T01:30:00Z", true},
		{"0 0 0 29 2 ? 2096-2110", "quartz", "UTC", "", "", "2104-02-29T00:00:00Z", true},
		{"0 0 0 28 2 ? 2096-2110/4", "quartz", "UTC", "", "", "2101-02-28T00:00:00Z", false},
		{"day='last fri'", "fields", "UTC", "", "", "2026-11-27T00:00:00Z", true},
		{"day='last fri'", "fields", "UTC", "", "", "2026-11-20T00:00:00Z", false},
		{"@reboot", "", "UTC", "", "", "2026-11-20T00:00:00Z", false},
	} {
		trig := bindTo(t, c.text, "", trigger.ParseOptions{Dialect: c.dialect, Zone: c.zone, Gap: c.gap, Fold: c.fold})
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := trig.Matches(at); got != c.want {
			t.Errorf("%q in %s %s%s matches %s: got %v, want %v", c.text, c.zone, c.gap, c.fold, c.at, got, c.want)
		}
	}
	if trigger.Crontab("61 * * * *").Matches(time.Unix(0, 0)) {
		t.Error("a wrong trigger matches")
	}
	bounded := bindTo(t, "0 0 * * *", "", trigger.ParseOptions{Start: "2026-01-02", End: "2026-01-03"})
	for day, want := range map[string]bool{"2026-01-01": false, "2026-01-02": true, "2026-01-03": true, "2026-01-04": false} {
		if got := bounded.Matches(instant(t, day+"T00:00:00Z")); got != want {
			t.Errorf("from 2026-01-02 to 2026-01-03 it matches %s: got %v, want %v", day, got, want)
		}
	}
}

func TestEveryDialectHasOneCanonicalEncoding(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"fields", "minute=0 hour=9 day='3RD fri'", `"expr":"day='3rd fri' hour=9","dialect":"fields"`},
		{"fields", "second=0 minute=30 hour=2 day_of_week=0-4", `"expr":"day_of_week=mon-fri hour=2 minute=30","dialect":"fields"`},
		{"quartz", "0 0 12 ? * 6L *", `"expr":"0 0 12 ? * friL","dialect":"quartz"`},
		{"ruqi", "0 0 0 LAST * *", `"expr":"0 0 0 last * *","dialect":"ruqi"`},
	} {
		got := encode(t, bindTo(t, c.text, "", trigger.ParseOptions{Dialect: c.dialect}))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %q is stored as %s, want %s", c.dialect, c.text, got, c.want)
		}
		again, err := decode([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		if second := encode(t, again); second != got {
			t.Errorf("%s is read back as %s", got, second)
		}
	}
}

func TestYearsBeyondFourCenturiesAreFound(t *testing.T) {
	trig := bindTo(t, "year=9000 month=7 hour=12", "", trigger.ParseOptions{Dialect: "fields", Zone: "America/New_York"})
	after := instant(t, "2026-01-01T00:00:00Z")
	want := instant(t, "9000-07-01T16:00:00Z")
	if got, ok := trig.Next(after); !ok || !got.Equal(want) {
		t.Errorf("next is %v %v, want %v", got, ok, want)
	}
	if got, ok := trig.Prev(instant(t, "9999-01-01T00:00:00Z")); !ok || got.Year() != 9000 {
		t.Errorf("before 9999 comes %v %v, want July 9000", got, ok)
	}
	if got, ok := trig.Prev(want.AddDate(0, -1, 0)); ok {
		t.Errorf("before it comes %v, want nothing", got)
	}
}

func TestNextOfEveryDialectDoesNotAllocate(t *testing.T) {
	from := instant(t, "2026-11-29T12:34:56Z")
	for _, c := range []struct{ dialect, text string }{
		{"crontab", "*/5 * * * *"}, {"crontab", "H H(1-5) * * *"}, {"crontab", "0 12 LW,15W * fri#2"},
		{"fields", "day='3rd fri' hour=9"}, {"fields", "week=53"}, {"fields", "year=2026-2090/2 minute=5"},
		{"quartz", "0 0 22-2 ? * 6L 2026-2090"},
	} {
		trig := bindTo(t, c.text, "x", trigger.ParseOptions{Dialect: c.dialect, Zone: "Europe/Berlin"})
		at := from
		trig.Next(from.AddDate(60, 0, 0)) // the zone's rules for these years are worked out once
		if n := testing.AllocsPerRun(20, func() { at, _ = trig.Next(at); trig.Prev(at); trig.Matches(at) }); n != 0 {
			t.Errorf("%s %q: %v allocations", c.dialect, c.text, n)
		}
	}
}

// Each row is a date at which at least one well-known scheduler was seen to go wrong.
func TestWhereOtherSchedulersWereSeenToGoWrong(t *testing.T) {
	for _, c := range []struct {
		name, dialect, text, zone, after string
		want                             []string
	}{
		{"gap, daily", "crontab", "30 2 * * *", "America/New_York", "2025-03-08T12:00:00-05:00",
			[]string{"2025-03-09T03:00:00-04:00", "2025-03-10T02:30:00-04:00"}},
		{"gap, every half hour", "crontab", "*/30 * * * *", "America/New_York", "2025-03-09T01:00:00-05:00",
			[]string{"2025-03-09T01:30:00-05:00", "2025-03-09T03:00:00-04:00", "2025-03-09T03:30:00-04:00"}},
		{"gap, every other hour", "crontab", "0 */2 * * *", "America/New_York", "2025-03-09T00:00:00-05:00",
			[]string{"2025-03-09T04:00:00-04:00", "2025-03-09T06:00:00-04:00"}},
		{"the day after the gap", "fields", "hour=0", "America/New_York", "2025-03-09T00:00:00-05:00",
			[]string{"2025-03-10T00:00:00-04:00", "2025-03-11T00:00:00-04:00"}},
		{"monthly over the gap", "fields", "day=1 hour=0", "America/New_York", "2025-02-15T00:00:00-05:00",
			[]string{"2025-03-01T00:00:00-05:00", "2025-04-01T00:00:00-04:00", "2025-05-01T00:00:00-04:00"}},
		{"weekly over the gap", "quartz", "0 0 0 ? * MON", "America/New_York", "2025-03-08T00:00:00-05:00",
			[]string{"2025-03-10T00:00:00-04:00", "2025-03-17T00:00:00-04:00"}},
		{"fold, daily", "quartz", "0 30 1 * * ?", "America/New_York", "2025-11-01T12:00:00-04:00",
			[]string{"2025-11-02T01:30:00-04:00", "2025-11-03T01:30:00-05:00"}},
		{"fold, hourly", "crontab", "0 * * * *", "America/New_York", "2025-11-02T00:00:00-04:00",
			[]string{"2025-11-02T01:00:00-04:00", "2025-11-02T01:00:00-05:00", "2025-11-02T02:00:00-05:00"}},
		{"fold, every half hour", "quartz", "0 */30 * * * ?", "America/New_York", "2025-11-02T00:30:00-04:00",
			[]string{"2025-11-02T01:00:00-04:00", "2025-11-02T01:30:00-04:00", "2025-11-02T01:00:00-05:00", "2025-11-02T01:30:00-05:00"}},
		{"gap at midnight", "fields", "hour=0", "America/Sao_Paulo", "2018-11-03T12:00:00-03:00",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"gap of half an hour", "crontab", "15 2 * * *", "Australia/Lord_Howe", "2025-10-04T12:00:00+10:30",
			[]string{"2025-10-05T02:30:00+11:00", "2025-10-06T02:15:00+11:00"}},
	} {
		trig := bindTo(t, c.text, "", trigger.ParseOptions{Dialect: c.dialect, Zone: c.zone})
		if got := next(trig, instant(t, c.after), len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q after %s:\n got %v\nwant %v", c.name, c.text, c.after, got, c.want)
		}
	}
}
