//go:build linux

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/ruqi-dev/ruqi/internal/netfault"
	"github.com/ruqi-dev/ruqi/internal/programtest"
)

const (
	// restartPause is how long a service that could not start is left alone, as a service manager has it.
	restartPause = 300 * time.Millisecond
	// readyLimit bounds one question whether a service is ready: it answers within milliseconds, or says that it is not
	// within a second.
	readyLimit = 5 * time.Second
)

// A slot is a place in which a service is started again whenever it has ended.
type slot struct {
	site *site
	gate *gateway
	n    int
	// way is how the service is started: over network if there is one.
	way     way
	network *netfault.Proxy
	group   sync.WaitGroup

	mu     sync.Mutex // guards what follows
	latest *service   // starting, serving or ended
	up     *service   // the latest that has listened; nil before the first
	doomed *service   // was killed
	frozen *service   // is stopped
	starts int
}

// begin keeps a service in the slot until ctx ends; it then leaves the last one as it is.
func (s *slot) begin(ctx context.Context) {
	s.group.Go(func() {
		for ctx.Err() == nil {
			if !s.live(ctx) {
				pause := time.NewTimer(restartPause)
				select {
				case <-pause.C:
				case <-ctx.Done():
					pause.Stop()
				}
			}
		}
	})
}

// live starts a service and stays with it until it has ended, or ctx has. It reports whether the service has listened.
func (s *slot) live(ctx context.Context) bool {
	v, err := s.site.launchBy(s.way)
	if err != nil {
		s.site.t.Error(err)
		return false
	}
	s.mu.Lock()
	s.latest = v
	s.starts++
	s.mu.Unlock()
	c, err := v.ready()
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, programtest.ErrEnded): // its store cannot be reached, or it was killed
		<-v.Ended
		return false
	case err != nil:
		s.site.t.Errorf("service %d: %v", s.n, err)
		v.Kill()
		return false
	}
	s.mu.Lock()
	s.up = v
	if s.frozen != v {
		s.gate.open(s.n, c)
	}
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return true
	case <-v.Ended:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.open(s.n, nil)
	if s.doomed != v {
		s.site.t.Errorf("service %d ended by itself: %v", s.n, v.Err)
	}
	return true
}

// await waits until a service has listened in the slot.
func (s *slot) await(ctx context.Context) (*service, error) {
	limit := time.NewTimer(readyWait)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if v := s.present(); v != nil {
			return v, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-limit.C:
			return nil, fmt.Errorf("service %d does not listen after %s", s.n, readyWait)
		}
	}
}

// present is the latest service that has listened.
func (s *slot) present() *service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

// kill ends the service as a loss of power would, also one that only starts, or is stopped.
func (s *slot) kill() {
	s.mu.Lock()
	v := s.latest
	s.doomed, s.frozen = v, nil
	s.mu.Unlock()
	v.Kill()
}

// freeze stops the service and returns it; nil: it is stopped already.
func (s *slot) freeze() *service {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen != nil {
		return nil
	}
	s.frozen = s.latest
	s.gate.open(s.n, nil)
	s.frozen.signal(syscall.SIGSTOP)
	return s.frozen
}

// thaw lets a stopped service go on, if it is this one; nil: whichever.
func (s *slot) thaw(v *service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == nil || v != nil && v != s.frozen {
		return
	}
	s.frozen.signal(syscall.SIGCONT)
	if s.up == s.frozen {
		s.gate.open(s.n, s.up.client)
	}
	s.frozen = nil
}

// isReady reports whether the service says that it is.
func (v *service) isReady() bool {
	select {
	case <-v.Ended:
		return false
	default:
	}
	c := http.Client{Timeout: readyLimit}
	defer c.CloseIdleConnections()
	resp, err := c.Get(v.base + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // its status says all
	return resp.StatusCode == http.StatusOK
}

// through is the address of a store on a server, by way of a proxy.
func through(address, proxy string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.Host = proxy
	return u.String(), nil
}
