package postgrestest_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

func TestTheNewestProgramsAreFound(t *testing.T) {
	root := t.TempDir()
	plant := func(folder string, mode os.FileMode, programs ...string) {
		t.Helper()
		dir := filepath.Join(root, folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			if err := os.WriteFile(filepath.Join(dir, p), nil, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	plant("lib/9.6/bin", 0o755, "initdb", "postgres")
	plant("lib/15/bin", 0o755, "initdb", "postgres")
	plant("lib/16/bin", 0o755, "psql", "postgres") // a part of it
	plant("lib/17/bin", 0o644, "initdb", "postgres")
	plant("lib/18/bin", 0o755, "psql") // the client alone
	plant("path", 0o755, "initdb", "postgres")
	plant("client", 0o755, "psql")
	place := []string{filepath.Join(root, "none/*/bin"), filepath.Join(root, "lib/*/bin")}
	list := func(folders ...string) (path string) {
		for _, f := range folders {
			path += string(filepath.ListSeparator) + filepath.Join(root, f)
		}
		return path[1:]
	}
	for _, c := range []struct {
		title, path string
		places      []string
		want        string // empty: none
	}{
		{"the newest of a place, by number", list("client"), place, "lib/15/bin"},
		{"PATH comes first", list("client", "path"), place, "path"},
		{"a folder without them", list("client"), nil, ""},
		{"no folder at all", list("nowhere"), []string{filepath.Join(root, "none/*/bin")}, ""},
	} {
		t.Run(c.title, func(t *testing.T) {
			got, err := postgrestest.FindBin(c.path, c.places)
			if c.want == "" {
				if err == nil {
					t.Errorf("found %s", got)
				}
				return
			}
			if err != nil || got != filepath.Join(root, c.want) {
				t.Errorf("found %q (%v), want %s", got, errors.Unwrap(err), c.want)
			}
		})
	}
}

// TestTheScriptLooksWhereTestsDo: what scripts/postgres takes for installed, the tests must find.
func TestTheScriptLooksWhereTestsDo(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "scripts", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	loop, _, _ := strings.Cut(string(text), "; do")
	_, loop, _ = strings.Cut(loop, "for dir in")
	words := strings.Fields(strings.ReplaceAll(loop, "\\", " "))
	if want := append([]string{`"${path[@]}"`}, postgrestest.Places...); !slices.Equal(words, want) {
		t.Errorf("scripts/postgres looks in %q, the tests in %q", words, want)
	}
}
