package trigger_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

var (
	shownWhole    = regexp.MustCompile(`; as a whole, write (.*)$`)
	shownCron     = regexp.MustCompile(`kind cron(?: of the dialect (\w+))?, ([^;(]+?)(?: \(the last|;|, with |, at column)`)
	shownCalendar = regexp.MustCompile(`kind calendar with its first date, (.*?)(?:, with |, at column)`)
	shownWords    = regexp.MustCompile(`: say (.*?), (?:with |which |at column)`)
)

// shownOf returns what a message shows in the place of all that was typed: words, the fields of a cron expression, and those with the
// name of their dialect in front where it is another one. What is shown is read.
func shownOf(t *testing.T, text, message string) string {
	t.Helper()
	o := trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)}
	kind, shown := "every", ""
	if found := shownWhole.FindStringSubmatch(message); found != nil {
		shown = found[1]
	} else if found := shownCron.FindStringSubmatch(message); found != nil {
		kind, o.Dialect, shown = "cron", found[1], found[2]
	} else if found := shownCalendar.FindStringSubmatch(message); found != nil {
		if _, err := trigger.Parse("calendar", found[1], o); err != nil {
			t.Errorf("%q: %s, and then: %v", text, message, err)
		}
		return "calendar: " + found[1]
	} else if found := shownWords.FindStringSubmatch(message); found != nil {
		shown = found[1]
	} else {
		return mended(text)
	}
	if _, err := trigger.Parse(kind, shown, o); err != nil {
		t.Errorf("%q: %s, and then: %v", text, message, err)
	}
	if o.Dialect != "" {
		return o.Dialect + ": " + shown
	}
	return shown
}

// mended puts what is suggested in its place, as often as there is something, and returns words that are accepted then; empty for others.
func mended(text string) string {
	for range 6 {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)})
		if err == nil {
			return text
		}
		found := suggestion.FindStringSubmatch(err.Error())
		read := regexp.MustCompile(`"([^"]*)" is no`).FindStringSubmatch(err.Error())
		if found == nil {
			return ""
		}
		column, _ := strconv.Atoi(found[2])
		if read == nil { // of 3 fridays the message says that they are not counted
			if read = regexp.MustCompile(`^(\d+ \w+)`).FindStringSubmatch(text[column-1:]); read == nil {
				return ""
			}
		}
		text = text[:column-1] + found[1] + text[column-1+len(strings.ReplaceAll(read[1], " ,", ",")):]
	}
	return ""
}

