package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

// start runs a shell command once and returns the run's path.
func (s *service) start(id, shell string) string {
	s.t.Helper()
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", job(id, `{"kind":"interval","every":"1h"}`, shell))
	run := s.want(http.StatusCreated, "POST", "/api/v1/jobs/"+url.PathEscape(id)+"/run", "")
	return run.Header.Get("Location")
}

func (s *service) state(path string) string {
	s.t.Helper()
	return s.want(http.StatusOK, "GET", path, "").json(s.t)["state"].(string)
}

func TestOutputIsRawAndCanBeReadFromAnOffset(t *testing.T) {
	s := serve(t)
	path := s.start("x", `printf 'a\000b\377<script>\n'`)
	s.eventually("the run ends", func() bool { return ruqi.RunState(s.state(path)).Ended() })
	got := s.want(http.StatusOK, "GET", path+"/output", "")
	if got.text != "a\x00b\xff<script>\n" {
		t.Errorf("output %q", got.text)
	}
	if kind := got.Header.Get("Content-Type"); kind != "application/octet-stream" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", got.Header)
	}
	if got := s.want(http.StatusOK, "GET", path+"/output?from=3", ""); got.text != "\xff<script>\n" || got.Header.Get("Output-Offset") != "3" {
		t.Errorf("from 3: %q at %s", got.text, got.Header.Get("Output-Offset"))
	}
	if got := s.want(http.StatusOK, "GET", path+"/output?from=0&limit=2", ""); got.text != "a\x00" || got.Header.Get("Output-Ended") != "false" {
		t.Errorf("limit 2: %q, ended %s", got.text, got.Header.Get("Output-Ended"))
	}
	if got := s.want(http.StatusOK, "GET", path+"/output?from=1000", ""); got.text != "" {
		t.Errorf("past the end: %q", got.text)
	}
	for _, query := range []string{"from=-1", "from=x", "limit=0", "limit=1048577", "follow=maybe", "follow=1&limit=1"} {
		s.want(http.StatusBadRequest, "GET", path+"/output?"+query, "")
	}
	s.want(http.StatusNotFound, "GET", "/api/v1/runs/4711/output", "")
}

func TestARunShowsHowFarItIsWhileItRuns(t *testing.T) {
	s := serve(t)
	gate := t.TempDir() + "/gate"
	path := s.start("x", fmt.Sprintf(`mkfifo %[1]s; echo "::ruqi progress 0.5 half"; cat %[1]s; echo '::ruqi result {"n":1}'`, gate))
	shown := func() (progress, text, result any) {
		run := s.want(http.StatusOK, "GET", path, "").json(t)
		return run["progress"], run["progress_text"], run["result"]
	}
	s.eventually("it says how far it is", func() bool {
		progress, text, result := shown()
		return progress == 0.5 && text == "half" && result == nil
	})
	list := s.want(http.StatusOK, "GET", "/api/v1/runs?job=x&state=running", "").text
	if !strings.Contains(list, `"progress":0.5,"progress_text":"half"`) {
		t.Errorf("the list shows %s", list)
	}
	openGate(t, gate)
	s.eventually("the run ends", func() bool { return ruqi.RunState(s.state(path)).Ended() })
	progress, text, result := shown()
	if object, ok := result.(map[string]any); !ok || object["n"] != 1.0 || progress != 0.5 || text != "half" {
		t.Errorf("at its end it shows %v %v %v", progress, text, result)
	}
	description := s.want(http.StatusOK, "GET", "/api/openapi.json", "").text
	if !strings.Contains(description, `"progress_text":{`) {
		t.Error("the API's description does not know progress_text")
	}
}

func TestALongOutputShowsWhereItWasCut(t *testing.T) {
	s := serve(t)
	path := s.start("x", `head -c 3000000 /dev/zero | tr '\000' x`)
	s.eventually("the run ends", func() bool { return ruqi.RunState(s.state(path)).Ended() })
	run := s.want(http.StatusOK, "GET", path, "").json(t)
	text := s.want(http.StatusOK, "GET", path+"/output", "").text
	if run["output_bytes"] != 3e6 || run["output_cut"] != true || len(text) > 1<<20+100 || !strings.Contains(text, "bytes were not kept]") {
		t.Errorf("%v bytes, cut %v, %d sent", run["output_bytes"], run["output_cut"], len(text))
	}
}

func TestAFollowerSeesOutputLiveUntilTheRunEnds(t *testing.T) {
	s := serve(t)
	gate := t.TempDir() + "/gate"
	path := s.start("x", fmt.Sprintf(`mkfifo %[1]s; echo first; cat %[1]s; echo last`, gate))
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path+"/output?follow=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || lines.Text() != "first" {
		t.Fatalf("first line %q, %v", lines.Text(), lines.Err())
	}
	if state := s.state(path); state != "running" {
		t.Errorf("the run is %s, so the line was not live", state)
	}
	openGate(t, gate)
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	if lines.Err() != nil || strings.Join(rest, ",") != "through,last" {
		t.Errorf("rest %v, %v", rest, lines.Err())
	}
	s.eventually("the run succeeds", func() bool { return s.state(path) == "succeeded" })
}

