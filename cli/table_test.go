package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

func TestOneColumnGivesWayOnATerminal(t *testing.T) {
	make := func() *table {
		t := &table{flexible: 1}
		t.row("ID", "TASK", "TAGS")
		t.row("x", strings.Repeat("日", 40), "a,b")
		return t
	}
	if got := make().text(0); !strings.Contains(got, strings.Repeat("日", 40)) {
		t.Errorf("what goes to a file or a pipe is cut:\n%s", got)
	}
	for _, columns := range []int{40, 60, 89} {
		for line := range strings.Lines(make().text(columns)) {
			if got := width(strings.TrimSuffix(line, "\n")); got > columns {
				t.Errorf("%d of %d columns: %s", got, columns, line)
			}
		}
	}
	if got := make().text(90); !strings.Contains(got, strings.Repeat("日", 40)) {
		t.Errorf("cut where it fits:\n%s", got)
	}
	if got := make().text(5); !strings.Contains(got, "日…") || !strings.Contains(got, "a,b") {
		t.Errorf("nothing is left:\n%s", got)
	}
}

func TestARunSaysWhatItStandsForAndWhoWantsItsEnd(t *testing.T) {
	at := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	from, day, end := at.Add(-8*time.Minute), at.Add(-30*time.Hour), at.Add(time.Minute)
	for want, run := range map[string]ruqi.Run{
		"":                                 {State: ruqi.RunSucceeded, Nominal: at},
		"stands for 8 more since 08:52:00": {State: ruqi.RunSucceeded, Nominal: at, Coalesced: 8, CoalescedFrom: &from},
		"late; stands for 2 more since 2026-11-30 03:00:00": {State: ruqi.RunMissed, Reason: "late", Nominal: at, Coalesced: 2, CoalescedFrom: &day},
		"29%": {State: ruqi.RunRunning, Nominal: at, Progress: progressOf(0.29)},
		"99%, \x1b[31mred; cancel asked by admin": {State: ruqi.RunRunning, Nominal: at, Progress: progressOf(0.9999), ProgressText: "\x1b[31mred", CancelBy: "admin"},
		"failed":                {State: ruqi.RunFailed, Reason: "failed", Nominal: at, Progress: progressOf(1)},
		"cancel asked by admin": {State: ruqi.RunRunning, Nominal: at, CancelBy: "admin"},
		"cancelled by admin":    {State: ruqi.RunCancelled, Reason: "cancelled by admin", Nominal: at, CancelBy: "admin"},
	} {
		if got := runReason(run, time.UTC); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := runTook(ruqi.Run{State: ruqi.RunLost, Started: &at, Finished: &end}); got != "-" {
		t.Errorf("a lost run took %s", got)
	}
}

func progressOf(fraction float64) *float64 { return &fraction }

func TestWhatARunToldDoesNotActOnTheTerminal(t *testing.T) {
	var out strings.Builder
	a := &app{System: System{Stdout: &out, Getenv: func(string) string { return "" }}}
	run := ruqi.Run{
		ID: 1, JobID: "x", State: ruqi.RunRunning, Progress: progressOf(0.4),
		ProgressText: "\x1b[2Jpage 4\u009b31m \u202eof", Result: []byte("{\"a\":\"\u009b31m\u202e \\u003e\"}"),
	}
	if err := a.showRun(run, time.UTC); err != nil {
		t.Fatal(err)
	}
	if err := a.printRuns([]ruqi.Run{run}, "", time.UTC); err != nil {
		t.Fatal(err)
	}
	got := out.String() + resultLine(run)
	if strings.ContainsAny(got, "\x1b\u009b\u202e") {
		t.Errorf("what acts on a terminal comes through: %q", got)
	}
	for _, want := range []string{"\nprogress  40%, \\x1b[2Jpage 4", "\nresult    {\"a\":", " >\"}", "  40%, \\x1b[2J", "result: {\"a\":"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

func TestJSONShowsCommandsAsTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		`"a \u003e\u003e b \u0026 c \u003c d"`: `"a >> b & c < d"`,
		`"\\u003e \\\u003e"`:                   `"\\u003e \\>"`,
		`"\u00e9 \" \\"`:                       `"\u00e9 \" \\"`,
		`\`:                                    `\`,
	} {
		if got := string(plainJSON([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestSizesAreForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 9216: "9 KiB", 9437184: "9.0 MiB", 3 << 30: "3072.0 MiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