// What people type who know other schedulers, or none, and all of what they mean.
func TestWhatIsShownSaysAllThatWasTyped(t *testing.T) {
	for text, right := range map[string]string{
		// Times of day alone.
		"at 9:00": "every day at 09:00", "9:00": "every day at 09:00", "9am": "every day at 09:00", "9h30": "every day at 09:30", "0930": "every day at 09:30", "at 9": "every day at 09:00",
		"9:00, 17:00": "every day at 09:00, 17:00", "at noon and 17:30": "every day at 12:00, 17:30", "9.30": "every day at 09:30", "at half past nine": "every day at 09:30",
		"every day at quarter to nine": "every day at 08:45", "every day at nine thirty": "every day at 09:30",
		// 24:00 of every day is 00:00 of every day.
		"daily 24:00": "every day at 00:00", "every day 24:00": "every day at 00:00", "daily at 24:00": "every day at 00:00",
		// Minutes of an hour.
		"15 minutes past every hour": "every hour at :15", "at 15 minutes past the hour": "every hour at :15", "every hour at 15 minutes past": "every hour at :15", "every hour at 15 past": "every hour at :15",
		"quarter past every hour": "every hour at :15", "half past every hour": "every hour at :30", "every hour at minute 15": "every hour at :15", "10 minutes to every hour": "every hour at :50",
		"at :15": "every hour at :15", ":05": "every hour at :05", "hourly at 5 past": "every hour at :05", "at five past the hour": "every hour at :05", "quarter to every hour until 2030-01-01": "every hour at :45 until 2030-01-01",
		// Days of a month and months.
		"last weekday of the month": "0 0 LW * *", "last weekday of the month at 18:00": "0 18 LW * *", "every first weekday of january at 9": "0 9 1W 1 *", "first weekday of every month 7:30": "30 7 1W * *",
		"every day in january at 9": "0 9 * 1 *", "every monday in march at 9:00": "0 9 * 3 mon", "weekdays in december": "0 0 * 12 mon-fri", "every day of january": "0 0 * 1 *", "first monday of the year": "0 0 * 1 mon#1",
		"the last friday of the year at 9": "0 9 * 12 friL",
		// Intervals on some days, and between hours.
		"every 5 minutes on weekdays": "*/5 * * * mon-fri", "every hour on mondays": "0 * * * mon", "every 10 minutes from 9am to 5pm mon-fri": "*/10 9-16 * * mon-fri", "hourly between 9 and 17": "0 9-17 * * *",
		"every hour from 22 to 6": "0 22-23,0-6 * * *", "every 2 hours between 10pm and 4am": "0 22,0,2,4 * * *", "every 10 minutes from 22:00 to 6:00": "*/10 22-23,0-5 * * *", "every 30 minutes from 18 to midnight": "*/30 18-23 * * *", "every hour from 23 to 0": "0 23,0 * * *", "every 2 hours between noon and 2am": "0 12,14,16,18,20,22,0,2 * * *", "hourly from 9pm to 5am": "0 21-23,0-5 * * *", "every hour from 9am to midnight": "0 9-23,0 * * *", "hourly from 9 to 5pm": "0 9-17 * * *",
		"hourly": "every hour at :00", "minutely": "every minute at :00", "hourly until 2030-01-01": "every hour at :00 until 2030-01-01", "daily at noon": "every day at 12:00", "nightly at 2": "every day at 02:00", "weekly at noon": "every monday at 12:00",
		"every 2 hours on sat and sun": "0 */2 * * sat,sun", "hourly on weekdays": "0 * * * mon-fri", "every minute on monday": "* * * * mon",
		"every 4 hours at :30": "30 */4 * * *", "every 30 minutes at :05": "5-59/30 * * * *", "every 12 hours at 6:00": "every day at 06:00, 18:00", "every 8 hours at 22:15": "every day at 06:15, 14:15, 22:15", "every 24 hours at 9:00": "every day at 09:00",
		// Starts, zones and ends.
		"every 2 hours starting at 9:00": "every 2 hours", "every day at 9 starting tomorrow": "every day at 09:00", "every day at 9 from tomorrow": "every day at 09:00", "every hour starting now": "every hour", "every day starting at 9:00": "every day at 09:00",
		"every monday at 9 starting next week": "every monday at 09:00", "starting 2029-01-01 every day at 9:00": "every day at 09:00", "every day at 9:00 from 2029-01-01 until 2030-01-01": "every day at 09:00 until 2030-01-01",
		"every day at 9:00 utc": "every day at 09:00", "every day at 9:00 GMT": "every day at 09:00", "every day at 9:00 5 times": "every day at 09:00",
		"every day until 31.12.2030": "every day until 2030-12-31", "every day until dec 31 2030": "every day until 2030-12-31", "every day until 31 december, 2030": "every day until 2030-12-31", "every day until 12/31/2030": "every day until 2030-12-31",
		"every day until 2030-12-31 at 9:00": "every day until 2030-12-31 09:00", "every day at 9 until 2030-1-1": "every day at 09:00 until 2030-01-01",
		// Dates.
		"december 25, 2030 at 9am": "at 2030-12-25 09:00", "25 december 2030": "at 2030-12-25", "at 9:00 on 2030-01-01": "at 2030-01-01 09:00", "12/25/2030 9:00": "at 2030-12-25 09:00", "on the 4th of july 2030 at noon": "at 2030-07-04 12:00",
		"once on 2030-01-01 at 9:00": "at 2030-01-01 09:00", "9pm 2030-01-01": "at 2030-01-01 21:00",
		// Other forms of weekdays.
		"every mon/wed/fri at 9": "every monday, wednesday, friday at 09:00", "Mo-Fr 9:00": "every weekday at 09:00", "only on mondays": "every monday at 00:00", "every 3 fridays at 9": "every 3 weeks on friday at 09:00",
		"monthly at 9:00 on the 5th": "every month on the 5th at 09:00", "monthly on the first": "every month on the 1st at 00:00", "monthly the 5th at 9": "every month on the 5th at 09:00", "yearly at 9:00 on march 1st": "every year on march 1 at 09:00",
		"every mon & fri at 9": "every monday, friday at 09:00", "every 2 h": "every 2 hours", "10 s": "every 10 seconds", "every hour at :15 and :45": "15,45 * * * *", "every hour at 15 and 45": "15,45 * * * *", "every day at 9 starting on monday": "every day at 09:00",
		"every 15 minutes from 9 to 17 on weekdays Europe/Berlin": "*/15 9-16 * * mon-fri", "monthly on the last friday at 9": "0 9 * * friL", "monthly on the last weekday": "0 0 LW * *",
		"every 2 months starting 2030-03-01": "calendar: months=2 start_date=2030-03-01", "every 2 months at 9:00 from 2030-03-31": "calendar: months=2 hour=9 start_date=2030-03-31", "every 2 years starting 2030-03-01 at 9": "calendar: years=2 hour=9 start_date=2030-03-01",
		"every 3 months on the first at 9": "calendar: months=3 hour=9 start_date=2027-01-01", "every 2 years on march 15": "calendar: years=2 start_date=2027-03-15", "quarterly on the first at 9": "0 9 1 */3 *",
		"every first monday at 9:00 UTC": "0 9 * * mon#1", "every 2 months at 9:00 utc": "calendar: months=2 hour=9 start_date=2027-01-15", "every 5 minutes on weekdays UTC": "*/5 * * * mon-fri", "every 2 fridays at 9:00 starting tomorrow": "every 2 weeks on friday at 09:00",
		// AWS.
		"cron(0 9 * * ? *)": "quartz: 0 0 9 * * ? *", "cron(0 9 ? * 2-6 *)": "quartz: 0 0 9 ? * 2-6 *", "cron(0 9 L * ? 2030)": "quartz: 0 0 9 L * ? 2030", "cron( 0/15 * ? * MON-FRI * )": "quartz: 0 0/15 * ? * MON-FRI *",
		"rate(5 minutes)": "every 5 minutes", "rate(1 hour)": "every hour", "rate( 1 day )": "every day", "at(2030-01-01T09:00:00)": "at 2030-01-01T09:00:00",
		// systemd.
		"Mon..Fri 09:00": "every weekday at 09:00", "*-*-01 00:00:00": "0 0 1 * *", "Mon *-*-* 09:00": "0 9 * * mon", "*-*-* 09:00": "0 9 * * *", "Mon..Fri *-*-* 09:00:30": "30 0 9 * * mon-fri", "*:0/15": "0/15 * * * *", "*-01-01 00:00:00": "0 0 1 1 *",
		"*-1,4,7,10-01 00:00:00": "0 0 1 1,4,7,10 *", "Mon,Fri *-*-* 9..17:00": "0 9-17 * * mon,fri", "*-*-* *:00:00": "0 * * * *", "*-*~1 18:00": "0 18 L * *", "*-02~3": "0 0 L-2 2 *", "*-1/3-1 9:00": "0 9 1 1/3 *", "OnCalendar=*-*-* 4:00": "0 4 * * *",
		"*-*-* 9:00 Europe/Berlin": "0 9 * * *", "Mon *-*-* 9:00 UTC": "0 9 * * mon", "Sat..Mon *-*-* 10:00": "0 10 * * mon,sat,sun", "Mon *-*-1..7 09:00": "fields: month=* day=1-7 day_of_week=mon hour=9 minute=0 second=0", "2030-*-* 09:00": "fields: year=2030 month=* day=* hour=9 minute=0 second=0", "OnCalendar=Mon 9:00": "every monday at 09:00",
		"OnCalendar=hourly": "0 * * * *", "OnCalendar=Daily": "0 0 * * *", "OnCalendar=weekly": "0 0 * * mon", "OnCalendar=quarterly": "0 0 1 1,4,7,10 *", "OnCalendar=semiannually": "0 0 1 1,7 *",
		"OnUnitActiveSec=5min": "every 5 minutes", "OnUnitActiveSec=1h 30min": "every 90 minutes", "OnUnitInactiveSec=300": "every 5 minutes", "OnUnitActiveSec=5minutes": "every 5 minutes", "OnUnitActiveSec=3hours": "every 3 hours", "'every 2days'": "every 2 days", "every 5minutes": "every 5 minutes", "every 3hours": "every 3 hours", "2days": "every 2 days", "rate(5minutes)": "every 5 minutes",
		// Lengths of ISO 8601.
		"PT5M": "5m", "every PT1H30M": "every 1h30m", "every P1DT12H": "every 1d12h", "P2W": "14d", "in PT90S": "in 1m30s",
		// Of a programming language, or of a file.
		`"every day at 9:00"`: "every day at 09:00", `"0 9 * * *"`: "0 9 * * *", "- cron: '30 5 * * 1,3'": "30 5 * * 1,3", `schedule: "0 9 * * *"`: "0 9 * * *", "schedule.every(10).minutes.do(job)": "every 10 minutes", `every().monday.at("9:00")`: "every monday at 09:00",
		"every(5).to(10).seconds": "every 5 to 10 seconds", "on startup": "@reboot", "at reboot": "@reboot",
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		refused(t, err)
		if shown := shownOf(t, text, err.Error()); shown != right {
			t.Errorf("%q: %v\nshows %q, want %q", text, err, shown, right)
		}
		healed(t, "every", text)
	}
}

