package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

const (
	walHeader = 32        // bytes before the first frame of a write-ahead log
	walFrame  = 24 + 4096 // bytes of a frame: its header and a page
)

// TestAStepThatReturnedSurvivesALossOfPower cuts the write-ahead log where a loss of
// power may cut it: anywhere behind the last step that had returned. What is left must be a sound
// store with exactly the steps whose log is whole.
func TestAStepThatReturnedSurvivesALossOfPower(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ruqi.db")
	c := &clock{now: start}
	s := open(t, path, sqlite.Options{Now: c.Now})
	owner := beat(t, s, "one")
	add(t, s, record("a", start))
	// sizes[n] is the log's length when n steps with a record, a claim and an end each had returned.
	var sizes []int64
	for n := range 12 {
		size := func() int64 {
			info, err := os.Stat(path + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		if n == 0 {
			sizes = append(sizes, size())
		}
		run := running(t, s, owner)
		if _, err := s.Finish(t.Context(), owner, ends([]ruqi.Run{run})); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), "step", fmt.Append(nil, n)); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size())
		c.Move(time.Hour)
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var cuts []int64
	for at := int64(walHeader); at <= int64(len(wal)); at += walFrame {
		if at >= sizes[0] {
			cuts = append(cuts, at)
		}
	}
	for range 60 {
		cuts = append(cuts, sizes[0]+random.Int64N(int64(len(wal))-sizes[0]+1))
	}
	for i, cut := range cuts {
		tail := []byte(nil)
		if i%2 == 1 { // the disk may also hold what was there before
			tail = make([]byte, min(int64(len(wal))-cut, 3*walFrame))
			for n := range tail {
				tail[n] = byte(random.Uint32())
			}
		}
		steps := 0
		for n, size := range sizes {
			if size <= cut {
				steps = n
			}
		}
		checkCut(t, filepath.Join(dir, fmt.Sprintf("cut%d.db", i)), db, append(append([]byte(nil), wal[:cut]...), tail...), steps, cut)
	}
}

func checkCut(t *testing.T, path string, db, wal []byte, steps int, cut int64) {
	t.Helper()
	for name, data := range map[string][]byte{path: db, path + "-wal": wal} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("cut at %d: %v", cut, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if text, err := s.IntegrityCheck(t.Context()); err != nil || text != "ok" {
		t.Errorf("cut at %d: %s, %v", cut, text, err)
	}
	list, err := s.List(t.Context(), "step", "", "", 0)
	if err != nil || len(list) != steps {
		t.Errorf("cut at %d: %d steps of %d are there, %v", cut, len(list), steps, err)
	}
	page, err := s.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunSucceeded}})
	if err != nil || len(page.Runs) < steps || len(page.Runs) > steps+1 {
		t.Errorf("cut at %d: %d ends of %d are there, %v", cut, len(page.Runs), steps, err)
	}
	jobs, err := s.Jobs(t.Context(), ruqi.JobQuery{})
	if err != nil || len(jobs.Jobs) != 1 || int(jobs.Jobs[0].RunCount) < steps || int(jobs.Jobs[0].RunCount) > steps+1 {
		t.Errorf("cut at %d: job is %+v after %d steps, %v", cut, jobs.Jobs, steps, err)
	}
	if _, err := s.Append(t.Context(), "step", nil); err != nil {
		t.Errorf("cut at %d: the next step: %v", cut, err)
	}
}
