package trigger_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// excepted are days as they are typed behind except.
var excepted = []struct {
	text     string
	weekdays []time.Weekday
	dates    []string // and holidays, below
}{
	{"sunday", []time.Weekday{time.Sunday}, nil},
	{"sundays and mondays", []time.Weekday{time.Sunday, time.Monday}, nil},
	{"on saturday", []time.Weekday{time.Saturday}, nil},
	{"weekends", []time.Weekday{time.Saturday, time.Sunday}, nil},
	{"the weekend", []time.Weekday{time.Saturday, time.Sunday}, nil},
	{"tue, wed", []time.Weekday{time.Tuesday, time.Wednesday}, nil},
	{"saturday to monday", []time.Weekday{time.Saturday, time.Sunday, time.Monday}, nil},
	{"weekdays", []time.Weekday{1, 2, 3, 4, 5}, nil},
	{"holidays", nil, holidays},
	{"holidays and sundays", []time.Weekday{time.Sunday}, holidays},
	{"on public holidays or on a friday", []time.Weekday{time.Friday}, holidays},
	{"march 17", nil, []string{"2026-03-17"}},
	{"sundays and the 17th of march", []time.Weekday{time.Sunday}, []string{"2026-03-17"}},
	{"2026-03-18", nil, []string{"2026-03-18"}},
}

var holidays = []string{"2026-03-16", "2026-04-03", "2026-04-06", "2026-04-15"}

// shownWith returns the trigger that a message shows, nil where it shows none.
func shownWith(t *testing.T, message string) ruqi.Trigger {
	t.Helper()
	if _, whole, is := strings.Cut(message, "; as a whole, write "); is {
		return words(t, whole)
	}
	found := regexp.MustCompile(`that is a kind except, (\{.*\})(; |, at column)`).FindStringSubmatch(message)
	if found == nil {
		return nil
	}
	text := strings.ReplaceAll(found[1], `{"calendar":"holidays"}`, `{"days":{"dates":["`+strings.Join(holidays, `","`)+`"]}}`)
	trig, err := decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	return trig
}

// TestNothingThatIsSuggestedFiresOnDaysThatAreLeftOut compares what is shown, time by time, with the trigger that leaves nothing out.
func TestNothingThatIsSuggestedFiresOnDaysThatAreLeftOut(t *testing.T) {
	from := instant(t, "2026-03-01T00:00:00Z")
	bound := func(trig ruqi.Trigger) []time.Time {
		if b, ok := trig.(ruqi.Binder); ok {
			var err error
			if trig, err = b.Bind(time.UTC, from, "a"); err != nil {
				t.Fatal(err)
			}
		}
		fires, _ := trigger.Between(trig, from.Add(time.Second), from.AddDate(0, 0, 60), 100_000)
		return fires
	}
	working := `{"kind":"except","of":{"kind":"cron","expr":"0 9 * * mon-fri"},"not":[{"days":{"dates":["` + strings.Join(holidays, `","`) + `"]}}]}`
	for base, all := range map[string]string{
		"every day at 9:00":               "0 9 * * *",
		"every day":                       "0 0 * * *",
		"daily at 9:00":                   "0 9 * * *",
		"every weekday at 9:00":           "0 9 * * mon-fri",
		"mon-thu at 9am":                  "0 9 * * mon-thu",
		"every day at 9:00 and 17:30":     "0 9 * * *|30 17 * * *",
		"every hour":                      "0 * * * *",
		"every 10 minutes":                "*/10 * * * *",
		"every ten minutes":               "*/10 * * * *",
		"every month on the 15th at 9:00": "0 9 15 * *",
		"15th of each month at 9:00":      "0 9 15 * *",
		"every monday and friday at 7:30": "30 7 * * mon,fri",
		"every other day at 8:00":         "0 8 1-31/2 3,5 *|0 8 2-30/2 4 *", // since March 1st, for 60 days
		"first monday at 8:00":            "0 8 * * mon#1",
		"every second friday":             "0 0 * * fri#2",
		"every working day at 9:00":       working,
	} {
		var every []time.Time
		for part := range strings.SplitSeq(all, "|") {
			kind, err := ruqi.Trigger(nil), error(nil)
			if part[0] == '{' {
				kind, err = decode([]byte(part))
			} else {
				kind, err = trigger.Parse("cron", part, trigger.ParseOptions{Zone: "UTC"})
			}
			if err != nil {
				t.Fatal(err)
			}
			every = append(every, bound(kind)...)
		}
		slices.SortFunc(every, time.Time.Compare)
		for _, c := range excepted {
			var want []time.Time
			for _, at := range every {
				if !slices.Contains(c.weekdays, at.Weekday()) && !slices.Contains(c.dates, at.Format(time.DateOnly)) {
					want = append(want, at)
				}
			}
			for _, but := range []string{"except", "except for", "but not", "without", "excluding", "other than", "unless it is", "not"} {
				texts := []string{base + " " + but + " " + c.text, base + ", " + but + " " + c.text}
				if day, at, ok := strings.Cut(base, " at "); ok {
					texts = append(texts, day+" "+but+" "+c.text+" at "+at)
				}
				if but == "except" && (strings.HasPrefix(base, "every") || strings.HasPrefix(base, "daily")) {
					texts = append(texts, "except "+c.text+", "+base)
				}
				for _, text := range texts {
					_, err := trigger.Parse("every", text, trigger.ParseOptions{Now: from})
					if err == nil {
						t.Errorf("%q is accepted", text)
						continue
					}
					trig := shownWith(t, err.Error())
					if trig == nil {
						if len(want) > 0 {
							t.Errorf("%q shows no trigger: %v", text, err)
						}
						continue
					}
					if got := bound(trig); !slices.EqualFunc(got, want, time.Time.Equal) {
						t.Errorf("%q: %v\nfires %d times, want %d", text, err, len(got), len(want))
					}
				}
			}
		}
	}
}

