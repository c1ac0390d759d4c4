//go:build linux

package fieldcase_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/trigger"
)

// answer sends a request to the service's API and returns the body of the answer, typed its Content-Type as well.
func (s *service) answer(method, path, body string) (status int, text string) {
	s.t.Helper()
	status, _, text = s.typed(method, path, body)
	return status, text
}

func (s *service) typed(method, path, body string) (status int, kind, text string) {
	s.t.Helper()
	token, err := os.ReadFile(filepath.Join(s.dir, "admin-token"))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	said, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(said)
}

// LE03: whoever reads a job does not read the secrets of its headers, and sending it back as it was read keeps them; they are not
// sent to another host for that.
func TestSecretsOfHeadersAreKeptAndNotShown(t *testing.T) {
	type sent struct{ auth, key string }
	requests := make(chan sent, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests <- sent{r.Header.Get("Authorization"), r.Header.Get("X-Api-Key")}
	}))
	t.Cleanup(receiver.Close)
	s := serve(t, "--allow-net", "127.0.0.1")
	run := func() sent {
		t.Helper()
		r, err := s.RunNow(t.Context(), "hook", nil)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-requests:
			return got
		case <-time.After(patience):
			r, err = s.FindRun(t.Context(), r.ID)
			t.Fatalf("nothing arrived: %+v, %v", r, err)
		}
		return sent{}
	}
	want := sent{"Bearer secret1", "secret2"}
	task := webhook.Request("POST", receiver.URL).WithHeader("Authorization", want.auth).WithHeader("X-Api-Key", want.key).WithHeader("Accept", "text/plain")
	job := s.add("hook", trigger.EveryDuration(time.Hour), task, ruqi.Policy{})
	shown, err := job.Task.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Jobs(t.Context(), ruqi.JobQuery{})
	if err != nil || len(list.Jobs) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	listed, err := list.Jobs[0].Task.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	_, got := s.answer("GET", "/api/v1/jobs/hook", "")
	for what, text := range map[string]string{"its add": string(shown), "the list": string(listed), "its get": got} {
		if strings.Contains(text, "secret") || !strings.Contains(text, ruqi.Mask) || !strings.Contains(text, "text/plain") {
			t.Errorf("%s shows %s", what, text)
		}
	}

	// All that was read is sent back, with another description.
	if status, said := s.answer("PUT", "/api/v1/jobs/hook", strings.Replace(got, `"description":""`, `"description":"changed"`, 1)); status != http.StatusOK || strings.Contains(said, "secret") || !strings.Contains(said, "changed") {
		t.Fatalf("%d %s", status, said)
	}
	if got := run(); got != want {
		t.Errorf("after a PUT of what was read, %+v is sent", got)
	}
	job, err = s.ModifyJob(t.Context(), "hook", func(job *ruqi.Job) error {
		job.Description = "changed again"
		return nil
	})
	if err != nil || job.Description != "changed again" {
		t.Fatalf("%+v, %v", job, err)
	}
	if got := run(); got != want {
		t.Errorf("after a change by the client, %+v is sent", got)
	}

	// A new value replaces the old one; the others stay.
	if status, said := s.answer("PATCH", "/api/v1/jobs/hook", `{"task":{"headers":{"X-Api-Key":"secret3"}}}`); status != http.StatusOK || strings.Contains(said, "secret") {
		t.Fatalf("%d %s", status, said)
	}
	want.key = "secret3"
	if got := run(); got != want {
		t.Errorf("after a change of one header, %+v is sent", got)
	}

	// Who cannot read the secrets cannot have them sent to a host of their own either, nor to a new job.
	_, got = s.answer("GET", "/api/v1/jobs/hook", "")
	elsewhere := strings.Replace(got, receiver.URL, "http://elsewhere.example", 1)
	if status, said := s.answer("PUT", "/api/v1/jobs/hook", elsewhere); status != http.StatusUnprocessableEntity || !strings.Contains(said, "/task/headers/Authorization") || !strings.Contains(said, "give it anew") {
		t.Errorf("another host: %d %s", status, said)
	}
	for _, patch := range []string{
		`{"task":{"url":"http://elsewhere.example/"}}`,
		`{"task":{"url":"` + strings.Replace(receiver.URL, "http:", "https:", 1) + `"}}`,
		`{"task":{"headers":{"Host":"elsewhere.example"}}}`,
	} {
		status, said := s.answer("PATCH", "/api/v1/jobs/hook", patch)
		if status != http.StatusUnprocessableEntity || !strings.Contains(said, "/task/headers/Authorization") || !strings.Contains(said, "/task/headers/X-Api-Key") || !strings.Contains(said, "give it anew") {
			t.Errorf("%s: %d %s", patch, status, said)
		}
	}
	if got := run(); got != want {
		t.Errorf("after changes that were refused, %+v is sent", got)
	}
	var shape map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got), &shape); err != nil {
		t.Fatal(err)
	}
	var fresh bytes.Buffer
	fmt.Fprintf(&fresh, `{"id":"other","trigger":%s,"task":%s}`, shape["trigger"], shape["task"])
	if status, said := s.answer("POST", "/api/v1/jobs", fresh.String()); status != http.StatusUnprocessableEntity || !strings.Contains(said, "none to keep") {
		t.Errorf("a new job: %d %s", status, said)
	}
}
