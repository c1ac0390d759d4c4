package trigger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

const nine = `{"kind":"cron","expr":"0 9 * * *"}`

func TestWrongCompositionsAreRefused(t *testing.T) {
	deep := nine
	for range 8 {
		deep = `{"kind":"any","of":[` + deep + `]}`
	}
	decode := decoder(calendars{"shut": daysOf(t, weekendJSON)})
	for text, want := range map[string]string{
		`{"kind":"any"}`:                        "of: missing",
		`{"kind":"any","of":[]}`:                "of: empty",
		`{"kind":"any","of":{}}`:                "of: not a list of triggers",
		`{"kind":"any","of":[1]}`:               "of.0",
		`{"kind":"any","of":[null]}`:            "of.0",
		`{"kind":"all","of":[` + nine + `,{}]}`: "of.1.kind: missing",
		`{"kind":"any","of":[{"kind":"cron","expr":"61 * * * *"},{"kind":"cron","expr":"0 24 * * *"}]}`: "of.0.expr: minute: 61",
		`{"kind":"any","of":[{"kind":"cron","expr":"@reboot"}]}`:                                        "of.0: @reboot stands for no time",
		`{"kind":"any","zone":"Mars","of":[` + nine + `]}`:                                              "zone: tz: there is no zone",
		`{"kind":"any","of":[` + strings.Repeat(nine+",", 99) + nine + `]}`:                             "a trigger of 101 parts; 100 are the most",
		`{"kind":"any","of":[` + strings.Repeat(nine+",", 100) + nine + `]}`:                            "of: 101 of them",
		deep: "nested 9 deep; 8 are the most",
		`{"kind":"any","of":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`:              "brackets deep",
		`{"kind":"except","not":[{"days":{}}]}`:                                                      "of: missing",
		`{"kind":"except","of":` + nine + `}`:                                                        "not: missing",
		`{"kind":"except","of":` + nine + `,"not":[]}`:                                               "not: empty",
		`{"kind":"except","of":` + nine + `,"in":[]}`:                                                "in: unknown member",
		`{"kind":"except","of":` + nine + `,"not":["x"]}`:                                            "not.0",
		`{"kind":"except","of":` + nine + `,"not":[{"calender":"x"}]}`:                               `not.0.calender: unknown member; accepted are kind, calendar and days; did you mean "calendar"?`,
		`{"kind":"only","of":` + nine + `,"in":[{"days":{}},{"dyas":{"weekdays":["mon"]}}]}`:         `in.1.dyas: unknown member; accepted are kind, calendar and days; did you mean "days"?`,
		`{"kind":"except","of":` + nine + `,"not":[{"knd":"cron","expr":"0 9 * * *"}]}`:              `not.0.knd: unknown member; accepted are kind, calendar and days; did you mean "kind"?`,
		`{"kind":"except","of":` + nine + `,"not":[{"holidays":"x"}]}`:                               `not.0: it is a trigger, {"calendar":"NAME"} or {"days":{…}}, and has holidays`,
		`{"kind":"except","of":` + nine + `,"not":[{}]}`:                                             `not.0: it is a trigger, {"calendar":"NAME"} or {"days":{…}}`,
		`{"kind":"except","of":` + nine + `,"not":[{"calendar":"none"}]}`:                            `not.0.calendar: there is no calendar "none"`,
		`{"kind":"except","of":` + nine + `,"not":[{"calendar":""}]}`:                                "not.0.calendar: empty",
		`{"kind":"except","of":` + nine + `,"not":[{"calendar":"shut","version":-1}]}`:               "not.0.version: below zero",
		`{"kind":"except","of":` + nine + `,"not":[{"calendar":"shut","x":1}]}`:                      "not.0.x: unknown member",
		`{"kind":"except","of":` + nine + `,"not":[{"days":{"dates":["2026-02-30"]}}]}`:              "not.0.days.dates.0",
		`{"kind":"except","of":` + nine + `,"not":[{"days":{}}],"else":"later"}`:                     `else: "later" is not one of skip, next, previous`,
		`{"kind":"except","of":` + nine + `,"not":[{"days":{}},` + nine + `],"else":"next"}`:         "else: a fire time is moved to another day only where days are left out",
		`{"kind":"except","of":` + nine + `,"not":[{"days":{"dates":["2026-02-30"]}}],"else":"nxt"}`: `not.0.days.dates.0: "2026-02-30" is not a date that exists, such as 2026-12-25; else: "nxt" is not one of skip, next, previous`,
		`{"kind":"only","of":{"kind":"cron","expr":"@reboot"},"in":[{"days":{}}]}`:                   "of: @reboot stands for no time",
		`{"kind":"only","of":` + nine + `,"in":[{"days":{}},{"kind":"cron","expr":"@reboot"}]}`:      "in.1: @reboot stands for no time",
	} {
		start := time.Now()
		got, err := decode([]byte(text))
		if !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, %v; want %q", text, got, err, want)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%.100s: refused after %v", text, took)
		}
	}
}

