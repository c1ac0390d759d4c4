package ruqi_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// butADay fires each second except on the 2nd of a month: more than a search looks through at once.
func butADay() ruqi.Trigger {
	return trigger.Except(trigger.Crontab("TZ=UTC * * * * * *"), trigger.Times(trigger.Crontab("TZ=UTC * * * 2 * *")))
}

// lookingWorld has a job whose last fire before a day of silence has run, at midnight.
func lookingWorld(t *testing.T) *world {
	w := newWorld(t, ruqi.Options{})
	time.Sleep(24*time.Hour - 2*time.Second)
	w.add(ruqi.JobSpec{ID: "j", Trigger: butADay(), Task: ruqi.Do(func(context.Context) error { return nil }), Policy: ruqi.Policy{Coalesce: ptr(false)}})
	time.Sleep(2 * time.Second)
	if n, err := w.s.Tick(t.Context()); n != 1 || err != nil {
		t.Fatalf("the fire before the silence: %d, %v", n, err)
	}
	return w
}

func jobOf(t *testing.T, w *world) ruqi.Job {
	t.Helper()
	job, err := w.s.Job(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// A job does not end because its trigger gave up a search: it goes on when the time comes, and loses no fire.
func TestAJobGoesOnWhereASearchWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lookingWorld(t)
		job := jobOf(t, w)
		if job.State != ruqi.JobActive || job.NextNominal != nil || job.NextDue != nil || !strings.Contains(job.StateReason, "looked for further") {
			t.Fatalf("in the silence it is %s (%s), next %v due %v", job.State, job.StateReason, job.NextNominal, job.NextDue)
		}
		time.Sleep(24 * time.Hour) // the first fire is due now
		for range 40 {
			if _, err := w.s.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		all := runs(t, w.s, "j")
		if len(all) != 2 || !all[1].Nominal.Equal(time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)) || all[1].State != ruqi.RunSucceeded {
			t.Errorf("after the silence the history is %v", all)
		}
		if job := jobOf(t, w); job.StateReason != "" || job.NextNominal == nil || !job.NextNominal.Equal(time.Date(2000, 1, 3, 0, 0, 1, 0, time.UTC)) {
			t.Errorf("then it is %s (%s), next %v", job.State, job.StateReason, job.NextNominal)
		}
		w.stop()
	})
}

// Who takes a job away before it has looked again has the fires recorded that it would have found.
func TestFiresThatWereNotLookedForAreSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lookingWorld(t)
		time.Sleep(24*time.Hour + 5*time.Second)
		job, err := w.s.PauseJob(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		if job.State != ruqi.JobPaused || job.StateReason != "paused by hand" {
			t.Errorf("it is %s (%s)", job.State, job.StateReason)
		}
		all := runs(t, w.s, "j")
		if len(all) != 2 || all[1].State != ruqi.RunMissed || all[1].Coalesced != 5 || !all[1].CoalescedFrom.Equal(time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("its history is %v", all)
		}
		if job, err = w.s.ResumeJob(t.Context(), "j"); err != nil || job.State != ruqi.JobActive || job.NextNominal == nil {
			t.Errorf("it goes on as %s, next %v, %v", job.State, job.NextNominal, err)
		}
		w.stop()
	})
}

// So has who takes it away that was away itself since long before the silence, when the fires are too many to be counted at once.
func TestFiresBeforeAndAfterASilenceAreSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		time.Sleep(20*time.Hour - time.Second)
		w.add(ruqi.JobSpec{ID: "j", Trigger: butADay(), Task: ruqi.Do(nothing)})
		time.Sleep(28*time.Hour + 5*time.Second)
		if _, err := w.s.PauseJob(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		const due = 4*3600 + 5
		all := runs(t, w.s, "j")
		if len(all) != 1 || all[0].State != ruqi.RunMissed || all[0].Coalesced != due-1 ||
			!all[0].CoalescedFrom.Equal(time.Date(2000, 1, 1, 20, 0, 0, 0, time.UTC)) || !all[0].Nominal.Equal(time.Date(2000, 1, 3, 0, 0, 4, 0, time.UTC)) {
			t.Errorf("of %d fires the history is %v", due, all)
		}
		w.stop()
	})
}

// Resumed in the silence, or with a new policy, it looks on; so does one that is replaced by itself.
func TestAJobThatLooksIsEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lookingWorld(t)
		if _, err := w.s.PauseJob(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		if job, err := w.s.ResumeJob(t.Context(), "j"); err != nil || job.State != ruqi.JobActive || job.NextNominal != nil {
			t.Errorf("resumed it is %s, next %v, %v", job.State, job.NextNominal, err)
		}
		job, err := w.s.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Policy.MaxRuns, job.Policy.Jitter = 9, time.Second; return nil })
		if err != nil || job.State != ruqi.JobActive {
			t.Errorf("with a new policy it is %s (%s), %v", job.State, job.StateReason, err)
		}
		time.Sleep(24 * time.Hour)
		for range 40 {
			time.Sleep(2 * time.Second)
			if _, err := w.s.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if all := runs(t, w.s, "j"); len(all) < 2 {
			t.Errorf("its history is %v", all)
		}
		w.stop()
	})
}

