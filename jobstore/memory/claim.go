package memory

import (
	"context"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// claimLimit is how many jobs one claim takes when the request names no bound, as
// ruqi.ClaimRequest says.
const claimLimit = 500

// Claim takes what is due for the owner, as ruqi.JobStore says. Where the request's
// limit is smaller than what all pools could take, it goes by priority and due time over all of them.
func (s *Store) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(now time.Time, due []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return ruqi.Claimed{}, err
	}
	defer s.mu.Unlock()
	owner := s.alive(request.Owner, now)
	if owner == nil {
		return ruqi.Claimed{}, ruqi.ErrLeaseLost
	}
	claimed := ruqi.Claimed{Now: timeOf(now), Instances: s.countAlive(now)}
	var except map[string]bool
	if len(request.Except) > 0 {
		except = make(map[string]bool, len(request.Except))
		for _, id := range request.Except {
			except[id] = true
		}
	}
	if err := s.claim(now, owner, &request, except, decide, &claimed); err != nil {
		return ruqi.Claimed{}, err
	}
	for _, r := range owner.cancels {
		claimed.Cancel = append(claimed.Cancel, r.id)
	}
	claimed.Next = timePtr(s.next(&request, except))
	return claimed, nil
}

func (s *Store) claim(now int64, owner *life, request *ruqi.ClaimRequest, except map[string]bool, decide func(now time.Time, due []ruqi.Due) []ruqi.Plan, claimed *ruqi.Claimed) error {
	taken, aside := s.take(now, request, except)
	defer func() {
		// Whatever happened, a panic of decide included, every job goes back to its queue.
		for _, list := range [2][]*job{taken, aside} {
			for _, j := range list {
				j.claimed = false
				if !j.gone {
					j.replace()
				}
			}
		}
	}()
	if len(taken) == 0 {
		return nil
	}
	due, times := make([]ruqi.Due, len(taken)), make([][2]time.Time, len(taken))
	for i, j := range taken {
		j.claimed = true
		d := &due[i]
		j.record(&d.Job, &times[i])
		d.Active, d.Waiting = j.active(), j.waiting()
		if j.history != nil && len(j.history.queued) > 0 {
			d.Queued = s.views(j.history.startable(j, now))
		}
	}
	plans := decide(timeOf(now), due)
	for i := range plans {
		for n := range plans[i].Runs {
			if err := s.checkRun(&plans[i].Runs[n]); err != nil {
				return err
			}
		}
	}
	s.carryOut(now, owner, plans, taken, claimed)
	return nil
}

// take picks the jobs of a claim out of their queues. aside are those that were in
// the way: excepted, or not due after all because the clock went back.
func (s *Store) take(now int64, request *ruqi.ClaimRequest, except map[string]bool) (taken, aside []*job) {
	limit := request.Limit
	if limit <= 0 {
		limit = claimLimit
	}
	free := make(map[string]int, len(request.Slots))
	var line []*group // a heap: the group whose first job goes first stands first
	for _, need := range request.Needs {
		for _, g := range s.byNeed[need] {
			if n := request.Slots[g.key.Pool]; n > 0 {
				free[g.key.Pool] = n
				if g.ripen(now); len(g.ready.entries) > 0 {
					line = append(line, g)
				}
			}
		}
	}
	for i := len(line)/4 + 1; i >= 0; i-- {
		sink(line, i)
	}
	for len(line) > 0 && len(taken) < limit {
		g := line[0]
		if free[g.key.Pool] > 0 {
			e := g.ready.pop()
			if e.wake > now || except[e.job.id] {
				aside = append(aside, e.job)
			} else {
				taken = append(taken, e.job)
				free[g.key.Pool]--
			}
		}
		if free[g.key.Pool] == 0 || len(g.ready.entries) == 0 {
			last := len(line) - 1
			line[0] = line[last]
			line = line[:last]
		}
		sink(line, 0)
	}
	return taken, aside
}

