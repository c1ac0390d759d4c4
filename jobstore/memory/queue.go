package memory

import "github.com/ruqi-dev/ruqi"

// place says in which heap of its group a job stands.
type place uint8

const (
	nowhere place = iota
	inLater
	inReady
)

// A group holds the jobs of one pool that need the same of an instance, so a
// claim looks at nothing that its instance cannot serve, and a full pool is passed over whole.
type group struct {
	key  ruqi.PoolNeed
	size int64 // jobs
	open int64 // those that are not finished
	// later waits by wake time; ready holds those whose time has come, by priority,
	// then by wake time. A claim moves jobs from one to the other.
	later, ready heap
}

// An entry carries the wake time beside the job, so that comparing two seldom
// leaves the heap's own memory.
type entry struct {
	wake int64
	job  *job
}

func (s *Store) groupOf(pool, need string) *group {
	key := ruqi.PoolNeed{Pool: pool, Need: need}
	g := s.groups[key]
	if g == nil {
		g = &group{key: key, later: heap{place: inLater}, ready: heap{place: inReady}}
		s.groups[key] = g
		s.byNeed[need] = append(s.byNeed[need], g)
	}
	return g
}

// join counts a job that was set and puts it where its group will find it.
func (s *Store) join(j *job, pool, need string) {
	j.group = s.groupOf(pool, need)
	j.group.size++
	s.countState(j, +1)
	j.replace()
}

// leave undoes join, before the job is set anew or removed.
func (s *Store) leave(j *job) {
	g := j.group
	j.unplace()
	s.countState(j, -1)
	if g.size--; g.size > 0 {
		return
	}
	delete(s.groups, g.key)
	left := s.byNeed[g.key.Need]
	for i := range left {
		if left[i] == g {
			left[i] = left[len(left)-1]
			left[len(left)-1] = nil
			left = left[:len(left)-1]
			break
		}
	}
	if len(left) == 0 {
		delete(s.byNeed, g.key.Need)
	} else {
		s.byNeed[g.key.Need] = left
	}
}

func (s *Store) countState(j *job, by int64) {
	s.states[j.state] += by
	if j.state != finished {
		j.group.open += by
	}
}

// setState changes the state of a job in place.
func (s *Store) setState(j *job, state jobState) {
	if j.state != state {
		s.countState(j, -1)
		j.state = state
		s.countState(j, +1)
	}
}

// wake returns when a claim should look at the job: at its next due time or when the
// first row that nothing else holds back is due. never: not before something changes.
func (j *job) wake() int64 {
	wake := int64(never)
	if j.state == active {
		wake = j.due
	}
	if h := j.history; h != nil && len(h.queued) > 0 {
		if r := h.firstFree(j); r != nil && (wake == never || r.due < wake) {
			wake = r.due
		}
	}
	return wake
}

// replace puts the job where its wake time says, after anything about it changed but
// priority and group.
func (j *job) replace() {
	wake := j.wake()
	if h := j.heap(); h != nil {
		if h.entries[j.at].wake == wake {
			return
		}
		h.remove(int(j.at))
	}
	if wake != never {
		j.group.later.push(entry{wake, j})
	}
}

func (j *job) unplace() {
	if h := j.heap(); h != nil {
		h.remove(int(j.at))
	}
}

func (j *job) heap() *heap {
	switch j.place {
	case inLater:
		return &j.group.later
	case inReady:
		return &j.group.ready
	}
	return nil
}

// ripen moves the jobs whose time has come to ready.
func (g *group) ripen(now int64) {
	for len(g.later.entries) > 0 && g.later.entries[0].wake <= now {
		g.ready.push(g.later.pop())
	}
}

// A heap is a four-way heap that tells each job its index: half the depth of a
// two-way one, and four entries of 16 bytes share a cache line.
type heap struct {
	entries []entry
	place   place
}

func (h *heap) less(a, b entry) bool {
	if h.place == inReady && a.job.priority != b.job.priority {
		return a.job.priority > b.job.priority
	}
	if a.wake != b.wake {
		return a.wake < b.wake
	}
	return h.place == inReady && a.job.id < b.job.id // the same order each time; later needs none
}

func (h *heap) set(i int, e entry) {
	h.entries[i] = e
	e.job.at, e.job.place = int32(i), h.place
}

func (h *heap) push(e entry) {
	h.entries = append(h.entries, e)
	h.up(len(h.entries)-1, e)
}

func (h *heap) pop() entry {
	e := h.entries[0]
	h.remove(0)
	return e
}

func (h *heap) remove(i int) {
	h.entries[i].job.place = nowhere
	n := len(h.entries) - 1
	last := h.entries[n]
	h.entries[n] = entry{}
	h.entries = h.entries[:n]
	if i < n {
		if i > 0 && h.less(last, h.entries[(i-1)/4]) {
			h.up(i, last)
		} else {
			h.down(i, last)
		}
	}
	if cap(h.entries) > 1024 && n < cap(h.entries)/4 {
		h.entries = append(make([]entry, 0, cap(h.entries)/2), h.entries...) // give a burst's memory back
	}
}

func (h *heap) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !h.less(e, h.entries[parent]) {
			break
		}
		h.set(i, h.entries[parent])
		i = parent
	}
	h.set(i, e)
}

func (h *heap) down(i int, e entry) {
	n := len(h.entries)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		best := first
		for c := first + 1; c < min(first+4, n); c++ {
			if h.less(h.entries[c], h.entries[best]) {
				best = c
			}
		}
		if !h.less(h.entries[best], e) {
			break
		}
		h.set(i, h.entries[best])
		i = best
	}
	h.set(i, e)
}

// earliest returns the least wake time among jobs not excepted, from entry i down.
// Of a heap by wake time only excepted entries are stepped over.
func (h *heap) earliest(i int, except map[string]bool) int64 {
	if i >= len(h.entries) {
		return never
	}
	if e := h.entries[i]; !except[e.job.id] {
		return e.wake
	}
	least := int64(never)
	for c := 4*i + 1; c <= 4*i+4; c++ {
		least = sooner(least, h.earliest(c, except))
	}
	return least
}

// sooner returns the earlier of two times that may be never.
func sooner(a, b int64) int64 {
	if a == never || b != never && b < a {
		return b
	}
	return a
}
