package legacy_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
)

func TestParametersComeByQueryAndBody(t *testing.T) {
	s := idle(t, legacy.Settings{})
	cmd := "python " + s.script
	s.add("OK", "interval", "j", "n", cmd, "1h")
	s.add("OK", "interval", "7", "n", cmd, "1h")
	for _, c := range []struct{ title, method, query, body, kind, want string }{
		{"a query", "GET", "?job_id=j", "", "", "j"},
		{"a query of a POST", "POST", "?job_id=j", "", "", "j"},
		{"a body", "POST", "", `{"job_id":"j"}`, "application/json", "j"},
		{"a body called a form", "POST", "", `{"job_id":"j"}`, "application/x-www-form-urlencoded", "j"},
		{"a body called a text", "POST", "", ` {"job_id":"j"} `, "text/plain", "j"},
		{"a body called nothing", "POST", "", `{"job_id":"j"}`, "", "j"},
		{"the body wins", "POST", "?job_id=x", `{"job_id":"j"}`, "", "j"},
		{"null is not given", "POST", "?job_id=j", `{"job_id":null}`, "", "j"},
		{"a number is as it is written", "POST", "", `{"job_id":7}`, "", "7"},
		{"an empty body", "POST", "?job_id=j", " \n", "", "j"},
		{"the body of a GET is not read", "GET", "?job_id=j", `{"job_id":"x"}`, "", "j"},
	} {
		a := s.do(c.method, "/ruqi/get_job"+c.query, c.body, "Content-Type", c.kind)
		if a.stat != "OK" || !strings.Contains(a.text, `"job_id":"`+c.want+`"`) {
			t.Errorf("%s: %s (%s)", c.title, a.text, a.Header.Get("x-detail"))
		}
	}
	for _, c := range []struct{ title, query, body, detail string }{
		{"missing", "", "", "job_id: is missing"},
		{"missing in a body", "", "{}", "job_id: is missing"},
		{"empty", "?job_id=", "", "job_id: is missing"},
		{"unknown", "?job_id=j&x=1", "", "x: is unknown"},
		{"unknown in a body", "", `{"job_id":"j","x":null,"y":[]}`, "y: is unknown"},
		{"in other letters", "?Job_id=j", "", "is missing"},
		{"twice", "?job_id=j&job_id=j", "", "job_id: given 2 times"},
		{"twice in a body", "", `{"job_id":"j","job_id":"j"}`, "job_id: given twice"},
		{"a list", "", `{"job_id":["j"]}`, "job_id: neither"},
		{"a truth", "", `{"job_id":true}`, "job_id: neither"},
		{"no object", "", `["j"]`, "body: "},
		{"no JSON", "", `job_id=j`, "body: "},
		{"two values", "", `{"job_id":"j"}{}`, "body: "},
		{"a NUL", "?job_id=%00", "", "job_id: "},
		{"a NUL in a body", "", `{"job_id":"\u0000"}`, "job_id: "},
		{"no UTF-8", "?job_id=%ff", "", "job_id: "},
		{"no UTF-8 in a body", "", "{\"job_id\":\"\xff\"}", "body: "},
		{"a query that is none", "?job_id=%", "", "query: "},
	} {
		a := s.do("POST", "/ruqi/get_job"+c.query, c.body)
		if a.stat != "ERR_BAD_PARAMS" || a.StatusCode != http.StatusOK || a.reason != "Param check failed" || !strings.HasPrefix(a.Header.Get("x-detail"), c.detail) && !strings.Contains(a.Header.Get("x-detail"), c.detail) {
			t.Errorf("%s: %d %s %q (%s), want %s", c.title, a.StatusCode, a.text, a.reason, a.Header.Get("x-detail"), c.detail)
		}
	}
	if a := s.do("POST", "/ruqi/get_job", `{"job_id":"`+strings.Repeat("x", 1<<20)+`"}`); a.StatusCode != http.StatusRequestEntityTooLarge || a.text != "{\"stat\":\"ERR\"}\n" || a.reason == "" {
		t.Errorf("a body of more than 1 MiB: %d %s", a.StatusCode, a.text)
	}
}

