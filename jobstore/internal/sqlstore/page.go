package sqlstore

import (
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
