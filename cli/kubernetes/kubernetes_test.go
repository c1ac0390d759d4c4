package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/standard"
)

func read(t *testing.T, name string) kubernetes.Result {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := kubernetes.Read(name, data, kubernetes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compare tells where two lists of lines differ.
func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s are\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// RK01, RK03, RK05: manifests of real projects.
func TestManifestsOfOthers(t *testing.T) {
	for _, c := range []struct {
		file                    string
		definitions             []string
		notes, skipped, refused []string
	}{
		{
			file: "01-beta-folded.yaml",
			definitions: []string{`{"id":"run-cleaner","name":"run-cleaner","labels":{"app":"run-cleaner","app.kubernetes.io/part-of":"demo"},
				"trigger":{"kind":"cron","expr":"*/15 * * * *","dialect":"crontab"},
				"policy":{"kill_grace":"30s","overlap":"skip","retry":{"max":6,"delay":"10s","backoff":"exponential","max_delay":"6m"}},
				"task":{"kind":"command","env":{"NUM_TO_KEEP":"3"},"argv":["/bin/bash","-c",` +
				`"while read -r ITEM; do\n  test -n \"${ITEM}\" || continue;\n  echo \"$(date -Is) would drop ${ITEM}\" \\\n      && echo done \\\n      || echo failed;\ndone < <(seq 1 9 | head -n -${NUM_TO_KEEP});\n"]}}`},
			notes: []string{"image registry.example/shell:1 is left out: the command runs on the service's host", "resources: left out"},
		},
		{
			file: "03-multi-doc.yaml",
			definitions: []string{`{"id":"demo/token-refresh","name":"token-refresh",
				"trigger":{"kind":"cron","expr":"*/5 * * * *","dialect":"crontab"},
				"policy":{"kill_grace":"30s","overlap":"skip","timeout":"2m","retry":{"max":2,"delay":"10s","backoff":"exponential","max_delay":"6m"}},
				"task":{"kind":"command","argv":["/bin/sh","-c",` +
				`"T=` + "`printf 'a b c' | cut -d' ' -f3`" + `\necho \"step one done\"\necho \"would store\" \\\n--name=\"$NAME\" \\\n--value=\"${T}\" \necho \"updated at $(date)\""]}}`},
			notes: []string{
				"activeDeadlineSeconds holds for each attempt, not for all together", "history limits are left out: the service keeps history by its own bounds",
				"image registry.example/ctl:latest is left out: the command runs on the service's host", "serviceAccountName: left out", "envFrom is left out: its variables come from elsewhere",
			},
			skipped: []string{"03-multi-doc.yaml:39: RoleBinding token-refresh: not a CronJob", "03-multi-doc.yaml:54: ServiceAccount token-refresh: not a CronJob"},
		},
		{
			file: "05-tz-suspend-replace.yaml",
			definitions: []string{`{"id":"month-end","name":"month-end",
				"trigger":{"kind":"cron","expr":"30 2 1 * *","dialect":"crontab","zone":"Europe/Berlin"},
				"policy":{"kill_grace":"30s","overlap":"cancel_running","misfire_grace":"3m20s","retry":{"max":6,"delay":"10s","backoff":"exponential","max_delay":"6m"}},
				"task":{"kind":"command","argv":["echo","two words","$(date)","it's 100%"]}}`},
			notes: []string{"image registry.example/shell:1 is left out: the command runs on the service's host"},
			refused: []string{
				`05-tz-suspend-replace.yaml:23: CronJob paused: schedule "CRON_TZ=Asia/Tokyo 0 9 * * *": holds a zone, which Kubernetes refuses; timeZone is its place`,
				"05-tz-suspend-replace.yaml:23: CronJob paused: 1 init containers; a run here is one process",
				"05-tz-suspend-replace.yaml:23: CronJob paused: 2 containers; a run here is one process",
			},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			r := read(t, c.file)
			compare(t, "the other documents", r.Skipped, c.skipped)
			compare(t, "the refused", r.Refused, c.refused)
			if len(r.Jobs) != len(c.definitions) {
				t.Fatalf("%d jobs, want %d", len(r.Jobs), len(c.definitions))
			}
			for i, job := range r.Jobs {
				compare(t, "the notes", job.Notes, c.notes)
				sameJSON(t, job.Definition, c.definitions[i])
				text, err := json.Marshal(job.Definition)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := standard.Registry(standard.Options{}).DecodeJob(text); err != nil {
					t.Errorf("the definition is refused: %v", err)
				}
			}
		})
	}
}

func sameJSON(t *testing.T, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	a, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(wanted, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("the definition is\n%s\nwant\n%s", a, b)
	}
}

// one is a CronJob with parts to be filled in: of its spec, of the job's and of the container.
const one = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: x}
spec:
  schedule: "@daily"
%s
  jobTemplate:
    spec:
%s
      template:
        spec:
          containers:
          - name: c
