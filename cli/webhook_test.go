//go:build unix

package cli_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A target keeps what arrived.
type target struct {
	*httptest.Server
	mu   sync.Mutex // guards seen
	seen []seen
}

type seen struct {
	method, uri, protocol, from, body string
	head                              http.Header
}

// newTarget makes a server that is not started yet; answer may be nil.
func newTarget(t *testing.T, answer func(nth int, w http.ResponseWriter)) *target {
	t.Helper()
	to := &target{}
	to.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		to.mu.Lock()
		to.seen = append(to.seen, seen{r.Method, r.RequestURI, r.Proto, r.RemoteAddr, string(body), r.Header})
		n := len(to.seen)
		to.mu.Unlock()
		if answer != nil {
			answer(n, w)
		}
	}))
	t.Cleanup(to.Close)
	return to
}

func (to *target) all() []seen {
	to.mu.Lock()
	defer to.mu.Unlock()
	return append([]seen(nil), to.seen...)
}

// A webhook that fails is sent again as its policy says, each time as a run of its own.
func TestAWebhookThatFailsIsSentAgain(t *testing.T) {
	to := newTarget(t, func(n int, w http.ResponseWriter) {
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprintf(w, "answer %d\n", n)
	})
	to.Start()
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-net", "127.0.0.1")
	s.ok("job", "add", "hook", "--every", "1h", "--webhook", to.URL, "--retry", "5", "--retry-delay", "20ms")
	if got := s.ruqi("job", "run", "--wait", "hook"); got.status != 1 || !strings.Contains(got.out, "503") {
		t.Errorf("the first: exit %d: %s%s", got.status, got.out, got.errors)
	}
	var page struct {
		Items []struct {
			ID      json.Number
			State   string
			Attempt int
		}
	}
	s.eventually("one succeeds", func() bool {
		if err := json.Unmarshal([]byte(s.ok("run", "list", "--job", "hook", "-o", "json")), &page); err != nil {
			t.Fatal(err)
		}
		return len(page.Items) == 3 && page.Items[0].State == "succeeded"
	})
	for i, run := range page.Items {
		if n := len(page.Items) - i; run.Attempt != n || s.ok("run", "logs", run.ID.String()) != fmt.Sprintf("answer %d\n", n) {
			t.Errorf("run %d is %+v", n, run)
		}
	}
	if n := len(to.all()); n != 3 {
		t.Errorf("%d requests arrived", n)
	}
}

// HTTP/2 is spoken where the target does, over one connection for all.
func TestWebhooksShareAConnection(t *testing.T) {
	for protocol, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		to := newTarget(t, nil)
		cmd := program(t, t.TempDir(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--allow-net", "127.0.0.1")
		dir := strings.TrimPrefix(cmd.Env[0], "RUQI_DATA_DIR=")
		if secure {
			to.EnableHTTP2 = true
			to.StartTLS()
			trusted := filepath.Join(t.TempDir(), "trusted.pem")
			if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: to.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+trusted)
		} else {
			to.Start()
		}
		s := start(t, dir, cmd)
		s.ok("job", "add", "hook", "--every", "1h", "--webhook", to.URL)
		for range 3 {
			s.ok("job", "run", "--wait", "hook")
		}
		all := to.all()
		if len(all) != 3 {
			t.Fatalf("%d requests arrived", len(all))
		}
		for _, one := range all {
			if one.protocol != protocol || one.from != all[0].from {
				t.Errorf("by %s from %s, want %s from %s", one.protocol, one.from, protocol, all[0].from)
			}
		}
	}
}

