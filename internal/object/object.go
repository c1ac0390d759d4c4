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
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	asked   []bool // of each member
	// index is the place of each name, when there are many members.
	index  map[string]int
	report Report
}

// fewMembers are looked through faster than a map is made: the most that a definition has.
const fewMembers = 32

// place returns where a member stands; false: there is none of that name.
func (o *Object) place(name string) (int, bool) {
	if o.index != nil {
		i, ok := o.index[name]
		return i, ok
	}
	for i := range o.members {
		if o.members[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// add takes a member in whose name is new.
func (o *Object) add(m Member) {
	o.members, o.asked = append(o.members, m), append(o.asked, false)
	if o.index != nil {
		o.index[m.Name] = len(o.members) - 1
	} else if len(o.members) > fewMembers {
		o.index = make(map[string]int, 2*fewMembers)
		for i := range o.members {
			o.index[o.members[i].Name] = i
		}
	}
}

// ask notes that a member was asked for, and returns its place.
func (o *Object) ask(name string) (int, bool) {
	i, ok := o.place(name)
	if ok {
		o.asked[i] = true
	}
	return i, ok
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

// split reads a text that is valid JSON. It goes over the bytes itself, since definitions are decoded while jobs are locked: a
// decoder of tokens takes four times as long.
func split(data []byte, report Report) (*Object, error) {
	at := skipSpace(data, 0)
	if at == len(data) || data[at] != '{' {
		return nil, errNoObject
	}
	const usual = 16 // members
	o := &Object{members: make([]Member, 0, usual), asked: make([]bool, 0, usual), report: report}
	for at = skipSpace(data, at+1); data[at] != '}'; at = skipSpace(data, at) {
		if data[at] == ',' {
			at = skipSpace(data, at+1)
		}
		end := endOfValue(data, at)
		name := unquote(data[at:end])
		at = skipSpace(data, skipSpace(data, end)+1) // past the colon
		end = endOfValue(data, at)
		value := json.RawMessage(data[at:end:end])
		at = end
		if _, twice := o.place(name); twice {
			report(Pointer(name), string(value), givenTwice)
			continue
		}
		o.add(Member{name, value})
	}
	return o, nil
}

func skipSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r') {
		at++
	}
	return at
}

// endOfValue returns where the value that begins at at in valid JSON ends.
func endOfValue(data []byte, at int) int {
	depth := 0
	for ; at < len(data); at++ {
		switch data[at] {
		case '"':
			for at++; data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // a number or a word before the end of its object
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// unquote returns the text of a JSON string.
func unquote(raw []byte) string {
	if plainText(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "" // it is valid, so this is never reached
	}
	return text
}

// plainText reports whether a value is a JSON string without anything to translate.
func plainText(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw)
}

const givenTwice = "given twice"

// Members returns all members in their order, and counts as asking for them.
func (o *Object) Members() []Member {
	for i := range o.asked {
		o.asked[i] = true
	}
	return o.members
}

// Has reports whether the member is there and not null.
func (o *Object) Has(name string) bool {
	i, ok := o.place(name)
	return ok && string(o.members[i].Value) != "null"
}

// Raw returns a member as it stands, for another to read. ok is false when it is missing or null.
func (o *Object) Raw(name string) (value json.RawMessage, ok bool) {
	i, ok := o.ask(name)
	if !ok || string(o.members[i].Value) == "null" {
		return nil, false
	}
	return o.members[i].Value, true
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
		o.ask(name)
		o.report(Pointer(name), "", "missing")
		return "", false
	}
	return o.Text(name)
}

// Bool returns a member that is true or false; ok as for Text.
func (o *Object) Bool(name string) (value, ok bool) { return read[bool](o, name, "true or false") }

// Int returns a member that is a whole number; ok as for Text.
func (o *Object) Int(name string) (n int64, ok bool) { return read[int64](o, name, wholeNumber) }

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

// EachText hands over the items of a member that is a list of texts, with their pointers, until do returns false. One that is no text is
// reported as not what is accepted, and handed over with ok false.
func (o *Object) EachText(name, accepted string, do func(pointer, text string, ok bool) bool) {
	list, _ := read[[]json.RawMessage](o, name, "a list of texts")
	for i, item := range list {
		pointer := Pointer(name, strconv.Itoa(i))
		if text, ok := decode[string](o.report, pointer, item, accepted); !do(pointer, text, ok) {
			return
		}
	}
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
	for i, m := range o.members {
		if !o.asked[i] {
			o.report(Pointer(m.Name), string(m.Value), "unknown member; %s%s", list(accepted), DidYouMean(m.Name, accepted...))
		}
	}
}

// Unknown returns the names of the members that are none of those accepted, in their order.
func (o *Object) Unknown(accepted ...string) []string {
	var names []string
	for _, m := range o.members {
		if !slices.Contains(accepted, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
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
	if plain, known := any(&value).(*string); known && plainText(raw) { // most values
		*plain = string(raw[1 : len(raw)-1])
		return value, true
	}
	var into *T
	err := json.Unmarshal(raw, &into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil && into != nil:
		return *into, true
	case errors.As(err, &wrong) && isNumber(raw) && accepted == wholeNumber:
		digits, whole := inDigits(string(raw))
		_, err := strconv.ParseInt(digits, 10, 64)
		switch {
		case !whole:
			report(pointer, string(raw), "not %s", accepted)
		case err != nil:
			report(pointer, string(raw), "out of range")
		default:
			report(pointer, string(raw), "write it in digits alone: %s", digits)
		}
	default:
		report(pointer, string(raw), "not %s", accepted)
	}
	return value, false
}

const wholeNumber = "a whole number"

// isNumber reports whether a value is a number.
func isNumber(raw json.RawMessage) bool { return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' }

// inDigits writes a number without a point and an exponent; whole is false where it cannot be. Of one that is far too large for an int64 not all
// zeros are written.
func inDigits(number string) (digits string, whole bool) {
	number, power, _ := strings.Cut(strings.ToLower(number), "e")
	exponent, _ := strconv.ParseInt(power, 10, 32) // 0 where there is none; the largest for what is larger
	number, negative := strings.CutPrefix(number, "-")
	front, back, _ := strings.Cut(number, ".")
	all := strings.TrimLeft(front+back, "0")
	digits = strings.TrimRight(all, "0")
	zeros := exponent - int64(len(back)) + int64(len(all)-len(digits))
	switch {
	case digits == "":
		return "0", true
	case zeros < 0:
		return "", false
	case negative:
		digits = "-" + digits
	}
	const most = 20 // more digits than an int64 has
	return digits + strings.Repeat("0", int(min(zeros, most))), true
}
