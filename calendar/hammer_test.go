package calendar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// A ticker fires twenty times a second while its calendar is empty, and hardly ever when it has the day 2000-01-01.
type ticker struct {
	days    *daycal.Calendar
	version int64
}

func (k *ticker) Next(after time.Time) (time.Time, bool) {
	const tick = 50 * time.Millisecond
	at := after.Truncate(tick).Add(tick)
	if k.days.Contains(daycal.NewDay(2000, 1, 1)) {
		at = at.Add(time.Hour)
	}
	return at.UTC(), true
}

func (k *ticker) Kind() string { return "ticker" }

func (k *ticker) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"ticker"}`), nil }

func (k *ticker) Calendars() []ruqi.CalendarUse {
	return []ruqi.CalendarUse{{Name: "off", Version: k.version}}
}

// newTicking returns an instance for jobs that tick, which is not started.
func newTicking(t *testing.T, s store, name string) *ruqi.Scheduler {
	t.Helper()
	calendars := calendar.New(s)
	registry := ruqi.NewRegistry()
	gofunc.Register(registry)
	registry.RegisterTrigger("ticker", func([]byte) (ruqi.Trigger, error) {
		days, version, err := calendars.Calendar("off")
		if err != nil {
			return nil, ruqi.Invalid("", "", "%v", err)
		}
		return &ticker{days, version}, nil
	})
	ruqi.Func(registry, "nothing", func(context.Context, struct{}) error { return nil })
	scheduler, err := ruqi.New(s, registry, ruqi.Options{Instance: name, Zone: time.UTC, Calendars: calendars, KeepRuns: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return scheduler
}

// Two instances run fast jobs while a calendar turns them on and off. By a second after each change all instances go by it; no fire
// is run twice, and whatever was claimed of the old version of a job has not landed.
func TestJobsFollowACalendarThatChangesAllTheTime(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func() store) {
		t.Parallel()
		const jobs, changes = 5, 2
		var all []*ruqi.Scheduler
		for n := range 2 {
			scheduler := newTicking(t, open(), fmt.Sprint(n))
			if err := scheduler.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := scheduler.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			all = append(all, scheduler)
		}
		put := func(n int, text string) {
			if _, _, err := all[n].PutCalendar(t.Context(), "off", json.RawMessage(text), ruqi.AnyVersion); err != nil {
				t.Fatal(err)
			}
		}
		put(0, noDays)
		for j := range jobs {
			spec := ruqi.JobSpec{ID: fmt.Sprint(j), Trigger: &ticker{days: &daycal.Calendar{}}, Task: ruqi.Call("nothing", nil)}
			if _, _, err := all[j%2].AddJob(t.Context(), spec, ruqi.Fail); err != nil {
				t.Fatal(err)
			}
		}
		type quiet struct{ from, to time.Time }
		var quiets []quiet
		const heard = 1500 * time.Millisecond // a poll each second, and the time it takes
		for c := range changes {
			put(c%2, `{"dates":["2000-01-01"]}`)
			time.Sleep(heard)
			q := quiet{from: time.Now()}
			time.Sleep(300 * time.Millisecond)
			q.to = time.Now()
			quiets = append(quiets, q)
			put((c+1)%2, noDays)
			time.Sleep(heard)
			for j := range jobs {
				job, err := all[0].Job(t.Context(), fmt.Sprint(j))
				if err != nil || job.NextNominal == nil || job.NextNominal.After(time.Now().Add(time.Minute)) {
					t.Errorf("change %d: job %d is on again, and its next time is %v, %v", c, j, job.NextNominal, err)
				}
				if want := int64(1 + 2*(c+1)); job.Version != want {
					t.Errorf("change %d: job %d is at version %d, want %d: each change plans it anew once", c, j, job.Version, want)
				}
			}
		}
		seen := map[string]bool{}
		started := 0
		query := ruqi.RunQuery{Limit: ruqi.MaxPage}
		for {
			page, err := all[0].Runs(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range page.Runs {
				key := run.JobID + run.Nominal.String()
				if seen[key] {
					t.Errorf("the fire %s of job %s has two rows", run.Nominal, run.JobID)
				}
				seen[key] = true
				if run.Started != nil {
					started++
				}
				for _, q := range quiets {
					if run.Nominal.After(q.from) && run.Nominal.Before(q.to) {
						t.Errorf("job %s has a fire at %s (%s), when the calendar had been changed since %s", run.JobID, run.Nominal, run.State, q.from)
					}
				}
			}
			if query.Cursor = page.Next; query.Cursor == "" {
				break
			}
		}
		if started < jobs*changes {
			t.Errorf("%d runs: the jobs have hardly run", started)
		}
	})
}

// amid is a store in which something happens between the decision of the first claim that plans anything and its landing, or, where a store lets
// nothing in there, right after it.
type amid struct {
	store
	once sync.Once
	do   func()
	done chan struct{}
}

func (a *amid) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	return a.store.Claim(ctx, r, func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		plans := decide(now, due)
		if len(plans) > 0 {
			a.once.Do(func() {
				go func() {
					defer close(a.done)
					a.do()
				}()
				select {
				case <-a.done:
				case <-time.After(200 * time.Millisecond): // it waits for this very step
				}
			})
		}
		return plans
	})
}

// What a claim decided of the old version of a job must not land on the new one: its next time would be by the old days again.
func TestAClaimOfTheOldVersionDoesNotLandOnTheNewOne(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func() store) {
		t.Parallel()
		ctx := t.Context()
		changes := newTicking(t, open(), "changes")
		middle := &amid{store: open(), done: make(chan struct{})}
		claims := newTicking(t, middle, "claims")
		var changed time.Time
		middle.do = func() {
			if _, _, err := changes.PutCalendar(ctx, "off", json.RawMessage(`{"dates":["2000-01-01"]}`), ruqi.AnyVersion); err != nil {
				t.Error(err)
			}
			if _, err := changes.ModifyJob(ctx, "work", func(job *ruqi.Job) error { job.Description = "changed"; return nil }); err != nil {
				t.Error(err)
			}
			changed = time.Now()
		}
		if _, _, err := changes.PutCalendar(ctx, "off", json.RawMessage(noDays), ruqi.AnyVersion); err != nil {
			t.Fatal(err)
		}
		if _, _, err := changes.AddJob(ctx, ruqi.JobSpec{ID: "work", Trigger: &ticker{days: &daycal.Calendar{}}, Task: ruqi.Call("nothing", nil)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		if err := claims.Start(ctx); err != nil {
			t.Fatal(err)
		}
		<-middle.done
		time.Sleep(time.Second)
		if err := claims.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		job, err := changes.Job(ctx, "work")
		if err != nil || job.NextNominal == nil || job.NextNominal.Before(changed.Add(time.Minute)) || job.Description != "changed" {
			t.Errorf("its next time is %v, by days that had changed at %s; %v", job.NextNominal, changed, err)
		}
		page, err := changes.Runs(ctx, ruqi.RunQuery{Job: "work"})
		if err != nil || len(page.Runs) == 0 {
			t.Errorf("it has no history: %v", err)
		}
		for _, run := range page.Runs {
			if run.Nominal.After(changed) {
				t.Errorf("it has a fire at %s, after the change at %s", run.Nominal, changed)
			}
		}
	})
}
