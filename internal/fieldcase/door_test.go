//go:build linux

package fieldcase_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A listing is one page as the API sends it.
type listing struct {
	Items []struct{ ID any }
	Total int
	Next  string `json:"next_cursor"`
}

func (s *service) listing(path string) listing {
	s.t.Helper()
	status, text := s.answer("GET", path, "")
	var page listing
	if err := json.Unmarshal([]byte(text), &page); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s: %d %.300s", path, status, text)
	}
	return page
}

// PG01, PG03, PG05: the service sends pages of the size asked for, with the total, however long its lists are.
func TestListsOfTheServiceComeInPages(t *testing.T) {
	const jobs, runs = 5000, 40
	s := serve(t, "--slots", fmt.Sprintf("command=%d", runs))
	for batch := range jobs / 500 {
		var definitions []json.RawMessage
		for i := range 500 {
			definitions = append(definitions, fmt.Appendf(nil, `{"id":"j%04d","trigger":{"kind":"interval","every":"24h"},"task":{"kind":"command","command":"true"}}`, batch*500+i))
		}
		if _, err := s.AddDefinitions(t.Context(), definitions, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	page := s.listing("/api/v1/jobs")
	took := time.Since(begin)
	t.Logf("the first page took %s", took)
	// 300 ms is the promise; the rest is for a machine that does other things.
	if len(page.Items) != ruqi.DefaultPage || page.Total != jobs || page.Next == "" || took > 3*time.Second {
		t.Errorf("the first page has %d of %d jobs and took %s", len(page.Items), page.Total, took)
	}
	if page := s.listing("/api/v1/jobs?limit=10"); len(page.Items) != 10 {
		t.Errorf("%d jobs, want 10", len(page.Items))
	}
	if page := s.listing("/api/v1/jobs?limit=1000000000"); len(page.Items) != ruqi.MaxPage {
		t.Errorf("%d jobs, want the most there are on a page", len(page.Items))
	}
	for _, list := range []string{"jobs", "runs"} {
		for _, limit := range []string{"0", "-1", "abc", "1e3", "99999999999999999999"} {
			if status, text := s.answer("GET", "/api/v1/"+list+"?limit="+limit, ""); status != http.StatusBadRequest || !strings.Contains(text, "limit") {
				t.Errorf("%s by %q: %d %.300s", list, limit, status, text)
			}
		}
	}
	seen := map[any]bool{}
	for path := "/api/v1/jobs?limit=1000"; ; {
		page := s.listing(path)
		for _, job := range page.Items {
			seen[job.ID] = true
		}
		if page.Next == "" {
			break
		}
		path = "/api/v1/jobs?limit=1000&cursor=" + url.QueryEscape(page.Next)
	}
	if len(seen) != jobs {
		t.Errorf("%d of %d jobs were listed", len(seen), jobs)
	}

	s.add("long", trigger.EveryDuration(time.Hour), command.Argv("sleep", "300"), ruqi.Policy{Overlap: ruqi.OverlapAllow, KillGrace: 100 * time.Millisecond})
	for range runs {
		if _, err := s.RunNow(t.Context(), "long", nil); err != nil {
			t.Fatal(err)
		}
	}
	var all map[any]bool
	s.eventually("all of them run", func() bool {
		all = map[any]bool{}
		for path := "/api/v1/runs?state=running&limit=7"; ; {
			page := s.listing(path)
			for _, run := range page.Items {
				all[run.ID] = true
			}
			if page.Next == "" {
				return len(all) == runs
			}
			path = "/api/v1/runs?state=running&limit=7&cursor=" + url.QueryEscape(page.Next)
		}
	})
}

// XI03, XI05: whatever stands in a query, the answer is JSON of the right type, and no statement of the store has it in it.
func TestOddQueriesOfTheServiceAreText(t *testing.T) {
	s := serve(t)
	s.add("x", trigger.EveryDuration(time.Hour), command.Argv("true"), ruqi.Policy{})
	s.ran("x")
	token, err := os.ReadFile(filepath.Join(s.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/api/v1/jobs?format=html&callback=x%22%3E%3Cscript%3E":        http.StatusBadRequest,
		"/api/v1/jobs?callback=%3Cscript%3E":                           http.StatusBadRequest,
		"/api/v1/runs?format=html&callback=x%22%3E%3Cscript%3E":        http.StatusBadRequest,
		"/api/v1/%3Cscript%3Ealert(1)%3C/script%3E":                    http.StatusNotFound,
		"/api/v1/jobs/%3Cscript%3Ealert(1)%3C%2Fscript%3E":             http.StatusNotFound,
		"/api/v1/jobs?sort=id;DROP%20TABLE%20rq_job--":                 http.StatusBadRequest,
		"/api/v1/jobs?sort=id%3BDROP%20TABLE%20rq_job--":               http.StatusBadRequest,
		"/api/v1/jobs?order=desc,(select%201)":                         http.StatusBadRequest,
		"/api/v1/runs?sort=id%3BDROP%20TABLE%20rq_run--":               http.StatusBadRequest,
		"/api/v1/runs?order=desc,(select%201)":                         http.StatusBadRequest,
		"/api/v1/jobs?search=%27%3BDROP%20TABLE%20rq_job--":            http.StatusOK,
		"/api/v1/runs?job=%27%20OR%201%3D1--":                          http.StatusOK,
		"/api/v1/jobs?tag=%25%27%20OR%20%27%27%3D%27":                  http.StatusOK,
		"/api/v1/jobs/x%27%20OR%20%271%27%3D%271":                      http.StatusNotFound,
		"/ruqi/get_jobs?format=html&callback=x%22%3E%3Cscript%3E":      http.StatusOK,
		"/ruqi/get_job?job_id=%3Cscript%3Ealert(1)%3C%2Fscript%3E":     http.StatusOK,
		"/ruqi/get_history?job_id=%27%3BDROP%20TABLE%20rq_run--%20%3E": http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		request.Header.Set("Accept", "text/html")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var body any
		kind, text := answer.Header.Get("Content-Type"), json.NewDecoder(answer.Body).Decode(&body)
		_ = answer.Body.Close() // only read
		if answer.StatusCode != want || !strings.HasPrefix(kind, "application/json") && kind != "application/problem+json" || answer.Header.Get("X-Content-Type-Options") != "nosniff" || text != nil {
			t.Errorf("%s: %d, want %d; %q, %v: %v", path, answer.StatusCode, want, kind, text, body)
		}
		if items, is := body.(map[string]any)["items"].([]any); is && len(items) != 0 {
			t.Errorf("%s finds %v", path, items)
		}
	}
	if page, err := s.Jobs(t.Context(), ruqi.JobQuery{}); err != nil || page.Total != 1 || len(s.rows("x")) != 1 {
		t.Errorf("left are %+v, %v", page, err)
	}
}

// XI07: a user, an owner and a name that are scripts are text wherever the service tells of them: in refusals, jobs and history.
func TestUsersAndOwnersThatAreScriptsAreText(t *testing.T) {
	const script = `<script>alert(1)</script>`
	s := serve(t)
	ask := func(method, path, body string, want int) (text string) {
		t.Helper()
		status, kind, text := s.typed(method, path, body)
		if status != want || kind != "application/json" && kind != "application/problem+json" || !json.Valid([]byte(text)) {
			t.Errorf("%s %s: %d %s %s", method, path, status, kind, text)
		}
		return text
	}
	holds := func(text string) {
		t.Helper()
		if plain, err := json.Marshal(script); err != nil || !strings.Contains(text, strings.Trim(string(plain), `"`)) && !strings.Contains(text, script) {
			t.Errorf("it is not in %s", text)
		}
	}
	job := func(task string) string {
		return `{"id":"x","name":"` + script + `","labels":{"owner":"` + script + `"},"trigger":{"kind":"interval","every":"24h"},"task":{"kind":"command","command":"true"` + task + `}}`
	}
	holds(ask(http.MethodPost, "/api/v1/jobs", job(`,"user":"`+script+`"`), http.StatusUnprocessableEntity))
	ask(http.MethodGet, "/api/v1/jobs/x", "", http.StatusNotFound)
	ask(http.MethodPost, "/api/v1/jobs", job(""), http.StatusCreated)
	s.ran("x")
	for _, path := range []string{"/api/v1/jobs/x", "/api/v1/runs?job=x", "/ruqi/get_jobs", "/ruqi/get_history"} {
		holds(ask(http.MethodGet, path, "", http.StatusOK))
	}
	if job, err := s.Job(t.Context(), "x"); err != nil || job.Labels["owner"] != script || job.Name != script {
		t.Errorf("it is %+v, %v", job, err)
	}
}

// SR03, SR05: a redirect is followed to allowed addresses alone, and takes no header to another host; a run that is started by hand goes
// where its job says.
func TestWebhooksOfTheServiceStayWhereTheyMayGo(t *testing.T) {
	type sent struct{ path, auth, body string }
	arrived := make(chan sent, 100)
	receive := func(r *http.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body) // short, or none
		arrived <- sent{r.URL.Path, r.Header.Get("Authorization"), string(body[:n])}
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { receive(r) }))
	t.Cleanup(other.Close)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		receive(r)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(receiver.Close)
	took := func() (all []sent) {
		for {
			select {
			case one := <-arrived:
				all = append(all, one)
			default:
				return all
			}
		}
	}
	s := serve(t, "--allow-net", "127.0.0.1")
	for i, to := range []string{
		"http://169.254.169.254/latest/", "http://[::ffff:169.254.169.254]/latest/", "http://[64:ff9b::a9fe:a9fe]/", "http://[fe80::1]/", "http://10.0.0.1/", "http://127.0.0.2:1/",
		"http://[::1]:1/", "http://[::ffff:127.0.0.2]:1/", "http://0.0.0.0:1/", "file:///etc/passwd", "gopher://127.0.0.1:1/",
	} {
		id := fmt.Sprint("hop", i)
		s.add(id, trigger.EveryDuration(time.Hour), webhook.Request("GET", receiver.URL+"/hop?to="+url.QueryEscape(to)), ruqi.Policy{})
		begin := time.Now()
		run := s.ran(id)
		if run.State != ruqi.RunFailed || time.Since(begin) > patience {
			t.Errorf("a redirect to %s: %+v", to, run)
		}
		if i < 9 && !strings.Contains(run.Reason, "address not allowed") {
			t.Errorf("a redirect to %s: %s", to, run.Reason)
		}
		if all := took(); len(all) != 1 {
			t.Errorf("a redirect to %s: %v arrived", to, all)
		}
	}

	task := webhook.Request("GET", receiver.URL+"/away?to="+url.QueryEscape(other.URL+"/there")).WithHeader("Authorization", "Bearer secret1")
	s.add("away", trigger.EveryDuration(time.Hour), task, ruqi.Policy{})
	if run := s.ran("away"); run.State != ruqi.RunSucceeded {
		t.Errorf("to another host: %+v", run)
	}
	if all := took(); len(all) != 2 || all[0].auth != "Bearer secret1" || all[1].path != "/there" || all[1].auth != "" {
		t.Errorf("to another host: %v arrived", all)
	}

	s.add("hook", trigger.EveryDuration(time.Hour), webhook.Request("POST", receiver.URL+"/mine").WithHeader("Authorization", "Bearer secret1"), ruqi.Policy{})
	elsewhere := other.URL + "/theirs"
	for _, body := range []string{`{"url":"` + elsewhere + `"}`, `{"task":{"kind":"webhook","url":"` + elsewhere + `"}}`, `{"params":{},"executor":"` + elsewhere + `"}`} {
		if status, text := s.answer("POST", "/api/v1/jobs/hook/run", body); status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			t.Errorf("run with %s: %d %s", body, status, text)
		}
	}
	if status, text := s.answer("POST", "/api/v1/jobs/hook/run?url="+url.QueryEscape(elsewhere), "{}"); status != http.StatusBadRequest {
		t.Errorf("run with an address in the query: %d %s", status, text)
	}
	run, err := s.RunNow(t.Context(), "hook", json.RawMessage(`{"url":"`+elsewhere+`","URL":"x","host":"x"}`))
	if err == nil {
		run, err = s.WaitRun(t.Context(), run.ID)
	}
	if err != nil || run.State != ruqi.RunSucceeded {
		t.Errorf("it is %+v, %v", run, err)
	}
	if all := took(); len(all) != 1 || all[0].path != "/mine" || !strings.Contains(all[0].body, "theirs") {
		t.Errorf("params that look like an address: %v arrived", all)
	}
}