func TestWhatNeverFiresIsRefusedWithTheReason(t *testing.T) {
	nine := trigger.Crontab("0 9 * * *")
	all := daysOf(t, `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"]}`)
	start := "2026-01-01"
	first, err := trigger.Interval(2*time.Hour, trigger.IntervalOptions{StartText: start})
	if err != nil {
		t.Fatal(err)
	}
	second, err := trigger.Interval(4*time.Hour, trigger.IntervalOptions{StartText: start + " 01:00"})
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string]ruqi.Binder{
		"of: the parts have no fire time in common":          trigger.All(nine, trigger.Crontab("0 10 * * *")),
		"of: the parts have no fire time in common, so":      trigger.All(first, second),
		"of.0.of: the parts have no fire time in common":     trigger.Any(trigger.All(nine, trigger.Crontab("30 9 * * *"))),
		"not: it leaves out every fire time":                 trigger.Except(nine, trigger.Days(all)),
		"not: it leaves out every fire time, so":             trigger.Except(nine, trigger.Times(trigger.Crontab("0 * * * *"))),
		"in: it holds no fire time":                          trigger.Only(nine, trigger.Times(trigger.Crontab("30 * * * *"))),
		"in: it holds no fire time, so":                      trigger.Only(trigger.Crontab("0 9 29 2 *"), trigger.Days(daysOf(t, `{"yearly":["--02-28"]}`))),
		"of: missing":                                        trigger.Any(nil),
		"not.0: no calendar":                                 trigger.Except(nine, trigger.Days(nil)),
		"not.0: no trigger":                                  trigger.Except(nine, trigger.Times(nil)),
		`not.0.calendar: "x" is the name of a calendar, and`: trigger.Except(nine, trigger.Named(nil, "x")),
		`not.0.calendar: there is no calendar "x"`:           trigger.Except(nine, trigger.Named(calendars{}, "x")),
		"of.1.expr: minute: 61":                              trigger.Any(nine, trigger.Crontab("61 * * * *")),
		"of.expr: minute: 61":                                trigger.Except(trigger.Crontab("61 * * * *"), trigger.Days(all)),
		"not.0.expr: minute: 61":                             trigger.Except(nine, trigger.Times(trigger.Crontab("61 * * * *"))),
	} {
		begin := time.Now()
		bound, err := b.Bind(time.UTC, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "seed")
		if want = strings.Replace(want, "of: missing", "of.0: missing", 1); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, %v; want %q", bound, err, want)
		}
		const patience = 10 * time.Second // a tenth of a second, but for the race detector on a busy machine
		if took := time.Since(begin); took > patience {
			t.Errorf("%s: after %v", want, took)
		}
	}
	// What is over is not refused for that: its job says when it was last due.
	past := trigger.Except(trigger.Date(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), trigger.Days(daysOf(t, weekendJSON)))
	if _, err := past.Bind(time.UTC, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), ""); err != nil {
		t.Errorf("a date in the past: %v", err)
	}
}

