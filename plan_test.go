package ruqi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// grid fires at every multiple of step since 1970 up to end (zero: for ever).
type grid struct {
	step time.Duration
	end  time.Time
}

func (g grid) Next(after time.Time) (time.Time, bool) {
	t := after.Truncate(g.step).Add(g.step).UTC()
	return t, g.end.IsZero() || !t.After(g.end)
}
func (grid) Kind() string { return "grid" }
func (g grid) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"kind":"grid","step":%d}`, g.step), nil
}
func (g grid) EndTime() (time.Time, bool) { return g.end, !g.end.IsZero() }

// countingGrid can look back and count, too.
type countingGrid struct{ grid }

func (g countingGrid) Prev(before time.Time) (time.Time, bool) {
	t := before.Add(-1).Truncate(g.step).UTC()
	if !g.end.IsZero() && t.After(g.end) {
		t = g.end.Truncate(g.step)
	}
	return t, true
}

func (g countingGrid) Count(after, until time.Time) int64 {
	return until.Truncate(g.step).Unix()/int64(g.step/time.Second) - after.Truncate(g.step).Unix()/int64(g.step/time.Second)
}

// stuck breaks the law of triggers: it never moves on.
type stuck struct{ grid }

func (stuck) Next(after time.Time) (time.Time, bool) { return after, true }

type textTask struct{}

func (textTask) Kind() string                 { return "text" }
func (textTask) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"text"}`), nil }
func (textTask) String() string               { return "text" }
func (textTask) Needs() string                { return "text" }

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(offset time.Duration) *time.Time { t := noon.Add(offset); return &t }

// outline writes a run as "state nominal(+folded from first)", minutes relative to noon.
func outline(run Run) string {
	text := fmt.Sprintf("%s %+.0f", run.State, run.Nominal.Sub(noon).Minutes())
	if run.Coalesced > 0 {
		text += fmt.Sprintf(" +%d from %+.0f", run.Coalesced, run.CoalescedFrom.Sub(noon).Minutes())
	}
	return text
}

