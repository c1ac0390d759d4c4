package netfault_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/netfault"
)

var errLate = os.ErrDeadlineExceeded

func TestBytesAndEndsPass(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	c.talks(s, "one")
	if err := c.conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	s.hears(t, "EOF")
	c.limit(patience)
	if got, err := io.ReadAll(c.lines); len(got) > 0 || err != nil {
		t.Errorf("at the end the client heard %q, %v", got, err)
	}
	awaitLinks(t, p, 0)
}

// TestMuchPasses sends more than all buffers hold, to a server that answers after the end.
func TestMuchPasses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // ends with its one connection, or the listener
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		text, _ := io.ReadAll(conn) // what is missing is seen by the client
		_, _ = conn.Write(text)
		_ = conn.Close()
	}()
	p := open(t, listener.Addr().String())
	p.Delay(netfault.Both, 20*time.Millisecond)
	c := dial(t, p)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	if _, err := c.conn.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := c.conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.limit(patience)
	if got, err := io.ReadAll(c.lines); err != nil || !bytes.Equal(got, text) {
		t.Errorf("of %d bytes %d came back, %v", len(text), len(got), err)
	}
}

func TestADelayIsOfOneDirection(t *testing.T) {
	const late = 80 * time.Millisecond
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	for _, d := range []struct {
		name         string
		way          netfault.Direction
		there, again time.Duration // least time to the server, and to the client
	}{
		{"none", 0, 0, 0}, {"to the server", netfault.ToServer, late, late}, {"to the client", netfault.ToClient, 0, late}, {"both", netfault.Both, late, 2 * late},
	} {
		t.Run(d.name, func(t *testing.T) {
			p.Heal()
			p.Delay(d.way, late)
			begun := time.Now()
			c.says("x")
			s.hears(t, "x")
			if there := time.Since(begun); there < d.there {
				t.Errorf("the server heard it after %s, want at least %s", there, d.there)
			}
			c.hears("re: x")
			if again := time.Since(begun); again < d.again {
				t.Errorf("the client heard it after %s, want at least %s", again, d.again)
			}
		})
	}
}

// TestADelayIsNoLimitOfSpeed sends lines one after the other: each is late, and not each later than the one before.
func TestADelayIsNoLimitOfSpeed(t *testing.T) {
	const lines, late = 50, 100 * time.Millisecond
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	p.Delay(netfault.ToServer, late)
	c := dial(t, p)
	begun := time.Now()
	for i := range lines {
		c.says(fmt.Sprint(i))
		<-time.After(time.Millisecond) // so that they are read apart
	}
	for i := range lines {
		s.hears(t, fmt.Sprint(i))
	}
	if took := time.Since(begun); took > lines*late/2 {
		t.Errorf("%d lines took %s, each %s late", lines, took, late)
	}
}

func TestAClearedDelayLetsThroughWhatWaits(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	p.Delay(netfault.ToServer, time.Hour)
	c.says("x")
	s.hearsNothing(t)
	p.Clear(netfault.ToServer)
	s.hears(t, "x")
}

func TestWhatIsStalledArrivesLater(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	c.talks(s, "before")
	p.Stall(netfault.ToServer)
	c.says("one")
	s.hearsNothing(t)
	p.Clear(netfault.ToServer)
	s.hears(t, "one")
	c.hears("re: one")
	p.Stall(netfault.ToClient)
	c.says("two")
	s.hears(t, "two")
	c.hearsNothing()
	p.Heal()
	c.hears("re: two")
}

func TestWhatIsDroppedIsGone(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c, idle := dial(t, p), dial(t, p)
	c.talks(s, "before")
	idle.talks(s, "before")
	p.Drop(netfault.ToServer)
	c.says("one")
	s.hearsNothing(t)
	c.hearsNothing()
	p.Clear(netfault.ToServer)
	c.isReset("")
	s.hears(t, "reset")
	idle.talks(s, "a connection that lost nothing goes on")
	p.Drop(netfault.ToClient)
	idle.says("two")
	s.hears(t, "two")
	idle.hearsNothing()
	idle.says("three")
	s.hears(t, "three")
	p.Heal()
	idle.isReset("")
	s.hears(t, "reset")
}

