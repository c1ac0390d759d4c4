package ruqi

import (
	"fmt"
	"time"
)

// settle records fires that were due and not yet claimed when their job was taken away from them.
func (s *Scheduler) settle(rec *JobRecord, now time.Time, reason string) []Run {
	first := storedFire(rec.NextNominal, rec.NextDue)
	if rec.State != JobActive || first == nil {
		return nil
	}
	plain := fire{first.nominal, first.nominal}
	if first.isLook() {
		plain.due = first.due
	}
	if plain.due.After(now) {
		return nil
	}
	spec, err := s.specOf(rec)
	switch {
	case err == nil:
		all := dueSafely(unjittered(spec), plain, now)
		rows := rowOf(rec, spec, &all, reason)
		if len(rows) > 0 && rows[0].Nominal.Equal(first.nominal) {
			rows[0].Due = first.due
		}
		return rows
	case first.isLook():
		return nil
	}
	return []Run{newRun(rec, nil, CauseSchedule, *first, RunMissed, reason)}
}

// rowOf makes one row for all fires, none where there are none.
func rowOf(rec *JobRecord, spec *JobSpec, all *fires, reason string) []Run {
	if all.count() == 0 {
		return nil
	}
	from, last := all.ends()
	if all.atLeast {
		noun := "fires"
		if all.count() == 1 {
			noun = "fire"
		}
		reason = joinReason(reason, fmt.Sprintf("at least %d %s: the rest could not be counted", all.count(), noun))
	}
	row := newRun(rec, spec, CauseSchedule, fire{last, last}, RunMissed, reason)
	row.fold(all.count()-1, from)
	return []Run{row}
}

// settlePatience bounds the time in which fires are looked for whose job is taken away: the job is locked meanwhile.
const settlePatience = time.Second

// dueSafely is dueFires for a trigger that may panic or break its law: a job must be removable all the same. No claim is to come, so it goes on
// where that would leave the rest for the next one. Where it cannot go on, what it has found is returned, at least the first
// fire, and atLeast is set.
func dueSafely(spec *JobSpec, first fire, now time.Time) (all fires) {
	whole := false
	defer func() {
		if whole {
			return
		}
		_ = recover() // what was found until then counts
		if all.count() == 0 && !first.isLook() {
			all.newest = []fire{first}
		}
		all.atLeast = true
	}()
	begin := time.Now()
	for all.next = &first; all.next != nil && !all.next.due.After(now); {
		from := *all.next
		if time.Since(begin) >= settlePatience {
			return all
		}
		if from.isLook() {
			found, ok, err := nextFire(spec, from.due)
			if err != nil {
				return all
			}
			if all.next = nil; ok {
				all.next = &found
			}
			continue
		}
		more, err := dueFires(spec, from, now, 1)
		all.follow(more)
		if err != nil {
			return all
		}
	}
	whole = true
	return all
}

// unjittered is the definition as its trigger alone sees it: a fire whose time has come counts, also
// while its jitter still runs.
func unjittered(spec *JobSpec) *JobSpec {
	plain := *spec
	plain.Policy.Jitter = 0
	return &plain
}
