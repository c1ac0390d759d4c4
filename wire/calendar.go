package wire

import (
	"encoding/json"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Calendar is a named calendar as the API shows it. Its read-only members may be sent back unchanged.
type Calendar struct {
	Name    string          `json:"name" readOnly:"true"`
	Version int64           `json:"version" readOnly:"true" doc:"The number of its last change, counted over all calendars; the ETag."`
	Days    json.RawMessage `json:"days,omitempty" doc:"The set of its days: an object with dates, weekdays, yearly, years, rules, union and without. Left out in a list."`
	Updated time.Time       `json:"updated_at" readOnly:"true"`
}

// FromCalendar returns the calendar's shape.
func FromCalendar(c ruqi.Calendar) Calendar {
	return Calendar{Name: c.Name, Version: c.Version, Days: c.Days, Updated: c.Updated.UTC()}
}

// Calendar returns the library's.
func (c Calendar) Calendar() ruqi.Calendar {
	return ruqi.Calendar{Name: c.Name, Version: c.Version, Days: c.Days, Updated: c.Updated.UTC()}
}

// FromCalendarPage returns the page's shape.
func FromCalendarPage(page ruqi.CalendarPage) Page[Calendar] {
	shape := Page[Calendar]{Items: make([]Calendar, 0, len(page.Calendars)), NextCursor: cursor(page.Next)}
	for _, c := range page.Calendars {
		shape.Items = append(shape.Items, FromCalendar(c))
	}
	return shape
}
