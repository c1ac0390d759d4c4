package ruqi_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/zonetable"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestAnInstanceTellsOfTheZonesItComputesWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		berlin, err := trigger.LoadZone("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		s := newScheduler(t, memory.Open(memory.Options{}), newRegistry(), ruqi.Options{Instance: "here"})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stopping(t, s)
		sees := func(want string) {
			t.Helper()
			status, err := s.Status(t.Context())
			if err != nil || status.Zones != want {
				t.Errorf("the status has %q, %v, want %q", status.Zones, err, want)
			}
			list, err := s.Instances(t.Context())
			if err != nil || list.Instances[0].Zones != want {
				t.Errorf("the instance has %q, %v, want %q", list.Instances[0].Zones, err, want)
			}
		}
		utc := "UTC=" + zonetable.Sum(time.UTC)
		sees(utc)
		spec := ruqi.JobSpec{ID: "j", Trigger: trigger.Crontab("TZ=Europe/Berlin 0 0 * * *"), Task: ruqi.Do(nothing)}
		if _, _, err := s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // more than a heartbeat
		sees("Europe/Berlin=" + zonetable.Sum(berlin) + " " + utc)
	})
}

// Another instance is told of once a difference, when it begins and when it is another.
func TestInstancesWithOtherZoneDataWarn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := memory.Open(memory.Options{}), &logText{}
		s := newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "here", Logger: l.logger()})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stopping(t, s)
		spec := ruqi.JobSpec{ID: "j", Trigger: trigger.Crontab("TZ=Europe/Berlin 0 0 * * *"), Task: ruqi.Do(nothing)}
		if _, _, err := s.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		utc := "UTC=" + zonetable.Sum(time.UTC)
		there := ruqi.Instance{Owner: ruqi.Owner{Instance: "there"}, Lease: 5 * time.Minute, State: "running"}
		for _, c := range []struct {
			zones, tells      string
			warnings, returns int // so far
		}{
			{"", "", 0, 0},
			{utc, "", 0, 0},
			{"Mars/Base=12345678 " + utc, "", 0, 0},
			{"a form of another release", "", 0, 0},
			{"Europe/Berlin=00000000 Mars/Base=12345678 " + utc, `instance=there zones=[Europe/Berlin]`, 1, 0},
			{"Europe/Berlin=00000000 " + utc, "", 1, 0}, // the same difference
			{"Europe/Berlin=00000000 UTC=00000000", `instance=there zones="[Europe/Berlin UTC]"`, 2, 0},
			{utc, "agree", 2, 1},
			{"UTC=00000001", `zones=[UTC]`, 3, 1},
		} {
			there.Zones = c.zones
			beaten, err := store.Beat(t.Context(), there)
			if err != nil {
				t.Fatal(err)
			}
			there.Owner = beaten.Owner
			time.Sleep(3 * time.Minute)
			text := l.String()
			if n := strings.Count(text, "zone data differ"); n != c.warnings {
				t.Errorf("%q: %d warnings, want %d:\n%s", c.zones, n, c.warnings, text)
			}
			if n := strings.Count(text, "zone data agree"); n != c.returns {
				t.Errorf("%q: told %d times that they agree again, want %d", c.zones, n, c.returns)
			}
			if !strings.Contains(text, c.tells) {
				t.Errorf("%q: %q is not in\n%s", c.zones, c.tells, text)
			}
		}
	})
}

// What one that is dead knew is nobody's concern.
func TestADeadInstancesZonesWarnNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := memory.Open(memory.Options{}), &logText{}
		there := ruqi.Instance{Owner: ruqi.Owner{Instance: "there"}, Lease: time.Second, State: "running", Zones: "UTC=00000000"}
		if _, err := store.Beat(t.Context(), there); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		s := newScheduler(t, store, newRegistry(), ruqi.Options{Instance: "here", Logger: l.logger()})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stopping(t, s)
		time.Sleep(3 * time.Minute)
		if text := l.String(); strings.Contains(text, "zone data") {
			t.Errorf("the log has\n%s", text)
		}
	})
}
