//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// toldRun is what these tests look at in a run's JSON.
type toldRun struct {
	ID           int64
	State        string
	Reason       string
	Progress     *float64
	ProgressText *string `json:"progress_text"`
	Result       json.RawMessage
}

func (s *service) told(id string) toldRun {
	s.t.Helper()
	var run toldRun
	if err := json.Unmarshal([]byte(s.ok("run", "get", id, "-o", "json")), &run); err != nil {
		s.t.Fatal(err)
	}
	return run
}

// TestACommandTellsHowFarItIs sees each step of a command while it waits for the next one.
func TestACommandTellsHowFarItIs(t *testing.T) {
	s := serve(t, t.TempDir())
	dir := t.TempDir()
	const script = `step() { echo "::ruqi progress $1 $2"; until [ -e "$1" ]; do sleep 0.02; done; }
step 0.25 reading
step 0.5 writing >&2
step 0.75 "$(printf '\033[31mred')"
printf 'no newline: ::ruqi progress 0.1\n::ruqi result {"pages": [1, 2]}\r\n::ruqi progress 1'`
	s.ok("job", "add", "report", "--every", "1000h", "--dir", dir, "--command", script)
	var run toldRun
	if err := json.Unmarshal([]byte(s.ok("job", "run", "report", "-o", "json")), &run); err != nil {
		t.Fatal(err)
	}
	id := strconv.FormatInt(run.ID, 10)
	for _, step := range []struct {
		name, text, list string
		fraction         float64
	}{{"0.25", "reading", "25%, reading", 0.25}, {"0.5", "writing", "50%, writing", 0.5}, {"0.75", "[31mred", "75%, [31mred", 0.75}} {
		s.eventually("it is at "+step.name, func() bool {
			run = s.told(id)
			if run.Progress != nil && *run.Progress > step.fraction {
				t.Fatalf("it is at %v before it was told to go on from %s", *run.Progress, step.name)
			}
			return run.Progress != nil && *run.Progress == step.fraction
		})
		if run.State != "running" || run.ProgressText == nil || *run.ProgressText != step.text || string(run.Result) != "null" {
			t.Errorf("at %s the run is %+v", step.name, run)
		}
		if got := s.ok("run", "list", "--job", "report"); !strings.Contains(got, step.list) {
			t.Errorf("at %s the list is\n%s", step.name, got)
		}
		if err := os.WriteFile(filepath.Join(dir, step.name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("it has ended", func() bool { run = s.told(id); return run.State != "running" })
	var result struct{ Pages []int }
	if err := json.Unmarshal(run.Result, &result); err != nil || len(result.Pages) != 2 || run.State != "succeeded" || *run.Progress != 1 || run.ProgressText != nil || run.Reason != "" {
		t.Errorf("at its end the run is %+v with the result %s, %v", run, run.Result, err)
	}
	if got := s.ok("run", "get", id); !strings.Contains(got, "\nprogress   100%\n") || !strings.Contains(got, "\nresult     {\"pages\":[1,2]}\n") {
		t.Errorf("it is shown as\n%s", got)
	}
	const output = "::ruqi progress 0.25 reading\n::ruqi progress 0.5 writing\n::ruqi progress 0.75 \x1b[31mred\n" +
		"no newline: ::ruqi progress 0.1\n::ruqi result {\"pages\": [1, 2]}\r\n::ruqi progress 1"
	if got := s.ok("run", "logs", id); got != output {
		t.Errorf("its output is %q", got)
	}
}

func TestWaitingForARunShowsItsResult(t *testing.T) {
	s := serve(t, t.TempDir())
	s.ok("job", "add", "sum", "--every", "1000h", "--command", `echo "::ruqi result {\"n\": $RUQI_PARAM_N, \"name\": \"$RUQI_PARAM_NAME\"}"`)
	if got := s.ok("job", "run", "sum", "--wait", "--params", `{"n": 12}`, "--param", "name=a>b"); !strings.HasSuffix(got, " of sum: succeeded\nresult: {\"n\":12,\"name\":\"a>b\"}\n") {
		t.Errorf("it prints %q", got)
	}
	// What is no JSON is a note of the run, not its failure.
	if got := s.ok("job", "run", "sum", "--wait", "--param", "n=twelve"); !strings.Contains(got, "succeeded, a result was not taken: not JSON: ") || strings.Contains(got, "result:") {
		t.Errorf("it prints %q", got)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--params", "[1]"}, "--params: "},
		{[]string{"--params", ""}, "--params: "},
		{[]string{"--params", `{"a":1,"a":2}`}, "--params a: given twice"},
		{[]string{"--params", `{"a":1}`, "--param", "a=2"}, "--param a: given by --params too"},
		{[]string{"--param", "a"}, `--param: "a" is not K=V`},
		{[]string{"--params", `{"a":"\u0000"}`}, "--params a: holds a NUL character"},
	} {
		s.fails(2, c.says, append([]string{"job", "run", "sum"}, c.args...)...)
	}
}
