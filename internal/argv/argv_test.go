package argv_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/argv"
)

func TestWordsAreThoseOfAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"":                           nil,
		" \t\n":                      nil,
		"python a.py":                {"python", "a.py"},
		"  python \t a.py \r\n":      {"python", "a.py"},
		`a 'b c' "d e" f\ g`:         {"a", "b c", "d e", "f g"},
		`a''b"" '' ""`:               {"ab", "", ""},
		`--x="1 2"'3'\4`:             {"--x=1 234"},
		`'a"b' "a'b" \"\'`:           {`a"b`, "a'b", `"'`},
		`'\' "\\" "\"" "\$" "\a"`:    {`\`, `\`, `"`, "$", `\a`},
		"a\\\nb \"c\\\nd\" 'e\nf'":   {"ab", "cd", "e\nf"},
		`a\ `:                        {"a "},
		"名 '字 符'":                    {"名", "字 符"},
		"a" + strings.Repeat(" ", 9): {"a"},
	} {
		if got, err := argv.Split(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q gives %q, %v, want %q", text, got, err, want)
		}
	}
}

// What means something to a shell means nothing here.
func TestNothingIsExpanded(t *testing.T) {
	for _, word := range []string{"$HOME", "${HOME}", "$(id)", "`id`", "*", "~", "a;b", "|", "&&", ">", "</dev/null", "#", "{a,b}", "!", "A=1", "$'x'"} {
		want := []string{"x", strings.ReplaceAll(word, "'", ""), "y"}
		if got, err := argv.Split("x " + word + " y"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q gives %q, %v", word, got, err)
		}
	}
}

func TestWhatIsNoCommandIsRefused(t *testing.T) {
	for text, want := range map[string]error{
		`a 'b`: argv.ErrQuote, `a "b`: argv.ErrQuote, `a "b\"`: argv.ErrQuote, `a \`: argv.ErrBackslash, `"a\`: argv.ErrQuote,
		"a\nb": argv.ErrLine, "a\rb": argv.ErrLine, "bash a.sh\nrm -rf x": argv.ErrLine,
	} {
		if got, err := argv.Split(text); !errors.Is(err, want) {
			t.Errorf("%q gives %q, %v, want %v", text, got, err, want)
		}
	}
}

// FuzzSplit tries that no text panics, that words which Quote wrote are read back, and that a text without what a shell
// gives a meaning to is split as a shell splits it.
func FuzzSplit(f *testing.F) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{``, `a 'b c' "d\"e" f\ g`, `a\`, `'`, "a\nb", `"\$x" '' `, "名 \\名", `a\ `, "\\\n", "a\\ \n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := argv.Split(text)
		if err != nil {
			if words != nil {
				t.Fatalf("%q gives words and %v", text, err)
			}
			return
		}
		quoted := make([]string, len(words))
		for i, word := range words {
			quoted[i] = argv.Quote(word)
		}
		again, err := argv.Split(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(again, words) {
			t.Fatalf("%q gives %q, which is read back as %q, %v", text, words, again, err)
		}
		if len(text) > 200 || strings.Trim(text, "abc='\" \\") != "" {
			return
		}
		// Only letters, quotes, blanks and backslashes are left: a shell sees the same words in it.
		out, err := exec.CommandContext(t.Context(), shell, "-c", `set -f; printf '%s\n' x `+text+` y`).Output()
		if err != nil {
			t.Fatalf("the shell fails at %q: %v", text, err)
		}
		if want := "x\n" + strings.Join(append(slices.Clone(words), "y\n"), "\n"); string(out) != want {
			t.Fatalf("%q gives %q, a shell says %q", text, words, out)
		}
	})
}
