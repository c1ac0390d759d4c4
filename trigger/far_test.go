package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/lookback"
	"github.com/ruqi-dev/ruqi/trigger"
)

// noon returns what fires at noon of New Year's Day of some years.
func noon(t *testing.T, years string) ruqi.Trigger {
	t.Helper()
	c, err := trigger.Cron("0 0 12 1 1 ? "+years, trigger.CronOptions{Dialect: "quartz", Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stepper is what all triggers made of others are.
type stepper interface {
	ruqi.Stepper
	ruqi.Searcher
	ruqi.Binder
}

// TestWhatLiesFurtherThan400YearsIsFound asks triggers made of others whose only fire time is centuries away, forward and backward.
func TestWhatLiesFurtherThan400YearsIsFound(t *testing.T) {
	daily, yearly := trigger.Crontab("TZ=UTC 0 12 * * *"), trigger.Crontab("TZ=UTC 0 12 1 1 *")
	newYork := trigger.Crontab("TZ=America/New_York 0 7 1 1 *") // noon in UTC
	never := trigger.All(trigger.Crontab("TZ=UTC 0 9 1 * *"), trigger.Crontab("TZ=UTC 0 10 1 * *"))
	day := func(date string) trigger.Part { return trigger.Days(daysOf(t, `{"dates":["`+date+`"]}`)) }
	begin := time.Date(2600, 1, 1, 12, 0, 0, 0, time.UTC)
	late, err := trigger.Interval(11*24*time.Hour, trigger.IntervalOptions{Start: &begin})
	if err != nil {
		t.Fatal(err)
	}
	lateCron, err := trigger.Cron("0 12 1 1 *", trigger.CronOptions{Zone: time.UTC, StartText: "2600-01-01"})
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := trigger.Calendar(trigger.CalendarOptions{Years: 7, Hour: 12, StartText: "2600-01-01", Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	words, err := trigger.Words("every 3 days at 12:00", trigger.EveryOptions{StartText: "2600-01-01", Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]stepper{
		"any":                       trigger.Any(noon(t, "2600")),
		"any, of dates":             trigger.Any(trigger.Date(begin), trigger.Date(begin.AddDate(3, 0, 0))),
		"any, beside never":         trigger.Any(never, noon(t, "2600")),
		"any within any":            trigger.Any(trigger.Any(noon(t, "2600"))),
		"all":                       trigger.All(noon(t, "2600"), daily),
		"all, of a date":            trigger.All(trigger.Date(begin), daily),
		"all, in a zone":            trigger.All(noon(t, "2600"), newYork),
		"all, a start":              trigger.All(lateCron, yearly),
		"all, an interval":          trigger.All(late, yearly),
		"all, a calendar":           trigger.All(calendar, yearly),
		"all, words":                trigger.All(words, yearly),
		"except":                    trigger.Except(noon(t, "2600"), day("2026-12-24")),
		"except, till then":         trigger.Except(yearly, trigger.Days(daysOf(t, `{"dates":["0001-01-02/2599-12-31"]}`))),
		"except, a trigger":         trigger.Except(noon(t, "2500,2600"), trigger.Times(noon(t, "2500"))),
		"only":                      trigger.Only(daily, day("2600-01-01")),
		"only, a trigger":           trigger.Only(daily, trigger.Times(noon(t, "2600"))),
		"only, a trigger in a zone": trigger.Only(newYork, trigger.Times(noon(t, "2600"))),
		"moved on":                  trigger.Except(noon(t, "2600"), day("2026-12-24")).Else(trigger.ElseNext),
		"moved back":                trigger.Except(noon(t, "2600"), day("2026-12-24")).Else(trigger.ElsePrevious),
		"moved to it":               trigger.Only(trigger.Crontab("TZ=UTC 0 12 30 12 *"), day("2600-01-01"), day("2600-01-02")).Else(trigger.ElseNext),
	} {
		for _, from := range []time.Time{time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if at, ok := one.Next(from); !ok || !at.Equal(begin) {
				t.Errorf("%s: after %v comes %v %t", name, from, at, ok)
			}
			if at, until, ok := ruqi.SearchNext(one, from); !ok || !at.Equal(begin) {
				t.Errorf("%s: a search from %v comes to %v, %v %t", name, from, at, until, ok)
			}
			if at, until, ok := one.Search(from); !ok && until.IsZero() {
				t.Errorf("%s: a search from %v says that there is none: %v", name, from, at)
			}
		}
		if at, ok := one.Prev(begin); ok {
			t.Errorf("%s: before the first comes %v", name, at)
		} else if lookback.GaveUp(one, begin) {
			t.Errorf("%s: it is said that there may be one before the first", name)
		}
		if strings.HasSuffix(name, "beside never") { // such a part is refused
			continue
		}
		if bound, err := one.Bind(time.UTC, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), ""); err != nil {
			t.Errorf("%s: it is refused: %v", name, err)
		} else if at, ok := bound.Next(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)); !ok || !at.Equal(begin) {
			t.Errorf("%s: bound, it comes at %v %t", name, at, ok)
		}
	}
	early := time.Date(1980, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, one := range map[string]stepper{
		"any":               trigger.Any(noon(t, "1980")),
		"any, beside never": trigger.Any(never, trigger.Date(early)),
		"all":               trigger.All(noon(t, "1980"), daily),
		"all, in a zone":    trigger.All(noon(t, "1980"), newYork),
		"except":            trigger.Except(noon(t, "1980"), day("2026-12-24")),
		"only":              trigger.Only(daily, day("1980-01-01")),
		"only, a trigger":   trigger.Only(daily, trigger.Times(noon(t, "1980"))),
		"moved on":          trigger.Except(noon(t, "1980"), day("2026-12-24")).Else(trigger.ElseNext),
		"moved back":        trigger.Except(noon(t, "1980"), day("2026-12-24")).Else(trigger.ElsePrevious),
	} {
		from := time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)
		if at, ok := one.Prev(from); !ok || !at.Equal(early) {
			t.Errorf("%s: before %v comes %v %t", name, from, at, ok)
		}
		if at, until, ok := ruqi.SearchNext(one, early); ok || !until.IsZero() {
			t.Errorf("%s: after the last comes %v, or none up to %v, %t", name, at, until, ok)
		}
		if strings.HasSuffix(name, "beside never") {
			continue
		}
		if bound, err := one.Bind(time.UTC, from, ""); err != nil {
			t.Errorf("%s: it is refused: %v", name, err)
		} else if at, ok := bound.(ruqi.Stepper).Prev(from); !ok || !at.Equal(early) {
			t.Errorf("%s: bound, the last is %v %t", name, at, ok)
		}
	}
}

// TestWhatHasAnotherPeriodIsNotSaidNeverToFire asks for an instant that comes once in a period of its own, far away, among times that do not meet before.
func TestWhatHasAnotherPeriodIsNotSaidNeverToFire(t *testing.T) {
	// Every 1009 days from a Monday, 1 January 2024, and every 1013 from the second day after: by the Chinese remainder theorem they meet
	// after 510,554 days, in the year 3421.
	zero := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	want := zero.AddDate(0, 0, 510_554)
	chain := func(days int, start string) ruqi.Trigger {
		c, err := trigger.Calendar(trigger.CalendarOptions{Days: days, StartText: start, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := chain(1009, "2024-01-01"), chain(1013, "2024-01-03")
	for name, one := range map[string]stepper{
		"all": trigger.All(a, b), "only": trigger.Only(a, trigger.Times(b)), "any": trigger.Any(trigger.All(a, b)),
	} {
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if at, ok := one.Next(from); !ok || !at.Equal(want) {
			t.Errorf("%s: it comes at %v %t, want %v", name, at, ok, want)
		}
		if at, until, ok := ruqi.SearchNext(one, from); !ok || !at.Equal(want) {
			t.Errorf("%s: a search comes to %v, or none up to %v, %t", name, at, until, ok)
		}
		if _, err := one.Bind(time.UTC, from, ""); err != nil {
			t.Errorf("%s: it is refused: %v", name, err)
		}
	}
}

// TestWhatNeverFiresIsStillSaidSo: 400 years after all years and dates that are named there is nothing new.
func TestWhatNeverFiresIsStillSaidSo(t *testing.T) {
	day := trigger.Days(daysOf(t, `{"dates":["2026-01-01","2700-01-01"]}`))
	nine, ten := trigger.Crontab("TZ=Europe/Berlin 0 9 1 * *"), trigger.Crontab("TZ=Europe/Berlin 0 10 1 * *")
	from := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for name, one := range map[string]stepper{
		"all":       trigger.All(nine, ten),
		"all, far":  trigger.All(noon(t, "2600"), ten),
		"only":      trigger.Only(nine, trigger.Times(ten)),
		"only, far": trigger.Only(trigger.Crontab("TZ=UTC 0 9 2 1 *"), day),
		"except":    trigger.Except(nine, trigger.Times(trigger.Crontab("TZ=Europe/Berlin 0 9 * * *"))),
	} {
		if at, until, ok := one.Search(from); ok || !until.IsZero() {
			t.Errorf("%s: a search comes to %v, or none up to %v, %t", name, at, until, ok)
		}
		if at, ok := one.Prev(from); ok || lookback.GaveUp(one, from) {
			t.Errorf("%s: before comes %v %t, or there may be one", name, at, ok)
		}
		if _, err := one.Bind(time.UTC, from, ""); err == nil || !strings.Contains(err.Error(), "fire time") {
			t.Errorf("%s: bound with %v", name, err)
		}
	}
}

// TestTheFirstAndTheLastDayAreAskedForFromBeyond asks triggers made of others from where no trigger fires any more, for what fires at the very edge.
func TestTheFirstAndTheLastDayAreAskedForFromBeyond(t *testing.T) {
	daily := trigger.Crontab("TZ=UTC 0 0 * * *")
	other := trigger.Days(daysOf(t, `{"dates":["2026-01-01"]}`))
	every, err := trigger.Words("every day at 00:00", trigger.EveryOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	first, last := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC)
	start, err := trigger.Interval(24*time.Hour, trigger.IntervalOptions{Start: &first, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]ruqi.Stepper{
		"cron": daily, "every": every, "interval": start, "any": trigger.Any(daily), "any, of more": trigger.Any(daily, trigger.Any(every)), "all": trigger.All(daily, every),
		"all, an interval": trigger.All(start, daily),
		"except":           trigger.Except(daily, other), "except, a trigger": trigger.Except(daily, trigger.Times(trigger.Crontab("TZ=UTC 0 1 * * *"))),
		"only": trigger.Only(daily, trigger.Times(every)), "moved on": trigger.Except(daily, other).Else(trigger.ElseNext),
		"moved back": trigger.Except(daily, other).Else(trigger.ElsePrevious), "date": trigger.Date(first), "any, of a date": trigger.Any(trigger.Date(first), trigger.Date(last)),
	} {
		for _, from := range []time.Time{{}, time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), first.Add(-time.Microsecond), first.Add(-1), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if at, ok := one.Next(from); !ok || !at.Equal(first) {
				t.Errorf("%s: after %v comes %v %t", name, from, at, ok)
			}
			if at, ok := one.Prev(from.Add(1)); ok {
				t.Errorf("%s: before %v comes %v", name, from, at)
			}
			if n := one.Count(from, first); n != 1 {
				t.Errorf("%s: %d in (%v, %v]", name, n, from, first)
			}
			if n := one.Count(from, first.Add(-1)); n != 0 {
				t.Errorf("%s: %d in (%v, %v]", name, n, from, first.Add(-1))
			}
		}
		if name == "date" {
			continue
		}
		for _, from := range []time.Time{last.Add(1), last.Add(time.Microsecond), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999, time.UTC), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if at, ok := one.Prev(from); !ok || !at.Equal(last) {
				t.Errorf("%s: before %v comes %v %t", name, from, at, ok)
			}
			if at, ok := one.Next(from); ok {
				t.Errorf("%s: after %v comes %v", name, from, at)
			}
			if n := one.Count(last.Add(-time.Microsecond), from); n != 1 {
				t.Errorf("%s: %d in (%v, %v]", name, n, last.Add(-time.Microsecond), from)
			}
		}
	}
}
