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
	if len(text) > longestText {
		return nil, tooLong("/days", text)
	}
	if !strings.Contains(text, "=") && strings.TrimSpace(text) != "" {
		e := wordError{column: 1, complete: true, wanted: "a calendar trigger is written as " + calendarWords + ", such as months=1 hour=9; words are those of kind every"}
		return nil, ruqi.Invalid("/days", text, "days: %v", &e)
	}
	var faults ruqi.Faults
	c := CalendarOptions{Zone: loc, Gap: Gap(o.Gap), Fold: Fold(o.Fold)}
	numbers := map[string]*int{
		"years": &c.Years, "months": &c.Months, "weeks": &c.Weeks, "days": &c.Days, "hour": &c.Hour, "minute": &c.Minute, "second": &c.Second,
	}
	p := pairs{text: text, pointer: "/days", names: calendarWords, start: o.Start, end: o.End, at: map[string]pair{}, prefix: true}
	p.read(&faults, func(w pair) bool {
		number := numbers[w.name]
		if number == nil {
			return false
		}
		pointer := "/" + w.name
		p.at[pointer] = w
		n, err := strconv.Atoi(w.value)
		switch {
		case errors.Is(err, strconv.ErrRange):
			w.fault(&faults, pointer, w.valueColumn, "%s is out of range", clip(w.value))
			n = 1
		case err != nil || strings.HasPrefix(w.value, "+"):
			w.fault(&faults, pointer, w.valueColumn, "%q is not a whole number", clip(w.value))
			n = 1
		}
		*number = n
		return true
	})
	if faults.Err() != nil && c.Years == 0 && c.Months == 0 && c.Weeks == 0 && c.Days == 0 {
		c.Days = 1 // what should have been the step has been spoken of
	}
	c.StartText, c.EndText = p.start, p.end
	t, err := Calendar(c)
	p.name(err, &faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}
