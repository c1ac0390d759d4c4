package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	_ "modernc.org/sqlite" // makes the database of another program
)

func TestADatabaseOfAnotherProgramIsLeftAlone(t *testing.T) {
	for title, statement := range map[string]string{
		"a table": "CREATE TABLE album (title TEXT)", "a view": "CREATE VIEW one AS SELECT 1",
	} {
		path := filepath.Join(t.TempDir(), "music.db")
		other, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			err = s.Close()
			t.Errorf("%s: opened; %v", title, err)
			continue
		}
		if want := path + " is the database of another program: name another file"; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", title, err, want)
		}
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed; %v", title, err)
		}
	}
}

func TestAQueryMayNameManyTags(t *testing.T) {
	s, _ := newStore(t)
	var tags []string
	for i := range 1500 {
		tags = append(tags, fmt.Sprintf("t%d", i))
	}
	all, some, none := record("all", start), record("some", start), record("none", start)
	all.Tags, some.Tags = tags, tags[1:]
	add(t, s, all, some, none)
	for n, want := range map[int]string{0: "[all none some]", 1: "[all]", 2: "[all]", 65: "[all]", len(tags): "[all]"} {
		for _, sort := range []ruqi.JobSort{ruqi.SortID, ruqi.SortNext, ruqi.SortName, ruqi.SortCreated} {
			page, err := s.Jobs(t.Context(), ruqi.JobQuery{Tags: tags[:n], Sort: sort})
			var got []string
			for _, j := range page.Jobs {
				got = append(got, j.ID)
			}
			slices.Sort(got)
			if fmt.Sprint(got) != want || err != nil || page.Total != int64(len(got)) {
				t.Errorf("%d tags by %s: %v of %d, %v, want %s", n, sort, got, page.Total, err, want)
			}
		}
		seen := 0
		_, _, err := s.EditJobs(t.Context(), ruqi.JobQuery{Tags: tags[:n]}, func(_ time.Time, _ string, _ *ruqi.JobRecord, _ int) ruqi.Change {
			seen++
			return ruqi.Change{}
		})
		if err != nil || fmt.Sprint(seen) != map[string]string{"[all]": "1", "[all none some]": "3"}[want] {
			t.Errorf("%d tags: %d edited, %v", n, seen, err)
		}
	}
	page, err := s.Jobs(t.Context(), ruqi.JobQuery{Tags: []string{"t1", "t1", "t2"}})
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("a tag that stands twice: %d jobs, %v", len(page.Jobs), err)
	}
}
