package trigger_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// The oracle of except and only goes through the fire times of the trigger one by one and through the days one by one. It knows
// calendars as lists of dates and looks at the clock with package time alone.

const dateOnly = time.DateOnly

// oracleDays is a calendar as plain lists.
type oracleDays struct {
	weekdays map[time.Weekday]bool
	dates    map[string]bool // 2026-12-25
	yearly   map[string]bool // 12-25
	without  *oracleDays
}

// has looks at a date, given as midnight UTC.
func (o *oracleDays) has(date time.Time) bool {
	if o == nil || o.without.has(date) {
		return false
	}
	return o.weekdays[date.Weekday()] || o.dates[date.Format(dateOnly)] || o.yearly[date.Format("01-02")]
}

func (o *oracleDays) json() map[string]any {
	var weekdays, dates, yearly []string
	for w := range o.weekdays {
		weekdays = append(weekdays, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[w])
	}
	for d := range o.dates {
		dates = append(dates, d)
	}
	for d := range o.yearly {
		yearly = append(yearly, "--"+d)
	}
	all := map[string]any{"weekdays": weekdays, "dates": dates, "yearly": yearly}
	if o.without != nil {
		all["without"] = o.without.json()
	}
	return all
}

func randomDays(r *rand.Rand, around time.Time, nested bool) *oracleDays {
	o := &oracleDays{weekdays: map[time.Weekday]bool{}, dates: map[string]bool{}, yearly: map[string]bool{}}
	for range r.IntN(4) {
		o.weekdays[time.Weekday(r.IntN(7))] = true
	}
	for range r.IntN(4) { // stretches of days
		first := around.AddDate(0, 0, r.IntN(90)-45)
		for i := range 1 + r.IntN(10) {
			o.dates[first.AddDate(0, 0, i).Format(dateOnly)] = true
		}
	}
	for range r.IntN(3) {
		o.yearly[around.AddDate(0, 0, r.IntN(60)-30).Format("01-02")] = true
	}
	if nested && r.IntN(2) == 0 {
		o.without = randomDays(r, around, false)
	}
	return o
}

