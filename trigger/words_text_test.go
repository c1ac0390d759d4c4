package trigger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/triggertest"
)

func TestWordsOfMonthsAndHoursHaveOneCanonicalForm(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"every day at 9:00", "every day at 09:00"}, {"every day at 9am", "every day at 09:00"}, {"every day at 9:30PM", "every day at 21:30"},
		{"every day at 9 am and 6 PM", "every day at 09:00, 18:00"}, {"every weekday at 9:00 and 18:00", "every weekday at 09:00, 18:00"},
		{"every monday at 9:00, 18:00:05", "every monday at 09:00, 18:00:05"}, {"mon at 11:59pm", "every monday at 23:59"}, {"every day at 9:05:06 pm", "every day at 21:05:06"},
		{"every month on the 15th at 9:00", "every month on the 15th at 09:00"}, {"every month on 15", "every month on the 15th at 00:00"},
		{"every 1 month on the 31st, 1st and 2nd at 8pm", "every month on the 1st, 2nd, 31st at 20:00"}, {"month on the last day", "every month on the last day at 00:00"},
		{"every month on the 15th and the last day at 18:00", "every month on the 15th, last day at 18:00"},
		{"every year on march 15 at 9:00", "every year on march 15 at 09:00"}, {"every year on the 15th of Mar", "every year on march 15 at 00:00"},
		{"every year on 29 february at 12:00", "every year on february 29 at 12:00"}, {"every year on Dec the 31st at 11:59 pm", "every year on december 31 at 23:59"},
		{"every 2 weeks on monday", "every 2 weeks on monday at 00:00"}, {"every 2 weeks on Mon at 9am", "every 2 weeks on monday at 09:00"},
		{"every week on monday and friday at 9:00", "every monday, friday at 09:00"}, {"every 1 week on weekday", "every weekday at 00:00"},
		{"every month on the 1st at 9:00 until 2030-01-01", "every month on the 1st at 09:00 until 2030-01-01"},
		{"every hour at :15", "every hour at :15"}, {"every weekday at 17:00", "every weekday at 17:00"},
	} {
		trig, err := trigger.Parse("every", c.text, trigger.ParseOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		got := trig.(fmt.Stringer).String()
		again, err := trigger.Parse("every", got, trigger.ParseOptions{})
		if got != c.want || trig.Kind() != "every" || err != nil || encoded(t, again) != encoded(t, trig) {
			t.Errorf("%q: got %s %q, read back as %v %v, want %q", c.text, trig.Kind(), got, again, err, c.want)
		}
	}
}

func TestWordsWithTwoReadingsAreRefused(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"every month", "a month has no time of its own: say the day, as in every month on the 15th, at column 12"},
		{"every month at 9:00", "say the day"}, {"every year", "say the date, as in every year on march 15, at column 11"}, {"1 year at 9:00", "say the date"},
		{"every 2 months on the 15th", "the words do not say which months are counted: that is a kind calendar with its first date, months=2 start_date=2027-01-15"},
		{"every 3 years", "years=3"}, {"every 2 months", "months=2"}, {"every day at 12am", "12am is noon to some and midnight to others: say 12:00 or 00:00, at column 14"},
		{"every day at 12:30 pm", "say 12:30 or 00:30, at column 14"}, {"every day at 13pm", "the hours before pm are 1 to 11: say 13:00, at column 14"}, {"every day at 0:10am", "say 00:10"},
		{"every 2 weeks on monday and friday", "weeks are counted from one weekday"}, {"every 2 weeks on weekdays", "weeks are counted from one weekday"},
		{"every 2 mondays", "; write 2 weeks on monday, at column 7"}, {"every 2 weeks on mundays", "; write monday, at column 18"},
		{"every munday", "; write monday, at column 7"}, {"every month on the 32nd", "a month has no day 32 (accepted: 1-31), at column 20"}, {"every month on the 3th", "; write 3rd, at column 20"},
		{"every month on the first monday", "kind cron, 0 0 * * mon#1, at column 20"}, {"every month on the last friday", "kind cron, 0 0 * * friL, at column 20"},
		{"every year on february 30", "February has no day 30, so this would never fire, at column 15"}, {"every year on the 31st of april", "April has no day 31"},
		{"every year on marhc 15", "; write march, at column 15"}, {"every year on 15", "(accepted: january … december), at column 17"}, {"every year on the 15th of marhc", "; write march, at column 27"},
		{"every 1 to 2 months", "a month has no fixed length"}, {"in 2 months", "a month has no fixed length"}, {"every 1.5us", "a whole number of microseconds"}, {"every 0s", "more than zero, at column 7"},
		{"at 2026-2-30", `"2026-2-30" is not a date that exists`}, {"at 2026-11-31 9:00", "; November has 30 days, at column 4"}, {"every day until 2026-11-31", "; November has 30 days, at column 25"}, {"every day at 24:00", "24:00 is 00:00 of the day after); write 00:00, at column 14"}, {"every day at 24:01", `"24:01" is not understood here (accepted: HH:MM or HH:MM:SS, such as 13:15, or 9am), at`}, {"at 2026-2-3", "; write 2026-02-03, at column 4"}, {"every day until 2026-1-1 9:00", ", at column 17; as a whole, write every day until 2026-01-01 09:00"},
	} {
		_, err := trigger.Parse("every", c.text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.says)
		}
	}
}

