package httpapi_test

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/internal/said"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

const token = "the-token-of-the-tests"

// A service is a scheduler over a store in memory, served on loopback.
type service struct {
	t         *testing.T
	url       string
	token     string
	scheduler *ruqi.Scheduler
	options   httpapi.Options
	log       *said.Text
}

func newOptions(t *testing.T) (httpapi.Options, *ruqi.Scheduler, *said.Text) {
	t.Helper()
	store := memory.Open(memory.Options{})
	calendars := calendar.New(store)
	registry := ruqi.NewRegistry()
	trigger.RegisterWith(registry, calendars)
	gofunc.Register(registry)
	command.Register(registry, command.Options{})
	l := &said.Text{}
	logger := slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	scheduler, err := ruqi.New(store, registry, ruqi.Options{
		Zone: time.UTC, Logger: logger, Slots: map[string]int{"command": 40, "closed": 0}, Release: "test", Drain: -1, Calendars: calendars,
	})
	if err != nil {
		t.Fatal(err)
	}
	return httpapi.Options{
		Operations: scheduler, Instances: scheduler, Ready: scheduler.Ready, Registry: registry, Logger: logger, Release: "test",
		Tokens: []httpapi.Token{{Name: "tester", Hash: sha256.Sum256([]byte(token))}},
	}, scheduler, l
}

// serve starts a service that ends with the test.
func serve(t *testing.T) *service {
	t.Helper()
	options, scheduler, l := newOptions(t)
	if err := scheduler.Start(t.Context()); err != nil {
		t.Fatal(err)
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
	return &service{t: t, url: server.URL, token: token, scheduler: scheduler, options: options, log: l}
}

// An answer is what came back, its body read.
type answer struct {
	*http.Response
	text string
}

// json decodes the body.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(a.text), &value); err != nil {
		t.Fatalf("%v: %s", err, a.text)
	}
	return value
}

// do sends a request; headers are pairs of name and value.
func (s *service) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp, string(text)}
}

// want sends a request and fails unless it is answered with the status.
func (s *service) want(status int, method, path, body string, headers ...string) answer {
	s.t.Helper()
	got := s.do(method, path, body, headers...)
	if got.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s", method, path, got.StatusCode, status, got.text)
	}
	return got
}

// eventually asks until ok, and fails the test when that takes too long.
func (s *service) eventually(what string, ok func() bool) {
	s.t.Helper()
	limit := time.NewTimer(15 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-limit.C:
			s.t.Fatalf("not within 15 s: %s", what)
		case <-tick.C:
		}
	}
}

// hourly is a job that fires once an hour and does nothing.
func hourly(id string) string {
	return job(id, `{"kind":"interval","every":"1h"}`, "true")
}

func job(id, trigger, shell string) string {
	text, err := json.Marshal(map[string]any{
		"id": id, "trigger": json.RawMessage(trigger), "task": map[string]string{"kind": "command", "command": shell},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}
