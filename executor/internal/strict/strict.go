// Package strict reads the JSON object of a task member by member: what is
// unknown, given twice or of the wrong type becomes a fault with its pointer,
// and reading goes on, so that a user hears of all faults at once.
//
// encoding/json alone would match names in any letter case, keep the last of two
// equal names and stop at the first fault.
package strict

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
)

// An Object is a JSON object that is being read. It belongs to one goroutine.
type Object struct {
	names  []string
	values map[string]json.RawMessage
	read   map[string]bool
	// Faults holds what is wrong so far; callers add their own.
	Faults ruqi.Faults
}

// Read splits data into the members of one object. Its error is an
// *ruqi.InvalidError; members given twice are noted in Faults instead.
func Read(data []byte) (*Object, error) {
	if !utf8.Valid(data) {
		return nil, ruqi.Invalid("", "", "not valid UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, ruqi.Invalid("", string(data), "not valid JSON: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, _ := decoder.Token(); token != json.Delim('{') {
		return nil, ruqi.Invalid("", string(data), "a JSON object is expected")
	}
	o := &Object{values: map[string]json.RawMessage{}, read: map[string]bool{}}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, ruqi.Invalid("", "", "not valid JSON: %v", err)
		}
		name := token.(string) // the whole is valid JSON, so a member begins with its name
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, ruqi.Invalid("", "", "not valid JSON: %v", err)
		}
		if _, twice := o.values[name]; twice {
			o.Faults.Add(Pointer(name), string(value), "given twice")
			continue
		}
		o.names = append(o.names, name)
		o.values[name] = value
	}
	if _, err := decoder.Token(); err != nil && err != io.EOF {
		return nil, ruqi.Invalid("", "", "not valid JSON: %v", err)
	}
	return o, nil
}

// Kind reads the member "kind" and notes a fault unless it is the one given.
func (o *Object) Kind(kind string) {
	got, ok := o.Text("kind")
	switch {
	case !o.Has("kind"):
		o.Faults.Add("/kind", "", "missing; %q is expected", kind)
	case ok && got != kind:
		o.Faults.Add("/kind", got, "%q is expected", kind)
	}
}

// Has reports whether the member is there and not null.
func (o *Object) Has(name string) bool {
	value, ok := o.values[name]
	return ok && string(value) != "null"
}

// Raw returns a member as it stands. ok is false when it is missing or null.
func (o *Object) Raw(name string) (value json.RawMessage, ok bool) {
	o.read[name] = true
	value, ok = o.values[name]
	if string(value) == "null" {
		return nil, false
	}
	return value, ok
}

// Text returns a member that is a string. ok is false when it is missing, null
// or no string, of which the last is noted.
func (o *Object) Text(name string) (text string, ok bool) {
	value, ok := o.Raw(name)
	if !ok {
		return "", false
	}
	return o.text(Pointer(name), value)
}

// Texts returns a member that is a list of strings; ok as for Text.
func (o *Object) Texts(name string) (texts []string, ok bool) {
	value, ok := o.Raw(name)
	if !ok {
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		o.Faults.Add(Pointer(name), string(value), "a list of strings is expected")
		return nil, false
	}
	texts = make([]string, len(list))
	for i, item := range list {
		text, is := o.text(Pointer(name, strconv.Itoa(i)), item)
		texts[i], ok = text, ok && is
	}
	return texts, ok
}

// TextMap returns a member that is an object of strings; ok as for Text.
func (o *Object) TextMap(name string) (texts map[string]string, ok bool) {
	value, ok := o.Raw(name)
	if !ok {
		return nil, false
	}
	inner, err := Read(value)
	if err != nil {
		o.Faults.Add(Pointer(name), string(value), "an object of strings is expected")
		return nil, false
	}
	if err := inner.Faults.Err(); err != nil {
		o.Faults.Merge(Pointer(name), err)
		ok = false
	}
	texts = make(map[string]string, len(inner.names))
	for _, key := range inner.names {
		text, is := o.text(Pointer(name, key), inner.values[key])
		texts[key], ok = text, ok && is
	}
	return texts, ok
}

// Done notes every member that was not asked for and returns all faults as an
// *ruqi.InvalidError, nil when there is none.
func (o *Object) Done(accepted ...string) error {
	for _, name := range o.names {
		if !o.read[name] {
			o.Faults.Add(Pointer(name), string(o.values[name]), "unknown; accepted are %s", strings.Join(accepted, ", "))
		}
	}
	return o.Faults.Err()
}

func (o *Object) text(pointer string, value json.RawMessage) (string, bool) {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil {
		o.Faults.Add(pointer, string(value), "a string is expected")
		return "", false
	}
	return *text, true
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the JSON pointer (RFC 6901) of nested names.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(escape.Replace(name))
	}
	return b.String()
}
