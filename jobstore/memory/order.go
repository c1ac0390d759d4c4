package memory

import (
	"slices"
	"strings"
)

// An ordering lists all jobs by id. Nothing is sorted until someone asks: adding a
// million jobs costs a million appends, and the first list pays for the sort.
type ordering struct {
	sorted []*job // by id; may hold removed ones
	fresh  []*job // added since, in any order
	gone   int    // removed ones in both
}

func (o *ordering) add(j *job) { o.fresh = append(o.fresh, j) }

func (o *ordering) remove(j *job) {
	j.gone = true
	o.gone++
	// An eighth may be dead wood: little to step over, and each removal pays for
	// eight moves at most.
	if o.gone > 64 && o.gone > (len(o.sorted)+len(o.fresh))/8 {
		isGone := func(j *job) bool { return j.gone }
		o.sorted = slices.DeleteFunc(o.sorted, isGone)
		o.fresh = slices.DeleteFunc(o.fresh, isGone)
		o.gone = 0
	}
}

// byID returns all jobs by id; the caller steps over those that are gone.
func (o *ordering) byID() []*job {
	if len(o.fresh) == 0 {
		return o.sorted
	}
	slices.SortFunc(o.fresh, func(a, b *job) int { return strings.Compare(a.id, b.id) })
	if n := len(o.sorted); n == 0 || o.sorted[n-1].id < o.fresh[0].id {
		o.sorted = append(o.sorted, o.fresh...)
	} else {
		o.merge()
	}
	o.fresh = nil
	return o.sorted
}

// merge moves fresh into sorted from the end on; stretches without a fresh job are
// found by binary search and moved as a whole.
func (o *ordering) merge() {
	old := len(o.sorted)
	o.sorted = append(o.sorted, o.fresh...)
	end := len(o.sorted)
	for i := len(o.fresh) - 1; i >= 0; i-- {
		at := searchID(o.sorted[:old], o.fresh[i].id)
		copy(o.sorted[end-(old-at):end], o.sorted[at:old])
		end -= old - at + 1
		o.sorted[end] = o.fresh[i]
		old = at
	}
}

// searchID finds the first job whose id is id or greater.
func searchID(jobs []*job, id string) int {
	at, _ := slices.BinarySearchFunc(jobs, id, func(j *job, id string) int { return strings.Compare(j.id, id) })
	return at
}