%s
`

func TestWhatAManifestMeans(t *testing.T) {
	const command = "            command: [echo]\n"
	for _, c := range []struct {
		name, spec, job, container string
		pick                       func(map[string]any) any
		want                       string
	}{
		{"allow by default", "", "", command, policy("overlap"), `"allow"`},
		{"no retries", "", "      backoffLimit: 0", command, policy("retry"), `null`},
		{"suspended", "  suspend: true", "", command, func(d map[string]any) any { return d["state"] }, `"paused"`},
		{"every", "  schedule: \"@every 90m\"", "", command, func(d map[string]any) any { return d["trigger"] }, `{"kind":"interval","every":"90m"}`},
		{"a folder", "", "", command + "            workingDir: /srv", task("dir"), `"/srv"`},
		{"variables", "", "", `            command: ["echo", "$(A) $(B) $(C) $$(A) $$$(A) $A ${A} $( $(", "$"]
            args: ["$(B)"]
            env: [{name: A, value: "1"}, {name: B, value: "b$(A)$(C)"}, {name: E}]`, task("argv"), `["echo","1 b1$(C) $(C) $(A) $1 $A ${A} $( $(","$","b1$(C)"]`},
		{"an empty variable", "", "", command + "            env: [{name: E}, {name: F, valueFrom: {secretKeyRef: {name: s, key: k}}}]", task("env"), `{"E":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := fmt.Sprintf(one, c.spec, c.job, c.container)
			if strings.Contains(c.spec, "schedule:") {
				text = strings.Replace(text, "  schedule: \"@daily\"\n", "", 1)
			}
			r, err := kubernetes.Read("x.yaml", []byte(text), kubernetes.Options{})
			if err != nil || len(r.Jobs) != 1 {
				t.Fatalf("%d jobs, %v, %v", len(r.Jobs), r.Refused, err)
			}
			sameJSON(t, c.pick(r.Jobs[0].Definition), c.want)
		})
	}
}

func policy(member string) func(map[string]any) any {
	return func(d map[string]any) any { return d["policy"].(map[string]any)[member] }
}

func task(member string) func(map[string]any) any {
	return func(d map[string]any) any { return d["task"].(map[string]any)[member] }
}

func TestWhatCannotBeTaken(t *testing.T) {
	const command = "            command: [echo]\n"
	for text, want := range map[string]string{
		fmt.Sprintf(one, "", "", "            image: a"):                                         "container c has no command",
		fmt.Sprintf(one, "", "      completions: 3", command):                                    "completions is 3",
		fmt.Sprintf(one, "  concurrencyPolicy: Sometimes", "", command):                          `concurrencyPolicy is "Sometimes"`,
		fmt.Sprintf(one, "  startingDeadlineSeconds: 0", "", command):                            "no run could be in time",
		fmt.Sprintf(one, "  suspend: [1]", "", command):                                          "CronJob",
		strings.Replace(fmt.Sprintf(one, "", "", command), "batch/v1", "batch/v9", 1):            `apiVersion is "batch/v9"`,
		strings.Replace(fmt.Sprintf(one, "", "", command), "{name: x}", "{}", 1):                 "it has no name",
		strings.Replace(fmt.Sprintf(one, "", "", command), `"@daily"`, `""`, 1):                  "is missing",
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: x}\nspec: {schedule: '@daily'}\n": "0 containers",
		"just text":  "not a manifest",
		"- a\n- b\n": "not a manifest",
	} {
		r, err := kubernetes.Read("x.yaml", []byte(text), kubernetes.Options{})
		if err != nil || len(r.Jobs) != 0 || len(r.Refused) == 0 || !strings.Contains(strings.Join(r.Refused, "\n"), want) {
			t.Errorf("%s\n%d jobs, refused %q, %v; want %q", text, len(r.Jobs), r.Refused, err, want)
		}
	}
	if _, err := kubernetes.Read("x.yaml", []byte("a: [\n"), kubernetes.Options{}); err == nil || !strings.HasPrefix(err.Error(), "x.yaml:") {
		t.Errorf("what is not YAML: %v", err)
	}
}

// What does not fit is refused or kept as large as it is, never taken for something small.
func TestNumbersThatDoNotFit(t *testing.T) {
	const most = 1<<63 - 1
	for _, n := range []int64{9223372037, 18446744074, 18446744075, most, -most - 1, -9223372037} {
		text := fmt.Sprintf(one, "", fmt.Sprintf("      activeDeadlineSeconds: %d", n), "            command: [echo]\n")
		r, err := kubernetes.Read("x.yaml", []byte(text), kubernetes.Options{})
		if err != nil || len(r.Jobs) != 1 {
			t.Fatalf("%d: %d jobs, %v, %v", n, len(r.Jobs), r.Refused, err)
		}
		got, _ := policy("timeout")(r.Jobs[0].Definition).(string)
		if days, _, found := strings.Cut(got, "d"); !found || len(strings.TrimPrefix(days, "-")) < 6 || strings.HasPrefix(days, "-") != (n < 0) {
			t.Errorf("%d seconds are %s", n, got)
		}
	}
}

