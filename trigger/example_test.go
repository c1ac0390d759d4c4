package trigger_test

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

func ExampleCron() {
	berlin, err := trigger.LoadZone("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = trigger.Cron("30 2 * * sat-sun", trigger.CronOptions{})
	fmt.Println(err) // in a crontab the week begins on Sunday

	t, err := trigger.Cron("30 2 * * sat,sun", trigger.CronOptions{Zone: berlin})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		at, _ = t.Next(at)
		fmt.Println(at) // on 29 March the clock goes from 02:00 to 03:00
	}
	// Output:
	// expr: day_of_week: the range "sat-sun" runs backwards (accepted: 0-7 or sun-sat, 0 and 7 are Sunday, d#n, dL, ?); write sat,sun, at column 10
	// 2026-03-28 02:30:00 +0100 CET
	// 2026-03-29 03:00:00 +0200 CEST
	// 2026-04-04 02:30:00 +0200 CEST
}

func ExampleParse() {
	for _, c := range [][2]string{
		{"cron", "@daily"}, {"interval", "every 90 minutes"}, {"date", "2026-03-01 10:00"},
	} {
		t, err := trigger.Parse(c[0], c[1], trigger.ParseOptions{Zone: "UTC"})
		fmt.Println(t, err)
	}
	// Output:
	// 0 0 * * * <nil>
	// every 1h30m <nil>
	// 2026-03-01T10:00:00Z <nil>
}
