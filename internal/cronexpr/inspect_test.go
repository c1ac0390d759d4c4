package cronexpr_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func wallOf(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix()
}

func TestMissesNameTheFieldsThatRuleATimeOut(t *testing.T) {
	for _, c := range []struct{ dialect, text, wall, want string }{
		{"crontab", "30 2 * * mon-fri", "2026-11-30 02:30:00", ""},
		{"crontab", "30 2 * * mon-fri", "2026-11-29 02:30:00", "day_of_week=mon-fri sun"},
		{"crontab", "30 2 * * mon-fri", "2026-11-29 03:31:15", "second=0 15; minute=30 31; hour=2 3; day_of_week=mon-fri sun"},
		{"crontab", "0 0 13 * fri", "2026-11-13 00:00:00", ""},
		{"crontab", "0 0 13 * fri", "2026-11-20 00:00:00", ""},
		{"crontab", "0 0 13 * fri", "2026-12-13 00:00:00", ""},
		{"crontab", "0 0 13 * fri", "2026-12-14 00:00:00", "day=13 14; day_of_week=fri mon"},
		{"crontab", "0 0 */2 * fri", "2026-12-11 00:00:00", ""},
		{"crontab", "0 0 */2 * fri", "2026-12-13 00:00:00", "day_of_week=fri sun"},
		{"crontab", "0 0 L * *", "2028-02-28 00:00:00", "day=L 28"},
		{"crontab", "0 0 L * *", "2028-02-29 00:00:00", ""},
		{"crontab", "0 0 LW 5 *", "2026-05-29 00:00:00", ""},
		{"crontab", "0 0 LW 5 *", "2026-06-30 00:00:00", "month=5 6"},
		{"crontab", "0 0 * * fri#2", "2026-11-20 00:00:00", "day_of_week=fri#2 fri"},
		{"ruqi", "0 30 2 last * 0", "2026-11-30 02:30:00", ""},
		{"ruqi", "0 30 2 last * 0", "2026-12-31 02:30:00", "day_of_week=mon thu"},
		{"fields", "week=53 day_of_week=mon", "2026-12-28 00:00:00", ""},
		{"fields", "week=1 day_of_week=mon", "2026-12-28 00:00:00", "week=1 53"},
		{"fields", "year=2027 hour=1", "2026-12-28 01:00:00", "year=2027 2026"},
		{"fields", "day='3rd fri'", "2026-11-13 00:00:00", "day=3rd fri 13"},
		{"quartz", "0 0 12 ? * 2 2026-2028", "2029-11-30 12:00:00", "day_of_week=mon fri; year=2026-2028 2029"},
	} {
		var got []string
		for _, m := range parse(t, c.dialect, c.text).Misses(wallOf(t, c.wall)) {
			got = append(got, fmt.Sprintf("%s=%s %s", m.Name, m.Text, m.Is))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s %q at %s: got %q, want %q", c.dialect, c.text, c.wall, strings.Join(got, "; "), c.want)
		}
	}
}

// TestMissesAgreeWithTheSearch: nothing is missed exactly where the search finds the time.
func TestMissesAgreeWithTheSearch(t *testing.T) {
	expressions := []struct{ dialect, text string }{
		{"crontab", "*/7 3 * * *"}, {"crontab", "* * 13 * fri"}, {"crontab", "* * L,15W 2,12 *"}, {"crontab", "* * * * fri#2,monL"},
		{"ruqi", "0 * * last * 0-4"}, {"fields", "week=1,53 minute=*"}, {"fields", "year=2026/2 day='1st mon' minute=*"},
		{"quartz", "0 0/5 22-2 ? * 6L *"}, {"crontab", "H * H * *"}, {"crontab", "30 * * * * *"},
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range expressions {
		e := parse(t, c.dialect, c.text)
		for range 20_000 {
			wall := wallOf(t, "2026-01-01 00:00:00") + random.Int64N(10*366*86400/60)*60
			at, ok := e.Next(wall, wall+1)
			if found := ok && at == wall; found != (len(e.Misses(wall)) == 0) {
				t.Fatalf("%s %q at %s (seed %d): the search says %v, missed are %v", c.dialect, c.text, time.Unix(wall, 0).UTC(), seed, found, e.Misses(wall))
			}
		}
	}
}

func TestDecidedFieldsAreThoseOfTheSeed(t *testing.T) {
	for _, text := range []string{"H H * * *", "H/15 H(0-7) * * *", "H 3 H * *", "H 3 * H *", "H 3 * * H", "H H H * * *", "5 4 * * *"} {
		e, err := parse(t, "crontab", text).Seeded("reports/daily")
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, f := range e.Decided() {
			words = append(words, f.Text)
		}
		plain := parse(t, "crontab", strings.Join(words, " "))
		if strings.Contains(plain.Text(), "H") {
			t.Errorf("%q: %q has an H left", text, plain.Text())
		}
		wall := wallOf(t, "2026-01-01 00:00:00")
		for range 100 {
			got, ok := plain.Next(wall+1, wall+400*86400)
			want, found := e.Next(wall+1, wall+400*86400)
			if got != want || ok != found {
				t.Fatalf("%q: %q gives %d, %v, want %d, %v", text, plain.Text(), got, ok, want, found)
			}
			wall = got
		}
	}
	if !parse(t, "ruqi", "0 0 0 * * 0").MondayFirst() || parse(t, "quartz", "0 0 0 ? * 1").MondayFirst() {
		t.Error("the first day of the week is not the dialect's")
	}
	if !parse(t, "crontab", "0 0 1 * 1").Either() || parse(t, "crontab", "0 0 */2 * 1").Either() || parse(t, "ruqi", "0 0 0 1 * 1").Either() {
		t.Error("what either of two day fields does is not the dialect's")
	}
}
