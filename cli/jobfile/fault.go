package jobfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

// A Fault is something that is wrong with a job file, and where.
type Fault struct {
	File string
	// Line and Column count from 1; Line 0: the file as a whole.
	Line, Column int
	// Pointer is the JSON pointer of what is wrong; empty: the job as a whole.
	Pointer string
	Message string
	// beside: what stands there was read all the same.
	beside bool
}

// Error returns FILE:LINE:COLUMN: MEMBER: MESSAGE in one line, with dots in the pointer.
func (f *Fault) Error() string {
	where := f.File
	if f.Line > 0 {
		where += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	if f.Pointer != "" {
		where += ": " + Dotted(f.Pointer)
	}
	return strings.ReplaceAll(where+": "+f.Message, "\n", `\n`)
}

// Dotted writes a JSON pointer as people read it: task.argv.0.
func Dotted(pointer string) string {
	return strings.Join(object.Names(pointer), ".")
}

// Fault returns a fault at a pointer's part, or at what holds it where it is missing.
func (d *Document) Fault(pointer, message string) *Fault {
	f := &Fault{File: d.File, Pointer: pointer, Message: message}
	for p := pointer; ; p = p[:strings.LastIndexByte(p, '/')] {
		if at, ok := d.places[p]; ok {
			f.Line, f.Column = at.line, at.column
			return f
		}
		if !strings.Contains(p, "/") {
			return f
		}
	}
}

// Where returns FILE:LINE:COLUMN of the job, or FILE:LINE:COLUMN: MEMBER of a part of it.
func (d *Document) Where(pointer string) string {
	return strings.TrimSuffix(d.Fault(pointer, "").Error(), ": ")
}

// Faults tells what a definition was refused for, each with its place: Check does it for what can be told here, this for what
// somebody else says. Errors that are no InvalidError are told as they are.
func (d *Document) Faults(err error) []error {
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		return []error{err}
	}
	var faults []error
	for _, f := range invalid.Faults {
		faults = append(faults, d.Fault(f.Pointer, f.Message+d.said(f.Pointer, f.Message)))
	}
	return faults
}

// longestID is how long an id may be, in characters.
const longestID = 255

// Check reads the job with a registry, as far as it knows its kinds: what is wrong is found before anything is sent, and
// all of it is told. Functions, and kinds that the registry does not know, are for the service to judge.
func (d *Document) Check(registry *ruqi.Registry) []error {
	if d.value == nil {
		return d.faults // it is no job at all
	}
	// A number in the place of each that may have been meant as a text shows where a text is wanted.
	meant := &Document{value: replaced(d.value, "", d.odd, json.Number("0")).(map[string]any)}
	text, err := meant.Definition("", "")
	if err != nil {
		return []error{err}
	}
	read := d.faults[:len(d.faults):len(d.faults)]
	own := &ruqi.InvalidError{}
	if n := utf8.RuneCountInString(d.ID()); n > longestID { // it could not even be asked for
		own.Faults = append(own.Faults, ruqi.Fault{Pointer: "/id", Message: fmt.Sprintf("%d characters; accepted are at most %d", n, longestID)})
	}
	invalid := &ruqi.InvalidError{}
	if _, err = wire.DecodeNew(registry, text); err != nil && !errors.As(err, &invalid) {
		return append(read, d.Fault("", err.Error()))
	}
	for _, f := range invalid.Faults {
		part, member, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		known, _ := d.value[part].(map[string]any)
		kind, _ := known["kind"].(string)
		if member == "kind" && kind != "" || part == "task" && kind == "func" {
			continue
		}
		if f.Pointer == "/id" && len(own.Faults) > 0 && own.Faults[0].Pointer == "/id" {
			continue // its length is told
		}
		if slices.Contains(d.odd, f.Pointer) && strings.HasPrefix(f.Message, "not a text") {
			read = slices.DeleteFunc(slices.Clone(read), func(err error) bool {
				var fault *Fault
				return errors.As(err, &fault) && fault.Pointer == f.Pointer // the number that it was read as helps nobody
			})
			own.Faults = append(own.Faults, f)
			continue
		}
		if !d.hides(f.Pointer, d.unread) {
			own.Faults = append(own.Faults, f)
		}
	}
	return append(read, d.Faults(own)...)
}

