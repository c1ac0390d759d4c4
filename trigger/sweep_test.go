package trigger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A sweepRow is a trigger and what it means. Another kind is another row.
type sweepRow struct {
	name string
	// seconds: it may fire between whole minutes.
	seconds bool
	rules   []sweepRules
	build   func(loc *time.Location, rules sweepRules) (ruqi.Trigger, error)
	model   model
}

// cronRow is a row of a cron expression under all rules.
func cronRow(dialect, expr string, follows bool, shows func(f *face) bool) sweepRow {
	return sweepRow{
		name: dialect + " " + expr, rules: allRules, model: &wallModel{shows, follows},
		build: func(loc *time.Location, rules sweepRules) (ruqi.Trigger, error) {
			return trigger.Cron(expr, trigger.CronOptions{Dialect: dialect, Zone: loc, Gap: rules.gap, Fold: rules.fold})
		},
	}
}

// inSeconds marks a row that may fire between whole minutes.
func inSeconds(row sweepRow) sweepRow {
	row.seconds = true
	return row
}

// intervalRow is a row of an interval with a start, in whole minutes; clock changes mean nothing to it.
func intervalRow(start time.Time, length time.Duration) sweepRow {
	return sweepRow{
		name: "interval " + length.String(), rules: allRules[:1],
		model: lengthModel{start.Unix(), int64(length / time.Second)},
		build: func(loc *time.Location, _ sweepRules) (ruqi.Trigger, error) {
			return trigger.Interval(length, trigger.IntervalOptions{Zone: loc, Start: &start})
		},
	}
}

// decodeRow is a row of a stored trigger, whose %s are the zone, gap and fold.
func decodeRow(name, text string, rules []sweepRules, m model) sweepRow {
	return sweepRow{
		name: name, rules: rules, model: m,
		build: func(loc *time.Location, rules sweepRules) (ruqi.Trigger, error) {
			return decode(fmt.Appendf(nil, text, loc, rules.gap, rules.fold))
		},
	}
}

// sweepRows say everything twice: as a user does, and as a condition on what the clock shows.
var sweepRows = slices.Concat(plainRows, kindRows)

// plainRows are cron expressions of the first two dialects, intervals and a date.
var plainRows = []sweepRow{
	cronRow("crontab", "* * * * *", true, func(f *face) bool { return f.second == 0 }),
	cronRow("crontab", "*/5 * * * *", true, func(f *face) bool { return f.second == 0 && f.minute%5 == 0 }),
	cronRow("crontab", "0 */2 * * *", true, func(f *face) bool { return f.second == 0 && f.minute == 0 && f.hour%2 == 0 }),
	cronRow("crontab", "30 2 * * *", false, func(f *face) bool { return f.second == 0 && f.minute == 30 && f.hour == 2 }),
	cronRow("crontab", "30 1 * * *", false, func(f *face) bool { return f.second == 0 && f.minute == 30 && f.hour == 1 }),
	cronRow("crontab", "0 0 * * *", false, func(f *face) bool { return f.second == 0 && f.minute == 0 && f.hour == 0 }),
	cronRow("crontab", "59 23 31 12 *", false, func(f *face) bool {
		return f.second == 0 && f.minute == 59 && f.hour == 23 && f.day == 31 && f.month == 12
	}),
	cronRow("crontab", "15,45 1-3 * * *", false, func(f *face) bool {
		return f.second == 0 && (f.minute == 15 || f.minute == 45) && f.hour >= 1 && f.hour <= 3
	}),
	cronRow("crontab", "0/7 0-4,23 * * sun,mon,6", false, func(f *face) bool {
		return f.second == 0 && f.minute%7 == 0 && (f.hour <= 4 || f.hour == 23) && (f.weekday <= 1 || f.weekday == 6)
	}),
	cronRow("crontab", "10,50 0-23 * * mon-fri", false, func(f *face) bool {
		return f.second == 0 && (f.minute == 10 || f.minute == 50) && f.weekday >= 1 && f.weekday <= 5
	}),
	cronRow("crontab", "30 0,2 1,15 * sun", false, func(f *face) bool {
		return f.second == 0 && f.minute == 30 && (f.hour == 0 || f.hour == 2) && (f.day == 1 || f.day == 15 || f.weekday == 0)
	}),
	cronRow("crontab", "0 1-3 L * *", false, func(f *face) bool {
		return f.second == 0 && f.minute == 0 && f.hour >= 1 && f.hour <= 3 && f.day == f.monthDays
	}),
	cronRow("crontab", "30 2,23 * * sunL,sat#1,fri#4", false, func(f *face) bool {
		last := f.weekday == 0 && f.day > f.monthDays-7
		return f.second == 0 && f.minute == 30 && (f.hour == 2 || f.hour == 23) &&
			(last || f.weekday == 6 && f.day <= 7 || f.weekday == 5 && (f.day-1)/7 == 3)
	}),
	cronRow("ruqi", "0 */30 * last,1-7 * 6", true, func(f *face) bool {
		return f.second == 0 && f.minute%30 == 0 && (f.day <= 7 || f.day == f.monthDays) && f.weekday == 0
	}),
	inSeconds(cronRow("ruqi", "*/20 59,0 * * * *", true, func(f *face) bool {
		return f.second%20 == 0 && (f.minute == 59 || f.minute == 0)
	})),
	inSeconds(cronRow("ruqi", "59,1 59,0,30 0-3,23 * * *", false, func(f *face) bool {
		return (f.second == 59 || f.second == 1) && f.minute%30 == 0 && (f.hour <= 3 || f.hour == 23) ||
			(f.second == 59 || f.second == 1) && f.minute == 59 && (f.hour <= 3 || f.hour == 23)
	})),
	intervalRow(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), 90*time.Minute),
	intervalRow(time.Date(2011, 12, 29, 12, 34, 0, 0, time.UTC), 25*time.Hour),
	decodeRow("date", `{"kind":"date","at":"2011-12-31 00:00","zone":%[1]q}`, allRules[:1], &wallModel{follows: true, shows: func(f *face) bool {
		return f.year == 2011 && f.month == 12 && f.day == 31 && f.hour == 0 && f.minute == 0 && f.second == 0
	}}),
}

