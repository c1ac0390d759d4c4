package trigger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// The oracle knows nothing of tables, bit scans or spans: it looks at the clock at
// every single second or minute of a few days, writes down which wall times were shown
// when, and applies the rules for clock changes to each wall time that matches.

// oracleZones have, or had, odd clock changes: half hours, midnight, the date line,
// two a month, seconds in the offset, rules past the zone table, none at all.
var oracleZones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca",
	"Pacific/Apia", "Antarctica/Troll", "Asia/Kathmandu", "America/Havana", "Pacific/Chatham", "America/Nuuk",
	"Africa/Cairo", "America/Santiago", "Asia/Gaza", "Africa/Monrovia", "Pacific/Kwajalein", "America/St_Johns",
	"Europe/Dublin", "Asia/Pyongyang", "America/Caracas", "Africa/Juba", "Antarctica/Casey", "Asia/Tehran",
}

// An oracleField is a field as its text, its values and whether it begins with *.
type oracleField struct {
	text   string
	values []bool
	star   bool
}

func randomField(r *rand.Rand, low, high, sparse int) oracleField {
	f := oracleField{values: make([]bool, high+1)}
	fill := func(from, to, step int) {
		for v := from; v <= to; v += step {
			f.values[v] = true
		}
	}
	switch kind := r.IntN(10); {
	case kind < 3-sparse:
		f.text, f.star = "*", true
		fill(low, high, 1)
	case kind < 5-sparse:
		step := 1 + r.IntN(high)
		f.text, f.star = fmt.Sprintf("*/%d", step), true
		fill(low, high, step)
	case kind < 6:
		from := low + r.IntN(high-low+1)
		step := 1 + r.IntN(high)
		f.text = fmt.Sprintf("%d/%d", from, step)
		fill(from, high, step)
	default:
		var parts []string
		for range 1 + r.IntN(3) {
			from := low + r.IntN(high-low+1)
			to := from
			if r.IntN(3) == 0 {
				to = from + r.IntN(high-from+1)
			}
			fill(from, to, 1)
			if to > from {
				parts = append(parts, fmt.Sprintf("%d-%d", from, to))
			} else {
				parts = append(parts, fmt.Sprint(from))
			}
		}
		f.text = strings.Join(parts, ",")
	}
	return f
}

// An oracleExpr is a crontab expression with its sets written out.
type oracleExpr struct {
	second, minute, hour, day, month, weekday oracleField
	text                                      string
}

func randomExpr(r *rand.Rand, seconds bool) oracleExpr {
	any := func(high int) oracleField {
		f := oracleField{text: "*", star: true, values: make([]bool, high+1)}
		for i := range f.values {
			f.values[i] = true
		}
		return f
	}
	e := oracleExpr{
		second: oracleField{values: make([]bool, 60)},
		minute: randomField(r, 0, 59, 1), hour: randomField(r, 0, 23, r.IntN(3)),
		day: any(31), month: any(12), weekday: any(6),
	}
	if r.IntN(3) == 0 { // hours that clock changes touch
		from := r.IntN(3)
		e.hour = oracleField{text: fmt.Sprintf("%d-%d", from, from+2), values: make([]bool, 24)}
		e.hour.values[from], e.hour.values[from+1], e.hour.values[from+2] = true, true, true
	}
	if r.IntN(4) == 0 {
		e.day = randomField(r, 1, 31, 0)
	}
	if r.IntN(4) == 0 {
		e.weekday = randomField(r, 0, 6, 0)
	}
	e.second.values[0] = true
	words := []string{e.minute.text, e.hour.text, e.day.text, e.month.text, e.weekday.text}
	if seconds {
		e.second = randomField(r, 0, 59, 1)
		words = append([]string{e.second.text}, words...)
	}
	e.text = strings.Join(words, " ")
	return e
}

// matches says whether a wall time, given as UTC, is one of the expression.
func (e oracleExpr) matches(w time.Time) bool {
	if !e.second.values[w.Second()] || !e.minute.values[w.Minute()] || !e.hour.values[w.Hour()] || !e.month.values[w.Month()] {
		return false
	}
	day, weekday := e.day.values[w.Day()], e.weekday.values[w.Weekday()]
	if e.day.star || e.weekday.star {
		return day && weekday
	}
	return day || weekday
}

// fires returns the fire times in [from, until] in seconds.
func (e oracleExpr) fires(loc *time.Location, from, until time.Time, step int64, gap trigger.Gap, fold trigger.Fold) []int64 {
	starred := e.second.star && e.second.text != "" || e.minute.star || e.hour.star
	return shownFires(e.matches, starred, loc, from, until, step, gap, fold)
}

