package ruqi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// Of two instances with one name the older loses its lease to the younger: its runs are lost and told to stop, and the log
// says what may be wrong. No fire is lost or run twice by it.
func TestTwoInstancesWithOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, said := memory.Open(memory.Options{}), &logText{}
		var mu sync.Mutex
		var stopped []error
		registry := newRegistry()
		ruqi.Func(registry, "long", func(ctx context.Context, _ struct{}) error {
			err := sleeping(time.Hour)(ctx)
			mu.Lock()
			defer mu.Unlock()
			stopped = append(stopped, context.Cause(ctx))
			return err
		})
		ruqi.Func(registry, "quick", func(context.Context, struct{}) error { return nil })
		twin := func() *ruqi.Scheduler {
			s := newScheduler(t, store, registry, ruqi.Options{Instance: "twin", Logger: said.logger(), Drain: -1})
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		}
		older := twin()
		for _, spec := range []ruqi.JobSpec{
			{ID: "long", Trigger: trigger.EveryDuration(1000 * time.Hour), Task: ruqi.Call("long", nil)},
			{ID: "quick", Trigger: trigger.EveryDuration(time.Second), Task: ruqi.Call("quick", nil)},
		} {
			if _, _, err := older.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := older.RunNow(t.Context(), "long", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second + 100*time.Millisecond)
		younger := twin()
		time.Sleep(4 * time.Second) // past a heartbeat
		if all := runs(t, younger, "long"); len(all) != 1 || all[0].State != ruqi.RunLost {
			t.Errorf("the older one's run is %v", states(all))
		}
		mu.Lock()
		if len(stopped) != 1 || !errors.Is(stopped[0], ruqi.ErrLeaseLost) {
			t.Errorf("told to stop were %v, want the older one's run, because of its lease", stopped)
		}
		mu.Unlock()
		if log := said.String(); !strings.Contains(log, `level=ERROR msg="lease lost: ending what runs, beginning anew" instance=twin epoch=1`) {
			t.Errorf("the log does not say that the lease is lost:\n%s", log)
		}
		time.Sleep(time.Minute)
		if log := said.String(); !strings.Contains(log, "another process may use this instance's name") {
			t.Errorf("the log does not say why:\n%s", log)
		}
		// Alone again, the younger one goes on.
		if err := older.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		all := runs(t, younger, "quick")
		covered(t, all, time.Second)
		if last := all[len(all)-1]; time.Since(*last.Started) > 2*time.Second || last.State != ruqi.RunSucceeded {
			t.Errorf("the last run of the one that is left is %s, %s ago", last.State, time.Since(*last.Started))
		}
		if err := younger.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Who listens to an instance that rescues hears of the lost run and of the new row, by its own id.
func TestARescueTellsOfTheNewAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		g := &gate{Store: store}
		registry := newRegistry()
		ruqi.Func(registry, "long", func(ctx context.Context, _ struct{}) error { return sleeping(time.Minute)(ctx) })
		dead := newScheduler(t, g, registry, ruqi.Options{Instance: "dead", Drain: -1})
		healthy := newScheduler(t, store, registry, ruqi.Options{Instance: "healthy"})
		type told struct {
			kind            ruqi.EventKind
			run, parent     int64
			attempt         int
			state           ruqi.RunState
			instance, cause string
		}
		var heard []told
		stop := healthy.Listen(func(e ruqi.Event) {
			heard = append(heard, told{e.Kind, e.Run.ID, e.Run.ParentID, e.Run.Attempt, e.Run.State, e.Run.Owner.Instance, string(e.Run.Cause)})
		}, ruqi.EventRunLost, ruqi.EventRunRetrying, ruqi.EventRunStarted)
		if err := dead.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := dead.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(24 * time.Hour), Task: ruqi.Call("long", nil), Policy: ruqi.Policy{OnLost: ruqi.LostRerun}}, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		lost, err := dead.RunNow(t.Context(), "j", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		release := g.hold()
		if err := healthy.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		all := runs(t, healthy, "j")
		if len(all) != 2 || all[1].State != ruqi.RunSucceeded {
			t.Fatalf("recorded %v", states(all))
		}
		stop()
		want := []told{
			{ruqi.EventRunLost, lost.ID, 0, 1, ruqi.RunLost, "dead", "manual"},
			{ruqi.EventRunRetrying, all[1].ID, lost.ID, 2, ruqi.RunQueued, "", "retry"},
			{ruqi.EventRunStarted, all[1].ID, lost.ID, 2, ruqi.RunRunning, "healthy", "retry"},
		}
		if !slices.Equal(heard, want) {
			t.Errorf("heard %+v\nwant %+v", heard, want)
		}
		release()
		for _, s := range []*ruqi.Scheduler{dead, healthy} {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
