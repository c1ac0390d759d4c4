package jobstoretest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var raceRules = []rule{
	{name: "race/claims", check: raceClaims,
		law: "however many claim at once, every fire has exactly one row, and no job has more active runs than its MaxInstances"},
	{name: "race/edits and claims", check: raceEdits,
		law: "when edits race claims the later word stands: no edit is undone, and each fire is settled once, by the one or the other"},
	{name: "race/manual runs", check: raceManual,
		law: "manual rows that are queued at one time by many get keys of their own, and each starts once"},
	{name: "race/ends", check: raceEnds,
		law: "of many that end the same run one is not late, and its words stand"},
	{name: "race/rescues", check: raceRescues,
		law: "however many rescue at once, each dead run is ended once, and rerun once"},
}

// Sizes of the races: enough for every interleaving to be met in a run or two, and few
// enough for a store that flushes each step.
const (
	racers    = 4
	raceJobs  = 12
	raceSteps = 30
)

// race runs work on handles at once, and waits for all.
func (p *probe) race(n int, work func(i int, s Store)) {
	handles := p.handles(n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { work(i, handles[i]) })
	}
	group.Wait()
}

// checkMax notes the jobs that have more active runs than they may.
func (p *probe) checkMax(s Store, most map[string]int) {
	page, err := s.Runs(p.ctx, ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}, Limit: ruqi.MaxPage})
	if err != nil {
		p.errorf("runs: %v", err)
		return
	}
	count := map[string]int{}
	for _, r := range page.Runs {
		count[r.JobID]++
	}
	for id, n := range count {
		if n > most[id] {
			p.errorf("job %s has %d running runs, at most %d are allowed", id, n, most[id])
		}
	}
}

// checkChain notes fires without exactly one row: each job's rows of the schedule must be a step
// apart, from its first fire to the one before its next.
func (p *probe) checkChain(id string, first time.Time) {
	seen := map[time.Time]int{}
	query := ruqi.RunQuery{Job: id, Causes: []ruqi.Cause{ruqi.CauseSchedule}, Limit: ruqi.MaxPage}
	for {
		page, err := p.Runs(p.ctx, query)
		p.must("runs", err)
		for _, r := range page.Runs {
			seen[r.Nominal]++
		}
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	next := p.job(id).NextNominal
	if next == nil {
		p.fatalf("job %s lost its next time", id)
	}
	fires := 0
	for t := first; t.Before(*next); t = t.Add(step) {
		fires++
		if seen[t] != 1 {
			p.errorf("fire %s of job %s has %d rows, want 1", t.Format(time.TimeOnly), id, seen[t])
		}
	}
	equal(p, "the number of fires of job "+id+" that have a row", len(seen), fires)
}

func raceClaims(p *probe) {
	first := p.now()
	most := map[string]int{}
	var records []ruqi.JobRecord
	for i := range raceJobs {
		id := fmt.Sprint("job", i)
		most[id] = 1 + i%3
		records = append(records, p.record(id, atMost(most[id]), withPriority(i%2)))
	}
	p.add(records...)
	seed := uint64(time.Now().UnixNano())
	var mu sync.Mutex
	owners := map[int64]ruqi.Owner{}
	p.race(racers, func(i int, s Store) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		beat, err := s.Beat(p.ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: fmt.Sprint("racer", i)}, Lease: lease})
		if err != nil {
			p.errorf("beat: %v", err)
			return
		}
		var mine []int64
		for range raceSteps {
			p.clock.move(step / 4)
			r := request(beat.Owner)
			r.Limit = 1 + random.IntN(raceJobs)
			c, err := s.Claim(p.ctx, r, planner(fire).decide)
			if err != nil {
				p.errorf("claim: %v", err)
				return
			}
			mu.Lock()
			for _, r := range c.Runs {
				if other, twice := owners[r.ID]; twice {
					p.errorf("run %d was given to %v and to %v", r.ID, other, beat.Owner)
				}
				owners[r.ID] = beat.Owner
			}
			mu.Unlock()
			mine = append(mine, runIDs(c.Runs)...)
			p.checkMax(s, most)
			n := random.IntN(len(mine) + 1)
			var done []ruqi.Done
			for _, id := range mine[:n] {
				done = append(done, ended(id, ruqi.RunSucceeded))
			}
			mine = mine[n:]
			if late, err := s.Finish(p.ctx, beat.Owner, done); err != nil || len(late) > 0 {
				p.errorf("finish: late %v, error %v", late, err)
			}
		}
	})
	started := map[string]int64{}
	for _, r := range p.runs(ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning, ruqi.RunSucceeded}}) {
		started[r.JobID]++
		equal(p, fmt.Sprintf("the owner of run %d (seed %d)", r.ID, seed), r.Owner, owners[r.ID])
	}
	for id := range most {
		p.checkChain(id, first)
		equal(p, "RunCount of "+id, p.job(id).RunCount, started[id])
	}
}

