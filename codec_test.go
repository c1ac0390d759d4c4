package ruqi_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

func codecRegistry() *ruqi.Registry {
	registry := newRegistry()
	command.Register(registry, command.Options{})
	return registry
}

// Definitions written by a release are kept as files and must load for ever; what they
// are written as now is the same text, or the next version has its own file.
func TestStoredDefinitionsLoadForEver(t *testing.T) {
	files, err := filepath.Glob("testdata/definition-v*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions are kept: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var kept []json.RawMessage
			if err := json.Unmarshal(data, &kept); err != nil {
				t.Fatal(err)
			}
			registry, store := codecRegistry(), memory.Open(memory.Options{})
			s := newScheduler(t, store, registry, ruqi.Options{})
			for n, one := range kept {
				_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"kept"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
					return ruqi.Change{Job: &ruqi.JobRecord{ID: "kept", State: ruqi.JobPaused, Pool: "p", Needs: "command", MaxInstances: 1, Version: int64(n + 1), Spec: one}}
				})
				if err != nil {
					t.Fatal(err)
				}
				job, err := s.Job(t.Context(), "kept")
				if err != nil || strings.Contains(job.Parked, "cannot be read") {
					t.Errorf("%s\ndoes not load: %v %s", one, err, job.Parked)
					continue
				}
				var row struct {
					ID, Name, Executor string
					Tags               []string
					Priority           int
				}
				if err := json.Unmarshal(one, &row); err != nil {
					t.Fatal(err)
				}
				spec := job.JobSpec // what a row keeps in columns of its own stands there, not in the definition
				spec.ID, spec.Name, spec.Executor, spec.Tags, spec.Priority = row.ID, row.Name, row.Executor, row.Tags, row.Priority
				again, err := registry.EncodeJob(spec)
				if err != nil {
					t.Fatal(err)
				}
				if want, got := compact(t, one), compact(t, again); want != got {
					t.Errorf("loaded and written again it changed\n got %s\nwant %s", got, want)
				}
			}
		})
	}
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "v") // written into stored rows alone
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestDecodeJobNamesEveryFault(t *testing.T) {
	registry := codecRegistry()
	cases := map[string]struct {
		text string
		want []string
	}{
		"not an object":       {`[]`, []string{""}},
		"null":                {`null`, []string{""}},
		"more than one value": {`{} {}`, []string{""}},
		"unknown members":     {`{"idd":"x","policy":{"overlapp":"skip"}}`, []string{"/idd", "/policy/overlapp"}},
		"wrong types": {`{"id":7,"tags":"a","labels":{"a":1},"params":[],"priority":"high","policy":{"coalesce":"yes","timeout":5,"max_runs":1.5,"misfire_grace":"soon"}}`,
			[]string{"/id", "/labels/a", "/params", "/policy/coalesce", "/policy/max_runs", "/policy/misfire_grace", "/policy/timeout", "/priority", "/tags"}},
		"faults of the parts": {`{"trigger":{"kind":"cron","expr":"61 * * * *"},"task":{"kind":"command"}}`, []string{"/task/command", "/trigger/expr"}},
		"zeros that would mean a default": {`{"policy":{"catchup_limit":0,"kill_grace":"0s","max_instances":0,"max_runs":0,"timeout":"0s"}}`,
			[]string{"/policy/catchup_limit", "/policy/kill_grace", "/policy/max_instances", "/policy/max_runs", "/policy/timeout"}},
		"values out of range beside one of a wrong type": {`{"id":"..","name":7,"priority":2000000,"tags":[""],"params":{"a":"\u0000"},"policy":{"max_instances":1001,"jitter":"401d","overlap":"often","retry":{"max":101}}}`,
			[]string{"/id", "/name", "/params/a", "/policy/jitter", "/policy/max_instances", "/policy/overlap", "/policy/retry/max", "/priority", "/tags/0"}},
		"a limit beside none": {`{"policy":{"max_instances":3,"overlap":"allow"}}`, []string{"/policy/max_instances"}},
		"unknown kinds":       {`{"trigger":{"kind":"moon"},"task":{"kind":"mail"}}`, []string{"/task/kind", "/trigger/kind"}},
		"a version":           {`{"v":1}`, []string{"/v"}},
		"missing kinds":       {`{"trigger":{},"task":{}}`, []string{"/task/kind", "/trigger/kind"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := registry.DecodeJob([]byte(c.text))
			var invalid *ruqi.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("%s gives %v", c.text, err)
			}
			var got []string
			for _, f := range invalid.Faults {
				got = append(got, f.Pointer)
				if f.Message == "" {
					t.Errorf("the fault of %q says nothing", f.Pointer)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("%s\n got %q\nwant %q (%v)", c.text, got, c.want, err)
			}
		})
	}
}

