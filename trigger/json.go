package trigger

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
)

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"cron","expr":"30 2 * * mon-fri","dialect":"crontab","zone":"Europe/Berlin",
//	 "gap":"run_after","fold":"auto","start":null,"end":null}
//
// in one line; zone is null before Bind. For a wrong trigger it returns the fault.
func (t *CronTrigger) MarshalJSON() ([]byte, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	start, end := t.span.texts(t.zone)
	return json.Marshal(struct {
		Kind    string  `json:"kind"`
		Expr    string  `json:"expr"`
		Dialect string  `json:"dialect"`
		Zone    *string `json:"zone"`
		Gap     Gap     `json:"gap"`
		Fold    Fold    `json:"fold"`
		Start   *string `json:"start"`
		End     *string `json:"end"`
	}{t.Kind(), t.expr.Text(), t.expr.Dialect(), t.zone.name(), t.gap, t.fold, start, end})
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"interval","every":"1m30s","anchor":"2026-03-01T10:00:00+01:00",
//	 "zone":"Europe/Berlin","start":null,"end":null}
//
// in one line; zone and anchor are null before Bind, anchor also when there is a
// start. For a wrong trigger it returns the fault.
func (t *IntervalTrigger) MarshalJSON() ([]byte, error) {
	if err := t.fault(); err != nil {
		return nil, err
	}
	l := limits{start: t.start, end: t.end}
	if t.open != nil {
		l.written = t.open.written
	}
	start, end := l.texts(t.zone)
	anchor, _ := limits{start: t.anchor, end: none}.texts(t.zone)
	return json.Marshal(struct {
		Kind   string  `json:"kind"`
		Every  string  `json:"every"`
		Anchor *string `json:"anchor"`
		Zone   *string `json:"zone"`
		Start  *string `json:"start"`
		End    *string `json:"end"`
	}{t.Kind(), duration.Format(t.Every()), anchor, t.zone.name(), start, end})
}

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"date","at":"2026-03-01T10:00:00+01:00","zone":"Europe/Berlin"}
//
// zone is null before Bind. For a wrong trigger it returns the fault.
func (t *DateTrigger) MarshalJSON() ([]byte, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	return json.Marshal(struct {
		Kind string  `json:"kind"`
		At   string  `json:"at"`
		Zone *string `json:"zone"`
	}{t.Kind(), t.text(), t.zone.name()})
}

func (z *zone) name() *string {
	if z == nil {
		return nil
	}
	name := z.loc.String()
	return &name
}

// DecodeCron reads the JSON form of a cron trigger. Only expr is required; a member
// that is null counts as not given. The error is an *ruqi.InvalidError with every
// fault.
func DecodeCron(data []byte) (ruqi.Trigger, error) {
	o, err := readObject(data, "cron", "expr", "dialect", "zone", "gap", "fold", "start", "end")
	if err != nil {
		return nil, err
	}
	expr := o.text("expr", true)
	t := newCron(expr, CronOptions{
		Dialect: o.text("dialect", false), Zone: o.zone(),
		StartText: o.text("start", false), EndText: o.text("end", false),
		Gap: Gap(o.text("gap", false)), Fold: Fold(o.text("fold", false)),
	})
	if o.given("expr") {
		o.faults.Merge("", t.fault)
	}
	if err := o.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// DecodeInterval reads the JSON form of an interval trigger. Only every is
// required; a member that is null counts as not given. The error is an
// *ruqi.InvalidError with every fault.
func DecodeInterval(data []byte) (ruqi.Trigger, error) {
	o, err := readObject(data, "interval", "every", "anchor", "zone", "start", "end")
	if err != nil {
		return nil, err
	}
	text := o.text("every", true)
	every, err := duration.Parse(text)
	if err != nil && o.given("every") {
		o.faults.Add("/every", text, "%v", err)
	}
	t := newInterval(max(every, 0), IntervalOptions{
		Zone: o.zone(), StartText: o.text("start", false), EndText: o.text("end", false),
	})
	if fault := t.fault(); err == nil {
		o.faults.Merge("", fault)
	}
	if text = o.text("anchor", false); text != "" {
		m, ok := parseMoment(text)
		switch {
		case !ok || !m.zoned:
			o.faults.Add("/anchor", text, "%q is not an instant such as 2026-03-01T10:00:00+01:00", clip(text))
		case t.start != none:
			o.faults.Add("/anchor", text, "a trigger with a start is anchored there")
		default:
			t.anchor, _ = m.resolve(nil, "", "")
		}
	}
	if err := o.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// DecodeDate reads the JSON form of a date trigger. Only at is required; a zone
// that is null counts as not given. The error is an *ruqi.InvalidError with every
// fault.
func DecodeDate(data []byte) (ruqi.Trigger, error) {
	o, err := readObject(data, "date", "at", "zone")
	if err != nil {
		return nil, err
	}
	t, err := DateText(o.text("at", true), o.zone())
	if o.given("at") {
		o.faults.Merge("", err)
	}
	if err := o.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// An object is a JSON object whose members are known by name.
type object struct {
	members map[string]json.RawMessage
	faults  ruqi.Faults
}

// readObject reads one object; members beside kind and the accepted ones, and
// members that stand twice, are noted as faults.
func readObject(data []byte, kind string, accepted ...string) (*object, error) {
	o := &object{members: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, ruqi.Invalid("", string(data), "not a JSON object")
	}
	for d.More() {
		token, err := d.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil || !isName {
			return nil, ruqi.Invalid("", string(data), "not valid JSON: %v", err)
		}
		_, twice := o.members[name]
		switch {
		case name != "kind" && !slices.Contains(accepted, name):
			o.faults.Add(pointer(name), string(value), "unknown member; accepted are kind, %s", strings.Join(accepted, ", "))
		case twice:
			o.faults.Add(pointer(name), string(value), "stands twice")
		}
		o.members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, ruqi.Invalid("", string(data), "not valid JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, ruqi.Invalid("", string(data), "there is more than one JSON value")
	}
	if got := o.text("kind", true); got != kind && o.given("kind") {
		o.faults.Add("/kind", got, "%q is not %q", clip(got), kind)
	}
	return o, nil
}

// pointer returns the JSON pointer of a member.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// given reports whether a member is there as a text; else what is wrong with it has
// been noted.
func (o *object) given(name string) bool {
	value, ok := o.members[name]
	return ok && len(value) > 0 && value[0] == '"'
}

// text returns a member that is a text, "" when it is missing or null, and notes
// any other value, and a required one that is missing or empty.
func (o *object) text(name string, required bool) string {
	value, there := o.members[name]
	if !there || string(value) == "null" {
		if required {
			o.faults.Add(pointer(name), "", "missing")
		}
		return ""
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		o.faults.Add(pointer(name), string(value), "not a text")
		return ""
	}
	if text == "" && !required {
		o.faults.Add(pointer(name), "", "empty; leave it out, or null")
	}
	return text
}

// zone returns the member zone.
func (o *object) zone() *time.Location {
	name := o.text("zone", false)
	if name == "" {
		return nil
	}
	loc, err := LoadZone(name)
	o.faults.Merge("/zone", err)
	return loc
}
