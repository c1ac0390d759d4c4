package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// momentForms are examples of what is read as a time, the same everywhere.
const momentForms = `accepted are 2026-12-01, "2026-12-01 09:30", 2026-12-01T09:30:00+01:00, now and "in 5 minutes"`

// readMoment reads a time as a user types it. One without an offset is read in the zone.
func readMoment(text string, zone *time.Location, now time.Time) (time.Time, error) {
	if _, err := fixMoment(text, now); err != nil {
		return time.Time{}, err
	}
	parsed, err := trigger.Parse("date", text, trigger.ParseOptions{Zone: zone.String(), Now: now})
	if err != nil {
		var invalid *ruqi.InvalidError
		if errors.As(err, &invalid) { // whoever asked has another name for it than the trigger
			err = errors.New(strings.TrimPrefix(invalid.Faults[0].Message, "date: "))
		}
		return time.Time{}, err
	}
	at, ok := parsed.Next(time.Time{})
	if !ok {
		return time.Time{}, fmt.Errorf("%q is no time; %s", text, momentForms)
	}
	return at, nil
}

// fixMoment checks the form of a time and returns it with "now" and "in 5 minutes" turned into the instant
// they mean at that moment. A time without an offset stays so: its zone may be known to the service alone.
func fixMoment(text string, now time.Time) (string, error) {
	// No wall time is left out in UTC, so that only the form can be wrong.
	parsed, err := trigger.Parse("date", text, trigger.ParseOptions{Zone: "UTC", Now: now})
	if err != nil {
		return "", fmt.Errorf("%q is no time; %s", text, momentForms)
	}
	word := strings.ToLower(strings.TrimSpace(text))
	if at, ok := parsed.Next(time.Time{}); ok && (word == "now" || strings.HasPrefix(word, "in ")) {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	return text, nil
}
