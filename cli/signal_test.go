//go:build linux

package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lockWrites keeps others from writing the database, as a program that hangs in a transaction does: it takes the lock of
// writers, the byte 120 of the file beside a write-ahead log (https://www.sqlite.org/walformat.html#locks).
func lockWrites(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // the lock ends with it
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 120, Len: 1}
	for limit := time.Now().Add(patience); ; {
		err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock)
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("the lock of writers cannot be had: %v", err)
		}
	}
}

// The second signal ends the runs by force, but their ends must still reach the store, which takes none here. The third
// does not wait for that.
func TestAThirdSignalLeavesAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--drain", "10m")
	s.ok("job", "add", "long", "--every", "1h", "--", "sleep", "600")
	s.ok("job", "run", "long")
	s.eventually("it runs", func() bool { return strings.Contains(s.ok("run", "list"), "running") })
	lockWrites(t, filepath.Join(dir, "ruqi.db"))
	s.signal(syscall.SIGTERM)
	s.eventually("the instance stops", func() bool { return s.get("/readyz", "") == 503 })
	s.signal(syscall.SIGINT)
	s.eventually("it ends runs by force", func() bool { return strings.Contains(s.log.String(), "ending runs by force") })
	select {
	case <-s.Ended:
		t.Fatal("it has left by itself: nothing is tried here")
	case <-time.After(500 * time.Millisecond):
	}
	begin := time.Now()
	s.signal(syscall.SIGTERM)
	if status := s.wait(); status != 1 {
		t.Errorf("exit %d, want 1", status)
	}
	// Without the third it waits for the lock for 10 s, and as long for the store.
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v to leave", took)
	}
	if said := s.log.String(); strings.Count(said, "left at once; runs that have not ended are lost") != 1 {
		t.Errorf("the log:\n%s", said)
	}
	if left := s.ruqi("status"); left.status != 5 {
		t.Errorf("it still answers: %+v", left)
	}
}
