package calendar_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
)

func TestAJobIsPlannedAnewWhenItsCalendarChanges(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one, two := newInstance(t, s, "one").start(), newInstance(t, s, "two").start()
		defer one.stop()
		defer two.stop()
		one.put("holidays", noDays)
		one.add("work", off("holidays"))
		one.wants("work", "2000-01-01 09:00")
		before := one.job("work")
		two.put("holidays", `{"dates":["2000-01-01/2000-01-02"]}`)
		time.Sleep(1100 * time.Millisecond)
		one.wants("work", "2000-01-03 09:00")
		if after := one.job("work"); after.Version != before.Version+1 || after.State != ruqi.JobActive {
			t.Errorf("it is at version %d, %s; before at %d", after.Version, after.State, before.Version)
		}
		one.put("holidays", `{"dates":["2000-01-01"]}`) // earlier again
		time.Sleep(1100 * time.Millisecond)
		two.wants("work", "2000-01-02 09:00")
		time.Sleep(4 * day)
		if ran := one.days() + two.days(); len(ran) != 3*3 || !strings.Contains(ran, "02") || !strings.Contains(ran, "03") || !strings.Contains(ran, "04") {
			t.Errorf("it ran on the days %q, want 02 03 04", ran)
		}
		for _, run := range one.runsOf("work") {
			if run.State != ruqi.RunSucceeded {
				t.Errorf("the run of %s is %s: %s", run.Nominal, run.State, run.Reason)
			}
		}
	})
}

func TestEqualDaysChangeNothing(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one").start()
		defer one.stop()
		first := one.put("holidays", `{"dates":["2000-01-02", "2000-01-01"]}`)
		before := one.add("work", off("holidays"))
		again, added, err := one.PutCalendar(t.Context(), "holidays", json.RawMessage(`{"dates":["2000-01-01/2000-01-02"]}`), ruqi.AnyVersion)
		if err != nil || added != ruqi.Kept || again.Version != first.Version {
			t.Errorf("equal days: version %d, %s, %v; want %d, kept", again.Version, added, err, first.Version)
		}
		one.put("other", noDays) // a calendar that the job does not use
		time.Sleep(time.Minute)
		if after := one.job("work"); after.Version != before.Version {
			t.Errorf("the job is at version %d, was at %d", after.Version, before.Version)
		}
	})
}

// Who writes a calendar may die at once: nothing is left for it to do.
func TestTheOneThatWroteTheCalendarIsNotNeeded(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one").start()
		one.put("holidays", noDays)
		one.add("work", off("holidays"))
		newInstance(t, s, "dead").put("holidays", `{"dates":["2000-01-01"]}`) // it has no loops
		time.Sleep(1100 * time.Millisecond)
		one.wants("work", "2000-01-02 09:00")
		one.stop()
		// Now nobody is there to see it. Whoever starts next does.
		newInstance(t, s, "dead too").put("holidays", `{"dates":["2000-01-01/2000-01-04"]}`)
		time.Sleep(time.Minute)
		two := newInstance(t, s, "two").start()
		defer two.stop()
		time.Sleep(time.Second)
		two.wants("work", "2000-01-05 09:00")
	})
}

// An instance that has not heard of a change adds a job by the old days after all others have looked through the jobs, and dies.
func TestAJobThatWasAddedByOldDaysIsPlannedAnew(t *testing.T) {
	for name, late := range map[string]time.Duration{"while all may still look": 5 * time.Second, "when all have looked": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, s store) {
				one, deaf := newInstance(t, s, "one").start(), newInstance(t, s, "deaf")
				defer one.stop()
				one.put("holidays", `{"dates":["2000-01-01"]}`)
				one.put("workdays", `{"dates":["2000-01-03"]}`)
				if err := deaf.LearnCalendars(t.Context()); err != nil {
					t.Fatal(err)
				}
				deaf.calendars.set(true)
				one.put("holidays", `{"dates":["2000-01-02"]}`)
				one.put("workdays", `{"dates":["2000-01-01", "2000-01-03"]}`)
				time.Sleep(late)
				deaf.add("early", long(off("holidays"))) // too late by the new days
				deaf.add("other", long(on("workdays")))
				deaf.wants("early", "2000-01-02 09:00")
				deaf.wants("other", "2000-01-03 09:00")
				wait := 10 * time.Second
				if late > wait {
					wait = time.Hour
				}
				time.Sleep(wait)
				one.wants("early", "2000-01-01 09:00")
				one.wants("other", "2000-01-01 09:00")
			})
		})
	}
}

