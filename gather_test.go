package ruqi

import (
	"testing"
	"time"
)

// Fires gather for longer where a claim costs little time, so that they start no later for it.
func TestFiresGatherForWhatTheStoreLeavesOfTheTime(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: 16 * time.Millisecond, time.Millisecond: 14 * time.Millisecond, 3 * time.Millisecond: 10 * time.Millisecond, time.Second: 10 * time.Millisecond,
	} {
		if got := gatherFor(took); got != want {
			t.Errorf("after a claim of %v they gather for %v, want %v", took, got, want)
		}
	}
}
