package legacy_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/httpapi/legacy"
)

// The paths of both generations, by whether they change something.
var (
	reading  = []string{"/ruqi/get_jobs", "/ruqi/job_list", "/ruqi/get_job", "/ruqi/job_show", "/ruqi/get_history", "/ruqi/job_history_list", "/ruqi/status"}
	changing = []string{"/ruqi/add_job", "/ruqi/job_add", "/ruqi/modify_job", "/ruqi/job_modify", "/ruqi/remove_job", "/ruqi/job_remove", "/ruqi/pause_job", "/ruqi/job_pause",
		"/ruqi/resume_job", "/ruqi/job_resume", "/ruqi/wakeup"}
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
)

// OR10: nobody gets in without a token.
func TestEveryCallAsksForTheToken(t *testing.T) {
	s := idle(t, legacy.Settings{Open: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	s.add("OK", "interval", "j", "n", "python "+s.script, "1h")
	s.token = ""
	for name, headers := range map[string][]string{
		"no header":                 nil,
		"another token":             {"Authorization", "Bearer: wrong-secret"},
		"an empty token":            {"Authorization", "Bearer:"},
		"another scheme":            {"Authorization", "Basic " + token},
		"the bare token":            {"Authorization", token},
		"a cookie":                  {"Cookie", "token=" + token},
		"an open address forwarded": {"X-Forwarded-For", "10.0.0.1", "X-Real-IP", "10.0.0.1", "Forwarded", "for=10.0.0.1"},
	} {
		for _, path := range slices.Concat(reading, changing, []string{"/ruqi", "/ruqi/", "/ruqi/none"}) {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				a := s.do(method, path+"?job_id=j", "", headers...)
				if a.StatusCode != http.StatusUnauthorized || a.text != "{\"stat\":\"ERR\"}\n" || a.reason == "" || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Fatalf("%s: %s %s: %d %s", name, method, path, a.StatusCode, a.text)
				}
			}
		}
	}
	for _, header := range []string{"Bearer " + token, "Bearer: " + token, "bearer: " + token, "Bearer:  " + token + " ", "Bearer:" + token, "BEARER " + token} {
		if a := s.do("GET", "/ruqi/get_job?job_id=j", "", "Authorization", header); a.stat != "OK" {
			t.Errorf("%q: %d %s", header, a.StatusCode, a.text)
		}
	}
	// The old way to write it is for old clients.
	if a := s.do("GET", "/api/v1/jobs", "", "Authorization", "Bearer: "+token); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("/api/v1 takes it: %d", a.StatusCode)
	}
	if text := s.log.String(); strings.Contains(text, token) || strings.Contains(text, "wrong-secret") {
		t.Error("the log holds a token")
	}
}

func TestOpenNetworksNeedNoTokenOnRuqiAlone(t *testing.T) {
	s := idle(t, legacy.Settings{Open: loopback})
	s.token = ""
	s.add("OK", "interval", "j", "n", "python "+s.script, "1h")
	if a := s.do("GET", "/ruqi/get_jobs", "", "Authorization", "Bearer: one-of-old"); a.stat != "OK" {
		t.Errorf("a token of the original's is in the way: %s", a.text)
	}
	for _, path := range []string{"/api/v1/jobs", "/api/openapi.json", "/ruqix", "/"} {
		if a := s.do("GET", path, ""); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d without a token", path, a.StatusCode)
		}
	}
}

