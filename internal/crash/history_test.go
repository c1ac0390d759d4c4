package crash_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A grid is the fire times of an interval trigger: anchor + k × period for k ≥ 1, up to end.
// The checker counts with it, and not with the trigger's own code.
type grid struct {
	anchor time.Time
	period time.Duration
	end    *time.Time // inclusive; nil: none
}

// on reports whether the time is one of the grid.
func (g grid) on(t time.Time) bool {
	return t.After(g.anchor) && t.Sub(g.anchor)%g.period == 0 && (g.end == nil || !t.After(*g.end))
}

// after returns the first time of the grid after t, its end left out of account.
func (g grid) after(t time.Time) time.Time {
	if t.Before(g.anchor) {
		return g.anchor.Add(g.period)
	}
	return g.anchor.Add(t.Sub(g.anchor).Truncate(g.period) + g.period)
}

// A window is a stretch of time, its begin not included.
type window struct{ from, to time.Time }

// A subject is what is known of a job beside its rows.
type subject struct {
	id string
	// grid is when it fires; nil: its trigger was changed on the way, and nothing is asked of its rows
	// but that they do not stand for the same time twice.
	grid *grid
	// maxInstances is the most that ever held.
	maxInstances int
	maxRuns      int64
	// rerun says that each lost run is followed by another attempt.
	rerun bool
	// away are the stretches in which it may have been paused: fires in them may be without outcome.
	away []window
	// record is the job as stored; nil: it is removed, and then gone is when its removal was asked for.
	record *ruqi.JobRecord
	gone   time.Time
	// open allows rows that are still queued or running.
	open bool
}

// kept is how many of the newest runs, and of the newest rows that were no runs, a service keeps of each job.
const kept = 1000

// A memory says from where on a history is whole: a service that lives for half a minute cleans it.
type memory struct {
	nominal time.Time // fires before may have lost their rows
	run     int64     // rows of runs with lower ids may be gone
}

// memoryOf finds it: of a kind of which fewer rows are there than are kept, none is gone.
func memoryOf(rows []ruqi.Run) memory {
	var m memory
	for _, started := range []bool{true, false} {
		n := 0
		var first *ruqi.Run
		for i := range rows {
			if r := &rows[i]; r.State.Ended() && r.State.Started() == started {
				n++
				if first == nil || r.ID < first.ID {
					first = r
				}
			}
		}
		if n < kept {
			continue
		}
		if first.Nominal.After(m.nominal) {
			m.nominal = first.Nominal
		}
		if started {
			m.run = first.ID
		}
	}
	return m
}

// A judge collects what is wrong with a history.
type judge struct {
	faults []string
	memory memory
}

func (j *judge) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// judgeJob checks the rows of one job.
func judgeJob(s subject, rows []ruqi.Run) []string {
	j := &judge{memory: memoryOf(rows)}
	slices.SortFunc(rows, func(a, b ruqi.Run) int { return cmp.Compare(a.ID, b.ID) })
	var fires []ruqi.Run
	for i := range rows {
		j.row(s, &rows[i])
		if rows[i].Cause == ruqi.CauseSchedule {
			fires = append(fires, rows[i])
		}
	}
	j.fires(s, fires)
	j.attempts(s, rows)
	j.overlap(s, rows)
	j.count(s, fires)
	for i := range j.faults {
		j.faults[i] = s.id + ": " + j.faults[i]
	}
	return j.faults
}

// row checks what each row says by itself.
func (j *judge) row(s subject, r *ruqi.Run) {
	switch r.State {
	case ruqi.RunQueued, ruqi.RunRunning:
		if !s.open {
			j.fault("run %d (%s of %s) is left %s", r.ID, r.Cause, stamp(r.Nominal), r.State)
		}
		return
	case ruqi.RunMissed, ruqi.RunSkipped:
		if r.Started != nil || r.Owner != (ruqi.Owner{}) {
			j.fault("run %d is %s, and yet was started by %v", r.ID, r.State, r.Owner)
		}
	case ruqi.RunCancelled: // it may have been queued
	default:
		if r.Started == nil || r.Owner.Instance == "" {
			j.fault("run %d is %s and was never started", r.ID, r.State)
		}
	}
	if r.Reason == "" && r.State != ruqi.RunSucceeded {
		j.fault("run %d is %s without a reason", r.ID, r.State)
	}
	if r.Started != nil && (r.Finished == nil || r.Finished.Before(*r.Started)) {
		j.fault("run %d was started at %s and ended at %v", r.ID, stamp(*r.Started), r.Finished)
	}
}

