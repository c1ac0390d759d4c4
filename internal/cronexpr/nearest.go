package cronexpr

import "strings"

// cut shortens a text for a message.
func cut(text string) string {
	if len(text) > mostRead {
		return text[:mostRead] + "…"
	}
	return text
}

// nearest returns the name that a longer or a mistyped word most likely means.
func (f *field) nearest(text string) string { return nearest(f.names, text) }

func nearest(names []string, text string) string {
	if len(text) < 2 || len(text) > 9 {
		return ""
	}
	text = strings.ToLower(text)
	for _, name := range names {
		if strings.HasPrefix(text, name) {
			return name
		}
	}
	// One slip of the hand, if only one name is that near.
	found := ""
	for _, name := range names {
		if distance(name, text) == 1 {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// distance counts how many letters must be put in, taken out, replaced or swapped
// with the next to get from one text to the other.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
