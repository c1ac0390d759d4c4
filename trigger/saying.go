package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
)

// A saying is what words about a time come to, without zone and anchor: immutable, and equal for equal meanings.
type saying struct {
	form form
	// length is of formInterval, formIn, and the shorter one of formRandom; to is its longer one. Microseconds.
	length, to int64
	days       int64    // formDays: from one date to the next
	on         weekdays // formWeekdays; formDays: the one day that weeks are counted from, if there is one
	dates      monthDays
	secs       []int32 // formDays, formWeekdays and formDates: seconds of the day, ascending
	beat       beats   // formBeat
	at         moment  // formAt
}

// form is the grammar that was used.
type form uint8

const (
	formInterval form = iota // every 10 minutes: elapsed time
	formRandom               // every 5 to 10 minutes
	formWeekdays             // every monday at 13:15, every day at 10:30
	formDays                 // every 3 days at 09:00, every 2 weeks on monday at 09:00: a chain of dates
	formDates                // every month on the 15th at 09:00, every year on march 15 at 09:00
	formBeat                 // every minute at :30, every hour at :15
	formIn                   // in 5 minutes, now: once, so long after the anchor
	formAt                   // at 2026-03-01 10:00: once
)

// wall reports whether a form is about the time of day.
func (f form) wall() bool {
	return f == formWeekdays || f == formDays || f == formDates || f == formBeat
}

// once reports whether a form is about a single time.
func (f form) once() bool { return f == formIn || f == formAt }

// anchored reports whether a form counts from an anchor.
func (f form) anchored() bool {
	return f == formInterval || f == formRandom || f == formDays || f == formIn
}

var weekdayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// mondayFirst is the order in which weekdays are said.
var mondayFirst = [...]time.Weekday{1, 2, 3, 4, 5, 6, 0}

// text returns the canonical words. Read again they are the same saying.
func (s *saying) text() string {
	switch s.form {
	case formRandom:
		unit, name := largestUnit(s.length, s.to)
		return fmt.Sprintf("every %d to %d %ss", s.length/unit, s.to/unit, name)
	case formWeekdays, formDays, formDates:
		return s.untimed() + " at " + timesText(s.secs)
	case formBeat:
		if s.beat.period == 60 {
			return fmt.Sprintf("%s at :%02d", s.untimed(), s.beat.offset)
		}
		return s.untimed() + " at :" + timeText(int32(s.beat.offset))[len("00:"):]
	case formIn:
		if s.length == 0 {
			return "now"
		}
		return "in " + lengthText(s.length, true)
	case formAt:
		return "at " + s.at.canonical()
	}
	return "every " + lengthText(s.length, false)
}

// untimed returns the canonical words in front of the times of day; all of them where there are none.
func (s *saying) untimed() string {
	switch s.form {
	case formWeekdays:
		return "every " + weekdayText(s.on)
	case formDays:
		n, unit := s.days, "day"
		if n%7 == 0 {
			n, unit = n/7, "week"
		}
		if s.on != 0 {
			return "every " + counted(n, unit) + " on " + weekdayText(s.on)
		}
		return "every " + counted(n, unit)
	case formDates:
		return "every " + s.dates.text()
	case formBeat:
		if s.beat.period == 60 {
			return "every minute"
		}
		return "every hour"
	}
	return s.text()
}

// first returns the first date of a chain that is counted from a day.
func (s *saying) first(day int64) int64 {
	if s.on == 0 {
		return day
	}
	day, _ = s.on.next(day)
	return day
}

// canonical returns a moment as text, with its offset if it has one.
func (m moment) canonical() string {
	if m.zoned {
		return formatMicros((m.wall-m.offset)*microsecond+m.micros, nil)
	}
	return m.text()
}

// counted returns "day", or "3 days".
func counted(n int64, unit string) string {
	if n == 1 {
		return unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}

// saidUnits are the units of words, the largest first, in microseconds.
var saidUnits = [...]struct {
	name   string
	length int64
}{{"week", 604800 * microsecond}, {"day", daySeconds * microsecond}, {"hour", 3600 * microsecond}, {"minute", 60 * microsecond}, {"second", microsecond}}

// largestUnit returns the largest unit that divides both lengths, whole seconds.
func largestUnit(a, b int64) (int64, string) {
	for _, u := range saidUnits {
		if a%u.length == 0 && b%u.length == 0 {
			return u.length, u.name
		}
	}
	return microsecond, "second" // never reached: lengths in words are whole seconds
}

// lengthText returns a length in the largest unit that divides it; one that is no whole number of seconds in the short form.
// The one of a single unit is written with one, not without: "1 day".
func lengthText(length int64, one bool) string {
	if length%microsecond != 0 {
		return duration.Format(time.Duration(length) * time.Microsecond)
	}
	unit, name := largestUnit(length, 0)
	if one && length == unit {
		return "1 " + name
	}
	return counted(length/unit, name)
}

func weekdayText(on weekdays) string {
	switch on {
	case everyDay:
		return "day"
	case mondayFriday:
		return "weekday"
	}
	list := make([]string, 0, len(mondayFirst))
	for _, day := range mondayFirst {
		if on>>day&1 != 0 {
			list = append(list, weekdayNames[day])
		}
	}
	return strings.Join(list, ", ")
}

func timesText(secs []int32) string {
	list := make([]string, 0, len(secs))
	for _, sec := range secs {
		list = append(list, timeText(sec))
	}
	return strings.Join(list, ", ")
}

// timeText returns HH:MM, or HH:MM:SS where there are seconds.
func timeText(sec int32) string {
	if sec%60 == 0 {
		return fmt.Sprintf("%02d:%02d", sec/3600, sec/60%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", sec/3600, sec/60%60, sec%60)
}
