package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/executortest"
	"github.com/ruqi-dev/ruqi/executor/webhook"
)

// serve starts a server on loopback.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// run executes a task, and returns its result and output.
func run(t *testing.T, e *webhook.Executor, task ruqi.Task, change ...func(*ruqi.Run)) (ruqi.Result, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out strings.Builder
	row := &ruqi.Run{ID: 7, JobID: "a/ü", Attempt: 2, Nominal: time.Date(2026, 11, 29, 1, 2, 3, 4000, time.UTC)}
	for _, c := range change {
		c(row)
	}
	result := e.Execute(ctx, task, ruqi.Execution{Run: row, Output: &out, KillGrace: time.Second})
	return result, out.String()
}

func TestLaws(t *testing.T) {
	gone := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/says":
			_, _ = io.WriteString(w, "hello\n")
		case "/fails":
			w.WriteHeader(http.StatusInternalServerError)
		case "/waits":
			select {
			case <-r.Context().Done():
			case <-gone:
			}
		case "/chats":
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "and on\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Millisecond):
				case <-gone:
					return
				}
			}
		}
	})
	t.Cleanup(func() { close(gone) })
	get := func(path string) ruqi.Task { return webhook.Request("GET", server.URL+path) }
	executortest.Run(t, executortest.Target{
		Executor: webhook.New(webhook.Options{}),
		Accepted: []string{
			`{"kind":"webhook","url":"http://example.com"}`,
			`{"kind":"webhook","method":"PUT","url":"https://user:secret@example.com:8443/a?b=c&d","headers":{"x-key":"v","Accept":"text/plain"},"body":{"a":[1,2.50,"{{x}}"]},"expect":"200,202-204"}`,
			`{"kind":"webhook","url":"http://[::1]/","body":"text","expect":"3xx"}`,
			`{"kind":"webhook","url":"http://example.com","body":null,"method":"","expect":"","answer":""}`,
			`{"kind":"webhook","call":"http://example.com/a?b=c#{\"a\": 1}","url":"","answer":"json","headers":{"x-key":"v"},"expect":"200"}`,
			`{"kind":"webhook","call":"http://example.com#\"a text\""}`,
		},
		Refused: []executortest.Refused{
			{Text: `{"kind":"webhook"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"ftp://example.com"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"file:///etc/passwd"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"http:///x"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"http://a b/"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"http:example.com"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"http://example.com/` + "\\n" + `x"}`, Pointers: []string{"/url"}},
			{Text: `{"kind":"webhook","url":"http://x","answer":"xml"}`, Pointers: []string{"/answer"}},
			{Text: `{"kind":"webhook","call":"http://x#{}","url":"http://x"}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","call":"http://x#{}","body":{}}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","call":"http://x#{a}","method":"PUT"}`, Pointers: []string{"/call", "/method"}},
			{Text: `{"kind":"webhook","call":"http://x#{} {}"}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","call":"httpx://x#{}"}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","call":"#{}"}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","call":5}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","call":"http://x#\"` + strings.Repeat("x", 64<<10) + `\""}`, Pointers: []string{"/call"}},
			{Text: `{"kind":"webhook","url":"http://x","method":"get","expect":"2x"}`, Pointers: []string{"/method", "/expect"}},
			{Text: `{"kind":"webhook","url":"http://x","method":"CONNECT"}`, Pointers: []string{"/method"}},
			{Text: `{"kind":"webhook","url":"http://x","method":"GET /a HTTP/1.1` + "\\r\\n" + `X:"}`, Pointers: []string{"/method"}},
			{Text: `{"kind":"webhook","url":"http://x","expect":"100"}`, Pointers: []string{"/expect"}},
			{Text: `{"kind":"webhook","url":"http://x","expect":"300-200"}`, Pointers: []string{"/expect"}},
			{Text: `{"kind":"webhook","url":"http://x","headers":{"a":"b` + "\\r\\n" + `c: d","e f":"g","Content-Length":"1","Ruqi-Run-Id":"1"}}`,
				Pointers: []string{"/headers/a", "/headers/e f", "/headers/Content-Length", "/headers/Ruqi-Run-Id"}},
			{Text: `{"kind":"webhook","url":"http://x","headers":{"x-a":"1","X-A":"2"}}`, Pointers: []string{"/headers/x-a"}},
			{Text: `{"kind":"webhook","url":"http://x","body":{"a":1,"a":2}}`, Pointers: []string{"/body/a"}},
			{Text: `{"kind":"webhook","url":"http://x","timeout":"5s"}`, Pointers: []string{"/timeout"}},
			{Text: `{"kind":"webhook","url":5,"headers":[]}`, Pointers: []string{"/url", "/headers"}},
		},
		Succeed: get("/says"), Says: "hello\n", Fail: get("/fails"), Wait: get("/waits"), Chat: get("/chats"),
		Without: map[string]string{
			"panic": "a request runs no code of the user's here",
			"force": "there is nothing that could refuse to end",
			"haunt": "a request that has ended writes nothing",
		},
	})
}

