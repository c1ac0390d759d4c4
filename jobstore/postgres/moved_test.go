package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// A crossing is a store in which a step meets a run whose row is moved to the history meanwhile.
type crossing struct {
	*report
	// runs are those that the step is about, by job: "moved" is moved, "other" is not.
	runs    map[string]ruqi.Run
	decided int // how often the step asked for a decision
}

// newCrossing has two jobs with a run each, running or queued.
func newCrossing(t *testing.T, state ruqi.RunState, batch int64) *crossing {
	t.Helper()
	c := &crossing{report: newReport(t, postgrestest.Shared(t).Schema(t)), runs: map[string]ruqi.Run{}}
	for _, id := range []string{"moved", "other"} {
		c.add(id, "{}", false)
	}
	c.claimBy(func(p *ruqi.Plan) { p.Runs[0].State, p.Runs[0].Batch = state, batch })
	page, err := c.Runs(t.Context(), ruqi.RunQuery{})
	if err != nil || len(page.Runs) != 2 {
		t.Fatalf("%d runs, %v", len(page.Runs), err)
	}
	for _, run := range page.Runs {
		c.runs[run.JobID] = run
	}
	c.decided = 0
	return c
}

// claimBy claims what is due with plans of one new run each, which are changed. What may start is started.
func (c *crossing) claimBy(change func(*ruqi.Plan)) ruqi.Claimed {
	c.t.Helper()
	request := ruqi.ClaimRequest{Owner: c.owner, Slots: map[string]int{"default": 10}, Needs: []string{"x"}}
	claimed, err := c.Claim(c.t.Context(), request, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		c.decided++
		plans := make([]ruqi.Plan, len(due))
		for i, d := range due {
			next := d.Job.NextDue.Add(time.Hour)
			plans[i] = ruqi.Plan{JobID: d.Job.ID, State: d.Job.State, NextNominal: &next, NextDue: at(next), RunCount: d.Job.RunCount + 1,
				Runs: []ruqi.Run{{JobName: d.Job.Name, Task: "x", Cause: ruqi.CauseSchedule, State: ruqi.RunRunning, Nominal: *d.Job.NextNominal, Due: *d.Job.NextDue, Attempt: 1}}}
			for _, run := range d.Queued {
				plans[i].Start = append(plans[i].Start, run.ID)
			}
			change(&plans[i])
		}
		return plans
	})
	if err != nil {
		c.t.Error(err)
	}
	return claimed
}

// while ends the moved run as another step does, lets step wait for that, and then commits.
func (c *crossing) while(step func()) {
	c.t.Helper()
	c.beside(`UPDATE rq_run SET state = 6, reason = 'it was moved', finished = now() WHERE job_id = 'moved' AND state < 2`, step)
}

// beside lets step wait for a transaction of one statement, which commits then.
func (c *crossing) beside(sql string, step func()) {
	c.t.Helper()
	c.between(sql, step, func(tx pgx.Tx) error { return tx.Commit(c.t.Context()) })
}

