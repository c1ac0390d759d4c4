package original_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// OR03: a change of the trigger sets the next time, on every node.
func TestAChangedTriggerSetsTheNextTime(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	a, b := nodes[0], nodes[1]
	a.add(spec("j", trigger.EveryDuration(time.Hour), work{}, ruqi.Policy{}))
	changed, err := b.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Trigger = trigger.EveryDuration(time.Second); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if next := changed.NextNominal.Sub(changed.Updated); next != time.Second {
		t.Errorf("the next time comes %s after the change, want 1s", next)
	}
	s.until(soon, "the job fires by its new trigger", func() bool { return len(s.starts("j")) > 0 })
	if first := s.starts("j")[0].run; !first.Nominal.Equal(*changed.NextNominal) {
		t.Errorf("the first run is for %s, want %s", first.Nominal, changed.NextNominal)
	}
	back, err := a.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Trigger = trigger.EveryDuration(time.Hour); return nil })
	if err != nil {
		t.Fatal(err)
	}
	before := len(b.rows("j"))
	if next := back.NextNominal.Sub(back.Updated); next != time.Hour {
		t.Errorf("the next time comes %s after the change back, want 1h", next)
	}
	watch(2 * time.Second)
	if after := len(b.rows("j")); after != before {
		t.Errorf("by the old trigger there came %d more rows", after-before)
	}
}

// OR03: what a scheduler writes at the end of a run undoes no pause and no change that was made meanwhile on another node.
func TestNoLateWriteUndoesAnEdit(t *testing.T) {
	const rounds = 10
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	a, b := nodes[0], nodes[1]
	a.add(spec("j", trigger.EveryDuration(50*time.Millisecond), work{Takes: 150 * time.Millisecond}, ruqi.Policy{}))
	ended := func() bool { return states(a.rows("j"))[ruqi.RunRunning] == 0 }
	for round := range rounds {
		editor := nodes[round%2]
		from := len(s.starts("j"))
		s.until(patience, "a run is under way", func() bool { return len(s.starts("j")) > from })
		text := fmt.Sprint("round ", round)
		if _, err := editor.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error { job.Description = text; return nil }); err != nil {
			t.Fatal(err)
		}
		paused, err := editor.PauseJob(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		rows := len(a.rows("j"))
		s.until(patience, "what was under way has ended", ended)
		watch(100 * time.Millisecond) // twice the interval
		for _, n := range nodes {
			job := n.job("j")
			if job.State != ruqi.JobPaused || job.NextNominal != nil || job.NextDue != nil || job.Version != paused.Version || job.Description != text {
				t.Errorf("round %d: the paused job is %s, next %v, at version %d (it was %d), %q", round, job.State, job.NextDue, job.Version, paused.Version, job.Description)
			}
		}
		if now := len(b.rows("j")); now != rows {
			t.Errorf("round %d: %d rows came after the pause", round, now-rows)
		}
		if _, err := editor.ResumeJob(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
	}
}

// OR04: a job added on one node runs on another within the poll, also when the first is paused itself.
func TestAJobAddedOnAPausedNodeRunsOnAnother(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	nodes[0].Pause()
	nodes[0].add(spec("far", trigger.EveryDuration(time.Hour), work{}, ruqi.Policy{})) // the other has something to wait for
	watch(time.Second)
	var most time.Duration
	for i := range 5 {
		id := fmt.Sprint("j", i)
		job := nodes[0].add(spec(id, trigger.Date(time.Now()), work{}, ruqi.Policy{}))
		s.until(soon, "the job runs", func() bool { return len(s.starts(id)) == 1 })
		began := s.starts(id)[0]
		if began.node != "b" {
			t.Errorf("it runs on the paused node %s", began.node)
		}
		most = max(most, began.run.Started.Sub(job.Created))
	}
	t.Logf("jobs added on a paused node start on the other within %s", most)
	if most > soon {
		t.Errorf("a job waited %s", most)
	}
}
