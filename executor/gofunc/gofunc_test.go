package gofunc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/executortest"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
)

type letter struct {
	To    string
	Times int
}

func registry() *ruqi.Registry {
	r := ruqi.NewRegistry()
	ruqi.Func(r, "hello", func(ctx context.Context, _ struct{}) error {
		io.WriteString(ruqi.Output(ctx), "hello")
		return nil
	})
	ruqi.Func(r, "send", func(ctx context.Context, l letter) error {
		_, err := fmt.Fprintf(ruqi.Output(ctx), "to %s, %d times", l.To, l.Times)
		return err
	})
	ruqi.Func(r, "fail", func(context.Context, struct{}) error { return errors.New("no such address") })
	ruqi.Func(r, "wait", func(ctx context.Context, _ struct{}) error { <-ctx.Done(); return ctx.Err() })
	ruqi.Func(r, "chat", func(ctx context.Context, _ struct{}) error {
		// Two goroutines write; one is left behind when the function returns.
		for range 2 {
			go func() {
				for ctx.Err() == nil {
					io.WriteString(ruqi.Output(ctx), "chat")
				}
				io.WriteString(ruqi.Output(ctx), "late")
			}()
		}
		<-ctx.Done()
		return ctx.Err()
	})
	ruqi.Func(r, "panic", func(context.Context, struct{}) error { return explode(nil) })
	ruqi.Func(r, "haunt", func(ctx context.Context, _ struct{}) error {
		out := ruqi.Output(ctx)
		go func() {
			timer := time.NewTimer(20 * time.Millisecond)
			<-timer.C
			io.WriteString(out, "boo")
		}()
		return nil
	})
	gofunc.Register(r)
	return r
}

// explode is the function a stack should name.
func explode(m map[string]int) error {
	m["boom"] = 1
	return nil
}

func executor(t testing.TB) ruqi.Executor {
	t.Helper()
	e, ok := registry().Executor("func")
	if !ok {
		t.Fatal("Register added no executor of kind func")
	}
	return e
}

func TestLaws(t *testing.T) {
	executortest.Run(t, executortest.Target{
		Executor: executor(t),
		Accepted: []string{
			`{"kind":"func","name":"hello"}`,
			`{"kind":"func","name":"hello","args":null}`,
			` { "name" : "send", "args" : { "to" : "a<b>&", "times" : 3 } , "kind" : "func" } `,
		},
		Refused: []executortest.Refused{
			{Text: `{"kind":"func"}`, Pointers: []string{"/name"}},
			{Text: `{"kind":"func","name":""}`, Pointers: []string{"/name"}},
			{Text: `{"kind":"func","name":7,"args":{},"a":1}`, Pointers: []string{"/name", "/a"}},
			{Text: `{"kind":"func","name":"closure"}`, Pointers: []string{"/name"}},
			{Text: `{"kind":"func","name":"nobody","args":{},"a":1}`, Pointers: []string{"/a"}},
			{Text: `{"kind":"func","Name":"hello"}`, Pointers: []string{"/name", "/Name"}},
			{Text: `{"kind":"func","name":"hello","name":"hello"}`, Pointers: []string{"/name"}},
			{Text: `{"kind":"func","name":"send","args":{"to":1}}`, Pointers: []string{"/args/To"}},
			{Text: `{"kind":"func","name":"send","args":{"by":"air"}}`, Pointers: []string{"/args"}},
			{Text: `{"kind":"command","name":"send","args":[],"x":1}`, Pointers: []string{"/kind", "/args", "/x"}},
		},
		Succeed: ruqi.Call("hello", nil), Says: "hello", Fail: ruqi.Call("fail", nil),
		Wait: ruqi.Call("wait", nil), Chat: ruqi.Call("chat", nil),
		Panic: ruqi.Call("panic", nil), Haunt: ruqi.Call("haunt", nil),
		Without: map[string]string{"force": "Go cannot end a function by force"},
	})
}

func TestNeedsFollowTheRegistry(t *testing.T) {
	r := registry()
	e := gofunc.New(r)
	ruqi.Func(r, "later", func(context.Context, struct{}) error { return nil })
	for _, need := range []string{"func:send", "func:later", "func:closure"} {
		if !slices.Contains(e.Needs(), need) {
			t.Errorf("%s is not among %v", need, e.Needs())
		}
	}
}

// A function of another program can be read here, so that its job can be shown; it cannot be given here.
func TestAnUnknownFunctionIsReadAndNotTaken(t *testing.T) {
	const text = `{"kind":"func","name":"nobody","args":{"to":[1]}}`
	task, err := executor(t).Decode([]byte(text))
	if err != nil || task.Needs() != "func:nobody" {
		t.Fatalf("it is read as %v, %v", task, err)
	}
	if again, err := task.MarshalJSON(); err != nil || string(again) != text {
		t.Errorf("it is kept as %s, %v", again, err)
	}
	err = executor(t).(ruqi.Vetter).Vet(task)
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "/name" || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("the error is %v", err)
	}
	if _, result := execute(t, executor(t), task); result.Err == nil || !errors.Is(result.Err, ruqi.ErrNotFound) {
		t.Errorf("it runs: %v", result.Err)
	}
}

