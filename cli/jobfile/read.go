// Package jobfile reads job files: YAML, of which JSON is a part, each document a job in the API's shape. All that is
// wrong is told at once, with file, line and column. It finds the files below a folder, and tells what two states of a job differ
// in. It knows no service; package cli sends what it reads.
package jobfile

import (
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// MaxSize bounds a file, in bytes: some ten thousand jobs.
const MaxSize = 16 << 20

// A Document is one job of a job file: its value as JSON has it, where each part stands, and what cannot be read of it.
type Document struct {
	// File is the name that the file is told by.
	File   string
	value  map[string]any
	places map[string]place // by JSON pointer
	faults []error
	// unread are the pointers of what could not be read: null stands in the value for them.
	unread []string
	// odd are those of unread that may have been meant as texts.
	odd   []string
	notes []string
}

// A place is where a part stands, and how it was written if it is a scalar.
type place struct {
	line, column int
	source       string // of a scalar in one line, as it stands between the blanks
	kind         scalar
}

// Read reads the documents of a file. What is wrong with one stands in it, for Check to tell; the error is for a file of which
// nothing can be read, and is a Fault. Documents that are empty are passed over.
func Read(name string, data []byte) ([]*Document, error) {
	file, err := Parse(name, data, maxTold, noAnchors, parser.AllowDuplicateMapKey()) // a key that stands twice is told with all else
	if err != nil {
		return nil, err
	}
	var documents []*Document
	for _, doc := range file.Docs {
		d := &Document{File: name, places: map[string]place{}}
		d.readJob(doc.Body)
		documents = append(documents, d)
	}
	return documents, nil
}

// wrong notes a fault at the pointer, and that nothing else can be told of what is there.
func (d *Document) wrong(pointer, format string, args ...any) {
	d.unread = append(d.unread, pointer)
	d.faults = append(d.faults, d.Fault(pointer, fmt.Sprintf(format, args...)))
}

// readJob reads the document as a job.
func (d *Document) readJob(body ast.Node) {
	if _, ok := body.(*ast.DirectiveNode); ok {
		d.read(body, "", 0)
		return
	}
	value := d.read(body, "", 0)
	job, ok := value.(map[string]any)
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
func (d *Document) read(node ast.Node, pointer string, deep int) any {
	if _, noted := d.places[pointer]; !noted {
		at := begin(node).Position
		d.places[pointer] = place{line: at.Line, column: at.Column}
	}
	if deep > maxDeep {
		d.wrong(pointer, "more than %d levels deep", maxDeep)
		return nil
	}
	switch n := node.(type) {
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
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.DirectiveNode:
		d.wrong(pointer, "a directive; a job file needs none, and is read as YAML 1.2")
		return nil
	case *ast.AliasNode:
		d.wrong(pointer, "%s; a text that begins with * must stand in quotes", noAnchors)
		return nil
	case ast.ScalarNode:
		return d.readScalar(n, pointer)
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

func (d *Document) readMapping(values []*ast.MappingValueNode, pointer string, deep int) map[string]any {
	m := map[string]any{}
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
			d.faults = append(d.faults, &Fault{File: d.File, Line: at.Line, Column: at.Column, Message: fmt.Sprintf("%q stands twice", name), beside: true})
			continue
		}
		d.places[child] = place{line: at.Line, column: at.Column}
		m[name] = d.read(entry.Value, child, deep+1)
	}
	return m
}

// ID returns the job's id; empty where the document names none.
func (d *Document) ID() string {
	id, _ := d.value["id"].(string)
	return id
}

// State returns the state that the document wants: "active", "paused", or empty where it says nothing.
func (d *Document) State() string {
	state, _ := d.value["state"].(string)
	return state
}

// Gives reports whether the document has a member at the pointer that is not null.
func (d *Document) Gives(pointer string) bool {
	var value any = d.value
	for _, name := range object.Names(pointer) {
		members, _ := value.(map[string]any)
		if value = members[name]; value == nil {
			return false
		}
	}
	return true
}

// Notes tells what was read otherwise than an older YAML would have, in texts that may have been meant so.
func (d *Document) Notes() []string { return d.notes }

// Definition returns the job in JSON, with one label more where name is not empty.
func (d *Document) Definition(name, value string) (json.RawMessage, error) {
	job := d.value
	if name != "" {
		job = map[string]any{}
		for member, v := range d.value {
			job[member] = v
		}
		labels := map[string]any{name: value}
		given, _ := d.value["labels"].(map[string]any)
		for label, v := range given {
			labels[label] = v
		}
		job["labels"] = labels
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return text, nil
}

// Label returns a label that the document gives.
func (d *Document) Label(name string) string {
	labels, _ := d.value["labels"].(map[string]any)
	value, _ := labels[name].(string)
	return value
}
