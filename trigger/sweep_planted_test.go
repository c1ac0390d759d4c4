package trigger_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A faulty trigger answers one question wrongly where its fault says so.
type faulty struct {
	*trigger.CronTrigger
	next    func(f *faulty, after time.Time) (time.Time, bool)
	prev    func(f *faulty, before time.Time) (time.Time, bool)
	count   func(f *faulty, after, until time.Time) int64
	matches func(f *faulty, at time.Time) bool
}

func (f *faulty) Next(after time.Time) (time.Time, bool) {
	if f.next != nil {
		return f.next(f, after)
	}
	return f.CronTrigger.Next(after)
}

func (f *faulty) Prev(before time.Time) (time.Time, bool) {
	if f.prev != nil {
		return f.prev(f, before)
	}
	return f.CronTrigger.Prev(before)
}

func (f *faulty) Count(after, until time.Time) int64 {
	if f.count != nil {
		return f.count(f, after, until)
	}
	return f.CronTrigger.Count(after, until)
}

func (f *faulty) Matches(at time.Time) bool {
	if f.matches != nil {
		return f.matches(f, at)
	}
	found, ok := f.CronTrigger.Next(at.Add(-time.Nanosecond))
	return ok && found.Equal(at)
}

func TestTheSweepFindsPlantedFaults(t *testing.T) {
	gap, fold := instant(t, "2027-03-28T01:00:00Z").Unix(), instant(t, "2026-10-25T01:00:00Z").Unix()
	for _, c := range []struct {
		fault, says string
		at          int64
		expr        string
		gap         trigger.Gap
		fold        trigger.Fold
		faulty      faulty
	}{
		{"what is in the gap is left out", "Next", gap, "30 2 * * *", trigger.GapSkip, "", faulty{}},
		{"what is in the gap is moved by its length", "Next", gap, "30 2 * * *", trigger.GapShift, "", faulty{}},
		{"what comes twice runs twice", "Next", fold, "30 2 * * *", "", trigger.FoldBoth, faulty{}},
		{"what comes twice runs late", "Next", fold, "30 2 * * *", "", trigger.FoldSecond, faulty{}},
		{"another time", "Next", gap, "30 3 * * *", "", "", faulty{}},
		{"Next is early by the gap", "Next", gap, "30 2 * * *", "", "", faulty{next: func(f *faulty, after time.Time) (time.Time, bool) {
			at, ok := f.CronTrigger.Next(after)
			return at.Add(-time.Minute), ok
		}}},
		{"Next goes on where there is nothing", "nothing until", gap, "30 2 * * *", "", "", faulty{next: func(f *faulty, after time.Time) (time.Time, bool) {
			at, ok := f.CronTrigger.Next(after)
			if at.Unix() > gap {
				at = after.Add(time.Hour)
			}
			return at, ok
		}}},
		{"Prev passes over one", "Prev", gap, "30 2 * * *", "", "", faulty{prev: func(f *faulty, before time.Time) (time.Time, bool) {
			at, _ := f.CronTrigger.Prev(before)
			return f.CronTrigger.Prev(at)
		}}},
		{"Prev finds one that is none", "nothing since", gap, "30 2 * * *", "", "", faulty{prev: func(f *faulty, before time.Time) (time.Time, bool) {
			if before.Unix() <= gap {
				return before.Add(-time.Second), true
			}
			return f.CronTrigger.Prev(before)
		}}},
		{"Count counts one more", "Count", gap, "30 2 * * *", "", "", faulty{count: func(f *faulty, after, until time.Time) int64 {
			return f.CronTrigger.Count(after, until) + 1
		}}},
		{"Matches is right in whole minutes only", "Matches", gap, "30 2 * * *", "", "", faulty{matches: func(f *faulty, at time.Time) bool {
			found, ok := f.CronTrigger.Next(at.Add(-time.Nanosecond))
			return ok && found.Sub(at) < time.Minute
		}}},
		{"Matches says no in the gap", "Matches", gap, "30 2 * * *", "", "", faulty{matches: func(f *faulty, at time.Time) bool {
			return false
		}}},
	} {
		row := cronRow("crontab", "30 2 * * *", false, func(f *face) bool { return f.second == 0 && f.minute == 30 && f.hour == 2 })
		row.rules = allRules[:1]
		row.build = func(loc *time.Location, _ sweepRules) (ruqi.Trigger, error) {
			right, err := trigger.Cron(c.expr, trigger.CronOptions{Zone: loc, Gap: c.gap, Fold: c.fold})
			planted := c.faulty
			planted.CronTrigger = right
			return &planted, err
		}
		var compared atomic.Int64
		berlin := embeddedZone{name: "Europe/Berlin", loc: zone(t, "Europe/Berlin")}
		s, err := newSweep(berlin, []sweepRow{row}, &compared)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.around(c.at, []sweepRow{row}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the sweep says %v, want %q", c.fault, err, c.says)
		}
	}
}
