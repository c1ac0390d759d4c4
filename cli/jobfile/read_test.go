package jobfile_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/standard"
)

const good = "id: hello\ntrigger: {kind: interval, every: 90s}\ntask: {kind: command, command: echo}\n"

// check reads and checks a text, and returns what is told of it.
func check(t *testing.T, text string) string {
	t.Helper()
	documents, err := jobfile.Read("f.yaml", []byte(text))
	if err != nil {
		return err.Error()
	}
	var faults []error
	for _, d := range documents {
		faults = append(faults, d.Check(standard.Registry(standard.Options{}))...)
	}
	faults = append(faults, jobfile.CheckIDs(documents)...)
	if err := jobfile.Join(faults); err != nil {
		return err.Error()
	}
	return ""
}

func TestWhatIsWrongIsToldWithItsPlace(t *testing.T) {
	const trigger, task = "trigger: {kind: interval, every: 1h}\n", "task: {kind: command, command: x}\n"
	for name, c := range map[string]struct{ text, want string }{
		"a number in the place of a text":      {"id: x\nname: 7\n" + trigger + task, `f.yaml:2:1: name: not a text; 7 was read as a number, in quotes, "7", it is a text`},
		"a port in the environment":            {"id: x\n" + trigger + "task: {kind: command, command: x, env: {PORT: 8080}}\n", `f.yaml:3:41: task.env.PORT: not a text; 8080 was read as a number`},
		"true in the place of a text":          {"id: x\nname: True\n" + trigger + task, "f.yaml:2:1: name: not a text; True was read as true or false"},
		"yes in the place of true":             {"id: x\n" + trigger + task + "policy: {coalesce: yes}\n", "f.yaml:4:10: policy.coalesce: not true or false; yes was read as a text, as YAML 1.2 has it"},
		"off in the place of false":            {"id: x\n" + trigger + task + "policy:\n  coalesce: Off\n", "f.yaml:5:3: policy.coalesce: not true or false; Off was read as a text"},
		"true in quotes":                       {"id: x\n" + trigger + task + "policy:\n  coalesce: 'true'\n", `f.yaml:5:3: policy.coalesce: not true or false; "true" was read as a text, since it stands in quotes`},
		"a length without a unit":              {"id: x\n" + trigger + task + "policy: {timeout: 10}\n", `f.yaml:4:10: policy.timeout: not a text such as "90s"; 10 was read as a number, which has no unit: write 10s for seconds`},
		"one in quotes":                        {"id: x\n" + trigger + task + "policy: {timeout: \"10\"}\n", `such as 90s or 1h30m; did you mean "10s"?`},
		"state misspelt":                       {"id: x\nstat: paused\n" + trigger + task, `f.yaml:2:1: stat: unknown member; accepted are id, name, description, trigger, task, executor, priority, labels, tags, params, policy and state; did you mean "state"?`},
		"a state that is none":                 {"id: x\nstate: pausd\n" + trigger + task, `a job is added in one of two states, and "pausd" is none of them; accepted are active and paused; did you mean "paused"?`},
		"a number in quotes":                   {"id: x\n" + trigger + task + "priority: '5'\n", `f.yaml:4:1: priority: not a whole number; "5" was read as a text`},
		"a number that begins with a zero":     {"id: x\n" + trigger + task + "priority: 0123\n", `f.yaml:4:1: priority: 0123 was read as the number 83; write 83, or "0123" in quotes for a text`},
		"one that is no octal":                 {"id: 08\n", `f.yaml:1:1: id: not a text; 08 was read as a number, in quotes, "08", it is a text`},
		"an octal umask":                       {"id: x\n" + trigger + "task: {kind: command, command: x, umask: 027}\n", `f.yaml:3:35: task.umask: not a text such as "022"; 027 was read as a number, in quotes, "027", it is a text`},
		"another octal umask":                  {"id: x\n" + trigger + "task: {kind: command, command: x, umask: 0o27}\n", `; 0o27 was read as a number, in quotes, "0o27", it is a text`},
		"a hash in the environment":            {"id: x\n" + trigger + "task: {kind: command, command: x, env: {COMMIT: 1e3}}\n", `task.env.COMMIT: not a text; 1e3 was read as a number, in quotes, "1e3", it is a text`},
		"a file mode in a label":               {"id: x\nlabels: {mode: 0644}\n" + trigger + task, `labels.mode: not a text; 0644 was read as a number, in quotes, "0644", it is a text`},
		"a duration in the policy":             {"id: x\n" + trigger + task + "policy: {timeout: 010}\n", `; 010 was read as a number, in quotes, "010", it is a text`},
		"a text that is infinite":              {"id: x\nname: .inf\n" + trigger + task, `name: not a text; .inf was read as a number, in quotes, ".inf", it is a text`},
		"an argument":                          {"id: x\n" + trigger + "task: {kind: command, argv: [chmod, 0644]}\n", `0644 was read as a number, in quotes, "0644", it is a text`},
		"a hexadecimal number":                 {"params: {n: 0x1F}\n", `f.yaml:1:10: params.n: 0x1F was read as the number 31`},
		"an underscore in a number":            {"params: {n: 1_000}\n", `f.yaml:1:10: params.n: 1_000 was read as the number 1000`},
		"a hash, or a thousand":                {"params: {commit: 1e3}\n", `f.yaml:1:10: params.commit: 1e3 is a number to some and a text to others; write the number in plain digits, or "1e3" in quotes for a text`},
		"an infinite number":                   {"priority: -.inf\n", "f.yaml:1:1: priority: JSON has no such number"},
		"a star without quotes":                {"id: x\ntrigger:\n  kind: cron\n  expr: */5 * * * *\n", "; a text that begins with * must stand in quotes"},
		"stars without quotes":                 {"id: x\ntrigger: {kind: cron, expr: * * * * *}\n", "; a text that begins with * must stand in quotes"},
		"a macro without quotes":               {"id: x\ntrigger:\n  kind: cron\n  expr: @daily\n", "; a text that begins with @ must stand in quotes"},
		"an anchor":                            {"id: &a x\n", "f.yaml:1:1: id: a job file has no anchors"},
		"an alias":                             {"id: x\nname: *a\n", "f.yaml:2:1: name: a job file has no anchors"},
		"a merge":                              {"<<: {id: x}\n", "f.yaml:1:1: a job file has no anchors"},
		"a tag":                                {"id: !!str 1\n", "f.yaml:1:1: id: a job file has no anchors, aliases, merges or tags"},
		"a directive":                          {"%YAML 1.1\n---\n" + good, "f.yaml:1:1: a directive; a job file needs none, and is read as YAML 1.2"},
		"a bomb of aliases":                    {"a: &a [x, x]\n" + strings.Repeat("b: &b [*a, *a, *a]\n", 1000), "f.yaml:14:8: a job file has no anchors"},
		"a bomb of anchors":                    {strings.Repeat("&a ", 100_000), "f.yaml:1:"},
		"deep lists":                           {strings.Repeat("[", 1_000_000), "f.yaml:1:65: more than 64 levels deep"},
		"deep blocks":                          {strings.Repeat("- ", 100_000), "f.yaml:1:129: more than 64 levels deep"},
		"an id as long as a file":              {"colour: red\nid: " + strings.Repeat("é", 1<<20) + "\n" + trigger + task, "f.yaml:2:1: id: 1048576 characters; accepted are at most 255"},
		"a wide mapping":                       {strings.Repeat("a: 1\n", 10_001), "f.yaml:10001:1: more than 10000 members in one mapping"},
		"deep mappings":                        {strings.Repeat("{a: ", 100_000), "more than 64 levels deep"},
		"lists without a comma":                {strings.Repeat("[]", 100_000), "f.yaml:1:3: not YAML: a comma is missing"},
		"a member twice":                       {"id: x\nid: y\n", `f.yaml:2:1: "id" stands twice`},
		"a member twice in braces":             {"params: {a: 1, a: 2}\n", `f.yaml:1:16: "a" stands twice`},
		"an unknown member":                    {good + "colour: red\n", "f.yaml:4:1: colour: unknown member"},
		"an unknown member of the policy":      {good + "policy:\n  patience: 1\n", "f.yaml:5:3: policy.patience: unknown member"},
		"a member with a line end in its name": {good + "\"a\\nb\": 1\n", `f.yaml:4:1: a\nb: unknown member`},
		"a list":                               {"- id: x\n", "f.yaml:1:1: a list; several jobs"},
		"a text":                               {"hello\n", "f.yaml:1:1: a job is a mapping"},
		"jobs in a list":                       {"jobs: []\n", "f.yaml:1:1: jobs: a job has no jobs in it"},
		"no id":                                {"name: x\n" + trigger + task, "f.yaml:1:1: id: missing; a job that is applied again"},
		"an id twice":                          {good + "---\n" + good, `f.yaml:5:1: id: "hello" stands also at f.yaml:1:1`},
		"a text that is not UTF-8":             {"id: x\nname: \"a\xffb\"\n", "f.yaml:2:9: not UTF-8"},
		"a text without an end":                {"id: 'x\n", "f.yaml:1:5: "},
		"a tab for blanks":                     {"task:\n\tkind: x\n", "f.yaml:2:"},
		"a wrong state":                        {good + "state: stopped\n", "f.yaml:4:1: state: a job is added in one of two states"},
	} {
		if got := check(t, c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q:\n%.300s", name, c.want, got)
		}
	}
}

