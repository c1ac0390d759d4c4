package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/httpapi"
)

// The probes say only that the process lives, so they are open; everything else asks for a token.
var openPaths = []string{"/healthz", "/readyz"}

func TestDocumentedRoutesAreTheRealOnes(t *testing.T) {
	s := serve(t)
	document := s.want(http.StatusOK, "GET", "/api/openapi.json", "").json(t)
	if version := document["openapi"]; version != "3.1.0" {
		t.Errorf("openapi %v, want 3.1.0", version)
	}
	real := httpapi.Routes(s.options)
	documented := map[string][]string{}
	for path, operations := range document["paths"].(map[string]any) {
		for method := range operations.(map[string]any) {
			documented[path] = append(documented[path], strings.ToUpper(method))
		}
		slices.Sort(documented[path])
	}
	for path, methods := range real {
		slices.Sort(methods)
		if !slices.Equal(methods, documented[path]) {
			t.Errorf("%s takes %v but the document says %v", path, methods, documented[path])
		}
	}
	for path, methods := range documented {
		if real[path] == nil {
			t.Errorf("%s is documented with %v but there is no such route", path, methods)
		}
	}
	for _, want := range []string{"JobDefinition", "Problem", "PageJob", "PageRun"} {
		if !strings.Contains(s.do("GET", "/api/openapi.json", "").text, `"`+want+`":`) {
			t.Errorf("the document has no schema %s", want)
		}
	}
}

func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	s := serve(t)
	document := s.want(http.StatusOK, "GET", "/api/openapi.json", "").json(t)
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	used := map[string]bool{}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[strings.TrimPrefix(ref, "#/components/schemas/")] = true
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(document)
	for name := range used {
		if schemas[name] == nil {
			t.Errorf("schema %s is referred to and missing", name)
		}
	}
	for name := range schemas {
		if !used[name] {
			t.Errorf("schema %s is of no use", name)
		}
	}
}

func TestEveryRouteAsksForTheToken(t *testing.T) { // CD05
	s := serve(t)
	routes := httpapi.Routes(s.options)
	routes["/"] = []string{"GET"}
	routes["/api/v1/nothing"] = []string{"GET", "POST"}
	headers := map[string][]string{
		"no header":      nil,
		"wrong token":    {"Authorization", "Bearer wrong"},
		"empty token":    {"Authorization", "Bearer "},
		"other scheme":   {"Authorization", "Basic " + token},
		"the bare token": {"Authorization", token},
		"a cookie":       {"Cookie", "token=" + token},
	}
	s.token = ""
	asked := 0
	for path, methods := range routes {
		if slices.Contains(openPaths, path) {
			s.want(http.StatusOK, "GET", path, "")
			continue
		}
		for _, method := range methods {
			for name, header := range headers {
				got := s.do(method, strings.ReplaceAll(path, "{id}", "x"), "", header...)
				if got.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("%s %s with %s: %d, want 401 with a challenge", method, path, name, got.StatusCode)
				}
				asked++
			}
		}
	}
	if asked < 100 {
		t.Errorf("asked %d times only: routes are missing", asked)
	}
}

func TestTokenInTheQueryIsNeitherTakenNorLogged(t *testing.T) { // LE05
	s := serve(t)
	s.want(http.StatusBadRequest, "GET", "/api/v1/jobs?token="+token, "")
	s.want(http.StatusNotFound, "GET", "/api/v1/jobs/"+token, "") // even where it takes the place of an id
	s.token = ""
	s.want(http.StatusUnauthorized, "GET", "/api/v1/jobs?token="+token, "")
	s.want(http.StatusUnauthorized, "GET", "/api/v1/jobs", "", "Authorization", "Bearer wrong-secret-value")
	if text := s.log.String(); strings.Contains(text, token) || strings.Contains(text, "wrong-secret-value") {
		t.Errorf("the log holds a token:\n%s", text)
	}
	if !strings.Contains(s.log.String(), "request served") {
		t.Error("the log has no request: this test looks at nothing")
	}
}

