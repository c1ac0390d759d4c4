package webhook

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// Bounds of a task.
const (
	// MostBody bounds the body, and all headers together, in bytes.
	MostBody = 64 << 10
	// MostHeaders bounds the headers.
	MostHeaders = 64
	// mostURL is what servers and proxies commonly take (RFC 9110, section 4.1, asks for 8,000 at least).
	mostURL = 8000
)

const (
	kind          = "webhook"
	defaultMethod = "POST"
	defaultExpect = "2xx"
)

// A Task is one HTTP request. It is immutable; the With methods return changed copies.
type Task struct {
	method  string
	url     string
	headers map[string]string // by canonical name
	body    json.RawMessage   // nil: none
	expect  string
	want    []statuses
	err     error // of checked
}

var _ ruqi.Task = (*Task)(nil)

// Request returns a task that sends a request without a body. Empty, the method is POST.
func Request(method, url string) *Task {
	return (&Task{method: method, url: url}).checked()
}

// WithHeader returns the task with one more header, in place of one of the same name.
func (t *Task) WithHeader(name, value string) *Task {
	c := *t
	c.headers = maps.Clone(t.headers)
	if c.headers == nil {
		c.headers = map[string]string{}
	}
	c.headers[name] = value
	return c.checked()
}

// WithJSON returns the task with a body; a text among them is sent as text/plain.
func (t *Task) WithJSON(body json.RawMessage) *Task {
	c := *t
	c.body = bytes.Clone(body)
	return c.checked()
}

// WithExpect returns the task with the statuses that count as success: "2xx", "200,304", "200-204". Empty: 2xx.
func (t *Task) WithExpect(expect string) *Task {
	c := *t
	c.expect = expect
	return c.checked()
}

// Err returns what is wrong with the task: an *ruqi.InvalidError with every fault; nil when nothing is.
func (t *Task) Err() error { return t.err }

// Kind returns "webhook".
func (t *Task) Kind() string { return kind }

// Needs returns "webhook".
func (t *Task) Needs() string { return kind }

// String returns method and url. Of the url, user, password and query are left out, as headers and body are: secrets belong
// there, and not into the path, which is shown.
func (t *Task) String() string {
	u, err := url.Parse(t.url)
	if err != nil {
		return t.method
	}
	query := ""
	if u.RawQuery != "" {
		query = "?…"
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return t.method + " " + u.String() + query
}

// document is the JSON of a task; what is default is left out.
type document struct {
	Kind    string            `json:"kind"`
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Expect  string            `json:"expect,omitempty"`
}

// MarshalJSON returns the canonical JSON: what is default is left out, headers are in the order of their names. It
// returns Err if that is not nil.
func (t *Task) MarshalJSON() ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	d := document{Kind: kind, URL: t.url, Headers: t.headers, Body: t.body}
	if t.method != defaultMethod {
		d.Method = t.method
	}
	if t.expect != defaultExpect {
		d.Expect = t.expect
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // & is common in urls
	err := enc.Encode(d)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// reserved are headers that belong to the request itself, not to what it says.
var reserved = []string{"Connection", "Content-Length", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// checked fills in what is open and notes in err what is wrong.
func (t *Task) checked() *Task {
	var faults ruqi.Faults
	if t.method == "" {
		t.method = defaultMethod
	}
	if t.expect == "" {
		t.expect = defaultExpect
	}
	if !httpguts.ValidHeaderFieldName(t.method) || t.method != strings.ToUpper(t.method) {
		faults.Add("/method", t.method, "not a method such as GET or POST")
	} else if t.method == "CONNECT" || t.method == "TRACE" {
		faults.Add("/method", t.method, "is not for webhooks")
	}
	checkURL(&faults, t.url)
	t.checkHeaders(&faults)
	t.checkBody(&faults)
	var err error
	if t.want, err = parseStatuses(t.expect); err != nil {
		faults.Add("/expect", t.expect, "%v", err)
	}
	t.err = faults.Err()
	return t
}

func checkURL(faults *ruqi.Faults, text string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		faults.Add("/url", "", "is missing")
	case len(text) > mostURL:
		faults.Add("/url", "", "%d bytes; at most %d", len(text), mostURL)
	case !utf8.ValidString(text):
		faults.Add("/url", "", "not valid UTF-8")
	case err != nil:
		faults.Add("/url", "", "cannot be read as a URL") // the driver's words repeat it, with what may be secret
	case u.Scheme != "http" && u.Scheme != "https":
		faults.Add("/url", "", "begins with neither http:// nor https://")
	case u.Hostname() == "":
		faults.Add("/url", "", "has no host")
	case u.Opaque != "":
		faults.Add("/url", "", "has no // after the scheme")
	}
}

func (t *Task) checkHeaders(faults *ruqi.Faults) {
	if len(t.headers) > MostHeaders {
		faults.Add("/headers", "", "%d headers; at most %d", len(t.headers), MostHeaders)
	}
	canonical := make(map[string]string, len(t.headers))
	total := 0
	for _, name := range slices.Sorted(maps.Keys(t.headers)) {
		pointer, value := object.Pointer("headers", name), t.headers[name]
		total += len(name) + len(value)
		proper := canonicalName(name)
		_, twice := canonical[proper]
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			faults.Add(pointer, name, "not a name of a header")
		case !httpguts.ValidHeaderFieldValue(value):
			faults.Add(pointer, "", "holds what a header cannot, such as a line break")
		case slices.Contains(reserved, proper) || strings.HasPrefix(proper, "Ruqi-"):
			faults.Add(pointer, name, "is set by the service itself")
		case twice:
			faults.Add(pointer, name, "stands twice, in different letters")
		}
		canonical[proper] = value
	}
	if total > MostBody {
		faults.Add("/headers", "", "%d bytes in all; at most %d", total, MostBody)
	}
	if len(canonical) == 0 {
		canonical = nil
	}
	t.headers = canonical
}

func (t *Task) checkBody(faults *ruqi.Faults) {
	if len(t.body) == 0 || string(t.body) == "null" {
		t.body = nil
		return
	}
	if len(t.body) > MostBody {
		faults.Add("/body", "", "%d bytes; at most %d", len(t.body), MostBody)
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, t.body); err != nil {
		faults.Add("/body", "", "not JSON")
		return
	}
	t.body = compact.Bytes()
	if err := object.Check(t.body, func(below, value, format string, args ...any) { faults.Add("/body"+below, value, format, args...) }); err != nil {
		faults.Add("/body", "", "%v", err)
	}
}