// Each by a walk over the days, which are asked one by one.
func TestDaysOfMonthsAgreeWithAWalkOverTheDays(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 11))
	months := []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	suffix := map[int]string{1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
	for range 60 {
		doms, last := map[int]bool{}, r.IntN(3) == 0
		var names []string
		for range r.IntN(3) + 1 {
			dom := 1 + r.IntN(31)
			doms[dom] = true
			if suffix[dom] == "" {
				suffix[dom] = "th"
			}
			names = append(names, strconv.Itoa(dom)+suffix[dom])
		}
		if last {
			names = append(names, "last day")
		}
		text := "every month on the " + strings.Join(names, ", ") + " at 9:00 and 6:30pm"
		onDay := func(day time.Time) bool { return doms[day.Day()] || last && day.AddDate(0, 0, 1).Day() == 1 }
		if r.IntN(3) == 0 {
			month, dom := r.IntN(12), 1+r.IntN(28)
			if r.IntN(4) == 0 {
				month, dom = 1, 29
			}
			text = fmt.Sprintf("every year on %s %d at 9am, 18:30", months[month], dom)
			onDay = func(day time.Time) bool { return int(day.Month()) == month+1 && day.Day() == dom }
		}
		if r.IntN(4) == 0 {
			n := 1 + r.IntN(4)
			weekday := time.Weekday(r.IntN(7))
			text = fmt.Sprintf("every %d weeks on %s at 9:00, 18:30", n, weekday)
			start := time.Date(1895, 1, 1+r.IntN(20), 0, 0, 0, 0, time.UTC)
			first := start
			for first.Weekday() != weekday {
				first = first.AddDate(0, 0, 1)
			}
			onDay = func(day time.Time) bool {
				since := int(day.Sub(first).Hours()) / 24
				return since >= 0 && since%(7*n) == 0
			}
			text += "|" + start.Format(time.DateOnly)
		}
		from := time.Date(1896+r.IntN(210), time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
		var want []time.Time
		for day := from; len(want) < 40 && day.Before(from.AddDate(30, 0, 0)); day = day.AddDate(0, 0, 1) {
			if onDay(day) {
				want = append(want, day.Add(9*time.Hour), day.Add(18*time.Hour+30*time.Minute))
			}
		}
		words, start, _ := strings.Cut(text, "|")
		trig, err := trigger.Words(words, trigger.EveryOptions{Zone: time.UTC, StartText: start})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for i, at := range want {
			before := from.Add(-time.Nanosecond)
			if i > 0 {
				before = want[i-1]
			}
			if got, ok := trig.Next(before); !ok || !got.Equal(at) {
				t.Fatalf("%q: Next(%v) = %v %v, want %v", text, before, got, ok, at)
			}
			if i > 0 {
				if got, ok := trig.Prev(at); !ok || !got.Equal(want[i-1]) {
					t.Fatalf("%q: Prev(%v) = %v %v, want %v", text, at, got, ok, want[i-1])
				}
			}
			if n := trig.Count(from.Add(-time.Nanosecond), at); n != int64(i+1) {
				t.Fatalf("%q: from %v to %v are %d, want %d", text, from, at, n, i+1)
			}
			if !trig.Matches(at) || len(trig.Explain(at.AddDate(0, 0, 1), ruqi.English)) == 0 && !slices.ContainsFunc(want, at.AddDate(0, 0, 1).Equal) && at.AddDate(0, 0, 1).Before(want[len(want)-1]) {
				t.Fatalf("%q: Matches and Explain at %v", text, at)
			}
		}
		if a, b := trig.Count(from, from.AddDate(1000, 0, 0)), trig.Count(from, from.AddDate(400, 0, 0))+trig.Count(from.AddDate(400, 0, 0), from.AddDate(1000, 0, 0)); a != b {
			t.Fatalf("%q: in 1,000 years are %d, and %d in the parts", text, a, b)
		}
	}
}

func TestTimeInWordsOfMonthsKeepsTheLawsAndIsDescribed(t *testing.T) {
	for _, c := range []struct{ text, english, chinese string }{
		{"every month on the 15th at 9:00", "at 09:00 every month on the 15th, Europe/Berlin time", "在每月 15 日的 09:00，Europe/Berlin 时间"},
		{"every month on the 1st, 31st and last day at 9am and 6pm", "at 09:00 and 18:00 every month on the 1st, 31st and last day, where there is one, Europe/Berlin time",
			"在每月 1 日、31 日和最后一天（没有该日的月份除外）的 09:00 和 18:00，Europe/Berlin 时间"},
		{"every month on the last day", "at 00:00 every month on the last day, Europe/Berlin time", "在每月最后一天的 00:00，Europe/Berlin 时间"},
		{"every year on february 29", "at 00:00 every year on 29 February, where there is one, Europe/Berlin time", "在每年 2 月 29 日（没有该日的年份除外）的 00:00，Europe/Berlin 时间"},
		{"every 2 weeks on monday at 13:15", "at 13:15 every 2 weeks on Monday, Europe/Berlin time, counted from 2026-03-01", "每 2 周的周一的 13:15，Europe/Berlin 时间，自 2026-03-01 起计"},
	} {
		t.Run(c.text, func(t *testing.T) {
			parse := func() ruqi.Trigger {
				trig, err := trigger.Parse("every", c.text, trigger.ParseOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return trig
			}
			triggertest.Run(t, parse, decode)
			bound, err := parse().(ruqi.Binder).Bind(zone(t, "Europe/Berlin"), instant(t, "2026-03-01T12:00:00Z"), "")
			if err != nil {
				t.Fatal(err)
			}
			d := bound.(ruqi.Describer)
			if en, zh := d.Describe(ruqi.English), d.Describe(ruqi.Chinese); en != c.english || zh != c.chinese {
				t.Errorf("got %q\n%q\nwant %q\n%q", en, zh, c.english, c.chinese)
			}
		})
	}
}

func TestTheBuilderReplacesTimesOfEveryForm(t *testing.T) {
	for want, built := range map[string]*trigger.EveryTrigger{
		"every 3 days at 10:00":            trigger.Every(3).Days().At("09:00").At("10:00"),
		"every hour at :20":                trigger.Every(1).Hour().At(":15").At(":20"),
		"every day at 10:00":               trigger.Every(1).Day().At("9am", "6pm").At("10:00"),
		"every month on the 15th at 18:00": mustWords(t, "every month on the 15th at 9:00").At("6pm"),
		"every 2 weeks on monday at 18:00": mustWords(t, "every 2 weeks on monday").At("18:00"),
	} {
		if _, err := built.Bind(time.UTC, time.Unix(0, 0), ""); err != nil || built.String() != want {
			t.Errorf("got %q %v, want %q", built.String(), err, want)
		}
	}
}

func TestTheBuilderSaysMonthsYearsAndWeeks(t *testing.T) {
	for want, built := range map[string]*trigger.EveryTrigger{
		"every month on the 1st, 15th, last day at 09:00": trigger.Every(1).Month(15, 1, 0).At("9:00"),
		"every month on the 31st at 00:00":                trigger.Every(1).Month(31),
		"every year on march 15 at 21:30":                 trigger.Every(1).Year(time.March, 15).At("9:30pm"),
		"every 2 weeks on monday at 13:15":                trigger.Every(2).WeeksOn(time.Monday).At("13:15"),
		"every friday at 00:00":                           trigger.Every(1).WeeksOn(time.Friday),
	} {
		if _, err := built.Bind(time.UTC, time.Unix(0, 0), ""); err != nil || built.String() != want {
			t.Errorf("got %q %v, want %q", built.String(), err, want)
		}
	}
	for says, built := range map[string]*trigger.EveryTrigger{
		"no day of the month is given": trigger.Every(1).Month(), "a month has no day 32": trigger.Every(1).Month(32), `"-1th" is not understood`: trigger.Every(1).Month(-1),
		"the words do not say which months": trigger.Every(2).Month(1), "there is no month of number 13": trigger.Every(1).Year(13, 1), "February has no day 30": trigger.Every(1).Year(2, 30),
		"there is no weekday of number 7": trigger.Every(2).WeeksOn(7), "more than zero": trigger.Every(0).WeeksOn(1),
	} {
		if _, err := built.Bind(time.UTC, time.Unix(0, 0), ""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
}

func mustWords(t *testing.T, text string) *trigger.EveryTrigger {
	t.Helper()
	trig, err := trigger.Words(text, trigger.EveryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trig
}

func TestATextOfAnyKindIsRefusedWithTheColumn(t *testing.T) {
	for _, c := range []struct{ kind, text, pointer, says string }{
		{"interval", "5 mintues", "/every", `every: "mintues" is not understood here (accepted: second, minute, hour, day, week, also in the plural); write minutes, at column 3`},
		{"interval", "2 months", "/every", "a month has no fixed length: that is a kind calendar, months=2, or words with a day, every month on the 15th, at column 3"},
		{"interval", "every year", "/every", "a year has no fixed length: that is a kind calendar, years=2"}, {"interval", "every 5", "/every", "at column 8"}, {"interval", "", "/every", "at column 1"},
		{"interval", "0s", "/every", "the length must be more than zero, at column 1"}, {"interval", "1 hour -5 minutes", "/every", `"-5" is not understood here (accepted: nothing more), at column 8`},
		{"interval", "every 0 minutes", "/every", "more than zero, at column 7"}, {"interval", "999999999999 weeks", "/every", "292 years are the most, at column 1"}, {"interval", "1ns", "/every", "at column 1"},
		{"interval", "hours=1 minuets=5", "/every", "minuets: unknown word; accepted are weeks= days= hours= minutes= seconds= start_date= end_date=; write minutes=, at column 9"},
		{"interval", "hours=x", "/every", `hours: "x" is not a whole number, at column 7`}, {"interval", "hours=0", "/every", "hours: the length must be more than zero, at column 7"},
		{"interval", "hours=-1", "/every", "hours: -1 is below zero, at column 7"}, {"interval", "hours=1 hours=2", "/every", "hours: given twice, at column 9"}, {"interval", "hours=1, minutes=2", "/every", `hours: "1," is not a whole number, at column 7`},
		{"interval", "hours=1 start_date=2026-02-30", "/start", `start_date: "2026-02-30" is not a date that exists`}, {"interval", "hours=1 start_date='2026-02-01 25:00'", "/start", "at column 32"},
		{"interval", "hours=1 start_date=2026-03-01 end_date=2026-02-01", "/end", "end_date: it is before the start, at column 40"}, {"interval", "hours=1 5", "/every", "5: not of the form name=value"},
		{"calendar", "months=1 day=15", "/days", "day: unknown word; the day of the month is that of the start, start_date=2027-01-15; or say a kind every, every month on the 15th at 09:00, or cron, at column 10"},
		{"calendar", "dasy=1", "/days", "; write days=, at column 1"}, {"calendar", "days=1 hour=24", "/hour", "hour: 24 is out of range (0-23), at column 13"}, {"calendar", "days=1 hour=x", "/hour", "at column 13"},
		{"calendar", "days=1 hours=9", "/days", "; write hour=, at column 8"}, {"calendar", "every month", "/days", "words are those of kind every, at column 1"}, {"calendar", "days=1 end_date=", "/end", "at column 17"},
		{"calendar", "days=1 start_date='2026-1-1'", "/start", "; write 2026-01-01, at column 20"}, {"calendar", "months=99999999999999999999", "/months", "months: 99999999999999999999 is out of range, at column 8"},
		{"calendar", "hour=9", "/days", "interval: there is no step"}, {"calendar", "months=1 timezone=UTC", "/days", "the zone is given beside it, at column 10"},
		{"date", "2026-02-30", "/at", "date: \"2026-02-30\" is not a date that exists"}, {"date", "2026-02-30", "/at", "at column 9"}, {"date", "2026-13-01", "/at", "at column 6"}, {"date", "2026-11-31", "/at", "; November has 30 days, at column 9"}, {"date", "2026-02-29 9:00", "/at", "; February 2026 has 28 days, at column 9"}, {"date", "2028-02-30", "/at", "; February 2028 has 29 days"}, {"date", "2026-12-32", "/at", "; December has 31 days"},
		{"date", "  2026-12-01 09:61", "/at", "at column 17"}, {"date", "2026-12-01 24:00", "/at", "at column 12"}, {"date", "2026-12-01 09:30:99", "/at", "at column 18"}, {"date", "tomorrow", "/at", "at column 1"},
		{"date", "2026/12/1 9:30", "/at", "; write 2026-12-01 09:30, at column 1"}, {"date", "2026-12-01 09:30 Europe/Berlin", "/at", "at column 17"}, {"date", "0000-01-01", "/at", "times are from 0001-01-02 to 9999-12-30, UTC, at column 1"},
		{"date", "at 2026-12-01 09:30", "/at", "the date stands alone here; write 2026-12-01 09:30, at column 1"}, {"date", "in 5 minuts", "/at", "; write minutes, at column 6"}, {"date", "in", "/at", "at column 3"},
		{"date", "now", "/at", "now depends on the moment it is asked; give a date such as 2030-06-01 09:30, or a time from then, in 5 minutes, at column 1"}, {"date", "in 5 minutes sharp", "/at", "at column 14"},
		{"cron", "@every 0s", "/expr", "expression: @every: the length must be more than zero, at column 8"}, {"cron", "@every -5s", "/expr", "expression: @every: the length must be more than zero, at column 8"},
		{"cron", "@every", "/expr", "expression: @every: there is no length of time (accepted: such as 90s or 1h30m), at column 7"}, {"cron", "@every ", "/expr", "at column 8"}, {"cron", "@every 1ns", "/expr", "expression: @every: \"1ns\" is not understood"},
		{"cron", "@every 5 minutes", "/expr", `expression: @every: "5 minutes" is not understood here (accepted: a length of time such as 90s or 1h30m); write 5m, at column 8`}, {"cron", "@every x", "/expr", "at column 8"},
		{"cron", "@every 5", "/expr", "at column 8"}, {"cron", "@every 0", "/expr", "at column 8"}, {"cron", "@every 1.5us", "/expr", "a whole number of microseconds, at column 8"}, {"cron", "@every 0.5us", "/expr", "microsecond"},
		{"cron", "@every 5m 3", "/expr", "at column 8"}, {"cron", "@Every 5m", "/expr", "macros are in lower case; write @every, at column 1"}, {"cron", "@every 300y", "/expr", "at column 8"}, {"cron", "TZ=Nowhere @every 5m", "/expr", "Nowhere"},
	} {
		_, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{})
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != c.pointer || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: got %v, want at %s: %s", c.kind, c.text, err, c.pointer, c.says)
		}
	}
}

var suggestion = regexp.MustCompile(`; write ([^;]+), at column (\d+)$`)

// healed checks that what a message says to write is accepted where the fault is, or the text is wrong further on only.
func healed(t *testing.T, kind, text string) (suggested bool) {
	t.Helper()
	_, err := trigger.Parse(kind, text, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)})
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		return false
	}
	message := invalid.Faults[0].Message
	if _, right, is := strings.Cut(message, "; as a whole, write "); is {
		if _, err := trigger.Parse("every", right, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)}); err != nil {
			t.Errorf("%s %q: %s, and then: %v", kind, text, message, err)
		}
		return true
	}
	found := suggestion.FindStringSubmatch(message)
	if found == nil {
		return false
	}
	column, _ := strconv.Atoi(found[2])
	rest := text[column-1:]
	for _, end := range []string{"=", ",", " ", "\t", "\n", "\r", ""} {
		after := strings.Index(rest, end)
		if end == "=" && !strings.HasSuffix(found[1], "=") || after < 0 {
			continue
		}
		if end == "" {
			after = len(rest)
		} else if end == "=" {
			after++
		}
		right := text[:column-1] + found[1] + rest[after:]
		_, err = trigger.Parse(kind, right, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)})
		if err == nil || !regexp.MustCompile("at column "+found[2]+`\b`).MatchString(err.Error()) {
			return true
		}
	}
	t.Errorf("%s %q: %s, and then: %v", kind, text, message, err)
	return true
}

func TestWhatIsSuggestedForWordsIsAcceptedThere(t *testing.T) {
	for _, c := range []struct{ kind, text string }{
		{"every", "every munday"}, {"every", "evry day"}, {"every", "every 5 minuts"}, {"every", "every monday at 9"}, {"every", "every month on the 3th"}, {"every", "every year on marhc 15"},
		{"interval", "5 mintues"}, {"interval", "horus=1"}, {"calendar", "dasy=1"}, {"calendar", "days=1 hours=9"}, {"date", "in 5 minuts"}, {"every", "in 5 minuts"}, {"every", "at 2026-2-3"},
		{"interval", "days=1 start_dat=2026-01-01"}, {"every", "every monday at 10:00 utnil 2026-01-01"}, {"every", "every wendesday and fridya at 9am"}, {"cron", "@Every 5m"},
	} {
		if !healed(t, c.kind, c.text) {
			t.Errorf("%s %q has no suggestion", c.kind, c.text)
		}
	}
}

func FuzzSuggestedWords(f *testing.F) {
	for _, text := range []string{"every munday at 9", "5 mintues", "dasy=1 hours=9", "in 5 minuts", "every month on the 3th", "every year on marhc 15 until 2026-1-1", "at 9 p.m. on the last day of each month until 2030-01-01", "every day but sunday, at nine", "twice an hour", "every third mon-fri",
		"every 10 minutes from 9 to 17 on weekdays", "every day at 9:00 in Europe/Berlin", "march 15 in the morning at 8", "0 \x93", "everY 1 min  A0", "every day Ⱥ", "start_dat='2026-1-1 9:00' horus=1", "@every 5 minutes",
		"cron(0 9 * * ? *)", "rate(5 minutes)", "- cron: '0 9 * * 1'", "Mon..Fri *-*-1,2..5/2~1 9:0/15", "every(5).to(10).seconds", "15 minutes past every hour", "last weekday of the year at 9h30", "every day until 31 december, 2030 at 9", "every 2 hours starting at 9:00", "monthly at 9 on the 5th", "every 12 hours at 6:00", "every day in january"} {
		for kind := range uint8(5) {
			f.Add(kind, text)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		healed(t, []string{"every", "interval", "calendar", "date", "cron"}[kind%5], text)
	})
}

