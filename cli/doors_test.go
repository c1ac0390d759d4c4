//go:build unix

package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// versions tells of each job its version, which counts changes.
func (s *service) versions() map[string]int {
	s.t.Helper()
	var page struct {
		Items []struct {
			ID      string
			Version int
		}
	}
	if err := json.Unmarshal([]byte(s.ok("job", "list", "--all", "-o", "json")), &page); err != nil {
		s.t.Fatal(err)
	}
	versions := map[string]int{}
	for _, job := range page.Items {
		versions[job.ID] = job.Version
	}
	return versions
}

func TestCronJobsOfKubernetesAreTakenOver(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	file := func(name string) string { return filepath.Join("kubernetes", "testdata", name) }
	got := s.ruqi("import", "k8s", file("03-multi-doc.yaml"), file("01-beta-folded.yaml"))
	if got.status != 0 || !strings.Contains(got.errors, "RoleBinding token-refresh: not a CronJob") || !strings.Contains(got.errors, "envFrom is left out") {
		t.Errorf("exit %d: %s%s", got.status, got.out, got.errors)
	}
	if got := s.ruqi("import", "k8s", file("05-tz-suspend-replace.yaml")); got.status != 1 || !strings.Contains(got.errors, "CronJob paused: 2 containers") || !strings.Contains(got.out, "month-end") {
		t.Errorf("what cannot be taken whole: exit %d: %s%s", got.status, got.out, got.errors)
	}
	first := s.versions()
	if len(first) != 3 || first["demo/token-refresh"] == 0 || first["run-cleaner"] == 0 || first["month-end"] == 0 {
		t.Fatalf("the jobs are %v", first)
	}
	if text := s.ok("run", "get", lastRun(s, "month-end"), "-o", "json"); !strings.Contains(text, `"succeeded"`) {
		t.Error(text)
	}
	if out := s.ok("run", "logs", lastRun(s, "month-end")); out != "two words $(date) it's 100%\n" {
		t.Errorf("it said %q", out)
	}
	for line := range strings.Lines(s.ok("import", "k8s", file("03-multi-doc.yaml"), file("01-beta-folded.yaml"))) {
		if !strings.HasPrefix(line, "unchanged ") {
			t.Errorf("importing twice changes nothing, and it says %q", line)
		}
	}
	for id, version := range s.versions() {
		if version != first[id] {
			t.Errorf("importing %s twice changed it", id)
		}
	}
	dry := s.ok("import", "k8s", "--dry-run", file("01-beta-folded.yaml"), file("03-multi-doc.yaml"))
	jobs := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(jobs, []byte(dry), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("job", "add", "--file", jobs, "--on-conflict", "replace")
	for id, version := range s.versions() {
		if version != first[id] {
			t.Errorf("the job file of a dry run differs from what is imported: %s", id)
		}
	}
	if got := s.ruqi("import", "k8s", file("01-beta-folded.yaml"), file("01-beta-folded.yaml")); got.status != 1 || !strings.Contains(got.errors, "its name is taken by that at") {
		t.Errorf("two of one name: exit %d: %s", got.status, got.errors)
	}
	nasty := filepath.Join(t.TempDir(), "nasty.yaml")
	if err := os.WriteFile(nasty, []byte("kind: \"\\e[2J\"\nmetadata: {name: \"a\\e[2Jb\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.ruqi("import", "k8s", nasty); strings.ContainsRune(got.out+got.errors, '\x1b') || !strings.Contains(got.errors, `a\x1b[2Jb: not a CronJob`) {
		t.Errorf("a name that acts on the terminal: %q%q", got.out, got.errors)
	}
	s.fails(2, "zone", "import", "k8s", "--tz", "Nowhere/Else", file("01-beta-folded.yaml"))
	s.fails(2, "no such file", "import", "k8s", file("none.yaml"))
}

// Who names the wrong file is told by the exit status; documents beside a CronJob are what files of manifests hold.
func TestAFileWithoutACronJobIsNotTaken(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
	cronJob := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: '0 1 * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: a, command: [echo, a]}]}}}}}\n"
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"a Pod alone", pod, 1},
		{"a List of Pods", "apiVersion: v1\nkind: List\nitems:\n- {kind: Pod, metadata: {name: web}}\n", 1},
		{"a List of nothing", "apiVersion: v1\nkind: List\nitems: []\n", 0},
		{"a Pod beside a CronJob", pod + "---\n" + cronJob, 0},
	} {
		for _, more := range [][]string{{"--dry-run"}, nil} {
			file := tableOf(t, "manifest.yaml", c.text)
			got := s.ruqi(append([]string{"import", "k8s", file}, more...)...)
			named := strings.Contains(got.errors, "Pod web: not a CronJob")
			none := strings.Contains(got.errors, "ruqi: nothing could be taken over\n")
			if got.status != c.status || named != strings.Contains(c.text, "Pod") || none != (c.status == 1) {
				t.Errorf("%s %v: exit %d, want %d: %s%s", c.name, more, got.status, c.status, got.out, got.errors)
			}
		}
	}
	files := []string{tableOf(t, "pod.yaml", pod), tableOf(t, "job.yaml", cronJob)}
	if got := s.ok("import", "k8s", files[0], files[1]); !strings.HasPrefix(got, "unchanged nightly") {
		t.Errorf("a file of a Pod beside one of a CronJob: %s", got)
	}
}

