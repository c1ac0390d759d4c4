package jobfile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/standard"
)

// spec reads a definition as a service does that was given it.
func spec(t *testing.T, text string) ruqi.JobSpec {
	t.Helper()
	s, err := standard.Registry(standard.Options{}).DecodeJob([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if binder, ok := s.Trigger.(ruqi.Binder); ok {
		if s.Trigger, err = binder.Bind(time.UTC, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), s.ID); err != nil {
			t.Fatal(err)
		}
	}
	s.Name, s.Executor = s.ID, "command"
	return s
}

func told(found []jobfile.Difference, err error) string {
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, d := range found {
		lines = append(lines, fmt.Sprintf("%s %v -> %v", d.Pointer, d.Old, d.New))
	}
	return strings.Join(lines, "; ")
}

func TestDifferencesAreThoseOfTheCanonicalForm(t *testing.T) {
	const hourly = `{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"a"}`
	with := func(more string) string { return hourly + more + "}" }
	nothing := func(string) bool { return false }
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing":                      {with(""), with(""), ""},
		"defaults that are written":    {with(""), with(`,"priority":0,"labels":{},"tags":[],"params":{},"policy":{"coalesce":true,"overlap":"skip","kill_grace":"10s"}`), ""},
		"members in another order":     {with(`,"params":{"a":1,"b":[{"c":2,"d":3}]}`), with(`,"params":{"b":[{"d":3,"c":2}],"a":1}`), ""},
		"a duration written otherwise": {with(`,"policy":{"timeout":"90s"}`), with(`,"policy":{"timeout":"1m30s"}`), ""},
		"a label that is gone":         {with(`,"labels":{"a/b":"1","c":"2"}`), with(`,"labels":{"c":"3"}`), "/labels/a~1b 1 -> <nil>; /labels/c 2 -> 3"},
		"a list":                       {with(`,"tags":["a","b"]`), with(`,"tags":["b"]`), "/tags [a b] -> [b]"},
		"retries that are gone":        {with(`,"policy":{"retry":{"max":3}}`), with(""), "/policy/retry/backoff exponential -> <nil>; /policy/retry/delay 10s -> <nil>; /policy/retry/max 3 -> <nil>; /policy/retry/max_delay 1h -> <nil>"},
		"a number":                     {with(`,"params":{"n":1}`), with(`,"params":{"n":12345678901234567890}`), "/params/n 1 -> 12345678901234567890"},
	} {
		if got := told(jobfile.Differences(spec(t, c.before), spec(t, c.after), nothing)); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTheAnchorOfAnIntervalIsToldWhenItMatters(t *testing.T) {
	job := func(every, anchor string) ruqi.JobSpec {
		return spec(t, fmt.Sprintf(`{"id":"x","trigger":{"kind":"interval","every":%q,"anchor":%q},"task":{"kind":"command","command":"a"}}`, every, anchor))
	}
	const old, now = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
	no, yes := func(string) bool { return false }, func(string) bool { return true }
	if got := told(jobfile.Differences(job("1h", old), job("2h", now), no)); got != "/trigger/every 1h -> 2h" {
		t.Errorf("an anchor that came along: %s", got)
	}
	if got := told(jobfile.Differences(job("1h", old), job("2h", now), yes)); !strings.Contains(got, "/trigger/anchor") {
		t.Errorf("an anchor that was given: %s", got)
	}
	if got := told(jobfile.Differences(job("1h", old), job("1h", now), no)); !strings.HasPrefix(got, "/trigger/anchor") {
		t.Errorf("the anchor alone: %s", got)
	}
}

func TestANewJobSaysWhatIsNotUsual(t *testing.T) {
	s := spec(t, `{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","argv":["a"]},"policy":{"timeout":"1h","overlap":"skip"}}`)
	const want = "/executor  -> command; /policy/timeout <nil> -> 1h; /task/argv <nil> -> [a]; /task/kind <nil> -> command; " +
		"/trigger/every <nil> -> 1h; /trigger/kind <nil> -> interval; /trigger/zone <nil> -> UTC"
	if got := told(jobfile.Says(s, func(string) bool { return false })); got != want {
		t.Errorf("it says %s", got)
	}
}
