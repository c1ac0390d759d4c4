package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the path under which the packages of the tree are imported.
const module = "github.com/ruqi-dev/ruqi"

// A Violation is one place that breaks one rule.
type Violation struct {
	// Rule is the rule's name; Where the file, with the name of what is wrong in it.
	Rule, Where string
	// Message says what was found and why it is not wanted.
	Message string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Rule, v.Where, v.Message)
}

// A Package is one folder of Go source of the root module.
type Package struct {
	// Dir is the folder relative to the module's root, "." for the root itself.
	Dir string
	// Files are the names of its files, tests included, all build constraints ignored:
	// the rules hold on every platform.
	Files []string
	// Imports are the import paths of its files, and TestImports those of its tests,
	// each with the file that has it.
	Imports, TestImports map[string]string
}

// Packages reads the folders of the root module below tree. Folders with a go.mod of
// their own, testdata, and folders whose names begin with "." or "_" are passed over,
// as the go command does.
func Packages(tree fs.FS) ([]Package, error) {
	byDir := map[string]*Package{}
	err := walk(tree, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("read imports: %w", err)
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Dir: dir, Imports: map[string]string{}, TestImports: map[string]string{}}
		}
		p := byDir[dir]
		p.Files = append(p.Files, path.Base(name))
		imports := p.Imports
		if strings.HasSuffix(name, "_test.go") {
			imports = p.TestImports
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
			}
			imports[imported] = name
		}
		return nil
	}, inModule)
	var packages []Package
	for _, p := range byDir {
		packages = append(packages, *p)
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Dir, b.Dir) })
	return packages, err
}

// walk visits the files of tree in order, without the folders that enter refuses.
func walk(tree fs.FS, visit func(name string) error, enter func(tree fs.FS, dir string) bool) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && !enter(tree, name) {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular(), entry.Name() == ".git": // a worktree of git has a file of that name
			return nil
		}
		return visit(name)
	})
}

// inModule reports whether the go command takes a folder for a part of the root module.
func inModule(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return false
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err != nil
}

// inSource reports whether a folder holds files that people wrote: other modules
// and test data do, what tools made or fetched does not.
func inSource(_ fs.FS, dir string) bool {
	switch path.Base(dir) {
	case ".git", "node_modules", "dist":
		return false
	}
	return dir != "bin" && dir != "tmp"
}

// local turns an import path into the folder it names, if it is one of this module.
func local(imported string) (dir string, ok bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// standard reports whether an import path is of the standard library: its first
// element has no dot.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
