//go:build linux

package crash_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
)

// lostWait is how long a run may be shown as running after its service died: a lease and a heartbeat, and
// what a busy machine adds.
const lostWait = lease + lease/5 + 2*time.Second

// newest returns the newest run of a job in one of the states; 0 is its id when there is none.
func newest(t *testing.T, c *client.Client, job string, states ...ruqi.RunState) ruqi.Run {
	t.Helper()
	page, err := c.Runs(t.Context(), ruqi.RunQuery{Job: job, States: states, Limit: 1})
	if err != nil {
		t.Error(err)
	}
	if len(page.Runs) == 0 {
		return ruqi.Run{}
	}
	return page.Runs[0]
}

// TestCrashLostRuns kills a service in the middle of long runs.
func TestCrashLostRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v, c := s.start()
	u := &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 10 * time.Second}
	all := []order{
		{id: "stays-lost", group: alone, every: time.Hour, takes: 10 * time.Minute, limit: 1, catchup: 1},
		{id: "runs-again", group: alone, every: time.Hour, takes: 10 * time.Minute, limit: 1, catchup: 1, rerun: true},
	}
	addAll(t, u, c, all)
	before := map[string]ruqi.Run{}
	for _, o := range all {
		if _, err := c.RunNow(t.Context(), o.id, nil); err != nil {
			t.Fatal(err)
		}
		await(t, "run of "+o.id, lostWait, func() bool { return newest(t, c, o.id, ruqi.RunRunning).ID != 0 })
		before[o.id] = newest(t, c, o.id, ruqi.RunRunning)
	}
	if len(s.orphans()) == 0 {
		t.Fatal("the commands that run are not found: the look for orphans would find none either")
	}
	v.Kill()
	killed := time.Now()
	await(t, "end of the killed service's commands", orphanWait, func() bool { return len(s.orphans()) == 0 })
	v, c = s.start()
	for _, o := range all {
		await(t, "end of "+o.id, lostWait, func() bool { return newest(t, c, o.id, ruqi.RunLost).ID != 0 })
		r := newest(t, c, o.id, ruqi.RunLost)
		if r.ID != before[o.id].ID || r.Reason == "" || r.Finished == nil || r.Finished.Sub(killed) > lostWait {
			t.Errorf("the run of %s was killed at %s, and its row is %+v", o.id, stamp(killed), r)
		}
	}
	await(t, "second attempt", lostWait, func() bool { return newest(t, c, "runs-again", ruqi.RunRunning).ID != 0 })
	again := newest(t, c, "runs-again", ruqi.RunRunning)
	if again.Attempt != 2 || again.Cause != ruqi.CauseRetry || again.ParentID != before["runs-again"].ID || !again.Nominal.Equal(before["runs-again"].Nominal) {
		t.Errorf("the second attempt is %+v", again)
	}
	if _, err := c.CancelRun(t.Context(), again.ID, ""); err != nil {
		t.Error(err)
	}
	await(t, "end of the second attempt", lostWait, func() bool { return newest(t, c, "runs-again", ruqi.RunCancelled).ID == again.ID })
	v.term()
	u.ledger.judge(t, s, false)
}

// TestCrashRowWithoutOwner marks a run as running by an instance that nobody knows, as a store
// that was mended by hand may have it: its job must not be held up for ever.
func TestCrashRowWithoutOwner(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v, c := s.start()
	u := &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 10 * time.Second}
	addAll(t, u, c, []order{{id: "held", group: alone, every: 100 * time.Millisecond, limit: 1, catchup: 1, coalesce: true}})
	await(t, "first run", lostWait, func() bool { return newest(t, c, "held", ruqi.RunSucceeded).ID != 0 })
	v.term()
	last := readStore(t, s.address).rows["held"][0]
	db := database(t, s.file())
	if _, err := db.ExecContext(t.Context(), "UPDATE rq_run SET state = 1, finished = NULL, instance = 'nobody', epoch = 1000 WHERE id = ?", last.ID); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	v, c = s.start()
	await(t, "end of the run without an owner", lostWait, func() bool {
		r := newest(t, c, "held", ruqi.RunLost)
		return r.ID == last.ID && r.Reason != ""
	})
	await(t, "next run", lostWait, func() bool { return newest(t, c, "held", ruqi.RunSucceeded).ID > last.ID })
	v.term()
}
