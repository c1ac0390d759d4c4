package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadmeShowsTheExample holds the README's program against the one that the
// compiler checks and the tests run: the function Example of the root package.
func TestTheReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown, ok := goBlock(string(readme))
	if !ok {
		t.Fatal("README.md has no block of Go")
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	body, ok := exampleBody(t, string(source))
	if !ok {
		t.Fatal("example_test.go has no function Example")
	}
	if shown != body {
		t.Errorf("README.md shows\n%s\nbut Example is\n%s", shown, body)
	}
}

func TestExampleBody(t *testing.T) {
	const source = "package ruqi_test\n\nfunc Example() {\n\tif true {\n\t\tprintln(1)\n\t}\n\t// said\n\t// Output: 1\n}\n"
	const readme = "# X\n\n```sh\nmake\n```\n\n```go\nif true {\n\tprintln(1)\n}\n// said\n```\n\nmore\n"
	body, ok := exampleBody(t, source)
	shown, found := goBlock(readme)
	if !ok || !found || body != shown {
		t.Errorf("body %q, block %q: want them equal", body, shown)
	}
	if _, ok := exampleBody(t, "package ruqi_test\nfunc ExampleOther() {}\n"); ok {
		t.Error("found an Example that is not there")
	}
	if _, ok := goBlock("```sh\nmake\n```\n"); ok {
		t.Error("found a block of Go that is not there")
	}
}

// goBlock returns the first fenced block of Go in a text.
func goBlock(text string) (string, bool) {
	_, rest, ok := strings.Cut("\n"+text, "\n```go\n")
	if !ok {
		return "", false
	}
	block, _, ok := strings.Cut(rest, "\n```")
	return block + "\n", ok
}

// exampleBody returns what stands between the braces of func Example, one tab less
// deep and without the comment that holds its output.
func exampleBody(t *testing.T, source string) (string, bool) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "example_test.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Example" || f.Recv != nil {
			continue
		}
		body := source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset]
		for _, mark := range []string{"\n\t// Output:", "\n\t// Unordered output:"} {
			body, _, _ = strings.Cut(body, mark)
		}
		var out strings.Builder
		for line := range strings.Lines(strings.Trim(body, "\n") + "\n") {
			out.WriteString(strings.TrimPrefix(line, "\t"))
		}
		return out.String(), true
	}
	return "", false
}