func TestPlanJob(t *testing.T) {
	minute := countingGrid{grid{step: time.Minute}}
	grace := func(d time.Duration) *time.Duration { return &d }
	no := false
	queued := func(id int64, batch int64) Run { return Run{ID: id, State: RunQueued, Batch: batch, Due: noon} }
	cases := []struct {
		name    string
		trigger Trigger
		policy  Policy
		next    time.Duration // the stored next fire, relative to noon; now is noon
		free    int
		active  int
		queued  []Run
		state   JobState
		count   int64

		want      []string
		start     []int64
		wantState JobState
		wantNext  time.Duration
		wantCount int64
		nothing   bool
	}{
		{name: "a fire on time runs", next: 0, want: []string{"running +0"}, wantNext: time.Minute, wantCount: 1},
		{name: "a fire not yet due waits", next: time.Minute, nothing: true},
		{name: "without a free slot the fire stays due", free: -1, next: -5 * time.Minute, nothing: true},
		{name: "several due fires are folded into the last", next: -3 * time.Minute, want: []string{"running +0 +3 from -3"}, wantNext: time.Minute, wantCount: 1},
		{name: "without coalesce all run, oldest first, as one batch", policy: Policy{Coalesce: &no}, next: -2 * time.Minute,
			want: []string{"running -2", "queued -1", "queued +0"}, wantNext: time.Minute, wantCount: 3},
		{name: "at the limit the fire is skipped and the next time moves on", active: 1, next: 0, want: []string{"skipped +0"}, wantNext: time.Minute},
		{name: "at the limit folded fires are one skipped row", active: 1, next: -2 * time.Minute, want: []string{"skipped +0 +2 from -2"}, wantNext: time.Minute},
		{name: "at the limit a batch is skipped row by row", policy: Policy{Coalesce: &no}, active: 1, next: -1 * time.Minute,
			want: []string{"skipped -1", "skipped +0"}, wantNext: time.Minute},
		{name: "below max_instances it overlaps", policy: Policy{MaxInstances: 2}, active: 1, next: 0, want: []string{"running +0"}, wantNext: time.Minute, wantCount: 1},
		{name: "a batch is judged once against the limit", policy: Policy{MaxInstances: 2, Coalesce: &no}, active: 1, next: -2 * time.Minute,
			want: []string{"running -2", "queued -1", "queued +0"}, wantNext: time.Minute, wantCount: 3},
		{name: "older than the newest catchup_limit is one missed row", policy: Policy{CatchupLimit: 2}, next: -5 * time.Minute,
			want: []string{"missed -2 +3 from -5", "running +0 +1 from -1"}, wantNext: time.Minute, wantCount: 1},
		{name: "the same without arithmetic", trigger: minute.grid, policy: Policy{CatchupLimit: 2}, next: -5 * time.Minute,
			want: []string{"missed -2 +3 from -5", "running +0 +1 from -1"}, wantNext: time.Minute, wantCount: 1},
		{name: "a single older fire has no folded count", policy: Policy{CatchupLimit: 5}, next: -5 * time.Minute,
			want: []string{"missed -5", "running +0 +4 from -4"}, wantNext: time.Minute, wantCount: 1},
		{name: "ten years of minutes are counted, not walked", policy: Policy{CatchupLimit: 1}, next: -3650 * 24 * time.Hour,
			want: []string{fmt.Sprintf("missed -1 +%d from %+d", 3650*24*60-1, -3650*24*60), "running +0"}, wantNext: time.Minute, wantCount: 1},
		{name: "past the grace is missed, the rest runs", policy: Policy{MisfireGrace: grace(90 * time.Second)}, next: -3 * time.Minute,
			want: []string{"missed -2 +1 from -3", "running +0 +1 from -1"}, wantNext: time.Minute, wantCount: 1},
		{name: "past the grace without coalesce each is missed", policy: Policy{MisfireGrace: grace(30 * time.Second), Coalesce: &no}, next: -2 * time.Minute,
			want: []string{"missed -2", "missed -1", "running +0"}, wantNext: time.Minute, wantCount: 1},
		{name: "all past the grace: nothing runs", trigger: countingGrid{grid{step: time.Hour}}, policy: Policy{MisfireGrace: grace(time.Second)}, next: -time.Hour + time.Second*0,
			want: []string{"missed -60", "running +0"}, wantNext: time.Hour, wantCount: 1},
		{name: "a grace of zero takes what is on time", policy: Policy{MisfireGrace: grace(0)}, next: 0, want: []string{"running +0"}, wantNext: time.Minute, wantCount: 1},
		{name: "max_runs finishes the job", policy: Policy{MaxRuns: 3}, count: 2, next: 0, want: []string{"running +0"}, wantState: JobFinished, wantCount: 3},
		{name: "a batch stops at max_runs", policy: Policy{MaxRuns: 3, Coalesce: &no}, count: 1, next: -4 * time.Minute,
			want: []string{"running -4", "queued -3"}, wantState: JobFinished, wantCount: 3},
		{name: "a skipped fire does not count as a run", policy: Policy{MaxRuns: 1}, active: 1, next: 0, want: []string{"skipped +0"}, wantNext: time.Minute},
		{name: "the last fire finishes the job", trigger: countingGrid{grid{step: time.Minute, end: noon}}, next: 0, want: []string{"running +0"}, wantState: JobFinished, wantCount: 1},
		{name: "queued rows start, batch rows beside the limit", active: 1, next: time.Minute, queued: []Run{queued(7, 1), queued(8, 0)}, start: []int64{7}, wantNext: time.Minute},
		{name: "a manual row takes the room before the fire", next: 0, queued: []Run{queued(8, 0)}, start: []int64{8}, free: 5, want: []string{"skipped +0"}, wantNext: time.Minute},
		{name: "an older fire comes before a manual row", next: -time.Minute, queued: []Run{queued(8, 0)}, free: 5, want: []string{"running +0 +1 from -1"}, wantNext: time.Minute, wantCount: 1},
		{name: "at the limit a batch is skipped whole, also near max_runs", policy: Policy{MaxRuns: 3, Coalesce: &no}, active: 1, count: 2, next: -2 * time.Minute,
			want: []string{"skipped -2", "skipped -1", "skipped +0"}, wantNext: time.Minute, wantCount: 2},
		{name: "a batch of which less may wait than runs are left loses no fire", policy: Policy{MaxRuns: 3, Coalesce: &no, Overlap: OverlapQueueOne}, active: 1, count: 1, next: -4 * time.Minute,
			want: []string{"skipped -4", "skipped -3", "skipped -2", "skipped -1", "queued +0"}, wantNext: time.Minute, wantCount: 2},
		{name: "a batch that may wait stops at max_runs", policy: Policy{MaxRuns: 3, Coalesce: &no, Overlap: OverlapQueue}, active: 1, count: 1, next: -4 * time.Minute,
			want: []string{"queued -4", "queued -3"}, wantState: JobFinished, wantCount: 3},
		{name: "queued rows take slots too", policy: Policy{MaxInstances: 9}, free: 2, next: 0, queued: []Run{queued(7, 0), queued(8, 0), queued(9, 0)}, start: []int64{7, 8}, wantNext: 0},
		{name: "a paused job starts its manual run", state: JobPaused, queued: []Run{queued(8, 0)}, start: []int64{8}, wantState: JobPaused},
		{name: "a paused job has no fires", state: JobPaused, next: -time.Minute, nothing: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec := &JobSpec{ID: "j", Trigger: c.trigger, Task: textTask{}, Policy: c.policy.WithDefaults()}
			if spec.Trigger == nil {
				spec.Trigger = minute
			}
			state, free := c.state, c.free
			if state == "" {
				state = JobActive
			}
			if free == 0 {
				free = 10
			}
			due := Due{Job: JobRecord{ID: "j", State: state, NextNominal: at(c.next), NextDue: at(c.next), RunCount: c.count}, Active: c.active, Queued: c.queued}
			if state == JobPaused {
				due.Job.NextNominal, due.Job.NextDue = nil, nil
			}
			plan, taken, ok, err := planJob(noon, due, spec, max(free, 0), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if ok == c.nothing {
				t.Fatalf("planned = %t, want %t (%+v)", ok, !c.nothing, plan)
			}
			if c.nothing {
				return
			}
			var got []string
			running := len(plan.Start)
			for _, run := range plan.Runs {
				got = append(got, outline(run))
				if run.State == RunRunning {
					running++
				}
				if run.State.Ended() && run.Reason == "" {
					t.Errorf("%s has no reason", outline(run))
				}
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("rows\n got %q\nwant %q", got, c.want)
			}
			if fmt.Sprint(plan.Start) != fmt.Sprint(c.start) {
				t.Errorf("started %v, want %v", plan.Start, c.start)
			}
			if taken != running {
				t.Errorf("took %d slots for %d running rows", taken, running)
			}
			if c.wantState == "" {
				c.wantState = JobActive
			}
			if plan.State != c.wantState || plan.RunCount != c.wantCount {
				t.Errorf("state %s count %d, want %s %d", plan.State, plan.RunCount, c.wantState, c.wantCount)
			}
			switch {
			case c.wantState != JobActive:
				if plan.NextNominal != nil {
					t.Errorf("next %s, want none", plan.NextNominal)
				}
			case plan.NextNominal == nil || !plan.NextNominal.Equal(noon.Add(c.wantNext)):
				t.Errorf("next %v, want %s", plan.NextNominal, noon.Add(c.wantNext))
			}
		})
	}
}

