package calendar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A program without the service has named calendars too.
func ExampleNew() {
	ctx := context.Background()
	store := memory.Open(memory.Options{})
	calendars := calendar.New(store)
	registry := ruqi.NewRegistry()
	trigger.RegisterWith(registry, calendars)
	gofunc.Register(registry)
	s, err := ruqi.New(store, registry, ruqi.Options{Calendars: calendars, Zone: time.UTC, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	if _, _, err := s.PutCalendar(ctx, "holidays", json.RawMessage(`{"yearly":["--01-01"]}`), ruqi.AnyVersion); err != nil {
		panic(err)
	}
	if err := s.LearnCalendars(ctx); err != nil {
		panic(err)
	}
	newYear := trigger.Except(trigger.Crontab("0 9 1,2 1 *"), trigger.Named(calendars, "holidays"))
	job, _, err := s.AddJob(ctx, ruqi.JobSpec{ID: "work", Trigger: newYear, Task: ruqi.Do(func(context.Context) error { return nil })}, ruqi.Replace)
	if err != nil {
		panic(err)
	}
	fmt.Println(job.NextDue.Format("01-02 15:04"))
	// Output: 01-02 09:00
}