func TestEachOfTheFiveIsRequired(t *testing.T) {
	s := idle(t, legacy.Settings{})
	all := []string{"job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", "python " + s.script, "rule", "1h"}
	s.call("OK", "/ruqi/add_job", all...)
	for _, path := range []string{"/ruqi/add_job", "/ruqi/job_add", "/ruqi/modify_job", "/ruqi/job_modify"} {
		for i := 0; i < len(all); i += 2 {
			members := append(append([]string{}, all[:i]...), all[i+2:]...)
			if a := s.call("ERR_BAD_PARAMS", path, members...); a.Header.Get("x-detail") != all[i]+": is missing" {
				t.Errorf("%s without %s: %s", path, all[i], a.Header.Get("x-detail"))
			}
		}
	}
	// The younger generation sends back its whole row.
	row := `{"job_trigger":"interval","Job_trigger":"interval","job_id":"j","job_name":"m","cmd":"python ` + s.script + `","rule":"3600s","next_run_time":null,"nexttime":"None","c_time":"2026-01-01 00:00:00","job_lock":0,"extra":{"a":[]}}`
	if a := s.do("POST", "/ruqi/job_modify", row); a.stat != "OK" || s.job("j")["job_name"] != "m" {
		t.Errorf("%s (%s)", a.text, a.Header.Get("x-detail"))
	}
	for _, path := range []string{"/ruqi/modify_job", "/ruqi/job_add"} {
		if a := s.do("POST", path, row); a.stat != "ERR_BAD_PARAMS" {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	for id, pointer := range map[string]string{"..": "id", "a\tb": "id", strings.Repeat("x", 256): "id"} {
		if a := s.add("ERR_BAD_PARAMS", "interval", id, "n", "python "+s.script, "1h"); !strings.HasPrefix(a.Header.Get("x-detail"), pointer) {
			t.Errorf("%.20q: %s", id, a.Header.Get("x-detail"))
		}
	}
	s.add("ERR_BAD_PARAMS", "interval", "x", "a\nb", "python "+s.script, "1h")
}

func TestUnknownPaths(t *testing.T) {
	s := idle(t, legacy.Settings{})
	for _, path := range []string{"/ruqi", "/ruqi/", "/ruqi/none", "/ruqi/get_jobs/", "/ruqi//get_jobs", "/ruqi/../ruqi/get_jobs", "/ruqi/GET_JOBS", "/ruqi/job_status", "/ruqi/%67et_job/x"} {
		for _, method := range []string{"GET", "POST"} {
			a := s.do(method, path, "")
			if a.StatusCode != http.StatusBadRequest || a.text != "" || a.reason != "API Not Found" || a.Header.Get("x-reqid") == "" {
				t.Errorf("%s %s: %d %q %q", method, path, a.StatusCode, a.text, a.reason)
			}
		}
	}
}

func TestHeadersOfAnAnswer(t *testing.T) {
	s := idle(t, legacy.Settings{})
	seen := map[string]bool{}
	for _, path := range []string{"/ruqi/get_jobs", "/ruqi/get_job?job_id=none", "/ruqi/get_job", "/ruqi/add_job", "/ruqi/get_history", "/ruqi/status"} {
		a := s.do("GET", path, "", "Accept", "text/html", "x-reqid", "mine\"")
		id := a.Header.Get("x-reqid")
		if !regexp.MustCompile(`^[a-z0-9]{20,40}$`).MatchString(id) || seen[id] {
			t.Errorf("%s: x-reqid %q", path, id)
		}
		seen[id] = true
		if !regexp.MustCompile(`^\d+\.\d{6}$`).MatchString(a.Header.Get("x-cost")) || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, a.Header)
		}
		if (a.stat == "OK") != (a.reason == "") {
			t.Errorf("%s: %s, x-reason %q", path, a.stat, a.reason)
		}
	}
}

// Whatever is sent, headers stay as they are meant: one line each, in ASCII.
func TestNoTextEndsAHeader(t *testing.T) {
	s := idle(t, legacy.Settings{})
	const evil = "x\r\nSet-Cookie: a=b\r\n\r\n<script>名\x1b[2J\u2028\u202e\x7f"
	cmd := "python " + s.script
	for title, a := range map[string]answer{
		"an id":          s.call("ERR", "/ruqi/get_job", "job_id", evil),
		"a new id":       s.add("ERR_BAD_PARAMS", "interval", evil, "n", cmd, "1h"),
		"a name":         s.add("ERR_BAD_PARAMS", "interval", "j", evil, cmd, "1h"),
		"a trigger":      s.add("ERR", evil, "j", "n", cmd, "1h"),
		"a rule":         s.add("ERR", "cron", "j", "n", cmd, evil),
		"a date":         s.add("ERR", "date", "j", "n", cmd, evil),
		"a script":       s.add("ERR", "interval", "j", "n", "python "+evil, "1h"),
		"a call":         s.add("ERR", "interval", "j", "n", "http://"+evil, "1h"),
		"a param's name": s.call("ERR_BAD_PARAMS", "/ruqi/get_job", evil, "x"),
		"a page":         s.call("ERR_BAD_PARAMS", "/ruqi/get_jobs", "page_index", evil),
		"a long id":      s.call("ERR", "/ruqi/get_job", "job_id", strings.Repeat("名", 10000)),
	} {
		if a.Header.Get("Set-Cookie") != "" || a.reason == "" {
			t.Errorf("%s: %v", title, a.Header)
		}
		for name, values := range a.Header {
			for _, value := range values {
				if strings.Trim(value, printable) != "" || len(value) > 600 {
					t.Errorf("%s: %s is %q", title, name, value)
				}
			}
		}
	}
}

