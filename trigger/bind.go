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
	// asks is what is left for the searches that look whether each part ever fires.
	asks int
}

// bindAsks is how many questions these put together, some 0.3 s. One takes half of what is left at most: to go through 400 years of two
// triggers that fire each day takes 600,000.
const bindAsks = 2_000_000

func newBinder(anchor time.Time, seed string) *binder { return &binder{anchor, seed, bindAsks} }

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

// mayFire reports whether a trigger ever fires: yes when that is not found out.
func (b *binder) mayFire(t ruqi.Trigger) bool {
	q := search{asks: b.asks / 2}
	given := q.asks
	may := q.mayFire(t, b.anchor)
	b.asks -= given - q.asks
	return may
}

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
