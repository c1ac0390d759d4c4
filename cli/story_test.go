//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAUsersFirstHour(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	s.ok("job", "add", "hello", "--every", "1 second", "--command", "echo hello from $RUQI_JOB_ID")
	s.ok("job", "add", "--id", "nightly", "--cron", "30 2 * * mon-fri", "--tz", "Europe/Berlin", "--tag", "night", "--timeout", "10m",
		"--env", "TO=ops", "--label", "team=ops", "--description", "the nightly report", "--", "/bin/sh", "-c", "echo report to $TO; exec sleep 600")

	table := s.ok("job", "list")
	for _, want := range []string{"hello", "every 1s", "nightly", "30 2 * * mon-fri Europe/Berlin", " 02:30:00 +0", "night"} {
		if !strings.Contains(table, want) {
			t.Errorf("the list has no %q:\n%s", want, table)
		}
	}
	var page struct {
		Items []struct {
			ID    string `json:"id"`
			State string `json:"state"`
		} `json:"items"`
		NextCursor *string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(s.ok("job", "list", "--tag", "night", "-o", "json")), &page); err != nil || len(page.Items) != 1 || page.Items[0].ID != "nightly" || page.NextCursor != nil {
		t.Errorf("%+v, %v", page, err)
	}
	if got := s.ok("next", "--tz", "Europe/Berlin", "--from", "2026-12-01T00:00:00Z", "-n", "1", "--", "30 2 * * mon-fri"); got != "2026-12-01T02:30:00+01:00\n" {
		t.Errorf("next: %s", got)
	}
	if got := s.ok("job", "get", "nightly"); !strings.Contains(got, "the nightly report") || !strings.Contains(got, "timeout 10m\n") {
		t.Errorf("get: %s", got)
	}
	s.ok("job", "modify", "nightly", "--cron", "0 4 * * *", "--timeout", "none", "--label", "shift=late")
	if got := s.ok("job", "get", "nightly", "-o", "json"); !strings.Contains(got, `"expr": "0 4 * * *"`) || !strings.Contains(got, `"zone": "Europe/Berlin"`) ||
		!strings.Contains(got, `"timeout": null`) || !strings.Contains(got, `"shift": "late"`) || !strings.Contains(got, `"team": "ops"`) {
		t.Errorf("modified: %s", got)
	}

	var manual struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal([]byte(s.ok("job", "run", "nightly", "-o", "json")), &manual); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(manual.ID)
	s.eventually("the report is written", func() bool { return s.ok("run", "logs", id) == "report to ops\n" })
	if got := s.ok("run", "list", "--job", "nightly", "--state", "running"); !strings.Contains(got, id) || !strings.Contains(got, "manual") {
		t.Errorf("runs: %s", got)
	}
	followed := make(chan command, 1)
	go func() { followed <- s.ruqi("run", "logs", "-f", id) }()
	s.ok("run", "cancel", id)
	if got := <-followed; got.status != 0 || got.out != "report to ops\n" {
		t.Errorf("followed: %+v", got)
	}
	s.eventually("it is cancelled", func() bool { return strings.Contains(s.ok("run", "get", id), "cancelled by admin") })
	s.fails(1, "ended", "run", "cancel", id)

	s.eventually("hello runs by itself", func() bool { return strings.Contains(s.ok("run", "list", "--job", "hello"), "succeeded") })
	if got := s.ok("job", "pause", "hello", "nightly"); strings.Count(got, "paused") != 4 {
		t.Errorf("pause: %s", got)
	}
	if got := s.ok("job", "run", "hello", "--wait"); !strings.Contains(got, "succeeded") {
		t.Errorf("run of a paused job: %s", got)
	}
	if got := s.ok("job", "resume", "hello", "nightly", "-o", "json"); !strings.HasPrefix(got, "{\n  \"items\": [") || !strings.Contains(got, `"total": 2`) {
		t.Errorf("several as JSON are no list: %s", got)
	}
	s.ok("job", "add", "fails", "--at", "2040-01-01 00:00", "--", "sh", "-c", "exit 7")
	if got := s.ruqi("job", "run", "fails", "--wait"); got.status != 1 || !strings.Contains(got.out, "exit status 7") {
		t.Errorf("a run that fails: %+v", got)
	}
	if got := s.ok("status"); !strings.Contains(got, "running") || !strings.Contains(got, "sqlite:") {
		t.Errorf("status: %s", got)
	}
	s.ok("wakeup")

	s.fails(2, "--cron", "job", "add", "x", "--cron", "61 * * * *", "--command", "x")
	s.fails(2, "--priority", "job", "add", "x", "--every", "1h", "--priority", "2000000", "--command", "x")
	s.fails(2, "--at", "job", "add", "x", "--at", "2020-01-01 00:00", "--command", "x") // PD01
	s.fails(1, "already exists", "job", "add", "hello", "--every", "1h", "--command", "x")
	s.fails(3, "not found", "job", "get", "nobody")
	s.fails(3, "not found", "job", "pause", "nobody")
	s.fails(3, "not found", "run", "logs", "4711")
	s.fails(4, "--token", "job", "list", "--token", "wrong")
	s.fails(5, "--server", "job", "list", "--server", "http://127.0.0.1:1")

	if got := s.ok("job", "remove", "--tag", "night"); got != "removed 1\n" {
		t.Errorf("remove by tag: %s", got)
	}
	if got := s.ruqi("job", "remove", "nobody", "hello"); got.status != 3 || got.out != "removed hello\n" {
		t.Errorf("remove: %+v", got)
	}
	s.ok("job", "remove", "--all")
	s.signal(syscall.SIGTERM)
	if status := s.wait(); status != 0 {
		t.Errorf("exit %d after SIGTERM", status)
	}
}

