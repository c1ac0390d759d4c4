//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// oldClients are programs that were written for the original service, with what starts them.
var oldClients = map[string][]string{"a script": {"python3", "client.py"}, "a web page": {"node", "page.mjs"}}

// Clients of the original work against the real service as they are: without a token from an open network, or with one in the old way.
func TestOldClientsWorkUnchanged(t *testing.T) {
	folder, err := filepath.Abs(filepath.Join("testdata", "oldclient"))
	if err != nil {
		t.Fatal(err)
	}
	for title, client := range oldClients {
		for _, open := range []bool{true, false} {
			name := title + " with a token"
			flags := []string{"--tz", "Asia/Shanghai", "--allow-net", "127.0.0.1"}
			if open {
				name = title + " from an open network"
				flags = append(flags, "--legacy-open", "127.0.0.0/8")
			}
			t.Run(name, func(t *testing.T) {
				s := serve(t, t.TempDir(), flags...)
				args := []string{filepath.Join(folder, client[1]), s.url, folder}
				if !open {
					args = append(args, s.token())
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, client[0], args...)
				cmd.Env = append(os.Environ(), "no_proxy=127.0.0.1")
				out, err := cmd.CombinedOutput()
				if err != nil || string(out) != "done\n" {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// old posts to /ruqi and returns the status, the stat and the reason.
func (s *service) old(path, token, body string) (status int, stat, reason string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/ruqi/"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer: "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	if err != nil {
		s.t.Fatal(err)
	}
	var shape struct{ Stat string }
	if len(text) > 0 {
		if err := json.Unmarshal(text, &shape); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
	}
	return resp.StatusCode, shape.Stat, resp.Header.Get("x-reason")
}

// OR10: what opens /ruqi is a flag, and it opens nothing else.
func TestRuqiIsClosedUnlessItIsOpened(t *testing.T) {
	closed := serve(t, t.TempDir(), "--store", "memory:")
	if status, stat, _ := closed.old("get_jobs", "", ""); status != 401 || stat != "ERR" {
		t.Errorf("%d %s without a token", status, stat)
	}
	if status, stat, _ := closed.old("get_jobs", closed.token(), ""); status != 200 || stat != "OK" {
		t.Errorf("%d %s with the token", status, stat)
	}
	if status := closed.get("/ruqi/wakeup", closed.token()); status != 405 {
		t.Errorf("a change by GET: %d", status)
	}
	if strings.Contains(closed.log.String(), "needs no token") {
		t.Error("it says that it is open")
	}
	elsewhere := serve(t, t.TempDir(), "--store", "memory:", "--legacy-open", "10.0.0.0/8", "--legacy-open", "::1")
	if status, _, _ := elsewhere.old("get_jobs", "", ""); status != 401 {
		t.Errorf("%d from another network", status)
	}
	cmd := program(t, t.TempDir(), "serve", "--store", "memory:", "--listen", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RUQI_LEGACY_OPEN=10.0.0.0/8,127.0.0.1", "RUQI_LEGACY_GET=true", "RUQI_LEGACY_PROGRAMS=sh", "RUQI_LEGACY_HOST=tasks.example.org")
	open := start(t, t.TempDir(), cmd)
	if status, stat, _ := open.old("get_jobs", "", ""); status != 200 || stat != "OK" {
		t.Errorf("%d %s from an open network", status, stat)
	}
	for host, want := range map[string]int{"tasks.example.org": 200, "evil.example.org": 403} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, open.url+"/ruqi/get_jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // the status says it
		if resp.StatusCode != want {
			t.Errorf("called %s it answers %d, want %d", host, resp.StatusCode, want)
		}
	}
	if status := open.get("/ruqi/wakeup", ""); status != 200 {
		t.Errorf("a change by GET: %d", status)
	}
	if status, stat, reason := open.old("add_job", "", `{"job_trigger":"interval","job_id":"j","job_name":"n","cmd":"sh legacy_test.go","rule":"1h"}`); status != 200 || stat != "OK" {
		t.Errorf("a program that was allowed: %d %s %s", status, stat, reason)
	}
	if status := open.get("/api/v1/jobs", ""); status != 401 {
		t.Errorf("/api/v1: %d", status)
	}
	if !strings.Contains(open.log.String(), "needs no token") {
		t.Error("it does not say that it is open")
	}
	for _, flags := range [][]string{{"--legacy-open", "10.0.0.1/8"}, {"--legacy-open", "everybody"}, {"--legacy-host", "http://x"}, {"--legacy-programs", "php -f"}, {"--legacy-get=perhaps"}} {
		bad := program(t, t.TempDir(), append([]string{"serve", "--store", "memory:", "--listen", "127.0.0.1:0"}, flags...)...)
		var said bytes.Buffer
		bad.Stderr = &said
		if bad.Run() == nil || bad.ProcessState.ExitCode() != 2 || !strings.Contains(said.String(), strings.Split(flags[0], "=")[0]) {
			t.Errorf("%v: exit %d: %s", flags, bad.ProcessState.ExitCode(), said.String())
		}
	}
}

// What old clients add is run as the original ran it: late by 30 s at most, each fire for itself, one at a time.
func TestJobsOfOldClientsHaveTheOriginalsPolicy(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	for trigger, rule := range map[string]string{"cron": "0 0 3 * * 0", "interval": "5m", "date": "2099-01-01"} {
		body := `{"job_trigger":"` + trigger + `","job_id":"` + trigger + `","job_name":"n","cmd":"python3 testdata/oldclient/report.py","rule":"` + rule + `"}`
		if _, stat, reason := s.old("job_add", s.token(), body); stat != "OK" {
			t.Fatalf("%s: %s %s", trigger, stat, reason)
		}
		var job struct {
			Trigger struct{ Kind, Expr, Dialect string }
			Task    struct{ Line string }
			Policy  struct {
				Coalesce           bool
				MisfireGrace       string `json:"misfire_grace"`
				MaxInstances       int    `json:"max_instances"`
				DeleteWhenFinished bool   `json:"delete_when_finished"`
				Overlap, Timeout   string
			}
		}
		job.Policy.Coalesce = true
		if err := json.Unmarshal([]byte(s.ok("job", "get", trigger, "-o", "json")), &job); err != nil {
			t.Fatal(err)
		}
		if p := job.Policy; p.Coalesce || p.MisfireGrace != "30s" || p.MaxInstances != 1 || !p.DeleteWhenFinished || p.Overlap != "skip" || p.Timeout != "1h" {
			t.Errorf("%s: the policy is %+v", trigger, p)
		}
		if job.Trigger.Kind != trigger || trigger == "cron" && (job.Trigger.Expr != "0 0 3 * * mon" || job.Trigger.Dialect != "ruqi") {
			t.Errorf("%s: the trigger is %+v", trigger, job.Trigger)
		}
	}
}

// What a shell would act on reaches a script as it stands, wherever it is written.
func TestNothingOfRuqiReachesAShell(t *testing.T) {
	dir := t.TempDir()
	marked := filepath.Join(dir, "marked")
	script := filepath.Join(dir, "say it.py")
	if err := os.WriteFile(script, []byte("import os, sys\nprint(sys.argv[1:], os.environ['RUQI_JOB_ID'])\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, t.TempDir(), "--store", "memory:", "--legacy-open", "127.0.0.1")
	touch := "touch " + marked
	args := "$(" + touch + ") `" + touch + "` ; " + touch + " | " + touch + " && " + touch + " > " + marked + " $HOME * ~ #"
	id := "$(" + touch + ");" + touch
	add := func(id, cmd, rule string) string {
		body, err := json.Marshal(map[string]string{"job_trigger": "date", "job_id": id, "job_name": "`" + touch + "`", "cmd": cmd, "rule": rule})
		if err != nil {
			t.Fatal(err)
		}
		_, stat, reason := s.old("add_job", "", string(body))
		return stat + " " + reason
	}
	if got := add(id, "python3 '"+script+"' "+args, "now"); got != "OK " {
		t.Fatal(got)
	}
	for _, cmd := range []string{"python3 $(" + touch + ")", "bash -c '" + touch + "'", "bash <(" + touch + ")", "$(" + touch + ") x", "python3 '" + script + "\n" + touch} {
		if got := add("x", cmd, "now"); got != "ERR (scripts) Cmd does not meet expectations" {
			t.Errorf("%q: %s", cmd, got)
		}
	}
	if got := add("x", "python3 '"+script+"'", "$("+touch+")"); got != "ERR Job_rule not match" {
		t.Error(got)
	}
	var rows struct {
		Data struct {
			List []struct {
				Output  string `json:"cmd_output"`
				Success bool   `json:"cmd_is_success"`
			}
		}
	}
	s.eventually("it has run", func() bool {
		resp, err := http.Get(s.url + "/ruqi/get_history")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&rows)
		_ = resp.Body.Close() // it has been read
		return err == nil && len(rows.Data.List) > 0
	})
	quoted := "['" + strings.Join(strings.Fields(args), "', '") + "']"
	if got := rows.Data.List[0]; got.Output != quoted+" "+id+"\n" || !got.Success {
		t.Errorf("%v, want %s", got, quoted)
	}
	if _, err := os.Stat(marked); err == nil {
		t.Error("a shell has read it")
	}
}