// A proxy of the environment is used when that is asked for.
func TestWebhooksGoByAProxyThatIsAskedFor(t *testing.T) {
	proxy := newTarget(t, nil)
	proxy.Start()
	cmd := program(t, t.TempDir(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--allow-net", "127.0.0.1", "--webhook-proxy")
	dir := strings.TrimPrefix(cmd.Env[0], "RUQI_DATA_DIR=")
	cmd.Env = append(cmd.Env, "HTTP_PROXY="+proxy.URL)
	s := start(t, dir, cmd)
	s.ok("job", "add", "hook", "--every", "1h", "--webhook", "http://nowhere.invalid/x")
	s.ok("job", "run", "--wait", "hook")
	if all := proxy.all(); len(all) != 1 || all[0].uri != "http://nowhere.invalid/x" {
		t.Errorf("the proxy got %v", all)
	}
}

// What stands in headers, addresses and params of a webhook makes no header and no request of its own.
func TestNothingOfAWebhookEndsAHeader(t *testing.T) {
	to := newTarget(t, nil)
	to.Start()
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-net", "127.0.0.1")
	const forged = "x\r\nX-Forged: 1\r\n\r\nGET /forged HTTP/1.1\r\nHost: x\r\n\r\n"
	text, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	hook := func(id, members string) string {
		return `{"id":` + id + `,"trigger":{"kind":"interval","every":"1h"},"task":{"kind":"webhook",` + members + `}}`
	}
	url := `"url":"` + to.URL + `/{{p}}"`
	for pointer, definition := range map[string]string{
		"/task/headers/X-A": hook(`"x"`, url+`,"headers":{"X-A":`+string(text)+`}`),
		"/task/headers/":    hook(`"x"`, url+`,"headers":{`+string(text)+`:"x"}`),
		"/task/method":      hook(`"x"`, url+`,"method":`+string(text)),
		"/task/url":         hook(`"x"`, `"url":"`+to.URL+`/`+string(text[1:])),
		"/id":               hook(string(text), url),
	} {
		if status, answer := s.post(definition); status != 422 || !strings.Contains(answer, `"`+pointer) {
			t.Errorf("%s: %d: %s", definition, status, answer)
		}
	}
	// Params are laid into bodies alone.
	s.ok("job", "add", "id é%0d%0aX-Forged: 1", "--every", "1h", "--webhook", to.URL+"/a?b=%0d%0aX-Forged:%201", "--header", "X-A: {{p}}", "--body", "{{p}}")
	s.ok("job", "run", "--wait", "id é%0d%0aX-Forged: 1", "--param", "p="+forged)
	all := to.all()
	if len(all) != 1 || all[0].head.Get("X-Forged") != "" || all[0].head.Get("X-A") != "{{p}}" || all[0].uri != "/a?b=%0d%0aX-Forged:%201" || all[0].body != forged {
		t.Errorf("%+v arrived", all)
	}
	for name, values := range all[0].head {
		if strings.ContainsAny(name+strings.Join(values, ""), "\r\n") {
			t.Errorf("%s: %q", name, values)
		}
	}
}

// What one instance has stored, all can read, show and change: where a webhook may go, each instance judges where a task is given to
// it, and again when it connects.
func TestAWebhookThatOnlyAnotherInstanceMayReachIsReadByAll(t *testing.T) {
	to := newTarget(t, nil)
	to.Start()
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "shared.db")
	trusted := serve(t, filepath.Join(dir, "one"), "--store", store, "--allow-net", "127.0.0.1")
	trusted.ok("job", "add", "hook", "--every", "1h", "--webhook", to.URL)
	trusted.ok("job", "add", "held", "--every", "1h", "--webhook", to.URL, "--paused")
	old := func(s *service, path, id, rule, cmd string) (stat, reason string) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"job_trigger": "interval", "job_id": id, "job_name": id, "rule": rule, "cmd": cmd})
		if err != nil {
			t.Fatal(err)
		}
		_, stat, reason = s.old(path, s.token(), string(body))
		return stat, reason
	}
	if stat, reason := old(trusted, "add_job", "call", "1h", to.URL+"/#{}"); stat != "OK" {
		t.Fatal(reason)
	}
	trusted.quit()

	s := serve(t, filepath.Join(dir, "one"), "--store", store)
	for _, id := range []string{"hook", "held", "call"} {
		if text := s.ok("job", "get", id); strings.Contains(text, "arked") || !strings.Contains(text, to.URL) {
			t.Errorf("it is shown as\n%s", text)
		}
	}
	s.ok("job", "modify", "hook", "--every", "2h", "--tag", "x", "--description", "x")
	s.ok("job", "modify", "hook", "--timeout", "7s")
	s.ok("job", "resume", "held")
	if stat, reason := old(s, "job_modify", "call", "2h", to.URL+"/#{}"); stat != "OK" {
		t.Errorf("a row that is sent back: %s", reason)
	}

	// What is given or changed here is refused, and nothing is sent.
	s.fails(2, "--webhook: address not allowed", "job", "modify", "hook", "--webhook", to.URL+"/other")
	s.fails(2, "address not allowed", "job", "modify", "hook", "--header", "X-A: b")
	s.fails(2, "--webhook: address not allowed", "job", "add", "x", "--every", "1h", "--webhook", to.URL)
	for path, id := range map[string]string{"add_job": "new", "job_modify": "call"} {
		if stat, reason := old(s, path, id, "1h", to.URL+"/other#{}"); stat != "ERR" || !strings.Contains(reason, "(http)") {
			t.Errorf("%s: %s %s", path, stat, reason)
		}
	}
	for _, id := range []string{"hook", "held", "call"} {
		if got := s.ruqi("job", "run", id, "--wait"); got.status != 1 || !strings.Contains(got.out+got.errors, "address not allowed") {
			t.Errorf("%s is run: exit %d, %s%s", id, got.status, got.out, got.errors)
		}
	}
	if all := to.all(); len(all) > 0 {
		t.Errorf("%v arrived", all)
	}
}
