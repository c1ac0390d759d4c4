package legacy_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/internal/said"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

const token = "the-token-of-the-tests"

// A site is a service over a store in memory, served on loopback.
type site struct {
	*ruqi.Scheduler
	t      *testing.T
	url    string
	token  string // sent as old clients write it; empty: none is
	script string // of Python, that says hello
	log    *said.Text
}

// shanghai has no summer time, and midnight is not that of UTC.
func shanghai(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// newRegistry knows what the service knows, where webhooks may go to this host.
func newRegistry() *ruqi.Registry {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	command.Register(registry, command.Options{})
	webhook.Register(registry, webhook.Options{Guarded: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	return registry
}

// speech is what a run of say does.
type speech struct {
	Text  []byte
	Times int // it is said; 0: once
	Fail  bool
	Waits bool // until it is cancelled
}

func say(ctx context.Context, s speech) error {
	for range max(s.Times, 1) {
		if _, err := ruqi.Output(ctx).Write(s.Text); err != nil {
			return err
		}
	}
	switch {
	case s.Waits:
		<-ctx.Done()
		return context.Cause(ctx)
	case s.Fail:
		return errors.New("it was to fail")
	}
	return nil
}

// serve starts a service that ends with the test; idle, it runs nothing.
func serve(t *testing.T, settings legacy.Settings, change ...func(*httpapi.Options)) *site {
	t.Helper()
	return begin(t, settings, true, change...)
}

func idle(t *testing.T, settings legacy.Settings, change ...func(*httpapi.Options)) *site {
	t.Helper()
	return begin(t, settings, false, change...)
}

func begin(t *testing.T, settings legacy.Settings, runs bool, change ...func(*httpapi.Options)) *site {
	t.Helper()
	registry := newRegistry()
	ruqi.Func(registry, "say", say)
	l := &said.Text{}
	logger := slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	scheduler, err := ruqi.New(memory.Open(memory.Options{}), registry, ruqi.Options{
		Instance: "host-a:8585:4242:abc234", Zone: shanghai(t), Logger: logger, Drain: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if runs {
		if err := scheduler.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	options := httpapi.Options{
		Operations: scheduler, Instances: scheduler, Ready: scheduler.Ready, Registry: registry, Logger: logger, Zone: shanghai(t), Legacy: &settings,
		Tokens: []httpapi.Token{{Name: "tester", Hash: sha256.Sum256([]byte(token))}},
	}
	for _, c := range change {
		c(&options)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpapi.NewServer(httpapi.New(options))
	server.Start()
	t.Cleanup(func() {
		if err := scheduler.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	script := filepath.Join(t.TempDir(), "hello.py")
	if err := os.WriteFile(script, []byte("import sys\nprint('hello', *sys.argv[1:])\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &site{Scheduler: scheduler, t: t, url: server.URL, token: token, script: script, log: l}
}

// An answer is what came back, its body read.
type answer struct {
	*http.Response
	text   string
	stat   string
	reason string
}

func (s *site) request(method, path, body string, headers ...string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer: "+s.token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return req, nil
}

// do sends a request; headers are pairs of name and value, of which Host is the request's own.
func (s *site) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := s.request(method, path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{Response: resp, text: string(text), reason: resp.Header.Get("x-reason")}
	var shape struct{ Stat string }
	if len(text) > 0 {
		if err := json.Unmarshal(text, &shape); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	a.stat = shape.Stat
	return a
}

// call posts members, pairs of name and value, and wants the stat.
func (s *site) call(stat, path string, members ...string) answer {
	s.t.Helper()
	body := map[string]string{}
	for i := 0; i < len(members); i += 2 {
		body[members[i]] = members[i+1]
	}
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.do("POST", path, string(text))
	if a.stat != stat || a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s %q (%s)", path, text, a.StatusCode, a.text, a.reason, a.Header.Get("x-detail"))
	}
	return a
}

// add adds a job and wants the stat.
func (s *site) add(stat, trigger, id, name, cmd, rule string) answer {
	s.t.Helper()
	return s.call(stat, "/ruqi/add_job", "job_trigger", trigger, "job_id", id, "job_name", name, "cmd", cmd, "rule", rule)
}

// A row is a job or an execution, as it came.
type row map[string]any

func (r row) text(name string) string {
	text, _ := r[name].(string)
	return text
}

// list returns the rows and the total of a list.
func (s *site) list(path string) ([]row, int) {
	s.t.Helper()
	a := s.do("GET", path, "")
	var shape struct {
		Data struct {
			Total *int
			List  []row
		}
	}
	if err := json.Unmarshal([]byte(a.text), &shape); err != nil || a.stat != "OK" || shape.Data.Total == nil || shape.Data.List == nil {
		s.t.Fatalf("%s: %v: %s (%s)", path, err, a.text, a.Header.Get("x-detail"))
	}
	return shape.Data.List, *shape.Data.Total
}

// ids of a list's rows, in their order.
func ids(rows []row) string {
	var list []string
	for _, r := range rows {
		list = append(list, r.text("job_id"))
	}
	return strings.Join(list, " ")
}

// job reads one row.
func (s *site) job(id string) row {
	s.t.Helper()
	a := s.call("OK", "/ruqi/get_job", "job_id", id)
	var shape struct{ Data row }
	if err := json.Unmarshal([]byte(a.text), &shape); err != nil {
		s.t.Fatal(err)
	}
	return shape.Data
}

// patience is for what takes a second or less on an idle machine.
const patience = 30 * time.Second

// until asks until it is so; what the service does in its own goroutines has no event here.
func (s *site) until(what string, so func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// history waits until a job has n executions that have ended, and returns them.
func (s *site) history(id string, n int) (list []row) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d executions of %s have ended", n, id), func() bool {
		var total int
		list, total = s.list("/ruqi/get_history?job_id=" + id)
		return total >= n
	})
	return list
}

// inZone serves in another zone. The site must be idle: its scheduler has the zone it was made with.
func inZone(t *testing.T, name string) func(*httpapi.Options) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *httpapi.Options) { o.Zone = zone }
}
