package fieldcase_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// database opens the file of a site as another program would, with the driver that the store brings along.
func (s *site) database() *sql.DB {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			s.t.Error(err)
		}
	})
	db.SetMaxOpenConns(1)
	return db
}

// change runs a statement that must change rows of the file.
func change(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	result, err := db.ExecContext(t.Context(), text, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: %d rows, %v", text, n, err)
	}
}

// CO03: a stop over the hour of half a minute costs nothing; after three hours one row stands for all.
func TestAStopOverTheHour(t *testing.T) {
	for _, c := range []struct {
		name   string
		down   time.Duration
		policy ruqi.Policy
		state  ruqi.RunState
		folded int64
	}{
		{"half a minute within the grace", 30 * time.Second, ruqi.Policy{MisfireGrace: ptr(time.Minute)}, ruqi.RunSucceeded, 0},
		{"three hours and a grace of a minute", 3 * time.Hour, ruqi.Policy{MisfireGrace: ptr(time.Minute)}, ruqi.RunMissed, 2},
		{"three hours and no end of grace", 3 * time.Hour, ruqi.Policy{}, ruqi.RunSucceeded, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEachStore(t, func(t *testing.T, s *site) {
				s.set(time.Date(2027, 6, 1, 9, 59, 50, 0, time.UTC))
				n := s.start("n", ruqi.Options{})
				n.add("hourly", trigger.Crontab("0 * * * *"), 0, c.policy)
				stop(n)
				down := s.now()
				time.Sleep(c.down)
				n = s.start("n", ruqi.Options{})
				time.Sleep(5 * time.Second)
				rows := n.rows("hourly")
				if len(rows) != 1 || rows[0].State != c.state || rows[0].Coalesced != c.folded {
					t.Fatalf("the history is %+v", rows)
				}
				if want := down.Add(c.down).Truncate(time.Hour); !rows[0].Nominal.Equal(want) {
					t.Errorf("the row is of %s, want %s", rows[0].Nominal, want)
				}
			})
		})
	}
}

// DB05: an outage of more than seven hours leaves no slot without a word, and is told while it lasts.
func TestALongOutageOfTheStore(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		const period, outage = 5 * time.Minute, 7*time.Hour + 36*time.Minute
		n := s.start("n", ruqi.Options{})
		policies := map[string]ruqi.Policy{
			"folded": {},
			"each":   {Coalesce: ptr(false)},
			"graced": {Coalesce: ptr(false), MisfireGrace: ptr(time.Hour)},
			"few":    {Coalesce: ptr(false), CatchupLimit: 10},
		}
		var anchor time.Time
		for id, policy := range policies {
			anchor = n.add(id, trigger.EveryDuration(period), 0, policy).NextNominal.Add(-period)
		}
		time.Sleep(time.Minute)
		n.gate.refuse.Store(true)
		time.Sleep(outage)
		if status, err := n.Status(t.Context()); err != nil || !strings.Contains(status.StoreError, "cut") || !strings.Contains(status.StoreError, "7h3") {
			t.Errorf("while it lasts the status is %q, %v", status.StoreError, err)
		} else if ago := s.now().Sub(*status.CheckTime); ago < outage-time.Minute {
			t.Errorf("after %s the last look was %s ago", outage, ago)
		}
		n.gate.refuse.Store(false)
		time.Sleep(time.Minute)
		if status, err := n.Status(t.Context()); err != nil || status.StoreError != "" {
			t.Errorf("after it the status is %q, %v", status.StoreError, err)
		}
		want := map[string]string{
			"folded": "map[succeeded:1]",
			"each":   "map[succeeded:91]",
			"graced": "map[missed:79 succeeded:12]",
			"few":    "map[missed:1 succeeded:10]",
		}
		for id := range policies {
			rows := n.rows(id)
			covered(t, rows, anchor, s.now(), period)
			if got := fmt.Sprint(states(rows)); got != want[id] {
				t.Errorf("%s: the rows are %s, want %s", id, got, want[id])
			}
		}
	})
}

