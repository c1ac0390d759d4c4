package memory

import (
	"context"

	"github.com/ruqi-dev/ruqi"
)

// cleanLimit is how many rows one Clean deletes when no limit is given, as ruqi.Retention says.
const cleanLimit = 1000

// cleaning is what Clean remembers between its steps, so that none of them looks at
// every job: the bounds it was last given, and the histories that have outgrown them since.
type cleaning struct {
	known         bool
	runs, nonRuns int
	crowded       []*history
}

// over reports whether a history has more ended rows than the last bounds.
func (c *cleaning) over(h *history) bool {
	return c.runs > 0 && h.started > c.runs || c.nonRuns > 0 && h.unstarted > c.nonRuns
}

// Clean deletes history past its retention, as ruqi.JobStore says. Its work is bounded by the
// limit, but for the first with new bounds, which looks at the counters of every job.
// Age counts from Finished. Rows that are alive are not counted against the bounds.
func (s *Store) Clean(ctx context.Context, retention ruqi.Retention) (int, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	limit := retention.Limit
	if limit <= 0 {
		limit = cleanLimit
	}
	sweep := sweep{store: s, left: limit}
	s.setBounds(retention.Runs, retention.NonRuns)
	for len(s.clean.crowded) > 0 && sweep.left > 0 {
		last := len(s.clean.crowded) - 1
		h := s.clean.crowded[last]
		if sweep.thin(h); s.clean.over(h) {
			break // the limit is reached
		}
		h.crowded = false
		s.clean.crowded[last] = nil
		s.clean.crowded = s.clean.crowded[:last]
	}
	if retention.Age > 0 {
		sweep.age(now - retention.Age.Microseconds())
	}
	sweep.remove()
	return limit - sweep.left, nil
}

// setBounds finds the crowded histories anew when the bounds are not those of the step before.
func (s *Store) setBounds(runs, nonRuns int) {
	c := &s.clean
	if c.known && c.runs == runs && c.nonRuns == nonRuns {
		return
	}
	c.known, c.runs, c.nonRuns = true, runs, nonRuns
	c.crowded = nil
	for _, h := range s.byNumber.list {
		if h == nil {
			continue
		}
		if h.crowded = c.over(h); h.crowded {
			c.crowded = append(c.crowded, h)
		}
	}
}

// A sweep is one step of Clean: rows are marked first, then each history touched is
// packed once.
type sweep struct {
	store   *Store
	left    int // rows that may still go
	touched []*history
}

// mark picks a row that has ended, and uncounts it.
func (w *sweep) mark(r *run) {
	r.dead = true
	w.store.count(r, -1)
	w.left--
	h := w.store.historyAt(r)
	if h.dead++; h.dead == 1 {
		w.touched = append(w.touched, h)
	}
	if r.state.started() {
		h.started--
	} else {
		h.unstarted--
	}
}

// thin marks the oldest rows of a history beyond the bounds.
func (w *sweep) thin(h *history) {
	c := &w.store.clean
	for _, id := range h.runs {
		if w.left == 0 || !c.over(h) {
			return
		}
		r := w.store.rows.find(id)
		if !r.state.ended() || r.dead {
			continue
		}
		if r.state.started() && c.runs > 0 && h.started > c.runs ||
			!r.state.started() && c.nonRuns > 0 && h.unstarted > c.nonRuns {
			w.mark(r)
		}
	}
}

// age marks the rows that ended before a time, by the pages that hold any.
func (w *sweep) age(before int64) {
	for _, pg := range w.store.rows.list {
		if w.left == 0 {
			return
		}
		if pg == nil || pg.earliest == never || pg.earliest >= before {
			continue
		}
		earliest := int64(never)
		for _, c := range &pg.chunks {
			if c == nil {
				continue
			}
			for i := range c {
				r := &c[i]
				switch {
				case r.id == 0 || !r.state.ended() || r.dead:
				case r.finished < before && w.left > 0:
					w.mark(r)
				default:
					earliest = sooner(earliest, r.finished)
				}
			}
		}
		pg.earliest = earliest
	}
}

// remove deletes the marked rows.
func (w *sweep) remove() {
	for _, h := range w.touched {
		w.store.pack(h)
		w.store.forgetIfEmpty(h)
	}
}

// pack takes the dead rows out of a history. They are mostly its first ones: then
// nothing is moved, and what comes after the last of them is never looked at.
func (s *Store) pack(h *history) {
	first := 0
	for h.dead > 0 && s.dropDead(h.runs[first]) {
		h.dead--
		first++
	}
	h.runs = h.runs[first:]
	if h.dead == 0 {
		return
	}
	to := 0
	for from, id := range h.runs {
		if h.dead == 0 {
			to += copy(h.runs[to:], h.runs[from:])
			break
		}
		if s.dropDead(id) {
			h.dead--
		} else {
			h.runs[to] = id
			to++
		}
	}
	h.runs = h.runs[:to]
}

// dropDead forgets the row if it was marked.
func (s *Store) dropDead(id int64) bool {
	r := s.rows.find(id)
	if !r.dead {
		return false
	}
	if r.life != 0 {
		s.letGo(r.life)
	}
	s.rows.drop(r)
	return true
}
