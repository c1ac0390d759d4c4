package ruqi_test

import (
	"sync/atomic"
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
		_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Do(nothing)}, ruqi.Fail)
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

// An instance measures with each heartbeat how far its clock is from the store's, and tells it with the next.
func TestAnInstanceTellsHowFarItsClockIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{})}
		var ahead atomic.Int64
		ahead.Store(int64(90*time.Second + 1500*time.Nanosecond))
		s := newScheduler(t, g, newRegistry(), ruqi.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		offset := func() *time.Duration {
			t.Helper()
			all, err := g.Instances(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			return all[0].ClockOffset
		}
		if got := offset(); got != nil {
			t.Errorf("before anything was measured the offset is %s", got)
		}
		time.Sleep(4 * time.Second) // past the first heartbeat
		if got := offset(); got == nil || *got != 90*time.Second+2*time.Microsecond {
			t.Errorf("after a heartbeat the offset is %v, want 1m30.000002s", got)
		}
		ahead.Store(int64(-time.Second))
		// The store reads its clock when it answers, at the end of the wait: half of the wait is the error.
		g.hang("Beat")
		time.Sleep(4 * time.Second)
		g.goOn()
		time.Sleep(3 * time.Second)
		if got := offset(); got == nil || *got > -time.Second || *got < -3*time.Second {
			t.Errorf("after a slow heartbeat the offset is %v, want -1s but for half of the 2s that it took", got)
		}
		time.Sleep(6 * time.Second)
		if got := offset(); got == nil || *got != -time.Second {
			t.Errorf("after quick heartbeats again the offset is %v, want -1s", got)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An instance whose last ends do not get through in time says goodbye all the same: others end its runs at once, and not after its lease.
func TestAnInstanceSaysGoodbyeWhenItsEndsDoNotGetThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		g := &gate{Store: store}
		s := newScheduler(t, g, newRegistry(), ruqi.Options{Lease: time.Hour})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, store: store, s: s}
		w.add(ruqi.JobSpec{ID: "job", Trigger: trigger.Date(time.Now().Add(time.Minute)), Task: ruqi.Do(nothing)})
		g.hang("Finish")
		time.Sleep(2 * time.Minute)
		if err := s.Shutdown(t.Context()); err == nil {
			t.Error("a shutdown that has left an end unwritten told nothing of it")
		}
		all, err := store.Instances(t.Context())
		if err != nil || len(all) != 1 || all[0].Lease != 0 {
			t.Errorf("the instances are %+v, %v", all, err)
		}
	})
}
