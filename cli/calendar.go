package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
	"github.com/ruqi-dev/ruqi/wire"
)

// elsewhere takes every name of a calendar, whose days the service alone knows, so that files which name one can be checked here.
type elsewhere struct{}

// Calendar returns an empty calendar.
func (elsewhere) Calendar(string) (*daycal.Calendar, int64, error) { return &daycal.Calendar{}, 0, nil }

func (a *app) calendarCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "calendar", Aliases: []string{"calendars"}, Short: "See and change the calendars that triggers name",
		Long: "Calendars are sets of days, such as the holidays of a country, that the triggers of several jobs name:\n" +
			"{\"kind\": \"except\", \"of\": {…}, \"not\": [{\"calendar\": \"holidays\"}]}. When one changes, the jobs that use it are planned anew.",
	}
	cmd.AddCommand(
		a.calendarListCommand(),
		&cobra.Command{
			Use: "get NAME", Aliases: []string{"show"}, Short: "Show a calendar's days, as put takes them", Args: exactly("a name"),
			RunE: a.withClient(func(ctx context.Context, c *client.Client, args []string) error {
				calendar, err := c.FindCalendar(ctx, args[0])
				if err != nil {
					return err
				}
				if a.output == "json" {
					return a.printJSON(wire.FromCalendar(calendar))
				}
				return a.printJSON(calendar.Days)
			}),
		},
		a.calendarPutCommand(),
		&cobra.Command{
			Use: "remove NAME…", Aliases: []string{"rm"}, Short: "Remove calendars that no job uses", Args: someNames,
			RunE: a.withClient(func(ctx context.Context, c *client.Client, names []string) error {
				return each(names, func(name string) error {
					if err := c.RemoveCalendar(ctx, name, ruqi.AnyVersion); err != nil {
						return err
					}
					return a.print("removed %s\n", escape(name))
				})
			}),
		},
	)
	return group(cmd)
}

// someNames wants at least one argument, none of them empty.
func someNames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("%s wants at least one name", cmd.CommandPath())
	}
	for _, arg := range args {
		if arg == "" {
			return usage("%s: a name is empty", cmd.CommandPath())
		}
	}
	return nil
}

func (a *app) calendarListCommand() *cobra.Command {
	var p paging
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List calendars", Args: exactly()}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.check(cmd.Flags()); err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
			all, next, err := list(p, func(cursor string, limit int) ([]ruqi.Calendar, string, error) {
				page, err := c.ListCalendars(ctx, cursor, limit)
				return page.Calendars, page.Next, err
			})
			if err != nil {
				return err
			}
			if a.output == "json" {
				return a.printJSON(wire.FromCalendarPage(ruqi.CalendarPage{Calendars: all, Next: next}))
			}
			t := &table{}
			t.row("NAME", "VERSION", "CHANGED")
			for _, calendar := range all {
				t.row(calendar.Name, fmt.Sprint(calendar.Version), clock(seconds(&calendar.Updated), ruqi.HostZone()))
			}
			a.more(next)
			return a.printTable(t)
		})(cmd, args)
	}
	p.register(cmd.Flags())
	return cmd
}

func (a *app) calendarPutCommand() *cobra.Command {
	var ifVersion int64
	var onlyNew bool
	cmd := &cobra.Command{
		Use: "put NAME FILE…", Short: "Write a calendar from a file",
		Long: "Writes a calendar, in the place of one of that name. FILE is JSON or YAML with the members dates, weekdays, yearly, years, rules, union and\n" +
			"without; an iCalendar file (.ics), of which each event is a day off; or the published holidays and make-up working days of China, one file\n" +
			"for each year, of which several may be given. \"-\" is standard input. Jobs that use the calendar are planned anew, unless its days are what they were.",
		Example: "  ruqi calendar put holidays holidays.yaml\n  ruqi calendar put de-by bavaria.ics\n  ruqi calendar put cn 2025.json 2026.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("%s wants a name and a file", cmd.CommandPath())
			}
			return someNames(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			version := ruqi.AnyVersion
			switch given := cmd.Flags().Changed("if-version"); {
			case given && onlyNew:
				return usage("--if-version and --new do not go together")
			case given && ifVersion < 1:
				return usage("--if-version: %d is no version", ifVersion)
			case given:
				version = ifVersion
			case onlyNew:
				version = ruqi.NoVersion
			}
			days, err := a.readCalendar(args[1:])
			if err != nil {
				return err
			}
			return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
				return a.putCalendar(ctx, c, args[0], days, version)
			})(cmd, args)
		},
	}
	cmd.Flags().Int64Var(&ifVersion, "if-version", 0, "only if the calendar is at this `version`")
	cmd.Flags().BoolVar(&onlyNew, "new", false, "only if there is none of that name")
	return cmd
}

func (a *app) putCalendar(ctx context.Context, c *client.Client, name string, days json.RawMessage, version int64) error {
	calendar, added, err := c.PutCalendar(ctx, name, days, version)
	switch {
	case errors.Is(err, ruqi.ErrExists):
		return &plainError{err}
	case err != nil:
		return err
	case a.output == "json":
		return a.printJSON(wire.FromCalendar(calendar))
	}
	said := string(added)
	if added == ruqi.Kept {
		said = string(unchanged) // as apply says it
	}
	return a.print("%s %s: version %d\n", said, escape(calendar.Name), calendar.Version)
}

// A plainError is told as it is, without the advice that is for jobs.
type plainError struct{ cause error }

func (e *plainError) Error() string { return e.cause.Error() }

// readCalendar reads the days of a calendar from files, in their canonical form.
func (a *app) readCalendar(files []string) (json.RawMessage, error) {
	texts := make([][]byte, len(files))
	for i, name := range files {
		data, err := a.readInput(name)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(filepath.Ext(name), ".ics") && !isCalendarFile(data) && !beginsJSON(withoutMark(data)) {
			return nil, usage("%s: not an iCalendar file: it does not begin with BEGIN:VCALENDAR", shownInput(name))
		}
		if texts[i], err = asJSON(name, data); err != nil {
			return nil, usage("%s: %v", shownInput(name), err)
		}
	}
	text, shown := texts[0], shownInput(files[0])
	if len(files) > 1 {
		text, shown = append(append([]byte("["), bytes.Join(texts, []byte(","))...), ']'), strings.Join(files, ", ")
		if !json.Valid(text) {
			return nil, usage("%s: several files are one calendar only where each has the holidays of a year, in JSON", shown)
		}
	}
	calendar, err := daycal.Parse(text)
	if err != nil {
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) {
			return nil, usage("%s: %v", shown, err)
		}
		a.names = func(pointer string) string {
			return strings.TrimSuffix(shown+": "+strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."), ": ")
		}
		return nil, err
	}
	return calendar.MarshalJSON()
}

// asJSON turns YAML into JSON; what is not YAML by its name and its first byte stays as it is.
func asJSON(name string, data []byte) ([]byte, error) {
	text := withoutMark(data)
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case ext == ".yaml" || ext == ".yml":
	case ext == ".json" || ext == ".ics", beginsJSON(text), isCalendarFile(data):
		return data, nil
	}
	return yaml.YAMLToJSON(data)
}

// withoutMark is a text without the mark of its byte order, which some programs put in front, and blanks around it.
func withoutMark(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
}

// isCalendarFile reports whether a text is an iCalendar file, by how it begins.
func isCalendarFile(data []byte) bool {
	const begin = "BEGIN:VCALENDAR"
	text := withoutMark(data)
	return len(text) >= len(begin) && strings.EqualFold(string(text[:len(begin)]), begin)
}

func beginsJSON(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("["))
}