func TestAnswersStayJSONWhateverIsAsked(t *testing.T) { // XI03
	s := serve(t)
	for _, path := range []string{
		`/api/v1/jobs?format=html&callback=x%22%3E%3Cscript%3E`, `/api/v1/jobs?callback=<script>`, "/api/v1/status", "/api/v1/<script>",
		"/api/v1/jobs/<script>", "/readyz?format=html",
	} {
		got := s.do("GET", path, "", "Accept", "text/html")
		kind := got.Header.Get("Content-Type")
		if kind != "application/json" && kind != "application/problem+json" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: Content-Type %q, X-Content-Type-Options %q", path, kind, got.Header.Get("X-Content-Type-Options"))
		}
		if !json.Valid([]byte(got.text)) {
			t.Errorf("%s: not JSON: %s", path, got.text)
		}
		for _, header := range []string{"Access-Control-Allow-Origin", "Set-Cookie"} {
			if got.Header.Get(header) != "" {
				t.Errorf("%s: header %s is set", path, header)
			}
		}
	}
}

func TestHostAndOriginChangeNothing(t *testing.T) {
	s := serve(t)
	got := s.want(http.StatusOK, "GET", "/api/v1/jobs", "", "Origin", "https://evil.example", "X-Forwarded-Host", "evil.example")
	if got.Header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(got.text, "evil") {
		t.Errorf("%v %s", got.Header, got.text)
	}
}

func TestRequestsThatCannotBeReadAreRefused(t *testing.T) {
	s := serve(t)
	for name, c := range map[string]struct {
		status             int
		method, path, body string
		headers            []string
	}{
		"unknown query parameter":      {400, "GET", "/api/v1/jobs?colour=red", "", nil},
		"unknown order":                {400, "GET", "/api/v1/jobs?sort=id;DROP+TABLE+x--", "", nil}, // XI05
		"an order of their own":        {400, "GET", "/api/v1/jobs?order=desc,(select+1)", "", nil},  // XI05
		"order by injection, encoded":  {400, "GET", "/api/v1/jobs?sort=id%3BDROP%20TABLE%20x--", "", nil},
		"query that is none":           {400, "GET", "/api/v1/jobs?search=%zz", "", nil},
		"search with a NUL":            {400, "GET", "/api/v1/jobs?search=a%00", "", nil},
		"search that is not UTF-8":     {400, "GET", "/api/v1/jobs?search=%ff", "", nil},
		"id that is not UTF-8":         {400, "GET", "/api/v1/jobs/%ff", "", nil},
		"unknown state":                {400, "GET", "/api/v1/runs?state=done", "", nil},
		"time without an offset":       {400, "GET", "/api/v1/runs?from=2026-01-01T00:00:00", "", nil},
		"cursor of their own":          {422, "GET", "/api/v1/jobs?cursor=zzz", "", nil},
		"run id in words":              {400, "GET", "/api/v1/runs/first", "", nil},
		"run id 0":                     {400, "GET", "/api/v1/runs/0", "", nil},
		"unknown run":                  {404, "GET", "/api/v1/runs/4711", "", nil},
		"unknown path":                 {404, "GET", "/api/v1/nothing", "", nil},
		"unknown method":               {405, "TRACE", "/api/v1/jobs", "", nil},
		"method of another route":      {405, "PUT", "/api/v1/jobs", "", nil},
		"dash without id":              {400, "GET", "/api/v1/jobs/-", "", nil},
		"id twice":                     {400, "GET", "/api/v1/jobs/x?id=y", "", nil},
		"body that is not JSON":        {400, "POST", "/api/v1/jobs", "id: x", nil},
		"body that is cut":             {400, "POST", "/api/v1/jobs", `{"id":"x"`, nil},
		"body that is a list":          {400, "POST", "/api/v1/jobs", `[]`, nil},
		"two bodies":                   {400, "POST", "/api/v1/jobs", hourly("x") + hourly("y"), nil},
		"no body":                      {400, "POST", "/api/v1/jobs", "", nil},
		"body of another kind":         {415, "POST", "/api/v1/jobs", hourly("x"), []string{"Content-Type", "application/xml"}},
		"body too large":               {413, "POST", "/api/v1/jobs", `{"description":"` + strings.Repeat("x", 1<<20) + `"}`, nil},
		"unknown member":               {422, "POST", "/api/v1/jobs", `{"id":"x","colour":"red"}`, nil},
		"member twice":                 {422, "POST", "/api/v1/jobs", `{"id":"x","id":"y"}`, nil},
		"id of a dot":                  {422, "POST", "/api/v1/jobs", hourly("."), nil},
		"id of two dots":               {422, "POST", "/api/v1/jobs", hourly(".."), nil},
		"id with a line break":         {422, "POST", "/api/v1/jobs", hourly("a\nb"), nil},
		"state of its own":             {422, "POST", "/api/v1/jobs", strings.Replace(hourly("x"), "{", `{"state":"finished",`, 1), nil},
		"conflict word of their own":   {400, "POST", "/api/v1/jobs?on_conflict=merge", hourly("x"), nil},
		"If-Match of their own":        {400, "PUT", "/api/v1/jobs/x", hourly("x"), []string{"If-Match", `"abc"`}},
		"preview without a trigger":    {422, "POST", "/api/v1/triggers/preview", `{}`, nil},
		"preview of too many":          {422, "POST", "/api/v1/triggers/preview", `{"trigger":{"kind":"interval","every":"1s"},"n":1001}`, nil},
		"run with an unknown member":   {422, "POST", "/api/v1/jobs/x/run", `{"param":{}}`, nil},
		"run with params of no object": {422, "POST", "/api/v1/jobs/x/run", `{"params":[1]}`, nil},
	} {
		got := s.do(c.method, c.path, c.body, c.headers...)
		if got.StatusCode != c.status {
			t.Errorf("%s: %d, want %d: %s", name, got.StatusCode, c.status, got.text)
			continue
		}
		problem := got.json(t)
		if got.Header.Get("Content-Type") != "application/problem+json" || problem["status"] != float64(c.status) || problem["title"] == "" || problem["detail"] == "" {
			t.Errorf("%s: not a problem: %v %s", name, got.Header, got.text)
		}
	}
	if jobs := s.want(http.StatusOK, "GET", "/api/v1/jobs", "").json(t)["items"]; len(jobs.([]any)) != 0 {
		t.Errorf("a refused request left jobs: %v", jobs)
	}
}

