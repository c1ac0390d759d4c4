package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A word behind a flag that takes a value is this value, and behind -- it is the program's.
func TestTheWordsTrueAndFalseAreValuesAndPrograms(t *testing.T) {
	for _, args := range [][]string{
		{"job", "add", "x", "--every", "1h", "--paused", "--command", "true"},
		{"job", "add", "x", "--every", "1h", "--paused", "--command=true"},
		{"job", "add", "x", "--every", "1h", "--coalesce=false", "--", "true"},
		{"job", "add", "x", "--every", "1h", "--login", "--", "false", "--all", "true"},
		{"job", "add", "false", "--every", "1h", "--command", "--login", "--name", "true"},
		{"job", "run", "true", "--wait"},
	} {
		if got := run(t, unreachable, "", args...); got.status != 5 {
			t.Errorf("%q: exit %d: %s", args, got.status, got.errors)
		}
	}
}

// Flags that gather may be given again, and what stands behind a flag or -- is no flag.
func TestFlagsThatAreGivenAgain(t *testing.T) {
	add := []string{"job", "add", "x", "--every", "1h"}
	for _, more := range [][]string{
		{"--env", "A=1", "--env", "B=2", "--tag", "a", "--tag", "b", "--label", "a=1", "--label", "b=2", "--param", "a=1", "--param", "b=2", "--command", "true"},
		{"--limit", "open_files=100", "--limit", "cpu_time=1s", "--command", "--name", "--name", "--command"},
		{"--webhook", "https://example.com", "--header", "A: 1", "--header", "B: 2"},
		{"--name", "n", "--", "sh", "--name", "a", "--name", "b"},
		{"--paused", "--paused", "--coalesce=false", "--coalesce=0", "--command", "true"},
	} {
		if got := run(t, unreachable, "", append(slices.Clone(add), more...)...); got.status != 5 {
			t.Errorf("%q: exit %d: %s", more, got.status, got.errors)
		}
	}
	for _, args := range [][]string{
		{"job", "list", "--tag", "a", "--tag", "b"},
		{"run", "list", "--state", "failed", "--state", "lost"},
		{"job", "run", "x", "--param", "a=1", "--param", "b=2", "--params", "{}"},
		{"export", "crontab", "--tag", "a", "--tag", "b"},
	} {
		if got := run(t, unreachable, "", args...); got.status != 5 {
			t.Errorf("%q: exit %d: %s", args, got.status, got.errors)
		}
	}
}