func TestAFileOfJobs(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	var b strings.Builder
	for i := range 120 { // more than two pages of the default
		fmt.Fprintf(&b, "id: job-%03d\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: 'true'}\n---\n", i)
	}
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.ok("job", "add", "--file", path); strings.Count(got, "created job-") != 120 {
		t.Errorf("%d created", strings.Count(got, "created job-"))
	}
	if got := s.ruqi("job", "list"); strings.Count(got.out, "job-") != 50 || !strings.Contains(got.errors, "--all") {
		t.Errorf("a page of %d, %s", strings.Count(got.out, "job-"), got.errors)
	}
	if got := s.ok("job", "list", "--all"); strings.Count(got, "job-") != 120 {
		t.Errorf("all are %d", strings.Count(got, "job-"))
	}
	s.fails(1, path+":1:1", "job", "add", "--file", path)
	if got := s.ok("job", "add", "--file", path, "--on-conflict", "keep"); strings.Count(got, "kept job-") != 120 {
		t.Errorf("%d kept", strings.Count(got, "kept job-"))
	}
	const more = "trigger: {kind: interval, every: 1h}\ntask: {kind: command, command: 'true'}\n---\n"
	bad := "id: ok\n" + more + "id: bad\npriority: 2000000\n" + more + "id: new\nlabels: {a: b}\n" + strings.Replace(more, "'true'", "'true', user: nobody-of-that-name", 1) +
		"id: both\ncolour: red\n" + strings.Replace(more, "1h", "1h, end: 2020-01-01", 1)
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"job", "add", "--file", path}, {"apply", "-f", path}} {
		got := s.ruqi(args...)
		if got.status != 2 || got.out != "" || strings.Contains(got.errors, "created") || strings.Count(got.errors, path) != 4 {
			t.Errorf("%s: %+v", args[0], got)
		}
		has(t, got.errors, path+":6:1: priority:", `:13:40: task.user: there is no user "nobody-of-that-name"`, ":16:1: colour: ", ":17:1: trigger")
	}
	s.fails(3, "ok", "job", "get", "ok") // one of the file's own is not there
	if err := os.WriteFile(path, []byte("id: twin\n"+more+"id: twin\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(2, path+":5:1: id: \"twin\" stands also at "+path+":1:1", "job", "add", "--file", path)
	s.fails(3, "twin", "job", "get", "twin")
	if got := s.ok("job", "add", "--file", path, "--on-conflict", "keep"); !strings.Contains(got, "created twin") || !strings.Contains(got, "kept twin") {
		t.Errorf("twins that may be: %s", got)
	}
}

