package cli

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A wallTime is a time without an offset, as a clock on the wall shows it.
type wallTime struct {
	shown time.Time // its date and time, in UTC
	zone  *time.Location
	// instants are those at which the zone's clock shows it, in order: one as a rule, two where the clock is set back, none where it
	// is set forward.
	instants []time.Time
	// change is the clock change that leaves it out.
	change clockChange
}

// A clockChange is one by which a zone's clock is set forward or back.
type clockChange struct {
	at            time.Time
	before, after int // offsets from UTC in seconds
}

// from and to are what the clock shows before and after a change.
func (c clockChange) from() time.Time { return c.at.UTC().Add(time.Duration(c.before) * time.Second) }
func (c clockChange) to() time.Time   { return c.at.UTC().Add(time.Duration(c.after) * time.Second) }

// correction: a jump of more than three hours is none that times are moved over (package trigger says so).
func (c clockChange) correction() bool { return c.after-c.before > 3*60*60 }

// readWall reads a time as readMoment does, where it is one without an offset. ok is false for one that means an instant wherever it
// is read, and for what cannot be read.
func readWall(text string, zone *time.Location, now time.Time) (w wallTime, ok bool) {
	read := func(zone string) (time.Time, bool) {
		parsed, err := trigger.Parse("date", text, trigger.ParseOptions{Zone: zone, Now: now})
		if err != nil {
			return time.Time{}, false
		}
		return parsed.Next(time.Time{})
	}
	shown, ok := read("UTC")
	elsewhere, also := read("Etc/GMT-1") // an hour before UTC, all year
	if !ok || !also || shown.Equal(elsewhere) {
		return wallTime{}, false
	}
	return findWall(shown.UTC(), zone), true
}

// findWall finds the instants at which a zone's clock shows a time.
func findWall(shown time.Time, zone *time.Location) wallTime {
	w := wallTime{shown: shown, zone: zone}
	const around = 48 * time.Hour // offsets are less than a day either side of UTC
	for at := shown.Add(-around); ; {
		_, end := at.In(zone).ZoneBounds()
		_, before := at.In(zone).Zone()
		if instant := shown.Add(-time.Duration(before) * time.Second); !instant.Before(at) && (end.IsZero() || instant.Before(end)) {
			w.instants = append(w.instants, instant.In(zone))
		}
		if end.IsZero() || end.After(shown.Add(around)) {
			return w
		}
		_, after := end.In(zone).Zone()
		if c := (clockChange{end, before, after}); !shown.Before(c.from()) && shown.Before(c.to()) {
			w.change = c
		}
		at = end
	}
}

func (w wallTime) missing() bool { return len(w.instants) == 0 }

// says tells that the wall time does not exist, and why.
func (w wallTime) says(in ruqi.Language) string {
	form := time.TimeOnly
	if w.change.correction() {
		form = time.DateTime
	}
	from, to := w.change.from().Format(form), w.change.to().Format(form)
	if in == ruqi.Chinese {
		return fmt.Sprintf("%s 在 %s 不存在：当天时钟从 %s 拨到 %s", w.shown.Format(time.DateTime), w.zone, from, to)
	}
	return fmt.Sprintf("%s does not exist in %s: on that day the clock goes from %s to %s", w.shown.Format(time.DateTime), w.zone, from, to)
}

// ruling says what a trigger does about a wall time that does not exist.
func (w wallTime) ruling(t ruqi.Trigger, in ruqi.Language) string {
	say := func(english, chinese string, at time.Time) string {
		if in == ruqi.Chinese {
			english = chinese
		}
		if at.IsZero() {
			return english
		}
		return english + at.In(w.zone).Format(time.RFC3339)
	}
	gap := trigger.LeftOut{Wall: w.shown, Change: w.change.at}
	shifted := w.shown.Add(-time.Duration(w.change.before) * time.Second) // by as much as the clock was
	switch {
	case !gap.Asks(t):
		return say("it does not ask for that time", "它不要求这个时间", time.Time{})
	case w.change.correction():
		return say("it asks for that time, and passes it over: so long a jump is a correction of the clock", "它要求这个时间，但略过：如此大的跳变是对时钟的更正", time.Time{})
	case gap.MakesGood(t, w.change.at):
		return say("it asks for that time, and fires at the first instant after the gap: ", "它要求这个时间，改在间隙后的第一个时刻触发：", w.change.at)
	case gap.MakesGood(t, shifted):
		return say("it asks for that time, and fires as much later as the clock is set forward: ", "它要求这个时间，按时钟拨快的幅度推迟触发：", shifted)
	}
	return say("it asks for that time, and passes it over", "它要求这个时间，但略过", time.Time{})
}
