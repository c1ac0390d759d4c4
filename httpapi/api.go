package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/wire"
)

// Options say what is served and to whom.
type Options struct {
	// Operations does what is asked; a *ruqi.Scheduler as a rule. Required.
	Operations ruqi.Operations
	// Instances lists the processes that share the store; a *ruqi.Scheduler as a rule. Required.
	Instances Instances
	// Ready says why the instance cannot do its work now, nil when it can; a Scheduler's Ready as a rule.
	// It is asked often. Required.
	Ready func(ctx context.Context) error
	// Registry reads triggers and tasks. Required.
	Registry *ruqi.Registry
	// Tokens are those who may at first. None: nobody.
	Tokens []Token
	// ReadTokens reads those who may now, since another service of the store may have replaced one. It is asked at most once a
	// second, and while somebody asks at least every five seconds. After an error those known stay. Nil: Tokens stay.
	ReadTokens func(ctx context.Context) ([]Token, error)
	// Legacy serves /ruqi/* for clients of the original service, too. Nil: it is not served.
	Legacy *legacy.Settings
	// Zone is where previewed triggers without a zone live: the scheduler's. Nil: UTC.
	Zone *time.Location
	// Release is shown in the OpenAPI document. Empty: "dev".
	Release string
	// Logger hears failures that callers are not told the cause of. Nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock of previews and of the rule "now" of /ruqi. Nil: time.Now.
	Now func() time.Time
}

// Instances lists the processes that share a store.
type Instances interface {
	Instances(ctx context.Context) (ruqi.InstanceList, error)
}

// What a request may take.
const (
	maxBody   = 1 << 20  // bytes; the largest job (params 64 KiB, texts 4 KiB, 128 labels and tags) fits ten times
	maxHeader = 64 << 10 // bytes; the longest id, percent-encoded, is 3 KiB

	headerTimeout = 10 * time.Second // a client that takes longer holds a connection for nothing
	readTimeout   = 30 * time.Second // 1 MiB at 35 KB/s
	writeTimeout  = 60 * time.Second // a page of 1,000 jobs to a slow line; streams set their own
	idleTimeout   = 2 * time.Minute  // above the 60 to 90 s that proxies keep a connection
)

type api struct {
	Options
	huma   huma.API
	routes *routes
	tokens *tokens
	legacy http.Handler // nil: none
}

// New returns the handler of all routes. It panics when a required option is missing:
// that is a mistake of the program, not of its user.
func New(options Options) http.Handler { return newAPI(options).handler() }

// NewServer returns a server for the handler with limits on what a client may hold up.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

func newAPI(options Options) *api {
	if options.Operations == nil || options.Instances == nil || options.Ready == nil || options.Registry == nil {
		panic("httpapi: Operations, Instances, Ready and Registry are required")
	}
	if options.Zone == nil {
		options.Zone = time.UTC
	}
	if options.Release == "" {
		options.Release = "dev"
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	a := &api{
		Options: options, routes: &routes{mux: http.NewServeMux(), methods: map[string][]string{}},
		tokens: &tokens{read: options.ReadTokens, logger: options.Logger, known: options.Tokens, asked: time.Now()},
	}
	if options.Legacy != nil {
		a.legacy = legacy.New(legacy.Options{
			Settings: *options.Legacy, Operations: options.Operations, Registry: options.Registry, Bearer: a.tokens.bearer, MaxBody: maxBody,
			Zone: options.Zone, Logger: options.Logger, Now: options.Now,
		})
	}
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Ruqi", Version: options.Release,
				Description: "Jobs, their triggers and their runs. Times are RFC 3339 with an offset, lengths of time texts such as 90s or 1h30m. " +
					"Every answer of a service, also one that refuses, has the header " + wire.APIHeader + ": " + wire.APIVersion + "; what answers without it is another program or a proxy.",
			},
			Components: &huma.Components{
				SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}},
			},
			Security: []map[string][]string{{"bearer": {}}},
		},
		// "json" is what huma makes of application/problem+json.
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{a.tellProblem},
	}
	a.huma = humago.New(a.routes, config)
	a.huma.UseMiddleware(refuseRepeated, func(ctx huma.Context, next func(huma.Context)) { next(&answer{humaContext: ctx}) })
	a.registerJobs()
	a.registerBatch()
	a.registerJobVerbs()
	a.registerRuns()
	a.registerOutput()
	a.registerPreview()
	a.registerCalendars()
	a.registerStatus()
	a.registerOpenAPI()
	a.routes.refuseOthers()
	return a
}

// register adds a route whose failures are told by the one table of problems.
func register[I, O any](a *api, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = a.problemResponse()
	op.SkipValidateBody = true // bodies are read strictly by wire, with pointers and all faults at once
	op.MaxBodyBytes = maxBody + 1
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, a.fail(ctx, err)
		}
		return out, nil
	})
}

// body describes the body of a route that reads it raw. It is shared with the route's operation,
// which is why what registering puts into it can be set right afterwards.
type body struct{ *huma.RequestBody }

func newBody(description string) body {
	return body{&huma.RequestBody{Description: description}}
}

// describe sets the schema of the body for each content type.
func (b body) describe(schema *huma.Schema, required bool, contentTypes ...string) {
	b.Required = required
	b.Content = map[string]*huma.MediaType{}
	for _, contentType := range contentTypes {
		b.Content[contentType] = &huma.MediaType{Schema: schema}
	}
}

func (a *api) schema(shape any) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(shape), true, "")
}

// input returns the schema of a shape as it may be sent: nothing is required but what is named,
// since what is left out has a default.
func (a *api) input(name string, shape any, required ...string) *huma.Schema {
	schemas := a.huma.OpenAPI().Components.Schemas
	whole := schemas.SchemaFromRef(a.schema(shape).Ref)
	part := *whole
	part.Required = required
	part.Properties = maps.Clone(whole.Properties)
	schemas.Map()[name] = &part
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// routes is the mux, and the list of what was registered with it.
type routes struct {
	mux     *http.ServeMux
	methods map[string][]string // by path
}

func (r *routes) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

// HandleFunc registers a pattern "METHOD PATH".
func (r *routes) HandleFunc(pattern string, handle func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	r.methods[path] = append(r.methods[path], method)
	r.mux.HandleFunc(pattern, handle)
}

// refuseOthers answers wrong methods and unknown paths in the API's own words.
func (r *routes) refuseOthers() {
	for path, methods := range r.methods {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		r.mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Allow", allow)
			writeProblem(w, wire.StatusProblem(http.StatusMethodNotAllowed, "this path takes "+allow))
		})
	}
	r.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, noSuchPath())
	})
}

func noSuchPath() *wire.Problem {
	return wire.StatusProblem(http.StatusNotFound, "no such path; /api/openapi.json lists those there are")
}

// fail turns an error into the answer that tells of it.
func (a *api) fail(ctx context.Context, err error) error {
	var told *failure
	if errors.As(err, &told) {
		return told
	}
	if problem, known := wire.NewProblem(err); known {
		return &failure{problem: problem}
	}
	if ctx.Err() != nil { // the client has gone; nobody reads this
		return &failure{problem: wire.StatusProblem(http.StatusServiceUnavailable, "request was given up")}
	}
	a.Logger.ErrorContext(ctx, "request failed", "error", err)
	return &failure{problem: wire.StatusProblem(http.StatusInternalServerError, "internal error; the service's log says more")}
}
