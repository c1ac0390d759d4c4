package trigger

import (
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// nearest returns the word of a list that a wrong one was probably meant to be, or nothing.
func nearest(wrong string, known []string) string {
	if _, ok := adverbs[wrong]; ok || slices.Contains(dayNow, wrong) || wrong == "never" || wrong == "yesterday" {
		return "" // weekly is not weekday, today not monday, never not every
	}
	if strings.ContainsAny(wrong, "0123456789") {
		return "" // 5minutes is not minutes
	}
	named := wordReader{rest: []word{{wrong, 1}}}
	if _, ok := named.month(); ok {
		return "" // may is not day
	}
	return object.Nearest(wrong, known)
}
