package ruqi

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Options tune a Scheduler. The zero value is ready for use.
type Options struct {
	// Instance names this process in a shared store; two live ones must not share
	// a name. Defaults to HOST:PID:RANDOM.
	Instance string
	// Zone is where triggers without a zone live. Nil: HostZone.
	Zone *time.Location
	// Slots are how many runs each pool holds at once on this instance. Pools
	// not named here have the default: 64 for "default", 4 × CPUs but at least 8 for
	// "command". A pool of 0 is closed.
	Slots map[string]int
	// Lease is how long the store takes this instance for alive without word; the
	// heartbeat is a fifth of it. At least 500 ms. 0: 15 s, which outlasts a slow
	// garbage collection or a failover of a database.
	Lease time.Duration
	// Drain is how long Shutdown waits for running runs before it ends them. 0: 30 s; negative: not at all.
	Drain time.Duration
	// KeepRuns, KeepNonRuns and KeepAge bound the history: the newest so many
	// started runs and missed or skipped ones of each job, and their age. 0: 1,000,
	// 1,000 and 30 days; negative: no bound.
	KeepRuns, KeepNonRuns int
	KeepAge               time.Duration
	// Calendars are the named calendars of the store, from which the registry's triggers have their days too: a
	// calendar.Store as a rule. Jobs that use one are planned anew when it changes. Nil: none; jobs whose
	// triggers name one are refused, and left to other instances.
	Calendars Calendars
	// Release is this program's version, shown to other instances.
	Release string
	// Logger hears what the scheduler cannot return to a caller. Nil: slog.Default().
	Logger *slog.Logger
	// Now is the wall clock, for the times of events and of faults that are told before the store is
	// asked. Nil: time.Now. What is due is decided on the store's clock.
	Now func() time.Time
}

const (
	defaultLease     = 15 * time.Second
	leastLease       = 500 * time.Millisecond
	beatsPerLease    = 5 // a lease survives three lost heartbeats and a late one
	defaultDrain     = 30 * time.Second
	defaultKeep      = 1000
	defaultKeepAge   = 30 * 24 * time.Hour
	defaultSlots     = 64 // goroutines are cheap; what they call seldom is
	leastCommandSlot = 8
)

// withDefaults checks the options, all faults at once, and fills in what is open.
func (o Options) withDefaults(cpus int) (Options, error) {
	var faults Faults
	if o.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		// Containers often have process 1 and may share a host name: chance keeps their names apart.
		o.Instance = fmt.Sprintf("%s:%d:%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
	}
	if len(o.Instance) > 255 {
		faults.Add("/instance", o.Instance, "longer than 255 bytes")
	}
	if o.Zone == nil || o.Zone == time.Local { // "Local" is no name that could be stored
		o.Zone = HostZone()
	}
	slots := map[string]int{"default": defaultSlots, "command": max(4*cpus, leastCommandSlot)}
	for _, pool := range slices.Sorted(maps.Keys(o.Slots)) {
		if n := o.Slots[pool]; n < 0 || n > 1_000_000 || pool == "" || len(pool) > 255 {
			faults.Add("/slots/"+pool, fmt.Sprint(n), "%q with %d; a pool has a name of 1 to 255 bytes and 0 to 1,000,000 slots", pool, n)
		}
		slots[pool] = o.Slots[pool]
	}
	o.Slots = slots
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Lease < leastLease || o.Lease > time.Hour {
		faults.Add("/lease", o.Lease.String(), "%s; a lease takes from %s to 1h", o.Lease, leastLease)
	}
	switch {
	case o.Drain == 0:
		o.Drain = defaultDrain
	case o.Drain < 0:
		o.Drain = 0
	}
	o.KeepRuns, o.KeepNonRuns = orDefault(o.KeepRuns, defaultKeep), orDefault(o.KeepNonRuns, defaultKeep)
	o.KeepAge = orDefault(o.KeepAge, defaultKeepAge)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, faults.Err()
}

// orDefault turns 0 into the default and a negative number, "no bound", into 0.
func orDefault[N int | time.Duration](n, fallback N) N {
	switch {
	case n == 0:
		return fallback
	case n < 0:
		return 0
	}
	return n
}
