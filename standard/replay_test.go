package standard_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/standard"
)

// old unpacks a store that an older release wrote, and returns its path.
func old(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("..", "jobstore", "sqlite", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }() // only read
	text, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ruqi.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAStoreOfTheFirstSchemaGoesOn opens what the first schema's release wrote: three jobs, of which one
// has had its five runs and one a manual run that failed, output, and records.
func TestAStoreOfTheFirstSchemaGoesOn(t *testing.T) {
	path := old(t, "schema1.db.gz")
	store, err := standard.OpenStore(t.Context(), "sqlite:"+path, standard.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Jobs.Close(); err != nil {
			t.Error(err)
		}
	}()
	caretaker := store.Jobs.(ruqi.Caretaker)
	if state, err := caretaker.Schema(t.Context()); err != nil || state.Has != state.Knows || state.Oldest != 3 {
		t.Errorf("its schema is %+v, %v", state, err)
	}
	if faults, err := caretaker.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("%q, %v", faults, err)
	}
	s, err := ruqi.New(store.Jobs, standard.Registry(standard.Options{}), ruqi.Options{Instance: "new", Zone: time.UTC, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	// It is read before the start: reports/daily is due again since the day after it was written.
	page, err := s.Jobs(t.Context(), ruqi.JobQuery{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, j := range page.Jobs {
		if j.Task == nil || j.Trigger == nil || j.Parked != "" {
			t.Errorf("%s cannot be read: %q", j.ID, j.Parked)
		}
		got += fmt.Sprintf("%s %s %d %d %v %v\n", j.ID, j.State, j.Version, j.RunCount, j.Tags, j.Policy.Timeout)
	}
	if want := "often finished 1 5 [] 0s\nonce paused 1 0 [] 0s\nreports/daily active 3 0 [nightly] 10m0s\n"; got != want {
		t.Errorf("its jobs are\n%s, want\n%s", got, want)
	}
	past, err := s.Runs(t.Context(), ruqi.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range past.Runs {
		r := &past.Runs[i]
		part, err := s.Output(t.Context(), r.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		said, state := fmt.Sprintf("said by run %d\n", r.ID), ruqi.RunSucceeded
		if r.JobID == "once" {
			said, state = "", ruqi.RunFailed
		}
		if string(part.Bytes) != said || r.State != state || r.Owner.Instance != "old:8585:42" || r.Started.Format(time.DateOnly) != "2026-11-29" {
			t.Errorf("run %d said %q: %+v", r.ID, part.Bytes, r)
		}
	}
	if len(past.Runs) != 6 {
		t.Errorf("%d runs, want 6", len(past.Runs))
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	run, err := s.RunNow(t.Context(), "once", nil)
	if err != nil {
		t.Fatal(err)
	}
	if run, err = s.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunFailed || run.ID <= 6 || run.Owner.Epoch <= 1 {
		t.Errorf("a run on it: %+v, %v", run, err)
	}
	if r, err := store.Records.Get(t.Context(), "k", "a"); err != nil || string(r.Data) != `{"old":true}` || r.Version != 1 {
		t.Errorf("a record: %+v, %v", r, err)
	}
	if key, err := store.Records.Append(t.Context(), "log", nil); err != nil || key <= "0000000000000001" {
		t.Errorf("a record appended: %q, %v", key, err)
	}
}
