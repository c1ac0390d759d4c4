package trigger_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestWhatManyWriteIsAnsweredWithWhatIsAccepted(t *testing.T) {
	for _, c := range []struct{ kind, text, says, right string }{
		{"every", "hourly", "; write every hour at :00, at column 1", "every hour at :00"},
		{"every", "daily", "; write every day at 00:00, at column 1", "every day at 00:00"},
		{"every", "WEEKLY", "; write every monday at 00:00, at column 1", "every monday at 00:00"},
		{"every", "monthly", "; write every month on the 1st at 00:00, at column 1", "every month on the 1st at 00:00"},
		{"every", "yearly", "; write every year on january 1 at 00:00, at column 1", "every year on january 1 at 00:00"},
		{"every", "annually", "; write every year on january 1 at 00:00, at column 1", "every year on january 1 at 00:00"},
		{"every", "every monthly", "; write month on the 1st at 00:00, at column 7", "every month on the 1st at 00:00"},
		{"every", "daily at 9:00", "; write every day, at column 1", "every day at 9:00"},
		{"every", "hourly at :15", "; write every hour, at column 1", "every hour at :15"},
		{"every", "monthly on the 15th", "; write every month, at column 1", "every month on the 15th"},
		{"every", "weekly on friday at 9:00", "; write every week, at column 1", "every week on friday at 9:00"},
		{"every", "yearly on march 15", "; write every year, at column 1", "every year on march 15"},
		{"every", "every weekend", "; write saturday and sunday, at column 7", "every saturday and sunday"},
		{"every", "every friday and weekend at 9:00", "; write saturday and sunday, at column 18", "every friday and saturday and sunday at 9:00"},
		{"every", "every day at noon", "; write 12:00, at column 14", "every day at 12:00"},
		{"every", "every day at 9:00 and midnight", "; write 00:00, at column 23", "every day at 9:00 and 00:00"},
		{"every", "midnight", "; write every day at 00:00, at column 1", "every day at 00:00"},
		{"every", "every noon", "; write day at 12:00, at column 7", "every day at 12:00"},
		{"every", "every other day", `"other day" is not understood here`, "every 2 days"},
		{"every", "every other week on monday", "; write 2 weeks, at column 7", "every 2 weeks on monday"},
		{"every", "every other friday at 9:00", "; write 2 weeks on friday, at column 7", "every 2 weeks on friday at 9:00"},
		{"every", "every half hour", "; write 30 minutes, at column 7", "every 30 minutes"},
		{"every", "half an hour", "; write 30 minutes, at column 1", "30 minutes"},
		{"every", "in half an hour", "; write 30 minutes, at column 4", "in 30 minutes"},
		{"every", "in an hour", "; write 1 hour, at column 4", "in 1 hour"},
		{"every", "every 1.5 hours", "; write 90 minutes, at column 7", "every 90 minutes"},
		{"every", "every 0.1 hours", "; write 6 minutes, at column 7", "every 6 minutes"},
		{"every", "every 1 hour 1.5 minutes", "; write 90 seconds, at column 14", "every 1 hour 90 seconds"},
		{"every", "every day at 9.30", "; write 9:30, at column 14", "every day at 9:30"},
		{"every", "every day at 9.30pm", "; write 9:30pm, at column 14", "every day at 9:30pm"},
		{"every", "minutely", "; write every minute at :00, at column 1", "every minute at :00"},
		{"every", "nightly", "; write every day at 00:00, at column 1", "every day at 00:00"},
		{"every", "everyday at 9:00", "; write every day, at column 1", "every day at 9:00"},
		{"every", "everyday", "; write every day, at column 1", "every day"},
		{"every", "fortnightly", "; write every 2 weeks on monday at 00:00, at column 1", "every 2 weeks on monday at 00:00"},
		{"every", "Biweekly on friday", "; write every 2 weeks, at column 1", "every 2 weeks on friday"},
		{"every", "bi-weekly at 9:00", "; write every 2 weeks on monday, at column 1", "every 2 weeks on monday at 9:00"},
		{"every", "every fortnight", "; write 2 weeks, at column 7", "every 2 weeks"},
		{"every", "fortnight", "; write every 2 weeks, at column 1", "every 2 weeks"},
		{"interval", "hourly", "; write 1 hour, at column 1", "1 hour"},
		{"interval", "daily", "; write 1 day, at column 1", "1 day"},
		{"interval", "every Weekly", "; write 1 week, at column 7", "every 1 week"},
		{"interval", "fortnightly", "; write 2 weeks, at column 1", "2 weeks"},
		{"interval", "biweekly", "; write 2 weeks, at column 1", "2 weeks"},
		{"interval", "minutely", "; write 1 minute, at column 1", "1 minute"},
		{"interval", "1.5 hours", "; write 90 minutes, at column 1", "90 minutes"},
		{"interval", "half hour", "; write 30 minutes, at column 1", "30 minutes"},
		{"interval", "PT1H30M", "; write 1h30m, at column 1", "1h30m"},
	} {
		_, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: got %v, want %s", c.kind, c.text, err, c.says)
			continue
		}
		if !healed(t, c.kind, c.text) {
			t.Errorf("%s %q has no suggestion", c.kind, c.text)
		}
		if _, err := trigger.Parse(c.kind, c.right, trigger.ParseOptions{Now: instant(t, "2026-03-01T00:00:00Z")}); err != nil {
			t.Errorf("%s %q is what is meant to be written, and: %v", c.kind, c.right, err)
		}
	}
	for _, text := range []string{"every 2 monthly", "every weekly and monday", "every monday and weekly", "every 2 weeks on weekends", "every other weekday", "other", "half", "every 1.5", "every day at 9.61", "every 1.5 months", "every 999999.5 weeks", "in 99999999999999999999.5 days", "every 2 weeks on weekly"} {
		if _, err := trigger.Parse("every", text, trigger.ParseOptions{}); err == nil {
			t.Errorf("%q is accepted", text)
		}
		healed(t, "every", text)
	}
	if _, err := trigger.Parse("every", "every other month", trigger.ParseOptions{}); err == nil || !strings.Contains(err.Error(), "kind calendar with its first date, months=2") {
		t.Errorf("every other month: got %v", err)
	}
}

