package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// Else says what becomes of a fire time on a day that is left out.
type Else string

// The empty Else is ElseSkip. The others move the fire time to the same time of day on the nearest day that is not left out, at most a
// year away: one that the clock skips there becomes the first instant after the gap, one that comes twice the first of the two.
// What falls together is one fire, and nothing is moved past the end of the trigger.
const (
	ElseSkip     Else = "skip"     // nothing
	ElseNext     Else = "next"     // it fires on the next day
	ElsePrevious Else = "previous" // it fires on the last day before
)

func (e Else) describe(in ruqi.Language) string {
	switch {
	case e == ElseNext && in == ruqi.Chinese:
		return "，遇此则顺延至其后第一个可用日"
	case e == ElsePrevious && in == ruqi.Chinese:
		return "，遇此则提前至其前最后一个可用日"
	case e == ElseNext:
		return ", then on the next day that is not left out"
	case e == ElsePrevious:
		return ", then on the last day before that is not left out"
	}
	return ""
}

// A sieve is what except and only are: a trigger whose fire times are held against parts.
type sieve struct {
	of        ruqi.Trigger
	held      []Part
	keeps     bool // what a part holds stays, and the rest is left out; else the other way round
	otherwise Else
	fault     error // told by Bind

	zone     *zone // of of; UTC while it has none
	days     []*daycal.Calendar
	triggers []ruqi.Trigger
	end      int64 // microseconds; none without
}

// prepare checks what the sieve is made of and computes what follows from it. self is the trigger it is in.
func (s *sieve) prepare(self composite) {
	var faults ruqi.Faults
	name := "not"
	if s.keeps {
		name = "in"
	}
	if len(s.held) == 0 {
		faults.Add("/"+name, "", "empty; it takes at least one")
	}
	for i, p := range s.held {
		faults.Merge(object.Pointer(name, fmt.Sprint(i)), p.fault)
		switch {
		case p.days != nil:
			s.days = append(s.days, p.days)
		case p.trigger != nil:
			s.triggers = append(s.triggers, p.trigger)
		}
	}
	if s.otherwise == "" {
		s.otherwise = ElseSkip
	}
	s.otherwise.check(s.held, &faults)
	checkParts(self, func(i int) string {
		if i == 0 {
			return "/of"
		}
		for at, p := range s.held {
			if p.trigger != nil {
				if i--; i == 0 {
					return object.Pointer(name, fmt.Sprint(at))
				}
			}
		}
		return ""
	}, &faults)
	if s.fault = faults.Err(); s.fault != nil {
		return
	}
	if s.zone = zoneIn(s.of); s.zone == nil {
		s.zone = utc
	}
	s.end = none
	if e, ok := s.of.(ruqi.Ender); ok {
		if end, has := e.EndTime(); has {
			s.end = clampMicros(end, false)
		}
	}
}

// parts puts the trigger first, then those of the parts.
func (s *sieve) parts() (triggers []ruqi.Trigger, calendars []Part) {
	triggers = []ruqi.Trigger{s.of}
	for _, p := range s.held {
		if p.trigger != nil {
			triggers = append(triggers, p.trigger)
		} else {
			calendars = append(calendars, p)
		}
	}
	return triggers, calendars
}

func (s *sieve) bind(b *binder, name string, loc *time.Location) (ruqi.Trigger, []Part, error) {
	if s.fault != nil {
		return nil, nil, s.fault
	}
	var faults ruqi.Faults
	of, err := b.part(s.of, loc)
	if faults.Merge("/of", err); err != nil {
		return nil, nil, faults.Err()
	}
	loc = time.UTC
	if z := zoneIn(of); z != nil {
		loc = z.loc
	}
	held := make([]Part, len(s.held))
	for i, p := range s.held {
		held[i], err = p.bind(b, loc)
		faults.Merge(object.Pointer(name, fmt.Sprint(i)), err)
	}
	return of, held, faults.Err()
}

func (s *sieve) reanchor(anchor time.Time) (of ruqi.Trigger, held []Part, ok bool) {
	list, ok := reanchorList([]ruqi.Trigger{s.of}, anchor)
	if !ok || s.fault != nil {
		return nil, nil, false
	}
	for _, p := range s.held {
		if moved, ok := reanchorList([]ruqi.Trigger{p.trigger}, anchor); ok {
			p.trigger = moved[0]
		}
		held = append(held, p)
	}
	return list[0], held, true
}

