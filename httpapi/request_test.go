package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
)

func TestLocationsLeadToTheirJobs(t *testing.T) {
	s := serve(t)
	for _, id := range []string{"-", "plain", "a/b", "a b?c#%", "--"} {
		added := s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly(id))
		got := s.want(http.StatusOK, "GET", added.Header.Get("Location"), "").json(t)
		if got["id"] != id {
			t.Errorf("%q leads to %v", added.Header.Get("Location"), got["id"])
		}
	}
}

func TestPathsThatAMuxWouldCorrectAreNotThere(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"//api/v1/jobs", "/api/v1//jobs", "/api/./v1/jobs", "/api/v1/jobs/../runs"} {
		for _, method := range []string{"GET", "POST"} {
			got := s.rawly(method, path)
			if got.StatusCode != http.StatusNotFound || got.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: %d %s", method, path, got.StatusCode, got.Header)
			}
		}
	}
}

// rawly sends a request whose path no client has made better.
func (s *service) rawly(method, path string) *http.Response {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", method, path, s.token); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

func TestASingleParameterThatComesTwiceIsRefused(t *testing.T) {
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("x"))
	for _, path := range []string{
		"/api/v1/jobs?limit=1&limit=2", "/api/v1/jobs?state=active&state=paused", "/api/v1/jobs?sort=id&sort=id", "/api/v1/jobs/-?id=x&id=y",
		"/api/v1/runs?job=x&job=y", "/api/v1/runs?id=1&id=2",
	} {
		got := s.want(http.StatusBadRequest, "GET", path, "")
		if !strings.Contains(got.text, "given 2 times") {
			t.Errorf("%s: %s", path, got.text)
		}
	}
	for _, path := range []string{"/api/v1/jobs?tag=a&tag=b&id=x&id=y", "/api/v1/runs?state=queued&state=lost&cause=manual&cause=retry&id=1,2"} {
		s.want(http.StatusOK, "GET", path, "")
	}
}

func TestASecondIfMatchHeaderCounts(t *testing.T) {
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("x"))
	send := func(tags ...string) int {
		req, err := http.NewRequestWithContext(t.Context(), "PATCH", s.url+"/api/v1/jobs/x", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "If-Match": tags}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := send(`"7"`, `"1"`); got != http.StatusOK {
		t.Errorf("the version of the second header: %d", got)
	}
	if got := send(`"7"`, `"8"`); got != http.StatusPreconditionFailed {
		t.Errorf("two other versions: %d", got)
	}
	if got := send(`"1"`, `x`); got != http.StatusBadRequest {
		t.Errorf("a second header that is none: %d", got)
	}
}

// going is a store that a client's going away reaches as an error of its context.
type going struct {
	ruqi.Operations
	asked chan struct{}
}

func (g going) Output(ctx context.Context, _ int64, from int64, _ int) (ruqi.OutputPart, error) {
	if from == 0 {
		return ruqi.OutputPart{Bytes: []byte("begin")}, nil
	}
	g.asked <- struct{}{}
	<-ctx.Done()
	return ruqi.OutputPart{}, fmt.Errorf("read output: %w", context.Cause(ctx))
}

func TestAFollowerThatGoesAwayIsNoFault(t *testing.T) {
	options, _, l := newOptions(t)
	asked := make(chan struct{})
	options.Operations = going{asked: asked}
	server := httptest.NewServer(httpapi.New(options))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/v1/runs/1/output?follow=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	cancel()
	_ = resp.Body.Close()
	server.Close() // waits for the handler
	if said := l.String(); strings.Contains(said, "level=WARN") || strings.Contains(said, "level=ERROR") {
		t.Errorf("the log:\n%s", said)
	}
}

func TestProblemsAreJSONForTheLastPathToo(t *testing.T) {
	s := serve(t)
	got := s.want(http.StatusNotFound, "GET", "/api/v1/jobs/", "")
	if !json.Valid([]byte(got.text)) {
		t.Errorf("%s", got.text)
	}
}
