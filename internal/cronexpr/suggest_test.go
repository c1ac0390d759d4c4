package cronexpr_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// put returns the text with the suggestion in the place of what was read.
func put(t *testing.T, text string, fault *cronexpr.Error) string {
	t.Helper()
	from := fault.Column - 1
	if from < 0 || from > len(text) || !strings.HasPrefix(text[from:], fault.Read) {
		t.Fatalf("%q: %q does not stand at column %d", text, fault.Read, fault.Column)
	}
	return text[:from] + fault.Suggestion + text[from+len(fault.Read):]
}

// heals checks that a suggestion, put in the place of what was read, is accepted there.
func heals(t *testing.T, dialect, text string) (suggested bool) {
	t.Helper()
	_, err := cronexpr.Parse(cronexpr.Lookup(dialect), text)
	var fault *cronexpr.Error
	if !errors.As(err, &fault) || fault.Suggestion == "" {
		return false
	}
	right := put(t, text, fault)
	_, err = cronexpr.Parse(cronexpr.Lookup(dialect), right)
	var second *cronexpr.Error
	if errors.As(err, &second) && second.Column < fault.Column+len(fault.Suggestion) && second.Field == fault.Field {
		t.Errorf("%s %q: %v; but %q: %v", dialect, text, fault, right, second)
	}
	return true
}

func TestWhatIsSuggestedIsAcceptedThere(t *testing.T) {
	for _, c := range []struct{ dialect, text, suggestion string }{
		{"crontab", "0 0 * * munday", "mon"}, {"ruqi", "0 0 0 * * munday", "mon"}, {"quartz", "0 0 0 ? * munday", "mon"}, {"fields", "day_of_week=munday", "mon"},
		{"crontab", "0 0 * * tusday", "tue"}, {"crontab", "0 0 * * thrusday-fri", "thu"}, {"crontab", "0 0 * * mon-firday", "fri"},
		{"crontab", "0 0 * * munday#2", "mon"}, {"crontab", "0 0 * * fridayL", "fri"}, {"quartz", "0 0 0 ? * wendesday", "wed"}, {"crontab", "0 0 * * saterday", "sat"},
		{"crontab", "0 0 1 agust *", "aug"}, {"ruqi", "0 0 0 1 septembre *", "sep"}, {"fields", "month=ocotber day=1", "oct"}, {"crontab", "0 0 1 ferbuary *", "feb"},
		{"fields", "day=fri#3", "'3rd fri'"}, {"fields", "day='fri#3'", "3rd fri"}, {"fields", "day='1, friday#2'", "2nd fri"}, {"fields", "day=friL hour=3", "'last fri'"},
		{"fields", "day_of_week=fri#3", "day='3rd fri'"}, {"fields", "hour=3 day_of_week=monL", "day='last mon'"}, {"fields", "day=1 day_of_week=fri#3", ""}, {"fields", "day_of_week=4#3", ""},
		{"fields", "day=3rd fri", "'3rd fri'"}, {"fields", "day=last sunday hour=3", "'last sun'"}, {"fields", `day_of_week="mon-fri" hour=5`, "'mon-fri'"}, {"fields", "day=3th", ""},
		{"ruqi", "0 0 0 ? * mon", "*"}, {"fields", "day=?", "*"}, {"ruqi", "0 0 0 L * *", "last"}, {"fields", "day='L'", "last"}, {"ruqi", "0 0 0 * * fri#3", ""}, {"ruqi", "0 0 0 * * friL", ""},
		{"crontab", "/5 * * * *", "*/5"}, {"quartz", "0 /15 * * * ?", "*/15"}, {"fields", "minute=/5", "*/5"}, {"crontab", `TZ="Asia/Tokyo" 0 9 * * *`, "Asia/Tokyo"},
		{"crontab", "@DAILY", "@daily"}, {"crontab", "@dayly", "@daily"}, {"crontab", "TZ=UTC daily", "@daily"}, {"crontab", "0 0 * * l", ""}, {"crontab", "@weekly1", "@weekly"},
		{"fields", "hour=5 mintue=3", "minute="}, {"fields", "days=5", "day="}, {"fields", "hour=22-2", "22-23,0-2"}, {"crontab", "0 0 L-0 * *", "L"},
		{"crontab", "0 9am * * *", "9"}, {"crontab", "0 9PM * * mon-fri", "21"}, {"ruqi", "0 0 11pm * * *", "23"}, {"fields", "hour=7am", "7"}, {"quartz", "0 0 9h * * ?", "9"},
		{"crontab", "0 12am * * *", ""}, {"crontab", "0 12pm * * *", ""}, {"crontab", "0 13pm * * *", ""}, {"crontab", "0 24h * * *", ""}, {"crontab", "9am * * * *", ""}, {"crontab", "0 am * * *", ""}, {"crontab", "0 9-5pm * * *", "17"},
		{"crontab", "0 0 L-0,0 * *", "L"}, {"crontab", "0 22-2/3 * * *", "22,1"}, {"ruqi", "0 0 0 * nov-feb *", "11,12,1,2"},
		{"crontab", "0 0 * sun *", ""}, {"crontab", "0 0 * * jun", ""}, {"fields", "month=sun", ""}, {"crontab", "0 0 * * mon..fri", ""}, {"crontab", "0 0 * * mon;fri", ""}, {"crontab", "0 0 * * sat+sun", ""}, {"ruqi", "0 0 0 * * monfri", ""}, {"fields", "month=jan|feb", ""}, {"crontab", "0 0 * jan2030 *", ""},
		{"crontab", "0 0 * * lun", ""}, {"crontab", "0 0 * * jue", ""}, {"crontab", "0 0 * * don", ""}, {"crontab", "0 0 * lug *", ""}, {"crontab", "0 0 * * lunes", ""}, {"crontab", "0 0 * * fri.", "fri"}, {"fields", "day_of_week=jun", ""},
	} {
		_, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text)
		var fault *cronexpr.Error
		if !errors.As(err, &fault) || fault.Suggestion != c.suggestion {
			t.Errorf("%s %q: got %v, want the suggestion %q", c.dialect, c.text, err, c.suggestion)
			continue
		}
		if c.suggestion == "" || strings.Contains(c.text, ",0 ") {
			continue
		}
		if _, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), put(t, c.text, fault)); err != nil {
			t.Errorf("%s %q: %v; then %v", c.dialect, c.text, fault, err)
		}
	}
}

