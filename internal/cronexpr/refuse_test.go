package cronexpr_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

func TestErrorsOfTheOtherDialectsNameFieldColumnAndTheRightSpelling(t *testing.T) {
	for _, c := range []struct {
		dialect, text, field string
		column               int
		suggestion           string
	}{
		{"quartz", "0 0 12 1 * mon", "expression", 12, ""},
		{"quartz", "0 0 12 */2 * mon", "expression", 14, ""},
		{"quartz", "0 0 12 ? * 8", "day_of_week", 12, ""},
		{"quartz", "0 0 12 ? * monday", "day_of_week", 12, "mon"},
		{"quartz", "0 0 12 1 sept ?", "month", 10, "sep"},
		{"quartz", "0 0 12 L-0 * ?", "day", 8, "L"},
		{"quartz", "0 0 12 LW-3 * ?", "day", 8, ""},
		{"quartz", "0 0 12 1 1 ? 1969", "year", 14, ""},
		{"quartz", "0 0 12 1 1 ? 2030-2026", "year", 14, "2026-2030"},
		{"quartz", "0 0 12 1 1 ? 2030-2026/2", "year", 14, "2026-2030/2"},
		{"quartz", "@daily", "expression", 1, ""},
		{"quartz", "0 0 12 * *", "expression", 1, ""},
		{"quartz", "0 0 12 * * ? * *", "expression", 16, ""},
		{"quartz", "TZ=UTC 0 0 12 * * ?", "tz", 1, ""},
		{"quartz", "0 0 0 ? 2 mon#5 2027", "day_of_week", 11, ""},
		{"quartz", "0 0 0 29 2 ? 2025-2027", "day", 7, ""},
		{"quartz", "0 0 0 31 4,6 ?", "day", 7, ""},
		{"quartz", "0 ? 12 * * ?", "minute", 3, ""},
		{"fields", "", "expression", 1, ""},
		{"fields", " \t", "expression", 1, ""},
		{"fields", "hour=5 mintue=3", "mintue", 8, "minute="},
		{"fields", "weekday=1", "weekday", 1, "day_of_week="},
		{"fields", "dayofweek=1", "dayofweek", 1, "day_of_week="},
		{"fields", "Hour=1", "Hour", 1, "hour="},
		{"fields", "\x1b[1m=1", "expression", 1, ""},
		{"fields", "hour =5", "expression", 1, ""},
		{"fields", "=5", "expression", 1, ""},
		{"fields", "hour=1 hour=2", "hour", 8, ""},
		{"fields", "minute=1 hour=", "hour", 15, ""},
		{"fields", "minute=1 hour=' '", "hour", 16, ""},
		{"fields", "hour='1'2", "expression", 9, ""},
		{"fields", "hour=5 day='3rd fri", "expression", 12, ""},
		{"fields", "hour=1,25", "hour", 8, ""},
		{"fields", "day='1, 32'", "day", 9, ""},
		{"fields", "day=mon", "day", 5, ""},
		{"fields", "day='3th  friday'", "day", 6, "3rd fri"},
		{"fields", "day='3rd friday'", "day", 10, "fri"},
		{"fields", "day='last day'", "day", 11, ""},
		{"fields", "day='3rd'", "day", 9, ""},
		{"fields", "day=lastfoo", "day", 5, ""},
		{"fields", "day=L", "day", 5, "last"},
		{"fields", "day_of_week=fri-mon", "day_of_week", 13, "fri,sat,sun,mon"},
		{"fields", "day_of_week=mno", "day_of_week", 13, "mon"},
		{"fields", "day_of_week=7", "day_of_week", 13, ""},
		{"fields", "hour=22-2", "hour", 6, "22-23,0-2"},
		{"fields", "week=54", "week", 6, ""},
		{"fields", "week=50-2/2", "week", 6, "50,52,1"},
		{"fields", "year=10000", "year", 6, ""},
		{"fields", "minute=H", "minute", 8, ""},
		{"fields", "day=?", "day", 5, "*"},
		{"fields", "week=1 month=7", "week", 6, ""},
		{"fields", "month=2 day=30", "day", 13, ""},
		{"fields", "year=2025 week=53", "week", 16, ""},
		{"fields", "TZ=UTC hour=1", "TZ", 1, ""},
		{"fields", "hour=1 start_date=2026-01-01", "start_date", 8, ""},
		{"crontab", "0 0 * * mno", "day_of_week", 9, "mon"},
		{"crontab", "0 0 * * tues", "day_of_week", 9, "tue"},
		{"crontab", "0 0 1 jann *", "month", 7, "jan"},
		{"crontab", "@dayly", "expression", 1, "@daily"},
		{"crontab", "0 12 L-0 * *", "day", 6, "L"},
	} {
		wantError(t, c.dialect, c.text, c.field, c.column, c.suggestion)
	}
}

