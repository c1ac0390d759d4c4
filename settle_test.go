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
	rows := rowOf(&JobRecord{ID: "j"}, spec, &all, noon, "it was removed")
	if len(rows) != 1 || !rows[0].Nominal.Equal(noon.Add(-2*time.Hour)) || rows[0].Coalesced != 1 || !strings.Contains(rows[0].Reason, "it was removed; at least 2 fires") {
		t.Errorf("the rows are %+v", rows)
	}
}

// So it does of a single fire.
func TestSettlingSaysOfASingleFireThatThereMayBeMore(t *testing.T) {
	trigger := wearing{patient{grid{step: time.Hour}, time.Minute}, noon.Add(-150 * time.Minute)}
	spec := &JobSpec{ID: "j", Trigger: trigger, Task: textTask{}, Policy: Policy{}.WithDefaults()}
	rec := &JobRecord{ID: "j", State: JobActive, Live: spec, NextNominal: at(-3 * time.Hour), NextDue: at(-3 * time.Hour)}
	for until, says := range map[time.Time]string{noon: "it was removed; at least 1 fire: to count on took too long", noon.Add(-160 * time.Minute): "it was removed"} {
		rows := (&Scheduler{}).settle(rec, until, "it was removed")
		if len(rows) != 1 || !rows[0].Nominal.Equal(noon.Add(-3*time.Hour)) || rows[0].Coalesced != 0 || rows[0].Reason != says {
			t.Errorf("at %v the rows are %+v, want %s", until, rows, says)
		}
	}
}
