package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestAMisspeltNameOrWordIsAnsweredWithTheOneThatWasMeant(t *testing.T) {
	s := serve(t)
	const trigger, task = `"trigger":{"kind":"interval","every":"1h"}`, `"task":{"kind":"func","name":"x"}`
	for _, c := range []struct {
		status             int
		method, path, body string
		want               string
	}{
		{422, "POST", "/api/v1/jobs", `{"id":"x","prioriti":1,` + trigger + `,` + task + `}`, `did you mean "priority"?`},
		{422, "POST", "/api/v1/jobs", `{"id":"x","policy":{"overlap":"skpi"},` + trigger + `,` + task + `}`, `accepted are skip, queue, queue_one, cancel_running and allow; did you mean "skip"?`},
		{422, "POST", "/api/v1/jobs", `{"id":"x","policy":{"on_lost":"rerunn"},` + trigger + `,` + task + `}`, `did you mean "rerun"?`},
		{422, "POST", "/api/v1/jobs", `{"id":"x","policy":{"retry":{"max":1,"backoff":"linaer"}},` + trigger + `,` + task + `}`, `did you mean "linear"?`},
		{422, "POST", "/api/v1/jobs", `{"id":"x","policy":{"overlapp":"skip"},` + trigger + `,` + task + `}`, `did you mean "overlap"?`},
		{422, "POST", "/api/v1/jobs", `{"id":"x","trigger":{"kind":"intervall","every":"1h"},` + task + `}`, `did you mean "interval"?`},
		{422, "POST", "/api/v1/jobs", `{"id":"x",` + trigger + `,"task":{"kind":"fnuc","name":"x"}}`, `did you mean "func"?`},
		{422, "POST", "/api/v1/triggers/preview", `{` + trigger + `,"form":"2026-12-01T00:00:00Z"}`, `did you mean "from"?`},
		{400, "GET", "/api/v1/jobs?limt=5", "", `unknown query parameter; did you mean "limit"?`},
		{400, "GET", "/api/v1/jobs?sort=nxet", "", `did you mean "next"?`},
		{400, "GET", "/api/v1/runs?state=runing", "", `did you mean "running"?`},
		{400, "GET", "/api/v1/runs?cause=manuel", "", `did you mean "manual"?`},
	} {
		var problem struct {
			Errors []struct {
				Message string `json:"message"`
			} `json:"errors"`
		}
		if err := json.Unmarshal([]byte(s.want(c.status, c.method, c.path, c.body).text), &problem); err != nil {
			t.Errorf("%s %s %s: %v", c.method, c.path, c.body, err)
		}
		if text := fmt.Sprint(problem.Errors); !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: got %s, want %s", c.method, c.path, c.body, text, c.want)
		}
	}
	if text := s.want(http.StatusBadRequest, "GET", "/api/v1/jobs?colour=red", "").text; strings.Contains(text, "did you mean") {
		t.Errorf("nothing is near: %s", text)
	}
}

// A wrong value that is cut is seen to be, whichever part of the service read it.
func TestALongWrongValueIsShownAsCut(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("x", 300)
	for path, headers := range map[string][]string{
		"/api/v1/jobs?limit=" + long: nil, "/api/v1/jobs?sort=" + long: nil, "/api/v1/runs?from=" + long: nil, "/api/v1/jobs/j": {"If-Match", long},
	} {
		var problem struct {
			Errors []struct {
				Value string `json:"value"`
			} `json:"errors"`
		}
		method, body := "GET", ""
		if headers != nil {
			method, body = "PATCH", `{"priority":1}`
		}
		if err := json.Unmarshal([]byte(s.want(http.StatusBadRequest, method, path, body, headers...).text), &problem); err != nil {
			t.Fatal(err)
		}
		if len(problem.Errors) != 1 || problem.Errors[0].Value != strings.Repeat("x", 197)+"…" {
			t.Errorf("%.40s: %+v", path, problem.Errors)
		}
	}
}
