package trigger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// TestTheExamplesOfBusinessDays builds each trigger of the table in docs/business-days.md in Go and decodes it from the JSON that stands there. Both fire at the
// times that a look at a calendar of paper gives.
func TestTheExamplesOfBusinessDays(t *testing.T) {
	const (
		holidaysJSON = `{"dates":["2026-04-03","2026-04-06","2026-12-07"],"yearly":["--01-01","--05-01","--12-25/--12-26"]}`
		chinaJSON    = `{"years":{"2025":{"holidays":["2025-10-01/2025-10-08"],"workdays":["2025-10-11"]},
			"2026":{"holidays":["2026-01-01/2026-01-03","2026-02-15/2026-02-23"],"workdays":["2026-01-04","2026-02-14","2026-02-28"]}}}`
	)
	source := calendars{"holidays": daysOf(t, holidaysJSON), "cn": daysOf(t, chinaJSON)}
	decode := decoder(source)
	cron := func(expr string) ruqi.Trigger { return trigger.Crontab(expr) }
	inChina := func(expr string) ruqi.Trigger { return trigger.Crontab("TZ=Asia/Shanghai " + expr) }
	holidays, weekend, cn := trigger.Named(source, "holidays"), trigger.Days(daysOf(t, weekendJSON)), trigger.Named(source, "cn")
	examples := map[string]struct {
		built      ruqi.Trigger
		from, want string
	}{
		"every day at 9 except holidays": {trigger.Except(cron("0 9 * * *"), holidays), "2026-04-02T00:00:00+02:00",
			"2026-04-02T09:00:00+02:00 2026-04-04T09:00:00+02:00 2026-04-05T09:00:00+02:00 2026-04-07T09:00:00+02:00"},
		"the last working day of the month at 18:00": {trigger.Except(cron("0 18 L * *"), weekend, holidays).Else(trigger.ElsePrevious), "2026-01-01T00:00:00+01:00",
			"2026-01-30T18:00:00+01:00 2026-02-27T18:00:00+01:00 2026-03-31T18:00:00+02:00 2026-04-30T18:00:00+02:00 2026-05-29T18:00:00+02:00"},
		"the first Monday, unless a holiday, then the next working day": {trigger.Except(cron("0 9 * * mon#1"), weekend, holidays).Else(trigger.ElseNext), "2026-03-31T00:00:00+02:00",
			"2026-04-07T09:00:00+02:00 2026-05-04T09:00:00+02:00 2026-06-01T09:00:00+02:00 2026-07-06T09:00:00+02:00"},
		"hourly, but not while the backup runs": {trigger.Except(cron("0 * * * *"), trigger.Times(cron("0 2-4 * * *"))), "2026-01-01T00:30:00+01:00",
			"2026-01-01T01:00:00+01:00 2026-01-01T05:00:00+01:00 2026-01-01T06:00:00+01:00"},
		"working days in China": {trigger.Except(inChina("0 9 * * *"), cn), "2025-12-30T12:00:00+08:00",
			"2025-12-31T09:00:00+08:00 2026-01-04T09:00:00+08:00 2026-01-05T09:00:00+08:00 2026-01-06T09:00:00+08:00"},
		"the last working day of the month in China at 18:00": {trigger.Except(inChina("0 18 L * *"), cn).Else(trigger.ElsePrevious), "2026-01-01T00:00:00+08:00",
			"2026-01-30T18:00:00+08:00 2026-02-28T18:00:00+08:00 2026-03-31T18:00:00+08:00"},
		"days off in China, make-up working days not among them": {trigger.Only(inChina("0 9 * * *"), cn), "2025-12-28T12:00:00+08:00",
			"2026-01-01T09:00:00+08:00 2026-01-02T09:00:00+08:00 2026-01-03T09:00:00+08:00 2026-01-10T09:00:00+08:00"},
		"Monday to Friday but for holidays, by the days that are worked": {
			trigger.Only(cron("0 9 * * *"), trigger.Days(daysOf(t, `{"weekdays":["mon","tue","wed","thu","fri"],"without":{"yearly":["--01-01","--12-25/--12-26"]}}`))),
			"2026-12-23T12:00:00+01:00", "2026-12-24T09:00:00+01:00 2026-12-28T09:00:00+01:00 2026-12-29T09:00:00+01:00 2026-12-30T09:00:00+01:00 2026-12-31T09:00:00+01:00 2027-01-04T09:00:00+01:00"},
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "business-days.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| what is meant | trigger |\n| --- | --- |\n")
	if !found {
		t.Fatal("the page has no table of examples")
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 {
			break
		}
		rows++
		says := strings.TrimPrefix(cells[0], "| ")
		example, ok := examples[says]
		if !ok {
			t.Errorf("there is no example of %q here", says)
			continue
		}
		decoded, err := decode([]byte(strings.Trim(cells[1], "`| ")))
		if err != nil {
			t.Errorf("%s: %v", says, err)
			continue
		}
		for name, one := range map[string]ruqi.Trigger{"built in Go": example.built, "its JSON": decoded} {
			if got := fires(t, one, example.from, strings.Count(example.want, " ")+1); got != example.want {
				t.Errorf("%s, %s: %s, want %s", says, name, got, example.want)
			}
		}
	}
	if rows != len(examples) {
		t.Errorf("%d rows, want %d", rows, len(examples))
	}
}

// fires binds a trigger in Berlin and returns its first times.
func fires(t *testing.T, one ruqi.Trigger, from string, n int) string {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := one.(ruqi.Binder); ok {
		if one, err = b.Bind(berlin, at, ""); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	for range n {
		next, ok := one.Next(at)
		if !ok {
			break
		}
		all, at = append(all, next.Format(time.RFC3339)), next
	}
	return strings.Join(all, " ")
}

// TestExceptDaysOffIsOnlyWorkingDays holds that the days of a calendar, left out, and the days that it does not have, kept, are the same, through a year without
// data and the turns of years with them.
func TestExceptDaysOffIsOnlyWorkingDays(t *testing.T) {
	const off = `{"years":{"2025":{"holidays":["2025-12-31/2026-01-02"]},"2026":{"holidays":["2026-01-03"],"workdays":["2025-12-28","2026-01-04"]},"2028":{"holidays":["2028-01-03"]}},"dates":["2026-01-03/2026-01-05"]}`
	daily := trigger.Crontab("0 9 * * *")
	except := fires(t, trigger.Except(daily, trigger.Days(daysOf(t, off))), "2025-12-20T00:00:00+01:00", 800)
	only := fires(t, trigger.Only(daily, trigger.Days(daysOf(t, `{"weekdays":["mon","tue","wed","thu","fri","sat","sun"],"without":`+off+`}`))), "2025-12-20T00:00:00+01:00", 800)
	if except != only {
		t.Errorf("except: %.300s, only: %.300s", except, only)
	}
	for day, want := range map[string]bool{
		"2025-12-28": true, "2025-12-31": false, "2026-01-02": false, "2026-01-03": false, // over New Year, a part in each
		"2026-01-04": true, "2026-01-05": false, // a make-up day in a range of days off
		"2027-01-01": true, "2027-01-02": false, // no data: the weekend alone
		"2028-01-03": false, "2028-01-04": true,
	} {
		if got := strings.Contains(except, day); got != want {
			t.Errorf("%s fires: %v, want %v", day, got, want)
		}
	}
}
