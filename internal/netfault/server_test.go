package netfault_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/netfault"
)

const (
	// patience bounds every wait; what is waited for takes milliseconds.
	patience = 20 * time.Second
	// glance is how long a test looks for what must not come. A slow machine makes it see too little, never too much.
	glance = 60 * time.Millisecond
)

// A server answers each line with "re: " and the line, and tells what it heard.
type server struct {
	listener net.Listener
	heard    chan string // lines, and "EOF" and "reset" at the end of a connection
	group    sync.WaitGroup
	mu       sync.Mutex // guards conns
	conns    []net.Conn
}

func serve(t *testing.T) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: listener, heard: make(chan string, 10_000)}
	s.group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.group.Go(func() { s.answer(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // some tests have closed it
		s.hangUp()
		s.group.Wait()
	})
	return s
}

// hangUp closes the server's end of all connections.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

func (s *server) answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case err == nil:
			s.heard <- line[:len(line)-1]
		case errors.Is(err, io.EOF):
			s.heard <- "EOF"
			return
		case errors.Is(err, syscall.ECONNRESET):
			s.heard <- "reset"
			return
		default:
			return
		}
		if _, err := io.WriteString(conn, "re: "+line); err != nil {
			if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) { // it came before the answer went out
				s.heard <- "reset"
			}
			return
		}
	}
}

// hears fails unless this is what the server hears next.
func (s *server) hears(t *testing.T, want string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case got := <-s.heard:
		if got != want {
			t.Fatalf("the server heard %q, want %q", got, want)
		}
	case <-limit.C:
		t.Fatalf("the server did not hear %q", want)
	}
}

// hearsNothing fails if the server hears anything for a while.
func (s *server) hearsNothing(t *testing.T) {
	t.Helper()
	limit := time.NewTimer(glance)
	defer limit.Stop()
	select {
	case got := <-s.heard:
		t.Fatalf("the server heard %q through a hole", got)
	case <-limit.C:
	}
}

func open(t *testing.T, target string) *netfault.Proxy {
	t.Helper()
	p, err := netfault.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// refuses fails unless a new connection is reset, while it is made or soon after.
func refuses(t *testing.T, p *netfault.Proxy) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Addr(), patience)
	if err == nil {
		defer func() { _ = conn.Close() }()
		if err = conn.SetReadDeadline(time.Now().Add(patience)); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that is to be reset ends with %v", err)
	}
}

// A client is one connection through a proxy.
type client struct {
	t     *testing.T
	conn  *net.TCPConn
	lines *bufio.Reader
}

func dial(t *testing.T, p *netfault.Proxy) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Addr(), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t, conn.(*net.TCPConn), bufio.NewReader(conn)}
}

func (c *client) says(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// hears fails unless this line is what comes next.
func (c *client) hears(want string) {
	c.t.Helper()
	c.limit(patience)
	line, err := c.lines.ReadString('\n')
	if err != nil || line != want+"\n" {
		c.t.Fatalf("the client heard %q, %v, want %q", line, err, want)
	}
}

// hearsNothing fails if anything comes for a while, an end included.
func (c *client) hearsNothing() {
	c.t.Helper()
	c.limit(glance)
	if line, err := c.lines.ReadString('\n'); !errors.Is(err, errLate) {
		c.t.Fatalf("the client heard %q, %v through a hole", line, err)
	}
}

// isReset fails unless the connection is reset, after so many more bytes.
func (c *client) isReset(after string) {
	c.t.Helper()
	c.limit(patience)
	got, err := io.ReadAll(c.lines)
	if string(got) != after || !errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("the client heard %q, %v, want %q and a reset", got, err, after)
	}
}

func (c *client) limit(d time.Duration) {
	if err := c.conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		c.t.Fatal(err)
	}
}

// talks fails unless a line is answered.
func (c *client) talks(s *server, line string) {
	c.t.Helper()
	c.says(line)
	s.hears(c.t, line)
	c.hears("re: " + line)
}