// sink lets the group at i sink to where it belongs among those below it.
func sink(line []*group, i int) {
	for {
		best := i
		for c := 4*i + 1; c <= 4*i+4 && c < len(line); c++ {
			if line[c].before(line[best]) {
				best = c
			}
		}
		if best == i || i >= len(line) {
			return
		}
		line[i], line[best] = line[best], line[i]
		i = best
	}
}

// before reports whether the first ready job of g goes before that of other.
func (g *group) before(other *group) bool {
	return g.ready.less(g.ready.entries[0], other.ready.entries[0])
}

// carryOut writes the plans of jobs that were offered; others are passed over.
func (s *Store) carryOut(now int64, owner *life, plans []ruqi.Plan, taken []*job, claimed *ruqi.Claimed) {
	claimed.Jobs = make([]ruqi.JobRecord, 0, len(plans))
	claimed.Runs = make([]ruqi.Run, 0, len(plans))
	// The times that records and rows point to lie together: one array costs less than as many pieces.
	times, starts := make([][2]time.Time, len(plans)), make([]time.Time, len(plans))
	for i := range plans {
		p := &plans[i]
		var j *job
		if i < len(taken) && taken[i].id == p.JobID {
			j = taken[i] // plans mostly come in the order of the jobs
		} else {
			j = s.jobs[p.JobID]
		}
		if j == nil || !j.claimed {
			continue
		}
		j.claimed = false
		s.carryOutOne(now, owner, p, j, claimed, &starts[i])
		claimed.Jobs = longer(claimed.Jobs)
		j.record(&claimed.Jobs[len(claimed.Jobs)-1], &times[i])
		if p.Remove && j.idle() {
			s.removeJob(j, now)
		}
	}
}

// carryOutOne writes one plan; start is room for the time of start of its first row that runs.
func (s *Store) carryOutOne(now int64, owner *life, p *ruqi.Plan, j *job, claimed *ruqi.Claimed, start *time.Time) {
	var offered []*run
	if len(p.Start) > 0 && j.history != nil {
		offered = j.history.startable(j, now)
	}
	if p.Cancel != "" {
		s.cancelActive(j.history, p.Cancel, now)
	}
	s.setState(j, jobStateOf(p.State))
	j.setReason(p.Reason)
	j.nominal, j.due, j.runCount = micros(p.NextNominal), micros(p.NextDue), p.RunCount
	for _, id := range p.Start {
		for _, r := range offered {
			if r.id == id && r.state == queued {
				s.dequeue(r)
				r.started = now
				if p.Task != "" {
					r.what = j.history.whatOf(j.history.whats[r.what].name, p.Task)
				}
				s.run(r, owner)
				claimed.Runs = longer(claimed.Runs)
				s.view(r, &claimed.Runs[len(claimed.Runs)-1], start)
				start = nil
			}
		}
	}
	if len(p.Runs) == 0 {
		return
	}
	h := j.history
	if h == nil {
		h = s.newHistory(j.id, j)
	}
	for n := range p.Runs {
		r := s.insert(h, &p.Runs[n], owner, now)
		switch {
		case r == nil || r.state == queued:
		case r.state == running:
			claimed.Runs = longer(claimed.Runs)
			s.view(r, &claimed.Runs[len(claimed.Runs)-1], start)
			start = nil
		default:
			claimed.Settled = longer(claimed.Settled)
			s.view(r, &claimed.Settled[len(claimed.Settled)-1], nil)
		}
	}
}

// longer appends an element to a fresh list, without writing the zero value over the zero that is there: while the garbage
// collector marks, that passes each of its pointers through the write barrier.
func longer[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var zero T
	return append(list, zero)
}

// next tells when the instance should look again: the least wake time in the groups
// that it can serve. Without any slots named, every pool is looked at.
func (s *Store) next(request *ruqi.ClaimRequest, except map[string]bool) int64 {
	next := int64(never)
	for _, need := range request.Needs {
		for _, g := range s.byNeed[need] {
			if _, ours := request.Slots[g.key.Pool]; ours || len(request.Slots) == 0 {
				next = sooner(next, sooner(g.ready.earliest(0, except), g.later.earliest(0, except)))
			}
		}
	}
	return next
}