// MF09: a next time that lies in the past, whoever put it there, is taken up with the next look.
func TestANextTimeOfYesterdayIsTakenUp(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *site) {
		n := s.start("n", ruqi.Options{})
		n.add("run", trigger.Crontab("0 3 * * *"), 0, ruqi.Policy{})
		n.add("late", trigger.Crontab("0 3 * * *"), 0, ruqi.Policy{MisfireGrace: ptr(time.Minute)})
		time.Sleep(time.Minute)
		yesterday := time.Date(s.now().Year(), s.now().Month(), s.now().Day(), 3, 0, 0, 0, time.UTC).AddDate(0, 0, -1)
		change(t, s.database(), "UPDATE rq_job SET next_nominal = ?1, next_due = ?1", yesterday.UnixMicro())
		time.Sleep(5 * time.Second)
		for id, state := range map[string]ruqi.RunState{"run": ruqi.RunSucceeded, "late": ruqi.RunMissed} {
			rows := n.rows(id)
			if len(rows) != 1 || rows[0].State != state || !rows[0].Nominal.Equal(yesterday) {
				t.Errorf("%s: the rows are %+v", id, rows)
			}
			if job, err := n.Job(t.Context(), id); err != nil || job.NextNominal == nil || !job.NextNominal.After(s.now()) {
				t.Errorf("%s: the next time is %v, %v", id, job.NextNominal, err)
			}
		}
	})
}

// OV03: a row that says "running" of an instance that is gone, or that nobody ever knew, gives its slot back within a
// lease, whoever wrote it.
func TestARunningMarkWithoutALiveOwnerIsFreed(t *testing.T) {
	for _, owner := range []string{"gone", "unknown"} {
		t.Run(owner, func(t *testing.T) {
			onSQLite(t, func(t *testing.T, s *site) {
				const lease = 15 * time.Second
				n, gone := s.start("n", ruqi.Options{Lease: lease}), s.start("gone", ruqi.Options{Lease: lease})
				n.add("j", trigger.EveryDuration(10*time.Second), 0, ruqi.Policy{})
				defer gone.gate.hold()()
				db := s.database()
				change(t, db, "UPDATE rq_ledger SET run = run + 1")
				change(t, db, `INSERT INTO rq_run (id, job_id, cause, nominal, attempt, state, due, started, instance, epoch, job_name, task)
					SELECT l.run, 'j', 0, 1, 1, 1, 1, ?1, ?2, i.epoch, 'j', 'work' FROM rq_ledger l, rq_instance i WHERE i.name = 'gone'`, s.now().UnixMicro(), owner)
				time.Sleep(lease + 6*time.Second) // off the times at which the job fires
				rows := n.rows("j")
				if rows[0].State != ruqi.RunLost || rows[0].Finished == nil || rows[0].Reason == "" {
					t.Errorf("the marked row is %+v", rows[0])
				}
				before := len(s.starts("j"))
				time.Sleep(10 * time.Second)
				if after := len(s.starts("j")); after != before+1 {
					t.Errorf("after a lease and a period the job was started %d times, then %d", before, after)
				}
			})
		})
	}
}

// OV07: one job's long run holds up neither another job nor its edits.
func TestALongRunHoldsUpNothingElse(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		n := s.start("n", ruqi.Options{})
		n.add("a", trigger.Date(s.now().Add(time.Minute)), 20*time.Minute, ruqi.Policy{})
		n.add("b", trigger.EveryDuration(5*time.Minute), 0, ruqi.Policy{})
		time.Sleep(11 * time.Minute)
		if _, err := n.ModifyJob(t.Context(), "b", func(job *ruqi.Job) error {
			job.Trigger = trigger.EveryDuration(2 * time.Minute)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8*time.Minute + time.Second)
		if rows := n.rows("a"); len(rows) != 1 || rows[0].State != ruqi.RunRunning {
			t.Fatalf("the long run is %+v", rows)
		}
		s.ranOnce(n, "b", 2+4)
		for _, began := range s.starts("b") {
			if late := began.at.Sub(began.run.Nominal); late > time.Second {
				t.Errorf("beside the long run it started %s late", late)
			}
		}
		time.Sleep(5 * time.Minute)
		s.ranOnce(n, "a", 1)
	})
}
