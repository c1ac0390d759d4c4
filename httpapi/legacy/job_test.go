package legacy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/trigger"
)

var clock = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$`)

// Both generations of names do the same; the members and their order are those that clients know.
func TestTheLifeOfAJobByBothGenerations(t *testing.T) {
	for _, names := range []map[string]string{
		{"list": "get_jobs", "show": "get_job", "add": "add_job", "modify": "modify_job", "remove": "remove_job", "pause": "pause_job", "resume": "resume_job"},
		{"list": "job_list", "show": "job_show", "add": "job_add", "modify": "job_modify", "remove": "job_remove", "pause": "job_pause", "resume": "job_resume"},
	} {
		t.Run(names["add"], func(t *testing.T) {
			s := idle(t, legacy.Settings{})
			path := func(what string) string { return "/ruqi/" + names[what] }
			cmd := "python3 " + s.script + ` "two words"`
			if a := s.call("OK", path("add"), "job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", cmd, "rule", "5m"); a.text != "{\"stat\":\"OK\"}\n" || a.reason != "" {
				t.Errorf("%q, %q", a.text, a.reason)
			}
			job, err := s.Job(t.Context(), "j")
			if err != nil {
				t.Fatal(err)
			}
			next := job.Created.Add(5 * time.Minute)
			if !job.NextNominal.Equal(next) {
				t.Errorf("the first run is %s after the add", job.NextNominal.Sub(job.Created))
			}
			p := job.Policy
			if *p.MisfireGrace != 30*time.Second || *p.Coalesce || !p.DeleteWhenFinished || p.Timeout != time.Hour || p.MaxInstances != 1 {
				t.Errorf("its policy is %+v", p)
			}
			at := func(t0 time.Time) string { return t0.In(shanghai(t)).Format("2006-01-02 15:04:05") }
			quoted, err := json.Marshal(cmd)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`{"job_id":"j","job_name":"n","job_trigger":"interval","Job_trigger":"interval","cmd":%s,"rule":"300s","next_run_time":%q,"nexttime":%q,"c_time":%q}`,
				quoted, at(next), at(next), at(job.Created))
			if a := s.do("GET", path("show")+"?job_id=j", ""); a.text != `{"stat":"OK","data":`+want+"}\n" {
				t.Errorf("%s, want %s", a.text, want)
			}
			if a := s.do("GET", path("list"), ""); a.text != `{"stat":"OK","data":{"total":1,"list":[`+want+"]}}\n" {
				t.Errorf("%s, want %s", a.text, want)
			}
			s.call("OK", path("pause"), "job_id", "j")
			if row := s.job("j"); row["next_run_time"] != nil || row["nexttime"] != "None" {
				t.Errorf("paused: %v", row)
			}
			s.call("OK", path("pause"), "job_id", "j")
			s.call("OK", path("resume"), "job_id", "j")
			s.call("OK", path("resume"), "job_id", "j")
			if row := s.job("j"); !clock.MatchString(row.text("next_run_time")) || row["nexttime"] != row["next_run_time"] {
				t.Errorf("resumed: %v", row)
			}
			s.call("OK", path("modify"), "job_trigger", "cron", "job_id", "j", "job_name", "other", "cmd", cmd, "rule", "*/5 0  3 * JAN-mar 0")
			if row := s.job("j"); row["rule"] != "*/5 0 3 * 1-3 mon" || row["job_name"] != "other" || row["Job_trigger"] != "cron" {
				t.Errorf("modified: %v", row)
			}
			s.call("OK", path("remove"), "job_id", "j")
			for _, what := range []string{"show", "pause", "resume", "remove"} {
				if a := s.call("ERR", path(what), "job_id", "j"); a.reason != "job not found" {
					t.Errorf("%s of what is not there: %q", what, a.reason)
				}
			}
			a := s.call("ERR", path("modify"), "job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", cmd, "rule", "5m")
			if a.reason != "job not found" {
				t.Errorf("modify of what is not there: %q", a.reason)
			}
		})
	}
}

func TestPagesOfJobs(t *testing.T) {
	s := idle(t, legacy.Settings{})
	for i := range 20 {
		s.add("OK", "interval", fmt.Sprintf("j%02d", i), fmt.Sprint("n", i%2), "python "+s.script, "1h")
	}
	if rows, total := s.list("/ruqi/get_jobs"); len(rows) != 20 || total != 20 || rows[0]["job_id"] != "j19" || rows[19]["job_id"] != "j00" {
		t.Errorf("all: %d of %d, %s", len(rows), total, ids(rows))
	}
	for query, want := range map[string]string{
		"page_index=1":                            "j19 j18 j17 j16 j15 j14 j13 j12 j11 j10 j09 j08 j07 j06 j05/20",
		"page_index=0&page_size=2":                "j19 j18/20",
		"page_index=2":                            "j04 j03 j02 j01 j00/20",
		"page_index=3":                            "/20",
		"page_index=2&page_size=3":                "j16 j15 j14/20",
		"page_index=2&page_size=3&job_name=n1":    "j13 j11 j09/10",
		"job_id=j07":                              "j07/1",
		"job_id=j07&job_name=n0":                  "/0",
		"job_id=j0":                               "/0",
		"job_name=n":                              "/0",
		"job_id=&job_name=&page_index=":           "j19 j18 j17 j16 j15 j14 j13 j12 j11 j10 j09 j08 j07 j06 j05 j04 j03 j02 j01 j00/20",
		"page_index=1&page_size=9999999999999999": "j19 j18 j17 j16 j15 j14 j13 j12 j11 j10 j09 j08 j07 j06 j05 j04 j03 j02 j01 j00/20",
		"page_index=99999999999999999999":         "/20",
		"page_index=2147483647&page_size=1000":    "/20",
	} {
		rows, total := s.list("/ruqi/job_list?" + query)
		if got := fmt.Sprintf("%s/%d", ids(rows), total); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, body := range []string{`{"page_index":"2","page_size":"3"}`, `{"page_index":2,"page_size":3}`, `{"page_index":" 2 ","page_size":"+3"}`} {
		if a := s.do("POST", "/ruqi/get_jobs?page_index=7&page_size=9", body); !strings.Contains(a.text, `"j16"`) || strings.Count(a.text, `"cmd"`) != 3 {
			t.Errorf("%s: %s", body, a.text)
		}
	}
	for _, query := range []string{"page_index=-1", "page_index=x", "page_index=1.0", "page_index=1&page_size=0", "page_size=-3", "page_size=x", "page_index=1e3", "page_index=0x1", "page_index=１"} {
		if a := s.do("GET", "/ruqi/get_jobs?"+query, ""); a.stat != "ERR_BAD_PARAMS" || a.reason != "Param check failed" || a.StatusCode != 200 {
			t.Errorf("%s: %d %s %q", query, a.StatusCode, a.text, a.reason)
		}
	}
}

// A list of more than a page of the store is sent whole, whatever its length.
func TestALongListIsWhole(t *testing.T) {
	s := idle(t, legacy.Settings{})
	const many = 2*ruqi.MaxPage + 5
	for i := range many {
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: fmt.Sprintf("j%04d", i), Trigger: trigger.EveryDuration(time.Hour), Task: command.Shell("true")}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
	}
	rows, total := s.list("/ruqi/get_jobs")
	if total != many || len(rows) != many {
		t.Fatalf("%d rows of %d, want %d", len(rows), total, many)
	}
	for i, r := range rows {
		if want := fmt.Sprintf("j%04d", many-1-i); r.text("job_id") != want {
			t.Fatalf("row %d is %s, want %s", i, r.text("job_id"), want)
		}
	}
}

func TestRules(t *testing.T) {
	s := idle(t, legacy.Settings{})
	cmd := "bash " + s.script
	for _, c := range []struct{ kind, rule, echo string }{
		{"cron", "* * * * * *", "* * * * * *"},
		{"cron", "0 */5 8-18 1,15 jan,JUL 0-4", "0 */5 8-18 1,15 1,7 mon-fri"},
		{"cron", "0\t0 0 last * *", "0 0 0 last * *"},
		{"cron", "0 0 0 * * 6", "0 0 0 * * sun"},
		{"interval", "10s", "10s"}, {"interval", "5m", "300s"}, {"interval", "1h", "3600s"}, {"interval", "2d", "172800s"}, {"interval", "007s", "7s"},
		{"date", "2099-01-02", "2099-01-02 00:00:00"},
		{"date", "2099-01-02 03:04:05", "2099-01-02 03:04:05"},
		{"date", "2099-01-02T03:04:05", "2099-01-02 03:04:05"},
		{"date", "2099-01-02 03:04:05.25", "2099-01-02 03:04:05.250000"},
		{"date", "2099-01-02 03:04:05.000001", "2099-01-02 03:04:05.000001"},
	} {
		s.add("OK", c.kind, "j", "n", cmd, c.rule)
		row := s.job("j")
		if row["rule"] != c.echo || row["job_trigger"] != c.kind {
			t.Errorf("%s %q comes back as %s %q, want %q", c.kind, c.rule, row["job_trigger"], row["rule"], c.echo)
		}
		if c.kind == "date" && row.text("next_run_time") != c.echo[:19] {
			t.Errorf("%q runs at %s", c.rule, row["next_run_time"])
		}
		before := s.version("j")
		s.call("OK", "/ruqi/modify_job", "job_trigger", row.text("job_trigger"), "job_id", "j", "job_name", "n", "cmd", row.text("cmd"), "rule", row.text("rule"))
		if v := s.version("j"); v != before {
			t.Errorf("%s %q: sent back as it came, it changed the job", c.kind, c.rule)
		}
		s.call("OK", "/ruqi/remove_job", "job_id", "j")
	}
	for kind, rules := range map[string][]string{
		"cron": {"* * * * *", "* * * * * * *", "@daily", "60 * * * * *", "0 0 0 0 * *", "0 0 0 * * 7", "0 0 0 30 2 *", "0 0 0 ? * *", "TZ=UTC * * * * * *", "0 0 22-2 * * *", "x", "0 0 0 * *\n*",
			"$(id) * * * * *", strings.Repeat("*", 2000)},
		"interval": {"10S", "1h30m", "s10", "0s", "00m", "10", "s", "-5s", "1.5h", " 5m", "5m ", "5 m", "1w", "5m\n", "９s", "999999999999d", "9999999999999999999s"},
		"date": {"NOW", "tomorrow", "2099-13-01", "2099-02-30", "2099-01-02 25:00:00", "2099-01-02 03:04", "2099-01-02 03:04:05.1234567", "2099-01-02T03:04:05Z",
			"2099-01-02 03:04:05+01:00", "in 5 minutes", "1700000000", "2099-1-2", "2099-01-02 03:04:05.", " now"},
	} {
		for _, rule := range rules {
			if a := s.add("ERR", kind, "j", "n", cmd, rule); a.reason != "Job_rule not match" || a.Header.Get("x-detail") == "" {
				t.Errorf("%s %q: %q (%s)", kind, rule, a.reason, a.Header.Get("x-detail"))
			}
		}
	}
	for _, kind := range []string{"Cron", "calendar", "every", "x"} {
		if a := s.add("ERR", kind, "j", "n", cmd, "1h"); a.reason != "Job_trigger not in jobs_map" {
			t.Errorf("%s: %q", kind, a.reason)
		}
	}
	if rows, _ := s.list("/ruqi/get_jobs"); len(rows) != 0 {
		t.Errorf("what was refused is there: %v", rows)
	}
}

// A wall time that a clock change leaves out is refused; the two next to it are named.
func TestADateThatDoesNotExist(t *testing.T) {
	s := idle(t, legacy.Settings{}, inZone(t, "Europe/Berlin"))
	a := s.add("ERR", "date", "j", "n", "bash "+s.script, "2099-03-29 02:30:00")
	if detail := a.Header.Get("x-detail"); a.reason != "Job_rule not match" || !strings.Contains(detail, "01:59:59") || !strings.Contains(detail, "03:00:00") {
		t.Errorf("%q (%s)", a.reason, detail)
	}
}

func (s *site) version(id string) int64 {
	s.t.Helper()
	job, err := s.Job(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return job.Version
}

func TestCommands(t *testing.T) {
	s := idle(t, legacy.Settings{Programs: []string{"perl", "/usr/bin/env"}})
	dir := t.TempDir()
	spaced := filepath.Join(dir, "a b.py")
	if err := os.WriteFile(spaced, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]string{
		"python " + s.script: `{"kind":"command","line":"python ` + s.script + `"}`,
		"python3  " + s.script + ` --day "2099 01" $HOME ; x`: "",
		"bash '" + spaced + "' 'x y'":                         "",
		"perl " + s.script:                                    "",
		"/usr/bin/env " + s.script:                            "",
		"/usr/bin/env\t" + s.script:                           "",
		"http://127.0.0.1:1/a?b=c":                            `{"kind":"webhook","call":"http://127.0.0.1:1/a?b=c","answer":"json"}`,
		"http://127.0.0.1:1/a#":                               "",
		`https://127.0.0.1:1/a#{"a": 1, "b": ["#"]}`:          `{"kind":"webhook","call":"https://127.0.0.1:1/a#{\"a\": 1, \"b\": [\"#\"]}","answer":"json"}`,
	} {
		isHTTP := strings.HasPrefix(cmd, "http")
		s.add("OK", "interval", "j", "n", cmd, "1h")
		job, err := s.Job(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		task, err := job.Task.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if row := s.job("j"); row.text("cmd") != cmd || want != "" && string(task) != want {
			t.Errorf("%q comes back as %q, a task %s", cmd, row.text("cmd"), task)
		}
		limit := time.Hour
		if isHTTP {
			limit = 90 * time.Second
		}
		if job.Policy.Timeout != limit {
			t.Errorf("%q may take %s", cmd, job.Policy.Timeout)
		}
		s.call("OK", "/ruqi/remove_job", "job_id", "j")
	}
	for reason, cmds := range map[string][]string{
		"(scripts) Cmd does not meet expectations": {
			"python", "ls " + s.script, "sh " + s.script, "Python " + s.script, "python " + dir, "python " + filepath.Join(dir, "none.py"), "python -c pass",
			"bash -c 'touch " + dir + "/x'", "python3 -m http.server", "python '" + s.script, "python " + s.script + ` \`, "python " + s.script + "\nrm -rf x", "python '' x", "; python " + s.script,
			"$(python) " + s.script, "ruby " + s.script, "perl", " ", "/usr/bin/env",
		},
		"(http) Cmd does not meet expectations": {
			"http", "http:", "http://", "https:///x#{}", "httpx://127.0.0.1/#{}", "http://127.0.0.1/#{", "http://127.0.0.1/#{} {}", "http://127.0.0.1/#{'a':1}", "http://a b/#{}",
			"http://10.0.0.1/#{}", "http://169.254.169.254/latest#{}", "http://127.0.0.1/\r\nX: y#{}",
		},
		"topic commands are not configured": {"/topic#{}#1", "/topic", "/bin/sh " + s.script, "/", "/usr/bin/envy x"},
	} {
		for _, cmd := range cmds {
			if a := s.add("ERR", "interval", "j", "n", cmd, "1h"); a.reason != reason || a.Header.Get("x-detail") == "" {
				t.Errorf("%q: %q (%s), want %q", cmd, a.reason, a.Header.Get("x-detail"), reason)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a shell has run what was refused")
	}
}

// A path is what the system makes of it, dots and all: whoever may add a job may name any file, and runs it as the service.
func TestAPathIsThatOfTheSystem(t *testing.T) {
	s := idle(t, legacy.Settings{})
	around := filepath.Dir(s.script) + "/none/../" + filepath.Base(s.script)
	s.add("ERR", "interval", "j", "n", "bash "+around, "1h") // there is no folder none
	around = filepath.Dir(s.script) + "/../" + filepath.Base(filepath.Dir(s.script)) + "/" + filepath.Base(s.script)
	s.add("OK", "interval", "j", "n", "bash "+around, "1h")
	if row := s.job("j"); row["cmd"] != "bash "+around {
		t.Errorf("it is %q now", row["cmd"])
	}
}

// Jobs added by other means are listed by their canonical texts, and sent back so they keep trigger and task.
func TestJobsOfOthersSurviveAModify(t *testing.T) {
	s := idle(t, legacy.Settings{})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC)
	crontab, err := trigger.Cron("30 2 * * fri", trigger.CronOptions{Zone: berlin, Start: &start})
	if err != nil {
		t.Fatal(err)
	}
	often, err := trigger.Interval(90*time.Minute, trigger.IntervalOptions{Start: &start})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		trigger   ruqi.Trigger
		task      ruqi.Task
		cmd, rule string
	}{
		{crontab, command.Shell("make report | mail ops"), "make report | mail ops", "30 2 * * fri"},
		{often, command.Argv("/bin/x", "a b"), "/bin/x 'a b'", "5400s"},
		{trigger.EveryDuration(1500 * time.Millisecond), webhook.Request("PUT", "http://127.0.0.1:1/x?key=secret"), "PUT http://127.0.0.1:1/x?…", "1s500ms"},
		{trigger.Date(start.Add(time.Microsecond)), command.Shell("true"), "true", "2098-01-01 08:00:00.000001"},
	} {
		timeout := 7 * time.Minute
		spec := ruqi.JobSpec{ID: "j", Name: "n", Trigger: c.trigger, Task: c.task, Policy: ruqi.Policy{Timeout: timeout}, Labels: map[string]string{"a": "b"}}
		before, _, err := s.AddJob(t.Context(), spec, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		row := s.job("j")
		if row["cmd"] != c.cmd || row["rule"] != c.rule {
			t.Errorf("%q and %q, want %q and %q", row["cmd"], row["rule"], c.cmd, c.rule)
		}
		s.call("OK", "/ruqi/job_modify", "job_trigger", row.text("job_trigger"), "job_id", "j", "job_name", "renamed", "cmd", row.text("cmd"), "rule", row.text("rule"))
		after, err := s.Job(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		if text(t, after.Trigger) != text(t, before.Trigger) || text(t, after.Task) != text(t, before.Task) || !after.NextNominal.Equal(*before.NextNominal) {
			t.Errorf("%s with %s became %s with %s", text(t, before.Trigger), text(t, before.Task), text(t, after.Trigger), text(t, after.Task))
		}
		if after.Name != "renamed" || after.Policy.Timeout != timeout || after.Labels["a"] != "b" || after.Executor != before.Executor {
			t.Errorf("the job is %+v", after.JobSpec)
		}
		// What is new is judged, and takes the place of that alone.
		s.call("ERR", "/ruqi/job_modify", "job_trigger", row.text("job_trigger"), "job_id", "j", "job_name", "n", "cmd", "rm -rf /", "rule", row.text("rule"))
		s.call("ERR", "/ruqi/job_modify", "job_trigger", row.text("job_trigger"), "job_id", "j", "job_name", "n", "cmd", row.text("cmd"), "rule", "often")
		s.call("OK", "/ruqi/job_modify", "job_trigger", row.text("job_trigger"), "job_id", "j", "job_name", "n", "cmd", "http://127.0.0.1:1/y#{}", "rule", row.text("rule"))
		after, err = s.Job(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		if text(t, after.Trigger) != text(t, before.Trigger) || after.Task.Kind() != "webhook" || after.Executor != "default" || after.Policy.Timeout != 90*time.Second {
			t.Errorf("with a new command the job is %+v", after.JobSpec)
		}
		s.call("OK", "/ruqi/remove_job", "job_id", "j")
	}
}

func text(t *testing.T, v json.Marshaler) string {
	t.Helper()
	data, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A password in the address of a call is not shown, and kept when it is sent back so.
func TestAPasswordOfACallStays(t *testing.T) {
	s := idle(t, legacy.Settings{})
	s.add("OK", "interval", "j", "n", "http://ann:secret@127.0.0.1:1/x#{}", "1h")
	for _, after := range []string{"#{}", `#{"a":1}`} {
		s.call("OK", "/ruqi/modify_job", "job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", "http://ann:********@127.0.0.1:1/x"+after, "rule", "1h")
		job, err := s.Job(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, job.Task); !strings.Contains(got, "ann:secret@127.0.0.1:1/x#") || s.job("j")["cmd"] != "http://ann:********@127.0.0.1:1/x"+after {
			t.Errorf("it is %s, shown as %s", got, s.job("j")["cmd"])
		}
	}
	a := s.call("ERR", "/ruqi/modify_job", "job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", "http://ann:********@127.0.0.2:1/x", "rule", "1h")
	if strings.Contains(a.Header.Get("x-detail"), "secret@") {
		t.Errorf("%s", a.Header.Get("x-detail"))
	}
}

// An interval that is sent anew in other words keeps its place; a new one counts from now.
func TestAnEqualRuleKeepsTheNextTime(t *testing.T) {
	s := idle(t, legacy.Settings{})
	cmd := "python " + s.script
	s.add("OK", "interval", "j", "n", cmd, "1h")
	first := s.job("j")["next_run_time"]
	s.call("OK", "/ruqi/modify_job", "job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", cmd, "rule", "60m")
	if row := s.job("j"); row["next_run_time"] != first || row["rule"] != "3600s" {
		t.Errorf("%v, want %v", row, first)
	}
	s.call("OK", "/ruqi/modify_job", "job_trigger", "interval", "job_id", "j", "job_name", "n", "cmd", cmd, "rule", "2h")
	if row := s.job("j"); row["next_run_time"] == first {
		t.Errorf("%v", row)
	}
}

func TestAnIDThatIsTakenIsRefused(t *testing.T) {
	s := idle(t, legacy.Settings{})
	s.add("OK", "interval", "j", "n", "python "+s.script, "1h")
	if a := s.add("ERR", "interval", "j", "other", "python "+s.script, "2h"); a.reason != "job exists already" || s.job("j")["job_name"] != "n" {
		t.Errorf("%q, %v", a.reason, s.job("j"))
	}
}

// OR16: a date that has passed is not armed again; the job is removed, and that is said.
func TestResumingWhatCanNeverRunRemovesIt(t *testing.T) {
	s := serve(t, legacy.Settings{})
	soon := time.Now().In(shanghai(t)).Add(2 * time.Second).Format("2006-01-02 15:04:05.000000")
	s.add("OK", "date", "j", "n", "python "+s.script, soon)
	s.call("OK", "/ruqi/pause_job", "job_id", "j")
	if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "kept", Trigger: trigger.Date(time.Now()), Task: command.Shell("true")}, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	s.until("the date has passed", func() bool { return time.Now().In(shanghai(t)).Format("2006-01-02 15:04:05.000000") > soon })
	s.history("kept", 1)
	for _, id := range []string{"j", "kept"} {
		if a := s.call("ERR", "/ruqi/resume_job", "job_id", id); a.reason != "no next run time" {
			t.Errorf("%s: %q", id, a.reason)
		}
		s.call("ERR", "/ruqi/get_job", "job_id", id)
	}
	if rows, total := s.list("/ruqi/get_history?job_id=j"); total != 0 || len(rows) != 0 {
		t.Errorf("it ran: %v", rows)
	}
}

func TestDatesFireOnceAndAreGone(t *testing.T) {
	s := serve(t, legacy.Settings{})
	cmd := "python3 " + s.script + " 'a  b'"
	s.add("OK", "date", "now", "n", cmd, "now")
	late := time.Now().In(shanghai(t)).Add(-10 * time.Second).Format("2006-01-02 15:04:05")
	s.add("OK", "date", "late", "n", cmd, late)
	past := time.Now().In(shanghai(t)).Add(-time.Hour).Format("2006-01-02 15:04:05")
	s.add("OK", "date", "past", "n", cmd, past)
	for _, id := range []string{"now", "late"} {
		row := s.history(id, 1)[0]
		if row["cmd"] != cmd || row["cmd_output"] != "hello a  b\n" || row["cmd_is_success"] != true || row["job_name"] != "n" {
			t.Errorf("%s: %v", id, row)
		}
	}
	page := s.runs("past", 1)
	if page[0].State != ruqi.RunMissed || !strings.Contains(page[0].Reason, "misfire_grace is 30s") {
		t.Errorf("an hour ago: %+v", page[0])
	}
	if rows, total := s.list("/ruqi/get_history?job_id=past"); total != 0 || len(rows) != 0 {
		t.Errorf("what was missed is in the history: %v", rows)
	}
	s.until("no job is left", func() bool { rows, _ := s.list("/ruqi/get_jobs"); return len(rows) == 0 })
}

// runs waits until a job has n rows that have ended, of any kind, and returns them.
func (s *site) runs(id string, n int) []ruqi.Run {
	s.t.Helper()
	var ended []ruqi.Run
	s.until(fmt.Sprintf("%d rows of %s have ended", n, id), func() bool {
		page, err := s.Runs(s.t.Context(), ruqi.RunQuery{Job: id})
		if err != nil {
			s.t.Fatal(err)
		}
		ended = slices.DeleteFunc(page.Runs, func(r ruqi.Run) bool { return !r.State.Ended() })
		return len(ended) >= n
	})
	return ended
}

func TestCallsAreSentAndJudged(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, %v", r.Method, err)
		}
		switch r.URL.Path {
		case "/json":
			_, _ = fmt.Fprintf(w, `{"got":%s}`, body)
		case "/text":
			_, _ = fmt.Fprint(w, "done")
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, "{}")
		}
	}))
	t.Cleanup(target.Close)
	s := serve(t, legacy.Settings{})
	for path, want := range map[string]row{
		"/json#{\"a\": \"{{b}}\"}": {"cmd_is_success": true, "cmd_output": `{"got":{"a": "{{b}}"}}`},
		"/json":                    {"cmd_is_success": true, "cmd_output": `{"got":{}}`},
		"/text#[]":                 {"cmd_is_success": false, "cmd_output": "done"},
		"/500#{}":                  {"cmd_is_success": false, "cmd_output": "{}"},
	} {
		id := fmt.Sprintf("%x", path)
		s.add("OK", "date", id, "n", target.URL+path, "now")
		got := s.history(id, 1)[0]
		if got["cmd"] != target.URL+path || got["cmd_is_success"] != want["cmd_is_success"] || got["cmd_output"] != want["cmd_output"] {
			t.Errorf("%s: %v", path, got)
		}
	}
}
