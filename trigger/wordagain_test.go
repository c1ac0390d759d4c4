package trigger_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

// What a newcomer types, and what is meant by it; * stands for words that have no spelling here, and nothing is written for them.
var newcomers = map[string]string{
	"every last day of the month at 17:00":  "every month on the last day at 17:00",
	"at the end of each month at 18:00":     "every month on the last day at 18:00",
	"at 18:00 on the last day of month":     "every month on the last day at 18:00",
	"every 1st of the month":                "every month on the 1st at 00:00",
	"1st of every month at 9:00":            "every month on the 1st at 09:00",
	"first day of the month at noon":        "every month on the 1st at 12:00",
	"on the 15th of every month":            "every month on the 15th at 00:00",
	"the 1st and 15th of each month at 6":   "every month on the 1st, 15th at 06:00",
	"every 15th at 9:00":                    "every month on the 15th at 09:00",
	"every january 1st":                     "every year on january 1 at 00:00",
	"march 15 at 9:00":                      "every year on march 15 at 09:00",
	"every 25 december at 8:00":             "every year on december 25 at 08:00",
	"on the 4th of july":                    "every year on july 4 at 00:00",
	"every mon-fri at 9am":                  "every weekday at 09:00",
	"Mon..Fri 9:00":                         "every weekday at 09:00",
	"every monday to friday":                "every weekday at 00:00",
	"from monday to thursday at 9:00":       "every monday, tuesday, wednesday, thursday at 09:00",
	"every fri-mon at 9:00":                 "every monday, friday, saturday, sunday at 09:00",
	"every mon-wed,fri at 9:00":             "every monday, tuesday, wednesday, friday at 09:00",
	"each monday":                           "every monday at 00:00",
	"on mondays at 9:00":                    "every monday at 09:00",
	"every monday 9:00":                     "every monday at 09:00",
	"at 9am every day":                      "every day at 09:00",
	"at 9:00 and 17:30 every monday":        "every monday at 09:00, 17:30",
	"9 pm daily":                            "every day at 21:00",
	"all days at 9:00":                      "every day at 09:00",
	"every single day":                      "every day",
	"please run every day at 9":             "every day at 09:00",
	"every day except sunday at 9:00":       "every monday, tuesday, wednesday, thursday, friday, saturday at 09:00",
	"every day except weekends":             "every weekday at 00:00",
	"every weekday except friday":           "every monday, tuesday, wednesday, thursday at 00:00",
	"every third day":                       "every 3 days",
	"every second day at 9:00":              "every 2 days at 09:00",
	"every 2nd week":                        "every 2 weeks",
	"every fifth minute":                    "every 5 minutes",
	"every two weeks on friday":             "every 2 weeks on friday at 00:00",
	"biweekly friday 14:00":                 "every 2 weeks on friday at 14:00",
	"every five minutes":                    "every 5 minutes",
	"every 5-10 minutes":                    "every 5 to 10 minutes",
	"between 5 and 10 minutes":              "every 5 to 10 minutes",
	"every quarter of an hour":              "every 15 minutes",
	"every half-hour":                       "every 30 minutes",
	"every hour on the hour":                "every hour at :00",
	"once a day":                            "every day at 00:00",
	"once a day at 9:00":                    "every day at 09:00",
	"once an hour":                          "every hour at :00",
	"once every 5 minutes":                  "every 5 minutes",
	"twice a day":                           "every 12 hours",
	"twice a day at 9:00 and 17:00":         "every day at 09:00, 17:00",
	"three times a day":                     "every 8 hours",
	"4 times an hour":                       "every 15 minutes",
	"daily at 9 a.m.":                       "every day at 09:00",
	"every day at 9:00 p.m.":                "every day at 21:00",
	"every day at 9 o'clock":                "every day at 09:00",
	"every day at nine":                     "every day at 09:00",
	"every day, at 9:00.":                   "every day at 09:00",
	"every night at 2:00":                   "every day at 02:00",
	"every evening at 8":                    "every day at 20:00",
	"every monday morning at 8":             "every monday at 08:00",
	"at midnight":                           "every day at 00:00",
	"@dayly":                                "every day at 00:00",
	"@Hourly":                               "every hour at :00",
	"every day on the 3rd of may at 9:00":   "*",
	"11 may 10:40 pm":                       "every year on may 11 at 22:40",
	"5 minutes from now":                    "in 5 minutes",
	"after 5 minutes":                       "in 5 minutes",
	"every day at 9 30":                     "every day at 09:30",
	"daily @ 9am":                           "every day at 09:00",
	"every day @9:15":                       "every day at 09:15",
	"every alternate day":                   "every 2 days",
	"alternate mondays at 9":                "every 2 weeks on monday at 09:00",
	"every hour and a half":                 "every 90 minutes",
	"every two and a half hours":            "every 150 minutes",
	"every 1 hour and 30 minutes":           "every 90 minutes",
	"every 24hrs":                           "every day",
	"every 90secs":                          "every 90 seconds",
	"tues and thurs at 9:00":                "every tuesday, thursday at 09:00",
	"tues-thurs at 9:00":                    "every tuesday, wednesday, thursday at 09:00",
	"M-F at 9":                              "every weekday at 09:00",
	"sept 15 at 9:00":                       "every year on september 15 at 09:00",
	"every year march 15":                   "every year on march 15 at 00:00",
	"beginning of each month at 6:00":       "every month on the 1st at 06:00",
	"on day 15":                             "every month on the 15th at 00:00",
	"every month day 15 at 9:00":            "every month on the 15th at 09:00",
	"every week monday at 9:00":             "every monday at 09:00",
	"every 2 weeks monday at 9:00":          "every 2 weeks on monday at 09:00",
	"each monday till 2030-01-01":           "every monday at 00:00 until 2030-01-01",
	"every day 15":                          "*",
	"bimonthly":                             "*",
	"semi-monthly":                          "*",
	"twice a month":                         "*",
	"never":                                 "*",
	"every week at 9:00 on the 15th":        "*",
	"start of the year":                     "*",
	"2030-01-01 09:00":                      "at 2030-01-01 09:00",
	"on 2030-01-01 at 9:00":                 "at 2030-01-01 09:00",
	"31.12.2030 09:00":                      "at 2030-12-31 09:00",
	"every mon-fri at 9am until 2030-01-01": "every weekday at 09:00 until 2030-01-01",
	"every day at 12 p.m.":                  "*",
	"every evening":                         "*",
	"every evening at 13:00":                "*",
	"every morning at 15:00":                "*",
	"every night at 12":                     "*",
	"twice a week":                          "*",
	"7 times a day":                         "*",
	"three times a day at 9:00 and 17:00":   "*",
	"last day of february":                  "*",
	"every month on march 15":               "*",
	"every day on monday and the 15th":      "*",
	"every monday except monday":            "*",
	"every day at 9:00 except at 10:00":     "*",
	"at 01/02/2030 9:00":                    "*",
	"every day at 9:00 until next year":     "*",
	"every 5 lightyears":                    "*",
	"every 30 february":                     "*",
	"monday 9:00 tuesday 10:00":             "*",
}

