package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
)

// broken fails in every way there is.
type broken struct{ ruqi.Operations }

func (broken) Job(_ context.Context, id string) (ruqi.Job, error) {
	switch id {
	case "panic":
		panic("secret panic")
	case "error":
		return ruqi.Job{}, errors.New("secret cause")
	}
	return ruqi.Job{}, fmt.Errorf("read job: %w", ruqi.ErrUnavailable)
}

func (broken) Output(_ context.Context, _ int64, from int64, _ int) (ruqi.OutputPart, error) {
	if from > 0 {
		return ruqi.OutputPart{}, errors.New("secret cause")
	}
	return ruqi.OutputPart{Bytes: []byte("begin")}, nil
}

// Status counts whole tables, which a probe is not to ask for.
func (broken) Status(context.Context) (ruqi.Status, error) { panic("secret panic") }

func serveBroken(t *testing.T) *service {
	t.Helper()
	options, _, l := newOptions(t)
	options.Operations = broken{}
	options.Ready = func(context.Context) error { return errors.New("secret address") }
	server := httptest.NewServer(httpapi.New(options))
	t.Cleanup(server.Close)
	return &service{t: t, url: server.URL, token: token, options: options, log: l}
}

func TestFaultsOfTheServiceAreLoggedAndNotTold(t *testing.T) {
	s := serveBroken(t)
	for id, want := range map[string]int{"panic": 500, "error": 500, "away": 503} {
		got := s.want(want, "GET", "/api/v1/jobs/"+id, "")
		if strings.Contains(got.text, "secret") || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s", id, got.text)
		}
		if want == 503 && got.Header.Get("Retry-After") == "" {
			t.Error("a client of a store that is away is not told when to ask again")
		}
	}
	for _, want := range []string{"secret panic", "secret cause", "goroutine"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log has no %q", want)
		}
	}
	ready := s.want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	if !strings.Contains(ready.text, "not ready") || strings.Contains(ready.text, "secret") {
		t.Errorf("readyz: %s", ready.text)
	}
	s.want(http.StatusOK, "GET", "/healthz", "")
}

func TestABrokenOutputIsNotTakenForAWholeOne(t *testing.T) {
	s := serveBroken(t)
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/v1/runs/1/output", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		var text []byte
		if text, err = io.ReadAll(resp.Body); string(text) != "begin" {
			t.Errorf("read %q", text)
		}
	}
	if err == nil {
		t.Error("the answer ends as if it were whole")
	}
}

func TestTheServerBoundsWhatAClientMayHold(t *testing.T) {
	server := httpapi.NewServer(http.NotFoundHandler())
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= 0 || server.IdleTimeout <= 0 || server.MaxHeaderBytes <= 0 {
		t.Errorf("%+v", server)
	}
}

func TestLimitsHoldWhateverARequestSaysOfItself(t *testing.T) {
	s := serve(t)
	send := func(body io.Reader, header string) int {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/v1/jobs", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-Long", header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	// A reader whose length nobody knows is sent in chunks.
	long := io.MultiReader(strings.NewReader(`{"description":"`), strings.NewReader(strings.Repeat("x", 1<<20)), strings.NewReader(`"}`))
	if status := send(long, ""); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body in chunks: %d", status)
	}
	if status := send(strings.NewReader("{}"), strings.Repeat("x", 80<<10)); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long headers: %d", status)
	}
	exact := hourly("exact")
	exact += strings.Repeat(" ", 1<<20-len(exact))
	if status := send(strings.NewReader(exact), ""); status != http.StatusCreated {
		t.Errorf("a body of 1 MiB: %d", status)
	}
}

func TestWithoutATokenNobodyMay(t *testing.T) {
	s := serve(t)
	options := s.options
	options.Tokens = nil
	server := httptest.NewServer(httpapi.New(options))
	defer server.Close()
	s.url = server.URL
	s.want(http.StatusUnauthorized, "GET", "/api/v1/jobs", "")
	s.want(http.StatusUnauthorized, "GET", "/api/v1/jobs", "", "Authorization", "Bearer ")
}
