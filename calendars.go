package ruqi

import "context"

// A CalendarUse is a calendar by whose days a trigger goes.
type CalendarUse struct {
	// Name is the name under which the calendar is kept.
	Name string
	// Version is that of the days that the trigger has; 0: it has none yet, for it was made without a source of calendars.
	Version int64
}

// A CalendarUser is a Trigger that may go by calendars which are kept outside of it, under a name. It is a value all the same: it has the
// days that a calendar had when it was decoded, and Next answers by these. When a calendar changes, a Scheduler decodes the trigger
// anew and plans its job anew.
type CalendarUser interface {
	Trigger

	// Calendars returns the calendars that the trigger uses, those of its parts included, each once, in the order of their
	// names; nil: none.
	Calendars() []CalendarUse
}

// Calendars are the named calendars of a store, as a Scheduler sees them: calendar.Store is one. They may be asked by many goroutines.
//
// What is known of them is kept in memory, so that a trigger can be decoded within a step of a job store, which must not be
// waited in. Only Refresh asks the store.
type Calendars interface {
	// Refresh looks for changes, and returns the generation of what is known then. It takes one read of a
	// small record where nothing has changed. After an error what was known stays.
	Refresh(ctx context.Context) (generation int64, err error)
	// Generation returns the generation of what is known now: a number that grows with each change of any calendar.
	Generation() int64
	// Version returns the version under which a calendar is known; 0: there is none of that name. Versions of a name
	// only grow, also when a calendar is removed and another one takes its name.
	Version(name string) int64
}
