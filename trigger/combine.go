package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// What triggers made of triggers may be.
const (
	maxNesting = 8   // triggers within triggers; what people write has two or three
	maxParts   = 100 // triggers and calendars in all: each question asks them all
	// maxBrackets bounds the nesting of the JSON before it is taken apart: a trigger within a trigger takes two
	// brackets, and a calendar has a few of its own.
	maxBrackets = 64
)

// wholeMicros returns an instant's microseconds; false for one between two of them, at which nothing fires.
func wholeMicros(at time.Time) (int64, bool) {
	micros, ok := fromTime(at)
	return micros, ok && at.Nanosecond()%1000 == 0
}

// zoneIn returns the zone that a trigger has been given; nil when it has none.
func zoneIn(t ruqi.Trigger) *zone {
	b, ok := t.(ruqi.Bound)
	if !ok {
		return nil
	}
	loc, _ := b.Binding()
	if loc == nil {
		return nil
	}
	z, err := zoneOf(loc)
	if err != nil {
		return newZone(loc) // of a trigger from elsewhere, whose zone has no name
	}
	return z
}

// anchorIn returns the first anchor that one of the triggers was bound with.
func anchorIn(all []ruqi.Trigger) time.Time {
	for _, t := range all {
		if b, ok := t.(ruqi.Bound); ok {
			if _, anchor := b.Binding(); !anchor.IsZero() {
				return anchor
			}
		}
	}
	return time.Time{}
}

// reanchorList moves all triggers of a list to an anchor. ok is false when one of them does not count elapsed time, or not from
// an anchor.
func reanchorList(list []ruqi.Trigger, anchor time.Time) (moved []ruqi.Trigger, ok bool) {
	for _, t := range list {
		e, ok := t.(ruqi.Elapser)
		if !ok {
			return nil, false
		}
		m, ok := e.Reanchor(anchor)
		if !ok {
			return nil, false
		}
		moved = append(moved, m)
	}
	return moved, true
}

// A composite is a trigger that is made of others.
type composite interface {
	ruqi.Trigger
	// parts returns the triggers and calendars it is made of.
	parts() (triggers []ruqi.Trigger, calendars []Part)
}

// measure returns how deep a trigger is nested, and of how many parts it is made.
func measure(t ruqi.Trigger) (depth, parts int) {
	c, ok := t.(composite)
	if !ok {
		return 1, 1
	}
	triggers, calendars := c.parts()
	for _, inner := range triggers {
		d, n := measure(inner)
		depth, parts = max(depth, d), parts+n
	}
	return depth + 1, parts + len(calendars) + 1
}

// checkParts refuses what a composite cannot be made of; pointer names the place of each.
func checkParts(c composite, pointer func(i int) string, faults *ruqi.Faults) {
	triggers, _ := c.parts()
	for i, t := range triggers {
		if t == nil {
			faults.Add(pointer(i), "", "missing")
			return
		}
		if s, ok := t.(ruqi.Starter); ok && s.OnStart() {
			faults.Add(pointer(i), fmt.Sprint(t), "%v stands for no time, and so is no part of another trigger", t)
		}
	}
	switch depth, parts := measure(c); {
	case depth > maxNesting:
		faults.Add("", "", "triggers are nested %d deep; %d are the most", depth, maxNesting)
	case parts > maxParts:
		faults.Add("", "", "a trigger of %d parts; %d are the most", parts, maxParts)
	}
}

// listPointer names the places of a list.
func listPointer(name string) func(int) string {
	return func(i int) string { return object.Pointer(name, fmt.Sprint(i)) }
}

// describe describes a trigger, and says what clock changes do to it or leaves that out.
func describe(t ruqi.Trigger, in ruqi.Language, changes bool) string {
	if own, ok := t.(interface {
		describe(in ruqi.Language, changes bool) string
	}); ok {
		return own.describe(in, changes)
	}
	return Describe(t, in)
}

// describeList describes several.
func describeList(list []ruqi.Trigger, in ruqi.Language, changes bool, between string) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = describe(t, in, changes)
	}
	return strings.Join(texts, between)
}

// explainPart says why a trigger does not fire at an instant; the rulings' parts stand below path. Nothing when it does.
func explainPart(t ruqi.Trigger, at time.Time, in ruqi.Language, path string) []ruqi.Ruling {
	rulings := Explain(t, at, in)
	below := make([]ruqi.Ruling, len(rulings))
	for i, r := range rulings {
		below[i] = ruqi.Ruling{Part: path + "/" + r.Part, Message: r.Message}
	}
	return below
}