func TestAllFaultsOfABodyAreToldAtOnce(t *testing.T) {
	s := serve(t)
	got := s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", `{
		"id": "x", "colour": "red", "priority": "high", "state": "done",
		"trigger": {"kind": "cron", "expr": "61 * * * *"}, "task": {"kind": "command"},
		"policy": {"timeout": "soon", "grace": 1}}`)
	found := map[string]string{}
	for _, fault := range got.json(t)["errors"].([]any) {
		f := fault.(map[string]any)
		found[f["pointer"].(string)] = f["message"].(string)
	}
	for _, pointer := range []string{"/colour", "/priority", "/state", "/trigger/expr", "/policy/timeout", "/policy/grace"} {
		if found[pointer] == "" {
			t.Errorf("nothing is said of %s: %v", pointer, found)
		}
	}
	if !strings.Contains(found["/trigger/expr"], "minute") {
		t.Errorf("the field is not named: %q", found["/trigger/expr"])
	}
}

// What the first look at a body cannot find is told together with what it can: a trigger that is over, a user who is not there.
func TestWhatIsFoundLaterIsToldBesideWhatCannotBeRead(t *testing.T) {
	s := serve(t)
	const over, hourly = `{"kind":"date","at":"2020-01-01"}`, `{"kind":"interval","every":"1h"}`
	const nobody = `{"kind":"command","command":"x","user":"nobody-at-all","umask":"999"}`
	const command = `{"kind":"command","command":"x"}`
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", `{"id":"there","trigger":`+hourly+`,"task":`+command+`}`)
	for _, c := range []struct{ name, members, want string }{
		{"a trigger that is over", `"trigger":` + over + `,"task":` + command + `,"priority":"high"`, "/priority /trigger"},
		{"an unknown user", `"trigger":` + over + `,"task":` + nobody, "/task/umask /task/user /trigger"},
		{"an unknown calendar", `"trigger":{"kind":"except","of":` + hourly + `,"not":[{"calendar":"none"}],"zon":"UTC"},"task":` + command, "/trigger/not/0/calendar /trigger/zon"},
		{"a grace that may be what a trigger lives by", `"trigger":` + over + `,"task":` + command + `,"policy":{"misfire_grace":"long"}`, "/policy/misfire_grace"},
		{"a trigger with a fault of its own", `"trigger":{"kind":"date","at":"2020-01-01","x":1},"task":` + command, "/trigger/x"},
		{"a policy under a wrong name", `"trigger":` + over + `,"task":` + command + `,"polcy":{"misfire_grace":"100000h"}`, "/polcy"},
		{"a startup under a wrong name", `"trigger":{"kind":"cron","expr":"@reboot"},"task":` + command + `,"policy":{"run_on_strt":true}`, "/policy/run_on_strt"},
		{"a task without a fault", `"trigger":` + hourly + `,"task":` + command + `,"tags":["a",1]`, "/tags/1"},
	} {
		pointers := func(problem map[string]any) string {
			var all []string
			list, _ := problem["errors"].([]any)
			for _, fault := range list {
				all = append(all, fault.(map[string]any)["pointer"].(string))
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		for _, r := range []struct{ method, path, body string }{
			{"POST", "/api/v1/jobs", `{` + c.members + `}`},
			{"POST", "/api/v1/jobs?dry_run=true", `{` + c.members + `}`},
			{"POST", "/api/v1/jobs?on_conflict=replace", `{"id":"there",` + c.members + `}`},
			{"PUT", "/api/v1/jobs/there", `{` + c.members + `}`},
			{"PATCH", "/api/v1/jobs/there", `{` + c.members + `}`},
		} {
			got := s.want(http.StatusUnprocessableEntity, r.method, r.path, r.body)
			if told := pointers(got.json(t)); told != c.want {
				t.Errorf("%s: %s %s tells of %s, want %s: %s", c.name, r.method, r.path, told, c.want, got.text)
			}
		}
		batch := s.want(http.StatusOK, "POST", "/api/v1/job-batches", `{"jobs":[{`+c.members+`}]}`).json(t)
		problem, _ := batch["items"].([]any)[0].(map[string]any)["problem"].(map[string]any)
		if told := pointers(problem); told != c.want {
			t.Errorf("%s: a batch tells of %s, want %s", c.name, told, c.want)
		}
	}
}

// A member that is known, though its value is none of a definition, hides nothing: no other member was meant by it.
func TestAKnownMemberWithAWrongValueHidesNothing(t *testing.T) {
	s := serve(t)
	for members, want := range map[string][]string{
		`"trigger":{"kind":"date","at":"2020-01-01"},"state":"pausd"`:                       {"/state", "/trigger"},
		`"trigger":{"kind":"cron","expr":"@reboot"},"state":"pausd"`:                        {"/state", "/policy/run_on_start"},
		`"trigger":{"kind":"cron","expr":"@reboot"},"policy":{"pause_after_failures":3}`:    {"/policy/pause_after_failures", "/policy/run_on_start"},
		`"trigger":{"kind":"cron","expr":"@reboot"},"policy":{"pause_after_failures":"no"}`: {"/policy/pause_after_failures", "/policy/run_on_start"},
	} {
		got := s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", `{`+members+`,"task":{"kind":"command","command":"x"}}`)
		for _, pointer := range want {
			if !strings.Contains(got.text, `"pointer":"`+pointer+`"`) {
				t.Errorf("%s: nothing is said of %s: %s", members, pointer, got.text)
			}
		}
	}
}
