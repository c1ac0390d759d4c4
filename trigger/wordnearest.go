package trigger

import "github.com/ruqi-dev/ruqi/internal/object"

// nearest returns the word of a list that a wrong one was probably meant to be, or nothing.
func nearest(wrong string, known []string) string {
	if _, ok := adverbs[wrong]; ok {
		return "" // weekly is not weekday
	}
	return object.Nearest(wrong, known)
}
