package trigger_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

// A chain of months and days remembers every 16th of its dates: what is counted up to one of them must not depend on that.
func TestCountUpToAnyDateOfAChainOfMonthsAndDays(t *testing.T) {
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	tr, err := trigger.Calendar(trigger.CalendarOptions{Months: 3, Days: 6, Hour: 10, Start: &start, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	at := start.Add(-time.Second)
	for n := range int64(100) {
		next, ok := tr.Next(at)
		if !ok {
			t.Fatalf("no fire after %v", at)
		}
		day := next.Truncate(24 * time.Hour)
		if got := tr.Count(start.Add(-time.Second), day.Add(-time.Hour)); got != n {
			t.Fatalf("%d fires are counted from %v until the day before %v, want %d", got, start, next, n)
		}
		if got := tr.Count(day.Add(-time.Hour), next); got != 1 {
			t.Fatalf("%d fires are counted on %v, want 1", got, next)
		}
		at = next
	}
}
