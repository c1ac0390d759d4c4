//go:build linux

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A ledger is what the users asked for and were answered. What was answered must hold
// afterwards; what was asked and not answered may or may not.
type ledger struct {
	mu   sync.Mutex // guards all
	jobs map[string]*entry
	// order lists the jobs as they were added.
	order   []string
	runs    []ruqi.Run // started by hand, in the order of the answers
	cancels []ruqi.Run
}

// An entry is what is known of a job.
type entry struct {
	order order
	// grid is its first one, from the answer; nil: there was none.
	grid *grid
	// states and words are what the job's state and description may be.
	states, words []string
	// away are stretches in which it may have been paused; the last is open when its to is zero.
	away []window
	// asked is when its removal was first asked for, and gone says that this was answered.
	asked   time.Time
	gone    bool
	retired bool
}

func newLedger() *ledger { return &ledger{jobs: map[string]*entry{}} }

func (l *ledger) adding(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[o.id] = &entry{order: o, states: []string{string(ruqi.JobActive)}, words: []string{""}}
}

func (l *ledger) added(id string, bound grid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[id].grid = &bound
	l.order = append(l.order, id)
}

func (l *ledger) known(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs[id] != nil && l.jobs[id].grid != nil
}

// silent reports whether the job's command leaves no marks.
func (l *ledger) silent(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs[id] != nil && l.jobs[id].order.silent
}

func (l *ledger) mayAsk(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.jobs[id].retired
}

// oldest returns the oldest job of the group that is there for sure, when there are at least so many.
func (l *ledger) oldest(group string, least int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, n := "", 0
	for _, id := range l.order {
		if e := l.jobs[id]; e.order.group == group && e.asked.IsZero() {
			if n++; first == "" {
				first = id
			}
		}
	}
	if n < least {
		return ""
	}
	return first
}

func (l *ledger) removed(id string, sent time.Time, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[id].asked, l.jobs[id].gone = sent, answered
}

func (l *ledger) paused(id string, pause bool, sent, now time.Time, answered, retires bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.jobs[id]
	state := ruqi.JobActive
	if pause {
		state = ruqi.JobPaused
	}
	if answered {
		e.states = nil
	} else {
		e.retired = retires
	}
	e.states = append(e.states, string(state))
	last := len(e.away) - 1
	isOpen := last >= 0 && e.away[last].to.IsZero()
	switch {
	case pause && !isOpen:
		e.away = append(e.away, window{from: sent})
	case !pause && isOpen && answered:
		e.away[last].to = now
	}
}

func (l *ledger) modified(id, word string, answered, retires bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.jobs[id]
	if answered {
		e.words = nil
	} else {
		e.retired = retires
	}
	e.words = append(e.words, word)
}

func (l *ledger) started(run ruqi.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, run)
}

// someRun returns one of the latest runs started by hand; 0: none yet.
func (l *ledger) someRun(r *rand.Rand) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) == 0 {
		return 0
	}
	return l.runs[len(l.runs)-1-r.IntN(min(3, len(l.runs)))].ID
}

func (l *ledger) cancelled(run ruqi.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancels = append(l.cancels, run)
}