const (
	sweepHour = int64(3600)
	// sweepAround is how far a record of the clock goes over both ends of what is compared: further than any jump.
	sweepAround = 30 * sweepHour
)

var (
	sweepFrom  = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	sweepUntil = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A sweep compares every row with its model around moments of a zone.
type sweep struct {
	zone     embeddedZone
	triggers [][]ruqi.Trigger // by row and rule
	compared *atomic.Int64
}

func newSweep(zone embeddedZone, rows []sweepRow, compared *atomic.Int64) (*sweep, error) {
	s := &sweep{zone: zone, triggers: make([][]ruqi.Trigger, len(rows)), compared: compared}
	loc, err := trigger.LoadZone(zone.name)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		for _, rules := range row.rules {
			trig, err := row.build(loc, rules)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.name, err)
			}
			s.triggers[i] = append(s.triggers[i], trig)
		}
	}
	return s, nil
}

// around compares in the hours around a moment.
func (s *sweep) around(at int64, rows []sweepRow) error {
	at -= at % 60
	from, until := at-5*sweepHour, at+5*sweepHour
	minutes, seconds := s.zone.watch(from-sweepAround, until+sweepAround, 60, 60), (*wallClock)(nil)
	whole, longest := s.survey(from-sweepAround, until+sweepAround)
	for i, row := range rows {
		clock, low, high := minutes, from, until
		if row.seconds || !whole {
			// A record of every second is long, so it goes no further than it must.
			reach := max(longest, 3*sweepHour)
			low, high = at-reach, at+reach
			if seconds == nil {
				look := int64(1)
				if whole {
					look = 60
				}
				seconds = s.zone.watch(low-reach-sweepHour, high+reach+sweepHour, 1, look)
			}
			clock = seconds
		}
		for k, rules := range row.rules {
			var want []int64
			for _, fire := range row.model.fires(clock, rules) {
				if fire >= low && fire <= high {
					want = append(want, fire)
				}
			}
			s.compared.Add(int64(len(want)))
			if err := agrees(s.triggers[i][k], low, high, want); err != nil {
				return fmt.Errorf("%s in %s, gap %s, fold %s: %w", row.name, s.zone.name, rules.gap, rules.fold, err)
			}
		}
	}
	return nil
}

// survey reports whether the clock is whole minutes from UTC and changes at whole minutes, and what the longest change is.
func (s *sweep) survey(from, until int64) (whole bool, longest int64) {
	off := s.zone.offset(from)
	whole = off%60 == 0
	for at := from; at <= until; at += 60 {
		now := s.zone.offset(at)
		if now != off {
			whole = whole && now%60 == 0 && s.zone.offset(at-1) == off
			longest = max(longest, now-off, off-now)
		}
		off = now
	}
	return whole, longest
}