// What arrives is what the task, its run and nobody else says.
func TestWhatIsSent(t *testing.T) {
	type request struct {
		method, path, host, body string
		header                   http.Header
	}
	var got request
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = request{r.Method, r.URL.String(), r.Host, string(body), r.Header}
	})
	e := webhook.New(webhook.Options{Release: "1.2.3"})
	for _, c := range []struct {
		name               string
		task               *webhook.Task
		params             string
		method, body, kind string
	}{
		{"nothing", webhook.Request("", server.URL+"/x?a=b"), ``, "POST", "", ""},
		{"params alone", webhook.Request("POST", server.URL), `{"n":1}`, "POST", `{"n":1}`, "application/json"},
		// SR05: whoever may run a job now cannot send what it holds to another place.
		{"params named as what a task has", webhook.Request("PUT", server.URL+"/x"), `{"url":"http://127.0.0.1:1/","method":"GET","headers":{"x-key":"none"}}`, "PUT",
			`{"headers":{"x-key":"none"},"method":"GET","url":"http://127.0.0.1:1/"}`, "application/json"},
		{"params over a body", webhook.Request("PUT", server.URL).WithJSON(json.RawMessage(`{"a":"x","n":0}`)), `{"n":12345678901234567890,"t":"<&>"}`, "PUT",
			`{"a":"x","n":12345678901234567890,"t":"<&>"}`, "application/json"},
		{"a template", webhook.Request("POST", server.URL).WithJSON(json.RawMessage(`{"text":"{{who}} did {{ n }}{{none}}","list":["{{who}}"],"{{who}}":1}`)), `{"who":"ann\"x","n":2}`, "POST",
			`{"list":["ann\"x"],"n":2,"text":"ann\"x did 2","who":"ann\"x","{{who}}":1}`, "application/json"},
		{"a text", webhook.Request("POST", server.URL).WithJSON(json.RawMessage(`"hello {{who}}, {{x}}"`)), `{"who":"ann","x":{"y":[1]}}`, "POST", `hello ann, {"y":[1]}`, "text/plain; charset=utf-8"},
		{"a list, which params cannot be laid over", webhook.Request("POST", server.URL).WithJSON(json.RawMessage(`["{{who}}"]`)), `{"who":"ann"}`, "POST", `["ann"]`, "application/json"},
		{"its own content type", webhook.Request("POST", server.URL).WithJSON(json.RawMessage(`"<a/>"`)).WithHeader("content-type", "text/xml"), ``, "POST", `<a/>`, "text/xml"},
		{"a param like a placeholder", webhook.Request("POST", server.URL).WithJSON(json.RawMessage(`"{{a}}"`)), `{"a":"{{b}}","b":"c"}`, "POST", `{{b}}`, "text/plain; charset=utf-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got = request{}
			result, _ := run(t, e, c.task.WithHeader("x-key", "secret").WithHeader("Host", "other.example"), func(r *ruqi.Run) { r.Params = json.RawMessage(c.params) })
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			if got.method != c.method || got.body != c.body || got.header.Get("Content-Type") != c.kind {
				t.Errorf("%s %q as %q arrived, want %s %q as %q", got.method, got.body, got.header.Get("Content-Type"), c.method, c.body, c.kind)
			}
			for name, want := range map[string]string{
				"X-Key": "secret", "User-Agent": "ruqi/1.2.3", "Ruqi-Job-Id": "a%2F%C3%BC", "Ruqi-Run-Id": "7", "Ruqi-Attempt": "2", "Ruqi-Nominal-Time": "2026-11-29T01:02:03.000004Z",
			} {
				if got.header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
				}
			}
			if got.host != "other.example" {
				t.Errorf("the host is %q", got.host)
			}
		})
	}
}

