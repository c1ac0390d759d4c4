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

// A row that runs in an instance's name and that the instance does not know, as after the failover to a standby that has not heard
// of a run's end, does not stay for ever.
func TestARowThatItsOwnerDoesNotKnowIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s := newScheduler(t, store, newRegistry(), ruqi.Options{})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(1000 * time.Hour), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
			t.Fatal(err)
		}
		instances, err := store.Instances(t.Context())
		if err != nil || len(instances) != 1 {
			t.Fatal(instances, err)
		}
		me := instances[0]
		_, _, err = store.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"j"}}, func(now time.Time, _ string, old *ruqi.JobRecord, _ int) ruqi.Change {
			old.NextNominal, old.NextDue, old.Pool = &now, &now, "hidden" // from the scheduler's own claims
			return ruqi.Change{Job: old}
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Claim(t.Context(), ruqi.ClaimRequest{Owner: me.Owner, Slots: map[string]int{"hidden": 1}, Needs: me.Needs}, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
			run := ruqi.Run{Cause: ruqi.CauseSchedule, State: ruqi.RunRunning, Nominal: *due[0].Job.NextNominal, Due: *due[0].Job.NextDue, JobName: "j", Task: "x", Attempt: 1}
			return []ruqi.Plan{{JobID: "j", State: ruqi.JobActive, Runs: []ruqi.Run{run}}}
		})
		if err != nil || len(runs(t, s, "j")) != 1 {
			t.Fatal(runs(t, s, "j"), err)
		}
		time.Sleep(65 * time.Second)
		if all := runs(t, s, "j"); all[0].State != ruqi.RunLost {
			t.Errorf("after a minute the row is %v", states(all))
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
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
			_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(10 * time.Minute), Task: ruqi.Do(nothing), Policy: ruqi.Policy{OnLost: ruqi.LostRerun}}, ruqi.Fail)
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

// A timed store notes when claims ask it, and may tell of more instances than there are.
type timed struct {
	*memory.Store
	others int
	mu     sync.Mutex // guards asked
	asked  []time.Time
}

func (s *timed) Claim(ctx context.Context, r ruqi.ClaimRequest, decide func(time.Time, []ruqi.Due) []ruqi.Plan) (ruqi.Claimed, error) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	claimed, err := s.Store.Claim(ctx, r, decide)
	claimed.Instances += s.others
	return claimed, err
}

// Instances that wait for the same fire do not all come at once; one that is alone comes in time.
func TestClaimsForAFireAreSpreadAmongInstances(t *testing.T) {
	for _, others := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			store := &timed{Store: memory.Open(memory.Options{}), others: others}
			s := newScheduler(t, store, newRegistry(), ruqi.Options{})
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			const period = 730 * time.Millisecond // its fires do not fall on the polls, which follow claims by a second
			if _, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(period), Task: ruqi.Do(nothing)}, ruqi.Fail); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * period)
			late := map[time.Duration]bool{}
			all := runs(t, s, "j")
			for _, run := range all {
				d := run.Started.Sub(run.Nominal)
				late[d] = true
				if d < 0 || d >= 5*time.Millisecond {
					t.Errorf("with %d others a run began %s after its time", others, d)
				}
			}
			if len(all) < 150 || others == 0 && (len(late) != 1 || !late[0]) || others > 0 && len(late) < 100 {
				t.Errorf("with %d others %d runs came %d different times late", others, len(all), len(late))
			}
			// What was started by hand does not wait: its hint is followed at once, or gathered.
			begin := time.Now()
			for range 20 {
				run, err := s.RunNow(t.Context(), "j", nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.WaitRun(t.Context(), run.ID); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(begin); took > 20*10*time.Millisecond {
				t.Errorf("with %d others 20 runs by hand took %s", others, took)
			}
			// Nor does the poll, when there is nothing to wait for.
			if _, err := s.PauseJob(t.Context(), "j"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			store.mu.Lock()
			store.asked = nil
			store.mu.Unlock()
			time.Sleep(10*time.Second + time.Millisecond)
			store.mu.Lock()
			for i, at := range store.asked[1:] {
				if gap := at.Sub(store.asked[i]); gap != time.Second {
					t.Errorf("with %d others a poll came after %s", others, gap)
				}
			}
			store.mu.Unlock()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
