package trigger_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/triggertest"
)

// lawful are texts of the kinds calendar and every, with options: all forms, bound by themselves and not.
var lawful = []struct {
	kind, text string
	o          trigger.ParseOptions
}{
	{"calendar", "days=3 hour=9", trigger.ParseOptions{}},
	{"calendar", "days=1 hour=2 minute=30", trigger.ParseOptions{}},
	{"calendar", "months=1 hour=2 minute=15 start_date=2026-01-31", trigger.ParseOptions{}},
	{"calendar", "years=1 start_date=2024-02-29", trigger.ParseOptions{Zone: "America/New_York"}},
	{"calendar", "months=1 days=1 hour=19 start_date=2026-01-31 end_date=2040-12-31", trigger.ParseOptions{}},
	{"calendar", "years=500 start_date=1600-01-01", trigger.ParseOptions{Zone: "UTC"}},
	{"calendar", "weeks=2 hour=1 minute=30 start_date='2026-03-05 10:00'", trigger.ParseOptions{Gap: "shift", Fold: "both"}},
	{"calendar", "days=1 hour=2 minute=30", trigger.ParseOptions{Gap: "skip", Fold: "second", Start: "2026-03-01T00:00:00Z", End: "2026-10-26 10:00"}},
	{"every", "every 10 minutes", trigger.ParseOptions{}},
	{"every", "every 5 to 10 minutes", trigger.ParseOptions{}},
	{"every", "every 1 to 2 seconds until 2026-03-28 23:30", trigger.ParseOptions{}},
	{"every", "every 1 to 20 weeks", trigger.ParseOptions{Start: "2026-03-29", Zone: "Asia/Tokyo"}},
	{"every", "every monday at 13:15 until 2030-01-01", trigger.ParseOptions{}},
	{"every", "every day at 02:30, 01:30:15, 23:59:59", trigger.ParseOptions{}},
	{"every", "every weekday", trigger.ParseOptions{Zone: "America/Santiago", Fold: "both"}},
	{"every", "every 3 days at 09:00 and 17:00", trigger.ParseOptions{}},
	{"every", "every 2 weeks at 02:00", trigger.ParseOptions{Start: "2026-03-01", Gap: "skip"}},
	{"every", "every minute at :59", trigger.ParseOptions{}},
	{"every", "every hour at :15", trigger.ParseOptions{Zone: "Australia/Lord_Howe"}},
	{"every", "every hour at :15:30", trigger.ParseOptions{Fold: "first"}},
	{"every", "in 1 hour 30 minutes", trigger.ParseOptions{}},
	{"every", "in 45 seconds", trigger.ParseOptions{Now: time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)}},
	{"every", "at 2026-03-29 03:30", trigger.ParseOptions{}},
}

func TestCalendarsAndWordsKeepTheLaws(t *testing.T) {
	for _, c := range lawful {
		t.Run(c.kind+" "+c.text, func(t *testing.T) {
			triggertest.Run(t, func() ruqi.Trigger {
				trig, err := trigger.Parse(c.kind, c.text, c.o)
				if err != nil {
					t.Fatal(err)
				}
				return trig
			}, decode)
		})
	}
	for name, trig := range map[string]ruqi.Trigger{
		"every 10 minutes, built":  trigger.Every(10).Minutes(),
		"with an end, built":       trigger.Every(10).Hours().Until("2027-01-01"),
		"a date, built by Words":   words(t, "at 2026-10-25 02:30"),
		"random, built":            trigger.Every(5).To(10).Minutes(),
		"a weekday, built":         trigger.Every(1).Monday().At("13:15").Until("2030-01-01").In(zone(t, "Europe/Berlin")),
		"now":                      words(t, "now"),
		"days of a chain, built":   trigger.Every(2).Days().At("02:30").From("2026-03-01 12:00"),
		"elapsed with wall limits": words(t, "every 5 to 6 hours until 2026-11-01 10:00"),
	} {
		t.Run(name, func(t *testing.T) { triggertest.Run(t, func() ruqi.Trigger { return trig }, decode) })
	}
}

func words(t *testing.T, text string) ruqi.Trigger {
	t.Helper()
	trig, err := trigger.Words(text, trigger.EveryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trig
}