func TestEndsOfFunctions(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		task ruqi.Task
		want error
	}{
		"a closure that returns nil":     {ruqi.Do(func(context.Context) error { return nil }), nil},
		"a closure's error is handed on": {ruqi.Do(func(context.Context) error { return boom }), boom},
		"Finish is handed on": {ruqi.Do(func(context.Context) error {
			return fmt.Errorf("all letters sent: %w", ruqi.Finish)
		}), ruqi.Finish},
		"a function that is registered no more": {ruqi.Call("nobody", nil), ruqi.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, result := execute(t, executor(t), test.task)
			if !errors.Is(result.Err, test.want) || (test.want == nil && result.Err != nil) {
				t.Errorf("the error is %v, expected %v", result.Err, test.want)
			}
		})
	}
}

func TestAFunctionSeesItsRunAndItsArguments(t *testing.T) {
	e := executor(t)
	var seen ruqi.Run
	execute(t, e, ruqi.Do(func(ctx context.Context) error { seen, _ = ruqi.CurrentRun(ctx); return nil }))
	if seen.ID != 7 {
		t.Errorf("the run is %+v", seen)
	}
	if text, _ := execute(t, e, ruqi.Call("send", letter{"ops", 2})); text != "to ops, 2 times" {
		t.Errorf("the output is %q", text)
	}
}

func TestAPanicLeavesItsTextAndAStackOfTheFunctionAlone(t *testing.T) {
	text, result := execute(t, executor(t), ruqi.Call("panic", nil))
	const want = "panic: assignment to entry in nil map"
	if result.Err == nil || result.Err.Error() != want {
		t.Errorf("the reason is %v, expected %q", result.Err, want)
	}
	if !strings.HasPrefix(text, want+"\n\n") || !strings.Contains(text, "gofunc_test.explode\n\t") || !strings.Contains(text, "gofunc_test.go:") {
		t.Errorf("the output does not show where it panicked:\n%s", text)
	}
	for _, noise := range []string{"runtime.", "(*Executor)", "(*Registry)", "testing."} {
		if strings.Contains(text, noise) {
			t.Errorf("the stack holds %s:\n%s", noise, text)
		}
	}
}

func TestAPanicOfNilIsAFailedRun(t *testing.T) {
	if _, result := execute(t, executor(t), ruqi.Do(func(context.Context) error { panic(nil) })); result.Err == nil {
		t.Error("it succeeded")
	}
}

type buffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func execute(t testing.TB, e ruqi.Executor, task ruqi.Task) (string, ruqi.Result) {
	t.Helper()
	var out buffer
	result := e.Execute(t.Context(), task, ruqi.Execution{Run: &ruqi.Run{ID: 7}, Output: &out, KillGrace: time.Second})
	out.mu.Lock()
	defer out.mu.Unlock()
	return out.text.String(), result
}

func TestAProgramWithoutFunctionsSaysSo(t *testing.T) {
	nobody := ruqi.Call("nobody", nil)
	err := gofunc.New(ruqi.NewRegistry()).Vet(nobody)
	if !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "this program has none: only programs that embed the library") {
		t.Errorf("%v", err)
	}
	if err = gofunc.New(registry()).Vet(nobody); err == nil || !strings.Contains(err.Error(), "registered are ") || !strings.Contains(err.Error(), ", hello, ") {
		t.Errorf("%v", err)
	}
	if err = gofunc.New(registry()).Vet(ruqi.Call("send", map[string]int{"to": 1})); err == nil || !strings.Contains(err.Error(), "args.To") {
		t.Errorf("%v", err)
	}
	if err = gofunc.New(registry()).Vet(ruqi.Do(func(context.Context) error { return nil })); err != nil {
		t.Errorf("a closure: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"func","name":"send","args":{"to":"x","times":2}}`))
	f.Add([]byte(`{"kind":"func","name":"hello"}`))
	f.Add([]byte(`{"kind":"func","name":"send","args":[1e999]}`))
	e := gofunc.New(registry())
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := e.Decode(data)
		if err != nil {
			if !errors.Is(err, ruqi.ErrInvalid) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		first, err := task.MarshalJSON()
		if err != nil {
			t.Fatalf("it cannot be written: %v", err)
		}
		again, err := e.Decode(first)
		if err != nil {
			t.Fatalf("%s was written and is refused: %v", first, err)
		}
		if second, err := again.MarshalJSON(); err != nil || string(first) != string(second) {
			t.Fatalf("written as %s, then as %s (%v)", first, second, err)
		}
	})
}

func BenchmarkNoOp(b *testing.B) {
	r := registry()
	ruqi.Func(r, "nothing", func(context.Context, struct{}) error { return nil })
	e := gofunc.New(r)
	execution := ruqi.Execution{Run: &ruqi.Run{ID: 7}, Output: io.Discard}
	for name, task := range map[string]ruqi.Task{
		"function": ruqi.Call("nothing", nil),
		"closure":  ruqi.Do(func(context.Context) error { return nil }),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if result := e.Execute(context.Background(), task, execution); result.Err != nil {
					b.Fatal(result.Err)
				}
			}
		})
	}
}
