package trigger_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/trigger"
)

// What is suggested has the time and the days that were typed, and can be read.
func TestASuggestionHasTheTimeAndDaysThatWereTyped(t *testing.T) {
	cron, except, calendar := regexp.MustCompile(`kind cron, ([^;]+?)(; |, with the|, at column)`), regexp.MustCompile(`kind except, (\{.*\})(; the other|, with the|, at column)`), regexp.MustCompile(`kind calendar with its first date, (.*?)(, with the|, at column)`)
	for text, right := range map[string]string{
		"first monday at 14:00":                                    "0 14 * * mon#1",
		"first monday 14:00":                                       "0 14 * * mon#1",
		"every first monday at 2 pm":                               "0 14 * * mon#1",
		"every first monday at noon":                               "0 12 * * mon#1",
		"every first monday at 14":                                 "0 14 * * mon#1",
		"every first monday at 14.30":                              "30 14 * * mon#1",
		"every first monday at 14:00:30":                           "30 0 14 * * mon#1",
		"every first monday at 9:00 and 14:00":                     "0 9,14 * * mon#1",
		"every first monday at 9:00 and 14:30":                     "0 9 * * mon#1",
		"last friday of the month at 17:30":                        "30 17 * * friL",
		"at 17:30 on the last friday of march":                     "30 17 * 3 friL",
		"the first and third monday at 14:00":                      "0 14 * * mon#1,mon#3",
		"every first monday and friday at 14:00":                   "0 14 * * mon#1,fri#1",
		"every first monday and last friday at 14:00":              "0 14 * * mon#1,friL",
		"every 2nd tuesday at 14:00":                               "0 14 * * tue#2",
		"every first monday at 14:00 until 2030-01-01 10:00":       "0 14 * * mon#1",
		"every working day at 14:00":                               `"expr":"0 14 * * *"}`,
		"the last working day of the month at 18:15":               `"expr":"15 18 L * *"}`,
		"every month on the first working day at 6:00":             `"expr":"0 6 1 * *"}`,
		"every weekday except holidays at 7:30":                    `"of":{"kind":"cron","expr":"30 7 * * mon-fri"}`,
		"every weekday at 7:30 except holidays":                    `"expr":"30 7 * * mon-fri"}`,
		"every weekday except holidays":                            `"expr":"0 0 * * mon-fri"}`,
		"monday to thursday at 7:30, except holidays":              `"expr":"30 7 * * mon-thu"}`,
		"every monday and friday at 7:30, except holidays":         `"expr":"30 7 * * mon,fri"}`,
		"every month on the 15th except holidays at 7:30":          `"of":{"kind":"every","text":"every month on the 15th at 07:30"}`,
		"every 2 weeks on monday except holidays at 7:30":          `"text":"every 2 weeks on monday at 07:30"}`,
		"every monday at 9:00 and 14:30 except holidays":           `"of":{"kind":"every","text":"every monday at 09:00, 14:30"}`,
		"every other day except holidays at 8:00":                  `"text":"every 2 days at 08:00"}`,
		"every 2 hours except holidays":                            `"text":"every 2 hours"}`,
		"every hour at :15 except holidays":                        `"text":"every hour at :15"}`,
		"first monday at 8:00 unless a holiday":                    `"expr":"0 8 * * mon#1"}`,
		"every 2 months at 14:00":                                  "months=2 hour=14 start_date=2027-01-15",
		"every 2 months":                                           "months=2 start_date=2027-01-15",
		"every other month on the 3rd at 14:30":                    "months=2 hour=14 minute=30 start_date=2027-01-03",
		"every 2 years on march 20 at 14:00 until 2030-01-01":      "years=2 hour=14 start_date=2027-03-20, with the end beside it",
		"every 2 months on the last day at 14:00 until 2030-01-01": "0 14 L */2 *, with the end beside it",
		"quarterly at 14:00 until 2030-01-01":                      "0 14 1 */3 *, with the end beside it",
		"every 2 years on march 20 at 14:00:05":                    "years=2 hour=14 second=5 start_date=2027-03-20",
		"every 4 years on february 29 at 14:00":                    "years=4 hour=14 start_date=2028-02-29",
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), right) {
			t.Errorf("%q: got %v, want %s", text, err, right)
			continue
		}
		said := err.Error()
		if found := except.FindStringSubmatch(said); found != nil {
			_, err = decode([]byte(strings.Replace(found[1], `{"calendar":"holidays"}`, `{"days":{"dates":["2026-12-25"]}}`, 1)))
		} else if found := calendar.FindStringSubmatch(said); found != nil {
			_, err = trigger.Parse("calendar", found[1], trigger.ParseOptions{})
		} else if found := cron.FindStringSubmatch(said); found != nil {
			_, err = trigger.Parse("cron", found[1], trigger.ParseOptions{})
		}
		if err != nil && err.Error() == said {
			t.Errorf("%q: no trigger is shown: %s", text, said)
		} else if err != nil {
			t.Errorf("%q: what is shown cannot be read: %s: %v", text, said, err)
		}
	}
}

