package trigger_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// TestAsksForAgreesWithMatchesWhereNoClockChanges: in UTC a wall time is an instant.
func TestAsksForAgreesWithMatchesWhereNoClockChanges(t *testing.T) {
	utc := trigger.ParseOptions{Zone: "UTC"}
	daily, weekly := parsed(t, "cron", "*/30 2,9 * * *", utc), parsed(t, "cron", "0 9 * * mon", utc)
	weekend := daysOf(t, `{"weekdays":["sat","sun"]}`)
	for _, trig := range []ruqi.Trigger{
		daily, weekly, parsed(t, "every", "weekday at 09:00", utc), parsed(t, "every", "hour at :30", utc),
		parsed(t, "calendar", "days=2 hour=9 start_date=2026-03-01", utc),
		trigger.Any(daily, weekly), trigger.All(daily, weekly), trigger.Except(daily, trigger.Days(weekend)),
		trigger.Only(daily, trigger.Days(weekend)), trigger.Only(daily, trigger.Times(weekly), trigger.Days(weekend)),
		trigger.Except(weekly, trigger.Days(daysOf(t, `{"weekdays":["mon","tue"]}`))).Else(trigger.ElseNext),
		trigger.Only(daily, trigger.Days(weekend)).Else(trigger.ElsePrevious),
	} {
		if b, ok := trig.(ruqi.Binder); ok {
			var err error
			if trig, err = b.Bind(time.UTC, instant(t, "2026-03-01T00:00:00Z"), "x"); err != nil {
				t.Fatal(err)
			}
		}
		asked := 0
		for at := instant(t, "2026-03-02T00:00:00Z"); at.Before(instant(t, "2026-03-16T00:00:00Z")); at = at.Add(15 * time.Minute) {
			if got := trigger.AsksFor(trig, at); got != trigger.Matches(trig, at) {
				t.Fatalf("%v at %v: %v", trig, at, got)
			} else if got {
				asked++
			}
		}
		if asked == 0 {
			t.Errorf("%v asks for nothing in two weeks", trig)
		}
	}
	for _, trig := range []ruqi.Trigger{trigger.EveryDuration(time.Hour), hourly{}, trigger.Crontab("@reboot"), trigger.Crontab("61 * * * *"), trigger.All()} {
		if trigger.AsksFor(trig, instant(t, "2026-03-02T00:00:00Z")) {
			t.Errorf("%v asks for a wall time", trig)
		}
	}
	if trigger.AsksFor(daily, instant(t, "2026-03-02T09:00:00.5Z")) {
		t.Error("it asks for half a second")
	}
	if gap := time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC); !trigger.AsksFor(parsed(t, "cron", "30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin"}), gap) {
		t.Error("a time that a clock change leaves out is asked for all the same")
	}
}

func TestAPartInAZoneWithoutTheGapDoesNotAskForTheTime(t *testing.T) {
	gap := trigger.LeftOut{Wall: time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC), Change: instant(t, "2026-03-29T01:00:00Z")}
	daily := func(zone string) ruqi.Trigger {
		return parsed(t, "cron", "30 2 * * *", trigger.ParseOptions{Zone: zone})
	}
	moved := func(of ruqi.Trigger) ruqi.Trigger {
		return trigger.Except(of, trigger.Days(daysOf(t, `{"weekdays":["sat"]}`))).Else(trigger.ElseNext)
	}
	zone, err := trigger.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	berlin := func(of ...ruqi.Trigger) ruqi.Trigger {
		bound, err := trigger.Any(of...).Bind(zone, instant(t, "2026-03-01T00:00:00Z"), "")
		if err != nil {
			t.Fatal(err)
		}
		return bound
	}
	for _, c := range []struct {
		trig         ruqi.Trigger
		asked, after bool
	}{
		{daily("Europe/Berlin"), true, true}, {daily("Asia/Tokyo"), false, false}, {daily("America/New_York"), false, false}, {daily("UTC"), false, false},
		{daily("Europe/London"), false, false}, // its clock is set forward at that instant, over the hour before
		{trigger.Any(daily("UTC"), daily("Europe/Paris")), true, true}, {trigger.All(daily("UTC"), daily("Europe/Paris")), false, false},
		// What is moved there from Saturday is what parts fire at by the clock of the trigger's zone.
		{moved(berlin(daily("Europe/Berlin"), daily("Asia/Tokyo"))), true, true}, {moved(berlin(daily("Asia/Tokyo"))), false, false},
		{moved(berlin(daily("Europe/Paris"))), true, true}, {moved(berlin(daily("Europe/London"))), false, false},
		{moved(berlin(parsed(t, "cron", "30 10 * * *", trigger.ParseOptions{Zone: "Asia/Tokyo"}))), true, true},
		{trigger.EveryDuration(time.Hour), false, false}, {hourly{}, false, false}, {trigger.Crontab("30 2 * * *"), false, false},
	} {
		if got := gap.Asks(c.trig); got != c.asked {
			t.Errorf("%v asks for it: %v", c.trig, got)
		}
		if got := gap.MakesGood(c.trig, gap.Change); got != c.after {
			t.Errorf("%v makes it good after the gap: %v", c.trig, got)
		}
		if gap.MakesGood(c.trig, gap.Change.Add(time.Nanosecond)) || gap.MakesGood(c.trig, gap.Change.Add(30*time.Minute)) {
			t.Errorf("%v makes it good twice", c.trig)
		}
	}
}
