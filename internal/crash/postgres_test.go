//go:build linux

package crash_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// TestCrashHammerPostgres hammers services that share a PostgreSQL server, each over a network of its own.
func TestCrashHammerPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t, postgrestest.Options{})
	h := &hammer{t: t, r: random(t), site: newSiteOn(t, server.Database(t)), server: server, orders: anvil}
	h.run(pick(15*time.Second, 111*time.Second), pick(
		[]outage{{2 * time.Second, time.Second}, {7 * time.Second, 5 * time.Second}},
		[]outage{{10 * time.Second, time.Second}, {25 * time.Second, 10 * time.Second}, {55 * time.Second, 40 * time.Second}}))
}

// TestCrashClocks hammers schedulers whose clocks are five minutes slow, right, and five minutes fast.
func TestCrashClocks(t *testing.T) {
	t.Parallel()
	h := &hammer{t: t, r: random(t), site: newSiteOn(t, postgrestest.Shared(t).Database(t)), orders: clocked,
		clocks: []time.Duration{-5 * time.Minute, 0, 5 * time.Minute}}
	if err := os.WriteFile(filepath.Join(h.site.dir, "admin-token"), []byte("ruqi-token-of-a-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	verdict := h.run(pick(6*time.Second, 30*time.Second), nil)
	show(t, judgeTimes(verdict.runs, begun, time.Now()))
}

// TestCrashKillPostgres is TestCrashKill on a server, which goes on when a service dies in the middle of a step.
func TestCrashKillPostgres(t *testing.T) {
	t.Parallel()
	killRound(t, newSiteOn(t, postgrestest.Shared(t).Database(t)), random(t).Uint64(), pick(4, killsPerRound))
}
