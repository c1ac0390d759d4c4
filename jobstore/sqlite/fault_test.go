package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

func TestOpenRefusesWhatCannotHoldAStore(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("these are notes, not a database\n", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	on := func(magic int64) sqlite.Options {
		return sqlite.WithStatfs(sqlite.Options{}, func(string) (int64, error) { return magic, nil })
	}
	for _, c := range []struct {
		what, path string
		options    sqlite.Options
		want       string
	}{
		{"a missing folder", filepath.Join(dir, "none", "ruqi.db"), sqlite.Options{}, "does not exist; create it first"},
		{"a folder as the file", dir, sqlite.Options{}, "is not a regular file"},
		{"a file as the folder", filepath.Join(text, "ruqi.db"), sqlite.Options{}, "is not a folder"},
		{"no path", "", sqlite.Options{}, "jobstore/memory"},
		{"a database in memory", ":memory:", sqlite.Options{}, "jobstore/memory"},
		{"another file", text, sqlite.Options{}, "is not an SQLite database"},
		{"NFS", filepath.Join(dir, "ruqi.db"), on(0x6969), "network file system (NFS)"},
		{"SMB", filepath.Join(dir, "ruqi.db"), on(0xfe534d42), "network file system (SMB 2)"},
		{"CIFS", filepath.Join(dir, "ruqi.db"), on(0xff534d42), "network file system (CIFS)"},
		{"9p", filepath.Join(dir, "ruqi.db"), on(0x01021997), "network file system (9p)"},
		{"FUSE", filepath.Join(dir, "ruqi.db"), on(0x65735546), "network file system (FUSE"},
		{"negative options", filepath.Join(dir, "ruqi.db"), sqlite.Options{OutputCap: -1, Readers: -1}, "readers: is negative"},
	} {
		s, err := sqlite.Open(t.Context(), c.path, c.options)
		if err == nil {
			t.Errorf("%s was opened", c.what)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !strings.Contains(err.Error(), c.want) || errors.Is(err, ruqi.ErrUnavailable) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ruqi.db")); err == nil {
		t.Error("a refused file was created")
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{})
	if err := s.ExecSQL(`UPDATE rq_ledger SET schema = 99, oldest = 98`); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"open":                                   func() error { _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); return err }(),
		"a step of a store that was open before": func() error { _, err := s.Append(t.Context(), "k", nil); return err }(),
	} {
		if !errors.Is(err, ruqi.ErrSchemaNewer) || !strings.Contains(err.Error(), "schema 99") || !strings.Contains(err.Error(), "start the release that wrote it") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestANewerSchemaThatSaysSoIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	before := open(t, path, sqlite.Options{})
	if err := before.ExecSQL(`UPDATE rq_ledger SET schema = 99`); err != nil {
		t.Fatal(err)
	}
	after := open(t, path, sqlite.Options{})
	for what, s := range map[string]*sqlite.Store{"that was open before": before, "opened since": after} {
		if _, err := s.Append(t.Context(), "k", nil); err != nil {
			t.Errorf("a step of a store %s: %v", what, err)
		}
	}
	if n, err := after.CountSQL(t.Context(), `SELECT schema FROM rq_ledger`); err != nil || n != 99 {
		t.Errorf("the schema was set to %d, %v", n, err)
	}
}

func TestManyOpenAndMigrateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Append(t.Context(), "k", nil); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	list, err := open(t, path, sqlite.Options{}).List(t.Context(), "k", "", "", 0)
	if err != nil || len(list) != 12 {
		t.Fatalf("%d records, %v", len(list), err)
	}
}

func TestALockedFileIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{Busy: 20 * time.Millisecond})
	done, err := sqlite.Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "k", nil); !errors.Is(err, ruqi.ErrUnavailable) || !strings.Contains(err.Error(), "locked by another process") {
		t.Errorf("a write: %v", err)
	}
	if _, err := s.List(t.Context(), "k", "", "", 0); err != nil {
		t.Errorf("a read beside the writer: %v", err)
	}
	if err := done(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "k", nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAContextEndsTheWaitForALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{Busy: time.Hour})
	done, err := sqlite.Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Append(ctx, "k", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write: %v", err)
	}
	if err := done(); err != nil {
		t.Fatal(err)
	}
	if key, err := s.Append(t.Context(), "k", nil); err != nil || key != "0000000000000001" {
		t.Errorf("afterwards: %q, %v", key, err)
	}
}

func TestAnUncertainCommitIsSettled(t *testing.T) {
	for _, happened := range []bool{true, false} {
		s, _ := newStore(t)
		if err := s.BreakCommit(happened); err != nil {
			t.Fatal(err)
		}
		key, err := s.Append(t.Context(), "k", []byte("v"))
		list, e := s.List(t.Context(), "k", "", "", 0)
		if e != nil {
			t.Fatal(e)
		}
		if happened && (err != nil || len(list) != 1 || list[0].Key != key) {
			t.Errorf("it happened, but Append says %q, %v and List %v", key, err, list)
		}
		if !happened && (!errors.Is(err, sqlite.ErrPlanted) || len(list) != 0) {
			t.Errorf("it did not happen, but Append says %q, %v and List %v", key, err, list)
		}
		if _, err := s.Append(t.Context(), "k", nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

func TestAFullDiskIsToldAndPasses(t *testing.T) {
	s, _ := newStore(t)
	if err := s.ExecSQL(`PRAGMA max_page_count = 1`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Append(t.Context(), "k", make([]byte, 1<<20))
	if !errors.Is(err, ruqi.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("%v", err)
	}
	if err := s.ExecSQL(`PRAGMA max_page_count = 1000000`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "k", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedFileIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "k", make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(data); i++ {
		data[i] = 0xa5
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		_, err = s.Append(t.Context(), "k", nil)
		if e := s.Close(); e != nil {
			t.Error(e)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "is damaged: stop") || errors.Is(err, ruqi.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
}

func TestHintsReachTheSchedulersOfAStore(t *testing.T) {
	s, c := newStore(t)
	hints, stop := s.Wake()
	heard := func() bool {
		select {
		case <-hints:
			return true
		default:
			return false
		}
	}
	owner := beat(t, s, "one")
	if heard() {
		t.Error("a beat is nothing to wake for")
	}
	add(t, s, record("a", start), record("b", start))
	if !heard() || heard() {
		t.Error("an edit gives one hint")
	}
	claimed, err := s.Claim(t.Context(), request(owner, 5), fire(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	heard()
	c.Move(time.Second)
	if _, err := s.Finish(t.Context(), owner, ends(claimed.Runs[:1])); err != nil || !heard() {
		t.Error("an end gives a hint", err)
	}
	if _, err := s.Cancel(t.Context(), claimed.Runs[1].ID, "me"); err != nil || !heard() {
		t.Error("a cancel gives a hint", err)
	}
	stop()
	add(t, s, record("c", start))
	if heard() {
		t.Error("a hint came after stop")
	}
}
