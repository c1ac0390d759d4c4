package fieldcase_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// DU01: four instances that start seven seconds apart give each fire one run.
func TestNodesThatStartOneAfterTheOtherShareTheFires(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		nodes := []*node{s.start("n0", ruqi.Options{})}
		nodes[0].add("j", trigger.EveryDuration(30*time.Second), 10*time.Millisecond, ruqi.Policy{})
		for i := range 3 {
			time.Sleep(7 * time.Second)
			nodes = append(nodes, s.start(fmt.Sprint("n", i+1), ruqi.Options{}))
		}
		time.Sleep(10*time.Minute - 21*time.Second + time.Second)
		s.ranOnce(nodes[3], "j", 20)
	})
}

// DU03: without a claim there is no run; the failure is told, and what was due runs once the claim succeeds.
func TestAClaimThatFailsStartsNothing(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		n := s.start("n", ruqi.Options{})
		n.add("j", trigger.EveryDuration(10*time.Second), 0, ruqi.Policy{Coalesce: ptr(false)})
		n.gate.claims.Store(true)
		time.Sleep(time.Minute + time.Second)
		if got := len(s.starts("j")); got != 0 {
			t.Errorf("%d runs were started without a claim", got)
		}
		if !strings.Contains(s.logged.String(), "claim failed") {
			t.Errorf("the log does not tell:\n%s", &s.logged)
		}
		n.gate.claims.Store(false)
		time.Sleep(8 * time.Second)
		s.ranOnce(n, "j", 6)
	})
}

// DU05: three instances that all register the same job at their start make one.
func TestNodesThatAddTheSameJobMakeOne(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		var nodes []*node
		for i := range 3 {
			nodes = append(nodes, s.start(fmt.Sprint("n", i), ruqi.Options{}))
		}
		job := spec("j", trigger.EveryDuration(10*time.Second), 0, ruqi.Policy{})
		said := make([]ruqi.Added, len(nodes))
		var all sync.WaitGroup
		for i, n := range nodes {
			all.Go(func() {
				var err error
				if _, said[i], err = n.AddJob(t.Context(), job, ruqi.Keep); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		created := 0
		for _, a := range said {
			if a == ruqi.Created {
				created++
			}
		}
		page, err := nodes[0].Jobs(t.Context(), ruqi.JobQuery{})
		if err != nil || page.Total != 1 || created != 1 {
			t.Fatalf("%v: %d jobs, %v", said, page.Total, err)
		}
		if _, _, err := nodes[1].AddJob(t.Context(), job, ruqi.Fail); !errors.Is(err, ruqi.ErrExists) {
			t.Errorf("adding it once more gives %v", err)
		}
		again, how, err := nodes[2].AddJob(t.Context(), job, ruqi.Replace)
		if err != nil || how != ruqi.Replaced || !again.Created.Equal(page.Jobs[0].Created) || !again.NextNominal.Equal(*page.Jobs[0].NextNominal) {
			t.Errorf("with replace it is %s, %+v, %v; before it was %+v", how, again, err, page.Jobs[0])
		}
		time.Sleep(time.Minute + time.Second)
		s.ranOnce(nodes[0], "j", 6)
	})
}

// DU07: four instances race for each of fifty jobs each second; the losers live on, and nothing is run twice.
func TestLosersOfARaceLiveOn(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		const jobs, seconds = 50, 60
		var nodes []*node
		for i := range 4 {
			nodes = append(nodes, s.start(fmt.Sprint("n", i), ruqi.Options{}))
		}
		for i := range jobs {
			nodes[i%4].add(fmt.Sprintf("j%02d", i), trigger.EveryDuration(time.Second), 0, ruqi.Policy{})
		}
		time.Sleep(seconds*time.Second + time.Second/2)
		for i := range jobs {
			s.ranOnce(nodes[0], fmt.Sprintf("j%02d", i), seconds)
		}
		instances, err := nodes[0].gate.Instances(t.Context())
		if err != nil || len(instances) != 4 {
			t.Errorf("of four instances there are %d, %v", len(instances), err)
		}
		stop(nodes...)
		if text := s.logged.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "level=WARN") {
			t.Errorf("the race was told as a fault:\n%s", text)
		}
	})
}

