package trigger_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

// TestTheWholeLifeOfEveryZone walks from 1970 to 2100: forward, back and by counting it is the same fire times, and a fixed time of
// day is one a day, whatever the clock did. make test-tz takes every zone, otherwise it is a sample.
func TestTheWholeLifeOfEveryZone(t *testing.T) {
	zones, err := embeddedZones()
	if err != nil {
		t.Fatal(err)
	}
	zones = slices.DeleteFunc(slices.Clone(zones), func(z embeddedZone) bool { return z.alias })
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 6))
	if os.Getenv("RUQI_SWEEP") != "whole" {
		r.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
		zones = zones[:6]
	}
	work := make(chan embeddedZone)
	var wg sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for z := range work {
				if err := onceADay(z); err != nil {
					t.Error(err)
				}
				for _, expr := range []string{"30 0,2 * * *", "0 */6 1 * *", "15 1-3 * * sunL", "0 0 29 2 *", "59 23 L * fri"} {
					if err := wholeLife(z, expr, allRules[r.IntN(len(allRules))], r); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for _, z := range zones {
		work <- z
	}
	close(work)
	wg.Wait()
}

func wholeLife(z embeddedZone, expr string, rules sweepRules, r *rand.Rand) error {
	loc, err := trigger.LoadZone(z.name)
	if err != nil {
		return err
	}
	trig, err := trigger.Cron(expr, trigger.CronOptions{Zone: loc, Gap: rules.gap, Fold: rules.fold})
	if err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s in %s, gap %s, fold %s: %s", expr, z.name, rules.gap, rules.fold, fmt.Sprintf(format, args...))
	}
	var fires []time.Time
	for at, ok := trig.Next(sweepFrom); ok && at.Before(sweepUntil); at, ok = trig.Next(at) {
		if n := len(fires); n > 0 && !at.After(fires[n-1]) {
			return fail("after %v comes %v", fires[n-1], at)
		}
		fires = append(fires, at)
	}
	i := len(fires)
	for at, ok := trig.Prev(sweepUntil); ok && at.After(sweepFrom); at, ok = trig.Prev(at) {
		if i--; i < 0 || !at.Equal(fires[i]) {
			return fail("%d fire times before the end, back comes %v", len(fires)-i, at)
		}
	}
	if i != 0 {
		return fail("forward there are %d fire times more than back", i)
	}
	for range 20 {
		a, b := r.IntN(len(fires)), r.IntN(len(fires))
		a, b = min(a, b), max(a, b)
		if n := trig.Count(fires[a], fires[b]); n != int64(b-a) {
			return fail("Count(%v, %v) = %d, by walking it is %d", fires[a], fires[b], n, b-a)
		}
	}
	return nil
}

// onceADay checks that a fixed time fires once on each date of the zone's calendar.
func onceADay(z embeddedZone) error {
	loc, err := trigger.LoadZone(z.name)
	if err != nil {
		return err
	}
	trig, err := trigger.Cron("30 2 * * *", trigger.CronOptions{Zone: loc})
	if err != nil {
		return err
	}
	at, ok := trig.Next(sweepFrom.AddDate(0, 0, 1))
	for day := at.Day(); ok && at.Before(sweepUntil); at, ok = trig.Next(at) {
		if at.Day() != day {
			return fmt.Errorf("30 2 * * * in %s: after the fire time of day %d comes %v", z.name, day, at)
		}
		// The next date is tomorrow, unless a correction of the calendar took that, or its first hours, away.
		next := time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, time.UTC)
		for !z.shows(next.Unix()+sweepHour/2) && !z.shows(next.Unix()+6*sweepHour) {
			next = next.AddDate(0, 0, 1)
		}
		day = next.Day()
	}
	return nil
}

// shows reports whether the zone's clock ever shows a wall time.
func (z embeddedZone) shows(wall int64) bool {
	for _, near := range []int64{wall - 86400, wall, wall + 86400} {
		off := z.offset(near)
		if z.offset(wall-off) == off {
			return true
		}
	}
	return false
}
