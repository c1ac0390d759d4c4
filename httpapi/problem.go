package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/text"
	"github.com/ruqi-dev/ruqi/wire"
)

// failure is an error whose answer is known. Its methods are those by which huma
// finds status, headers and content type.
type failure struct{ problem *wire.Problem }

// malformed is a request that cannot be understood: its query, path or headers.
func malformed(pointer, value, message string) *failure {
	problem := wire.StatusProblem(http.StatusBadRequest, strings.TrimPrefix(pointer, "/")+": "+message)
	problem.Errors = []wire.Fault{{Pointer: pointer, Message: message, Value: value}}
	return &failure{problem: problem}
}

func (f *failure) Error() string             { return f.problem.Detail }
func (f *failure) GetStatus() int            { return f.problem.Status }
func (f *failure) ContentType(string) string { return wire.ProblemType }

// GetHeaders tells a client of a store that is away when to ask again.
func (f *failure) GetHeaders() http.Header {
	if f.problem.Status == http.StatusServiceUnavailable {
		return http.Header{"Retry-After": {"1"}} // seconds; the engine retries its store as often
	}
	return nil
}

// humaContext gives the embedded interface a name that does not hide its method Context.
type humaContext = huma.Context

// answer lets tellProblem have the last word on an answer's status.
type answer struct {
	humaContext
	status int
}

// Unwrap returns the context beneath, for those who look for the adapter's own.
func (c *answer) Unwrap() huma.Context { return c.humaContext }

// SetStatus writes the status, or the one that was decided on instead.
func (c *answer) SetStatus(status int) {
	if c.status != 0 {
		status = c.status
	}
	c.humaContext.SetStatus(status)
}

// tellProblem gives every failure, huma's own too, the shape of a problem. Huma calls a wrong query 422;
// to us it is a malformed request, 400: 422 is kept for bodies that can be read and are wrong.
func (a *api) tellProblem(ctx huma.Context, _ string, value any) (any, error) {
	switch v := value.(type) {
	case *failure:
		return v.problem, nil
	case *huma.ErrorModel:
		status := v.Status
		problem := wire.StatusProblem(status, v.Detail)
		for _, e := range v.Errors {
			fault := wire.Fault{Pointer: pointer(e.Location), Message: e.Message}
			if wanted := wanted(ctx.Operation(), e.Location, fmt.Sprint(e.Value)); wanted != "" {
				fault.Message = wanted
			} else if name, isQuery := strings.CutPrefix(e.Location, "query."); isQuery {
				fault.Message += object.DidYouMean(name, unlike(ctx.Operation(), name)...)
			}
			if e.Value != nil {
				fault.Value = cut(fmt.Sprint(e.Value))
			}
			problem.Errors = append(problem.Errors, fault)
		}
		if status == http.StatusUnprocessableEntity {
			problem.Status, problem.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
			problem.Detail = faultText(problem.Errors)
			if c, ok := ctx.(*answer); ok {
				c.status = http.StatusBadRequest
			}
		}
		return problem, nil
	}
	return value, nil
}

// unlike returns the names of the query's parameters; none where the name is one of them, whose value is wrong.
func unlike(op *huma.Operation, name string) (names []string) {
	for _, p := range op.Parameters {
		switch {
		case p.In != "query":
		case p.Name == name:
			return nil
		default:
			names = append(names, p.Name)
		}
	}
	return names
}

// wanted says in this API's words what the parameter at a place takes in the place of a value; empty for what is no parameter.
func wanted(op *huma.Operation, place, value string) string {
	place, _, _ = strings.Cut(place, "[")
	for _, p := range op.Parameters {
		if p.In+"."+p.Name != place || p.Schema == nil {
			continue
		}
		schema := p.Schema
		if schema.Items != nil {
			schema = schema.Items
		}
		switch {
		case len(schema.Enum) > 0:
			words := make([]string, 0, len(schema.Enum))
			for _, word := range schema.Enum {
				words = append(words, fmt.Sprint(word))
			}
			return "unknown word; " + wire.Instead(value, words...)
		case schema.Type == huma.TypeBoolean:
			return wire.Accepted("true", "false")
		case schema.Type == huma.TypeInteger && schema.Minimum != nil && schema.Maximum != nil:
			return fmt.Sprintf("not a whole number from %v to %v", *schema.Minimum, int64(*schema.Maximum))
		case schema.Type == huma.TypeInteger && schema.Minimum != nil:
			return fmt.Sprintf("not a whole number from %v up", *schema.Minimum)
		case schema.Type == huma.TypeInteger:
			return "not a whole number"
		}
	}
	return ""
}

// refuseRepeated refuses a query that gives one thing two values, of which huma would take the first.
func refuseRepeated(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	query := r.URL.Query()
	for _, p := range ctx.Operation().Parameters {
		list := p.Schema != nil && p.Schema.Type == huma.TypeArray && p.Explode != nil && *p.Explode
		if n := len(query[p.Name]); p.In == "query" && n > 1 && !list {
			writeProblem(w, malformed(object.Pointer(p.Name), "", fmt.Sprintf("given %d times", n)).problem)
			return
		}
	}
	next(ctx)
}

// pointer turns huma's place ("query.limit") into a pointer ("/limit").
func pointer(place string) string {
	_, names, found := strings.Cut(place, ".")
	if !found {
		return ""
	}
	return object.Pointer(strings.FieldsFunc(names, func(r rune) bool { return r == '[' || r == ']' })...)
}

func faultText(faults []wire.Fault) string {
	parts := make([]string, 0, len(faults))
	for _, f := range faults {
		parts = append(parts, strings.TrimPrefix(f.Pointer, "/")+": "+f.Message)
	}
	return strings.Join(parts, "; ")
}

// cut bounds a wrong value that is shown.
func cut(value string) string {
	const most = 200 // bytes, as in ruqi.Invalid
	return text.Cut(value, most)
}

// writeProblem answers where huma does not: before a route is found.
func writeProblem(w http.ResponseWriter, problem *wire.Problem) {
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem) // the client has gone, or reads it
}

func (a *api) problemResponse() *huma.Response {
	return &huma.Response{
		Description: "What went wrong.",
		Content:     map[string]*huma.MediaType{wire.ProblemType: {Schema: a.schema(wire.Problem{})}},
	}
}
