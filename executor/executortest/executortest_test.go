package executortest_test

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// A step is the task of a model executor: what it does is a word.
type step struct {
	Do    string
	Times int
	raw   []byte
	keep  bool // plants: the JSON is the bytes it was decoded from
}

func (s *step) Kind() string   { return "step" }
func (s *step) Needs() string  { return "step" }
func (s *step) String() string { return s.Do }
func (s *step) MarshalJSON() ([]byte, error) {
	if s.keep {
		return s.raw, nil
	}
	return json.Marshal(map[string]any{"kind": "step", "do": s.Do, "times": s.Times})
}

// A model keeps all laws but the planted one.
type model struct {
	plant string
	asked int // by Needs
	mu    sync.Mutex
}

func (m *model) Kind() string { return "step" }
func (m *model) Pool() string { return "default" }
func (m *model) Needs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.plant == "needs change" {
		return []string{"step", fmt.Sprint("step", m.asked)}
	}
	if m.plant == "needs missing" {
		return []string{"walk"}
	}
	return []string{"step"}
}

func (m *model) Decode(data []byte) (ruqi.Task, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		if m.plant == "plain error" {
			return nil, errors.New("no object")
		}
		return nil, ruqi.Invalid("", "", "no object")
	}
	var faults ruqi.Faults
	s := &step{}
	var kind string
	for name, field := range map[string]any{"kind": &kind, "do": &s.Do, "times": &s.Times} {
		if value, ok := members[name]; ok && json.Unmarshal(value, field) != nil {
			faults.Add("/"+name, string(value), "wrong")
		}
		delete(members, name)
	}
	if kind != "step" && m.plant != "any kind" {
		faults.Add("/kind", kind, "wrong")
	}
	if s.Times < 0 {
		faults.Add("/times", "", "negative")
	}
	for name := range members {
		if m.plant != "unknown members" {
			faults.Add("/"+strings.ReplaceAll(name, "/", "~1"), "", "unknown")
		}
	}
	if m.plant == "one fault" {
		var invalid *ruqi.InvalidError
		if errors.As(faults.Err(), &invalid) {
			return nil, &ruqi.InvalidError{Faults: invalid.Faults[:1]}
		}
	}
	if m.plant == "lossy" {
		s.Times++
	}
	if m.plant == "keeps bytes" {
		s.keep, s.raw = true, data
	}
	return s, faults.Err()
}

func (m *model) Vet(task ruqi.Task) error {
	_, ok := task.(*step)
	switch {
	case m.plant == "vets all":
		return nil
	case m.plant == "vets in words" && !ok:
		return errors.New("no step")
	case m.plant == "vets none", !ok:
		return ruqi.Invalid("/kind", task.Kind(), "no step")
	}
	return nil
}

var spill bytes.Buffer

func (m *model) Execute(ctx context.Context, task ruqi.Task, execution ruqi.Execution) (result ruqi.Result) {
	s, ok := task.(*step)
	if m.plant == "foreign panic" {
		s, ok = task.(*step), true
	}
	if !ok {
		return ruqi.Result{Err: errors.New("no step")}
	}
	if m.plant != "panic" {
		defer func() {
			if value := recover(); value != nil {
				result.Err = fmt.Errorf("panic: %v", value)
			}
		}()
	}
	if m.plant == "one output" {
		m.mu.Lock()
		defer m.mu.Unlock()
		own := execution.Output // not what it is now: spill written to itself doubles with each run
		defer func() { io.WriteString(own, spill.String()) }()
		execution.Output = &spill
	}
	ended := ctx.Done()
	if m.plant == "deaf" {
		ended = nil
	}
	switch s.Do {
	case "hello":
		io.WriteString(execution.Output, "hello")
		if m.plant == "success is an error" {
			return ruqi.Result{Err: errors.New("fine")}
		}
	case "fail":
		if m.plant != "failure is a success" {
			return ruqi.Result{Err: errors.New("failed")}
		}
	case "panic":
		panic("step")
	case "wait":
		<-ended
		return ruqi.Result{Err: context.Cause(ctx), ByItself: m.plant == "by itself"}
	case "chat":
		tick := time.NewTicker(time.Millisecond)
		if m.plant != "late writes" {
			defer tick.Stop()
		}
		for {
			select {
			case <-tick.C:
				io.WriteString(execution.Output, "chat")
			case <-ended:
				if m.plant == "late writes" {
					go func() {
						defer tick.Stop()
						for range 20 {
							<-tick.C
							io.WriteString(execution.Output, "chat")
						}
					}()
				}
				return ruqi.Result{Err: context.Cause(ctx)}
			}
		}
	case "stubborn":
		<-ended
		if m.plant == "no grace" {
			break
		}
		if m.plant == "no force" {
			select {}
		}
		hard := execution.Hard
		if m.plant == "deaf to hard" {
			hard = nil
		}
		select {
		case <-time.After(execution.KillGrace):
		case <-hard:
		}
	case "haunt":
		if m.plant == "haunted" {
			go func() {
				for range time.NewTicker(time.Millisecond).C {
					if _, err := io.WriteString(execution.Output, "boo"); err != nil {
						return
					}
				}
			}()
		}
	}
	return ruqi.Result{}
}