func TestOddNamesOnTheCommandLine(t *testing.T) { // NM01, NM03, NM05, XI01
	s := serve(t, t.TempDir(), "--store", "memory:")
	for _, id := range []string{
		"etl/daily/part 1", "отчёт-日次-🙂", `"night" o'clock`, "<script>alert(1)</script>", "-", "a\u200fb", "..x", "100%",
	} {
		s.ok("job", "add", "--id", id, "--every", "1h", "--name", "\x27name\x27", "--", "true")
		if got := s.ok("job", "get", "-o", "json", "--", id); !strings.Contains(got, `"id"`) {
			t.Errorf("%q: %s", id, got)
		}
		s.ok("job", "run", "--wait", "--", id)
		s.ok("job", "pause", "--", id)
		s.ok("job", "resume", "--", id)
		s.ok("job", "modify", id, "--priority", "3")
		if got := s.ok("run", "list", "--job", id); !strings.Contains(got, "succeeded") || strings.Contains(got, "\u200f") {
			t.Errorf("%q: %s", id, got)
		}
		s.ok("job", "remove", "--", id)
		s.fails(3, "not found", "job", "get", "--", id)
	}
	s.fails(2, "", "job", "add", "--id", "..", "--every", "1h", "--", "true")
	s.fails(2, "", "job", "add", "--id", "a\x1b[31m", "--every", "1h", "--", "true")
	long := strings.Repeat("x", 254) // NM07
	s.ok("job", "add", "--id", long+"a", "--every", "1h", "--", "true")
	s.ok("job", "add", "--id", long+"b", "--every", "1h", "--", "true")
	s.fails(2, "--id", "job", "add", "--id", long+"ab", "--every", "1h", "--", "true")
	if got := s.ok("job", "list"); strings.Count(got, long) != 2 {
		t.Errorf("two jobs are wanted:\n%s", got)
	}
}

func TestEveryFlagOfAJobReachesIt(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--slots", "special=2", "--tz", "America/Chicago")
	got := s.ok("job", "add", "x", "-o", "json", "--name", "Name", "--cron", "*/5 9 * * mon-fri", "--dialect", "crontab", "--start", "2030-01-01", "--end", "2031-01-01",
		"--gap", "skip", "--fold", "second", "--command", "make", "--env", "A=1", "--dir", "/srv", "--executor", "special", "--priority", "-3", "--label", "k=v=w", "--param", "n=1",
		"--tag", "a", "--tag", "b,c", "--coalesce=false", "--misfire-grace", "1s", "--catchup-limit", "7", "--max-instances", "2", "--overlap", "queue_one", "--timeout", "1h30m",
		"--kill-grace", "5s", "--on-lost", "rerun", "--jitter", "2s", "--max-runs", "9", "--delete-when-finished", "--run-on-start", "--paused",
		"--retry", "3", "--retry-delay", "5s", "--retry-backoff", "linear", "--retry-max-delay", "12s")
	var job map[string]any
	if err := json.Unmarshal([]byte(got), &job); err != nil {
		t.Fatal(err)
	}
	trigger := job["trigger"].(map[string]any)
	for member, want := range map[string]string{"zone": "America/Chicago", "gap": "skip", "fold": "second", "dialect": "crontab"} {
		if trigger[member] != want {
			t.Errorf("trigger.%s is %v, want %s", member, trigger[member], want)
		}
	}
	if text := fmt.Sprint(trigger["start"], trigger["end"]); !strings.Contains(text, "2030-01-01T00:00:00-06:00") || !strings.Contains(text, "2031-01-01T00:00:00-06:00") {
		t.Errorf("start and end: %s", text)
	}
	policy := job["policy"].(map[string]any)
	for member, want := range map[string]any{
		"coalesce": false, "misfire_grace": "1s", "catchup_limit": 7.0, "max_instances": 2.0, "overlap": "queue_one", "timeout": "1h30m",
		"kill_grace": "5s", "on_lost": "rerun", "jitter": "2s", "max_runs": 9.0, "delete_when_finished": true, "run_on_start": true,
	} {
		if policy[member] != want {
			t.Errorf("policy.%s is %v, want %v", member, policy[member], want)
		}
	}
	if retry := fmt.Sprint(policy["retry"]); retry != "map[backoff:linear delay:5s max:3 max_delay:12s]" {
		t.Errorf("policy.retry is %s", retry)
	}
	for member, want := range map[string]string{
		"name": "Name", "executor": "special", "priority": "-3", "labels": "map[k:v=w]", "tags": "[a b,c]", "params": "map[n:1]", "state": "paused",
	} {
		if fmt.Sprint(job[member]) != want {
			t.Errorf("%s is %v, want %s", member, job[member], want)
		}
	}
	if task := fmt.Sprint(job["task"]); !strings.Contains(task, "make") || !strings.Contains(task, "/srv") || !strings.Contains(task, "map[A:1]") {
		t.Errorf("task %s", task)
	}
	s.ok("job", "modify", "x", "--every", "90 minutes", "--tag", "z", "--", "echo", "now")
	if got := s.ok("job", "get", "x"); !strings.Contains(got, "every 1h30m") || !strings.Contains(got, "  echo now\n") || strings.Contains(got, "make") || !strings.Contains(got, "2030-01-01T00:00:00-06:00") {
		t.Errorf("modified: %s", got)
	}
}

