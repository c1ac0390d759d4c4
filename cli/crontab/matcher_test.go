package crontab_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/crontab"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

// A matcher is the plainest reading of five fields: which values each allows. It knows nothing of the product's parser.
type matcher struct {
	minute, hour, day, month, weekday [60]bool
	either                            bool // both day fields restrict, and one of them is enough
	starred                           bool // minute or hour begins with *
}

var plainMacros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

func newMatcher(t *testing.T, expr string) *matcher {
	t.Helper()
	if macro := plainMacros[expr]; macro != "" {
		expr = macro
	}
	f := strings.Fields(strings.ToLower(expr))
	if len(f) != 5 {
		t.Fatalf("%q has no five fields", expr)
	}
	names := map[string]int{}
	for i, name := range strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec") {
		names[name] = i + 1
	}
	for i, name := range strings.Fields("sun mon tue wed thu fri sat") {
		names[name] = i
	}
	value := func(text string) int {
		if n, ok := names[text]; ok {
			return n
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%q of %q", text, expr)
		}
		return n
	}
	m := &matcher{}
	fill := func(set *[60]bool, field string, least, most int) {
		for element := range strings.SplitSeq(field, ",") {
			span, step, stepped := strings.Cut(element, "/")
			by := 1
			if stepped {
				by = value(step)
			}
			from, to := least, most
			if span != "*" {
				low, high, ranged := strings.Cut(span, "-")
				from = value(low)
				if to = from; ranged {
					to = value(high)
				}
			}
			for v := from; v <= to; v += by {
				set[v] = true
			}
		}
	}
	fill(&m.minute, f[0], 0, 59)
	fill(&m.hour, f[1], 0, 23)
	fill(&m.day, f[2], 1, 31)
	fill(&m.month, f[3], 1, 12)
	fill(&m.weekday, f[4], 0, 6)
	m.weekday[0] = m.weekday[0] || m.weekday[7]
	m.either = f[2][0] != '*' && f[4][0] != '*'
	m.starred = f[0][0] == '*' || f[1][0] == '*'
	return m
}

// A wall is a time on a clock.
type wall struct{ minute, hour, day, month, weekday int }

// wallOf reads a time that is carried as if it were UTC.
func wallOf(t time.Time) wall {
	return wall{t.Minute(), t.Hour(), t.Day(), int(t.Month()), int(t.Weekday())}
}

// matches tells whether a wall-clock time is one of the expression's.
func (m *matcher) matches(w wall) bool {
	if !m.minute[w.minute] || !m.hour[w.hour] || !m.month[w.month] {
		return false
	}
	day, weekday := m.day[w.day], m.weekday[w.weekday]
	if m.either {
		return day || weekday
	}
	return day && weekday
}

// A yearMinute is a minute of a year and what the clock of a zone shows in it. One that the clock shows a second time is marked, and where
// the clock is put forward what it leaves out is listed.
type yearMinute struct {
	at    int64 // seconds since 1970
	wall  wall
	again bool
	left  []wall
}

func year(zone *time.Location) []yearMinute {
	begin := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(1, 0, 0)
	var all []yearMinute
	var last time.Time // the furthest that the clock has come
	for at := begin; at.Before(end); at = at.Add(time.Minute) {
		_, offset := at.In(zone).Zone()
		shown := at.Add(time.Duration(offset) * time.Second)
		m := yearMinute{at: at.Unix(), wall: wallOf(shown)}
		if !last.IsZero() {
			m.again = !shown.After(last)
			for w := last.Add(time.Minute); w.Before(shown); w = w.Add(time.Minute) {
				m.left = append(m.left, wallOf(w))
			}
		}
		if shown.After(last) {
			last = shown
		}
		all = append(all, m)
	}
	return all
}

// fires tells whether a minute is one of the expression's: times that are fixed run once where the clock is changed, at the first minute
// after those left out and in the first of those that come twice; fields with a * follow the clock.
func (m *matcher) fires(at *yearMinute) bool {
	if m.starred {
		return m.matches(at.wall)
	}
	return !at.again && m.matches(at.wall) || slices.ContainsFunc(at.left, m.matches)
}

func TestSchedulesMatchMinuteByMinuteForAYear(t *testing.T) {
	expressions := map[string]bool{}
	for _, s := range samples(t) {
		for _, job := range crontab.Read(s.data, s.options).Jobs {
			when := shapeOf(t, job).Trigger
			// What is no time of cron's minutes has tests of its own.
			if when.Kind == "cron" && when.Expr != "@reboot" && when.Expr != "* * * * * *" {
				expressions[when.Expr] = true
			}
		}
	}
	if len(expressions) < 40 {
		t.Fatalf("only %d expressions in the samples", len(expressions))
	}
	for _, name := range []string{"UTC", "Europe/Berlin"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		minutes := year(zone)
		for expr := range expressions {
			m, trigger := newMatcher(t, expr), readTrigger(t, expr, name)
			// The next time, in seconds since 1970; 0: there is none.
			after := func(seconds int64) int64 {
				if next, ok := trigger.Next(time.Unix(seconds, 0)); ok {
					return next.Unix()
				}
				return 0
			}
			next, fired := after(minutes[0].at-1), 0
			for i := range minutes {
				at := &minutes[i]
				is := next == at.at
				if is {
					next = after(at.at)
					fired++
				}
				if is != m.fires(at) {
					t.Errorf("%q in %s at %s (%+v on the clock): fires %v", expr, name, time.Unix(at.at, 0).UTC(), at.wall, is)
					break
				}
				if next != 0 && next > at.at && next < at.at+60 {
					t.Fatalf("%q in %s fires at %s, between minutes", expr, name, time.Unix(next, 0).UTC())
				}
			}
			if fired == 0 && expr != "0 0 29 2 *" {
				t.Errorf("%q in %s never fired", expr, name)
			}
		}
	}
}

// readTrigger reads an expression as the service reads that of an imported job.
func readTrigger(t *testing.T, expr, zone string) ruqi.Trigger {
	t.Helper()
	r := crontab.Read([]byte(expr+" true\n"), crontab.Options{Zone: zone})
	if len(r.Jobs) != 1 {
		t.Fatalf("%q: %v", expr, r.Faults)
	}
	spec, err := wire.DecodeNew(standard.Registry(standard.Options{}), encode(t, r.Jobs[0]))
	if err != nil {
		t.Fatalf("%q: %v", expr, err)
	}
	return spec.Trigger
}
