package triggertest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger/triggertest"
)

// hourly is a correct trigger whose parts a test can replace by wrong ones. It
// fires at each full hour.
type hourly struct {
	Zone string `json:"zone"`

	next  func(h *hourly, after time.Time) (time.Time, bool)
	prev  func(h *hourly, before time.Time) (time.Time, bool)
	count func(h *hourly, after, until time.Time) int64
	json  func(h *hourly) string
	bind  func(h *hourly, zone string) *hourly
	end   time.Time
}

func (h *hourly) loc() *time.Location {
	loc, err := time.LoadLocation(h.Zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

func (h *hourly) Kind() string { return "hourly" }

func (h *hourly) Next(after time.Time) (time.Time, bool) {
	if h.next != nil {
		return h.next(h, after)
	}
	return h.right(after)
}

func (h *hourly) right(after time.Time) (time.Time, bool) {
	return after.UTC().Truncate(time.Hour).Add(time.Hour).In(h.loc()), true
}

func (h *hourly) Prev(before time.Time) (time.Time, bool) {
	if h.prev != nil {
		return h.prev(h, before)
	}
	return before.UTC().Add(-1).Truncate(time.Hour).In(h.loc()), true
}

func (h *hourly) Count(after, until time.Time) int64 {
	if h.count != nil {
		return h.count(h, after, until)
	}
	return max(0, until.UTC().Truncate(time.Hour).Unix()/3600-after.UTC().Truncate(time.Hour).Unix()/3600)
}

func (h *hourly) MarshalJSON() ([]byte, error) {
	if h.json != nil {
		return []byte(h.json(h)), nil
	}
	return fmt.Appendf(nil, `{"kind":"hourly","zone":%q}`, h.Zone), nil
}

func (h *hourly) Bind(zone *time.Location, _ time.Time, _ string) (ruqi.Trigger, error) {
	bound := *h
	if h.bind != nil {
		return h.bind(h, zone.String()), nil
	}
	if bound.Zone == "" {
		bound.Zone = zone.String()
	}
	return &bound, nil
}

func (h *hourly) EndTime() (time.Time, bool) { return h.end, !h.end.IsZero() }

func (h *hourly) Binding() (*time.Location, time.Time) { return h.loc(), time.Time{} }

func decode(data []byte) (ruqi.Trigger, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var form struct{ Kind, Zone string }
	if err := d.Decode(&form); err != nil {
		return nil, ruqi.Invalid("", string(data), "%v", err)
	}
	return &hourly{Zone: form.Zone}, nil
}

func TestASoundTriggerPasses(t *testing.T) {
	triggertest.Run(t, func() ruqi.Trigger { return &hourly{} }, decode)
}

func TestEveryPlantedFaultIsFoundByItsLaw(t *testing.T) {
	var mu sync.Mutex // guards calls
	calls := 0
	for _, c := range []struct {
		fault, law string
		trigger    hourly
		decode     func([]byte) (ruqi.Trigger, error)
	}{
		{"Next repeats the question", "strictly later", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			return after.Add(-1).UTC().Truncate(time.Hour).Add(time.Hour).In(h.loc()), true
		}}, nil},
		{"Next counts from the question", "is pure", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			return after.Add(time.Hour).Truncate(time.Microsecond).In(h.loc()), true
		}}, nil},
		{"Next has state", "is pure", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			at, ok := h.right(after)
			return at.Add(time.Duration(calls) * time.Microsecond), ok
		}}, nil},
		{"Next gives nanoseconds", "whole microseconds", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			at, ok := h.right(after.Add(-7))
			return at.Add(7), ok
		}}, nil},
		{"Next forgets the zone", "own zone", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			at, ok := h.right(after)
			return at.UTC(), ok
		}}, nil},
		{"Next takes its time", "bounded time", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			if after.Year() == 9999 {
				time.Sleep(2100 * time.Millisecond)
			}
			return h.right(after)
		}}, nil},
		{"Next says no and goes on", "never again", hourly{next: func(h *hourly, after time.Time) (time.Time, bool) {
			at, ok := h.right(after)
			return at, ok && after.Year() != 2026
		}}, nil},
		{"Prev gives the question", "strictly before", hourly{prev: func(h *hourly, before time.Time) (time.Time, bool) {
			return before.UTC().Truncate(time.Hour).In(h.loc()), true
		}}, nil},
		{"Prev leaves one out", "inverse of Next", hourly{prev: func(h *hourly, before time.Time) (time.Time, bool) {
			return before.UTC().Add(-time.Hour).Truncate(time.Hour).In(h.loc()), true
		}}, nil},
		{"Count counts the start", "Count agrees", hourly{count: func(h *hourly, after, until time.Time) int64 {
			return max(0, until.Unix()/3600-(after.Unix()-1)/3600) + 1
		}}, nil},
		{"the encoding lacks the kind", "member kind", hourly{json: func(h *hourly) string { return `{"zone":"` + h.Zone + `"}` }}, nil},
		{"the encoding has blanks", "canonical", hourly{json: func(h *hourly) string { return `{"kind": "hourly","zone":"` + h.Zone + `"}` }}, nil},
		{"the encoding loses the zone", "decoding keeps everything", hourly{}, func(data []byte) (ruqi.Trigger, error) {
			t, err := decode(data)
			if err == nil {
				t.(*hourly).Zone = "UTC"
			}
			return t, err
		}},
		{"decoding takes anything", "unknown members", hourly{}, func(data []byte) (ruqi.Trigger, error) {
			var form hourly
			if err := json.Unmarshal(data, &form); err != nil {
				return nil, ruqi.Invalid("", "", "%v", err)
			}
			return &form, nil
		}},
		{"Bind overrides the zone", "what was given stays", hourly{bind: func(h *hourly, zone string) *hourly {
			bound := *h
			bound.Zone = zone
			return &bound
		}}, nil},
		{"Next goes on after the end", "later than EndTime", hourly{end: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		{"Bind changes its receiver", "leaves its receiver", hourly{bind: func(h *hourly, zone string) *hourly {
			if h.Zone == "" {
				h.Zone = zone
			}
			return h
		}}, nil},
	} {
		broken := c.decode
		if broken == nil {
			broken = decode
		}
		err := triggertest.Check(func() ruqi.Trigger { fresh := c.trigger; return &fresh }, broken)
		if err == nil || !strings.Contains(err.Error(), c.law) {
			t.Errorf("%s: the suite says %v, want the law %q", c.fault, err, c.law)
		}
	}
}

