package ruqi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// settleCalendars is how long after a change of a calendar jobs are looked through once more. An instance that has not heard of the
	// change plans by the old days for up to pollEvery, and its step of the store may take seconds.
	settleCalendars = 10 * time.Second
	// healEvery is how often they are looked through when nothing has changed: for what a process that died at the wrong moment has left.
	healEvery = time.Hour
	// replanStep bounds the jobs planned anew in one step, so that claims get in between.
	replanStep = 100
)

// A planAge says by which calendars a job's next time was found.
type planAge int

const (
	planCurrent planAge = iota // by those that are known here, or by none
	planOld                    // by what one of them was
	planAhead                  // by one that this instance has yet to hear of
)

// errOutdated: the next time of a job is not that of its calendars as they are known here. It is planned anew, or they are read anew,
// before it is claimed.
var errOutdated = errors.New("planned by other calendars than this instance knows")

// errNoCalendars is what a scheduler without calendars says of a trigger that names one.
var errNoCalendars = &InvalidError{Faults: []Fault{{Pointer: "/trigger", Message: "names a calendar, and this program keeps none (Options.Calendars)"}}}

// calendarsOf returns the calendars that a trigger uses.
func calendarsOf(trigger Trigger) []CalendarUse {
	if user, ok := trigger.(CalendarUser); ok {
		return user.Calendars()
	}
	return nil
}

// versionsOf returns the versions of a trigger's calendars, by name; nil: it uses none.
func versionsOf(trigger Trigger) map[string]int64 {
	var versions map[string]int64
	for _, use := range calendarsOf(trigger) {
		if versions == nil {
			versions = map[string]int64{}
		}
		versions[use.Name] = use.Version
	}
	return versions
}

// calendarsMember is how the member begins in which a stored definition has the calendars that its next time was found by.
var calendarsMember = []byte(`"calendars":{`)

// plannedBy returns the versions of the calendars that a record's next time was found by. Whoever writes a definition
// writes the next time that its trigger, with the calendars it has, gives.
func plannedBy(rec *JobRecord) map[string]int64 {
	if rec.Live != nil {
		return versionsOf(rec.Live.Trigger)
	}
	if !bytes.Contains(rec.Spec, calendarsMember) { // nearly all: it spares reading them
		return nil
	}
	var stored struct {
		Calendars map[string]int64 `json:"calendars"`
	}
	if json.Unmarshal(rec.Spec, &stored) != nil {
		return nil // whoever decodes it says so
	}
	return stored.Calendars
}

// planAge compares a record with the calendars as they are known here. A calendar that is missing counts for nothing: that the
// trigger cannot be read tells of it.
func (s *Scheduler) planAge(rec *JobRecord) planAge {
	if s.options.Calendars == nil {
		return planCurrent
	}
	age := planCurrent
	for name, version := range plannedBy(rec) {
		switch known := s.options.Calendars.Version(name); {
		case known == 0:
		case version > known:
			return planAhead
		case version < known:
			age = planOld
		}
	}
	return age
}

// generation is that of the calendars as they are known here.
func (s *Scheduler) generation() int64 {
	if s.options.Calendars == nil {
		return anyGeneration
	}
	return s.options.Calendars.Generation()
}

// resolved reports whether a trigger has the days that its calendars have now.
func (s *Scheduler) resolved(trigger Trigger) bool {
	uses := calendarsOf(trigger)
	return len(uses) == 0 || s.options.Calendars != nil && !slices.ContainsFunc(uses, func(use CalendarUse) bool {
		return use.Version == 0 || use.Version != s.options.Calendars.Version(use.Name)
	})
}

// resolve returns the definition with a trigger that has the days its calendars have now. After an error it is as it was.
func (s *Scheduler) resolve(spec *JobSpec) (*JobSpec, error) {
	if s.resolved(spec.Trigger) {
		return spec, nil
	}
	changed := *spec
	var err error
	changed.Trigger, err = s.resolveTrigger(spec.Trigger)
	return &changed, err
}

// resolveTrigger returns the trigger with the days that its calendars have now. After an error it is as it was.
func (s *Scheduler) resolveTrigger(trigger Trigger) (Trigger, error) {
	if s.resolved(trigger) {
		return trigger, nil
	}
	if s.options.Calendars == nil {
		return trigger, errNoCalendars
	}
	generation := s.generation()
	var faults Faults
	data, err := trigger.MarshalJSON()
	if err != nil {
		faults.Merge("/trigger", err)
		return trigger, faults.Err()
	}
	resolved, err := s.registry.DecodeTrigger(data)
	if err != nil {
		faults.Merge("/trigger", err)
		return trigger, faults.Err()
	}
	if !s.resolved(resolved) && s.generation() == generation {
		return trigger, Invalid("/trigger", "", "the calendars of the registry are not those of the scheduler (Options.Calendars)")
	}
	return resolved, nil
}

// triggerAlone reports whether all that is wrong with a definition is its trigger.
func triggerAlone(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid) && !slices.ContainsFunc(invalid.Faults, func(f Fault) bool {
		return f.Pointer != "/trigger" && !strings.HasPrefix(f.Pointer, "/trigger/")
	})
}