// The arguments of a function are any JSON that a program passes to Call; a row that was kept must be read still.
func TestOddArgumentsThatWereKeptAreReadStill(t *testing.T) {
	for _, args := range []string{`{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}"} {
		registry, store := codecRegistry(), memory.Open(memory.Options{})
		ruqi.Func(registry, "takes", func(context.Context, map[string]any) error { return nil })
		kept := []byte(`{"v":1,"trigger":{"kind":"cron","expr":"0 3 * * *"},"task":{"kind":"func","name":"takes","args":` + args + `}}`)
		_, _, err := store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"x"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
			return ruqi.Change{Job: &ruqi.JobRecord{ID: "x", State: ruqi.JobPaused, Pool: "p", Needs: "func:takes", MaxInstances: 1, Version: 1, Spec: kept}}
		})
		if err != nil {
			t.Fatal(err)
		}
		job, err := newScheduler(t, store, registry, ruqi.Options{}).Job(t.Context(), "x")
		if err != nil || strings.Contains(job.Parked, "cannot be read") {
			t.Errorf("%s: %v, %s", args, err, job.Parked)
		}
		text := []byte(`{"task":{"kind":"func","name":"takes","args":` + args + `}}`)
		if _, err := registry.DecodeJob(text); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("%s: taken from a user: %v", args, err)
		}
	}
}

// loose is an executor that reads its tasks with encoding/json alone.
type loose struct{ ruqi.Executor }

func (loose) Kind() string    { return "loose" }
func (loose) Needs() []string { return nil }
func (loose) Decode(data []byte) (ruqi.Task, error) {
	return nil, json.Unmarshal(data, &struct{}{})
}

func TestWhatStandsTwiceIsToldOnceWhoeverReadsIt(t *testing.T) {
	registry := codecRegistry()
	registry.RegisterExecutor(loose{})
	for text, want := range map[string]string{
		`{"task":{"kind":"loose","to":{"a":1,"a":2}}}`:                           "task.to.a: given twice",
		`{"task":{"kind":"command","command":"x","env":{"A":"1","A":"2"}}}`:      "task.env.A: given twice",
		`{"trigger":{"kind":"cron","expr":"0 3 * * *","zone":null,"zone":null}}`: "trigger.zone: given twice",
	} {
		if _, err := registry.DecodeJob([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// typed is a trigger and a task whose decoders return a nil of their type beside their error.
type typed struct{ ruqi.Executor }

func (typed) Kind() string    { return "typed" }
func (typed) Needs() []string { return nil }
func (typed) Decode([]byte) (ruqi.Task, error) {
	var none *typedTask
	return none, ruqi.Invalid("/x", "", "wrong")
}

type (
	typedTask    struct{ ruqi.Task }
	typedTrigger struct{ ruqi.Trigger }
)

// A part that could not be read is none, whatever its decoder returns beside the error: who looks for a part asks for nil.
func TestAPartThatCannotBeReadIsNone(t *testing.T) {
	registry := codecRegistry()
	registry.RegisterExecutor(typed{})
	registry.RegisterTrigger("typed", func([]byte) (ruqi.Trigger, error) {
		var none *typedTrigger
		return none, ruqi.Invalid("/x", "", "wrong")
	})
	spec, err := registry.DecodeJob([]byte(`{"trigger":{"kind":"typed","x":1},"task":{"kind":"typed","x":1}}`))
	if spec.Trigger != nil || spec.Task != nil || err == nil || err.Error() != "trigger.x: wrong; task.x: wrong" {
		t.Errorf("%#v and %#v, %v", spec.Trigger, spec.Task, err)
	}
}

func FuzzDecodeJob(f *testing.F) {
	data, err := os.ReadFile("testdata/definition-v1.json")
	if err != nil {
		f.Fatal(err)
	}
	var kept []json.RawMessage
	if err := json.Unmarshal(data, &kept); err != nil {
		f.Fatal(err)
	}
	for _, one := range kept {
		f.Add([]byte(one))
	}
	registry := codecRegistry()
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := registry.DecodeJob(data)
		if err != nil {
			if !errors.Is(err, ruqi.ErrInvalid) {
				t.Fatalf("an error that is no fault of the input: %v", err)
			}
			return
		}
		if spec.Trigger == nil || spec.Task == nil {
			return // told when the job is added
		}
		first, err := registry.EncodeJob(spec)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := registry.DecodeJob(first)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		second, err := registry.EncodeJob(again)
		if err != nil || string(first) != string(second) {
			t.Fatalf("a round trip changes it: %v\n%s\n%s", err, first, second)
		}
	})
}
