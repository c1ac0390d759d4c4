package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// bound is how long anything here is waited for: a start, an end, a statement. It is thirty
// times what a start takes on two busy cores.
const bound = 30 * time.Second

// Options are what a test may ask of its own server. The zero value is right for most.
type Options struct {
	// Settings are run-time parameters by name, as in postgresql.conf. They come behind those
	// of this package and win; port, listen_addresses and cluster_name are not to be set.
	Settings map[string]string
	// Password is that of the user postgres, asked for by scram-sha-256. Empty: none is
	// asked for (trust).
	Password string
	// Fsync makes commits wait for the disk. Without it they wait until the kernel has them,
	// so that a killed process loses nothing; only the loss of power would.
	Fsync bool
	// Bin is the folder with initdb and postgres. Empty: they are looked for in PATH, then where
	// packagers put them.
	Bin string
}

func (o Options) bin() (string, error) {
	if o.Bin != "" {
		return findBin(o.Bin, nil)
	}
	return findBin(os.Getenv("PATH"), places)
}

// A Server is a PostgreSQL that runs for tests. Its methods may be called by many goroutines;
// those that fail end the test, so the goroutine should be the test's.
type Server struct {
	t      testing.TB
	own    *process // nil: somebody else runs it
	shared bool
	url    url.URL
	idle   *sessions // of a shared server; nil: each act has a session of its own
}

// New starts a server that only this test uses, and stops and removes it at the test's end.
// It takes about a second. If the test fails the end of its log is shown.
func New(t testing.TB, options Options) *Server {
	t.Helper()
	return newServer(t, options, freePort)
}

func newServer(t testing.TB, options Options, ports func() (int, error)) *Server {
	t.Helper()
	p, err := create(options, ports)
	if err != nil {
		t.Fatalf("start postgres: %v", err)
	}
	s := &Server{t: t, own: p, url: p.url}
	t.Cleanup(func() {
		s.showLog(t, 0)
		if err := p.close(); err != nil {
			t.Errorf("end postgres: %v", err)
		}
	})
	s.announce(t)
	return s
}

// URL is what a superuser connects with: the database postgres, or, with
// RUQI_TEST_POSTGRES, that address.
func (s *Server) URL() string { return s.url.String() }

// Port is the TCP port on 127.0.0.1, the same after each [Server.Start]. It is 0 for a server
// that this package did not start.
func (s *Server) Port() int {
	if s.own == nil {
		return 0
	}
	return s.own.port
}

// Log returns the end of the server's log, at most 16 KiB; of a server that this package did
// not start, nothing.
func (s *Server) Log() string {
	if s.own == nil {
		return ""
	}
	return s.own.logSince(0)
}

// Kill ends all processes of the server at once by SIGKILL, as a crash of its machine does,
// and returns when they are gone. Commits stay. A server that is down stays down.
func (s *Server) Kill() {
	s.t.Helper()
	s.do("kill", (*process).kill)
}

// Stop ends the server by SIGQUIT ("immediate shutdown": clients are cut off, the next start
// recovers) and returns when it is gone. A server that is down stays down.
func (s *Server) Stop() {
	s.t.Helper()
	s.do("stop", (*process).stop)
}

// Start starts the server again after [Server.Kill] or [Server.Stop], on the same port with
// the same data, and returns when it takes connections.
func (s *Server) Start() {
	s.t.Helper()
	s.do("start", (*process).start)
}

// Pause stops all processes of the server by SIGSTOP and returns when they stand. Its
// connections stay, new ones are taken by the kernel, nobody answers. Kill, Stop and the end of the
// test work on a server that is paused.
func (s *Server) Pause() {
	s.t.Helper()
	s.do("pause", (*process).pause)
}

// Continue lets a server go on after [Server.Pause].
func (s *Server) Continue() {
	s.t.Helper()
	s.do("continue", (*process).resume)
}

func (s *Server) do(what string, act func(*process) error) {
	s.t.Helper()
	if s.shared {
		s.t.Fatalf("%s postgres: others use the shared server; take one with New", what)
	}
	if err := act(s.own); err != nil {
		s.t.Fatalf("%s postgres: %v", what, err)
	}
}

// showLog shows what the server has logged from an offset on, if the test failed.
func (s *Server) showLog(t testing.TB, from int64) {
	t.Helper()
	if s.own == nil || !t.Failed() {
		return
	}
	if text := strings.TrimSpace(s.own.logSince(from)); text != "" {
		t.Logf("the log of postgres ends with\n%s", text)
	}
}

// version asks a server for its version ("15.18") and returns where it was found.
func (s *Server) version() (version, address string, err error) {
	err = s.run(context.Background(), func(ctx context.Context, c *pgx.Conn) error {
		address = fmt.Sprintf("%s:%d", c.Config().Host, c.Config().Port)
		return c.QueryRow(ctx, "SHOW server_version").Scan(&version)
	})
	version, _, _ = strings.Cut(version, " ") // packagers add their own version in brackets
	return version, address, err
}

// run does one act as superuser, within the bound. An act leaves no setting and no transaction behind, unless it fails: then its
// session is closed.
func (s *Server) run(ctx context.Context, act func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	connect := pgx.Connect
	if s.idle != nil {
		connect = s.idle.take
	}
	c, err := connect(ctx, s.URL())
	if err != nil {
		return err
	}
	if err := act(ctx, c); err != nil || s.idle == nil {
		_ = c.Close(ctx) // what counts has been answered
		return err
	}
	s.idle.give(c)
	return nil
}

// announced holds the kinds of servers that were announced.
var announced sync.Map

// announce says once a process and kind, on stderr and as an attribute of the test (which the
// last lines of make test are made of), which server is tried. It never tells the password.
func (s *Server) announce(t testing.TB) {
	t.Helper()
	kind := "private"
	if s.own == nil {
		kind = "from " + environment
	}
	if _, done := announced.LoadOrStore(kind, true); done {
		return
	}
	version, address, err := s.version()
	if err != nil {
		t.Fatalf("ask postgres for its version: %v", err)
	}
	line := fmt.Sprintf("postgres %s at %s, %s", version, address, kind)
	fmt.Fprintln(os.Stderr, line)
	t.Attr("server", line)
}