// check compares what was answered with what the store holds before anything is settled.
func (l *ledger) check(t *testing.T, h history) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, e := range l.jobs {
		record, there := h.jobs[id]
		switch {
		case e.gone && there:
			t.Errorf("%s: its removal was answered, and it is there", id)
		case e.grid != nil && e.asked.IsZero() && !there:
			t.Errorf("%s: its addition was answered, and it is not there", id)
		}
		if !there {
			continue
		}
		d, err := definitionOf(record)
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if record.State != ruqi.JobFinished && !slices.Contains(e.states, string(record.State)) {
			t.Errorf("%s is %s; by what was answered it is one of %q", id, record.State, e.states)
		}
		if !slices.Contains(e.words, d.Description) {
			t.Errorf("%s says %q; by what was answered it says one of %q", id, d.Description, e.words)
		}
	}
	byID := map[int64]*ruqi.Run{}
	for i := range h.runs {
		byID[h.runs[i].ID] = &h.runs[i]
	}
	for i, run := range l.runs {
		if row := byID[run.ID]; row == nil || row.JobID != run.JobID || row.Cause != ruqi.CauseManual {
			t.Errorf("run %d was answered, and the store has %+v", run.ID, row)
		}
		if i > 0 && run.ID <= l.runs[i-1].ID {
			t.Errorf("run ids do not grow: %d was given after %d", run.ID, l.runs[i-1].ID)
		}
	}
	for _, run := range l.cancels {
		row := byID[run.ID]
		if row == nil || row.State != ruqi.RunCancelled && row.CancelBy == "" {
			t.Errorf("the cancel of run %d was answered, and the store has %+v", run.ID, row)
		}
	}
}

// subjects are the jobs to judge after everything is settled.
func (l *ledger) subjects(t *testing.T, h history) []subject {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []subject
	for id, e := range l.jobs {
		s := subject{id: id, maxInstances: e.order.limit, maxRuns: e.order.maxRuns, rerun: e.order.rerun, gone: e.asked, away: e.away}
		if n := len(s.away); n > 0 && s.away[n-1].to.IsZero() {
			s.away = slices.Clone(s.away)
			s.away[n-1].to = time.Now()
		}
		if e.order.group == policed {
			s.maxInstances = max(s.maxInstances, 3)
		}
		if record, there := h.jobs[id]; there {
			s.record = &record
			g, err := storedGrid(record)
			if err != nil {
				t.Errorf("%s: %v", id, err)
				continue
			}
			if e.grid != nil && e.order.group != turned && (!g.anchor.Equal(e.grid.anchor) || g.period != e.grid.period) {
				t.Errorf("%s: its grid was answered as %v and is now %v", id, *e.grid, g)
			}
			s.grid = &g
		} else {
			s.grid, s.rerun = e.grid, false // a removed job is not run again
		}
		if e.order.group == turned {
			s.grid = nil
		}
		all = append(all, s)
	}
	return all
}

func storedGrid(record ruqi.JobRecord) (grid, error) {
	d, err := definitionOf(record)
	if err != nil {
		return grid{}, err
	}
	return gridOf(d.Trigger)
}

// judge checks a store that nobody serves, and shows the first faults. An open one has not settled: rows
// may be under way.
func (l *ledger) judge(t *testing.T, s *site, open bool) history {
	t.Helper()
	h := readStore(t, s.address)
	s.sound(t)
	faults := judgeAll(h.runs)
	for _, subject := range l.subjects(t, h) {
		subject.open = open
		faults = append(faults, judgeJob(subject, h.rows[subject.id])...)
	}
	show(t, faults)
	return h
}

// clone copies the ledger, for a store that goes its own way from here on.
func (l *ledger) clone() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	other := newLedger()
	other.order, other.runs, other.cancels = slices.Clone(l.order), slices.Clone(l.runs), slices.Clone(l.cancels)
	for id, e := range l.jobs {
		c := *e
		c.away, c.states, c.words = slices.Clone(e.away), slices.Clone(e.states), slices.Clone(e.words)
		other.jobs[id] = &c
	}
	return other
}

// show reports faults; after so many, more of them say nothing new.
func show(t *testing.T, faults []string) {
	t.Helper()
	const most = 25
	for _, text := range faults[:min(most, len(faults))] {
		t.Error(text)
	}
	if len(faults) > most {
		t.Errorf("and %d more", len(faults)-most)
	}
}

// counted shows how the rows ended.
func counted(h history) string {
	var parts []string
	n := h.states()
	for _, state := range ruqi.RunStates() {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[state], state))
		}
	}
	return fmt.Sprintf("%d jobs, %d rows: %s", len(h.jobs), len(h.runs), strings.Join(parts, ", "))
}
