// Command testcount reads the output of "go test -json" and tells how it went: failing
// tests with all they printed, the time of each package, which job stores were tried, and as
// the last line
//
//	N passed, N failed
//
// with ", N skipped" behind it if there were any. Its arguments name what failed before
// the tests (a linter, a build); each counts as one failure. It exits with status 1 if
// anything failed, if a test was skipped, or if no test ran at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout))
}

// event is one line of go test -json; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	FailedBuild string // of fail: the package that did not build
	Test        string
	Elapsed     float64 // seconds
	Output      string
	Key, Value  string // of attr
}

type testID struct{ pkg, test string }

type counter struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[testID]*strings.Builder // printed so far by what has not passed
	running                 map[testID]bool
	packageFailed           map[string]int // failed tests by package
	builds                  map[string]*strings.Builder
	stores                  stores
}

// run counts what in says, and the steps that failed before, and returns the exit status.
func run(failedSteps []string, in io.Reader, out io.Writer) int {
	c := &counter{
		out:           out,
		output:        map[testID]*strings.Builder{},
		running:       map[testID]bool{},
		packageFailed: map[string]int{},
		builds:        map[string]*strings.Builder{},
		stores:        stores{laws: map[string]int{}, servers: map[string][]string{}},
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				c.take(e)
			} else {
				fmt.Fprint(out, line) // go test says some things without JSON
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Fprintf(out, "read the output of go test: %v\n", err)
			c.failed++
			break
		}
	}
	c.unfinished("")
	for _, step := range failedSteps {
		c.failed++
		fmt.Fprintf(out, "--- FAILED: step %q, see above\n", step)
	}
	fmt.Fprint(out, c.stores.line())
	verdict := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		verdict += fmt.Sprintf(", %d skipped", c.skipped)
	}
	fmt.Fprintln(out, verdict)
	if c.failed > 0 || c.skipped > 0 || c.passed == 0 {
		return 1
	}
	return 0
}

func (c *counter) take(e event) {
	c.stores.take(e)
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		text(c.builds, e.ImportPath).WriteString(e.Output)
	case "run":
		c.running[id] = true
	case "output":
		text(c.output, id).WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			c.endPackage(e)
			return
		}
		delete(c.running, id)
		switch e.Action {
		case "pass":
			c.passed++
		case "skip":
			c.skipped++
			c.show("SKIPPED", id)
		case "fail":
			c.failed++
			c.packageFailed[e.Package]++
			c.show("FAILED", id)
		}
		delete(c.output, id)
	}
}

// endPackage prints the package's time. A package that failed though none of its
// tests did (it did not build, or its process died) counts as one failure.
func (c *counter) endPackage(e event) {
	c.unfinished(e.Package)
	id := testID{pkg: e.Package}
	switch e.Action {
	case "fail":
		if c.packageFailed[e.Package] == 0 {
			c.failed++
			c.show("FAILED", id)
			if build := c.builds[e.FailedBuild]; build != nil {
				fmt.Fprint(c.out, build.String())
			}
		}
		fmt.Fprintf(c.out, "FAIL  %7.2fs  %s\n", e.Elapsed, e.Package)
	case "pass":
		fmt.Fprintf(c.out, "ok    %7.2fs  %s\n", e.Elapsed, e.Package)
	case "skip":
		fmt.Fprintf(c.out, "-               %s has no tests\n", e.Package)
	}
	for other := range c.output {
		if other.pkg == e.Package {
			delete(c.output, other)
		}
	}
}

// unfinished counts the tests of a package (empty: of all) that began and never ended.
func (c *counter) unfinished(pkg string) {
	var open []testID
	for id := range c.running {
		if pkg == "" || id.pkg == pkg {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b testID) int { return strings.Compare(a.pkg+a.test, b.pkg+b.test) })
	for _, id := range open {
		delete(c.running, id)
		c.failed++
		c.packageFailed[id.pkg]++
		c.show("NEVER ENDED", id)
	}
	if len(open) > 0 {
		c.show("FAILED", testID{pkg: open[0].pkg}) // a panic is printed outside any test
	}
}

func (c *counter) show(what string, id testID) {
	name := id.pkg
	if id.test != "" {
		name += " " + id.test
	}
	fmt.Fprintf(c.out, "--- %s: %s\n", what, name)
	if b := c.output[id]; b != nil {
		fmt.Fprint(c.out, b.String())
	}
}

func text[K comparable](all map[K]*strings.Builder, key K) *strings.Builder {
	if all[key] == nil {
		all[key] = &strings.Builder{}
	}
	return all[key]
}