// between lets step wait for a transaction of one statement, which end ends then.
func (c *crossing) between(sql string, step func(), end func(pgx.Tx) error) {
	c.t.Helper()
	conn, watch := connectTo(c.t, c.address), connectTo(c.t, c.address)
	tx, err := conn.Begin(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := tx.Exec(c.t.Context(), sql); err != nil {
		c.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		step()
	}()
	until(c.t, patience, "the step waits", func() bool {
		return list[int64](c.t, watch, `SELECT count(*) FROM pg_stat_activity a WHERE $1::int = ANY (pg_blocking_pids(a.pid))`, conn.PgConn().PID())[0] == 1
	})
	if err := end(tx); err != nil {
		c.t.Fatal(err)
	}
	<-done
}

// ended is the end of a run.
func (c *crossing) ended(job string, state ruqi.RunState) ruqi.Done {
	run := c.runs[job]
	run.State = state
	return ruqi.Done{Run: run}
}

// ids are those of runs, by job.
func (c *crossing) ids(jobs ...string) (ids []int64) {
	for _, job := range jobs {
		ids = append(ids, c.runs[job].ID)
	}
	return ids
}

func idsOf(runs []ruqi.Run) (ids []int64) {
	for i := range runs {
		ids = append(ids, runs[i].ID)
	}
	slices.Sort(ids)
	return ids
}

// wantRuns compares what the store has of all runs: their jobs, states and reasons, by job and id.
func (c *crossing) wantRuns(want ...string) {
	c.t.Helper()
	page, err := c.Runs(c.t.Context(), ruqi.RunQuery{})
	if err != nil {
		c.t.Fatal(err)
	}
	var got []string
	slices.SortFunc(page.Runs, func(a, b ruqi.Run) int { return cmp.Or(strings.Compare(a.JobID, b.JobID), cmp.Compare(a.ID, b.ID)) })
	for _, run := range page.Runs {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", run.JobID, run.State, run.Reason)))
	}
	c.want("the runs", got, want...)
	faults, err := c.Check(c.t.Context())
	if err != nil || len(faults) > 0 {
		c.t.Errorf("the store has faults: %q, %v", faults, err)
	}
}

const movedRow = "moved lost it was moved"

// A step that waits for a run which another step ends, and so moves to the history, begins anew: it is told to nobody as failed, does
// nothing twice, and finds the run where it is then.
func TestAStepThatMeetsAMovedRunBeginsAnew(t *testing.T) {
	const noted = movedRow + "; late word of host:8585:4242 (epoch 1): succeeded"
	t.Run("an end", func(t *testing.T) {
		c := newCrossing(t, ruqi.RunRunning, 0)
		again := ruqi.Run{JobID: "other", JobName: "name of other", Task: "x", Cause: ruqi.CauseRetry, State: ruqi.RunQueued, Nominal: c.runs["other"].Nominal, Attempt: 2, ParentID: c.runs["other"].ID}
		c.while(func() {
			done := []ruqi.Done{c.ended("moved", ruqi.RunSucceeded), c.ended("other", ruqi.RunFailed)}
			code := 3
			done[1].Run.ExitCode, done[1].Run.Reason, done[1].Again = &code, "exit status 3", &again
			late, err := c.Finish(t.Context(), c.owner, done)
			if err != nil || !slices.Equal(late, c.ids("moved")) {
				t.Errorf("late are %v, %v", late, err)
			}
		})
		c.wantRuns(noted, "other failed exit status 3", "other queued")
	})
	t.Run("output", func(t *testing.T) {
		c := newCrossing(t, ruqi.RunRunning, 0)
		half := 0.5
		c.while(func() {
			late, err := c.WriteRuns(t.Context(), c.owner, []ruqi.RunUpdate{
				{ID: c.runs["other"].ID, Output: []byte("of the other")}, {ID: c.runs["moved"].ID, Output: []byte("of the moved"), Progress: &half},
			})
			if err != nil || !slices.Equal(late, c.ids("moved")) {
				t.Errorf("late are %v, %v", late, err)
			}
		})
		c.wantRuns(movedRow, "other running")
		c.want("the output", c.rows(`SELECT convert_from(bytes, 'UTF8') FROM rq_output`), "of the other")
	})
	for _, state := range []ruqi.RunState{ruqi.RunRunning, ruqi.RunQueued} {
		t.Run("a cancel of one "+string(state), func(t *testing.T) {
			c := newCrossing(t, state, 0)
			c.while(func() {
				if _, err := c.Cancel(t.Context(), c.runs["moved"].ID, "a user"); !errors.Is(err, ruqi.ErrEnded) {
					t.Errorf("the error is %v", err)
				}
			})
			c.wantRuns(movedRow, "other "+string(state))
		})
	}
	t.Run("a start", func(t *testing.T) {
		c := newCrossing(t, ruqi.RunQueued, 0)
		c.while(func() {
			claimed := c.claimBy(func(p *ruqi.Plan) { p.Runs = nil })
			if got := idsOf(claimed.Runs); !slices.Equal(got, c.ids("other")) || c.decided != 2 || len(claimed.Jobs) != 1 {
				t.Errorf("%v started, of %d jobs, after %d decisions", got, len(claimed.Jobs), c.decided)
			}
		})
		c.wantRuns(movedRow, "other running")
	})
	for _, batch := range []int64{0, 1} {
		t.Run(fmt.Sprint("a claim that asks for an end, batch ", batch), func(t *testing.T) {
			state := []ruqi.RunState{ruqi.RunRunning, ruqi.RunQueued}[batch]
			c := newCrossing(t, state, batch)
			c.clock.move(2 * time.Hour)
			c.while(func() {
				claimed := c.claimBy(func(p *ruqi.Plan) { p.Cancel, p.Start, p.Runs[0].State = "a newer fire", nil, ruqi.RunQueued })
				if len(claimed.Jobs) != 2 || c.decided != 2 {
					t.Errorf("the plans of %d jobs landed after %d decisions", len(claimed.Jobs), c.decided)
				}
			})
			other := "other running"
			if batch > 0 {
				other = "other cancelled cancelled by a newer fire"
			}
			c.wantRuns(movedRow, "moved queued", other, "other queued")
			c.want("the asked", c.rows(`SELECT job_id FROM rq_run WHERE cancel_by IS NOT NULL`), "other")
		})
	}
	for what, change := range map[string]ruqi.Change{"a removal": {Remove: true}, "a hastening": {Hasten: true}} {
		t.Run(what, func(t *testing.T) {
			c := newCrossing(t, ruqi.RunQueued, 0)
			c.clock.move(-time.Hour)
			c.while(func() {
				jobs, _, err := c.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"moved", "other"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change { return change })
				if err != nil || len(jobs) != 2 {
					t.Errorf("%d jobs edited, %v", len(jobs), err)
				}
			})
			if change.Remove {
				c.wantRuns(movedRow, "other cancelled job removed")
			} else {
				c.wantRuns(movedRow, "other queued")
			}
		})
	}
	t.Run("a rescue", func(t *testing.T) {
		c := newCrossing(t, ruqi.RunRunning, 0)
		c.clock.move(25 * time.Hour)
		alive, err := c.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "alive"}, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c.while(func() {
			ended, err := c.Rescue(t.Context(), alive.Owner, 0, func(now time.Time, dead ruqi.Run, _ *ruqi.JobRecord) ruqi.Done {
				dead.State, dead.Reason, dead.Finished = ruqi.RunLost, "rescued", &now
				return ruqi.Done{Run: dead}
			})
			if err != nil || !slices.Equal(idsOf(ended), c.ids("other")) {
				t.Errorf("%v rescued, %v", idsOf(ended), err)
			}
		})
		c.wantRuns(movedRow, "other lost rescued")
	})
}

