package trigger

import "github.com/ruqi-dev/ruqi"

// Register teaches a registry the kinds of this package: cron, interval, date, any, all, except and only. Triggers that name a
// calendar are refused; see RegisterWith. It panics if one of the kinds is taken.
func Register(r *ruqi.Registry) { RegisterWith(r, nil) }

// RegisterWith is Register with a source of the calendars that triggers name.
func RegisterWith(r *ruqi.Registry, source CalendarSource) {
	r.RegisterTrigger("cron", DecodeCron)
	r.RegisterTrigger("interval", DecodeInterval)
	r.RegisterTrigger("date", DecodeDate)
	parts := reader{r, source}
	r.RegisterTrigger("any", parts.any)
	r.RegisterTrigger("all", parts.all)
	r.RegisterTrigger("except", parts.except)
	r.RegisterTrigger("only", parts.only)
}
