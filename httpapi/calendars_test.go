package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestACalendarGoesThroughAllItsVerbs(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"holidays", "节假日", "a.b_c-1"} {
		path := "/api/v1/calendars/" + url.PathEscape(name)
		s.want(http.StatusNotFound, "GET", path, "")
		made := s.want(http.StatusCreated, "PUT", path, `{"days":{"yearly":["--12-26","--12-25"]}}`, "If-None-Match", "*")
		first := made.Header.Get("ETag")
		if got := made.json(t); got["name"] != name || fmt.Sprintf(`"%v"`, got["version"]) != first || made.Header.Get("Location") != path {
			t.Errorf("%s: made %v, %v", name, got, made.Header)
		}
		s.want(http.StatusConflict, "PUT", path, `{"days":{}}`, "If-None-Match", "*")
		got := s.want(http.StatusOK, "GET", path, "")
		if days := fmt.Sprint(got.json(t)["days"]); days != "map[yearly:[--12-25 --12-26]]" || got.Header.Get("ETag") != first {
			t.Errorf("%s: its days are %s, %v", name, days, got.Header)
		}
		if same := s.want(http.StatusOK, "PUT", path, got.text).Header.Get("ETag"); same != first {
			t.Errorf("%s: sent back as it came it is at %s, was at %s", name, same, first)
		}
		second := s.want(http.StatusOK, "PUT", path, `{"days":{"dates":["2027-01-01"]}}`, "If-Match", first).Header.Get("ETag")
		s.want(http.StatusPreconditionFailed, "PUT", path, `{"days":{}}`, "If-Match", first)
		s.want(http.StatusPreconditionFailed, "DELETE", path, "", "If-Match", first)
		s.want(http.StatusNoContent, "DELETE", path, "", "If-Match", second)
		s.want(http.StatusNotFound, "DELETE", path, "")
		s.want(http.StatusNotFound, "PUT", path, `{"days":{}}`, "If-Match", second)
	}
}

func TestCalendarsAreListedWithoutTheirDays(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"b", "a", "c"} {
		s.want(http.StatusCreated, "PUT", "/api/v1/calendars/"+name, `{"days":{"weekdays":["sun"]}}`)
	}
	names, path := "", "/api/v1/calendars?limit=2"
	for path != "" {
		page := s.want(http.StatusOK, "GET", path, "").json(t)
		for _, item := range page["items"].([]any) {
			calendar := item.(map[string]any)
			names += calendar["name"].(string)
			if _, has := calendar["days"]; has || calendar["version"] == 0.0 {
				t.Errorf("%v is listed", calendar)
			}
		}
		path = ""
		if next, more := page["next_cursor"].(string); more {
			path = "/api/v1/calendars?limit=2&cursor=" + url.QueryEscape(next)
		}
	}
	if names != "abc" {
		t.Errorf("listed are %q", names)
	}
	s.want(http.StatusBadRequest, "GET", "/api/v1/calendars?limit=0", "")
}

