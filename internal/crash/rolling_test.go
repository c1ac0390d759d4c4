//go:build linux

package crash_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

const (
	rollingServices = 3
	// rollingLate is how late a run may start while services are restarted one after another: the others are there, and wake up
	// within a second, as is promised. Ten times that are left to a busy machine.
	rollingLate = 10 * time.Second
	// rollingLease is so long that whatever depends on its end comes too late.
	rollingLease = time.Minute
	// rollingTakes is how long the long commands take, rollingDrain ten times that: what runs is to be waited for.
	rollingTakes, rollingDrain = 2 * time.Second, 20 * time.Second
)

// TestCrashRollingRestart restarts three services on a PostgreSQL server one after another, as an upgrade does. No fire may be
// missed or late, and no run cut off: what runs is waited for.
func TestCrashRollingRestart(t *testing.T) {
	t.Parallel()
	s := newSiteOn(t, postgrestest.Shared(t).Database(t))
	s.lease, s.drain, s.tells = rollingLease, rollingDrain, true
	services := make([]*service, rollingServices)
	u := &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 10 * time.Second}
	for i := range services {
		v, c := s.start()
		u.gate.open(i, c)
		services[i] = v
	}
	begun := time.Now()
	var all []order
	for i := range 30 {
		all = append(all, order{id: fmt.Sprintf("%s-%03d", steady, i), group: steady, every: time.Second, limit: 1000, catchup: 1000, silent: true})
	}
	for i := range 6 { // whenever a service ends, some of these run
		all = append(all, order{id: fmt.Sprintf("long-%d", i), group: "long", every: 3 * time.Second, takes: rollingTakes, limit: 1000, catchup: 1000})
	}
	addAll(t, u, services[0].client, all)
	for range pick(1, 4) {
		for i, old := range services {
			pause := time.NewTimer(2 * time.Second)
			<-pause.C
			u.gate.open(i, nil)
			old.term()
			v, c := s.start()
			u.gate.open(i, c)
			services[i] = v
		}
	}
	restarted := time.Now()
	taken(t, services[0].client, restarted)
	settle(t, u.ledger, services[0].client)
	for _, v := range services {
		v.term()
	}
	h := verdictOf(t, s, u)
	var worst time.Duration
	seen := 0
	for _, r := range h.runs {
		if r.Cause != ruqi.CauseSchedule || r.Nominal.After(restarted) { // the triggers get their ends after that
			continue
		}
		seen++
		if r.State != ruqi.RunSucceeded {
			t.Errorf("the run of %s at %s is %s: %s", r.JobID, r.Nominal, r.State, r.Reason)
		}
		if r.Started != nil {
			worst = max(worst, r.Started.Sub(r.Due))
		}
	}
	if least := int(restarted.Sub(begun).Seconds()) * 30 / 2; seen < least {
		t.Errorf("%d fires were seen, fewer than %d: the load was none", seen, least)
	}
	if worst > rollingLate {
		t.Errorf("a run started %s late", worst)
	}
	t.Logf("%d fires while %d services were restarted in %s; the latest start was %s late", seen, rollingServices*pick(1, 4), restarted.Sub(begun).Round(time.Millisecond), worst)
}

// taken waits until the fires up to a time are taken: one that is due and unclaimed when its trigger is changed is missed, and rightly.
func taken(t *testing.T, c *client.Client, upTo time.Time) {
	t.Helper()
	await(t, "claim of the fires that were due", settleWait, func() bool {
		page, err := c.Jobs(t.Context(), ruqi.JobQuery{Limit: ruqi.MaxPage})
		if err != nil {
			t.Error(err)
			return true
		}
		return !slices.ContainsFunc(page.Jobs, func(j ruqi.Job) bool { return j.NextNominal != nil && !j.NextNominal.After(upTo) })
	})
}