// textOf is the canonical text of a composite: its canonical JSON.
func textOf(t ruqi.Trigger) string {
	text, err := t.MarshalJSON()
	if err != nil {
		return "invalid"
	}
	return string(text)
}

// parseComposite reads the JSON of a composite, or of a kind of the registry, that a user typed. A zone is one for those of its parts that
// have none; one of another kind gets it when it is bound.
func parseComposite(kind, text string, loc *time.Location, registry *ruqi.Registry) (ruqi.Trigger, error) {
	if registry == nil {
		registry = ruqi.NewRegistry()
		Register(registry)
	}
	t, err := registry.DecodeTrigger([]byte(text))
	if err != nil {
		return nil, err
	}
	if t.Kind() != kind {
		return nil, ruqi.Invalid("/kind", t.Kind(), "it is of kind %s, not %s", t.Kind(), kind)
	}
	if loc == nil {
		return t, nil
	}
	z, err := zoneOf(loc)
	if err != nil {
		return nil, err
	}
	switch c := t.(type) {
	case *AnyTrigger:
		if c.zone == nil {
			c.zone = z
		}
	case *AllTrigger:
		if c.zone == nil {
			c.zone = z
		}
	case *ExceptTrigger, *OnlyTrigger:
		if zoneIn(t) == nil {
			return nil, ruqi.Invalid("/zone", loc.String(), "a trigger of kind %s lives in the zone of what stands in \"of\"; give it there", kind)
		}
	}
	return t, nil
}

// A reader decodes triggers that are made of others.
type reader struct {
	registry *ruqi.Registry
	source   CalendarSource
}

// object begins to read a trigger.
func (r reader) object(data []byte, kind string) (*decoder, error) {
	if brackets(data) > maxBrackets {
		return nil, ruqi.Invalid("", string(data), "nested more than %d brackets deep", maxBrackets)
	}
	return decodeObject(data, kind)
}

// brackets returns how deep a JSON text is nested.
func brackets(data []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// member decodes the trigger in the member name. An error that says nothing about the input is returned.
func (r reader) member(d *decoder, name string) (ruqi.Trigger, error) {
	raw, ok := d.Raw(name)
	if !ok {
		d.faults.Add(object.Pointer(name), "", "missing")
		return nil, nil
	}
	t, err := r.registry.DecodeTrigger(raw)
	if err != nil && !errors.Is(err, ruqi.ErrInvalid) {
		return nil, err
	}
	d.faults.Merge(object.Pointer(name), err)
	return t, nil
}

// items returns the elements of a list that has some.
func (r reader) items(d *decoder, name, of string) []json.RawMessage {
	raw, ok := d.Raw(name)
	if !ok {
		d.faults.Add(object.Pointer(name), "", "missing")
		return nil
	}
	var list []json.RawMessage
	switch err := json.Unmarshal(raw, &list); {
	case err != nil:
		d.faults.Add(object.Pointer(name), string(raw), "not a list of %s", of)
	case len(list) == 0:
		d.faults.Add(object.Pointer(name), "", "empty; it takes at least one")
	case len(list) > maxParts:
		d.faults.Add(object.Pointer(name), "", "%d of them; %d are the most", len(list), maxParts)
	default:
		return list
	}
	return nil
}

// list decodes the triggers in the member name. The error is one that says nothing about the input.
func (r reader) list(d *decoder, name string) (list []ruqi.Trigger, err error) {
	for i, item := range r.items(d, name, "triggers") {
		t, err := r.registry.DecodeTrigger(item)
		if err != nil && !errors.Is(err, ruqi.ErrInvalid) {
			return nil, err
		}
		d.faults.Merge(object.Pointer(name, fmt.Sprint(i)), err)
		list = append(list, t)
	}
	return list, nil
}

// listJSON is the canonical form of any and all.
func listJSON(kind string, z *zone, of []ruqi.Trigger) ([]byte, error) {
	texts := make([]json.RawMessage, len(of))
	for i, t := range of {
		text, err := t.MarshalJSON()
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return json.Marshal(struct {
		Kind string            `json:"kind"`
		Zone *string           `json:"zone"`
		Of   []json.RawMessage `json:"of"`
	}{kind, z.name(), texts})
}
