package jobstoretest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/jobstoretest"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// tries is how often the suite is run on a fault: one that only shows in a race may need
// more than one.
const tries = 20

func TestEveryPlantedFaultIsNamed(t *testing.T) {
	for _, f := range slices.Concat(editFaults, claimFaults, runFaults, reportFaults, recordFaults, totalFaults) {
		t.Run(f.what, func(t *testing.T) {
			open := func(_ testing.TB, o jobstoretest.Options) jobstoretest.Store { return f.open(o) }
			var names []string
			for range tries {
				names = nil
				for _, failure := range jobstoretest.Check(t, open) {
					names = append(names, failure.Rule)
					if failure.Law == "" || len(failure.Faults) == 0 || !strings.Contains(failure.String(), failure.Law) {
						t.Errorf("the failure of %s does not say the rule and what was seen: %s", failure.Rule, failure)
					}
				}
				if slices.Contains(names, f.rule) {
					return
				}
			}
			t.Errorf("a store that %s breaks %q, but the suite named only %q", f.what, f.rule, names)
		})
	}
}

// A handle is one of many on the same store, as a store that lasts has them. It guards no
// method after Close, which is a fault of its own.
type handle struct{ *memory.Store }

func (h *handle) Close() error { return nil }

// shared opens handles on one store.
func shared(testing.TB) func(jobstoretest.Options) jobstoretest.Store {
	var store *memory.Store
	limit := int64(0)
	return func(o jobstoretest.Options) jobstoretest.Store {
		if store == nil || o.OutputCap != limit {
			store, limit = good(o), o.OutputCap // the cap is asked for before anything is written
		}
		return &handle{store}
	}
}

func TestHandlesBreakOnlyTheRuleTheyPlanted(t *testing.T) {
	failures := jobstoretest.CheckLasting(t, shared)
	if len(failures) != 1 || failures[0].Rule != "Close/after" {
		t.Errorf("handles on one store that go on after Close broke %v, want Close/after alone", failures)
	}
}

// An unsound store finds itself so, and does not know its own time.
type unsound struct{ jobstoretest.Store }

func (*unsound) Schema(context.Context) (ruqi.SchemaState, error) {
	return ruqi.SchemaState{Has: 1, Knows: 1, Oldest: 1}, nil
}
func (*unsound) Now(context.Context) (time.Time, error)  { return time.Time{}, nil }
func (*unsound) Check(context.Context) ([]string, error) { return []string{"a row is odd"}, nil }

func TestAStoreMustFindItselfSound(t *testing.T) {
	failures := jobstoretest.CheckLasting(t, func(t testing.TB) func(jobstoretest.Options) jobstoretest.Store {
		open := shared(t)
		return func(o jobstoretest.Options) jobstoretest.Store { return &unsound{open(o)} }
	})
	if len(failures) < 100 || !strings.Contains(failures[0].String(), "Check finds: a row is odd") || !strings.Contains(failures[0].String(), "the store's time is 0001-01-01") {
		t.Errorf("only %d rules are broken by a store that is not sound: %v", len(failures), failures)
	}
}

func TestLastingFaultsAreNamed(t *testing.T) {
	cases := []struct {
		what, rule string
		place      func(testing.TB) func(jobstoretest.Options) jobstoretest.Store
	}{
		{"forgets all when it is closed", "lasting/everything", func(testing.TB) func(jobstoretest.Options) jobstoretest.Store {
			return func(o jobstoretest.Options) jobstoretest.Store { return good(o) }
		}},
		{"does not see what another handle wrote", "lasting/handles", func(testing.TB) func(jobstoretest.Options) jobstoretest.Store {
			return func(o jobstoretest.Options) jobstoretest.Store { return good(o) }
		}},
		{"begins to count anew with each handle", "lasting/order", func(testing.TB) func(jobstoretest.Options) jobstoretest.Store {
			return func(o jobstoretest.Options) jobstoretest.Store { return good(o) }
		}},
	}
	for _, c := range cases {
		failures := jobstoretest.CheckLasting(t, c.place)
		if !slices.ContainsFunc(failures, func(f *jobstoretest.Failure) bool { return f.Rule == c.rule }) {
			t.Errorf("a store that %s breaks %q, but the suite did not name it", c.what, c.rule)
		}
	}
}
