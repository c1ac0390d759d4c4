package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestAJobGoesThroughAllItsVerbsByAnyID(t *testing.T) {
	for name, id := range map[string]string{
		"plain":                          "nightly",
		"slashes and a blank (NM01)":     "etl/daily/part 1",
		"scripts and an emoji (NM03)":    "отчёт-日次-🙂",
		"a mark that turns text (NM03)":  "a\u200fb.c",
		"quotes (NM05)":                  `"night" o'clock`,
		"a percent sign":                 "100%25",
		"what means something in a path": "a/../b//c",
		"what means something in a URL":  "a?b=c&d#e;f+g",
		"only dashes":                    "--",
		"as long as may be (NM07)":       strings.Repeat("日", 255),
		"a script (XI01)":                "<script>alert(1)</script>",
		"an injection":                   `x'; DROP TABLE rq_jobs; --`,
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			paths := map[string][2]string{
				"in the path":  {"/api/v1/jobs/" + url.PathEscape(id), ""},
				"in the query": {"/api/v1/jobs/-", "?id=" + url.QueryEscape(id)},
			}
			for place, p := range paths {
				got := s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly(id)).json(t)
				if got["id"] != id || got["name"] != id {
					t.Fatalf("%s: %q came back as %q, named %q", place, id, got["id"], got["name"])
				}
				at := func(verb string) string { return p[0] + verb + p[1] }
				if got := s.want(http.StatusOK, "GET", at(""), "").json(t); got["id"] != id {
					t.Errorf("%s: got %q", place, got["id"])
				}
				s.want(http.StatusOK, "POST", at("/pause"), "")
				s.want(http.StatusOK, "POST", at("/resume"), "")
				run := s.want(http.StatusCreated, "POST", at("/run"), "").json(t)
				if run["job_id"] != id {
					t.Errorf("%s: the run is of %q", place, run["job_id"])
				}
				s.want(http.StatusOK, "PATCH", at(""), `{"description":"x"}`)
				s.want(http.StatusOK, "PUT", at(""), hourly(id))
				if items := s.want(http.StatusOK, "GET", "/api/v1/runs?job="+url.QueryEscape(id), "").json(t)["items"].([]any); len(items) == 0 {
					t.Errorf("%s: no run is listed", place)
				}
				s.want(http.StatusNoContent, "DELETE", at(""), "")
				s.want(http.StatusNotFound, "GET", at(""), "")
			}
		})
	}
}

func TestLongNamesAlikeStayTwoJobs(t *testing.T) { // NM07
	s := serve(t)
	long := strings.Repeat("x", 254)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly(long+"a"))
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly(long+"b"))
	s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", hourly(long+"ab"))
	if total := s.want(http.StatusOK, "GET", "/api/v1/jobs", "").json(t)["total"]; total != 2.0 {
		t.Errorf("%v jobs, want 2", total)
	}
}

func TestConflictsGoAsAsked(t *testing.T) {
	s := serve(t)
	first := s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("x"))
	if first.Header.Get("ETag") != `"1"` || first.Header.Get("Location") != "/api/v1/jobs/x" {
		t.Errorf("headers: %v", first.Header)
	}
	changed := strings.Replace(hourly("x"), "{", `{"description":"new",`, 1)
	s.want(http.StatusConflict, "POST", "/api/v1/jobs", changed)
	s.want(http.StatusConflict, "POST", "/api/v1/jobs?on_conflict=fail", changed)
	if got := s.want(http.StatusOK, "POST", "/api/v1/jobs?on_conflict=keep", changed).json(t); got["description"] != "" || got["version"] != 1.0 {
		t.Errorf("keep changed the job: %v", got)
	}
	if got := s.want(http.StatusOK, "POST", "/api/v1/jobs?on_conflict=replace", changed).json(t); got["description"] != "new" || got["version"] != 2.0 {
		t.Errorf("replace did not: %v", got)
	}
}

