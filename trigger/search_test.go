package trigger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// inDecember fires each second of December, said in the most laborious way: the search goes through all the seconds of eleven months.
func inDecember() ruqi.Trigger {
	return trigger.Except(trigger.Crontab("TZ=UTC * * * * * *"), trigger.Times(trigger.Crontab("TZ=UTC * * * * 1-11 *")))
}

// TestASearchThatGivesUpSaysHowFarItCame follows searches to the fire time that they lead to.
func TestASearchThatGivesUpSaysHowFarItCame(t *testing.T) {
	from := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	seconds := trigger.Crontab("TZ=UTC * * * * * *")
	never := daysOf(t, `{"dates":["2020-01-01"]}`)
	for name, c := range map[string]struct {
		of   ruqi.Searcher
		want time.Time
	}{
		"except":          {inDecember().(ruqi.Searcher), december},
		"any":             {trigger.Any(inDecember(), trigger.Crontab("TZ=UTC 0 0 24 12 *")), december},
		"any, before":     {trigger.Any(inDecember(), trigger.Crontab("TZ=UTC 0 12 29 11 *")), time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)},
		"all":             {trigger.All(inDecember(), seconds), december},
		"only":            {trigger.Only(seconds, trigger.Times(inDecember())), december},
		"except nothing":  {trigger.Except(inDecember(), trigger.Days(never)), december},
		"moved on":        {trigger.Except(inDecember(), trigger.Days(never)).Else(trigger.ElseNext), december},
		"moved back":      {trigger.Except(inDecember(), trigger.Days(never)).Else(trigger.ElsePrevious), december},
		"moved to others": {trigger.Except(inDecember(), trigger.Days(daysOf(t, `{"dates":["2026-12-01/2026-12-03"]}`))).Else(trigger.ElseNext), december.AddDate(0, 0, 3)},
	} {
		after, gaveUp := from, false
		for n := 0; ; n++ {
			at, until, ok := c.of.Search(after)
			if ok {
				if !at.Equal(c.want) || !gaveUp && !strings.HasPrefix(name, "moved") { // where a day takes too long, it is given more time
					t.Errorf("%s: found %v, want %v, after it was given up: %t", name, at, c.want, gaveUp)
				}
				break
			}
			if !until.After(after) || !until.Before(c.want) || n > 100 {
				t.Errorf("%s: after %v it came to %v", name, after, until)
				break
			}
			after, gaveUp = until, true
		}
	}
	if at, ok := inDecember().Next(december.AddDate(0, 0, -2)); !ok || !at.Equal(december) {
		t.Errorf("Next goes on and finds %v %v", at, ok)
	}
	if at, ok := inDecember().Next(from.AddDate(0, 2, 0)); ok {
		t.Errorf("Next goes through ten months and finds %v", at)
	}
}

// TestABindMayNotKnow binds what has no fire time for as long as Bind looks: whether it ever has one is not known.
func TestABindMayNotKnow(t *testing.T) {
	b := inDecember().(ruqi.Binder)
	if _, err := b.Bind(time.UTC, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), ""); err != nil {
		t.Error(err)
	}
}

// TestDeepNestsOfMovedDays nests what moves fire times as deep as is allowed. No level looks further than the one above needs.
func TestDeepNestsOfMovedDays(t *testing.T) {
	weekend := trigger.Days(daysOf(t, `{"weekdays":["sat","sun"]}`))
	var one ruqi.Trigger = trigger.Crontab("TZ=Europe/Berlin 0 9 1 * *")
	for range 6 {
		one = trigger.Except(one, weekend).Else(trigger.ElseNext)
	}
	start := time.Now()
	bound, err := one.(ruqi.Binder).Bind(time.UTC, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "")
	if err != nil {
		t.Fatal(err)
	}
	simple := trigger.Except(trigger.Crontab("TZ=Europe/Berlin 0 9 1 * *"), weekend).Else(trigger.ElseNext)
	after := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 24 {
		want, _ := simple.Next(after)
		got, ok := bound.Next(after)
		if !ok || !got.Equal(want) {
			t.Fatalf("after %v comes %v %v, want %v", after, got, ok, want)
		}
		if back, ok := bound.(ruqi.Stepper).Prev(got.Add(1)); !ok || !back.Equal(got) {
			t.Fatalf("the one before %v is %v %v", got.Add(1), back, ok)
		}
		after = got
	}
	if took := time.Since(start); took > 20*time.Second { // a tenth of it on a quiet machine
		t.Errorf("it took %v", took)
	}
}

