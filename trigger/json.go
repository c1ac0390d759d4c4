package trigger

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// MarshalJSON returns the canonical encoding:
//
//	{"kind":"cron","expr":"30 2 * * mon-fri","dialect":"crontab","zone":"Europe/Berlin",
//	 "gap":"run_after","fold":"auto","start":null,"end":null}
//
// in one line; zone is null before Bind. An expression with H has a last member
// "seed" once it is bound. For a wrong trigger it returns the fault.
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
		Seed    string  `json:"seed,omitempty"`
	}{t.Kind(), t.expr.Text(), t.expr.Dialect(), t.zone.name(), t.gap, t.fold, start, end, t.seed})
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
	d, err := decodeObject(data, "cron")
	if err != nil {
		return nil, err
	}
	expr, given := d.Need("expr")
	t := newCron(expr, CronOptions{
		Dialect: d.text("dialect"), Seed: d.text("seed"), Zone: d.zone(),
		StartText: d.text("start"), EndText: d.text("end"),
		Gap: Gap(d.text("gap")), Fold: Fold(d.text("fold")),
	})
	if given {
		d.faults.Merge("", t.fault)
	}
	d.Done("kind", "expr", "dialect", "zone", "gap", "fold", "start", "end", "seed")
	if err := d.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// DecodeInterval reads the JSON form of an interval trigger. Only every is
// required; a member that is null counts as not given. The error is an
// *ruqi.InvalidError with every fault.
func DecodeInterval(data []byte) (ruqi.Trigger, error) {
	d, err := decodeObject(data, "interval")
	if err != nil {
		return nil, err
	}
	text, given := d.Need("every")
	every, err := duration.Parse(text)
	if err != nil && given {
		why, short := err.Error(), inShort(text)
		if short != "" {
			why, _, _ = strings.Cut(why, "; did you mean ") // it reads more words than a plain length does
		}
		d.faults.Add("/every", text, "%s%s", why, short)
	}
	t := newInterval(max(every, 0), IntervalOptions{
		Zone: d.zone(), StartText: d.text("start"), EndText: d.text("end"),
	})
	if fault := t.fault(); err == nil {
		d.faults.Merge("", fault)
	}
	if text = d.text("anchor"); text != "" {
		m, fault := parseMoment(text)
		switch {
		case fault == nil && !m.zoned || errors.Is(fault, errNoDate):
			d.faults.Add("/anchor", text, "%q is not an instant such as 2026-03-01T10:00:00+01:00", clip(text))
		case fault != nil:
			d.faults.Add("/anchor", text, "%q %v", clip(text), fault)
		case t.start != none:
			d.faults.Add("/anchor", text, "a trigger with a start is anchored there")
		default:
			t.anchor, _ = m.resolve(nil, "", "")
		}
	}
	d.Done("kind", "every", "anchor", "zone", "start", "end")
	if err := d.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// DecodeDate reads the JSON form of a date trigger. Only at is required; a zone
// that is null counts as not given. The error is an *ruqi.InvalidError with every
// fault.
func DecodeDate(data []byte) (ruqi.Trigger, error) {
	d, err := decodeObject(data, "date")
	if err != nil {
		return nil, err
	}
	text, given := d.Need("at")
	t, err := DateText(text, d.zone())
	if given {
		d.faults.Merge("", err)
	}
	d.Done("kind", "at", "zone")
	if err := d.faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// A decoder reads the members of a trigger.
type decoder struct {
	*object.Object
	faults ruqi.Faults
}

func decodeObject(data []byte, kind string) (*decoder, error) {
	d := &decoder{}
	var err error
	if d.Object, err = object.Read(data, d.faults.Add); err != nil {
		return nil, ruqi.Invalid("", string(data), "%v", err)
	}
	d.Kind(kind)
	return d, nil
}

// text returns a member that may be left out, and is not to be an empty text.
func (d *decoder) text(name string) string {
	text, given := d.Text(name)
	if given && text == "" {
		d.faults.Add("/"+name, "", "empty; leave it out, or null")
	}
	return text
}

// zone returns the member zone.
func (d *decoder) zone() *time.Location {
	name := d.text("zone")
	if name == "" {
		return nil
	}
	loc, err := LoadZone(name)
	d.faults.Merge("/zone", err)
	return loc
}
