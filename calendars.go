package ruqi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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

	CalendarOperations
}

// A Calendar is a named calendar as it is kept.
type Calendar struct {
	// Name has 1 to 64 letters and digits of any script, and within it ".", "_" and "-".
	Name string
	// Version is the number of its last change; those of all calendars of a store are counted together.
	Version int64
	// Days is the set of its days, in the JSON form of package trigger/daycal. In a list it is left out.
	Days json.RawMessage
	// Updated is when it was last changed, on the store's clock.
	Updated time.Time
}

// A CalendarPage is one page of calendars, by name in byte order, without their days.
type CalendarPage struct {
	Calendars []Calendar
	// Next, as after, lists the page that follows; empty on the last.
	Next string
}

// What PutCalendar and RemoveCalendar may ask of the version that is there.
const (
	// AnyVersion: whatever is there, or nothing.
	AnyVersion int64 = 0
	// NoVersion: nothing is there yet.
	NoVersion int64 = -1
)

// CalendarOperations are what can be done with named calendars. A Scheduler does them on its store, client.Client over HTTP on a
// service. Errors wrap ErrInvalid, ErrNotFound, ErrExists, ErrVersion, ErrInUse, ErrConflict or ErrUnavailable.
type CalendarOperations interface {
	// FindCalendar returns one calendar with its days.
	FindCalendar(ctx context.Context, name string) (Calendar, error)
	// ListCalendars returns at most limit calendars (at most MaxPage; 0: DefaultPage) whose names are greater than after.
	ListCalendars(ctx context.Context, after string, limit int) (CalendarPage, error)
	// PutCalendar writes a calendar: Created, Replaced, or Kept when it has these days already. version is the one that must
	// be there, AnyVersion or NoVersion: else ErrVersion, or ErrExists. Jobs that use it are planned anew on every instance
	// within about a second.
	PutCalendar(ctx context.Context, name string, days json.RawMessage, version int64) (Calendar, Added, error)
	// RemoveCalendar removes a calendar at that version, or AnyVersion. A Scheduler refuses it while jobs use it: ErrInUse.
	RemoveCalendar(ctx context.Context, name string, version int64) error
}

var _ CalendarOperations = (*Scheduler)(nil)

// maxUsers is how many jobs are named that keep a calendar from being removed: enough to see which they are.
const maxUsers = 5

// errKeepsNone is the answer of a scheduler that was made without Options.Calendars.
var errKeepsNone = fmt.Errorf("this scheduler keeps no calendars (Options.Calendars): %w", ErrNotFound)

// LearnCalendars reads what other processes have changed of the calendars, for who decodes a trigger next. A running
// scheduler does so each second, and before it adds or changes a job.
func (s *Scheduler) LearnCalendars(ctx context.Context) error { return s.learn(ctx) }

// FindCalendar implements CalendarOperations.
func (s *Scheduler) FindCalendar(ctx context.Context, name string) (Calendar, error) {
	if s.options.Calendars == nil {
		return Calendar{}, errKeepsNone
	}
	return s.options.Calendars.FindCalendar(ctx, name)
}

// ListCalendars implements CalendarOperations.
func (s *Scheduler) ListCalendars(ctx context.Context, after string, limit int) (CalendarPage, error) {
	if s.options.Calendars == nil {
		return CalendarPage{}, nil
	}
	return s.options.Calendars.ListCalendars(ctx, after, limit)
}

// PutCalendar implements CalendarOperations. Planning its jobs anew begins at once on this instance when it runs, and within a second on
// the others. It is for each of them to do: if this process dies now, nothing is lost.
func (s *Scheduler) PutCalendar(ctx context.Context, name string, days json.RawMessage, version int64) (Calendar, Added, error) {
	if s.options.Calendars == nil {
		return Calendar{}, "", errKeepsNone
	}
	calendar, added, err := s.options.Calendars.PutCalendar(ctx, name, days, version)
	if err == nil && added != Kept {
		s.follower.wake()
	}
	return calendar, added, err
}

// RemoveCalendar implements CalendarOperations. A job that is added in the very moment in which its calendar goes is
// parked, and says why, until the calendar is there again or the job is changed.
func (s *Scheduler) RemoveCalendar(ctx context.Context, name string, version int64) error {
	if s.options.Calendars == nil {
		return errKeepsNone
	}
	if _, err := s.options.Calendars.FindCalendar(ctx, name); err != nil {
		return err
	}
	users, err := s.usersOf(ctx, name)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		more := ""
		if len(users) > maxUsers {
			users, more = users[:maxUsers], " and others"
		}
		return fmt.Errorf("calendar %q %w by the jobs %s%s; change or remove them first", name, ErrInUse, quoted(users), more)
	}
	err = s.options.Calendars.RemoveCalendar(ctx, name, version)
	if err == nil {
		s.follower.wake()
	}
	return err
}

// usersOf returns the first jobs that use a calendar, a few more than are told.
func (s *Scheduler) usersOf(ctx context.Context, name string) ([]string, error) {
	var users []string
	err := s.eachPage(ctx, func(recs []JobRecord) error {
		for i := range recs {
			if _, uses := plannedBy(&recs[i])[name]; uses {
				users = append(users, recs[i].ID)
			}
		}
		if len(users) > maxUsers {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return users, err
}

// errEnough ends a look through all jobs.
var errEnough = errors.New("enough")

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return strings.Join(list, ", ")
}
