package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// sqlHistory writes the ended runs of as many jobs, oldest first, one minute apart.
const sqlHistory = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
	INSERT INTO rq_run (id, job_id, cause, nominal, attempt, state, due, started, finished, instance, epoch, job_name, task, params)
	SELECT i, printf('job-%02d', i % ?2), 0, ?3 + i * 60000000, 1, CASE WHEN i % 5 = 0 THEN 7 ELSE 2 END,
		?3 + i * 60000000, ?3 + i * 60000000, ?3 + i * 60000000, 'old', 1, printf('job-%02d', i % ?2), 'noop', '{}' FROM n`

// fill gives a store a history of that many rows that ends at start.
func fill(t *testing.T, s *sqlite.Store, rows, jobs int) {
	t.Helper()
	first := start.Add(-time.Duration(rows) * time.Minute).UnixMicro()
	if err := s.ExecSQL(sqlHistory, rows, jobs, first); err != nil {
		t.Fatal(err)
	}
	if err := s.ExecSQL(`UPDATE rq_ledger SET run = ?`, rows); err != nil {
		t.Fatal(err)
	}
}

func TestCleanKeepsTheNewestOfEachJob(t *testing.T) {
	s, c := newStore(t)
	const rows, jobs, keepRuns, keepNonRuns = 20_000, 7, 100, 30
	fill(t, s, rows, jobs)
	retention := ruqi.Retention{Runs: keepRuns, NonRuns: keepNonRuns, Limit: 700}
	gone := 0
	for {
		n, err := s.Clean(t.Context(), retention)
		if err != nil {
			t.Fatal(err)
		}
		gone += n
		if n < retention.Limit {
			break
		}
	}
	if want := rows - jobs*(keepRuns+keepNonRuns); gone != want {
		t.Errorf("%d rows went, not %d", gone, want)
	}
	for i := range jobs {
		id := fmt.Sprintf("job-%02d", i)
		for sql, want := range map[string]int64{
			`SELECT count(*) FROM rq_run WHERE job_id = ? AND state = 2`: keepRuns,
			`SELECT count(*) FROM rq_run WHERE job_id = ? AND state = 7`: keepNonRuns,
		} {
			if n, err := s.CountSQL(t.Context(), sql, id); err != nil || n != want {
				t.Errorf("%s has %d rows, not %d, %v", id, n, want, err)
			}
		}
	}
	// What comes after a whole pass is found too, without a look at every job.
	add(t, s, record("job-00", start))
	owner := beat(t, s, "one")
	for range 3 {
		run := running(t, s, owner)
		if n, err := s.Clean(t.Context(), retention); err != nil || n != 0 {
			t.Errorf("%d rows went while the run was alive, %v", n, err)
		}
		if _, err := s.Finish(t.Context(), owner, ends([]ruqi.Run{run})); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Clean(t.Context(), retention); err != nil || n != 1 {
			t.Errorf("%d rows went after one more end, %v", n, err)
		}
		c.Move(time.Hour)
	}
}

func TestNamesGoWithTheLastRunOfARemovedJob(t *testing.T) {
	s, _ := newStore(t)
	add(t, s, record("a", start))
	owner := beat(t, s, "one")
	run := running(t, s, owner)
	_, _, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"a"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
		return ruqi.Change{Remove: true}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(t.Context(), owner, ends([]ruqi.Run{run})); err != nil {
		t.Fatal(err)
	}
	page, err := s.Runs(t.Context(), ruqi.RunQuery{Name: "a"})
	if err != nil || len(page.Runs) != 1 {
		t.Fatalf("the history of a removed job is found by name: %v, %v", page.Runs, err)
	}
	later := open(t, filepath.Clean(s.Location()[len("sqlite:"):]), sqlite.Options{Now: func() time.Time { return start.Add(1000 * time.Hour) }})
	if n, err := later.Clean(t.Context(), ruqi.Retention{Age: time.Hour}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if n, err := s.CountSQL(t.Context(), `SELECT count(*) FROM rq_run_name`); err != nil || n != 0 {
		t.Errorf("%d names are left, %v", n, err)
	}
}

// TestAPurgeLeavesRoomForClaims deletes a long history while jobs are due, and looks
// that no claim waits for the whole of it.
func TestAPurgeLeavesRoomForClaims(t *testing.T) {
	s, c := newStore(t)
	fill(t, s, 100_000, 50)
	add(t, s, record("a", start))
	owner := beat(t, s, "one")
	purged := make(chan error, 1)
	go func() {
		retention := ruqi.Retention{Age: time.Minute, Limit: 20_000}
		for {
			n, err := s.Clean(t.Context(), retention)
			if err != nil || n < retention.Limit {
				purged <- err
				return
			}
		}
	}()
	claims, worst := 0, time.Duration(0)
	for {
		select {
		case err := <-purged:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d claims beside the purge, the slowest took %v", claims, worst)
			if claims < 20 {
				t.Errorf("only %d claims came through", claims)
			}
			return
		default:
		}
		begin := time.Now()
		run := running(t, s, owner)
		worst = max(worst, time.Since(begin))
		if _, err := s.Finish(t.Context(), owner, ends([]ruqi.Run{run})); err != nil {
			t.Fatal(err)
		}
		claims++
		c.Move(time.Hour)
	}
}
