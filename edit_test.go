package ruqi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// MF05, MF07, IV-anchors: what an edit does to the next time.
func TestEditsAndTheNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		spec := ruqi.JobSpec{ID: "six", Trigger: trigger.EveryDuration(6 * time.Hour), Task: ruqi.Do(nothing)}
		first := w.add(spec)
		time.Sleep(5 * time.Hour)
		again, added, err := w.s.AddJob(t.Context(), spec, ruqi.Replace)
		if err != nil || added != ruqi.Replaced || !again.NextNominal.Equal(*first.NextNominal) {
			t.Fatalf("an equal definition moved the next time from %s to %s (%s, %v)", first.NextNominal, again.NextNominal, added, err)
		}
		if _, _, err := w.s.AddJob(t.Context(), spec, ruqi.Fail); !errors.Is(err, ruqi.ErrExists) {
			t.Errorf("adding it again gives %v, want ErrExists", err)
		}
		if kept, added, err := w.s.AddJob(t.Context(), spec, ruqi.Keep); err != nil || added != ruqi.Kept || kept.Version != again.Version {
			t.Errorf("keep gives %s version %d, %v", added, kept.Version, err)
		}
		monthly := w.add(ruqi.JobSpec{ID: "monthly", Trigger: trigger.Crontab("0 5 1 * *"), Task: ruqi.Do(nothing)})
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		moved, err := w.s.ModifyJob(t.Context(), "monthly", func(job *ruqi.Job) error {
			job.Trigger, err = trigger.Cron("0 5 1 * *", trigger.CronOptions{Zone: berlin})
			return err
		})
		if err != nil || moved.Version != monthly.Version+1 {
			t.Fatalf("modify gives version %d, %v", moved.Version, err)
		}
		if got := moved.NextNominal.In(berlin); got.Hour() != 5 || got.Day() != 1 || !got.After(time.Now()) {
			t.Errorf("in the new zone the next time is %s", got)
		}
		time.Sleep(2 * time.Second)
		if all := runs(t, w.s, "monthly"); len(all) != 0 {
			t.Errorf("changing the zone ran the job: %v", states(all))
		}
	})
}

// Fires that were due when their job was taken away are settled, with the reason.
func TestTakingAJobAwaySettlesItsFires(t *testing.T) {
	for _, how := range []string{"paused", "removed", "changed"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				defer w.stop()
				w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(nothing)})
				w.s.Pause()
				time.Sleep(3*time.Minute + time.Second)
				var err error
				switch how {
				case "paused":
					_, err = w.s.PauseJob(t.Context(), "j")
				case "removed":
					err = w.s.RemoveJob(t.Context(), "j")
				case "changed":
					_, err = w.s.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Trigger = trigger.EveryDuration(time.Hour); return nil })
				}
				if err != nil {
					t.Fatal(err)
				}
				w.s.Resume()
				time.Sleep(5 * time.Second)
				all := runs(t, w.s, "j")
				if len(all) != 1 || all[0].State != ruqi.RunMissed || all[0].Coalesced != 2 || !strings.Contains(all[0].Reason, how) {
					t.Fatalf("recorded %+v, want one missed row for three fires because it was %s", all, how)
				}
			})
		})
	}
}

// PD01, PD05: one rule for dates in the past.
func TestPastDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		yesterday := time.Now().Add(-24 * time.Hour)
		_, _, err := w.s.AddJob(t.Context(), ruqi.JobSpec{ID: "old", Trigger: trigger.Date(yesterday), Task: ruqi.Do(nothing)}, ruqi.Fail)
		if !errors.Is(err, ruqi.ErrInvalid) {
			t.Fatalf("a date a day ago gives %v", err)
		}
		w.add(ruqi.JobSpec{ID: "graced", Trigger: trigger.Date(yesterday), Task: ruqi.Do(nothing), Policy: ruqi.Policy{MisfireGrace: ptr(48 * time.Hour)}})
		w.add(ruqi.JobSpec{ID: "just", Trigger: trigger.Date(time.Now().Add(-time.Second)), Task: ruqi.Do(nothing)})
		time.Sleep(2 * time.Second)
		for _, id := range []string{"graced", "just"} {
			if all := runs(t, w.s, id); len(all) != 1 || all[0].State != ruqi.RunSucceeded {
				t.Errorf("%s: %v, want one run", id, states(all))
			}
		}
	})
}

