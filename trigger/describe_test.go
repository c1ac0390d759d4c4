package trigger_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// TestDescriptions reads testdata/descriptions.jsonl: what an expression is in English and in Chinese, before it has a zone.
func TestDescriptions(t *testing.T) {
	file, err := os.Open("testdata/descriptions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows := 0
	for lines := bufio.NewScanner(file); lines.Scan(); rows++ {
		var row struct{ Dialect, Expr, En, Zh string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		parsed, err := trigger.Parse("cron", row.Expr, trigger.ParseOptions{Dialect: row.Dialect})
		if err != nil {
			t.Fatalf("%s %q: %v", row.Dialect, row.Expr, err)
		}
		if got := trigger.Describe(parsed, ruqi.English); got != row.En {
			t.Errorf("%s %q:\n got %q\nwant %q", row.Dialect, row.Expr, got, row.En)
		}
		if got := trigger.Describe(parsed, ruqi.Chinese); got != row.Zh {
			t.Errorf("%s %q:\n got %q\nwant %q", row.Dialect, row.Expr, got, row.Zh)
		}
	}
	if rows < 120 {
		t.Errorf("%d rows, at least 120 are wanted", rows)
	}
}

func TestADescriptionNamesZoneAndLimitsAndWhatAClockChangeDoes(t *testing.T) {
	const (
		gapEn  = "; a time that a clock change leaves out "
		gapZh  = "；时钟调整跳过的时刻"
		foldEn = "; one that comes twice "
		foldZh = "；重复的时刻"
		onlyEn = "; a time that a clock change brings twice "
		onlyZh = "；时钟调整后重复的时刻"
	)
	for _, c := range []struct {
		expr   string
		o      trigger.ParseOptions
		en, zh string
	}{
		{"0 0 * * *", trigger.ParseOptions{Zone: "UTC"}, "at 00:00 every day, UTC", "在每天的 00:00，UTC 时间"},
		{"0 0 * * *", trigger.ParseOptions{Zone: "Asia/Shanghai"}, "at 00:00 every day, Asia/Shanghai time", "在每天的 00:00，Asia/Shanghai 时间"},
		{"0 9 * * *", trigger.ParseOptions{Zone: "America/New_York"}, "at 09:00 every day, America/New_York time", "在每天的 09:00，America/New_York 时间"},
		{"TZ=Europe/Berlin 30 2 * * mon-fri", trigger.ParseOptions{Zone: "UTC"},
			"at 02:30 on Monday to Friday, Europe/Berlin time" + gapEn + "fires right after it" + foldEn + "fires the first time",
			"在每周一至周五的 02:30，Europe/Berlin 时间" + gapZh + "在调整后立即触发" + foldZh + "只在第一次触发"},
		{"30 1 * * *", trigger.ParseOptions{Zone: "America/New_York"},
			"at 01:30 every day, America/New_York time" + onlyEn + "fires the first time",
			"在每天的 01:30，America/New_York 时间" + onlyZh + "只在第一次触发"},
		{"0 0 * * *", trigger.ParseOptions{Zone: "Africa/Cairo", Gap: "shift", Fold: "second"},
			"at 00:00 every day, Africa/Cairo time" + gapEn + "fires later by as much as is left out",
			"在每天的 00:00，Africa/Cairo 时间" + gapZh + "按跳过的时长顺延触发"},
		{"30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Gap: "skip", Fold: "both", Start: "2026-03-01", End: "2026-12-31 23:59:30"},
			"at 02:30 every day, Europe/Berlin time, from 2026-03-01 00:00 on, until 2026-12-31 23:59:30" + gapEn + "does not fire" + foldEn + "fires both times",
			"在每天的 02:30，Europe/Berlin 时间，自 2026-03-01 00:00 起，至 2026-12-31 23:59:30 止" + gapZh + "不触发" + foldZh + "两次都触发"},
		{"30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Fold: "second"},
			"at 02:30 every day, Europe/Berlin time" + gapEn + "fires right after it" + foldEn + "fires the second time",
			"在每天的 02:30，Europe/Berlin 时间" + gapZh + "在调整后立即触发" + foldZh + "只在第二次触发"},
		{"*/5 * * * *", trigger.ParseOptions{Zone: "Europe/Berlin"}, "every 5 minutes, Europe/Berlin time", "每 5 分钟，Europe/Berlin 时间"},
		{"*/5 * * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Fold: "first"},
			"every 5 minutes, Europe/Berlin time" + onlyEn + "fires the first time", "每 5 分钟，Europe/Berlin 时间" + onlyZh + "只在第一次触发"},
		{"*/5 * * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Fold: "both"},
			"every 5 minutes, Europe/Berlin time" + onlyEn + "fires both times", "每 5 分钟，Europe/Berlin 时间" + onlyZh + "两次都触发"},
		{"0 1 26 10 *", trigger.ParseOptions{Zone: "Europe/Berlin", Start: "2026-10-25T00:30:00Z"}, // the clock shows 02:30 twice
			"at 01:00 on 26 October, Europe/Berlin time, from 2026-10-25 02:30 +02:00 on", "在每年 10 月 26 日的 01:00，Europe/Berlin 时间，自 2026-10-25 02:30 +02:00 起"},
		{"H H * * *", trigger.ParseOptions{Zone: "UTC", Seed: "reports"}, "at 04:39 every day (H set by the job's id), UTC", "在每天的 04:39（H 由任务 id 选定），UTC 时间"},
	} {
		parsed, err := trigger.Parse("cron", c.expr, c.o)
		if err != nil {
			t.Fatalf("%q: %v", c.expr, err)
		}
		for in, want := range map[ruqi.Language]string{ruqi.English: c.en, ruqi.Chinese: c.zh, "fr": c.en} {
			if got := trigger.Describe(parsed, in); got != want {
				t.Errorf("%q %+v in %s:\n got %q\nwant %q", c.expr, c.o, in, got, want)
			}
		}
	}
	wrong := trigger.Crontab("61 * * * *")
	if en, zh := wrong.Describe(ruqi.English), wrong.Describe(ruqi.Chinese); en != "never: it is invalid" || zh != "从不：无效" {
		t.Errorf("a wrong expression is described as %q and %q", en, zh)
	}
}

func TestAnIntervalIsDescribedAsElapsedTime(t *testing.T) {
	const counted, countedZh = ", Europe/Berlin time, counted from 2026-03-01 11:00", "，Europe/Berlin 时间，自 2026-03-01 11:00 起计"
	for _, c := range []struct {
		text, en, zh string
	}{
		{"1s", "every second", "每秒"},
		{"1m", "every minute", "每分钟"},
		{"90s", "every 1 minute and 30 seconds", "每 1 分钟 30 秒"},
		{"5 minutes", "every 5 minutes", "每 5 分钟"},
		{"1h", "every hour", "每小时"},
		{"1 day", "every 24 hours", "每 24 小时"},
		{"1 week", "every 7 days of 24 hours", "每 7 天（每天 24 小时）"},
		{"26h1m", "every 26 hours and 1 minute", "每 26 小时 1 分钟"},
		{"1h1m1s", "every 1 hour, 1 minute and 1 second", "每 1 小时 1 分钟 1 秒"},
		{"1500ms", "every 1 second and 500 milliseconds", "每 1 秒 500 毫秒"},
		{"2us", "every 2 microseconds", "每 2 微秒"},
	} {
		parsed, err := trigger.Parse("interval", c.text, trigger.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if en, zh := trigger.Describe(parsed, ruqi.English), trigger.Describe(parsed, ruqi.Chinese); en != c.en || zh != c.zh {
			t.Errorf("%s: got %q and %q, want %q and %q", c.text, en, zh, c.en, c.zh)
		}
		bound, err := parsed.(ruqi.Binder).Bind(zone(t, "Europe/Berlin"), instant(t, "2026-03-01T10:00:00Z"), "")
		if err != nil {
			t.Fatal(err)
		}
		if en, zh := trigger.Describe(bound, ruqi.English), trigger.Describe(bound, ruqi.Chinese); en != c.en+counted || zh != c.zh+countedZh {
			t.Errorf("%s bound: got %q and %q", c.text, en, zh)
		}
	}
	limited, err := trigger.Parse("interval", "2h", trigger.ParseOptions{Zone: "UTC", Start: "2026-03-01", End: "2026-04-01 12:00"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := trigger.Describe(limited, ruqi.English), "every 2 hours, UTC, from 2026-03-01 00:00 on, until 2026-04-01 12:00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADateIsDescribedAsOnce(t *testing.T) {
	once, err := trigger.DateText("2026-03-01 10:00:00.5", zone(t, "Europe/Berlin"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := trigger.Describe(once, ruqi.English), "once at 2026-03-01 10:00:00.5, Europe/Berlin time"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := trigger.Describe(once, ruqi.Chinese), "在 2026-03-01 10:00:00.5 执行一次，Europe/Berlin 时间"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnyTriggerIsDescribed: one that cannot says its own text.
func TestAnyTriggerIsDescribed(t *testing.T) {
	if got := trigger.Describe(hourly{}, ruqi.English); got != `{"kind":"hourly"}` {
		t.Errorf("got %q", got)
	}
	if got := trigger.Describe(named{}, ruqi.Chinese); got != "each hour" {
		t.Errorf("got %q", got)
	}
}

// TestADescriptionIsFast: 20 µs are promised, and five times as much is let pass, for the race detector slows it down. The
// fastest of several rounds counts, since machines have other work.
func TestADescriptionIsFast(t *testing.T) {
	for _, expr := range []string{"30 2 * * mon-fri", "0,10,20,31,45 1-3,5,7,9,11,13 1,15,L 1-3,7 *", "* * * * *"} {
		parsed, err := trigger.Parse("cron", expr, trigger.ParseOptions{Zone: "Europe/Berlin"})
		if err != nil {
			t.Fatal(err)
		}
		best := time.Hour
		for range 20 {
			begin := time.Now()
			for range 100 {
				trigger.Describe(parsed, ruqi.Chinese)
			}
			best = min(best, time.Since(begin)/100)
		}
		if best > 100*time.Microsecond {
			t.Errorf("%q: %v", expr, best)
		}
	}
}

// hourly is a trigger with nothing but what it must have.
type hourly struct{}

func (hourly) Next(after time.Time) (time.Time, bool) {
	at := after.UTC().Truncate(time.Hour).Add(time.Hour)
	first, last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC)
	if at.Before(first) {
		at = first
	}
	return at, !at.After(last)
}
func (hourly) Kind() string                 { return "hourly" }
func (hourly) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"hourly"}`), nil }

type named struct{ hourly }

func (named) String() string { return "each hour" }
