package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// lived returns a store in which something of everything is.
func lived(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	c := &clock{now: start}
	s := open(t, path, sqlite.Options{Now: c.Now})
	owner := beat(t, s, "one")
	add(t, s, record("a", start))
	ended := running(t, s, owner)
	if _, err := s.WriteRuns(t.Context(), owner, []ruqi.RunUpdate{{ID: ended.ID, Output: []byte("said")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(t.Context(), owner, ends([]ruqi.Run{ended})); err != nil {
		t.Fatal(err)
	}
	add(t, s, record("b", start))
	running(t, s, owner)
	_, runs, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"a"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
		return ruqi.Change{Runs: []ruqi.Run{{JobID: "a", JobName: "a", Task: "t", Cause: ruqi.CauseManual, State: ruqi.RunQueued, Attempt: 1, Params: []byte("{}")}}}
	})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	return s
}

func TestCheckNamesWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		plant []string
		want  []string
	}{
		{nil, nil},
		{[]string{`DELETE FROM rq_ledger`}, []string{"of the row of rq_ledger, with the schema and the counters of the store, there are 0"}},
		{[]string{`UPDATE rq_ledger SET run = 2`}, []string{"run ids are counted up to 2, but there is a run 3: the ids between would be given twice"}},
		{[]string{`UPDATE rq_ledger SET epoch = 0`}, []string{"epochs are counted up to 0, but there is an instance with epoch 1: the fence of its runs would not hold"}},
		{[]string{`DELETE FROM rq_definition WHERE name = 'b'`}, []string{`job "b" has no definition`}},
		{[]string{`UPDATE rq_definition SET seq = 77 WHERE name = 'b'`}, []string{`job "b" has no definition`, `there is a definition of the name "b" without a job`}},
		{[]string{`UPDATE rq_job SET state = 3 WHERE id = 'a'`}, []string{`job "a" is in the state 3, which is none`}},
		{[]string{`UPDATE rq_run SET state = 9 WHERE id = 1`}, []string{"run 1 is in the state 9, which is none"}},
		{[]string{`DELETE FROM rq_instance`}, []string{`run 2 of job "b" is running under instance one, epoch 1, which the store does not know`}},
		{[]string{`UPDATE rq_run SET started = NULL WHERE id = 2`}, []string{`run 2 of job "b" is running and has no time of its start`}},
		{[]string{`DELETE FROM rq_job WHERE id = 'a'`, `DELETE FROM rq_definition WHERE name = 'a'`}, []string{`run 3 is queued, but its job "a" is removed: nobody will start it`}},
		{[]string{`DELETE FROM rq_run WHERE id = 1`}, []string{"there is output of a run 1 that is not there", "there are details of a run 1 that is not there"}},
		{[]string{`WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 114) INSERT INTO rq_run_more (run_id) SELECT i FROM n`},
			[]string{"there are details of a run 109 that is not there", "and 5 more faults like the last"}},
		{[]string{`INSERT INTO rq_tally VALUES (1, 'a', 'a', 2, 1), (0, '', '', 1, 0)`},
			[]string{"the total of executed runs of all jobs is off: 1 of those that succeeded, 0 of the others",
				"the total of executed runs of job a under the name a is off: 2 of those that succeeded, 1 of the others"}},
		{[]string{`UPDATE rq_ledger SET tallied = 2`, `INSERT INTO rq_untallied VALUES (1)`}, []string{`run 2 of job "b" is in no total, and never will be`}},
		{[]string{`PRAGMA writable_schema = ON`, `UPDATE sqlite_schema SET sql = replace(sql, 'TEXT    NOT NULL,' || char(10) || '  state', 'TEXT NOT NULL CHECK (id > ''a''),' || char(10) || '  state') WHERE name = 'rq_job'`},
			[]string{"SQLite finds damage: CHECK constraint failed in rq_job"}},
	} {
		what := strings.Join(c.plant, "; ")
		path := filepath.Join(t.TempDir(), "ruqi.db")
		s := lived(t, path)
		for _, sql := range c.plant {
			if err := s.ExecSQL(sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		keeper := open(t, path, sqlite.Options{KeepSchema: true}) // as another process would
		faults, err := keeper.Check(t.Context())
		if len(faults) > 2 {
			faults = faults[len(faults)-2:]
		}
		if err != nil || !slices.Equal(faults, c.want) {
			t.Errorf("after %q: %q, %v, want %q", what, faults, err, c.want)
		}
	}
}

func TestCheckTellsOfADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		add(t, s, record(fmt.Sprint("job", i), start))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for first := 2; first < len(sound)/page; first += 5 {
		data := slices.Clone(sound)
		for i := first * page; i < min(len(data), (first+5)*page); i++ {
			data[i] = 0xa5
		}
		damaged := filepath.Join(t.TempDir(), "damaged.db")
		if err := os.WriteFile(damaged, data, 0o600); err != nil {
			t.Fatal(err)
		}
		faults, err := open(t, damaged, sqlite.Options{KeepSchema: true}).Check(t.Context())
		if err != nil || len(faults) == 0 || !strings.Contains(faults[0], "damage") {
			t.Errorf("with five of %d pages damaged from page %d on: %q, %v", len(sound)/page, first, faults, err)
		}
	}
}

