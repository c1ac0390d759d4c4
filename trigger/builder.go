package trigger

import (
	"slices"
	"strconv"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Count is the beginning of a time in words: a number that awaits its unit. It is immutable.
type Count struct{ n, to int }

// Every begins a time in words, to be followed by a unit:
//
//	trigger.Every(10).Minutes()
//	trigger.Every(5).To(10).Minutes()
//	trigger.Every(1).Day().At("10:30")
//	trigger.Every(1).Monday().At("13:15").Until("2030-01-01").In(berlin)
//
// What is wrong is told by Bind, that is when a job with the trigger is added. The words are those of EveryTrigger; for a length of
// time that a program has as a time.Duration see EveryDuration.
func Every(n int) *Count { return &Count{n: n} }

// To makes the time random, between the number of Every and this one: every 5 to 10 minutes.
func (c *Count) To(n int) *Count { return &Count{c.n, n} }

// Second is Seconds, for Every(1).
func (c *Count) Second() *EveryTrigger { return c.of("second") }

// Seconds counts elapsed seconds.
func (c *Count) Seconds() *EveryTrigger { return c.of("second") }

// Minute is Minutes, for Every(1).
func (c *Count) Minute() *EveryTrigger { return c.of("minute") }

// Minutes counts elapsed minutes. Every(1).Minute().At(":30") is on the wall clock.
func (c *Count) Minutes() *EveryTrigger { return c.of("minute") }

// Hour is Hours, for Every(1).
func (c *Count) Hour() *EveryTrigger { return c.of("hour") }

// Hours counts elapsed hours. Every(1).Hour().At(":15") is on the wall clock.
func (c *Count) Hours() *EveryTrigger { return c.of("hour") }

// Day is Days, for Every(1).
func (c *Count) Day() *EveryTrigger { return c.of("day") }

// Days counts elapsed days of 24 hours. With At they are days of the calendar.
func (c *Count) Days() *EveryTrigger { return c.of("day") }

// Week is Weeks, for Every(1).
func (c *Count) Week() *EveryTrigger { return c.of("week") }

// Weeks counts elapsed weeks of 168 hours. With At they are weeks of the calendar.
func (c *Count) Weeks() *EveryTrigger { return c.of("week") }

// Weekday is Monday to Friday, at 00:00 without At.
func (c *Count) Weekday() *EveryTrigger { return c.of("weekday") }

// Monday is each Monday, at 00:00 without At; the other days are like it. On takes several.
func (c *Count) Monday() *EveryTrigger { return c.On(time.Monday) }

// Tuesday is each Tuesday.
func (c *Count) Tuesday() *EveryTrigger { return c.On(time.Tuesday) }

// Wednesday is each Wednesday.
func (c *Count) Wednesday() *EveryTrigger { return c.On(time.Wednesday) }

// Thursday is each Thursday.
func (c *Count) Thursday() *EveryTrigger { return c.On(time.Thursday) }

// Friday is each Friday.
func (c *Count) Friday() *EveryTrigger { return c.On(time.Friday) }

// Saturday is each Saturday.
func (c *Count) Saturday() *EveryTrigger { return c.On(time.Saturday) }

// Sunday is each Sunday.
func (c *Count) Sunday() *EveryTrigger { return c.On(time.Sunday) }

// On is each of some weekdays, at 00:00 without At.
func (c *Count) On(days ...time.Weekday) *EveryTrigger {
	text := ""
	for i, day := range days {
		if i > 0 {
			text += ", "
		}
		if day < time.Sunday || day > time.Saturday {
			return broken("", "there is no weekday of number "+strconv.Itoa(int(day)))
		}
		text += weekdayNames[day]
	}
	if text == "" {
		return broken("", "no weekday is given")
	}
	return c.of(text)
}

// Month is each month, on these days of it, 1-31, at 00:00 without At; 0 stands for the last day. Months that lack a day are passed over.
func (c *Count) Month(days ...int) *EveryTrigger {
	if len(days) == 0 {
		return broken("", "no day of the month is given")
	}
	text := "month on the "
	for i, day := range days {
		if i > 0 {
			text += ", "
		}
		if day == 0 {
			text += "last day"
		} else {
			text += ordinal(day)
		}
	}
	return c.of(text)
}

// Year is a date of each year, at 00:00 without At. Years that lack it, as most do 29 February, are passed over.
func (c *Count) Year(month time.Month, day int) *EveryTrigger {
	if month < time.January || month > time.December {
		return broken("", "there is no month of number "+strconv.Itoa(int(month)))
	}
	return c.of("year on " + monthNames[month-1] + " " + strconv.Itoa(day))
}

// WeeksOn counts weeks of the calendar from a weekday, the first one from the day on that the trigger is bound or starts; at 00:00 without
// At. Every(1) of them is each such day.
func (c *Count) WeeksOn(day time.Weekday) *EveryTrigger {
	if day < time.Sunday || day > time.Saturday {
		return broken("", "there is no weekday of number "+strconv.Itoa(int(day)))
	}
	return c.of("weeks on " + weekdayNames[day])
}

// of reads the words so far.
func (c *Count) of(unit string) *EveryTrigger {
	text := "every "
	if c.n != 1 || c.to != 0 {
		text += strconv.Itoa(c.n) + " "
	}
	if c.to != 0 {
		text += "to " + strconv.Itoa(c.to) + " "
	}
	return fromWords(text + unit)
}

// fromWords is Words that leaves what is wrong for Bind to tell.
func fromWords(text string) *EveryTrigger {
	s, until, err := readWords(text)
	if err != nil {
		return broken(text, err.Error())
	}
	return newEvery(s, until, EveryOptions{})
}

func broken(text, message string) *EveryTrigger {
	return &EveryTrigger{anchor: none, term: term{edge{micros: none}, edge{micros: none}}, fault: ruqi.Invalid("/text", text, "every: %s", message)}
}

// At gives the times of day, HH:MM or HH:MM:SS, or 9am; for Every(1).Hour() it is :MM or :MM:SS, for Every(1).Minute() :SS. It takes the place
// of those given before.
func (t *EveryTrigger) At(times ...string) *EveryTrigger {
	if t.fault != nil {
		return t
	}
	// The words before their times: those that a weekday has are its 00:00.
	text := t.saying.untimed()
	for i, at := range times {
		if i == 0 {
			text += " at " + at
		} else {
			text += ", " + at
		}
	}
	s, until, err := readWords(text)
	switch {
	case err != nil:
		return broken(text, err.Error())
	case until != "":
		return broken(text, "the time of day is not one")
	}
	return t.with(func(o *EveryOptions) {}, s)
}

// Until gives the end, inclusive: "2030-01-01 10:00", or "2030-01-01", which means all of that day where the words name a time of day and
// 00:00 where they name a length of time.
func (t *EveryTrigger) Until(text string) *EveryTrigger {
	return t.with(func(o *EveryOptions) { o.End, o.EndText = nil, text }, t.saying)
}

// UntilTime gives the end as an instant, inclusive.
func (t *EveryTrigger) UntilTime(end time.Time) *EveryTrigger {
	return t.with(func(o *EveryOptions) { o.End, o.EndText = &end, "" }, t.saying)
}

// From gives the start, inclusive: "2026-03-01 10:00", or "2026-03-01". What counts from an anchor counts from there.
func (t *EveryTrigger) From(text string) *EveryTrigger {
	return t.with(func(o *EveryOptions) { o.Start, o.StartText = nil, text }, t.saying)
}

// In gives the zone.
func (t *EveryTrigger) In(zone *time.Location) *EveryTrigger {
	return t.with(func(o *EveryOptions) { o.Zone = zone }, t.saying)
}

// OnClockChange says what becomes of a time of day that a clock change leaves out or brings twice; an empty one is the default.
func (t *EveryTrigger) OnClockChange(gap Gap, fold Fold) *EveryTrigger {
	return t.with(func(o *EveryOptions) { o.Gap, o.Fold = gap, fold }, t.saying)
}

// with returns the trigger with other options or words. A fault stays.
func (t *EveryTrigger) with(change func(*EveryOptions), s saying) *EveryTrigger {
	if t.fault != nil {
		return t
	}
	o := EveryOptions{Gap: t.gap, Fold: t.fold}
	if t.zone != nil {
		o.Zone = t.zone.loc
	}
	o.Start, o.StartText = t.term.start.given()
	o.End, o.EndText = t.term.end.given()
	change(&o)
	s.secs = slices.Clone(s.secs)
	changed := newEvery(s, "", o)
	if changed.fault == nil && s.form.anchored() && changed.term.start.kind == edgeNone {
		changed.anchor, changed.seed = t.anchor, t.seed
		changed.wind()
	}
	return changed
}

// given returns an edge as it can be given again.
func (e edge) given() (*time.Time, string) {
	switch e.kind {
	case edgeNone:
		return nil, ""
	case edgeInstant:
		at := time.UnixMicro(e.micros).UTC()
		return &at, ""
	}
	return nil, e.text(nil)
}
