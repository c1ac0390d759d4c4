package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unreachable is an environment in which no command gets as far as a service.
var unreachable = map[string]string{"RUQI_SERVER": "http://127.0.0.1:1", "RUQI_TOKEN": "x"}

const goodJob = `id: hello
trigger: {kind: interval, every: 90s}
task:
  kind: command
  command: |
    echo one
    echo two
`

func TestFaultsOfAJobFileAreToldWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"wrong expression": {
			"id: x\ntrigger:\n  kind: cron\n  expr: 61 * * * *\ntask: {kind: command, command: x}\n", "jobs.yaml:4:3: trigger.expr: minute: 61",
		},
		"wrong in the second document": {
			goodJob + "---\nid: y\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: x}\npolicy:\n  timeout: soon\n", "jobs.yaml:13:3: policy.timeout: ",
		},
		"unknown member":      {"colour: red\n" + goodJob, "jobs.yaml:1:1: colour: unknown member"},
		"not YAML":            {"id: [x\n", "jobs.yaml:"},
		"name twice":          {"id: x\nid: y\n", `jobs.yaml:2:1: `},
		"a list":              {"- id: x\n", "jobs.yaml:1:1: a list; several jobs"},
		"an alias":            {"id: &a x\nname: *a\n", "jobs.yaml:1:1: id: a job file has no anchors"},
		"an empty id":         {"id: ''\ntrigger: {kind: interval, every: 1h}\n", "jobs.yaml:1:1: id: empty"},
		"nothing":             {"# nothing\n", "there is no job"},
		"a number for a text": {"id: x\nname: 7\n", "jobs.yaml:2:1: name: not a text"},
		"a task without kind": {"id: x\ntask: {command: x}\n", "jobs.yaml:2:1: task.kind: missing"},
		"an infinite number":  {"priority: .inf\n", "jobs.yaml:1:1: priority: JSON has no such number"},
	} {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, unreachable, "", "job", "add", "--file", path)
		if got.status != 2 || got.out != "" || !strings.Contains(got.errors, c.want) {
			t.Errorf("%s: exit %d, want %q: %s", name, got.status, c.want, got.errors)
		}
	}
	if got := run(t, unreachable, goodJob, "job", "add", "--file", "-"); got.status != 5 {
		t.Errorf("a good file goes to the service: exit %d: %s", got.status, got.errors)
	}
	if got := run(t, unreachable, "id: x\ncolour: red\n", "job", "add", "--file", "-"); !strings.Contains(got.errors, "standard input:2:1: colour") {
		t.Errorf("standard input: %s", got.errors)
	}
}

func TestAllFaultsOfAJobFileAreToldAtOnce(t *testing.T) {
	const text = "id: a\nid: b\npriority: .inf\ncolour: red\n---\n" +
		"id: c\ntrigger: {kind: cron, expr: 61 * * * *}\ntask: {kind: command, command: x}\npolicy:\n  timeout: soon\n  grace: 1\n---\n" +
		goodJob + "---\n- x\n---\nid: d\ntrigger: {kind: interval, every: often}\ntask: {kind: command, command: x}\n"
	got := run(t, unreachable, text, "job", "add", "--file", "-")
	for _, want := range []string{
		"input:2:1: \"id\" stands twice", "input:3:1: priority: JSON has no such number", "input:4:1: colour: ", "input:1:1: trigger: missing", "input:1:1: task: missing", "input:7:23: trigger.expr: ", "input:10:3: policy.timeout: ",
		"input:11:3: policy.grace: ", "a list; several jobs", "trigger.every: ",
	} {
		if strings.Count(got.errors, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, got.errors)
		}
	}
	if lines := strings.Count(got.errors, "\n"); got.status != 2 || got.out != "" || lines != 10 {
		t.Errorf("exit %d and %d lines, want 2 and 10:\n%s", got.status, lines, got.errors)
	}
	if got := run(t, unreachable, strings.Repeat("colour: red\n---\n", 1000), "job", "add", "--file", "-"); !strings.Contains(got.errors, " more faults\n") || strings.Count(got.errors, "\n") > 60 {
		t.Errorf("of a thousand faults it tells %d lines", strings.Count(got.errors, "\n"))
	}
}