func TestRemoveJobsTakesWhatTheQuerySelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		defer w.stop()
		for id, tag := range map[string]string{"a": "x", "b": "x", "c": "y"} {
			w.add(ruqi.JobSpec{ID: id, Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Tags: []string{tag}})
		}
		gone := make(chan ruqi.Event, 10)
		w.s.Listen(func(e ruqi.Event) { gone <- e }, ruqi.EventJobRemoved)
		n, err := w.s.RemoveJobs(t.Context(), ruqi.JobQuery{IDs: []string{"a", "c", "none"}, Tags: []string{"x"}})
		if n != 1 || err != nil {
			t.Fatalf("removed %d, %v; want a alone", n, err)
		}
		synctest.Wait()
		if e := <-gone; e.JobID != "a" || len(gone) != 0 {
			t.Errorf("told of %q and %d more", e.JobID, len(gone))
		}
		if n, err := w.s.RemoveJobs(t.Context(), ruqi.JobQuery{IDs: []string{"b"}, Version: 7}); n != 0 || err != nil {
			t.Errorf("at another version %d were removed, %v", n, err)
		}
		if n, err := w.s.RemoveJobs(t.Context(), ruqi.JobQuery{}); n != 2 || err != nil {
			t.Errorf("removing all removed %d, %v", n, err)
		}
	})
}

func TestRemoveJobsTakesAnyNumberOfIDs(t *testing.T) {
	s := newScheduler(t, memory.Open(memory.Options{}), newRegistry(), ruqi.Options{})
	var ids []string
	for i := range 1203 {
		id := fmt.Sprint("job", i)
		ids = append(ids, id)
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: id, Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.RemoveJobs(t.Context(), ruqi.JobQuery{IDs: ids}); n != len(ids) || err != nil {
		t.Errorf("removed %d of %d, %v", n, len(ids), err)
	}
}

// What a caller holds is its own: changing it changes no job, neither before nor after.
func TestDefinitionsAreCopies(t *testing.T) {
	s := newScheduler(t, memory.Open(memory.Options{}), newRegistry(), ruqi.Options{})
	spec := ruqi.JobSpec{ID: "a", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Labels: map[string]string{"k": "v"}, Tags: []string{"x"},
		Params: []byte(`{"p":1}`), Policy: ruqi.Policy{MisfireGrace: ptr(time.Minute)}}
	got, _, err := s.AddJob(t.Context(), spec, ruqi.Fail)
	if err != nil {
		t.Fatal(err)
	}
	for _, mine := range []ruqi.JobSpec{spec, got.JobSpec} {
		mine.Labels["k"], mine.Tags[0], mine.Params[2], *mine.Policy.MisfireGrace = "changed", "changed", 'q', 0
		if mine.Policy.Coalesce != nil {
			*mine.Policy.Coalesce = false
		}
	}
	other, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "b", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)}, ruqi.Fail)
	if err != nil || !*other.Policy.Coalesce {
		t.Errorf("another job's coalesce is %t, %v", *other.Policy.Coalesce, err)
	}
	stored, err := s.Job(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if p := stored.Policy; stored.Labels["k"] != "v" || stored.Tags[0] != "x" || string(stored.Params) != `{"p":1}` || *p.MisfireGrace != time.Minute || !*p.Coalesce {
		t.Errorf("the stored job has changed: %v %v %s %+v", stored.Labels, stored.Tags, stored.Params, p)
	}
}

func TestADurationWithoutItsUnitIsRefused(t *testing.T) {
	s := newScheduler(t, memory.Open(memory.Options{}), newRegistry(), ruqi.Options{})
	_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "a", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Policy: ruqi.Policy{Timeout: 500}}, ruqi.Fail)
	if !errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("a timeout of 500 ns gives %v", err)
	}
}

// A fire whose time has come is settled also while its jitter still runs.
func TestAPauseDuringJitterSettlesTheFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		job := w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Policy: ruqi.Policy{Jitter: 50 * time.Minute}})
		if !job.NextDue.After(job.NextNominal.Add(time.Minute)) {
			t.Fatalf("the jitter of this id is only %s", job.NextDue.Sub(*job.NextNominal))
		}
		time.Sleep(time.Until(*job.NextNominal) + time.Second)
		if _, err := w.s.PauseJob(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		if all := runs(t, w.s, "j"); len(all) != 1 || all[0].State != ruqi.RunMissed || !all[0].Nominal.Equal(*job.NextNominal) {
			t.Errorf("recorded %+v, want the fire of %s as missed", all, job.NextNominal)
		}
	})
}

func TestMaxRunsHoldsWhateverIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "lowered", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)})
		w.add(ruqi.JobSpec{ID: "retriggered", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing), Policy: ruqi.Policy{MaxRuns: 5}})
		time.Sleep(5500 * time.Millisecond)
		change := func(id string, change func(*ruqi.Job)) {
			job, err := w.s.ModifyJob(t.Context(), id, func(job *ruqi.Job) error { change(job); return nil })
			if err != nil || job.State != ruqi.JobFinished || job.NextDue != nil {
				t.Errorf("%s is %s with next %v, %v", id, job.State, job.NextDue, err)
			}
		}
		change("lowered", func(job *ruqi.Job) { job.Policy.MaxRuns = 3 })
		change("retriggered", func(job *ruqi.Job) { job.Trigger = trigger.EveryDuration(2 * time.Second) })
		time.Sleep(10 * time.Second)
		for _, id := range []string{"lowered", "retriggered"} {
			if n := len(runs(t, w.s, id)); n != 5 {
				t.Errorf("%s ran %d times, want 5", id, n)
			}
		}
	})
}

// A changed interval counts from the change; a changed end runs nothing a second time.
func TestAChangedTriggerCountsFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "longer", Trigger: trigger.EveryDuration(24 * time.Hour), Task: ruqi.Do(nothing)})
		time.Sleep(23 * time.Hour)
		job, err := w.s.ModifyJob(t.Context(), "longer", func(job *ruqi.Job) error { job.Trigger = trigger.EveryDuration(25 * time.Hour); return nil })
		if err != nil || time.Until(*job.NextNominal) != 25*time.Hour {
			t.Errorf("the next fire is %s away, %v; want a whole interval", time.Until(*job.NextNominal), err)
		}
		w.add(ruqi.JobSpec{ID: "ended", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)})
		time.Sleep(5500 * time.Millisecond)
		before := len(runs(t, w.s, "ended"))
		_, err = w.s.ModifyJob(t.Context(), "ended", func(job *ruqi.Job) error {
			end := time.Now().Add(50 * time.Millisecond)
			_, anchor := job.Trigger.(ruqi.Bound).Binding()
			ending, err := trigger.Interval(time.Second, trigger.IntervalOptions{End: &end})
			if err == nil {
				job.Trigger, err = ending.Bind(time.UTC, anchor, "")
			}
			return err
		})
		if !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("a trigger whose fires are all past and had is taken: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
		if after := len(runs(t, w.s, "ended")); after != before {
			t.Errorf("%d fires ran again", after-before)
		}
	})
}

// Who thinks better of delete_when_finished while the last run is on keeps the job.
func TestDeleteWhenFinishedIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(sleeping(10 * time.Second)), Policy: ruqi.Policy{MaxRuns: 1, DeleteWhenFinished: true}})
		time.Sleep(2 * time.Second)
		if _, err := w.s.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Policy.DeleteWhenFinished = false; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if job, err := w.s.Job(t.Context(), "j"); err != nil || job.State != ruqi.JobFinished {
			t.Errorf("after its last run the job is %s, %v", job.State, err)
		}
	})
}

// A job that is to be removed when it has finished is removed, too, when it is an edit that finishes it.
func TestAnEditThatFinishesAJobRemovesIt(t *testing.T) {
	modify := func(change func(*ruqi.Policy)) func(*world) error {
		return func(w *world) error {
			_, err := w.s.ModifyJob(w.t.Context(), "j", func(job *ruqi.Job) error { change(&job.Policy); return nil })
			return err
		}
	}
	for _, c := range []struct {
		name   string
		policy ruqi.Policy
		paused bool // from the first fire until after the last one
		edit   func(*world) error
	}{
		{"resumed after its last fire", ruqi.Policy{DeleteWhenFinished: true}, true, func(w *world) error {
			_, err := w.s.ResumeJob(w.t.Context(), "j")
			return err
		}},
		{"its max_runs are lowered to those it has had", ruqi.Policy{DeleteWhenFinished: true}, false, modify(func(p *ruqi.Policy) { p.MaxRuns = 1 })},
		{"it has finished already", ruqi.Policy{MaxRuns: 1}, false, modify(func(p *ruqi.Policy) { p.DeleteWhenFinished = true })},
		{"it is added once more", ruqi.Policy{MaxRuns: 1}, false, func(w *world) error {
			job, err := w.s.Job(w.t.Context(), "j")
			if err != nil {
				return err
			}
			job.Policy.DeleteWhenFinished = true
			_, _, err = w.s.AddJob(w.t.Context(), job.JobSpec, ruqi.Replace)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, ruqi.Options{})
				w.start()
				defer w.stop()
				end := time.Now().Add(5 * time.Minute)
				every, err := trigger.Interval(time.Minute, trigger.IntervalOptions{End: &end})
				if err != nil {
					t.Fatal(err)
				}
				w.add(ruqi.JobSpec{ID: "j", Trigger: every, Task: ruqi.Do(nothing), Policy: c.policy})
				time.Sleep(90 * time.Second)
				if c.paused {
					if _, err := w.s.PauseJob(t.Context(), "j"); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour)
				}
				if err := c.edit(w); err != nil {
					t.Fatal(err)
				}
				if job, err := w.s.Job(t.Context(), "j"); !errors.Is(err, ruqi.ErrNotFound) {
					t.Errorf("the job is still there: %s, %v", job.State, err)
				}
				if all := runs(t, w.s, "j"); len(all) != 1 || all[0].State != ruqi.RunSucceeded {
					t.Errorf("its history is %v", states(all))
				}
			})
		})
	}
}