// After an outage ends of runs may be missing: a fire of it finds no limit yet, one that came later does.
func TestAFireOfAnOutageWaitsForEnds(t *testing.T) {
	for _, c := range []struct {
		what      string
		overlap   Overlap
		active    int
		waiting   int
		unsettled time.Duration // after noon, when the fire is due
		ok        bool
		state     RunState
	}{
		{"at the limit, of the outage", OverlapSkip, 1, 0, 0, false, ""},
		{"at the limit, after it", OverlapSkip, 1, 0, -time.Microsecond, true, RunSkipped},
		{"below the limit, of the outage", OverlapSkip, 0, 0, time.Hour, true, RunRunning},
		{"no more may wait, of the outage", OverlapQueueOne, 1, 1, 0, false, ""},
		{"no more may wait, after it", OverlapQueueOne, 1, 1, -time.Microsecond, true, RunSkipped},
		{"it would cancel what runs, of the outage", OverlapCancelRunning, 1, 0, 0, false, ""},
		{"it cancels what runs, after it", OverlapCancelRunning, 1, 0, -time.Microsecond, true, RunQueued},
		{"there is no limit, of the outage", OverlapAllow, 1, 0, time.Hour, true, RunRunning},
	} {
		spec := &JobSpec{ID: "j", Trigger: grid{step: time.Minute}, Task: textTask{}, Policy: Policy{Overlap: c.overlap}.WithDefaults()}
		due := Due{Job: JobRecord{ID: "j", State: JobActive, NextNominal: at(0), NextDue: at(0)}, Active: c.active, Waiting: c.waiting}
		plan, taken, ok, err := planJob(noon, due, spec, 1, noon.Add(c.unsettled))
		if err != nil || ok != c.ok {
			t.Errorf("%s: planned %t, %v", c.what, ok, err)
		}
		if ok && (len(plan.Runs) != 1 || plan.Runs[0].State != c.state) || !ok && taken != 0 {
			t.Errorf("%s: the plan is %+v, of %d slots", c.what, plan, taken)
		}
	}
}