func TestANewConnectionInAHoleGetsNoAnswer(t *testing.T) {
	for name, hole := range map[string]func(*netfault.Proxy, netfault.Direction){
		"stall": (*netfault.Proxy).Stall, "drop": (*netfault.Proxy).Drop,
	} {
		for _, way := range []netfault.Direction{netfault.ToServer, netfault.ToClient, netfault.Both} {
			t.Run(fmt.Sprintf("%s %d", name, way), func(t *testing.T) {
				s := serve(t)
				p := open(t, s.listener.Addr().String())
				hole(p, way)
				c := dial(t, p)
				c.says("x")
				if way == netfault.ToClient {
					s.hears(t, "x")
				} else {
					s.hearsNothing(t)
				}
				c.hearsNothing()
				p.Heal()
				if name == "drop" {
					c.isReset("")
				} else {
					c.hears("re: x")
				}
				dial(t, p).conn.Close()
			})
		}
	}
}

func TestAnEndIsNotHeardThroughAHole(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	c.talks(s, "x")
	p.Drop(netfault.ToServer)
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	s.hearsNothing(t)
	p.Heal()
	s.hears(t, "reset")
	c = dial(t, p)
	c.talks(s, "y")
	p.Stall(netfault.ToClient)
	s.hangUp()
	c.hearsNothing()
	p.Heal()
	c.limit(patience)
	if got, err := io.ReadAll(c.lines); len(got) > 0 || err != nil {
		t.Errorf("at the end the client heard %q, %v", got, err)
	}
}

// TestACutLosesAnAnswer is what the proxy is for: what was asked has happened, and nobody says so.
func TestACutLosesAnAnswer(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	for n, want := range []string{"", "r", "re", "re:"} {
		c, other := dial(t, p), dial(t, p)
		other.talks(s, "other")
		cut := p.Cut(netfault.ToClient, int64(n))
		c.says("commit")
		s.hears(t, "commit")
		c.isReset(want)
		<-cut
		if got := <-s.heard; got != "reset" && got != "EOF" {
			t.Errorf("after a cut the server heard %q", got)
		}
		other.talks(s, "the fault is over")
		_ = other.conn.Close()
		s.hears(t, "EOF")
	}
}

func TestACutOfBothDirectionsCountsBoth(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	p.Cut(netfault.Both, int64(len("1\nre: 1\n2\nre")))
	c.talks(s, "1")
	c.says("2")
	s.hears(t, "2")
	c.isReset("re")
}

func TestAClearedCutDoesNotHappen(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	cut := p.Cut(netfault.ToServer, 0)
	p.Clear(netfault.ToServer)
	c.talks(s, "x")
	select {
	case <-cut:
		t.Error("a cut that was cleared has happened")
	default:
	}
}

func TestResetEndsWhatIsOpen(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	c := dial(t, p)
	c.talks(s, "x")
	p.Stall(netfault.Both) // a reset takes no heed of other faults
	p.Reset()
	if n := p.Links(); n != 0 {
		t.Errorf("%d connections are open after a reset", n)
	}
	c.isReset("")
	s.hears(t, "reset")
	p.Heal()
	dial(t, p).talks(s, "new ones are not touched")
}

func TestRefuseResetsNewConnections(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	old := dial(t, p)
	old.talks(s, "x")
	p.Refuse()
	refuses(t, p)
	old.talks(s, "open ones go on")
	p.Heal()
	dial(t, p).talks(s, "y")
}

func TestAServerThatIsNotThereIsAReset(t *testing.T) {
	s := serve(t)
	p := open(t, s.listener.Addr().String())
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	refuses(t, p)
	p.Drop(netfault.ToClient)
	c := dial(t, p)
	c.hearsNothing()
	p.Heal()
	c.isReset("")
}

