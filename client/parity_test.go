package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
	"github.com/ruqi-dev/ruqi/wire"
)

const token = "the-token-of-the-tests"

func newRegistry(calendars trigger.CalendarSource) *ruqi.Registry {
	registry := ruqi.NewRegistry()
	trigger.RegisterWith(registry, calendars)
	gofunc.Register(registry)
	command.Register(registry, command.Options{})
	ruqi.Func(registry, "greet", func(ctx context.Context, args struct{ Name string }) error {
		_, err := fmt.Fprintf(ruqi.Output(ctx), "hello %s\n", args.Name)
		return err
	})
	ruqi.Func(registry, "wait", func(ctx context.Context, _ struct{}) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	ruqi.Func(registry, "tell", func(ctx context.Context, args struct{ N int }) error {
		ruqi.Progress(ctx, 1.0/3, "page 1 \x1b[31mof 3")
		return ruqi.SetResult(ctx, map[string]any{"n": args.N, "text": "<&>\u2028\x00"})
	})
	return registry
}

// direct returns a running scheduler over a store of its own, and its registry.
func direct(t *testing.T) (*ruqi.Scheduler, *ruqi.Registry) {
	t.Helper()
	store := memory.Open(memory.Options{})
	calendars := calendar.New(store)
	registry := newRegistry(calendars)
	scheduler, err := ruqi.New(store, registry, ruqi.Options{
		Instance: "one", Zone: time.UTC, Release: "test", Drain: -1, Logger: slog.New(slog.DiscardHandler), Calendars: calendars,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := scheduler.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scheduler.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return scheduler, registry
}

// remote returns a client of a running scheduler over a store of its own.
func remote(t *testing.T) *client.Client {
	t.Helper()
	scheduler, registry := direct(t)
	server := httptest.NewServer(httpapi.New(httpapi.Options{
		Operations: scheduler, Instances: scheduler, Ready: scheduler.Ready, Registry: registry, Logger: slog.New(slog.DiscardHandler),
		Tokens: []httpapi.Token{{Name: "tester", Hash: sha256.Sum256([]byte(token))}},
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, token, newRegistry(anywhere{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// yearly is a job that will not fire while the tests run.
func yearly(id string) ruqi.JobSpec {
	t, err := trigger.Parse("cron", "0 3 29 2 *", trigger.ParseOptions{Zone: "Europe/Berlin"})
	if err != nil {
		panic(err)
	}
	return ruqi.JobSpec{ID: id, Trigger: t, Task: ruqi.Call("greet", map[string]string{"Name": "you"})}
}

// steps are done one after the other on both sides; each answer is compared.
var steps = []struct {
	name string
	do   func(ctx context.Context, ops ruqi.Operations) (any, error)
}{
	{"add a job", func(ctx context.Context, ops ruqi.Operations) (any, error) { return add(ctx, ops, yearly("a"), "") }},
	{"add it again", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return add(ctx, ops, yearly("a"), ruqi.Fail)
	}},
	{"keep it", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return add(ctx, ops, yearly("a"), ruqi.Keep)
	}},
	{"replace it", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("a")
		spec.Description, spec.Tags, spec.Labels = "new", []string{"x", "y"}, map[string]string{"team": "ops"}
		grace, yes := time.Minute, false
		spec.Policy = ruqi.Policy{Coalesce: &yes, MisfireGrace: &grace, Timeout: time.Hour, MaxRuns: 7, Jitter: time.Second, OnLost: ruqi.LostRerun, MaxInstances: 3}
		spec.Params = json.RawMessage(`{"Name":"all of you"}`)
		return add(ctx, ops, spec, ruqi.Replace)
	}},
	{"add one under an odd id, paused", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("b/../c d?#%ü")
		spec.Paused = true
		return add(ctx, ops, spec, "")
	}},
	{"add one with a command", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("cmd")
		spec.Task = command.Shell("echo out; exit 3")
		return add(ctx, ops, spec, "")
	}},
	{"add one that is wrong", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("..")
		spec.Priority = 1 << 30
		spec.Policy.MaxInstances = -1
		return add(ctx, ops, spec, "")
	}},
	{"add one without trigger and task", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return add(ctx, ops, ruqi.JobSpec{ID: "none"}, "")
	}},
	{"rehearse a new job", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return rehearse(ctx, ops, yearly("new"), "")
	}},
	{"what was rehearsed is not there", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Job(ctx, "new") }},
	{"rehearse an equal job", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("cmd")
		spec.Task = command.Shell("echo out; exit 3")
		return rehearse(ctx, ops, spec, ruqi.Replace)
	}},
	{"rehearse a change", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("a")
		spec.Paused, spec.Executor = true, "nowhere"
		return rehearse(ctx, ops, spec, ruqi.Replace)
	}},
	{"rehearse and keep", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return rehearse(ctx, ops, yearly("a"), ruqi.Keep)
	}},
	{"rehearse an id that is taken", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return rehearse(ctx, ops, yearly("a"), ruqi.Fail)
	}},
	{"rehearse one that is wrong", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("..")
		spec.Priority = 1 << 30
		return rehearse(ctx, ops, spec, ruqi.Replace)
	}},
	{"what was rehearsed is as it was", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Job(ctx, "a") }},
	{"modify", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.ModifyJob(ctx, "a", func(job *ruqi.Job) error { job.Priority, job.Tags = 5, append(job.Tags, "z"); return nil })
	}},
	{"modify and refuse", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.ModifyJob(ctx, "a", func(*ruqi.Job) error { return errRefused })
	}},
	{"modify to something wrong", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.ModifyJob(ctx, "a", func(job *ruqi.Job) error { job.Policy.CatchupLimit = 1 << 20; return nil })
	}},
	{"modify what is not there", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.ModifyJob(ctx, "z", func(*ruqi.Job) error { return nil })
	}},
	{"pause", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.PauseJob(ctx, "a") }},
	{"pause again", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.PauseJob(ctx, "a") }},
	{"resume", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.ResumeJob(ctx, "a") }},
	{"resume what is not there", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.ResumeJob(ctx, "z") }},
	{"get", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Job(ctx, "b/../c d?#%ü") }},
	{"get what is not there", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Job(ctx, "z") }},
	{"list all", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Jobs(ctx, ruqi.JobQuery{}) }},
	{"list by all filters", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Jobs(ctx, ruqi.JobQuery{
			IDs: []string{"a", "cmd"}, Tags: []string{"x", "z"}, Name: "a", Pool: "default", State: ruqi.JobActive, Search: "A", Sort: ruqi.SortNext, Limit: 5,
		})
	}},
	{"list by version", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Jobs(ctx, ruqi.JobQuery{Version: 1})
	}},
	{"list page by page", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		var ids []string
		query := ruqi.JobQuery{Limit: 1}
		for {
			page, err := ops.Jobs(ctx, query)
			if err != nil {
				return nil, err
			}
			for _, job := range page.Jobs {
				ids = append(ids, job.ID)
			}
			if page.Next == "" {
				return ids, nil
			}
			query.Cursor = page.Next
		}
	}},
	{"list from a wrong cursor", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Jobs(ctx, ruqi.JobQuery{Cursor: "wrong"})
	}},
	{"run, wait and read", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		run, err := ops.RunNow(ctx, "a", json.RawMessage(`{"Name":"two"}`))
		if err != nil {
			return nil, err
		}
		if run, err = ops.WaitRun(ctx, run.ID); err != nil {
			return nil, err
		}
		part, err := ops.Output(ctx, run.ID, 1, 100)
		return []any{run, part}, err
	}},
	{"run a command", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		run, err := ops.RunNow(ctx, "cmd", nil)
		if err != nil {
			return nil, err
		}
		return ops.WaitRun(ctx, run.ID)
	}},
	{"run what is not there", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.RunNow(ctx, "z", nil) }},
	{"run with wrong params", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.RunNow(ctx, "a", json.RawMessage(`[1]`))
	}},
	{"run with params that its function does not take", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.RunNow(ctx, "a", json.RawMessage(`{"Name":7,"b/c":[]}`))
	}},
	{"a run that tells", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("tells")
		spec.Task = ruqi.Call("tell", map[string]int{"N": 1})
		if _, _, err := ops.AddJob(ctx, spec, ""); err != nil {
			return nil, err
		}
		run, err := ops.RunNow(ctx, "tells", json.RawMessage(`{"N":2}`))
		if err != nil {
			return nil, err
		}
		run, err = ops.WaitRun(ctx, run.ID)
		if want := `{"n":2,"text":"<&>\u2028\u0000"}`; string(run.Result) != want {
			return nil, fmt.Errorf("the result is %s, want %s", run.Result, want)
		}
		return run, err
	}},
	{"cancel", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("waits")
		spec.Task = ruqi.Call("wait", nil)
		if _, _, err := ops.AddJob(ctx, spec, ""); err != nil {
			return nil, err
		}
		run, err := ops.RunNow(ctx, "waits", nil)
		if err != nil {
			return nil, err
		}
		if _, err := ops.CancelRun(ctx, run.ID, "tester"); err != nil {
			return nil, err
		}
		run, err = ops.WaitRun(ctx, run.ID)
		return run.State, err
	}},
	{"cancel what has ended", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.CancelRun(ctx, 1, "tester") }},
	{"cancel what is not there", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.CancelRun(ctx, 4711, "tester") }},
	{"find a run", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.FindRun(ctx, 1) }},
	{"find no run", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.FindRun(ctx, 4711) }},
	{"output of no run", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Output(ctx, 4711, 0, 10) }},
	{"output up to the most there is at once", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Output(ctx, 1, 0, 0)
	}},
	{"more jobs than a page has", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Jobs(ctx, ruqi.JobQuery{Limit: ruqi.MaxPage + 1})
	}},
	{"more runs than a page has", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Runs(ctx, ruqi.RunQuery{Job: "a", Limit: math.MaxInt32})
	}},
	{"cancel a run that has ended by itself", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		run, err := ops.RunNow(ctx, "a", nil)
		if err != nil {
			return nil, err
		}
		if run, err = ops.WaitRun(ctx, run.ID); err != nil {
			return nil, err
		}
		_, err = ops.CancelRun(ctx, run.ID, "tester")
		if !errors.Is(err, ruqi.ErrEnded) {
			return nil, fmt.Errorf("an ended run is cancelled: %w", err)
		}
		return ops.FindRun(ctx, run.ID)
	}},
	{"list runs", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		return ops.Runs(ctx, ruqi.RunQuery{
			IDs: []int64{1, 2, 3}, Job: "a", Name: "a", States: []ruqi.RunState{ruqi.RunSucceeded, ruqi.RunFailed},
			Causes: []ruqi.Cause{ruqi.CauseManual}, From: &from, To: &to, Limit: 10,
		})
	}},
	{"list the newest by offset", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Jobs(ctx, ruqi.JobQuery{Sort: ruqi.SortNewest, Offset: 1, Limit: 2})
	}},
	{"list from a negative offset", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.Jobs(ctx, ruqi.JobQuery{Offset: -1})
	}},
	{"list from an offset and a cursor", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		page, err := ops.Jobs(ctx, ruqi.JobQuery{Limit: 1})
		if err != nil || page.Next == "" {
			return nil, errors.Join(err, errors.New("there is one page alone"))
		}
		return ops.Jobs(ctx, ruqi.JobQuery{Offset: 1, Cursor: page.Next})
	}},
	{"runs that were executed", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		page, err := ops.Runs(ctx, ruqi.RunQuery{Executed: true, Job: "a", Offset: 1, Limit: 1})
		if err != nil || page.Total == nil || *page.Total < 2 {
			return nil, fmt.Errorf("a page without a total of at least 2: %+v, %w", page, err)
		}
		return []any{page, *page.Total}, nil
	}},
	{"runs without a total", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		page, err := ops.Runs(ctx, ruqi.RunQuery{Executed: true, Job: "a", Causes: []ruqi.Cause{ruqi.CauseManual}})
		return page.Total == nil, err
	}},
	{"add a job that runs on start", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("on start")
		spec.Trigger, spec.Policy.RunOnStart = trigger.Crontab("@reboot"), true
		_, _, err := ops.AddJob(ctx, spec, "")
		if err != nil {
			return nil, err
		}
		job, err := ops.Job(ctx, "on start")
		if err == nil && (!job.Policy.RunOnStart || job.State != ruqi.JobActive || job.NextDue != nil) {
			err = fmt.Errorf("it is %+v", job)
		}
		return job, err
	}},
	{"list jobs that run on start", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		page, err := ops.Jobs(ctx, ruqi.JobQuery{OnStart: true})
		if err == nil && len(page.Jobs) != 1 {
			err = fmt.Errorf("there are %d", len(page.Jobs))
		}
		return page, err
	}},
	{"remove those", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.RemoveJobs(ctx, ruqi.JobQuery{OnStart: true})
	}},
	{"a trigger for starts alone", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("never")
		spec.Trigger = trigger.Crontab("@reboot")
		_, _, err := ops.AddJob(ctx, spec, "")
		return nil, err
	}},
	{"write a calendar", putCalendar("holidays", `{"dates":["2027-01-04","2027-01-01"]}`, ruqi.NoVersion)},
	{"write what it is already", putCalendar("holidays", `{"dates":["2027-01-01","2027-01-04"]}`, ruqi.AnyVersion)},
	{"write it as if it were new", putCalendar("holidays", `{}`, ruqi.NoVersion)},
	{"write it at another version", putCalendar("holidays", `{}`, 7)},
	{"write one that is not there at a version", putCalendar("none", `{}`, 7)},
	{"write it at its version", putCalendar("holidays", `{"yearly":["--12-25"]}`, 1)},
	{"write another", putCalendar("节假日", `{"weekdays":["sat","sun"]}`, ruqi.AnyVersion)},
	{"write a wrong one", putCalendar("a b", `{"dates":["2026-13-01"],"x":1}`, ruqi.AnyVersion)},
	{"find it", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return noTime(ops.(ruqi.CalendarOperations).FindCalendar(ctx, "节假日"))
	}},
	{"find none", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return noTime(ops.(ruqi.CalendarOperations).FindCalendar(ctx, "none"))
	}},
	{"list calendars page by page", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		var all []any
		after := ""
		for {
			page, err := ops.(ruqi.CalendarOperations).ListCalendars(ctx, after, 1)
			if err != nil {
				return nil, err
			}
			for _, c := range page.Calendars {
				shown, _ := noTime(c, nil)
				all = append(all, shown)
			}
			if after = page.Next; after == "" {
				return all, nil
			}
		}
	}},
	{"a job that uses one", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		spec := yearly("uses")
		var err error
		if spec.Trigger, err = usesHolidays(); err != nil {
			return nil, err
		}
		return add(ctx, ops, spec, "")
	}},
	{"the job as it is", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Job(ctx, "uses") }},
	{"modify the job", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.ModifyJob(ctx, "uses", func(job *ruqi.Job) error { job.Description = "x"; return nil })
	}},
	{"remove a calendar that is used", removeCalendar("holidays", ruqi.AnyVersion)},
	{"remove one at another version", removeCalendar("节假日", 1)},
	{"remove one", removeCalendar("节假日", ruqi.AnyVersion)},
	{"remove it again", removeCalendar("节假日", ruqi.AnyVersion)},
	{"status", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.Status(ctx) }},
	{"instances", func(ctx context.Context, ops ruqi.Operations) (any, error) { return ops.(lister).Instances(ctx) }},
	{"wake up", func(ctx context.Context, ops ruqi.Operations) (any, error) { return nil, ops.Wakeup(ctx) }},
	{"remove", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return nil, ops.RemoveJob(ctx, "b/../c d?#%ü")
	}},
	{"remove again", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return nil, ops.RemoveJob(ctx, "b/../c d?#%ü")
	}},
	{"remove by tag", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.RemoveJobs(ctx, ruqi.JobQuery{Tags: []string{"x"}})
	}},
	{"remove all", func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return ops.RemoveJobs(ctx, ruqi.JobQuery{})
	}},
}

