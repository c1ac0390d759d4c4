package postgrestest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
)

// environment names the variable with the URL of a server that is there already.
const environment = "RUQI_TEST_POSTGRES"

// common is the process's shared server.
var common struct {
	mu     sync.Mutex // guards what follows
	tried  bool
	server *Server // its t is not set
	err    error
}

// Main runs the tests of a process, stops the shared server if one was started, and returns
// the exit status: that of the tests, or 1 if the server did not end.
func Main(m *testing.M) int {
	status := m.Run()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.server == nil || common.server.own == nil {
		return status
	}
	if err := common.server.own.close(); err != nil {
		fmt.Fprintf(os.Stderr, "end postgres: %v\n", err)
		return max(status, 1)
	}
	return status
}

// Shared returns the one server of this process: that of RUQI_TEST_POSTGRES, or else a private
// one that the first call starts and [Main] stops. If it cannot be had, the test fails, and so
// does each test that asks later. If the test fails for another reason, what the server logged
// in the meantime is shown.
func Shared(t testing.TB) *Server {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if !common.tried {
		common.tried = true
		common.server, common.err = openShared()
	}
	if common.err != nil {
		t.Fatal(common.err)
	}
	s := *common.server
	s.t = t
	if s.own != nil {
		from := s.own.logSize()
		t.Cleanup(func() { s.showLog(t, from) })
	}
	s.announce(t)
	return &s
}

func openShared() (*Server, error) {
	if address := os.Getenv(environment); address != "" {
		return reach(address)
	}
	p, err := create(Options{}, freePort)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return &Server{own: p, shared: true, url: p.url, idle: &sessions{}}, nil
}

// reach tries the server of an address. Errors never tell the password.
func reach(address string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, errors.New(environment + " is no URL such as postgres://user:password@host:5432/database")
	}
	s := &Server{shared: true, url: *u, idle: &sessions{}}
	if _, _, err := s.version(); err != nil {
		return nil, fmt.Errorf("the server of %s cannot be reached (unset it, and the tests start their own): %w", environment, err)
	}
	return s, nil
}
