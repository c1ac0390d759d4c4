package ruqi

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

// usedZones are the zones that this instance computes fire times with, and hashes of what it knows of them.
type usedZones struct {
	mu    sync.Mutex // guards all
	locs  map[string]*time.Location
	sums  map[string]string // by name, of those that were hashed
	text  string            // of sums, as it is told
	stale bool              // text is older than sums
}

// mostZones bounds what an instance tells of its zones: few programs have more, and a name and its hash take 30 bytes of each heartbeat.
const mostZones = 100

// sumsAtOnce bounds the zones that are hashed for one heartbeat: each takes up to a millisecond.
const sumsAtOnce = 16

// note remembers the zone of a trigger.
func (u *usedZones) note(t Trigger) {
	if bound, ok := t.(Bound); ok {
		loc, _ := bound.Binding()
		u.add(loc)
	}
}

func (u *usedZones) add(loc *time.Location) {
	if loc == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.locs[loc.String()]; known || len(u.locs) >= mostZones {
		return
	}
	if u.locs == nil {
		u.locs, u.sums = map[string]*time.Location{}, map[string]string{}
	}
	u.locs[loc.String()] = loc
}

// String returns NAME=HASH of each zone, in the order of the names, with a blank between them.
func (u *usedZones) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	left := sumsAtOnce
	for name, loc := range u.locs {
		if _, done := u.sums[name]; done {
			continue
		}
		if left--; left < 0 {
			break // with the next heartbeat
		}
		u.sums[name], u.stale = zonetable.Sum(loc), true
	}
	if u.stale {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(u.sums)) {
			list = append(list, name+"="+u.sums[name])
		}
		u.text, u.stale = strings.Join(list, " "), false
	}
	return u.text
}

// zonesThatDiffer returns the names in both texts whose hashes differ, in order. What another release has written in a form of
// its own is not compared.
func zonesThatDiffer(ours, theirs string) (names []string) {
	sums := map[string]string{}
	for _, zone := range strings.Fields(ours) {
		if name, sum, ok := strings.Cut(zone, "="); ok {
			sums[name] = sum
		}
	}
	for _, zone := range strings.Fields(theirs) {
		if name, sum, ok := strings.Cut(zone, "="); ok && sums[name] != "" && sums[name] != sum {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compareZones warns of living instances that know other clock changes of a zone than this one: a job there may
// fire at another time. Each difference is told once, until it changes. told is by instance what was told last.
func (s *Scheduler) compareZones(ctx context.Context, told map[string]string) {
	instances, err := s.store.Instances(ctx)
	if err != nil {
		return // the other loops tell of a store that fails
	}
	ours, now := s.zones.String(), s.storeNow(instances)
	alive := map[string]bool{}
	for i := range instances {
		other := &instances[i]
		name := other.Owner.Instance
		if name == s.options.Instance || !other.Alive(now) {
			continue
		}
		alive[name] = true
		zones := zonesThatDiffer(ours, other.Zones)
		text := strings.Join(zones, " ")
		if text == told[name] {
			continue
		}
		told[name] = text
		if text == "" {
			s.log.Info("zone data agree with an instance's again", "instance", name)
			continue
		}
		s.log.Warn("zone data differ from an instance's: fire times depend on which of them computes them; update the zone database or the program of the older one",
			"instance", name, "zones", zones)
	}
	maps.DeleteFunc(told, func(name, _ string) bool { return !alive[name] })
}