// patient is a grid that looks no further than reach.
type patient struct {
	grid
	reach time.Duration
}

func (p patient) Search(after time.Time) (at, until time.Time, ok bool) {
	if at, ok = p.Next(after); ok && at.Sub(after) > p.reach {
		return time.Time{}, after.Add(p.reach), false
	}
	return at, time.Time{}, ok
}

// tiring is a grid whose search does not get on beyond noon.
type tiring struct{ grid }

func (t tiring) Search(after time.Time) (at, until time.Time, ok bool) {
	if !after.Before(noon) {
		return time.Time{}, after, false
	}
	at, ok = t.Next(after)
	return at, time.Time{}, ok
}

// countingTiring can look back and count, too.
type countingTiring struct{ countingGrid }

func (t countingTiring) Search(after time.Time) (at, until time.Time, ok bool) {
	return tiring{t.grid}.Search(after)
}

func TestWhatWasNotFoundIsLookedForAgain(t *testing.T) {
	hour := grid{step: time.Hour}
	for _, c := range []struct {
		what     string
		trigger  Trigger
		nominal  *time.Time // nil: the job looks again when it is due
		due      time.Duration
		want     []string
		wantNext *time.Time
		wantDue  time.Duration
		state    JobState
	}{
		{"a fire, the next of which is far away", patient{hour, 10 * time.Minute}, at(0), 0, []string{"running +0"}, nil, 10 * time.Minute, JobActive},
		{"fires with times to look between them", patient{hour, 10 * time.Minute}, at(-2 * time.Hour), -2 * time.Hour, []string{"running +0 +2 from -120"}, nil, 10 * time.Minute, JobActive},
		{"a look that finds the first of such", patient{hour, 10 * time.Minute}, nil, -125 * time.Minute, []string{"running +0 +2 from -120"}, nil, 10 * time.Minute, JobActive},
		{"more of such than are caught up with", patient{hour, 10 * time.Minute}, at(-150 * time.Hour), -150 * time.Hour,
			[]string{"missed -6000 +50 from -9000", "running +0 +99 from -5940"}, nil, 10 * time.Minute, JobActive},
		{"a look that finds more of such", patient{hour, 10 * time.Minute}, nil, -150*time.Hour - 5*time.Minute,
			[]string{"missed -6000 +50 from -9000", "running +0 +99 from -5940"}, nil, 10 * time.Minute, JobActive},
		{"a look that finds nothing", patient{hour, 10 * time.Minute}, nil, -5 * time.Minute, []string{"running +0"}, nil, 10 * time.Minute, JobActive},
		{"a look that leads to another", patient{hour, 10 * time.Minute}, nil, -50 * time.Minute, nil, nil, -40 * time.Minute, JobActive},
		{"a look that finds a fire to come", patient{hour, 90 * time.Minute}, nil, 0, nil, at(time.Hour), time.Hour, JobActive},
		{"a look that finds more than one", patient{grid{step: time.Minute}, time.Hour}, nil, -150 * time.Second,
			[]string{"running +0 +2 from -2"}, at(time.Minute), time.Minute, JobActive},
		{"a look that finds more than are caught up with", patient{grid{step: time.Minute}, time.Hour}, nil, -150*time.Minute - time.Second,
			[]string{"missed -100 +50 from -150", "running +0 +99 from -99"}, at(time.Minute), time.Minute, JobActive},
		{"more fires with times to look between them than are caught up with", patient{hour, 10 * time.Minute}, at(-120 * time.Hour), -120 * time.Hour,
			[]string{"missed -6000 +20 from -7200", "running +0 +99 from -5940"}, nil, 10 * time.Minute, JobActive},
		{"a look that finds the last", patient{grid{step: time.Hour, end: noon}, time.Hour}, nil, -time.Minute, []string{"running +0"}, nil, 0, JobFinished},
		{"a look that finds the end", patient{grid{step: time.Hour, end: noon}, 2 * time.Hour}, nil, 0, nil, nil, 0, JobFinished},
	} {
		spec := &JobSpec{ID: "j", Trigger: c.trigger, Task: textTask{}, Policy: Policy{CatchupLimit: 100}.WithDefaults()}
		due := Due{Job: JobRecord{ID: "j", State: JobActive, NextNominal: c.nominal, NextDue: at(c.due)}}
		plan, _, ok, err := planJob(noon, due, spec, 1, time.Time{})
		if err != nil || !ok {
			t.Errorf("%s: planned %t, %v", c.what, ok, err)
			continue
		}
		var got []string
		for _, run := range plan.Runs {
			got = append(got, outline(run))
		}
		sameTime := func(a, b *time.Time) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(*b) }
		wantDue := at(c.wantDue)
		if c.state == JobFinished {
			wantDue = nil
		}
		if !slices.Equal(got, c.want) || plan.State != c.state || !sameTime(plan.NextNominal, c.wantNext) || !sameTime(plan.NextDue, wantDue) {
			t.Errorf("%s: %q, %s, next %v due %v; want %q, %s, next %v due %v", c.what, got, plan.State, plan.NextNominal, plan.NextDue, c.want, c.state, c.wantNext, wantDue)
		}
	}
	// A search that does not get on breaks the law of triggers. What is due runs before that is said.
	spec := &JobSpec{ID: "j", Trigger: patient{hour, 0}, Task: textTask{}, Policy: Policy{}.WithDefaults()}
	due := Due{Job: JobRecord{ID: "j", State: JobActive, NextNominal: at(0), NextDue: at(0)}}
	plan, _, ok, err := planJob(noon, due, spec, 1, time.Time{})
	if err != nil || !ok || len(plan.Runs) != 1 || plan.NextNominal != nil || plan.NextDue == nil || !plan.NextDue.Equal(noon) {
		t.Errorf("before a search that does not get on: %+v, %v", plan, err)
	}
	due.Job.NextNominal, due.Job.NextDue = plan.NextNominal, plan.NextDue
	if _, _, _, err := planJob(noon, due, spec, 1, time.Time{}); !errors.Is(err, errCostly) {
		t.Errorf("a search that does not get on was planned: %v", err)
	}
	// So do the newest of many.
	minute := grid{step: time.Minute}
	for name, trigger := range map[string]Trigger{"walked": tiring{minute}, "counted": countingTiring{countingGrid{minute}}} {
		spec.Trigger, spec.Policy.CatchupLimit = trigger, 3
		due.Job.NextNominal, due.Job.NextDue = at(-10*time.Minute), at(-10*time.Minute)
		plan, _, ok, err := planJob(noon, due, spec, 1, time.Time{})
		if err != nil || !ok || len(plan.Runs) != 2 || !plan.Runs[1].Nominal.Equal(noon) || plan.NextNominal != nil || plan.NextDue == nil || !plan.NextDue.Equal(noon) {
			t.Errorf("%s: before a search that does not get on: %+v, %v", name, plan, err)
		}
	}
}

