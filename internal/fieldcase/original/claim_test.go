package original_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// OR01: a fire that is picked up 20 to 30 s late, and takes longer than a lease, runs once, whoever else looks.
func TestALatePickUpIsNotRunAgain(t *testing.T) {
	s := newSite(t)
	first, second := s.node("a", ruqi.Options{Lease: shortLease}), s.node("b", ruqi.Options{Lease: shortLease})
	var jobs []string
	for late := 20 * time.Second; late <= 30*time.Second; late += 2 * time.Second {
		id := fmt.Sprint("late by ", late)
		first.add(spec(id, trigger.EveryDuration(time.Hour), work{Takes: 2 * shortLease}, ruqi.Policy{}))
		s.shift(id, time.Hour+late)
		jobs = append(jobs, id)
	}
	s.start(first, second)
	s.until(patience, "every run has ended", func() bool {
		for _, id := range jobs {
			if rows := first.rows(id); len(rows) == 0 || !rows[0].State.Ended() {
				return false
			}
		}
		return true
	})
	for _, id := range jobs {
		rows, starts := second.rows(id), s.starts(id)
		if len(rows) != 1 || len(starts) != 1 {
			t.Errorf("%s: %d rows and %d starts, want one", id, len(rows), len(starts))
			continue
		}
		if run := rows[0]; run.State != ruqi.RunSucceeded || run.Attempt != 1 || run.Started.Sub(run.Nominal) < 20*time.Second || run.Owner.Instance != starts[0].node {
			t.Errorf("%s: its run is %+v, started by %s", id, run, starts[0].node)
		}
	}
}

// OR05: an instance that dies between its claim and its last word leaves a row that says so, and the run can begin anew.
func TestACrashAfterTheClaimIsRecorded(t *testing.T) {
	for _, c := range []struct {
		title  string
		onLost ruqi.OnLost
		before bool // it dies before the claim's answer comes
	}{
		{"before the start, the run stays lost", ruqi.LostFail, true},
		{"before the start, the run begins anew", ruqi.LostRerun, true},
		{"while it runs, the run stays lost", ruqi.LostFail, false},
		{"while it runs, the run begins anew", ruqi.LostRerun, false},
	} {
		t.Run(c.title, func(t *testing.T) {
			s := newSite(t)
			a, b := s.node("a", ruqi.Options{Lease: shortLease}), s.node("b", ruqi.Options{Lease: shortLease})
			s.start(a)
			a.gate.lose.Store(c.before)
			a.add(spec("j", trigger.Date(time.Now()), work{Waits: true}, ruqi.Policy{OnLost: c.onLost}))
			s.until(patience, "the run is claimed", func() bool { return len(b.rows("j")) == 1 })
			if !c.before {
				s.until(patience, "the run has started", func() bool { return len(s.starts("j")) == 1 })
				a.gate.dead.Store(true)
			}
			s.start(b)
			s.until(shortLease+patience, "the run is lost", func() bool { return b.rows("j")[0].State != ruqi.RunRunning })
			lost := b.rows("j")[0]
			if lost.State != ruqi.RunLost || !strings.Contains(lost.Reason, "instance a died") || lost.Started == nil || lost.Finished == nil || lost.Owner.Instance != "a" {
				t.Errorf("the run is %+v", lost)
			}
			want := 1
			if c.before {
				want = 0
			}
			if c.onLost == ruqi.LostRerun {
				want++
				s.until(patience, "the run begins anew", func() bool { return len(s.starts("j")) == want })
				close(s.release)
				s.until(patience, "the second attempt ends", func() bool { return b.rows("j")[1].State.Ended() })
				if again := b.rows("j")[1]; again.State != ruqi.RunSucceeded || again.Attempt != 2 || again.ParentID != lost.ID || again.Owner.Instance != "b" {
					t.Errorf("the second attempt is %+v", again)
				}
			} else {
				watch(shortLease)
			}
			if n := len(s.starts("j")); n != want {
				t.Errorf("it was started %d times, want %d", n, want)
			}
		})
	}
}

// OR12: of jobs that are due at one moment each node takes as many as it has free slots, and none waits behind another node's.
func TestDueJobsAreSpreadByFreeSlots(t *testing.T) {
	s := newSite(t)
	want := map[string]int{"a": 2, "b": 4, "c": 6}
	var nodes []*node
	total := 0
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, s.node(name, ruqi.Options{Slots: map[string]int{"default": want[name]}}))
		total += want[name]
	}
	s.start(nodes...)
	moment := time.Now().Add(time.Second)
	for i := range total + 3 {
		nodes[i%3].add(spec(fmt.Sprintf("j%02d", i), trigger.Date(moment), work{Waits: true}, ruqi.Policy{}))
	}
	s.until(soon, "every slot is taken", func() bool { return len(s.starts("")) >= total })
	watch(2 * time.Second)
	if got := s.shares(""); !maps.Equal(got, want) {
		t.Errorf("the nodes run %v, their slots are %v", got, want)
	}
	close(s.release)
	s.until(patience, "what had no slot runs too", func() bool { return len(s.starts("")) == total+3 })
}

// OR13: while somebody else holds the lock of a due job, nodes look for it again, but seldom; other jobs go on. LK01: and
// once the lock is gone the job goes on, too.
func TestALockHeldElsewhereMakesNoBusyLoop(t *testing.T) {
	const held, most = 3 * time.Second, 30
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	for _, n := range nodes {
		n.Pause() // until the lock is there
	}
	nodes[0].add(spec("j", trigger.EveryDuration(time.Hour), work{}, ruqi.Policy{}))
	s.shift("j", time.Hour)
	tx, err := s.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM rq_job WHERE id = 'j' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	before := make([]int64, len(nodes))
	for i, n := range nodes {
		before[i] = n.gate.claims.Load()
		n.Resume()
	}
	watch(held)
	for i, n := range nodes {
		claims := n.gate.claims.Load() - before[i]
		t.Logf("%s looked %d times in %s", []string{"a", "b"}[i], claims, held)
		if claims < 2 || claims >= most {
			t.Errorf("it made %d claims in %s, want less than %d and more than one", claims, held, most)
		}
	}
	nodes[1].add(spec("other", trigger.Date(time.Now()), work{}, ruqi.Policy{}))
	s.until(soon, "another job runs beside the lock", func() bool { return len(s.starts("other")) == 1 })
	if n := len(s.starts("j")); n != 0 {
		t.Errorf("the locked job was started %d times", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.until(soon, "the job runs when the lock is free", func() bool { return len(s.starts("j")) == 1 })
}
