package ruqi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A trigger that counts how often it was decoded.
type countedTrigger struct{ n int }

func (countedTrigger) Next(time.Time) (time.Time, bool) { return time.Time{}, false }
func (countedTrigger) Kind() string                     { return "counted" }
func (t countedTrigger) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"kind":"counted","n":%d}`, t.n), nil
}

func TestEqualPartsOfStoredDefinitionsAreReadOnce(t *testing.T) {
	decoded := 0
	r := NewRegistry()
	r.RegisterTrigger("counted", func(data []byte) (Trigger, error) {
		decoded++
		var trigger struct{ N int }
		if err := json.Unmarshal(data, &trigger); err != nil {
			return nil, err
		}
		if trigger.N < 0 {
			return nil, Invalid("/n", fmt.Sprint(trigger.N), "is negative")
		}
		return countedTrigger{trigger.N}, nil
	})
	read := func(strict bool, trigger, policy string) (JobSpec, error) {
		return r.decodeJob(fmt.Appendf(nil, `{"trigger":%s,"policy":%s}`, trigger, policy), strict)
	}
	for i := range 3 * memoTexts {
		spec, err := read(false, fmt.Sprintf(`{"kind":"counted","n":%d}`, i%2), fmt.Sprintf(`{"coalesce":true,"max_instances":%d}`, i+1))
		if err != nil {
			t.Fatal(err)
		}
		if spec.Trigger != (countedTrigger{i % 2}) || spec.Policy.MaxInstances != i+1 || !*spec.Policy.Coalesce {
			t.Fatalf("definition %d is read as %+v", i, spec)
		}
	}
	if decoded != 2 {
		t.Errorf("two triggers were decoded %d times", decoded)
	}
	if n := len(r.policiesRead.known); n > memoTexts {
		t.Errorf("%d policies are remembered, want at most %d", n, memoTexts)
	}
	pointers := func(err error) (list []string) {
		var invalid *InvalidError
		if errors.As(err, &invalid) {
			for _, fault := range invalid.Faults {
				list = append(list, fault.Pointer)
			}
		}
		return list
	}
	for range 2 { // a fault is told each time
		if _, err := read(false, `{"kind":"counted","n":-1}`, `{"max_instances":"many"}`); !slices.Equal(pointers(err), []string{"/trigger/n", "/policy/max_instances"}) {
			t.Errorf("two faults are told as %v", err)
		}
	}
	// What was stored may have more than a user may write: what is remembered of the one is not for the other.
	if _, err := read(false, `{"kind":"counted","n":1}`, `{"later":true}`); err != nil {
		t.Error(err)
	}
	if _, err := read(true, `{"kind":"counted","n":1}`, `{"later":true}`); !slices.Contains(pointers(err), "/policy/later") {
		t.Error("a user's unknown member is taken")
	}
}

// What is remembered has its own text: of a definition, which may be long, a part alone is kept.
func TestWhatIsRememberedKeepsNothingElseOfADefinition(t *testing.T) {
	var m memo[[]byte]
	definition := []byte(`{"task":{"a":1},"params":{}}`)
	part := func(text []byte) ([]byte, bool) { return text, true }
	first := m.read(definition[8:15], part)
	clear(definition)
	if string(first) != `{"a":1}` || cap(first) > 4*len(first) {
		t.Errorf("it is read as %q, of a text of %d bytes", first, cap(first))
	}
}
