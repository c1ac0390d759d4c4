package ruqi_test

import (
	"context"
	"fmt"
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

// What a claim took whose answer comes when the lease cannot be trusted any more does not start: others may have
// taken it for lost and begun it anew. It is ended as lost, and begun anew where its job says so, by this instance if
// nobody has taken its place, else by who has.
func TestAClaimThatIsAnsweredTooLateStartsNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		others int
		onLost ruqi.OnLost
		cutOff time.Duration // how long heartbeats do not arrive
	}{
		{"alone", 0, ruqi.LostFail, 25 * time.Second},
		{"alone, with a rerun", 0, ruqi.LostRerun, 25 * time.Second},
		{"beside others", 1, ruqi.LostFail, 25 * time.Second},
		{"beside others, with a rerun", 1, ruqi.LostRerun, 25 * time.Second},
		// The next life has begun when the answer comes.
		{"beside others, in an earlier life", 1, ruqi.LostRerun, 19 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.Open(memory.Options{})
				g := &gate{Store: store}
				var mu sync.Mutex
				var began []string
				registry := newRegistry()
				ruqi.Func(registry, "work", func(ctx context.Context, _ struct{}) error {
					mu.Lock()
					defer mu.Unlock()
					run, _ := ruqi.CurrentRun(ctx)
					began = append(began, fmt.Sprint("attempt ", run.Attempt))
					return nil
				})
				said := &logText{}
				s := newScheduler(t, g, registry, ruqi.Options{Instance: "slow", Logger: said.logger()})
				all := []*ruqi.Scheduler{s}
				for i := range c.others {
					all = append(all, newScheduler(t, store, registry, ruqi.Options{Instance: fmt.Sprint("other", i)}))
				}
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				once := trigger.Date(time.Now().Add(time.Minute))
				_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: once, Task: ruqi.Call("work", nil), Policy: ruqi.Policy{OnLost: c.onLost}}, ruqi.Fail)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(59 * time.Second)
				g.late.Store(int64(22 * time.Second))
				time.Sleep(1500 * time.Millisecond) // the claim has happened, and its answer is on its way
				g.mute.Store(true)
				for _, other := range all[1:] {
					if err := other.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(c.cutOff)
				g.mute.Store(false)
				time.Sleep(time.Minute)
				want, starts := 1, "[]"
				if c.onLost == ruqi.LostRerun {
					want, starts = 2, "[attempt 2]"
				}
				history := runs(t, s, "j")
				if len(history) != want || history[0].State != ruqi.RunLost || want == 2 && (history[1].State != ruqi.RunSucceeded || history[1].Attempt != 2) {
					t.Errorf("recorded %v: %+v", states(history), history)
				}
				mu.Lock()
				if got := fmt.Sprint(began); got != starts {
					t.Errorf("begun were %s, want %s", got, starts)
				}
				mu.Unlock()
				if strings.Contains(said.String(), "clock jumped") {
					t.Errorf("an answer that was on its way for long was taken for a jump of the clock:\n%s", said)
				}
				for _, each := range all {
					if err := each.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// A clock of this machine that is off does not make the new attempt wait, and who listens hears of both rows.
func TestAClaimWhoseAnswerIsLostIsBegunAnewByTheStoresClock(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{Store: memory.Open(memory.Options{})}
			s := newScheduler(t, g, newRegistry(), ruqi.Options{Now: func() time.Time { return time.Now().Add(off) }})
			var heard []string
			stop := s.Listen(func(e ruqi.Event) {
				heard = append(heard, fmt.Sprintf("%s of run %d, %s, finished %v: %s", e.Kind, e.Run.ID, e.Run.State, e.Run.Finished != nil, e.Reason))
			}, ruqi.EventRunLost, ruqi.EventRunRetrying)
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.Every(10 * time.Minute), Task: ruqi.Do(nothing), Policy: ruqi.Policy{OnLost: ruqi.LostRerun}}, ruqi.Fail)
			if err != nil {
				t.Fatal(err)
			}
			g.forget.Store(true)
			time.Sleep(10*time.Minute + 10*time.Second)
			all := runs(t, s, "j")
			if len(all) != 2 || all[0].State != ruqi.RunLost || all[1].State != ruqi.RunSucceeded {
				t.Fatalf("%s off: recorded %v", off, states(all))
			}
			if after := all[1].Started.Sub(*all[0].Finished); after < 2*time.Second || after > 4*time.Second {
				t.Errorf("%s off: the second attempt began %s after the first was found lost, want 2s", off, after)
			}
			stop()
			want := []string{
				fmt.Sprintf("run.lost of run %d, lost, finished true: %s", all[0].ID, all[0].Reason),
				fmt.Sprintf("run.retrying of run %d, queued, finished false: attempt 1 was lost", all[1].ID),
			}
			if !slices.Equal(heard, want) {
				t.Errorf("%s off: heard %q, want %q", off, heard, want)
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
