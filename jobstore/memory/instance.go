package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An instance is the row of one instance name: its latest life.
type instance struct {
	life                      *life
	started, beat, leaseUntil int64
	lease                     time.Duration
	slots                     map[string]int
	needs                     []string
	state, release, zones     string
	offset                    *time.Duration
}

// A life is one owner, shared by all rows it ran.
type life struct {
	owner   ruqi.Owner
	number  int32 // what rows name it by; 0: no row does
	rows    int64 // that name it
	running []*run
	byID    bool   // running is by id, newest first: Rescue takes from its end
	cancels []*run // those whose end was asked for
}

func (l *life) add(r *run) {
	r.at = int32(len(l.running))
	l.running = append(l.running, r)
	l.byID = false
}

// drop takes a row that ends out of the life.
func (l *life) drop(r *run) {
	n := len(l.running) - 1
	if int(r.at) != n {
		l.byID = false
		l.running[r.at] = l.running[n]
		l.running[r.at].at = r.at
	}
	l.running[n] = nil
	l.running = l.running[:n]
	if n == 0 && cap(l.running) > 1024 {
		l.running = nil
	}
	if at := slices.Index(l.cancels, r); at >= 0 {
		l.cancels = slices.Delete(l.cancels, at, at+1)
	}
}

// sortByID puts the rows newest first; it stays so while rows go from the end.
func (l *life) sortByID() {
	if l.byID {
		return
	}
	slices.SortFunc(l.running, func(a, b *run) int { return int(b.id - a.id) })
	for i, r := range l.running {
		r.at = int32(i)
	}
	l.byID = true
}

// alive returns the life of an owner whose lease holds, or nil.
func (s *Store) alive(owner ruqi.Owner, now int64) *life {
	i := s.instances[owner.Instance]
	if i == nil || i.life.owner != owner || i.lease == 0 || i.leaseUntil <= now { // 0: it said goodbye, or was rescued
		return nil
	}
	return i.life
}

// countAlive counts the instances whose lease holds and that have neither said goodbye nor been rescued.
func (s *Store) countAlive(now int64) int {
	n := 0
	for _, i := range s.instances {
		if i.lease > 0 && i.leaseUntil > now {
			n++
		}
	}
	return n
}

// forgetLife drops what is kept of an owner once nothing runs under it: an older
// life at once, the row of an instance that said goodbye with it.
func (s *Store) forgetLife(l *life) {
	if len(l.running) > 0 {
		return
	}
	i := s.instances[l.owner.Instance]
	if i != nil && i.life == l {
		if i.lease > 0 {
			return
		}
		delete(s.instances, l.owner.Instance)
	}
	delete(s.lives, l.owner)
}

// Beat registers an instance or renews its lease, as ruqi.JobStore says.
func (s *Store) Beat(ctx context.Context, in ruqi.Instance) (ruqi.Instance, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return ruqi.Instance{}, err
	}
	defer s.mu.Unlock()
	i := s.instances[in.Owner.Instance]
	if in.Owner.Epoch == 0 {
		old := i
		s.epoch++
		owner := ruqi.Owner{Instance: in.Owner.Instance, Epoch: s.epoch}
		i = &instance{life: &life{owner: owner}, started: now}
		s.lives[owner], s.instances[owner.Instance] = i.life, i
		if old != nil {
			s.forgetLife(old.life)
		}
	} else if i == nil || i.life.owner != in.Owner || i.lease == 0 { // 0: it said goodbye, or was rescued
		return ruqi.Instance{}, ruqi.ErrLeaseLost
	}
	i.beat, i.lease = now, max(in.Lease, 0)
	i.leaseUntil = now + i.lease.Microseconds()
	i.slots, i.needs = in.Slots, in.Needs
	i.state, i.release, i.zones = in.State, in.Release, in.Zones
	i.offset = microseconds(in.ClockOffset)
	out := i.view()
	if i.lease == 0 {
		s.forgetLife(i.life)
	}
	return out, nil
}

func (i *instance) view() ruqi.Instance {
	return ruqi.Instance{
		Owner:   i.life.owner,
		Started: timeOf(i.started), Beat: timeOf(i.beat), LeaseUntil: timeOf(i.leaseUntil),
		Lease: i.lease,
		Slots: maps.Clone(i.slots), Needs: slices.Clone(i.needs),
		State: i.state, Release: i.release, Zones: i.zones, ClockOffset: microseconds(i.offset),
	}
}

// microseconds copies a duration, to the microsecond.
func microseconds(d *time.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	kept := d.Truncate(time.Microsecond)
	return &kept
}

// Instances lists every registered instance, by name.
func (s *Store) Instances(ctx context.Context) ([]ruqi.Instance, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []ruqi.Instance
	for _, name := range slices.Sorted(maps.Keys(s.instances)) {
		list = append(list, s.instances[name].view())
	}
	return list, nil
}

// rescueLimit is how many runs one Rescue ends when no limit is given.
const rescueLimit = 500

// Rescue ends the running runs of dead owners, as ruqi.JobStore says. A limit of 0 or
// less means 500.
func (s *Store) Rescue(ctx context.Context, owner ruqi.Owner, limit int, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	ended, err := s.rescue(now, owner, limit, decide)
	if len(ended) > 0 {
		s.wakers.hint()
	}
	return ended, err
}

func (s *Store) rescue(now int64, owner ruqi.Owner, limit int, decide func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done) ([]ruqi.Run, error) {
	defer s.mu.Unlock()
	if limit <= 0 {
		limit = rescueLimit
	}
	dead := s.dead(now, owner, limit)
	done := make([]ruqi.Done, len(dead))
	for i, r := range dead {
		var out ruqi.Run
		s.view(r, &out, nil)
		var record *ruqi.JobRecord
		if j := s.historyAt(r).job; j != nil {
			record = new(ruqi.JobRecord)
			j.record(record, nil)
		}
		done[i] = decide(timeOf(now), out, record)
		done[i].Run.ID = r.id
		if err := s.checkDone(&done[i]); err != nil {
			return nil, err
		}
	}
	for i, r := range dead {
		s.finish(r, &done[i], now)
	}
	for _, i := range s.instances {
		if i.leaseUntil <= now && i.life.owner != owner {
			i.lease = 0
			s.forgetLife(i.life)
		}
	}
	return s.views(dead), nil
}

// dead returns the oldest rows of lives that are over.
func (s *Store) dead(now int64, self ruqi.Owner, limit int) []*run {
	var rows []*run
	for owner, l := range s.lives {
		if owner == self || len(l.running) == 0 || s.alive(owner, now) != nil {
			continue
		}
		l.sortByID()
		for i := len(l.running) - 1; i >= max(0, len(l.running)-limit); i-- {
			rows = append(rows, l.running[i])
		}
	}
	slices.SortFunc(rows, func(a, b *run) int { return int(a.id - b.id) })
	return rows[:min(limit, len(rows))]
}
