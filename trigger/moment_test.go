package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

func TestADateThatIsRefusedIsToldWhy(t *testing.T) {
	const outOfRange = "is out of range, times are from 0001-01-02 to 9999-12-30, UTC" // a zone may move them by a day
	for text, want := range map[string]string{
		"0000-01-01":                outOfRange,
		"0001-01-01T00:00:00+01:00": outOfRange,
		"9999-12-31T23:59:59-01:00": outOfRange,
		"9999-12-31":                outOfRange,
		"2026-02-29":                "is not a date that exists",
		"2026-13-01":                "is not a date that exists",
		"tomorrow":                  "2030-06-01T09:30:00+01:00", // an example
	} {
		errs := map[string]error{}
		_, errs["date"] = trigger.DateText(text, time.UTC)
		_, errs["start"] = trigger.Cron("0 3 * * *", trigger.CronOptions{StartText: text})
		_, errs["anchor"] = trigger.DecodeInterval([]byte(`{"kind":"interval","every":"1h","anchor":"` + text + `"}`))
		if want != outOfRange { // an anchor is an instant, and has a word of its own for all that is none
			delete(errs, "anchor")
		}
		for what, err := range errs {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "2006-01-02") {
				t.Errorf("%s %s: %v, want %q", what, text, err, want)
			}
		}
	}
}
