package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Word is a pattern that does not belong in the source.
type Word struct {
	Rule   string
	Words  *regexp.Regexp
	Source bool // only in program source, not in texts
	Reason string
}

// The patterns are spelled so that they do not find themselves.
var words = []Word{
	{"no-stub-words", regexp.MustCompile(`\b(TO[D]O|FI[X]ME|X[X]X)\b|not[ ]implemented`), true,
		"what is not done is not merged, and what is to come is kept elsewhere"},
	{"no-skipped-tests", regexp.MustCompile(`\b[tbf]\.Skip(f|Now)?[(]`), true,
		"a test that does not run tells nothing; a missing tool is installed or is a failure"},
	{"no-machine-paths", regexp.MustCompile(`/w[o]rk/|/t[m]p/bash|/f[a]rm/|/home/[a-z]+/go/`), false,
		"a path of one machine means nothing on another"},
	{"no-registry-hosts", regexp.MustCompile(`proxy\.g[o]lang|sum\.g[o]lang|registry\.n[p]mjs|deb\.d[e]bian`), false,
		"where packages come from is for the machine's settings to say"},
}

// lockFiles are written by package managers and name their hosts.
var lockFiles = []string{"go.sum", "package-lock.json"}

// CheckWords finds words that do not belong in the files of tree.
func CheckWords(tree fs.FS) ([]Violation, error) {
	var found []Violation
	err := walk(tree, func(name string) error {
		if slices.Contains(lockFiles, path.Base(name)) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			return nil // binary, by the test that git applies
		}
		source := slices.Contains([]string{".go", ".ts", ".tsx", ".js", ".sql"}, path.Ext(name))
		for _, w := range words {
			if w.Source && !source {
				continue
			}
			for _, at := range w.Words.FindAllIndex(text, -1) {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				found = append(found, Violation{w.Rule, fmt.Sprintf("%s:%d", name, line),
					fmt.Sprintf("has %q: %s", strings.TrimSpace(string(text[at[0]:at[1]])), w.Reason)})
			}
		}
		return nil
	}, inSource)
	return found, err
}