func TestPlanRefusesATriggerThatDoesNotAdvance(t *testing.T) {
	spec := &JobSpec{ID: "j", Trigger: stuck{}, Task: textTask{}, Policy: Policy{}.WithDefaults()}
	due := Due{Job: JobRecord{ID: "j", State: JobActive, NextNominal: at(0), NextDue: at(0)}}
	if _, _, _, err := planJob(noon, due, spec, 1, time.Time{}); err == nil {
		t.Fatal("a trigger that answers with its own question was planned")
	}
}

func TestWalkGivesUpAfterItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the time that a step takes does not count
		spec := &JobSpec{ID: "j", Trigger: grid{step: time.Second}, Task: textTask{}, Policy: Policy{}.WithDefaults()}
		first := noon.Add(-30 * 24 * time.Hour)
		all, err := dueFires(spec, fire{first, first}, noon, 100)
		if err != nil {
			t.Fatal(err)
		}
		if !all.atLeast || all.older != walkLimit || len(all.newest) != 0 {
			t.Fatalf("counted %d older, %d newest, atLeast=%t; want %d, 0, true", all.older, len(all.newest), all.atLeast, walkLimit)
		}
		if all.next == nil || !all.next.nominal.Equal(noon.Add(time.Second)) {
			t.Fatalf("goes on at %v, want the first fire after now", all.next)
		}
	})
}

