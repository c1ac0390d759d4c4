// Package text cuts what people wrote or programs said to a size that can be kept.
package text

import (
	"strings"
	"unicode/utf8"
)

// Cut returns at most most bytes of s, whole characters only, with "…" at the end where
// something is missing. NUL and bytes that are not UTF-8 become U+FFFD, since no database takes
// them as text.
func Cut(s string, most int) string {
	clean := strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(clean) <= most {
		return clean
	}
	const mark = "…"
	end := max(most-len(mark), 0)
	for end > 0 && !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end] + mark
}

// List writes words as a sentence has them: "a, b, c".
func List[W ~string](words []W) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
