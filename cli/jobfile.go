package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

const (
	maxJobFile  = 16 << 20 // bytes; some ten thousand jobs
	maxYAMLDeep = 64       // levels; a job has five
)

// A document is one job of a job file: its value as JSON has it, where each part stands, and what cannot be read of it.
type document struct {
	value  members
	file   string
	places map[string]place // by JSON pointer
	faults []error
}

type place struct{ line, column int }

// at says where a pointer's part stands, or what holds it where it is missing.
func (d *document) at(pointer string) string {
	for p := pointer; ; p = p[:strings.LastIndexByte(p, '/')] {
		if at, ok := d.places[p]; ok {
			where := fmt.Sprintf("%s:%d:%d", d.file, at.line, at.column)
			if name := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."); name != "" {
				where += ": " + name
			}
			return where
		}
		if p == "" {
			return d.file
		}
	}
}

// readJobFile reads the documents of a job file: YAML, of which JSON is a part. "-" is
// standard input.
func (a *app) readJobFile(name string) ([]*document, error) {
	source := a.Stdin
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, usage("--file: %v", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxJobFile+1))
	if err != nil {
		return nil, usage("--file: %v", err)
	}
	if len(data) > maxJobFile {
		return nil, usage("%s: larger than 16 MiB", name)
	}
	return parseJobFile(name, data)
}

// parseJobFile reads the documents. What is wrong with one stands in it; the error is for a file of which nothing can be read.
func parseJobFile(name string, data []byte) ([]*document, error) {
	if !utf8.Valid(data) {
		line := 1
		for part := range bytes.Lines(data) {
			if !utf8.Valid(part) {
				break
			}
			line++
		}
		return nil, usage("%s:%d: not UTF-8", name, line)
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // a key that stands twice is told with all else
	if err != nil {
		var fault yaml.Error
		if errors.As(err, &fault) && fault.GetToken() != nil {
			at := fault.GetToken().Position
			return nil, usage("%s:%d:%d: %s", name, at.Line, at.Column, fault.GetMessage())
		}
		return nil, usage("%s: not YAML: %v", name, err)
	}
	var documents []*document
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue // only comments, or nothing, between two marks
		}
		d := &document{file: name, places: map[string]place{}}
		d.readJob(doc.Body)
		documents = append(documents, d)
	}
	if len(documents) == 0 {
		return nil, usage("%s: there is no job in it", name)
	}
	return documents, nil
}

// wrong notes a fault at the pointer.
func (d *document) wrong(pointer, format string, args ...any) {
	d.faults = append(d.faults, usage("%s: %s", d.at(pointer), fmt.Sprintf(format, args...)))
}

// readJob reads the document as a job.
func (d *document) readJob(body ast.Node) {
	value := d.read(body, "", 0)
	job, ok := value.(members)
	_, several := value.([]any)
	_, wrapped := job["jobs"]
	switch {
	case several:
		d.wrong("", "a list; several jobs are documents, separated by a line ---")
	case !ok && len(d.faults) == 0:
		d.wrong("", "a job is a mapping, such as \"id: hello\"")
	case wrapped:
		d.wrong("/jobs", "a job has no jobs in it; several jobs are documents, separated by a line ---")
	}
	d.value = job
}

const noAnchors = "a job file has no anchors, aliases, merges or tags"

// read turns a node into the value that JSON has for it, and notes where it stands. Nil stands for what is wrong.
func (d *document) read(node ast.Node, pointer string, deep int) any {
	if _, noted := d.places[pointer]; !noted {
		at := begin(node).Position
		d.places[pointer] = place{at.Line, at.Column}
	}
	if deep > maxYAMLDeep {
		d.wrong(pointer, "more than %d levels deep", maxYAMLDeep)
		return nil
	}
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.InfinityNode, *ast.NanNode:
		d.wrong(pointer, "JSON has no such number")
		return nil
	case *ast.MappingValueNode:
		return d.readMapping([]*ast.MappingValueNode{n}, pointer, deep)
	case *ast.MappingNode:
		return d.readMapping(n.Values, pointer, deep)
	case *ast.SequenceNode:
		list := make([]any, 0, len(n.Values))
		for i, item := range n.Values {
			list = append(list, d.read(item, fmt.Sprintf("%s/%d", pointer, i), deep+1))
		}
		return list
	}
	d.wrong(pointer, noAnchors)
	return nil
}

// begin returns the first token of a node; that of a mapping is its first key, not the colon.
func begin(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}

func (d *document) readMapping(values []*ast.MappingValueNode, pointer string, deep int) members {
	m := members{}
	for _, entry := range values {
		key, ok := entry.Key.(ast.ScalarNode)
		if !ok || entry.Key.Type() == ast.MergeKeyType {
			d.wrong(pointer, noAnchors)
			continue
		}
		name := key.GetToken().Value
		child := pointer + object.Pointer(name)
		at := key.GetToken().Position
		if _, twice := m[name]; twice {
			d.faults = append(d.faults, usage("%s:%d:%d: %q stands twice", d.file, at.Line, at.Column, name))
			continue
		}
		d.places[child] = place{at.Line, at.Column}
		m[name] = d.read(entry.Value, child, deep+1)
	}
	return m
}

// check reads the job with a registry, as far as it knows its kinds: what is wrong is found before anything is sent, and
// all of it is told. Functions are the service's own.
func (d *document) check(registry *ruqi.Registry) []error {
	if len(d.faults) > 0 {
		return d.faults // the rest would speak of what could not be read as if it were not there
	}
	text, err := encode(d.value)
	if err != nil {
		return []error{err}
	}
	var invalid *ruqi.InvalidError
	if _, err = wire.DecodeNew(registry, text); err == nil {
		return nil
	} else if !errors.As(err, &invalid) {
		return []error{err}
	}
	var faults []error
	for _, f := range invalid.Faults {
		part, member, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		known, _ := d.value[part].(members)
		kind, _ := known["kind"].(string)
		if member == "kind" && kind != "" || part == "task" && kind == "func" {
			continue
		}
		faults = append(faults, usage("%s", label(d.at(f.Pointer), f.Message)))
	}
	return faults
}

// maxToldFaults bounds what is told of a file: enough to see what is wrong with it.
const maxToldFaults = 50

// checkAll checks all documents, and tells the faults of all.
func checkAll(documents []*document, registry *ruqi.Registry) error {
	var faults []error
	for _, d := range documents {
		faults = append(faults, d.check(registry)...)
	}
	if more := len(faults) - maxToldFaults; more > 0 {
		faults = append(faults[:maxToldFaults], usage("and %d more faults", more))
	}
	return errors.Join(faults...)
}
