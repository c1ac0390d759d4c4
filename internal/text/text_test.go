package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi/internal/text"
)

func TestCut(t *testing.T) {
	cases := []struct {
		in   string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"longer than it may be", 10, "longer …"},
		{"日次日次", 9, "日次…"},
		{"日次日次", 10, "日次…"},
		{"a\x00b\xffc", 20, "a\uFFFDb\uFFFDc"},
		{"", 3, ""},
		{"abc", 0, "…"},
	}
	for _, c := range cases {
		if got := text.Cut(c.in, c.most); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日次\x00\xff", 5)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 3 || most > 1000 {
			return
		}
		got := text.Cut(s, most)
		if len(got) > most || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("Cut(%q, %d) = %q", s, most, got)
		}
	})
}

func TestList(t *testing.T) {
	type word string
	for want, words := range map[string][]word{"": nil, "a": {"a"}, "a, b c, d": {"a", "b c", "d"}} {
		if got := text.List(words); got != want {
			t.Errorf("%q is written %q, want %q", words, got, want)
		}
	}
}
