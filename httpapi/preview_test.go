package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const previewPath = "/api/v1/triggers/preview"

func TestPreviewKnowsEveryKindAndDialect(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ trigger, en, zh, first string }{
		{`{"kind":"cron","expr":"30 2 * * mon-fri","zone":"UTC"}`, "at 02:30 on Monday to Friday, UTC", "在每周一至周五的 02:30，UTC 时间", "2026-12-01T02:30:00Z"},
		{`{"kind":"cron","expr":"0 30 2 * * 0-4","dialect":"ruqi","zone":"UTC"}`, "at 02:30 on Monday to Friday, UTC", "在每周一至周五的 02:30，UTC 时间", "2026-12-01T02:30:00Z"},
		{`{"kind":"cron","expr":"hour=2 minute=30 day_of_week=mon-fri","dialect":"fields","zone":"UTC"}`, "at 02:30 on Monday to Friday, UTC", "在每周一至周五的 02:30，UTC 时间", "2026-12-01T02:30:00Z"},
		{`{"kind":"cron","expr":"0 30 2 ? * MON-FRI","dialect":"quartz","zone":"UTC"}`, "at 02:30 on Monday to Friday, UTC", "在每周一至周五的 02:30，UTC 时间", "2026-12-01T02:30:00Z"},
		{`{"kind":"interval","every":"90m","start":"2026-12-01T00:00:00Z"}`, "every 1 hour and 30 minutes", "每 1 小时 30 分钟", "2026-12-01T00:00:00Z"},
		{`{"kind":"date","at":"2026-12-01T09:00:00Z"}`, "once at 2026-12-01 09:00", "在 2026-12-01 09:00 执行一次", "2026-12-01T09:00:00Z"},
		{`{"kind":"calendar","months":1,"day":1,"hour":9,"zone":"UTC"}`, "", "", ""},
		{`{"kind":"every","text":"every monday at 13:15","zone":"UTC"}`, "at 13:15 on Monday", "周一", "2026-11-30T13:15:00Z"},
		{`{"kind":"any","zone":"UTC","of":[{"kind":"cron","expr":"0 6 * * *"},{"kind":"cron","expr":"0 5 * * *"}]}`, "; and also ", "；以及", "2026-12-01T05:00:00Z"},
		{`{"kind":"all","zone":"UTC","of":[{"kind":"cron","expr":"0 6 * * *"},{"kind":"cron","expr":"0 6 2 * *"}]}`, "whenever these fire at one instant", "同时触发", "2026-12-02T06:00:00Z"},
		{`{"kind":"except","of":{"kind":"cron","expr":"0 6 * * *","zone":"UTC"},"not":[{"days":{"dates":["2026-12-01"]}}]}`, "except on 2026-12-01", "但不含", "2026-12-02T06:00:00Z"},
		{`{"kind":"only","of":{"kind":"cron","expr":"0 6 * * *","zone":"UTC"},"in":[{"days":{"weekdays":["sun"]}}]}`, "only on Sundays", "周日", "2026-12-06T06:00:00Z"},
	} {
		got := s.do("POST", previewPath, `{"trigger":`+c.trigger+`,"from":"2026-11-30T12:00:00Z","n":2,"previous":2,"at":"2026-12-02T06:00:01Z"}`)
		if c.first == "" { // a calendar has no day of the month
			if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.text, `"/trigger/day"`) {
				t.Errorf("%s: %d %s", c.trigger, got.StatusCode, got.text)
			}
			continue
		}
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", c.trigger, got.StatusCode, got.text)
			continue
		}
		body := got.json(t)
		said := body["description"].(map[string]any)
		times := body["times"].([]any)
		if !strings.Contains(said["en"].(string), c.en) || !strings.Contains(said["zh"].(string), c.zh) || len(times) == 0 || times[0] != c.first {
			t.Errorf("%s: %v, %v", c.trigger, said, times)
		}
		reasons := body["explanation"].(map[string]any)["reasons"].([]any)
		if body["explanation"].(map[string]any)["fires"] != false || len(reasons) == 0 {
			t.Errorf("%s a second late: %v", c.trigger, body["explanation"])
		}
		for _, r := range reasons {
			if r := r.(map[string]any); r["part"] == "" || r["message"] == "" || r["message_zh"] == "" || r["message"] == r["message_zh"] {
				t.Errorf("%s: the reason %v", c.trigger, r)
			}
		}
		again := s.want(http.StatusOK, "POST", previewPath, fmt.Sprintf(`{"trigger":%s,"from":%q,"previous":1,"at":%q}`, c.trigger, c.first, c.first)).json(t)
		if again["explanation"].(map[string]any)["fires"] != true {
			t.Errorf("%s at its own time: %v", c.trigger, again["explanation"])
		}
	}
}

