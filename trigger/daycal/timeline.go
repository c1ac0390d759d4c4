package daycal

import "errors"

// A timeline is a set of days as stretches that follow one another, each with the pattern that holds in it. The first begins at First; of
// none at all the set is empty.
type timeline []stretch

// A stretch goes to the day before the next one, or to Last.
type stretch struct {
	from Day
	kind int32 // the place of a pattern in the table
}

// The patterns that each table begins with.
const (
	never int32 = 0 // no day
	daily int32 = 1 // every day
)

// end returns the last day of a stretch.
func (t timeline) end(i int) Day {
	if i+1 < len(t) {
		return t[i+1].from - 1
	}
	return Last
}

// find returns the place of the stretch that a day from First to Last is in.
func (t timeline) find(d Day) int {
	low, high := 0, len(t)
	for high-low > 1 {
		if middle := int(uint(low+high) / 2); t[middle].from <= d {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// add goes on with a kind from a day on, which is later than all before.
func (t timeline) add(from Day, kind int32) timeline {
	if n := len(t); n > 0 && t[n-1].kind == kind {
		return t
	}
	return append(t, stretch{from, kind})
}

// lineOf returns the timeline on which a kind holds on some days, and nothing on the others.
func lineOf(list spans, kind int32) timeline {
	t := make(timeline, 0, 2*len(list)+1)
	if len(list) == 0 || list[0].from > First {
		t = t.add(First, never)
	}
	for _, s := range list {
		if t = t.add(max(s.from, First), kind); s.to < Last {
			t = t.add(s.to+1, never)
		}
	}
	return t
}

// A table has the patterns that timelines are made of: those of one calendar.
type table struct {
	list   []pattern
	places map[pattern]int32
	joins  map[pairing]int32
	asked  map[asked]int32 // of rules
	fault  error           // too many
}

// A pairing is two patterns that were put together.
type pairing struct {
	a, b int32
	op   op
}

// errPatterns: there are more than maxPatterns.
var errPatterns = errors.New("calendars within it take days away in too many different ways; put some of them together")

// maxPatterns bounds the patterns of a calendar, with those that come up while it is put together, which have 672 bytes each. A calendar of
// weekdays and yearly dates has one, and each rule one more; only calendars within calendars that each take other days away
// at other times come to many.
const maxPatterns = 2048

func newTable() *table {
	t := &table{places: map[pattern]int32{}, joins: map[pairing]int32{}, asked: map[asked]int32{}}
	t.place(&pattern{})
	t.place(&always)
	return t
}

func (t *table) place(p *pattern) int32 {
	if at, ok := t.places[*p]; ok {
		return at
	}
	if len(t.list) == maxPatterns {
		t.fault = errPatterns
		return never
	}
	at := int32(len(t.list))
	t.list = append(t.list, *p)
	t.places[*p] = at
	return at
}

// join puts two patterns together.
func (t *table) join(a, b int32, o op) int32 {
	switch {
	case a == b && o == opMinus, o != opOr && a == never, o == opAnd && b == never, o == opMinus && b == daily:
		return never
	case a == b, o == opMinus && b == never, o == opAnd && b == daily, o == opOr && (b == never || a == daily):
		return a
	case o == opOr && (a == never || b == daily), o == opAnd && a == daily:
		return b
	}
	at, known := t.joins[pairing{a, b, o}]
	if !known {
		p := join(&t.list[a], &t.list[b], o)
		at = t.place(&p)
		t.joins[pairing{a, b, o}] = at
	}
	return at
}

// combine puts two timelines together, in one walk along both.
func (t *table) combine(a, b timeline, o op) timeline {
	if len(a) == 0 {
		a = timeline{{First, never}}
	}
	if len(b) == 0 {
		b = timeline{{First, never}}
	}
	all := make(timeline, 0, len(a)+len(b))
	for i, j, from := 0, 0, First; ; {
		all = all.add(from, t.join(a[i].kind, b[j].kind, o))
		endA, endB := a.end(i), b.end(j)
		if from = min(endA, endB) + 1; from > Last {
			return all
		}
		if endA < from {
			i++
		}
		if endB < from {
			j++
		}
	}
}

// union puts many timelines together: two and two, so that each day is looked at a few times only.
func (t *table) union(list []timeline) timeline {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	half := len(list) / 2
	return t.combine(t.union(list[:half]), t.union(list[half:]), opOr)
}

// settled returns the timeline without stretches in which a pattern has no day, or all of them: so of three that follow one another at least one
// has the day that is sought, whichever that is.
func (t *table) settled(line timeline) timeline {
	all := make(timeline, 0, len(line))
	for i, s := range line {
		if last := line.end(i); s.kind > daily {
			p := &t.list[s.kind]
			if p.next(s.from, last, true) > last {
				s.kind = never
			} else if p.next(s.from, last, false) > last {
				s.kind = daily
			}
		}
		all = all.add(s.from, s.kind)
	}
	return all
}

// A search looks for days in a timeline, whose patterns are in a table.
type search struct {
	line timeline
	list []pattern
}

func (s *search) has(d Day) bool {
	if len(s.line) == 0 || d < First || d > Last {
		return false
	}
	switch kind := s.line[s.line.find(d)].kind; kind {
	case never, daily:
		return kind == daily
	default:
		return s.list[kind].has(d)
	}
}

// next returns the first day at or after d that is in the set, or with in false, is not; Last+1 for none.
func (s *search) next(d Day, in bool) Day {
	if d = max(d, First); len(s.line) == 0 && !in {
		return d
	}
	if d > Last || len(s.line) == 0 {
		return Last + 1
	}
	for i := s.line.find(d); i < len(s.line); i++ {
		last := s.line.end(i)
		switch kind := s.line[i].kind; kind {
		case never, daily:
			if (kind == daily) == in {
				return d
			}
		default:
			if found := s.list[kind].next(d, last, in); found <= last {
				return found
			}
		}
		d = last + 1
	}
	return Last + 1
}

// prev returns the last day at or before d that is in the set, or is not; First-1 for none.
func (s *search) prev(d Day, in bool) Day {
	if d = min(d, Last); len(s.line) == 0 && !in {
		return d
	}
	if d < First || len(s.line) == 0 {
		return First - 1
	}
	for i := s.line.find(d); i >= 0; i-- {
		first := s.line[i].from
		switch kind := s.line[i].kind; kind {
		case never, daily:
			if (kind == daily) == in {
				return d
			}
		default:
			if found := s.list[kind].prev(d, first, in); found >= first {
				return found
			}
		}
		d = first - 1
	}
	return First - 1
}
