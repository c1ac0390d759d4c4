package sqlstore

import (
	"strconv"

	"github.com/ruqi-dev/ruqi"
)

// BadOnly reports whether all states are ends of runs that were executed and did not succeed: those of an index of their own.
func BadOnly(states []ruqi.RunState) bool {
	for _, state := range states {
		if !state.Ended() || !state.Started() || state == ruqi.RunSucceeded {
			return false
		}
	}
	return len(states) > 0
}

// CheckOffset refuses an offset that is none, or that stands beside a cursor, with an *ruqi.InvalidError for "/offset".
func CheckOffset(offset int, cursor string) error {
	switch {
	case offset < 0:
		return ruqi.Invalid("/offset", strconv.Itoa(offset), "negative")
	case offset > ruqi.MaxOffset:
		return ruqi.Invalid("/offset", strconv.Itoa(offset), "more than %d", ruqi.MaxOffset)
	case offset > 0 && cursor != "":
		return ruqi.Invalid("/offset", strconv.Itoa(offset), "stands beside a cursor; give one of them")
	}
	return nil
}
