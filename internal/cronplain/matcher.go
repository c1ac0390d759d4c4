// Package cronplain is the plainest reading of cron's five fields, and a walk through a year minute by minute. It shares nothing with what
// it is compared with.
//
// Only tests import this package.
package cronplain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Matcher is one expression: which values each field allows.
type Matcher struct {
	minute, hour, day, month, weekday [60]bool
	either                            bool // both day fields restrict, and one of them is enough
	starred                           bool // minute or hour begins with *
}

var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// New reads an expression. It knows what the samples of the tests hold, and trusts them to be right.
func New(expr string) (*Matcher, error) {
	if macro := macros[expr]; macro != "" {
		expr = macro
	}
	f := strings.Fields(strings.ToLower(expr))
	if len(f) != 5 {
		return nil, fmt.Errorf("%q has no five fields", expr)
	}
	names := map[string]int{}
	for i, name := range strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec") {
		names[name] = i + 1
	}
	for i, name := range strings.Fields("sun mon tue wed thu fri sat") {
		names[name] = i
	}
	var wrong error
	value := func(text string) int {
		if n, ok := names[text]; ok {
			return n
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 59 {
			wrong = fmt.Errorf("%q of %q is no value", text, expr)
		}
		return n
	}
	m := &Matcher{}
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
				if ranged {
					to = value(high)
				} else if !stepped {
					to = from
				}
			}
			if by == 0 {
				wrong = fmt.Errorf("%q of %q steps nowhere", element, expr)
			}
			for v := from; v <= to && wrong == nil; v += by {
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
	return m, wrong
}

// A wall is a time on a clock.
type wall struct{ minute, hour, day, month, weekday int }

// wallOf reads a time that is carried as if it were UTC.
func wallOf(t time.Time) wall {
	return wall{t.Minute(), t.Hour(), t.Day(), int(t.Month()), int(t.Weekday())}
}

// matches tells whether a wall-clock time is one of the expression's.
func (m *Matcher) matches(w wall) bool {
	if !m.minute[w.minute] || !m.hour[w.hour] || !m.month[w.month] {
		return false
	}
	day, weekday := m.day[w.day], m.weekday[w.weekday]
	if m.either {
		return day || weekday
	}
	return day && weekday
}

// A Minute is a minute of a year and what the clock of a zone shows in it. One that the clock shows a second time is marked, and where the
// clock is put forward what it leaves out is listed.
type Minute struct {
	at    int64 // seconds since 1970
	wall  wall
	again bool
	left  []wall
}

// Year returns the minutes of the year from 1 December 2026 on (in UTC).
func Year(zone *time.Location) []Minute {
	begin := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(1, 0, 0)
	var all []Minute
	var last time.Time // the furthest that the clock has come
	for at := begin; at.Before(end); at = at.Add(time.Minute) {
		_, offset := at.In(zone).Zone()
		shown := at.Add(time.Duration(offset) * time.Second)
		m := Minute{at: at.Unix(), wall: wallOf(shown)}
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
func (m *Matcher) fires(at *Minute) bool {
	if m.starred {
		return m.matches(at.wall)
	}
	return !at.again && m.matches(at.wall) || slices.ContainsFunc(at.left, m.matches)
}

// Compare walks through the minutes beside a schedule, whose next time after an instant is what next says. It returns how often the
// schedule fired, and the first minute in which the two differ.
func (m *Matcher) Compare(minutes []Minute, next func(time.Time) (time.Time, bool)) (fired int, err error) {
	// The next time, in seconds since 1970; 0: there is none.
	after := func(seconds int64) int64 {
		if at, ok := next(time.Unix(seconds, 0)); ok {
			return at.Unix()
		}
		return 0
	}
	due := after(minutes[0].at - 1)
	for i := range minutes {
		at := &minutes[i]
		is := due == at.at
		if is {
			due = after(at.at)
			fired++
		}
		if is != m.fires(at) {
			return fired, fmt.Errorf("at %s (%+v on the clock): fires %t", time.Unix(at.at, 0).UTC(), at.wall, is)
		}
		if due != 0 && due < at.at+60 && (due != at.at || is) {
			return fired, fmt.Errorf("after %s the next time is %s", time.Unix(at.at, 0).UTC(), time.Unix(due, 0).UTC())
		}
	}
	return fired, nil
}
