package trigger

import "time"

// A random interval from min to max fires at anchor + k × (min+max)/2 + hash(seed, k) mod (max−min)/2, for k from 1, or
// from 0 where a start is the anchor. So each time is found without those before it, and two that follow one another are no less
// than min and no more than max apart.

// randomAt returns the fire time of number k, in microseconds.
func (t *EveryTrigger) randomAt(origin, k int64) int64 {
	least, most := t.saying.length, t.saying.to
	// Twice the mean is odd only when both lengths are odd numbers of microseconds, and they are whole seconds.
	return origin + k*((least+most)/2) + int64(hashAt(*t.seed, k)%uint64((most-least)/2))
}

// origin returns what the fire times are counted from, and the number of the first.
func (t *EveryTrigger) origin() (origin, first int64, ok bool) {
	switch {
	case t.seed == nil || t.fault != nil:
		return 0, 0, false
	case t.term.start.kind != edgeNone:
		return t.term.start.micros, 0, true
	}
	return t.anchor, 1, t.anchor != none
}

// lastMicros returns the last instant at which it may fire.
func (t *EveryTrigger) lastMicros() int64 {
	if t.term.end.kind != edgeNone {
		return t.term.end.micros
	}
	return latest * microsecond
}

// after returns the number of the first fire time after an instant, the end not regarded.
func (t *EveryTrigger) after(origin, first, micros int64) int64 {
	k := max(first, floorDiv(micros-origin, (t.saying.length+t.saying.to)/2))
	for k > first && t.randomAt(origin, k-1) > micros {
		k--
	}
	for t.randomAt(origin, k) <= micros {
		k++
	}
	return k
}

func (t *EveryTrigger) nextRandom(after time.Time) (time.Time, bool) {
	origin, first, ok := t.origin()
	if !ok {
		return time.Time{}, false
	}
	at := t.randomAt(origin, t.after(origin, first, clampMicros(after, false)))
	if at > t.lastMicros() {
		return time.Time{}, false
	}
	return t.zone.timeMicro(at), true
}

func (t *EveryTrigger) prevRandom(before time.Time) (time.Time, bool) {
	origin, first, ok := t.origin()
	if !ok {
		return time.Time{}, false
	}
	until := min(clampMicros(before, true)-1, t.lastMicros())
	k := t.after(origin, first, until) - 1
	if k < first {
		return time.Time{}, false
	}
	return t.zone.timeMicro(t.randomAt(origin, k)), true
}

func (t *EveryTrigger) countRandom(after, until time.Time) int64 {
	origin, first, ok := t.origin()
	if !ok {
		return 0
	}
	from, to := clampMicros(after, false), min(clampMicros(until, false), t.lastMicros())
	if to <= from {
		return 0
	}
	return t.after(origin, first, to) - t.after(origin, first, from)
}

// hashAt spreads (seed, k) over 64 bits: FNV-1a over the bytes, then the finalizer of MurmurHash3, since FNV's low bits follow
// its last byte. Fire times depend on it: it never changes.
func hashAt(seed string, k int64) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(seed) {
		h = (h ^ uint64(seed[i])) * prime
	}
	for shift := 0; shift < 64; shift += 8 {
		h = (h ^ uint64(k)>>shift&0xff) * prime
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