func TestATimeFromNowIsCountedFromWhenItIsBound(t *testing.T) {
	trig, err := trigger.Parse("date", "In 1h 30m", trigger.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := trig.(ruqi.Binder).Bind(time.UTC, instant(t, "2026-03-01T12:00:00Z"), "")
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := bound.Next(time.Time{}); !ok || !at.Equal(instant(t, "2026-03-01T13:30:00Z")) {
		t.Errorf("fires at %v %v", at, ok)
	}
	for _, text := range []string{"@every 1h30m", " @every\t90m ", "TZ=Asia/Tokyo @every 1h30m"} {
		trig, err := trigger.Parse("cron", text, trigger.ParseOptions{})
		if err != nil || trig.Kind() != "interval" || trig.(fmt.Stringer).String() != "every 1h30m" {
			t.Errorf("%q: %v %v", text, trig, err)
		}
	}
}

// Read or refused, each takes less than a millisecond for a kilobyte; the fastest of ten tries counts, since other work of the machine is not
// the parser's.
func TestHostileTextsOfAnyKindTakeLittleTime(t *testing.T) {
	fill := func(before, element, after string) string {
		return before + strings.Repeat(element, (1024-len(before)-len(after))/len(element)) + after
	}
	var names strings.Builder // words that all differ
	for i := 0; names.Len() < 1018; i++ {
		names.WriteString(strconv.FormatInt(int64(i), 36) + "= ")
	}
	for _, text := range []string{
		fill("every ", "monday, ", "munday"), fill("every day at ", "9:00,", "25:00"), fill("every month on ", "31,", "32"), fill("", "1 hour ", "x"), fill("in ", "1s ", "1 minuts"), fill("", ",", ""), fill("", "\x00", ""),
		fill("", "days=1 ", "x"), fill("", "d=1 ", ""), names.String()[:1017], fill("days=1 start_date='", "2", "'"), fill("", "'", ""), fill("", "=", ""), fill("@every ", "1ns", ""), fill("@every ", "1h", "x"), fill("@every ", "1 hour ", ""),
		fill("", "9", ""), fill("every ", "9", " minutes"), fill("at ", "2026-12-01 ", ""), fill("", "２", ""), fill("every ", "ⱥ", ""), fill("every year on ", "march ", ""), fill("in ", "0", " seconds"), fill("", "\xff", ""),
		fill("every day at 9", ".h", ""), fill("at 9:00 ", "first.h ", ""), fill("", "schedule.every(", ")"), fill("cron(", "* ", ")"), fill("'", "every 5 minutes ", "'"), fill("every day ", "starting at 9:00 ", ""),
		fill("every 5 minutes ", "from 9 to 17 ", "x"), fill("first ", "weekday and ", ""), fill("every month on the ", "until 2030 ", ""), fill("", "mon..fri,", " *-*-* 9:00"), fill("", "15 past ", ""), fill("TZ=", "Ⱥ", " @every 5m"), fill("TZ=Ⱥ ", "Ⱥ", " @every 5m"), fill("2026-12-01 09:30:00.", "1", ""),
		strings.Repeat("the mon/ mon/ ", 13), strings.Repeat("starting 2030-01-01 mon/ ", 13), strings.Repeat("america/new_yorkshir ", 48), // words enough that look like zones
	} {
		for _, kind := range []string{"cron", "interval", "date", "calendar", "every"} {
			fastest := time.Hour
			for range 10 {
				start := time.Now()
				_, err := trigger.Parse(kind, text, trigger.ParseOptions{})
				fastest = min(fastest, time.Since(start))
				if err != nil {
					refused(t, err)
				}
			}
			if fastest > 10*time.Millisecond { // the promise is one; the race detector and a busy machine are allowed for
				t.Errorf("%s %.50q: %v", kind, text, fastest)
			}
		}
	}
}
