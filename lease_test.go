package ruqi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// An instance whose heartbeats do not arrive stops starting runs one heartbeat before its lease ends, though the store would
// still let it claim, and goes on where nobody has taken its place.
func TestWithoutHeartbeatsNothingStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		s := newScheduler(t, g, newRegistry(), ruqi.Options{}) // a lease of 15 s, a heartbeat of 3 s
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.Every(time.Second), Task: ruqi.Do(nothing)}, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30*time.Second + 500*time.Millisecond)
		g.mute.Store(true)
		muted := time.Now()
		time.Sleep(time.Minute)
		all := runs(t, s, "j")
		last := *all[len(all)-1].Started
		if after := last.Sub(muted); after < 8*time.Second || after > 12*time.Second {
			t.Errorf("the last run without heartbeats started %s after the first was refused; the last good one was up to 3s before, and trust ends 12s after that", after)
		}
		g.mute.Store(false)
		time.Sleep(10 * time.Second)
		all = runs(t, s, "j")
		covered(t, all, time.Second)
		if resumed := all[len(all)-1].Started; !resumed.After(muted.Add(time.Minute)) {
			t.Errorf("with heartbeats again the last run is of %s", resumed)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
