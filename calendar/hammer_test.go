package calendar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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

// Two instances run fast jobs while a calendar turns them on and off. By a second after each change all instances go by it; no fire
// is run twice, and whatever was claimed of the old version of a job has not landed.
func TestJobsFollowACalendarThatChangesAllTheTime(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func() store) {
		t.Parallel()
		const jobs, changes = 5, 2
		var all []*ruqi.Scheduler
		for n := range 2 {
			s := open()
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
			scheduler, err := ruqi.New(s, registry, ruqi.Options{Instance: fmt.Sprint(n), Zone: time.UTC, Calendars: calendars, KeepRuns: -1, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
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