func TestOnlyLoopbackIsForwardedTo(t *testing.T) {
	for _, target := range []string{"192.0.2.1:5432", "example.com:80", "0.0.0.0:80", "localhost", ":80", ""} {
		if p, err := netfault.Open(t.Context(), target); err == nil {
			_ = p.Close()
			t.Errorf("a proxy to %q was opened", target)
		}
	}
	s := serve(t)
	_, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "localhost:"+port)
	if !strings.HasPrefix(p.Addr(), "127.0.0.1:") {
		t.Errorf("a proxy listens on %s", p.Addr())
	}
	dial(t, p).talks(s, "x")
}

func TestCloseWaitsInEveryState(t *testing.T) {
	for name, fault := range map[string]func(*netfault.Proxy){
		"none":    func(*netfault.Proxy) {},
		"delay":   func(p *netfault.Proxy) { p.Delay(netfault.Both, time.Hour) },
		"stall":   func(p *netfault.Proxy) { p.Stall(netfault.Both) },
		"drop":    func(p *netfault.Proxy) { p.Drop(netfault.Both) },
		"drop to": func(p *netfault.Proxy) { p.Drop(netfault.ToServer) },
		"refuse":  (*netfault.Proxy).Refuse,
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			p := open(t, s.listener.Addr().String())
			dial(t, p).talks(s, "x")
			fault(p)
			for range 5 {
				conn, err := net.DialTimeout("tcp", p.Addr(), patience)
				if err != nil {
					continue // it is refused
				}
				defer func() { _ = conn.Close() }()
				_, _ = conn.Write([]byte("y\n")) // some are reset
			}
			for range 2 {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
			if n := p.Links(); n != 0 {
				t.Errorf("%d connections are open after the end", n)
			}
			if conn, err := net.Dial("tcp", p.Addr()); err == nil {
				_ = conn.Close()
				t.Error("a closed proxy takes connections")
			}
		})
	}
}

// TestEverythingAtOnce changes faults at random under clients that connect all the time. Whatever arrives must be what
// was sent, and after the healing all must be well.
func TestEverythingAtOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := serve(t)
	go func() { // until the channel is closed at the end
		for range s.heard {
		}
	}()
	p := open(t, s.listener.Addr().String())
	var group sync.WaitGroup
	over := make(chan struct{})
	for i := range 8 {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				converse(t, p, fmt.Sprintf("%d-%d", i, n))
			}
		})
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		way := netfault.Direction(1 + r.IntN(3))
		switch r.IntN(9) {
		case 0:
			p.Delay(way, time.Duration(r.IntN(20))*time.Millisecond)
		case 1:
			p.Stall(way)
		case 2:
			p.Drop(way)
		case 3:
			p.Cut(way, r.Int64N(200))
		case 4:
			p.Reset()
		case 5:
			p.Refuse()
		case 6:
			p.Clear(way)
		default:
			p.Heal()
		}
		<-time.After(time.Duration(r.IntN(5)) * time.Millisecond)
	}
	close(over)
	p.Heal()
	group.Wait()
	awaitLinks(t, p, 0)
	c := dial(t, p)
	c.says("last")
	c.hears("re: last")
}

// converse says some lines on a connection of its own; no answer, and no connection, are as good as any.
func converse(t *testing.T, p *netfault.Proxy, word string) {
	conn, err := net.DialTimeout("tcp", p.Addr(), patience)
	if err != nil {
		return
	}
	c := &client{t, conn.(*net.TCPConn), nil}
	defer func() { _ = conn.Close() }()
	c.limit(20 * time.Millisecond)
	var want strings.Builder
	for n := range 5 {
		fmt.Fprintf(&want, "re: %s %d\n", word, n)
		_, _ = fmt.Fprintf(conn, "%s %d\n", word, n)
	}
	got := make([]byte, want.Len())
	n, _ := io.ReadFull(conn, got)
	if !strings.HasPrefix(want.String(), string(got[:n])) {
		t.Errorf("heard %q of %q", got[:n], want.String())
	}
}

// awaitLinks polls until so many connections are open.
func awaitLinks(t *testing.T, p *netfault.Proxy, n int) {
	t.Helper()
	for limit := time.Now().Add(patience); p.Links() != n; <-time.After(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d connections are open, want %d", p.Links(), n)
		}
	}
}
