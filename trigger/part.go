package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// A Part is what an except or an only trigger holds its fire times against: the days of a calendar, or the fire times of another
// trigger. It is immutable.
type Part struct {
	days    *daycal.Calendar
	name    string // of a calendar that is kept elsewhere
	version int64  // it was resolved with
	trigger ruqi.Trigger
	fault   error // told by Bind
}

// Days returns a part that holds all instants of the days of a calendar, in the zone of the trigger that it is held against.
func Days(c *daycal.Calendar) Part {
	if c == nil {
		return Part{fault: ruqi.Invalid("", "", "no calendar")}
	}
	return Part{days: c}
}

// Named returns a part as Days does, with the calendar that a source knows by name now. In the trigger's JSON stands the name: whoever
// decodes it has the calendar as it is then.
func Named(source CalendarSource, name string) Part {
	p, err := resolve(source, name)
	if err != nil {
		return Part{name: name, fault: err}
	}
	return p
}

// Times returns a part that holds the fire times of a trigger, to the microsecond.
func Times(t ruqi.Trigger) Part {
	if t == nil {
		return Part{fault: ruqi.Invalid("", "", "no trigger")}
	}
	return Part{trigger: t}
}

// resolve asks a source for a calendar. An error that says nothing about the input wraps what the source said.
func resolve(source CalendarSource, name string) (Part, error) {
	switch {
	case name == "":
		return Part{}, ruqi.Invalid("/calendar", "", "empty; it is the name of a calendar")
	case source == nil:
		return Part{}, ruqi.Invalid("/calendar", name, "%q is the name of a calendar, and none are kept here; its days can be written in its place: {\"days\":{…}}", clip(name))
	}
	days, version, err := source.Calendar(name)
	switch {
	case errors.Is(err, ruqi.ErrNotFound):
		return Part{}, ruqi.Invalid("/calendar", name, "there is no calendar %q", clip(name))
	case err != nil:
		return Part{}, fmt.Errorf("calendar %q: %w", name, err)
	}
	return Part{days: days, name: name, version: version}, nil
}

// bind binds a trigger.
func (p Part) bind(b *binder, loc *time.Location) (Part, error) {
	if p.fault != nil {
		return p, p.fault
	}
	if p.trigger == nil {
		return p, nil
	}
	var err error
	p.trigger, err = b.part(p.trigger, loc)
	return p, err
}

// describe names what the part holds: days or a trigger, and what clock changes do to its times or not.
func (p Part) describe(in ruqi.Language, changes bool) string {
	switch {
	case p.trigger != nil:
		return describe(p.trigger, in, changes)
	case p.days == nil:
		return "?"
	case p.name == "":
		return p.days.Describe(in)
	case in == ruqi.Chinese:
		return "日历“" + p.name + "”的日期（" + p.days.Describe(in) + "）"
	}
	return "the days of calendar " + strconv.Quote(p.name) + " (" + p.days.Describe(in) + ")"
}

// MarshalJSON returns {"calendar":"name","version":3}, {"days":{…}}, or the trigger.
func (p Part) MarshalJSON() ([]byte, error) {
	switch {
	case p.fault != nil:
		return nil, p.fault
	case p.trigger != nil:
		return p.trigger.MarshalJSON()
	case p.name != "":
		return json.Marshal(struct {
			Calendar string `json:"calendar"`
			Version  int64  `json:"version"`
		}{p.name, p.version})
	}
	return json.Marshal(struct {
		Days *daycal.Calendar `json:"days"`
	}{p.days})
}

// part decodes one. The error is about the input, or wraps what the source of calendars said.
func (r reader) part(data []byte) (Part, error) {
	var faults ruqi.Faults
	o, err := object.Read(data, faults.Add)
	if err != nil {
		return Part{}, ruqi.Invalid("", string(data), "%v; it is a trigger, {\"calendar\":\"NAME\"} or {\"days\":{…}}", err)
	}
	var p Part
	switch {
	case o.Has("kind"):
		t, err := r.registry.DecodeTrigger(data)
		return Part{trigger: t}, err
	case o.Has("days"):
		raw, _ := o.Raw("days")
		days, err := daycal.Parse(plain(raw))
		faults.Merge("/days", err)
		p.days = days
		o.Done("days")
	case o.Has("calendar"):
		name, given := o.Text("calendar")
		planned, _ := o.Int("version")
		if planned < 0 {
			faults.Add("/version", strconv.FormatInt(planned, 10), "below zero")
		}
		o.Done("calendar", "version")
		if !given {
			break
		}
		p, err = resolve(r.source, name)
		if err != nil && !errors.Is(err, ruqi.ErrInvalid) {
			return Part{}, err
		}
		faults.Merge("", err)
		if p.version == 0 { // a source that knows the name alone: what was written is passed on
			p.version = planned
		}
	default:
		missing(o, &faults, string(data))
	}
	return p, faults.Err()
}

// missing says of a part that is none what it has in the place of what it should.
func missing(o *object.Object, faults *ruqi.Faults, data string) {
	var names []string
	for _, m := range o.Members() {
		if hint := object.DidYouMean(m.Name, "kind", "calendar", "days"); hint != "" {
			faults.Add(object.Pointer(m.Name), string(m.Value), "unknown member; accepted are kind, calendar and days%s", hint)
			return
		}
		names = append(names, clip(m.Name))
	}
	has := ""
	if names != nil {
		has = ", and has " + strings.Join(names[:min(3, len(names))], ", ") // enough to find it
	}
	faults.Add("", data, "it is a trigger, {\"calendar\":\"NAME\"} or {\"days\":{…}}%s", has)
}

// plain returns what a JSON text says, for the days that are written as an iCalendar file; any other JSON as it stands.
func plain(raw json.RawMessage) []byte {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}
