package trigger

import "github.com/ruqi-dev/ruqi"

// Register teaches a registry the kinds of this package: cron, interval, date,
// calendar and every. It panics if one of them is taken.
func Register(r *ruqi.Registry) {
	r.RegisterTrigger("cron", DecodeCron)
	r.RegisterTrigger("interval", DecodeInterval)
	r.RegisterTrigger("date", DecodeDate)
	r.RegisterTrigger("calendar", DecodeCalendar)
	r.RegisterTrigger("every", DecodeEvery)
}
