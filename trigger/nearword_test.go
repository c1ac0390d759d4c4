package trigger_test

import (
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/trigger"
)

func TestAMisspeltWordOfAClosedListIsAnsweredWithTheOneThatWasMeant(t *testing.T) {
	for data, want := range map[string]string{
		`{"kind":"crn","expr":"0 9 * * *"}`:                                       `did you mean "cron"?`,
		`{"kind":"cron","expr":"0 9 * * *","dialect":"crontap"}`:                  `did you mean "crontab"?`,
		`{"kind":"cron","expr":"0 9 * * *","gap":"run-after"}`:                    `did you mean "run_after"?`,
		`{"kind":"cron","expr":"0 9 * * *","fold":"fisrt"}`:                       `did you mean "first"?`,
		`{"kind":"every","text":"every day at 09:00","gap":"shfit"}`:              `did you mean "shift"?`,
		`{"kind":"calendar","days":1,"fold":"Both"}`:                              `did you mean "both"?`,
		`{"kind":"cron","expr":"0 9 * * *","zone":"europe/berlin"}`:               `did you mean "Europe/Berlin"?`,
		`{"kind":"cron","expr":"0 9 * * *","zone":"america/port-au-prince"}`:      `names are those of the IANA database`,
		`{"kind":"cron","expr":"0 9 * * *","zone":"AMERICA/NEW_YORK"}`:            `did you mean "America/New_York"?`,
		`{"kind":"cron","expr":"0 9 * * *","zone":"utc"}`:                         `did you mean "UTC"?`,
		`{"kind":"cron","expresion":"0 9 * * *","expr":"0 9 * * *","diallect":1}`: `did you mean "dialect"?`,
	} {
		if _, err := decode([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
	if _, err := trigger.Parse("calender", "days=1", trigger.ParseOptions{}); err == nil || !strings.HasSuffix(err.Error(), `except, only; did you mean "calendar"?`) {
		t.Errorf("a kind that is misspelt: %v", err)
	}
	for _, far := range []string{`{"kind":"cron","expr":"0 9 * * *","dialect":"unix"}`, `{"kind":"cron","expr":"0 9 * * *","zone":"Mars/Base"}`, `{"kind":"cron","expr":"0 9 * * *","gap":"never"}`} {
		if _, err := decode([]byte(far)); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", far, err)
		}
	}
}
