package trigger

import "github.com/ruqi-dev/ruqi/trigger/daycal"

// A CalendarSource knows calendars by name. Triggers that name one are resolved when they are decoded. It is asked by many
// goroutines at once, while jobs are locked: it answers from memory.
type CalendarSource interface {
	// Calendar returns the calendar that is stored under a name, and the version it is stored under: each change has
	// a greater one. An error that wraps ruqi.ErrNotFound says that there is none.
	Calendar(name string) (*daycal.Calendar, int64, error)
}