// learn reads what has changed of the calendars, before something is decided by them.
func (s *Scheduler) learn(ctx context.Context) error {
	if s.options.Calendars == nil {
		return nil
	}
	_, err := s.options.Calendars.Refresh(ctx)
	if err != nil {
		return fmt.Errorf("read calendars: %w", err)
	}
	return nil
}

// calendarsMoved reports whether the calendars are others than were known a moment ago.
func (s *Scheduler) calendarsMoved(ctx context.Context) bool {
	before := s.generation()
	return s.learn(ctx) == nil && s.generation() != before
}

// replan decides about one job whose calendars have changed since its next time was found: it gets the next time that they
// give now, and is otherwise as it was. A fire that is due and not yet claimed stays due if it is one by the new days, too, and else is
// recorded as missed. What had finished for want of fire times goes on when there is one again. A job that is paused has nothing
// to plan. The error says that the trigger cannot be read, for want of another calendar, or breaks its law. It is pure.
func (s *Scheduler) replan(now time.Time, old *JobRecord) (Change, error) {
	if old == nil || s.planAge(old) != planOld {
		return Change{}, nil
	}
	spec, err := s.specOf(old)
	if err != nil {
		return Change{}, err
	}
	rec, err := s.record(spec)
	if err != nil {
		return Change{}, err
	}
	rec.State, rec.Reason, rec.NextNominal, rec.NextDue = old.State, old.Reason, old.NextNominal, old.NextDue
	rec.Version = old.Version + 1 // what was claimed of the old one does not land
	change := Change{Job: &rec}
	from := now
	switch {
	case old.State == JobActive && old.NextNominal != nil && !old.NextNominal.After(now):
		from = old.NextNominal.Add(-time.Microsecond)
	case old.State == JobActive && old.NextNominal == nil && old.NextDue != nil && !old.NextDue.After(now):
		from = *old.NextDue
	case old.State == JobActive:
	case old.State == JobFinished && old.Reason == noFiresLeft && (spec.Policy.MaxRuns == 0 || old.RunCount < spec.Policy.MaxRuns):
		// Whoever wrote the days of one more year wants it to go on.
	default:
		return change, nil
	}
	next, ok, err := nextFire(spec, from)
	if err != nil {
		return Change{}, err
	}
	if from.Before(now) && old.NextNominal != nil && !(ok && next.nominal.Equal(*old.NextNominal)) {
		change.Runs = []Run{newRun(old, spec, CauseSchedule, fire{*old.NextNominal, *old.NextDue}, RunMissed, "its calendar was changed before it could start")}
	}
	switch {
	case ok:
		rec.State = JobActive
		rec.NextNominal, rec.NextDue = next.stored()
		if old.State != JobActive {
			rec.Reason = ""
		}
	case spec.Policy.RunOnStart && old.State == JobActive:
		rec.NextNominal, rec.NextDue = nil, nil
	default:
		rec.State, rec.Reason, rec.NextNominal, rec.NextDue = JobFinished, noFiresLeft, nil, nil
	}
	return change, nil
}

// A follower keeps jobs planned by their calendars as they are.
type follower struct {
	asks chan struct{} // wakes the loop; capacity 1
	mu   sync.Mutex    // guards met
	met  map[string]bool
	turn chan struct{} // holds one token while calendars are followed; guards the rest

	heard    int64     // the generation that was last heard of
	followed int64     // the generation by which all jobs are planned
	again    time.Time // when they are looked through once more; zero: never
}

// wake makes the loop look at once.
func (f *follower) wake() {
	select {
	case f.asks <- struct{}{}:
	default:
	}
}

// ask makes the loop see to these jobs first, and at once.
func (f *follower) ask(ids []string) {
	f.mu.Lock()
	if f.met == nil {
		f.met = map[string]bool{}
	}
	for _, id := range ids {
		f.met[id] = true
	}
	f.mu.Unlock()
	f.wake()
}

// take returns the jobs that were asked for.
func (f *follower) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]string, 0, len(f.met))
	for id := range f.met {
		ids = append(ids, id)
	}
	clear(f.met)
	slices.Sort(ids)
	return ids
}

// followLoop follows the calendars until ctx ends. Each instance does so for itself, and looks at every job: so nothing depends on
// the one that changed a calendar, which may have died since.
func (s *Scheduler) followLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	backoff := pollEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.follower.asks:
		}
		switch err := s.follow(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Warn("jobs could not be planned by their calendars; it is tried again", "error", err)
			timer.Reset(backoff)
			backoff = min(2*backoff, lastBackoff)
		default:
			backoff = pollEvery
			timer.Reset(s.untilBeatOf(pollEvery))
		}
	}
}