// fires checks that the rows of cause schedule, oldest first, cover the grid without
// hole or double.
func (j *judge) fires(s subject, rows []ruqi.Run) {
	var last time.Time // of what is covered
	if s.grid != nil {
		last = s.grid.anchor
	}
	for i := range rows {
		r := &rows[i]
		from := r.Nominal
		if (r.Coalesced == 0) != (r.CoalescedFrom == nil) || r.Coalesced < 0 {
			j.fault("run %d counts %d others from %v", r.ID, r.Coalesced, r.CoalescedFrom)
		}
		if r.CoalescedFrom != nil {
			from = *r.CoalescedFrom
		}
		if r.Attempt != 1 {
			j.fault("run %d has cause schedule and is attempt %d", r.ID, r.Attempt)
		}
		if from.After(r.Nominal) {
			j.fault("run %d stands for the times from %s to %s", r.ID, stamp(from), stamp(r.Nominal))
		}
		if !from.After(last) && !last.IsZero() {
			j.fault("run %d stands for %s, which has an outcome already (up to %s)", r.ID, stamp(from), stamp(last))
		}
		if s.grid != nil {
			if !s.grid.on(r.Nominal) || !s.grid.on(from) {
				j.fault("run %d stands for %s to %s, which are no times of its job", r.ID, stamp(from), stamp(r.Nominal))
			}
			if n := int64(r.Nominal.Sub(from) / s.grid.period); n != r.Coalesced {
				j.fault("run %d stands for %d fires from %s to %s and counts %d", r.ID, n+1, stamp(from), stamp(r.Nominal), r.Coalesced+1)
			}
			j.hole(s, last, from)
		}
		if r.Nominal.After(last) {
			last = r.Nominal
		}
	}
	j.rest(s, last)
}

// hole checks that no fire lies between last and next, unless the job may have been paused.
func (j *judge) hole(s subject, last, next time.Time) {
	for at := s.grid.after(last); at.Before(next); at = s.grid.after(at) {
		if at.Before(j.memory.nominal) {
			continue
		}
		away := slices.ContainsFunc(s.away, func(w window) bool { return at.After(w.from) && !at.After(w.to) })
		if !away {
			j.fault("the fire of %s has no outcome: there are some up to %s and from %s", stamp(at), stamp(last), stamp(next))
			return
		}
	}
}

// rest checks what comes after the last row.
func (j *judge) rest(s subject, last time.Time) {
	switch {
	case s.grid == nil:
	case s.record == nil:
		if next := s.grid.after(last); !s.gone.IsZero() && !next.After(s.gone) {
			j.hole(s, last, s.gone)
		}
	case s.record.State == ruqi.JobActive:
		if s.record.NextNominal == nil {
			j.fault("it is active and has no next time")
			return
		}
		if !s.grid.on(*s.record.NextNominal) {
			j.fault("its next time is %s, which is none of its times", stamp(*s.record.NextNominal))
		}
		if !s.record.NextNominal.After(last) {
			j.fault("its next time is %s, and there are outcomes up to %s", stamp(*s.record.NextNominal), stamp(last))
		}
		j.hole(s, last, *s.record.NextNominal)
	case s.record.NextNominal != nil || s.record.NextDue != nil:
		j.fault("it is %s and has a next time", s.record.State)
	case s.record.State == ruqi.JobFinished && s.grid.end != nil && (s.maxRuns == 0 || s.record.RunCount < s.maxRuns):
		j.hole(s, last, s.grid.end.Add(time.Microsecond))
	}
}

// attempts checks that later attempts follow lost ones, and that they follow where they shall.
func (j *judge) attempts(s subject, rows []ruqi.Run) {
	type key struct {
		nominal int64
		attempt int
		first   int64
	}
	first := func(r *ruqi.Run) int64 {
		if r.ParentID != 0 {
			return r.ParentID
		}
		return r.ID
	}
	all := map[key]*ruqi.Run{}
	for i := range rows {
		r := &rows[i]
		all[key{r.Nominal.UnixMicro(), r.Attempt, first(r)}] = r
	}
	for i := range rows {
		r := &rows[i]
		if (r.Cause == ruqi.CauseRetry) != (r.Attempt > 1) || (r.ParentID != 0) != (r.Attempt > 1) {
			j.fault("run %d is attempt %d with cause %s after %d", r.ID, r.Attempt, r.Cause, r.ParentID)
		}
		if r.Attempt > 1 {
			before := all[key{r.Nominal.UnixMicro(), r.Attempt - 1, first(r)}]
			if before == nil && j.memory.run > 0 {
				continue // it may be gone
			}
			if before == nil || before.State != ruqi.RunLost {
				j.fault("run %d is attempt %d, and there is no lost one before it", r.ID, r.Attempt)
			}
		}
		// Whose end was asked for between its owner's giving it up and the row is not run again: see ruqi.JobStore's Finish.
		if s.rerun && r.State == ruqi.RunLost && r.CancelBy == "" && all[key{r.Nominal.UnixMicro(), r.Attempt + 1, first(r)}] == nil {
			j.fault("run %d was lost and not run again, which on_lost asks for: attempt %d of %d, %s, %q, of %v", r.ID, r.Attempt, r.ParentID, r.Cause, r.Reason, r.Owner)
		}
	}
}