// What fires centuries from now is taken: it is not said never to fire.
func TestWhatFiresCenturiesFromNowIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		far, err := trigger.Cron("0 0 12 1 1 ? 2600", trigger.CronOptions{Dialect: "quartz", Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		noon := trigger.Crontab("TZ=UTC 0 12 * * *")
		for id, one := range map[string]ruqi.Trigger{"alone": far, "any": trigger.Any(far), "all": trigger.All(far, noon), "only": trigger.Only(noon, trigger.Times(far))} {
			job := w.add(ruqi.JobSpec{ID: id, Trigger: one, Task: ruqi.Do(nothing)})
			if job.NextNominal == nil || !job.NextNominal.Equal(time.Date(2600, 1, 1, 12, 0, 0, 0, time.UTC)) {
				t.Errorf("%s: it is %s (%s), next %v", id, job.State, job.StateReason, job.NextNominal)
			}
		}
		w.stop()
	})
}

// What may run on start is taken, and looked for further.
func TestWhatRunsOnStartMayHaveNoFireTimeYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		march := trigger.Except(trigger.Crontab("TZ=UTC * * * * * *"), trigger.Times(trigger.Crontab("TZ=UTC * * * * 1,2,4-12 *")))
		job := w.add(ruqi.JobSpec{ID: "j", Trigger: march, Task: ruqi.Do(func(context.Context) error { return nil }), Policy: ruqi.Policy{RunOnStart: true}, AcceptPast: true})
		if job.State != ruqi.JobActive || !strings.Contains(job.StateReason, "looked for further") {
			t.Errorf("it is %s (%s)", job.State, job.StateReason)
		}
		w.stop()
	})
}

// What has no fire time as far as anybody looks is refused, and the refusal says how far that is.
func TestWhatHasNoFireTimeAsFarAsIsLookedIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		seconds := trigger.Crontab("TZ=UTC * * * * * *")
		for _, never := range []ruqi.Trigger{
			trigger.Except(seconds, trigger.Times(seconds)),
			// Further than Next looks, and not as far as twice that; and a time that has passed.
			trigger.All(seconds, trigger.Any(trigger.Crontab("TZ=UTC * * * * * *"), trigger.Date(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))), trigger.Crontab("TZ=UTC 0 0 9 1 * *"), trigger.Except(seconds, trigger.Times(seconds))),
		} {
			_, _, err := w.s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: never, Task: ruqi.Do(func(context.Context) error { return nil })}, ruqi.Fail)
			if err == nil || !strings.Contains(err.Error(), "no fire time was found up to 200") {
				t.Errorf("it is answered with %v", err)
			}
		}
		// One that has ended, long after its last fire time.
		end := time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC)
		ended, err := trigger.Cron("* * * * * *", trigger.CronOptions{Zone: time.UTC, End: &end})
		if err != nil {
			t.Fatal(err)
		}
		january := trigger.Except(ended, trigger.Times(trigger.Crontab("TZ=UTC * * * * 2-12 *")))
		_, _, err = w.s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: january, Task: ruqi.Do(func(context.Context) error { return nil })}, ruqi.Fail)
		if err == nil || !strings.Contains(err.Error(), "has no fire time left") || strings.Contains(err.Error(), "never") {
			t.Errorf("one that has ended is answered with %v", err)
		}
		w.stop()
	})
}

// costly takes a while for each answer.
type costly struct{ ruqi.Trigger }

func (c costly) Next(after time.Time) (time.Time, bool) {
	time.Sleep(20 * time.Millisecond)
	return c.Trigger.Next(after)
}

// A parted store notes how many jobs each claim plans.
type parted struct {
	*memory.Store
	plans []int
}

func (p *parted) Claim(ctx context.Context, request ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	return p.Store.Claim(ctx, request, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		plans := decide(now, due)
		p.plans = append(p.plans, len(plans))
		return plans
	})
}

// However many triggers take long, no step of the store waits for all of them: the lease is to be renewed meanwhile.
func TestCostlyTriggersArePlannedInSeveralSteps(t *testing.T) {
	const jobs = 40
	var ahead atomic.Int64 // of the machine's clock
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	store := &parted{Store: memory.Open(memory.Options{Now: now})}
	s := newScheduler(t, store, newRegistry(), ruqi.Options{Now: now})
	for i := range jobs {
		spec := ruqi.JobSpec{ID: strconv.Itoa(i), Trigger: costly{trigger.Crontab("0 * * * *")}, Task: ruqi.Do(nothing)}
		if _, _, err := s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
	}
	ahead.Store(int64(2 * time.Hour))
	n, err := s.Tick(t.Context())
	if err != nil || n != jobs {
		t.Errorf("%d of %d jobs have run: %v", n, jobs, err)
	}
	if most := slices.Max(store.plans); most == 0 || most >= jobs {
		t.Errorf("of %d jobs that take long the claims planned %v", jobs, store.plans)
	}
}
