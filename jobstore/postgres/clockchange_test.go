package postgres_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/trigger"
)

// OR14: over a change of the clock two nodes run a job of fixed times once, and what goes by the running clock on and on.
func TestClockChangesOnTwoNodes(t *testing.T) {
	berlin, err := trigger.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]string{"in it": "30 2 * * *", "around it": "30 1-3 * * *", "often": "*/30 * * * *"}
	for _, c := range []struct {
		title string
		from  time.Time // four hours are tried
		want  map[string][]string
	}{
		{"an hour that is not there", time.Date(2027, 3, 28, 0, 0, 0, 0, time.UTC), map[string][]string{
			"in it":     {"2027-03-28T03:00:00+02:00"},
			"around it": {"2027-03-28T01:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-28T03:30:00+02:00"},
			"often": {"2027-03-28T01:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-28T03:30:00+02:00", "2027-03-28T04:00:00+02:00",
				"2027-03-28T04:30:00+02:00", "2027-03-28T05:00:00+02:00", "2027-03-28T05:30:00+02:00", "2027-03-28T06:00:00+02:00"},
		}},
		{"an hour that comes twice", time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC), map[string][]string{
			"in it":     {"2026-10-25T02:30:00+02:00"},
			"around it": {"2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T03:30:00+01:00"},
			"often": {"2026-10-25T01:30:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00",
				"2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00", "2026-10-25T04:00:00+01:00"},
		}},
	} {
		t.Run(c.title, func(t *testing.T) {
			clock := &handClock{at: c.from}
			s := &site{t: t, address: postgrestest.Shared(t).Schema(t)}
			var nodes []*ruqi.Scheduler
			for _, name := range []string{"a", "b"} {
				store, err := postgres.OpenAt(t.Context(), s.address, postgres.Options{}, clock.now)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				nodes = append(nodes, s.on(store, name, ruqi.Options{Zone: berlin, Now: clock.now}))
			}
			for id, expr := range jobs {
				s.add(nodes[0], ruqi.JobSpec{ID: id, Trigger: trigger.Crontab(expr), Task: ruqi.Call("work", work{})})
			}
			for end := c.from.Add(4 * time.Hour); clock.now().Before(end); {
				clock.move(10 * time.Minute)
				var group sync.WaitGroup
				for _, n := range nodes {
					group.Go(func() {
						if _, err := n.Tick(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
			}
			for id, want := range c.want {
				var got []string
				for _, run := range s.rows(nodes[1], id) {
					got = append(got, run.Nominal.In(berlin).Format(time.RFC3339))
					if run.State != ruqi.RunSucceeded || run.Coalesced != 0 {
						t.Errorf("the run of %q for %s is %s, with %d folded into it", id, run.Nominal, run.State, run.Coalesced)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q ran for\n%v, want\n%v", id, got, want)
				}
				if n := len(s.starts(id)); n != len(want) {
					t.Errorf("%q was started %d times, want %d", id, n, len(want))
				}
			}
		})
	}
}
