package jobfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxDeep = 64     // levels; a job has five, and the library that parses takes the square of their number
	maxWide = 10_000 // members of a mapping, with which it is the same; of params, the widest, 64 KiB hold fewer
)

// Parse parses the documents of a file, those without content left out. It refuses, before it is parsed, what costs the library more
// than a file is worth; most bounds the anchors, aliases, merges and tags in it, and told is said of one more. A file of which it cannot be
// told that all documents were read is refused as well. The error is a *Fault.
func Parse(name string, data []byte, most int, told string, mode ...parser.Option) (*ast.File, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors leave one
	if fault := notUTF8(data); fault != nil {
		fault.File = name
		return nil, fault
	}
	tokens := lexer.Tokenize(string(data))
	if fault := tooMuch(tokens, most, told); fault != nil {
		fault.File = name
		return nil, fault
	}
	tokens, begins := withoutEmpty(tokens)
	file, err := parser.Parse(tokens, 0, mode...)
	if err != nil {
		return nil, notYAML(name, data, err)
	}
	file.Docs = slices.DeleteFunc(file.Docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	if len(file.Docs) < len(begins) { // a job that is passed over in silence would be taken for one that is to be removed
		at := begins[len(file.Docs)].Position
		return nil, &Fault{File: name, Line: at.Line, Column: at.Column, Message: "not YAML that can be read whole; a document here or before it is lost"}
	}
	return file, nil
}

// withoutEmpty leaves out comments, and the marks of documents without content: after two marks on end the parser loses the rest
// of the file, in silence. It returns the tokens with which the other documents begin, too.
func withoutEmpty(tokens token.Tokens) (kept, begins token.Tokens) {
	kept = make(token.Tokens, 0, len(tokens))
	var mark *token.Token
	empty := true
	for _, t := range tokens {
		switch t.Type {
		case token.CommentType:
			continue
		case token.DocumentHeaderType:
			mark, empty = t, true
			continue
		case token.DocumentEndType:
			if !empty {
				kept = append(kept, t)
			}
			mark, empty = nil, true
			continue
		}
		if mark != nil {
			kept, mark = append(kept, mark), nil
		}
		if empty {
			begins, empty = append(begins, t), false
		}
		kept = append(kept, t)
	}
	return kept, begins
}

// notUTF8 names the place of the first bytes that are no text.
func notUTF8(data []byte) *Fault {
	line := 1
	for part := range bytes.Lines(data) {
		for column := 1; len(part) > 0; column++ {
			r, size := utf8.DecodeRune(part)
			if r == utf8.RuneError && size == 1 {
				return &Fault{Line: line, Column: column, Message: "not UTF-8"}
			}
			part = part[size:]
		}
		line++
	}
	return nil
}

// notYAML tells what the parser says.
func notYAML(name string, data []byte, err error) *Fault {
	fault := &Fault{File: name, Message: fmt.Sprintf("not YAML: %v", err)}
	var told yaml.Error
	if errors.As(err, &told) && told.GetToken() != nil {
		at := told.GetToken().Position
		fault.Line, fault.Column, fault.Message = at.Line, at.Column, told.GetMessage()
		if sign := signInFront(data, at.Line); sign != "" {
			fault.Message += fmt.Sprintf("; a text that begins with %s must stand in quotes", sign)
		}
	}
	return fault
}

// signInFront returns the sign at the beginning of a value of the line that YAML keeps for itself, and people mean as text: the
// star of a cron expression above all.
func signInFront(data []byte, line int) string {
	n := 0
	for part := range bytes.Lines(data) {
		if n++; n == line {
			if found := reserved.FindSubmatch(part); found != nil {
				return string(found[1])
			}
			break
		}
	}
	return ""
}

// A block is a list or a mapping that is written by indentation.
type block struct{ column, members int }

// tooMuch refuses, before it is parsed, what no file of jobs has and the parser takes the square of its length for, in time and
// memory: deep nesting, wide mappings, lists that follow on each other, and more anchors and aliases than most, of which told tells.
func tooMuch(tokens token.Tokens, most int, told string) *Fault {
	flow, anchors := 0, 0
	var blocks []block
	fault := func(t *token.Token, message string) *Fault {
		return &Fault{Line: t.Position.Line, Column: t.Position.Column, Message: message}
	}
	for _, t := range tokens {
		column := t.Position.Column
		switch t.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType:
			if anchors++; anchors > most {
				return fault(t, told)
			}
		case token.SequenceStartType, token.MappingStartType:
			if p := t.Prev; p != nil && (p.Type == token.SequenceEndType || p.Type == token.MappingEndType) && p.Position.Line == t.Position.Line {
				return fault(t, "not YAML: a comma is missing")
			}
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.DocumentHeaderType, token.DocumentEndType:
			flow, blocks = 0, blocks[:0]
		case token.MappingValueType, token.SequenceEntryType, token.MappingKeyType:
			if flow > 0 {
				break
			}
			if t.Type == token.MappingValueType && t.Prev != nil {
				column = t.Prev.Position.Column // of its key
			}
			b := block{column: column}
			for len(blocks) > 0 && blocks[len(blocks)-1].column >= column {
				if last := blocks[len(blocks)-1]; last.column == column {
					b = last
				}
				blocks = blocks[:len(blocks)-1]
			}
			if t.Type == token.MappingValueType {
				b.members++
			}
			if b.members > maxWide {
				return fault(t.Prev, fmt.Sprintf("more than %d members in one mapping", maxWide))
			}
			blocks = append(blocks, b)
		}
		if flow+len(blocks) > maxDeep {
			return fault(t, fmt.Sprintf("more than %d levels deep", maxDeep))
		}
	}
	return nil
}