// A month has no length, and the words count none: what is written instead is another kind.
func TestWordsForMonthsAreAnsweredWithAKindThatCountsThem(t *testing.T) {
	shown := regexp.MustCompile(`kind (cron|calendar), (.*?), (?:or words|at column)`)
	for _, c := range []struct{ kind, text, right string }{
		{"every", "quarterly", "0 0 1 */3 *"},
		{"every", "every quarterly at 9:00", "0 9 1 */3 *"},
		{"every", "quarterly on the 15th at 14:30", "30 14 15 */3 *"},
		{"every", "half-yearly on the last day at 7pm", "0 19 L */6 *"},
		{"every", "every 2 months on the last day at 7pm", "0 19 L */2 *"},
		{"every", "half-yearly", "0 0 1 */6 *"},
		{"interval", "monthly", "months=1 hour=0"},
		{"interval", "every quarterly", "months=3 hour=0"},
		{"interval", "semiannually", "months=6 hour=0"},
		{"interval", "yearly", "months=12 hour=0"},
		{"interval", "annually", "months=12 hour=0"},
	} {
		_, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{})
		if err == nil {
			t.Errorf("%s %q is accepted", c.kind, c.text)
			continue
		}
		found := shown.FindStringSubmatch(err.Error())
		if found == nil || found[2] != c.right {
			t.Errorf("%s %q: got %v, want %s", c.kind, c.text, err, c.right)
			continue
		}
		if _, err := trigger.Parse(found[1], found[2], trigger.ParseOptions{}); err != nil {
			t.Errorf("%s %q: %s %s: %v", c.kind, c.text, found[1], found[2], err)
		}
	}
}

func TestAnIntervalInWordsIsToldHowItIsInShort(t *testing.T) {
	for text, right := range map[string]string{
		"daily": "1d", "Hourly": "1h", "weekly": "7d", "fortnightly": "14d", "biweekly": "14d", "every day": "1d", "5 minutes": "5m", "1 hour 30 minutes": "1h30m", "hour": "1h",
	} {
		_, err := decode([]byte(`{"kind":"interval","every":"` + text + `"}`))
		if err == nil || !strings.HasSuffix(err.Error(), "such as 90s or 1h30m; write "+right) {
			t.Errorf("%s: got %v, want %s", text, err, right)
		}
		if _, err := decode([]byte(`{"kind":"interval","every":"` + right + `"}`)); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
	for text, says := range map[string]string{
		"monthly": "; a month has no fixed length: that is a kind calendar, months=1 hour=0, or words", "quarterly": "months=3 hour=0", "soon": "such as 90s or 1h30m", "": "empty text",
	} {
		if _, err := decode([]byte(`{"kind":"interval","every":"` + text + `"}`)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "write") {
			t.Errorf("%q: got %v, want %s", text, err, says)
		}
	}
}

// TestWhatOtherKindsSayIsAnsweredWithThatKind decodes what the messages show.
func TestWhatOtherKindsSayIsAnsweredWithThatKind(t *testing.T) {
	except, cron := regexp.MustCompile(`kind except, (\{.*\}), (at column|with the)`), regexp.MustCompile(`kind cron, ([^,;]+)[,;]`)
	for _, c := range []struct{ text, says string }{
		{"the last working day of the month at 18:00", `"expr":"0 18 L * *"},"not":[{"days":{"weekdays":["sat","sun"]}},{"calendar":"holidays"}],"else":"previous"}, at column 10`},
		{"every day except holidays", `"expr":"0 0 * * *"},"not":[{"calendar":"holidays"}]}, at column 11`},
		{"first Monday unless a holiday, then the next working day",
			`"expr":"0 0 * * mon#1"},"not":[{"days":{"weekdays":["sat","sun"]}},{"calendar":"holidays"}],"else":"next"}, at column 14`},
		{"every working day at 9:00", "Monday to Friday is every weekday, and without holidays it is a kind except, "},
		{"every business day", "at column 7"}, {"every workday", "at column 7"}, {"every month on the first working day", `"0 0 1 * *"`},
		{"every first monday until 2030-01-01", "kind cron, 0 0 * * mon#1, with the end beside it (--end '2030-01-01 23:59:59'), at column 7"},
		{"first monday at 9:00 Europe/Berlin", "kind cron, 0 9 * * mon#1, with the zone beside it, at column 1"},
		{"every working day until 2030-01-01 Asia/Tokyo", `{"calendar":"holidays"}]}, with the end and the zone beside it (--end '2030-01-01 23:59:59'), at column 7`},
		{"every first monday", "kind cron, 0 0 * * mon#1, at column 7"}, {"every last Mondays at 9:00", "kind cron, 0 9 * * monL, at column 7"}, {"the 3rd fri of the month", "fri#3, at column 5"},
		{"every 2nd tuesday", "kind cron, 0 0 * * tue#2; every second week is every 2 weeks on tue, at column 7"},
	} {
		_, err := trigger.Parse("every", c.text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.says)
			continue
		}
		if found := except.FindStringSubmatch(err.Error()); found != nil {
			if _, err := decode([]byte(strings.Replace(found[1], `{"calendar":"holidays"}`, `{"days":{"dates":["2026-12-25"]}}`, 1))); err != nil {
				t.Errorf("%q: %s: %v", c.text, found[1], err)
			}
		} else if found = cron.FindStringSubmatch(err.Error()); found == nil {
			t.Errorf("%q: no trigger is shown: %v", c.text, err)
		} else if _, err := trigger.Parse("cron", found[1], trigger.ParseOptions{}); err != nil {
			t.Errorf("%q: %s: %v", c.text, found[1], err)
		}
	}
}

