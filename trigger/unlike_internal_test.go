package trigger

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/zonetable"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// TestOutsideOfWhatIsUnlikeFireTimesRepeat walks the fire times beside the stretch that is unlike, and asks for them 400 years further out.
func TestOutsideOfWhatIsUnlikeFireTimesRepeat(t *testing.T) {
	const cycle = searchMicros
	berlin, err := LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	days := func(text string) Part {
		c, err := daycal.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return Days(c)
	}
	anchor := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	made := func(o CalendarOptions) ruqi.Trigger {
		o.Zone = berlin
		c, err := Calendar(o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Bind(berlin, anchor, "")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	words := func(text string, loc *time.Location) ruqi.Trigger {
		w, err := Words(text, EveryOptions{Zone: loc})
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.Bind(loc, anchor, "seed")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	quartz, err := Cron("0 30 2 ? * 2#3 2031-2044/3,2090", CronOptions{Dialect: "quartz", Zone: berlin, StartText: "2033-01-01", EndText: "2088-02-03"})
	if err != nil {
		t.Fatal(err)
	}
	weekend := days(`{"weekdays":["sat","sun"]}`)
	feasts := days(`{"weekdays":["sun"],"dates":["2500-05-01","2026-12-24/2027-01-02"],"yearly":["--12-25"]}`)
	ruled := days(`{"rules":[{"rule":"FREQ=WEEKLY;INTERVAL=2;BYDAY=TU","from":"2026-01-06"}]}`)
	first := Crontab("TZ=Europe/Berlin 0 9 1 * *")
	for name, c := range map[string]struct {
		of      ruqi.Trigger
		endless bool // there is no end to what is unlike
	}{
		"cron": {first, false}, "years": {quartz, false}, "a date": {Date(anchor), false}, "UTC": {Crontab("TZ=UTC 30 2 29 2 *"), false},
		"an interval":         {EveryDuration(7*time.Hour).bound(t, anchor), false},
		"of its own":          {EveryDuration(11*time.Minute).bound(t, anchor), true},
		"months":              {made(CalendarOptions{Months: 3, StartText: "2026-01-31"}), false},
		"months of its own":   {made(CalendarOptions{Months: 7}), true},
		"months and days":     {made(CalendarOptions{Months: 3, Days: 1}), true},
		"years of a calendar": {made(CalendarOptions{Years: 5, StartText: "2024-02-29"}), false},
		"days":                {made(CalendarOptions{Days: 21}), false},
		"days of its own":     {made(CalendarOptions{Days: 10}), true},
		"ended":               {made(CalendarOptions{Days: 10, EndText: "2100-01-01"}), false},
		"every":               {words("every 3 days at 02:30", berlin), false},
		"weekdays":            {words("every mon, fri at 02:30", berlin), false},
		"a beat":              {words("every hour at :30", berlin), false},
		"random":              {words("every 5 to 10 minutes", berlin), true},
		"once":                {words("in 3 days", berlin), false},
		"any":                 {Any(first, quartz), false},
		"all":                 {All(first, Crontab("TZ=Asia/Tokyo 0 16,17 * * 1-5")), false},
		"except":              {Except(Crontab("TZ=Europe/Berlin 0 9 * * *"), feasts, ruled), false},
		"only":                {Only(Crontab("TZ=Europe/Berlin 0 9 * * *"), feasts), false},
		"moved on":            {Except(first, weekend, feasts).Else(ElseNext), false},
		"moved back":          {Except(first, weekend, feasts).Else(ElsePrevious), false},
		"a stranger":          {struct{ ruqi.Trigger }{first}, true},
		"among strangers":     {Any(first, struct{ ruqi.Trigger }{first}), true},
	} {
		s := unlike(c.of)
		if endless := s.to == always.to; endless != c.endless {
			t.Errorf("%s: to the end of time: %t", name, endless)
		}
		at := s.to
		if s.from > s.to { // nowhere
			at = anchor.UnixMicro()
		}
		for range 300 {
			next, ok := c.of.Next(time.UnixMicro(at))
			if !ok || c.endless {
				break
			}
			if at = next.UnixMicro(); !Matches(c.of, time.UnixMicro(at+cycle)) {
				t.Errorf("%s: it fires at %v, and not 400 years later; unlike is %v to %v", name, next, time.UnixMicro(s.from).UTC(), time.UnixMicro(s.to).UTC())
				break
			}
			if far, ok := c.of.Next(time.UnixMicro(at + cycle)); ok {
				if near, ok := c.of.Next(next); !ok || near.UnixMicro() != far.UnixMicro()-cycle {
					t.Errorf("%s: after %v comes %v, and 400 years later %v", name, next, near, far)
					break
				}
			}
		}
		if at = s.from; s.from > s.to {
			at = anchor.UnixMicro()
		}
		for range 300 {
			prev, ok := ruqi.Prev(c.of, time.UnixMicro(at))
			if !ok || s.from <= always.from {
				break
			}
			if at = prev.UnixMicro(); !Matches(c.of, time.UnixMicro(at-cycle)) {
				t.Errorf("%s: it fires at %v, and not 400 years earlier; unlike is %v to %v", name, prev, time.UnixMicro(s.from).UTC(), time.UnixMicro(s.to).UTC())
				break
			}
		}
	}
}

func (t *IntervalTrigger) bound(test *testing.T, anchor time.Time) ruqi.Trigger {
	b, err := t.Bind(time.UTC, anchor, "")
	if err != nil {
		test.Fatal(err)
	}
	return b
}

// TestClocksAreUnlikeFrom1800To2101 looks at the zones whose clocks were or are changed without a rule first and last.
func TestClocksAreUnlikeFrom1800To2101(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Africa/Casablanca", "Africa/El_Aaiun", "Asia/Manila", "Europe/London", "Europe/Amsterdam", "Asia/Gaza", "America/Sitka"} {
		loc, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		if changes := zonetable.Changes(loc, earliest, ofClocks.from/microsecond); len(changes) != 1 {
			t.Errorf("%s: before 1800 the clock is changed: %v", name, changes[1])
		}
		after := zonetable.Changes(loc, ofClocks.to/microsecond, ofClocks.to/microsecond+2*searchSeconds)
		of := map[int64]int64{}
		for _, c := range after[1:] {
			of[c.At] = c.Offset
		}
		for _, c := range after[1:] {
			if c.At < ofClocks.to/microsecond+searchSeconds && of[c.At+searchSeconds] != c.Offset {
				t.Errorf("%s: the change at %v does not come again after 400 years", name, time.Unix(c.At, 0).UTC())
				break
			}
		}
	}
}