// anywhere takes every name of a calendar, whose days the service alone knows.
type anywhere struct{}

func (anywhere) Calendar(string) (*daycal.Calendar, int64, error) { return &daycal.Calendar{}, 0, nil }

// usesHolidays is a trigger that names a calendar, as a program makes it that does not have its days.
func usesHolidays() (ruqi.Trigger, error) {
	registry := newRegistry(anywhere{})
	return registry.DecodeTrigger([]byte(`{"kind":"except","of":{"kind":"cron","expr":"0 9 25,26 12 *","zone":"UTC"},"not":[{"calendar":"holidays"}]}`))
}

func putCalendar(name, days string, version int64) func(context.Context, ruqi.Operations) (any, error) {
	return func(ctx context.Context, ops ruqi.Operations) (any, error) {
		c, added, err := ops.(ruqi.CalendarOperations).PutCalendar(ctx, name, json.RawMessage(days), version)
		shown, err := noTime(c, err)
		return []any{shown, string(added)}, err
	}
}

func removeCalendar(name string, version int64) func(context.Context, ruqi.Operations) (any, error) {
	return func(ctx context.Context, ops ruqi.Operations) (any, error) {
		return nil, ops.(ruqi.CalendarOperations).RemoveCalendar(ctx, name, version)
	}
}