// An end that waits for another change of its run moves the row as it is then, in each of the forms in which ends are written.
func TestAnEndMovesTheRowAsItIsByThen(t *testing.T) {
	code, half := 3, 0.5
	for form, change := range map[string]func(*ruqi.Run){
		"plain": func(*ruqi.Run) {},
		"more":  func(r *ruqi.Run) { r.ExitCode = &code },
		"said":  func(r *ruqi.Run) { r.ExitCode, r.Result = &code, []byte(`1`) },
	} {
		t.Run(form, func(t *testing.T) {
			c := newCrossing(t, ruqi.RunRunning, 0)
			c.beside(`UPDATE rq_run SET cancel_by = 'a user', output_bytes = 7, progress = 0.5, progress_text = 'half' WHERE job_id = 'moved'`, func() {
				done := []ruqi.Done{c.ended("moved", ruqi.RunSucceeded)}
				change(&done[0].Run)
				if late, err := c.Finish(t.Context(), c.owner, done); err != nil || len(late) > 0 {
					t.Errorf("late are %v, %v", late, err)
				}
			})
			page, err := c.Runs(t.Context(), ruqi.RunQuery{IDs: c.ids("moved")})
			if err != nil || len(page.Runs) != 1 {
				t.Fatalf("%d rows, %v", len(page.Runs), err)
			}
			got := page.Runs[0]
			if got.State != ruqi.RunSucceeded || got.CancelBy != "a user" || got.OutputBytes != 7 || got.Progress == nil || *got.Progress != half || got.ProgressText != "half" {
				t.Errorf("the row is %+v", got)
			}
		})
	}
}

