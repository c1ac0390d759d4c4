package cronexpr_test

import (
	"errors"
	"math/rand/v2"
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
		{"crontab", "0 0 L-0,0 * *", "L"}, {"crontab", "0 22-2/3 * * *", "22,1"}, {"ruqi", "0 0 0 * nov-feb *", "11,12,1,2"},
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
}
