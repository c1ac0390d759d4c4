package calendar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// A store is what the tests keep jobs and calendars in.
type store interface {
	ruqi.JobStore
	ruqi.RecordStore
}

// encoded is a store in memory that keeps definitions as one that lasts does: encoded.
type encoded struct {
	ruqi.JobStore
	ruqi.RecordStore
}

// A day of the tests has four minutes, and an hour ten seconds, so that loops which look each second need not look for days. The
// first is 2000-01-01, when virtual time begins.
const (
	day  = 4 * time.Minute
	hour = day / 24
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A daily trigger fires each day at nine: but for the days of a calendar, or on these alone. It is a registered kind of a user's own.
type daily struct {
	kind    string // "off" or "on"; "long off" and "long on" have days of 24 hours
	name    string
	days    *daycal.Calendar
	version int64
}

func (d *daily) fires(day daycal.Day) bool {
	return d.days != nil && d.days.Contains(day) == strings.HasSuffix(d.kind, "on")
}

// length is how long a day is.
func (d *daily) length() time.Duration {
	if strings.HasPrefix(d.kind, "long") {
		return 24 * time.Hour
	}
	return day
}

func (d *daily) Next(after time.Time) (time.Time, bool) {
	const most = 3 * 366 // days: so that it ends where a calendar does
	n := after.Sub(epoch) / d.length()
	for range most {
		at := epoch.Add(n*d.length() + 9*d.length()/24)
		if at.After(after) && d.fires(daycal.NewDay(2000, 1, 1+int(n))) {
			return at.UTC(), true
		}
		n++
	}
	return time.Time{}, false
}

func (d *daily) Kind() string { return d.kind }

func (d *daily) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"kind":%q,"calendar":%q}`, d.kind, d.name), nil
}

func (d *daily) Calendars() []ruqi.CalendarUse {
	return []ruqi.CalendarUse{{Name: d.name, Version: d.version}}
}

// off is a trigger for all days but those of a calendar, on one for those alone, as a program makes them: without the days.
func off(name string) ruqi.Trigger { return &daily{kind: "off", name: name} }
func on(name string) ruqi.Trigger  { return &daily{kind: "on", name: name} }

// long gives a trigger days of 24 hours.
func long(t ruqi.Trigger) ruqi.Trigger {
	d := *t.(*daily)
	d.kind = "long " + d.kind
	return &d
}

func decodeDaily(source trigger.CalendarSource) func([]byte) (ruqi.Trigger, error) {
	return func(data []byte) (ruqi.Trigger, error) {
		var shape struct{ Kind, Calendar string }
		if err := json.Unmarshal(data, &shape); err != nil {
			return nil, ruqi.Invalid("", "", "%v", err)
		}
		days, version, err := source.Calendar(shape.Calendar)
		if err != nil {
			return nil, ruqi.Invalid("/calendar", shape.Calendar, "%v", err)
		}
		return &daily{shape.Kind, shape.Calendar, days, version}, nil
	}
}

// An instance is one process of a service.
type instance struct {
	*ruqi.Scheduler
	t         *testing.T
	calendars *gate
	stopped   bool
	mu        sync.Mutex // guards ran
	ran       []time.Time
}

// A gate is the calendars of an instance, which hears of no change while it is shut.
type gate struct {
	*calendar.Store
	mu   sync.Mutex // guards shut
	shut bool
}

func (g *gate) Refresh(ctx context.Context) (int64, error) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut {
		return g.Generation(), nil
	}
	return g.Store.Refresh(ctx)
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
}

// newInstance returns an instance that is not started. Its function "note" notes the days on which it ran.
func newInstance(t *testing.T, s store, name string) *instance {
	t.Helper()
	i := &instance{t: t, calendars: &gate{Store: calendar.New(s)}}
	registry := ruqi.NewRegistry()
	trigger.RegisterWith(registry, i.calendars)
	gofunc.Register(registry)
	for _, kind := range []string{"off", "on", "long off", "long on"} {
		registry.RegisterTrigger(kind, decodeDaily(i.calendars))
	}
	registry.RegisterTrigger("soon", func([]byte) (ruqi.Trigger, error) { return soon{}, nil })
	ruqi.Func(registry, "note", func(ctx context.Context, _ struct{}) error {
		run, _ := ruqi.CurrentRun(ctx)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.ran = append(i.ran, run.Nominal)
		return nil
	})
	var err error
	i.Scheduler, err = ruqi.New(s, registry, ruqi.Options{
		Instance: name, Zone: time.UTC, Calendars: i.calendars, Drain: -1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *instance) start() *instance {
	i.t.Helper()
	if err := i.Start(i.t.Context()); err != nil {
		i.t.Fatal(err)
	}
	return i
}

func (i *instance) stop() {
	i.t.Helper()
	if i.stopped {
		return
	}
	i.stopped = true
	if err := i.Shutdown(context.Background()); err != nil {
		i.t.Error(err)
	}
}

func (i *instance) put(name, days string) ruqi.Calendar {
	i.t.Helper()
	c, _, err := i.PutCalendar(i.t.Context(), name, json.RawMessage(days), ruqi.AnyVersion)
	if err != nil {
		i.t.Fatal(err)
	}
	return c
}

func (i *instance) add(id string, when ruqi.Trigger) ruqi.Job {
	i.t.Helper()
	job, _, err := i.AddJob(i.t.Context(), ruqi.JobSpec{ID: id, Trigger: when, Task: ruqi.Call("note", nil)}, ruqi.Fail)
	if err != nil {
		i.t.Fatal(err)
	}
	return job
}

func (i *instance) job(id string) ruqi.Job {
	i.t.Helper()
	job, err := i.Job(i.t.Context(), id)
	if err != nil {
		i.t.Fatal(err)
	}
	return job
}

// next is the next nominal time of a job, as text; "none" where there is none.
func (i *instance) next(id string) string {
	i.t.Helper()
	job := i.job(id)
	if job.NextNominal == nil {
		return "none"
	}
	return dateOf(*job.NextNominal, job.Trigger.(*daily).length()).Format("2006-01-02 15:04")
}

// dateOf is what the clock of days of that length shows.
func dateOf(at time.Time, length time.Duration) time.Time {
	return epoch.Add(at.Sub(epoch) * (24 * time.Hour / length))
}

// wants fails the test when the next time of a job is another.
func (i *instance) wants(id, next string) {
	i.t.Helper()
	if got := i.next(id); got != next {
		i.t.Errorf("the next time of %s is %s, want %s", id, got, next)
	}
}

// days are those on which the instance ran something, as text.
func (i *instance) days() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	text := ""
	for _, at := range i.ran {
		text += dateOf(at, day).Format("02 ")
	}
	return text
}

// runsOf returns the history of a job, oldest first.
func (i *instance) runsOf(job string) []ruqi.Run {
	i.t.Helper()
	page, err := i.Runs(i.t.Context(), ruqi.RunQuery{Job: job, Limit: ruqi.MaxPage})
	if err != nil {
		i.t.Fatal(err)
	}
	slices.Reverse(page.Runs)
	return page.Runs
}

// history is that of a job as text: "01 missed, 02 succeeded".
func (i *instance) history(job string) string {
	i.t.Helper()
	var parts []string
	for _, run := range i.runsOf(job) {
		parts = append(parts, dateOf(run.Nominal, day).Format("02 ")+string(run.State))
	}
	return strings.Join(parts, ", ")
}

// inBothForms runs a test in virtual time, which begins on 2000-01-01 at midnight, on a store that keeps live definitions, and on one
// that keeps them encoded.
func inBothForms(t *testing.T, test func(t *testing.T, s store)) {
	t.Helper()
	for form, open := range map[string]func() store{
		"live": func() store { return memory.Open(memory.Options{}) },
		"encoded": func() store {
			m := memory.Open(memory.Options{})
			return encoded{m, m}
		},
	} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, open()) })
		})
	}
}

const noDays = `{"dates":[]}`
