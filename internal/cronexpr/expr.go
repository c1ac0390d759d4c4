package cronexpr

import "math/bits"

// An Expr is a parsed expression: bit sets, and the canonical text. It is
// immutable and safe for concurrent use.
type Expr struct {
	second, minute uint64 // bits 0-59
	hour           uint32 // bits 0-23
	month          uint32 // bits 1-12
	days           dayRule
	weeks          uint64   // bits 1-53, of ISO 8601; 0 for all
	years          *yearSet // nil for all

	first, last int // first and last second of the day that match
	perDay      int // how many seconds of a matching day match

	never   bool // @reboot
	starred bool // the hour, minute or second field begins with *
	hashed  bool // it has H
	dialect *Dialect
	text    string
	fields  [units]string // the canonical text of each field
	zone    string
}

// A dayRule says which days of a month match.
type dayRule struct {
	dom uint32 // bits 1-31
	dow uint8  // bits 0-6, 0 = Sunday

	either   bool // a day of dom or a weekday of dow; else both
	every    bool // every day of every month
	weekdays bool // dow alone decides
	relative bool // one of the following is not empty

	// Beside dom:
	lastFull bool   // LW: the last Monday-Friday of the month
	fromLast uint32 // bit n: the day n days before the last
	nearest  uint32 // bit n: the Monday-Friday nearest to day n
	ordinal  weekdaysOf
	// Beside dow:
	nth weekdaysOf
}

// weekdaysOf are weekdays counted within a month.
type weekdaysOf struct {
	nth  uint64 // bit 7(n-1)+d: the nth weekday d
	last uint8  // bit d: the last weekday d
}

// Dialect returns the name of the dialect the expression was read in.
func (e *Expr) Dialect() string { return e.dialect.Name }

// Text returns the canonical text: the fields in the order of the dialect, one
// blank between, months as numbers, weekdays as names in lower case, macros
// written out, without a zone. A dialect of keywords has them in the order of their
// weight, and leaves out what stands for itself. Parsed again it gives the same
// times.
func (e *Expr) Text() string { return e.text }

// A FieldText is the canonical text of one field.
type FieldText struct {
	// Name is second, minute, hour, day, month, day_of_week, week or year.
	Name string
	// Text is the list of the field's elements, spelt as in Expr.Text.
	Text string
}

// Fields returns the fields of the dialect in the order of FieldText.Name, those
// included that the expression left out: they have the text they stand for.
// @reboot has none.
func (e *Expr) Fields() []FieldText {
	if e.never {
		return nil
	}
	list := make([]FieldText, 0, units)
	for u, text := range e.fields {
		if text != "" {
			list = append(list, FieldText{unitNames[u], text})
		}
	}
	return list
}

// Zone returns the zone that stood in front of the expression, as it was
// written; empty when there was none.
func (e *Expr) Zone() string { return e.zone }

// Never reports whether the expression is @reboot, which stands for a start and matches no time: nothing may be searched by it.
func (e *Expr) Never() bool { return e.never }

// Starred reports whether the hour, minute or second field begins with *: such an
// expression follows the real clock through a clock change, the others name
// fixed times of day.
func (e *Expr) Starred() bool { return e.starred }

// Hashed reports whether the expression has H, so that its times depend on the seed.
func (e *Expr) Hashed() bool { return e.hashed }

// Horizon returns how far a search must look, in seconds, before it may say that
// there is nothing: the 400 years after which dates and weekdays repeat, or all
// years when some are named.
func (e *Expr) Horizon() int64 {
	if e.years != nil {
		return maxYear * 366 * daySeconds
	}
	return cycleDays * daySeconds
}

// Years returns the first and the last year that the expression names; named is false where it fires in all.
func (e *Expr) Years() (first, last int, named bool) {
	if e.years == nil {
		return 0, 0, false
	}
	first, _ = e.years.next(minYear)
	last, _ = e.years.prev(maxYear)
	return first, last, true
}

// spread repeats the weekdays of dow over the days 1-31 of a month whose first
// day is the weekday first.
func spread(dow uint8, first int) uint32 {
	rotated := uint64(dow>>first|dow<<(7-first)) & 0x7f
	const weeks = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28
	return uint32(rotated * weeks << 1)
}

// mask returns the matching days of a month as bits 1-31, given the number of its
// first day and its length; the month and the year are not asked about.
func (e *Expr) mask(firstDay int64, length int) uint32 {
	r := &e.days
	first := weekdayOf(firstDay)
	dom, dow := r.dom, spread(r.dow, first)
	if r.relative {
		dom |= r.relativeDays(first, length)
		dow |= r.nth.days(first, length)
	}
	days := uint32(1)<<length<<1 - 2
	if e.weeks != 0 {
		days &= weekDays(e.weeks, firstDay, length)
	}
	if r.either {
		return (dom | dow) & days
	}
	return dom & dow & days
}

// relativeDays returns the days that L, L-n, LW, nW and 1st fri mean in a month.
func (r *dayRule) relativeDays(first, length int) (days uint32) {
	for set := r.fromLast; set != 0; set &= set - 1 {
		if n := bits.TrailingZeros32(set); n < length {
			days |= 1 << (length - n)
		}
	}
	for set := r.nearest; set != 0; set &= set - 1 {
		if n := bits.TrailingZeros32(set); n <= length {
			days |= 1 << nearestFull(n, first, length)
		}
	}
	if r.lastFull {
		days |= 1 << nearestFull(length, first, length)
	}
	return days | r.ordinal.days(first, length)
}

// nearestFull returns the Monday-Friday nearest to day n in the same month. For
// the last day of a month that is also the last Monday-Friday: a Saturday goes one
// day back, and a Sunday cannot go forward, so it goes two back.
func nearestFull(n, first, length int) int {
	switch (first + n - 1) % 7 {
	case 6: // Saturday
		if n == 1 {
			return 3
		}
		return n - 1
	case 0: // Sunday
		if n == length {
			return n - 2
		}
		return n + 1
	}
	return n
}

// days returns the days they are in a month.
func (w *weekdaysOf) days(first, length int) (days uint32) {
	for set := w.nth; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		n := 1 + (i%7-first+7)%7 + i/7*7
		if n <= length {
			days |= 1 << n
		}
	}
	if w.last != 0 {
		week := uint32(0x7f) << (length - 6) // the last seven days
		days |= spread(w.last, first) & week
	}
	return days
}

// finish fills in what follows from the sets.
func (e *Expr) finish() {
	r := &e.days
	var none weekdaysOf
	r.relative = r.lastFull || r.fromLast != 0 || r.nearest != 0 || r.ordinal != none || r.nth != none
	const allDom, allDow, allMonths, allWeeks = 1<<32 - 2, 0x7f, 1<<13 - 2, 1<<54 - 2
	if e.weeks == allWeeks {
		e.weeks = 0
	}
	if e.years != nil && e.years.full() {
		e.years = nil
	}
	fullDom, fullDow := r.dom == allDom, r.dow == allDow
	if e.month == allMonths && e.weeks == 0 && e.years == nil {
		r.every = fullDom && fullDow || r.either && (fullDom || fullDow)
		r.weekdays = !r.either && fullDom && r.nth == none
	}
	e.first = bits.TrailingZeros32(e.hour)*3600 + bits.TrailingZeros64(e.minute)*60 + bits.TrailingZeros64(e.second)
	e.last = (bits.Len32(e.hour)-1)*3600 + (bits.Len64(e.minute)-1)*60 + bits.Len64(e.second) - 1
	e.perDay = bits.OnesCount32(e.hour) * bits.OnesCount64(e.minute) * bits.OnesCount64(e.second)
}