// Whatever is left of a plan by old days, nobody who knows the new ones runs a job by it.
func TestAFireByOldDaysIsNotClaimed(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one, deaf := newInstance(t, s, "one").start(), newInstance(t, s, "deaf")
		defer one.stop()
		one.put("holidays", noDays)
		if err := deaf.LearnCalendars(t.Context()); err != nil {
			t.Fatal(err)
		}
		deaf.calendars.set(true)
		one.put("holidays", `{"dates":["2000-01-01"]}`)
		time.Sleep(9*hour - time.Second)
		deaf.add("work", off("holidays")) // due in a second, which is sooner than jobs are looked through again
		deaf.wants("work", "2000-01-01 09:00")
		time.Sleep(10 * time.Second)
		one.wants("work", "2000-01-02 09:00")
		if all := one.runsOf("work"); len(all) != 1 || all[0].State != ruqi.RunMissed || all[0].Reason != "its calendar was changed before it could start" {
			t.Errorf("its history is %+v, want the fire that is none any more", all)
		}
		time.Sleep(day)
		if ran := one.days(); ran != "02 " {
			t.Errorf("it ran on the days %q, want 02", ran)
		}
	})
}

// An instance that knows less than the one that planned a job reads on before it claims, or leaves the job to others.
func TestAnInstanceThatIsBehindDoesNotClaimByItsOldDays(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		ahead, behind := newInstance(t, s, "ahead"), newInstance(t, s, "behind").start()
		defer behind.stop()
		ahead.put("holidays", noDays)
		time.Sleep(2 * time.Second)
		behind.calendars.set(true)
		ahead.put("holidays", `{"dates":["2000-01-02"]}`)
		ahead.add("work", off("holidays"))
		time.Sleep(day) // by what behind knows, it fires on the second, too
		if ran := behind.days(); ran != "" {
			t.Errorf("it ran on the days %q by an instance that does not know them", ran)
		}
		if job := behind.job("work"); !strings.Contains(job.Parked, "later version") {
			t.Errorf("it is parked: %q, want that it was planned by a later version", job.Parked)
		}
		behind.calendars.set(false)
		time.Sleep(2 * day)
		if ran := behind.days(); ran != "01 03 " {
			t.Errorf("it ran on the days %q, want 01 (late) and 03", ran)
		}
	})
}

// A calendar and a job that uses it are written and due before an instance looks for changes again.
func TestACalendarOfThisMomentIsNotTakenForMissing(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		time.Sleep(500 * time.Millisecond) // so that it looks for changes half a second after each fire
		maker, one := newInstance(t, s, "maker"), newInstance(t, s, "one").start()
		defer one.stop()
		parked := make(chan ruqi.Event, 10)
		one.Listen(func(e ruqi.Event) { parked <- e }, ruqi.EventJobParked)
		time.Sleep(9*hour - 800*time.Millisecond)
		maker.put("holidays", noDays)
		maker.add("work", off("holidays"))
		time.Sleep(2 * time.Second)
		if got := one.history("work"); got != "01 succeeded" {
			t.Errorf("its history is %q", got)
		}
		if len(parked) > 0 {
			t.Errorf("it was parked: %s", (<-parked).Reason)
		}
	})
}

