package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// Sizes of the race: on an idle machine some ten thousand fires.
const (
	raceTime     = 5 * time.Second
	raceStep     = 50 * time.Millisecond // from one fire of a job to the next
	raceJobs     = 24                    // each under an id of its own; one that is removed is followed by another
	raceHot      = 4                     // are added and removed under the same ids, by several at once
	raceClaimers = 8
	raceEditors  = 4
	raceAttempts = 3
	// racePatience bounds a step. Nothing here is away, so no step may fail because it took long.
	racePatience = 2 * time.Minute
)

// logToRead lets the server write what it logs into a file that can be read by SQL.
var logToRead = map[string]string{
	"logging_collector": "on", "log_directory": "log", "log_filename": "server.log", "log_rotation_age": "0", "log_rotation_size": "0",
	"log_lock_waits": "on", "deadlock_timeout": "100ms",
}

// A race is what its members share. Each has a store of its own.
type race struct {
	t *testing.T
	// address is the judge's way to the database, through that of the members.
	address, through string
	seed             uint64
	over             chan struct{} // closed when its time is over

	mu      sync.Mutex // guards what follows
	ids     []string   // jobs that were added and, as far as is known, not removed
	begun   map[string][]time.Time
	ended   map[string][]time.Time // lives of jobs: their first fire, and the one that did not come any more
	recent  []int64                // runs that may still be alive
	done    map[string]int         // how often what was done
	newJobs int
}

// TestARaceOfEverybody lets claimers, editors, a cleaner and a rescuer work on the same jobs at once, some claimers
// dying on the way, and judges what is in the tables after it. LK03: locks that are taken in different orders end nobody.
func TestARaceOfEverybody(t *testing.T) {
	server := postgrestest.New(t, postgrestest.Options{Settings: logToRead})
	direct := server.Database(t)
	newRace(t, direct, with(t, direct, parameter("lock_timeout", "0"))).run(server, raceTime)
}

// newRace makes a race whose members reach the database by one address, and its judge by another.
func newRace(t *testing.T, direct, through string) *race {
	r := &race{
		t: t, address: direct, through: through, seed: uint64(time.Now().UnixNano()), over: make(chan struct{}),
		begun: map[string][]time.Time{}, ended: map[string][]time.Time{}, done: map[string]int{},
	}
	t.Logf("seed %d", r.seed)
	return r
}

// run lets the race go on for so long, and judges it.
func (r *race) run(server *postgrestest.Server, length time.Duration) {
	first := r.open()
	run(r.t, r.address, raceRecorders...)
	for range raceJobs {
		r.add(first, r.newID())
	}
	for i := range raceHot {
		r.add(first, hotID(i))
	}
	var group sync.WaitGroup
	for i := range raceClaimers {
		group.Go(func() { r.claimer(i, r.open(), r.random(100+i)) })
	}
	for i := range raceEditors {
		group.Go(func() { r.editor(r.open(), r.random(200+i)) })
	}
	group.Go(func() { r.cleaner(r.open()) })
	group.Go(func() { r.watcher(r.open()) })
	finished := make(chan struct{})
	rescued := make(chan struct{})
	go func() {
		defer close(rescued)
		r.rescuer(r.open(), finished)
	}()
	wait := time.NewTimer(length)
	defer wait.Stop()
	<-wait.C
	for end := time.Now().Add(patience); r.lacks() != "" && !r.t.Failed() && time.Now().Before(end); {
		r.pause(10 * time.Millisecond)
	}
	close(r.over)
	group.Wait()
	close(finished)
	<-rescued
	r.judge(first)
	r.told(server)
}

// open opens one more store.
func (r *race) open() *postgres.Store {
	s, err := postgres.Open(r.t.Context(), r.through, postgres.Options{StepLimit: racePatience})
	if err != nil {
		r.t.Error(err)
		panic(err) // of a goroutine that may not end the test
	}
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (r *race) random(n int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(n))) }

// isOver tells everybody to come to an end.
func (r *race) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// pause waits for a moment, or until the race is over.
func (r *race) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.over:
	}
}

// count notes that something was done.
func (r *race) count(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[what] += n
}

