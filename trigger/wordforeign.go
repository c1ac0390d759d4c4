package trigger

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

// foreign says of a text that is written as in a program, a file, AWS or systemd what it is here; nil for other texts.
func foreign(text string) *wordError {
	trimmed := strings.TrimSpace(text)
	column := strings.Index(text, trimmed) + 1
	inner := trimmed
	for range 3 { // - cron: '0 9 * * *'
		inner = cmp.Or(unwrapped(inner), inner)
	}
	if wrong := called(inner, column); wrong != nil || inner == trimmed {
		return wrong
	}
	return told(inner, column)
}

// called says of cron(0 9 * * ? *), every(5).minutes and Mon *-*-* 09:00 what they are here; nil for other texts.
func called(trimmed string, column int) *wordError {
	switch strings.ToLower(trimmed) {
	case "on startup", "at startup", "on reboot", "at reboot", "on start", "at start", "on boot", "at boot":
		return &wordError{column: column, complete: true, wanted: "these are no words: that is a kind cron, @reboot"}
	}
	name, inner, ok := strings.Cut(trimmed, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	inner = strings.TrimSpace(inner)
	switch name = strings.ToLower(name); {
	case !ok || !closed:
	case name == "cron":
		right := "0 " + strings.Join(strings.Fields(inner), " ")
		if _, err := cronexpr.Parse(cronexpr.Lookup("quartz"), right); err == nil && len(strings.Fields(inner)) == 6 {
			return &wordError{column: column, complete: true, wanted: fmt.Sprintf("these are no words: that is a kind cron of the dialect quartz, %s; the seconds stand in front; AWS means UTC where it names no zone (--tz UTC)", right)}
		}
	case name == "rate" && inner != "" && inner[0] >= '0' && inner[0] <= '9':
		return told("every "+inner, column)
	case name == "at":
		wrong := told("at "+inner, column)
		if wrong != nil {
			wrong.wanted += "; AWS means UTC where it names no zone (--tz UTC)"
		}
		return wrong
	}
	for _, called := range []string{"schedule.every(", "every("} {
		if strings.HasPrefix(trimmed, called) {
			calls, _, _ := strings.Cut(strings.TrimPrefix(trimmed, "schedule."), ".do(")
			return told(strings.Join(strings.FieldsFunc(calls, func(c rune) bool { return strings.ContainsRune(`(). "'`, c) }), " "), column)
		}
	}
	fields, zone := strings.Fields(trimmed), ""
	if n := len(fields) - 1; n > 0 && (fields[n] == "UTC" || strings.Contains(fields[n], "/")) {
		if slices.Contains(zonetable.Names(), fields[n]) {
			fields, zone = fields[:n], ", with the zone beside it (--tz "+fields[n]+")"
		}
	}
	if expr := onCalendar(fields); expr != "" {
		return &wordError{column: column, complete: true, wanted: "these are no words: that is a kind cron" + expr + zone}
	}
	return nil
}

// told says of a text that stands in something else what it is; nil where it is neither words nor a cron expression.
func told(inner string, column int) *wordError {
	if len(words(inner)) > mostWords {
		return nil
	}
	if cron := asCron(inner); cron != "" {
		return &wordError{column: column, complete: true, wanted: "these are no words: that is a kind cron" + cron}
	}
	whole, err := follow(inner)
	if err != nil {
		whole, _ = again(inner, words(inner))
	}
	if whole == "" {
		return nil
	}
	return &wordError{column: column, complete: true, wanted: "words stand alone", whole: whole}
}

// asCron returns what stands behind "kind cron" for the fields of a cron expression, with the dialect where it is another one; empty for
// other texts.
func asCron(text string) string {
	text = strings.TrimSpace(text)
	n := len(strings.Fields(text))
	if n > 8 { // seven fields, and a zone in front
		return ""
	}
	if n > 5 && n < 8 && strings.Contains(text, "?") { // to Quartz 2 is Monday
		if _, err := cronexpr.Parse(cronexpr.Lookup("quartz"), text); err == nil {
			return " of the dialect quartz, " + text
		}
	}
	if _, err := cronexpr.Parse(cronexpr.Lookup(cronexpr.Crontab), text); err == nil {
		return ", " + text
	}
	return ""
}

// calendarNames are the names that systemd has for times of its OnCalendar=.
var calendarNames = map[string]string{
	"minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * mon", "monthly": "0 0 1 * *", "quarterly": "0 0 1 1,4,7,10 *",
	"semiannually": "0 0 1 1,7 *", "semi-annually": "0 0 1 1,7 *", "yearly": "0 0 1 1 *", "annually": "0 0 1 1 *",
}

// unwrapped returns what stands in quotes, or behind cron:, OnCalendar= or OnUnitActiveSec=; empty for other texts.
func unwrapped(text string) string {
	if n := len(text) - 1; n > 1 && text[0] == text[n] && strings.ContainsRune("\"'`", rune(text[0])) && strings.Count(text, text[:1]) == 2 {
		return strings.TrimSpace(text[1:n])
	}
	text = strings.TrimPrefix(text, "- ")
	for _, name := range []string{"cron:", "schedule:", "oncalendar=", "onunitactivesec=", "onunitinactivesec="} {
		if len(text) <= len(name) || !strings.EqualFold(text[:len(name)], name) {
			continue
		}
		value := strings.TrimSpace(text[len(name):])
		switch {
		case name == "oncalendar=":
			return cmp.Or(calendarNames[strings.ToLower(value)], value)
		case !strings.HasPrefix(name, "onunit"):
			return value
		case value == "" || value[0] < '0' || value[0] > '9' || strings.Contains(value, "M"): // M is a month, m a minute
			return ""
		case number(value):
			return "every " + value + " seconds"
		}
		return "every " + value
	}
	return ""
}

// onCalendar reads Mon..Fri *-*-* 09:00 of systemd, and returns what stands behind "kind cron": the expression, with the dialect where it
// is another one. It is empty for other texts, and for those that say what no expression does.
func onCalendar(fields []string) string {
	all := strings.ToLower(strings.Join(fields, " "))
	fields = strings.Fields(all)
	if !strings.ContainsAny(all, "*~") && (!strings.Contains(all, "-") || !strings.Contains(all, "..")) || len(fields) > 3 {
		return ""
	}
	dow, year, month, dom := "*", "*", "*", "*"
	hour, minute, second := "0", "0", "0"
	if len(fields) > 0 {
		if days, ok := calendarDays(fields[0]); ok {
			dow, fields = days, fields[1:]
		}
	}
	dated := false
	if len(fields) > 0 && strings.ContainsAny(fields[0], "*-") && !strings.Contains(fields[0], ":") {
		parts := strings.SplitN(fields[0], "-", 3)
		if last := parts[len(parts)-1]; strings.Contains(last, "~") {
			before, days, _ := strings.Cut(last, "~")
			n, err := strconv.Atoi(days)
			if err != nil || n < 1 || n > 28 {
				return ""
			}
			if parts = append(parts[:len(parts)-1], before, "L"); n > 1 {
				parts[len(parts)-1] = fmt.Sprintf("L-%d", n-1)
			}
		}
		if len(parts) == 2 {
			parts = append([]string{"*"}, parts...)
		}
		if len(parts) != 3 {
			return ""
		}
		dated, year, month, dom, fields = true, parts[0], parts[1], parts[2], fields[1:]
	}
	timed := len(fields) > 0
	if timed {
		parts := strings.Split(fields[0], ":")
		if len(parts) < 2 || len(parts) > 3 {
			return ""
		}
		if hour, minute = parts[0], parts[1]; len(parts) == 3 {
			second = parts[2]
		}
		fields = fields[1:]
	}
	if len(fields) > 0 || !dated && !strings.Contains(hour+minute+second, "*") || dated && !timed && year+month+dom == "***" {
		return ""
	}
	for _, field := range []*string{&year, &month, &dom, &hour, &minute, &second} {
		if *field = calendarField(*field); *field == "" {
			return ""
		}
	}
	if dow != "*" && dom != "*" || year != "*" {
		expr := fmt.Sprintf("month=%s day=%s", month, dom)
		if year != "*" {
			expr = "year=" + year + " " + expr
		}
		if dow != "*" {
			expr += " day_of_week=" + dow
		}
		expr += fmt.Sprintf(" hour=%s minute=%s second=%s", hour, minute, second)
		if _, err := cronexpr.Parse(cronexpr.Lookup("fields"), expr); err != nil {
			return ""
		}
		return " of the dialect fields, " + expr
	}
	expr := strings.Join([]string{minute, hour, dom, month, dow}, " ")
	if second != "0" {
		expr = second + " " + expr
	}
	if _, err := cronexpr.Parse(cronexpr.Lookup(cronexpr.Crontab), expr); err != nil {
		return ""
	}
	return ", " + expr
}

// calendarDays reads mon..fri,sun as the field of a cron expression.
func calendarDays(text string) (string, bool) {
	var on weekdays
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "..")
		if !ranged {
			to = from
		}
		first, last := dayNamed(from), dayNamed(to)
		if first < 0 || last < 0 {
			return "", false
		}
		for day := first; ; day = (day + 1) % 7 {
			if on |= 1 << day; day == last {
				break
			}
		}
	}
	return dowField(on), true
}

// calendarField returns one of systemd's fields as that of a cron expression, without zeros in front: 01..05 is 1-5; empty for others.
func calendarField(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		whole, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(whole, "..")
		for _, number := range []*string{&from, &to, &step} {
			if n, err := strconv.Atoi(*number); err == nil && n >= 0 {
				*number = strconv.Itoa(n)
			}
		}
		if ranged {
			from += "-" + to
		}
		if stepped {
			from += "/" + step
		}
		parts = append(parts, from)
	}
	return strings.Join(parts, ",")
}
