package triggertest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger/triggertest"
)

// telling fires at each noon of its zone, knows its fire times and speaks of them. A test can replace its parts by wrong
// ones.
type telling struct {
	hourly
	matches  func(t *telling, at time.Time) bool
	describe func(t *telling, in ruqi.Language) string
	explain  func(t *telling, at time.Time) []ruqi.Ruling
	search   func(t *telling, after time.Time) (at, until time.Time, ok bool)
	mute     bool // explains nothing in Chinese
}

func (t *telling) Next(after time.Time) (time.Time, bool) {
	y, m, d := after.In(t.loc()).Date()
	for day := d; ; day++ {
		if at := time.Date(y, m, day, 12, 0, 0, 0, t.loc()); at.After(after) {
			return at, true
		}
	}
}

func (t *telling) Prev(before time.Time) (time.Time, bool) {
	y, m, d := before.In(t.loc()).Date()
	for day := d; ; day-- {
		if at := time.Date(y, m, day, 12, 0, 0, 0, t.loc()); at.Before(before) {
			return at, true
		}
	}
}

// Search looks through an hour.
func (t *telling) Search(after time.Time) (at, until time.Time, ok bool) {
	if t.search != nil {
		return t.search(t, after)
	}
	return t.within(after, time.Hour)
}

func (t *telling) within(after time.Time, patience time.Duration) (at, until time.Time, ok bool) {
	if at, ok = t.Next(after); ok && at.Sub(after) > patience {
		return time.Time{}, after.Add(patience), false
	}
	return at, time.Time{}, ok
}

// Count can count nothing but what is empty.
func (t *telling) Count(after, until time.Time) int64 {
	if !until.After(after) {
		return 0
	}
	return -1
}

// loadedZones keeps what hourly loads at each question.
var loadedZones sync.Map

func (t *telling) loc() *time.Location {
	loc, ok := loadedZones.Load(t.Zone)
	if !ok {
		loc, _ = loadedZones.LoadOrStore(t.Zone, t.hourly.loc())
	}
	return loc.(*time.Location)
}

func (t *telling) Bind(zone *time.Location, _ time.Time, _ string) (ruqi.Trigger, error) {
	bound := *t
	if bound.Zone == "" {
		bound.Zone = zone.String()
	}
	return &bound, nil
}

func (t *telling) Matches(at time.Time) bool {
	if t.matches != nil {
		return t.matches(t, at)
	}
	return t.noon(at)
}

func (t *telling) noon(at time.Time) bool {
	local := at.In(t.loc())
	return local.Hour() == 12 && local.Minute() == 0 && local.Second() == 0 && local.Nanosecond() == 0
}

func (t *telling) Describe(in ruqi.Language) string {
	if t.describe != nil {
		return t.describe(t, in)
	}
	return t.words(in)
}

func (t *telling) words(in ruqi.Language) string {
	if in == ruqi.Chinese {
		return "在每天中午，" + t.Zone + "时间"
	}
	return "each noon, " + t.Zone + " time"
}

func (t *telling) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	if t.explain != nil {
		return t.explain(t, at)
	}
	reasons := t.reasons(at)
	if t.mute && in == ruqi.Chinese {
		return nil
	}
	return reasons
}

func (t *telling) reasons(at time.Time) []ruqi.Ruling {
	if t.noon(at) {
		return nil
	}
	return []ruqi.Ruling{{Part: "hour", Message: "it is not noon"}}
}

// decodeTelling gives back a sound one, whatever was planted.
func decodeTelling(data []byte) (ruqi.Trigger, error) {
	h, err := decode(data)
	if err != nil {
		return nil, err
	}
	return &telling{hourly: *h.(*hourly)}, nil
}

func TestASoundTriggerThatTellsPasses(t *testing.T) {
	triggertest.Run(t, func() ruqi.Trigger { return &telling{} }, decodeTelling)
}