// A step that meets another each time gives up, has changed nothing, and is told as one that may be tried again.
func TestAStepThatMeetsAnotherEachTimeGivesUp(t *testing.T) {
	c := newCrossing(t, ruqi.RunQueued, 0)
	run(t, c.address, `CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'met' USING ERRCODE = 'serialization_failure'; END $$`,
		`CREATE TRIGGER meet BEFORE UPDATE ON rq_run_alive FOR EACH ROW EXECUTE FUNCTION meet()`)
	request := ruqi.ClaimRequest{Owner: c.owner, Slots: map[string]int{"default": 10}, Needs: []string{"x"}}
	decided := 0
	start := func(ctx context.Context) (ruqi.Claimed, error) {
		return c.Claim(ctx, request, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
			decided++
			var plans []ruqi.Plan
			for _, d := range due {
				plans = append(plans, ruqi.Plan{JobID: d.Job.ID, State: d.Job.State, NextNominal: d.Job.NextNominal, NextDue: d.Job.NextDue, RunCount: 7, Start: idsOf(d.Queued)})
			}
			return plans
		})
	}
	claimed, err := start(t.Context())
	if !errors.Is(err, ruqi.ErrUnavailable) || len(claimed.Runs)+len(claimed.Jobs) > 0 || decided != 20 {
		t.Errorf("after %d decisions it told %d runs of %d jobs, %v", decided, len(claimed.Runs), len(claimed.Jobs), err)
	}
	c.wantRuns("moved queued", "other queued")
	run(t, c.address, `DROP TRIGGER meet ON rq_run_alive`)
	if claimed, err = start(t.Context()); err != nil || !slices.Equal(idsOf(claimed.Runs), idsOf([]ruqi.Run{c.runs["moved"], c.runs["other"]})) || len(claimed.Jobs) != 2 {
		t.Errorf("the same claim then told %d runs of %d jobs, %v", len(claimed.Runs), len(claimed.Jobs), err)
	}
	c.wantRuns("moved running", "other running")
}

// Two runs of a job that is removed and added again have the same next attempt. The end of the first finds no job, and writes the attempt as
// cancelled, to the history; that of the second finds one, and would write it as queued. No index spans both: there is one all the same.
func TestAKeyIsThereOnceWhereItsJobComesBack(t *testing.T) {
	c := newCrossing(t, ruqi.RunRunning, 0)
	c.clock.move(time.Hour)
	c.claimBy(func(*ruqi.Plan) {})
	page, err := c.Runs(t.Context(), ruqi.RunQuery{Job: "moved"})
	if err != nil || len(page.Runs) != 2 {
		t.Fatalf("%d runs, %v", len(page.Runs), err)
	}
	nominal := c.clock.now().Add(-time.Minute)
	end := func(run ruqi.Run) int64 {
		run.State = ruqi.RunFailed
		again := ruqi.Run{JobID: "moved", JobName: "name of moved", Task: "x", Cause: ruqi.CauseRetry, Nominal: nominal, Attempt: 2, ParentID: run.ID}
		late, err := c.Finish(t.Context(), c.owner, []ruqi.Done{{Run: run, Again: &again}})
		for stop := time.Now().Add(patience); errors.Is(err, ruqi.ErrUnavailable) && time.Now().Before(stop); { // it waited for a second, and has done nothing
			late, err = c.Finish(t.Context(), c.owner, []ruqi.Done{{Run: run, Again: &again}})
		}
		if err != nil || len(late) > 0 {
			t.Errorf("late are %v, %v", late, err)
		}
		return again.ID
	}
	if _, _, err := c.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"moved"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change { return ruqi.Change{Remove: true} }); err != nil {
		t.Fatal(err)
	}
	var first, second int64
	c.between(fmt.Sprintf(`INSERT INTO rq_run (id, nominal, job_id, cause, attempt, due, state, job_name, task, reason, finished)
		SELECT 1000000, t, 'moved', 2, 2, t, 5, '', '', '', t FROM (SELECT '%s'::timestamptz AS t) t`, nominal.Format(time.RFC3339Nano)),
		func() { first = end(page.Runs[0]) },
		func(tx pgx.Tx) error { // the first waits in the midst of it, and then goes on
			added := make(chan struct{})
			go func() {
				defer close(added)
				c.add("moved", "{}", true)
				second = end(page.Runs[1])
			}()
			watch := connectTo(t, c.address)
			until(t, patience, "it is added, or waits for the first", func() bool {
				select {
				case <-added:
					return true
				default:
					return list[int64](t, watch, `SELECT count(*) FROM pg_stat_activity a WHERE EXISTS (SELECT FROM unnest(pg_blocking_pids(a.pid)) b (pid) WHERE cardinality(pg_blocking_pids(b.pid)) > 0)`)[0] > 0
				}
			})
			defer func() { <-added }()
			return tx.Rollback(t.Context())
		})
	if made := list[int64](t, connectTo(t, c.address), `SELECT id FROM rq_run WHERE job_id = 'moved' AND attempt = 2`); len(made) != 1 {
		t.Errorf("the attempt is there %d times, told were %d and %d", len(made), first, second)
	}
}