func TestAReplacementCanBeBoundToAVersion(t *testing.T) {
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("x"))
	changed := strings.Replace(hourly("x"), "{", `{"description":"new","state":"paused",`, 1)
	replace := "/api/v1/jobs?on_conflict=replace"
	s.want(http.StatusPreconditionFailed, "POST", replace, changed, "If-Match", `"2"`)
	s.want(http.StatusNotFound, "POST", replace, hourly("y"), "If-Match", `"1"`)
	s.want(http.StatusBadRequest, "POST", "/api/v1/jobs", changed, "If-Match", `"1"`)
	s.want(http.StatusBadRequest, "POST", replace+"&dry_run=true", changed, "If-Match", `"1"`)
	if got := s.want(http.StatusOK, "POST", replace, changed, "If-Match", `"1"`).json(t); got["description"] != "new" || got["version"] != 2.0 || got["state"] != "paused" {
		t.Errorf("replaced: %v", got)
	}
}

func TestADryRunAnswersAsIfAndChangesNothing(t *testing.T) {
	s := serve(t)
	if got := s.want(http.StatusOK, "POST", "/api/v1/jobs?dry_run=true", hourly("x")); got.Header.Get("Location") != "" || got.Header.Get("Ruqi-Added") != "created" || got.json(t)["version"] != 1.0 {
		t.Errorf("a new job: %v", got.Header)
	}
	s.want(http.StatusNotFound, "GET", "/api/v1/jobs/x", "")
	if got := s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("x")); got.Header.Get("Ruqi-Added") != "created" {
		t.Errorf("it was created: %v", got.Header)
	}
	for onConflict, added := range map[string]string{"keep": "kept", "replace": "replaced"} {
		for _, dry := range []string{"&dry_run=true", ""} {
			if got := s.want(http.StatusOK, "POST", "/api/v1/jobs?on_conflict="+onConflict+dry, hourly("x")); got.Header.Get("Ruqi-Added") != added {
				t.Errorf("%s%s: %v", onConflict, dry, got.Header)
			}
		}
	}
	s.want(http.StatusConflict, "POST", "/api/v1/jobs?dry_run=true", hourly("x"))
	changed := strings.Replace(hourly("x"), "{", `{"description":"new",`, 1)
	for body, version := range map[string]float64{hourly("x"): 1, changed: 2} {
		if got := s.want(http.StatusOK, "POST", "/api/v1/jobs?dry_run=true&on_conflict=replace", body).json(t); got["version"] != version {
			t.Errorf("%s would be at version %v", body, got["version"])
		}
	}
	s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs?dry_run=true", `{"id":"y"}`)
	s.want(http.StatusBadRequest, "POST", "/api/v1/jobs?dry_run=maybe", hourly("x"))
	if got := s.want(http.StatusOK, "GET", "/api/v1/jobs/x", "").json(t); got["description"] != "" || got["version"] != 1.0 {
		t.Errorf("the job is now %v", got)
	}
}

func TestAJobIsReadEditedAndPutBack(t *testing.T) {
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("x"))
	got := s.want(http.StatusOK, "GET", "/api/v1/jobs/x", "")
	edited := strings.Replace(got.text, `"description":""`, `"description":"edited"`, 1)
	put := s.want(http.StatusOK, "PUT", "/api/v1/jobs/x", edited, "If-Match", got.Header.Get("ETag"))
	job := put.json(t)
	if job["description"] != "edited" || job["version"] != 2.0 || put.Header.Get("ETag") != `"2"` {
		t.Errorf("after PUT: %s", put.text)
	}
	if was := got.json(t); was["next_nominal_time"] != job["next_nominal_time"] {
		t.Errorf("an equal trigger lost its next time: %v, was %v", job["next_nominal_time"], was["next_nominal_time"])
	}
	s.want(http.StatusPreconditionFailed, "PUT", "/api/v1/jobs/x", edited, "If-Match", `"1"`)
	s.want(http.StatusPreconditionFailed, "PATCH", "/api/v1/jobs/x", `{"priority":1}`, "If-Match", `"1", "7"`)
	s.want(http.StatusPreconditionFailed, "DELETE", "/api/v1/jobs/x", "", "If-Match", `"1"`)
	s.want(http.StatusOK, "PATCH", "/api/v1/jobs/x", `{"priority":1}`, "If-Match", `W/"2"`)
	s.want(http.StatusNoContent, "DELETE", "/api/v1/jobs/x", "", "If-Match", `"1", "3"`)
	s.want(http.StatusNotFound, "DELETE", "/api/v1/jobs/x", "", "If-Match", `"3"`)
	s.want(http.StatusNotFound, "PUT", "/api/v1/jobs/x", edited)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", got.text) // what one service shows another one takes
}