func TestRunsAreCancelledByTheBearerOfTheToken(t *testing.T) {
	s := serve(t)
	path := s.start("x", "sleep 600")
	s.eventually("it runs", func() bool { return s.state(path) == "running" })
	s.want(http.StatusOK, "POST", path+"/cancel", "")
	s.eventually("it is cancelled", func() bool { return s.state(path) == "cancelled" })
	run := s.want(http.StatusOK, "GET", path, "").json(t)
	if !strings.Contains(run["reason"].(string), "tester") || run["cancel_by"] != "tester" {
		t.Errorf("the reason %q does not say who", run["reason"])
	}
	got := s.want(http.StatusConflict, "POST", path+"/cancel", "")
	if got.json(t)["type"] != "urn:ruqi:ended" {
		t.Errorf("problem %s", got.text)
	}
}

func TestFortyRunsAtOnceAreAllReachedByPaging(t *testing.T) { // PG03
	s := serve(t)
	for i := range 40 {
		s.start(fmt.Sprint(i), "exec sleep 60")
	}
	running := func() map[float64]bool {
		seen := map[float64]bool{}
		for cursor := ""; ; {
			page := s.want(http.StatusOK, "GET", "/api/v1/runs?state=running&limit=7&cursor="+url.QueryEscape(cursor), "").json(t)
			for _, item := range page["items"].([]any) {
				seen[item.(map[string]any)["id"].(float64)] = true
			}
			next, more := page["next_cursor"].(string)
			if !more {
				return seen
			}
			cursor = next
		}
	}
	s.eventually("all forty run and are listed", func() bool { return len(running()) == 40 })
	status := s.want(http.StatusOK, "GET", "/api/v1/status", "").json(t)
	if got := status["runs"].(map[string]any)["running"]; got != 40.0 {
		t.Errorf("status counts %v", got)
	}
}

func TestExecutedRunsTellHowManyThereAre(t *testing.T) {
	s := serve(t)
	for i := range 5 {
		path := s.start(fmt.Sprint(i), []string{"true", "exit 3"}[i%2])
		s.eventually("it has ended", func() bool { state := s.state(path); return state == "succeeded" || state == "failed" })
	}
	for query, want := range map[string]string{
		"":                                       "items 5 total <nil>",
		"?executed=true":                         "items 5 total 5",
		"?executed=true&limit=2&offset=4":        "items 1 total 5",
		"?executed=true&job=1":                   "items 1 total 1",
		"?executed=true&name=2&state=succeeded":  "items 1 total 1",
		"?executed=true&state=succeeded&limit=1": "items 1 total 3",
		"?executed=true&state=failed":            "items 2 total <nil>",
		"?executed=true&state=failed&state=timed_out&state=cancelled&state=lost": "items 2 total 2",
		"?executed=true&cause=manual":                                            "items 5 total <nil>",
	} {
		page := s.want(http.StatusOK, "GET", "/api/v1/runs"+query, "").json(t)
		if got := fmt.Sprintf("items %d total %v", len(page["items"].([]any)), page["total"]); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	got := s.want(http.StatusUnprocessableEntity, "GET", "/api/v1/runs?offset=-1", "").json(t)
	if text := fmt.Sprint(got["errors"]); !strings.Contains(text, "/offset") {
		t.Errorf("a negative offset: %s", text)
	}
}

func TestJobsAreListedNewestFirst(t *testing.T) {
	s := serve(t)
	for _, id := range []string{"c", "a", "b"} {
		s.want(http.StatusCreated, "POST", "/api/v1/jobs", fmt.Sprintf(`{"id":%q,"trigger":{"kind":"cron","expr":"@yearly"},"task":{"kind":"command","command":"true"}}`, id))
	}
	page := s.want(http.StatusOK, "GET", "/api/v1/jobs?sort=newest&offset=1&limit=5", "").json(t)
	var ids []any
	for _, item := range page["items"].([]any) {
		ids = append(ids, item.(map[string]any)["id"])
	}
	if fmt.Sprint(ids, page["total"]) != "[a c] 3" {
		t.Errorf("the newest but one are %v of %v", ids, page["total"])
	}
}

func TestPreviewAsksTheTriggerItself(t *testing.T) {
	s := serve(t)
	got := s.want(http.StatusOK, "POST", "/api/v1/triggers/preview",
		`{"trigger":{"kind":"cron","expr":"30 2 * * *","zone":"Europe/Berlin"},"from":"2026-03-28T00:00:00Z","n":3}`).json(t)
	want := "[2026-03-28T02:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00]"
	if fmt.Sprint(got["times"]) != want || got["trigger"].(map[string]any)["gap"] != "run_after" {
		t.Errorf("got %v, want times %s", got, want)
	}
	once := s.want(http.StatusOK, "POST", "/api/v1/triggers/preview", `{"trigger":{"kind":"date","at":"2031-01-01T00:00:00Z"}}`).json(t)
	if len(once["times"].([]any)) != 1 {
		t.Errorf("a date has %v", once["times"])
	}
	reboot := s.want(http.StatusOK, "POST", "/api/v1/triggers/preview", `{"trigger":{"kind":"cron","expr":"@reboot"}}`).json(t)
	if text := fmt.Sprint(reboot["times"], reboot["warnings"]); !strings.HasPrefix(text, "[] [@reboot never fires by the clock") || !strings.Contains(text, "policy.run_on_start") {
		t.Errorf("@reboot has %s", text)
	}
	all := s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/triggers/preview",
		`{"trigger":{"kind":"cron","expr":"0 0 * * *","zone":"Nowhere"},"from":"soon","until":"later","at":"then","n":0,"previous":-1}`).text
	for _, pointer := range []string{"/trigger/zone", "/from", "/until", "/at", "/n", "/previous"} {
		if !strings.Contains(all, `"`+pointer+`"`) {
			t.Errorf("%s is not told among all faults: %s", pointer, all)
		}
	}
}