func TestWordsThatAreRefusedKeepTheirTimeInWhatIsWritten(t *testing.T) {
	for text, right := range map[string]string{
		"monthly 14:00":            "; write every month on the 1st at 14:00, at column 1",
		"daily 9pm":                "; write every day at 21:00, at column 1",
		"daily noon":               "; write every day at 12:00, at column 1",
		"weekly monday at 14:00":   "; write every week on, at column 1",
		"biweekly friday 14:00":    ", at column 1; as a whole, write every 2 weeks on friday at 14:00",
		"noon on monday":           "; write every monday at 12:00, at column 1",
		"every noon on weekdays":   "; write weekday at 12:00, at column 7",
		"every weekly 14:00":       "; write monday at 14:00, at column 7",
		"every month at 14:00":     "every month on the 15th at 14:00",
		"every year at noon":       "every year on march 15 at 12:00",
		"every 2 mondays at 14:00": "; write 2 weeks on monday, at column 7",
		"every 3 fridays":          "; write 3 weeks on friday, at column",
		"every 2 weekdays at 7:30": "weekdays are not counted, by words or by another kind, at column", // every weekday would be twice as often
		// Of a time that cannot be read it is said why, before anything is suggested with another.
		"every first monday at 12pm":        "12pm is noon to some",
		"every first monday 12pm":           "12pm is noon to some",
		"every working day at 25:00":        `"25:00" is not understood here`,
		"every 2 months at 24:00":           `"24:00" is not understood here`,
		"quarterly at 13pm":                 "the hours before pm are 1 to 11",
		"every weekday except holidays at":  "the text ends too early (accepted: HH:MM",
		"every first monday at 9:00 and 14": "0 9,14 * * mon#1",
	} {
		if _, err := trigger.Parse("every", text, trigger.ParseOptions{}); err == nil || !strings.Contains(err.Error(), right) {
			t.Errorf("%q: got %v, want %s", text, err, right)
		}
		healed(t, "every", text)
	}
}

// TestNoTimeIsSuggestedThatNobodyTyped reads what words without a time are answered with: at most the 00:00 that they mean.
func TestNoTimeIsSuggestedThatNobodyTyped(t *testing.T) {
	accepted, times := regexp.MustCompile(`\(accepted[^)]*\)`), regexp.MustCompile(`\d?\d:\d\d|hour=\d+|kind cron, \d+ \d+|"expr":"\d+ \d+`)
	for _, text := range []string{
		"every second friday", "every month on the last monday", "every day except mon", "first monday", "every month", "every year", "every 2 months", "every 2 months on the last day", "every 2 years", "every other month on the 3rd",
		"quarterly", "half-yearly on the 15th", "monthly", "weekly", "every working day", "the last working day of the month", "every weekday except holidays", "every month on the 15th except sundays", "every 2 mondays", "every 3 weekdays",
		"every 2 weeks monday", "on mondays", "mon-fri", "the 15th of each month", "every march 15", "every holiday", "every quarter", "in 2 months", "every 1 to 2 months", "last friday of march", "every first monday unless a holiday",
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		for _, found := range times.FindAllString(accepted.ReplaceAllString(err.Error(), ""), -1) {
			if found != "00:00" && found != "hour=0" && found != "kind cron, 0 0" && found != `"expr":"0 0` {
				t.Errorf("%q: %v: nobody typed %s", text, err, found)
			}
		}
	}
}