// Now is before, in and after the jitter of the newest fire.
func TestEveryDueFireIsCountedOnceWhateverTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the time that a step takes does not count
		for _, late := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
			for _, limit := range []int{1, 2, 3, 7, 100} {
				for n := range 250 {
					for name, trigger := range map[string]Trigger{"walked": grid{step: time.Minute}, "counted": countingGrid{grid{step: time.Minute}}} {
						what := fmt.Sprintf("%s, limit %d, %d minutes, %s after the last", name, limit, n, late)
						dueFiresAreCounted(t, what, trigger, noon.Add(late), n, limit)
					}
				}
			}
		}
	})
}

// dueFiresAreCounted looks at now for the fires of n minutes before noon.
func dueFiresAreCounted(t *testing.T, what string, trigger Trigger, now time.Time, n, limit int) {
	first := noon.Add(-time.Duration(n) * time.Minute)
	spec := &JobSpec{ID: "j", Trigger: trigger, Policy: Policy{Jitter: 45 * time.Second}}
	start := jittered(spec, first)
	if start.due.After(now) {
		return
	}
	all, err := dueFires(spec, start, now, limit)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for m := first; !m.After(now); m = m.Add(time.Minute) {
		if !jittered(spec, m).due.After(now) {
			want++
		}
	}
	if all.count() != want || len(all.newest) != min(limit, int(want)) {
		t.Fatalf("%s: counted %d (%d newest), want %d", what, all.count(), len(all.newest), want)
	}
	if all.next == nil || !all.next.due.After(now) || all.next.nominal.Sub(all.newest[len(all.newest)-1].nominal) != time.Minute {
		t.Fatalf("%s: next is %v after %v", what, all.next, all.newest)
	}
}