// dateAt is the date on the wall clock, as midnight UTC.
func dateAt(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// wallOf reads the wall clock as seconds.
func wallOf(t int64, loc *time.Location) int64 {
	_, off := time.Unix(t, 0).In(loc).Zone()
	return t + int64(off)
}

// showing returns the first instant at which the clock shows a wall time, or the first after the gap.
func showing(wall int64, loc *time.Location) int64 {
	const reach, step = 30 * 3600, 900
	offsets := map[int64]bool{}
	for t := wall - reach; t <= wall+reach; t += step {
		offsets[wallOf(t, loc)-t] = true
	}
	first, found := int64(0), false
	for off := range offsets {
		if t := wall - off; wallOf(t, loc) == wall && (!found || t < first) {
			first, found = t, true
		}
	}
	if found {
		return first
	}
	low := wall - reach // shows less
	for t := low; wallOf(t, loc) < wall; t += step {
		low = t
	}
	for wallOf(low, loc) < wall {
		low++
	}
	return low
}

// shows reports whether the clock shows a date at all.
func shows(date time.Time, loc *time.Location) bool {
	const reach, step = 40 * 3600, 1800
	for t := date.Unix() - reach; t <= date.Unix()+reach; t += step {
		if dateAt(time.Unix(t, 0).In(loc)).Equal(date) {
			return true
		}
	}
	return false
}

// oracleSieve returns the fire times in (from, until], in seconds.
func oracleSieve(fires []int64, loc *time.Location, held []*oracleDays, times map[int64]bool, keeps bool, otherwise trigger.Else, from, until int64) []int64 {
	holds := remember(func(day int64) bool {
		date := time.Unix(day*86400, 0).UTC()
		return slices.ContainsFunc(held, func(o *oracleDays) bool { return o.has(date) })
	})
	exists := remember(func(day int64) bool { return shows(time.Unix(day*86400, 0).UTC(), loc) })
	const nowhere = math.MinInt64
	target := remember(func(day int64) int64 { // where what is left out on a day goes
		step := int64(1)
		if otherwise == trigger.ElsePrevious {
			step = -1
		}
		for away := int64(1); away <= 366; away++ {
			if to := day + step*away; holds(to) == keeps && exists(to) {
				return to
			}
		}
		return nowhere
	})
	var all []int64
	for _, t := range fires {
		wall := wallOf(t, loc)
		day := int64(math.Floor(float64(wall) / 86400))
		switch {
		case (holds(day) || times[t]) == keeps:
			all = append(all, t)
		case otherwise != trigger.ElseSkip:
			if to := target(day); to != nowhere && to*86400 >= from-3*86400 && to*86400 <= until+3*86400 {
				all = append(all, showing(to*86400+wall-day*86400, loc))
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(t int64) bool { return t <= from || t > until })
}

// remember asks a question once.
func remember[T any](ask func(int64) T) func(int64) T {
	known := map[int64]T{}
	return func(n int64) T {
		answer, ok := known[n]
		if !ok {
			answer = ask(n)
			known[n] = answer
		}
		return answer
	}
}

func walkSeconds(t ruqi.Trigger, from, until int64) (list []int64) {
	for at := time.Unix(from, 0); ; {
		next, ok := t.Next(at)
		if !ok || next.Unix() > until {
			return list
		}
		if !next.After(at) {
			return append(list, math.MaxInt64) // and so on without end
		}
		list = append(list, next.Unix())
		at = next
	}
}

func walkBack(t ruqi.Stepper, from, until int64) (list []int64) {
	for at := time.Unix(until, 1000); ; {
		prev, ok := t.Prev(at)
		if !ok || prev.Unix() <= from {
			slices.Reverse(list)
			return list
		}
		if !prev.Before(at) {
			return append(list, math.MinInt64) // and so on without end
		}
		list = append(list, prev.Unix())
		at = prev
	}
}

// aChange returns an instant near a clock change of a zone, or any where it has none.
func aChange(r *rand.Rand, loc *time.Location) time.Time {
	at := time.Date(1970+r.IntN(75), time.Month(1+r.IntN(12)), 1+r.IntN(28), 12, 0, 0, 0, time.UTC)
	if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && end.After(at) && r.IntN(4) > 0 {
		at = end
	}
	return at.UTC()
}

type oracleCase struct {
	zone    string
	expr    string
	fold    trigger.Fold
	around  time.Time
	held    []*oracleDays
	times   string // a crontab expression; empty: none
	keeps   bool
	instead trigger.Else
	radius  int // days around, that are looked at
}

func (c oracleCase) check(t *testing.T) {
	loc, err := trigger.LoadZone(c.zone)
	if err != nil {
		t.Fatal(err)
	}
	of, err := trigger.Cron(c.expr, trigger.CronOptions{Zone: loc, Fold: c.fold})
	if err != nil {
		t.Fatal(err)
	}
	from, until := c.around.AddDate(0, 0, -c.radius).Unix(), c.around.AddDate(0, 0, c.radius).Unix()
	var parts []trigger.Part
	for _, o := range c.held {
		text, err := json.Marshal(o.json())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, trigger.Days(daysOf(t, string(text))))
	}
	var times map[int64]bool
	margin := int64(86400)
	if c.instead != trigger.ElseSkip {
		margin = 370 * 86400
		if c.radius < 10 {
			margin = 40 * 86400 // single days are left out
		}
	}
	if c.times != "" {
		other, err := trigger.Cron(c.times, trigger.CronOptions{Zone: loc})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, trigger.Times(other))
		times = map[int64]bool{}
		for _, at := range walkSeconds(other, from-margin, until+margin) {
			times[at] = true
		}
	}
	var asked ruqi.Trigger = trigger.Except(of, parts...).Else(c.instead)
	if c.keeps {
		asked = trigger.Only(of, parts...).Else(c.instead)
	}
	want := oracleSieve(walkSeconds(of, from-margin, until+margin), loc, c.held, times, c.keeps, c.instead, from, until)
	got := walkSeconds(asked, from, until)
	if !slices.Equal(got, want) {
		t.Fatalf("%v\nNext %s", asked, difference(got, want, loc))
	}
	stepper := asked.(ruqi.Stepper)
	if back := walkBack(stepper, from, until); !slices.Equal(back, want) {
		t.Fatalf("%v\nPrev %s", asked, difference(back, want, loc))
	}
	if n := stepper.Count(time.Unix(from, 0), time.Unix(until, 0)); n != int64(len(want)) {
		t.Errorf("%v: Count %d, want %d", asked, n, len(want))
	}
	matcher := asked.(ruqi.Matcher)
	fires := map[int64]bool{}
	for _, at := range want {
		fires[at] = true
	}
	asks := append(walkSeconds(of, from, until), want...)
	for i := 0; i < len(asks); i += 1 + len(asks)/200 {
		at := asks[i]
		if matcher.Matches(time.Unix(at, 0)) != fires[at] || matcher.Matches(time.Unix(at, 1)) {
			t.Errorf("%v: Matches(%v) is not %v", asked, time.Unix(at, 0).In(loc), fires[at])
		}
		if rulings := asked.(ruqi.Explainer).Explain(time.Unix(at, 0), ruqi.English); (len(rulings) == 0) != fires[at] {
			t.Errorf("%v: Explain(%v) = %v, it fires: %v", asked, time.Unix(at, 0).In(loc), rulings, fires[at])
		}
	}
}

func difference(got, want []int64, loc *time.Location) string {
	for i := range max(len(got), len(want)) {
		at := func(list []int64) string {
			if i < len(list) {
				return time.Unix(list[i], 0).In(loc).String()
			}
			return "nothing"
		}
		if at(got) != at(want) {
			return fmt.Sprintf("gives %s as number %d, want %s", at(got), i, at(want))
		}
	}
	return "agrees"
}

func TestExceptAndOnlyAgreeWithTheOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())

	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	exprs := []string{
		"0 9 * * *", "30 2 * * *", "0 0 * * *", "30 0,23 * * *", "*/20 * * * *", "17 */2 * * *", "0 18 L * *", "0 9 * * mon#1",
		"30 1-3 * * *", "15 12 1,15 * *", "0 */6 * * sat,sun", "59 23 * * fri", "1 0 * * *",
	}
	folds := []trigger.Fold{trigger.FoldAuto, trigger.FoldBoth, trigger.FoldSecond, trigger.FoldFirst}
	const cases = 200 // a few seconds
	for i := range cases {
		c := oracleCase{
			zone: oracleZones[r.IntN(len(oracleZones))], expr: exprs[r.IntN(len(exprs))], fold: folds[r.IntN(len(folds))],
			keeps: r.IntN(3) == 0, instead: []trigger.Else{trigger.ElseSkip, trigger.ElseNext, trigger.ElsePrevious}[r.IntN(3)], radius: 20,
		}
		loc, err := trigger.LoadZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		c.around = aChange(r, loc)
		for range 1 + r.IntN(2) {
			c.held = append(c.held, randomDays(r, c.around, true))
		}
		if c.instead == trigger.ElseSkip && r.IntN(3) == 0 {
			c.times = exprs[r.IntN(len(exprs))]
		}
		t.Run(fmt.Sprintf("%d %s %s", i, c.zone, c.expr), c.check)
		if t.Failed() {
			return
		}
	}
}