// TestForDaysThatCannotBeLeftOutNothingIsSuggested has what is left out that is no whole days, or what is not plain.
func TestForDaysThatCannotBeLeftOutNothingIsSuggested(t *testing.T) {
	for _, text := range []string{
		"every hour except 3:00", "every hour except 12:00 and 13:00", "every day at 9:00 except in august", "every day except the 1st", "every day at 9:00 except the first monday",
		"every day except the last friday", "every weekday except the first monday of the month", "every minute except 9:00-17:00", "every day except every other sunday", "every day except working days",
		"every day except sunday mornings", "every day except holidays in august", "every hour except holidays and 3:00", "every monday except the last monday of the month at 9:00",
		"every monday except monday", "every 2 weeks on monday except mondays", "every first monday except mondays", "every working day except weekdays", "every day except weekdays and weekends",
		"every day at 9:00 except sunday at 10:00", "in 5 minutes except sunday", "every 2 months except holidays", "quarterly except holidays", "monthly except", "every day except", "except sunday",
		"every day but", "every 5 lightyears except sunday", "every day not", "at 2030-01-01 09:00 except sunday", "every day except sunday or maybe monday", "every day other than", "every day apart from",
		"every day except sunday until tomorrow", "every day at 9:00 except sunday until 2030-02-31", "every weekday except friday until 2030-01-01 please", "every 10 minutes until 2030-01-01 at 9:00 except sunday",
		"every weekday except holidays until 2030",
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		if said := err.Error(); strings.Contains(said, "write ") || strings.Contains(said, "{") || strings.Contains(said, "kind cron") || strings.Contains(said, "kind calendar") {
			t.Errorf("%q: %s", text, said)
		}
	}
}

// TestDaysThatAreLeftOutAreToldInFewWords is what some are told.
func TestDaysThatAreLeftOutAreToldInFewWords(t *testing.T) {
	for text, right := range map[string]string{
		"every day at 9:00 except sunday":                            "; as a whole, write every monday, tuesday, wednesday, thursday, friday, saturday at 09:00",
		"every day except weekends at 9:00":                          "; as a whole, write every weekday at 09:00",
		"every day except mon":                                       "; as a whole, write every tuesday, wednesday, thursday, friday, saturday, sunday at 00:00",
		"every day at 9:00 except sunday until 2030-01-01":           "friday, saturday at 09:00 until 2030-01-01",
		"every day at 9:00 until 2030-01-01T00:00:00Z except sunday": "friday, saturday at 09:00 until 2030-01-01T00:00:00Z",
		"every 10 minutes except sunday":                             `{"kind":"except","of":{"kind":"every","text":"every 10 minutes"},"not":[{"days":{"weekdays":["sun"]}}]}, at column 18`,
		"every 2 hours until 2030-01-01 except weekends":             `"text":"every 2 hours until 2030-01-01"},"not":[{"days":{"weekdays":["sat","sun"]}}]}`,
		"every day except holidays and december 24":                  `"expr":"0 0 * * *"},"not":[{"days":{"yearly":["--12-24"]}},{"calendar":"holidays"}]}`,
		"every month on the 15th at 9:00 except sunday":              `"text":"every month on the 15th at 09:00"},"not":[{"days":{"weekdays":["sun"]}}]}`,
		"every weekday except fridays and holidays":                  `"expr":"0 0 * * mon-fri"},"not":[{"days":{"weekdays":["fri"]}},{"calendar":"holidays"}]}`,
		"every holiday at 9:00":                                      `{"kind":"only","of":{"kind":"cron","expr":"0 9 * * *"},"in":[{"calendar":"holidays"}]}`,
	} {
		if _, err := trigger.Parse("every", text, trigger.ParseOptions{}); err == nil || !strings.Contains(err.Error(), right) {
			t.Errorf("%q: got %v, want %s", text, err, right)
		}
	}
}
