package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/wire"
)

// open are the paths that need no token: they say no more than alive and ready.
var open = map[string]bool{"/healthz": true, "/readyz": true}

type bearerKey struct{}

// handler puts the guards before the routes: panics outermost, then what goes for every answer, then who
// asks, then whether the request can be read.
func (a *api) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		out := &recorder{ResponseWriter: w}
		defer func() {
			if cause := recover(); cause != nil {
				if cause == http.ErrAbortHandler {
					panic(cause) // the way to break off an answer, not a fault
				}
				a.Logger.ErrorContext(r.Context(), "request panicked", "method", r.Method, "panic", cause, "stack", string(debug.Stack()))
				if out.status == 0 {
					writeProblem(out, wire.StatusProblem(http.StatusInternalServerError, "internal error; the service's log says more"))
				}
			}
			// Neither path nor query: what a client puts there by mistake may be secret.
			a.Logger.DebugContext(r.Context(), "request served", "method", r.Method, "route", r.Pattern, "status", out.status, "took", time.Since(begin))
		}()
		h := out.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set(wire.APIHeader, wire.APIVersion)
		if a.legacy != nil && legacy.Serves(r.URL.Path) { // it has doors and words of its own, and asks for the same tokens
			a.legacy.ServeHTTP(out, r)
			return
		}
		if !open[r.URL.Path] {
			name, ok := a.tokens.bearer(r.Context(), r.Header.Values("Authorization"))
			if !ok {
				challenge := `Bearer realm="ruqi"`
				if r.Header.Get("Authorization") != "" {
					challenge += `, error="invalid_token"`
				}
				h.Set("WWW-Authenticate", challenge)
				writeProblem(out, wire.StatusProblem(http.StatusUnauthorized, "a valid token is needed: Authorization: Bearer TOKEN"))
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), bearerKey{}, name))
		}
		if problem := readable(r); problem != nil {
			writeProblem(out, problem)
			return
		}
		// Several headers mean what one list does.
		if tags := r.Header["If-Match"]; len(tags) > 1 {
			r.Header.Set("If-Match", strings.Join(tags, ", "))
		}
		a.routes.ServeHTTP(out, r)
	})
}

// bearerName returns who asks.
func bearerName(ctx context.Context) string {
	name, _ := ctx.Value(bearerKey{}).(string)
	return name
}

// readable refuses what no route could read: a query that is not one, texts that are not UTF-8 or hold a
// NUL (some stores cannot keep it), and bodies that say they are not JSON.
func readable(r *http.Request) *wire.Problem {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wire.StatusProblem(http.StatusBadRequest, "the query cannot be read: "+err.Error())
	}
	if !isClean(r.URL.EscapedPath()) {
		return noSuchPath() // the mux would lead to another path, with a page of its own
	}
	texts := []string{r.URL.Path}
	for name, values := range query {
		texts = append(append(texts, name), values...)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return wire.StatusProblem(http.StatusBadRequest, "path and query must be UTF-8 without NUL")
		}
	}
	if r.ContentLength != 0 && !saysJSON(r.Header.Get("Content-Type")) {
		return wire.StatusProblem(http.StatusUnsupportedMediaType, "the body must be application/json")
	}
	if r.ContentLength > maxBody {
		return wire.StatusProblem(http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB")
	}
	return nil
}

// isClean reports whether a path is one that the mux takes as it is.
func isClean(escaped string) bool {
	clean := path.Clean("/" + escaped)
	return escaped == clean || escaped == clean+"/"
}

// saysJSON reports whether a body that is called so may be JSON. What curl and others call a body when they
// are not told is let through: without cookies, no page of another site can send one with rights.
func saysJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "", "application/json", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasSuffix(kind, "+json")
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader notes the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write notes the status that writing implies.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}