func TestWrongUsageIsToldBeforeAnythingIsSent(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	add := []string{"job", "add", "x", "--every", "1h", "--command", "true"}
	with := func(more ...string) []string { return append(append([]string{}, add...), more...) }
	for _, c := range []struct {
		want string
		args []string
	}{
		{"wants a command", nil},
		{"wants a command", []string{"job"}},
		{"no command", []string{"jobs"}},
		{"no command", []string{"job", "fly"}},
		{"-o", []string{"job", "list", "-o", "xml"}},
		{"unknown flag", []string{"job", "list", "--colour"}},
		{"--limit", []string{"job", "list", "--limit", "0"}},
		{"--limit", []string{"run", "list", "--limit", "1001"}},
		{"--limit", []string{"run", "list", "--limit", "10", "--all"}},
		{"--state", []string{"job", "list", "--state", "gone"}},
		{"--state", []string{"run", "list", "--state", "done"}},
		{"--sort", []string{"job", "list", "--sort", "id;DROP"}},
		{"an id", []string{"job", "get"}},
		{"an id", []string{"job", "get", "a", "b"}},
		{"empty", []string{"job", "get", ""}},
		{"empty", []string{"job", "pause", "a", ""}},
		{"at least one id", []string{"job", "resume"}},
		{"ids, or one of", []string{"job", "remove"}},
		{"not both", []string{"job", "remove", "x", "--all"}},
		{"no id of a run", []string{"run", "get", "first"}},
		{"no id of a run", []string{"run", "logs", "0"}},
		{"when?", []string{"job", "add", "x", "--command", "true"}},
		{"what?", []string{"job", "add", "x", "--every", "1h"}},
		{"one of them", with("--cron", "0 0 * * *")},
		{"not both", with("--", "true")},
		{"--id", with("--id", "y")},
		{"one id", with("y")},
		{"--every", []string{"job", "add", "x", "--every", "often", "--command", "true"}},
		{"--at", []string{"job", "add", "x", "--at", "someday", "--command", "true"}},
		{"--cron", []string{"job", "add", "x", "--cron", "0 0 31 2 *", "--command", "true"}},
		{"tz", with("--tz", "Nowhere")},
		{"--gap", with("--gap", "skip")},
		{"--timeout", with("--timeout", "soon")},
		{"--max-runs", with("--max-runs", "many")},
		{"--env", with("--env", "NOVALUE")},
		{"--label", with("--label", "a=1", "--label", "a=2")},
		{"--param", []string{"job", "run", "x", "--param", "=1"}},
		{"--on-conflict", with("--on-conflict", "merge")},
		{"--file", with("--file", "x.yaml")},
		{"--file", []string{"job", "add", "--file", missing}},
		{"nothing to change", []string{"job", "modify", "x"}},
		{"one job", []string{"job", "modify", "--timeout", "1m"}},
		{"server", []string{"status", "--server", "ftp://x"}},
		{"no arguments", []string{"status", "now"}},
	} {
		got := run(t, unreachable, "", c.args...)
		if got.status != 2 || got.out != "" || !strings.Contains(got.errors, c.want) {
			t.Errorf("%q: exit %d, %q, want %q: %s", c.args, got.status, got.out, c.want, got.errors)
		}
	}
}

func TestCommandsThatNeedNoService(t *testing.T) {
	if got := run(t, nil, "", "version"); got.status != 0 || got.out != "ruqi test\n" {
		t.Errorf("%+v", got)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, nil, "", "completion", shell); got.status != 0 || !strings.Contains(got.out, "ruqi") {
			t.Errorf("%s: %d %s", shell, got.status, got.errors)
		}
	}
	if got := run(t, nil, "", "--help"); got.status != 0 || !strings.Contains(got.out, "Exit status") {
		t.Errorf("%+v", got)
	}
	got := run(t, unreachable, "", "status")
	if got.status != 5 || got.out != "" || !strings.Contains(got.errors, "127.0.0.1:1") {
		t.Errorf("no service: %+v", got)
	}
}

// Every file that the guide shows is read as what it is, as far as the service, which is not there.
func TestTheGuidesFilesAreWhatTheySay(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "docs", "guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	jobs, calendars := 0, 0
	for _, rest := range strings.Split(string(guide), "\n```yaml\n")[1:] {
		text, _, _ := strings.Cut(rest, "```")
		args := []string{"calendar", "put", "named", "-"}
		if strings.Contains("\n"+text, "\nid: ") {
			args = []string{"job", "add", "--file", "-"}
			jobs += strings.Count("\n"+text, "\nid: ")
		} else {
			calendars++
		}
		if got := run(t, unreachable, text, args...); got.status != 5 {
			t.Errorf("%q of\n%s: exit %d, want it to get as far as the service: %s", args, text, got.status, got.errors)
		}
	}
	if jobs < 3 || calendars < 1 {
		t.Errorf("the guide shows %d jobs and %d calendars", jobs, calendars)
	}
}