func TestPreviewNamesFieldAndColumn(t *testing.T) {
	s := serve(t)
	for trigger, want := range map[string][]string{
		`{"kind":"cron","expr":"30 2 * * mon-fry"}`:                                             {`"/trigger/expr"`, "day_of_week", "column 14"},
		`{"kind":"cron","expr":"0 61 2 ? * *","dialect":"quartz"}`:                              {`"/trigger/expr"`, "minute", "column 3"},
		`{"kind":"cron","expr":"hour=25","dialect":"fields"}`:                                   {`"/trigger/expr"`, "hour", "column 6"},
		`{"kind":"any","of":[{"kind":"cron","expr":"* * * * *"},{"kind":"interval"}]}`:          {`"/trigger/of/1/every"`, "missing"},
		`{"kind":"except","of":{"kind":"cron","expr":"* * * * *"},"not":[{"calendar":"moon"}]}`: {`"/trigger/not/0/calendar"`, "moon"},
		`{"kind":"moon"}`: {`"/trigger/kind"`, "accepted are"},
	} {
		got := s.want(http.StatusUnprocessableEntity, "POST", previewPath, `{"trigger":`+trigger+`}`)
		for _, part := range want {
			if !strings.Contains(got.text, part) {
				t.Errorf("%s: %s is missing in %s", trigger, part, got.text)
			}
		}
	}
	for _, n := range []string{`"n":1001`, `"n":0`, `"previous":1001`, `"previous":-1`} {
		if got := s.want(http.StatusUnprocessableEntity, "POST", previewPath, `{"trigger":{"kind":"cron","expr":"* * * * *"},`+n+`}`); !strings.Contains(got.text, "out of range") {
			t.Errorf("%s: %s", n, got.text)
		}
	}
}

func TestPreviewSaysWhyThereIsNoTime(t *testing.T) {
	s := serve(t)
	const from = `,"from":"2026-12-01T00:00:00.123456789Z","previous":2}`
	for trigger, want := range map[string]string{
		`{"kind":"date","at":"2026-11-30T09:00:00Z"}`:                                    "[it has ended: its last fire time was 2026-11-30T09:00:00Z]",
		`{"kind":"cron","expr":"0 9 * * *","zone":"UTC","end":"2026-11-30T12:00:00Z"}`:   "[it has ended: its end is 2026-11-30T12:00:00Z, and its last fire time was 2026-11-30T09:00:00Z]",
		`{"kind":"every","text":"now"}`:                                                  "[it has ended: its last fire time was 2026-12-01T00:00:00.123456Z]",
		`{"kind":"cron","expr":"0 9 * * *","zone":"UTC","start":"2027-01-01T00:00:00Z"}`: "[]",
	} {
		got := s.want(http.StatusOK, "POST", previewPath, `{"trigger":`+trigger+from).json(t)
		if text := fmt.Sprint(got["warnings"]); text != want {
			t.Errorf("%s: the warnings are %s, want %s", trigger, text, want)
		}
		if previous, given := got["previous"].([]any); !given || len(previous) > 0 && want == "[]" {
			t.Errorf("%s: the times before are %v", trigger, got["previous"])
		}
	}
	bounded := s.want(http.StatusOK, "POST", previewPath, `{"trigger":{"kind":"cron","expr":"0 9 * * *","zone":"UTC"},"from":"2026-12-01T00:00:00.5Z","until":"2026-12-01T08:00:00Z"}`).json(t)
	if text := fmt.Sprint(bounded["warnings"]); text != "[no fire time after 2026-12-01T00:00:00Z until 2026-12-01T08:00:00Z: the next one is 2026-12-01T09:00:00Z]" {
		t.Errorf("with a bound: %s", text)
	}
}