// Binding returns the zone and the anchor that the trigger was bound with, nil and the zero time where there is none.
func (s *sieve) Binding() (*time.Location, time.Time) {
	if s.of == nil {
		return nil, time.Time{}
	}
	z := zoneIn(s.of)
	if z == nil {
		return nil, time.Time{}
	}
	all, _ := s.parts()
	return z.loc, anchorIn(all)
}

// EndTime returns the end of the trigger, inclusive, if it has one.
func (s *sieve) EndTime() (time.Time, bool) {
	if s.fault != nil || s.end == none {
		return time.Time{}, false
	}
	return s.zone.timeMicro(s.end), true
}

func (s *sieve) next(q *search, after, limit int64) (at int64, is finding) {
	if s.fault != nil {
		return 0, never
	}
	if s.end != none {
		limit = min(limit, s.end)
	}
	if s.otherwise == ElseSkip {
		at, is = s.nextKept(q, after, limit)
	} else {
		at, is = s.nextMoved(q, after, limit)
	}
	if s.end != none && (is == fires && at > s.end || is == upTo && at >= s.end) {
		return 0, never
	}
	return at, is
}

func (s *sieve) prev(q *search, before, limit int64) (int64, finding) {
	if s.fault != nil {
		return 0, never
	}
	if s.end != none {
		before = min(before, s.end+1)
	}
	if s.otherwise == ElseSkip {
		return s.prevKept(q, before, limit)
	}
	return s.prevMoved(q, before, limit)
}

// nextKept searches for the first fire time after an instant that is not left out.
func (s *sieve) nextKept(q *search, after, limit int64) (int64, finding) {
	at, is := q.next(s.of, after, limit)
	for is == fires && at <= limit {
		kept := s.kept(q, at)
		switch {
		case q.spent:
			return at - 1, upTo
		case kept:
			return at, fires
		}
		from, ok := s.hopeAfter(q, at, limit)
		if !ok {
			return 0, never
		}
		at, is = q.next(s.of, from-1, limit)
	}
	if is == fires {
		return at - 1, upTo
	}
	return at, is
}

// prevKept is nextKept backwards.
func (s *sieve) prevKept(q *search, before, limit int64) (int64, finding) {
	at, is := q.prev(s.of, before, limit)
	for is == fires && at >= limit {
		kept := s.kept(q, at)
		switch {
		case q.spent:
			return at + 1, upTo
		case kept:
			return at, fires
		}
		until, ok := s.hopeBefore(q, at, limit)
		if !ok {
			return 0, never
		}
		at, is = q.prev(s.of, until+1, limit)
	}
	if is == fires {
		return at + 1, upTo
	}
	return at, is
}

// kept reports whether a fire time of the trigger at an instant stays.
func (s *sieve) kept(q *search, at int64) bool {
	if len(s.days) > 0 && s.holdsDay(s.zone.day(at)) {
		return s.keeps
	}
	for _, t := range s.triggers {
		if q.holds(t, at) {
			return s.keeps
		}
	}
	return !s.keeps
}

func (s *sieve) holdsDay(d daycal.Day) bool {
	for _, c := range s.days {
		if c.Contains(d) {
			return true
		}
	}
	return false
}

// hopeAfter returns the first instant after one that is left out that may not be.
func (s *sieve) hopeAfter(q *search, at, limit int64) (from int64, ok bool) {
	if !s.keeps && (len(s.days) == 0 || !s.holdsDay(s.zone.day(at))) {
		return at + 1, true
	}
	if len(s.days) > 0 {
		if d, has := s.nextDay(q, s.zone.day(at), s.zone.day(limit)+1, s.keeps); has {
			from, ok = s.zone.later(at, d), true
		}
		if back, folds := s.zone.backAfter(at); folds && (!ok || back < from) {
			from, ok = back, true
		}
	}
	if s.keeps {
		for _, t := range s.triggers {
			next, is := q.next(t, at, limit)
			if is == upTo {
				next++ // it may be the one after
			}
			if is != never && (!ok || next < from) {
				from, ok = next, true
			}
		}
	}
	return from, ok
}

// hopeBefore is hopeAfter backwards.
func (s *sieve) hopeBefore(q *search, at, limit int64) (until int64, ok bool) {
	if !s.keeps && (len(s.days) == 0 || !s.holdsDay(s.zone.day(at))) {
		return at - 1, true
	}
	if len(s.days) > 0 {
		if d, has := s.prevDay(q, s.zone.day(at), s.zone.day(limit)-1, s.keeps); has {
			until, ok = min(at, s.zone.endOf(d))-1, true
		}
		if ahead, folded := s.zone.aheadBefore(at); folded && (!ok || ahead > until+1) {
			until, ok = min(at, ahead)-1, true
		}
	}
	if s.keeps {
		for _, t := range s.triggers {
			prev, is := q.prev(t, at, limit)
			if is == upTo {
				prev--
			}
			if is != never && (!ok || prev > until) {
				until, ok = prev, true
			}
		}
	}
	return until, ok
}

