//go:build linux

package crash_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/standard"
)

// A history is what a store holds.
type history struct {
	jobs map[string]ruqi.JobRecord
	runs []ruqi.Run
	rows map[string][]ruqi.Run // by job
}

// readStore reads the store at an address, which nobody need serve, with the store's own code.
func readStore(t *testing.T, address string) history {
	t.Helper()
	opened, err := standard.OpenStore(t.Context(), address, standard.StoreOptions{})
	if err != nil {
		t.Fatalf("the store does not open: %v", err)
	}
	s := opened.Jobs
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	h := history{jobs: map[string]ruqi.JobRecord{}, rows: map[string][]ruqi.Run{}}
	for query := (ruqi.JobQuery{Limit: ruqi.MaxPage}); ; {
		page, err := s.Jobs(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			h.jobs[job.ID] = job
		}
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	for query := (ruqi.RunQuery{Limit: ruqi.MaxPage}); ; {
		page, err := s.Runs(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		h.runs = append(h.runs, page.Runs...)
		if query.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	for _, r := range h.runs {
		h.rows[r.JobID] = append(h.rows[r.JobID], r)
	}
	return h
}

// states counts the rows by state.
func (h history) states() map[ruqi.RunState]int {
	n := map[ruqi.RunState]int{}
	for i := range h.runs {
		n[h.runs[i].State]++
	}
	return n
}

// gridOf reads a stored interval trigger.
func gridOf(text []byte) (grid, error) {
	var trigger struct {
		Kind, Every string
		Anchor, End *time.Time
	}
	if err := json.Unmarshal(text, &trigger); err != nil {
		return grid{}, fmt.Errorf("trigger %s: %w", text, err)
	}
	every, err := time.ParseDuration(trigger.Every)
	if err != nil || trigger.Kind != "interval" || trigger.Anchor == nil {
		return grid{}, fmt.Errorf("trigger %s is no bound interval: %w", text, err)
	}
	return grid{trigger.Anchor.UTC(), every, trigger.End}, nil
}

// A definition is the part of a stored job that the checks need.
type definition struct {
	Description string
	Trigger     json.RawMessage
	Policy      struct {
		MaxInstances int    `json:"max_instances"`
		MaxRuns      int64  `json:"max_runs"`
		OnLost       string `json:"on_lost"`
	}
}

func definitionOf(record ruqi.JobRecord) (definition, error) {
	var d definition
	err := json.Unmarshal(record.Spec, &d)
	return d, err
}

// readMarks reads what the commands wrote, by job.
func (s *site) readMarks() map[string][]mark {
	s.t.Helper()
	files, err := os.ReadDir(s.marks())
	if err != nil {
		s.t.Fatal(err)
	}
	marks := map[string][]mark{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(s.marks(), file.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) != 3 || fields[0] != file.Name() {
				s.t.Errorf("%s holds the line %q", file.Name(), lines.Text())
				continue
			}
			run, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				s.t.Errorf("%s holds the line %q", file.Name(), lines.Text())
			}
			marks[file.Name()] = append(marks[file.Name()], mark{run, fields[2]})
		}
	}
	return marks
}