// wrongParts are spellings that people try, each wrong in most places.
var wrongParts = strings.Split("munday monday sept FRIDAY fri-mon sun-mon 22-2 59-3/7 dec-jan 7-1 L last LW 3W L-0 L-5 fri#3 monL 6#3 5L ? H H/3 /5 1- -3 1,,2 ,1 1, 1/ */0 1-* x 99 0 "+
	"3rd 3th fri 3rdfri 'last 2030-2026 1969 \"mon\" mon,fri;tue jan. montag lundi 1/2/3 1-2-3 ٣ 1_0 0x5 1e1 +1 1.5 @daily TZ=UTC every", " ")

func TestNoSuggestionIsWrongInItsPlace(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	keys := []string{"year", "month", "day", "week", "day_of_week", "hour", "minute", "second", "days", "weekday", "mintue"}
	suggested := 0
	for range 5_000 {
		dialect := cronexpr.Dialects()[r.IntN(4)]
		part := func() string {
			if r.IntN(2) == 0 {
				return "*"
			}
			text := wrongParts[r.IntN(len(wrongParts))]
			if r.IntN(4) == 0 {
				text += []string{",", "-", "/", "#", "L", " "}[r.IntN(6)] + wrongParts[r.IntN(len(wrongParts))]
			}
			return text
		}
		var list []string
		for range 1 + r.IntN(7) {
			text := part()
			if dialect == "fields" {
				quote := []string{"", "'", "\""}[r.IntN(3)]
				text = keys[r.IntN(len(keys))] + "=" + quote + text + quote
			}
			list = append(list, text)
		}
		if heals(t, dialect, strings.Join(list, " ")) {
			suggested++
		}
	}
	t.Logf("%d suggestions", suggested)
}

func FuzzSuggestion(f *testing.F) {
	for i, text := range []string{"0 0 * * munday", "0 0 0 ? * fri-mon", "day=fri#3 hour='1, 2'", "0 0 0 L * ?", "day_of_week='mon-fri', hour=5", "TZ=\"UTC\" 1,,2 /5 * * *", "@dayly"} {
		f.Add(text, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, dialect uint8) {
		heals(t, cronexpr.Dialects()[dialect%4], text)
	})
}