// nextDay returns the first day after d that the calendars hold, or that none of them holds; one after until, or before it when the questions
// are used up, where there is none up to then: calendars that hold all days between them are gone through day by day.
func (s *sieve) nextDay(q *search, d, until daycal.Day, held bool) (best daycal.Day, ok bool) {
	if held {
		for _, c := range s.days {
			if next, has := c.NextIn(d); has && (!ok || next < best) {
				best, ok = next, true
			}
		}
		return best, ok
	}
	for d++; d <= until && s.holdsDay(d) && q.ask(); q.asks -= len(s.days) {
		for _, c := range s.days {
			if !c.Contains(d) {
				continue
			}
			if d, ok = c.NextOut(d); !ok {
				return 0, false
			}
		}
	}
	return d, d <= daycal.Last
}

// prevDay is nextDay backwards.
func (s *sieve) prevDay(q *search, d, until daycal.Day, held bool) (best daycal.Day, ok bool) {
	if held {
		for _, c := range s.days {
			if prev, has := c.PrevIn(d); has && (!ok || prev > best) {
				best, ok = prev, true
			}
		}
		return best, ok
	}
	for d--; d >= until && s.holdsDay(d) && q.ask(); q.asks -= len(s.days) {
		for _, c := range s.days {
			if !c.Contains(d) {
				continue
			}
			if d, ok = c.PrevOut(d); !ok {
				return 0, false
			}
		}
	}
	return d, d >= daycal.First
}

func (s *sieve) holds(q *search, at int64) bool {
	if s.fault != nil || s.end != none && at > s.end {
		return false
	}
	if s.otherwise == ElseSkip {
		return q.holds(s.of, at) && s.kept(q, at)
	}
	next, is := s.nextMoved(q, at-1, at)
	return is == fires && next == at
}

func (s *sieve) count(q *search, from, to int64) int64 {
	if s.end != none {
		to = min(to, s.end)
	}
	if s.fault != nil || from >= to {
		return 0
	}
	if s.otherwise == ElseSkip && len(s.triggers) == 0 {
		if n := s.countDays(q, from, to); n >= 0 {
			return n
		}
	}
	n := int64(0)
	for from < to {
		at, is := s.next(q, from, to)
		switch {
		case q.spent || n > maxCounted:
			return -1
		case is != fires || at > to:
			return n
		}
		n++
		from = at
	}
	return n
}

// countDays adds up the stretches of days that stay; negative when there are too many, or a clock change over midnight takes them apart.
func (s *sieve) countDays(q *search, from, to int64) (n int64) {
	if s.zone.foldsOverMidnight(from, to) {
		return -1
	}
	const maxStretches = 25_000 // two a week over a lifetime, in a few milliseconds
	d, last := s.zone.day(from), s.zone.day(to)
	for range maxStretches {
		if s.holdsDay(d) != s.keeps {
			next, ok := s.nextDay(q, d, last, s.keeps)
			if !ok || next > last {
				return n
			}
			d = next
		}
		until := to
		after, ok := s.nextDay(q, d, last, !s.keeps)
		if ok && after <= last {
			until = s.zone.startOf(after) - 1
		}
		if q.spent {
			return -1
		}
		stretch := q.count(s.of, max(from, s.zone.startOf(d)-1), min(to, until))
		if stretch < 0 {
			return -1
		}
		n += stretch
		if !ok || after > last {
			return n
		}
		d = after
	}
	return -1
}

// describeHeld names the parts. What clock changes do to times that are left out is not said: one would take it for what the trigger does.
func (s *sieve) describeHeld(in ruqi.Language, changes bool, onDays, atTimes string) string {
	var days, times []string
	for _, p := range s.held {
		if p.trigger != nil {
			times = append(times, p.describe(in, changes && s.keeps))
		} else {
			days = append(days, p.describe(in, false))
		}
	}
	and, also := " and ", " or "
	if in == ruqi.Chinese {
		and, also = "以及", "或"
	}
	var texts []string
	if len(days) > 0 {
		texts = append(texts, phrase(in, onDays, strings.Join(days, and)))
	}
	if len(times) > 0 {
		texts = append(texts, phrase(in, atTimes, strings.Join(times, and)))
	}
	return strings.Join(texts, also)
}

