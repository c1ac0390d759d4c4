package trigger_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// TestWhatAddsNothingAnswersLikeItsPart puts each stored trigger into others that change nothing, and asks both alike, most often where years begin
// and end: those that triggers know, and those that repeat.
func TestWhatAddsNothingAnswersLikeItsPart(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 13))
	noDays := trigger.Days(&daycal.Calendar{})
	first, last := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	moments := func(fired time.Time) time.Time {
		day := time.Duration(r.Int64N(int64(3*24*time.Hour))) - 36*time.Hour
		switch r.IntN(8) {
		case 0:
			return first.Add(day)
		case 1:
			return last.Add(day)
		case 2:
			return []time.Time{{}, first, last, first.Add(-1), last.Add(-1), first.Add(-time.Microsecond), last.Add(time.Hour), first.Add(-time.Second)}[r.IntN(8)]
		case 3:
			return fired.AddDate(400*(r.IntN(19)-5), 0, 0).Add(day)
		case 4:
			return fired
		case 5:
			return fired.Add(time.Duration(r.IntN(2001) - 1000))
		case 6:
			return time.Unix(r.Int64N(1<<32)-1<<31, r.Int64N(1e9))
		}
		return fired.Add(day)
	}
	rows := storedRows(t)
	for _, cron := range []string{"TZ=America/New_York 30 * * * *", "TZ=Pacific/Kiritimati 15 3 * * *", "TZ=Pacific/Apia 0 */6 * * *", "TZ=UTC 0 0 * * *", "TZ=Europe/Berlin 0 0 1 1 *"} {
		rows = append(rows, storedRow{Stored: fmt.Appendf(nil, `{"kind":"cron","expr":%q}`, cron), After: "2026-03-01T00:00:00Z"})
	}
	for _, row := range rows {
		part, err := decode(row.Stored)
		if err != nil {
			t.Fatal(err)
		}
		bare, ok := part.(ruqi.Stepper)
		if starter, is := part.(ruqi.Starter); !ok || is && starter.OnStart() {
			continue
		}
		for name, one := range map[string]ruqi.Stepper{
			"any": trigger.Any(part), "any, twice": trigger.Any(part, trigger.Any(part)), "all": trigger.All(part), "all, twice": trigger.All(part, trigger.Any(part)),
			"except": trigger.Except(part, noDays), "only": trigger.Only(part, trigger.Times(part)),
			"moved on": trigger.Except(part, noDays).Else(trigger.ElseNext), "moved back": trigger.Except(part, noDays).Else(trigger.ElsePrevious),
		} {
			fired := instant(t, row.After)
			for range 12 {
				at := moments(fired)
				until := at.Add(time.Duration(r.Int64N(int64(40 * 24 * time.Hour))))
				// Times are moved from and to days that calendars know: on the clock of a zone, years begin and end on others.
				if strings.HasPrefix(name, "moved") && (at.Before(first.AddDate(0, 0, 2)) || until.After(last.AddDate(0, 0, -3))) {
					continue
				}
				want, has := bare.Next(at)
				if got, ok := one.Next(at); ok != has || !got.Equal(want) {
					t.Errorf("%s of %s: after %v comes %v %t, want %v %t", name, row.Stored, at, got, ok, want, has)
				}
				if at := at.Add(-1); has && !trigger.Matches(one, want) || trigger.Matches(one, at) != trigger.Matches(part, at) {
					t.Errorf("%s of %s: whether it fires at %v or %v is answered otherwise", name, row.Stored, want, at)
				}
				if has {
					fired = want
				}
				before, had := bare.Prev(at)
				if got, ok := one.Prev(at); ok != had || !got.Equal(before) {
					t.Errorf("%s of %s: before %v comes %v %t, want %v %t", name, row.Stored, at, got, ok, before, had)
				}
				if n, expected := one.Count(at, until), bare.Count(at, until); n >= 0 && n != expected {
					t.Errorf("%s of %s: %d in (%v, %v], want %d", name, row.Stored, n, at, until, expected)
				}
				if t.Failed() {
					break
				}
			}
		}
	}
}