// TestKeywordsOfOthersLeadToTheRightOne tries the names that other programs have for the fields: with the keyword that is suggested the text is read.
func TestKeywordsOfOthersLeadToTheRightOne(t *testing.T) {
	for right, names := range map[string][]string{
		"day_of_week=mon":     {"dow", "weekday", "weekdays", "wday", "week_day", "dayofweek", "days_of_week", "DOW", "day-of-week", "days", "Day", "day_of_month"},
		"day_of_week='tue'":   {"dow", "weekday", "days"},
		"day_of_week=mon-fri": {"dow", "weekdays", "days"},
		"day=15":              {"dom", "mday", "monthday", "day_of_month", "dayofmonth", "days", "date"},
		"minute=30":           {"min", "mins", "minutes", "MINUTE", "mintue"},
		"hour=5":              {"hr", "hrs", "hours", "horu"},
		"second=5":            {"sec", "secs", "seconds"},
		"month=5":             {"months", "mth"},
		"week=5":              {"weeks", "weekofyear", "week_of_year", "isoweek"},
		"year=2030":           {"years", "yr"},
	} {
		keyword, value, _ := strings.Cut(right, "=")
		for _, name := range names {
			for _, text := range []string{name + "=" + value, "second=3 " + name + "=" + value} {
				if keyword == "second" && text != name+"="+value {
					continue
				}
				_, err := cronexpr.Parse(cronexpr.Lookup("fields"), text)
				var fault *cronexpr.Error
				if !errors.As(err, &fault) || fault.Suggestion != keyword+"=" {
					t.Errorf("%s: got %v, want %s=", text, err, keyword)
					continue
				}
				if _, err := cronexpr.Parse(cronexpr.Lookup("fields"), put(t, text, fault)); err != nil {
					t.Errorf("%s: %s: %v", text, put(t, text, fault), err)
				}
			}
		}
	}
	for text, says := range map[string]string{
		"weekday=1":        "its numbers are 0 for Monday to 6 for Sunday",
		"hour=5 dow=1-5":   "its numbers are 0 for Monday to 6 for Sunday",
		"day=mon":          "weekdays are those of day_of_week",
		"day='mon-fri'":    "weekdays are those of day_of_week",
		"day=tuesday":      "weekdays are those of day_of_week",
		"timezone=UTC":     "given beside it",
		"weekends=5":       `"weekends" is not a field`,
		"business_day=mon": `"business_day" is not a field`,
	} {
		if _, err := cronexpr.Parse(cronexpr.Lookup("fields"), text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %s", text, err, says)
		}
	}
}

// TestWhatStandsAloneIsQuotedWhole puts what stands alone into ranges and steps: it is quoted with them, and nothing that means less is suggested.
func TestWhatStandsAloneIsQuotedWhole(t *testing.T) {
	days, weekdays := []string{"LW", "L", "15W", "lw"}, []string{"friL", "fri#2", "6L"}
	for _, dialect := range []string{"crontab", "quartz"} {
		for i, alone := range append(days, weekdays...) {
			for _, form := range []string{"%-1", "1-%", "%/2", "1-%/2", "%-20", "%-" + alone} {
				element := strings.ReplaceAll(form, "%", alone)
				text := "0 0 9 " + element + " * ?"
				if i >= len(days) {
					text = "0 0 9 ? * " + element
				}
				if strings.HasPrefix(element, "L-") && element != "L-L" {
					continue // L-1, the day before the last
				}
				_, err := cronexpr.Parse(cronexpr.Lookup(dialect), text)
				var fault *cronexpr.Error
				if !errors.As(err, &fault) || !strings.Contains(fault.Reason, strconv.Quote(element)) || fault.Suggestion != "" {
					t.Errorf("%s %q: got %v", dialect, text, err)
				}
			}
		}
	}
	for _, c := range []struct{ dialect, text, quoted string }{
		{"crontab", "0 9 * * mon-fri#2", "mon-fri#2"}, {"quartz", "0 0 9 ? * mon-friL", "mon-friL"}, {"ruqi", "0 0 9 last-3 * *", "last-3"}, {"fields", "day=1-last", "1-last"},
		{"fields", "day='2nd fri/2'", "fri/2"}, {"crontab", "0 9 3,LW-2 * *", "LW-2"},
	} {
		_, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text)
		var fault *cronexpr.Error
		if !errors.As(err, &fault) || !strings.Contains(fault.Reason, strconv.Quote(c.quoted)) {
			t.Errorf("%s %q: got %v", c.dialect, c.text, err)
		}
	}
}

func TestTheColumnIsThatOfWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		dialect, text, field string
		column               int
	}{
		{"crontab", "1,,2 * * * *", "minute", 3}, {"crontab", ",1 * * * *", "minute", 1}, {"crontab", "1, * * * *", "minute", 3}, {"crontab", ", * * * *", "minute", 1},
		{"crontab", "0 1,2,,3 * * *", "hour", 7}, {"crontab", "0 0 * * mon,,fri", "day_of_week", 13}, {"quartz", "0 0 0 1,, * ?", "day", 9}, {"ruqi", "0 0 0 * ,1 *", "month", 9},
		{"fields", "hour='1, ,2'", "hour", 9}, {"fields", "hour=1,,2", "hour", 8}, {"fields", "hour=1,2, minute=3", "expression", 9}, {"fields", "day='1,'", "day", 8},
		{"crontab", "1- * * * *", "minute", 3}, {"crontab", "-1 * * * *", "minute", 1}, {"crontab", "5,1-,3 * * * *", "minute", 5}, {"crontab", "5,-3 * * * *", "minute", 3},
		{"crontab", "1-/2 * * * *", "minute", 3}, {"crontab", "-/2 * * * *", "minute", 1}, {"crontab", "1/ * * * *", "minute", 3}, {"crontab", "/2 * * * *", "minute", 1},
		{"crontab", "7,/2 * * * *", "minute", 3}, {"crontab", "*/,2 * * * *", "minute", 3}, {"crontab", "1-* * * * *", "minute", 3}, {"crontab", "*-3 * * * *", "minute", 1},
		{"crontab", "0 0 * * mon#", "day_of_week", 13}, {"crontab", "0 0 * * #2", "day_of_week", 9}, {"crontab", "0 0 L- * *", "day", 5}, {"crontab", "0 0 * * 3,#2", "day_of_week", 11},
		{"crontab", "H(-5) 0 * * *", "minute", 3}, {"crontab", "H(5-) 0 * * *", "minute", 5}, {"crontab", "H() 0 * * *", "minute", 3}, {"crontab", "H/ 0 * * *", "minute", 3},
	} {
		_, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text)
		var fault *cronexpr.Error
		if !errors.As(err, &fault) || fault.Field != c.field || fault.Column != c.column {
			t.Errorf("%s %q: got %v, want field %s, column %d", c.dialect, c.text, err, c.field, c.column)
		}
	}
}

