package trigger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// TestWideCalendarsArePreviewedQuickly holds that what a preview asks of a trigger takes no longer where its calendar has 40,000 dates, each second one of them in
// a calendar of its own.
func TestWideCalendarsArePreviewedQuickly(t *testing.T) {
	var dates, parts []string
	for i := range 20_000 {
		day := time.Date(1990, 1, 1+2*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		dates = append(dates, fmt.Sprintf("%q", day))
		if i%4 == 0 {
			parts = append(parts, fmt.Sprintf(`{"dates":["%s/%s"]}`, time.Date(2100, 1, 1+2*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), time.Date(2100, 1, 7+2*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)))
		}
	}
	days := daysOf(t, `{"weekdays":["sat"],"dates":[`+strings.Join(dates, ",")+`],"union":[`+strings.Join(parts, ",")+`]}`)
	daily := trigger.Crontab("0 9 * * *")
	for name, one := range map[string]ruqi.Trigger{
		"except": trigger.Except(daily, trigger.Days(days)), "only": trigger.Only(daily, trigger.Days(days)),
		"to the next day": trigger.Except(daily, trigger.Days(days)).Else(trigger.ElseNext), "to the last day before": trigger.Only(daily, trigger.Days(days)).Else(trigger.ElsePrevious),
	} {
		begin := time.Now()
		got := fires(t, one, "2026-01-01T00:00:00Z", 1000)
		at := time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
		bound, err := one.(ruqi.Binder).Bind(time.UTC, at, "")
		if err != nil {
			t.Fatal(err)
		}
		if after, before := len(trigger.Following(bound, at, 100)), len(trigger.Previous(bound, at, 100)); after != 100 || before != 100 {
			t.Errorf("%s: %d times after and %d before", name, after, before)
		}
		words := trigger.Describe(one, ruqi.English)
		// 10 ms on a machine that has nothing else to do
		if took := time.Since(begin); took > 2*time.Second || strings.Count(got, " ") != 999 || len(words) > 1000 {
			t.Errorf("%s: %d times in %v, described in %d bytes", name, strings.Count(got, " ")+1, took, len(words))
		}
	}
}
