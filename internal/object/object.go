// Package object reads a JSON object strictly, member by member: what is unknown, given twice or of the
// wrong type is reported with its JSON pointer, and reading goes on, so that a user hears of all that is wrong at once.
//
// encoding/json alone would match names in any letter case, keep the last of two equal names, put
// U+FFFD in the place of what is no text, and stop at the first fault.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// A Report notes what is wrong: at a JSON pointer relative to the object, what was read there, and a message as for
// fmt.Sprintf.
type Report func(pointer, value, format string, args ...any)

// A SyntaxError says that a text is not JSON, or is not the one object that is wanted.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// A Member is one member of an object, its value as it was written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// An Object is a JSON object that is being read. It belongs to one goroutine. A member that is
// null counts as not given.
type Object struct {
	members []Member
	index   map[string]int
	asked   map[string]bool
	report  Report
}

// Read splits a text into the members of one object. Members of it that stand twice are reported, and the first
// counts. The error is a *SyntaxError.
func Read(data []byte, report Report) (*Object, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	return split(data, report)
}

// ReadKept is Read for what this program itself has kept: a text that is JSON, but would be refused from a user today, can
// be read still.
func ReadKept(data []byte, report Report) (*Object, error) {
	if !json.Valid(data) {
		return Read(data, report)
	}
	return split(data, report)
}

// split reads a text that is valid JSON.
func split(data []byte, report Report) (*Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, _ := decoder.Token(); open != json.Delim('{') {
		return nil, errNoObject
	}
	o := &Object{index: map[string]int{}, asked: map[string]bool{}, report: report}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err == nil && isName {
			err = decoder.Decode(&value)
		}
		if err != nil || !isName {
			return nil, errNoObject // it is valid, so this is never reached
		}
		if _, twice := o.index[name]; twice {
			report(Pointer(name), string(value), givenTwice)
			continue
		}
		o.index[name] = len(o.members)
		o.members = append(o.members, Member{name, value})
	}
	return o, nil
}

const givenTwice = "given twice"

// Members returns all members in their order, and counts as asking for them.
func (o *Object) Members() []Member {
	for _, m := range o.members {
		o.asked[m.Name] = true
	}
	return o.members
}

// Has reports whether the member is there and not null.
func (o *Object) Has(name string) bool {
	i, ok := o.index[name]
	return ok && string(o.members[i].Value) != "null"
}

// Raw returns a member as it stands, for another to read. ok is false when it is missing or null.
func (o *Object) Raw(name string) (value json.RawMessage, ok bool) {
	o.asked[name] = true
	if !o.Has(name) {
		return nil, false
	}
	return o.members[o.index[name]].Value, true
}

// Any returns a member of any shape as it stands. Members within it that stand twice are reported; ok as for Raw.
func (o *Object) Any(name string) (value json.RawMessage, ok bool) {
	value, ok = o.Raw(name)
	if ok {
		doubles(value, o.below(name))
	}
	return value, ok
}

// Text returns a member that is a text. ok is false when it is missing, null or no text, of which the last is
// reported.
func (o *Object) Text(name string) (text string, ok bool) { return read[string](o, name, "a text") }

// Need is Text for a member that must be there: one that is missing is reported too.
func (o *Object) Need(name string) (text string, ok bool) {
	if !o.Has(name) {
		o.asked[name] = true
		o.report(Pointer(name), "", "missing")
		return "", false
	}
	return o.Text(name)
}

// Bool returns a member that is true or false; ok as for Text.
func (o *Object) Bool(name string) (value, ok bool) { return read[bool](o, name, "true or false") }

// Int returns a member that is a whole number; ok as for Text.
func (o *Object) Int(name string) (n int64, ok bool) { return read[int64](o, name, "a whole number") }

// Texts returns a member that is a list of texts; ok as for Text.
func (o *Object) Texts(name string) (texts []string, ok bool) {
	list, ok := read[[]json.RawMessage](o, name, "a list of texts")
	if !ok {
		return nil, false
	}
	texts = make([]string, len(list))
	for i, item := range list {
		text, is := decode[string](o.report, Pointer(name, strconv.Itoa(i)), item, "a text")
		texts[i], ok = text, ok && is
	}
	return texts, ok
}

// TextMap returns a member that is an object of texts; ok as for Text.
func (o *Object) TextMap(name string) (texts map[string]string, ok bool) {
	value, ok := o.Raw(name)
	if !ok {
		return nil, false
	}
	inner, err := split(value, func(pointer, value, format string, args ...any) {
		ok = false
		o.below(name)(pointer, value, format, args...)
	})
	if err != nil {
		o.report(Pointer(name), string(value), "not an object of texts")
		return nil, false
	}
	texts = make(map[string]string, len(inner.members))
	for _, m := range inner.members {
		text, is := decode[string](o.report, Pointer(name, m.Name), m.Value, "a text")
		texts[m.Name], ok = text, ok && is
	}
	return texts, ok
}

// Kind reads the member "kind" and reports any other than the one given.
func (o *Object) Kind(kind string) {
	if got, ok := o.Need("kind"); ok && got != kind {
		o.report("/kind", got, "not %q", kind)
	}
}

// Parse returns what parse makes of a member that is a text, and reports its error; ok as for Text. accepted
// completes "not ...", such as: a text such as "90s".
func Parse[T any](o *Object, name, accepted string, parse func(string) (T, error)) (value T, ok bool) {
	text, ok := read[string](o, name, accepted)
	if !ok {
		return value, false
	}
	value, err := parse(text)
	if err != nil {
		o.report(Pointer(name), text, "%v", err)
		return value, false
	}
	return value, true
}

// Done reports every member that was not asked for.
func (o *Object) Done(accepted ...string) {
	for _, m := range o.members {
		if !o.asked[m.Name] {
			o.report(Pointer(m.Name), string(m.Value), "unknown member; %s", list(accepted))
		}
	}
}

func list(words []string) string {
	switch n := len(words) - 1; {
	case n < 0:
		return "none is accepted"
	case n == 0:
		return "accepted is " + words[0]
	default:
		return "accepted are " + strings.Join(words[:n], ", ") + " and " + words[n]
	}
}

// below reports what is relative to a member.
func (o *Object) below(name string) Report {
	return func(pointer, value, format string, args ...any) {
		o.report(Pointer(name)+pointer, value, format, args...)
	}
}

func read[T any](o *Object, name, accepted string) (value T, ok bool) {
	raw, ok := o.Raw(name)
	if !ok {
		return value, false
	}
	return decode[T](o.report, Pointer(name), raw, accepted)
}

// decode decodes a value, which is not to be null.
func decode[T any](report Report, pointer string, raw json.RawMessage, accepted string) (value T, ok bool) {
	var into *T
	err := json.Unmarshal(raw, &into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil && into != nil:
		return *into, true
	case errors.As(err, &wrong) && isWhole(raw) && accepted == "a whole number":
		report(pointer, string(raw), "out of range")
	default:
		report(pointer, string(raw), "not %s", accepted)
	}
	return value, false
}

// isWhole reports whether a value is written as a whole number, of whatever size.
func isWhole(raw json.RawMessage) bool {
	digits := strings.TrimPrefix(string(raw), "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
