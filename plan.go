package ruqi

import (
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi/internal/text"
)

// planJob decides what one claim does to one job: the fires that are due become runs or
// recorded non-runs, queued rows are started, and the job gets its next time. It is pure. free
// is how many slots of the job's pool are left; it returns how many the plan takes. ok is false when there is nothing to
// do now (no free slot: the fires stay due). Fires up to unsettled stay due, too, while the job is at its limit: the ends of its runs may
// be on their way. The error says that the trigger breaks its law.
func planJob(now time.Time, due Due, spec *JobSpec, free int, unsettled time.Time) (plan Plan, taken int, ok bool, err error) {
	if free <= 0 {
		return plan, 0, false, nil
	}
	d := decision{now: now, due: due, spec: spec, free: free, active: due.Active}
	job := &due.Job
	d.plan = Plan{
		JobID: job.ID, State: job.State, Reason: job.Reason,
		NextNominal: job.NextNominal, NextDue: job.NextDue, RunCount: job.RunCount,
	}
	fires := job.State == JobActive && job.NextDue != nil && !job.NextDue.After(now)
	if fires && due.Active >= spec.Policy.limit() && !job.NextDue.After(unsettled) {
		fires = false
	}
	if fires {
		d.startQueued(func(r *Run) bool { return r.Batch != 0 || !r.Due.After(*job.NextDue) })
		if fires = d.free > 0; fires {
			if err := d.fire(); err != nil {
				return plan, 0, false, err
			}
		}
	}
	d.startQueued(func(r *Run) bool { return !slices.Contains(d.plan.Start, r.ID) })
	if !fires && len(d.plan.Start) == 0 {
		return plan, 0, false, nil
	}
	d.plan.Remove = d.plan.State == JobFinished && spec.Policy.DeleteWhenFinished
	return d.plan, free - d.free, true, nil
}

// A decision is one planJob at work.
type decision struct {
	now    time.Time
	due    Due
	spec   *JobSpec
	plan   Plan
	free   int // slots left
	active int // active runs, those of this plan included
}

// startQueued starts the waiting rows that may and are in turn: a batch's next row is active already, others need room.
func (d *decision) startQueued(inTurn func(*Run) bool) {
	for i := range d.due.Queued {
		run := &d.due.Queued[i]
		if d.free == 0 {
			return
		}
		if !inTurn(run) {
			continue
		}
		if run.Batch == 0 {
			if d.active >= d.spec.Policy.limit() {
				continue
			}
			d.active++
		}
		d.plan.Start = append(d.plan.Start, run.ID)
		if task := taskText(d.spec); run.Task != task {
			d.plan.Task = task
		}
		d.free--
		if run.Batch == 0 && run.Cause == CauseSchedule {
			d.due.Waiting-- // it waits no longer
		}
	}
}

// fire settles every fire that is due and sets the next one.
func (d *decision) fire() error {
	job := &d.due.Job
	all, err := dueFires(d.spec, *storedFire(job.NextNominal, job.NextDue), d.now, d.spec.Policy.CatchupLimit)
	if err != nil {
		return err
	}
	if all.older > 0 {
		d.recordOlder(&all)
	}
	d.run(d.recordLate(all.newest))
	d.setNext(all.next)
	return nil
}

// recordOlder puts what lies before the newest fires into one row.
func (d *decision) recordOlder(all *fires) {
	about := ""
	if all.atLeast {
		about = "at least "
	}
	row := d.row(fire{all.olderTo, all.olderTo}, RunMissed, fmt.Sprintf("%s%d fires were older than the newest %d (catchup_limit)",
		about, all.older, d.spec.Policy.CatchupLimit))
	row.fold(all.older-1, all.olderFrom)
	d.plan.Runs = append(d.plan.Runs, row)
}

// recordLate records the fires past their grace as missed and returns the others. With
// coalesce the late ones are one row.
func (d *decision) recordLate(all []fire) (onTime []fire) {
	grace := d.spec.Policy.MisfireGrace
	if grace == nil {
		return all
	}
	late := 0
	for late < len(all) && d.now.Sub(all[late].due) > *grace {
		late++
	}
	if late == 0 {
		return all
	}
	reason := func(f fire) string {
		return fmt.Sprintf("too late: due %s before, misfire_grace is %s", d.now.Sub(f.due).Round(time.Millisecond), *grace)
	}
	if *d.spec.Policy.Coalesce {
		last := all[late-1]
		row := d.row(last, RunMissed, reason(last))
		row.fold(int64(late-1), all[0].nominal)
		d.plan.Runs = append(d.plan.Runs, row)
		return all[late:]
	}
	for _, f := range all[:late] {
		d.plan.Runs = append(d.plan.Runs, d.row(f, RunMissed, reason(f)))
	}
	return all[late:]
}