func TestAJobWhoseCalendarIsMissingIsParked(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one, deaf := newInstance(t, s, "one").start(), newInstance(t, s, "deaf")
		defer one.stop()
		one.put("holidays", noDays)
		if err := deaf.LearnCalendars(t.Context()); err != nil {
			t.Fatal(err)
		}
		deaf.calendars.set(true)
		if err := one.RemoveCalendar(t.Context(), "holidays", ruqi.AnyVersion); err != nil {
			t.Fatal(err)
		}
		deaf.add("work", off("holidays"))
		if _, _, err := one.AddJob(t.Context(), ruqi.JobSpec{Trigger: off("holidays"), Task: ruqi.Call("note", nil)}, ruqi.Fail); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), `"holidays"`) {
			t.Errorf("who knows that there is none adds a job: %v", err)
		}
		time.Sleep(3*day + 12*hour)
		job := one.job("work")
		if !strings.Contains(job.Parked, `"holidays": not found`) || job.State != ruqi.JobActive {
			t.Errorf("it is %s, parked %q", job.State, job.Parked)
		}
		if all := one.runsOf("work"); len(all) != 0 {
			t.Errorf("it has runs: %+v", all)
		}
		// Another calendar of that name is not taken for the one that was.
		one.put("holidays", `{"dates":["2000-01-01","2000-01-03"]}`)
		time.Sleep(time.Minute)
		if job := one.job("work"); job.Parked != "" {
			t.Errorf("it is still parked: %s", job.Parked)
		}
		one.wants("work", "2000-01-05 09:00")
		if got := one.history("work"); got != "01 missed, 04 succeeded" {
			t.Errorf("its history is %s, want the first as missed and those since caught up with", got)
		}
	})
}

func TestACalendarThatJobsUseIsNotRemoved(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one").start()
		defer one.stop()
		one.put("holidays", noDays)
		one.put("spare", noDays)
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			one.add(id, off("holidays"))
		}
		err := one.RemoveCalendar(t.Context(), "holidays", ruqi.AnyVersion)
		if !errors.Is(err, ruqi.ErrInUse) || !strings.Contains(err.Error(), `"a", "b", "c", "d", "e" and others`) {
			t.Errorf("it is removed: %v", err)
		}
		if err := one.RemoveCalendar(t.Context(), "spare", ruqi.AnyVersion); err != nil {
			t.Errorf("one that nobody uses: %v", err)
		}
		if err := one.RemoveCalendar(t.Context(), "spare", ruqi.AnyVersion); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("one that is gone: %v", err)
		}
		if _, err := one.RemoveJobs(t.Context(), ruqi.JobQuery{}); err != nil {
			t.Fatal(err)
		}
		if err := one.RemoveCalendar(t.Context(), "holidays", ruqi.AnyVersion); err != nil {
			t.Errorf("when its jobs are gone: %v", err)
		}
	})
}

// Whoever supplies the days of one more year wants jobs to go on that had come to an end with the last.
func TestAJobThatRanOutOfDaysGoesOnWithTheNextYears(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one").start()
		defer one.stop()
		one.put("workdays", `{"dates":["2000-01-01"]}`)
		one.add("work", on("workdays"))
		one.add("paused", on("workdays"))
		if _, err := one.PauseJob(t.Context(), "paused"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := one.AddJob(t.Context(), ruqi.JobSpec{ID: "once", Trigger: on("workdays"), Task: ruqi.Call("note", nil), Policy: ruqi.Policy{MaxRuns: 1}}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * hour)
		for _, id := range []string{"work", "once"} {
			if job := one.job(id); job.State != ruqi.JobFinished {
				t.Errorf("%s is %s", id, job.State)
			}
		}
		one.put("workdays", `{"dates":["2000-01-01","2000-02-01"]}`)
		time.Sleep(time.Minute)
		for id, want := range map[string]ruqi.JobState{"work": ruqi.JobActive, "paused": ruqi.JobPaused, "once": ruqi.JobFinished} {
			if job := one.job(id); job.State != want || (job.NextNominal != nil) != (want == ruqi.JobActive) {
				t.Errorf("%s is %s (%s), next %v; want %s", id, job.State, job.StateReason, job.NextNominal, want)
			}
		}
		one.wants("work", "2000-02-01 09:00")
		one.put("workdays", `{"dates":["2000-01-01"]}`)
		time.Sleep(time.Minute)
		if job := one.job("work"); job.State != ruqi.JobFinished || job.StateReason != "no fire times left" {
			t.Errorf("without the day it is %s: %s", job.State, job.StateReason)
		}
	})
}

