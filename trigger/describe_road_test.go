package trigger_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// TestADescriptionMeansTheTimesOfItsExpression goes back from the English words to the times of a day, by code that knows nothing of
// how they were made, and holds them against the times at which the trigger fires.
func TestADescriptionMeansTheTimesOfItsExpression(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	field := func(size int) string {
		switch a, b, step := random.IntN(size), random.IntN(size), 1+random.IntN(size-1); random.IntN(9) {
		case 0, 1:
			return "*"
		case 2:
			return fmt.Sprintf("*/%d", step)
		case 3:
			return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		case 4:
			return fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), step)
		case 5:
			return fmt.Sprintf("%d/%d", a, step)
		case 6:
			return fmt.Sprintf("%d,%d,%d", a, b, random.IntN(size))
		default:
			return strconv.Itoa(a)
		}
	}
	day := instant(t, "2026-11-30T00:00:00Z")
	for range 1000 {
		second := "0"
		if random.IntN(3) == 0 {
			second = field(60)
		}
		expr := fmt.Sprintf("%s %s %s * * *", second, field(60), field(24))
		cron := parsed(t, "cron", expr, trigger.ParseOptions{Zone: "UTC"})
		words := strings.TrimSuffix(trigger.Describe(cron, ruqi.English), ", UTC")
		got, err := timesOf(strings.TrimSuffix(words, " every day"))
		if err != nil {
			t.Fatalf("%q is %q, which cannot be read: %v", expr, words, err)
		}
		want := map[int]bool{}
		fires, more := trigger.Between(cron, day, day.Add(24*time.Hour-1), 86400)
		if more {
			t.Fatalf("%q fires more often than once a second", expr)
		}
		for _, at := range fires {
			want[int(at.Sub(day)/time.Second)] = true
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%q is %q, which means %d times, and it fires %d times (seed %d)", expr, words, len(got), len(want), seed)
		}
	}
}

var (
	steps    = `every (?:(\d+) )?(second|minute|hour)s?`
	clocks   = regexp.MustCompile(`\d\d:\d\d(?::\d\d)?`)
	ofSteps  = regexp.MustCompile(`^` + steps + `( on the hour)?(?: from (second|minute) (\d+) of each (?:minute|hour) on)?(?:,? at minute (\d+)(?:, second (\d+))?)?(?:,? at second (\d+))?$`)
	windowed = regexp.MustCompile(`^(?:at (\S+?),? (?:and )?)*` + steps + ` from \d`)
	nth      = regexp.MustCompile(`^every (\d+)(?:st|nd|rd|th) (?:second|minute|hour)(?: from (\d+) to (\d+))?$`)
	within   = regexp.MustCompile(`^` + steps + `(?: at second (\d+))? in (.*)$`)
)

var lengthOf = map[string]int{"second": 1, "minute": 60, "hour": 3600}

// timesOf returns the seconds of a day that a phrase means.
func timesOf(phrase string) (map[int]bool, error) {
	set := map[int]bool{}
	switch {
	case windowed.MatchString(phrase):
		step := regexp.MustCompile(steps).FindStringSubmatch(phrase)
		length := lengthOf[step[2]] * max(1, number(step[1]))
		for i, found := range regexp.MustCompile(`(?:at|from) (\S+?)(?: to (\S+?))?(?:,| and|$| every)`).FindAllStringSubmatch(phrase, -1) {
			from, to := clockOf(found[1]), clockOf(found[1])
			if found[2] != "" {
				to = clockOf(found[2])
			}
			if from < 0 || to < from {
				return nil, fmt.Errorf("part %d is %q", i, found[0])
			}
			for at := from; at <= to; at += length {
				set[at] = true
			}
		}
		return set, nil
	case ofSteps.MatchString(phrase):
		m := ofSteps.FindStringSubmatch(phrase)
		length := lengthOf[m[2]] * max(1, number(m[1]))
		at := number(m[5])*lengthOf["second"] + number(m[6])*60 + number(m[7]) + number(m[8])
		if m[4] == "minute" {
			at += number(m[5]) * 59
		}
		for ; at < 86400; at += length {
			set[at] = true
		}
		return set, nil
	case strings.HasPrefix(phrase, "at ") && clocks.MatchString(phrase):
		for _, text := range clocks.FindAllString(phrase, -1) {
			set[clockOf(text)] = true
		}
		return set, nil
	}
	// Field by field, the smallest first.
	fields := map[string][]int{"second": {0}, "minute": all(60), "hour": all(24)}
	if m := within.FindStringSubmatch(phrase); m != nil {
		n := max(1, number(m[1]))
		switch fields[m[2]] = slices.DeleteFunc(all(60), func(v int) bool { return v%n != 0 }); {
		case m[2] == "minute":
			fields["second"] = []int{number(m[3])}
		case m[3] != "":
			return nil, fmt.Errorf("a second of seconds")
		}
		phrase = m[4]
	}
	for _, part := range regexp.MustCompile(` (?:of|in) `).Split(strings.TrimPrefix(phrase, "at "), -1) {
		unit, values, err := valuesOf(part)
		if err != nil {
			return nil, err
		}
		fields[unit] = values
	}
	for _, h := range fields["hour"] {
		for _, m := range fields["minute"] {
			for _, s := range fields["second"] {
				set[h*3600+m*60+s] = true
			}
		}
	}
	return set, nil
}

// valuesOf reads "minutes 0, 7 and 20 to 25", "every 7th minute from 0 to 56", "every hour".
func valuesOf(part string) (unit string, values []int, err error) {
	for _, name := range []string{"second", "minute", "hour"} {
		if strings.Contains(part, name) {
			unit = name
		}
	}
	size := 60
	if unit == "hour" {
		size = 24
	}
	if m := nth.FindStringSubmatch(part); m != nil {
		from, to := 0, size-1
		if m[2] != "" {
			from, to = number(m[2]), number(m[3])
		}
		for v := from; v <= to; v += number(m[1]) {
			values = append(values, v)
		}
		return unit, values, nil
	}
	if part == "every "+unit {
		return unit, all(size), nil
	}
	list, ok := strings.CutPrefix(strings.TrimPrefix(part, unit), "s ")
	if !ok {
		list = strings.TrimPrefix(part, unit+" ")
	}
	for _, item := range regexp.MustCompile(`, | and `).Split(list, -1) {
		a, b, ranged := strings.Cut(item, " to ")
		from, err := strconv.Atoi(a)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(b)
		}
		if err != nil || unit == "" {
			return "", nil, fmt.Errorf("%q in %q", item, part)
		}
		for v := from; v <= to; v++ {
			values = append(values, v)
		}
	}
	return unit, values, nil
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// number is 0 for what is none.
func number(text string) int {
	n, _ := strconv.Atoi(text) //nolint:errcheck // so it is wanted
	return n
}

// clockOf reads 09:30 or 09:30:15.
func clockOf(text string) int {
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Hour()*3600 + at.Minute()*60 + at.Second()
		}
	}
	return -1
}