// DU09: an instance that was cut off for a minute comes back without its old plans.
func TestANodeThatRejoinsRunsNothingTwice(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		a, b := s.start("a", ruqi.Options{}), s.start("b", ruqi.Options{})
		a.add("j", trigger.EveryDuration(10*time.Second), 10*time.Millisecond, ruqi.Policy{})
		time.Sleep(time.Minute + 5*time.Second)
		a.gate.refuse.Store(true)
		time.Sleep(time.Minute)
		a.gate.refuse.Store(false)
		time.Sleep(5 * time.Minute)
		s.ranOnce(b, "j", 42)
		stop(b)
		time.Sleep(time.Minute)
		s.ranOnce(a, "j", 48) // alone, it does all the work again
	})
}

// FO01: a fire that comes between the end of one instance and anything else is the survivor's.
func TestTheSurvivorTakesTheFire(t *testing.T) {
	for _, how := range []string{"shut down", "frozen"} {
		t.Run(how, func(t *testing.T) {
			onEachStore(t, func(t *testing.T, s *site) {
				s.set(time.Date(2027, 6, 1, 9, 55, 0, 0, time.UTC))
				a := s.start("a", ruqi.Options{})
				a.add("daily", trigger.Crontab("0 10 * * *"), 0, ruqi.Policy{})
				b := s.start("b", ruqi.Options{})
				time.Sleep(5*time.Minute - 2*time.Second)
				if how == "frozen" {
					defer a.gate.hold()()
				} else {
					stop(a)
				}
				time.Sleep(4 * time.Second)
				s.ranOnce(b, "daily", 1)
				if began := s.starts("daily"); len(began) == 1 && (began[0].node != "b" || began[0].at.Sub(began[0].run.Nominal) > time.Second) {
					t.Errorf("%s started at %s", began[0].node, began[0].at)
				}
			})
		})
	}
}

// FO03: the work goes on while an instance is stopped for a minute, and after it has come back.
func TestWorkGoesOnThroughAFreezeAndAfterIt(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		const period, lease = 10 * time.Second, 15 * time.Second
		a, b := s.start("a", ruqi.Options{Lease: lease}), s.start("b", ruqi.Options{Lease: lease})
		job := a.add("j", trigger.EveryDuration(period), 5*time.Second, ruqi.Policy{OnLost: ruqi.LostRerun})
		anchor := job.NextNominal.Add(-period)
		time.Sleep(time.Minute + 12*time.Second)
		starts := s.starts("j")
		owner := map[string]*node{"a": a, "b": b}[starts[len(starts)-1].node]
		release := owner.gate.hold()
		time.Sleep(time.Minute)
		release()
		time.Sleep(5 * time.Minute)
		for _, n := range []*node{a, b} {
			if n != owner {
				stop(n)
			}
		}
		time.Sleep(3 * time.Minute)
		last := anchor
		for _, began := range s.starts("j") {
			if gap := began.at.Sub(last); gap > period+lease+time.Second {
				t.Errorf("nothing was started for %s before %s", gap, began.at)
			}
			last = began.at
		}
		if gap := s.now().Sub(last); gap > period+time.Second {
			t.Errorf("the one that came back started nothing for %s", gap)
		}
	})
}

// SH05: a healthy run on one instance does not mind that another is restarted, under its old name or a new one.
func TestRestartsOfOneNodeLeaveTheRunsOfAnotherAlone(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		b := s.start("b", ruqi.Options{})
		b.add("long", trigger.Date(s.now().Add(time.Second)), 5*time.Minute, ruqi.Policy{OnLost: ruqi.LostRerun})
		time.Sleep(10 * time.Second)
		for _, name := range []string{"a", "a", "c"} {
			a := s.start(name, ruqi.Options{})
			time.Sleep(40 * time.Second)
			stop(a)
			time.Sleep(5 * time.Second)
		}
		time.Sleep(4 * time.Minute)
		s.ranOnce(b, "long", 1)
		if row := b.rows("long")[0]; row.Owner.Instance != "b" || row.Attempt != 1 || row.Finished.Sub(*row.Started) != 5*time.Minute {
			t.Errorf("the run is %+v", row)
		}
	})
}

// FO01: a restart at the very moment at which a job is due loses no fire, whoever is quicker.
func TestARestartAtTheDueTimeLosesNoFire(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		const restarts = 60
		n := s.start("n", ruqi.Options{})
		n.add("j", trigger.EveryDuration(10*time.Second), 0, ruqi.Policy{})
		for range restarts {
			time.Sleep(10 * time.Second)
			stop(n)
			n = s.start("n", ruqi.Options{})
		}
		time.Sleep(5 * time.Second)
		s.ranOnce(n, "j", restarts)
	})
}
