package ruqi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

type mail struct {
	To    string            `json:"to"`
	Times int               `json:"times"`
	Opts  map[string]string `json:"opts"`
	Inner struct {
		N int `json:"n"`
	} `json:"inner"`
}

// mailRegistry has functions that tell what they got by calling got.
func mailRegistry(got func(string)) *ruqi.Registry {
	r := newRegistry()
	tell := func(ctx context.Context, args any) error {
		run, _ := ruqi.CurrentRun(ctx)
		got(fmt.Sprintf("%+v %s", args, run.Params))
		return nil
	}
	ruqi.Func(r, "mail", func(ctx context.Context, m mail) error { return tell(ctx, m) })
	ruqi.Func(r, "pointer", func(ctx context.Context, m *mail) error { return tell(ctx, *m) })
	ruqi.Func(r, "map", func(ctx context.Context, m map[string]int) error { return tell(ctx, m) })
	ruqi.Func(r, "bare", func(ctx context.Context, m struct{}) error { return tell(ctx, m) })
	ruqi.Func(r, "hidden", func(ctx context.Context, m struct{ n int }) error { return tell(ctx, m) })
	ruqi.Func(r, "number", func(ctx context.Context, n int) error { return tell(ctx, n) })
	ruqi.Func(r, "any", func(ctx context.Context, v any) error { return tell(ctx, v) })
	return r
}

func TestParamsAreLaidOverArguments(t *testing.T) {
	for _, c := range []struct{ fn, args, params, want string }{
		{"mail", `{"to":"a","times":2}`, ``, "{To:a Times:2 Opts:map[] Inner:{N:0}} "},
		{"mail", `{"to":"a","times":2}`, `{}`, "{To:a Times:2 Opts:map[] Inner:{N:0}} {}"},
		{"mail", `{"to":"a","times":2}`, `{"times":3}`, `{To:a Times:3 Opts:map[] Inner:{N:0}} {"times":3}`},
		{"mail", `{"To":"a","to":"b"}`, `{"TO":"c"}`, `{To:c Times:0 Opts:map[] Inner:{N:0}} {"TO":"c"}`},
		{"mail", `{"to":"a"}`, `{"to":null}`, `{To: Times:0 Opts:map[] Inner:{N:0}} {"to":null}`},
		{"mail", `{"opts":{"a":"1"},"inner":{"n":1}}`, `{"opts":{"b":"2"},"inner":{}}`, `{To: Times:0 Opts:map[b:2] Inner:{N:0}} {"opts":{"b":"2"},"inner":{}}`},
		{"mail", ``, `{"to":"a"}`, `{To:a Times:0 Opts:map[] Inner:{N:0}} {"to":"a"}`},
		{"mail", `null`, `{"to":"a"}`, `{To:a Times:0 Opts:map[] Inner:{N:0}} {"to":"a"}`},
		{"pointer", `{"to":"a"}`, `{"to":"b"}`, `{To:b Times:0 Opts:map[] Inner:{N:0}} {"to":"b"}`},
		{"map", `{"a":1,"A":2}`, `{"A":3,"c":4}`, `map[A:3 a:1 c:4] {"A":3,"c":4}`},
		{"bare", `{}`, `{"any":1}`, `{} {"any":1}`},
		{"hidden", `{}`, `{"n":1}`, `{n:0} {"n":1}`},
		{"number", `5`, `{"n":1}`, `5 {"n":1}`},
		{"any", `{"a":1}`, `{"b":2}`, `map[a:1] {"b":2}`},
	} {
		var got string
		r := mailRegistry(func(s string) { got = s })
		e, _ := r.Executor("func")
		var args any
		if c.args != "" {
			args = json.RawMessage(c.args)
		}
		result := e.Execute(t.Context(), ruqi.Call(c.fn, args), ruqi.Execution{Run: &ruqi.Run{Params: json.RawMessage(c.params)}})
		if result.Err != nil || got != c.want {
			t.Errorf("%s(%s) with %s got %s, %v; want %s", c.fn, c.args, c.params, got, result.Err, c.want)
		}
	}
}

// badParams are what functions do not take, with the pointers of the faults.
var badParams = []struct{ fn, params, pointers, reason string }{
	{"mail", `{"cc":"x","to":"y"}`, "/params/cc", `function "mail" does not take it: json: unknown field "cc"`},
	{"mail", `{"a/b":1,"times":"3","inner":{"n":"1"}}`, "/params/a~1b /params/inner/n /params/times", `function "mail" expects int here, not string`},
	{"mail", `{"to":1}`, "/params/to", `function "mail" expects string here, not number`},
	{"map", `{"a":"x"}`, "/params/a", "cannot unmarshal string into"},
}

func TestParamsThatAFunctionDoesNotTakeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		w.s = newScheduler(t, w.store, mailRegistry(func(string) {}), ruqi.Options{})
		w.start()
		defer w.stop()
		spec := func(fn, params string) ruqi.JobSpec {
			return ruqi.JobSpec{ID: fn, Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call(fn, nil), Params: json.RawMessage(params)}
		}
		for _, fn := range []string{"mail", "map"} {
			w.add(spec(fn, ""))
		}
		for _, c := range badParams {
			_, err := w.s.RunNow(t.Context(), c.fn, json.RawMessage(c.params))
			wantPointers(t, "run "+c.fn+" now with "+c.params, err, c.pointers, c.reason)
			bad := spec(c.fn, c.params)
			_, _, err = w.s.AddJob(t.Context(), bad, ruqi.Replace)
			wantPointers(t, "add "+c.fn+" with "+c.params, err, c.pointers, c.reason)
		}
		if all := runs(t, w.s, "mail"); len(all) != 0 {
			t.Errorf("there are runs: %+v", all)
		}
		if _, err := w.s.RunNow(t.Context(), "mail", json.RawMessage(`{"to":"x"}`)); err != nil {
			t.Error(err)
		}
	})
}

func wantPointers(t *testing.T, what string, err error, pointers, reason string) {
	t.Helper()
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("%s: %v", what, err)
		return
	}
	var got []string
	for _, f := range invalid.Faults {
		got = append(got, f.Pointer)
	}
	if strings.Join(got, " ") != pointers || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: the faults are at %q: %v", what, got, err)
	}
}

func TestARunWithParamsThatItsFunctionDoesNotTakeFails(t *testing.T) {
	for _, c := range badParams {
		called := false
		e, _ := mailRegistry(func(string) { called = true }).Executor("func")
		result := e.Execute(t.Context(), ruqi.Call(c.fn, nil), ruqi.Execution{Run: &ruqi.Run{Params: json.RawMessage(c.params)}})
		if called || result.Err == nil || !strings.HasPrefix(result.Err.Error(), "params of "+c.fn+": ") || !strings.Contains(result.Err.Error(), c.reason) {
			t.Errorf("%s with %s: called %t, %v", c.fn, c.params, called, result.Err)
		}
	}
}
