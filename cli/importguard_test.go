//go:build unix

package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// cronJob is a CronJob in five lines and the dashes behind it, with its namespace if it has one.
func cronJob(namespace, name, command string) string {
	if namespace != "" {
		namespace = ", namespace: " + namespace
	}
	return fmt.Sprintf("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: %s%s}\n"+
		"spec: {schedule: '0 3 * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: a, command: [echo, %s]}]}}}}}\n---\n", name, namespace, command)
}

// A CronJob takes the place of no job but the one that came from it.
func TestAJobThatCameFromNoCronJobIsNeverReplaced(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	s.ok("job", "add", "slow", "--every", "1h", "--command", "date")
	s.ok("job", "add", "web/mine", "--every", "1h", "--command", "date")
	s.ok("apply", "--set", "ours", "-f", tableOf(t, "ours.yaml", "id: owned\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: date}\n"))
	s.ok("import", "k8s", tableOf(t, "first.yaml", cronJob("a", "b", "one")+cronJob("", "same", "one")))
	before := s.versions()
	file := tableOf(t, "jobs.yaml", cronJob("", "slow", "other")+cronJob("web", "mine", "other")+cronJob("", "owned", "other")+cronJob("", "new", "other")+cronJob("", "same", "two"))
	refusals := []string{
		file + ":1: CronJob slow: its id is taken by a job that came from no CronJob; --prefix gives another",
		file + ":6: CronJob web/mine: its id is taken by a job that came from no CronJob",
		file + `:11: CronJob owned: its id is taken by a job of the set "ours" of job files`,
	}
	dry := s.ruqi("import", "k8s", "--dry-run", file)
	if dry.status != 1 || strings.Contains(dry.out, "id: slow") || strings.Contains(dry.out, "id: owned") || !strings.Contains(dry.out, "id: new\n") {
		t.Errorf("a dry run: exit %d: %s%s", dry.status, dry.out, dry.errors)
	}
	has(t, dry.errors, refusals...)
	has(t, dry.errors, "new: would be created\n", "same: would be changed\n", "1 to create, 1 to change, ", "3 CronJobs not taken\n")
	if after := s.versions(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a dry run changed %v to %v", before, after)
	}
	got := s.ruqi("import", "k8s", file)
	if got.status != 1 || !strings.Contains(got.out, "created new: ") || !strings.Contains(got.out, "changed same: ") {
		t.Errorf("exit %d: %s%s", got.status, got.out, got.errors)
	}
	has(t, got.errors, refusals...)
	after := s.versions()
	for id, version := range before {
		if (after[id] != version) != (id == "same") {
			t.Errorf("%s is at version %d, was at %d", id, after[id], version)
		}
	}
	if text := s.ok("job", "get", "same", "-o", "json"); !strings.Contains(text, `"kubernetes.cronjob": "same"`) {
		t.Errorf("the label of where it came from: %s", text)
	}
	if got := s.ok("import", "k8s", "--prefix", "cluster/", file); strings.Count(got, "created cluster/") != 5 {
		t.Errorf("with a prefix: %s", got)
	}
	if got := s.ruqi("import", "k8s", tableOf(t, "twin.yaml", cronJob("", "b", "x")), "--prefix", "a/"); got.status != 1 || !strings.Contains(got.errors, "a job that came from the CronJob a/b; ") {
		t.Errorf("another CronJob's id: exit %d: %s%s", got.status, got.out, got.errors)
	}
}

