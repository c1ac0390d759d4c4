package memory

import (
	"context"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An edit is one job of an EditJobs: before, and what is to become of it.
type edit struct {
	id     string
	job    *job // nil: not there
	change ruqi.Change
}

// EditJobs adds, changes and removes jobs, as ruqi.JobStore says. The query's sort and
// cursor do not count, and an id that is named twice is decided once.
func (s *Store) EditJobs(ctx context.Context, query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	jobs, runs, changed, err := s.edit(now, query, decide)
	if changed {
		s.wakers.hint()
	}
	return jobs, runs, err
}

func (s *Store) edit(now int64, query ruqi.JobQuery, decide func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change) (jobs []ruqi.JobRecord, runs []ruqi.Run, changed bool, err error) {
	defer s.mu.Unlock()
	var one [1]edit // most edits are of one job
	edits := s.selectEdits(one[:0], &query)
	at := timeOf(now)
	for i := range edits {
		e := &edits[i]
		var old *ruqi.JobRecord
		count := 0
		if e.job != nil {
			old, count = new(ruqi.JobRecord), e.job.active()
			e.job.record(old, nil)
			if !matches(&query, lowerASCII(query.Search), e.job) {
				old = nil
			}
		}
		e.change = decide(at, e.id, old, count)
		if e.change.Err != nil {
			return nil, nil, false, e.change.Err
		}
		for n := range e.change.Runs {
			if err := s.checkEditRun(&e.change.Runs[n]); err != nil {
				return nil, nil, false, err
			}
		}
	}
	var rows []*run
	jobs = make([]ruqi.JobRecord, 0, len(edits))
	for i := range edits {
		e := &edits[i]
		changed = changed || e.change.Job != nil || e.change.Remove || e.change.Hasten || len(e.change.Runs) > 0
		jobs, rows = s.apply(e, now, jobs, rows)
	}
	return jobs, s.views(rows), changed, nil
}

// selectEdits lists what an edit is about.
func (s *Store) selectEdits(edits []edit, query *ruqi.JobQuery) []edit {
	full := func() bool { return query.Limit > 0 && len(edits) >= query.Limit }
	if len(query.IDs) > 0 {
		var seen map[string]bool // nil for the edit of one job, the common one
		if len(query.IDs) > 1 {
			seen = make(map[string]bool, len(query.IDs))
		}
		for _, id := range query.IDs {
			if full() {
				break
			}
			if seen[id] {
				continue
			}
			if seen != nil {
				seen[id] = true
			}
			edits = append(edits, edit{id: id, job: s.jobs[id]})
		}
		return edits
	}
	lowered := lowerASCII(query.Search)
	for _, j := range s.order.byID() {
		if full() {
			break
		}
		if !j.gone && matches(query, lowered, j) {
			edits = append(edits, edit{id: j.id, job: j})
		}
	}
	return edits
}

// checkEditRun finds rows that an edit may not insert.
func (s *Store) checkEditRun(r *ruqi.Run) error {
	if r.State == ruqi.RunRunning {
		return ruqi.Invalid("/state", string(r.State), "an edit inserts rows that have ended, or that wait")
	}
	return s.checkRun(r)
}

// apply writes one change, and adds what it left to the lists.
func (s *Store) apply(e *edit, now int64, jobs []ruqi.JobRecord, rows []*run) ([]ruqi.JobRecord, []*run) {
	j := e.job
	if j != nil && e.change.Remove {
		jobs = append(jobs, ruqi.JobRecord{})
		j.record(&jobs[len(jobs)-1], nil)
	} else if in := e.change.Job; in != nil && !e.change.Remove {
		if j == nil {
			j = s.addJob(e.id, now)
			j.runCount = in.RunCount
		} else {
			s.leave(j)
		}
		j.set(in)
		j.updated = now
		s.join(j, in.Pool, in.Needs)
	}
	if j != nil && e.change.Hasten {
		s.hasten(j.history, now)
	}
	for i := range e.change.Runs {
		in := &e.change.Runs[i]
		h := s.historyOf(e.id)
		if in.State == ruqi.RunQueued && in.Cause == ruqi.CauseManual || in.Cause == ruqi.CauseStartup {
			nominal, cause := now, s.causeOf(in.Cause)
			for h.taken(cause, nominal, int32(max(in.Attempt, 1))) {
				nominal++
			}
			// Due is now whatever the key had to be: "now" is not to wait for a clock
			// that a test holds still.
			in.Nominal, in.Due = timeOf(nominal), timeOf(now)
		}
		if r := s.insert(h, in, nil, now); r != nil {
			rows = append(rows, r)
		}
	}
	switch {
	case j == nil:
	case e.change.Remove:
		s.removeJob(j, now)
	default:
		j.replace()
		jobs = append(jobs, ruqi.JobRecord{})
		j.record(&jobs[len(jobs)-1], nil)
	}
	return jobs, rows
}
