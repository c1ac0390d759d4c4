package cronwords

import "math/bits"

// A planKind is a way to say times of day.
type planKind uint8

const (
	byList    planKind = iota // at 09:00 and 17:00
	byStep                    // every 5 minutes, all day
	byWindows                 // every 5 minutes from 09:00 to 17:55
	byFields                  // at minutes 1 and 7 of hours 9 to 17: what has no better form
	byHash                    // at a minute set by the job's id
)

// A plan is how the times of day are said, whatever the language. Times are seconds of the day.
type plan struct {
	kind    planKind
	times   [mostTimes]int
	n       int    // how many times
	seconds bool   // times are written with their seconds
	step    int    // seconds: a number of seconds, minutes or hours
	offset  int    // byStep: the first time of the day
	windows []span // byWindows: first and last time of each; those of one time stand for themselves
}

const (
	// fewTimes are always listed; mostTimes are, where they are at no even distance. A longer list is not read.
	fewTimes  = 3
	mostTimes = 12
	// mostWindows is how many stretches of a day are told one by one.
	mostWindows = 3
)

// plan decides how to say the times of day. The first form that fits is the one people would use.
func (e *Expression) plan() plan {
	s, m, h := e.second.numbers(0, 59), e.minute.numbers(0, 59), e.hour.numbers(0, 23)
	p := plan{kind: byFields, seconds: s != 1}
	if e.second.hash != nil || e.minute.hash != nil || e.hour.hash != nil {
		p.kind = byHash
		return p
	}
	times := bits.OnesCount64(s) * bits.OnesCount64(m) * bits.OnesCount64(h)
	if times <= fewTimes || !p.steady(s, m, h) && times <= mostTimes {
		p.list(s, m, h)
	}
	return p
}

// numbers returns the set, all of the range where the field is open.
func (f *field) numbers(low, high int) uint64 {
	if f.full {
		return uint64(1)<<(high+1) - uint64(1)<<low
	}
	return f.set
}

func (p *plan) list(s, m, h uint64) {
	p.kind = byList
	for ; h != 0; h &= h - 1 {
		for minutes := m; minutes != 0; minutes &= minutes - 1 {
			for seconds := s; seconds != 0; seconds &= seconds - 1 {
				p.times[p.n] = low(h)*3600 + low(minutes)*60 + low(seconds)
				p.n++
			}
		}
	}
}

// steady finds a step that goes through the day or through a few stretches of it.
func (p *plan) steady(s, m, h uint64) bool {
	secondStep, second, evenSeconds := cyclic(s, 60)
	minuteStep, minute, evenMinutes := cyclic(m, 60)
	switch {
	case evenSeconds && secondStep < 60 && m == 1<<60-1:
		return p.through(secondStep, second, 59*60+high(s), h)
	case evenSeconds && secondStep < 60:
		return p.minutes(secondStep, s, m, h)
	case !evenSeconds || !evenMinutes:
		return false
	case minuteStep < 60:
		return p.through(minuteStep*60, minute*60+second, high(m)*60+second, h)
	}
	return p.hours(minute*60+second, h)
}

// through says a step within the hour, whose first and last time in each hour are given.
func (p *plan) through(step, first, last int, h uint64) bool {
	p.step, p.offset = step, first
	if h == 1<<24-1 {
		p.kind = byStep
		return true
	}
	list := runs(h)
	if len(list) > mostWindows {
		return false
	}
	p.kind = byWindows
	for _, r := range list {
		p.windows = append(p.windows, span{r.from*3600 + first, r.to*3600 + last, 1})
	}
	return true
}

// minutes says a step of seconds within a few minutes of a few hours.
func (p *plan) minutes(step int, s, m, h uint64) bool {
	list := runs(m)
	if len(list)*bits.OnesCount64(h) > mostWindows {
		return false
	}
	p.kind, p.step = byWindows, step
	for ; h != 0; h &= h - 1 {
		for _, r := range list {
			p.windows = append(p.windows, span{low(h)*3600 + r.from*60 + low(s), low(h)*3600 + r.to*60 + high(s), 1})
		}
	}
	return true
}

// hours says one time an hour, which is given.
func (p *plan) hours(at int, h uint64) bool {
	if step, offset, ok := cyclic(h, 24); ok && offset == 0 && step < 24 {
		p.kind, p.step, p.offset = byStep, step*3600, at
		return true
	}
	window := func(r span) span { return span{r.from*3600 + at, r.to*3600 + at, 1} }
	if step, ok := even(h); ok && bits.OnesCount64(h) > fewTimes {
		p.kind, p.step = byWindows, step*3600
		p.windows = []span{window(span{low(h), high(h), 1})}
		return true
	}
	list := runs(h)
	if len(list) > mostWindows {
		return false
	}
	long := false
	for _, r := range list {
		long = long || r.to-r.from >= 2
	}
	if !long {
		return false
	}
	p.kind, p.step = byWindows, 3600
	for _, r := range list {
		p.windows = append(p.windows, window(r))
	}
	return true
}

// clock appends a time of day.
func clock(b []byte, at int, seconds bool) []byte {
	b = two(b, at/3600)
	b = two(append(b, ':'), at/60%60)
	if seconds {
		b = two(append(b, ':'), at%60)
	}
	return b
}

func two(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }
