package executortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// Names of the rules that a kind may be unable to keep.
const (
	rulePanic = "panic"
	ruleForce = "force"
	ruleHard  = "hard" // goes with ruleForce
	ruleHaunt = "haunt"
)

// A rule is a law of ruqi.Executor and its trial, which returns what it found wrong.
type rule struct {
	name, law string
	try       func(Target) []string
}

var rules = []rule{
	{"stable", "Kind, Pool and Needs are not empty and the same always; the kind is that of the tasks.", tryStable},
	{"needs", "What a task needs is among the needs of its executor.", tryNeeds},
	{"accept", "Decode takes what users write.", tryAccept},
	{"round trip", "A task that was written and read again is the same task, and its JSON is an object with its kind.", tryRoundTrip},
	{"refuse", "Decode refuses wrong values with an *InvalidError that points at every fault.", tryRefuse},
	{"unknown member", "Decode refuses a member it does not know and points at it.", tryUnknown},
	{"hostile", "Decode refuses what is no task without a panic.", tryHostile},
	{"immutable", "A task keeps nothing of the bytes it was decoded from.", tryImmutable},
	{"vet", "A Vetter takes the tasks it can run here, and refuses one of another kind with an *InvalidError.", tryVet},
	{"success", "A task that ends well has a result without an error.", trySuccess},
	{"output", "What the task writes is in the output when Execute returns, all of it and nothing else.", tryOutput},
	{"failure", "A task that does not end well has a result with an error whose text is not empty.", tryFailure},
	{"foreign", "A task of another kind is a failed run, no panic.", tryForeign},
	{rulePanic, "A panic of the task is a failed run.", tryPanic},
	{"concurrent", "Execute may be called by many goroutines at once, and their outputs do not mix.", tryConcurrent},
	{"cancel", "When its context ends Execute asks the task to end, and returns when it has, well within the grace; the result does not say that it ended by itself.", tryCancel},
	{"cancelled before", "Execute returns at once when its context has ended already.", tryCancelledBefore},
	{ruleForce, "A task that does not listen has its grace, is then ended by force, and Execute returns.", tryForce},
	{ruleHard, "When Hard is closed the grace is over: a task that does not listen is ended at once, and Execute returns.", tryHard},
	{"silence", "Nothing is written to the output after Execute has returned.", trySilence},
	{ruleHaunt, "What a task leaves behind neither holds the run nor writes to its output later.", tryHaunt},
}

func tryStable(t Target) (broken []string) {
	type facts struct{ Kind, Pool, Needs string }
	read := func() facts {
		needs := slices.Sorted(slices.Values(t.Executor.Needs()))
		return facts{t.Executor.Kind(), t.Executor.Pool(), strings.Join(needs, ",")}
	}
	first := read()
	if first.Kind == "" || first.Pool == "" || first.Needs == "" {
		broken = append(broken, fmt.Sprintf("they are %+v", first))
	}
	for range 3 {
		if again := read(); again != first {
			return append(broken, fmt.Sprintf("they were %+v and are now %+v", first, again))
		}
	}
	for _, task := range []ruqi.Task{t.Succeed, t.Fail, t.Wait, t.Chat} {
		if task.Kind() != first.Kind {
			broken = append(broken, fmt.Sprintf("the kind of the executor is %q, of a task %q", first.Kind, task.Kind()))
		}
	}
	return broken
}

func tryNeeds(t Target) (broken []string) {
	tasks := []ruqi.Task{t.Succeed, t.Fail, t.Wait, t.Chat}
	for _, text := range t.Accepted {
		if task, err := t.Executor.Decode([]byte(text)); err == nil {
			tasks = append(tasks, task)
		}
	}
	for _, task := range tasks {
		if !slices.Contains(t.Executor.Needs(), task.Needs()) {
			broken = append(broken, fmt.Sprintf("the task needs %q, the executor has %v", task.Needs(), t.Executor.Needs()))
		}
	}
	return broken
}

func tryAccept(t Target) (broken []string) {
	for _, text := range t.Accepted {
		task, err := t.Executor.Decode([]byte(text))
		switch {
		case err != nil:
			broken = append(broken, fmt.Sprintf("%s: %v", text, err))
		case task == nil:
			broken = append(broken, fmt.Sprintf("%s: neither a task nor an error", text))
		}
	}
	return broken
}