func TestHowARequestEnds(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/202":
			w.WriteHeader(http.StatusAccepted)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "what went wrong")
		case "/799":
			w.WriteHeader(799)
		case "/breaks":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/long":
			chunk := strings.Repeat("x", 1<<20)
			for range 9 {
				_, _ = io.WriteString(w, chunk)
			}
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/303":
			http.Redirect(w, r, "/202", http.StatusSeeOther)
		case "/away":
			http.Redirect(w, r, "gopher://example.com/", http.StatusFound)
		}
	})
	e := webhook.New(webhook.Options{})
	for _, c := range []struct {
		path, expect, err, note, out string
	}{
		{"/202", "", "", "", ""},
		{"/202", "200", "status 202 Accepted, expected 200", "", ""},
		{"/304", "2xx,304", "", "", ""},
		{"/500", "", "status 500 Internal Server Error, expected 2xx", "", "what went wrong"},
		{"/500", "500-503", "", "", "what went wrong"},
		{"/799", "", "status 799, expected 2xx", "", ""},
		{"/breaks", "", "status 200 OK, but the answer broke off: unexpected EOF", "", "half"},
		{"/long", "", "", "the answer is longer than 8 MiB; its rest was not read", "-"},
		{"/303", "", "", "", ""},
		{"/303", "303", "", "", "-"},
		{"/loop", "", "more than 5 redirects", "", "-"},
		{"/away", "", "redirect to gopher, which is neither http nor https", "", "-"},
	} {
		t.Run(c.path+" "+c.expect, func(t *testing.T) {
			result, out := run(t, e, webhook.Request("GET", server.URL+c.path+"?token=secret").WithExpect(c.expect))
			text := ""
			if result.Err != nil {
				text = result.Err.Error()
			}
			if text != c.err || result.Note != c.note || c.out != "-" && out != c.out {
				t.Errorf("it ended with %q, %q, %q; want %q, %q, %q", text, result.Note, out, c.err, c.note, c.out)
			}
			if strings.Contains(text, "secret") {
				t.Error("the error shows the url's query")
			}
		})
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	result, _ := run(t, e, webhook.Request("GET", closed.URL+"/?token=secret"))
	if result.Err == nil || !strings.Contains(result.Err.Error(), "connection refused") || strings.Contains(result.Err.Error(), "secret") {
		t.Errorf("a server that is not there: %v", result.Err)
	}
}

// A target that switches to another protocol, which nobody asked for, says nothing that could be waited for: its connection would not
// even hear when the run is to end.
func TestAnAnswerInAnotherProtocolEnds(t *testing.T) {
	gone := make(chan struct{})
	defer close(gone)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nhello")
		<-gone
	})
	ended := make(chan ruqi.Result, 1)
	go func() {
		result, _ := run(t, webhook.New(webhook.Options{}), webhook.Request("GET", server.URL))
		ended <- result
	}()
	select {
	case result := <-ended:
		if result.Err == nil || !strings.Contains(result.Err.Error(), "status 101 Switching Protocols, expected 2xx") {
			t.Errorf("it ended with %v", result.Err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

// The head of an answer is bounded as its body is.
func TestAHeadThatIsTooLong(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 1<<20)) })
	result, _ := run(t, webhook.New(webhook.Options{}), webhook.Request("GET", server.URL))
	if result.Err == nil || !strings.Contains(result.Err.Error(), "headers exceeded") {
		t.Errorf("it ended with %v", result.Err)
	}
}

