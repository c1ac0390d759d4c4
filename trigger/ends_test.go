package trigger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

// Triggers fire from 0001-01-02 to 9999-12-30 by UTC; the clocks of zones show the days before and after then, and calendars know these.
func TestDaysAreLeftOutAndMovedAtTheEndsOfTheYears(t *testing.T) {
	const radius = 6
	first, last := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC).Add(-time.Second).AddDate(0, 0, radius), time.Date(9999, 12, 30, 23, 59, 59, 0, time.UTC).AddDate(0, 0, -radius)
	for _, zone := range []string{"UTC", "Asia/Tokyo", "Pacific/Kiritimati", "America/New_York", "Pacific/Pago_Pago", "Etc/GMT+12"} {
		for _, expr := range []string{"0 3,8,20 * * *", "30 23 * * *", "0 */6 * * *"} {
			for _, around := range []time.Time{first, last} {
				for _, days := range []oracleDays{
					{dates: map[string]bool{"9999-12-30": true, "0001-01-02": true}},
					{dates: map[string]bool{"9999-12-31": true, "0001-01-01": true}},
					{weekdays: map[time.Weekday]bool{time.Friday: true, time.Monday: true}}, // 9999-12-31 and 0001-01-01
					{weekdays: map[time.Weekday]bool{time.Thursday: true, time.Tuesday: true}},
				} {
					for _, instead := range []trigger.Else{trigger.ElseSkip, trigger.ElseNext, trigger.ElsePrevious} {
						for _, keeps := range []bool{false, true} {
							c := oracleCase{zone: zone, expr: expr, around: around, held: []*oracleDays{&days}, keeps: keeps, instead: instead, radius: radius}
							t.Run(fmt.Sprint(zone, " ", expr, " ", around.Year(), " ", days.dates, days.weekdays, " ", instead, keeps), c.check)
						}
					}
				}
			}
		}
	}
}
