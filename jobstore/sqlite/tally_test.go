package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// wantTotal compares a total with the count of the rows.
func wantTotal(t *testing.T, s *sqlite.Store, when string, query ruqi.RunQuery, want int64) {
	t.Helper()
	query.Executed, query.Limit = true, 1
	page, err := s.Runs(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	if page.Total == nil || *page.Total != want {
		t.Errorf("%s the total is %v, want %d", when, page.Total, want)
	}
}

// A file of an older release has a history of which nothing is counted. It is counted in the course of several cleanings, each of
// short steps, and its total is right all the time.
func TestAHistoryFromBeforeIsCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	if err := sqlite.Make(t.Context(), path, 2); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{Now: func() time.Time { return start }})
	s.CountSlowly(4)
	const rows, jobs = 5_000, 10
	fill(t, s, rows, jobs)
	const executed = rows / 5 * 4 // the others were missed
	last := int64(0)
	for n := 0; ; n++ {
		wantTotal(t, s, "while it is counted", ruqi.RunQuery{}, executed)
		mark, err := s.CountSQL(t.Context(), `SELECT tallied FROM rq_ledger`)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 && mark >= rows {
			t.Errorf("one cleaning has counted all %d", mark)
		}
		if mark >= rows {
			break
		}
		if n > 0 && mark <= last {
			t.Fatalf("cleaning %d has counted nothing", n)
		}
		last = mark
		if _, err := s.Clean(t.Context(), ruqi.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	wantTotal(t, s, "of a job", ruqi.RunQuery{Job: "job-03"}, rows/jobs)
	wantTotal(t, s, "of a job whose runs were all missed", ruqi.RunQuery{Job: "job-05"}, 0)
	if _, err := s.Clean(t.Context(), ruqi.Retention{Runs: 10}); err != nil {
		t.Fatal(err)
	}
	wantTotal(t, s, "after a cleaning", ruqi.RunQuery{}, executed-1000)
	if faults, err := s.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("it is not sound: %q, %v", faults, err)
	}
}

// Two processes that share a file may clean at once: each run is counted once.
func TestTwoProcessesCountEachRunOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{Now: func() time.Time { return start }})
	other := open(t, path, sqlite.Options{Now: func() time.Time { return start }})
	fill(t, s, 6_000, 10)
	done := make(chan error, 2)
	for _, store := range []*sqlite.Store{s, other} {
		go func() {
			_, err := store.Clean(t.Context(), ruqi.Retention{Runs: 300, Limit: 2000})
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	left, err := s.CountSQL(t.Context(), `SELECT count(*) FROM rq_run WHERE state = 2`)
	if err != nil {
		t.Fatal(err)
	}
	wantTotal(t, s, "after both", ruqi.RunQuery{}, left)
	if faults, err := s.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("it is not sound: %q, %v", faults, err)
	}
}
