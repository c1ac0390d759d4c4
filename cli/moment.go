package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
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
	if err != nil && beyondRange(text) {
		return "", fmt.Errorf("%q is out of range, times are from 0001-01-02 to 9999-12-30, UTC", text)
	} else if err != nil {
		return "", fmt.Errorf("%q is no time; %s%s", text, momentForms, nearMoment(text))
	}
	word := strings.ToLower(strings.TrimSpace(text))
	if at, ok := parsed.Next(time.Time{}); ok && (word == "now" || strings.HasPrefix(word, "in ")) {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	return text, nil
}

// beyondRange reports whether a text that is no time begins with a date that no trigger fires on.
func beyondRange(text string) bool {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))])
	}
	return err == nil && (at.Before(time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)) || !at.Before(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)))
}

var wholeDate = regexp.MustCompile(`^(\d{4})-(0[1-9]|1[0-2])-(\d\d)\b`)

// nearMoment says what a text that is no time was probably meant to be, or why it is none; empty where neither is plain.
func nearMoment(text string) string {
	right := twoDigits(strings.ReplaceAll(text, "/", "-"))
	if parsed := wholeDate.FindStringSubmatch(right); parsed != nil {
		first, err := time.Parse("2006-01", parsed[1]+"-"+parsed[2])
		days := first.AddDate(0, 1, -1).Day()
		if day, _ := strconv.Atoi(parsed[3]); err == nil && day > days {
			if first.Month() == time.February {
				return fmt.Sprintf("; %s has %d days", first.Format("January 2006"), days)
			}
			return fmt.Sprintf("; %s has %d days", first.Month(), days)
		}
	}
	if _, err := trigger.Parse("date", right, trigger.ParseOptions{Zone: "UTC"}); err != nil || right == text {
		return ""
	}
	if strings.Contains(right, " ") {
		right = strconv.Quote(right)
	}
	return "; write " + right
}

// twoDigits puts a zero in front of numbers of one digit, but for those behind a point.
func twoDigits(text string) string {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	var b strings.Builder
	for i := range len(text) {
		if digit(i) && !digit(i-1) && !digit(i+1) && (i == 0 || text[i-1] != '.') {
			b.WriteByte('0')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
