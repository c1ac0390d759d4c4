package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

const (
	// maxAnswer bounds what is read of an answer: eight times what is kept of an output.
	maxAnswer = 8 << 20
	// maxHead bounds the head of an answer, in bytes: servers send 8 KiB to 16 KiB at most.
	maxHead = 256 << 10
	// maxRedirects is how many redirects are followed.
	maxRedirects = 5
	// defaultPerHost is how many requests one host gets at once from this process.
	defaultPerHost = 16
)

// Options say where webhooks may go. The zero value is for programs whose jobs are their own: loopback and private addresses may
// be reached.
type Options struct {
	// Guarded refuses loopback and private addresses, but for those in Allow.
	Guarded bool
	// Allow are networks that may be reached all the same. Link-local addresses and multicast may not.
	Allow []netip.Prefix
	// Proxy sends requests by way of the proxies that HTTP_PROXY and its kin name. The proxy then decides what may be reached.
	Proxy bool
	// PerHost bounds the requests that one host gets at the same time; others wait, within their run's time. 0: 16.
	PerHost int
	// Release is told to the target in User-Agent. Empty: "dev".
	Release string
	// Resolver looks names up. Nil: the system's.
	Resolver *net.Resolver
}

// An Executor sends requests. Its methods may be called by many goroutines.
type Executor struct {
	guarded  bool
	allow    []netip.Prefix
	resolver *net.Resolver
	agent    string
	client   *http.Client

	perHost int
	mu      sync.Mutex // guards hosts
	hosts   map[string]*host
}

// A host counts the requests that go to it.
type host struct {
	slots chan struct{}
	users int // who holds or waits for a slot
}

var _ ruqi.Vetter = (*Executor)(nil)

// New returns an executor.
func New(options Options) *Executor {
	e := &Executor{
		guarded: options.Guarded, allow: options.Allow, resolver: options.Resolver, perHost: options.PerHost,
		agent: "ruqi/dev", hosts: map[string]*host{},
	}
	if options.Release != "" {
		e.agent = "ruqi/" + options.Release
	}
	if e.perHost <= 0 {
		e.perHost = defaultPerHost
	}
	transport := &http.Transport{
		DialContext: e.dialer(), ForceAttemptHTTP2: true, TLSHandshakeTimeout: connectTime,
		MaxResponseHeaderBytes: maxHead, MaxIdleConns: 100, MaxIdleConnsPerHost: e.perHost, IdleConnTimeout: 60 * time.Second,
	}
	if options.Proxy {
		transport.Proxy = http.ProxyFromEnvironment
	}
	e.client = &http.Client{Transport: transport, CheckRedirect: redirect}
	return e
}

// Register adds New(options) to the registry. It panics if the kind "webhook" is taken.
func Register(registry *ruqi.Registry, options Options) { registry.RegisterExecutor(New(options)) }

// Kind returns "webhook".
func (e *Executor) Kind() string { return kind }

// Pool returns "default": a request waits, and takes no CPU meanwhile.
func (e *Executor) Pool() string { return "default" }

// Needs returns "webhook".
func (e *Executor) Needs() []string { return []string{kind} }

// Decode reads a task, wherever it leads: what one instance has stored, another that may not reach it can read and show. Its error is an
// *ruqi.InvalidError with every fault.
func (e *Executor) Decode(data []byte) (ruqi.Task, error) {
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		faults.Add("", string(data), "%v", err)
		return nil, faults.Err()
	}
	o.Kind(kind)
	var t Task
	var ok bool
	t.method, _ = o.Text("method")
	if t.url, ok = o.Text("url"); !ok && o.Has("url") {
		t.url = "http://x" // it has its fault already
	}
	t.headers, _ = o.TextMap("headers")
	t.body, _ = o.Raw("body")
	if t.call, ok = o.Text("call"); !ok && o.Has("call") {
		t.url = "http://x" // as above
	} else if t.call != "" && (t.url != "" || len(t.body) > 0) {
		faults.Add("/call", "", "give either a call or url and body")
		t.call, t.url = "", "http://x"
	}
	t.expect, _ = o.Text("expect")
	t.answer, _ = o.Text("answer")
	faults.Merge("", t.checked().err)
	o.Done("kind", "method", "url", "call", "headers", "body", "expect", "answer")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &t, nil
}

// taskKey is under which a request's context has its task, for redirects.
type taskKey struct{}

