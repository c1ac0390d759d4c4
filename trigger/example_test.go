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
		{"every", "mon and thu at 13:15"}, {"calendar", "months=1 hour=9 start_date=2026-01-31"},
	} {
		t, err := trigger.Parse(c[0], c[1], trigger.ParseOptions{Zone: "UTC"})
		fmt.Println(t, err)
	}
	// Output:
	// 0 0 * * * <nil>
	// every 1h30m <nil>
	// 2026-03-01T10:00:00Z <nil>
	// every monday, thursday at 13:15 <nil>
	// months=1 hour=9 start_date=2026-01-31 <nil>
}

func ExampleEvery() {
	t := trigger.Every(1).Weekday().At("09:00", "17:30").Until("2026-12-04").In(time.UTC)
	at := time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC)
	for {
		var ok bool
		if at, ok = t.Next(at); !ok {
			break
		}
		fmt.Println(at)
	}
	fmt.Println(t)
	fmt.Println(t.Describe("en"))
	fmt.Println(t.Describe("zh"))
	// Output:
	// 2026-12-03 17:30:00 +0000 UTC
	// 2026-12-04 09:00:00 +0000 UTC
	// 2026-12-04 17:30:00 +0000 UTC
	// every weekday at 09:00, 17:30 until 2026-12-04
	// at 09:00 and 17:30 on Monday to Friday, UTC, until 2026-12-04
	// 在每周一至周五的 09:00 和 17:30，UTC 时间，至 2026-12-04 止
}

func ExampleCalendar() {
	t, err := trigger.Calendar(trigger.CalendarOptions{Months: 1, Hour: 18, StartText: "2026-01-31", Zone: time.UTC})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for range 3 {
		at, _ = t.Next(at)
		fmt.Println(at)
	}
	// Output:
	// 2026-03-31 18:00:00 +0000 UTC
	// 2026-05-31 18:00:00 +0000 UTC
	// 2026-07-31 18:00:00 +0000 UTC
}
