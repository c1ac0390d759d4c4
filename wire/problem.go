package wire

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// ProblemType is the content type of a Problem.
const ProblemType = "application/problem+json"

// A Problem says why a request failed (RFC 9457).
type Problem struct {
	Type   string  `json:"type" doc:"Which kind of failure, for programs: urn:ruqi:NAME, or about:blank where the status says it."`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail"`
	Errors []Fault `json:"errors,omitempty" doc:"Every wrong field at once."`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// A Fault is one wrong field.
type Fault struct {
	Pointer string `json:"pointer" doc:"JSON pointer of the field in the body, or / and the name of a query parameter; empty: the whole."`
	Message string `json:"message"`
	Value   string `json:"value,omitempty" doc:"What was read, cut to 200 bytes."`
}

// Faults turns an *InvalidError's faults into their shape.
func Faults(faults []ruqi.Fault) []Fault {
	shapes := make([]Fault, 0, len(faults))
	for _, f := range faults {
		shapes = append(shapes, Fault(f))
	}
	return shapes
}

// InvalidError turns the problem's faults back into the library's error; one fault
// for the whole when there is no list.
func (p *Problem) InvalidError() *ruqi.InvalidError {
	if len(p.Errors) == 0 {
		return ruqi.Invalid("", "", "%s", p.Detail)
	}
	e := &ruqi.InvalidError{}
	for _, f := range p.Errors {
		e.Faults = append(e.Faults, ruqi.Fault(f))
	}
	return e
}

// Instead says which words a field takes in the place of a wrong one, and which of them it was probably meant to be: "accepted are a, b
// and c; did you mean "b"?".
func Instead[A, B ~string](wrong A, words ...B) string {
	return Accepted(words...) + object.DidYouMean(wrong, words...)
}

// Accepted says which words a field takes: "accepted are a, b and c".
func Accepted[T ~string](words ...T) string {
	var b strings.Builder
	b.WriteString("accepted are ")
	for i, word := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}

// problems is the one table between the library's errors and HTTP. The first entry
// that an error wraps counts.
var problems = []struct {
	err    error
	status int
	kind   string
	title  string
}{
	{ruqi.ErrNotFound, http.StatusNotFound, "urn:ruqi:not-found", "Not found"},
	{ruqi.ErrExists, http.StatusConflict, "urn:ruqi:exists", "Already exists"},
	{ruqi.ErrEnded, http.StatusConflict, "urn:ruqi:ended", "Run has ended"},
	{ruqi.ErrInUse, http.StatusConflict, "urn:ruqi:in-use", "In use"},
	{ruqi.ErrConflict, http.StatusConflict, "urn:ruqi:conflict", "Changed by another"},
	{ruqi.ErrVersion, http.StatusPreconditionFailed, "urn:ruqi:version", "Version does not match"},
	{ruqi.ErrClosure, http.StatusUnprocessableEntity, "urn:ruqi:closure", "A closure cannot be kept"},
	{ruqi.ErrInvalid, http.StatusUnprocessableEntity, "urn:ruqi:invalid", "Invalid input"},
	{ruqi.ErrUnavailable, http.StatusServiceUnavailable, "urn:ruqi:unavailable", "Store is unavailable"},
	{ruqi.ErrLeaseLost, http.StatusServiceUnavailable, "urn:ruqi:lease-lost", "Lease lost"},
	{ruqi.ErrShutdown, http.StatusServiceUnavailable, "urn:ruqi:shutdown", "Shut down"},
}

// NewProblem returns the problem that tells of err; false for an error that is not
// for users to see.
func NewProblem(err error) (*Problem, bool) {
	var syntax *object.SyntaxError
	if errors.As(err, &syntax) {
		return StatusProblem(http.StatusBadRequest, syntax.Message), true
	}
	for _, p := range problems {
		if !errors.Is(err, p.err) {
			continue
		}
		problem := &Problem{Type: p.kind, Title: p.title, Status: p.status, Detail: err.Error()}
		var invalid *ruqi.InvalidError
		if errors.As(err, &invalid) {
			problem.Errors = Faults(invalid.Faults)
		}
		return problem, true
	}
	return nil, false
}

// StatusProblem returns a problem that the status alone names.
func StatusProblem(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// Err returns the library's error that the problem stands for: it wraps the same
// sentinel as the one it was made from, and says the same. A problem that the library has no word
// for is returned as it is.
func (p *Problem) Err() error {
	switch p.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return p.InvalidError()
	}
	if p.Type == "urn:ruqi:invalid" {
		return p.InvalidError()
	}
	for _, known := range problems {
		if known.kind == p.Type {
			return &told{problem: p, sentinel: known.err}
		}
	}
	if p.Status == http.StatusServiceUnavailable {
		return &told{problem: p, sentinel: ruqi.ErrUnavailable}
	}
	return p
}

// told is an error that another process has worded.
type told struct {
	problem  *Problem
	sentinel error
}

func (t *told) Error() string { return t.problem.Detail }

// Unwrap gives both: errors.Is finds the sentinel, errors.As the problem.
func (t *told) Unwrap() []error { return []error{t.sentinel, t.problem} }