// TestMidnightIsSkipped is about gaps at midnight, before it and after it.
func TestMidnightIsSkipped(t *testing.T) {
	for _, gap := range []struct {
		zone string
		at   time.Time
	}{
		{"Asia/Pyongyang", time.Date(2018, 5, 4, 15, 0, 0, 0, time.UTC)},              // 23:30 became 24:00
		{"Asia/Tehran", time.Date(1977, 3, 21, 19, 30, 0, 0, time.UTC)},               // 23:00 became 24:00
		{"America/Nuuk", time.Date(2035, 3, 25, 1, 0, 0, 0, time.UTC)},                // 23:00 became 24:00
		{"America/Sao_Paulo", time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC)},           // 00:00 became 01:00
		{"America/Toronto", time.Date(1919, 3, 31, 4, 30, 0, 0, time.UTC)},            // 23:30 became 00:30
		{"Pacific/Apia", time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC)},              // a day was left out
		{"America/Argentina/San_Luis", time.Date(2007, 12, 30, 3, 0, 0, 0, time.UTC)}, // 00:00 became 01:00
	} {
		loc, err := trigger.LoadZone(gap.zone)
		if err != nil {
			t.Fatal(err)
		}
		if wallOf(gap.at.Unix()-1, loc)+1 >= wallOf(gap.at.Unix(), loc) {
			t.Fatalf("%s has no gap at %v", gap.zone, gap.at)
		}
		for _, expr := range []string{"*/10 * * * *", "0,30 23 * * *", "0,30 0 * * *", "*/7 0,23 * * *", "0 12 * * *"} {
			for _, instead := range []trigger.Else{trigger.ElseSkip, trigger.ElseNext, trigger.ElsePrevious} {
				for away := -2; away <= 2; away++ {
					held := &oracleDays{dates: map[string]bool{dateAt(gap.at.In(loc)).AddDate(0, 0, away).Format(dateOnly): true}}
					c := oracleCase{zone: gap.zone, expr: expr, around: gap.at, held: []*oracleDays{held}, instead: instead, radius: 4}
					t.Run(fmt.Sprint(gap.zone, expr, instead, away), c.check)
				}
			}
		}
	}
}

// TestMidnightIsFoldedBack is about zones whose clock went back from after midnight to the day before: days came twice.
func TestMidnightIsFoldedBack(t *testing.T) {
	stJohns := time.Date(2006, 10, 29, 2, 31, 0, 0, time.UTC) // 00:01 became 23:01
	for _, expr := range []string{"*/10 * * * *", "0,30 23 * * *", "0 0 * * *", "*/7 0,23 * * *"} {
		for _, instead := range []trigger.Else{trigger.ElseSkip, trigger.ElseNext, trigger.ElsePrevious} {
			for _, fold := range []trigger.Fold{trigger.FoldAuto, trigger.FoldBoth, trigger.FoldSecond} {
				for _, out := range []string{"2006-10-27", "2006-10-28", "2006-10-29", "2006-10-30"} {
					for _, keeps := range []bool{false, true} {
						if keeps && instead != trigger.ElseSkip {
							continue // a year would be moved to one day
						}
						held := &oracleDays{dates: map[string]bool{out: true}}
						c := oracleCase{zone: "America/St_Johns", expr: expr, fold: fold, around: stJohns, held: []*oracleDays{held}, keeps: keeps, instead: instead, radius: 4}
						t.Run(fmt.Sprint(expr, instead, fold, out, keeps), c.check)
					}
				}
			}
		}
	}
}
