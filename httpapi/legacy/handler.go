package legacy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// Settings are what an operator says of old clients. The zero value lets nobody in without a token.
type Settings struct {
	// Open are the networks whose addresses need no token. The address is that of the TCP connection; what a header says of another
	// one does not count.
	Open []netip.Prefix
	// Hosts are the names by which clients without a token may call the service, beside addresses and localhost; see docs/legacy-api.md
	// for why there is a list.
	Hosts []string
	// ChangeByGet lets GET change things, too.
	ChangeByGet bool
	// Programs may start a script beside python, python3 and bash: exactly so written.
	Programs []string
}

// Options say what is served, and from what. All but the settings are required.
type Options struct {
	Settings
	Operations ruqi.Operations
	Registry   *ruqi.Registry
	// Bearer finds whose token an Authorization header holds; the one way to ask it, shared with the rest of the API.
	Bearer func(ctx context.Context, authorization []string) (name string, ok bool)
	// MaxBody is the largest body that is read, in bytes.
	MaxBody int64
	// Zone is where times are read and shown.
	Zone   *time.Location
	Logger *slog.Logger
	// Now is the clock of "now" in rules, and of what an answer cost.
	Now func() time.Time
}

// A Handler serves Prefix and everything below it.
type Handler struct{ Options }

// Prefix is the path below which the routes are.
const Prefix = "/ruqi"

// Serves reports whether a path is below Prefix.
func Serves(path string) bool { return path == Prefix || strings.HasPrefix(path, Prefix+"/") }

// New returns a handler.
func New(options Options) *Handler { return &Handler{options} }

// A route is what one path does.
type route struct {
	do func(h *Handler, ctx context.Context, p *params) (data any, err error)
	// changes: it changes something, and so is not for GET.
	changes bool
	// required and optional are the names of its parameters; others are refused unless it is tolerant.
	required, optional []string
	tolerant           bool
}

var (
	ofJob = []string{"job_id"}
	// whole is what makes a job, in the order in which it is judged.
	whole   = []string{"job_trigger", "job_id", "job_name", "cmd", "rule"}
	ofPages = []string{"job_id", "job_name", "page_index", "page_size"}
)

