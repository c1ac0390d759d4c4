package cli_test

import (
	"strings"
	"testing"
)

func TestAMisspeltWordOfAFlagIsAnsweredWithTheOneThatWasMeant(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"next", "--trigger", "corn", "0 9 * * *"}, `did you mean "cron"?`},
		{[]string{"next", "--dialect", "cronttab", "0 9 * * *"}, `did you mean "crontab"?`},
		{[]string{"next", "--gap", "skp", "0 9 * * *"}, `did you mean "skip"?`},
		{[]string{"next", "--fold", "secnod", "0 9 * * *"}, `did you mean "second"?`},
		{[]string{"next", "--tz", "europe/Berlin", "0 9 * * *"}, `did you mean "Europe/Berlin"?`},
		{[]string{"job", "list", "--state", "pasued"}, `accepted are active, paused and finished; did you mean "paused"?`},
		{[]string{"job", "list", "--sort", "crated"}, `did you mean "created"?`},
		{[]string{"run", "list", "--state", "faild"}, `did you mean "failed"?`},
		{[]string{"import", "crontab", "--overlap", "alow", "-"}, `did you mean "allow"?`},
		{[]string{"import", "crontab", "--dialect", "Ruqi", "-"}, `did you mean "ruqi"?`},
		{[]string{"status", "-o", "jason"}, `did you mean "json"?`},
		{[]string{"serve", "--log-level", "wran"}, `did you mean "warn"?`},
	} {
		if got := run(t, nil, "", c.args...); got.status != 2 || !strings.Contains(got.errors, c.want) {
			t.Errorf("%v: exit %d: %s, want %s", c.args, got.status, got.errors, c.want)
		}
	}
}