func TestWrongCalendarsAreTold(t *testing.T) {
	s := serve(t)
	for body, want := range map[string]string{
		`{}`:                           `"/days"`,
		`{"days":[]}`:                  `"/days"`,
		`{"days":"x"}`:                 `"/days"`,
		`{"days":{},"name":"b","x":1}`: `"/x"`,
		`{"days":{"dates":["2026-02-30"],"moons":[]}}`:             `"/days/dates/0"`,
		`{"days":{"weekdays":["someday"],"yearly":["12-25"]}}`:     `"/days/weekdays/0"`,
		`{"days":{"union":[{"dates":["2026-12-26/2026-12-25"]}]}}`: `"/days/union/0/dates/0"`,
	} {
		if got := s.want(http.StatusUnprocessableEntity, "PUT", "/api/v1/calendars/a", body).text; !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	s.want(http.StatusBadRequest, "PUT", "/api/v1/calendars/a", `{`)
	for header, value := range map[string]string{"If-Match": "x", "If-None-Match": `"1"`} {
		s.want(http.StatusBadRequest, "PUT", "/api/v1/calendars/a", `{"days":{}}`, header, value)
	}
	s.want(http.StatusBadRequest, "PUT", "/api/v1/calendars/a", `{"days":{}}`, "If-Match", `"1", "2"`)
	s.want(http.StatusBadRequest, "PUT", "/api/v1/calendars/a", `{"days":{}}`, "If-Match", `"1"`, "If-None-Match", "*")
	s.want(http.StatusUnprocessableEntity, "PUT", "/api/v1/calendars/a%20b", `{"days":{}}`)
	s.want(http.StatusUnprocessableEntity, "GET", "/api/v1/calendars/a%20b", "")
	if page := s.want(http.StatusOK, "GET", "/api/v1/calendars", "").json(t); len(page["items"].([]any)) != 0 {
		t.Errorf("something of it was kept: %v", page)
	}
}

// festive is a job that fires on Christmas and the day after, but for the days of a calendar.
func festive(id string) string {
	return fmt.Sprintf(`{"id":%q,"trigger":{"kind":"except","of":{"kind":"cron","expr":"0 9 25,26 12 *","zone":"UTC"},"not":[{"calendar":"holidays"}]},
		"task":{"kind":"command","command":"true"}}`, id)
}

func TestAJobIsPlannedByTheCalendarThatItNames(t *testing.T) {
	s := serve(t)
	if got := s.want(http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", festive("a")).text; !strings.Contains(got, `"/trigger/not/0/calendar"`) || !strings.Contains(got, "holidays") {
		t.Errorf("a calendar that is not there: %s", got)
	}
	day := func() string {
		at, _ := s.want(http.StatusOK, "GET", "/api/v1/jobs/a", "").json(t)["next_due_time"].(string)
		if len(at) < 10 {
			return "none"
		}
		return at[5:10]
	}
	s.want(http.StatusCreated, "PUT", "/api/v1/calendars/holidays", `{"days":{"yearly":["--12-25"]}}`)
	s.want(http.StatusCreated, "POST", "/api/v1/jobs", festive("a")) // at once
	if got := day(); got != "12-26" {
		t.Errorf("it fires next on %s", got)
	}
	s.want(http.StatusOK, "PUT", "/api/v1/calendars/holidays", `{"days":{"yearly":["--12-26"]}}`)
	s.eventually("the job follows its calendar", func() bool { return day() == "12-25" })
	preview := `{"from":"2026-12-01T00:00:00Z","n":2,"trigger":{"kind":"except","of":{"kind":"cron","expr":"0 9 25,26 12 *"},"not":[{"calendar":"holidays"}]}}`
	if times := fmt.Sprint(s.want(http.StatusOK, "POST", "/api/v1/triggers/preview", preview).json(t)["times"]); times != "[2026-12-25T09:00:00Z 2027-12-25T09:00:00Z]" {
		t.Errorf("a preview has %s", times)
	}
	refused := s.want(http.StatusConflict, "DELETE", "/api/v1/calendars/holidays", "").json(t)
	if refused["type"] != "urn:ruqi:in-use" || !strings.Contains(refused["detail"].(string), `"a"`) {
		t.Errorf("%v", refused)
	}
	batch := s.want(http.StatusOK, "POST", "/api/v1/job-batches", `{"jobs":[`+festive("b")+`]}`).text
	if !strings.Contains(batch, `"added":"created"`) {
		t.Errorf("in a batch: %s", batch)
	}
	s.want(http.StatusNoContent, "DELETE", "/api/v1/jobs/a", "")
	s.want(http.StatusNoContent, "DELETE", "/api/v1/jobs/b", "")
	s.want(http.StatusNoContent, "DELETE", "/api/v1/calendars/holidays", "")
}
