package object

import "strings"

// DidYouMean asks for the name of a closed list that a wrong one was probably meant to be, to be put behind a message:
// `; did you mean "skip"?`. It is empty where none is near.
func DidYouMean[A, B ~string](wrong A, known ...B) string {
	lower := strings.ToLower(string(wrong))
	names := make([]string, len(known))
	for i, name := range known {
		if names[i] = strings.ToLower(string(name)); names[i] == lower && string(name) != string(wrong) {
			return `; did you mean "` + string(name) + `"?`
		}
	}
	near := Nearest(lower, names)
	for i, name := range names {
		if name == near && near != "" {
			return `; did you mean "` + string(known[i]) + `"?`
		}
	}
	if begun := strings.IndexFunc(lower, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 && len(lower) >= 3; begun { // cancel is cancel_running
		at := -1
		for i, name := range names {
			if strings.HasPrefix(name, lower+"_") {
				if at >= 0 {
					return ""
				}
				at = i
			}
		}
		if at >= 0 {
			return `; did you mean "` + string(known[at]) + `"?`
		}
	}
	return ""
}

// Nearest returns the word of a list that a wrong one was probably meant to be, or nothing. All are in lower case.
func Nearest(wrong string, known []string) string {
	best, found := 6, ""
	if wrong == "" {
		return ""
	}
	for _, right := range known {
		d := distance(wrong, right)
		// Two slips are too many in a short word.
		if d == 0 || d > min(2, (len(right)+1)/3) {
			continue
		}
		// The first letter is seldom the wrong one: munday is monday, not sunday.
		if d *= 2; wrong[0] != right[0] {
			d++
		}
		if d < best {
			best, found = d, right
		}
	}
	return found
}

// distance returns how many letters must be put in, left out, changed or swapped with their neighbour; lengths that differ by more than two
// count as far, and so does a word that is longer than any name.
func distance(a, b string) int {
	const far, longest = 99, 32
	if len(a) > longest || len(b) > longest || max(len(a)-len(b), len(b)-len(a)) > 2 {
		return far
	}
	var rows [3][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
