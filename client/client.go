// Package client does with a Ruqi service over HTTP what a ruqi.Scheduler does with its
// store: it satisfies ruqi.Operations, with the same answers and the same errors.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

// ErrUnreachable: no service answered at the address. It may be down, or the address wrong.
var ErrUnreachable = errors.New("server is unreachable")

// ErrDenied: the service does not let this token do it.
var ErrDenied = errors.New("not allowed")

// Options tune a Client. The zero value is ready for use.
type Options struct {
	// HTTP sends the requests. Nil: a client of its own with limits on connecting. Whichever it is, a service that says nothing for
	// 30 s counts as unreachable, but for one whose output is followed.
	HTTP *http.Client
	// Agent names the program in the User-Agent header. Empty: "ruqi-client".
	Agent string
}

// A Client speaks with one service. Its methods may be called by many goroutines.
type Client struct {
	base     string
	token    string
	registry *ruqi.Registry
	http     *http.Client
	agent    string
}

var _ ruqi.Operations = (*Client)(nil)

const (
	connectTimeout = 5 * time.Second // a service on another continent answers in a tenth
	maxAnswer      = 256 << 20       // bytes: a page of 1,000 of the largest jobs there may be
	modifyTries    = 8               // rounds of get, change, put before a busy job is given up
)

// New returns a client of the service at baseURL, for example "http://127.0.0.1:8585". The
// registry reads the jobs' triggers and tasks; kinds that it does not know are passed on unread. It does
// not connect yet; the error is an *InvalidError for an address that is none.
func New(baseURL, token string, registry *ruqi.Registry, options Options) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, ruqi.Invalid("/server", "", "not an address such as http://127.0.0.1:8585")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, ruqi.Invalid("/token", "", "a token has neither blanks nor control characters")
	}
	if options.HTTP == nil {
		options.HTTP = &http.Client{
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
				TLSHandshakeTimeout: connectTimeout,
				TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
				MaxIdleConnsPerHost: 8, // enough for a program's few goroutines
				IdleConnTimeout:     90 * time.Second,
			},
			// A token goes to the address it was given for and to no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if options.Agent == "" {
		options.Agent = "ruqi-client"
	}
	return &Client{
		base: strings.TrimSuffix(u.String(), "/") + "/api/v1", token: token,
		registry: registry, http: options.HTTP, agent: options.Agent,
	}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one request to the service.
type request struct {
	method string
	path   string
	query  url.Values
	body   any // encoded as JSON; nil: none
	header http.Header
	follow bool // once it has begun, the answer may take for ever
}

// send sends a request and returns an answer of the status 2xx, whose body is the
// caller's to close.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	watched, watch := newWatch(ctx, r)
	req, err := http.NewRequestWithContext(watched, r.method, address, body)
	if err != nil {
		watch.end()
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = watch.tell(err)
		watch.end()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var failed *url.Error // its text holds the whole address; ours is shorter
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && isOurs(resp) {
		resp.Body = watch.body(resp.Body, r.follow)
		return resp, nil
	}
	resp.Body = watch.body(resp.Body, false)
	defer func() { _ = resp.Body.Close() }()
	return nil, failure(resp)
}

// do sends a request and decodes the answer into out.
func (c *Client) do(ctx context.Context, r request, out any) (*http.Response, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil || resp.StatusCode == http.StatusNoContent {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection is used again
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("answer of %s %s is not what a Ruqi service answers: %w", r.method, r.path, err)
	}
	return resp, nil
}

// failure turns an answer that is no success, or not a service's, into the library's error.
func failure(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what can be read of a problem is enough
	problem := &wire.Problem{}
	if err := json.Unmarshal(text, problem); err != nil || problem.Status == 0 || problem.Type == "" {
		problem = wire.StatusProblem(resp.StatusCode, "the server answered "+resp.Status)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden: // a proxy on the way may ask for a token, too
		return fmt.Errorf("%w: %w", ErrDenied, problem)
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout, code >= 520: // from 520 on, proxies say in their own ways that the service does not answer
		return fmt.Errorf("%w: %w", ErrUnreachable, problem)
	}
	ours := isOurs(resp) || strings.HasPrefix(problem.Type, "urn:ruqi:") // also where a proxy drops headers that it does not know
	// A job or run that is not there is told by a type of its own.
	if lost := resp.StatusCode == http.StatusNotFound && problem.Type == "about:blank"; lost || !ours && !fromTheWay(resp.StatusCode) {
		return fmt.Errorf("%w: %w", ErrUnreachable, newElsewhere(resp, ours))
	}
	return problem.Err()
}

// isOurs reports whether it is a Ruqi service that answers.
func isOurs(resp *http.Response) bool { return resp.Header.Get(wire.APIHeader) != "" }

// fromTheWay reports whether a status may be that of a proxy before a service, or of the HTTP server that the service stands on: too much
// was sent, or too often, or something broke.
func fromTheWay(status int) bool {
	switch status {
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusTooManyRequests,
		http.StatusRequestHeaderFieldsTooLarge:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented // which is of servers that have no such method
}

// An elsewhere is the answer of what is not a Ruqi service's API, and will not become one.
type elsewhere struct {
	address, said string
	ours          bool // a service, at another address than was asked
}

func newElsewhere(resp *http.Response, ours bool) *elsewhere {
	said := resp.Status
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		said += ", to " + to
	}
	return &elsewhere{resp.Request.URL.Scheme + "://" + resp.Request.URL.Host + resp.Request.URL.Path, said, ours}
}

func (e *elsewhere) Error() string {
	const root = "the address is not that of its root, such as http://127.0.0.1:8585"
	if e.ours {
		return fmt.Sprintf("the service that answers at %s has no such path: %s, or its release is older than this program", e.address, root)
	}
	return fmt.Sprintf("what answers at %s (%s) is no Ruqi service, or %s", e.address, e.said, root)
}

// item returns the path and the query of a job's or run's route. Plain ids stand in the path; others go
// into the query, since proxies on the way read slashes and dots in a path as they like.
func item(list, id, verb string) (path string, query url.Values) {
	plain := id != "" && strings.Trim(id, ".-") != ""
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.') {
			plain = false
		}
	}
	if verb != "" {
		verb = "/" + verb
	}
	if plain {
		return list + "/" + id + verb, url.Values{}
	}
	return list + "/-" + verb, url.Values{"id": {id}}
}

func jobRequest(method, id, verb string) request {
	path, query := item("/jobs", id, verb)
	return request{method: method, path: path, query: query}
}

func runRequest(method string, id int64, verb string) request {
	path, query := item("/runs", strconv.FormatInt(id, 10), verb)
	return request{method: method, path: path, query: query}
}