func TestEveryPlantedFaultInWhatATriggerTellsIsFound(t *testing.T) {
	says := func(english, chinese string) func(*telling, ruqi.Language) string {
		return func(t *telling, in ruqi.Language) string {
			if in == ruqi.Chinese {
				return chinese + t.Zone
			}
			return english + t.Zone
		}
	}
	calls := 0
	for _, c := range []struct {
		fault, law string
		planted    telling
	}{
		{"Search skips a fire time", "Search agrees with Next", telling{search: func(t *telling, after time.Time) (at, until time.Time, ok bool) {
			return t.within(after.Add(13*time.Hour), time.Hour)
		}}},
		{"Search says never", "Search agrees with Next", telling{search: func(*telling, time.Time) (at, until time.Time, ok bool) { return }}},
		{"Search has looked past a fire time", "Search agrees with Next", telling{search: func(t *telling, after time.Time) (at, until time.Time, ok bool) {
			return time.Time{}, after.AddDate(0, 0, 1), false
		}}},
		{"Search does not get on", "strictly later", telling{search: func(t *telling, after time.Time) (at, until time.Time, ok bool) {
			return time.Time{}, after, false
		}}},
		{"Search answers with the question", "strictly later", telling{search: func(t *telling, after time.Time) (at, until time.Time, ok bool) {
			return after, time.Time{}, true
		}}},
		{"Search takes its time", "Search answers in bounded time", telling{search: func(t *telling, after time.Time) (at, until time.Time, ok bool) {
			if after.Year() == 9999 {
				time.Sleep(2100 * time.Millisecond)
			}
			return t.within(after, time.Hour)
		}}},
		{"Matches says yes to the whole second", "Matches agrees", telling{matches: func(t *telling, at time.Time) bool {
			return t.noon(at.Truncate(time.Second))
		}}},
		{"Matches says no", "Matches agrees", telling{matches: func(*telling, time.Time) bool { return false }}},
		{"Matches goes by the zone of the question", "Matches agrees", telling{matches: func(t *telling, at time.Time) bool {
			return t.noon(at) && at.Location().String() == t.Zone
		}}},
		{"Matches takes its time", "Matches answers in bounded time", telling{matches: func(t *telling, at time.Time) bool {
			if at.Year() == 9999 {
				time.Sleep(2100 * time.Millisecond)
			}
			return t.noon(at)
		}}},
		{"there is no description", "one line of text", telling{describe: func(*telling, ruqi.Language) string { return "" }}},
		{"there are two lines", "one line of text", telling{describe: says("each\nnoon ", "每天\n中午")}},
		{"there is a full stop", "without a full stop", telling{describe: func(t *telling, in ruqi.Language) string { return t.words(in) + "." }}},
		{"there is a Chinese full stop", "without a full stop", telling{describe: func(t *telling, in ruqi.Language) string { return t.words(in) + "。" }}},
		{"the zone is not named", "names the zone", telling{describe: func(_ *telling, in ruqi.Language) string {
			return map[ruqi.Language]string{ruqi.English: "each noon", ruqi.Chinese: "每天中午"}[in]
		}}},
		{"the Chinese is English", "Chinese description is Chinese", telling{describe: says("each noon ", "each noon ")}},
		{"another language is Chinese", "does not know", telling{describe: func(t *telling, in ruqi.Language) string {
			if in == ruqi.English {
				return t.words(in)
			}
			return t.words(ruqi.Chinese)
		}}},
		{"the description changes", "same each time", telling{describe: func(t *telling, in ruqi.Language) string {
			calls++
			return t.words(in) + strings.Repeat("!", calls)
		}}},
		{"the description is of the value in memory", "decoded trigger is described alike", telling{describe: says("at noon ", "中午")}},
		{"Explain rules a fire time out", "nothing rules a fire time out", telling{explain: func(*telling, time.Time) []ruqi.Ruling {
			return []ruqi.Ruling{{Part: "hour", Message: "it is not noon"}}
		}}},
		{"Explain has no reason", "something rules out", telling{explain: func(*telling, time.Time) []ruqi.Ruling { return nil }}},
		{"Explain names no part", "names the part", telling{explain: func(t *telling, at time.Time) []ruqi.Ruling {
			reasons := t.reasons(at)
			for i := range reasons {
				reasons[i].Part = ""
			}
			return reasons
		}}},
		{"Explain says nothing in Chinese", "rulings are the same in every language", telling{mute: true}},
		{"Explain takes its time", "Explain answers in bounded time", telling{explain: func(t *telling, at time.Time) []ruqi.Ruling {
			if at.Year() == 9999 {
				time.Sleep(2100 * time.Millisecond)
			}
			return t.reasons(at)
		}}},
	} {
		err := triggertest.Check(func() ruqi.Trigger { fresh := c.planted; return &fresh }, decodeTelling)
		if err == nil || !strings.Contains(err.Error(), c.law) {
			t.Errorf("%s: the suite says %v, want the law %q", c.fault, err, c.law)
		}
	}
}
