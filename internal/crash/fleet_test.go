//go:build linux

package crash_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	fleetSize = 3
	// fleetPause is the most time between two strokes of fate.
	fleetPause = 500 * time.Millisecond
	// freezeLeast and freezeMost are how long a stopped service is stopped: longer than its lease.
	freezeLeast = lease + 100*time.Millisecond
	freezeMost  = lease + 1500*time.Millisecond
)

// A fleet is several services on one store.
type fleet struct {
	t              *testing.T
	r              *rand.Rand
	site           *site
	gate           *gateway
	services       [fleetSize]*service
	kills, freezes int

	mu sync.Mutex // guards thaws, and services while a thaw may come
	// thaws lets a stopped service go on when its time has come, whatever the test waits for; nil: it runs.
	thaws [fleetSize]*time.Timer
}

// TestCrashFleet lets three services share a file while they are killed, and stopped for longer than
// their lease, at random.
func TestCrashFleet(t *testing.T) {
	t.Parallel()
	r := random(t)
	f := &fleet{t: t, r: r, site: newSite(t), gate: newGateway()}
	u := &users{site: f.site, gate: f.gate, ledger: newLedger(), wait: 10 * time.Second, retires: true}
	for slot := range f.services {
		f.launch(slot)
	}
	all := orders(true)
	c, _ := f.gate.some()
	addAll(t, u, c, all)
	ctx, cancel := context.WithTimeout(t.Context(), pick(15*time.Second, 60*time.Second))
	defer cancel()
	working, rest := context.WithCancel(t.Context())
	defer rest()
	u.begin(working, all, r.Uint64())
	for f.strike(ctx) {
	}
	for slot, v := range f.services {
		f.thaw(slot, v)
	}
	rest()
	u.group.Wait()
	t.Logf("%d kills, %d times stopped for longer than a lease", f.kills, f.freezes)
	for _, v := range f.services[1:] {
		v.term()
	}
	f.services[0].Kill()
	finale(t, f.site, u)
}

// launch starts the service of a slot.
func (f *fleet) launch(slot int) {
	f.t.Helper()
	v := f.site.launch()
	c, err := v.ready()
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	f.services[slot] = v
	f.mu.Unlock()
	f.gate.open(slot, c)
}

// strike does something bad to one of the services, unless ctx ends before.
func (f *fleet) strike(ctx context.Context) bool {
	f.t.Helper()
	wait := time.NewTimer(time.Duration(f.r.Int64N(int64(fleetPause))))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
	}
	slot := f.r.IntN(fleetSize)
	v := f.services[slot]
	select {
	case <-v.Ended:
		f.t.Fatalf("a service ended by itself: %v", v.Err)
	default:
	}
	switch {
	case f.r.IntN(2) == 0:
		f.kills++
		f.gate.open(slot, nil)
		v.Kill() // a stopped one too
		f.thaw(slot, nil)
		f.launch(slot)
	case f.freeze(slot):
		f.freezes++
	}
	return true
}

// freeze stops a service for longer than its lease, unless it is stopped already.
func (f *fleet) freeze(slot int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thaws[slot] != nil {
		return false
	}
	v := f.services[slot]
	f.gate.open(slot, nil)
	v.signal(syscall.SIGSTOP)
	f.thaws[slot] = time.AfterFunc(freezeLeast+time.Duration(f.r.Int64N(int64(freezeMost-freezeLeast))), func() { f.thaw(slot, v) })
	return true
}

// thaw lets a stopped service go on; nil only forgets that one that is dead was stopped.
func (f *fleet) thaw(slot int, v *service) {
	f.mu.Lock()
	defer f.mu.Unlock()
	timer := f.thaws[slot]
	if timer == nil || v != nil && v != f.services[slot] {
		return
	}
	timer.Stop()
	f.thaws[slot] = nil
	if v != nil {
		v.signal(syscall.SIGCONT)
		f.gate.open(slot, v.client)
	}
}
