// Package duration reads and writes lengths of time as users write them: "90s",
// "1h30m", "2d". A day is 24 hours, a week 7 days.
package duration

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Day and Week are elapsed time, not calendar units.
const (
	Day  = 24 * time.Hour
	Week = 7 * Day
)

// ErrSyntax is returned for a text that is no duration.
var ErrSyntax = errors.New("not a duration")

var units = map[string]time.Duration{
	"us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": Day, "w": Week,
}

// Parse reads a sum of numbers with units: us, ms, s, m, h, d, w, the larger ones
// first or not, a fraction allowed ("1.5h"). "0" needs no unit. Signs, blanks and
// more than 292 years are refused.
func Parse(text string) (time.Duration, error) {
	d, err := parse(text)
	if errors.Is(err, errUnit) {
		err = fmt.Errorf("%w%s", err, meant(text))
	}
	return d, err
}

// errUnit: what stands there are no numbers with units.
var errUnit = fmt.Errorf("%w", ErrSyntax)

func parse(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	rest := text
	var total time.Duration
	for rest != "" {
		n := 0
		for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		u := n
		for u < len(rest) && (rest[u] < '0' || rest[u] > '9') && rest[u] != '.' {
			u++
		}
		unit, known := units[rest[n:u]]
		value, err := strconv.ParseFloat(rest[:n], 64)
		if n == 0 || !known || err != nil {
			return 0, fmt.Errorf("%w: %q; accepted are numbers with a unit us, ms, s, m, h, d or w, such as 90s or 1h30m", errUnit, text)
		}
		part, err := times(rest[:n], value, unit)
		if err != nil || total > math.MaxInt64-part {
			return 0, fmt.Errorf("%w: %q is more than 292 years", ErrSyntax, text)
		}
		total += part
		rest = rest[u:]
	}
	if text == "" {
		return 0, fmt.Errorf("%w: empty text", ErrSyntax)
	}
	return total, nil
}

// spellings are words that people and other programs write for units.
var spellings = map[string]string{
	"":            "s", // a number alone: most programs count seconds
	"microsecond": "us", "usec": "us", "millisecond": "ms", "milli": "ms", "msec": "ms", "second": "s", "sec": "s", "minute": "m", "min": "m", "mn": "m", "hour": "h", "hr": "h",
	"day": "d", "week": "w", "wk": "w",
}

// longest is how much of a wrong text is read to guess what was meant; what says a length is shorter.
const longest = 64 // bytes

// meant asks for the spelling of a length that is written in other words, 10 min or PT1H30M, to be put behind a message; empty where it is
// not known to be one.
func meant(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if len(text) > longest {
		return ""
	}
	if iso, found := strings.CutPrefix(text, "p"); found { // ISO 8601: months stand before the T, minutes behind it
		days, clock, _ := strings.Cut(iso, "t")
		if strings.ContainsAny(days, "my") {
			return ""
		}
		text = days + clock
	}
	text = strings.NewReplacer(",", " ", " and ", " ").Replace(strings.TrimPrefix(text, "+"))
	var b strings.Builder
	rest := strings.TrimSpace(text)
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = strings.TrimLeft(rest[len(number):], " ")
		end := strings.IndexAny(rest, "0123456789. ")
		if end < 0 {
			end = len(rest)
		}
		unit := rest[:end]
		rest = strings.TrimLeft(rest[end:], " ")
		if _, known := units[unit]; !known {
			word := unit
			if len(word) > 2 {
				word = strings.TrimSuffix(word, "s")
			}
			if unit, known = spellings[word]; !known || word == "" && (rest != "" || b.Len() > 0) {
				return ""
			}
		}
		b.WriteString(number + unit)
	}
	if b.Len() == 0 {
		return ""
	}
	if _, err := parse(b.String()); err != nil {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", b.String())
}

// times multiplies without the rounding of floats where the number is whole.
func times(digits string, value float64, unit time.Duration) (time.Duration, error) {
	if !strings.Contains(digits, ".") {
		whole, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || whole > math.MaxInt64/int64(unit) {
			return 0, ErrSyntax
		}
		return time.Duration(whole) * unit, nil
	}
	product := value * float64(unit)
	if product >= math.MaxInt64 {
		return 0, ErrSyntax
	}
	return time.Duration(math.Round(product)), nil
}

// Format writes d so that Parse reads it back: days, hours, minutes, seconds and
// smaller whole units, those that are zero left out; "0s" for zero. Anything below a
// microsecond is cut; a negative d is written with a leading minus, which Parse refuses.
func Format(d time.Duration) string {
	if d < 0 {
		return "-" + Format(-d)
	}
	var b strings.Builder
	for _, u := range [...]struct {
		name string
		unit time.Duration
	}{{"d", Day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
