package original_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/trigger"
)

// OR02: max_instances holds over all nodes together.
func TestMaxInstancesHoldsOverNodes(t *testing.T) {
	const limit, fires = 2, 40
	s := newSite(t)
	nodes := s.nodes(3, ruqi.Options{})
	nodes[0].add(spec("j", trigger.EveryDuration(50*time.Millisecond), work{Takes: 200 * time.Millisecond}, ruqi.Policy{MaxInstances: limit}))
	nodes[1].add(spec("alone", trigger.EveryDuration(50*time.Millisecond), work{Takes: 120 * time.Millisecond}, ruqi.Policy{}))
	s.until(2*patience, "every node has run something, and there were fires enough", func() bool {
		return len(s.shares("j")) == len(nodes) && len(s.shares("alone")) == len(nodes) && len(s.starts("j")) >= fires && len(s.starts("alone")) >= fires
	})
	s.mu.Lock()
	most, alone := s.most["j"], s.most["alone"]
	s.mu.Unlock()
	if most != limit || alone != 1 {
		t.Errorf("at most %d and %d runs were active at once, want %d and 1", most, alone, limit)
	}
	skipped := 0
	for _, row := range nodes[2].rows("j") {
		if row.State != ruqi.RunSkipped {
			continue
		}
		if skipped++; row.Reason != "2 active, max_instances is 2" {
			t.Errorf("a skipped row says %q", row.Reason)
		}
	}
	if skipped == 0 {
		t.Error("nothing was skipped: the limit was never met")
	}
}

// OR06: what did not run has a row with its reason; what did, has its start, its end, its attempt and its exit code.
func TestHistoryTellsWhatWasNotRunAndHowTheRestWent(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	a, b := nodes[0], nodes[1]
	for _, n := range nodes {
		n.Pause()
	}
	a.add(spec("late", trigger.EveryDuration(time.Hour), work{}, ruqi.Policy{MisfireGrace: ptr(time.Second)}))
	s.shift("late", time.Hour+time.Minute)
	for _, n := range nodes {
		n.Resume()
	}
	s.until(soon, "the late fire is recorded", func() bool { return len(b.rows("late")) == 1 })
	if row := b.rows("late")[0]; row.State != ruqi.RunMissed || !strings.HasPrefix(row.Reason, "too late: due 1m") || !strings.HasSuffix(row.Reason, "misfire_grace is 1s") || row.Started != nil || row.Finished == nil {
		t.Errorf("the late fire is %+v", row)
	}

	a.add(spec("busy", trigger.EveryDuration(100*time.Millisecond), work{Waits: true}, ruqi.Policy{}))
	s.until(soon, "a fire is skipped", func() bool { return states(b.rows("busy"))[ruqi.RunSkipped] > 0 })
	for _, row := range b.rows("busy") {
		if row.State == ruqi.RunSkipped && (row.Reason != "1 active, max_instances is 1" || row.Started != nil || row.Finished == nil) {
			t.Errorf("the skipped fire is %+v", row)
		}
	}
	close(s.release)

	_, _, err := b.AddJob(t.Context(), ruqi.JobSpec{ID: "fails", Trigger: trigger.Date(time.Now()), Task: command.Shell("exit 3")}, ruqi.Fail)
	if err != nil {
		t.Fatal(err)
	}
	s.until(patience, "the command has ended", func() bool { rows := a.rows("fails"); return len(rows) == 1 && rows[0].State.Ended() })
	if row := a.rows("fails")[0]; row.State != ruqi.RunFailed || row.Attempt != 1 || row.ExitCode == nil || *row.ExitCode != 3 || row.Started == nil || row.Finished == nil || row.Owner.Instance == "" {
		t.Errorf("the failed run is %+v", row)
	}
}

// OR07: a command of any length keeps its history, also as reports of the original's tables read it.
func TestALongCommandKeepsItsHistory(t *testing.T) {
	s := newSite(t)
	a := s.nodes(2, ruqi.Options{})[0]
	text := "echo done # " + strings.Repeat("long ", 500)
	name := strings.Repeat("名", 255)
	if _, _, err := a.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Name: name, Trigger: trigger.Date(time.Now()), Task: command.Shell(text)}, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	s.until(patience, "the command has ended", func() bool { rows := a.rows("j"); return len(rows) == 1 && rows[0].State.Ended() })
	row := a.rows("j")[0]
	if row.State != ruqi.RunSucceeded || !strings.Contains(row.Task, text) || row.JobName != name {
		t.Errorf("the row is %s, of %d bytes of name and %d of task", row.State, len(row.JobName), len(row.Task))
	}
	var cmd, output string
	var success bool
	if err := s.connect().QueryRow(t.Context(), `SELECT cmd, cmd_is_success, cmd_output FROM ruqi_jobs_history WHERE job_name = $1`, name).Scan(&cmd, &success, &output); err != nil {
		t.Fatal(err)
	}
	if cmd != row.Task || !success || output != "done\n" {
		t.Errorf("a report reads %v, %q and a command of %d bytes", success, output, len(cmd))
	}
}

// OR11: a pool that is full for more than 30 s drops nothing: what waits is due until there is a slot, or is recorded.
func TestAFullPoolDropsNothing(t *testing.T) {
	const every, fires = 5 * time.Second, 8
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{Slots: map[string]int{"default": 1}})
	for i, n := range nodes {
		n.add(spec([]string{"stands", "stands too"}[i], trigger.Date(time.Now()), work{Waits: true}, ruqi.Policy{}))
	}
	s.until(soon, "both pools are full", func() bool { return len(s.starts("")) == len(nodes) })
	long := time.Now().Add(-time.Hour)
	often, err := trigger.Interval(every, trigger.IntervalOptions{Start: &long})
	if err != nil {
		t.Fatal(err)
	}
	folded := nodes[0].add(spec("folded", often, work{}, ruqi.Policy{}))
	single := nodes[1].add(spec("single", often, work{}, ruqi.Policy{Coalesce: ptr(false)}))
	for _, job := range []string{"folded", "single"} { // the first fire is 35 s ago, the eighth is now
		s.shift(job, fires*every)
	}
	watch(2 * time.Second)
	for _, job := range []string{"folded", "single"} {
		if rows := nodes[0].rows(job); len(rows) != 0 {
			t.Errorf("%s: the full pool made of its fires %v", job, states(rows))
		}
	}
	close(s.release)
	first := folded.NextNominal.Add(-fires * every)
	s.until(patience, "the fires that waited have run", func() bool {
		return states(nodes[0].rows("folded"))[ruqi.RunSucceeded] >= 1 && states(nodes[0].rows("single"))[ruqi.RunSucceeded] >= fires
	})
	row := nodes[0].rows("folded")[0]
	if n := row.Nominal.Sub(first) / every; row.State != ruqi.RunSucceeded || row.CoalescedFrom == nil || !row.CoalescedFrom.Equal(first) || int64(n) != row.Coalesced || n < fires-1 {
		t.Errorf("the fires since %s are folded into %+v", first, row)
	}
	first = single.NextNominal.Add(-fires * every)
	for i, row := range nodes[0].rows("single") {
		if want := first.Add(time.Duration(i) * every); !row.Nominal.Equal(want) || i < fires && row.State != ruqi.RunSucceeded {
			t.Errorf("row %d is of %s and %s, want %s", i, row.Nominal, row.State, want)
		}
	}
}