func tryRoundTrip(t Target) (broken []string) {
	tasks := []ruqi.Task{t.Succeed}
	for _, text := range t.Accepted {
		if task, err := t.Executor.Decode([]byte(text)); err == nil && task != nil {
			tasks = append(tasks, task)
		}
	}
	for _, task := range tasks {
		first, err := task.MarshalJSON()
		if err != nil {
			broken = append(broken, fmt.Sprintf("it cannot be written: %v", err))
			continue
		}
		var object struct{ Kind string }
		if err := json.Unmarshal(first, &object); err != nil || object.Kind != t.Executor.Kind() {
			broken = append(broken, fmt.Sprintf("%s is no object of kind %q", first, t.Executor.Kind()))
		}
		again, err := t.Executor.Decode(first)
		if err != nil {
			broken = append(broken, fmt.Sprintf("%s was written and is refused: %v", first, err))
			continue
		}
		second, err := again.MarshalJSON()
		if err != nil || !bytes.Equal(first, second) {
			broken = append(broken, fmt.Sprintf("it was written as %s, then as %s (%v)", first, second, err))
		}
		if task.Kind() != again.Kind() || task.String() != again.String() || task.Needs() != again.Needs() {
			broken = append(broken, fmt.Sprintf("%s was %q and came back as %q", first, task, again))
		}
	}
	return broken
}

// faultsOf decodes and returns the pointers of all faults; an empty detail means that the refusal is lawful.
func faultsOf(t Target, text string) (pointers []string, detail string) {
	defer func() {
		if value := recover(); value != nil {
			detail = fmt.Sprintf("%s: Decode panicked: %v", text, value)
		}
	}()
	_, err := t.Executor.Decode([]byte(text))
	var invalid *ruqi.InvalidError
	switch {
	case err == nil:
		return nil, text + " was accepted"
	case !errors.As(err, &invalid):
		return nil, fmt.Sprintf("%s: the error is a %T: %v", text, err, err)
	}
	for _, fault := range invalid.Faults {
		if fault.Message == "" {
			detail = fmt.Sprintf("%s: the fault at %q says nothing", text, fault.Pointer)
		}
		pointers = append(pointers, fault.Pointer)
	}
	slices.Sort(pointers)
	return slices.Compact(pointers), detail
}

func tryRefuse(t Target) (broken []string) {
	for _, refused := range t.Refused {
		got, detail := faultsOf(t, refused.Text)
		if detail != "" {
			broken = append(broken, detail)
		} else if want := slices.Sorted(slices.Values(refused.Pointers)); !slices.Equal(got, want) {
			broken = append(broken, fmt.Sprintf("%s: the faults are at %q, expected at %q", refused.Text, got, want))
		}
	}
	return broken
}

func tryUnknown(t Target) (broken []string) {
	for _, text := range t.Accepted {
		end := strings.LastIndexByte(text, '}')
		got, detail := faultsOf(t, text[:max(end, 0)]+`,"unheard/of":1}`)
		if detail != "" {
			broken = append(broken, detail)
		} else if !slices.Equal(got, []string{"/unheard~1of"}) {
			broken = append(broken, fmt.Sprintf("%s with a member \"unheard/of\": the faults are at %q", text, got))
		}
	}
	return broken
}

func tryHostile(t Target) (broken []string) {
	kind, _ := json.Marshal(t.Executor.Kind())
	for _, text := range []string{
		"", " ", "null", "true", "7", `"text"`, "[]", "{}", "{", `{"kind":`, "\xff\xfe", "\x00",
		`{"kind":` + string(kind) + `,}`, `{"kind":null}`, `{"kind":{}}`, `{"kind":"no such kind"}`,
		`{"kind":` + string(kind) + `} {}`, strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000),
	} {
		if _, detail := faultsOf(t, text); detail != "" {
			broken = append(broken, detail)
		}
	}
	return broken
}

func tryImmutable(t Target) (broken []string) {
	for _, text := range t.Accepted {
		data := []byte(text)
		task, err := t.Executor.Decode(data)
		if err != nil {
			continue
		}
		before, _ := task.MarshalJSON()
		before = bytes.Clone(before)
		for i := range data {
			data[i] = '?'
		}
		if after, err := task.MarshalJSON(); err != nil || !bytes.Equal(before, after) {
			broken = append(broken, fmt.Sprintf("%s became %s (%v) when the bytes were used again", before, after, err))
		}
	}
	return broken
}

func trySuccess(t Target) []string {
	if got := t.start(context.Background(), t.Succeed, time.Second).wait(t.bound()); got.detail != "" || got.result.Err != nil {
		return []string{got.describe()}
	}
	return nil
}

func tryOutput(t Target) []string {
	got := t.start(context.Background(), t.Succeed, time.Second).wait(t.bound())
	if text := got.output.text(); got.detail != "" || text != t.Says {
		return []string{fmt.Sprintf("%s; the output is %q, expected %q", got.describe(), text, t.Says)}
	}
	return nil
}

func tryFailure(t Target) []string {
	got := t.start(context.Background(), t.Fail, time.Second).wait(t.bound())
	if got.detail != "" || got.result.Err == nil || got.result.Err.Error() == "" {
		return []string{got.describe()}
	}
	return nil
}

// foreign is a task of no executor.
type foreign struct{}

