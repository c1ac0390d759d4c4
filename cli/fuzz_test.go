package cli

import (
	"errors"
	"testing"

	"github.com/ruqi-dev/ruqi/standard"
)

func FuzzJobFile(f *testing.F) {
	for _, text := range []string{
		"id: x\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: x}\n", "---\n", "- 1\n", "a: &b c\nd: *b\n",
		"a: |\n  b\n  c\n", "? a\n: b\n", "a: {b: [1, 2.5, true, null]}\n---\nb: 1\n", "<<: {a: 1}\n", "a: !!str 1\n", "\t", "a: \"\\x\"", "{", "id: [x",
	} {
		f.Add([]byte(text))
	}
	registry := standard.Registry(standard.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := parseJobFile("jobs.yaml", data)
		var wrong *usageError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%T is no wrong usage: %v", err, err)
		}
		for _, d := range documents {
			for _, err := range d.check(registry) {
				if !errors.As(err, &wrong) {
					t.Fatalf("%T is no wrong usage: %v", err, err)
				}
			}
			_ = d.at("/policy/timeout")
		}
	})
}

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
