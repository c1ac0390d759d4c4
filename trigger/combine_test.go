package trigger_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
	"github.com/ruqi-dev/ruqi/trigger/triggertest"
)

// calendars is a source for tests.
type calendars map[string]*daycal.Calendar

func (c calendars) Calendar(name string) (*daycal.Calendar, int64, error) {
	if found := c[name]; found != nil {
		return found, 3, nil
	}
	return nil, 0, ruqi.ErrNotFound
}

func daysOf(t *testing.T, text string) *daycal.Calendar {
	t.Helper()
	c, err := daycal.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func decoder(source trigger.CalendarSource) func([]byte) (ruqi.Trigger, error) {
	registry := ruqi.NewRegistry()
	trigger.RegisterWith(registry, source)
	registry.RegisterTrigger("plain", func(data []byte) (ruqi.Trigger, error) {
		if string(data) != `{"kind":"plain"}` {
			return nil, ruqi.Invalid("", string(data), "not plain")
		}
		return plain{}, nil
	})
	return registry.DecodeTrigger
}

// plain fires at noon UTC of each day whose number is a multiple of three; it can do nothing but that.
type plain struct{}

func (plain) Next(after time.Time) (time.Time, bool) {
	const every, noon = 3 * 86400, 43200
	k := (after.Unix() - noon) / every
	for at := (k-1)*every + noon; ; at += every {
		if t := time.Unix(at, 0).UTC(); t.After(after) {
			return t, t.Year() < 9999
		}
	}
}
func (plain) Kind() string                 { return "plain" }
func (plain) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"plain"}`), nil }

const weekendJSON = `{"weekdays":["sat","sun"]}`

// compositions are triggers made of others, by name.
func compositions(t *testing.T) map[string]ruqi.Trigger {
	t.Helper()
	weekend := trigger.Days(daysOf(t, weekendJSON))
	holidays := daysOf(t, `{"dates":["2026-12-24/2027-01-01"],"yearly":["--12-25","--05-01"],
		"rules":[{"from":"2020-11-26","days":2,"rule":"FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"}]}`)
	source := calendars{"holidays": holidays}
	named := trigger.Named(source, "holidays")
	interval := func(every time.Duration, o trigger.IntervalOptions) ruqi.Trigger {
		i, err := trigger.Interval(every, o)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	end := time.Date(2028, 6, 15, 12, 0, 0, 0, time.UTC)
	return map[string]ruqi.Trigger{
		"any of two":                    trigger.Any(trigger.Crontab("30 2 * * mon-fri"), trigger.Crontab("TZ=Asia/Tokyo 0 */6 * * *")),
		"any of one":                    trigger.Any(trigger.Crontab("30 2 * * *")),
		"any with an interval":          trigger.Any(trigger.Every(90*time.Minute), trigger.Crontab("0 9 1 * *")),
		"any of intervals":              trigger.Any(trigger.Every(90*time.Minute), trigger.Every(7*time.Hour)),
		"any with equal times":          trigger.Any(trigger.Crontab("0 * * * *"), trigger.Crontab("*/30 * * * *")),
		"any of dates":                  trigger.Any(trigger.Date(end), trigger.Date(end.AddDate(0, 0, 1)), trigger.Date(end)),
		"any with an end":               trigger.Any(interval(time.Hour, trigger.IntervalOptions{End: &end}), trigger.Date(end)),
		"any with a plain one":          trigger.Any(plain{}, trigger.Crontab("0 9 1 * *")),
		"all of two":                    trigger.All(trigger.Crontab("*/15 * * * *"), trigger.Crontab("30 1-3 * * sun")),
		"all of intervals":              trigger.All(trigger.Every(90*time.Minute), trigger.Every(7*time.Hour)),
		"all of an interval and a cron": trigger.All(interval(5*time.Hour, trigger.IntervalOptions{StartText: "2026-01-01"}), trigger.Crontab("0 0-6 * * wed")),
		"all with an end":               trigger.All(interval(time.Hour, trigger.IntervalOptions{StartText: "2026-01-01", End: &end}), trigger.Crontab("0 9 * * *")),
		"all with a plain one":          trigger.All(plain{}, trigger.Crontab("TZ=UTC 0 12 * * mon")),
		"except weekends":               trigger.Except(trigger.Crontab("30 2 * * *"), weekend),
		"except holidays by name":       trigger.Except(trigger.Crontab("CRON_TZ=America/New_York */30 1-3 * * *"), named, weekend),
		"except other times":            trigger.Except(trigger.Crontab("*/10 * * * *"), trigger.Times(trigger.Crontab("*/30 2 * * *"))),
		"except times and days":         trigger.Except(trigger.Crontab("*/10 * * * *"), trigger.Times(trigger.Crontab("*/30 2 * * *")), weekend),
		"except of an interval":         trigger.Except(trigger.Every(100*time.Minute), weekend, named),
		"except with an end":            trigger.Except(interval(time.Hour, trigger.IntervalOptions{End: &end}), weekend),
		"except of a plain one":         trigger.Except(plain{}, weekend),
		"except, else next":             trigger.Except(trigger.Crontab("0 9 * * mon#1"), weekend, named).Else(trigger.ElseNext),
		"except, else previous":         trigger.Except(trigger.Crontab("0 18 L * *"), weekend, named).Else(trigger.ElsePrevious),
		"except, dense, else next":      trigger.Except(trigger.Crontab("*/20 1-3 * * *"), weekend, named).Else(trigger.ElseNext),
		"except, dense, else previous":  trigger.Except(trigger.Crontab("*/20 1-3 * * *"), weekend, named).Else(trigger.ElsePrevious),
		"except, interval, else next":   trigger.Except(trigger.Every(7*time.Hour), weekend).Else(trigger.ElseNext),
		"only weekends":                 trigger.Only(trigger.Crontab("30 2 * * *"), weekend),
		"only days or times":            trigger.Only(trigger.Crontab("*/10 * * * *"), trigger.Times(trigger.Crontab("*/30 2 * * *")), weekend),
		"only once":                     trigger.Only(trigger.Crontab("0 9 * * *"), trigger.Days(daysOf(t, `{"dates":["2028-02-29"]}`))),
		"only, else next":               trigger.Only(trigger.Crontab("0 2 1 * *"), weekend).Else(trigger.ElseNext),
		"only, else previous":           trigger.Only(trigger.Crontab("0 2 1 * *"), weekend).Else(trigger.ElsePrevious),
		"nested": trigger.Except(trigger.Any(trigger.Except(trigger.Crontab("0 9 * * *"), weekend).Else(trigger.ElseNext), trigger.Crontab("0 12 1 * *")),
			named, trigger.Times(trigger.All(trigger.Crontab("0 9 * * *"), trigger.Crontab("0 9 2 * *")))),
	}
}

func TestCompositionsKeepTheLaws(t *testing.T) {
	holidays := daysOf(t, `{"dates":["2026-12-24/2027-01-01"],"yearly":["--12-25","--05-01"],
		"rules":[{"from":"2020-11-26","days":2,"rule":"FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"}]}`)
	for name := range compositions(t) {
		t.Run(name, func(t *testing.T) {
			triggertest.Run(t, func() ruqi.Trigger { return compositions(t)[name] }, decoder(calendars{"holidays": holidays}))
		})
	}
}
