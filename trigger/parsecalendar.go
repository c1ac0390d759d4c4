package trigger

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

const calendarWords = "years= months= weeks= days= hour= minute= second= start_date= end_date="

// parseCalendar reads the form "months=1 hour=9 start_date=2026-01-31".
func parseCalendar(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	var faults ruqi.Faults
	if len(text) > longestText {
		return nil, tooLong("/days", text)
	}
	c := CalendarOptions{Zone: loc, StartText: o.Start, EndText: o.End, Gap: Gap(o.Gap), Fold: Fold(o.Fold)}
	numbers := map[string]*int{
		"years": &c.Years, "months": &c.Months, "weeks": &c.Weeks, "days": &c.Days, "hour": &c.Hour, "minute": &c.Minute, "second": &c.Second,
	}
	dates := intervalWords{start: o.Start, end: o.End, named: map[string]string{}}
	seen := map[string]bool{}
	for _, word := range splitQuoted(text) {
		name, value, _ := strings.Cut(word, "=")
		if seen[name] {
			faults.Add("/"+clip(name), word, "%s: given twice", clip(name))
			continue
		}
		seen[name] = true
		switch number := numbers[name]; {
		case number != nil:
			n, err := strconv.Atoi(value)
			switch {
			case errors.Is(err, strconv.ErrRange):
				faults.Add("/"+name, word, "%s: %s is out of range", name, clip(value))
				n = 1
			case err != nil || strings.HasPrefix(value, "+"):
				faults.Add("/"+name, word, "%s: %q is not a whole number", name, clip(value))
				n = 1
			}
			*number = n
		case name == "start_date":
			dates.readDate(name, value, "/start", &c.StartText, &faults)
		case name == "end_date":
			dates.readDate(name, value, "/end", &c.EndText, &faults)
		default:
			faults.Add("/days", word, "%s: unknown word; accepted are %s%s", clip(name), calendarWords, nearestName(name, calendarWords))
		}
	}
	t, err := Calendar(c)
	var invalid *ruqi.InvalidError
	if errors.As(err, &invalid) {
		for _, f := range invalid.Faults {
			if f.Pointer == "/days" && strings.HasPrefix(f.Message, "interval: ") {
				if faults.Err() != nil {
					continue // what should have been the step has been spoken of
				}
			} else if name := dates.named[f.Pointer]; name != "" {
				f.Message = name + ": " + f.Message
			} else {
				f.Message = strings.TrimPrefix(f.Pointer, "/") + ": " + f.Message
			}
			faults.Add(f.Pointer, f.Value, "%s", f.Message)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}
