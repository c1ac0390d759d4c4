package crontab

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/trigger"
)

// everyWords are FreeBSD's words that are plain times.
var everyWords = map[string]string{"@every_minute": "* * * * *", "@every_second": "* * * * * *"}

// schedule makes the trigger of an entry. The error is in words, of the field that is wrong.
func schedule(e *entry, id, dialect string) (when map[string]any, notes []string, fault string) {
	word := e.fields[0]
	expr := strings.Join(e.fields, " ")
	switch {
	case word == "@every":
		length, err := duration.Parse(e.fields[1])
		if err == nil && length <= 0 {
			err = fmt.Errorf("%q is no length of time", e.fields[1])
		}
		if err != nil {
			return nil, nil, "@every: " + err.Error()
		}
		return map[string]any{"kind": "interval", "every": duration.Format(length)}, nil, ""
	case word == "@reboot":
		// No time of the clock: policy.run_on_start is what starts it.
		return map[string]any{"kind": "cron", "expr": word, "dialect": "crontab"}, nil, ""
	case everyWords[word] != "":
		expr, dialect = everyWords[word], "crontab"
	case word[0] == '@':
		if _, ok := number(word[1:]); ok {
			return nil, nil, word + " counts from the end of the run before, which no trigger here does; @every " + word[1:] + "s counts from its start"
		}
		dialect = "crontab"
	default:
		for i, field := range e.fields {
			drawn, changed, fault := draw(field, i, id)
			if fault != "" {
				return nil, nil, fault
			}
			if changed {
				notes = append(notes, fmt.Sprintf("%s %s is %s for good: cron draws anew each time it reads its table", fieldNames[i], field, drawn))
				e.fields[i] = drawn
			}
		}
		expr = strings.Join(e.fields, " ")
		if dialect == "ruqi" {
			expr = "0 " + expr
			if strings.ContainsAny(e.fields[4], "0123456789") {
				notes = append(notes, fmt.Sprintf("weekday %s counts from 0 = Monday, as in APScheduler", e.fields[4]))
			}
		}
	}
	t, err := trigger.Cron(expr, trigger.CronOptions{Dialect: dialect})
	if err != nil {
		return nil, nil, faultOf(err)
	}
	if dialect == "ruqi" {
		expr = t.String() // with the names of the weekdays
	}
	return map[string]any{"kind": "cron", "expr": expr, "dialect": dialect}, notes, ""
}

// faultOf is what is wrong, without the name of the member that it would have in JSON.
func faultOf(err error) string {
	var invalid *ruqi.InvalidError
	if errors.As(err, &invalid) && len(invalid.Faults) > 0 {
		return invalid.Faults[0].Message
	}
	return err.Error()
}

var fieldNames = [...]string{"minute", "hour", "day", "month", "weekday"}

// fieldEnds are the least and the greatest value of each field that ~ draws from.
var fieldEnds = [...][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

// draw puts a number in the place of each a~b, as cronie and OpenBSD's cron do when they read a table: at random there, here by a hash
// of the id, so that reading the table again changes nothing.
func draw(field string, i int, id string) (drawn string, changed bool, fault string) {
	if !strings.Contains(field, "~") {
		return field, false, ""
	}
	elements := strings.Split(field, ",")
	for n, element := range elements {
		from, to, random := strings.Cut(element, "~")
		if !random {
			continue
		}
		least, most := fieldEnds[i][0], fieldEnds[i][1]
		ok := true
		if from != "" {
			least, ok = number(from)
		}
		if to != "" && ok {
			most, ok = number(to)
		}
		if !ok || least > most || least < fieldEnds[i][0] || most > fieldEnds[i][1] {
			return "", false, fmt.Sprintf("%s: %q is no range to draw from; %d~%d is the widest, and it takes no step", fieldNames[i], element, fieldEnds[i][0], fieldEnds[i][1])
		}
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00%d", id, i, n) // a hash takes everything
		elements[n] = fmt.Sprint(least + int(h.Sum64()%uint64(most-least+1)))
	}
	return strings.Join(elements, ","), true, ""
}

// number reads up to four digits; no number in a table that means anything has more.
func number(text string) (n int, ok bool) {
	if text == "" || len(text) > 4 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}