// A bound for mappings is none for the items of a list, nor for the members of many mappings.
func TestLongListsAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"scalars":              "a:\n" + strings.Repeat("- 1\n", 10_001),
		"mappings":             "a:\n" + strings.Repeat("- b: 1\n", 10_001),
		"mappings of mappings": "a:\n" + strings.Repeat("- b:\n    c: 1\n  d: 2\n", 5_001),
		"a wide mapping":       strings.Repeat("a: 1\n", 10_000),
	} {
		if _, err := jobfile.Read("f", []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFaultsOfAllDocumentsAreToldTogether(t *testing.T) {
	got := check(t, "colour: red\n---\nid: x\nname: 7\n---\n- 1\n")
	for _, want := range []string{"f.yaml:1:1: colour", "f.yaml:1:1: id: missing", "f.yaml:4:1: name", "f.yaml:3:1: trigger: missing", "f.yaml:3:1: task: missing", "f.yaml:6:1: a list"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, got)
		}
	}
	if got := check(t, strings.Repeat("colour: red\n---\n", 1000)); strings.Count(got, "\n") != 50 || !strings.HasSuffix(got, "and 3950 more faults") {
		t.Errorf("of a thousand faults it tells:\n%s", got)
	}
}

// What cannot be read hides no other fault, and brings none that would be gone with it.
func TestFaultsOfOneDocumentAreToldTogether(t *testing.T) {
	got := check(t, `id: x
name: *a
tags: [1, '']
priority: 2000000
executor: "a\tb"
trigger: {kind: cron, expr: *b}
task: {kind: command, command: &c x, nice: 20, umask: "8", env: {PORT: 8080, "9A": x}}
params: 7
policy: {misfire_grace: 1ms, timeout: -1s, catchup_limit: 1001, max_instances: 5000, overlap: often, on_lost: retry, jitter: 401d, retry: {max: 101, backoff: odd, delay: soon}, patience: 1, pause_after_failures: 3}
`)
	wants := []string{
		"2:1: name: a job file has no anchors", "3:8: tags.0: not a text", "3:11: tags.1: empty", "4:1: priority: out of range", "5:1: executor: holds U+0009",
		"6:23: trigger.expr: a job file has no anchors", "7:23: task.command: a job file has no anchors", "task.nice: out of range", "task.umask: ", "task.env.PORT: not a text", "task.env.9A: not a name",
		"8:1: params: not a JSON object", "policy.misfire_grace: below", "policy.timeout: ", "policy.catchup_limit: out of range", "policy.max_instances: out of range",
		"policy.overlap: unknown word", "policy.on_lost: unknown word", "policy.jitter: out of range", "policy.retry.max: out of range", "policy.retry.backoff: unknown word",
		"policy.retry.delay: ", "policy.patience: unknown member", "policy.pause_after_failures: not supported yet",
	}
	for _, want := range wants {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not told once", want)
		}
	}
	if lines := strings.Count(got, "\n") + 1; lines != len(wants) {
		t.Errorf("%d faults, want %d:\n%s", lines, len(wants), got)
	}
	if got := check(t, "name: *a\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: x}\n"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "1:1: id: missing") {
		t.Errorf("beside what cannot be read the missing id is not told:\n%s", got)
	}
	if got := check(t, "id: x\n<<: *a\npolicy: {jitter: 401d}\n"); strings.Contains(got, "missing") || strings.Count(got, "\n") != 1 {
		t.Errorf("what a merge may have brought is told as missing:\n%s", got)
	}
}

func TestValuesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"a: 12:30:00":                      `{"a":"12:30:00"}`,
		"a: 2026-12-01T09:00:00Z":          `{"a":"2026-12-01T09:00:00Z"}`,
		"a: on\nb: yes":                    `{"a":"on","b":"yes"}`,
		"a: \"0123\"":                      `{"a":"0123"}`,
		"a: 12345678901234567890123":       `{"a":12345678901234567890123}`,
		"a: 1.5e+3\nb: 1.50\nc: -0.25":     `{"a":1.5e+3,"b":1.50,"c":-0.25}`,
		"a: ~\nb: null\nc:":                `{"a":null,"b":null,"c":null}`,
		"a: |\n  x\n  y\nb: >\n  x\n":      `{"a":"x\ny\n","b":"x\n"}`,
		"\ufeffa: 1\r\nb: [x, {c: d}]\r\n": `{"a":1,"b":["x",{"c":"d"}]}`,
		`{"a": "\u0416\n", "b": true}`:     `{"a":"Ж\n","b":true}`,
		"true: 1\n2: x":                    `{"2":"x","true":1}`,
		"a: \"*\"\nb: '@daily'":            `{"a":"*","b":"@daily"}`,
	} {
		documents, err := jobfile.Read("f", []byte(text))
		if err != nil || len(documents) != 1 {
			t.Errorf("%q: %d documents, %v", text, len(documents), err)
			continue
		}
		if got, err := documents[0].Definition("", ""); err != nil || string(got) != want {
			t.Errorf("%q: got %s, want %s, %v", text, got, want, err)
		}
	}
}