// hides reports whether a fault at the pointer may come of parts that could not be read or are left out: of what is there it does not.
func (d *Document) hides(pointer string, parts []string) bool {
	_, there := d.places[pointer]
	return slices.ContainsFunc(parts, func(part string) bool {
		return object.Within(pointer, part) || object.Within(part, pointer) && !there
	})
}

// Rest returns the definition without the parts in which faults were found, for the service to tell what else is wrong with
// it, and keep, which picks from what it tells that which does not come of what is left out. ok is false where too little is left to ask.
// name and value are as for Definition.
func (d *Document) Rest(faults []error, name, value string) (definition json.RawMessage, keep func([]error) []error, ok bool) {
	var out []string
	for _, err := range faults {
		var fault *Fault
		if !errors.As(err, &fault) || fault.Pointer == "" && !fault.beside {
			return nil, nil, false
		}
		if fault.Pointer != "" {
			out = append(out, fault.Pointer)
		}
	}
	if d.value == nil || slices.Contains(out, "/id") {
		return nil, nil, false
	}
	rest := &Document{File: d.File, value: object.Without(d.value, out).(map[string]any)}
	definition, err := rest.Definition(name, value)
	return definition, func(told []error) []error {
		return slices.DeleteFunc(told, func(err error) bool {
			var fault *Fault
			if !errors.As(err, &fault) {
				return false
			}
			// Whether a trigger that is over may be taken hangs on the policy.
			late := fault.Pointer == "/trigger" && slices.ContainsFunc(out, func(part string) bool { return object.Within("/policy", part) })
			return late || d.hides(fault.Pointer, out)
		})
	}, err == nil
}

// replaced is the value with another in place of the parts.
func replaced(value any, pointer string, parts []string, with any) any {
	if len(parts) == 0 {
		return value
	}
	if slices.Contains(parts, pointer) {
		return with
	}
	switch v := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, member := range v {
			all[name] = replaced(member, pointer+object.Pointer(name), parts, with)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = replaced(item, fmt.Sprintf("%s/%d", pointer, i), parts, with)
		}
		return all
	}
	return value
}

// CheckIDs refuses jobs without an id, which could not be found again, and ids that stand twice, naming both places.
func CheckIDs(documents []*Document) []error {
	var faults []error
	for _, d := range documents {
		if d.value != nil && d.value["id"] == nil && !d.hides("/id", d.unread) {
			faults = append(faults, d.Fault("/id", "missing; a job that is applied again and again is known by its id"))
		}
	}
	return append(faults, CheckTwins(documents)...)
}

// CheckTwins refuses ids that stand twice, naming both places.
func CheckTwins(documents []*Document) []error {
	var faults []error
	first := map[string]*Document{}
	for _, d := range documents {
		switch id := d.ID(); {
		case id == "":
		case first[id] != nil:
			faults = append(faults, d.Fault("/id", fmt.Sprintf("%q stands also at %s", id, first[id].Where(""))))
		default:
			first[id] = d
		}
	}
	return faults
}

// maxTold bounds what is told of files: enough to see what is wrong with them.
const maxTold = 50

// An untold is the number of faults beyond those that are told.
type untold int

func (n untold) Error() string { return fmt.Sprintf("and %d more faults", int(n)) }

// Join joins faults by their places: the first fifty, and the number of the others. Files stay in their order, and what is no Fault comes last.
func Join(faults []error) error {
	files := map[string]int{}
	place := func(err error) [3]int {
		var f *Fault
		if !errors.As(err, &f) {
			return [3]int{len(faults)}
		}
		return [3]int{files[f.File], f.Line, f.Column}
	}
	for _, err := range faults {
		var f *Fault
		if errors.As(err, &f) {
			if _, seen := files[f.File]; !seen {
				files[f.File] = len(files)
			}
		}
	}
	faults = slices.SortedStableFunc(slices.Values(faults), func(a, b error) int {
		one, two := place(a), place(b)
		return slices.Compare(one[:], two[:])
	})
	if more := len(faults) - maxTold; more > 0 {
		faults = append(faults[:maxTold:maxTold], untold(more))
	}
	return errors.Join(faults...)
}