// lacks names something that has not happened yet, and without which the race is none; empty: all has.
func (r *race) lacks() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, what := range []string{"add", "change", "change of many", "pause", "resume", "remove", "run now", "cancel", "rows cleaned", "runs rescued", "deaths", "runs ended", "looks"} {
		if r.done[what] == 0 {
			return what
		}
	}
	return ""
}

// failed reports an error that is none of those allowed. ErrUnavailable is never allowed: the server is there, and whoever meets
// another step, in a deadlock too, begins anew without a word.
func (r *race) failed(step string, err error, allowed ...error) bool {
	if err == nil {
		return false
	}
	for _, target := range allowed {
		if errors.Is(err, target) {
			r.count(fmt.Sprintf("%s: %v", step, target), 1)
			return true
		}
	}
	r.t.Errorf("%s (seed %d): %v", step, r.seed, err)
	return true
}

func hotID(n int) string { return fmt.Sprint("hot", n) }

func (r *race) newID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newJobs++
	return fmt.Sprintf("job%03d", r.newJobs)
}

// limitOf is how many runs of a job may be active at once. It follows from the id.
func limitOf(id string) int { return 1 + int(id[len(id)-1])%3 }

// A memo is the definition of a job of the race.
type memo struct {
	Batch bool       `json:"batch"` // fires that are late start as one batch
	Next  *time.Time `json:"next"`  // the next fire of a job that is paused
}

func memoOf(job *ruqi.JobRecord) memo {
	var m memo
	if err := json.Unmarshal(job.Spec, &m); err != nil {
		panic(err) // it was written by write
	}
	return m
}

func (m memo) write(job *ruqi.JobRecord) {
	var err error
	if job.Spec, err = json.Marshal(m); err != nil {
		panic(err) // a boolean and a time encode
	}
}

func at(t time.Time) *time.Time { return &t }

// newJob is the record of a job whose first fire is the next on the common grid.
func newJob(id string, now time.Time) *ruqi.JobRecord {
	first := now.Truncate(raceStep).Add(raceStep)
	job := &ruqi.JobRecord{
		ID: id, Name: id, State: ruqi.JobActive, Pool: "plain", Needs: "x", MaxInstances: limitOf(id), Version: 1,
		NextNominal: at(first), NextDue: at(first), Tags: []string{"all"},
	}
	m := memo{Batch: id[len(id)-1]%2 == 0}
	if m.Batch {
		job.Pool = "batch"
	}
	m.write(job)
	return job
}

// raceRow is a row of the schedule.
func raceRow(job *ruqi.JobRecord, state ruqi.RunState, nominal time.Time, why string) ruqi.Run {
	return ruqi.Run{JobID: job.ID, JobName: job.Name, Task: "race", Cause: ruqi.CauseSchedule, State: state, Reason: why, Nominal: nominal, Due: nominal, Attempt: 1}
}

// settled records the fires up to now as missed and moves the job's next time behind them.
func settled(now time.Time, job *ruqi.JobRecord, why string) (rows []ruqi.Run) {
	next := *job.NextNominal
	for ; !next.After(now); next = next.Add(raceStep) {
		rows = append(rows, raceRow(job, ruqi.RunMissed, next, why))
	}
	job.NextNominal, job.NextDue = at(next), at(next)
	return rows
}

var errNoJob = fmt.Errorf("no such job: %w", ruqi.ErrNotFound)

// edit edits jobs that must be there.
func (r *race) edit(s *postgres.Store, what string, query ruqi.JobQuery, change func(now time.Time, job *ruqi.JobRecord) ruqi.Change) ([]ruqi.JobRecord, []ruqi.Run, bool) {
	jobs, runs, err := s.EditJobs(r.t.Context(), query, func(now time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
		if old == nil {
			return ruqi.Change{Err: errNoJob}
		}
		return change(now, old)
	})
	if r.failed(what, err, ruqi.ErrNotFound) {
		return nil, nil, false
	}
	r.count(what, 1)
	return jobs, runs, true
}

