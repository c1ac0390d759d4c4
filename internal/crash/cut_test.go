//go:build linux

package crash_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Offsets in the files of SQLite (https://www.sqlite.org/walformat.html), in bytes.
const (
	walHeader   = 32
	walSaltAt   = 16 // 8 bytes, other ones when the log begins anew
	walFrame    = 24 + 4096
	backfillAt  = 96 // of the index: how many frames are in the database already
	cutFillWait = 30 * time.Second
	// The cuts lie between frame cutAfter, or what was written when the last user had ended, and cutFrames further on.
	cutAfter, cutFrames = 1500, 100
)

// TestCrashCutLog cuts the log of a killed service wherever a loss of power may, behind
// what was answered: the rest must be a sound store in which all of that holds, and on which a service goes on.
func TestCrashCutLog(t *testing.T) {
	t.Parallel()
	r := random(t)
	s := newSite(t)
	u := &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 10 * time.Second}
	all := orders(false)
	v, c := s.start()
	addAll(t, u, c, all)
	// While somebody reads what the log holds now, nothing after it moves into the database and the log cannot begin
	// anew, however much is written.
	reader := database(t, s.file())
	defer func() { // after the files are read: whoever closes them last moves the log into the database
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, statement := range []string{"BEGIN", "SELECT count(*) FROM rq_job"} {
		if _, err := reader.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u.begin(ctx, all, r.Uint64())
	log := s.file() + "-wal"
	length := func() int64 {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	await(t, "log", cutFillWait, func() bool { return length() >= cutAfter*walFrame })
	cancel()
	u.group.Wait()
	answered := length()
	begin := read(t, log)
	await(t, "growth of the log", cutFillWait, func() bool { return length() >= answered+cutFrames*walFrame })
	v.Kill()
	db, wal, index := read(t, s.file()), read(t, log), read(t, s.file()+"-shm")
	if !slices.Equal(begin[walSaltAt:walSaltAt+8], wal[walSaltAt:walSaltAt+8]) {
		t.Fatal("the log began anew meanwhile: the test cannot say what its cuts leave")
	}
	if n := int64(binary.NativeEndian.Uint32(index[backfillAt:])); walHeader+n*walFrame > answered {
		t.Fatalf("%d frames are in the database already, more than were written when the last answer came", n)
	}
	cuts := cutsOf(r, answered, int64(len(wal)))
	served := pick(2, 8) // the first ones, whose jobs have not waited for long
	t.Logf("%d cuts between %d and %d bytes; a service goes on after %d of them", len(cuts), answered, len(wal), served)
	for i, cut := range cuts {
		part := slices.Clone(wal[:cut])
		if i%2 == 1 { // the disk may also hold what was there before
			for range min(int64(len(wal))-cut, 3*walFrame) {
				part = append(part, byte(r.Uint32()))
			}
		}
		other := newSite(t)
		for name, data := range map[string][]byte{other.file(): db, other.file() + "-wal": part, filepath.Join(other.dir, "admin-token"): read(t, filepath.Join(s.dir, "admin-token"))} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l := u.ledger.clone()
		l.check(t, l.judge(t, other, true))
		if i < served {
			next, c := other.start()
			settle(t, l, c)
			next.term()
			l.judge(t, other, false)
		}
		if t.Failed() {
			t.Fatalf("after a cut at %d", cut)
		}
	}
}

// cutsOf are frame boundaries and places between them, from the first to the last byte.
func cutsOf(r *rand.Rand, first, last int64) []int64 {
	var bounds, cuts []int64
	for at := int64(walHeader); at <= last; at += walFrame {
		if at >= first {
			bounds = append(bounds, at)
		}
	}
	if !long() {
		r.Shuffle(len(bounds), func(i, j int) { bounds[i], bounds[j] = bounds[j], bounds[i] })
		bounds = bounds[:min(len(bounds), 25)]
	}
	cuts = append(bounds, first, last)
	for range pick(15, 150) {
		cuts = append(cuts, first+r.Int64N(last-first+1))
	}
	r.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
	return cuts
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