// What no trigger says, or what says more than one thing, has nothing shown that drops a part of it.
func TestNothingIsShownThatSaysLessThanWasTyped(t *testing.T) {
	for _, text := range []string{
		"every 3 business days", "every 3 working days", "every other weekday", "every 2 weekdays", "every other business day", "every 5 workdays at 9:00", "every third working day", "every second workday",
		"last friday of the quarter", "first monday of the week", "every working day and saturday at 9", "every first monday and every friday", "every first monday and second day", "every other first monday",
		"second to last friday", "penultimate friday of the month", "first and last working day of the month", "every 2 months on the first monday", "first monday at 9:00 and last friday at 10:00", "every holiday at 9:00 and weekends", "every holiday at 9:00 and sunday at 10",
		"every first monday or friday", "first monday and the 15th", "every first monday between 9 and 17", "every first monday every 5 minutes", "every first monday at 9:00 on odd days", "every working day in summer", "every working day every 2 hours",
		"once at 9:00", "monday 24:00", "every 2 days at 24:00", "monthly 24:00", "every 15 minutes past the hour", "every 2 hours starting at 9:00 or so", "every 7 hours at :30", "every 5 hours at 9:00", "every 7 minutes on monday",
		"every day at 9:00 until 01/02/2030", "01/02/2030", "every day in january and march or so", "every 10 minutes in january", "cron(0 9 * * *)", "cron(0 9 1 * 2 *)", "rate(0 minutes)", "rate(5 lightyears)", "rate(5 minutes", "at(tomorrow)",
		"*-*-* 09:00:00.5", "*-*-32 09:00", "Mon *-*-* 25:00", "*-*-*", "Mon..Foo *-*-* 09:00", "*-*~1,2 9:00", "Mon *-*~7/1 09:00", "schedule.every(5).lightyears", "every working day until 2030-01-01 or 2031-01-01",
		"every 2 months on the 15th and the 1st", "quarterly on the 1st and 15th", "quarterly on monday", "quarterly at 9 from 2030-01-01", "every 2 months starting tomorrow", "every 2 years on the 15th", "every 2 months on the 3rd starting 2030-03-01", "every 3 months on weekdays",
		"every 2 months in summer", "half-yearly except in august", "quarterly or so", "every 2 months on the first day and on the last", "every day after 9:00", "every day before 9:00", "2 hours after midnight", "every hour after midnight", "at 2030", "every minute at 30 seconds or so",
		"monthly at 9:00 on the 5th or so", "weekly at 9:00 on the 5th", "daily at 9:00 on the 5th",
		"every first monday of january and last friday of december", "first monday of january and first friday", "3 times every day at 9", "every 2 months at 9:00 and 17:00", "every 2 months on the 5th at 9 and 10:30", "rate(monday)", "at quarter to one",
		"every 2 fridays and mondays", "every first monday mon/tue",
		"tous les jours à 9h", "monday and the last weekday of the month", "last weekday of the week", "third weekday of the month", "daily blah",
		// Nine to five ends in the afternoon, or in the morning.
		"every hour from 9 to 5", "every 2 hours from 9 to 5", "every 15 minutes between 10 and 4", "every hour from 9:00 to 5:00", "every hour from 9am to 5", "every hour from 9 to 5am", "hourly from 12 to 6", "every 10 minutes from 9 to midnight",
		"every 5minuts", "3mondays", "every 2weeks on 3monday",
		// P1M of ISO 8601 and 1M of systemd are a month.
		"P1M", "every P5M", "P1MT5M", "P1T5M", "PT5MS", "in P2M", "OnUnitActiveSec=1M", "OnUnitActiveSec=1d 2M", "OnUnitActiveSec=monday", "OnUnitActiveSec=daily",
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{Now: time.Unix(1_800_000_000, 0)})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		if said := err.Error(); shownOf(t, text, said) != "" || strings.Contains(said, "{") || strings.Contains(said, "say every") || strings.Contains(said, "write every") {
			t.Errorf("%q: %s", text, said)
		}
	}
}