// agrees asks a trigger everything about [from, until] and compares with the list of its fire times.
func agrees(trig ruqi.Trigger, from, until int64, want []int64) error {
	start, end := time.Unix(from, 0).Add(-time.Nanosecond), time.Unix(until, 0)
	at := start
	for _, w := range want {
		got, ok := trig.Next(at)
		if !ok || got.Unix() != w || got.Nanosecond() != 0 {
			return fmt.Errorf("Next(%v) = %v %v, the clock says %v", at, got, ok, time.Unix(w, 0).In(got.Location()))
		}
		at = got
	}
	if got, ok := trig.Next(at); ok && !got.After(end) {
		return fmt.Errorf("Next(%v) = %v, the clock says nothing until %v", at, got, end)
	}
	if s, ok := trig.(ruqi.Stepper); ok {
		if err := stepsAgree(s, start, end, want); err != nil {
			return err
		}
	}
	if m, ok := trig.(ruqi.Matcher); ok {
		return matchesAgree(m, from, until, want)
	}
	return nil
}

func stepsAgree(s ruqi.Stepper, start, end time.Time, want []int64) error {
	at := end.Add(time.Nanosecond)
	for i := len(want) - 1; i >= 0; i-- {
		got, ok := s.Prev(at)
		if !ok || got.Unix() != want[i] || got.Nanosecond() != 0 {
			return fmt.Errorf("Prev(%v) = %v %v, the clock says %v", at, got, ok, time.Unix(want[i], 0).In(got.Location()))
		}
		at = got
	}
	if got, ok := s.Prev(at); ok && got.After(start) {
		return fmt.Errorf("Prev(%v) = %v, the clock says nothing since %v", at, got, start)
	}
	if n := s.Count(start, end); n >= 0 && n != int64(len(want)) {
		return fmt.Errorf("Count(%v, %v) = %d, the clock says %d", start, end, n, len(want))
	}
	return nil
}

// matchesAgree asks at each fire time and beside it, and at each quarter of an hour.
func matchesAgree(m ruqi.Matcher, from, until int64, want []int64) error {
	fires := map[int64]bool{}
	for _, w := range want {
		fires[w] = true
	}
	ask := func(at int64) error {
		if at < from || at > until {
			return nil
		}
		if got := m.Matches(time.Unix(at, 0)); got != fires[at] {
			return fmt.Errorf("Matches(%v) = %v, the clock says %v", time.Unix(at, 0).UTC(), got, fires[at])
		}
		if m.Matches(time.Unix(at, 1000)) {
			return fmt.Errorf("Matches(%v) = true, a microsecond beside whole seconds", time.Unix(at, 1000).UTC())
		}
		return nil
	}
	for _, w := range want {
		if err := errors.Join(ask(w-1), ask(w), ask(w+1)); err != nil {
			return err
		}
	}
	for at := from; at <= until; at += sweepHour / 4 {
		if err := ask(at); err != nil {
			return err
		}
	}
	return nil
}

