package trigger_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/triggertest"
)

func TestTriggersKeepTheLaws(t *testing.T) {
	newYork, err := trigger.LoadZone("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 7, 12, 0, 0, 500000000, time.UTC)
	end := time.Date(2040, 12, 31, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		kind, text string
		options    trigger.ParseOptions
	}{
		"cron":                  {"cron", "30 2 * * mon-fri", trigger.ParseOptions{}},
		"cron in a zone":        {"cron", "CRON_TZ=Australia/Lord_Howe */20 2 * * *", trigger.ParseOptions{}},
		"cron, shift and both":  {"cron", "15,45 1-3 * * *", trigger.ParseOptions{Zone: "America/New_York", Gap: "shift", Fold: "both"}},
		"cron, skip and second": {"cron", "15,45 1-3 * * *", trigger.ParseOptions{Gap: "skip", Fold: "second"}},
		"cron with seconds":     {"cron", "*/30 * * * * *", trigger.ParseOptions{Dialect: "ruqi"}},
		"cron, leap days":       {"cron", "0 0 29 2 *", trigger.ParseOptions{}},
		"cron, extras":          {"cron", "0 12 LW,15W * fri#2,monL", trigger.ParseOptions{}},
		"cron, hashed":          {"cron", "H H(1-3) * * *", trigger.ParseOptions{Zone: "Europe/Berlin"}},
		"cron, hashed, seeded":  {"cron", "H/20 * H * *", trigger.ParseOptions{Seed: "nightly"}},
		"fields":                {"cron", "day='3rd fri,last mon' hour=2 minute=30", trigger.ParseOptions{Dialect: "fields", Zone: "Europe/Berlin"}},
		"fields, weeks":         {"cron", "week=1,53 day_of_week=sun,mon", trigger.ParseOptions{Dialect: "fields"}},
		"fields, last years":    {"cron", "year=2026-2030/2 minute=*/20", trigger.ParseOptions{Dialect: "fields", Zone: "America/New_York"}},
		"quartz":                {"cron", "0 0 22-2/3 ? * fri-mon", trigger.ParseOptions{Dialect: "quartz", Zone: "Australia/Lord_Howe"}},
		"quartz, years":         {"cron", "0 30 1 LW 11-3 ? 2026/3", trigger.ParseOptions{Dialect: "quartz"}},
		"cron with limits":      {"cron", "0 0 2 last * *", trigger.ParseOptions{Dialect: "ruqi", Start: "2026-03-01", End: "2026-12-24 12:00:00.5"}},
		"interval":              {"interval", "90s", trigger.ParseOptions{}},
		"interval from a start": {"interval", "days=1 start_date=2026-03-28T20:00:00", trigger.ParseOptions{}},
		"interval with an end":  {"interval", "every 5 hours", trigger.ParseOptions{End: "2026-11-01"}},
		"date":                  {"date", "2026-03-29 03:00:00.000001", trigger.ParseOptions{}},
		"date with an offset":   {"date", "2040-12-31T00:00:00-05:00", trigger.ParseOptions{Zone: "Asia/Tokyo"}},
	} {
		t.Run(name, func(t *testing.T) {
			triggertest.Run(t, func() ruqi.Trigger {
				trig, err := trigger.Parse(c.kind, c.text, c.options)
				if err != nil {
					t.Fatal(err)
				}
				return trig
			}, decode)
		})
	}
	for name, trig := range map[string]ruqi.Trigger{
		"Crontab":       trigger.Crontab("TZ=Pacific/Apia 0 0 * * *"),
		"@reboot":       trigger.Crontab("@reboot"),
		"EveryDuration": trigger.EveryDuration(36 * time.Hour),
		"Date":          trigger.Date(start),
	} {
		t.Run(name, func(t *testing.T) { triggertest.Run(t, func() ruqi.Trigger { return trig }, decode) })
	}
	t.Run("Cron with options", func(t *testing.T) {
		trig, err := trigger.Cron("0 */2 * * *", trigger.CronOptions{Zone: newYork, Start: &start, End: &end})
		if err != nil {
			t.Fatal(err)
		}
		triggertest.Run(t, func() ruqi.Trigger { return trig }, decode)
	})
	t.Run("Interval with options", func(t *testing.T) {
		trig, err := trigger.Interval(time.Hour+time.Microsecond, trigger.IntervalOptions{Zone: newYork, Start: &start, End: &end})
		if err != nil {
			t.Fatal(err)
		}
		triggertest.Run(t, func() ruqi.Trigger { return trig }, decode)
	})
}

func decode(data []byte) (ruqi.Trigger, error) {
	r := ruqi.NewRegistry()
	trigger.Register(r)
	return r.DecodeTrigger(data)
}
