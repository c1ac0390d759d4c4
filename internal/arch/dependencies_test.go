package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/arch"
)

// TestEveryDependencyHasALine holds docs/dependencies.md against what is imported,
// and against the modules that the benchmarks and the tools require.
func TestEveryDependencyHasALine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := modulesNamed(string(text))
	packages, err := arch.Packages(root())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		for _, imports := range []map[string]string{p.Imports, p.TestImports} {
			for imported, file := range imports {
				if !isNamed(imported, named) {
					t.Errorf("%s imports %s, which has no line in docs/dependencies.md", file, imported)
				}
			}
		}
	}
	for _, name := range []string{"bench/go.mod", "scripts/tools/go.mod"} {
		text, err := fs.ReadFile(root(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, module := range directlyRequired(string(text)) {
			if !isNamed(module, named) {
				t.Errorf("%s requires %s, which has no line in docs/dependencies.md", name, module)
			}
		}
	}
}

func TestDependenciesAreRead(t *testing.T) {
	named := modulesNamed("| `modernc.org/sqlite` | x |\n| `a.b/c`, `d.e/f/v2` | `make` |\n")
	for imported, want := range map[string]bool{
		"fmt": true, "net/http": true, "github.com/ruqi-dev/ruqi/trigger": true,
		"modernc.org/sqlite": true, "modernc.org/sqlite/lib": true, "modernc.org/sqlite3": false,
		"d.e/f/v2/x": true, "github.com/other/thing": false,
	} {
		if isNamed(imported, named) != want {
			t.Errorf("%s: named is %v, want %v", imported, !want, want)
		}
	}
	mod := "module m\n\ngo 1.26\n\ntool x.y/tool/cmd/t\n\nrequire one.org/a v1\n\nrequire (\n\ttwo.org/b v1\n\tthree.org/c v1 // indirect\n\tx.y/tool v1 // indirect\n)\n"
	if got := directlyRequired(mod); !slices.Equal(got, []string{"x.y/tool/cmd/t", "one.org/a", "two.org/b"}) {
		t.Errorf("directly required: %v", got)
	}
}

var inBackquotes = regexp.MustCompile("`([a-z0-9.-]+\\.[a-z]+/[A-Za-z0-9./_-]+)`")

// modulesNamed returns what stands in backquotes and looks like a module.
func modulesNamed(text string) []string {
	var all []string
	for _, m := range inBackquotes.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func isNamed(imported string, named []string) bool {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") || strings.HasPrefix(imported+"/", "github.com/ruqi-dev/ruqi/") {
		return true
	}
	return slices.ContainsFunc(named, func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") })
}

// directlyRequired returns the tools and the modules that a go.mod file requires for itself.
func directlyRequired(text string) []string {
	var all []string
	inBlock := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasSuffix(strings.TrimSpace(line), "// indirect"):
		case fields[0] == "require" && fields[1] == "(":
			inBlock = true
		case fields[0] == ")":
			inBlock = false
		case fields[0] == "require" || fields[0] == "tool":
			all = append(all, fields[1])
		case inBlock:
			all = append(all, fields[0])
		}
	}
	return all
}
