//go:build linux

package crash_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

const (
	// killsPerRound is how many kills one store goes through. The long form has many rounds, so that
	// each store stays small enough to be judged row by row: history is cleaned past 1,000 rows a job.
	killsPerRound = 50
	longRounds    = 20
	// mostLife is how long a service lives at most before it is killed.
	mostLife = 1900 * time.Millisecond
	// mostStart bounds the lives that end while the service starts.
	mostStart = 150 * time.Millisecond
	// orphanWait is how long commands may outlive their service: the kernel ends them with it.
	orphanWait = 10 * time.Second
)

// TestCrashKill kills a busy service again and again at random moments, starts it on the same file
// at once, and asks the file in the end what became of each fire.
func TestCrashKill(t *testing.T) {
	t.Parallel()
	r := random(t)
	for round := range pick(1, longRounds) {
		seed := r.Uint64()
		t.Run(fmt.Sprintf("round %d", round+1), func(t *testing.T) {
			t.Logf("seed of the round: %d", seed)
			killRound(t, newSite(t), seed, killsPerRound)
		})
	}
}

// killRound kills the service of an empty site so many times.
func killRound(t *testing.T, s *site, seed uint64, kills int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	u := &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 10 * time.Second}
	all := orders(true)
	v, c := s.start()
	addAll(t, u, c, all)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u.begin(ctx, all, seed)
	for range kills {
		wait := time.NewTimer(time.Duration(r.Int64N(int64(mostLife))))
		select {
		case <-wait.C:
		case <-v.Ended:
			t.Fatalf("the service ended by itself: %v", v.Err)
		}
		v.Kill()
		u.gate.open(0, nil)
		if v = s.launch(); r.IntN(8) == 0 { // it dies while it starts
			<-time.After(time.Duration(r.Int64N(int64(mostStart))))
			v.Kill()
			v = s.launch()
		}
		c, err := v.ready()
		if err != nil {
			t.Fatal(err)
		}
		u.gate.open(0, c)
	}
	cancel()
	u.group.Wait()
	v.Kill() // so that the store alone tells what was answered
	finale(t, s, u)
}

// finale checks what was answered, lets a last service bring everything to its end, and judges the store.
func finale(t *testing.T, s *site, u *users) {
	t.Helper()
	u.ledger.check(t, readStore(t, s.address))
	v, c := s.start()
	settle(t, u.ledger, c)
	v.term()
	verdictOf(t, s, u)
}

// verdictOf judges a store that nobody serves, by its rows and by what the commands did.
func verdictOf(t *testing.T, s *site, u *users) history {
	t.Helper()
	h := u.ledger.judge(t, s, false)
	s.judgeMarks(t, h, u.ledger)
	t.Logf("%d of %d requests answered; %s", u.heard.Load(), u.asked.Load(), counted(h))
	show(t, judgeFailures(h.runs))
	await(t, "end of the commands", orphanWait, func() bool { return len(s.orphans()) == 0 })
	if left := s.orphans(); len(left) > 0 {
		t.Errorf("commands of services that are gone are left: %q", left)
	}
	return h
}

// judgeMarks checks what the commands did against the rows.
func (s *site) judgeMarks(t *testing.T, h history, l *ledger) {
	t.Helper()
	marks := s.readMarks()
	for id := range marks {
		show(t, judgeMarks(id, marks[id], h.rows[id]))
	}
	for id, rows := range h.rows {
		if marks[id] == nil && !l.silent(id) {
			show(t, judgeMarks(id, nil, rows))
		}
	}
}

// judgeFailures tells of runs that failed: no command of a load does by itself.
func judgeFailures(rows []ruqi.Run) []string {
	j := &judge{}
	for i := range rows {
		if r := &rows[i]; r.State == ruqi.RunFailed || r.State == ruqi.RunTimedOut {
			j.fault("%s: run %d of %s is %s: %s", r.JobID, r.ID, r.Owner.Instance, r.State, r.Reason)
		}
	}
	return j.faults
}