// redirect is asked before each redirect is followed. What goes to another host, or from https to http, goes without the task's headers,
// and does not go at all with a body.
func redirect(next *http.Request, via []*http.Request) error {
	task, _ := next.Context().Value(taskKey{}).(*Task)
	if task == nil || next.Response != nil && task.expects(next.Response.StatusCode) {
		return http.ErrUseLastResponse // the redirect itself is what the task is after
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if next.URL.Scheme != "http" && next.URL.Scheme != "https" {
		return fmt.Errorf("redirect to %s, which is neither http nor https", next.URL.Scheme)
	}
	first, foreign := via[0].URL, false
	for _, u := range append(urls(via[1:]), next.URL) { // once away, what comes back comes from elsewhere
		foreign = foreign || u.Host != first.Host || first.Scheme == "https" && u.Scheme != "https"
	}
	if foreign {
		if next.Body != nil && next.Body != http.NoBody {
			return fmt.Errorf("redirect to another host, or from https to http, which would get the body (status %d)", next.Response.StatusCode)
		}
		for name := range task.headers {
			next.Header.Del(name)
		}
		next.Host = ""
	}
	next.Header.Del("Referer") // a url may hold secrets
	return nil
}

func urls(requests []*http.Request) []*url.URL {
	list := make([]*url.URL, len(requests))
	for i, r := range requests {
		list[i] = r.URL
	}
	return list
}

// Execute sends the request and reads the answer; see the package's comment. The text of an error holds neither headers nor
// body, and of the url what Task.String shows.
func (e *Executor) Execute(ctx context.Context, task ruqi.Task, execution ruqi.Execution) ruqi.Result {
	t, ok := task.(*Task)
	switch {
	case !ok:
		return ruqi.Result{Err: fmt.Errorf("a task of kind %q is no webhook", task.Kind())}
	case t.err != nil:
		return ruqi.Result{Err: fmt.Errorf("not sent: %w", t.err)}
	case ctx.Err() != nil:
		return ruqi.Result{Err: context.Cause(ctx)}
	}
	request, err := e.request(ctx, t, execution.Run)
	if err != nil {
		return ruqi.Result{Err: fmt.Errorf("not sent: %w", err)}
	}
	release, err := e.enter(ctx, request.URL)
	if err != nil {
		return ruqi.Result{Err: err}
	}
	defer release()
	response, err := e.client.Do(request)
	if err != nil {
		return ruqi.Result{Err: explain(ctx, err)}
	}
	defer func() { _ = response.Body.Close() }() // it has only been read
	if response.StatusCode < http.StatusOK {     // its "body" is the connection, which does not hear when ctx ends
		return ruqi.Result{Err: fmt.Errorf("status %s, expected %s", statusText(response.StatusCode), t.expect)}
	}
	output, check := execution.Output, (*jsonCheck)(nil)
	if t.answer == answerJSON {
		check = &jsonCheck{}
		output = io.MultiWriter(execution.Output, check)
	}
	n, err := io.Copy(output, io.LimitReader(response.Body, maxAnswer+1))
	result := ruqi.Result{ByItself: err == nil} // the answer is all there
	if n > maxAnswer {
		result.Note = "the answer is longer than 8 MiB; its rest was not read"
	}
	switch {
	case !t.expects(response.StatusCode):
		result.Err = fmt.Errorf("status %s, expected %s", statusText(response.StatusCode), t.expect)
	case err != nil:
		result.Err = fmt.Errorf("status %s, but the answer broke off: %w", statusText(response.StatusCode), explain(ctx, err))
	case check != nil && !check.valid():
		result.Err = fmt.Errorf("status %s, but the answer is no JSON", statusText(response.StatusCode))
	}
	return result
}

// A jsonCheck keeps what is written to it, to see whether it is JSON.
type jsonCheck struct{ bytes.Buffer }

// valid reports whether all of it is one value of JSON. What was not read to its end is not.
func (c *jsonCheck) valid() bool { return c.Len() <= maxAnswer && json.Valid(c.Bytes()) }

// statusText names a status in the words of the standard: what the target says may be anything.
func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// request makes the request of a run.
func (e *Executor) request(ctx context.Context, t *Task, run *ruqi.Run) (*http.Request, error) {
	body, contentType, err := t.render(run.Params)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(context.WithValue(ctx, taskKey{}, t), t.method, t.url, reader)
	if err != nil {
		return nil, errors.New("the url cannot be used")
	}
	h := request.Header
	h.Set("User-Agent", e.agent)
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	for name, value := range t.headers {
		if name == "Host" {
			request.Host = value
		} else {
			h.Set(name, value)
		}
	}
	h.Set("Ruqi-Job-Id", url.PathEscape(run.JobID))
	h.Set("Ruqi-Run-Id", strconv.FormatInt(run.ID, 10))
	h.Set("Ruqi-Attempt", strconv.Itoa(run.Attempt))
	h.Set("Ruqi-Nominal-Time", run.Nominal.UTC().Format(time.RFC3339Nano))
	return request, nil
}

// enter waits until the url's host has a slot free.
func (e *Executor) enter(ctx context.Context, u *url.URL) (release func(), err error) {
	name := strings.ToLower(u.Host)
	e.mu.Lock()
	h := e.hosts[name]
	if h == nil {
		h = &host{slots: make(chan struct{}, e.perHost)}
		e.hosts[name] = h
	}
	h.users++
	e.mu.Unlock()
	leave := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(e.hosts, name)
		}
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// explain says in a few words why a request got no answer, without the url, which may hold secrets.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	for _, secret := range []string{"failed to parse Location header", "invalid proxy address"} { // they repeat what may be secret
		if strings.Contains(err.Error(), secret) {
			return errors.New(secret)
		}
	}
	var network *net.OpError
	if errors.As(err, &network) && errors.Is(err, errRefused) {
		return network.Err
	}
	return err
}
