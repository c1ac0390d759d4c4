package sqlstore

import (
	"github.com/ruqi-dev/ruqi"
)

// BadOnly reports whether all states are ends of runs that were executed and did not succeed: those of an index of their own.
func BadOnly(states []ruqi.RunState) bool {
	for _, state := range states {
		if !state.Ended() || !state.Started() || state == ruqi.RunSucceeded {
			return false
		}
	}
	return len(states) > 0
}

// A Span is the rows of a page in an order, or, if Back, in the order read from its end.
type Span struct {
	Limit, Offset int
	Back          bool
}

// Of is the same rows where there are n, passing over as few as it can.
func (p Span) Of(n int64) Span {
	rows := min(int64(p.Limit), n-int64(p.Offset))
	if int64(p.Offset) <= n/2 || rows <= 0 {
		return p
	}
	return Span{Limit: int(rows), Offset: int(n) - p.Offset - int(rows), Back: true}
}

// WholeHistory reports whether a query's page is one of all executed runs: a walk down the ids, of which the total is known.
func WholeHistory(query *ruqi.RunQuery) bool {
	_, _, tallied := query.Tallied()
	return tallied && query.Job == "" && query.Name == "" && len(query.States) == 0
}