func TestAPatchChangesWhatItNamesAlone(t *testing.T) {
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("x", `{"kind":"cron","expr":"0 3 * * *","zone":"Europe/Berlin"}`, "true"))
	patch := func(text string) map[string]any {
		t.Helper()
		return s.want(http.StatusOK, "PATCH", "/api/v1/jobs/x", text, "Content-Type", "application/merge-patch+json").json(t)
	}
	if got := patch(`{"trigger":{"expr":"0 4 * * *"}}`)["trigger"].(map[string]any); got["expr"] != "0 4 * * *" || got["zone"] != "Europe/Berlin" {
		t.Errorf("trigger %v", got)
	}
	if got := patch(`{"trigger":{"kind":"interval","every":"5m"}}`)["trigger"].(map[string]any); got["kind"] != "interval" || got["every"] != "5m" {
		t.Errorf("trigger of another kind %v", got)
	}
	if got := patch(`{"policy":{"timeout":"10m"},"labels":{"a":"1","b":"2"}}`)["policy"].(map[string]any); got["timeout"] != "10m" || got["catchup_limit"] != 100.0 {
		t.Errorf("policy %v", got)
	}
	got := patch(`{"policy":{"timeout":null},"labels":{"a":null}}`)
	if got["policy"].(map[string]any)["timeout"] != nil || fmt.Sprint(got["labels"]) != "map[b:2]" {
		t.Errorf("null does not take away: %v", got)
	}
	for _, text := range []string{`{"id":"y"}`, `{"version":9}`, `{"state":"paused"}`, `{"colour":"red"}`, `{"trigger":null}`, `{"task":{"kind":"none"}}`} {
		s.want(http.StatusUnprocessableEntity, "PATCH", "/api/v1/jobs/x", text)
	}
	s.want(http.StatusOK, "PATCH", "/api/v1/jobs/x", `{"state":"active","id":"x"}`) // as they are
}

func TestPausedJobsAreAddedAndStayPaused(t *testing.T) {
	s := serve(t)
	paused := strings.Replace(hourly("x"), "{", `{"state":"paused",`, 1)
	if got := s.want(http.StatusCreated, "POST", "/api/v1/jobs", paused).json(t); got["state"] != "paused" || got["next_nominal_time"] != nil {
		t.Errorf("added: %v", got)
	}
	if got := s.want(http.StatusOK, "PUT", "/api/v1/jobs/x", hourly("x")).json(t); got["state"] != "paused" {
		t.Errorf("after PUT: %v", got)
	}
	if got := s.want(http.StatusOK, "POST", "/api/v1/jobs/x/resume", "").json(t); got["state"] != "active" || got["next_nominal_time"] == nil {
		t.Errorf("resumed: %v", got)
	}
}