// overlap checks that never more runs were under way than may be. A lost run ends when it is rescued.
func (j *judge) overlap(s subject, rows []ruqi.Run) {
	type step struct {
		at    time.Time
		delta int
		run   int64
	}
	var steps []step
	for i := range rows {
		if r := &rows[i]; r.Started != nil {
			steps = append(steps, step{*r.Started, 1, r.ID})
			if r.Finished != nil {
				steps = append(steps, step{*r.Finished, -1, r.ID})
			}
		}
	}
	// Of one instant, ends come first: the store writes them before it lets others start.
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.delta, b.delta)) })
	active := map[int64]bool{}
	for _, p := range steps {
		if p.delta < 0 {
			delete(active, p.run)
			continue
		}
		if active[p.run] = true; len(active) > s.maxInstances {
			delete(active, p.run)
			j.fault("run %d was started at %s as the %d. at once beside %s; max_instances is %d", p.run, stamp(p.at), len(active)+1, describe(rows, active), s.maxInstances)
			return
		}
	}
}

// describe tells how the runs went that are in the set.
func describe(rows []ruqi.Run, which map[int64]bool) string {
	var parts []string
	for i := range rows {
		r := &rows[i]
		if !which[r.ID] {
			continue
		}
		end := "now"
		if r.Finished != nil {
			end = stamp(*r.Finished)
		}
		parts = append(parts, fmt.Sprintf("%d (%s of %s from %s to %s)", r.ID, r.State, r.Owner.Instance, stamp(*r.Started), end))
	}
	return strings.Join(parts, ", ")
}

// count checks the job's own count of its runs.
func (j *judge) count(s subject, fires []ruqi.Run) {
	started := int64(0)
	for i := range fires {
		if fires[i].State != ruqi.RunMissed && fires[i].State != ruqi.RunSkipped {
			started++
		}
	}
	if s.record != nil && s.record.RunCount != started && j.memory.run == 0 {
		j.fault("its run_count is %d, and %d of its rows are runs", s.record.RunCount, started)
	}
	if s.maxRuns > 0 && started > s.maxRuns {
		j.fault("%d runs, and max_runs is %d", started, s.maxRuns)
	}
}

// judgeAll checks what holds over the rows of all jobs.
func judgeAll(rows []ruqi.Run) []string {
	type key struct {
		job     string
		cause   ruqi.Cause
		nominal int64
		attempt int
	}
	j := &judge{}
	ids, keys := map[int64]bool{}, map[key]int64{}
	for i := range rows {
		r := &rows[i]
		if ids[r.ID] {
			j.fault("run id %d is there twice", r.ID)
		}
		ids[r.ID] = true
		k := key{r.JobID, r.Cause, r.Nominal.UnixMicro(), r.Attempt}
		if other, there := keys[k]; there {
			j.fault("runs %d and %d are both %v", other, r.ID, k)
		}
		keys[k] = r.ID
	}
	return j.faults
}

// A mark is a line that a command wrote.
type mark struct {
	run     int64
	nominal string
}

// judgeMarks checks what the commands of a job did against its rows.
func judgeMarks(id string, marks []mark, rows []ruqi.Run) []string {
	j := &judge{memory: memoryOf(rows)}
	byID := map[int64]*ruqi.Run{}
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	seen := map[int64]bool{}
	for _, m := range marks {
		r := byID[m.run]
		switch {
		case seen[m.run]:
			j.fault("%s: run %d was executed twice", id, m.run)
		case r == nil && m.run < j.memory.run:
		case r == nil:
			j.fault("%s: run %d was executed and has no row", id, m.run)
		case r.Started == nil:
			j.fault("%s: run %d was executed and its row says %s", id, m.run, r.State)
		case m.nominal != r.Nominal.UTC().Format(time.RFC3339Nano):
			j.fault("%s: run %d was told the time %s, and its row says %s", id, m.run, m.nominal, stamp(r.Nominal))
		}
		seen[m.run] = true
	}
	for i := range rows {
		if rows[i].State == ruqi.RunSucceeded && !seen[rows[i].ID] {
			j.fault("%s: run %d succeeded and did nothing", id, rows[i].ID)
		}
	}
	return j.faults
}

// stamp is a time as faults show it.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000000") }