func TestAllWrongFieldsAreTold(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"crontab", "61 25 * * *", "minute: 61 is out of range (accepted: 0-59), at column 1; hour: 25 is out of range (accepted: 0-23), at column 4"},
		{"crontab", "0 9 * june monday", `; write jun, at column 7; day_of_week: "monday" is neither`},
		{"crontab", "0 9 * june monday", "; write mon, at column 12"},
		{"crontab", "61 9 * * fri-mon", "; write fri,sat,sun,mon, at column 10"},
		{"crontab", "fri-mon 9 * * fri-mon", "; write fri,sat,sun,mon, at column 15"},
		{"ruqi", "0 0 24 0 * 9", "hour: 24 is out of range (accepted: 0-23), at column 5; day: 0 is out of range (accepted: 1-31 or last), at column 8; day_of_week: 9 is"},
		{"fields", "hour=25 minute=61", "hour: 25 is out of range (accepted: 0-23), at column 6; minute: 61 is out of range (accepted: 0-59), at column 16"},
		{"fields", "minute=61 hour=9am", "; write 9, at column 16; minute: 61 is out of range"},
		{"fields", "hour=25 mintue=5 dow=munday", "; write minute=, at column 9; dow"},
		{"fields", "hour=25 mintue=5 dow=munday", `dow: "dow" is not a field; write day_of_week=, at column 18; hour: 25 is`},
		{"fields", "mintue=61 hour=9am", "; write 9, at column 16"},
		{"crontab", "0 9 * * sun backup", `month: "sun" is neither a number nor a name (accepted: 1-12 or jan-dec), at column 9; day_of_week: "backup" is neither a number nor a name; a command is given apart, and the expression alone is 0 9 * * sun (`},
		{"quartz", "0 0 24 * * 8", "hour: 24 is out of range (accepted: 0-23), at column 5; day_of_week: 8 is"},
	} {
		_, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %s", c.dialect, c.text, err, c.want)
		}
	}
}

func TestWhatNeverFiresIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct{ dialect, text, says string }{
		{"crontab", "0 0 30 2 *", "no date has day 30 with month 2, so this would never fire"},
		{"crontab", "0 0 L-30 2,4 *", "no date has day L-30 with month 2,4"},
		{"fields", "year=2025-2027 month=2 day='5th mon'", "no date has day 5th mon with month 2 and year 2025-2027"},
		{"fields", "week=30 month=1", "no date has week 30 with month 1"},
		{"quartz", "0 0 0 ? 2 1#5 2027", "no date has day_of_week sun#5 with month 2 and year 2027"},
	} {
		_, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.says)
		}
	}
}

