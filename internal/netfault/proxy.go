package netfault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// mostLinks bounds the connections open at once, and so the goroutines: five for each. More of
// them are reset at once.
const mostLinks = 1024

// A Direction is a way that bytes take. Both is either way.
type Direction uint8

const (
	ToServer Direction = 1 << iota // what the client sends
	ToClient                       // what the server sends
	Both     = ToServer | ToClient
)

// directions are the single ones; a fault is kept for each by its place here.
var directions = [2]Direction{ToServer, ToClient}

// A hole is what becomes of bytes that do not pass.
type hole uint8

const (
	none  hole = iota
	stall      // they wait
	drop       // they are gone
)

// A fault is what is wrong with one direction.
type fault struct {
	delay time.Duration
	hole  hole
	cut   *cut // nil: none; shared by the directions whose bytes it counts
}

// A cut resets the connection that carries the byte after the last one that may pass.
type cut struct {
	left int64
	done chan struct{} // closed when it has happened
}

// A Proxy forwards connections on loopback to one target on loopback. Its methods may be called by
// many goroutines.
type Proxy struct {
	target   string
	listener net.Listener
	group    sync.WaitGroup // the accepting goroutine and the links

	mu      sync.Mutex // guards all below
	faults  [2]fault   // in the order of directions
	refuses bool
	closed  bool
	links   map[*link]bool
	changed chan struct{} // closed when a fault changes, and made anew
}

// Open listens on a free port of 127.0.0.1 and forwards to the target, HOST:PORT, whose host must be
// localhost or an address of loopback. ctx bounds the opening alone. The target need not listen yet: a
// connection that it refuses is reset.
func Open(ctx context.Context, target string) (*Proxy, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("open a proxy to %q: %w", target, err)
	}
	if address, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !address.IsLoopback()) {
		return nil, fmt.Errorf("open a proxy to %q: it is not on loopback", target)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy to %q: %w", target, err)
	}
	p := &Proxy{target: target, listener: listener, links: map[*link]bool{}, changed: make(chan struct{})}
	p.group.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, as HOST:PORT.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Links is how many connections of clients are open.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close resets what is open and returns when nothing of the proxy is left. A second call does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	var err error
	if first {
		err = p.listener.Close()
	}
	p.Reset()
	p.group.Wait()
	return err
}

// Delay lets the bytes of a direction arrive so much later than they were sent, in their order. Those under way
// are late by the new time, too.
func (p *Proxy) Delay(d Direction, by time.Duration) {
	p.change(func() { p.each(d, func(f *fault) { f.delay = by }) })
}

// Stall keeps the bytes of a direction back: nothing sent after this call arrives, and soon nothing more is
// read, so that the sender's buffers fill. When the direction is cleared, all of it arrives. A new connection is
// accepted; the server hears of it when the way to it is clear.
func (p *Proxy) Stall(d Direction) {
	p.change(func() { p.each(d, func(f *fault) { f.hole = stall }) })
}

// Drop reads the bytes of a direction and throws them away, as a black hole does: the sender sees nothing
// of it. When the direction is cleared, the connections that lost bytes are reset, and the others go
// on. A new connection is accepted; the server hears of it when the way to it is clear.
func (p *Proxy) Drop(d Direction) {
	p.change(func() { p.each(d, func(f *fault) { f.hole = drop }) })
}

// Cut lets n more bytes of a direction pass, those of all its connections taken together; the connection
// that carries the next byte is then reset, and the fault is over. With n 0 the next answer of the
// server is lost, and what it answers has happened. Both counts the bytes of both directions. A later Cut
// takes the place of this one. The channel is closed when the cut has happened.
func (p *Proxy) Cut(d Direction, n int64) (happened <-chan struct{}) {
	c := &cut{left: n, done: make(chan struct{})}
	p.change(func() { p.each(d, func(f *fault) { f.cut = c }) })
	return c.done
}

// Refuse resets each new connection as soon as it is there. Open ones go on.
func (p *Proxy) Refuse() {
	p.change(func() { p.refuses = true })
}