// noTime writes a calendar without its time.
func noTime(c ruqi.Calendar, err error) (any, error) {
	return fmt.Sprintf("%s %d %s %v", c.Name, c.Version, c.Days, c.Updated.IsZero()), err
}

// A lister is what both have beside Operations.
type lister interface {
	Instances(ctx context.Context) (ruqi.InstanceList, error)
}

var errRefused = errors.New("refused by the caller")

func add(ctx context.Context, ops ruqi.Operations, spec ruqi.JobSpec, how ruqi.OnConflict) (any, error) {
	job, added, err := ops.AddJob(ctx, spec, how)
	return []any{job, added}, err
}

func rehearse(ctx context.Context, ops ruqi.Operations, spec ruqi.JobSpec, how ruqi.OnConflict) (any, error) {
	job, added, err := ops.(ruqi.Rehearser).RehearseJob(ctx, spec, how)
	return []any{job, added}, err
}

func TestClientAndSchedulerAnswerAlike(t *testing.T) {
	scheduler, _ := direct(t)
	c := remote(t)
	sentinels := []error{
		ruqi.ErrInvalid, ruqi.ErrNotFound, ruqi.ErrExists, ruqi.ErrVersion, ruqi.ErrInUse, ruqi.ErrClosure, ruqi.ErrEnded, ruqi.ErrUnavailable, errRefused,
	}
	failed := 0
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		want, wantErr := step.do(ctx, scheduler)
		got, gotErr := step.do(ctx, c)
		cancel()
		for _, sentinel := range sentinels {
			if errors.Is(wantErr, sentinel) != errors.Is(gotErr, sentinel) {
				t.Errorf("%s: scheduler: %v; client: %v", step.name, wantErr, gotErr)
			}
		}
		switch {
		case (wantErr == nil) != (gotErr == nil):
			t.Errorf("%s: scheduler: %v; client: %v", step.name, wantErr, gotErr)
		case wantErr != nil:
			failed++
			if wantErr.Error() != gotErr.Error() || !reflect.DeepEqual(faults(wantErr), faults(gotErr)) {
				t.Errorf("%s: scheduler says %q, client %q", step.name, wantErr, gotErr)
			}
		default:
			if w, g := plain(t, want), plain(t, got); w != g {
				t.Errorf("%s:\nscheduler %s\nclient    %s", step.name, w, g)
			}
		}
	}
	if failed < 10 {
		t.Errorf("%d steps failed: the table does not try errors", failed)
	}
}