// JT01, JT03: hourly or every two minutes, each slot once, whatever the jitter.
func TestJitterKeepsEachSlot(t *testing.T) {
	for _, jitter := range []time.Duration{time.Microsecond, time.Second, 2 * time.Minute, 5 * time.Minute, 24 * time.Hour} {
		spec := &JobSpec{ID: "etl", Trigger: grid{step: 2 * time.Minute, end: noon.Add(time.Hour)}, Policy: Policy{Jitter: jitter}}
		var before fire
		spread := map[time.Duration]bool{}
		for nominal := noon; !nominal.After(noon.Add(time.Hour)); nominal = nominal.Add(2 * time.Minute) {
			f := jittered(spec, nominal)
			late := f.due.Sub(f.nominal)
			if late < 0 || late > jitter || late >= 2*time.Minute {
				t.Fatalf("jitter %s delays %s by %s", jitter, nominal, late)
			}
			if f.due.After(noon.Add(time.Hour)) {
				t.Fatalf("jitter %s moves %s past the end to %s", jitter, nominal, f.due)
			}
			if !before.due.Before(f.due) && !before.due.IsZero() {
				t.Fatalf("%s is not due after %s", f.due, before.due)
			}
			if f != jittered(spec, nominal) {
				t.Fatalf("the jitter of %s is drawn anew", nominal)
			}
			before, spread[late] = f, true
		}
		if jitter >= time.Second && len(spread) < 20 {
			t.Errorf("jitter %s gives only %d different delays in 31 fires", jitter, len(spread))
		}
	}
}

// slow is a grid whose every answer takes a while.
type slow struct{ grid }

func (s slow) Next(after time.Time) (time.Time, bool) {
	time.Sleep(3 * time.Millisecond)
	return s.grid.Next(after)
}

// Other jobs wait for the claim in which a trigger is walked, so it ends after a while, whatever a step costs.
func TestAWalkEndsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where only the trigger takes time
		first := noon.Add(-30 * 24 * time.Hour)
		spec := &JobSpec{ID: "j", Trigger: slow{grid{step: time.Minute}}, Task: textTask{}, Policy: Policy{}.WithDefaults()}
		for _, limit := range []int{20, 1000} {
			begin := time.Now()
			all, err := dueFires(spec, fire{first, first}, noon, limit)
			if took := time.Since(begin); err != nil || took > time.Second { // of 130 s
				t.Fatalf("limit %d: %v, after %v", limit, err, took)
			}
			switch {
			case limit == 20 && (!all.atLeast || all.older < 20 || all.next == nil || !all.next.nominal.Equal(noon.Add(time.Minute))):
				t.Errorf("limit %d: at least %d older ones, %t, then %v", limit, all.older, all.atLeast, all.next)
			case limit == 1000 && (len(all.newest) < 2 || len(all.newest) == limit || all.next == nil || all.next.nominal.Sub(all.newest[len(all.newest)-1].nominal) != time.Minute):
				t.Errorf("limit %d: %d of them, then %v", limit, len(all.newest), all.next)
			}
		}
	})
}

// slowPatient is a patient grid whose every search takes a while.
type slowPatient struct{ patient }

func (s slowPatient) Search(after time.Time) (at, until time.Time, ok bool) {
	time.Sleep(5 * time.Millisecond)
	return s.patient.Search(after)
}

// So it does where each step is of many searches, of a job of which all but the newest fire is missed.
func TestAWalkOfManySearchesEndsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := noon.Add(-30 * 24 * time.Hour)
		trigger := slowPatient{patient{grid{step: time.Hour}, 4 * time.Minute}} // 15 searches a step, 75 ms
		spec := &JobSpec{ID: "j", Trigger: trigger, Task: textTask{}, Policy: Policy{}.WithDefaults()}
		begin := time.Now()
		all, err := dueFires(spec, fire{first, first}, noon, 1)
		if took := time.Since(begin); err != nil || took > 600*time.Millisecond { // of 54 s; the first fire is looked at twice
			t.Errorf("%v, after %v", err, took)
		}
		if !all.atLeast || all.older < 2 || all.next == nil || !all.next.isLook() || !all.next.due.After(noon) {
			t.Errorf("at least %d older ones, %t, then %v", all.older, all.atLeast, all.next)
		}
	})
}
