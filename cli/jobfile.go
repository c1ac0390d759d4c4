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

// A document is one job of a job file: its value as JSON has it, and where each part stands.
type document struct {
	value  members
	file   string
	places map[string]place // by JSON pointer
}

type place struct{ line, column int }

// at says where a pointer's part stands, or what holds it where it is missing.
func (d document) at(pointer string) string {
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
func (a *app) readJobFile(name string) ([]document, error) {
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

func parseJobFile(name string, data []byte) ([]document, error) {
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
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var fault yaml.Error
		if errors.As(err, &fault) && fault.GetToken() != nil {
			at := fault.GetToken().Position
			return nil, usage("%s:%d:%d: %s", name, at.Line, at.Column, fault.GetMessage())
		}
		return nil, usage("%s: not YAML: %v", name, err)
	}
	var documents []document
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue // only comments, or nothing, between two marks
		}
		d := document{file: name, places: map[string]place{}}
		value, err := d.read(doc.Body, "", 0)
		if err != nil {
			return nil, err
		}
		job, ok := value.(members)
		if _, several := value.([]any); several {
			return nil, usage("%s: a list; several jobs are documents, separated by a line ---", d.at(""))
		}
		if !ok {
			return nil, usage("%s: a job is a mapping, such as \"id: hello\"", d.at(""))
		}
		if _, wrapped := job["jobs"]; wrapped {
			return nil, usage("%s: a job has no jobs in it; several jobs are documents, separated by a line ---", d.at("/jobs"))
		}
		d.value = job
		documents = append(documents, d)
	}
	if len(documents) == 0 {
		return nil, usage("%s: there is no job in it", name)
	}
	return documents, nil
}

// read turns a node into the value that JSON has for it, and notes where it stands.
func (d document) read(node ast.Node, pointer string, deep int) (any, error) {
	if _, noted := d.places[pointer]; !noted {
		at := begin(node).Position
		d.places[pointer] = place{at.Line, at.Column}
	}
	if deep > maxYAMLDeep {
		return nil, usage("%s: more than %d levels deep", d.at(pointer), maxYAMLDeep)
	}
	switch n := node.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode:
		return n.Value, nil
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.InfinityNode, *ast.NanNode:
		return nil, usage("%s: JSON has no such number", d.at(pointer))
	case *ast.MappingValueNode:
		return d.readMapping([]*ast.MappingValueNode{n}, pointer, deep)
	case *ast.MappingNode:
		return d.readMapping(n.Values, pointer, deep)
	case *ast.SequenceNode:
		list := make([]any, 0, len(n.Values))
		for i, item := range n.Values {
			value, err := d.read(item, fmt.Sprintf("%s/%d", pointer, i), deep+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	return nil, usage("%s: a job file has no anchors, aliases, merges or tags", d.at(pointer))
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

func (d document) readMapping(values []*ast.MappingValueNode, pointer string, deep int) (any, error) {
	m := members{}
	for _, entry := range values {
		key, ok := entry.Key.(ast.ScalarNode)
		if !ok || entry.Key.Type() == ast.MergeKeyType {
			return nil, usage("%s: a job file has no anchors, aliases, merges or tags", d.at(pointer))
		}
		name := key.GetToken().Value
		child := pointer + object.Pointer(name)
		at := key.GetToken().Position
		if _, twice := m[name]; twice {
			return nil, usage("%s:%d:%d: %q stands twice", d.file, at.Line, at.Column, name)
		}
		d.places[child] = place{at.Line, at.Column}
		value, err := d.read(entry.Value, child, deep+1)
		if err != nil {
			return nil, err
		}
		m[name] = value
	}
	return m, nil
}

// check reads the job with a registry, as far as it knows its kinds: what is wrong is
// found before anything is sent. Functions are the service's own.
func (d document) check(registry *ruqi.Registry) error {
	text, err := encode(d.value)
	if err != nil {
		return err
	}
	var invalid *ruqi.InvalidError
	if _, err = wire.DecodeNew(registry, text); !errors.As(err, &invalid) {
		return err
	}
	var faults ruqi.Faults
	for _, f := range invalid.Faults {
		part, member, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		known, _ := d.value[part].(members)
		kind, _ := known["kind"].(string)
		if member == "kind" && kind != "" || part == "task" && kind == "func" {
			continue
		}
		faults.Merge("", &ruqi.InvalidError{Faults: []ruqi.Fault{f}})
	}
	return faults.Err()
}