// Releases before gave no label: what they made is known by being as the CronJob says.
func TestAJobOfACronJobWithoutTheLabelIsTakenWhereItIsEqual(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	file := tableOf(t, "jobs.yaml", cronJob("", "old", "one"))
	dry := s.ok("import", "k8s", "--dry-run", file)
	var lines []string
	for line := range strings.Lines(dry) {
		if !strings.Contains(line, "kubernetes.cronjob") && line != "labels:\n" {
			lines = append(lines, line)
		}
	}
	s.ok("job", "add", "--file", tableOf(t, "old.yaml", strings.Join(lines, "")))
	if text := s.ok("job", "get", "old", "-o", "json"); strings.Contains(text, "kubernetes.cronjob") {
		t.Fatalf("the job has the label: %s", text)
	}
	for _, want := range []string{"changed old: ", "unchanged old: "} {
		if got := s.ok("import", "k8s", file); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A table takes no job of a set of job files, wherever that came from before.
func TestACrontabTakesNoJobOfASet(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	file := tableOf(t, "site", "0 1 * * * echo a\n0 2 * * * date\n")
	s.ok("import", "crontab", file)
	s.ok("apply", "--set", "ours", "-f", tableOf(t, "ours.yaml", s.ok("import", "crontab", file, "--dry-run")))
	before := s.versions()
	for _, more := range [][]string{{"--dry-run"}, nil} {
		got := s.ruqi(append([]string{"import", "crontab", file}, more...)...)
		if got.status != 1 || !strings.Contains(got.errors, file+`:1: its id site/echo is taken by a job of the set "ours"`) || !strings.Contains(got.out+got.errors, "; 2 lines not taken") {
			t.Errorf("%v: exit %d: %s%s", more, got.status, got.out, got.errors)
		}
	}
	if after := s.versions(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the jobs were %v and are %v", before, after)
	}
}

// What is refused is refused in both, with one status, and counted as nothing but that.
func TestADryRunOfACrontabRefusesWhatTheImportRefuses(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	s.ok("job", "add", "site/mine", "--every", "1h", "--command", "true")
	s.ok("import", "crontab", "--system", tableOf(t, "site", "0 5 * * * root echo a\n"), "--user", "", "--take-over")
	file := tableOf(t, "site", "0 1 * * * nobody-of-that-name date\n0 25 * * * root x\n0 2 * * * nobody-of-that-name id\n0 3 * * * root mine\n")
	args := []string{"import", "crontab", "--system", file}
	var writes atomic.Int64
	through := s.between(func(_ http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) && r.URL.Query().Get("dry_run") != "true" {
			writes.Add(1)
		}
		return false
	})
	dry := through(append(args, "--dry-run")...)
	if n := writes.Load(); n != 0 {
		t.Errorf("a dry run made %d requests that write", n)
	}
	real := s.ruqi(args...)
	for _, want := range []string{file + ":1: task.user: ", file + ":2: hour: ", file + ":3: task.user: ", file + ":4: its id site/mine is taken by a job that came from no crontab"} {
		has(t, dry.errors, want)
		has(t, real.errors, want)
	}
	if dry.status != 1 || !strings.Contains(dry.errors, "0 jobs would be added; 4 lines not taken") || strings.Contains(dry.errors, "times in") || dry.out != "" {
		t.Errorf("a dry run: exit %d: %s%s", dry.status, dry.out, dry.errors)
	}
	if real.status != 1 || !strings.Contains(real.out, "0 jobs: 0 created, 0 changed, 0 unchanged; 4 lines not taken") || strings.Contains(real.out, "times in") {
		t.Errorf("the import: exit %d: %s%s", real.status, real.out, real.errors)
	}
	good := tableOf(t, "good", "0 1 * * * date\n0 2 * * * id\n")
	if got := s.ruqi("import", "crontab", good, "--dry-run"); got.status != 0 || !strings.Contains(got.errors, "2 jobs would be added; nothing was left out\n") || !strings.Contains(got.errors, "2 jobs: 2 to create, 0 to change, 0 unchanged\n") {
		t.Errorf("exit %d: %s", got.status, got.errors)
	}
	// Without a service what can be known is said, and that it is not all.
	for _, args := range [][]string{{"crontab", good}, {"k8s", tableOf(t, "jobs.yaml", cronJob("", "a", "b")+cronJob("", "b", "b"))}} {
		got := run(t, unreachable, "", append(append([]string{"import"}, args...), "--dry-run")...)
		if got.status != 0 || !strings.Contains(got.errors, "2 jobs would be added; nothing was left out\n") || !strings.Contains(got.errors, "the service was not asked, so ") {
			t.Errorf("%s: exit %d: %s%s", args[0], got.status, got.out, got.errors)
		}
	}
}

// A job that there is keeps its zone when none is given, and it is said whose that is.
func TestACrontabImportedAgainWithoutItsZoneKeepsIt(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	file := tableOf(t, "site", "0 1 * * * date\n")
	s.ok("import", "crontab", file, "--tz", "Europe/Berlin")
	for _, more := range [][]string{nil, {"--dry-run"}} {
		got := s.ruqi(append([]string{"import", "crontab", file}, more...)...)
		if said := got.out + got.errors; !strings.Contains(said, "1 job: times in Europe/Berlin, as before, ") || strings.Contains(said, "service's zone") || !strings.Contains(said, "1 unchanged") {
			t.Errorf("%v: %s", more, said)
		}
	}
	two := tableOf(t, "site", "0 1 * * * date\n0 2 * * * id\n")
	got := s.ok("import", "crontab", two, "--take-over")
	has(t, got, "1 job: times in Europe/Berlin, as before, ", "1 job: times in UTC, the service's zone, ")
	if got := s.ok("import", "crontab", two, "--tz", "UTC"); !strings.Contains(got, "0 created, 1 changed, 1 unchanged") || !strings.Contains(got, "2 jobs: times in UTC\n") {
		t.Error(got)
	}
}
