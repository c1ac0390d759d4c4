package jobfile

import (
	"errors"
	"fmt"
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
	if len(d.faults) > 0 {
		return d.faults // the rest would speak of what could not be read as if it were not there
	}
	text, err := d.Definition("", "")
	if err != nil {
		return []error{err}
	}
	own := &ruqi.InvalidError{}
	if n := utf8.RuneCountInString(d.ID()); n > longestID { // it could not even be asked for
		own.Faults = append(own.Faults, ruqi.Fault{Pointer: "/id", Message: fmt.Sprintf("%d characters; accepted are at most %d", n, longestID)})
	}
	invalid := &ruqi.InvalidError{}
	if _, err = wire.DecodeNew(registry, text); err != nil && !errors.As(err, &invalid) {
		return []error{d.Fault("", err.Error())}
	}
	for _, f := range invalid.Faults {
		part, member, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		known, _ := d.value[part].(map[string]any)
		kind, _ := known["kind"].(string)
		if member == "kind" && kind != "" || part == "task" && kind == "func" {
			continue
		}
		own.Faults = append(own.Faults, f)
	}
	return d.Faults(own)
}

// CheckIDs refuses jobs without an id, which could not be found again, and ids that stand twice, naming both places.
func CheckIDs(documents []*Document) []error {
	var faults []error
	first := map[string]*Document{}
	for _, d := range documents {
		id, given := d.value["id"].(string)
		switch before := first[id]; {
		case len(d.faults) > 0 && id == "":
			// What is wrong with it is told.
		case !given && d.value["id"] == nil:
			faults = append(faults, d.Fault("/id", "missing; a job that is applied again and again is known by its id"))
		case before != nil:
			faults = append(faults, d.Fault("/id", fmt.Sprintf("%q stands also at %s", id, before.Where(""))))
		case id != "":
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

// Join joins faults: the first fifty, and the number of the others.
func Join(faults []error) error {
	if more := len(faults) - maxTold; more > 0 {
		faults = append(faults[:maxTold:maxTold], untold(more))
	}
	return errors.Join(faults...)
}