func TestMistakesAreToldInOneStyle(t *testing.T) {
	add := []string{"job", "add", "x", "--every", "1h", "--command", "true"}
	with := func(more ...string) []string { return append(append([]string{}, add...), more...) }
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		want string
		args []string
	}{
		{"ruqi: \"foo\" is no command of ruqi; accepted are ", []string{"help", "foo"}},
		{"did you mean list?", []string{"help", "job", "lis"}},
		{"has no commands of its own", []string{"help", "status", "now"}},
		{"did you mean list?", []string{"job", "lists"}},
		{"did you mean job?", []string{"jobb", "list"}},
		{"did you mean --command?", []string{"job", "add", "x", "--comand", "true"}},
		{"did you mean --every?", []string{"job", "add", "x", "--evrey", "1h"}},
		{"ruqi: unknown flag --shell; see ruqi job add --help\n", with("--shell", "/bin/bash")},
		{"ruqi: unknown flag --cmd, did you mean --command?; see", []string{"job", "add", "x", "--cmd", "true"}},
		{"ruqi: unknown flag --interval, did you mean --every?; see", []string{"job", "add", "x", "--interval", "5m"}},
		{"ruqi: unknown flag --schedule, did you mean --cron or --every?; see", []string{"job", "add", "x", "--schedule", "5m"}},
		{"ruqi: unknown flag --timezone, did you mean --tz?; see", []string{"serve", "--timezone", "UTC"}},
		{"ruqi: unknown flag --json, did you mean --output?; see", []string{"status", "--json"}},
		{"ruqi: unknown flag --cmd; see ruqi job list --help\n", []string{"job", "list", "--cmd", "true"}},
		{"ruqi: unknown flag --x; see ruqi job add --help\n", with("--x")},
		{"ruqi: unknown flag --ids; see ruqi job list --help\n", []string{"job", "list", "--ids", "x"}},
		{"ruqi: \"edit\" is no command of ruqi job, did you mean modify?; accepted", []string{"job", "edit", "x"}},
		{"ruqi: \"delete\" is no command of ruqi job, did you mean remove?; accepted", []string{"job", "delete", "x"}},
		{"ruqi: \"start\" is no command of ruqi job, did you mean run?; accepted", []string{"job", "start", "x"}},
		{"ruqi: \"stop\" is no command of ruqi run, did you mean cancel?; accepted", []string{"run", "stop", "1"}},
		{"ruqi: \"logs\" is no command of ruqi job, did you mean run logs?; accepted", []string{"job", "logs", "x"}},
		{"ruqi: \"add\" is no command of ruqi, did you mean job add?; accepted", []string{"add", "x"}},
		{"ruqi: \"ls\" is no command of ruqi, did you mean calendar list or instance list or job list or run list?; accepted", []string{"ls"}},
		{"ruqi: \"hello\" is no command of ruqi; accepted are ", []string{"hello"}},
		{"ruqi: --id is given twice\n", []string{"job", "add", "--id", "x", "--every", "1h", "--command", "true", "--id=y"}},
		{"ruqi: --command is given twice\n", with("--command", "true")},
		{"ruqi: --priority is given 3 times\n", with("--priority", "1", "--priority=1", "--priority", "2")},
		{"ruqi: --timeout is given twice\n", []string{"job", "modify", "x", "--timeout", "none", "--timeout", "5s"}},
		{"ruqi: -o is given twice\n", []string{"-o", "json", "job", "list", "--output=table"}},
		{"ruqi: --server is given twice\n", []string{"--server", "http://127.0.0.1:1", "status", "--server", "http://127.0.0.1:2"}},
		{"ruqi: -n is given twice\n", []string{"next", "-n", "3", "-n5", "* * * * *"}},
		{"ruqi: --coalesce is given as true and as false\n", with("--coalesce", "--coalesce=false")},
		{"ruqi: --tz is given twice\n", []string{"serve", "--tz", "UTC", "--tz", "UTC"}},
		{"ruqi: --name is given twice\nruqi: --id is given twice\n", []string{"job", "add", "--name", "a", "--id", "x", "--name", "b", "--id", "y", "--every", "1h", "--command", "true"}},
		{"did you mean --max-instances or --max-runs?", with("--max", "1")},
		{"ruqi: completion bash takes no arguments", []string{"completion", "bash", "now"}},
		{"ruqi: job add takes one id", with("y")},
		{"ruqi: wants a command", nil},
		{"Commands:", nil},
		{"ruqi: job wants a command", []string{"job"}},
		{"Exit status", nil},
		{"ruqi: --limit: \"many\" is not a whole number\n", []string{"job", "list", "--limit", "many"}},
		{"ruqi: -n: \"many\" is not a whole number\n", []string{"next", "-n", "many", "* * * * *"}},
		{"ruqi: --coalesce: \"maybe\" is unknown; accepted are true and false\n", with("--coalesce=maybe")},
		{"ruqi: --coalesce: the \"false\" after it is an argument of its own; write --coalesce=false\n", []string{"job", "add", "--every", "1h", "--coalesce", "false", "--command", "ls"}},
		{"; write --coalesce=false\n", []string{"job", "modify", "x", "--coalesce", "False"}},
		{"; write --login=true\n", []string{"job", "add", "x", "--login", "true", "--every", "1h", "--", "ls"}},
		{"; write --all=false\n", []string{"job", "list", "--limit", "5", "--all", "false"}},
		{"; write --follow=false\n", []string{"run", "logs", "--server=http://127.0.0.1:1", "-f", "false", "1"}},
		{"; write --insecure-http=true\n", []string{"serve", "--insecure-http", "true"}},
		{"; write --wait=true\n", []string{"-o", "json", "job", "run", "--wait", "true"}},
		{"; write --dry-run=false\n", []string{"import", "k8s", "--tz", "UTC", "--dry-run", "false", "x.yaml"}},
		{"ruqi: --limit: there is no value after it\n", []string{"job", "list", "--limit"}},
		{"accepted are queued, running, succeeded", []string{"run", "list", "--state", "done"}},
		{"ruqi: --tz: there is no zone \"Nowhere\"", with("--tz", "Nowhere")},
		{"ruqi: --tz: there is no zone \"Nowhere\"", []string{"serve", "--tz", "Nowhere"}},
		{"ruqi: --tz: there is no zone \"Nowhere\"", []string{"next", "--tz", "Nowhere", "* * * * *"}},
		{"ruqi: --env: \"A\" is given twice\n", with("--env", "A=1", "--env", "A=2")},
		{"ruqi: --env: \"A\" is not K=V\n", with("--env", "A")},
		{"ruqi: --env: \"=1\" has no name before the =\n", with("--env", "=1")},
		{"ruqi: --at: \"2026-13-01\" is no time; accepted are 2026-12-01, ", []string{"job", "add", "x", "--at", "2026-13-01", "--command", "true"}},
		{"; write \"2027-01-01 09:00\"\n", []string{"next", "--from", "2027-01-01 9:00", "0 9 * * *"}},
		{"; write 2027-01-05\n", []string{"next", "--until", "2027/1/5", "0 9 * * *"}},
		{"; write 2027-01-05T09:30:00Z\n", []string{"job", "add", "x", "--at", "2027-1-5T9:30:00Z", "--command", "true"}},
		{"; November has 30 days\n", []string{"next", "--until", "2026-11-31", "0 9 * * *"}},
		{"; February 2027 has 28 days\n", with("--start", "2027-02-29 9:00")},
		{"and \"in 5 minutes\"\n", with("--start", "2027-13-1")},
		{"ruqi: --at: \"9999-12-31\" is out of range, times are from 0001-01-02 to 9999-12-30, UTC", []string{"job", "add", "x", "--at", "9999-12-31", "--command", "true"}},
		{"ruqi: --end: \"9999-12-31T23:59:59-01:00\" is out of range, times are from", []string{"job", "modify", "x", "--end", "9999-12-31T23:59:59-01:00"}},
		{"ruqi: --end: \"9999-12-30T23:59:59-01:00\" is out of range, times are from", []string{"job", "modify", "x", "--end", "9999-12-30T23:59:59-01:00"}},
		{"ruqi: --start: \"0000-12-01 09:00\" is out of range, times are from", with("--start", "0000-12-01 09:00")},
		{"ruqi: --start: \"soon\" is no time; accepted are 2026-12-01, ", with("--start", "soon")},
		{"ruqi: --end: \"soon\" is no time; accepted are 2026-12-01, ", []string{"job", "modify", "x", "--end", "soon"}},
		{"ruqi: when? give one of --cron, --every, --at and --trigger\n", []string{"job", "add", "x", "--command", "true"}},
		{"ruqi: --job: empty", []string{"run", "list", "--job", ""}},
		{"ruqi: ID: empty", []string{"job", "add", "", "--every", "1h", "--command", "true"}},
		{"ruqi: --id: empty", []string{"job", "add", "--id", "", "--every", "1h", "--command", "true"}},
		{"ruqi: --tag: none takes all tags away", []string{"job", "modify", "x", "--tag", "none", "--tag", "a"}},
		{"ruqi: --label: none takes all away", []string{"job", "modify", "x", "--label", "none", "--label", "a=1"}},
		{"ruqi: --label: \"a\" is both set and taken away", []string{"job", "modify", "x", "--label", "a-", "--label", "a=1"}},
		{"ruqi: --label: \"a-\" is not K=V", with("--label", "a-")},
		{"ruqi: --dir: \"~/x\"", with("--dir", "~/x")},
		{"ruqi: --dir: \"x\" is relative", with("--dir", "x", "--server", "http://203.0.113.1:8585")},
		{"ruqi: --server: not an address", []string{"status", "--server", "ftp://x"}},
	} {
		got := run(t, unreachable, "", c.args...)
		if got.status != 2 || got.out != "" || !strings.Contains(got.errors, c.want) || strings.Contains(got.errors, "strconv") {
			t.Errorf("%q: exit %d, %q, want %q: %s", c.args, got.status, got.out, c.want, got.errors)
		}
		if strings.Contains(got.errors, "ruqi: ruqi") || strings.Contains(got.errors, "tz: tz:") || strings.Contains(got.errors, "2006") {
			t.Errorf("%q: %s", c.args, got.errors)
		}
	}
	if got := run(t, map[string]string{"RUQI_SERVER": "ftp://x"}, "", "status"); !strings.Contains(got.errors, "ruqi: RUQI_SERVER: not an address") {
		t.Errorf("a wrong variable: %s", got.errors)
	}
	if got := run(t, nil, "", "--version"); got.status != 0 || got.out != "ruqi test\n" {
		t.Errorf("--version: %+v", got)
	}
	if got := run(t, nil, "", "help", "job", "add"); got.status != 0 || !strings.Contains(got.out, "--max-runs n ") {
		t.Errorf("help: %+v", got)
	}
}