// bare is a time without an offset.
var bare = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?("|$)`)

func TestEveryTimeHasAnOffset(t *testing.T) { // TM03
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("x", `{"kind":"cron","expr":"0 3 * * *","zone":"America/Chicago","start":"2026-01-01T00:00:00"}`, "true"))
	run := s.want(http.StatusCreated, "POST", "/api/v1/jobs/x/run", "").json(t)
	s.eventually("the run ends", func() bool {
		return s.do("GET", fmt.Sprintf("/api/v1/runs/%v", run["id"]), "").json(t)["finished_at"] != nil
	})
	times := 0
	for _, path := range []string{"/api/v1/jobs", "/api/v1/jobs/x", "/api/v1/runs", fmt.Sprintf("/api/v1/runs/%v", run["id"]), "/api/v1/status", "/api/v1/instances"} {
		text := s.want(http.StatusOK, "GET", path, "").text
		if found := bare.FindString(text); found != "" {
			t.Errorf("%s: time without an offset: %s", path, found)
		}
		times += strings.Count(text, "T")
	}
	if times < 10 {
		t.Errorf("only %d times were seen", times)
	}
	if next := s.do("GET", "/api/v1/jobs/x", "").json(t)["next_nominal_time"].(string); !strings.Contains(next, "T03:00:00-0") {
		t.Errorf("next time %s is not shown in the trigger's zone", next)
	}
}

func TestATimeWithoutAnOffsetIsReadInTheJobsZone(t *testing.T) { // TM01
	s := serve(t)
	for zone, offset := range map[string]string{`"zone":"America/Chicago"`: "-06:00", `"zone":null`: "Z"} {
		got := s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("at"+offset, `{"kind":"date","at":"2031-12-01T12:00:00",`+zone+`}`, "true")).json(t)
		if next := got["next_nominal_time"]; next != "2031-12-01T12:00:00"+offset {
			t.Errorf("%s: next %v, want offset %s", zone, next, offset)
		}
	}
}

func TestADateOnTheDayOfAClockChange(t *testing.T) { // PD05
	s := serve(t)
	got := s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("x", `{"kind":"date","at":"2027-03-14T03:30:00","zone":"America/New_York"}`, "true")).json(t)
	next, err := time.Parse(time.RFC3339, got["next_nominal_time"].(string))
	if err != nil || !next.Equal(time.Date(2027, 3, 14, 7, 30, 0, 0, time.UTC)) {
		t.Errorf("next %v, want 07:30Z", got["next_nominal_time"])
	}
}

func TestADateInAnHourWaitsForIt(t *testing.T) { // TM05
	s := serve(t)
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	got := s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("x", `{"kind":"date","at":"`+at+`"}`, "true")).json(t)
	if got["next_nominal_time"] != at || got["state"] != "active" {
		t.Errorf("next %v, state %v; want %s, active", got["next_nominal_time"], got["state"], at)
	}
	if runs := s.want(http.StatusOK, "GET", "/api/v1/runs", "").json(t)["items"].([]any); len(runs) != 0 {
		t.Errorf("it ran already: %v", runs)
	}
}

func TestADateOfYesterdayIsRefusedWithAWord(t *testing.T) { // PD01
	s := serve(t)
	at := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	got := s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", job("x", `{"kind":"date","at":"`+at+`"}`, "true"))
	if !strings.Contains(got.text, "/trigger") {
		t.Errorf("the field is not named: %s", got.text)
	}
}

func TestAJobAddedBesideAnHourlyOneRunsInTime(t *testing.T) { // WK01
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly("hourly"))
	at := time.Now().Add(2 * time.Second).UTC()
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("soon", `{"kind":"date","at":"`+at.Format(time.RFC3339Nano)+`"}`, "true"))
	started := time.Time{}
	s.eventually("the date runs", func() bool {
		for _, item := range s.do("GET", "/api/v1/runs?job=soon", "").json(t)["items"].([]any) {
			if text, ok := item.(map[string]any)["started_at"].(string); ok {
				started, _ = time.Parse(time.RFC3339Nano, text)
			}
		}
		return !started.IsZero()
	})
	if late := started.Sub(at); late < 0 || late > time.Second {
		t.Errorf("started %v after its time", late)
	}
}