func TestWhatIsRefusedIsToldWhatElseSaysIt(t *testing.T) {
	for text, says := range map[string]string{
		"every 3 business days":             "working days are not counted",
		"every other weekday":               "weekdays are not counted",
		"every 2 weekdays at 7:30":          "weekdays are not counted",
		"every 3 fridays":                   "weekdays are not counted; write 3 weeks on friday, at column 7",
		"monday 24:00":                      "24:00 is 00:00 of the day after), at column 8",
		"every day at 24:00":                "; write 00:00, at column 14",
		"every day until 2030":              "a year is no date: until 2030-01-01 is up to it, until 2031-01-01 with all of it, at column 17",
		"every day until march 2030":        "a month is no date: until 2030-03-01 is up to it, until 2030-04-01 with all of it, at column 17",
		"every monday until 2030":           "a year is no date: until 2029-12-31 is up to it, until 2030-12-31 with all of it, at column 20",
		"every first monday until 2030":     "a year is no date: until 2029-12-31 is up to it, until 2030-12-31 with all of it, at column 26",
		"every day at 9:00 until 2030-06":   "a month is no date: until 2030-05-31 is up to it, until 2030-06-30 with all of it, at column 25",
		"every 2 hours starting at 9:00":    "with the start beside it, a date and 09:00 (--start '2030-06-01 09:00')",
		"every day at 9 starting tomorrow":  "with the date of tomorrow beside it as the start (--start)",
		"every day at 9 from next monday":   "with the date of next monday beside it as the start (--start)",
		"every day at 9:00 starting now":    "say every day at 09:00, which begins when it is set",
		"every 6 hours starting midnight":   "with the start beside it, a date and 00:00 (--start '2030-06-01 00:00')",
		"every day at 9:00 3 times":         "with the number of runs beside it (--max-runs 3)",
		"cron(0 9 * * ? *)":                 "the seconds stand in front; AWS means UTC where it names no zone (--tz UTC)",
		"at(2030-01-01T09:00:00)":           "; AWS means UTC where it names no zone (--tz UTC)",
		"tomorrow":                          "give the date, as in at 2030-06-01, or a time from now",
		"tomorrow at 9":                     "as in at 2030-06-01 09:00, or",
		"tonight at 8":                      "as in at 2030-06-01 20:00, or",
		"tomorrow at 8 in the evening":      "as in at 2030-06-01 20:00, or",
		"tomorrow morning":                  "as in at 2030-06-01, or",
		"at 5pm tomorrow":                   "as in at 2030-06-01 17:00, or",
		"60 9 * * *":                        "minute: 60 is out of range (accepted: 0-59), at column 1",
		"every third friday":                "fri#3; every third week is every 3 weeks on fri",
		"first monday of the month at 9:00": "mon#1, at column 1",
	} {
		_, err := trigger.Parse("every", text, trigger.ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %s", text, err, says)
		}
	}
	for text, says := range map[string]string{
		"cron(0 9 * * ? *)": "kind cron of the dialect quartz, 0 0 9 * * ? *", "rate(5 minutes)": "kind every, every 5 minutes", "*-*-01 00:00:00": "kind cron, 0 0 1 * *", "'0 9 * * *'": "kind cron, 0 9 * * *", "at 9:00": "kind every, every day at 09:00",
		"Mon *-*-1..7 09:00": "kind cron of the dialect fields, month=* day=1-7", "every 3 business days": "working days are not counted", "last weekday of the month": "kind cron, 0 0 LW * *", "15 minutes past every hour": "kind every, every hour at :15",
	} {
		if _, err := trigger.Parse("cron", text, trigger.ParseOptions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("as a cron expression %q: got %v, want %s", text, err, says)
		}
	}
}