func TestAnAddressNeedsNoScheme(t *testing.T) {
	for _, address := range []string{"127.0.0.1:1", "localhost:1", "http://127.0.0.1:1"} {
		got := run(t, map[string]string{"RUQI_TOKEN": "x"}, "", "status", "--server", address)
		if got.status != 5 || !strings.Contains(got.errors, "unreachable") {
			t.Errorf("%s: exit %d: %s", address, got.status, got.errors)
		}
	}
}

func TestSeveralJobsThatAreNoDocumentsAreToldHow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	for text, place := range map[string]string{"- id: x\n- id: y\n": ":1:1: ", "jobs:\n  - id: x\n": ":1:1: jobs: "} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, unreachable, "", "job", "add", "--file", path)
		if got.status != 2 || !strings.Contains(got.errors, path+place) || !strings.Contains(got.errors, "separated by a line ---") {
			t.Errorf("%q: exit %d: %s", text, got.status, got.errors)
		}
	}
}

// What JSON cannot carry would reach the service as something else, under another name.
func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, []byte("id: a\n---\nid: \"b\xff\"\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	add := []string{"job", "add", "--every", "1h"}
	for want, args := range map[string][]string{
		`"a\xff" is not UTF-8`:                append(add, "a\xff", "--command", "x"),
		`--name: "\xc3(" is not UTF-8`:        append(add, "--name", "\xc3(", "--command", "x"),
		`--env: "A=\xe4" is not UTF-8`:        append(add, "--env", "B=ä", "--env", "A=\xe4", "--command", "x"),
		`--command: "echo \xe4" is not UTF-8`: append(add, "--command", "echo \xe4"),
		`"\xf6" is not UTF-8`:                 append(add, "--", "echo", "\xf6"),
		`--param: "K=\xf6" is not UTF-8`:      {"job", "run", "x", "--param", "K=\xf6"},
		`"x\xf6" is not UTF-8`:                {"job", "pause", "x\xf6"},
		`--tag: "\xf6" is not UTF-8`:          {"job", "list", "--tag", "\xf6"},
		"jobs.yaml:3:7: not UTF-8":            {"job", "add", "--file", file},
	} {
		got := run(t, map[string]string{"RUQI_SERVER": server.URL, "RUQI_TOKEN": "x"}, "", args...)
		if got.status != 2 || !strings.Contains(got.errors, want) || got.out != "" {
			t.Errorf("%q: exit %d, want %q: %s", args, got.status, want, got.errors)
		}
	}
	if asked > 0 {
		t.Errorf("the service was asked %d times", asked)
	}
}
