package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

const (
	calendarsPath = "/api/v1/calendars"
	calendarPath  = calendarsPath + "/{name}"
)

// CalendarRef names a calendar in the path. It has an exported name because huma looks into no other embedded structs.
type CalendarRef struct {
	Name string `path:"name" doc:"The calendar's name, percent-encoded."`
}

type listCalendars struct {
	Cursor string `query:"cursor" doc:"next_cursor of the page before."`
	Limit  int    `query:"limit" minimum:"1" default:"50" doc:"Items a page; more than 1000 is taken as 1000."`
}

type calendarPageAnswer struct{ Body wire.Page[wire.Calendar] }

type calendarAnswer struct {
	ETag string `header:"ETag"`
	Body wire.Calendar
}

type putCalendar struct {
	CalendarRef
	IfMatch     string `header:"If-Match" doc:"The ETag of the version to replace; * or none: any."`
	IfNoneMatch string `header:"If-None-Match" doc:"*: only if there is none of that name yet."`
	RawBody     []byte `contentType:"application/json"`
}

type putCalendarAnswer struct {
	Status   int
	Added    string `header:"Ruqi-Added" doc:"created, replaced, or kept: it had these days already."`
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     wire.Calendar
}

type removeCalendar struct {
	CalendarRef
	IfMatch string `header:"If-Match" doc:"The ETag of the version to remove; * or none: any."`
}

// registerCalendars adds the routes of named calendars, where the operations know of them.
func (a *api) registerCalendars() {
	calendars, can := a.Operations.(ruqi.CalendarOperations)
	if !can {
		return
	}
	register(a, huma.Operation{OperationID: "list-calendars", Method: http.MethodGet, Path: calendarsPath, Summary: "List calendars, without their days", Tags: []string{"calendars"}},
		func(ctx context.Context, in *listCalendars) (*calendarPageAnswer, error) {
			page, err := calendars.ListCalendars(ctx, in.Cursor, min(in.Limit, ruqi.MaxPage))
			if err != nil {
				return nil, err
			}
			return &calendarPageAnswer{Body: wire.FromCalendarPage(page)}, nil
		})
	register(a, huma.Operation{OperationID: "get-calendar", Method: http.MethodGet, Path: calendarPath, Summary: "Get a calendar", Tags: []string{"calendars"}},
		func(ctx context.Context, in *struct{ CalendarRef }) (*calendarAnswer, error) {
			calendar, err := calendars.FindCalendar(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			return &calendarAnswer{ETag: etag(calendar.Version), Body: wire.FromCalendar(calendar)}, nil
		})
	put := newBody("The calendar's days. Read-only members are passed over.")
	register(a, huma.Operation{
		OperationID: "put-calendar", Method: http.MethodPut, Path: calendarPath, Summary: "Write a calendar", Tags: []string{"calendars"},
		Description: "Jobs whose triggers name the calendar are planned anew, on every instance, within about a second. With the days that it has already nothing is changed.",
		RequestBody: put.RequestBody,
		Responses: map[string]*huma.Response{"201": {
			Description: "Created",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: a.schema(wire.Calendar{})}},
		}},
	}, func(ctx context.Context, in *putCalendar) (*putCalendarAnswer, error) {
		return a.putCalendar(ctx, calendars, in)
	})
	put.describe(a.input("CalendarDefinition", wire.Calendar{}, "days"), true, "application/json")
	register(a, huma.Operation{
		OperationID: "remove-calendar", Method: http.MethodDelete, Path: calendarPath, Summary: "Remove a calendar", Tags: []string{"calendars"},
		Description: "Refused with 409 while jobs use it; some of them are named.",
	}, func(ctx context.Context, in *removeCalendar) (*struct{}, error) {
		version, err := oneVersion(in.IfMatch)
		if err != nil {
			return nil, err
		}
		return nil, calendars.RemoveCalendar(ctx, in.Name, version)
	})
}

func (a *api) putCalendar(ctx context.Context, calendars ruqi.CalendarOperations, in *putCalendar) (*putCalendarAnswer, error) {
	version, err := oneVersion(in.IfMatch)
	if err != nil {
		return nil, err
	}
	switch strings.TrimSpace(in.IfNoneMatch) {
	case "":
	case "*":
		if version != ruqi.AnyVersion {
			return nil, malformed("/If-None-Match", "*", "does not go with If-Match")
		}
		version = ruqi.NoVersion
	default:
		return nil, malformed("/If-None-Match", cut(in.IfNoneMatch), "accepted is *")
	}
	days, err := readCalendar(in.Name, in.RawBody)
	if err != nil {
		return nil, err
	}
	calendar, added, err := calendars.PutCalendar(ctx, in.Name, days, version)
	if err != nil {
		return nil, err
	}
	out := &putCalendarAnswer{Status: http.StatusOK, Added: string(added), ETag: etag(calendar.Version), Body: wire.FromCalendar(calendar)}
	if added == ruqi.Created {
		out.Status, out.Location = http.StatusCreated, calendarsPath+"/"+url.PathEscape(calendar.Name)
	}
	return out, nil
}

// oneVersion reads an If-Match of one version.
func oneVersion(header string) (int64, error) {
	accepted, err := readIfMatch(header)
	switch {
	case err != nil || accepted == nil:
		return ruqi.AnyVersion, err
	case len(accepted) > 1:
		return 0, malformed("/If-Match", cut(header), "one ETag is wanted, or *")
	}
	version := slices.Collect(maps.Keys(accepted))[0]
	if version < 1 {
		return 0, fmt.Errorf("no calendar is at version %d: %w", version, ruqi.ErrVersion)
	}
	return version, nil
}

// readCalendar reads the days from the body.
func readCalendar(name string, data []byte) (json.RawMessage, error) {
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return nil, err
	}
	if given, ok := o.Text("name"); ok && given != name {
		faults.Add("/name", given, "the path names %q", name)
	}
	days, given := o.Raw("days")
	if !given {
		faults.Add("/days", "", "missing")
	} else if !bytes.HasPrefix(days, []byte("{")) {
		faults.Add("/days", cut(string(days)), "not an object")
	}
	for _, member := range []string{"version", "updated_at"} { // what was got can be put
		_, _ = o.Raw(member)
	}
	o.Done("name", "version", "days", "updated_at")
	return days, faults.Err()
}

// learner keeps calendars in memory; a *ruqi.Scheduler does.
type learner interface {
	LearnCalendars(ctx context.Context) error
}

// calendarMember is in every trigger that names a calendar.
var calendarMember = []byte(`"calendar"`)

// learn reads what has changed of the calendars before a body is read that may name one: another instance may have written it
// a moment ago.
func (a *api) learn(ctx context.Context, body []byte) error {
	if l, can := a.Operations.(learner); can && bytes.Contains(body, calendarMember) {
		return l.LearnCalendars(ctx)
	}
	return nil
}