// @reboot is taken as in a crontab: the job has no next time, and says when it runs.
func TestAJobForStartsIsAddedAsInACrontab(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "boot", "--cron", "@reboot", "--", "true")
	for _, want := range []string{"@reboot", "run_on_start"} {
		if got := s.ok("job", "get", "boot"); !strings.Contains(got, want) {
			t.Errorf("%s does not stand in\n%s", want, got)
		}
	}
	if got := s.ok("job", "list", "--sort", "newest"); !strings.Contains(got, "boot") {
		t.Errorf("it is not listed:\n%s", got)
	}
	s.fails(2, "policy.run_on_start", "job", "add", "not", "--cron", "@reboot", "--run-on-start=false", "--", "true")
	s.ok("job", "add", "daily", "--cron", "@daily", "--", "true")
	s.ok("job", "modify", "daily", "--cron", "@reboot")
	if got := s.ok("job", "get", "daily", "-o", "json"); !strings.Contains(got, `"run_on_start": true`) {
		t.Errorf("changed to @reboot it is\n%s", got)
	}
	got := run(t, nil, "", "next", "@reboot")
	if got.status != 0 || got.out != "" || !strings.Contains(got.errors, "never fires by the clock") {
		t.Errorf("next of @reboot: %+v", got)
	}
}

func TestAWallTimeIsReadInTheServicesZoneNotTheHosts(t *testing.T) { // TM01
	dir := t.TempDir()
	cmd := program(t, dir, "serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--tz", "UTC")
	cmd.Env = append(cmd.Env, "TZ=America/Chicago")
	s := start(t, dir, cmd)
	if got := s.ok("job", "add", "x", "--at", "2031-12-01 12:00", "--command", "true"); !strings.Contains(got, "2031-12-01 12:00:00 +00:00") {
		t.Errorf("read elsewhere: %s", got)
	}
	if got := s.ok("job", "add", "y", "--at", "2031-12-01 12:00", "--tz", "Asia/Tokyo", "--command", "true", "-o", "json"); !strings.Contains(got, `"2031-12-01T12:00:00+09:00"`) {
		t.Errorf("read elsewhere: %s", got)
	}
}

func TestPreviewsLiveInTheZoneOfJobs(t *testing.T) {
	dir := t.TempDir()
	cmd := program(t, dir, "serve", "--listen", "127.0.0.1:0", "--store", "memory:")
	cmd.Env = append(cmd.Env, "TZ=America/Chicago")
	s := start(t, dir, cmd)
	s.ok("job", "add", "x", "--cron", "0 3 * * *", "--command", "true")
	if got := s.ok("job", "get", "x"); !strings.Contains(got, "0 3 * * * America/Chicago\n") {
		t.Errorf("job: %s", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/triggers/preview", strings.NewReader(`{"trigger":{"kind":"cron","expr":"0 3 * * *"},"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), `"zone":"America/Chicago"`) {
		t.Errorf("preview: %v: %s", err, text)
	}
}

func TestAJobForNowRunsNow(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	s.ok("job", "add", "now", "--at", "now", "--tz", "Asia/Tokyo", "--command", "echo ran")
	s.eventually("it ran", func() bool { return strings.Contains(s.ok("run", "list", "--job", "now"), "succeeded") })
	s.ok("job", "add", "soon", "--at", "in 1 hour", "--command", "true")
	if got := s.ok("job", "list", "--state", "active"); !strings.Contains(got, "soon") || strings.Contains(got, "now") {
		t.Errorf("list: %s", got)
	}
	t.Setenv("TZ", "Asia/Kolkata")
	if got := s.ok("run", "list", "--job", "now"); strings.Count(got, "+05:30") != 2 {
		t.Errorf("a list of runs is not in the one zone of this host: %s", got)
	}
	if got := s.ok("job", "list", "--state", "finished"); !strings.Contains(got, "once") {
		t.Errorf("finished: %s", got)
	}
}
