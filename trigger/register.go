package trigger

import "github.com/ruqi-dev/ruqi"

// Register teaches a registry the kinds of this package: cron, interval and date.
// It panics if one of them is taken.
func Register(r *ruqi.Registry) {
	r.RegisterTrigger("cron", DecodeCron)
	r.RegisterTrigger("interval", DecodeInterval)
	r.RegisterTrigger("date", DecodeDate)
}