func (foreign) Kind() string                 { return "foreign" }
func (foreign) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"foreign"}`), nil }
func (foreign) String() string               { return "foreign" }
func (foreign) Needs() string                { return "foreign" }

func tryForeign(t Target) []string {
	got := t.start(context.Background(), foreign{}, time.Second).wait(t.bound())
	if got.detail != "" || got.result.Err == nil {
		return []string{got.describe()}
	}
	return nil
}

func tryVet(t Target) (broken []string) {
	vetter, ok := t.Executor.(ruqi.Vetter)
	if !ok {
		return nil
	}
	for _, task := range []ruqi.Task{t.Succeed, t.Fail, t.Wait, t.Chat} {
		if err := vetter.Vet(task); err != nil {
			broken = append(broken, fmt.Sprintf("of %s it says %v", task, err))
		}
	}
	var invalid *ruqi.InvalidError
	if err := vetter.Vet(foreign{}); !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
		broken = append(broken, fmt.Sprintf("of a task of another kind it says %v", err))
	}
	return broken
}

func tryPanic(t Target) []string {
	got := t.start(context.Background(), t.Panic, time.Second).wait(t.bound())
	if got.detail != "" || got.result.Err == nil {
		return []string{got.describe()}
	}
	return nil
}

func tryConcurrent(t Target) (broken []string) {
	const many = 32
	var all sync.WaitGroup
	details := make(chan string, many)
	for range many {
		all.Go(func() {
			got := t.start(context.Background(), t.Succeed, time.Second).wait(3 * t.bound())
			if text := got.output.text(); got.detail != "" || got.result.Err != nil || text != t.Says {
				details <- fmt.Sprintf("%s; the output is %q, expected %q", got.describe(), text, t.Says)
			}
		})
	}
	all.Wait()
	close(details)
	for detail := range details {
		broken = append(broken, detail)
	}
	return broken
}

func tryCancel(t Target) []string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// The grace is so long that only a polite end keeps the bound.
	e := t.start(ctx, t.Wait, 10*t.bound())
	if e.endsWithin(t.settle()) {
		return []string{"the task ended before it was asked to: " + e.got.describe()}
	}
	cancel()
	switch got := e.wait(t.bound()); {
	case got.detail != "":
		return []string{got.detail + " after its context ended"}
	case got.result.ByItself:
		return []string{"the result says that the task ended by itself"}
	}
	return nil
}

func tryCancelledBefore(t Target) []string {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := t.start(ctx, t.Wait, 10*t.bound()).wait(t.bound()); got.detail != "" {
		return []string{got.detail}
	}
	return nil
}

func tryForce(t Target) []string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const grace = 500 * time.Millisecond
	e := t.start(ctx, t.Stubborn, grace)
	if e.endsWithin(t.settle()) {
		return []string{"the task ended before it was asked to: " + e.got.describe()}
	}
	begin := time.Now()
	cancel()
	got := e.wait(grace + t.bound())
	if got.detail != "" {
		return []string{got.detail + " after its context ended and the grace was over"}
	}
	if took := time.Since(begin); took < grace {
		return []string{fmt.Sprintf("it was ended after %s, its grace is %s", took, grace)}
	}
	return nil
}

func tryHard(t Target) (broken []string) {
	// No trial waits for such a grace.
	const grace = time.Hour
	for _, before := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		hard := make(chan struct{})
		e := t.startHard(ctx, t.Stubborn, grace, hard)
		if e.endsWithin(t.settle()) {
			return append(broken, "the task ended before it was asked to: "+e.got.describe())
		}
		if before {
			close(hard)
			cancel()
		} else {
			cancel()
			if e.endsWithin(t.settle()) {
				return append(broken, "the task ended within its grace, before Hard was closed: "+e.got.describe())
			}
			close(hard)
		}
		if got := e.wait(t.bound()); got.detail != "" {
			broken = append(broken, fmt.Sprintf("%s; its grace is %s, Hard was closed, before its context ended: %t", got.detail, grace, before))
		}
	}
	return broken
}

func trySilence(t Target) (broken []string) {
	for range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		e := t.start(ctx, t.Chat, time.Second)
		spoke := e.output.spoken(t.bound())
		cancel()
		got := e.wait(time.Second + t.bound())
		switch {
		case got.detail != "":
			return append(broken, got.detail+" after its context ended")
		case !spoke:
			return append(broken, "the task wrote nothing before it was asked to end")
		case got.output.spokenLate(t.settle()):
			return append(broken, "it wrote after Execute had returned")
		}
	}
	return broken
}

func tryHaunt(t Target) []string {
	got := t.start(context.Background(), t.Haunt, time.Second).wait(t.bound())
	switch {
	case got.detail != "":
		return []string{got.detail}
	case got.output.spokenLate(t.settle()):
		return []string{"it wrote after Execute had returned"}
	}
	return nil
}
