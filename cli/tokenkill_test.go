//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// copying keeps a copy of the data directory as it is before and after each record is written: what a
// kill at that moment would leave.
type copying struct {
	ruqi.RecordStore
	t      *testing.T
	dir    string
	before string
	after  string
	err    error // told in place of success, with the record written all the same
}

func (c *copying) Put(ctx context.Context, all ...ruqi.Record) error {
	c.before = c.copyDir()
	err := c.RecordStore.Put(ctx, all...)
	c.after = c.copyDir()
	return errors.Join(err, c.err)
}

func (c *copying) copyDir() string {
	to := c.t.TempDir()
	if err := os.CopyFS(to, os.DirFS(c.dir)); err != nil {
		c.t.Fatal(err)
	}
	entries, err := os.ReadDir(to)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Chmod(filepath.Join(to, e.Name()), 0o600); err != nil { // CopyFS takes no modes over
			c.t.Fatal(err)
		}
	}
	return to
}

func newCopying(t *testing.T, dir string) *copying {
	t.Helper()
	store := memory.Open(memory.Options{})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &copying{RecordStore: store, t: t, dir: dir}
}

// holds fails unless the directory has the token of that hash under its name, and nothing else of tokens.
func holds(t *testing.T, dir string, hash [sha256.Size]byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "admin-token"))
	if err != nil || sha256.Sum256(bytes.TrimSpace(text)) != hash {
		t.Errorf("the file does not hold the token: %v", err)
	}
	drafts, err := filepath.Glob(filepath.Join(dir, "admin-token?*"))
	if err != nil || len(drafts) != 0 {
		t.Errorf("left behind: %q, %v", drafts, err)
	}
}

func TestAKillLosesNoFirstToken(t *testing.T) {
	records := newCopying(t, t.TempDir())
	if _, _, err := cli.StoresToken(t.Context(), records, records.dir); err != nil {
		t.Fatal(err)
	}
	hash, said, err := cli.StoresToken(t.Context(), records.RecordStore, records.after)
	if err != nil || !strings.Contains(said, "it is in") {
		t.Errorf("after the record: %q, %v", said, err)
	}
	holds(t, records.after, hash)
	// Before the record the file has its name, so that a start on the store, which knows no token, takes it.
	other := newCopying(t, records.before)
	if hash, _, err = cli.StoresToken(t.Context(), other, records.before); err != nil {
		t.Error(err)
	}
	holds(t, records.before, hash)
	holds(t, records.dir, hash)
}

func TestAKillLosesNoNewToken(t *testing.T) {
	records := newCopying(t, t.TempDir())
	old, _, err := cli.StoresToken(t.Context(), records, records.dir)
	if err != nil {
		t.Fatal(err)
	}
	fresh, _, err := cli.FreshToken(t.Context(), records, records.dir)
	if err != nil || fresh == old {
		t.Fatalf("no new token: %v", err)
	}
	holds(t, records.dir, fresh)
	hash, said, err := cli.StoresToken(t.Context(), records.RecordStore, records.after)
	if err != nil || hash != fresh || !strings.Contains(said, "it is in") {
		t.Errorf("after the record: %q, %v", said, err)
	}
	holds(t, records.after, fresh)
	text, err := os.ReadFile(filepath.Join(records.before, "admin-token"))
	if err != nil || sha256.Sum256(bytes.TrimSpace(text)) != old {
		t.Errorf("before the record, the old token has gone: %v", err)
	}
}

