package trigger

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// A binder makes one Bind of a trigger and of all that it is made of.
type binder struct {
	anchor time.Time
	seed   string
	// checks is the search for a fire time of each that may have none, a million questions for all of them.
	checks search
}

func newBinder(anchor time.Time, seed string) *binder {
	return &binder{anchor, seed, search{asks: maxSearches * maxAsks}}
}

// part binds a trigger that is part of another.
func (b *binder) part(t ruqi.Trigger, loc *time.Location) (ruqi.Trigger, error) {
	switch c := t.(type) {
	case bindable:
		return c.bindWith(b, loc)
	case ruqi.Binder:
		return c.Bind(loc, b.anchor, b.seed)
	}
	return t, nil
}

// list binds triggers that stand in the member name.
func (b *binder) list(name string, list []ruqi.Trigger, loc *time.Location) ([]ruqi.Trigger, error) {
	bound := make([]ruqi.Trigger, len(list))
	var faults ruqi.Faults
	for i, t := range list {
		var err error
		bound[i], err = b.part(t, loc)
		faults.Merge(object.Pointer(name, fmt.Sprint(i)), err)
	}
	return bound, faults.Err()
}

// mayFire is that of the search.
func (b *binder) mayFire(t ruqi.Trigger) bool { return b.checks.mayFire(t, b.anchor) }

// bindable is a trigger whose parts are bound together with it.
type bindable interface {
	bindWith(b *binder, loc *time.Location) (ruqi.Trigger, error)
}

// in binds parts in a zone of their own, or in a given one.
func (b *binder) in(z *zone, of []ruqi.Trigger, loc *time.Location) (*zone, []ruqi.Trigger, error) {
	var faults ruqi.Faults
	if z == nil {
		var err error
		z, err = zoneOf(loc)
		if faults.Merge("/zone", err); err != nil {
			return nil, nil, faults.Err()
		}
	}
	of, err := b.list("of", of, z.loc)
	return z, of, err
}
