package sqlstore

import (
	"fmt"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

// LateNote returns the reason of a run with a late result noted at its end, or false when it says so already.
func LateNote(reason string, owner ruqi.Owner, state ruqi.RunState) (string, bool) {
	text := fmt.Sprintf("late word of %s (epoch %d): %s", owner.Instance, owner.Epoch, state)
	switch {
	case strings.HasSuffix(reason, text):
		return reason, false
	case reason == "":
		return text, true
	}
	return reason + "; " + text, true
}
