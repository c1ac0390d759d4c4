//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestAChangeTakesAwayWhatItNames(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "Europe/Berlin")
	s.ok("job", "add", "x", "--every", "1h", "--tag", "a", "--label", "team=ops", "--label", "shift=late", "--param", "n=1", "--env", "A=1", "--env", "B=2",
		"--command", "cat /dev/null >> /dev/null && true", "--executor", "default")
	got := s.ok("job", "get", "x")
	for _, want := range []string{"every 1h\n", "cat /dev/null >> /dev/null && true\n", "A=1\n", "policy       default\n"} {
		if !strings.Contains(strings.ReplaceAll(got, "policy    ", "policy       "), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if got := s.ok("job", "get", "x", "-o", "json"); !strings.Contains(got, "cat /dev/null >> /dev/null && true") {
		t.Errorf("JSON: %s", got)
	}
	s.ok("job", "modify", "x", "--label", "shift-", "--label", "new=1", "--env", "A-", "--tag", "none", "--executor", "none")
	got = s.ok("job", "get", "x")
	for _, want := range []string{"team=ops", "new=1", "B=2", "executor  command"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, gone := range []string{"shift", "A=1", "tags"} {
		if strings.Contains(got, gone) {
			t.Errorf("%q is still in:\n%s", gone, got)
		}
	}
	s.ok("job", "modify", "x", "--label", "none", "--param", "none", "--env", "none")
	if got := s.ok("job", "get", "x"); strings.Contains(got, "label") || strings.Contains(got, "params") || strings.Contains(got, "B=2") {
		t.Errorf("none leaves something:\n%s", got)
	}
	s.ok("job", "add", "y", "--every", "1h", "--tag", "none", "--command", "true")
	if got := s.ok("job", "get", "y"); strings.Contains(got, "tags") {
		t.Errorf("a tag none:\n%s", got)
	}
}

func TestAnIntervalCanBeGivenAStartAndLoseIt(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "Europe/Berlin")
	s.ok("job", "add", "x", "--every", "1h", "--command", "true")
	if got := s.ok("job", "modify", "x", "--start", "2031-12-01 09:00"); !strings.Contains(got, "next at 2031-12-01 09:00:00 +01:00") {
		t.Errorf("start: %s", got)
	}
	if got := s.ok("job", "modify", "x", "--end", "2032-01-01", "--cron", "30 2 * * *"); !strings.Contains(got, "next at 2031-12-02 02:30:00 +01:00") {
		t.Errorf("another kind loses the start: %s", got)
	}
	s.ok("job", "modify", "x", "--every", "1h")
	s.ok("job", "modify", "x", "--start", "none")
	if got := s.ok("job", "get", "x"); !strings.Contains(got, "anchor") || strings.Contains(got, "start") || !strings.Contains(got, "2032-01-01T00:00:00+01:00") {
		t.Errorf("without its start:\n%s", got)
	}
	s.ok("job", "modify", "x", "--start", "in 2 hours")
	s.ok("job", "add", "y", "--cron", "* * * * *", "--start", "now", "--end", "in 1 hour", "--command", "true")
}

func TestAJobIsAddedInWords(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "Europe/Berlin")
	for i, c := range []struct{ words, shown string }{
		{"5 seconds", "every 5s"},
		{"every 90 minutes until 2031-01-01", "every 1h30m"},
		{"monday at 13:15", "every monday at 13:15 Europe/Berlin"},
		{"every weekday at 09:00, 17:00 until 2031-01-01", "every weekday at 09:00, 17:00 until 2031-01-01 Europe/Berlin"},
		{"every 5 to 10 minutes", "every 5 to 10 minutes Europe/Berlin"},
		{"3 days at 09:00", "every 3 days at 09:00 Europe/Berlin"},
		{"hour at :15", "every hour at :15 Europe/Berlin"},
		{"in 5 minutes", "once"},
		{"at 2031-12-01 09:30", "once"},
		{"now", "once"},
	} {
		id := "job" + strconv.Itoa(i)
		s.ok("job", "add", id, "--every", c.words, "--command", "true")
		if got := s.ok("job", "get", id); !strings.Contains(got, c.shown+"\n") {
			t.Errorf("%q: no %q in:\n%s", c.words, c.shown, got)
		}
	}
	if got := s.ok("job", "modify", "job2", "--every", "tuesday at 14:00 until 2031-06-01", "--gap", "skip"); !strings.Contains(got, "14:00:00") {
		t.Errorf("other words: %s", got)
	}
	if got := s.ok("job", "get", "job2"); !strings.Contains(got, "every tuesday at 14:00 until 2031-06-01") || !strings.Contains(got, "skip") {
		t.Errorf("other words:\n%s", got)
	}
	s.ok("job", "modify", "job4", "--every", "sunday")
	s.fails(2, "--every: \"mondy\" is not understood here", "job", "add", "x", "--every", "mondy at 13:15", "--command", "true")
	s.fails(2, "write monday, at column 1", "job", "add", "x", "--every", "mondy at 13:15", "--command", "true")
	s.fails(2, "--fold", "job", "add", "x", "--every", "5 minutes", "--fold", "both", "--command", "true")
}