// A call is sent as it is written, and shown as it is written.
func TestACallIsSentAsItIsWritten(t *testing.T) {
	var body, kind, query string
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, kind, query = r.Method+" "+string(sent), r.Header.Get("Content-Type"), r.URL.RawQuery
	})
	params := func(r *ruqi.Run) { r.Params = json.RawMessage(`{"a":"param"}`) }
	for after, want := range map[string]string{
		"": "{}", "#": "{}", "# ": "{}", `#{"a": 1,  "b":"{{a}}", "a":2}`: `{"a": 1,  "b":"{{a}}", "a":2}`,
		`#"text # more"`: `"text # more"`, "#null": "null", "#[1.50]": "[1.50]",
	} {
		task := webhook.Call(server.URL + "/x?y=z" + after)
		result, _ := run(t, webhook.New(webhook.Options{}), task, params)
		if result.Err != nil || body != "POST "+want || kind != "application/json" || query != "y=z" {
			t.Errorf("%q: %v, sent was %q as %q to ?%s", after, result.Err, body, kind, query)
		}
		if text := task.String(); text != server.URL+"/x?y=z"+after {
			t.Errorf("it is shown as %q", text)
		}
	}
}

func TestAnAnswerThatMustBeJSON(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text := strings.TrimPrefix(r.URL.Path, "/")
		if text == "long" {
			text = `"` + strings.Repeat("x", 8<<20) + `"`
		}
		if text == "500" {
			w.WriteHeader(http.StatusInternalServerError)
			text = "{}"
		}
		_, _ = io.WriteString(w, text)
	})
	e := webhook.New(webhook.Options{})
	for text, want := range map[string]string{
		"{}": "", ` [1, "a"]`: "", "null": "", "1": "",
		"": "status 200 OK, but the answer is no JSON", "<html>": "status 200 OK, but the answer is no JSON", "{} {}": "status 200 OK, but the answer is no JSON",
		"long": "status 200 OK, but the answer is no JSON", "500": "status 500 Internal Server Error, expected 2xx",
	} {
		result, out := run(t, e, webhook.Call(server.URL+"/"+url.PathEscape(text)).WithJSONAnswer())
		got := ""
		if result.Err != nil {
			got = result.Err.Error()
		}
		if got != want || text != "long" && text != "500" && out != text {
			t.Errorf("%q: %q and the output %.20q, want %q", text, got, out, want)
		}
	}
}

// SR05: a redirect to another host takes none of the task's headers along, not even back, and no body at all.
func TestHeadersStayWithTheirHost(t *testing.T) {
	var seen http.Header
	var server *httptest.Server
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if seen = r.Header; r.URL.Path == "/back" {
			http.Redirect(w, r, server.URL+"/there", http.StatusFound)
		}
	})
	server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/body":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, other.URL+"/back", http.StatusFound)
		}
	})
	e := webhook.New(webhook.Options{})
	send := func(path string) (ruqi.Result, http.Header) {
		seen = nil
		result, _ := run(t, e, webhook.Request("POST", server.URL+path+"?q=secret").WithHeader("X-Api-Key", "secret").WithHeader("Authorization", "Bearer secret").WithJSON(json.RawMessage(`{"a":"secret"}`)))
		return result, seen
	}
	if result, seen := send("/here"); result.Err != nil || seen.Get("X-Api-Key") != "secret" {
		t.Errorf("within the host: %v, %v", result.Err, seen)
	}
	for _, path := range []string{"/away", "/round"} {
		result, seen := send(path)
		if result.Err != nil || seen.Get("Ruqi-Run-Id") != "7" {
			t.Errorf("%s: %v, %v", path, result.Err, seen)
		}
		for name := range seen {
			if strings.Contains(seen.Get(name), "secret") {
				t.Errorf("%s: %s: %s came along", path, name, seen.Get(name))
			}
		}
	}
	if result, seen := send("/body"); result.Err == nil || !strings.Contains(result.Err.Error(), "would get the body") || seen.Get("X-Api-Key") != "secret" {
		t.Errorf("a body for another host: %v, %v", result.Err, seen)
	}
}