// shownFires returns the instants in [from, until] at which a set of wall times, given as UTC, fires. starred says that they follow the
// real clock.
func shownFires(matches func(time.Time) bool, starred bool, loc *time.Location, from, until time.Time, step int64, gap trigger.Gap, fold trigger.Fold) []int64 {
	const around = 30 * 3600 // further than any jump
	low, high := from.Unix()-around, until.Unix()+around
	wallAt := func(t int64) int64 {
		at := time.Unix(t, 0).In(loc)
		_, off := at.Zone()
		return t + int64(off)
	}
	shown := map[int64][]int64{} // wall time to the instants at which it was shown
	type jump struct{ at, before, after int64 }
	var jumps []jump
	last := wallAt(low)
	for t := low; t <= high; t += step {
		wall := wallAt(t)
		shown[wall] = append(shown[wall], t)
		if t > low && wall > last+step { // the clock went forward in (t-step, t]
			at := t
			for wallAt(at-1)-(at-1) == wall-t {
				at--
			}
			jumps = append(jumps, jump{at, wallAt(at-1) + 1, wallAt(at)})
		}
		last = wall
	}
	if fold == trigger.FoldAuto {
		fold = trigger.FoldFirst
		if starred {
			fold = trigger.FoldBoth
		}
	}
	set := map[int64]bool{}
	for wall := wallAt(low); wall <= wallAt(high); wall += step {
		if !matches(time.Unix(wall, 0).UTC()) {
			continue
		}
		at := shown[wall]
		switch {
		case len(at) == 0:
			for _, j := range jumps {
				if wall < j.before || wall >= j.after || starred || j.after-j.before > 3*3600 {
					continue
				}
				switch gap {
				case trigger.GapRunAfter:
					set[j.at] = true
				case trigger.GapShift:
					set[j.at+wall-j.before] = true
				}
			}
		case fold == trigger.FoldFirst:
			set[at[0]] = true
		case fold == trigger.FoldSecond:
			set[at[len(at)-1]] = true
		default:
			for _, t := range at {
				set[t] = true
			}
		}
	}
	var list []int64
	for t := range set {
		if t >= from.Unix() && t <= until.Unix() {
			list = append(list, t)
		}
	}
	slices.Sort(list)
	return list
}

// clockChanges returns the days in [1970, 2100] on which the offset of a zone changes.
func clockChanges(loc *time.Location) (days []time.Time) {
	day := time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	_, off := day.In(loc).Zone()
	for ; day.Year() < 2100; day = day.AddDate(0, 0, 1) {
		if _, now := day.In(loc).Zone(); now != off {
			days = append(days, day.AddDate(0, 0, -1))
			off = now
		}
	}
	return days
}

func TestCronAgreesWithAWalkOverRealMinutes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	gaps := []trigger.Gap{trigger.GapRunAfter, trigger.GapShift, trigger.GapSkip}
	folds := []trigger.Fold{trigger.FoldAuto, trigger.FoldFirst, trigger.FoldBoth, trigger.FoldSecond}
	fires := 0
	for _, name := range oracleZones {
		loc, err := trigger.LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		changes := clockChanges(loc)
		for range 12 {
			// Mostly a clock change, sometimes any day, or the end of a leap year past the
			// zone table.
			day := time.Unix(r.Int64N(130*365*86400), 0).UTC().Truncate(24 * time.Hour)
			switch kind := r.IntN(10); {
			case kind < 8 && len(changes) > 0:
				day = changes[r.IntN(len(changes))]
			case kind < 9:
				day = time.Date(2040+4*r.IntN(15), 12, 31, 0, 0, 0, 0, time.UTC)
			}
			from := day.Add(-time.Duration(r.IntN(20*60)) * time.Minute)
			until := day.Add(40 * time.Hour)
			step := int64(60)
			if r.IntN(20) == 0 || name == "Africa/Monrovia" && day.Year() < 1973 {
				step = 1
			}
			e := randomExpr(r, step == 1)
			gap, fold := gaps[r.IntN(len(gaps))], folds[r.IntN(len(folds))]
			want := e.fires(loc, from, until, step, gap, fold)
			trig, err := trigger.Cron(e.text, trigger.CronOptions{Zone: loc, Gap: gap, Fold: fold})
			if err != nil {
				continue // a date that does not exist
			}
			what := fmt.Sprintf("%q in %s, gap %s, fold %s", e.text, name, gap, fold)
			compare(t, what, trig, from, until, want)
			fires += len(want)
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d fire times compared", fires)
}

func compare(t *testing.T, what string, trig ruqi.Stepper, from, until time.Time, want []int64) {
	t.Helper()
	at := from.Add(-time.Nanosecond)
	for _, w := range want {
		got, ok := trig.Next(at)
		if !ok || got.Unix() != w {
			t.Fatalf("%s: Next(%v) = %v %v, the clock shows %v", what, at, got, ok, time.Unix(w, 0).In(got.Location()))
		}
		at = got
	}
	if got, ok := trig.Next(at); ok && !got.After(until) {
		t.Fatalf("%s: Next(%v) = %v, the clock shows nothing until %v", what, at, got, until)
	}
	at = until.Add(time.Nanosecond)
	for _, w := range slices.Backward(want) {
		got, ok := trig.Prev(at)
		if !ok || got.Unix() != w {
			t.Fatalf("%s: Prev(%v) = %v %v, the clock shows %v", what, at, got, ok, time.Unix(w, 0).In(got.Location()))
		}
		at = got
	}
	if got, ok := trig.Prev(at); ok && !got.Before(from) {
		t.Fatalf("%s: Prev(%v) = %v, the clock shows nothing since %v", what, at, got, from)
	}
	if n := trig.Count(from.Add(-time.Nanosecond), until); n != int64(len(want)) {
		t.Fatalf("%s: Count(%v, %v) = %d, the clock shows %d", what, from, until, n, len(want))
	}
}