func TestWhatIsOfAnotherProgramIsSaidToBe(t *testing.T) {
	const quartz = "--dialect quartz"
	for _, c := range []struct{ dialect, text, says string }{
		{"ruqi", "0 0 12 ? * MON-FRI", quartz}, {"crontab", "0 0 12 ? * MON-FRI 2030", quartz}, {"ruqi", "0 0 12 * * ? *", quartz}, {"ruqi", "0 0 12 ? * 6L", quartz},
		{"crontab", "0 0 22-2 ? * 2-6", quartz}, {"crontab", "0 0 12 ? * L", quartz}, {"ruqi", "0 15 10 15 * ?", quartz}, {"crontab", "0 0 12 1 1 ? 2030-2032", quartz},
		{"crontab", "0 0 12 1 1 ? 1800", "dialect quartz"}, {"fields", "0 0 12 * * ?", "of the form name=value"},
		{"fields", "day_of_week='mon-fri', hour=5", "day_of_week='mon-fri' hour=5"}, {"fields", "day_of_week='mon-fri', hour=5, minute=30", "write day_of_week='mon-fri' hour=5 minute=30"},
		{"fields", "hour=5, minute=30", "write hour=5 minute=30"}, {"fields", "hour=5,minute=30", "write hour=5 minute=30"}, {"fields", `day_of_week="mon-fri", hour='5'`, "write day_of_week='mon-fri' hour='5'"},
		{"fields", "hour='5',minute='30'", "write hour='5' minute='30'"}, {"fields", "hour=5 , minute=30", "write hour=5 minute=30"},
		{"ruqi", "@every 5m", "macros such as @daily belong to the dialect crontab"}, {"quartz", "TZ=UTC @daily", "belongs to the dialect crontab"},
		{"crontab", "*/5 * * * * /usr/bin/backup --all", `"/usr/bin/backup" is no field, but looks like the beginning of a command, which is given apart: the expression alone is */5 * * * *, at column 13`},
		{"crontab", "0 9 * * mon-fri root run-parts /etc/cron.daily", `"root" is no field, but looks like the beginning of a command, which is given apart: the expression alone is 0 9 * * mon-fri, at column 17`},
		{"crontab", "0  9 * * * backup", `"backup" is neither a number nor a name; a command is given apart, and the expression alone is 0 9 * * * (accepted: `}, {"crontab", "0 25 * * * /bin/x -a", `hour: 25 is out of range (accepted: 0-23), at column 3; expression: "/bin/x" is no field, but looks like the beginning of a command, which is given apart, at column 12`},
		{"crontab", "0  9 * * monday root /bin/x", "; write mon, at column 10; expression: \"root\" is no field"}, {"crontab", "61 25 * * * /bin/x", "minute: 61 is out of range (accepted: 0-59), at column 1; hour: 25 is"},
		{"crontab", "0 25 * * * ./run.sh", "hour: 25 is out of range"}, {"crontab", "0 25 * * * ~/bin/run -a", "hour: 25 is out of range"}, {"crontab", "0 25 * * * $HOME/run", "hour: 25 is out of range"},
		{"crontab", "0 9 * * * . /etc/profile; run", `"." is no field, but looks like the beginning of a command`},
		{"crontab", "@reboot  /usr/bin/start", "the expression alone is @reboot, at column 10"}, {"crontab", "0 9 * * * /usr/bin/backup", "the expression alone is 0 9 * * *, at column 11"}, {"crontab", "0 9 * * * bin/backup.sh", "the expression alone is 0 9 * * *, at column 11"}, {"crontab", "CRON_TZ=UTC 0 9 * * * backup now", "the expression alone is CRON_TZ=UTC 0 9 * * *, at column 23"},
		{"ruqi", "30 2 * * 1-5", "five fields are those of the dialect crontab"}, {"quartz", "30 2 * * 1-5", "five fields are those of the dialect crontab"},
	} {
		_, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: got %v, want %s", c.dialect, c.text, err, c.says)
		}
	}
	for _, c := range []struct{ dialect, text string }{
		{"crontab", "0 0 12 ? * MON-FRI"}, {"crontab", "0 15 10 ? * 6L"}, {"ruqi", "0 0 12 1 * *"},
	} {
		if _, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text); err != nil {
			t.Errorf("%s %q means something there: %v", c.dialect, c.text, err)
		}
	}
	for _, text := range []string{"0 0 12 ? * funday", "0 0 12 1 * ", "61 0 12 ? * mon"} {
		if _, err := cronexpr.Parse(cronexpr.Lookup("ruqi"), text); err == nil || strings.Contains(err.Error(), "--dialect quartz") {
			t.Errorf("%q is none of Quartz: %v", text, err)
		}
	}
	for _, text := range []string{"0 9 * * * 8 9", "61 9 * * * backup", "0 9 * * * MON *", "0 0 9 * * monday", "0 9 * * backup", "@daily 5", "@nightly backup", "0 30 18 * * monday /bin/x", "0 0 12 ? * MONDAY-FRIDAY /bin/x", "0 0 12 * * monday,thursday /bin/x", "0 0 9 * * munday /bin/x", "0 9 * * * */x",
		"0 9 * * mon and fri", "0 9 * * mon or tue", "0 9 * * mon until 2030-01-01", "0 9 * * mon except holidays", "0 0 9 * * lundi", "0 30 8 1 * lun-ven", "0 0 1 1 1 L", "0 0 * * mon montag", "5 4 * * sun tz=UTC", "0 9 * * * Europe/Berln", "0 9 * * * europe/berlin", "0 9 * * * mon/tue"} {
		if _, err := cronexpr.Parse(cronexpr.Lookup("crontab"), text); err == nil || strings.Contains(err.Error(), "command") {
			t.Errorf("%q has no command: %v", text, err)
		}
	}
}