// What a dry run says is what the import says, line by line.
func TestADryRunOfCronJobsRefusesWhatTheImportRefuses(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	job := func(name, spec string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: " + name + "}\nspec: {" + spec + ", jobTemplate: {spec: {template: {spec: {containers: [{name: a, command: [echo, a]}]}}}}}\n"
	}
	file := tableOf(t, "jobs.yaml", job("late", "schedule: '0 25 * * *'")+"---\n"+"kind: Pod\n---\n"+job("typo", "schedule: '0 9 * * *', timeZone: Europe/Berlyn")+
		"---\n"+job("odd", "schedule: '@every soon'")+"---\n"+job("good", "schedule: '0 9 * * *', successfulJobsHistoryLimit: 3")+"---\n"+job("two", "schedule: '0 9 * * *', concurrencyPolicy: Maybe, startingDeadlineSeconds: -1")+
		"---\n"+strings.Replace(job("bare", "schedule: '0 25 * * *', suspend: true, timeZone: Europe/Berlyn"), ", command: [echo, a]", "", 1))
	dry, real := s.ruqi("import", "k8s", "--dry-run", file), s.ruqi("import", "k8s", file)
	told := strings.Replace(dry.errors, "ruqi: good: would be created\nruqi: 1 job: 1 to create, 0 to change, 0 unchanged; 5 CronJobs not taken\n", "", 1)
	if dry.status != 1 || real.status != 1 || told != real.errors || told == dry.errors || !strings.HasPrefix(dry.out, "id: good\n") && !strings.Contains(dry.out, "\nid: good\n") || strings.Contains(dry.out, "late") {
		t.Errorf("a dry run: exit %d\n%s%s\nthe import: exit %d\n%s%s", dry.status, dry.out, dry.errors, real.status, real.out, real.errors)
	}
	lines := strings.Split(dry.errors, "\n")
	for i, want := range []string{
		":1: CronJob late: schedule: ", ":6: Pod: not a CronJob", `:8: CronJob typo: timeZone: there is no zone "Europe/Berlyn"`, ":13: CronJob odd: schedule: ", ":18: good: history limits", ":23: CronJob two: concurrencyPolicy is",
		":23: CronJob two: startingDeadlineSeconds is", ":28: CronJob bare: container a has no command", `:28: CronJob bare: timeZone: there is no zone "Europe/Berlyn"`, ":28: CronJob bare: schedule: ",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], "ruqi: "+file+want) {
			t.Errorf("line %d does not say %q:\n%s", i, want, dry.errors)
		}
	}
}

// lastRun starts a run of the job, waits for its end, and returns its id.
func lastRun(s *service, job string) string {
	s.t.Helper()
	var run struct{ ID json.Number }
	if err := json.Unmarshal([]byte(s.ok("job", "run", "--wait", job, "-o", "json")), &run); err != nil {
		s.t.Fatal(err)
	}
	return run.ID.String()
}

