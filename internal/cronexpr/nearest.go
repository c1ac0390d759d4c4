package cronexpr

import (
	"slices"
	"strings"
)

// cut shortens a text for a message.
func cut(text string) string {
	if len(text) > mostRead {
		return head(text) + "…"
	}
	return text
}

// fullNames are what the names of three letters are short for.
var fullNames = [...]string{
	"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "january", "february", "march", "april", "may", "june",
	"july", "august", "september", "october", "november", "december",
}

// nearest returns the name that a longer or a mistyped word most likely means.
func (f *field) nearest(text string) string { return nearest(f.names, text) }

func nearest(names []string, text string) string {
	const longest = 12 // letters: "wednesday" with some too many
	if len(text) < 2 || len(text) > longest {
		return ""
	}
	text = strings.ToLower(text)
	for _, name := range names {
		if more, ok := strings.CutPrefix(strings.TrimSuffix(text, "."), name); ok {
			if slices.Contains(names, more) || strings.Trim(more, "abcdefghijklmnopqrstuvwxyz") != "" {
				return "" // mon..fri
			}
			return name
		}
	}
	// One slip of the hand, if only one name is that near; two in a full name. Of several the one that begins alike is meant.
	found, least, alone := "", 3, false
	for _, name := range names {
		for _, right := range [...]string{name, full(name)} {
			d := 2 * distance(right, text)
			if right[0] == text[0] {
				d--
			} else if len(right) == 3 {
				continue // lun is Monday to some, and lug July
			}
			most := 2
			if len(right) > 5 {
				most = 4
			}
			if d > most {
				continue
			}
			switch {
			case found == "" || d < least:
				found, least, alone = name, d, true
			case d == least && found != name:
				alone = false
			}
		}
	}
	if !alone {
		return ""
	}
	return found
}

// full returns the full name of a short one.
func full(name string) string {
	for _, long := range fullNames {
		if strings.HasPrefix(long, name) {
			return long
		}
	}
	return name
}

// distance counts how many letters must be put in, taken out, replaced or swapped
// with the next to get from one text to the other; 99 where their lengths say that it is more than two, or one is longer than any name.
func distance(a, b string) int {
	const far, longest = 99, 16
	if len(a) > longest || len(b) > longest || max(len(a)-len(b), len(b)-len(a)) > 2 {
		return far
	}
	var rows [3][longest + 1]int
	before, last, row := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
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
