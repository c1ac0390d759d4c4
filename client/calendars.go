package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

var _ ruqi.CalendarOperations = (*Client)(nil)

func calendarRequest(method, name string) (request, error) {
	if name == "" || name == "." || name == ".." { // a path would lose it
		return request{}, ruqi.Invalid("/name", name, "no name of a calendar")
	}
	return request{method: method, path: "/calendars/" + url.PathEscape(name)}, nil
}

// FindCalendar implements ruqi.CalendarOperations.
func (c *Client) FindCalendar(ctx context.Context, name string) (ruqi.Calendar, error) {
	r, err := calendarRequest(http.MethodGet, name)
	if err != nil {
		return ruqi.Calendar{}, err
	}
	var shape wire.Calendar
	_, err = c.do(ctx, r, &shape)
	return shape.Calendar(), err
}

// ListCalendars implements ruqi.CalendarOperations.
func (c *Client) ListCalendars(ctx context.Context, after string, limit int) (ruqi.CalendarPage, error) {
	q := url.Values{}
	set(q, "cursor", after)
	setPage(q, 0, limit)
	var shape wire.Page[wire.Calendar]
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/calendars", query: q}, &shape); err != nil {
		return ruqi.CalendarPage{}, err
	}
	var page ruqi.CalendarPage
	for _, item := range shape.Items {
		page.Calendars = append(page.Calendars, item.Calendar())
	}
	if shape.NextCursor != nil {
		page.Next = *shape.NextCursor
	}
	return page, nil
}

// PutCalendar implements ruqi.CalendarOperations.
func (c *Client) PutCalendar(ctx context.Context, name string, days json.RawMessage, version int64) (ruqi.Calendar, ruqi.Added, error) {
	r, err := calendarRequest(http.MethodPut, name)
	if err != nil {
		return ruqi.Calendar{}, "", err
	}
	if !json.Valid(days) {
		return ruqi.Calendar{}, "", ruqi.Invalid("/days", "", "not JSON")
	}
	r.body = map[string]json.RawMessage{"days": days}
	switch version {
	case ruqi.AnyVersion:
	case ruqi.NoVersion:
		r.header = http.Header{"If-None-Match": {"*"}}
	default:
		r.header = ifMatch(version)
	}
	var shape wire.Calendar
	resp, err := c.do(ctx, r, &shape)
	if err != nil {
		return ruqi.Calendar{}, "", err
	}
	added := ruqi.Replaced
	switch {
	case resp.StatusCode == http.StatusCreated:
		added = ruqi.Created
	case resp.Header.Get("Ruqi-Added") == string(ruqi.Kept):
		added = ruqi.Kept
	}
	return shape.Calendar(), added, nil
}

// RemoveCalendar implements ruqi.CalendarOperations.
func (c *Client) RemoveCalendar(ctx context.Context, name string, version int64) error {
	r, err := calendarRequest(http.MethodDelete, name)
	if err != nil {
		return err
	}
	if version != ruqi.AnyVersion {
		r.header = ifMatch(version)
	}
	_, err = c.do(ctx, r, nil)
	return err
}
