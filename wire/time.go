package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// Zone returns the zone in which the trigger's times are shown: its own where it has one, else UTC.
func Zone(trigger ruqi.Trigger) *time.Location {
	if bound, ok := trigger.(ruqi.Bound); ok {
		if zone, _ := bound.Binding(); zone != nil {
			return zone
		}
	}
	return time.UTC
}

// In returns t as shown in the zone. RFC 3339 has offsets of whole minutes; where a zone's has seconds, as
// local mean times before 1900 do, the same instant is shown in UTC.
func In(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	if _, offset := t.Zone(); offset%60 != 0 {
		return t.UTC()
	}
	return t
}

// FormatTime writes an instant as it is shown in the zone: RFC 3339 with an offset, "Z" for UTC.
func FormatTime(t time.Time, zone *time.Location) string {
	return In(t, zone).Format(time.RFC3339Nano)
}

// ParseTime reads RFC 3339 with an offset. A time without one is refused: it would
// be read differently by whoever sits in another zone.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339 with an offset, such as %s", text, withOffset(text))
	}
	return t, nil
}

// withOffset is an example of a time with an offset: the text's own, where nothing but the offset, or the time of day, is missing.
func withOffset(text string) string {
	for _, layout := range [...]string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			utc := t.Format(time.RFC3339Nano)
			return utc + " in UTC, or " + strings.TrimSuffix(utc, "Z") + "+01:00 where clocks are an hour ahead"
		}
	}
	return "2026-12-01T02:30:00+01:00"
}

func inZone(t *time.Time, zone *time.Location) *time.Time {
	if t == nil {
		return nil
	}
	shown := In(*t, zone)
	return &shown
}

func inUTC(t *time.Time) *time.Time { return inZone(t, time.UTC) }