func TestWebhooksOfTheService(t *testing.T) {
	var got struct{ method, body, key string }
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got.method, got.body, got.key = r.Method, string(body), r.Header.Get("X-Key")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "taken\n")
	}))
	defer target.Close()
	u, err := url.Parse(target.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-net", "127.0.0.1")
	s.ok("job", "add", "hook", "--every", "1h", "--webhook", target.URL, "--method", "PUT", "--header", "X-Key: a: b", "--body", `{"day":"{{day}}","n":1}`, "--expect", "202", "--param", "day=mon")
	if out := s.ok("run", "logs", lastRun(s, "hook")); out != "taken\n" || got.method != "PUT" || got.body != `{"day":"mon","n":1}` || got.key != "a: b" {
		t.Errorf("%+v arrived, the output is %q", got, out)
	}
	s.ok("job", "modify", "hook", "--expect", "none", "--body", "hello {{day}}")
	if lastRun(s, "hook"); got.body != "hello mon" {
		t.Errorf("%q arrived", got.body)
	}
	s.ok("job", "modify", "hook", "--", "echo", "a command now")
	if out := s.ok("run", "logs", lastRun(s, "hook")); out != "a command now\n" {
		t.Errorf("it said %q", out)
	}
	s.ok("job", "modify", "hook", "--webhook", target.URL)
	if lastRun(s, "hook"); got.method != "POST" || got.body != `{"day":"mon"}` {
		t.Errorf("%+v arrived", got)
	}
	s.fails(2, "--header", "job", "add", "x", "--every", "1h", "--webhook", target.URL, "--header", "nonsense")
	s.fails(2, "--header: B c: not a name of a header", "job", "add", "x", "--every", "1h", "--webhook", target.URL, "--header", "A: 1", "--header", "B c: 2")
	s.fails(2, "--header: Content-Length: is set by the service itself", "job", "modify", "hook", "--header", "A: 1", "--header", "Content-Length: 2")
	s.fails(2, "--webhook", "job", "add", "x", "--every", "1h", "--webhook", "ftp://example.com")
	s.fails(2, "not both", "job", "add", "x", "--every", "1h", "--webhook", target.URL, "--command", "true")
	s.fails(2, "--stdin: is for commands, not for --webhook", "job", "add", "x", "--every", "1h", "--webhook", target.URL, "--stdin", "text")
	s.fails(2, "--limit: is for commands, not for --webhook", "job", "modify", "hook", "--webhook", target.URL, "--limit", "open_files=9")
	s.ok("job", "modify", "hook", "--webhook", target.URL, "--user", "none")
	s.fails(2, "--header: is for --webhook, not for commands", "job", "add", "x", "--every", "1h", "--header", "A: b", "--command", "true")

	// SR01: without leave the service reaches nothing inside, at add and at run.
	guarded := serve(t, t.TempDir(), "--store", "memory:")
	got.method = ""
	guarded.fails(2, "not public", "job", "add", "x", "--every", "1h", "--webhook", target.URL)
	guarded.fails(2, "link-local", "job", "add", "x", "--every", "1h", "--webhook", "http://169.254.169.254/latest/")
	guarded.ok("job", "add", "x", "--every", "1h", "--webhook", "http://localhost:"+u.Port())
	if run := guarded.ruqi("job", "run", "--wait", "x"); run.status == 0 || got.method != "" {
		t.Errorf("exit %d, %q arrived: %s", run.status, got.method, run.errors)
	}
	guarded.fails(3, "", "run", "get", "999")
	if text := guarded.ok("run", "list", "--job", "x"); !strings.Contains(text, "not public") {
		t.Error(text)
	}
	if bad := program(t, t.TempDir(), "serve", "--listen", "127.0.0.1:0", "--allow-net", "10.0.0.1/8"); bad.Run() == nil || bad.ProcessState.ExitCode() != 2 {
		t.Errorf("a network with bits beyond its mask: exit %d", bad.ProcessState.ExitCode())
	}
}
