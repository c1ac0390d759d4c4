package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
	"github.com/ruqi-dev/ruqi/wire"
)

// asksService is when a command about a trigger asks the service.
const asksService = "It needs no service, but for --job,\nand for the calendars that a trigger names and --calendar does not give."

// namedCalendars are those of one command: from files, else from the service, which is asked for each when a trigger names it.
type namedCalendars struct {
	given map[string]*daycal.Calendar
	named map[string]bool                          // by the trigger, in what could be read of it
	ask   func(name string) (ruqi.Calendar, error) // the service
	// err is what went wrong with the service or with what it sent, told in the place of what the trigger would say of it.
	err error
	// missing is set when the service has none of a name.
	missing bool
}

// calendars returns the calendars that a trigger may name, those of --calendar read.
func (f *triggerFlags) calendars(ctx context.Context, a *app) (*namedCalendars, error) {
	source := &namedCalendars{given: map[string]*daycal.Calendar{}, named: map[string]bool{}, ask: func(name string) (ruqi.Calendar, error) { return a.findCalendar(ctx, name) }}
	files := map[string][]string{}
	for _, text := range f.files {
		name, file, found := strings.Cut(text, "=")
		if !found || name == "" || file == "" {
			return nil, usage("--calendar: %q is not NAME=FILE", text)
		}
		files[name] = append(files[name], file) // several are the years of one calendar, as calendar put takes them
	}
	names := a.names
	for _, name := range slices.Sorted(maps.Keys(files)) {
		days, err := a.readCalendar(files[name])
		if err != nil {
			return nil, err
		}
		if source.given[name], err = daycal.Parse(days); err != nil {
			return nil, err
		}
	}
	a.names = names
	return source, nil
}

// Calendar implements trigger.CalendarSource.
func (s *namedCalendars) Calendar(name string) (*daycal.Calendar, int64, error) {
	s.named[name] = true
	if days, given := s.given[name]; given {
		return days, 0, nil
	}
	found, err := s.ask(name)
	if errors.Is(err, ruqi.ErrNotFound) {
		s.missing = true
		return nil, 0, err
	}
	if err == nil {
		var days *daycal.Calendar
		if days, err = daycal.Parse(found.Days); err == nil {
			return days, found.Version, nil
		}
		err = fmt.Errorf("the service's calendar %q cannot be read here: %w", name, err)
	}
	s.err = err
	return nil, 0, err
}

// checkUsed refuses calendars that were given and that the trigger does not name: one is often a name with a slip in it.
func (s *namedCalendars) checkUsed(faults *ruqi.Faults) {
	names := "it names none"
	if len(s.named) > 0 {
		names = "it names " + strings.Join(slices.Sorted(maps.Keys(s.named)), ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(s.given)) {
		if !s.named[name] {
			faults.Add("/flags/calendar", name, "the trigger names no calendar %q; %s", name, names)
		}
	}
}

// findCalendar asks the service for a calendar that a trigger names.
func (a *app) findCalendar(ctx context.Context, name string) (ruqi.Calendar, error) {
	c, err := a.connect()
	if err != nil {
		return ruqi.Calendar{}, err
	}
	defer c.Close()
	found, err := c.FindCalendar(ctx, name)
	if errors.Is(err, client.ErrUnreachable) {
		away := fmt.Sprintf("the trigger names the calendar %q, and no service answers at %s, which would have it: --server or RUQI_SERVER says where it is, and --calendar %s=FILE gives the days here",
			name, a.address(), name)
		return found, &statusError{cause: errors.New(away), status: exitUnreachable}
	}
	return found, err
}

// readJob asks the service for the trigger of a job, as it is stored there. The times that the command was given are read in its zone.
func (f *triggerFlags) readJob(ctx context.Context, a *app, source *namedCalendars, faults *ruqi.Faults) (ruqi.Trigger, error) {
	for _, flag := range []string{"trigger", "tz", "dialect", "gap", "fold", "start", "end", "seed"} {
		if f.cmd.Flags().Changed(flag) {
			faults.Add("/flags/"+flag, "", "it does not go with --job, whose trigger has its own")
		}
	}
	if faults.Err() != nil {
		return nil, nil
	}
	c, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	job, err := c.Job(ctx, f.job)
	if err != nil {
		return nil, err
	}
	var text json.RawMessage
	if job.Trigger != nil {
		if text, err = job.Trigger.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	registry := standard.Registry(standard.Options{Calendars: source})
	read, err := registry.DecodeTrigger(text)
	if err == nil || source.err != nil || source.missing {
		source.checkUsed(faults)
	}
	switch {
	case faults.Err() != nil:
		return nil, nil
	case source.err != nil:
		return nil, source.err
	case err != nil:
		return nil, fmt.Errorf("the trigger of job %s cannot be read: %v", f.job, err) // its faults are of no flag
	}
	f.decoded, f.location = true, wire.Zone(read)
	switch {
	case job.Parked != "":
		a.hint("job %s is parked: %s", job.ID, job.Parked)
	case job.State != ruqi.JobActive:
		a.hint("job %s is %s, and has no fires; these are what its trigger says", job.ID, job.State)
	}
	return read, nil
}

// hint says something beside the answer.
func (a *app) hint(format string, args ...any) {
	_, _ = fmt.Fprintln(a.Stderr, "ruqi: "+escape(fmt.Sprintf(format, args...))) // a hint only
}
