package wire

import (
	"strings"

	"github.com/ruqi-dev/ruqi"
)

// ProblemType is the content type of a Problem.
const ProblemType = "application/problem+json"

// A Problem says why a request failed (RFC 9457).
type Problem struct {
	Type   string  `json:"type" doc:"Which kind of failure, for programs: about:blank, or one of the names below /problems/."`
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

// Pointer returns the JSON pointer (RFC 6901) of a path of names.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}
