package ruqi_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// MF05, MF07, IV-anchors: what an edit does to the next time.
func TestEditsAndTheNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.start()
		defer w.stop()
		spec := ruqi.JobSpec{ID: "six", Trigger: trigger.Every(6 * time.Hour), Task: ruqi.Do(nothing)}
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
				w.add(ruqi.JobSpec{ID: "j", Trigger: trigger.Every(time.Minute), Task: ruqi.Do(nothing)})
				w.s.Pause()
				time.Sleep(3*time.Minute + time.Second)
				var err error
				switch how {
				case "paused":
					_, err = w.s.PauseJob(t.Context(), "j")
				case "removed":
					err = w.s.RemoveJob(t.Context(), "j")
				case "changed":
					_, err = w.s.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Trigger = trigger.Every(time.Hour); return nil })
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
			w.add(ruqi.JobSpec{ID: id, Trigger: trigger.Every(time.Hour), Task: ruqi.Do(nothing), Tags: []string{tag}})
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
