package trigger_test

import (
	"slices"

	"github.com/ruqi-dev/ruqi/trigger"
)

// sweepRules are the options about clock changes.
type sweepRules struct {
	gap  trigger.Gap
	fold trigger.Fold
}

// allRules are all there are.
var allRules = func() (list []sweepRules) {
	for _, gap := range []trigger.Gap{trigger.GapRunAfter, trigger.GapShift, trigger.GapSkip} {
		for _, fold := range []trigger.Fold{trigger.FoldAuto, trigger.FoldFirst, trigger.FoldBoth, trigger.FoldSecond} {
			list = append(list, sweepRules{gap, fold})
		}
	}
	return list
}()

// A model says when a trigger fires, from nothing but a record of what the clock showed. It knows no tables and no
// arithmetic over days: what it says is slow and plain to see.
type model interface {
	// fires returns the instants of the record at which the trigger fires, in order.
	fires(c *wallClock, rules sweepRules) []int64
}

// A wallModel fires at the times the clock shows.
type wallModel struct {
	shows func(f *face) bool
	// follows: the hour, minute or second begins with *, so the real clock is followed.
	follows bool
}

// matches are where a wallModel is right, whatever the rules.
type matches struct {
	shown  []int  // indices of the record
	missed []made // left out by a jump
}

type made struct{ end, shifted int64 }

func (m *wallModel) matches(c *wallClock) matches {
	if found, ok := c.matched[m]; ok {
		return found
	}
	var found matches
	for i := range c.faces {
		if m.shows(&c.faces[i]) {
			found.shown = append(found.shown, i)
		}
	}
	var read faceReader
	for _, j := range c.jumps {
		const correction = 3 * 3600 // what is longer is no gap
		if m.follows || j.after-j.before > correction {
			continue
		}
		for wall := j.before; wall < j.after; wall += c.step {
			if f := read.face(wall); m.shows(&f) {
				found.missed = append(found.missed, made{j.at, j.at + wall - j.before})
			}
		}
	}
	c.matched[m] = found
	return found
}

func (m *wallModel) fires(c *wallClock, rules sweepRules) (list []int64) {
	fold := rules.fold
	if fold == trigger.FoldAuto {
		fold = trigger.FoldFirst
		if m.follows {
			fold = trigger.FoldBoth
		}
	}
	found := m.matches(c)
	for _, i := range found.shown {
		if fold == trigger.FoldFirst && c.earlier[i] || fold == trigger.FoldSecond && c.later[i] {
			continue
		}
		list = append(list, c.from+int64(i)*c.step)
	}
	for _, missed := range found.missed {
		switch rules.gap {
		case trigger.GapRunAfter:
			list = append(list, missed.end)
		case trigger.GapShift:
			list = append(list, missed.shifted)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A lengthModel fires each so many seconds of elapsed time, first at its start.
type lengthModel struct{ start, length int64 }

func (m lengthModel) fires(c *wallClock, _ sweepRules) (list []int64) {
	for i := range c.walls {
		if at := c.from + int64(i)*c.step; at >= m.start && (at-m.start)%m.length == 0 {
			list = append(list, at)
		}
	}
	return list
}

// unionModel fires when one of its parts does.
type unionModel []model

func (m unionModel) fires(c *wallClock, rules sweepRules) (list []int64) {
	for _, part := range m {
		list = append(list, part.fires(c, rules)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// commonModel fires when all of its parts do.
type commonModel []model

func (m commonModel) fires(c *wallClock, rules sweepRules) []int64 {
	list := m[0].fires(c, rules)
	for _, part := range m[1:] {
		other := part.fires(c, rules)
		list = slices.DeleteFunc(list, func(at int64) bool {
			_, found := slices.BinarySearch(other, at)
			return !found
		})
	}
	return list
}

// withoutModel fires when its first part does and no other.
type withoutModel []model

func (m withoutModel) fires(c *wallClock, rules sweepRules) []int64 {
	list := m[0].fires(c, rules)
	for _, part := range m[1:] {
		other := part.fires(c, rules)
		list = slices.DeleteFunc(list, func(at int64) bool {
			_, found := slices.BinarySearch(other, at)
			return found
		})
	}
	return list
}