// steps are some of each kind, which all fail on a store that is not fit for them.
func steps(ctx context.Context, s *sqlite.Store) map[string]error {
	errs := map[string]error{}
	_, errs["Jobs"] = s.Jobs(ctx, ruqi.JobQuery{})
	_, errs["Beat"] = s.Beat(ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: "x"}, Lease: time.Second})
	_, errs["Claim"] = s.Claim(ctx, ruqi.ClaimRequest{}, nil)
	_, errs["Append"] = s.Append(ctx, "k", nil)
	_, errs["Count"] = s.Count(ctx)
	return errs
}

func TestAStoreThatIsToBeKeptIsNotMade(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "ruqi.db"), filepath.Join(dir, "none", "ruqi.db")} {
		s := open(t, path, sqlite.Options{KeepSchema: true})
		for range 2 {
			if state, err := s.Schema(t.Context()); err != nil || state != (ruqi.SchemaState{Knows: 4}) {
				t.Errorf("its schema is %+v, %v", state, err)
			}
			if faults, err := s.Check(t.Context()); !errors.Is(err, ruqi.ErrNotFound) || len(faults) > 0 {
				t.Errorf("it is checked: %q, %v", faults, err)
			}
			for name, err := range steps(t.Context(), s) {
				if !errors.Is(err, ruqi.ErrNotFound) || !strings.Contains(err.Error(), "there is no store at "+path+" yet") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("there is %v now, %v", entries, err)
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, empty, sqlite.Options{KeepSchema: true})
	if state, err := s.Schema(t.Context()); err != nil || state.Has != 0 {
		t.Errorf("the schema of an empty file is %+v, %v", state, err)
	}
	if _, err := s.Check(t.Context()); !errors.Is(err, ruqi.ErrNotFound) {
		t.Errorf("an empty file is checked: %v", err)
	}
	if info, err := os.Stat(empty); err != nil || info.Size() > 0 {
		t.Errorf("the empty file has %d bytes, %v", info.Size(), err)
	}
}

func TestAStoreThatIsToBeKeptIsNotBroughtUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	if err := sqlite.Make(t.Context(), path, 1); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{KeepSchema: true})
	for range 2 {
		if state, err := s.Schema(t.Context()); err != nil || state != (ruqi.SchemaState{Has: 1, Knows: 4, Oldest: 1}) {
			t.Errorf("its schema is %+v, %v", state, err)
		}
		if faults, err := s.Check(t.Context()); err != nil || len(faults) > 0 {
			t.Errorf("it is not sound: %q, %v", faults, err)
		}
		for name, err := range steps(t.Context(), s) {
			if err == nil || !strings.Contains(err.Error(), path+" has schema 1, and this release works on 4: ruqi store migrate brings it up") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	open(t, path, sqlite.Options{})
	if state, err := s.Schema(t.Context()); err != nil || state != (ruqi.SchemaState{Has: 4, Knows: 4, Oldest: 3}) {
		t.Errorf("after another has brought it up its schema is %+v, %v", state, err)
	}
	s = open(t, path, sqlite.Options{KeepSchema: true})
	for name, err := range steps(t.Context(), s) {
		if err != nil && name != "Claim" || name == "Claim" && !errors.Is(err, ruqi.ErrLeaseLost) {
			t.Errorf("of a store that is up: %s: %v", name, err)
		}
	}
	if err := s.ExecSQL(`UPDATE rq_ledger SET schema = 9, oldest = 5`); err != nil {
		t.Fatal(err)
	}
	if kept, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true}); !errors.Is(err, ruqi.ErrSchemaNewer) {
		t.Errorf("one that is too new is opened: %v, %v", kept, err)
	}
}

// A store as the schema before the last made it is brought up with all that claims name.
func TestAStoreOfSchema3HasTheIndexOfTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	if err := sqlite.Make(t.Context(), path, 3); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{})
	if n, err := s.CountSQL(t.Context(), `SELECT count(*) FROM sqlite_schema WHERE name = 'rq_run_turn'`); n != 1 || err != nil {
		t.Errorf("there are %d, %v", n, err)
	}
}

func TestAFileThatIsRemovedDoesNotComeBackEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := s.Jobs(t.Context(), ruqi.JobQuery{}) // on a connection that is made now
	if !errors.Is(err, ruqi.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file again")
	}
}
