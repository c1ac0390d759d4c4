// Package calendar keeps named calendars beside the jobs that use them: the holidays of a country, the days on which a team does
// not work. Triggers name them, and a scheduler plans jobs anew when one changes:
//
//	store := sqlite…                             // a ruqi.JobStore, which keeps records too
//	calendars := calendar.New(store)
//	registry := ruqi.NewRegistry()
//	trigger.RegisterWith(registry, calendars)    // in place of trigger.Register
//	scheduler, err := ruqi.New(store, registry, ruqi.Options{Calendars: calendars})
//	…
//	scheduler.PutCalendar(ctx, "holidays", []byte(`{"yearly": ["--12-25"]}`), ruqi.AnyVersion)
//	job.Trigger, err = registry.DecodeTrigger([]byte(`{"kind":"except", "of":{…}, "not":[{"calendar":"holidays"}]}`))
//
// # How they are kept
//
// Each calendar is a record of kind "calendar" under its name. One more record, the index, names the version of each; it is
// written in the same step as they are, and its own version, which only ever grows, is that of the calendar that was
// written with it. So a version is never used twice, also when a calendar is removed and another takes its name; and whoever looks for
// changes reads one small record.
package calendar
