package daycal

import (
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/text"
)

// A Day is a civil date without a zone: the number of days since 1970-01-01.
type Day int32

// The first and the last day that a calendar knows.
const (
	First Day = -719162 // 0001-01-01
	Last  Day = 2932896 // 9999-12-31
)

// era is how many days it takes until dates and weekdays repeat: 400 years. Searches look no further.
const era = 146097

const daySeconds = 86400

// NewDay returns the day of a date; as with time.Date, what is out of range is carried on.
func NewDay(year int, month time.Month, day int) Day {
	return dayOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// DayAt returns the date that the wall clock of t's zone shows at t.
func DayAt(t time.Time) Day {
	year, month, day := t.Date()
	return NewDay(year, month, day)
}

// dayOf returns the date of an instant in UTC, or the day before First or after Last.
func dayOf(t time.Time) Day {
	s := t.Unix()
	d := s / daySeconds
	if s < d*daySeconds {
		d--
	}
	return Day(min(max(d, int64(First)-1), int64(Last)+1))
}

// ParseDay reads a date such as 2026-12-25. The error is an *ruqi.InvalidError at the pointer "".
func ParseDay(text string) (Day, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, ruqi.Invalid("", text, "%q is not a date that exists, such as 2026-12-25%s", clip(text), dateMeant(text))
	}
	if d := dayOf(t); d >= First && d <= Last {
		return d, nil
	}
	return 0, ruqi.Invalid("", text, "%q is out of range, the years are 1 to 9999", clip(text))
}

// dateMeant asks for the date that was meant by one of another form, of which the year is the first part: 2027/4/5.
func dateMeant(text string) string {
	for _, form := range []string{"2006/1/2", "2006.1.2", "2006-1-2"} {
		if t, err := time.Parse(form, text); err == nil {
			return `; did you mean "` + t.Format(time.DateOnly) + `"?`
		}
	}
	return ""
}

// Time returns midnight of the day in UTC.
func (d Day) Time() time.Time { return time.Unix(int64(d)*daySeconds, 0).UTC() }

// Weekday returns the day's weekday.
func (d Day) Weekday() time.Weekday {
	const thursday = 4 // 1970-01-01 was one
	return time.Weekday(((int(d)+thursday)%7 + 7) % 7)
}

// String returns the date: 2026-12-25.
func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// clip cuts a wrong text for a message.
func clip(wrong string) string {
	const most = 60 // bytes: beside the explanation it fits in a line
	return text.Cut(wrong, most)
}
