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
	if err != nil {
		spec = nil
	} else if all := dueSafely(unjittered(spec), plain, now); all.count() > 1 || first.isLook() || all.count() == 1 && all.mayBeMore(now) {
		return rowOf(rec, spec, &all, now, reason)
	}
	if first.isLook() {
		return nil
	}
	return []Run{newRun(rec, spec, CauseSchedule, *first, RunMissed, reason)}
}

// rowOf makes one row for all fires up to now, none where there are none.
func rowOf(rec *JobRecord, spec *JobSpec, all *fires, now time.Time, reason string) []Run {
	if all.count() == 0 {
		return nil
	}
	from, last := all.ends()
	if all.mayBeMore(now) {
		what := "fires"
		if all.count() == 1 {
			what = "fire"
		}
		reason = joinReason(reason, fmt.Sprintf("at least %d %s: to count on took too long", all.count(), what))
	}
	row := newRun(rec, spec, CauseSchedule, fire{last, last}, RunMissed, reason)
	row.fold(all.count()-1, from)
	return []Run{row}
}

// mayBeMore reports whether it was given up to look for more of them up to now.
func (f *fires) mayBeMore(now time.Time) bool {
	return f.atLeast || f.next != nil && !f.next.due.After(now)
}

// settlePatience bounds the time in which fires are looked for whose job is taken away: the job is locked meanwhile.
const settlePatience = time.Second

// dueSafely is dueFires for a trigger that may panic or break its law: a job must be removable all the same. No claim is to come, so it goes on
// where that would leave the rest for the next one. What it has found when it cannot go on is returned.
func dueSafely(spec *JobSpec, first fire, now time.Time) (all fires) {
	defer func() { _ = recover() }() // what was found until then counts
	begin := time.Now()
	for all.next = &first; all.next != nil && !all.next.due.After(now) && time.Since(begin) < settlePatience; {
		from := *all.next
		if from.isLook() {
			found, ok, err := nextFire(spec, from.due)
			if err != nil {
				break
			}
			if all.next = nil; ok {
				all.next = &found
			}
			continue
		}
		more, err := dueFires(spec, from, now, 1)
		all.follow(more)
		if err != nil || more.atLeast {
			break
		}
	}
	return all
}

// unjittered is the definition as its trigger alone sees it: a fire whose time has come counts, also
// while its jitter still runs.
func unjittered(spec *JobSpec) *JobSpec {
	plain := *spec
	plain.Policy.Jitter = 0
	return &plain
}