// notable are changes of an odd kind.
var notable = []struct{ zone, at string }{
	{"Africa/Monrovia", "1972-01-07T00:44:30Z"},     // from an offset with seconds
	{"Pacific/Apia", "2011-12-30T10:00:00Z"},        // a day left out
	{"Pacific/Kwajalein", "1993-08-21T12:00:00Z"},   // the same, the other names' zone
	{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, // half an hour
	{"Antarctica/Troll", "2026-03-29T01:00:00Z"},    // two hours
	{"America/Nuuk", "2024-03-31T01:00:00Z"},        // a gap at the end of a day
	{"America/Santiago", "2026-09-06T04:00:00Z"},    // a gap at midnight
	{"Europe/Dublin", "2026-10-25T01:00:00Z"},       // winter is the exception
	{"America/New_York", "2040-12-31T12:00:00Z"},    // a leap year past the table
	{"Asia/Pyongyang", "2018-05-04T15:00:00Z"},      // half an hour, for good
	{"Africa/Casablanca", "2026-02-15T02:00:00Z"},   // the table goes on to 2087
	{"America/Caracas", "2007-12-09T07:00:00Z"},     // back half an hour, for good
	{"Antarctica/Casey", "2018-03-10T17:00:00Z"},    // back three hours
	{"Asia/Gaza", "2011-08-30T21:00:00Z"},           // twice a summer
}

// leapDecembers are the 31 December of leap years, at which the standard library loses its way past a zone's table.
func leapDecembers() (list []int64) {
	for year := 1972; year <= 2100; year += 4 {
		list = append(list, time.Date(year, 12, 31, 12, 0, 0, 0, time.UTC).Unix())
	}
	return list
}

// TestTheZonesAreThoseOfGo guards the sweep: both sides have to look at the same data.
func TestTheZonesAreThoseOfGo(t *testing.T) {
	zones, err := embeddedZones()
	if err != nil {
		t.Fatal(err)
	}
	if len(zones) < 500 {
		t.Fatalf("%d zones in the archive", len(zones))
	}
	for _, z := range zones {
		loc, err := trigger.LoadZone(z.name)
		if err != nil {
			t.Fatal(err)
		}
		for at := sweepFrom; at.Before(sweepUntil); at = at.AddDate(0, 1, 3) {
			if _, off := at.In(loc).Zone(); int64(off) != z.offset(at.Unix()) {
				t.Fatalf("%s at %v: the trigger's zone is %d s from UTC, the archive says %d", z.name, at, off, z.offset(at.Unix()))
			}
		}
	}
}

// TestEveryClockChange compares triggers with what clocks show. make test-tz has it look at every change of every zone, and at
// the last days of all leap years, RUQI_SWEEP=Europe/Berlin,Asia/Gaza at all of some; otherwise it takes a sample, another one each time.
func TestEveryClockChange(t *testing.T) {
	zones, err := embeddedZones()
	if err != nil {
		t.Fatal(err)
	}
	var changes, compared atomic.Int64
	scope := os.Getenv("RUQI_SWEEP")
	whole := scope != ""
	seed := uint64(time.Now().UnixNano())
	all := zones
	zones = slices.DeleteFunc(slices.Clone(zones), func(z embeddedZone) bool {
		if whole && scope != "whole" {
			return !slices.Contains(strings.Split(scope, ","), z.name)
		}
		return z.alias
	})
	if !whole {
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 5))
		r.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
	}
	began := time.Now()
	if !whole { // those that were hard to get right, always
		for _, m := range notable {
			at := instant(t, m.at)
			i := slices.IndexFunc(all, func(z embeddedZone) bool { return z.name == m.zone })
			if i < 0 {
				t.Fatalf("no zone %s", m.zone)
			}
			s, err := newSweep(all[i], sweepRows, &compared)
			if err == nil {
				err = s.around(at.Unix(), sweepRows)
			}
			if err != nil {
				t.Error(err)
			}
			changes.Add(1)
		}
	}
	work := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				s, err := newSweep(zones[i], sweepRows, &compared)
				if err != nil {
					t.Error(err)
					continue
				}
				for _, at := range moments(zones[i], whole, rand.New(rand.NewPCG(seed, uint64(i)))) {
					changes.Add(1)
					if err := s.around(at, sweepRows); err != nil {
						t.Error(err)
						break
					}
				}
			}
		})
	}
	n := len(zones)
	if n == 0 {
		t.Fatalf("RUQI_SWEEP=%s names no zone; whole is for all", scope)
	}
	if !whole {
		n = 24
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	t.Logf("%d zones, %d moments, %d fire times compared in %v", n, changes.Load(), compared.Load(), time.Since(began).Round(time.Second))
	if changes.Load() == 0 || compared.Load() == 0 {
		t.Error("nothing was compared")
	}
}

// moments are what is looked at in a zone: all, or a sample.
func moments(z embeddedZone, whole bool, r *rand.Rand) []int64 {
	if whole {
		return append(z.changes(sweepFrom.Unix(), sweepUntil.Unix()), leapDecembers()...)
	}
	decembers := leapDecembers()
	list := []int64{decembers[r.IntN(len(decembers))]}
	for range 3 {
		from := sweepFrom.AddDate(r.IntN(129), 0, 0)
		if r.IntN(2) == 0 { // when there were most
			from = sweepFrom.AddDate(r.IntN(60), 0, 0)
		}
		list = append(list, z.changes(from.Unix(), from.AddDate(1, 0, 0).Unix())...)
	}
	return list
}
