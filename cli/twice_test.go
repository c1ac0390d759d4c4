package cli_test

import (
	"strings"
	"testing"
)

// A flag that says when, given twice, would let the last one win, and a fire time be lost without a word.
func TestAJobIsNotGivenItsTimesTwice(t *testing.T) {
	for _, c := range [][]string{
		{"--cron", "0 9 * * *", "--cron", "0 18 * * sun"},
		{"--every", "5 minutes", "--every", "1 hour"},
		{"--at", "2030-01-01", "--at", "2030-01-02"},
		{"--every", "", "--every", "1 hour"},
	} {
		for _, verb := range []string{"add", "modify"} {
			got := run(t, nil, "", append([]string{"job", verb, "x"}, c...)...)
			if got.status != 2 || got.out != "" || !strings.Contains(got.errors, c[0]+": ") || !strings.Contains(got.errors, "any") {
				t.Errorf("job %s %q: exit %d, %s%s", verb, c, got.status, got.out, got.errors)
			}
		}
	}
}

// Triggers that no flag of their own says are given as JSON.
func TestAJobIsGivenItsTriggerAsJSON(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	const two = `{"kind":"any","of":[{"kind":"cron","expr":"0 6 * * *"},{"kind":"cron","expr":"0 18 * * sun"}]}`
	s.ok("job", "add", "x", "--trigger", two, "--command", "true")
	has(t, s.ok("job", "get", "x"), "at 06:00 every day", "at 18:00 on Sunday")
	s.ok("job", "modify", "x", "--trigger", `{"kind":"calendar","months":1,"hour":9,"start":"2030-01-31"}`)
	has(t, s.ok("job", "get", "x"), "2030-01-31 09:00:00")
	for _, c := range []struct {
		want string
		args []string
	}{
		{`--trigger: of.0.expr: `, []string{"--trigger", `{"kind":"any","of":[{"kind":"cron","expr":"61 6 * * *"}]}`}},
		{`--trigger: not a JSON object`, []string{"--trigger", "0 6 * * *"}},
		{`--trigger: not a JSON object`, []string{"--trigger", "{}"}},
		{`--trigger: every: given twice`, []string{"--trigger", `{"kind":"interval","every":"1h","every":"2h"}`}},
		{`--tz: is a member of the JSON of --trigger`, []string{"--trigger", two, "--tz", "UTC"}},
		{`one of them, not --cron and --trigger`, []string{"--trigger", two, "--cron", "0 6 * * *"}},
		{`given twice`, []string{"--trigger", two, "--trigger", two}},
	} {
		s.fails(2, c.want, append([]string{"job", "add", "y", "--command", "true"}, c.args...)...)
	}
	lacks(t, s.ok("job", "list"), "y")
}