func TestWhatNewcomersTypeIsAnsweredWithTheWholeAsItIsWritten(t *testing.T) {
	for text, right := range newcomers {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		_, whole, is := strings.Cut(err.Error(), "; as a whole, write ")
		if right == "*" && is || right != "*" && whole != right {
			t.Errorf("%q: got %v, want %s", text, err, right)
		}
		healed(t, "every", text)
		if _, err := trigger.Parse("cron", text, trigger.ParseOptions{}); right != "*" && text[0] != '@' && (err == nil || !strings.Contains(err.Error(), "kind every, "+right+", at column 1")) {
			t.Errorf("as a cron expression %q: got %v, want %s", text, err, right)
		}
	}
}

func TestAnOrderOfDaysAndTimesOfOnesOwnIsAnsweredWithTheRightOne(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 21))
	names := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 2000 {
		hour, minute := random.IntN(24), random.IntN(60)
		at := fmt.Sprintf("%d:%02d", hour, minute)
		if half := (hour+11)%12 + 1; half != 12 && random.IntN(2) == 0 {
			at = fmt.Sprintf("%d:%02d%s%s", half, minute, pick("", " "), map[bool]string{true: pick("am", "a.m."), false: pick("pm", "p.m.")}[hour < 12])
		}
		var days, right string
		switch random.IntN(4) {
		case 0:
			day := names[random.IntN(7)]
			days, right = pick("every ", "each ", "on ", "on every ", "")+pick(day, day+"s", day[:3]), "every "+day
		case 1:
			first := random.IntN(5)
			last := first + 1 + random.IntN(6-first)
			days, right = pick("every ", "on ", "from ", "")+names[first]+pick(" to ", " through ", " - ")+names[last], "every "+strings.Join(names[first:last+1], ", ")
			if first == 0 && last == 4 {
				right = "every weekday"
			} else if first == 0 && last == 6 {
				right = "every day"
			}
		case 2:
			dom := 1 + random.IntN(31)
			suffix := "th"
			if dom%10 >= 1 && dom%10 <= 3 && dom/10 != 1 {
				suffix = []string{"st", "nd", "rd"}[dom%10-1]
			}
			nth := strconv.Itoa(dom) + suffix
			days, right = pick("every ", "on the ", "the ", "")+nth+pick(" of the month", " of every month", " day of each month"), "every month on the "+nth
		default:
			dom, month := 1+random.IntN(28), time.Month(1+random.IntN(12)).String()
			days = pick(fmt.Sprintf("%s%d %s", pick("every ", "on ", ""), dom, month), fmt.Sprintf("%s%s %d", pick("every ", "on ", ""), month, dom))
			right = fmt.Sprintf("every year on %s %d", strings.ToLower(month), dom)
		}
		text := pick("at ", "") + at + " " + days
		if random.IntN(2) == 0 {
			text = days + pick(" at ", " ", ", at ") + at
		}
		right += fmt.Sprintf(" at %02d:%02d", hour, minute)
		trig, err := trigger.Parse("every", text, trigger.ParseOptions{})
		if err == nil {
			if said := trig.(fmt.Stringer).String(); said != right {
				t.Fatalf("seed %d: %q is taken for %q, want %q", seed, text, said, right)
			}
			continue
		}
		_, whole, _ := strings.Cut(err.Error(), "; as a whole, write ")
		if found := suggestion.FindStringSubmatch(err.Error()); found != nil {
			column, _ := strconv.Atoi(found[2])
			for _, end := range []int{strings.IndexAny(text[column-1:]+" ", " ,"), len(text) - column + 1} {
				if trig, err := trigger.Parse("every", text[:column-1]+found[1]+text[column-1+end:], trigger.ParseOptions{}); err == nil {
					whole = trig.(fmt.Stringer).String()
				}
			}
		}
		if whole != right {
			t.Fatalf("seed %d: %q: got %v, want %s", seed, text, err, right)
		}
	}
}

