package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// params are the parameters of a request: the query's, and over them the members of a POST's body.
type params struct {
	texts map[string]string
	odd   map[string]bool // names whose values are neither texts nor numbers
}

// readParams reads what was sent, whatever its Content-Type says. A number is taken as it is written, null counts as not given.
func readParams(w http.ResponseWriter, r *http.Request, most int64) (*params, error) {
	p := &params{texts: map[string]string{}, odd: map[string]bool{}}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badParam("query", "cannot be read")
	}
	for name, values := range query {
		if len(values) > 1 {
			return nil, badParam(name, "given %d times", len(values))
		}
		p.texts[name] = values[0]
	}
	if r.Method == http.MethodPost {
		if err := p.readBody(http.MaxBytesReader(w, r.Body, most)); err != nil {
			return nil, err
		}
	}
	for name, text := range p.texts {
		if !utf8.ValidString(name) || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, badParam(name, "not UTF-8, or with a NUL")
		}
	}
	return p, nil
}

func (p *params) readBody(body io.Reader) error {
	data, err := io.ReadAll(body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &fault{status: http.StatusRequestEntityTooLarge, stat: statFailed, reason: "Request Entity Too Large", detail: "at most " + strconv.FormatInt(large.Limit, 10) + " bytes"}
	case err != nil:
		return badParam("body", "cannot be read")
	case len(bytes.TrimSpace(data)) == 0:
		return nil
	}
	var twice []string
	o, err := object.Read(data, func(pointer, _, _ string, _ ...any) { twice = append(twice, pointer) })
	switch {
	case err != nil:
		return badParam("body", "%v", err)
	case len(twice) > 0:
		return badParam(strings.TrimPrefix(twice[0], "/"), "given twice")
	}
	for _, m := range o.Members() {
		switch c := m.Value[0]; {
		case c == '"':
			var text string
			if err := json.Unmarshal(m.Value, &text); err != nil {
				return badParam(m.Name, "not a text")
			}
			p.texts[m.Name] = text
		case c == '-' || '0' <= c && c <= '9':
			p.texts[m.Name] = string(m.Value)
		case c != 'n':
			p.odd[m.Name] = true
		}
	}
	return nil
}

// check holds what was given against what the route takes.
func (p *params) check(route route) error {
	known := slices.Concat(route.required, route.optional)
	for _, name := range route.required {
		if p.texts[name] == "" && !p.odd[name] {
			return badParam(name, "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.odd)) {
		if slices.Contains(known, name) {
			return badParam(name, "neither a text nor a number")
		}
		if !route.tolerant {
			return badParam(name, "is unknown")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.texts)) {
		if !slices.Contains(known, name) && !route.tolerant {
			return badParam(name, "is unknown")
		}
	}
	return nil
}

// text returns a parameter; empty: it was not given.
func (p *params) text(name string) string { return p.texts[name] }

// defaultSize is how many rows a page has.
const defaultSize = 15

// page returns which page is asked for, its size capped at what the lists of all clients are capped at. all: every row is.
func (p *params) page() (offset, size int, all bool, err error) {
	size, given, err := p.whole("page_size")
	switch {
	case err != nil:
		return 0, 0, false, err
	case !given:
		size = defaultSize
	case size == 0:
		return 0, 0, false, badParam("page_size", "is 0")
	}
	index, given, err := p.whole("page_index")
	if err != nil || !given {
		return 0, 0, !given, err
	}
	size = min(size, ruqi.MaxPage)
	// 2^31 rows are more than any list has, and fit an int on every machine.
	return int(min(int64(max(index, 1)-1)*int64(size), 1<<31-1)), size, false, nil
}

// whole reads a number that is not negative; one that is too large to be kept is as good as the largest.
func (p *params) whole(name string) (n int, given bool, err error) {
	text := strings.TrimSpace(p.texts[name])
	if text == "" {
		return 0, false, nil
	}
	digits := strings.TrimPrefix(text, "+")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false, badParam(name, "not a whole number from 0 up")
	}
	wide, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		wide = 1<<31 - 1 // it has digits only: it is out of range
	}
	return int(wide), true, nil
}
