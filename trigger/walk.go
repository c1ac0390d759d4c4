package trigger

// longestGap: a jump forward of more than three hours corrects the calendar (a
// zone that changed its side of the date line); what it leaves out is passed over.
const longestGap = 3 * 3600

// settled is how long after a clock change the wall clock can no longer show a time
// it has shown before the change, in any zone: the largest jumps are 24 hours.
const settled = 3 * daySeconds

// wallTimes is a set of whole seconds on a wall clock, without a zone: what a cron expression matches, or the days of a chain
// at a time of day. It is immutable, or looks so.
type wallTimes interface {
	// Next returns the first at or after wall, if there is one before limit.
	Next(wall, limit int64) (int64, bool)
	// Prev returns the last before wall, if there is one at or after limit.
	Prev(wall, limit int64) (int64, bool)
	// Count returns how many lie in [from, until), none when until is not after from.
	Count(from, until int64) int64
	// Horizon returns how far a search must look, in seconds, before it may say that there is nothing.
	Horizon() int64
}

// A walker turns wall times into instants. It goes from one
// stretch with a steady offset to the next; within one, wall times and instants
// run alike. All times are seconds.
type walker struct {
	expr wallTimes
	zone *zone
	rules
}

// rules are what gap and fold come to for one expression.
type rules struct {
	onlyFirst, onlySecond bool // of a time that comes twice
	runAfter, shift       bool // what becomes of a time that is left out; neither: nothing
}

// rulesOf applies the defaults and the difference between fixed times and
// expressions that follow the real clock.
func rulesOf(gap Gap, fold Fold, starred bool) rules {
	return rules{
		onlyFirst:  fold == FoldFirst || fold == FoldAuto && !starred,
		onlySecond: fold == FoldSecond,
		runAfter:   gap == GapRunAfter && !starred,
		shift:      gap == GapShift && !starred,
	}
}

// bounds returns the wall times of a span that fire by themselves: all, but for
// those that the fold rule leaves to the span before or after.
func (w *walker) bounds(s *span) (from, to int64) {
	from, to = s.from+s.off, s.to+s.off
	if w.onlyFirst && s.before > s.off {
		from = max(from, s.begin+s.before)
	}
	if w.onlySecond && s.after < s.off {
		to = min(to, s.end+s.after)
	}
	return from, to
}

// missed returns the wall times that were left out before the span and are to be
// made good in it.
func (w *walker) missed(s *span) (from, to int64, any bool) {
	any = (w.runAfter || w.shift) && s.before < s.off && s.off-s.before <= longestGap
	return s.begin + s.before, s.begin + s.off, any
}

// next returns the first fire time at or after from.
func (w *walker) next(from int64) (int64, bool) {
	if from > latest {
		return 0, false
	}
	limit := min(from+w.expr.Horizon(), latest+1)
	for s := w.zone.at(from); ; s = w.zone.find(from) {
		low, high := w.bounds(s)
		low = max(low, from+s.off)
		wall, ok := w.expr.Next(low, limit+s.off)
		if !ok {
			wall = limit + s.off
		}
		good, made := w.nextMissed(s, from)
		if ok && wall < high {
			if at := wall - s.off; !made || at <= good {
				return at, at < limit
			}
		}
		if made {
			return good, good < limit
		}
		// Nothing matches before wall. Unless the wall clock may soon go back over
		// what was passed, the stretches until shortly before it hold nothing.
		near := s.to
		if s.to-from > settled {
			near = max(near, wall-s.off-settled)
		}
		if from = near; from >= limit {
			return 0, false
		}
	}
}

// nextMissed returns the first instant at or after from, in the span, at which a
// time from the gap before it is made good.
func (w *walker) nextMissed(s *span, from int64) (int64, bool) {
	low, high, any := w.missed(s)
	if !any || from >= s.begin+longestGap {
		return 0, false
	}
	if w.runAfter {
		if from > s.begin || s.from != s.begin {
			return 0, false
		}
		_, ok := w.expr.Next(low, high)
		return s.begin, ok
	}
	wall, ok := w.expr.Next(max(low, max(from, s.from)+s.before), high)
	at := wall - s.before
	return at, ok && at < s.to
}

// prev returns the last fire time before to.
func (w *walker) prev(to int64) (int64, bool) {
	if to <= earliest {
		return 0, false
	}
	limit := max(to-w.expr.Horizon(), earliest)
	for s := w.zone.at(to - 1); ; s = w.zone.find(to - 1) {
		low, high := w.bounds(s)
		high = min(high, to+s.off)
		wall, ok := w.expr.Prev(high, limit+s.off)
		if !ok {
			wall = limit + s.off
		}
		good, made := w.prevMissed(s, to)
		if ok && wall >= low {
			if at := wall - s.off; !made || at >= good {
				return at, at >= limit
			}
		}
		if made {
			return good, good >= limit
		}
		near := s.from
		if to-s.from > settled {
			near = min(near, wall-s.off+settled)
		}
		if to = near; to <= limit {
			return 0, false
		}
	}
}

// prevMissed is nextMissed backwards: the last such instant before to.
func (w *walker) prevMissed(s *span, to int64) (int64, bool) {
	low, high, any := w.missed(s)
	if !any {
		return 0, false
	}
	if w.runAfter {
		if to <= s.begin || s.from != s.begin {
			return 0, false
		}
		_, ok := w.expr.Next(low, high)
		return s.begin, ok
	}
	wall, ok := w.expr.Prev(min(high, min(to, s.to)+s.before), low)
	at := wall - s.before
	return at, ok && at >= s.from
}

// count returns how many fire times lie in [from, to).
func (w *walker) count(from, to int64) (n int64) {
	for from < to {
		s := w.zone.find(from)
		low, high := w.bounds(s)
		low, high = max(low, from+s.off), min(high, to+s.off)
		n += w.expr.Count(low, high)
		n += w.countMissed(s, from, to, low, high)
		if s.to <= from { // past the last era
			break
		}
		from = s.to
	}
	return n
}

// countMissed counts the instants of nextMissed in [from, to) that are no fire
// times by themselves; those are the wall times that match in [low, high).
func (w *walker) countMissed(s *span, from, to, low, high int64) (n int64) {
	if from >= s.begin+longestGap {
		return 0
	}
	for {
		at, ok := w.nextMissed(s, from)
		if !ok || at >= to {
			return n
		}
		own := at + s.off
		if own < low || own >= high || w.expr.Count(own, own+1) == 0 {
			n++
		}
		from = at + 1
	}
}
