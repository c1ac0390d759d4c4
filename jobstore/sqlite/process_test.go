package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// childEnv names the file that a child process of the tests works on.
const childEnv = "RUQI_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	fleetJobs   = 50
	fleetPeriod = 100 * time.Millisecond // of each job
	fleetLife   = 2 * time.Second        // of each child
	fleetLease  = 300 * time.Millisecond
)

// child is one scheduler of a fleet: it claims, finishes and rescues until its time is over.
func child(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	me := ruqi.Instance{Owner: ruqi.Owner{Instance: fmt.Sprint("child-", os.Getpid())}, Lease: fleetLease}
	if me, err = s.Beat(ctx, me); err != nil {
		return err
	}
	end := time.NewTimer(fleetLife)
	turn := time.NewTicker(5 * time.Millisecond)
	defer turn.Stop()
	var mine []ruqi.Run
	for turns := 0; ; turns++ {
		select {
		case <-end.C:
			me.Lease = 0
			if _, err := s.Finish(ctx, me.Owner, ends(mine)); err != nil {
				return err
			}
			if _, err := s.Beat(ctx, me); err != nil && !errors.Is(err, ruqi.ErrLeaseLost) {
				return err
			}
			return s.Close()
		case <-turn.C:
		}
		mine, err = oneTurn(ctx, s, me, mine, turns%10 == 0)
		if errors.Is(err, ruqi.ErrLeaseLost) { // the machine was too slow: a new life begins
			me.Owner.Epoch, mine = 0, nil
			me, err = s.Beat(ctx, me)
		}
		if err != nil {
			return err
		}
	}
}

// oneTurn finishes what the turn before started and starts what is due.
func oneTurn(ctx context.Context, s *sqlite.Store, me ruqi.Instance, mine []ruqi.Run, beats bool) ([]ruqi.Run, error) {
	if beats {
		if _, err := s.Beat(ctx, me); err != nil {
			return nil, err
		}
		if _, err := s.Rescue(ctx, me.Owner, 0, lose); err != nil {
			return nil, err
		}
	}
	if _, err := s.Finish(ctx, me.Owner, ends(mine)); err != nil {
		return nil, err
	}
	claimed, err := s.Claim(ctx, request(me.Owner, 10), fireAll)
	return claimed.Runs, err
}

func lose(_ time.Time, dead ruqi.Run, _ *ruqi.JobRecord) ruqi.Done {
	dead.State, dead.Reason = ruqi.RunLost, "its instance died"
	return ruqi.Done{Run: dead}
}

// fireAll gives each fire up to now its own row: the newest runs, unless a run is
// active, the others are missed.
func fireAll(now time.Time, due []ruqi.Due) []ruqi.Plan {
	plans := make([]ruqi.Plan, len(due))
	for i, d := range due {
		next := *d.Job.NextDue
		var rows []ruqi.Run
		for !next.After(now) {
			rows = append(rows, ruqi.Run{JobID: d.Job.ID, JobName: d.Job.Name, Task: "noop", Cause: ruqi.CauseSchedule, State: ruqi.RunMissed, Nominal: next, Due: next})
			next = next.Add(fleetPeriod)
		}
		if len(rows) > 0 {
			rows[len(rows)-1].State = ruqi.RunRunning
			if d.Active >= d.Job.MaxInstances {
				rows[len(rows)-1].State = ruqi.RunSkipped
			}
		}
		plans[i] = ruqi.Plan{JobID: d.Job.ID, State: ruqi.JobActive, NextNominal: &next, NextDue: &next, RunCount: d.Job.RunCount + 1, Runs: rows}
	}
	return plans
}