// A small body and a small param make no large request.
func TestABodyDoesNotGrowWithoutBound(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	task := webhook.Request("POST", server.URL).WithJSON(json.RawMessage(`"` + strings.Repeat("{{x}}", 12_000) + `"`))
	result, _ := run(t, webhook.New(webhook.Options{}), task, func(r *ruqi.Run) { r.Params = json.RawMessage(`{"x":"` + strings.Repeat("y", 60_000) + `"}`) })
	if result.Err == nil || !strings.Contains(result.Err.Error(), "larger than 1 MiB") {
		t.Errorf("%v", result.Err)
	}
	// And it costs no more to find that out of a param that is to be written as JSON first: 17 times, not 12,000 times, 60 kB.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, _ = run(t, webhook.New(webhook.Options{}), task, func(r *ruqi.Run) { r.Params = json.RawMessage(`{"x":[` + strings.Repeat("1,", 30_000) + `1]}`) })
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; result.Err == nil || !strings.Contains(result.Err.Error(), "larger than 1 MiB") || took > 200<<20 {
		t.Errorf("with %d MB: %v", took>>20, result.Err)
	}
}

// One host gets so many requests at once, other hosts theirs, and who waits stops waiting when its run is to end.
func TestAHostGetsSoManyAtOnce(t *testing.T) {
	var now, most atomic.Int32
	free := make(chan struct{})
	handle := func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-free
		now.Add(-1)
	}
	server, other := serve(t, handle), serve(t, func(http.ResponseWriter, *http.Request) {})
	e := webhook.New(webhook.Options{PerHost: 2})
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			if result, _ := run(t, e, webhook.Request("GET", server.URL)); result.Err != nil {
				t.Error(result.Err)
			}
		})
	}
	for end := time.Now().Add(10 * time.Second); now.Load() < 2 && time.Now().Before(end); {
		<-time.After(time.Millisecond)
	}
	if result, _ := run(t, e, webhook.Request("GET", other.URL)); result.Err != nil {
		t.Errorf("another host: %v", result.Err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan ruqi.Result)
	go func() {
		ended <- e.Execute(ctx, webhook.Request("GET", server.URL), ruqi.Execution{Run: &ruqi.Run{ID: 1}, Output: io.Discard})
	}()
	why := errors.New("enough")
	cancel(why)
	if result := <-ended; !errors.Is(result.Err, why) {
		t.Errorf("who waits for the host ended with %v", result.Err)
	}
	close(free)
	group.Wait()
	if most.Load() != 2 {
		t.Errorf("%d were under way at once, want 2", most.Load())
	}
}

func TestATaskIsWrittenWithoutSecrets(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.com/a":                      "POST http://example.com/a",
		"https://ann:secret@example.com/a?k=secret": "POST https://example.com/a?…",
		"http://example.com/#frag":                  "POST http://example.com/",
	} {
		task := webhook.Request("", url).WithHeader("X-Key", "secret").WithJSON(json.RawMessage(`"secret"`))
		if got := task.String(); got != want || strings.Contains(fmt.Sprint(got), "secret") {
			t.Errorf("%s is written %q, want %q", url, got, want)
		}
	}
	if got := webhook.Call(`http://ann:secret@example.com/a?b=c#{"d": 1}`).String(); got != `http://ann:********@example.com/a?b=c#{"d": 1}` {
		t.Errorf("a call is written %q", got)
	}
}

// A lastWord ends a context with what is written to it.
type lastWord struct{ end context.CancelFunc }

func (w lastWord) Write(p []byte) (int, error) {
	w.end()
	return len(p), nil
}

// An answer that is all there is an end by itself; one that is not is none.
func TestAnAnswerThatIsAllThereCountsWhateverComesThen(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/part" {
			w.Header().Set("Content-Length", "9") // and the rest never comes
		} else {
			w.Header().Set("Content-Length", "2")
		}
		_, _ = io.WriteString(w, "{}")
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/part" {
			<-r.Context().Done()
		}
	})
	for _, c := range []struct {
		path, expect string
		all, fails   bool
	}{{"/", "", true, false}, {"/", "404", true, true}, {"/part", "", false, true}} {
		ctx, cancel := context.WithCancel(t.Context())
		task := webhook.Request("GET", server.URL+c.path).WithJSONAnswer().WithExpect(c.expect)
		result := webhook.New(webhook.Options{}).Execute(ctx, task, ruqi.Execution{Run: &ruqi.Run{}, Output: lastWord{cancel}})
		if result.ByItself != c.all || (result.Err != nil) != c.fails {
			t.Errorf("%s, expecting %q: %+v", c.path, c.expect, result)
		}
		cancel()
	}
}
