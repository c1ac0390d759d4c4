//go:build linux

package crash_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	// tracedLife is how long a service lives that does not come to its stroke; longer where a busy machine lets it come to few calls,
	// up to ten times that.
	tracedLife = 2500 * time.Millisecond
	// tracedAtOnce is how many services are tried beside each other: they mostly wait.
	tracedAtOnce = 3
)

// A stroke kills a service as a thread of it enters a system call for the nth time. The call itself
// does not happen. (With its --seccomp-bpf, strace 6.1 does not count calls for that.)
type stroke struct {
	call string
	nth  int
}

// TestCrashAtSystemCalls kills the service at the calls by which the store reaches the disk.
func TestCrashAtSystemCalls(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("%v; scripts/strace installs it", err)
	}
	r := random(t)
	most, life := countCalls(t, r.Uint64())
	t.Logf("calls of the busiest thread: %v", most)
	strokes := []stroke{{"ftruncate", 1}, {"linkat", 1}, {"unlinkat", 1}}
	for call, n := range map[string]int{"pwrite64": pick(8, 130), "fsync": pick(3, 69)} {
		reach := most[call] / 2 // which the busiest thread of another life comes to as a rule
		for i := range n {      // one in each of n equal parts
			low, high := reach*i/n, reach*(i+1)/n
			strokes = append(strokes, stroke{call, low + 1 + r.IntN(max(high-low, 1))})
		}
	}
	hits := make(chan bool, len(strokes))
	room := make(chan struct{}, tracedAtOnce)
	t.Run("strokes", func(t *testing.T) {
		for _, k := range strokes {
			seed := r.Uint64()
			t.Run(fmt.Sprintf("%s %d", k.call, k.nth), func(t *testing.T) {
				t.Parallel()
				room <- struct{}{}
				defer func() { <-room }()
				hits <- k.try(t, seed, life)
			})
		}
	})
	close(hits)
	n := 0
	for hit := range hits {
		if hit {
			n++
		}
	}
	t.Logf("%d of %d services were killed at their call, the others by the clock", n, len(strokes))
	if n < len(strokes)/3 {
		t.Errorf("only %d of %d services came to the call at which they were to be killed", n, len(strokes))
	}
}

// countCalls returns how many of the calls the busiest thread of a service makes in its life, and how long a life must be for that.
func countCalls(t *testing.T, seed uint64) (most map[string]int, life time.Duration) {
	t.Helper()
	for life = tracedLife; ; life *= 2 {
		most = callsOf(t, seed, life)
		if most["pwrite64"] >= 20 && most["fsync"] >= 10 {
			return most, life
		}
		if 2*life > 10*tracedLife {
			t.Fatalf("a service under load made the calls %v in %v: the store reaches the disk by others", most, life)
		}
	}
}

// callsOf returns the calls of the busiest thread in one life.
func callsOf(t *testing.T, seed uint64, life time.Duration) map[string]int {
	t.Helper()
	s := newSite(t)
	file := filepath.Join(s.dir, "trace")
	liveUnder(s, seed, life, "strace", "-D", "-f", "-qq", "-e", "trace=pwrite64,fsync", "-e", "signal=none", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string]int{} // by call and thread
	most := map[string]int{}
	for line := range bytes.Lines(text) {
		thread, rest, _ := bytes.Cut(line, []byte(" "))
		call, _, found := bytes.Cut(bytes.TrimSpace(rest), []byte("("))
		if !found || bytes.HasPrefix(call, []byte("<")) {
			continue
		}
		key := string(call) + " " + string(thread)
		threads[key]++
		most[string(call)] = max(most[string(call)], threads[key])
	}
	return most
}

// try kills one service, and judges what is left.
func (k stroke) try(t *testing.T, seed uint64, life time.Duration) (hit bool) {
	t.Helper()
	s := newSite(t)
	u, hit := liveUnder(s, seed, life, "strace", "-D", "-f", "-qq", "-e", "trace="+k.call, "-e", "signal=none", "-o", os.DevNull,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", k.call, k.nth))
	finale(t, s, u)
	return hit
}

// liveUnder runs a service below a command, with a small load, until it dies or its time is over.
func liveUnder(s *site, seed uint64, life time.Duration, front ...string) (u *users, died bool) {
	s.t.Helper()
	u = &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 5 * time.Second}
	ctx, cancel := context.WithTimeout(s.t.Context(), readyWait)
	defer cancel()
	v := s.launch(front...)
	c, err := v.ready()
	if err == nil {
		u.gate.open(0, c)
		all := orders(false)
		over := time.NewTimer(life)
		defer over.Stop()
		u.group.Go(func() {
			for _, o := range all {
				u.add(ctx, o)
			}
			var there []order
			for _, o := range all {
				if u.ledger.known(o.id) {
					there = append(there, o)
				}
			}
			if len(there) == len(all) && ctx.Err() == nil {
				u.begin(ctx, there, seed)
			}
		})
		select {
		case <-v.Ended:
			died = true
		case <-over.C:
		}
	} else {
		<-v.Ended
		died = true
	}
	v.Kill()
	cancel()
	u.group.Wait()
	return u, died
}