func target(plant string) executortest.Target {
	do := func(word string) ruqi.Task { return &step{Do: word} }
	return executortest.Target{
		Executor: &model{plant: plant},
		Accepted: []string{`{"kind":"step","do":"hello"}`, `{"kind":"step","do":"wait","times":3}`},
		Refused: []executortest.Refused{
			{Text: `{"kind":"step","do":1,"times":-1}`, Pointers: []string{"/do", "/times"}},
		},
		Succeed: do("hello"), Says: "hello", Fail: do("fail"), Wait: do("wait"), Chat: do("chat"),
		Panic: do("panic"), Stubborn: do("stubborn"), Haunt: do("haunt"),
		// The planted faults that hang would each take this long; the model takes microseconds.
		Bound: time.Second,
	}
}

func TestModelKeepsAllLaws(t *testing.T) {
	executortest.Run(t, target(""))
}

func TestPlantedFaultsAreFound(t *testing.T) {
	// All at once: most of a check is waiting.
	plants := map[string]string{
		"needs change":         "stable",
		"needs missing":        "needs",
		"plain error":          "hostile",
		"any kind":             "hostile",
		"unknown members":      "unknown member",
		"one fault":            "refuse",
		"lossy":                "round trip",
		"keeps bytes":          "immutable",
		"foreign panic":        "foreign",
		"vets all":             "vet",
		"vets in words":        "vet",
		"vets none":            "vet",
		"panic":                "panic",
		"one output":           "concurrent",
		"deaf":                 "cancel",
		"by itself":            "cancel",
		"success is an error":  "success",
		"failure is a success": "failure",
		"late writes":          "silence",
		"no grace":             "force",
		"no force":             "force",
		"deaf to hard":         "hard",
		"haunted":              "haunt",
	}
	checks := map[string]chan []executortest.Broken{}
	for plant := range plants {
		checks[plant] = make(chan []executortest.Broken, 1)
		go func(done chan<- []executortest.Broken) { done <- executortest.Check(target(plant)) }(checks[plant])
	}
	for plant, rule := range plants {
		t.Run(plant, func(t *testing.T) {
			broken := <-checks[plant]
			found := slices.ContainsFunc(broken, func(b executortest.Broken) bool {
				return b.Rule == rule && b.Law != "" && b.Detail != ""
			})
			if !found {
				t.Errorf("the suite did not find it under %q; it found %v", rule, broken)
			}
		})
	}
}

func TestATargetThatTestsLessMustSayWhy(t *testing.T) {
	less := target("")
	less.Panic = nil
	if executortest.Check(less) == nil {
		t.Error("a target without a task that panics was taken for complete")
	}
	less.Without = map[string]string{"panic": "a step cannot"}
	if broken := executortest.Check(less); broken != nil {
		t.Errorf("a target that says why it tests less: %v", broken)
	}
	less.Without["cancel"] = "no wish to"
	if executortest.Check(less) == nil {
		t.Error("a rule that every kind can keep was left out")
	}
	if executortest.Check(executortest.Target{}) == nil {
		t.Error("an empty target was taken for complete")
	}
}
