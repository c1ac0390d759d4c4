package ruqi

import (
	"errors"
	"fmt"
	"time"
)

// walkLimit bounds the steps of a catch-up through a trigger that cannot count: 100,000
// calls of Next take tens of milliseconds, and a minute job gathers as many in ten weeks.
const walkLimit = 100_000

// walkPatience bounds the time of it, whatever the steps cost: all jobs of a claim wait for it, and the lease of the instance is renewed each
// few seconds. After as long a claim begins with no further job.
const walkPatience = 300 * time.Millisecond

// errStuck is what a trigger earns that does not move on.
var errStuck = errors.New("the trigger answered with a time that is not later than the one asked about")

// errCostly is what a trigger earns whose search does not get on.
var errCostly = errors.New("the search for the next fire time takes too long; say it with fewer times to leave out or to move")

// A fire is one time at which a job is to run; or, without a nominal time, the time up to which none was found, when it is to be looked
// for further (see Searcher).
type fire struct {
	nominal, due time.Time
}

// isLook reports whether it is a time to look again.
func (f fire) isLook() bool { return f.nominal.IsZero() }

// stored returns a next time as jobs keep it.
func (f *fire) stored() (nominal, due *time.Time) {
	switch {
	case f == nil:
		return nil, nil
	case f.isLook():
		return nil, &f.due
	}
	return &f.nominal, &f.due
}

// storedFire is the inverse; nil for a job without a next time.
func storedFire(nominal, due *time.Time) *fire {
	switch {
	case due == nil:
		return nil
	case nominal == nil:
		return &fire{due: *due}
	}
	return &fire{*nominal, *due}
}

// fires is what a job has due at one moment.
type fires struct {
	newest []fire // the newest ones, oldest first
	// older counts those before newest, from olderFrom to olderTo; atLeast when counting was given up.
	older              int64
	olderFrom, olderTo time.Time
	atLeast            bool
	next               *fire // the first one not due, or the time to look for it
}

// count returns how many fires are due.
func (f *fires) count() int64 { return f.older + int64(len(f.newest)) }

// ends returns the first and the last of them; there is one.
func (f *fires) ends() (first, last time.Time) {
	first, last = f.olderFrom, f.olderTo
	if n := len(f.newest); n > 0 {
		last = f.newest[n-1].nominal
		if f.older == 0 {
			first = f.newest[0].nominal
		}
	}
	return first, last
}

// follow puts later ones behind those that are there, which all count as older then.
func (f *fires) follow(later fires) {
	if later.count() > 0 && f.count() > 0 {
		before := f.count()
		first, last := f.ends()
		if later.older == 0 {
			later.olderTo = last
		}
		later.olderFrom = first
		later.older += before
	}
	if later.count() == 0 {
		f.next = later.next
		return
	}
	later.atLeast = later.atLeast || f.atLeast
	*f = later
}

// dueFires collects the fires of a job from the stored next one up to now, the newest limit
// of them one by one. It is pure, but for how long it may take; the error says that the trigger breaks its law.
func dueFires(spec *JobSpec, first fire, now time.Time, limit int) (fires, error) {
	var f fires
	if first.isLook() { // one search a time: where it leads to another, that is for the next claim
		found, ok, err := nextFire(spec, first.due)
		if err != nil || !ok {
			return f, err
		}
		first = found
	}
	// Mostly one fire is due, and one follows: what keeps both is allocated once.
	room := &struct {
		newest [1]fire
		next   fire
	}{next: first}
	f.newest = room.newest[:0]
	current := &room.next
	var begin time.Time // of what takes longer than one question
	for !current.isLook() && !current.due.After(now) {
		switch len(f.newest) {
		case 0:
		case 1:
			begin = time.Now()
		default:
			if time.Since(begin) > walkPatience { // the rest is for the next claim
				f.next = current
				return f, nil
			}
		}
		if len(f.newest) == limit {
			if stepper, ok := spec.Trigger.(Stepper); ok && stepBack(&f, stepper, spec, first, now, limit) {
				return f, nil
			}
			return walkFires(spec, first, now, limit)
		}
		f.newest = append(f.newest, *current)
		next, ok, err := lookOn(spec, current.nominal, now)
		if err != nil || !ok {
			return f, err
		}
		*current = next
	}
	f.next = current
	return f, nil
}

// stepBack finds the newest fires from now backwards and counts the rest. It reports
// false when the trigger cannot count them.
func stepBack(f *fires, trigger Stepper, spec *JobSpec, first fire, now time.Time, limit int) bool {
	at, ok := trigger.Prev(now.Add(time.Microsecond))
	if !ok || at.Before(first.nominal) {
		return false
	}
	last := jittered(spec, at)
	if last.due.After(now) { // its jitter is still running; the one before is due for sure
		next := last
		f.next = &next
		if at, ok = trigger.Prev(at); !ok || at.Before(first.nominal) {
			return false
		}
		last = jittered(spec, at)
	} else if next, ok, err := fireAfter(spec, last.nominal); err != nil {
		return false
	} else if ok {
		f.next = &next
	}
	more := trigger.Count(first.nominal, last.nominal)
	if more < int64(limit) {
		return false
	}
	newest := make([]fire, limit)
	for i := limit - 1; ; i-- {
		newest[i] = last
		at, ok = trigger.Prev(last.nominal)
		if !ok || at.Before(first.nominal) {
			return false
		}
		last = jittered(spec, at)
		if i == 0 {
			break
		}
	}
	f.newest = newest
	f.older, f.olderFrom, f.olderTo = more+1-int64(limit), first.nominal, last.nominal
	return true
}

