package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// A claimer is an instance of the race, life after life.
type claimer struct {
	*race
	s      *postgres.Store
	random *rand.Rand
	owner  ruqi.Owner
	mine   []ruqi.Run // what it runs
}

func (r *race) claimer(n int, s *postgres.Store, random *rand.Rand) {
	c := &claimer{race: r, s: s, random: random}
	name := fmt.Sprint("claimer", n)
	var ok bool
	if c.owner, ok = r.beat(s, ruqi.Owner{Instance: name}, time.Hour); !ok {
		return
	}
	for life := 1; !r.isOver(); {
		if !c.claim() || !c.finish(random.IntN(len(c.mine)+1)) {
			return
		}
		if random.IntN(40) == 0 && len(c.mine) > 0 {
			life++
			if !c.die(fmt.Sprintf("claimer%d.%d", n, life)) {
				return
			}
		}
		r.pause(time.Duration(random.IntN(3)) * time.Millisecond)
	}
	c.finish(len(c.mine))
}

// claim takes what is due and checks what is told.
func (c *claimer) claim() bool {
	request := ruqi.ClaimRequest{Owner: c.owner, Needs: []string{"x"}, Limit: c.random.IntN(20)}
	switch c.random.IntN(4) {
	case 0:
		request.Slots = map[string]int{"plain": 1 + c.random.IntN(10)}
	case 1:
		request.Slots = map[string]int{"batch": 1 + c.random.IntN(10), "plain": 0}
	default:
		request.Slots = map[string]int{"plain": 1 + c.random.IntN(10), "batch": 1 + c.random.IntN(10)}
	}
	claimed, err := c.s.Claim(c.t.Context(), request, planned)
	if c.failed("claim", err) {
		return false
	}
	c.count("claims", 1)
	c.count("runs claimed", len(claimed.Runs))
	for i := range claimed.Runs {
		if run := &claimed.Runs[i]; run.Owner != c.owner || run.State != ruqi.RunRunning || run.ID == 0 {
			c.t.Errorf("%v was given the run %+v (seed %d)", c.owner, *run, c.seed)
		}
	}
	c.mine = append(c.mine, claimed.Runs...)
	c.remember(claimed.Runs)
	for _, id := range claimed.Cancel {
		if !slices.ContainsFunc(c.mine, func(r ruqi.Run) bool { return r.ID == id }) {
			c.t.Errorf("%v is told to cancel run %d, which it has not (seed %d)", c.owner, id, c.seed)
		}
	}
	if len(claimed.Runs) > 0 && c.random.IntN(3) == 0 {
		late, err := c.s.WriteRuns(c.t.Context(), c.owner, []ruqi.RunUpdate{{ID: claimed.Runs[0].ID, Output: []byte("output")}})
		if !c.failed("write", err) && len(late) > 0 {
			c.t.Errorf("the output of %v is late (seed %d)", late, c.seed)
		}
	}
	return true
}

// planned plans every job that is due: one fire, or those of a batch.
func planned(now time.Time, due []ruqi.Due) []ruqi.Plan {
	plans := make([]ruqi.Plan, 0, len(due))
	for i := range due {
		plans = append(plans, plannedJob(now, &due[i]))
	}
	return plans
}

func plannedJob(now time.Time, due *ruqi.Due) ruqi.Plan {
	job := &due.Job
	p := ruqi.Plan{JobID: job.ID, State: job.State, Reason: job.Reason, NextNominal: job.NextNominal, NextDue: job.NextDue, RunCount: job.RunCount}
	active := due.Active
	for _, q := range due.Queued {
		if q.Batch == 0 {
			if active >= job.MaxInstances {
				continue
			}
			active++
		}
		p.Start = append(p.Start, q.ID)
	}
	if job.State != ruqi.JobActive || job.NextDue == nil || job.NextDue.After(now) {
		return p
	}
	most := 1
	if memoOf(job).Batch {
		most = 3
	}
	fire := *job.NextNominal
	for n := range most {
		if fire.After(now) {
			break
		}
		row := raceRow(job, ruqi.RunRunning, fire, "")
		switch {
		case active >= job.MaxInstances:
			row.State, row.Reason = ruqi.RunSkipped, "at max_instances"
		case most > 1:
			p.RunCount++
			row.Batch = job.NextNominal.UnixMicro()
			if n > 0 {
				row.State = ruqi.RunQueued
			}
		default:
			p.RunCount++
		}
		p.Runs = append(p.Runs, row)
		fire = fire.Add(raceStep)
	}
	p.NextNominal, p.NextDue = at(fire), at(fire)
	return p
}

