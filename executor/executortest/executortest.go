// Package executortest tries an executor on the laws of ruqi.Executor. An
// implementation's test calls Run with tasks that behave as the target's fields say:
//
//	func TestLaws(t *testing.T) {
//		executortest.Run(t, executortest.Target{Executor: command.New(command.Options{}), …})
//	}
package executortest

import (
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Target is an executor and tasks of its kind. Every field is required, except that
// a task or a text that the kind cannot have is left out and named in Without.
type Target struct {
	// Executor is what is tried.
	Executor ruqi.Executor
	// Accepted are tasks as users write them in JSON.
	Accepted []string
	// Refused are wrong tasks.
	Refused []Refused

	// Succeed ends at once, well, and writes Says, nothing else. It must be one of a kind that
	// MarshalJSON can encode.
	Succeed ruqi.Task
	Says    string
	// Fail ends at once, not well.
	Fail ruqi.Task
	// Wait runs until it is asked to end and then ends; a minute at least.
	Wait ruqi.Task
	// Chat does the same and writes all the time.
	Chat ruqi.Task

	// Panic panics.
	Panic ruqi.Task
	// Stubborn runs a minute at least and does not listen when it is asked to end.
	Stubborn ruqi.Task
	// Haunt ends at once and leaves something behind that goes on to write to the output.
	Haunt ruqi.Task

	// Without names the rules that the kind cannot be held to, each with the reason. Only the rules of
	// Panic, Stubborn and Haunt may be left out: "panic"; "force", and "hard" with it; "haunt".
	Without map[string]string
	// Bound is how long a thing may take that is promised at once, on a loaded machine. 0: 10 s.
	Bound time.Duration
}

// Refused is a task that Decode must refuse.
type Refused struct {
	// Text is the JSON.
	Text string
	// Pointers are those of all its faults, in any order.
	Pointers []string
}

// A Broken rule is what Check found.
type Broken struct {
	// Rule is the rule's name, Law the rule in a sentence, Detail what happened instead.
	Rule, Law, Detail string
}

// Run tries every rule in a subtest of its own. A failure prints the rule's sentence.
func Run(t *testing.T, target Target) {
	t.Helper()
	for _, fault := range target.incomplete() {
		t.Errorf("the target is incomplete: %s", fault)
	}
	if t.Failed() {
		return
	}
	for _, r := range rules {
		if why, without := target.without(r.name); without {
			t.Logf("without %s: %s", r.name, why)
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			for _, detail := range r.try(target) {
				t.Errorf("%s\n\t%s", r.law, detail)
			}
		})
	}
}

// Check is Run for a caller that wants the outcome: the rules that the target breaks, none if it
// keeps all. It is how the suite itself is tried on executors that are known to be wrong.
func Check(target Target) []Broken {
	var broken []Broken
	for _, fault := range target.incomplete() {
		broken = append(broken, Broken{"target", "A target is complete.", fault})
	}
	if broken != nil {
		return broken
	}
	for _, r := range rules {
		if _, without := target.without(r.name); without {
			continue
		}
		for _, detail := range r.try(target) {
			broken = append(broken, Broken{r.name, r.law, detail})
		}
	}
	return broken
}

// Rules lists the names of all rules in the order in which they are tried.
func Rules() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// optional maps the rules that may be left out to the field they need.
func (t Target) optional() map[string]ruqi.Task {
	return map[string]ruqi.Task{rulePanic: t.Panic, ruleForce: t.Stubborn, ruleHaunt: t.Haunt}
}

// without says whether a rule is left out, and why.
func (t Target) without(rule string) (why string, without bool) {
	if rule == ruleHard {
		rule = ruleForce // what cannot be ended by force cannot be ended so at once
	}
	why, without = t.Without[rule]
	return why, without
}

// incomplete keeps the suite from testing less than it says.
func (t Target) incomplete() []string {
	var faults []string
	need := func(name string, there bool) {
		if !there {
			faults = append(faults, name+" is missing")
		}
	}
	need("Executor", t.Executor != nil)
	need("Accepted", len(t.Accepted) > 0)
	need("Refused", len(t.Refused) > 0)
	need("Succeed", t.Succeed != nil)
	need("Says", t.Says != "")
	need("Fail", t.Fail != nil)
	need("Wait", t.Wait != nil)
	need("Chat", t.Chat != nil)
	optional := t.optional()
	for name, task := range optional {
		_, without := t.Without[name]
		if task == nil && !without {
			faults = append(faults, "there is no task for "+name+", and Without does not say why")
		}
	}
	for name, why := range t.Without {
		if task, ok := optional[name]; !ok || why == "" || task != nil {
			faults = append(faults, "Without names "+name+", which is no rule that may be left out, has a task, or has no reason")
		}
	}
	slices.Sort(faults)
	return faults
}

func (t Target) bound() time.Duration {
	if t.Bound == 0 {
		return 10 * time.Second
	}
	return t.Bound
}
