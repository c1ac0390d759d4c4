package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestThePageOnTriggersShowsWhatCommandsSay does the commands of docs/triggers.md and holds the answers against those shown.
func TestThePageOnTriggersShowsWhatCommandsSay(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "triggers.md"))
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	inside, asked, want := false, "", ""
	check := func() {
		if asked == "" {
			return
		}
		words := shellWords(asked)
		got := run(t, nil, "", words...)
		status, refusal := 0, ""
		if strings.HasPrefix(want, "ruqi: ") {
			status, refusal, want = 2, want, ""
		}
		if got.status != status || got.out != want || got.errors != refusal {
			t.Errorf("%s: exit %d\n%s%s\nthe page shows\n%s", asked, got.status, got.out, got.errors, want)
		}
		done[words[0]]++
		asked, want = "", ""
	}
	for line := range strings.Lines(string(page)) {
		command, isCommand := strings.CutPrefix(line, "$ ruqi ")
		switch {
		case strings.HasPrefix(line, "```"):
			check()
			inside = line == "```console\n"
		case inside && isCommand:
			check()
			asked = strings.TrimSpace(command)
		case inside:
			want += line
		}
	}
	for _, name := range []string{"next", "describe", "explain"} {
		if done[name] < 2 {
			t.Errorf("the page has %d examples of ruqi %s", done[name], name)
		}
	}
}

// shellWords splits at blanks that are not in single quotes, and takes the quotes off.
func shellWords(text string) []string {
	var words []string
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestShellWords(t *testing.T) {
	if got := shellWords("next --tz UTC '0 9 * * *' -n 1"); !slices.Equal(got, []string{"next", "--tz", "UTC", "0 9 * * *", "-n", "1"}) {
		t.Errorf("got %q", got)
	}
}