// finish ends the first n runs.
func (c *claimer) finish(n int) bool {
	if n == 0 {
		return true
	}
	ended := c.ends(c.mine[:n])
	c.mine = slices.Clone(c.mine[n:])
	late, err := c.end(c.owner, ended)
	if c.failed("finish", err) {
		return false
	}
	c.count("runs ended", len(ended))
	if len(late) > 0 {
		c.t.Errorf("%v ended its runs %v late (seed %d)", c.owner, late, c.seed)
	}
	if c.random.IntN(20) == 0 { // once more, which changes nothing
		late, err := c.end(c.owner, ended)
		if !c.failed("finish", err) && len(late) != len(ended) {
			c.t.Errorf("of %d runs that had ended %d are late (seed %d)", len(ended), len(late), c.seed)
		}
	}
	return true
}

// end ends runs as a scheduler does: again, while another holds a job that an end concerns.
func (c *claimer) end(owner ruqi.Owner, done []ruqi.Done) (late []int64, err error) {
	const tries = 30 // of a second each at most
	for range tries {
		if late, err = c.s.Finish(withoutEnd(c.t), owner, done); !errors.Is(err, ruqi.ErrUnavailable) {
			break
		}
		c.count("ends that had to wait", 1)
	}
	return late, err
}

func (c *claimer) ends(runs []ruqi.Run) []ruqi.Done {
	done := make([]ruqi.Done, len(runs))
	for i, run := range runs {
		d := ruqi.Done{Run: run, RemoveJob: c.random.IntN(10) == 0} // none is finished, and so none goes
		d.Run.State = ruqi.RunSucceeded
		switch c.random.IntN(6) {
		case 0:
			code := 1
			d.Run.State, d.Run.ExitCode, d.Again = ruqi.RunFailed, &code, next(run)
		case 1:
			d.Run.MaxRSS = 1 << 20
		}
		done[i] = d
	}
	return done
}

// die leaves what runs to the rescuer, and begins a new life: under the old name, so that the epoch alone tells the
// lives apart, or under a new one, the lease of the old being over. A late word of the dead one counts or not, as long as it does so
// once.
func (c *claimer) die(name string) bool {
	c.count("deaths", 1)
	dead, left := c.owner, c.mine
	c.mine = nil
	var ok bool
	if c.random.IntN(2) == 0 {
		if c.owner, ok = c.beat(c.s, ruqi.Owner{Instance: dead.Instance}, time.Hour); !ok {
			return false
		}
		_, err := c.s.Claim(c.t.Context(), ruqi.ClaimRequest{Owner: dead, Needs: []string{"x"}, Slots: map[string]int{"plain": 1}}, planned)
		if !errors.Is(err, ruqi.ErrLeaseLost) {
			c.t.Errorf("a claim in the name of an earlier life: %v (seed %d)", err, c.seed)
		}
	} else {
		if _, ok := c.beat(c.s, dead, time.Microsecond); !ok {
			return false
		}
		if c.owner, ok = c.beat(c.s, ruqi.Owner{Instance: name}, time.Hour); !ok {
			return false
		}
	}
	late, err := c.end(dead, c.ends(left[:len(left)/2]))
	if c.failed("late finish", err) {
		return false
	}
	c.count("late ends", len(late))
	return true
}
