package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostLines is the longest a source file may be: about ten screens.
	mostLines = 600
	// mostMethods is the widest an interface may be: more than that, nobody
	// implements twice or fakes in a test.
	mostMethods = 15
)

// An Exception allows one subject to break one rule of size; its decision record
// says why.
type Exception struct {
	// Rule is "file-fits-in-the-head" or "interface-is-small". Subject is the file, or the
	// interface as FOLDER.NAME ("./NAME" for the root package). Record is the
	// decision record's file.
	Rule, Subject, Record string
}

// CheckFiles finds source files longer than mostLines.
func CheckFiles(tree fs.FS) ([]Violation, error) {
	var found []Violation
	err := walk(tree, func(name string) error {
		if !slices.Contains([]string{".go", ".ts", ".tsx", ".sh", ".sql"}, path.Ext(name)) {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if n := bytes.Count(source, []byte("\n")); n > mostLines {
			found = append(found, Violation{"file-fits-in-the-head", name,
				fmt.Sprintf("has %d lines, at most %d: split it by what its parts do", n, mostLines)})
		}
		return nil
	}, inSource)
	return found, err
}

// CheckInterfaces finds interfaces with more than mostMethods methods, those of
// embedded interfaces of this module counted in. An interface that has no methods of its own is
// only a name for several, each of which is judged by itself.
func CheckInterfaces(tree fs.FS) ([]Violation, error) {
	known := map[string]declared{} // by FOLDER.NAME
	err := walk(tree, func(name string) error {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		declare(known, name, file)
		return nil
	}, inModule)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for subject, d := range known {
		if len(d.methods) == 0 {
			continue
		}
		methods := map[string]bool{}
		d.collect(known, methods, map[string]bool{subject: true})
		if len(methods) > mostMethods {
			found = append(found, Violation{"interface-is-small", subject,
				fmt.Sprintf("has %d methods, at most %d: split off an interface that is found by assertion", len(methods), mostMethods)})
		}
	}
	slices.SortFunc(found, func(a, b Violation) int { return strings.Compare(a.Where, b.Where) })
	return found, nil
}

// declared is an interface as it stands in the source.
type declared struct {
	methods  []string
	embedded []string // FOLDER.NAME
}

func (d declared) collect(known map[string]declared, methods, seen map[string]bool) {
	for _, m := range d.methods {
		methods[m] = true
	}
	for _, e := range d.embedded {
		if !seen[e] {
			seen[e] = true
			known[e].collect(known, methods, seen)
		}
	}
}

func declare(known map[string]declared, name string, file *ast.File) {
	dir := path.Dir(name)
	imports := map[string]string{} // local name → folder
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if folder, ok := local(imported); ok {
			as := path.Base(imported)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			imports[as] = folder
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		body, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return true
		}
		var d declared
		for _, field := range body.Methods.List {
			for _, method := range field.Names {
				d.methods = append(d.methods, method.Name)
			}
			if len(field.Names) > 0 {
				continue
			}
			switch embedded := field.Type.(type) {
			case *ast.Ident:
				d.embedded = append(d.embedded, subject(dir, embedded.Name))
			case *ast.SelectorExpr:
				if x, ok := embedded.X.(*ast.Ident); ok && imports[x.Name] != "" {
					d.embedded = append(d.embedded, subject(imports[x.Name], embedded.Sel.Name))
				}
			}
		}
		known[subject(dir, spec.Name.Name)] = d
		return true
	})
}

func subject(dir, name string) string {
	if dir == "." {
		return "./" + name
	}
	return dir + "." + name
}

// ReadExceptions reads internal/arch/exceptions.txt: one "rule subject record" a line,
// "#" for comments.
func ReadExceptions(text string) ([]Exception, error) {
	var list []Exception
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch len(fields) {
		case 0:
		case 3:
			list = append(list, Exception{fields[0], fields[1], fields[2]})
		default:
			return nil, fmt.Errorf("line %d: want rule, subject and decision record", i+1)
		}
	}
	return list, nil
}

// Allow takes the excepted violations out of found. An exception whose record is not
// there, or that nothing needs any more, is a violation itself.
func Allow(tree fs.FS, found []Violation, exceptions []Exception) []Violation {
	var left []Violation
	used := map[Exception]bool{}
	for _, v := range found {
		at := slices.IndexFunc(exceptions, func(e Exception) bool { return e.Rule == v.Rule && e.Subject == v.Where })
		if at < 0 {
			left = append(left, v)
			continue
		}
		used[exceptions[at]] = true
	}
	for _, e := range exceptions {
		if !used[e] {
			left = append(left, Violation{"exception-is-needed", e.Subject, "is within the rule " + e.Rule + ": take it off the list"})
		}
		if _, err := fs.Stat(tree, e.Record); err != nil || !strings.HasPrefix(e.Record, "docs/adr/") {
			left = append(left, Violation{"exception-has-a-record", e.Subject, "its decision record " + e.Record + " is not there"})
		}
	}
	return left
}