// run starts the fires that are in time, folded into the last or as a batch, or records
// them as skipped when the job is at its limit.
func (d *decision) run(onTime []fire) {
	if len(onTime) == 0 {
		return
	}
	before := len(d.plan.Runs)
	if *d.spec.Policy.Coalesce {
		row := d.row(onTime[len(onTime)-1], RunRunning, "")
		row.fold(int64(len(onTime)-1), onTime[0].nominal)
		d.plan.Runs = append(d.plan.Runs, row)
	} else {
		for _, f := range onTime {
			d.plan.Runs = append(d.plan.Runs, d.row(f, RunRunning, ""))
		}
	}
	rows := d.plan.Runs[before:]
	full := d.active >= d.spec.Policy.limit()
	if full && d.spec.Policy.Overlap == OverlapSkip {
		d.skip(rows, "%d active, max_instances is %d", d.active, d.spec.Policy.MaxInstances)
		return
	}
	may := len(rows) // how many of them start, or wait
	if full {
		may = min(d.room(), may)
	}
	if left := d.spec.Policy.MaxRuns - d.due.Job.RunCount; d.spec.Policy.MaxRuns > 0 && int64(may) >= left {
		rows = rows[:max(left, 0)] // the job ends with its last run: what is due after that is no fire any more
		d.plan.Runs = d.plan.Runs[:before+len(rows)]
	}
	if len(rows) == 0 {
		return
	}
	if full {
		d.queue(rows)
		return
	}
	if len(rows) > 1 {
		batch := rows[0].Nominal.UnixMicro()
		for i := range rows {
			rows[i].Batch = batch
			if i > 0 {
				rows[i].State = RunQueued
			}
		}
	}
	d.plan.RunCount += int64(len(rows))
	d.active += len(rows)
	d.free--
}

func (d *decision) skip(rows []Run, reason string, args ...any) {
	for i := range rows {
		rows[i].State, rows[i].Reason = RunSkipped, fmt.Sprintf(reason, args...)
	}
}

// most is how many fires may wait at the job's limit, room how many more may.
func (d *decision) most() int {
	if d.spec.Policy.Overlap == OverlapQueue {
		return d.spec.Policy.CatchupLimit
	}
	return 1
}

func (d *decision) room() int { return max(d.most()-d.due.Waiting, 0) }

// queue lets fires wait that found the job at its limit, the newest where not all may, and skips the others.
func (d *decision) queue(rows []Run) {
	room := min(d.room(), len(rows))
	d.skip(rows[:len(rows)-room], "%d active, max_instances is %d; of those that wait there may be %d (overlap: %s)",
		d.active, d.spec.Policy.MaxInstances, d.most(), d.spec.Policy.Overlap)
	for i := len(rows) - room; i < len(rows); i++ {
		rows[i].State, rows[i].Reason = RunQueued, fmt.Sprintf("%d active, max_instances is %d (overlap: %s)", d.active, d.spec.Policy.MaxInstances, d.spec.Policy.Overlap)
	}
	if d.spec.Policy.Overlap == OverlapCancelRunning { // each time: who came to run meanwhile is not wanted either
		d.plan.Cancel = "a newer fire (overlap: cancel_running)"
	}
	d.plan.RunCount += int64(room)
}

// setNext gives the job its next time, or ends it.
func (d *decision) setNext(next *fire) {
	switch {
	case d.spec.Policy.MaxRuns > 0 && d.plan.RunCount >= d.spec.Policy.MaxRuns:
		d.finish(maxRunsReached(d.spec))
	case next == nil && d.spec.Policy.RunOnStart: // it is left with the starts to come
		d.plan.NextNominal, d.plan.NextDue = nil, nil
	case next == nil:
		d.finish(noFiresLeft)
	default:
		d.plan.NextNominal, d.plan.NextDue = next.stored()
	}
}

const noFiresLeft = "no fire times left"

func (d *decision) finish(reason string) {
	d.plan.State, d.plan.Reason = JobFinished, reason
	d.plan.NextNominal, d.plan.NextDue = nil, nil
}

func (d *decision) row(f fire, state RunState, reason string) Run {
	return newRun(&d.due.Job, d.spec, CauseSchedule, f, state, reason)
}

// newRun makes the row of a job's first attempt.
func newRun(job *JobRecord, spec *JobSpec, cause Cause, f fire, state RunState, reason string) Run {
	run := Run{
		Attempt: 1, JobID: job.ID, JobName: job.Name, Cause: cause, State: state, Reason: reason,
		Nominal: f.nominal, Due: f.due,
	}
	if spec != nil {
		run.Task, run.Params = taskText(spec), spec.Params
	}
	return run
}

// fold notes fires that this row stands for beside its own.
func (r *Run) fold(others int64, from time.Time) {
	if others > 0 {
		from := from.UTC()
		r.Coalesced, r.CoalescedFrom = others, &from
	}
}

// maxTaskText bounds the copy of the task in each run's row: enough to recognize it; a command may have 64 KiB.
const maxTaskText = 4096 // bytes

func taskText(spec *JobSpec) string {
	return text.Cut(spec.Task.String(), maxTaskText)
}
