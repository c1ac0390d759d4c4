package daycal

import (
	"cmp"
	"slices"
)

// A span is a stretch of days, both ends included.
type span struct{ from, to Day }

// spans are in order, and between two of them there is at least one day.
type spans []span

// merged returns the days of a list in any order.
func merged(list []span) spans {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	all := list[:0]
	for _, s := range list {
		if n := len(all); n > 0 && s.from <= all[n-1].to+1 {
			all[n-1].to = max(all[n-1].to, s.to)
			continue
		}
		all = append(all, s)
	}
	return all
}

// find returns the place of the first span that ends at d or later.
func (list spans) find(d Day) int {
	i, _ := slices.BinarySearchFunc(list, d, func(s span, d Day) int { return cmp.Compare(s.to, d) })
	return i
}

func (list spans) contains(d Day) bool {
	i := list.find(d)
	return i < len(list) && list[i].from <= d
}

// next returns the first day of the list at or after d; Last+1 for none.
func (list spans) next(d Day) Day {
	if i := list.find(d); i < len(list) {
		return max(d, list[i].from)
	}
	return Last + 1
}
