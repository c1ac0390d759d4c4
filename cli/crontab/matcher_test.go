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

// matches tells whether a wall-clock time, carried as if it were UTC, is one of the expression's.
func (m *matcher) matches(wall time.Time) bool {
	if !m.minute[wall.Minute()] || !m.hour[wall.Hour()] || !m.month[wall.Month()] {
		return false
	}
	day, weekday := m.day[wall.Day()], m.weekday[wall.Weekday()]
	if m.either {
		return day || weekday
	}
	return day && weekday
}

// year is the minutes of a year on the wall clock of a zone. Of those that come twice the second time is marked, and where the clock is put
// forward the minutes left out are listed.
type yearMinute struct {
	at, wall time.Time
	again    bool
	left     []time.Time
}

func year(zone *time.Location) []yearMinute {
	begin := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var all []yearMinute
	var last time.Time // the furthest the wall clock has come
	for at := begin; at.Before(begin.AddDate(1, 0, 0)); at = at.Add(time.Minute) {
		_, offset := at.In(zone).Zone()
		m := yearMinute{at: at, wall: at.Add(time.Duration(offset) * time.Second)}
		if !last.IsZero() {
			m.again = !m.wall.After(last)
			for w := last.Add(time.Minute); w.Before(m.wall); w = w.Add(time.Minute) {
				m.left = append(m.left, w)
			}
		}
		if m.wall.After(last) {
			last = m.wall
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
			next, ok := trigger.Next(minutes[0].at.Add(-time.Second))
			fired := 0
			for i := range minutes {
				at := &minutes[i]
				is := ok && next.Equal(at.at)
				if is {
					next, ok = trigger.Next(at.at)
					fired++
				}
				if is != m.fires(at) {
					t.Errorf("%q in %s at %s (%s on the wall): fires %v", expr, name, at.at, at.wall, is)
					break
				}
				if ok && i+1 < len(minutes) && next.Before(minutes[i+1].at) {
					t.Fatalf("%q in %s fires at %s, between minutes", expr, name, next)
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
