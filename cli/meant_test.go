//go:build unix

package cli_test

import (
	"fmt"
	"strings"
	"testing"
)

// A change of a job and a file that says the same make the same job.
func TestAJobThatIsChangedToAnotherKindOfTaskTakesItsPool(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-net", "127.0.0.1/32")
	pool := func(id, want string) {
		t.Helper()
		if got := s.ok("job", "get", id); !strings.Contains(got, "executor  "+want+"\n") {
			t.Errorf("%s is not in pool %s:\n%s", id, want, got)
		}
	}
	s.ok("job", "add", "x", "--every", "1h", "--command", "true")
	pool("x", "command")
	s.ok("job", "modify", "x", "--webhook", "http://127.0.0.1:1/")
	pool("x", "default")
	s.ok("job", "modify", "x", "--", "true")
	pool("x", "command")
	s.ok("job", "modify", "x", "--webhook", "http://127.0.0.1:1/", "--executor", "command")
	pool("x", "command")
}

// A word or a unit of another program is answered with the one that is meant here, and with what was read.
func TestValuesThatAreRefusedAreShownWithWhatIsMeant(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	for want, flags := range map[string][]string{
		`--overlap: unknown word; accepted are skip, queue, queue_one, cancel_running and allow; did you mean "cancel_running"?`: {"--overlap", "cancel"},
		`--nice: out of range (0-19): -5`:                             {"--nice", "-5"},
		`--umask: "999" is not a umask in octal digits such as "022"`: {"--umask", "999"},
		`--timeout: not a duration: "10mn"`:                           {"--timeout", "10mn"},
		`did you mean "10m"?`:                                         {"--timeout", "10 min"},
		`did you mean "512MiB"?`:                                      {"--limit", "memory_bytes=512M"},
		`--expect: "2xxx" is no status from 200 to 599`:               {"--webhook", "https://example.com/", "--expect", "2xxx"},
	} {
		args := append([]string{"job", "add", "x", "--every", "1h"}, flags...)
		if flags[0] != "--webhook" {
			args = append(args, "--command", "true")
		}
		s.fails(2, want, args...)
	}
}

// A trigger that has no fire time left is told together with what else is wrong.
func TestATriggerThatIsOverIsToldBesideOtherFaults(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	const form = "id: x\ntrigger: {kind: date, at: \"%s\"}\ntask: {kind: command, command: x, dir: %s}\n"
	file := tableOf(t, "x.yaml", fmt.Sprintf(form, "2020-01-01", "rel"))
	for _, args := range [][]string{{"apply", "-f", file}, {"job", "add", "--file", file}, {"diff", "-f", file}} {
		s.fails(2, "x.yaml:2:1: trigger: has no fire time left", args...)
		s.fails(2, "x.yaml:3:", args...)
	}
	late := tableOf(t, "late.yaml", fmt.Sprintf(form, "2020-01-01", "/")+"policy: {misfire_grace: long}\n")
	if got := s.ruqi("apply", "-f", late); !strings.Contains(got.errors, "policy.misfire_grace: ") || strings.Contains(got.errors, "no fire time left") {
		t.Errorf("a grace that cannot be read may be long enough: %s", got.errors)
	}
	s.ok("apply", "-f", tableOf(t, "good.yaml", fmt.Sprintf(form, "2099-01-01", "/")))
	s.fails(2, "trigger: has no fire time left", "apply", "-f", file)
	got := s.ruqi("job", "modify", "x", "--dir", "none", "--at", "2020-01-01", "--webhook", "http://127.0.0.1:1/")
	if got.status != 2 || !strings.Contains(got.errors, "has no fire time left") || !strings.Contains(got.errors, "not allowed") {
		t.Errorf("%d: %s", got.status, got.errors)
	}
}

func TestWhatACommandDidIsSaidInFull(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--slots", "comand=3")
	s.ok("job", "add", "x", "--every", "1h", "--command", "true")
	s.ok("job", "add", "done", "--every", "1h", "--max-runs", "1", "--command", "true")
	for want, args := range map[string][]string{
		"paused x: paused, no fire until it is resumed\n": {"job", "pause", "x"},
		"removed y\nremoved z\n":                          {"job", "remove", "y", "z"},
	} {
		if args[1] == "remove" {
			s.ok("job", "add", "y", "--every", "1h", "--command", "true")
			s.ok("job", "add", "z", "--every", "1h", "--command", "true")
		}
		if got := s.ok(args...); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	s.ok("job", "add", "soon", "--at", "now", "--command", "true")
	s.eventually("the job has finished", func() bool { return strings.Contains(s.ok("job", "get", "soon"), "finished") })
	for _, verb := range []string{"resume", "pause"} {
		if got := s.ok("job", verb, "soon"); !strings.HasPrefix(got, "not "+verb+"d soon: finished, ") || strings.Contains(got, "no fire to come") {
			t.Errorf("%s of a finished job: %s", verb, got)
		}
	}
	if got := s.ruqi("job", "list", "--tag", "nosuch"); got.status != 0 || got.errors != "there is no job with --tag nosuch\n" {
		t.Errorf("%+v", got)
	}
	if got := s.ruqi("job", "list"); got.errors != "" {
		t.Errorf("%+v", got)
	}
	s.ok("job", "add", "again", "--every", "1h", "--retry", "2", "--retry-delay", "1h", "--command", "false")
	if got := s.ruqi("job", "run", "again", "--wait"); got.status != 1 || !strings.Contains(got.errors, "attempt 1 of 3") {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(s.log.String(), `did you mean \"command\"?`) {
		t.Errorf("a pool with a slip in its name: %s", s.log)
	}
}