// printable is all of ASCII that is.
var printable = func() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}()

// XI03: answers are JSON of the right type, whatever is asked.
func TestAnswersOfRuqiStayJSON(t *testing.T) {
	s := idle(t, legacy.Settings{})
	s.add("OK", "interval", "<script>", "</script>", "python "+s.script+" '<img src=x>'", "1h")
	for _, path := range []string{`/ruqi/get_jobs`, `/ruqi/get_jobs?format=html&callback=x%22%3E%3Cscript%3E`, `/ruqi/get_job?job_id=<script>`, "/ruqi/status?callback=x", "/ruqi/get_history?job_id=<script>"} {
		a := s.do("GET", path, "", "Accept", "text/html")
		if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(a.text, "<script") || strings.Contains(a.text, "<img") {
			t.Errorf("%s: %q: %s", path, a.Header.Get("Content-Type"), a.text)
		}
	}
}

// LE05: a token in the query is neither taken nor logged.
func TestATokenInTheQueryOfRuqi(t *testing.T) {
	s := idle(t, legacy.Settings{})
	s.do("GET", "/ruqi/get_jobs?token="+token, "")
	s.do("GET", "/ruqi/"+token, "")
	s.do("POST", "/ruqi/get_job", `{"job_id":"`+token+`"}`)
	s.token = ""
	if a := s.do("GET", "/ruqi/get_jobs?token="+token, ""); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}
	if text := s.log.String(); strings.Contains(text, token) || !strings.Contains(text, "request served") || !strings.Contains(text, "route=/ruqi/get_jobs") {
		t.Errorf("the log says\n%s", text)
	}
}

// broken are operations whose store fails.
type broken struct {
	ruqi.Operations
	err error
}

func (b *broken) Jobs(context.Context, ruqi.JobQuery) (ruqi.JobPage, error) {
	if b.err == nil {
		panic("a secret cause")
	}
	return ruqi.JobPage{}, b.err
}

func TestFaultsOfTheServiceAreToldAsSuch(t *testing.T) {
	b := &broken{}
	s := idle(t, legacy.Settings{}, func(o *httpapi.Options) { o.Operations = b })
	for title, err := range map[string]error{"away": ruqi.ErrUnavailable, "odd": errors.New("a secret cause"), "a panic": nil} {
		b.err = err
		a := s.do("GET", "/ruqi/get_jobs", "")
		if a.StatusCode != http.StatusOK || a.text != "{\"stat\":\"ERR_SERVER_EXCEPTION\"}\n" || a.reason != "API Processing Exception" || strings.Contains(a.Header.Get("x-detail"), "secret") {
			t.Errorf("%s: %d %s %q (%s)", title, a.StatusCode, a.text, a.reason, a.Header.Get("x-detail"))
		}
		if !strings.Contains(s.log.String(), a.Header.Get("x-reqid")) {
			t.Errorf("%s: the log does not name the request", title)
		}
	}
}

func TestStatusAndWakeup(t *testing.T) {
	empty := serve(t, legacy.Settings{})
	if a := empty.do("GET", "/ruqi/status", ""); a.text != `{"stat":"OK","data":{"wait_seconds":null,"check_time":null,"next_wakeup_time":null}}`+"\n" {
		t.Errorf("nothing is scheduled: %s", a.text)
	}
	s := serve(t, legacy.Settings{})
	s.add("OK", "interval", "j", "n", "python "+s.script, "1h")
	if a := s.call("OK", "/ruqi/wakeup"); a.text != "{\"stat\":\"OK\"}\n" {
		t.Errorf("%s", a.text)
	}
	shape := regexp.MustCompile(`^\{"stat":"OK","data":\{"wait_seconds":3[56]\d\d\.\d{6},"check_time":"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)","next_wakeup_time":"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"\}\}\n$`)
	var parts []string
	s.until("the status tells of the job", func() bool {
		parts = shape.FindStringSubmatch(s.do("GET", "/ruqi/status", "").text)
		return parts != nil
	})
	if next := s.job("j").text("next_run_time"); parts[2] != next || parts[1] >= parts[2] {
		t.Errorf("%s, the job runs at %s", parts[0], next)
	}
}