// A fire that is due when the calendar changes stays due if it is one by the new days.
func TestFiresThatAreDueWhenTheCalendarChanges(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one").start()
		defer one.stop()
		one.put("holidays", noDays)
		one.add("work", off("holidays"))
		one.Pause()
		time.Sleep(33 * hour) // 1 and 2 January are due
		one.put("holidays", `{"dates":["2000-01-02","2000-01-03"]}`)
		time.Sleep(2 * time.Second)
		one.wants("work", "2000-01-01 09:00")
		one.put("holidays", `{"dates":["2000-01-01","2000-01-03"]}`)
		time.Sleep(2 * time.Second)
		one.wants("work", "2000-01-02 09:00")
		one.Resume()
		time.Sleep(time.Minute)
		one.wants("work", "2000-01-04 09:00")
		if got := one.history("work"); got != "01 missed, 02 succeeded" {
			t.Errorf("its history is %s", got)
		}
	})
}

// An edit that leaves the trigger as it is keeps the next time, but not one by days that are no more.
func TestAnEditIsMadeByTheDaysAsTheyAre(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one") // without loops: nobody else plans anew
		one.put("holidays", noDays)
		one.add("work", off("holidays"))
		one.put("holidays", `{"dates":["2000-01-01"]}`)
		one.wants("work", "2000-01-01 09:00")
		job, err := one.ModifyJob(t.Context(), "work", func(job *ruqi.Job) error { job.Description = "changed"; return nil })
		if err != nil || job.Description != "changed" || job.Version != 2 {
			t.Errorf("%+v, %v", job, err)
		}
		one.wants("work", "2000-01-02 09:00")
		one.put("holidays", noDays)
		if _, _, err := one.AddJob(t.Context(), ruqi.JobSpec{ID: "work", Description: "changed", Trigger: off("holidays"), Task: ruqi.Call("note", nil)}, ruqi.Replace); err != nil {
			t.Fatal(err)
		}
		one.wants("work", "2000-01-01 09:00")
		one.put("holidays", `{"dates":["2000-01-01"]}`)
		if _, err := one.Tick(t.Context()); err != nil { // a loop of the program's own
			t.Fatal(err)
		}
		one.wants("work", "2000-01-02 09:00")
	})
}

func TestASchedulerWithoutCalendarsRefusesTriggersThatNameOne(t *testing.T) {
	inBothForms(t, func(t *testing.T, s store) {
		one := newInstance(t, s, "one")
		one.put("holidays", noDays)
		one.add("work", off("holidays"))
		registry := ruqi.NewRegistry()
		gofunc.Register(registry)
		ruqi.Func(registry, "note", func(context.Context, struct{}) error { return nil })
		registry.RegisterTrigger("off", decodeDaily(one.calendars))
		plain, err := ruqi.New(s, registry, ruqi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = plain.AddJob(t.Context(), ruqi.JobSpec{Trigger: off("holidays"), Task: ruqi.Call("note", nil)}, ruqi.Fail)
		if !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "Options.Calendars") {
			t.Errorf("a job is added: %v", err)
		}
		if job, err := plain.Job(t.Context(), "work"); err != nil || !strings.Contains(job.Parked, "Options.Calendars") {
			t.Errorf("a stored one is parked: %q, %v", job.Parked, err)
		}
		if _, err := plain.FindCalendar(t.Context(), "holidays"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("a calendar is found: %v", err)
		}
	})
}