// elapsed is an hourly that says it can be anchored anew, and forgets the zone.
type elapsed struct{ hourly }

func (e *elapsed) Reanchor(time.Time) (ruqi.Trigger, bool) { return &hourly{Zone: "UTC"}, true }

func (e *elapsed) Bind(zone *time.Location, _ time.Time, _ string) (ruqi.Trigger, error) {
	bound := *e
	if bound.Zone == "" {
		bound.Zone = zone.String()
	}
	return &bound, nil
}

func TestAWrongReanchorIsFound(t *testing.T) {
	err := triggertest.Check(func() ruqi.Trigger { return &elapsed{} }, decode)
	if err == nil || !strings.Contains(err.Error(), "as if it had been bound") {
		t.Errorf("the suite says %v", err)
	}
}

// racy counts its questions without a lock in a way the suite sees without the
// race detector, too: under load it answers wrongly.
type racy struct {
	hourly
	asking chan struct{}
}

func (r *racy) Next(after time.Time) (time.Time, bool) {
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
		time.Sleep(100 * time.Microsecond)
		return r.right(after)
	default: // someone else is asking
		return after.Add(time.Minute), true
	}
}

func (r *racy) Bind(*time.Location, time.Time, string) (ruqi.Trigger, error) { return r, nil }

func TestATriggerThatMindsCompanyIsFound(t *testing.T) {
	err := triggertest.Check(func() ruqi.Trigger {
		return &racy{hourly{Zone: "UTC"}, make(chan struct{}, 1)}
	}, decode)
	if err == nil || !strings.Contains(err.Error(), "many goroutines") {
		t.Errorf("the suite says %v", err)
	}
}