// A time without an offset is read differently by whoever sits in another zone: it is refused, with what is accepted in its place.
func TestATimeWithoutAnOffsetIsAnsweredWithOneThatHasIt(t *testing.T) {
	s := serve(t)
	const trigger = `"trigger":{"kind":"cron","expr":"0 9 * * *","zone":"Europe/Berlin"}`
	for _, member := range []string{"from", "until", "at"} {
		for text, right := range map[string]string{
			"2026-12-02T07:30:00": "2026-12-02T07:30:00", "2026-12-02 07:30": "2026-12-02T07:30:00", "2026-12-02": "2026-12-02T00:00:00", "2026-12-02T07:30:00.25": "2026-12-02T07:30:00.25",
		} {
			got := s.want(http.StatusUnprocessableEntity, "POST", previewPath, fmt.Sprintf(`{%s,%q:%q}`, trigger, member, text)).json(t)
			want := fmt.Sprintf("%q is not a time in RFC 3339 with an offset, such as %sZ in UTC, or %s+01:00 where clocks are an hour ahead", text, right, right)
			if told := fmt.Sprint(got["errors"]); !strings.Contains(told, want) || !strings.Contains(told, "/"+member) {
				t.Errorf("%s: got %s, want %s", member, told, want)
			}
			for _, offset := range []string{"Z", "+01:00"} {
				s.want(http.StatusOK, "POST", previewPath, fmt.Sprintf(`{%s,%q:%q}`, trigger, member, right+offset))
			}
		}
		if told := s.want(http.StatusUnprocessableEntity, "POST", previewPath, fmt.Sprintf(`{%s,%q:"soon"}`, trigger, member)).text; !strings.Contains(told, "such as 2026-12-01T02:30:00+01:00") {
			t.Errorf("%s: %s", member, told)
		}
	}
	for path, place := range map[string]string{"/api/v1/runs?from=2026-12-02T07:30:00": "/from", "/api/v1/runs?to=2026-12-02": "/to"} {
		got := fmt.Sprint(s.want(http.StatusBadRequest, "GET", path, "").json(t)["errors"])
		if !strings.Contains(got, place) || !strings.Contains(got, "is not a time in RFC 3339 with an offset, such as 2026-12-02T") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestPreviewEndsASearchThatTakesLong: of a trigger for each of whose times eighty thousand others are looked at, a thousand are asked for.
func TestPreviewEndsASearchThatTakesLong(t *testing.T) {
	s := serve(t)
	const slow = `{"kind":"except","of":{"kind":"cron","expr":"* * * * * *","zone":"UTC"},"not":[{"kind":"cron","expr":"1-59 * * * * *"},{"kind":"cron","expr":"* 1-59 * * * *"},{"kind":"cron","expr":"* * 1-23 * * *"}]}`
	begin := time.Now()
	got := s.want(http.StatusOK, "POST", previewPath, `{"trigger":`+slow+`,"n":1000,"previous":1000,"at":"2026-01-01T00:00:01Z"}`).json(t)
	took := time.Since(begin)
	times, warnings := got["times"].([]any), fmt.Sprint(got["warnings"])
	t.Logf("%d times in %v: %s", len(times), took, warnings)
	if len(times) == 1000 && warnings == "[]" {
		return // a machine, or a search, that is fast enough
	}
	if took > 20*time.Second || len(times) == 0 || !strings.Contains(warnings, "the search was ended after 1s") {
		t.Errorf("%d times in %v: %s", len(times), took, warnings)
	}
}