// A list that is written in a way that is not read, or not as a list, is not an empty one.
func TestListsThatAreAnchored(t *testing.T) {
	item := "{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {containers: [{name: c, command: [a]}]}}}}}}"
	for text, want := range map[string]string{
		"kind: List\nitems: &all [" + item + "]\n":            "1 jobs, []",
		"&list {kind: List, items: [" + item + "]}\n":         "1 jobs, []",
		"kind: List\nitems: [&one " + item + "]\n":            "1 jobs, []",
		"all: &all [" + item + "]\nkind: List\nitems: *all\n": "0 jobs, [x.yaml:1: List: its items stand elsewhere (an alias), where they are not read]",
		"kind: List\nitems: &all [*all]\n":                    `0 jobs, [x.yaml:2: not a manifest: [2:15] could not find alias "all"]`,
		"kind: List\nitems:\n":                                "0 jobs, []",
		"kind: List\n":                                        "0 jobs, []",
	} {
		r, err := kubernetes.Read("x.yaml", []byte(text), kubernetes.Options{})
		if got := fmt.Sprintf("%d jobs, %v", len(r.Jobs), r.Refused); err != nil || got != want {
			t.Errorf("%s\n%s, %v; want %s", text, got, err, want)
		}
	}
}

// Variables that name each other ten times over do not grow without bound.
func TestVariablesDoNotGrowWithoutBound(t *testing.T) {
	var env strings.Builder
	env.WriteString("            command: [echo, $(A9)]\n            env:\n            - {name: A0, value: xxxxxxxxxx}\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&env, "            - {name: A%d, value: %s}\n", i, strings.Repeat(fmt.Sprintf("$(A%d)", i-1), 10))
	}
	r, err := kubernetes.Read("x.yaml", fmt.Appendf(nil, one, "", "", env.String()), kubernetes.Options{})
	if err != nil || len(r.Jobs) != 0 || len(r.Refused) != 1 || !strings.Contains(r.Refused[0], "env A5 is longer than 128 KiB with its variables") {
		t.Errorf("%d jobs, refused %.500q, %v", len(r.Jobs), r.Refused, err)
	}
}

func TestTextsThatAreNotUTF8(t *testing.T) {
	const command = "            command: [echo, \"%s\"]\n"
	if r, err := kubernetes.Read("x.yaml", []byte("\uFEFF"+fmt.Sprintf(one, "", "", fmt.Sprintf(command, "ü"))), kubernetes.Options{}); err != nil || len(r.Jobs) != 1 {
		t.Errorf("with a byte order mark: %d jobs, %v, %v", len(r.Jobs), r.Refused, err)
	}
	if _, err := kubernetes.Read("x.yaml", fmt.Appendf(nil, one, "", "", fmt.Sprintf(command, "\xfc")), kubernetes.Options{}); err == nil || err.Error() != "x.yaml:15:30: not UTF-8" {
		t.Errorf("in Latin-1: %v", err)
	}
}

// What would take the time and the memory of the whole machine to parse is refused before.
func TestWhatNoManifestHasIsNotParsed(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 1_000_000):        "x.yaml:1:65: more than 64 levels deep",
		strings.Repeat("- ", 100_000):         "x.yaml:1:129: more than 64 levels deep",
		strings.Repeat("a:\n", 1_000_000):     "x.yaml:10001:1: more than 10000 members in one mapping",
		strings.Repeat("a: *b\n", 1001) + "c": "x.yaml:1001:4: more than 1000 anchors, aliases, merges and tags",
	} {
		if _, err := kubernetes.Read("x.yaml", []byte(text), kubernetes.Options{}); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"01-beta-folded.yaml", "03-multi-doc.yaml", "05-tz-suspend-replace.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := kubernetes.Read("x", data, kubernetes.Options{})
		if err == nil && len(r.Jobs)+len(r.Refused)+len(r.Skipped) > len(data) {
			t.Errorf("%d jobs of %d bytes", len(r.Jobs), len(data))
		}
		for _, job := range r.Jobs {
			if _, err := json.Marshal(job.Definition); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDocumentsWithoutContentHideNothing(t *testing.T) {
	manifest, err := os.ReadFile(filepath.Join("testdata", "01-beta-folded.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := "---\n# Source: templates/empty.yaml\n---\n---\n" + strings.TrimPrefix(string(manifest), "---\n") + "\n---\n# Source: templates/none.yaml\n"
	r, err := kubernetes.Read("f.yaml", []byte(text), kubernetes.Options{})
	if err != nil || len(r.Jobs) != 1 || r.Jobs[0].Definition["id"] != "run-cleaner" {
		t.Errorf("taken are %v, %v", r.Jobs, err)
	}
}
