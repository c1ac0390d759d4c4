package ruqi

import (
	"context"
	"time"
)

// InstanceLost is the State that Scheduler.Instances gives an instance whose lease has ended: it has died, or cannot reach
// the store. No store keeps it.
const InstanceLost = "lost"

// An InstanceList is the instances that share a store, by name, at a moment on the store's clock.
type InstanceList struct {
	Instances []Instance
	// Now is that moment: what ages of heartbeats and what is left of leases count from. It is as exact as the
	// asked instance knows the store's clock, within some milliseconds as a rule, and, while that clock
	// is being set, within one heartbeat.
	Now time.Time
}

// Alive reports whether the instance's lease holds at now, a time on the store's clock.
func (i *Instance) Alive(now time.Time) bool { return i.Lease > 0 && i.LeaseUntil.After(now) }

// Instances lists the instances that share the store, by name, this one included once it has started. One whose lease has
// ended is in the state InstanceLost, whatever it last said of itself.
func (s *Scheduler) Instances(ctx context.Context) (InstanceList, error) {
	instances, err := s.store.Instances(ctx)
	if err != nil {
		return InstanceList{}, err
	}
	list := InstanceList{Instances: instances, Now: s.storeNow(instances)}
	for i := range instances {
		if !instances[i].Alive(list.Now) {
			instances[i].State = InstanceLost
		}
	}
	return list, nil
}

// storeNow is the store's clock, as well as it is known without asking: what the last heartbeat said and the time that
// has passed since, by the monotonic clock, which nobody sets. It is never before the last beat of any instance. Where this one
// has never beaten, its own clock must do.
func (s *Scheduler) storeNow(instances []Instance) time.Time {
	now, known := s.lease.storeNow()
	if !known {
		now = s.options.Now()
	}
	for i := range instances {
		if instances[i].Beat.After(now) {
			now = instances[i].Beat
		}
	}
	return micro(now)
}