// TestProcessesShareAFile lets three processes work on the same jobs, kills one of
// them in the middle, and reads from the file that each fire has one outcome and
// that no job overlapped itself.
func TestProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{})
	begin := time.Now().Truncate(time.Second)
	var jobs []*ruqi.JobRecord
	for i := range fleetJobs {
		jobs = append(jobs, record(fmt.Sprintf("job-%02d", i), begin))
	}
	add(t, s, jobs...)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for range 3 {
		c := exec.CommandContext(t.Context(), program, "-test.run=^$")
		c.Env = append(os.Environ(), childEnv+"="+path)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	<-time.After(fleetLife / 2) // the processes are in the middle of their work
	if err := children[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, c := range children {
		if err := c.Wait(); (err != nil) != (i == 0) {
			t.Errorf("child %d: %v", i, err)
		}
	}
	// The runs of the killed one may still wait for its lease to end.
	later := open(t, path, sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	if _, err := later.Rescue(t.Context(), ruqi.Owner{}, 0, lose); err != nil {
		t.Fatal(err)
	}
	if counts, err := s.Count(t.Context()); err != nil || counts.Running != 0 {
		t.Fatalf("%d runs are left running, %v", counts.Running, err)
	}
	if list, err := s.Instances(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("instances are left: %v, %v", list, err)
	}
	started := 0
	for _, job := range jobs {
		started += checkFires(t, s, job.ID, begin)
	}
	t.Logf("%d runs were started", started)
	if started < fleetJobs {
		t.Errorf("only %d runs were started", started)
	}
	if text, err := s.IntegrityCheck(t.Context()); err != nil || text != "ok" {
		t.Errorf("%s, %v", text, err)
	}
}

// checkFires looks at the history of one job and counts the runs that were started.
func checkFires(t *testing.T, s *sqlite.Store, id string, begin time.Time) (started int) {
	t.Helper()
	var runs []ruqi.Run
	for query := (ruqi.RunQuery{Job: id, Limit: 7}); ; {
		page, err := s.Runs(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, page.Runs...)
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	jobs, err := s.Jobs(t.Context(), ruqi.JobQuery{IDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(runs, func(a, b ruqi.Run) int { return a.Nominal.Compare(b.Nominal) })
	at := begin
	for _, r := range runs {
		if !r.Nominal.Equal(at) {
			t.Fatalf("%s: the fire of %v has no outcome, or two", id, at)
		}
		at = at.Add(fleetPeriod)
	}
	if !jobs.Jobs[0].NextNominal.Equal(at) {
		t.Errorf("%s: the next fire is %v, and there are outcomes up to %v", id, jobs.Jobs[0].NextNominal, at)
	}
	var last *ruqi.Run
	for i, r := range runs {
		if r.Started == nil {
			continue
		}
		started++
		if last != nil && r.Started.Before(*last.Finished) {
			t.Errorf("%s: run %d began at %v, before run %d ended at %v", id, r.ID, r.Started, last.ID, last.Finished)
		}
		last = &runs[i]
	}
	return started
}

// TestReadersAndASecondHandleLoseNoRow is 100 jobs in the same second, twenty readers and
// a second user of the file that writes.
func TestReadersAndASecondHandleLoseNoRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	c := &clock{now: start}
	first, second := open(t, path, sqlite.Options{Now: c.Now}), open(t, path, sqlite.Options{Now: c.Now})
	for i := range 100 {
		add(t, first, record(fmt.Sprintf("job-%03d", i), start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, err := first.Jobs(ctx, ruqi.JobQuery{}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				if _, err := second.Runs(ctx, ruqi.RunQuery{}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for i, s := range []*sqlite.Store{first, second, first, second} {
		owner := beat(t, s, fmt.Sprint("instance-", i))
		writers.Go(func() {
			for range 30 {
				claimed, err := s.Claim(t.Context(), request(owner, 5), fire(time.Hour))
				if err != nil {
					t.Error(err)
				}
				if late, err := s.Finish(t.Context(), owner, ends(claimed.Runs)); err != nil || len(late) > 0 {
					t.Error(late, err)
				}
				if _, err := s.Append(t.Context(), "audit", nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
	page, err := first.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunSucceeded}, Limit: ruqi.MaxPage})
	if err != nil || len(page.Runs) != 100 {
		t.Fatalf("%d rows of 100, %v", len(page.Runs), err)
	}
	list, err := second.List(t.Context(), "audit", "", "", 1000)
	if err != nil || len(list) != 120 {
		t.Fatalf("%d records of 120, %v", len(list), err)
	}
}
