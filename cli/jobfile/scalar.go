package jobfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A scalar is what a value was read as.
type scalar int

const (
	other scalar = iota
	number
	truth
	plainText
	quotedText
)

var (
	// jsonNumber is a number as JSON writes it, of those that every release of YAML reads so, too.
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+][0-9]+)?)?$`)
	// oddNumber is what some release of YAML reads as a number, and others as another one, or as text: 1e3 is both.
	oddNumber = regexp.MustCompile(`^[-+]?(0[0-9_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9]*_[0-9_]*|[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+)$`)
	// sixties are times of day, which YAML 1.1 reads as a number of seconds or minutes.
	sixties = regexp.MustCompile(`^[-+]?[1-9][0-9]*(:[0-5]?[0-9])+$`)
	// words are true and false in YAML 1.1, and texts in 1.2.
	words = []string{"yes", "no", "on", "off"}
	// reserved is a sign that cannot begin a plain text, at the beginning of a value.
	reserved = regexp.MustCompile("(?:^|[:,\\[{-])[ \t]*([*@%`])")
	// lengthWanted is what is said where a length of time is to stand.
	lengthWanted = regexp.MustCompile(`^not a text such as "[0-9]+s"$`)
	// longest is how much of a scalar is kept to be told of.
	longest = 40
)

// readScalar reads a text, a number, true, false or null. Numbers go on as they are written.
func (d *Document) readScalar(node ast.ScalarNode, pointer string) any {
	t := node.GetToken()
	source := strings.TrimSpace(t.Value)
	noted := d.places[pointer]
	if len(source) <= longest && !strings.Contains(source, "\n") {
		noted.source = source
	}
	defer func() { d.places[pointer] = noted }()
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		noted.kind = truth
		return n.Value
	case *ast.InfinityNode, *ast.NanNode:
		noted.kind = number
		d.odd = append(d.odd, pointer)
		d.wrong(pointer, "JSON has no such number")
		return nil
	case *ast.IntegerNode, *ast.FloatNode:
		noted.kind = number
		if !jsonNumber.MatchString(source) {
			d.odd = append(d.odd, pointer)
			d.wrong(pointer, "%s was read as the number %v; write %v, or \"%s\" in quotes for a text", source, node.GetValue(), node.GetValue(), source)
			return nil
		}
		return json.Number(source)
	case *ast.StringNode:
		if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
			noted.kind = quotedText
			return n.Value
		}
		noted.kind = plainText
		switch {
		case jsonNumber.MatchString(source): // too large for the library
			noted.kind = number
			return json.Number(source)
		case oddNumber.MatchString(source):
			noted.kind = number
			d.odd = append(d.odd, pointer)
			d.wrong(pointer, "%s is a number to some and a text to others; write the number in plain digits, or \"%s\" in quotes for a text", source, source)
			return nil
		}
		d.noteOld(pointer, source)
		return n.Value
	}
	d.wrong(pointer, noAnchors)
	return nil
}

// noteOld notes a text that YAML 1.1 would have read otherwise, where any value may stand.
func (d *Document) noteOld(pointer, source string) {
	free := slices.ContainsFunc([]string{"/params/", "/task/args/", "/task/body/"}, func(above string) bool { return strings.HasPrefix(pointer, above) })
	if free && (slices.Contains(words, strings.ToLower(source)) || sixties.MatchString(source)) {
		d.notes = append(d.notes, d.Fault(pointer, fmt.Sprintf("%s was read as the text %q; in quotes nobody reads it otherwise", source, source)).Error())
	}
}

// said completes the message of a fault with what was read in the place of what is wanted.
func (d *Document) said(pointer, message string) string {
	p := d.places[pointer]
	wants := func(what string) bool { return strings.HasPrefix(message, "not "+what) }
	switch {
	case p.source == "":
	case p.kind == number && jsonNumber.MatchString(p.source) && lengthWanted.MatchString(message):
		return fmt.Sprintf("; %s was read as a number, which has no unit: write %ss for seconds", p.source, p.source)
	case p.kind == number && wants("a text"):
		return fmt.Sprintf("; %s was read as a number, in quotes, \"%s\", it is a text", p.source, p.source)
	case p.kind == truth && wants("a text"):
		return fmt.Sprintf("; %s was read as true or false, in quotes, \"%s\", it is a text", p.source, p.source)
	case p.kind == plainText && wants("true or false") && slices.Contains(words, strings.ToLower(p.source)):
		return fmt.Sprintf("; %s was read as a text, as YAML 1.2 has it", p.source)
	case p.kind == quotedText && (wants("true or false") || wants("a whole number")):
		return fmt.Sprintf("; \"%s\" was read as a text, since it stands in quotes", p.source)
	}
	return ""
}
