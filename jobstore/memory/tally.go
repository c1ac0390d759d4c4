package memory

import (
	"slices"

	"github.com/ruqi-dev/ruqi"
)

// A tally counts executed runs: those that succeeded, and the others.
type tally struct{ succeeded, others int64 }

func (t *tally) count(state runState, by int64) {
	if state == succeeded {
		t.succeeded += by
	} else {
		t.others += by
	}
}

func (t *tally) add(other tally) {
	t.succeeded += other.succeeded
	t.others += other.others
}

// A namedTally is the tally of a job's runs under one name; most jobs have had but one.
type namedTally struct {
	name string
	tally
}

// executed reports whether the row was started and has ended.
func (r *run) executed() bool { return r.state.ended() && r.state.started() && r.started != never }

// count keeps the tallies when an executed row has come or goes.
func (s *Store) count(r *run, by int64) {
	if !r.executed() {
		return
	}
	h := s.historyAt(r)
	name := h.whats[r.what].name
	s.executed.count(r.state, by)
	h.count(name, r.state, by)
	if name == h.id { // most jobs have no name but their id: what they have counted is enough
		return
	}
	t := s.names[name]
	t.count(r.state, by)
	if t == (tally{}) {
		delete(s.names, name)
	} else {
		s.names[name] = t
	}
}

func (h *history) count(name string, state runState, by int64) {
	at := slices.IndexFunc(h.tallies, func(t namedTally) bool { return t.name == name })
	if at < 0 {
		at = len(h.tallies)
		h.tallies = append(h.tallies, namedTally{name: name})
	}
	h.tallies[at].count(state, by)
	if h.tallies[at].tally == (tally{}) {
		h.tallies = slices.Delete(h.tallies, at, at+1)
	}
}

// total counts all that the query selects, where that is told.
func (s *Store) total(query *ruqi.RunQuery) *int64 {
	good, bad, ok := query.Tallied()
	if !ok {
		return nil
	}
	var t tally
	switch {
	case query.Job != "":
		t = s.history(query.Job).tally(query.Name)
	case query.Name != "":
		t = s.names[query.Name]
		t.add(s.history(query.Name).tally(query.Name))
	default:
		t = s.executed
	}
	n := int64(0)
	if good {
		n += t.succeeded
	}
	if bad {
		n += t.others
	}
	return &n
}

// tally is that of the job's runs under a name; empty: under all.
func (h *history) tally(name string) (t tally) {
	if h != nil {
		for i := range h.tallies {
			if name == "" || h.tallies[i].name == name {
				t.add(h.tallies[i].tally)
			}
		}
	}
	return t
}
