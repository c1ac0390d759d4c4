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
	} {
		for _, verb := range []string{"add", "modify"} {
			got := run(t, nil, "", append([]string{"job", verb, "x"}, c...)...)
			if got.status != 2 || got.out != "" || !strings.Contains(got.errors, c[0]+": ") || !strings.Contains(got.errors, "any") {
				t.Errorf("job %s %q: exit %d, %s%s", verb, c, got.status, got.out, got.errors)
			}
		}
	}
}