// TestACountWithinACountIsBounded counts through stretches of days, in each of which one must be counted one by one.
func TestACountWithinACountIsBounded(t *testing.T) {
	weekend := trigger.Days(daysOf(t, `{"weekdays":["sat","sun"]}`))
	inner := trigger.Except(trigger.Crontab("TZ=UTC */5 * * * * *"), trigger.Times(trigger.Crontab("TZ=UTC 0 * * * * *")))
	start := time.Now()
	n := trigger.Except(inner, weekend).Count(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if took := time.Since(start); n >= 0 || took > 5*time.Second {
		t.Errorf("counted %d in %v", n, took)
	}
}

// TestManyPartsThatNeverFireAreBoundQuickly binds parts of which each would be searched through for all of 400 years.
func TestManyPartsThatNeverFireAreBoundQuickly(t *testing.T) {
	var parts []ruqi.Trigger
	for minute := range 33 {
		parts = append(parts, trigger.All(trigger.Crontab(fmt.Sprintf("TZ=UTC %d 9 * * *", minute)), trigger.Crontab("TZ=UTC 59 10 * * *")))
	}
	start := time.Now()
	_, err := trigger.Any(parts...).Bind(time.UTC, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "")
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "of.0.of: the parts have no fire time in common") || took > 10*time.Second { // a fifth of a second on a quiet machine
		t.Errorf("%v, after %v", err, took)
	}
}

// hasty is a trigger of a program's own that looks some hours ahead in one search.
type hasty struct{ *trigger.CronTrigger }

func (h hasty) Search(after time.Time) (at, until time.Time, ok bool) {
	const reach = 7 * time.Hour
	if at, ok = h.Next(after); ok && at.Sub(after) > reach {
		return time.Time{}, after.Add(reach), false
	}
	return at, time.Time{}, ok
}

// TestAPartThatGivesUpLosesNothing puts a trigger that gives up by itself into others, beside the same one that does not.
func TestAPartThatGivesUpLosesNothing(t *testing.T) {
	cron := trigger.Crontab("TZ=UTC 30 5,22 * * *")
	weekend, rare := trigger.Days(daysOf(t, `{"weekdays":["sat","sun"]}`)), trigger.Crontab("TZ=UTC 30 22 * * wed")
	for name, of := range map[string]func(ruqi.Trigger) ruqi.Trigger{
		"any": func(x ruqi.Trigger) ruqi.Trigger { return trigger.Any(x, rare) }, "all": func(x ruqi.Trigger) ruqi.Trigger { return trigger.All(x, rare) },
		"except": func(x ruqi.Trigger) ruqi.Trigger { return trigger.Except(x, weekend, trigger.Times(rare)) }, "only": func(x ruqi.Trigger) ruqi.Trigger { return trigger.Only(rare, trigger.Times(x)) },
		"moved on":   func(x ruqi.Trigger) ruqi.Trigger { return trigger.Except(x, weekend).Else(trigger.ElseNext) },
		"moved back": func(x ruqi.Trigger) ruqi.Trigger { return trigger.Except(x, weekend).Else(trigger.ElsePrevious) },
	} {
		want, got := of(cron), of(hasty{cron})
		from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		after, passed := from, int64(0)
		for range 30 {
			expected, _ := want.Next(after)
			var found time.Time
			for ok, asked := false, after; !ok; {
				var until time.Time
				if found, until, ok = got.(ruqi.Searcher).Search(asked); !ok && !until.After(asked) {
					t.Fatalf("%s: after %v it came to %v", name, asked, until)
				}
				asked = until
			}
			passed++
			if !found.Equal(expected) {
				t.Fatalf("%s: after %v comes %v, want %v", name, after, found, expected)
			}
			if n := got.(ruqi.Stepper).Count(from, found); n >= 0 && n != passed {
				t.Fatalf("%s: %d up to %v, want %d", name, n, found, passed)
			}
			after = found
		}
	}
}

// TestCalendarsThatHoldAllDaysBetweenThem leaves out every day by two calendars, of which neither has two days in a row: twelve times over.
func TestCalendarsThatHoldAllDaysBetweenThem(t *testing.T) {
	one, other := trigger.Days(daysOf(t, `{"weekdays":["mon","wed","fri","sun"]}`)), trigger.Days(daysOf(t, `{"weekdays":["tue","thu","sat"]}`))
	var parts []ruqi.Trigger
	for range 12 {
		parts = append(parts, trigger.Except(trigger.Crontab("TZ=UTC 0 9 * * *"), one, other), trigger.Except(trigger.Crontab("TZ=UTC 0 9 * * *"), one, other).Else(trigger.ElseNext))
	}
	start := time.Now()
	_, err := trigger.Any(parts...).Bind(time.UTC, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "")
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "leaves out every fire time") || took > 5*time.Second { // a tenth of it at most on a quiet machine
		t.Errorf("%.200v, after %v", err, took)
	}
}

