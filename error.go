package ruqi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/text"
)

// What a caller asked for.
var (
	// ErrInvalid: the input is wrong; see *InvalidError for every fault in it.
	ErrInvalid = errors.New("invalid input")
	// ErrNotFound: there is no such job, run, or record.
	ErrNotFound = errors.New("not found")
	// ErrExists: a job with that id exists, and OnConflict was Fail.
	ErrExists = errors.New("already exists")
	// ErrVersion: what was to be changed is not at the version the caller saw.
	ErrVersion = errors.New("version does not match")
	// ErrClosure: a closure cannot be kept by a store that outlives the process;
	// register the function under a name (Func) and refer to it (Call).
	ErrClosure = errors.New("a closure needs a store in memory")
	// ErrInUse: a calendar is used by jobs, so it cannot be removed.
	ErrInUse = errors.New("is used")
	// ErrEnded: the run has ended already, so it cannot be cancelled.
	ErrEnded = errors.New("run has ended")
)

// What a scheduler is.
var (
	// ErrShutdown: the scheduler was shut down and cannot be used again.
	ErrShutdown = errors.New("scheduler is shut down")
	// ErrStarted: the scheduler was started already.
	ErrStarted = errors.New("scheduler is started already")
)

// What a store says.
var (
	// ErrUnavailable: the store cannot answer now (busy, disconnected); nothing
	// was written and the same call may succeed later. The engine retries it.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrLeaseLost: the instance's epoch is over; others may have taken what it ran.
	ErrLeaseLost = errors.New("lease lost")
	// ErrConflict: a record is not at the version that Put or Delete named.
	ErrConflict = errors.New("record was changed by another")
	// ErrSchemaNewer: the store was written by a newer release than this one.
	ErrSchemaNewer = errors.New("schema is newer than this release")
)

// What a task's function may return.
var (
	// Finish ends the job: its run has succeeded and it never fires again. A
	// function returns it (or an error that wraps it).
	Finish = errors.New("finish the job")
)

// A Fault is one wrong field of an input.
type Fault struct {
	// Pointer is the JSON pointer (RFC 6901) of the field in the shape the user
	// wrote, for example "/trigger/expr"; "" means the whole.
	Pointer string
	// Message says what was read and what is accepted, and names the part of
	// the field where it has parts ("minute: 61 is out of range (0-59)").
	Message string
	// Value is what was read, cut to 200 bytes; empty when nothing was given.
	Value string
}

// An InvalidError lists every fault of an input at once. It unwraps to ErrInvalid.
type InvalidError struct {
	Faults []Fault
}

// Invalid returns an *InvalidError with one fault. Without args, format is the
// message as it stands.
func Invalid(pointer, value, format string, args ...any) *InvalidError {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	const most = 200 // bytes of a wrong value worth showing; the rest only hides the message
	return &InvalidError{Faults: []Fault{{Pointer: pointer, Message: message, Value: text.Cut(value, most)}}}
}

func (e *InvalidError) Error() string {
	parts := make([]string, 0, len(e.Faults))
	for _, f := range e.Faults {
		if name := strings.TrimPrefix(f.Pointer, "/"); name != "" {
			parts = append(parts, strings.ReplaceAll(name, "/", ".")+": "+f.Message)
		} else {
			parts = append(parts, f.Message)
		}
	}
	return strings.Join(parts, "; ")
}

func (e *InvalidError) Unwrap() error { return ErrInvalid }

// Faults collects the faults of a larger input from the checks of its parts.
// The zero value is ready for use.
type Faults struct {
	list []Fault
}

// Add notes one fault.
func (f *Faults) Add(pointer, value, format string, args ...any) {
	f.list = append(f.list, Invalid(pointer, value, format, args...).Faults...)
}

// Merge takes over the faults of err, whose pointers are relative to prefix. An
// error that is no *InvalidError becomes one fault at prefix; nil is nothing.
func (f *Faults) Merge(prefix string, err error) {
	if err == nil {
		return
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		f.list = append(f.list, Fault{Pointer: prefix, Message: err.Error()})
		return
	}
	for _, fault := range invalid.Faults {
		fault.Pointer = prefix + fault.Pointer
		f.list = append(f.list, fault)
	}
}

// mergeNew takes over those faults that are of parts of which nothing is told yet: of what could not be read a value says nothing.
func (f *Faults) mergeNew(more []Fault) {
	told := f.list
	for _, fault := range more {
		if !slices.ContainsFunc(told, func(t Fault) bool {
			return object.Within(t.Pointer, fault.Pointer) || object.Within(fault.Pointer, t.Pointer)
		}) {
			f.list = append(f.list, fault)
		}
	}
}

// Err returns nil when nothing was noted, else the *InvalidError.
func (f *Faults) Err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &InvalidError{Faults: f.list}
}
