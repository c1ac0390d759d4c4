package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/wire"
)

func newRegistry() *ruqi.Registry {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	command.Register(registry, command.Options{})
	return registry
}

func parse(t *testing.T, kind, text string, o trigger.ParseOptions) ruqi.Trigger {
	t.Helper()
	parsed, err := trigger.Parse(kind, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// full is a job in which nothing is at its default.
func full(t *testing.T) ruqi.Job {
	no, grace := false, 30*time.Second
	at := time.Date(2026, 12, 1, 1, 30, 0, 123456000, time.UTC)
	due := at.Add(time.Second)
	return ruqi.Job{
		JobSpec: ruqi.JobSpec{
			ID: "a/b", Name: "name", Description: "text",
			Trigger:  parse(t, "cron", "30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Start: "2026-01-01", End: "2030-01-01", Gap: "skip", Fold: "both"}),
			Task:     command.Argv("make", "report"),
			Executor: "command", Priority: -3, Labels: map[string]string{"k": "v"}, Tags: []string{"x", "y"}, Params: json.RawMessage(`{"n":1}`),
			Policy: ruqi.Policy{
				Coalesce: &no, MisfireGrace: &grace, CatchupLimit: 7, MaxInstances: 2, Overlap: ruqi.OverlapSkip, Timeout: 90 * time.Minute,
				KillGrace: 5 * time.Second, OnLost: ruqi.LostRerun, Jitter: 2 * time.Second, MaxRuns: 9, DeleteWhenFinished: true,
				Retry: &ruqi.Retry{Max: 3, Delay: time.Second, Backoff: ruqi.BackoffLinear, MaxDelay: time.Minute},
			},
		},
		State: ruqi.JobPaused, StateReason: "by hand", Parked: "nobody runs it", NextNominal: &at, NextDue: &due,
		RunCount: 12, Version: 3, Created: at, Updated: due,
	}
}

func TestADefinitionHasTheMembersThatTheRegistryWrites(t *testing.T) {
	registry := newRegistry()
	job := full(t)
	written, err := registry.EncodeJob(job.JobSpec)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := wire.FromSpec(job.JobSpec)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(shape)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(written, &a), json.Unmarshal(shown, &b)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the registry writes\n%s\nand the API shows\n%s", written, shown)
	}
}

func TestAJobComesBackAsItWas(t *testing.T) {
	registry := newRegistry()
	for name, job := range map[string]ruqi.Job{"full": full(t), "plain": {
		JobSpec: ruqi.JobSpec{ID: "x", Name: "x", Trigger: parse(t, "interval", "90s", trigger.ParseOptions{}), Task: command.Shell("true")}, State: ruqi.JobActive, Version: 1,
	}} {
		shape, err := wire.FromJob(job)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(shape)
		if err != nil {
			t.Fatal(err)
		}
		var read wire.Job
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		back, err := read.Job(registry)
		if err != nil {
			t.Fatal(err)
		}
		again, err := wire.FromJob(back)
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(second) != string(text) {
			t.Errorf("%s: %v\n%s\n%s", name, err, text, second)
		}
		if strings.Contains(string(text), `"tags":null`) || strings.Contains(string(text), `"labels":null`) {
			t.Errorf("%s: a list or an object that is null: %s", name, text)
		}
	}
}

func TestTimesAreShownInTheTriggersZoneToTheMicrosecond(t *testing.T) {
	job := full(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if job.Trigger, err = job.Trigger.(ruqi.Binder).Bind(berlin, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	shape, err := wire.FromJob(job)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(shape)
	if err != nil || !strings.Contains(string(text), `"next_nominal_time":"2026-12-01T02:30:00.123456+01:00"`) {
		t.Errorf("%v: %s", err, text)
	}
	if !strings.Contains(string(text), `"created_at":"2026-12-01T01:30:00.123456Z"`) || !strings.Contains(string(text), `"updated_at":"2026-12-01T01:30:01.123456Z"`) {
		t.Errorf("when a row was written is no matter of the trigger's zone: %s", text)
	}
	old := time.Date(1850, 1, 1, 0, 0, 0, 0, berlin) // local mean time, +00:53:28
	if got := wire.FormatTime(old, berlin); got != "1849-12-31T23:06:32Z" {
		t.Errorf("a zone with seconds is shown as %s", got)
	}
	for _, text := range []string{"", "now", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z"} {
		if _, err := wire.ParseTime(text); err == nil {
			t.Errorf("%q is taken for a time", text)
		}
	}
}

func TestARunComesBackAsItWas(t *testing.T) {
	at := time.Date(2026, 12, 1, 1, 30, 0, 123456000, time.UTC)
	code, progress := 7, 0.5
	for name, run := range map[string]ruqi.Run{
		"full": {
			ID: 4711, ParentID: 4700, Attempt: 2, JobID: "a/b", JobName: "n", Task: "make", Cause: ruqi.CauseRetry, State: ruqi.RunFailed, Reason: "exit status 7",
			Nominal: at, Due: at, Started: &at, Finished: &at, Coalesced: 3, CoalescedFrom: &at, Batch: 5, Owner: ruqi.Owner{Instance: "h:1", Epoch: 9},
			CancelBy: "me", Params: json.RawMessage(`{"n":1}`), Result: json.RawMessage(`1`), Progress: &progress, ProgressText: "half", ExitCode: &code, Signal: "killed",
			OutputBytes: 10, OutputCut: true, CPU: 120 * time.Millisecond, MaxRSS: 4096,
		},
		"plain": {ID: 1, Attempt: 1, JobID: "x", Cause: ruqi.CauseSchedule, State: ruqi.RunMissed, Nominal: at, Due: at, Params: json.RawMessage(`{}`)},
	} {
		text, err := json.Marshal(wire.FromRun(run))
		if err != nil {
			t.Fatal(err)
		}
		var read wire.Run
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if back := read.Run(); !reflect.DeepEqual(back, run) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, back, run)
		}
	}
}

func TestInstancesComeBackAsTheyWere(t *testing.T) {
	at := time.Date(2026, 12, 1, 1, 30, 0, 123456000, time.UTC)
	offset := -3 * time.Millisecond
	list := ruqi.InstanceList{Now: at.Add(time.Second), Instances: []ruqi.Instance{
		{
			Owner: ruqi.Owner{Instance: "a", Epoch: 7}, Started: at.Add(-time.Hour), Beat: at, LeaseUntil: at.Add(15 * time.Second), Lease: 15 * time.Second,
			Slots: map[string]int{"default": 64}, Needs: []string{"command"}, State: "running", Release: "v1", Zones: "z", ClockOffset: &offset,
		},
		{Owner: ruqi.Owner{Instance: "b", Epoch: 8}, Started: at, Beat: at, LeaseUntil: at, State: ruqi.InstanceLost, Slots: map[string]int{}, Needs: []string{}},
	}}
	text, err := json.Marshal(wire.FromInstances(list))
	if err != nil {
		t.Fatal(err)
	}
	var shape wire.InstanceList
	if err := json.Unmarshal(text, &shape); err != nil {
		t.Fatal(err)
	}
	if got := shape.Instances(); !reflect.DeepEqual(got, list) {
		t.Errorf("%s\ncame back as %+v\nwant %+v", text, got, list)
	}
	if none := wire.FromInstances(ruqi.InstanceList{}); none.Items == nil || *none.Total != 0 {
		t.Errorf("no instances are %+v", none)
	}
}

func TestAnInstanceTellsItsClockOffsetInMilliseconds(t *testing.T) {
	if got := wire.FromInstance(ruqi.Instance{}).ClockOffsetMS; got != nil {
		t.Errorf("what is not known is shown as %d", *got)
	}
	for offset, want := range map[time.Duration]int64{0: 0, 1499 * time.Microsecond: 1, -1501 * time.Microsecond: -2, time.Hour: 3_600_000} {
		if got := wire.FromInstance(ruqi.Instance{ClockOffset: &offset}).ClockOffsetMS; got == nil || *got != want {
			t.Errorf("%s is shown as %v, want %d", offset, got, want)
		}
	}
}

func TestErrorsGoThroughTheTableAndBack(t *testing.T) {
	for sentinel, status := range map[error]int{
		ruqi.ErrNotFound: 404, ruqi.ErrExists: 409, ruqi.ErrEnded: 409, ruqi.ErrConflict: 409, ruqi.ErrVersion: 412, ruqi.ErrClosure: 422,
		ruqi.ErrInvalid: 422, ruqi.ErrUnavailable: 503, ruqi.ErrLeaseLost: 503, ruqi.ErrShutdown: 503,
	} {
		problem, known := wire.NewProblem(fmt.Errorf("job %q: %w", "x", sentinel))
		if !known || problem.Status != status {
			t.Errorf("%v: %+v, want status %d", sentinel, problem, status)
			continue
		}
		if back := problem.Err(); !errors.Is(back, sentinel) || !strings.Contains(back.Error(), "job \"x\"") {
			t.Errorf("%v came back as %v", sentinel, back)
		}
	}
	if problem, known := wire.NewProblem(errors.New("secret cause")); known {
		t.Errorf("an error nobody knows is told: %+v", problem)
	}
	var problem *wire.Problem
	if err := wire.StatusProblem(http.StatusTeapot, "x").Err(); !errors.As(err, &problem) {
		t.Errorf("%v", err)
	}
}

func TestAPatchLeavesAloneWhatItDoesNotName(t *testing.T) {
	called := false
	job := full(t)
	job.Task = ruqi.Do(func(context.Context) error { called = true; return nil })
	spec, err := wire.Patch(newRegistry(), job, []byte(`{"name":"new"}`))
	if err != nil {
		t.Fatal(err)
	}
	if spec.Name != "new" || spec.Trigger != job.Trigger || spec.Description != job.Description || *spec.Policy.Coalesce {
		t.Errorf("%+v", spec)
	}
	if err := spec.Task.(*ruqi.FuncTask).Closure()(t.Context()); err != nil || !called {
		t.Errorf("the closure is gone: %v", err)
	}
}

// A pool that a job has because of its task is its task's; one that was chosen stays chosen.
func TestAPatchToAnotherKindOfTaskTakesItsPool(t *testing.T) {
	for name, c := range map[string]struct{ pool, patch, want string }{
		"the pool of the kind that was": {"command", `{"task":{"kind":"func","name":"x"}}`, ""},
		"a pool of its own":             {"heavy", `{"task":{"kind":"func","name":"x"}}`, "heavy"},
		"a pool that is given":          {"command", `{"task":{"kind":"func","name":"x"},"executor":"command"}`, "command"},
		"another that is given":         {"command", `{"task":{"kind":"func","name":"x"},"executor":"heavy"}`, "heavy"},
		"the same kind":                 {"command", `{"task":{"kind":"command","env":{"A":"1"}}}`, "command"},
		"no task":                       {"command", `{"priority":7}`, "command"},
	} {
		job := full(t)
		job.Executor = c.pool
		spec, err := wire.Patch(newRegistry(), job, []byte(c.patch))
		if err != nil || spec.Executor != c.want {
			t.Errorf("%s: pool %q, want %q, %v", name, spec.Executor, c.want, err)
		}
	}
}

func TestABodyIsOneObjectOfWholeCharacters(t *testing.T) {
	registry := newRegistry()
	job := full(t)
	for _, text := range []string{
		"", "null", "[]", "1", `"x"`, "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}{}`, `{"a":1} x`, "\xff", `{"a":1}]`,
		"{\"name\":\"\xff\"}", `{"name":"\ud800"}`, `{"labels":{"\udc00":"x"}}`,
	} {
		_, added := wire.DecodeNew(registry, []byte(text))
		_, changed := wire.DecodeDefinition(registry, "x", []byte(text))
		_, patched := wire.Patch(registry, job, []byte(text))
		for what, err := range map[string]error{"added": added, "changed": changed, "patched": patched} {
			problem, known := wire.NewProblem(err)
			if !errors.Is(err, ruqi.ErrInvalid) || !known || problem.Status != http.StatusBadRequest {
				t.Errorf("%s: %q: %v, %+v", what, text, err, problem)
			}
		}
	}
}

func TestWhatStandsTwiceInAPatchIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"a","name":"b"}`:                  "name: given twice",
		`{"policy":{"jitter":"1s","jitter":"2s"}}`: "policy.jitter: given twice",
		`{"params":{"a":[{"b":1,"b":2}]}}`:         "params.a.0.b: given twice",
		`{"state":"paused","state":"paused"}`:      "state: given twice",
	} {
		if _, err := wire.Patch(newRegistry(), full(t), []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzInput(f *testing.F) {
	for _, text := range []string{
		`{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"x"},"state":"paused"}`, `{"policy":{"timeout":null}}`,
		`{"trigger":{"kind":"cron","expr":"0 0 * * *"}}`, `{"version":9}`, `{"labels":null,"tags":["a"]}`, `[]`, `{"a":1}x`,
	} {
		f.Add([]byte(text))
	}
	registry := newRegistry()
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := wire.DecodeNew(registry, data); err != nil && !errors.Is(err, ruqi.ErrInvalid) {
			t.Fatalf("new: %v", err)
		}
		job := ruqi.Job{JobSpec: ruqi.JobSpec{ID: "x", Trigger: mustParse(), Task: command.Shell("x")}, Version: 1}
		if _, err := wire.Patch(registry, job, data); err != nil && !errors.Is(err, ruqi.ErrInvalid) {
			t.Fatalf("patch: %v", err)
		}
	})
}

func mustParse() ruqi.Trigger {
	parsed, err := trigger.Parse("interval", "1h", trigger.ParseOptions{})
	if err != nil {
		panic(err)
	}
	return parsed
}

func TestAPatchOfATriggerKeepsWhatStillFits(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	bound := func(kind, text string, o trigger.ParseOptions) ruqi.Trigger {
		bound, err := parse(t, kind, text, o).(ruqi.Binder).Bind(berlin, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), "x")
		if err != nil {
			t.Fatal(err)
		}
		return bound
	}
	spanned := trigger.ParseOptions{Zone: "Europe/Berlin", Start: "2026-12-01", End: "2027-01-01"}
	for name, c := range map[string]struct {
		old   ruqi.Trigger
		patch string
		want  map[string]any // members; nil: null
	}{
		"a start takes the place of the anchor": {
			bound("interval", "1h", trigger.ParseOptions{}), `{"start":"2026-12-01T00:00:00Z"}`, map[string]any{"every": "1h", "anchor": nil, "start": "2026-12-01T01:00:00+01:00"},
		},
		"without its start an interval is to be anchored anew": {
			bound("interval", "1h", spanned), `{"start":null}`, map[string]any{"anchor": nil, "start": nil, "end": "2027-01-01T00:00:00+01:00"},
		},
		"another length leaves the anchor": {
			bound("interval", "1h", trigger.ParseOptions{}), `{"every":"2h"}`, map[string]any{"every": "2h", "anchor": "2026-11-01T01:00:00+01:00"},
		},
		"cron after interval keeps zone, start and end": {
			bound("interval", "1h", spanned), `{"kind":"cron","expr":"0 3 * * *"}`,
			map[string]any{"kind": "cron", "zone": "Europe/Berlin", "start": "2026-12-01T00:00:00+01:00", "end": "2027-01-01T00:00:00+01:00"},
		},
		"interval after cron keeps them too, and no dialect": {
			bound("cron", "0 3 * * *", spanned), `{"kind":"interval","every":"1h"}`, map[string]any{"kind": "interval", "zone": "Europe/Berlin", "start": "2026-12-01T00:00:00+01:00"},
		},
		"a date has a zone alone": {
			bound("cron", "0 3 * * *", spanned), `{"kind":"date","at":"2026-12-24T18:00:00"}`, map[string]any{"kind": "date", "zone": "Europe/Berlin", "at": "2026-12-24T18:00:00+01:00"},
		},
		"what the change takes away is gone": {
			bound("interval", "1h", spanned), `{"kind":"cron","expr":"0 3 * * *","end":null}`, map[string]any{"start": "2026-12-01T00:00:00+01:00", "end": nil},
		},
		"words after cron keep zone, start and end": {
			bound("cron", "0 3 * * *", spanned), `{"kind":"every","text":"every monday at 13:15"}`,
			map[string]any{"kind": "every", "zone": "Europe/Berlin", "start": "2026-12-01T00:00:00+01:00", "end": "2027-01-01T00:00:00+01:00"},
		},
		"a calendar after words keeps them too": {
			bound("every", "every monday at 13:15", spanned), `{"kind":"calendar","days":2}`,
			map[string]any{"kind": "calendar", "days": 2.0, "zone": "Europe/Berlin", "start": "2026-12-01", "end": "2027-01-01"},
		},
		"other words have no use for anchor and seed": {
			bound("every", "every 5 to 10 minutes", trigger.ParseOptions{}), `{"text":"every weekday"}`, map[string]any{"text": "every weekday at 00:00", "anchor": nil, "seed": nil},
		},
		"other bounds of a random interval leave them": {
			bound("every", "every 5 to 10 minutes", trigger.ParseOptions{}), `{"text":"every 1 to 2 hours"}`, map[string]any{"anchor": "2026-11-01T01:00:00+01:00", "seed": "x"},
		},
		"an end in the words takes the place of the end": {
			bound("every", "every monday at 13:15", spanned), `{"text":"every monday at 13:15 UNTIL 2028-01-01"}`, map[string]any{"start": "2026-12-01", "end": "2028-01-01"},
		},
		"words without an end leave it": {
			bound("every", "every monday at 13:15", spanned), `{"text":"every tuesday"}`, map[string]any{"text": "every tuesday at 00:00", "end": "2027-01-01"},
		},
		"a start takes the place of a calendar's anchor": {
			bound("calendar", "days=2", trigger.ParseOptions{}), `{"start":"2026-12-01"}`, map[string]any{"anchor": nil, "start": "2026-12-01"},
		},
	} {
		job := full(t)
		job.Trigger = c.old
		spec, err := wire.Patch(newRegistry(), job, []byte(`{"trigger":`+c.patch+`}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := spec.Trigger.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for member, want := range c.want {
			if got[member] != want {
				t.Errorf("%s: %s is %v, want %v: %s", name, member, got[member], want, text)
			}
		}
	}
}

func TestANewJobHasAnIDOrLeavesItOut(t *testing.T) {
	for text, want := range map[string]string{`{"id":""}`: "empty", `{"id":null}`: "", `{}`: "", `{"id":"x"}`: ""} {
		_, err := wire.DecodeNew(newRegistry(), []byte(text))
		var invalid *ruqi.InvalidError
		said := ""
		if errors.As(err, &invalid) {
			for _, f := range invalid.Faults {
				if f.Pointer == "/id" {
					said = f.Message
				}
			}
		}
		if !strings.HasPrefix(said, want) || want == "" && said != "" {
			t.Errorf("%s: said of the id %q, want %q", text, said, want)
		}
	}
}
