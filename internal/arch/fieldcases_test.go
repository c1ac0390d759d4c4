package arch_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestFieldCasesNameTheirTests compares docs/field-cases.md with the tests that name a case.
func TestFieldCasesNameTheirTests(t *testing.T) {
	for _, fault := range fieldCaseFaults(t, root()) {
		t.Error(fault)
	}
}

func TestFieldCasesThatDifferAreFound(t *testing.T) {
	tree := fstest.MapFS{
		"docs/field-cases.md": {Data: []byte("| AB01 | x | y | `a_test.go`, `b/b_test.go` |\n| AB03 | x | y | `a_test.go` |\n| AB05 | x | y | `gone_test.go` |\n")},
		"a_test.go":           {Data: []byte("// AB01: it works.\n\t// CD01, AB03: as well.\n")},
		"b/b_test.go":         {Data: []byte("{\"AB01: a title\", 1}, // AB03\n")},
	}
	want := []string{
		"docs/field-cases.md says that AB05 is in gone_test.go, which does not name it",
		"a_test.go names CD01, which docs/field-cases.md does not say of it",
		"b/b_test.go names AB03, which docs/field-cases.md does not say of it",
	}
	if got := fieldCaseFaults(t, tree); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

var (
	fieldCaseRow     = regexp.MustCompile(`(?m)^\| ([A-Z]{2}[0-9]{2}) \|.*\| ([^|]*) \|$`)
	fieldCaseFile    = regexp.MustCompile("`([^`]+)`")
	fieldCaseID      = regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}\b`)
	fieldCaseComment = regexp.MustCompile(`//.*`)
)

func fieldCaseFaults(t *testing.T, tree fs.FS) (faults []string) {
	t.Helper()
	read := func(name string) string {
		text, _ := fs.ReadFile(tree, name) // a file that is gone names nothing
		return string(text)
	}
	const doc = "docs/field-cases.md"
	said := map[string]bool{} // "ID in FILE"
	for _, row := range fieldCaseRow.FindAllStringSubmatch(read(doc), -1) {
		for _, file := range fieldCaseFile.FindAllStringSubmatch(row[2], -1) {
			said[row[1]+" in "+file[1]] = true
		}
	}
	for _, s := range slices.Sorted(maps.Keys(said)) {
		id, file, _ := strings.Cut(s, " in ")
		if !slices.Contains(fieldCaseID.FindAllString(read(file), -1), id) {
			faults = append(faults, fmt.Sprintf("%s says that %s is in %s, which does not name it", doc, id, file))
		}
	}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") || path.Dir(name) == "internal/arch" {
			return err
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(fieldCaseID.FindAllString(strings.Join(fieldCaseComment.FindAllString(read(name), -1), "\n"), -1)))) {
			if !said[id+" in "+name] {
				faults = append(faults, fmt.Sprintf("%s names %s, which %s does not say of it", name, id, doc))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return faults
}