func faults(err error) []ruqi.Fault {
	var invalid *ruqi.InvalidError
	if errors.As(err, &invalid) {
		return invalid.Faults
	}
	return nil
}

// plain writes an answer without what differs between two stores: times of creation
// and of running, and what was used of the machine.
func plain(t *testing.T, value any) string {
	t.Helper()
	job := func(j ruqi.Job) any {
		j.Created, j.Updated = time.Time{}, time.Time{}
		shape, err := wire.FromJob(j)
		if err != nil {
			t.Fatal(err)
		}
		// Beside the shape the fields themselves, which must not differ by a nil or a zone either.
		return []any{shape, j.NextNominal, j.NextDue, j.Policy, j.ID, j.Name, j.Paused}
	}
	run := func(r ruqi.Run) any {
		r.Nominal, r.Due, r.Started, r.Finished, r.CPU, r.MaxRSS = time.Time{}, time.Time{}, nil, nil, 0, 0
		if len(r.Params) == 0 {
			r.Params = json.RawMessage("{}")
		}
		r.Owner.Epoch = 0
		return r
	}
	switch v := value.(type) {
	case []any:
		parts := make([]string, 0, len(v))
		for _, part := range v {
			parts = append(parts, plain(t, part))
		}
		return strings.Join(parts, "\n")
	case ruqi.Job:
		value = job(v)
	case ruqi.JobPage:
		var all []any
		for _, j := range v.Jobs {
			all = append(all, job(j))
		}
		value = []any{all, v.Next != "", v.Total}
	case ruqi.Run:
		value = run(v)
	case ruqi.RunPage:
		var all []any
		for _, r := range v.Runs {
			all = append(all, run(r))
		}
		value = []any{all, v.Next != ""}
	case ruqi.OutputPart:
		value = fmt.Sprintf("%d %q %v", v.At, v.Bytes, v.Ended)
	case ruqi.InstanceList:
		for i := range v.Instances {
			in := &v.Instances[i]
			if in.LeaseUntil.Sub(in.Beat) != in.Lease || v.Now.Before(in.Beat) || v.Now.Location() != time.UTC {
				t.Errorf("at %s there is an instance with a lease of %s from %s to %s", v.Now, in.Lease, in.Beat, in.LeaseUntil)
			}
			in.Started, in.Beat, in.LeaseUntil, in.ClockOffset = time.Time{}, time.Time{}, time.Time{}, nil
		}
		value = v.Instances
	case ruqi.Status:
		v.CheckTime, v.NextWakeup = nil, nil
		maps.DeleteFunc(v.Jobs, func(_ ruqi.JobState, n int64) bool { return n == 0 }) // none is none
		value = v
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
