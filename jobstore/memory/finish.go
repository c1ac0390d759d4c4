package memory

import (
	"context"
	"slices"

	"github.com/ruqi-dev/ruqi"
)

// Finish ends runs, as ruqi.JobStore says.
func (s *Store) Finish(ctx context.Context, owner ruqi.Owner, done []ruqi.Done) (late []int64, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	late, err = s.finishAll(now, owner, done)
	if err == nil && len(done) > 0 {
		s.wakers.hint()
	}
	return late, err
}

func (s *Store) finishAll(now int64, owner ruqi.Owner, done []ruqi.Done) (late []int64, err error) {
	defer s.mu.Unlock()
	for i := range done {
		if err := s.checkDone(&done[i]); err != nil {
			return nil, err
		}
	}
	for i := range done {
		d := &done[i]
		r := s.rows.find(d.Run.ID)
		if r == nil || !s.owns(owner, r) {
			if late = append(late, d.Run.ID); r != nil {
				s.note(r, owner, &d.Run)
			}
			continue
		}
		s.finish(r, d, now)
	}
	return late, nil
}

// owns reports whether the owner may still write about the row.
func (s *Store) owns(owner ruqi.Owner, r *run) bool {
	return r.state == running && s.lifeOf(r).owner == owner
}

// checkDone finds faults of an end before anything of its step is written.
func (s *Store) checkDone(d *ruqi.Done) error {
	if state, err := runStateOf(d.Run.State); err != nil {
		return err
	} else if !state.ended() {
		return ruqi.Invalid("/state", string(d.Run.State), "a run ends in a state that is final")
	}
	if d.Again != nil {
		return s.checkRun(d.Again)
	}
	return nil
}

// finish writes the end of a running row and what comes with it.
func (s *Store) finish(r *run, d *ruqi.Done, now int64) {
	state, _ := runStateOf(d.Run.State)
	at := now
	if d.Run.Finished != nil {
		at = d.Run.Finished.UnixMicro()
	}
	s.setEnd(r, &d.Run)
	s.end(r, state, d.Run.Reason, at)
	h := s.historyAt(r)
	if m := s.rows.rest(r); d.Again != nil && (m == nil || m.cancelBy == "") {
		if d.Again.Due.IsZero() {
			d.Again.Due = timeOf(now)
		}
		if again := s.insert(h, d.Again, s.lifeOf(r), now); again != nil {
			d.Again.ID = again.id
		}
	}
	j := h.job
	if j == nil {
		return
	}
	if d.EndJob != "" && j.state != finished {
		s.setState(j, finished)
		j.setReason(d.EndJob)
		j.nominal, j.due = never, never
	}
	j.replace()
	if d.RemoveJob {
		s.removeIfDone(j, now)
	}
}

// Cancel asks a run to end, as ruqi.JobStore says. Of a run that has ended it returns
// the row beside ErrEnded.
func (s *Store) Cancel(ctx context.Context, id int64, by string) (ruqi.Run, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return ruqi.Run{}, err
	}
	out, err := s.cancel(now, id, by)
	if err == nil {
		s.wakers.hint()
	}
	return out, err
}

func (s *Store) cancel(now int64, id int64, by string) (out ruqi.Run, err error) {
	defer s.mu.Unlock()
	r := s.rows.find(id)
	if r == nil {
		return ruqi.Run{}, ruqi.ErrNotFound
	}
	if by == "" {
		by = "unknown" // an empty CancelBy says that nobody asked
	}
	switch {
	case r.state.ended():
		err = ruqi.ErrEnded
	case r.state == queued:
		s.rows.more(r).cancelBy = by
		s.end(r, cancelled, "cancelled by "+by, now)
		if j := s.historyAt(r).job; j != nil {
			j.replace()
		}
	default:
		s.askToEnd(r, by)
	}
	s.view(r, &out, nil)
	return out, err
}

// askToEnd notes who asked for the end of a running run, unless somebody has.
func (s *Store) askToEnd(r *run, by string) {
	if m := s.rows.more(r); m.cancelBy == "" {
		m.cancelBy = by
		l := s.lifeOf(r)
		l.cancels = append(l.cancels, r)
	}
}

// cancelActive asks all running runs to end, which are among the newest rows, and ends those of batches that wait.
func (s *Store) cancelActive(h *history, by string, now int64) {
	if h == nil {
		return
	}
	for i, left := len(h.runs)-1, h.running; i >= 0 && left > 0; i-- {
		if r := s.rows.find(h.runs[i]); r.state == running {
			s.askToEnd(r, by)
			left--
		}
	}
	for _, r := range slices.Clone(h.queued) {
		if h.batch(r) != 0 {
			s.rows.more(r).cancelBy = by
			s.end(r, cancelled, "cancelled by "+by, now)
		}
	}
}
