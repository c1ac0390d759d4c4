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
	answerJSON    = "json"
	defaultMethod = "POST"
	defaultExpect = "2xx"
)

// A Task is one HTTP request. It is immutable; the With methods return changed copies.
type Task struct {
	method  string
	url     string
	headers map[string]string // by canonical name
	body    json.RawMessage   // nil: none
	call    string            // what url and body were given as; empty: each by itself
	expect  string
	answer  string // what the answer must be; empty: anything
	want    []statuses
	err     error // of checked
}

var _ ruqi.Task = (*Task)(nil)

// Request returns a task that sends a request without a body. Empty, the method is POST.
func Request(method, url string) *Task {
	return (&Task{method: method, url: url}).checked()
}

// Call returns a task that is given as one text, URL#JSON: a POST of the JSON to what stands before the first #, {} where nothing
// stands after it. The JSON is sent as it is written; params change nothing in it. The task is shown as the whole text.
func Call(text string) *Task {
	return (&Task{call: text}).checked()
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

// WithJSON returns the task with a body, in place of that of a call; a text among them is sent as text/plain.
func (t *Task) WithJSON(body json.RawMessage) *Task {
	c := *t
	c.call = ""
	c.body = bytes.Clone(body)
	return c.checked()
}

// WithExpect returns the task with the statuses that count as success: "2xx", "200,304", "200-204". Empty: 2xx.
func (t *Task) WithExpect(expect string) *Task {
	c := *t
	c.expect = expect
	return c.checked()
}

// WithJSONAnswer returns the task that has only succeeded when its answer is JSON, too.
func (t *Task) WithJSONAnswer() *Task {
	c := *t
	c.answer = answerJSON
	return c.checked()
}

// Err returns what is wrong with the task: an *ruqi.InvalidError with every fault; nil when nothing is.
func (t *Task) Err() error { return t.err }

// Kind returns "webhook".
func (t *Task) Kind() string { return kind }

// Needs returns "webhook".
func (t *Task) Needs() string { return kind }

// String returns method and url. Of the url, user, password and query are left out, as headers and body are: secrets belong
// there, and not into the path, which is shown. A call is shown as it is written, but for a password in its url.
func (t *Task) String() string {
	if t.call != "" {
		return t.Masked().(*Task).call
	}
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
	URL     string            `json:"url,omitempty"`
	Call    string            `json:"call,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Expect  string            `json:"expect,omitempty"`
	Answer  string            `json:"answer,omitempty"`
}

// MarshalJSON returns the canonical JSON: what is default is left out, headers are in the order of their names. It
// returns Err if that is not nil.
func (t *Task) MarshalJSON() ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	d := document{Kind: kind, URL: t.url, Headers: t.headers, Body: t.body, Answer: t.answer}
	if t.call != "" {
		d.URL, d.Body, d.Call = "", nil, t.call
	}
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
		faults.Add("/method", t.method, "not a method such as GET or POST%s", object.DidYouMean(t.method, methods...))
	} else if t.method == "CONNECT" || t.method == "TRACE" {
		faults.Add("/method", t.method, "is not for webhooks")
	}
	if t.call != "" {
		t.checkCall(&faults)
	} else {
		checkURL(&faults, "/url", t.url)
		t.checkBody(&faults)
	}
	t.checkHeaders(&faults)
	if t.answer != "" && t.answer != answerJSON {
		faults.Add("/answer", t.answer, "unknown word; accepted is json, or leave it out%s", object.DidYouMean(t.answer, "json"))
	}
	var err error
	if t.want, err = parseStatuses(t.expect); err != nil {
		faults.Add("/expect", t.expect, "%v", err)
	}
	t.err = faults.Err()
	return t
}

// checkCall takes the call apart.
func (t *Task) checkCall(faults *ruqi.Faults) {
	target, body, _ := strings.Cut(t.call, "#")
	if body = strings.Trim(body, " \t\r\n"); body == "" {
		body = "{}"
	}
	t.url, t.body = target, json.RawMessage(body)
	checkURL(faults, "/call", target)
	switch {
	case len(body) > MostBody:
		faults.Add("/call", "", "%d bytes after the #; at most %d", len(body), MostBody)
	case !utf8.ValidString(t.call) || strings.ContainsRune(t.call, 0):
		faults.Add("/call", "", "not UTF-8, or with a NUL")
	case !json.Valid(t.body):
		faults.Add("/call", "", "what stands after the # is not JSON")
	}
	if t.method != defaultMethod {
		faults.Add("/method", t.method, "a call is a POST; leave it out, or give url and body")
	}
}

func checkURL(faults *ruqi.Faults, pointer, text string) {
	u, err := url.Parse(text)
	wrong := func(format string, args ...any) { faults.Add(pointer, "", format, args...) }
	switch {
	case text == "":
		wrong("is missing")
	case len(text) > mostURL:
		wrong("%d bytes; at most %d", len(text), mostURL)
	case !utf8.ValidString(text):
		wrong("not valid UTF-8")
	case err != nil:
		wrong("cannot be read as a URL") // the driver's words repeat it, with what may be secret
	case u.Scheme != "http" && u.Scheme != "https":
		wrong("begins with neither http:// nor https://")
	case u.Hostname() == "":
		wrong("has no host")
	case u.Opaque != "":
		wrong("has no // after the scheme")
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