func TestPreviewDescribesLooksBackAndExplains(t *testing.T) {
	s := serve(t)
	got := s.want(http.StatusOK, "POST", "/api/v1/triggers/preview",
		`{"trigger":{"kind":"cron","expr":"30 2 * * mon-fri","zone":"UTC"},"from":"2026-11-27T02:30:00Z","until":"2026-11-30T02:30:00Z","previous":2,"at":"2026-11-29T02:30:00Z"}`).json(t)
	for part, want := range map[string]string{
		"times":       "[2026-11-30T02:30:00Z]",
		"previous":    "[2026-11-26T02:30:00Z 2026-11-25T02:30:00Z]",
		"description": "map[en:at 02:30 on Monday to Friday, UTC zh:在每周一至周五的 02:30，UTC 时间]",
		"explanation": "map[after:2026-11-30T02:30:00Z at:2026-11-29T02:30:00Z before:2026-11-27T02:30:00Z fires:false " +
			"reasons:[map[message:the weekday is sun, and the expression asks for mon-fri message_zh:星期为 sun，而表达式要求 mon-fri part:day_of_week]]]",
	} {
		if text := fmt.Sprint(got[part]); text != want {
			t.Errorf("%s: got %s, want %s", part, text, want)
		}
	}
	fires := s.want(http.StatusOK, "POST", "/api/v1/triggers/preview", `{"trigger":{"kind":"date","at":"2031-01-01T00:00:00Z"},"at":"2031-01-01T00:00:00Z"}`).json(t)
	if text := fmt.Sprint(fires["explanation"]); text != "map[after:<nil> at:2031-01-01T00:00:00Z before:<nil> fires:true reasons:[]]" {
		t.Errorf("at its time a date has %s", text)
	}
	if _, given := fires["previous"]; given {
		t.Error("times before are told that nobody asked for")
	}
	// A trigger without abilities is asked by its Next.
	plain := wire.Explain(newYear{}, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	if plain.Fires || plain.Reasons[0].Part != "newyear" || plain.Reasons[0].Message != "no fire time; the ones on either side are 2026-01-01T00:00:00Z and 2027-01-01T00:00:00Z" ||
		!strings.HasPrefix(plain.Reasons[0].Chinese, "不是触发时刻") || plain.Before.Year() != 2026 || plain.After.Year() != 2027 {
		t.Errorf("got %+v", plain)
	}
	if at := wire.Explain(newYear{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); !at.Fires {
		t.Errorf("got %+v", at)
	}
	if said := wire.Describe(newYear{}); said.English != `{"kind":"newyear"}` || said.Chinese != said.English {
		t.Errorf("got %+v", said)
	}
}

// newYear is a trigger with nothing but what it must have.
type newYear struct{}

func (newYear) Next(after time.Time) (time.Time, bool) {
	return time.Date(after.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC), true
}
func (newYear) Kind() string                 { return "newyear" }
func (newYear) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"newyear"}`), nil }

func TestStatusAndProbesFollowTheScheduler(t *testing.T) {
	s := serve(t)
	status := s.want(http.StatusOK, "GET", "/api/v1/status", "").json(t)
	if status["state"] != "running" || status["store"].(map[string]any)["ok"] != true || status["version"] != "test" {
		t.Errorf("status %v", status)
	}
	if items := s.want(http.StatusOK, "GET", "/api/v1/instances", "").json(t)["items"].([]any); len(items) != 1 {
		t.Errorf("instances %v", items)
	}
	s.want(http.StatusNoContent, "POST", "/api/v1/wakeup", "")
	s.want(http.StatusOK, "GET", "/readyz", "")
	if err := s.scheduler.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := s.want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	if !strings.Contains(got.text, "not ready") {
		t.Errorf("readyz: %s", got.text)
	}
	s.want(http.StatusOK, "GET", "/healthz", "")
}