func TestATokenWhoseRecordIsInDoubtIsKept(t *testing.T) {
	for name, start := range map[string]func(context.Context, ruqi.RecordStore, string) ([sha256.Size]byte, string, error){
		"first": cli.StoresToken, "new": cli.FreshToken,
	} {
		records := newCopying(t, t.TempDir())
		records.err = ruqi.ErrUnavailable
		if _, _, err := start(t.Context(), records, records.dir); !errors.Is(err, ruqi.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		hash, said, err := cli.StoresToken(t.Context(), records.RecordStore, records.dir)
		if err != nil || !strings.Contains(said, "it is in") {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		holds(t, records.dir, hash)
	}
}

func TestALoserOfTwoFirstStartsLeavesNoFile(t *testing.T) {
	records := newCopying(t, t.TempDir())
	won, _, err := cli.StoresToken(t.Context(), records, records.dir)
	if err != nil {
		t.Fatal(err)
	}
	late := &unseen{RecordStore: records.RecordStore}
	dir := t.TempDir()
	hash, said, err := cli.StoresToken(t.Context(), late, dir)
	if err != nil || hash != won || !strings.Contains(said, "there is no "+dir) {
		t.Errorf("%q, %v", said, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// unseen shows no record at first, as to a start that looks before another writes.
type unseen struct {
	ruqi.RecordStore
	asked bool
}

func (u *unseen) Get(ctx context.Context, kind, key string) (ruqi.Record, error) {
	if !u.asked {
		u.asked = true
		return ruqi.Record{}, ruqi.ErrNotFound
	}
	return u.RecordStore.Get(ctx, kind, key)
}

func TestWhatIsNoTokenFileIsRefusedAtOnce(t *testing.T) {
	token := func(path string) {
		if err := os.WriteFile(path, []byte("rq_"+strings.Repeat("A", 43)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"a FIFO":   {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "no regular file"},
		"a link":   {func(path string) error { token(path + "-else"); return os.Symlink(path+"-else", path) }, "no regular file"},
		"a folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "no regular file"},
		"a file of another": {func(path string) error {
			token(path)
			if os.Geteuid() != 0 { // nobody else can give files away: the rule is tried where tests run as root
				return os.Chmod(path, 0o644)
			}
			return os.Chown(path, 12345, -1)
		}, map[bool]string{true: "belongs to another", false: "read by others"}[os.Geteuid() == 0]},
	} {
		records := newCopying(t, t.TempDir())
		if err := c.put(filepath.Join(records.dir, "admin-token")); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, _, err := cli.StoresToken(t.Context(), records, records.dir)
			failed <- err
		}()
		select {
		case err := <-failed:
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		case <-time.After(patience):
			t.Fatalf("%s: hangs", name)
		}
	}
}

func TestADataDirectoryThatOthersCanWriteIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o770, 0o707, 0o777 | os.ModeSticky} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		got := finish(t, program(t, dir, "serve", "--store", "memory:", "--listen", "127.0.0.1:0"))
		if got.status != 1 || !strings.Contains(got.errors, "chmod go-w "+dir) {
			t.Errorf("mode %v: %+v", mode, got)
		}
	}
}

func TestACommandDoesNotWaitForATokenFromAFIFO(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "admin-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, program(t, dir, "status")); got.status != 4 || !strings.Contains(got.errors, "no regular file") {
		t.Errorf("%+v", got)
	}
}

func TestANewTokenThatCannotGetItsPlaceIsToldOf(t *testing.T) {
	records := newCopying(t, t.TempDir())
	path := filepath.Join(records.dir, "admin-token")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, said, err := cli.FreshToken(t.Context(), records, records.dir)
	if err == nil || !strings.Contains(err.Error(), "the admin token is in "+path+"-") {
		t.Fatalf("%q, %v", said, err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	hash, _, err := cli.StoresToken(t.Context(), records, records.dir)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, records.dir, hash)
}

func TestFirstStartsInOneDirectoryAgree(t *testing.T) {
	for range 50 {
		records := newCopying(t, t.TempDir())
		var hashes [4][sha256.Size]byte
		var errs [4]error
		var group sync.WaitGroup
		for i := range hashes {
			group.Go(func() { hashes[i], _, errs[i] = cli.StoresToken(t.Context(), records.RecordStore, records.dir) })
		}
		group.Wait()
		for i := range hashes {
			if errs[i] != nil || hashes[i] != hashes[0] {
				t.Fatalf("start %d of four: %v, the same token: %v", i, errs[i], hashes[i] == hashes[0])
			}
		}
		holds(t, records.dir, hashes[0])
	}
}