func TestParamsWithoutNUL(t *testing.T) {
	s := newScheduler(t, memory.Open(memory.Options{}), newRegistry(), ruqi.Options{})
	spec := ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)}
	for params, fine := range map[string]bool{`{"a":"b"}`: true, `{"a":"\\u0000"}`: true, `{"a":"\u0000"}`: false, `{"a":[{"b\u0000":1}]}`: false, "{\"a\":\"\xff\"}": false} {
		spec.Params = []byte(params)
		if _, _, err := s.AddJob(t.Context(), spec, ruqi.Replace); (err == nil) != fine {
			t.Errorf("params %q give %v", params, err)
		}
	}
}

// A date that has passed by more than its grace is refused, or, where the caller accepts it, recorded as missed.
func TestAPastDateThatIsAcceptedIsRecordedAsMissed(t *testing.T) {
	seconds := 30 * time.Second
	for name, grace := range map[string]*time.Duration{"with a grace": &seconds, "without one": nil} {
		t.Run(name, func(t *testing.T) { pastDates(t, grace) })
	}
}

func pastDates(t *testing.T, grace *time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		spec := func(id string, ago time.Duration, accept bool) ruqi.JobSpec {
			return ruqi.JobSpec{ID: id, Trigger: trigger.Date(time.Now().Add(-ago)), Task: ruqi.Do(nothing), AcceptPast: accept, Policy: ruqi.Policy{MisfireGrace: grace, DeleteWhenFinished: true}}
		}
		if _, _, err := w.s.AddJob(t.Context(), spec("refused", time.Hour, false), ruqi.Fail); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("a past date is taken: %v", err)
		}
		w.add(spec("late", time.Hour, true))
		w.add(spec("in time", 20*time.Second, true))
		w.add(ruqi.JobSpec{ID: "moved", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Policy: ruqi.Policy{MisfireGrace: grace, DeleteWhenFinished: true}})
		if _, err := w.s.ModifyJob(t.Context(), "moved", func(job *ruqi.Job) error {
			if job.AcceptPast {
				t.Error("the request is stored")
			}
			job.Trigger, job.AcceptPast = trigger.Date(time.Now().Add(-time.Hour)), true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for id, want := range map[string]ruqi.RunState{"late": ruqi.RunMissed, "moved": ruqi.RunMissed, "in time": ruqi.RunSucceeded} {
			if all := runs(t, w.s, id); len(all) != 1 || all[0].State != want {
				t.Errorf("%s: %v, want one that is %s", id, states(all), want)
			} else if want == ruqi.RunMissed && !strings.Contains(all[0].Reason, "too late: due 1h") {
				t.Errorf("%s: %q", id, all[0].Reason)
			}
			if _, err := w.s.Job(t.Context(), id); !errors.Is(err, ruqi.ErrNotFound) {
				t.Errorf("%s is still there: %v", id, err)
			}
		}
	})
}

// An error of a change that wraps what is wrong stays as it is: what it was wrapped in is for whoever gets it.
func TestAWrappedErrorOfAChangeStaysAsItIs(t *testing.T) {
	w := newWorld(t, ruqi.Options{})
	w.add(ruqi.JobSpec{ID: "x", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing)})
	why := errors.New("the table says so")
	for name, change := range map[string]func(job *ruqi.Job){
		"nothing else":            func(*ruqi.Job) {},
		"a priority out of range": func(job *ruqi.Job) { job.Priority = 1 << 30 },
		"a trigger that is over":  func(job *ruqi.Job) { job.Trigger = trigger.Date(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) },
	} {
		_, err := w.s.ModifyJob(t.Context(), "x", func(job *ruqi.Job) error {
			change(job)
			return fmt.Errorf("%w: %w", why, ruqi.Invalid("/labels/a", "", "wrong"))
		})
		if !errors.Is(err, why) || !errors.Is(err, ruqi.ErrInvalid) || err.Error() != "the table says so: labels.a: wrong" {
			t.Errorf("%s beside it: %v", name, err)
		}
	}
}
