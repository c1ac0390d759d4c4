package crontab_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/crontab"
	"github.com/ruqi-dev/ruqi/internal/cronplain"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

func TestSchedulesMatchMinuteByMinuteForAYear(t *testing.T) {
	expressions := map[string]bool{}
	for _, s := range samples(t) {
		for _, job := range crontab.Read(s.data, s.options).Jobs {
			when := shapeOf(t, job).Trigger
			// What is no time of cron's minutes has tests of its own.
			if when.Kind == "cron" && when.Expr != "@reboot" && when.Expr != "* * * * * *" {
				expressions[when.Expr] = true
			}
		}
	}
	if len(expressions) < 40 {
		t.Fatalf("only %d expressions in the samples", len(expressions))
	}
	for _, name := range []string{"UTC", "Europe/Berlin"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		minutes := cronplain.Year(zone)
		for expr := range expressions {
			m, err := cronplain.New(expr)
			if err != nil {
				t.Fatal(err)
			}
			fired, err := m.Compare(minutes, readTrigger(t, expr, name).Next)
			if err != nil {
				t.Errorf("%q in %s: %v", expr, name, err)
			} else if fired == 0 && expr != "0 0 29 2 *" {
				t.Errorf("%q in %s never fired", expr, name)
			}
		}
	}
}

// readTrigger reads an expression as the service reads that of an imported job.
func readTrigger(t *testing.T, expr, zone string) ruqi.Trigger {
	t.Helper()
	r := crontab.Read([]byte(expr+" true\n"), crontab.Options{Zone: zone})
	if len(r.Jobs) != 1 {
		t.Fatalf("%q: %v", expr, r.Faults)
	}
	spec, err := wire.DecodeNew(standard.Registry(standard.Options{}), encode(t, r.Jobs[0]))
	if err != nil {
		t.Fatalf("%q: %v", expr, err)
	}
	return spec.Trigger
}