// Reset closes all open connections at both ends with RST, and returns when they are closed. It is no
// state: new connections are not touched.
func (p *Proxy) Reset() {
	p.mu.Lock()
	var open []*link
	for l := range p.links {
		open = append(open, l)
	}
	p.mu.Unlock()
	for _, l := range open {
		l.reset()
	}
	for _, l := range open {
		<-l.ended
	}
}

// Clear ends the delay, the hole and the cut of a direction.
func (p *Proxy) Clear(d Direction) {
	p.change(func() { p.clear(d) })
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.change(func() {
		p.clear(Both)
		p.refuses = false
	})
}

// clear forgets the faults of a direction; p.mu is held.
func (p *Proxy) clear(d Direction) {
	p.each(d, func(f *fault) { *f = fault{} })
}

// each calls do for the fault of each direction in d; p.mu is held.
func (p *Proxy) each(d Direction, do func(f *fault)) {
	for way, single := range directions {
		if d&single != 0 {
			do(&p.faults[way])
		}
	}
}

// change lets do change the faults, wakes who waits for that, and resets the links that lost bytes
// in a direction in which none are lost any more.
func (p *Proxy) change(do func()) {
	p.mu.Lock()
	do()
	close(p.changed)
	p.changed = make(chan struct{})
	var broken []*link
	for l := range p.links {
		for way := range directions {
			if l.lost[way] && p.faults[way].hole != drop {
				broken = append(broken, l)
				break
			}
		}
	}
	p.mu.Unlock()
	for _, l := range broken {
		l.reset()
	}
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // no descriptor is free; one will be
			continue
		}
		client := conn.(*net.TCPConn) // what a listener of network tcp accepts
		p.mu.Lock()
		if p.refuses || p.closed || len(p.links) >= mostLinks {
			p.mu.Unlock()
			_ = rst(client) // it is gone already, or will be
			continue
		}
		l := newLink(p, client)
		p.links[l] = true
		p.group.Go(l.run)
		p.mu.Unlock()
	}
}

// A verdict is what becomes of a chunk now.
type verdict struct {
	pass int // so many of its bytes pass
	// cut, when there is one, resets the link after them.
	cut *cut
	// drop says that the chunk is gone.
	drop bool
	// wait is not nil when it has to wait for a change of the faults, or until then, if that is no zero time.
	wait  <-chan struct{}
	until time.Time
}

// judge decides about a chunk that l carries in the direction at this place, and counts it if it passes. Without a
// server, which only the first direction can lack, the chunk waits for one unless it is dropped.
func (p *Proxy) judge(l *link, way int, c chunk, hasPeer bool) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults[way]
	switch due := c.read.Add(f.delay); {
	case f.hole == drop || l.lost[way]:
		l.lost[way] = true
		return verdict{drop: true}
	case f.hole == stall, !hasPeer:
		return verdict{wait: p.changed}
	case time.Now().Before(due):
		return verdict{wait: p.changed, until: due}
	}
	n := len(c.data)
	if f.cut == nil || int64(n) <= f.cut.left {
		if f.cut != nil {
			f.cut.left -= int64(n)
		}
		return verdict{pass: n}
	}
	over := f.cut
	for i := range p.faults {
		if p.faults[i].cut == over {
			p.faults[i].cut = nil
		}
	}
	return verdict{pass: int(over.left), cut: over}
}

// hasLost reports whether l carries a stream with a hole in it.
func (p *Proxy) hasLost(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.lost[0] || l.lost[1]
}

// clearWay returns nil when the way to the server has no hole, else what to wait for.
func (p *Proxy) clearWay() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults[0].hole == none {
		return nil
	}
	return p.changed
}

// leave forgets a link that has ended.
func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// onlyLoopback refuses to connect to anything but loopback, whatever a name stands for.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
		return fmt.Errorf("%s is not on loopback", address)
	}
	return nil
}

// rst closes a connection so that the other end finds it reset.
func rst(conn *net.TCPConn) error {
	return errors.Join(conn.SetLinger(0), conn.Close())
}
