// Package jobstoretest holds the laws of [ruqi.JobStore] and [ruqi.RecordStore] as a
// suite that a store runs in a test of its own:
//
//	func TestLaws(t *testing.T) {
//		jobstoretest.Run(t, func(t testing.TB, o jobstoretest.Options) jobstoretest.Store {
//			return memory.Open(memory.Options{Now: o.Now, OutputCap: o.OutputCap})
//		})
//	}
//
// A store that lasts calls [RunLasting] instead. Every case guards one rule and has its
// own empty store; a case that fails prints the rule as a sentence. Cases run beside each
// other, as parallel subtests: one case waits for its store most of the time. The suite never
// sleeps: time is a clock that it hands to the store and moves itself. It is tried on
// stores with planted faults by its own test.
package jobstoretest

import (
	"fmt"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Store is what the suite tries: every job store of this module keeps records too.
type Store interface {
	ruqi.JobStore
	ruqi.RecordStore
}

// Options are what the suite asks of a store that it opens.
type Options struct {
	// Now is the store's clock. It may be called by many goroutines, and tells
	// fractions of a microsecond, as a real clock does.
	Now func() time.Time
	// OutputCap is how many bytes of a run's output the store is to keep. 0: its default.
	OutputCap int64
}

// Run tries every rule on stores that open returns. Each must be empty, and of its own; the
// suite closes it. What it cannot open, open reports with t.Fatal. Several cases call open at once, and mostly
// after Run has returned, as parallel subtests do: what they need is closed by t.Cleanup, and not by defer.
func Run(t *testing.T, open func(t testing.TB, options Options) Store) {
	t.Helper()
	run(t, func(t testing.TB) func(Options) Store {
		return func(options Options) Store { return open(t, options) }
	}, false)
}

// RunLasting tries every rule on stores that last, with the rules about what a second
// handle sees. place makes a new empty place (a file, a schema) and returns what opens a handle
// on it, as another process would; many may be open at once, and the suite closes each. Several cases call place
// at once, as those of Run call open; it may keep one waiting, until another's t.Cleanup, where a server bears no more. A ruqi.Caretaker
// must find its store sound after each case.
func RunLasting(t *testing.T, place func(t testing.TB) func(Options) Store) {
	t.Helper()
	run(t, place, true)
}

func run(t *testing.T, place func(t testing.TB) func(Options) Store, lasting bool) {
	t.Helper()
	for _, r := range rules() {
		if r.lasting && !lasting {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if f := try(t, r, place, lasting); f != nil {
				t.Error(f)
			}
		})
	}
}

// A Failure is a rule that a store broke.
type Failure struct {
	// Rule is the rule's short name, Law what it says.
	Rule, Law string
	// Faults say what was seen, one line each.
	Faults []string
}

func (f *Failure) String() string {
	text := fmt.Sprintf("broken rule %s: %s", f.Rule, f.Law)
	for _, fault := range f.Faults {
		text += "\n\t" + fault
	}
	return text
}

// Check tries every rule as Run does, but returns the rules that were broken in place of
// failing t. It serves to try the suite itself, on stores with faults.
func Check(t testing.TB, open func(t testing.TB, options Options) Store) []*Failure {
	t.Helper()
	return check(t, func(t testing.TB) func(Options) Store {
		return func(options Options) Store { return open(t, options) }
	}, false)
}

// CheckLasting is to RunLasting what Check is to Run.
func CheckLasting(t testing.TB, place func(t testing.TB) func(Options) Store) []*Failure {
	t.Helper()
	return check(t, place, true)
}

func check(t testing.TB, place func(t testing.TB) func(Options) Store, lasting bool) []*Failure {
	t.Helper()
	var failures []*Failure
	for _, r := range rules() {
		if r.lasting && !lasting {
			continue
		}
		if f := try(t, r, place, lasting); f != nil {
			failures = append(failures, f)
		}
	}
	return failures
}

// A rule is one law with the case that guards it.
type rule struct {
	name    string // the method or noun, a slash, what of it
	law     string // a sentence
	check   func(*probe)
	lasting bool // only for stores that last
}

// rules lists the whole suite, in the order of the interface.
func rules() []rule {
	var all []rule
	for _, part := range [][]rule{
		editRules, editRunRules, jobsRules, claimRules, planRules, queueRules, nextRules,
		finishRules, outputRules, reportRules, instanceRules, rescueRules, cancelRules, runsRules, totalRules,
		cleanRules, recordRules, everyRules, raceRules, lastingRules,
	} {
		all = append(all, part...)
	}
	return all
}
