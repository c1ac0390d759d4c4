//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An imported job as the service shows it.
type imported struct {
	State   string
	Trigger json.RawMessage
	Task    struct {
		Command, Shell, User string
		Argv                 []string
		Env                  map[string]string
	}
	Policy struct {
		Overlap      string
		Timeout      string
		MisfireGrace string `json:"misfire_grace"`
		Retry        struct{ Max int }
	}
}

func (s *service) imported(id string) imported {
	s.t.Helper()
	var job imported
	if err := json.Unmarshal([]byte(s.ok("job", "get", id, "-o", "json")), &job); err != nil {
		s.t.Fatal(err)
	}
	return job
}

// first returns the first time after 1 December 2026 in UTC, by the service.
func (s *service) first(job imported) string {
	s.t.Helper()
	body := fmt.Appendf(nil, `{"trigger":%s,"from":"2026-12-01T00:00:00Z","n":1}`, job.Trigger)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/v1/triggers/preview", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token())
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var preview struct{ Times []string }
	if err := json.Unmarshal(text, &preview); err != nil || len(preview.Times) != 1 {
		s.t.Fatalf("%s: %s", body, text)
	}
	return preview.Times[0]
}

// RC01, RC02, RC03, RC04, RC10, RC11: crontabs of real projects, by the program that people run.
func TestCrontabsOfOthers(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	for table, jobs := range map[string]int{"01-plain": 9, "02-bash": 4, "03-system": 8, "09-env-order": 6} {
		line := []string{"import", "crontab", sampleTable(table + ".crontab")}
		if table == "03-system" {
			line = append(line, "--system", "--user", "") // whose jobs they are: the tests of executors need those users
		}
		if got := s.ok(line...); !strings.Contains(got, fmt.Sprintf("%d jobs: %[1]d created, 0 changed, 0 unchanged; nothing was left out\n", jobs)) {
			t.Errorf("%s: %s", table, got)
		}
	}
	if n := len(s.versions()); n != 27 {
		t.Errorf("there are %d jobs", n)
	}
	for _, c := range []struct{ id, first, shell, command string }{
		{"01-plain/site", "2026-12-01T17:00:00Z", "", "/opt/app/bin/site down"},
		{"01-plain/note", "2026-12-01T03:00:00Z", "", "/opt/app/bin/note new"},
		{"01-plain/note-2", "2026-12-01T03:00:00Z", "", "/opt/app/bin/note index"},
		{"01-plain/note-3", "2026-12-01T03:00:00Z", "", "/opt/app/bin/note lists"},
		{"01-plain/withenv-2", "2026-12-01T01:00:00Z", "", "/opt/app/bin/withenv /opt/app/env /opt/app/bin/trim.sh"},
		{"02-bash/nightly.sh", "2026-12-01T06:15:00Z", "/bin/bash",
			"source $APP_ROOT/profile && source $APP_ROOT/env && cd $APP_ROOT/loaders/first && ./nightly.sh &>> $APP_ROOT/log/first.log"},
		{"02-bash/demo", "2026-12-01T05:00:00Z", "/bin/bash", `sleep "$(( RANDOM % 60 ))"; demo check-version > $APP_ROOT/log/version.log 2>&1 `},
		{"02-bash/demo-2", "2026-12-01T06:20:00Z", "/bin/bash", `[[ -e $APP_ROOT/go ]] && demo load --since "$(date -d yesterday +%Y-%m-%d)"`},
		{"03-system/head", "2026-12-07T03:46:00Z", "", "head -c 26 /dev/zero > /var/lib/demo/key"},
		{"03-system/curl", "2026-12-07T03:47:00Z", "",
			"curl -s -X POST -H 'Content-Type: application/json' -d \"{\\\"token\\\": \\\"`cat /var/lib/demo/token`\\\"}\" http://127.0.0.1:5000/refresh"},
		{"03-system/task-2", "2026-12-02T00:00:00Z", "", "/bin/sh -lc 'cd /opt/app && ./task refresh'        >>/var/log/demo.log 2>&1"},
		{"03-system/manage", "2026-12-01T00:07:00Z", "", "manage send > /var/log/demo/send.log 2>&1"},
		{"03-system/manage-4", "2026-12-01T02:30:00Z", "", "manage winnow"},
		{"09-env-order/printenv-4", "2026-12-02T09:00:00+09:00", "", "printenv CRON_TZ"},
		{"09-env-order/echo", "2026-12-01T01:30:00Z", "", "echo utc"},
	} {
		job := s.imported(c.id)
		if got := s.first(job); got != c.first {
			t.Errorf("%s is first at %s, want %s", c.id, got, c.first)
		}
		if job.Task.Command != c.command || job.Task.Shell != c.shell || job.Policy.Overlap != "allow" {
			t.Errorf("%s is %+v, want %q of %q", c.id, job, c.command, c.shell)
		}
	}
	if env := s.imported("02-bash/demo").Task.Env; env["APP_ROOT"] != "/srv/demo/app" || env["MAILTO"] != "demo" || !strings.HasPrefix(env["PATH"], "/srv/demo/venv/bin:") {
		t.Errorf("the variables of 02-bash are %v", env)
	}
	if mail, is := s.imported("03-system/head").Task.Env["MAILTO"]; mail != "" || !is {
		t.Errorf("MAILTO of 03-system is %q, %t", mail, is)
	}
}