func TestWhatAnOlderYAMLReadsOtherwiseIsNoted(t *testing.T) {
	documents, err := jobfile.Read("f", []byte("id: on\nparams: {a: yes, b: \"no\", c: 12:30, d: [off], e: nobody}\ntask: {command: on, args: {f: NO}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(documents[0].Notes(), "\n")
	for _, want := range []string{`f:2:10: params.a: yes was read as the text "yes"`, "params.c: 12:30", "params.d.0: off", "task.args.f: NO"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Count(got, "\n") != 3 {
		t.Errorf("noted is:\n%s", got)
	}
}

func TestEmptyDocumentsArePassedOver(t *testing.T) {
	for _, text := range []string{
		"", "# only words\n", "---\n---\n", "---\n# a\n---\n" + good + "---\n", good + "---\n---\n" + good, good + "--- # c\n# d\n---\n\n---\n" + good + "...\n...\n---\n...\n" + good,
		"# a\n" + good + "# b\n---\n# c\n" + good, "--- {id: x}\n--- {id: y}\n--- \n--- {id: z} # c\n",
	} {
		documents, err := jobfile.Read("f", []byte(text))
		if want := strings.Count(text, "id: "); err != nil || len(documents) != want {
			t.Errorf("%q: %d documents, want %d, %v", text, len(documents), want, err)
		}
	}
}

func TestALabelIsAddedToThoseThereAre(t *testing.T) {
	for text, want := range map[string]string{
		"id: x":                      `{"id":"x","labels":{"set":"mine"}}`,
		"id: x\nlabels:":             `{"id":"x","labels":{"set":"mine"}}`,
		"id: x\nlabels: {team: ops}": `{"id":"x","labels":{"set":"mine","team":"ops"}}`,
	} {
		documents, err := jobfile.Read("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the document itself stays as it is
			if got, err := documents[0].Definition("set", "mine"); err != nil || string(got) != want {
				t.Errorf("%q: got %s, want %s, %v", text, got, want, err)
			}
		}
		if documents[0].Label("set") != "" {
			t.Errorf("%q: the label is now the document's own", text)
		}
	}
}

// FuzzJobFile: whatever a file holds, it is read or refused, and what is wrong stands in it.
func FuzzJobFile(f *testing.F) {
	for _, text := range []string{
		good, "---\n", "- 1\n", "a: &b c\nd: *b\n", "a: |\n  b\n  c\n", "? a\n: b\n", "a: {b: [1, 2.5, true, null]}\n---\nb: 1\n", "<<: {a: 1}\n", "a: !!str 1\n",
		"\t", "a: \"\\x\"", "{", "id: [x", "\ufeffid: x\r\nname: 7\r\n", "a: 0123\nb: yes\n", "%YAML 1.1\n---\na: b\n", "expr: */5 * * * *\n", "a: 'b\n\n  c'\n", "a: >-\n  b\n", "a: b\rc: \"",
	} {
		f.Add([]byte(text))
	}
	registry := standard.Registry(standard.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := 1 + strings.Count(string(data), "\n") + strings.Count(string(data), "\r") // either ends one
		inside := func(err error) {
			var fault *jobfile.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("%T is no fault: %v", err, err)
			}
			if fault.Line == 0 && fault.Column == 0 {
				return // of the file as a whole
			}
			if fault.Line < 1 || fault.Line > lines || fault.Column < 1 || fault.Column > len(data)+2 {
				t.Fatalf("%d:%d is outside of the file: %v", fault.Line, fault.Column, err)
			}
			if text := err.Error(); strings.Contains(text, "\n") {
				t.Fatalf("a fault of several lines: %q", text)
			}
		}
		documents, err := jobfile.Read("jobs.yaml", data)
		if err != nil {
			inside(err)
		}
		faults := jobfile.CheckIDs(documents)
		for _, d := range documents {
			wrong := d.Check(registry)
			if text, err := d.Definition("a/b", "c"); len(wrong) == 0 && (err != nil || !json.Valid(text)) {
				t.Fatalf("no JSON: %s, %v", text, err)
			}
			_ = d.Where("/policy/timeout")
			faults = append(faults, wrong...)
		}
		for _, err := range faults {
			inside(err)
		}
	})
}