// settle is an edit as an engine does it: what is due goes as missed, and the version grows.
func settle(now time.Time, id string, old *ruqi.JobRecord, _ int) ruqi.Change {
	if old == nil {
		return ruqi.Change{Err: fmt.Errorf("job %q: %w", id, ruqi.ErrNotFound)}
	}
	change := ruqi.Change{Job: old}
	if old.NextDue != nil && !old.NextDue.After(now) {
		r := row(id, ruqi.CauseSchedule, ruqi.RunMissed, *old.NextNominal)
		r.Reason, r.Finished = "its job was changed", clonePtr(&now)
		change.Runs = []ruqi.Run{r}
		next := old.NextNominal.Add(step)
		old.NextNominal, old.NextDue = clonePtr(&next), clonePtr(&next)
	}
	old.Version++
	old.Priority++
	return change
}

func raceEdits(p *probe) {
	first := p.now()
	var records []ruqi.JobRecord
	most := map[string]int{}
	for i := range raceJobs / 2 {
		id := fmt.Sprint("job", i)
		most[id] = 1
		records = append(records, p.record(id))
	}
	p.add(records...)
	seed := uint64(time.Now().UnixNano())
	var mu sync.Mutex
	edits := map[string]int64{} // guarded by mu
	p.race(racers, func(i int, s Store) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		beat, err := s.Beat(p.ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: fmt.Sprint("racer", i)}, Lease: lease})
		if err != nil {
			p.errorf("beat: %v", err)
			return
		}
		for range raceSteps {
			p.clock.move(step / 4)
			if i%2 == 0 {
				id := fmt.Sprint("job", random.IntN(len(records)))
				if _, _, err := s.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{id}}, settle); err != nil {
					p.errorf("edit: %v", err)
					return
				}
				mu.Lock()
				edits[id]++
				mu.Unlock()
				continue
			}
			c, err := s.Claim(p.ctx, request(beat.Owner), planner(fire).decide)
			if err != nil {
				p.errorf("claim: %v", err)
				return
			}
			p.checkMax(s, most)
			var done []ruqi.Done
			for _, r := range c.Runs {
				done = append(done, ended(r.ID, ruqi.RunSucceeded))
			}
			if late, err := s.Finish(p.ctx, beat.Owner, done); err != nil || len(late) > 0 {
				p.errorf("finish: late %v, error %v", late, err)
			}
		}
	})
	for id := range most {
		p.checkChain(id, first)
		job := p.job(id)
		equal(p, fmt.Sprintf("the version of %s after %d edits (seed %d)", id, edits[id], seed), job.Version, 1+edits[id])
		equal(p, "the priority of "+id+", which each edit raised", int64(job.Priority), edits[id])
	}
}