func TestNamedCalendars(t *testing.T) {
	source := calendars{"shut": daysOf(t, weekendJSON)}
	text := `{"kind":"any","of":[` + nine + `,{"kind":"except","of":` + nine + `,"not":[{"calendar":"shut","version":1},{"kind":"only","of":` + nine + `,"in":[{"calendar":"shut"}]}]}]}`
	one, err := decoder(source)([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(one.(ruqi.CalendarUser).Calendars()); got != "[{shut 3}]" {
		t.Errorf("it uses %s", got)
	}
	if !strings.Contains(fmt.Sprint(one), `{"calendar":"shut","version":3}`) {
		t.Errorf("%v does not have the version that it was resolved with", one)
	}
	_, err = decoder(brokenSource{})([]byte(`{"kind":"all","of":[{"kind":"except","of":` + nine + `,"not":[{"calendar":"shut"}]}]}`))
	if !errors.Is(err, ruqi.ErrUnavailable) || errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("a source that cannot answer now: %v", err)
	}
}

type brokenSource struct{}

func (brokenSource) Calendar(string) (*daycal.Calendar, int64, error) {
	return nil, 0, fmt.Errorf("read: %w", ruqi.ErrUnavailable)
}

func TestCompositionsAreOneText(t *testing.T) {
	berlin, err := trigger.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range compositions(t) {
		if strings.Contains(name, "plain") || strings.Contains(name, "name") || name == "nested" || strings.HasPrefix(name, "except") {
			continue // other kinds and named calendars are not for Parse, which has no source
		}
		bound, err := one.(ruqi.Binder).Bind(berlin, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := trigger.Parse(bound.Kind(), fmt.Sprint(bound), trigger.ParseOptions{})
		if err != nil || fmt.Sprint(again) != fmt.Sprint(bound) {
			t.Errorf("%s: %v became %v %v", name, bound, again, err)
		}
	}
	one, err := trigger.Parse("any", `{"kind":"any","of":[`+nine+`]}`, trigger.ParseOptions{Zone: "Asia/Tokyo"})
	if err != nil || !strings.Contains(fmt.Sprint(one), `"zone":"Asia/Tokyo"`) {
		t.Errorf("%v %v", one, err)
	}
	for text, o := range map[string]trigger.ParseOptions{
		`{"kind":"all","of":[` + nine + `]}`:                                {},
		`{"kind":"any","of":[` + nine + `]} `:                               {Gap: "skip"},
		`{"kind":"except","of":` + nine + `,"not":[{"days":{}}]}`:           {Zone: "Asia/Tokyo"},
		`{"kind":"except","of":` + nine + `,"not":[{"calendar":"x"}]}`:      {},
		`{"kind":"any","of":[{"kind":"any","of":[` + nine + `],"x":true}]}`: {},
	} {
		kind := "any"
		if strings.Contains(text[:17], "except") {
			kind = "except"
		}
		if one, err := trigger.Parse(kind, text, o); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("%s: %v %v", text, one, err)
		}
	}
}

func TestCompositionsInWords(t *testing.T) {
	weekend := trigger.Days(daysOf(t, weekendJSON))
	a, b := trigger.Date(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), trigger.Date(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	words := func(t ruqi.Trigger, in ruqi.Language) string {
		if d, ok := t.(ruqi.Describer); ok {
			return d.Describe(in)
		}
		return t.Kind() + " " + fmt.Sprint(t)
	}
	en, zh := [2]string{words(a, ruqi.English), words(b, ruqi.English)}, [2]string{words(a, ruqi.Chinese), words(b, ruqi.Chinese)}
	shut := trigger.Named(calendars{"shut": daysOf(t, `{"dates":["2026-05-01"]}`)}, "shut")
	for _, c := range []struct {
		of               ruqi.Describer
		english, chinese string
	}{
		{trigger.Any(a, b), en[0] + "; and also " + en[1], zh[0] + "；以及" + zh[1]},
		{trigger.All(a, b), "whenever these fire at one instant: " + en[0] + "; " + en[1], "仅在以下各项同时触发的时刻：" + zh[0] + "；" + zh[1]},
		{trigger.Except(a, weekend), en[0] + ", except on Saturdays and Sundays", zh[0] + "，但不含周六和周日"},
		{trigger.Except(a, weekend, shut).Else(trigger.ElseNext), en[0] + `, except on Saturdays and Sundays and the days of calendar "shut" (2026-05-01), then on the next day that is not left out`,
			zh[0] + "，但不含周六和周日以及日历“shut”的日期（2026-05-01），遇此则顺延至其后第一个可用日"},
		{trigger.Except(a, weekend).Else(trigger.ElsePrevious), en[0] + ", except on Saturdays and Sundays, then on the last day before that is not left out", zh[0] + "，但不含周六和周日，遇此则提前至其前最后一个可用日"},
		{trigger.Except(a, trigger.Times(b)), en[0] + ", except for the times " + en[1], zh[0] + "，但除去" + zh[1]},
		{trigger.Only(a, weekend), en[0] + ", only on Saturdays and Sundays", zh[0] + "，仅限周六和周日"},
		{trigger.Only(a, weekend, trigger.Times(b)), en[0] + ", only on Saturdays and Sundays or only at the times " + en[1], zh[0] + "，仅限周六和周日或仅限" + zh[1]},
	} {
		if got := c.of.Describe(ruqi.English); got != c.english {
			t.Errorf("%q, want %q", got, c.english)
		}
		if got := c.of.Describe(ruqi.Chinese); got != c.chinese {
			t.Errorf("%q, want %q", got, c.chinese)
		}
	}
}

func TestWhyNot(t *testing.T) {
	weekend := trigger.Days(daysOf(t, weekendJSON))
	shut := trigger.Days(daysOf(t, `{"dates":["2026-05-01"]}`))
	nine := trigger.Crontab("TZ=UTC 0 9 * * *")
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, c := range []struct {
		of   ruqi.Explainer
		at   string
		want string // a part, and what its message has; empty: it fires
	}{
		{trigger.Except(nine, weekend, shut), "2026-04-30T09:00:00Z", ""},
		{trigger.Except(nine, weekend, shut), "2026-05-01T09:00:00Z", "not/1: 2026-05-01, a Friday, is left out: it is among 2026-05-01"},
		{trigger.Except(nine, weekend, shut), "2026-05-02T09:00:00Z", "not/0: 2026-05-02, a Saturday, is left out: it is among Saturdays and Sundays"},
		{trigger.Except(nine, weekend, shut).Else(trigger.ElseNext), "2026-05-01T09:00:00Z", "not/1: 2026-05-01, a Friday, is left out: it is among 2026-05-01; it fires at 2026-05-04T09:00:00Z instead"},
		{trigger.Except(nine, trigger.Times(trigger.Crontab("TZ=UTC 0 9 1 * *"))), "2026-05-01T09:00:00Z", "not/0: the times of this trigger are left out, and it fires then"},
		{trigger.Only(nine, weekend), "2026-05-01T09:00:00Z", "in/0: 2026-05-01, a Friday, is not among Saturdays and Sundays"},
		{trigger.Any(nine, trigger.Crontab("TZ=UTC 0 10 * * *")), "2026-05-01T10:00:00Z", ""},
		{trigger.Any(nine, trigger.Crontab("TZ=UTC 0 10 * * *")), "2026-05-01T11:00:00Z", "of/0"},
		{trigger.All(nine, trigger.Crontab("TZ=UTC 0 9 1 * *")), "2026-05-02T09:00:00Z", "of/1"},
		{trigger.All(nine, trigger.Crontab("TZ=UTC 0 9 1 * *")), "2026-05-01T09:00:00Z", ""},
	} {
		rulings := c.of.Explain(at(c.at), ruqi.English)
		if c.want == "" {
			if len(rulings) > 0 {
				t.Errorf("%v at %s: %v, though it fires", c.of, c.at, rulings)
			}
			continue
		}
		if len(rulings) == 0 || !strings.HasPrefix(rulings[0].Part+": "+rulings[0].Message, c.want) {
			t.Errorf("%v at %s: %v, want %s", c.of, c.at, rulings, c.want)
		}
	}
}

func TestCompositionsDoNotAllocate(t *testing.T) {
	weekend := trigger.Days(daysOf(t, `{"weekdays":["sat","sun"],"yearly":["--12-25"],"dates":["2026-05-01"],"rules":[{"from":"2026-01-01","rule":"FREQ=YEARLY"}]}`))
	nine := trigger.Crontab("TZ=Europe/Berlin 0 9 * * *")
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for name, one := range map[string]ruqi.Trigger{
		"any": trigger.Any(nine, trigger.Crontab("TZ=Europe/Berlin 0 10 * * *")), "all": trigger.All(nine, trigger.Crontab("TZ=Europe/Berlin 0 * 1 * *")),
		"except": trigger.Except(nine, weekend), "only": trigger.Only(nine, weekend),
		"else next": trigger.Except(nine, weekend).Else(trigger.ElseNext), "else previous": trigger.Only(nine, weekend).Else(trigger.ElsePrevious),
	} {
		one.Next(at) // the zone is read, and the rules are followed
		if n := testing.AllocsPerRun(100, func() { one.Next(at) }); n > 0 {
			t.Errorf("%s: %v allocations for a Next", name, n)
		}
	}
}

// What a message says of a long text ends with a whole character.
func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	decode := decoder(calendars{})
	for letters := range 3 {
		long := strings.Repeat("a", letters) + strings.Repeat("每", 30)
		for _, text := range []string{
			`{"kind":"every","text":"` + long + `"}`, `{"kind":"cron","expr":"0 9 * * *","zone":"` + long + `"}`, `{"kind":"date","at":"` + long + `"}`,
			`{"kind":"except","of":` + nine + `,"not":[{"days":{"weekdays":["` + long + `"]}}]}`, `{"kind":"cron","expr":"0 9 * * *","dialect":"` + long + `"}`,
			`{"kind":"cron","expr":"` + long + ` 9 * * *"}`,
		} {
			_, err := decode([]byte(text))
			if err == nil || strings.Contains(err.Error(), `\x`) || strings.Contains(err.Error(), "\ufffd") || !strings.Contains(strings.ReplaceAll(err.Error(), `"…`, "…"), "每…") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// TestNestedSearchesEnd nests two searches of which each would go through all that the other finds.
func TestNestedSearchesEnd(t *testing.T) {
	times := func(expr string) trigger.Part { return trigger.Times(trigger.Crontab("TZ=UTC " + expr)) }
	midnight := trigger.Except(trigger.Crontab("TZ=UTC * * * * * *"), times("1-59 * * * * *"), times("0 1-59 * * * *"), times("0 0 1-23 * * *"))
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if next, ok := midnight.Next(at); !ok || !next.Equal(at.AddDate(0, 0, 1)) {
		t.Errorf("the only time that is left is %v %v", next, ok)
	}
	for name, one := range map[string]ruqi.Stepper{
		"except": trigger.Except(midnight, times("0 0 0 * * *")), "all": trigger.All(midnight, trigger.Crontab("TZ=UTC 30 0 * * *")),
		"any": trigger.Any(trigger.Only(midnight, times("0 30 0 * * *"))), "else": trigger.Only(midnight, trigger.Days(&daycal.Calendar{})).Else(trigger.ElseNext),
	} {
		start := time.Now()
		_, next := one.Next(at)
		_, prev := one.Prev(at)
		if took := time.Since(start); next || prev || took > 10*time.Second {
			t.Errorf("%s: fires %v %v, found in %v", name, next, prev, took)
		}
	}
}

func FuzzCompositions(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"any","zone":"Europe/Berlin","of":[` + nine + `,{"kind":"all","of":[` + nine + `,{"kind":"interval","every":"1h","start":"2026-01-01"}]}]}`,
		`{"kind":"except","of":` + nine + `,"not":[{"calendar":"shut","version":3},{"days":{"dates":["2026-05-01/2026-05-03"]}}],"else":"next"}`,
		`{"kind":"only","of":` + nine + `,"in":[` + nine + `,{"days":"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101\nEND:VEVENT\nEND:VCALENDAR"}]}`,
	} {
		f.Add([]byte(seed))
	}
	c, err := daycal.Parse([]byte(weekendJSON))
	if err != nil {
		f.Fatal(err)
	}
	decode := decoder(calendars{"shut": c})
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := decode(data)
		if err != nil {
			if !errors.Is(err, ruqi.ErrInvalid) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		text, err := one.MarshalJSON()
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := decode(text)
		if err != nil {
			t.Fatalf("%q gave %s: %v", data, text, err)
		}
		if second, err := again.MarshalJSON(); err != nil || string(second) != string(text) {
			t.Fatalf("%s became %s %v", text, second, err)
		}
		at := time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC)
		if next, ok := one.Next(at); ok && !next.After(at) {
			t.Fatalf("%s: after %v comes %v", text, at, next)
		}
	})
}

// TestIntervalsMeet compares the arithmetic of two intervals with a walk along both.
func TestIntervalsMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := base.Add(2 * time.Hour)
	for range 300 {
		var parts []ruqi.Trigger
		hits := map[int64]int{}
		count := 2 + r.IntN(2)
		for range count {
			every, start := time.Duration(1+r.IntN(40))*time.Second, base.Add(time.Duration(r.IntN(600))*time.Second)
			one, err := trigger.Interval(every, trigger.IntervalOptions{Start: &start, End: &end, Zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, one)
			for at := start; !at.After(end); at = at.Add(every) {
				hits[at.Unix()]++
			}
		}
		var want []int64
		for at, n := range hits {
			if n == count {
				want = append(want, at)
			}
		}
		slices.Sort(want)
		all := trigger.All(parts...)
		if got := walkSeconds(all, base.Unix()-1, end.Unix()+1); !slices.Equal(got, want) {
			t.Fatalf("%v: %d times, want %d", all, len(got), len(want))
		}
		if n := all.Count(base.Add(-time.Second), end); n != int64(len(want)) {
			t.Fatalf("%v: counts %d, want %d", all, n, len(want))
		}
	}
}

func TestOldEncodingsOfCompositionsLoad(t *testing.T) {
	for _, text := range []string{
		`{"kind":"any","zone":"Europe/Berlin","of":[{"kind":"interval","every":"5h0m0s","anchor":"2026-03-01T10:00:00+01:00","zone":"Europe/Berlin","start":null,"end":null}]}`,
		`{"kind":"except","of":{"kind":"cron","expr":"0 9 * * *","dialect":"crontab","zone":"Europe/Berlin","gap":"run_after","fold":"auto","start":null,"end":null},"not":[{"calendar":"shut","version":3},{"days":{"dates":["2026-05-01/2026-05-03"],"weekdays":["sat","sun"],"yearly":["--12-25"],"years":{"2026":{"holidays":["2026-01-01"],"workdays":["2026-01-04"]}},"rules":[{"from":"2026-01-01","days":2,"rule":"FREQ=YEARLY"}],"without":{"dates":["2026-05-02"]}}}],"else":"next"}`,
	} {
		one, err := decoder(calendars{"shut": daysOf(t, weekendJSON)})([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(again), `"every":"5h"`, `"every":"5h0m0s"`); got != text {
			t.Errorf("%s\nbecame %s", text, got)
		}
	}
}
