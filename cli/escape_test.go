package cli

import "testing"

func TestTextsAreHarmlessOnATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain":           "plain",
		`"night" o'clock`: `"night" o'clock`,
		"отчёт-日次-🙂":      "отчёт-日次-🙂",
		"a\x1b[31mred":    `a\x1b[31mred`,
		"a\nb\tc\r":       `a\nb\tc\r`,
		"a\u202eb\u200f":  `a\u202eb\u200f`,
		"a\xffb":          `a\xffb`,
		"\u009b31m":       `\u009b31m`,
	} {
		if got := escape(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]int{"abc": 3, "日次": 4, "🙂": 2, "e\u0301": 1, "отчёт": 5} {
		if got := width(text); got != want {
			t.Errorf("%q is %d wide, want %d", text, got, want)
		}
	}
}