func TestWhatStandsBesideTheWordsIsToldWhereItGoes(t *testing.T) {
	for _, c := range []struct{ kind, text, says string }{
		{"every", "every day at 9:00 in Europe/Berlin", "say every day at 09:00, with the zone beside it (--tz Europe/Berlin), at column 19"},
		{"every", "every day at 9:00 UTC until 2030-01-01", "say every day at 09:00 until 2030-01-01, with the zone beside it (--tz UTC)"},
		{"every", "every 3 hours starting 2030-01-01 09:00", "say every 3 hours, with the start beside it (--start '2030-01-01 09:00'), at column 15"},
		{"every", "every monday at 9am from 2030-01-01", "say every monday at 09:00, with the start beside it (--start '2030-01-01')"},
		{"every", "today at 18:15", "give the date, as in at 2030-06-01 18:15"},
		{"every", "next monday at 9am", "give the date, as in at 2030-06-01 09:00"},
		{"every", "every third month on the 3rd", "months=3 start_date=2027-01-03"},
		{"every", "every quarter", "kind calendar with its first date, months=3"},
		{"every", "every weekday except holidays and fridays", `"expr":"0 0 * * mon-fri"},"not":[{"days":{"weekdays":["fri"]}},{"calendar":"holidays"}]}`},
		{"every", "hour=9 day_of_week=mon-fri", "dialect fields: that is a kind cron, hour=9 day_of_week=mon-fri"},
		{"every", "TZ=Asia/Tokyo 0 9 * * *", "that is a kind cron, TZ=Asia/Tokyo 0 9 * * *"},
		{"every", "0 9 * * *", "these are no words: that is a kind cron, 0 9 * * *, at column 1"},
		{"every", "0 9 * * monday", "look like a cron expression, and that has a fault: day_of_week: \"monday\" is"},
		{"every", "every wensday at 9:00", "write wednesday, at column 7"}, {"every", "every weekdya", "write weekday"},
		{"every", "every day at 17h30", "write 17:30, at column 14"}, {"every", "every day at 1730", "write 17:30, at column 14"},
		{"cron", "every monday at 9:00", "these are words: that is a kind every, every monday at 9:00, at column 1"},
		{"cron", "every day at 25:00", `kind every, and "25:00" is not understood here`},
		{"cron", "every working day at 9:00", "kind every, and the words know no holidays"},
		{"cron", "0 9 * * * Europe/Berlin", "the zone stands in front; write TZ=Europe/Berlin 0 9 * * *, at column 1"},
		{"cron", "CRON_TZ=Berlin 0 9 * * *", `did you mean "Europe/Berlin"?`}, {"cron", "TZ=tokyo 0 9 * * *", `did you mean "Asia/Tokyo"?`},
		{"every", "every hour at 15", "write :15, at column 15"}, {"every", "every minute at 5", "write :05, at column 17"},
		{"cron", "hourly", "; write @hourly, at column 1"}, {"cron", "0 9 * *", "found 4 fields"},
	} {
		_, err := trigger.Parse(c.kind, c.text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: got %v, want %s", c.kind, c.text, err, c.says)
		}
		healed(t, c.kind, c.text)
	}
}