func TestAMisspelledStepOfACalendarIsToldAndNotAMissingOne(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"kind":"calendar","month":2}`, "month: unknown member; write months for the step; the month of the first date is that of start"},
		{`{"kind":"calendar","day":15}`, "day: unknown member; write days for the step; the day of the first date is that of start"},
		{`{"kind":"calendar","Weeks":2,"hour":9}`, "Weeks: unknown member; write weeks"},
		{`{"kind":"calendar","dasy":2,"hour":24}`, "dasy: unknown member; write days; hour: 24 is out of range (0-23)"},
		{`{"kind":"calendar","hours":9}`, "hours: unknown member; write hour; days: interval: there is no step; give years, months, weeks or days of more than zero"},
	} {
		_, err := decode([]byte(c.data))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.data, err, c.want)
		}
	}
}

func TestWhatClockChangesDoIsNotSaidOfTimesThatAreLeftOut(t *testing.T) {
	const hourly, night = `{"kind":"cron","expr":"0 12 * * *","zone":"Europe/Berlin"}`, `{"kind":"every","text":"every day at 02:30","zone":"Europe/Berlin"}`
	const early, steps = `{"kind":"cron","expr":"30 2 * * *","zone":"Europe/Berlin"}`, `{"kind":"calendar","days":1,"hour":2,"minute":30,"zone":"Europe/Berlin"}`
	for data, said := range map[string]bool{
		`{"kind":"except","of":` + hourly + `,"not":[` + night + `]}`:                                                     false,
		`{"kind":"except","of":` + hourly + `,"not":[` + early + `,` + steps + `]}`:                                       false,
		`{"kind":"except","of":` + hourly + `,"not":[{"kind":"any","of":[` + early + `,` + night + `]}]}`:                 false,
		`{"kind":"except","of":` + hourly + `,"not":[{"kind":"only","of":` + early + `,"in":[` + night + `]}]}`:           false,
		`{"kind":"except","of":` + hourly + `,"not":[{"kind":"except","of":` + early + `,"not":[` + hourly + `]}]}`:       false,
		`{"kind":"except","of":` + early + `,"not":[` + hourly + `]}`:                                                     true,
		`{"kind":"only","of":{"kind":"cron","expr":"30 * * * *","zone":"Europe/Berlin"},"in":[` + night + `]}`:            true,
		`{"kind":"any","of":[` + hourly + `,{"kind":"except","of":` + early + `,"not":[` + hourly + `]}]}`:                true,
		`{"kind":"any","of":[` + hourly + `,{"kind":"except","of":` + hourly + `,"not":[` + early + `]},` + hourly + `]}`: false,
	} {
		trig, err := decode([]byte(data))
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		en, zh := trigger.Describe(trig, ruqi.English), trigger.Describe(trig, ruqi.Chinese)
		if strings.Contains(en, "clock change") != said || strings.Contains(zh, "时钟调整") != said {
			t.Errorf("%s: got %s\n%s\nwant clock changes spoken of: %v", data, en, zh, said)
		}
	}
}