// The worst that fits: lists of the widest ranges, and searches for dates that do not
// exist. Read or refused, each takes less than a millisecond for each kilobyte. The
// fastest of ten tries counts, since other work of the machine is not the parser's.
func TestHostileTextsTakeLittleTime(t *testing.T) {
	fillUp := func(before, element, after string) string {
		n := (cronexpr.MaxLength - len(before) - len(after)) / len(element)
		return before + strings.Repeat(element, n) + after
	}
	for _, c := range []struct{ dialect, text string }{
		{"crontab", fillUp("", "*/1,", "* * * * *")},
		{"crontab", fillUp("0 0 * * ", "0-7,", "x")},
		{"crontab", fillUp("0 0 ", "L-29,", "L-30 2 *")},
		{"crontab", fillUp("0 0 * 2 ", "mon#5,", "tue#5")},
		{"crontab", fillUp("", "H(0-59)/1,", "H * * * *")},
		{"crontab", fillUp("0 0 * jan", "n", " *")},
		{"crontab", fillUp("0 0 * * ", "mon,", "fri-mon")},
		{"crontab", fillUp("0 0 * * ", "mon,", "munday")},
		{"crontab", fillUp("", "0-59,", "60-1 * * * ?")},
		{"crontab", fillUp("@dail", "y", "")},
		{"crontab", strings.Repeat("x", 200) + strings.Repeat(" "+strings.Repeat("x", 200), 4)},
		{"crontab", strings.Repeat("1,", 100) + "monday fri-mon," + strings.Repeat("1,", 100) + "x munday," + strings.Repeat("1,", 100) + "x june," + strings.Repeat("2,", 100) + "x monday," + strings.Repeat("1,", 60) + "x"},
		{"fields", "second=61 minute=61 hour=munday day='firts mon' day_of_week=monday month=june week=61 year=" + strings.Repeat("1970,", 150) + "x"},
		{"fields", fillUp("", "mintue=munday ", "hour=25")}, {"fields", fillUp("", "a=b ", "x='y")},
		{"ruqi", fillUp("0 0 0 ? * ", "2#1,", "2#8 1970")},
		{"fields", fillUp("hour=5, minute='", "1,", "1', second=1")},
		{"fields", fillUp("", "hour=5, ", "minute=1")},
		{"fields", fillUp("day='", "fri#3,", "fri#3'")},
		{"quartz", fillUp("0 0 0 1 1 ? ", "1970/1,", "1970")},
		{"quartz", fillUp("0 0 0 1 1 ? ", "1970/2,", "1970")},
		{"quartz", fillUp("0 0 0 30 2 ? ", "1971/2,", "1970")},
		{"quartz", fillUp("0 0 0 ? 2 ", "1#5,", "1#5 1970/4,1971/4,1973/4")},
		{"quartz", fillUp("", "59-58,", "1 0 0 * * ?")},
		{"fields", fillUp("day='", "3rd fri,", "x'")},
		{"fields", fillUp("", "hour=1 ", "x")},
		{"fields", fillUp("minute='", " ", "'")},
		{"fields", fillUp("", "=", "")},
		{"fields", "year=1970-9998 month=2 day=30 week=1-52 day_of_week=0-5"},
		{"fields", "year=1970-9999/2 month=7-12 week=1-20"},
	} {
		fastest := time.Hour
		for range 10 {
			start := time.Now()
			if e, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text); err == nil && e.Text() == "" {
				t.Fatalf("%q has no text", c.text)
			}
			fastest = min(fastest, time.Since(start))
		}
		t.Logf("%s %.30q: %v", c.dialect, c.text, fastest)
		if fastest > time.Millisecond*time.Duration(len(c.text)+1023)/1024 {
			t.Errorf("%s %.60q: took %v", c.dialect, c.text, fastest)
		}
	}
}

func TestWhatIsRefusedAsNeverFiringIsWhatNoDateOfTheCalendarIs(t *testing.T) {
	type date struct{ week, month, day, weekday int }
	exists := map[date]bool{}
	for at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2400; at = at.AddDate(0, 0, 1) {
		_, week := at.ISOWeek()
		exists[date{week, int(at.Month()), at.Day(), int(at.Weekday())}] = true
		exists[date{week, int(at.Month()), at.Day(), -1}] = true
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	refused := 0
	check := func(text string, want bool) {
		t.Helper()
		_, err := cronexpr.Parse(cronexpr.Lookup("fields"), text)
		if (err == nil) != want {
			t.Fatalf("%q: there is such a date: %v, but got %v", text, want, err)
		}
		if err != nil {
			refused++
		}
	}
	for range 2000 {
		d := date{1 + r.IntN(53), 1 + r.IntN(12), 1 + r.IntN(31), r.IntN(8) - 1}
		if r.IntN(2) == 0 { // near the day it may be on
			d.week = min(max((d.month*61-61)/14+d.day/7+r.IntN(3), 1), 53)
		}
		if r.IntN(3) == 0 { // at the turn of the year
			d.week, d.month, d.day = []int{1, 52, 53}[r.IntN(3)], 1+11*r.IntN(2), []int{1, 2, 3, 4, 28, 29, 30, 31}[r.IntN(8)]
		}
		text := fmt.Sprintf("week=%d month=%d day=%d", d.week, d.month, d.day)
		if d.weekday >= 0 {
			text += " day_of_week=" + weekdayNames[d.weekday]
		}
		check(text, exists[d])
		y := 1970 + r.IntN(8030)
		at := time.Date(y, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
		_, week := at.ISOWeek()
		check(fmt.Sprintf("%s year=%d", text, y), at.Day() == d.day && week == d.week && (d.weekday < 0 || int(at.Weekday()) == d.weekday))
	}
	t.Logf("%d refused", refused)
	// 1 January was a Saturday in both; the week is the 53rd after a leap year only.
	check("year=2005,2011 week=52 month=1 day=1", true)
	check("year=2011,2005 week=53 month=1 day=1", true)
	check("year=2011 week=53 month=1 day=1", false)
}