// add adds a job that is not there, and changes one that is.
func (r *race) add(s *postgres.Store, id string) {
	created := false
	jobs, _, err := s.EditJobs(r.t.Context(), ruqi.JobQuery{IDs: []string{id}}, func(now time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
		if created = old == nil; created {
			return ruqi.Change{Job: newJob(id, now)}
		}
		return changed(now, old)
	})
	if r.failed("add", err) {
		return
	}
	r.count("add", 1)
	if !created {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[id] = append(r.begun[id], *jobs[0].NextNominal)
	r.ids = append(r.ids, id)
}

// changed is a change of the definition: what is due goes as missed.
func changed(now time.Time, job *ruqi.JobRecord) ruqi.Change {
	change := ruqi.Change{Job: job}
	if job.State == ruqi.JobActive {
		change.Runs = settled(now, job, "its job was changed")
	}
	job.Version++
	job.Priority = int(job.Version) % 3
	job.Name = fmt.Sprintf("%s, version %d", job.ID, job.Version%4)
	return change
}

func paused(now time.Time, job *ruqi.JobRecord) ruqi.Change {
	if job.State == ruqi.JobPaused {
		return ruqi.Change{}
	}
	change := ruqi.Change{Job: job, Runs: settled(now, job, "its job was paused")}
	m := memoOf(job)
	m.Next = job.NextNominal
	m.write(job)
	job.State, job.NextNominal, job.NextDue = ruqi.JobPaused, nil, nil
	job.Version++
	return change
}

// resumed lets a job go on. The fires that its pause has cost get rows, so that none is without.
func resumed(now time.Time, job *ruqi.JobRecord) ruqi.Change {
	if job.State == ruqi.JobActive {
		return ruqi.Change{}
	}
	m := memoOf(job)
	job.State, job.NextNominal = ruqi.JobActive, m.Next
	m.Next = nil
	m.write(job)
	job.Version++
	return ruqi.Change{Runs: settled(now, job, "its job was paused then"), Job: job}
}

// remove removes a job.
func (r *race) remove(s *postgres.Store, id string) bool {
	var end time.Time
	_, _, ok := r.edit(s, "remove", ruqi.JobQuery{IDs: []string{id}}, func(now time.Time, job *ruqi.JobRecord) ruqi.Change {
		change := ruqi.Change{Remove: true}
		if job.State == ruqi.JobActive {
			change.Runs = settled(now, job, "its job was removed")
			end = *job.NextNominal
		} else {
			end = *memoOf(job).Next
		}
		return change
	})
	if !ok {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[id] = append(r.ended[id], end)
	r.ids = slices.DeleteFunc(r.ids, func(other string) bool { return other == id })
	return true
}

// runNow queues a run by hand.
func (r *race) runNow(s *postgres.Store, id string) {
	_, runs, ok := r.edit(s, "run now", ruqi.JobQuery{IDs: []string{id}}, func(_ time.Time, job *ruqi.JobRecord) ruqi.Change {
		run := raceRow(job, ruqi.RunQueued, time.Time{}, "")
		run.Cause = ruqi.CauseManual
		return ruqi.Change{Runs: []ruqi.Run{run, run}}
	})
	if ok && len(runs) != 2 {
		r.t.Errorf("run now made %d rows of two", len(runs))
	}
	r.remember(runs)
}

// remember notes runs that can be cancelled.
func (r *race) remember(runs []ruqi.Run) {
	const most = 20
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range runs {
		r.recent = append(r.recent, runs[i].ID)
	}
	if extra := len(r.recent) - most; extra > 0 {
		r.recent = slices.Delete(r.recent, 0, extra)
	}
}

// some picks a few of the jobs that are there.
func (r *race) some(random *rand.Rand, n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]string, min(n, len(r.ids)))
	for i := range ids {
		ids[i] = r.ids[random.IntN(len(r.ids))]
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (r *race) editor(s *postgres.Store, random *rand.Rand) {
	edits := []func(time.Time, *ruqi.JobRecord) ruqi.Change{changed, paused, resumed, resumed}
	names := []string{"change", "pause", "resume", "resume"}
	for !r.isOver() {
		ids := r.some(random, 1+random.IntN(4))
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		switch n := random.IntN(10); n {
		case 0, 1, 2, 3:
			r.edit(s, names[n], ruqi.JobQuery{IDs: ids}, edits[n])
		case 4: // many at once, chosen by what they are
			r.edit(s, "change of many", ruqi.JobQuery{Tags: []string{"all"}, Limit: 8}, changed)
		case 5:
			if r.remove(s, ids[0]) && ids[0][0] == 'j' {
				r.add(s, r.newID())
			}
		case 6:
			r.add(s, hotID(random.IntN(raceHot)))
		case 7, 8:
			r.runNow(s, ids[0])
		case 9:
			r.cancel(s, random)
		}
		r.pause(time.Duration(random.IntN(5)) * time.Millisecond)
	}
}

func (r *race) cancel(s *postgres.Store, random *rand.Rand) {
	r.mu.Lock()
	id := int64(1)
	if len(r.recent) > 0 {
		id = r.recent[random.IntN(len(r.recent))]
	}
	r.mu.Unlock()
	run, err := s.Cancel(r.t.Context(), id, "the race")
	if r.failed("cancel", err, ruqi.ErrEnded, ruqi.ErrNotFound) {
		return
	}
	r.count("cancel", 1)
	if run.State != ruqi.RunCancelled && run.CancelBy == "" {
		r.t.Errorf("the cancelled run %d is %s", id, run.State)
	}
}

func (r *race) cleaner(s *postgres.Store) {
	for !r.isOver() {
		n, err := s.Clean(r.t.Context(), ruqi.Retention{Runs: 15, NonRuns: 15, Age: time.Second, Limit: 300})
		if !r.failed("clean", err) {
			r.count("rows cleaned", n)
		}
		r.pause(20 * time.Millisecond)
	}
}

// rescuer ends the runs of the dead, until nothing is left of them.
func (r *race) rescuer(s *postgres.Store, finished <-chan struct{}) {
	owner, ok := r.beat(s, ruqi.Owner{Instance: "rescuer"}, time.Hour)
	for ok {
		last := false
		select {
		case <-finished:
			last = true
		default:
		}
		runs, err := s.Rescue(r.t.Context(), owner, 20, func(_ time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
			done := ruqi.Done{Run: dead}
			done.Run.State, done.Run.Reason = ruqi.RunLost, "its instance died"
			if job != nil && dead.ID%2 == 0 {
				done.Again = next(dead)
			}
			return done
		})
		if r.failed("rescue", err) || last && len(runs) == 0 {
			return
		}
		r.count("runs rescued", len(runs))
		if len(runs) == 0 {
			r.pause(5 * time.Millisecond)
		}
	}
}

// next is the attempt after a run; nil: it was the last.
func next(run ruqi.Run) *ruqi.Run {
	if run.Attempt >= raceAttempts {
		return nil
	}
	return &ruqi.Run{
		JobID: run.JobID, JobName: run.JobName, Task: run.Task, Cause: ruqi.CauseRetry, State: ruqi.RunQueued, Nominal: run.Nominal,
		Attempt: run.Attempt + 1, ParentID: run.ID,
	}
}

func (r *race) beat(s *postgres.Store, owner ruqi.Owner, lease time.Duration) (ruqi.Owner, bool) {
	i, err := s.Beat(r.t.Context(), ruqi.Instance{Owner: owner, Lease: lease, State: "running", Needs: []string{"x"}})
	if r.failed("beat", err) {
		return owner, false
	}
	return i.Owner, true
}

// watcher looks at what runs, all the time.
func (r *race) watcher(s *postgres.Store) {
	for !r.isOver() {
		page, err := s.Runs(r.t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}, Limit: ruqi.MaxPage})
		if r.failed("runs", err) {
			return
		}
		running := map[string]int{}
		for i := range page.Runs {
			running[page.Runs[i].JobID]++
		}
		for id, n := range running {
			if n > limitOf(id) {
				r.t.Errorf("%d runs of %s run, its max_instances is %d (seed %d)", n, id, limitOf(id), r.seed)
			}
		}
		r.count("looks", 1)
		r.pause(10 * time.Millisecond)
	}
}

// withoutEnd is for what has to be done after the race, also when the test has failed.
func withoutEnd(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }
