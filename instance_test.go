package ruqi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// The list is told on the store's clock, which is an hour behind this machine's here. Who said that it runs is
// not taken for alive when its lease has ended, be it not rescued yet.
func TestAnInstanceWhoseLeaseHasEndedIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Store: memory.Open(memory.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }})}
		s := newScheduler(t, g, newRegistry(), ruqi.Options{Instance: "here"})
		spec := ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(nothing), Executor: "there"}
		if _, _, err := s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		there := ruqi.Instance{Owner: ruqi.Owner{Instance: "there"}, Lease: 5 * time.Second, State: "running", Slots: map[string]int{"there": 1}, Needs: []string{"func:closure"}}
		seen := func(when, here, there string, parked bool) {
			t.Helper()
			list, err := s.Instances(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, i := range list.Instances {
				got[i.Owner.Instance] = i.State
			}
			if got["here"] != here || got["there"] != there {
				t.Errorf("%s: %v, want here %q and there %q", when, got, here, there)
			}
			if off := list.Now.Sub(time.Now().Add(-time.Hour)).Abs(); here != "" && off > time.Millisecond {
				t.Errorf("%s: the list's time is %s off the store's clock", when, off)
			}
			job, err := s.Job(t.Context(), "j")
			if err != nil || (job.Parked != "") != parked {
				t.Errorf("%s: the job that there can run is parked by %q, %v", when, job.Parked, err)
			}
		}
		seen("before the start", "", "", true)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if _, err := g.Beat(t.Context(), there); err != nil {
			t.Fatal(err)
		}
		g.hang("Rescue")
		time.Sleep(4900 * time.Millisecond)
		seen("near the end of the lease", "running", "running", false)
		time.Sleep(200 * time.Millisecond)
		seen("past the lease", "running", ruqi.InstanceLost, true)
		g.goOn()
		time.Sleep(4 * time.Second)
		seen("after the rescue", "running", "", true)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		seen("after the end", "", "", true)
	})
}
