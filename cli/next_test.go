package cli_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/cli"
)

// command is a command line and what came of it.
type command struct {
	status      int
	out, errors string
}

// run does a command line in this process, with env as its whole environment.
func run(t *testing.T, env map[string]string, stdin string, args ...string) command {
	t.Helper()
	var out, errs bytes.Buffer
	status := cli.Run(t.Context(), args, cli.System{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] }, Version: "test",
	})
	return command{status, out.String(), errs.String()}
}

// A vector is a row of the trigger package's testdata: what is asked and what comes out.
type vector struct {
	ID, Dialect, Expr string
	ExprB64           string `json:"expr_b64"`
	TZ, From          string
	N                 int
	Want              []string
	Field             string
	Argv              []string
}

func vectors(t *testing.T, name string) []vector {
	t.Helper()
	file, err := os.Open("../trigger/testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var list []vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.ExprB64 != "" {
			raw, err := base64.StdEncoding.DecodeString(v.ExprB64)
			if err != nil {
				t.Fatal(err)
			}
			v.Expr = string(raw)
		}
		list = append(list, v)
	}
	if err := lines.Err(); err != nil || len(list) == 0 {
		t.Fatalf("%s: %d rows, %v", name, len(list), err)
	}
	return list
}

// args is how the row is asked on a command line.
func (v vector) args() []string {
	if len(v.Argv) > 0 {
		return v.Argv
	}
	args := []string{"next", "--tz", v.TZ, "--from", v.From, "-n", strconv.Itoa(v.N)}
	switch v.Dialect {
	case "cron6":
		args = append(args, "--dialect", "ruqi")
	case "apsfields":
		args = append(args, "--dialect", "fields")
	case "quartz":
		args = append(args, "--dialect", "quartz")
	case "interval", "date", "every", "calendar":
		args = append(args, "--trigger", v.Dialect)
	}
	return append(args, "--", v.Expr)
}

func TestNextAnswersEveryGoldenVector(t *testing.T) {
	for _, name := range []string{"cron5", "cron6", "crontab6", "crontabext", "apsfields", "quartz", "interval", "date", "words", "calendarinterval"} {
		rows := vectors(t, name)
		for _, v := range rows {
			got := run(t, nil, "", v.args()...)
			want := strings.Join(v.Want, "\n")
			if len(v.Want) > 0 {
				want += "\n"
			}
			why := 0 // lines that say why there is nothing
			if len(v.Want) == 0 {
				why = 1
			}
			if got.status != 0 || got.out != want || strings.Count(got.errors, "\n") != why || strings.Contains(got.errors, "never fires") {
				t.Errorf("%s %q: exit %d\n got %q\nwant %q\n%s", v.ID, v.args(), got.status, got.out, want, got.errors)
			}
		}
		t.Logf("%s: %d rows", name, len(rows))
	}
}

func TestNextRefusesWrongInputWithTheFieldNamed(t *testing.T) {
	for _, v := range append(vectors(t, "invalid"), vectors(t, "invalid_cli")...) {
		begin := time.Now()
		got := run(t, nil, "", v.args()...)
		if got.status != 2 || got.out != "" || !strings.Contains(got.errors, v.Field) {
			t.Errorf("%s %q: exit %d, %q on standard output, want the field %s on standard error: %s", v.ID, v.args(), got.status, got.out, v.Field, got.errors)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s: took %v", v.ID, took)
		}
	}
}

func TestNextChecksItsFlags(t *testing.T) {
	for _, c := range []struct {
		field string
		args  []string
	}{
		{"-n", []string{"-n", "0", "--", "* * * * *"}},
		{"-n", []string{"-n", "1001", "--", "* * * * *"}},
		{"-n", []string{"-n", "many", "--", "* * * * *"}},
		{"tz", []string{"--tz", "", "--", "* * * * *"}},
		{"tz", []string{"--tz", "Local", "--", "* * * * *"}},
		{"from", []string{"--from", "2026-13-01", "--", "* * * * *"}},
		{"from", []string{"--from", "", "--", "* * * * *"}},
		{"trigger", []string{"--trigger", "moon", "--", "full"}},
		{"dialect", []string{"--dialect", "quarz", "--", "* * * * *"}},
		{"gap", []string{"--gap", "maybe", "--", "* * * * *"}},
		{"fold", []string{"--fold", "maybe", "--", "* * * * *"}},
		{"expression", nil},
		{"expression", []string{"0", "0", "*", "*", "*"}},
		{"date", []string{"--trigger", "date", "--", "now"}},
		{"colour", []string{"--colour", "red", "--", "* * * * *"}},
	} {
		got := run(t, nil, "", append([]string{"next"}, c.args...)...)
		if got.status != 2 || got.out != "" || !strings.Contains(got.errors, c.field) {
			t.Errorf("%q: exit %d, %q, want %s named: %s", c.args, got.status, got.out, c.field, got.errors)
		}
	}
	all := run(t, nil, "", "next", "--tz", "Nowhere", "--from", "soon", "-n", "-1", "--", "61 25 * * *")
	for _, field := range []string{"tz", "from", "-n", "minute"} {
		if !strings.Contains(all.errors, field) {
			t.Errorf("not all faults are told at once: %s is missing in %s", field, all.errors)
		}
	}
}

func TestNextWithoutAZoneOrABeginning(t *testing.T) {
	got := run(t, nil, "", "next", "-n", "3", "0 0 1 1 *")
	lines := strings.Fields(got.out)
	if got.status != 0 || len(lines) != 3 || !slices.IsSorted(lines) {
		t.Errorf("exit %d: %q %s", got.status, got.out, got.errors)
	}
	got = run(t, nil, "", "next", "-o", "json", "--tz", "UTC", "--from", "2026-01-01T00:00:00Z", "-n", "1", "0 0 1 1 *")
	if want := "{\n  \"times\": [\n    \"2027-01-01T00:00:00Z\"\n  ]\n}\n"; got.out != want {
		t.Errorf("got %s", got.out)
	}
}

func TestABeginningIsReadAsEverywhere(t *testing.T) {
	for from, want := range map[string]string{
		"2026-01-01T00:00:00Z": "2026-12-01T00:00:00+01:00\n",
		"2026-12-01":           "2027-12-01T00:00:00+01:00\n", // after it, not at it
		"2026-11-30 23:59":     "2026-12-01T00:00:00+01:00\n",
		"2026-11-30 23:59:59":  "2026-12-01T00:00:00+01:00\n",
	} {
		if got := run(t, nil, "", "next", "--tz", "Europe/Berlin", "--from", from, "-n", "1", "--", "0 0 1 12 *"); got.out != want {
			t.Errorf("from %s: %q, want %q; %s", from, got.out, want, got.errors)
		}
	}
	for _, from := range []string{"now", "in 5 minutes"} {
		if got := run(t, nil, "", "next", "--tz", "UTC", "--from", from, "-n", "1", "--", "* * * * *"); got.status != 0 {
			t.Errorf("from %s: %s", from, got.errors)
		}
	}
	if got := run(t, nil, "", "next", "--from", "soon", "--", "* * * * *"); strings.Contains(got.errors, "2006") || !strings.Contains(got.errors, "2026-12-01 09:30") {
		t.Errorf("the message shows no example: %s", got.errors)
	}
}