// routes are all there are, of both generations.
var routes = map[string]route{
	Prefix + "/get_jobs":         {do: (*Handler).jobs, optional: ofPages},
	Prefix + "/job_list":         {do: (*Handler).jobs, optional: ofPages},
	Prefix + "/get_job":          {do: (*Handler).job, required: ofJob},
	Prefix + "/job_show":         {do: (*Handler).job, required: ofJob},
	Prefix + "/add_job":          {do: (*Handler).add, changes: true, required: whole},
	Prefix + "/job_add":          {do: (*Handler).add, changes: true, required: whole},
	Prefix + "/modify_job":       {do: (*Handler).modify, changes: true, required: whole},
	Prefix + "/job_modify":       {do: (*Handler).modify, changes: true, required: whole, tolerant: true},
	Prefix + "/remove_job":       {do: (*Handler).remove, changes: true, required: ofJob},
	Prefix + "/job_remove":       {do: (*Handler).remove, changes: true, required: ofJob},
	Prefix + "/pause_job":        {do: (*Handler).pause, changes: true, required: ofJob},
	Prefix + "/job_pause":        {do: (*Handler).pause, changes: true, required: ofJob},
	Prefix + "/resume_job":       {do: (*Handler).resume, changes: true, required: ofJob},
	Prefix + "/job_resume":       {do: (*Handler).resume, changes: true, required: ofJob},
	Prefix + "/get_history":      {do: (*Handler).history, optional: ofPages},
	Prefix + "/job_history_list": {do: (*Handler).history, optional: append([]string{"is_success"}, ofPages...)},
	Prefix + "/status":           {do: (*Handler).status},
	Prefix + "/wakeup":           {do: (*Handler).wakeup, changes: true},
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{w: w, began: h.Now(), now: h.Now}
	a.id = strings.ToLower(rand.Text())
	defer func() {
		if cause := recover(); cause != nil {
			if cause == http.ErrAbortHandler {
				panic(cause) // the way to break off an answer, not a fault
			}
			h.Logger.ErrorContext(r.Context(), "request panicked", "request", a.id, "panic", cause, "stack", string(debug.Stack()))
			if a.begun {
				panic(http.ErrAbortHandler) // the reader must not take a part for the whole
			}
			a.fail(failed(statException, reasonException, ""))
		}
	}()
	route, known := routes[r.URL.Path]
	if known {
		r.Pattern = r.URL.Path // for the log: of what else is asked for, it is not told
	}
	if fault := h.admit(r, route.changes); fault != nil {
		a.fail(fault)
		return
	}
	if !known {
		a.head("API Not Found", "")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if fault := h.method(r, route.changes); fault != nil {
		a.fail(fault)
		return
	}
	data, err := h.run(r.Context(), w, r, route)
	if err != nil {
		fault := explain(err)
		if fault.stat == statException && r.Context().Err() == nil {
			h.Logger.ErrorContext(r.Context(), "request failed", "request", a.id, "route", r.Pattern, "error", err)
		}
		a.fail(fault)
		return
	}
	if rows, ok := data.(*rows); ok && rows.more != nil {
		if err := a.stream(rows); err != nil {
			if r.Context().Err() == nil {
				h.Logger.WarnContext(r.Context(), "list broken off", "request", a.id, "error", err)
			}
			panic(http.ErrAbortHandler) // the reader must not take a part for the whole
		}
		return
	}
	a.ok(data)
}

// method refuses methods that the route does not take.
func (h *Handler) method(r *http.Request, changes bool) *fault {
	switch {
	case r.Method == http.MethodPost:
		return nil
	case changes && !h.ChangeByGet:
		return &fault{status: http.StatusMethodNotAllowed, stat: statFailed, reason: "Method Not Allowed", detail: "this call takes POST; GET with ruqi serve --legacy-get", allow: "POST"}
	case r.Method == http.MethodGet:
		return nil
	}
	return &fault{status: http.StatusMethodNotAllowed, stat: statFailed, reason: "Method Not Allowed", detail: "this call takes GET and POST", allow: "GET, POST"}
}

func (h *Handler) run(ctx context.Context, w http.ResponseWriter, r *http.Request, route route) (any, error) {
	p, err := readParams(w, r, h.MaxBody)
	if err != nil {
		return nil, err
	}
	if err := p.check(route); err != nil {
		return nil, err
	}
	return route.do(h, ctx, p)
}

// An answer is written once.
type answer struct {
	w     http.ResponseWriter
	id    string
	began time.Time
	now   func() time.Time
	begun bool
}

// head sets the headers that every answer has.
func (a *answer) head(reason, detail string) {
	a.begun = true
	h := a.w.Header()
	h.Set("x-reqid", a.id)
	h.Set("x-cost", fmt.Sprintf("%.6f", max(a.now().Sub(a.began), 0).Seconds()))
	if reason != "" {
		h.Set("x-reason", line(reason))
	}
	if detail != "" {
		h.Set("x-detail", line(detail))
	}
}

func (a *answer) fail(f *fault) {
	if a.begun {
		return
	}
	a.head(f.reason, f.detail)
	header := a.w.Header()
	header.Set("Content-Type", "application/json")
	if f.allow != "" {
		header.Set("Allow", f.allow)
	}
	if f.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="ruqi"`)
	}
	a.w.WriteHeader(f.httpStatus())
	_ = json.NewEncoder(a.w).Encode(envelope{Stat: f.stat}) // the client has gone, or reads it
}

func (a *answer) ok(data any) {
	if list, isList := data.(*rows); isList {
		data = list.page()
	}
	text, err := json.Marshal(envelope{Stat: statOK, Data: data})
	if err != nil {
		panic(err) // shapes of this package that cannot be encoded
	}
	a.head("", "")
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = a.w.Write(append(text, '\n')) // a client that has gone needs no answer
}

// An envelope is the shape of every answer.
type envelope struct {
	Stat string `json:"stat"`
	Data any    `json:"data,omitempty"`
}