// A crontab written of the jobs of one gives the same schedules, commands and descriptions back.
func TestAnExportGivesTheImportBack(t *testing.T) {
	from, to := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC"), serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	tables, err := filepath.Glob(sampleTable("user/*.crontab"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"01-plain", "02-bash", "09-env-order"} {
		tables = append(tables, sampleTable(name+".crontab"))
	}
	for range 2 {
		before := from.versions()
		from.ruqi(append([]string{"import", "crontab"}, tables...)...) // exit 1: some have lines that nobody can take
		if after := from.versions(); len(before) > 0 && !maps.Equal(before, after) {
			t.Errorf("imported twice, the versions were %v and are %v", before, after)
		}
	}
	// What each runs, when and why, whatever its id.
	jobs := func(s *service, prefix, but string) (all []string) {
		for id := range s.versions() {
			if !strings.HasPrefix(id, prefix) || strings.Contains(but, id+": not in the table: ") {
				continue
			}
			var job struct {
				Name, Description string
				Trigger, Task     map[string]any
			}
			if err := json.Unmarshal([]byte(s.ok("job", "get", "-o", "json", "--", id)), &job); err != nil {
				t.Fatal(err)
			}
			delete(job.Task["env"].(map[string]any), "CRON_TZ") // it may be said where it went without saying
			line, err := json.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(line))
		}
		slices.Sort(all)
		return all
	}
	compared := 0
	for _, path := range tables {
		name := strings.TrimSuffix(filepath.Base(path), ".crontab")
		// Intervals and seconds are none of cron's.
		left := map[string]int{"freebsd": 2}[name]
		table := from.ruqi("export", "crontab", "--tz", "UTC", "--prefix", name+"/")
		if n := strings.Count(table.errors, ": not in the table: "); n != left || table.status != min(left, 1) {
			t.Fatalf("%s: exit %d: %s", name, table.status, table.errors)
		}
		to.ok("import", "crontab", tableOf(t, name+".crontab", table.out))
		was, is := jobs(from, name+"/", table.errors), jobs(to, name+"/", "")
		if compared += len(was); !slices.Equal(was, is) {
			t.Errorf("%s: the jobs were\n%s\nand are\n%s\nby\n%s", name, strings.Join(was, "\n"), strings.Join(is, "\n"), table.out)
		}
	}
	if compared < 50 {
		t.Errorf("only %d jobs were compared", compared)
	}
}

// RK01, RK03, RK05: manifests of real projects, by the program that people run.
func TestManifestsOfOthers(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	file := func(name string) string { return filepath.Join("kubernetes", "testdata", name) }
	got := s.ruqi("import", "k8s", file("01-beta-folded.yaml"))
	cleaner := s.imported("run-cleaner")
	if got.status != 0 || s.first(cleaner) != "2026-12-01T00:15:00Z" || cleaner.Policy.Overlap != "skip" || cleaner.Task.Env["NUM_TO_KEEP"] != "3" {
		t.Errorf("exit %d: %s; the job is %+v", got.status, got.errors, cleaner)
	}
	// bash runs the text as YAML folds it, and finds six to drop.
	if out := s.outputOf("run-cleaner"); strings.Count(out, " would drop ") != 6 || strings.Count(out, "done\n") != 6 || strings.Contains(out, "failed") {
		t.Errorf("it says %q", out)
	}

	got = s.ruqi("import", "k8s", file("03-multi-doc.yaml"))
	refresh := s.imported("demo/token-refresh")
	if got.status != 0 || refresh.State != "active" || s.first(refresh) != "2026-12-01T00:05:00Z" || refresh.Policy.Overlap != "skip" || refresh.Policy.Timeout != "2m" || refresh.Policy.Retry.Max != 2 {
		t.Errorf("exit %d: %s; the job is %+v", got.status, got.errors, refresh)
	}
	has(t, got.errors, "RoleBinding token-refresh: not a CronJob", "ServiceAccount token-refresh: not a CronJob", "envFrom is left out")
	if out := s.outputOf("demo/token-refresh"); !strings.HasPrefix(out, "step one done\nwould store --name= --value=c\nupdated at ") {
		t.Errorf("it says %q", out)
	}

	got = s.ruqi("import", "k8s", file("05-tz-suspend-replace.yaml"))
	end := s.imported("month-end")
	if got.status != 1 || s.first(end) != "2026-12-01T02:30:00+01:00" || end.Policy.Overlap != "cancel_running" || end.Policy.MisfireGrace != "3m20s" {
		t.Errorf("exit %d: %s; the job is %+v", got.status, got.errors, end)
	}
	has(t, got.errors, "CronJob paused: 2 containers", "CronJob paused: 1 init containers", "holds a zone")
	if out := s.outputOf("month-end"); out != "two words $(date) it's 100%\n" {
		t.Errorf("it says %q", out)
	}
	if n := len(s.versions()); n != 3 {
		t.Errorf("there are %d jobs", n)
	}
	// What is suspended waits.
	paused := tableOf(t, "paused.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: paused}\nspec: {schedule: '0 9 * * *', timeZone: Asia/Tokyo, suspend: true, "+
		"jobTemplate: {spec: {template: {spec: {containers: [{name: a, command: [echo, a]}]}}}}}\n")
	s.ok("import", "k8s", paused)
	if job := s.imported("paused"); job.State != "paused" || s.first(job) != "2026-12-02T09:00:00+09:00" {
		t.Errorf("the job is %+v", job)
	}
}