// walkFires keeps the newest limit fires while it walks; after walkLimit steps, or walkPatience, it gives
// up, counts all it saw as older, and goes on from now. It looks on at times to look again between them. Where the trigger breaks its
// law it returns what it saw before.
func walkFires(spec *JobSpec, first fire, now time.Time, limit int) (fires, error) {
	ring := make([]fire, 0, limit)
	seen := int64(0)
	current, more := first, true
	var lastOlder time.Time
	begin := time.Now()
	// Mostly a step takes about as long as to read the clock, which is done each few steps; one through times to look may take a tenth of a
	// second.
	const few = 16
	searched := false
	var failed error // ends the walk, since there is no next fire with it
	for more && !current.isLook() && !current.due.After(now) && seen < walkLimit &&
		(seen < int64(limit) || seen%few > 0 && !searched || time.Since(begin) < walkPatience) {
		if len(ring) < limit {
			ring = append(ring, current)
		} else {
			lastOlder = ring[seen%int64(limit)].nominal
			ring[seen%int64(limit)] = current
		}
		seen++
		next, ok, err := fireAfter(spec, current.nominal)
		if searched = ok && next.isLook() && next.due.After(current.nominal) && !next.due.After(now); searched {
			next, ok, err = lookOn(spec, next.due, now)
		}
		current, more, failed = next, ok, err
	}
	if more && !current.isLook() && !current.due.After(now) {
		f := fires{older: seen, olderFrom: first.nominal, olderTo: ring[(seen-1)%int64(limit)].nominal, atLeast: true}
		next, ok, err := fireAfter(spec, now)
		if ok {
			f.next = &next
		}
		return f, err
	}
	f := fires{older: seen - int64(len(ring))}
	if f.older > 0 {
		f.olderFrom, f.olderTo = first.nominal, lastOlder
	}
	start := seen % int64(limit)
	if seen < int64(limit) {
		start = 0
	}
	f.newest = append(append(f.newest, ring[start:]...), ring[:start]...)
	if more {
		f.next = &current
	}
	return f, failed
}

// fireAfter is nextFire after fires that are due. They run all the same where the search does not get on; the job is parked when it is to
// be looked for the next.
func fireAfter(spec *JobSpec, after time.Time) (fire, bool, error) {
	next, ok, err := nextFire(spec, after)
	if errors.Is(err, errCostly) {
		return fire{due: after}, true, nil
	}
	return next, ok, err
}

// lookOn is fireAfter, which goes on where it is time to look again already, in as many searches as SearchNext makes: so fires with such times
// between them are caught up with together, as others are. The rest is for the next claim.
func lookOn(spec *JobSpec, after, now time.Time) (next fire, ok bool, err error) {
	for range mostSearches {
		next, ok, err = fireAfter(spec, after)
		if !ok || !next.isLook() || next.due.After(now) || !next.due.After(after) {
			break
		}
		after = next.due
	}
	return next, ok, err
}

// nextFire returns the first fire whose nominal time is after the given one, or when to look for it again.
func nextFire(spec *JobSpec, after time.Time) (fire, bool, error) {
	at, until, ok := searchOnce(spec.Trigger, after)
	switch {
	case ok && !at.After(after):
		return fire{}, false, fmt.Errorf("%w (%s)", errStuck, after.Format(time.RFC3339Nano))
	case !ok && !until.IsZero() && !until.After(after):
		return fire{}, false, fmt.Errorf("%w (%s)", errCostly, after.Format(time.RFC3339Nano))
	case ok:
		return jittered(spec, at), true, nil
	case !until.IsZero():
		return fire{due: micro(until)}, true, nil
	}
	return fire{}, false, nil
}

// jittered adds the job's jitter to a nominal time: a hash of job and time, below the next
// nominal time and not past the trigger's end, the same on every instance.
func jittered(spec *JobSpec, nominal time.Time) fire {
	nominal = micro(nominal)
	f := fire{nominal, nominal}
	if spec.Policy.Jitter <= 0 {
		return f
	}
	room := spec.Policy.Jitter.Microseconds() + 1
	switch next, until, ok := searchOnce(spec.Trigger, nominal); {
	case ok:
		room = min(room, next.Sub(nominal).Microseconds())
	case !until.IsZero(): // the next is later
		room = min(room, max(until.Sub(nominal).Microseconds(), 1))
	}
	if ender, ok := spec.Trigger.(Ender); ok {
		if end, ok := ender.EndTime(); ok {
			room = min(room, end.Sub(nominal).Microseconds()+1)
		}
	}
	if room > 1 {
		f.due = nominal.Add(time.Duration(hashOf(spec.ID, nominal.UnixMicro())%uint64(room)) * time.Microsecond)
	}
	return f
}

// hashOf spreads (id, n) over 64 bits: FNV-1a over the bytes, then the finalizer of
// MurmurHash3, since FNV's low bits follow its last byte. Stored due times depend on it: it never changes.
func hashOf(id string, n int64) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * prime
	}
	for shift := 0; shift < 64; shift += 8 {
		h = (h ^ uint64(n)>>shift&0xff) * prime
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// micro is the one place where times lose what is below a microsecond.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
