package ruqi

import (
	"strings"
	"testing"
	"time"
)

// wearing is a grid with more times to look between its fires than a claim goes through at once. Asked about that time or later, it panics.
type wearing struct {
	patient
	until time.Time
}

func (w wearing) Search(after time.Time) (at, until time.Time, ok bool) {
	if !w.until.IsZero() && !after.Before(w.until) {
		panic("it is worn out")
	}
	return w.patient.Search(after)
}

// No claim follows the settling of fires, so it goes on where a claim would leave the rest for the next one.
func TestSettlingGoesOnToTheLastFire(t *testing.T) {
	trigger := patient{grid{step: time.Hour}, time.Minute}
	for n := range 5 {
		for _, looks := range []bool{false, true} {
			first := fire{*at(-time.Duration(n) * time.Hour), *at(-time.Duration(n) * time.Hour)}
			if looks {
				first = fire{due: first.due.Add(-30 * time.Minute)}
			}
			spec := &JobSpec{ID: "j", Trigger: trigger, Task: textTask{}, Policy: Policy{}.WithDefaults()}
			all := dueSafely(spec, first, noon)
			from, last := all.ends()
			if all.count() != int64(n)+1 || !from.Equal(*at(-time.Duration(n) * time.Hour)) || !last.Equal(noon) || all.next == nil || !all.next.due.After(noon) {
				t.Errorf("of %d fires, first looked for %t, it found %d from %s to %s, then %v", n+1, looks, all.count(), from, last, all.next)
			}
		}
	}
}

// What was found before a trigger fails counts, and the row says that there may be more.
func TestSettlingKeepsWhatItFoundBeforeATriggerFails(t *testing.T) {
	trigger := wearing{patient{grid{step: time.Hour}, time.Minute}, noon.Add(-90 * time.Minute)}
	spec := &JobSpec{ID: "j", Trigger: trigger, Task: textTask{}, Policy: Policy{}.WithDefaults()}
	all := dueSafely(spec, fire{*at(-3 * time.Hour), *at(-3 * time.Hour)}, noon)
	rows := rowOf(&JobRecord{ID: "j"}, spec, &all, "it was removed")
	if len(rows) != 1 || !rows[0].Nominal.Equal(noon.Add(-2*time.Hour)) || rows[0].Coalesced != 1 || !strings.Contains(rows[0].Reason, "it was removed; at least 2 fires") {
		t.Errorf("the rows are %+v", rows)
	}
}

// stuckGrid is a grid that answers with the time it is asked about from a time on; or, being brittle, panics then.
type stuckGrid struct {
	grid
	from    time.Time
	brittle bool
}

func (s stuckGrid) Next(after time.Time) (time.Time, bool) {
	switch {
	case after.Before(s.from):
		return s.grid.Next(after)
	case s.brittle:
		panic("it is broken")
	}
	return after, true
}

// The row says so, too, where the trigger breaks its law instead, and where no more than the first fire is known.
func TestARowSaysThatFiresCouldNotBeCounted(t *testing.T) {
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	for name, c := range map[string]struct {
		trigger Trigger
		nominal time.Time
		others  int64
		reason  string
	}{
		"stuck after two":       {stuckGrid{grid{step: time.Hour}, at(-1), false}, at(-1), 1, "gone; at least 2 fires: the rest could not be counted"},
		"stuck after many":      {stuckGrid{grid{step: time.Minute}, at(-1), false}, at(-1), 60, "gone; at least 61 fires: the rest could not be counted"},
		"stuck after the first": {stuckGrid{grid{step: time.Hour}, at(-2), false}, at(-2), 0, "gone; at least 1 fire: the rest could not be counted"},
		"broken after it":       {stuckGrid{grid{step: time.Hour}, at(-2), true}, at(-2), 0, "gone; at least 1 fire: the rest could not be counted"},
		"sound":                 {grid{step: time.Hour}, noon, 2, "gone"},
		"sound, with one":       {grid{step: 24 * time.Hour}, at(-2), 0, "gone"},
	} {
		spec := &JobSpec{ID: "j", Trigger: c.trigger, Task: textTask{}, Policy: Policy{}.WithDefaults()}
		first := fire{at(-2), at(-2)}
		all := dueSafely(spec, first, noon)
		rows := rowOf(&JobRecord{ID: "j"}, spec, &all, "gone")
		if len(rows) != 1 || !rows[0].Nominal.Equal(c.nominal) || rows[0].Coalesced != c.others || rows[0].Reason != c.reason {
			t.Errorf("%s: the rows are %+v, want one at %v with %d others: %s", name, rows, c.nominal, c.others, c.reason)
		}
	}
}

// So it does of a single fire.
func TestSettlingSaysOfASingleFireThatThereMayBeMore(t *testing.T) {
	trigger := wearing{patient{grid{step: time.Hour}, time.Minute}, noon.Add(-150 * time.Minute)}
	spec := &JobSpec{ID: "j", Trigger: trigger, Task: textTask{}, Policy: Policy{}.WithDefaults()}
	rec := &JobRecord{ID: "j", State: JobActive, Live: spec, NextNominal: at(-3 * time.Hour), NextDue: at(-3 * time.Hour)}
	for until, says := range map[time.Time]string{noon: "it was removed; at least 1 fire: the rest could not be counted", noon.Add(-160 * time.Minute): "it was removed"} {
		rows := (&Scheduler{}).settle(rec, until, "it was removed")
		if len(rows) != 1 || !rows[0].Nominal.Equal(noon.Add(-3*time.Hour)) || rows[0].Coalesced != 0 || rows[0].Reason != says {
			t.Errorf("at %v the rows are %+v, want %s", until, rows, says)
		}
	}
}