// A browser in an open network does for no page of another site what its address would allow.
func TestPagesOfOtherSitesGetNothingFromOpenNetworks(t *testing.T) {
	const browser = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
	s := idle(t, legacy.Settings{Open: loopback, ChangeByGet: true, Hosts: []string{"ruqi.example.org", "Tasks"}})
	host := strings.TrimPrefix(s.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	s.add("OK", "interval", "j", "n", "python "+s.script, "1h")
	s.token = ""
	for _, c := range []struct {
		title   string
		method  string
		path    string
		allowed bool
		headers []string
	}{
		{"a script", "POST", "pause_job", true, nil},
		{"a script that changes by GET", "GET", "pause_job", true, []string{"User-Agent", "python-requests/2.31"}},
		{"a page of this site", "POST", "pause_job", true, []string{"Origin", s.url}},
		{"a page of this site, as newer browsers say", "POST", "pause_job", true, []string{"Origin", "http://proxy.example.org", "Sec-Fetch-Site", "same-origin"}},
		{"an address that was typed", "GET", "get_job", true, []string{"Sec-Fetch-Site", "none", "User-Agent", browser}},
		{"an old browser that reads", "GET", "get_job", true, []string{"User-Agent", browser}},
		{"a page of this site that changes by GET", "GET", "pause_job", true, []string{"User-Agent", browser, "Referer", s.url + "/old/page.html"}},
		{"a form of another site", "POST", "pause_job", false, []string{"Origin", "http://evil.example", "Content-Type", "text/plain"}},
		{"a page without an origin", "POST", "pause_job", false, []string{"Origin", "null"}},
		{"another port of this host", "POST", "pause_job", false, []string{"Origin", "http://127.0.0.1:1"}},
		{"a form of another site, as newer browsers say", "POST", "pause_job", false, []string{"Sec-Fetch-Site", "cross-site", "Origin", s.url}},
		{"a page of a sister site", "POST", "pause_job", false, []string{"Sec-Fetch-Site", "same-site"}},
		{"a picture in another site", "GET", "pause_job", false, []string{"Sec-Fetch-Site", "cross-site", "User-Agent", browser}},
		{"a picture in another site over plain http", "GET", "pause_job", false, []string{"User-Agent", browser, "Referer", "http://evil.example/"}},
		{"a picture in a site that hides itself", "GET", "pause_job", false, []string{"User-Agent", browser}},
		{"a link in another site", "GET", "get_job", false, []string{"Sec-Fetch-Site", "cross-site", "User-Agent", browser}},
		{"the question before a request", "OPTIONS", "pause_job", false, []string{"Origin", "http://evil.example", "Access-Control-Request-Method", "POST"}},
		{"a name that was made to lead here", "POST", "pause_job", false, []string{"Host", "evil.example:" + port, "Origin", "http://evil.example:" + port, "Sec-Fetch-Site", "same-origin"}},
		{"the same, reading", "GET", "get_job", false, []string{"Host", "evil.example:" + port}},
		{"a name like an address", "GET", "get_job", false, []string{"Host", "127.0.0.1.evil.example"}},
		{"localhost", "GET", "get_job", true, []string{"Host", "localhost:" + port}},
		{"another address", "GET", "get_job", true, []string{"Host", "[::1]:" + port}},
		{"a name that was given", "GET", "get_job", true, []string{"Host", "RUQI.example.org.:80"}},
		{"a name that was given, without a port", "GET", "get_job", true, []string{"Host", "tasks"}},
		{"a name below one that was given", "GET", "get_job", false, []string{"Host", "evil.ruqi.example.org"}},
	} {
		t.Run(c.title, func(t *testing.T) {
			a := s.do(c.method, "/ruqi/"+c.path+"?job_id=j", "", c.headers...)
			switch {
			case c.allowed && a.stat != "OK":
				t.Errorf("%d %s (%s)", a.StatusCode, a.text, a.Header.Get("x-detail"))
			case !c.allowed && (a.StatusCode != http.StatusForbidden || a.text != "{\"stat\":\"ERR\"}\n" || a.reason == ""):
				t.Errorf("%d %s, want 403", a.StatusCode, a.text)
			}
			if a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("it is allowed to pages of other sites")
			}
		})
	}
	// Who has the token is no page that was led here.
	s.token = token
	if a := s.do("POST", "/ruqi/pause_job?job_id=j", "", "Origin", "http://evil.example", "Host", "evil.example"); a.stat != "OK" {
		t.Errorf("with a token: %d %s", a.StatusCode, a.text)
	}
}

func TestMethods(t *testing.T) {
	s := idle(t, legacy.Settings{})
	for _, path := range reading {
		for _, method := range []string{"GET", "POST"} {
			if a := s.do(method, path+"?job_id=j", ""); a.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %d", method, path, a.StatusCode)
			}
		}
		if a := s.do("PUT", path, ""); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, POST" || a.text != "{\"stat\":\"ERR\"}\n" {
			t.Errorf("PUT %s: %d %s", path, a.StatusCode, a.text)
		}
	}
	for _, path := range changing {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			if a := s.do(method, path+"?job_id=j", ""); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" || a.text != "{\"stat\":\"ERR\"}\n" || a.reason == "" {
				t.Errorf("%s %s: %d %s", method, path, a.StatusCode, a.text)
			}
		}
	}
	byGet := idle(t, legacy.Settings{ChangeByGet: true})
	for _, path := range changing {
		if a := byGet.do("GET", path+"?job_id=j", ""); a.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %d", path, a.StatusCode)
		}
	}
	if a := byGet.do("GET", "/ruqi/add_job?job_trigger=interval&job_id=j&job_name=n&cmd=python+"+byGet.script+"&rule=5m", ""); a.stat != "OK" {
		t.Errorf("adding by GET: %s %q", a.text, a.reason)
	}
}