// follow looks for changes of the calendars, and plans anew what goes by them. After an error it is to be called again, which harms nobody.
func (s *Scheduler) follow(ctx context.Context) error {
	if s.options.Calendars == nil {
		return nil
	}
	f := &s.follower
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	generation, err := s.options.Calendars.Refresh(ctx)
	s.health.note("calendars", err)
	if err != nil {
		return fmt.Errorf("read calendars: %w", err)
	}
	if f.heard != generation {
		f.heard = generation
		s.unread.forgetAll() // jobs that were parked for want of a calendar, among others
		s.kick()
	}
	if met := f.take(); len(met) > 0 {
		if err := s.replanSome(ctx, met); err != nil {
			f.ask(met)
			return err
		}
		s.kick()
	}
	if f.followed == generation && (f.again.IsZero() || time.Now().Before(f.again)) {
		return nil
	}
	if err := s.replanAll(ctx); err != nil {
		return err
	}
	wait := healEvery
	if f.followed != generation {
		wait = settleCalendars
	}
	f.followed, f.again = generation, time.Now().Add(wait)
	return nil
}

// replanAll plans every job anew whose calendars have changed.
func (s *Scheduler) replanAll(ctx context.Context) error {
	return s.eachPage(ctx, func(recs []JobRecord) error {
		var ids []string
		for i := range recs {
			if s.planAge(&recs[i]) == planOld {
				ids = append(ids, recs[i].ID)
			}
		}
		return s.replanSome(ctx, ids)
	})
}

// eachPage hands every job on, a page at a time.
func (s *Scheduler) eachPage(ctx context.Context, take func([]JobRecord) error) error {
	query := JobQuery{Limit: MaxPage}
	for {
		page, err := s.store.Jobs(ctx, query)
		if err != nil {
			return err
		}
		if err := take(page.Jobs); err != nil {
			return err
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return nil
		}
	}
}

// replanSome plans these jobs anew where their calendars have changed. One that was planned by days which even a second look does not find
// is parked: the records of the store are older than its jobs.
func (s *Scheduler) replanSome(ctx context.Context, ids []string) error {
	for step := range slices.Chunk(ids, replanStep) {
		done, err := s.replanThese(ctx, step)
		if err != nil {
			return err
		}
		if len(done.ahead) == 0 || s.calendarsMoved(ctx) {
			continue // they are met again
		}
		for _, id := range done.ahead {
			s.park(id, errLostCalendars)
		}
	}
	return nil
}

// errLostCalendars is what keeps a job from running whose calendars are older in the store than they were when it was planned.
var errLostCalendars = errors.New("it was planned by a later version of its calendar than the store has; write the job once more, and it goes by the one there is")

// A replanned is what one step of planning anew did.
type replanned struct {
	changed map[string]JobRecord
	ahead   []string // jobs that were planned by what this instance does not know
}

// replanThese is replanSome in one step.
func (s *Scheduler) replanThese(ctx context.Context, ids []string) (done replanned, err error) {
	defer guard(&err)
	broken, ages, planned := map[string]error{}, map[string]planAge{}, map[string]bool{}
	recs, runs, err := s.store.EditJobs(ctx, JobQuery{IDs: ids}, func(now time.Time, id string, old *JobRecord, _ int) Change {
		change, err := s.replanSafely(now, old)
		broken[id], planned[id] = err, change.Job != nil
		if old != nil {
			ages[id] = s.planAge(old)
		}
		return change
	})
	if err != nil {
		return done, err
	}
	s.emitSettled(runs)
	done.changed = map[string]JobRecord{}
	for i := range recs {
		if id := recs[i].ID; planned[id] {
			done.changed[id] = recs[i]
			s.unread.forget(id)
			s.removeIfFinished(ctx, &recs[i])
			s.emit(Event{Kind: EventJobModified, JobID: id, Reason: "its calendar was changed"})
		}
	}
	for _, id := range ids {
		if broken[id] != nil {
			s.park(id, broken[id])
		}
		if ages[id] == planAhead {
			done.ahead = append(done.ahead, id)
		}
	}
	if len(done.changed) > 0 {
		s.kick()
	}
	return done, nil
}

// replanSafely is replan for triggers that may panic, which is the fault of their job alone.
func (s *Scheduler) replanSafely(now time.Time, old *JobRecord) (change Change, err error) {
	defer func() {
		if p := recover(); p != nil {
			change, err = Change{}, fmt.Errorf("its trigger panicked: %v", p)
		}
	}()
	return s.replan(now, old)
}

// catchUp plans jobs anew whose calendars changed while they were written, and puts them in the place of the records. Whoever looked
// through all jobs then may have passed them by. What fails here is left for the loops.
func (s *Scheduler) catchUp(ctx context.Context, recs []JobRecord) {
	uses := func(rec JobRecord) bool { return len(plannedBy(&rec)) > 0 }
	if s.options.Calendars == nil || !slices.ContainsFunc(recs, uses) || s.learn(ctx) != nil {
		return
	}
	var ids []string
	for i := range recs {
		if s.planAge(&recs[i]) == planOld {
			ids = append(ids, recs[i].ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	done, err := s.replanThese(ctx, ids)
	if err != nil {
		return
	}
	for i := range recs {
		if rec, ok := done.changed[recs[i].ID]; ok {
			recs[i] = rec
		}
	}
}
