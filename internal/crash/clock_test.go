//go:build linux

package crash_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/standard"
)

// The variables that turn the test's own binary into a service whose clock is off.
const (
	clockName = "CRASH_CLOCK" // by how much, as a time.Duration
	storeName = "CRASH_STORE"
	tokenName = "CRASH_TOKEN_FILE"
	leaseName = "CRASH_LEASE"
)

// clockSlack is how far a time of the store may lie outside of the test's own time: a tenth of what the clocks are off.
const clockSlack = 30 * time.Second

// clockedJobs are the steady jobs of a load for schedulers that the race detector watches.
const clockedJobs = 60

// clocked are some of the jobs of the hammer.
func clocked(life time.Duration) []order {
	all := anvil(life)
	n := 0
	for i := range all {
		if i < clockedJobs || i >= 200 {
			all[n] = all[i]
			n++
		}
	}
	return all[:n]
}

// judgeTimes checks that no time of any row comes from a clock that is off.
func judgeTimes(rows []ruqi.Run, from, to time.Time) []string {
	j := &judge{}
	for i := range rows {
		r := &rows[i]
		for name, at := range map[string]*time.Time{"fire": &r.Nominal, "due": &r.Due, "start": r.Started, "end": r.Finished} {
			if at != nil && (at.Before(from.Add(-clockSlack)) || at.After(to.Add(clockSlack))) {
				j.fault("%s: the %s of run %d is at %s; the test went from %s to %s", r.JobID, name, r.ID, stamp(*at), stamp(from), stamp(to))
			}
		}
	}
	return j.faults
}

// clockEnv is the environment of a service whose clock is off.
func (s *site) clockEnv(w way) []string {
	return []string{
		clockName + "=" + w.clock.String(), storeName + "=" + w.address,
		tokenName + "=" + filepath.Join(s.dir, "admin-token"), leaseName + "=" + s.lease.String(),
	}
}

// serveByClock is the service, as far as these tests use it, with a scheduler whose clock is off. The
// program has no such switch, and needs none.
func serveByClock() int {
	if err := serveShifted(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveShifted() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	off, err := time.ParseDuration(os.Getenv(clockName))
	if err != nil {
		return err
	}
	lease, err := time.ParseDuration(os.Getenv(leaseName))
	if err != nil {
		return err
	}
	token, err := os.ReadFile(os.Getenv(tokenName))
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	store, err := standard.OpenStore(ctx, os.Getenv(storeName), standard.StoreOptions{Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Jobs.Close()) }()
	now := func() time.Time { return time.Now().Add(off) }
	registry := standard.Registry(standard.Options{})
	scheduler, err := ruqi.New(store.Jobs, registry, ruqi.Options{
		Now: now, Lease: lease, Drain: drain, Slots: map[string]int{"command": commandSlots}, Logger: logger,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already by the server, as a rule
	if err := scheduler.Start(ctx); err != nil {
		return err
	}
	server := httpapi.NewServer(httpapi.New(httpapi.Options{
		Operations: scheduler, Instances: scheduler, Ready: scheduler.Ready, Registry: registry, Logger: logger, Now: now,
		Tokens: []httpapi.Token{{Name: "admin", Hash: sha256.Sum256([]byte(strings.TrimSpace(string(token))))}},
	}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	err = errors.Join(err, scheduler.Shutdown(context.Background())) // bounded by the drain and the kill graces
	if closing := server.Close(); err == nil && !errors.Is(closing, http.ErrServerClosed) {
		err = closing
	}
	return err
}

func TestCrashTimesAreJudged(t *testing.T) {
	_, rows := plant()
	one(t, "", judgeTimes(rows, second(0), second(10)))
	early := rows[0].Started.Add(-5 * time.Minute)
	rows[0].Started = &early
	one(t, "the start of run 1", judgeTimes(rows, second(0), second(10)))
}