// TestMatchesLooksAsFarAsNext asks about a fire time that is moved over days on which each second has to be looked at.
func TestMatchesLooksAsFarAsNext(t *testing.T) {
	moved := trigger.Except(inDecember(), trigger.Days(daysOf(t, `{"dates":["2026-11-30"]}`))).Else(trigger.ElseNext)
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	if at, ok := moved.Next(december.Add(-time.Second)); !ok || !at.Equal(december) || !moved.Matches(at) || len(moved.Explain(at, ruqi.English)) > 0 {
		t.Errorf("Next gives %v %v, Matches %v, Explain %v", at, ok, moved.Matches(december), moved.Explain(december, ruqi.English))
	}
}

// TestAPartOfWhichIsNotKnownSparesNoOther binds one part of which it is not known whether it fires, and one that never does.
func TestAPartOfWhichIsNotKnownSparesNoOther(t *testing.T) {
	cron := trigger.Crontab("TZ=UTC 0 9 * * *")
	_, err := trigger.Any(trigger.Except(trigger.Any(inDecember(), inDecember()), trigger.Times(cron)), trigger.Except(cron, trigger.Days(daysOf(t, `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"]}`)))).
		Bind(time.UTC, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "")
	if err == nil || !strings.Contains(err.Error(), "of.1.not: it leaves out every fire time") {
		t.Errorf("%v", err)
	}
}

// TestNestsOfMovedYears moves each fire time of a year to one day, four levels deep, and each level has those of another rhythm beside it.
func TestNestsOfMovedYears(t *testing.T) {
	daily := trigger.Crontab("TZ=UTC 0 9 * * *")
	but := func(of ruqi.Trigger, yearly string) ruqi.Trigger {
		all := daysOf(t, `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"],"without":{"yearly":["`+yearly+`"]}}`)
		return trigger.Except(of, trigger.Days(all)).Else(trigger.ElseNext)
	}
	one := but(trigger.Any(but(trigger.Any(but(daily, "--07-01"), daily), "--06-01"), daily), "--05-01")
	one = but(one, "--04-01")
	from, want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 4, 1, 9, 0, 0, 0, time.UTC)
	start := time.Now()
	at, ok := one.Next(from)
	before, was := one.(ruqi.Stepper).Prev(want.Add(time.Second))
	if took := time.Since(start); !ok || !at.Equal(want) || !was || !before.Equal(want) || !one.(ruqi.Matcher).Matches(want) || took > 5*time.Second {
		t.Errorf("next %v %t, the one before %v %t, after %v", at, ok, before, was, took)
	}
}

// TestMovedFireTimesOfAYearAreCounted counts three days of fire times, of which each is moved over most of a year.
func TestMovedFireTimesOfAYearAreCounted(t *testing.T) {
	days := trigger.Days(daysOf(t, `{"dates":["2022-10-06/2022-10-08"],"yearly":["--09-30"]}`))
	moved := trigger.Only(trigger.Crontab("TZ=Pacific/Kwajalein */20 * * * *"), days).Else(trigger.ElsePrevious)
	from, until := time.Date(2022, 9, 20, 0, 0, 0, 0, time.UTC), time.Date(2022, 10, 20, 0, 0, 0, 0, time.UTC)
	if n := moved.Count(from, until); n != 4*72 {
		t.Errorf("counted %d", n)
	}
}

// stuck has a fire time, but its search does not get on to it.
type stuck struct{ ruqi.Trigger }

func (stuck) Search(after time.Time) (at, until time.Time, ok bool) { return time.Time{}, after, false }

func TestAPartWhoseSearchDoesNotGetOnIsNotOneThatNeverFires(t *testing.T) {
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	part := stuck{trigger.EveryDuration(time.Hour)}
	weekend := trigger.Days(daysOf(t, `{"weekdays":["sat","sun"]}`))
	for name, of := range map[string]ruqi.Trigger{
		"any": trigger.Any(part), "all": trigger.All(part, trigger.EveryDuration(time.Hour)), "except": trigger.Except(part, weekend), "only": trigger.Only(part, weekend),
		"moved on": trigger.Except(part, weekend).Else(trigger.ElseNext), "moved back": trigger.Except(part, weekend).Else(trigger.ElsePrevious),
	} {
		if at, until, ok := of.(ruqi.Searcher).Search(from); ok || until.IsZero() {
			t.Errorf("%s: %v, %v, %t; want that the search was given up", name, at, until, ok)
		}
	}
}