// An interval within hours of the day is a cron expression, and fires as is said: from the first hour to the last, those of minutes before it.
func TestHoursFromAndToAreAnsweredWithACronExpression(t *testing.T) {
	shown := regexp.MustCompile(`that is a kind cron, ([^(]+?)( \(the last of a day at (.*)\))?, at column`)
	for text, want := range map[string]struct{ first, last string }{
		"every hour from 9 to 17":                             {"09:00", "17:00"},
		"between 9am and 5pm every hour":                      {"09:00", "17:00"},
		"every 3 hours between 8:00 and 20:00":                {"08:00", "20:00"},
		"every 10 minutes between 9:00 and 17:00":             {"09:00", "16:50"},
		"every minute from 9:00 to 17:00":                     {"09:00", "16:59"},
		"every 10 minutes on weekdays between 9:00 and 17:00": {"09:00", "16:50"},
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{})
		if err == nil || !shown.MatchString(err.Error()) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		found := shown.FindStringSubmatch(err.Error())
		trig, err := trigger.Parse("cron", found[1], trigger.ParseOptions{Zone: "UTC"})
		if err != nil {
			t.Errorf("%q: %s: %v", text, found[1], err)
			continue
		}
		first, last := "", ""
		for at, ok := trig.Next(instant(t, "2026-12-01T00:00:00Z")); ok && at.Before(instant(t, "2026-12-02T00:00:00Z")); at, ok = trig.Next(at) {
			if last = at.Format("15:04"); first == "" {
				first = last
			}
		}
		if first != want.first || last != want.last || found[3] != "" && found[3] != last {
			t.Errorf("%q: %s fires from %s to %s, want %s to %s", text, found[0], first, last, want.first, want.last)
		}
	}
	for _, text := range []string{"every 7 minutes from 9:00 to 17:00", "every hour from 9 to 9", "every hour from 22 to 6 on weekdays", "every hour from 9:30 to 17:00", "every monday from 9 to 17"} {
		if _, err := trigger.Parse("every", text, trigger.ParseOptions{}); err == nil || strings.Contains(err.Error(), "kind cron") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