// phrase puts words together: with a blank where the language has them.
func phrase(in ruqi.Language, first, second string) string {
	if in == ruqi.Chinese {
		return first + second
	}
	return first + " " + second
}

func (s *sieve) explain(self ruqi.Matcher, name string, at time.Time, in ruqi.Language) []ruqi.Ruling {
	if s.fault != nil || self.Matches(at) {
		return nil
	}
	rulings := explainPart(s.of, at, in, "of")
	micros, ok := wholeMicros(at)
	if !ok || s.kept(&search{asks: mostAsks}, micros) {
		return rulings
	}
	d := s.zone.day(micros)
	for i, p := range s.held {
		path := pathOf(name, i)
		switch {
		case p.trigger != nil && s.keeps:
			rulings = append(rulings, explainPart(p.trigger, at, in, path)...)
		case p.trigger != nil && ruqi.Matches(p.trigger, at):
			rulings = append(rulings, ruqi.Ruling{Part: path, Message: say(in, "the times of this trigger are left out, and it fires then: %s", "此触发器的时刻被排除，而它在此刻触发：%s", p.describe(in, false))})
		case p.days != nil && s.keeps:
			rulings = append(rulings, ruqi.Ruling{Part: path, Message: say(in, "%s, a %s, is not among %s%s", "%s（%s）不在以下日期中：%s%s", d, dayName(d.Weekday(), in), p.describe(in, false), s.movedTo(micros, in))})
		case p.days != nil && p.days.Contains(d):
			rulings = append(rulings, ruqi.Ruling{Part: path, Message: say(in, "%s, a %s, is left out: it is among %s%s", "%s（%s）被排除，它在以下日期中：%s%s", d, dayName(d.Weekday(), in), p.describe(in, false), s.movedTo(micros, in))})
		}
	}
	return rulings
}

// movedTo says when a fire time that is left out takes place instead.
func (s *sieve) movedTo(at int64, in ruqi.Language) string {
	if s.otherwise == ElseSkip || !(&search{asks: mostAsks}).holds(s.of, at) {
		return ""
	}
	to, ok := s.moved(at)
	if !ok || s.end != none && to > s.end {
		return ""
	}
	return say(in, "; it fires at %s instead", "；改在 %s 触发", formatMicros(to, s.zone))
}

// pathOf names a part of a trigger in rulings.
func pathOf(name string, i int) string { return fmt.Sprintf("%s/%d", name, i) }

func (s *sieve) encode(kind, name string) ([]byte, error) {
	if s.fault != nil {
		return nil, s.fault
	}
	of, err := s.of.MarshalJSON()
	if err != nil {
		return nil, err
	}
	held, err := json.Marshal(s.held)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"kind":%q,"of":%s,%q:%s,"else":%q}`, kind, of, name, held, s.otherwise), nil
}

// check notes what is wrong with e for a trigger of these parts.
func (e Else) check(held []Part, faults *ruqi.Faults) {
	switch e {
	case "", ElseSkip:
	case ElseNext, ElsePrevious:
		if slices.ContainsFunc(held, func(p Part) bool { return p.trigger != nil }) {
			faults.Add("/else", string(e), "a fire time is moved to another day only where days are left out; the times of a trigger are skipped")
		}
	default:
		faults.Add("/else", string(e), "%q is not one of skip, next, previous", clip(string(e)))
	}
}

// sieve decodes what except and only are made of.
func (r reader) sieve(data []byte, kind, name string) (of ruqi.Trigger, held []Part, otherwise Else, err error) {
	d, err := r.object(data, kind)
	if err != nil {
		return nil, nil, "", err
	}
	if of, err = r.member(d, "of"); err != nil {
		return nil, nil, "", err
	}
	for i, item := range r.items(d, name, "triggers, {\"calendar\":\"NAME\"} or {\"days\":{…}}") {
		p, err := r.part(item)
		if err != nil && !errors.Is(err, ruqi.ErrInvalid) {
			return nil, nil, "", err
		}
		d.faults.Merge(object.Pointer(name, fmt.Sprint(i)), err)
		held = append(held, p)
	}
	otherwise = Else(d.text("else"))
	otherwise.check(held, &d.faults) // also where the trigger cannot be made, for all faults to be told at once
	d.Done("kind", "of", name, "else")
	return of, held, otherwise, d.faults.Err()
}