func raceManual(p *probe) {
	p.addJob("job", idle, atMost(1000))
	const each = 10
	p.race(racers, func(_ int, s Store) {
		for range each {
			_, runs, err := s.EditJobs(p.ctx, ruqi.JobQuery{IDs: []string{"job"}}, func(_ time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
				return ruqi.Change{Runs: []ruqi.Run{row(id, ruqi.CauseManual, ruqi.RunQueued, time.Time{})}}
			})
			if err != nil || len(runs) != 1 {
				p.errorf("run now: %d runs, error %v", len(runs), err)
			}
		}
	})
	nominal := map[time.Time]bool{}
	for _, r := range p.runs(ruqi.RunQuery{Job: "job"}) {
		nominal[r.Nominal] = true
	}
	equal(p, "the number of nominal times", len(nominal), racers*each)
	p.clock.move(time.Second)
	var mu sync.Mutex
	started := map[int64]int{} // guarded by mu
	claim := func(s Store, owner ruqi.Owner) {
		c, err := s.Claim(p.ctx, request(owner), func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
			var plans []ruqi.Plan
			for _, d := range due {
				plan := stay(d)
				for _, q := range d.Queued[:min(3, len(d.Queued))] {
					plan.Start = append(plan.Start, q.ID)
				}
				plans = append(plans, *plan)
			}
			return plans
		})
		if err != nil {
			p.errorf("claim: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range c.Runs {
			started[r.ID]++
		}
	}
	p.race(racers, func(i int, s Store) {
		beat, err := s.Beat(p.ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: fmt.Sprint("racer", i)}, Lease: lease})
		if err != nil {
			p.errorf("beat: %v", err)
			return
		}
		for range each {
			claim(s, beat.Owner)
		}
	})
	// A claim may pass a job over that another holds at that moment; what is left starts now.
	last := p.owner("last")
	for range racers * each {
		claim(p.Store, last)
	}
	equal(p, "the number of rows started", len(started), racers*each)
	for id, n := range started {
		equal(p, fmt.Sprintf("the number of starts of row %d", id), n, 1)
	}
}

func raceEnds(p *probe) {
	owner := p.owner("a")
	for round := range 5 {
		r := p.startOne(owner, fmt.Sprint("job", round))
		var mu sync.Mutex
		winner := -1
		p.race(racers, func(i int, s Store) {
			late, err := s.Finish(p.ctx, owner, []ruqi.Done{{Run: ruqi.Run{ID: r.ID, State: ruqi.RunFailed, MaxRSS: int64(i + 1)}}})
			if err != nil {
				p.errorf("finish: %v", err)
			}
			if len(late) == 0 {
				mu.Lock()
				defer mu.Unlock()
				if winner >= 0 {
					p.errorf("two ends of run %d were taken", r.ID)
				}
				winner = i
			}
		})
		equal(p, "MaxRSS, by which the end that was taken is known", p.run(r.ID).MaxRSS, int64(winner+1))
	}
}

func raceRescues(p *probe) {
	dead := p.beat("dead", 10*time.Second).Owner
	for i := range raceJobs {
		p.startOne(dead, fmt.Sprint("job", i))
	}
	p.clock.move(time.Minute)
	owner := p.owner("a")
	var mu sync.Mutex
	rescued := map[int64]int{} // guarded by mu
	rescue := func(s Store) {
		ended, err := s.Rescue(p.ctx, owner, 3, func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done {
			done := lose(now, dead, job)
			again := row(dead.JobID, ruqi.CauseRetry, ruqi.RunQueued, dead.Nominal)
			again.Attempt = 2
			done.Again = &again
			return done
		})
		if err != nil {
			p.errorf("rescue: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range ended {
			rescued[r.ID]++
		}
	}
	p.race(racers, func(_ int, s Store) {
		for range raceJobs {
			rescue(s)
		}
	})
	for range raceJobs { // one may have left to another what that one did not come to
		rescue(p.Store)
	}
	equal(p, "the number of runs rescued", len(rescued), raceJobs)
	for id, n := range rescued {
		equal(p, fmt.Sprintf("the number of times that run %d was rescued", id), n, 1)
	}
	equal(p, "the number of reruns", len(p.runs(ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunQueued}})), raceJobs)
}