func TestAFolderIsTakenFromWhereItIsTyped(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	here := t.TempDir()
	if err := os.Mkdir(filepath.Join(here, "reports"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	s.ok("job", "add", "x", "--every", "1h", "--dir", "reports", "--command", "pwd")
	s.ok("job", "run", "x", "--wait")
	if got := s.ok("run", "logs", "1"); !strings.HasSuffix(got, filepath.Base(here)+"/reports\n") {
		t.Errorf("ran in %s", got)
	}
	if status, answer := s.post(`{"id":"y","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"ls","dir":"reports"}}`); status != 422 ||
		!strings.Contains(answer, `"/task/dir"`) || !strings.Contains(answer, "write the whole path") {
		t.Errorf("a relative one for the service: %d %s", status, answer)
	}
	s.ok("job", "modify", "x", "--dir", "none")
	if got := s.ok("job", "get", "x"); strings.Contains(got, "dir") {
		t.Errorf("a folder is left:\n%s", got)
	}
}

func TestAJobThatNobodyCanRunIsToldAtOnce(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	for _, args := range [][]string{
		{"job", "add", "x", "--every", "1h", "--executor", "gpu", "--command", "true"},
		{"job", "modify", "x", "--priority", "1"},
		{"job", "run", "x"},
	} {
		if got := s.ruqi(args...); got.status != 0 || !strings.Contains(got.errors, "x: active, but parked: ") || !strings.Contains(got.errors, "gpu") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	waited := make(chan command, 1)
	go func() { waited <- s.ruqi("job", "run", "x", "--wait") }()
	s.eventually("it waits", func() bool { return strings.Contains(s.ok("run", "list"), "\n2 ") })
	s.ok("run", "cancel", "2")
	if got := <-waited; got.status != 1 || strings.Count(got.errors, "parked") != 1 || strings.Count(got.errors, "run 2 of x waits until one can; ruqi run cancel 2 takes it back\n") != 1 {
		t.Errorf("--wait: %+v", got)
	}
}

// An id that is mistyped must not pass for a job that has not run yet.
func TestAnEmptyListOfRunsSaysThatThereIsNoSuchJob(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "x", "--every", "1h", "--command", "true")
	for id, want := range map[string]string{"x": "", "nosuch": "there is no job \"nosuch\"\n"} {
		if got := s.ruqi("run", "list", "--job", id); got.status != 0 || got.errors != want {
			t.Errorf("%s: %+v", id, got)
		}
	}
	s.ok("job", "run", "x", "--wait")
	s.ok("job", "remove", "x")
	if got := s.ruqi("run", "list", "--job", "x"); got.errors != "" || !strings.Contains(got.out, "succeeded") {
		t.Errorf("a job that was removed: %+v", got)
	}
}

func TestATakenIDNamesTheWaysOut(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	add := []string{"job", "add", "x", "--every", "1h", "--command", "true"}
	s.ok(add...)
	s.fails(1, "--on-conflict replace", add...)
	s.fails(2, "ruqi: ID: ", "job", "add", strings.Repeat("x", 256), "--every", "1h", "--command", "true")
	s.fails(2, "ruqi: --at: ", "job", "add", "y", "--at", "2020-01-01", "--command", "true")
	s.fails(2, "ruqi: --cron: ", "job", "add", "y", "--cron", "0 0 1 1 *", "--end", "2020-01-01", "--command", "true")
	if got := s.ruqi("job", "add", strings.Repeat("x", 256), "--every", "1h", "--command", "true"); strings.Contains(got.errors, "--name") || strings.Count(got.errors, "\n") != 1 {
		t.Errorf("one fault of the id: %s", got.errors)
	}
}

func TestAllTakenIDsOfAFileAreTold(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	write := func(every string) {
		t.Helper()
		var text strings.Builder
		for i, id := range []string{"a", "new", "b"} {
			when := "1h"
			if i == 1 {
				when = every
			}
			text.WriteString("---\nid: " + id + "\ntrigger: {kind: interval, every: " + when + "}\ntask: {kind: webhook, url: \"http://example.com/\"}\n")
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		s.ok("job", "add", id, "--every", "1h", "--command", "true")
	}
	for every, status := range map[string]int{"1h": 1, "1ns": 2} { // the second beside what is wrong with another job
		write(every)
		got := s.ruqi("job", "add", "--file", path)
		for _, want := range []string{"jobs.yaml:2:", "jobs.yaml:10:", "--on-conflict replace"} {
			if got.status != status || strings.Count(got.errors, want) != 1 {
				t.Errorf("every %s: exit %d, want %d and once %q:\n%s", every, got.status, status, want, got.errors)
			}
		}
	}
	if got := s.ok("job", "list"); strings.Contains(got, "new") {
		t.Errorf("one was added:\n%s", got)
	}
}

func TestRetriesWantTheirNumber(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	for _, flag := range [][]string{{"--retry-delay", "5s"}, {"--retry-max-delay", "1h"}, {"--retry-backoff", "linear"}} {
		s.fails(2, "ruqi: "+flag[0]+": wants --retry N", append([]string{"job", "add", "x", "--every", "1h", "--command", "true"}, flag...)...)
	}
	s.ok("job", "add", "x", "--every", "1h", "--command", "true")
	s.fails(2, "ruqi: --retry: missing; ", "job", "modify", "x", "--retry-delay", "5s")
	s.ok("job", "modify", "x", "--retry-delay", "5s", "--retry", "2")
	s.ok("job", "modify", "x", "--retry-delay", "6s")
}

func TestATextForAnotherFlagNamesIt(t *testing.T) {
	for text, c := range map[string]struct{ flag, want string }{
		"0 9 * * *":            {"--every", "a cron expression; give it to --cron"},
		"*/5 * * * * *":        {"--every", "a cron expression; give it to --cron"},
		"@daily":               {"--every", "a cron expression; give it to --cron"},
		"every monday at 9am":  {"--cron", "words; give them to --every"},
		"5 minutes":            {"--cron", "words; give them to --every"},
		"90s":                  {"--cron", "words; give them to --every"},
		"61 * * * *":           {"--cron", "minute: 61"},
		"fortnight of sundays": {"--every", "not understood"},
	} {
		got := run(t, unreachable, "", "job", "add", "x", c.flag, text, "--command", "true")
		if got.status != 2 || !strings.HasPrefix(got.errors, "ruqi: "+c.flag+": ") || !strings.Contains(got.errors, c.want) || strings.Count(got.errors, "\n") != 1 {
			t.Errorf("%s %q: exit %d, %s, want %q", c.flag, text, got.status, got.errors, c.want)
		}
	}
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "line", "--every", "1h", "--command", "true")
	s.ok("job", "add", "hook", "--every", "1h", "--webhook", "https://example.com/")
	s.fails(2, "ruqi: --header: is for --webhook, not for commands", "job", "modify", "line", "--header", "X: y")
	s.fails(2, "ruqi: --user: is for commands, not for --webhook", "job", "modify", "hook", "--user", "nobody")
	s.fails(2, "ruqi: --priority: ", "job", "modify", "hook", "--user", "nobody", "--priority", "9999999")
	s.fails(2, "ruqi: --priority: ", "job", "modify", "hook", "--priority", "9999999")
}

func TestAnAddressWithAPathTooManyIsTold(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.fails(5, "root", "status", "--server", s.url+"/api/v1", "--token", s.token())
}
