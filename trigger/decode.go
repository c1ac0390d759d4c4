package trigger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// number returns a member that is a whole number, 0 when it is left out; wrong stands for one that cannot be read, which is reported.
func (d *decoder) number(name string, wrong int) int {
	if !d.Has(name) {
		d.Int(name)
		return 0
	}
	n, ok := d.Int(name)
	switch {
	case !ok:
		return wrong
	case n > math.MaxInt32 || n < math.MinInt32:
		d.faults.Add("/"+name, strconv.FormatInt(n, 10), "%d is out of range", n)
		return wrong
	}
	return int(n)
}

// calendarMembers are those of a calendar trigger.
var calendarMembers = []string{"kind", "years", "months", "weeks", "days", "hour", "minute", "second", "anchor", "zone", "gap", "fold", "start", "end"}

// misspelled reports the unknown members that are near a known one, with its name. It returns whether one of them was probably meant to be
// one of some.
func (d *decoder) misspelled(known []string, some ...string) (one bool) {
	for _, name := range d.Unknown(known...) {
		lower := strings.ToLower(name)
		near := nearest(lower, known)
		if slices.Contains(known, lower) {
			near = lower
		}
		if near == "" {
			continue
		}
		value, _ := d.Raw(name)
		where := ""
		if lower == "day" || lower == "month" || lower == "year" {
			where = fmt.Sprintf(" for the step; the %s of the first date is that of start", lower)
		}
		d.faults.Add(object.Pointer(name), string(value), "unknown member; write %s%s", near, where)
		one = one || slices.Contains(some, near)
	}
	return one
}

// anchor returns the member anchor in microseconds, or none. A trigger that has started has no anchor.
func (d *decoder) anchor(started bool) int64 {
	text := d.text("anchor")
	if text == "" {
		return none
	}
	m, err := parseMoment(text)
	switch {
	case err == nil && !m.zoned || errors.Is(err, errNoDate):
		d.faults.Add("/anchor", text, "%q is not an instant such as 2026-03-01T10:00:00+01:00", clip(text))
	case err != nil:
		d.faults.Add("/anchor", text, "%q %v", clip(text), err)
	case started:
		d.faults.Add("/anchor", text, "a trigger with a start is anchored there")
	default:
		return (m.wall-m.offset)*microsecond + m.micros
	}
	return none
}