func TestFailingAddsDoNotHoldUpOtherJobs(t *testing.T) { // WK03
	s := serve(t)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", job("often", `{"kind":"interval","every":"1s"}`, "true"))
	bad := hourly(strings.Repeat("x", 300))
	s.eventually("the other job runs on", func() bool {
		s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", bad)
		return len(s.do("GET", "/api/v1/runs?job=often&state=succeeded", "").json(t)["items"].([]any)) >= 2
	})
}

func TestFiveThousandJobsComeInPages(t *testing.T) { // PG01
	s := serve(t)
	const jobs = 5000
	for i := range jobs {
		spec, err := json.Marshal(fmt.Sprintf("job-%04d", i))
		if err != nil {
			t.Fatal(err)
		}
		s.want(http.StatusCreated, "POST", "/api/v1/jobs", strings.Replace(hourly("x"), `"x"`, string(spec), 1))
	}
	begin := time.Now()
	page := s.want(http.StatusOK, "GET", "/api/v1/jobs", "").json(t)
	took := time.Since(begin)
	if len(page["items"].([]any)) != 50 || page["total"] != float64(jobs) || page["next_cursor"] == nil {
		t.Errorf("first page: %d items, total %v, cursor %v", len(page["items"].([]any)), page["total"], page["next_cursor"])
	}
	if took > 300*time.Millisecond {
		t.Errorf("the first page took %v", took)
	}
	seen := map[string]bool{}
	for cursor := ""; ; {
		page := s.want(http.StatusOK, "GET", "/api/v1/jobs?limit=1000000000&cursor="+url.QueryEscape(cursor), "").json(t)
		items := page["items"].([]any)
		if len(items) > 1000 {
			t.Fatalf("a page of %d items", len(items))
		}
		for _, item := range items {
			seen[item.(map[string]any)["id"].(string)] = true
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		cursor = next
	}
	if len(seen) != jobs {
		t.Errorf("%d jobs by paging, want %d", len(seen), jobs)
	}
}

func TestPageSizes(t *testing.T) { // PG05
	s := serve(t)
	for i := range 12 {
		s.want(http.StatusCreated, "POST", "/api/v1/jobs", hourly(fmt.Sprint(i)))
	}
	if items := s.want(http.StatusOK, "GET", "/api/v1/jobs?limit=10", "").json(t)["items"].([]any); len(items) != 10 {
		t.Errorf("%d items, want 10", len(items))
	}
	for _, list := range []string{"jobs", "runs"} {
		for _, limit := range []string{"0", "-1", "abc", "1e3", "99999999999999999999"} {
			s.want(http.StatusBadRequest, "GET", "/api/v1/"+list+"?limit="+limit, "")
		}
		s.want(http.StatusOK, "GET", "/api/v1/"+list+"?limit=1000000000", "")
	}
}

func TestWrongQueriesAreToldInOneStyle(t *testing.T) {
	s := serve(t)
	for path, want := range map[string]string{
		"/api/v1/jobs?state=gone":           "accepted are active, paused and finished",
		"/api/v1/runs?state=done":           "accepted are queued, running, succeeded, failed, timed_out, cancelled, lost, missed and skipped",
		"/api/v1/jobs?limit=many":           "not a whole number from 1 up",
		"/api/v1/jobs?limit=0":              "not a whole number from 1 up",
		"/api/v1/runs/1/output?follow=much": "accepted are true and false",
		"/api/v1/runs/1/output?limit=-1":    "not a whole number from 1 to 1048576",
	} {
		got := s.want(http.StatusBadRequest, "GET", path, "")
		if !strings.Contains(got.text, want) || strings.Contains(got.text, "strconv") || strings.Contains(got.text, "invalid integer") {
			t.Errorf("%s: want %q: %s", path, want, got.text)
		}
	}
}
