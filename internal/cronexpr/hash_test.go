package cronexpr_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// seeded parses an expression of the dialect crontab with a seed.
func seeded(t *testing.T, text, seed string) *cronexpr.Expr {
	t.Helper()
	e, err := parse(t, "crontab", text).Seeded(seed)
	if err != nil {
		t.Fatalf("%q with seed %q: %v", text, seed, err)
	}
	return e
}

// minutes returns the minutes of 2026-01-01 00:00-00:59 that match.
func minutes(e *cronexpr.Expr) (list []int) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for m := range 60 {
		if matches(e, start+int64(m)*60) {
			list = append(list, m)
		}
	}
	return list
}

func TestHashedValuesKeepToTheirFormsForEverySeed(t *testing.T) {
	for n := range 300 {
		seed := fmt.Sprintf("job-%d", n)
		if got := minutes(seeded(t, "H * * * *", seed)); len(got) != 1 {
			t.Fatalf("H of %s is %v, want one minute", seed, got)
		}
		if got := minutes(seeded(t, "H(20-29) * * * *", seed)); len(got) != 1 || got[0] < 20 || got[0] > 29 {
			t.Fatalf("H(20-29) of %s is %v", seed, got)
		}
		for _, c := range []struct {
			text           string
			from, to, step int
		}{
			{"H/15", 0, 59, 15}, {"H/7", 0, 59, 7}, {"H(10-39)/10", 10, 39, 10}, {"H/90", 0, 59, 90}, {"H/1", 0, 59, 1}, {"H(5-9)/60", 5, 9, 60},
		} {
			got := minutes(seeded(t, c.text+" * * * *", seed))
			if len(got) == 0 || got[0] < c.from || got[0] >= c.from+min(c.step, c.to-c.from+1) {
				t.Fatalf("%s of %s is %v: it does not begin among the first %d", c.text, seed, got, c.step)
			}
			var want []int
			for m := got[0]; m <= c.to; m += c.step {
				want = append(want, m)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s of %s is %v, want %v", c.text, seed, got, want)
			}
		}
		// A day that every month has.
		e := seeded(t, "0 0 H * *", seed)
		from := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
		if e.Count(from.Unix(), from.AddDate(0, 1, 0).Unix()) != 1 {
			t.Fatalf("0 0 H * * of %s has no day in February", seed)
		}
		if n := seeded(t, "0 0 * H H", seed).Count(from.Unix(), from.AddDate(1, 0, 0).Unix()); n < 4 || n > 5 {
			t.Fatalf("0 0 * H H of %s matches %d days a year, want the same weekday of one month", seed, n)
		}
	}
}

// Stored jobs keep their times over every release. The values were worked out by another program from the description of
// the hash: FNV-1a over the seed, a zero byte and the name of the field, then the last step of splitmix64.
func TestHashedValuesNeverChange(t *testing.T) {
	const text = "H H H H *"
	for _, c := range []struct{ seed, want string }{
		{"", "10-12 04:25"},
		{"backup", "12-26 01:25"},
		{"如期", "08-11 08:56"},
	} {
		e := seeded(t, text, c.seed)
		at, ok := e.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), 1<<40)
		if got := time.Unix(at, 0).UTC().Format("01-02 15:04"); !ok || got != c.want {
			t.Errorf("%s with seed %q: first in 2026 is %s %v, want %s", text, c.seed, got, ok, c.want)
		}
		if e.Text() != text || !e.Hashed() {
			t.Errorf("the text with seed %q is %q, hashed %v", c.seed, e.Text(), e.Hashed())
		}
	}
	if a, b := seeded(t, "H,H * * * *", "x"), seeded(t, "H * * * *", "x"); !slices.Equal(minutes(a), minutes(b)) {
		t.Errorf("H twice in a field is %v and %v", minutes(a), minutes(b))
	}
	if e := parse(t, "crontab", "0 2 * * *"); e.Hashed() {
		t.Error("an expression without H is hashed")
	} else if same, err := e.Seeded("x"); err != nil || same != e {
		t.Errorf("an expression without H is another with a seed: %v", err)
	}
}

func TestHashedValuesSpreadTheJobs(t *testing.T) {
	const jobs = 6000
	var count [60]int
	perHour := map[int]int{}
	for n := range jobs {
		e := seeded(t, "H H * * *", fmt.Sprintf("job-%d", n))
		at, _ := e.Next(0, 86400)
		count[at/60%60]++
		perHour[int(at/3600)]++
	}
	// 100 a minute are expected; six standard deviations are 60.
	for m, n := range count {
		if n < 40 || n > 160 {
			t.Errorf("%d of %d jobs fall on minute %d", n, jobs, m)
		}
	}
	// 250 an hour; six standard deviations are 93.
	for h := range 24 {
		if n := perHour[h]; n < 157 || n > 343 {
			t.Errorf("%d of %d jobs fall on hour %d", n, jobs, h)
		}
	}
}

func TestHashedValuesThatNeverFireAreRefusedOnceTheSeedIsKnown(t *testing.T) {
	e := parse(t, "crontab", "0 0 H(30-31) 2 *")
	_, err := e.Seeded("x")
	var fault *cronexpr.Error
	if !errors.As(err, &fault) || fault.Field != "day" || !strings.Contains(fault.Reason, "H(30-31) with month 2") {
		t.Errorf("got %v", err)
	}
}
