package netfault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// chunkSize is the most that is read at once, in bytes.
	chunkSize = 16 << 10
	// underWay is how many chunks of one direction may wait for their time: 1 MiB of full ones, which with a
	// delay of 100 ms is 10 MB a second.
	underWay = 64
)

// A chunk is what was read at once, or the end of the stream.
type chunk struct {
	read time.Time
	data []byte
	end  end
}

// An end is how a stream ended.
type end uint8

const (
	goesOn end = iota
	closed     // no more bytes will come, but may still be taken
	broken     // it was reset, or the server refused it
)

// A link is one connection of a client and, once there is one, that to the server.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	ctx    context.Context // ends when the link is reset or at its end
	cancel context.CancelFunc
	queues [2]chan chunk // what was read, in the order of directions
	// connected is closed when there is a server, and ended when nothing of the link is left.
	connected, ended chan struct{}

	lost [2]bool // in a direction bytes were dropped; guarded by proxy.mu

	mu     sync.Mutex // guards server, over
	server *net.TCPConn
	over   bool // both connections are closed, or will be as soon as they are there
}

func newLink(p *Proxy, client *net.TCPConn) *link {
	ctx, cancel := context.WithCancel(context.Background())
	return &link{
		proxy: p, client: client, ctx: ctx, cancel: cancel, connected: make(chan struct{}), ended: make(chan struct{}),
		queues: [2]chan chunk{make(chan chunk, underWay), make(chan chunk, underWay)},
	}
}

// run carries the link until it ends.
func (l *link) run() {
	defer close(l.ended)
	defer l.proxy.leave(l)
	var group sync.WaitGroup
	group.Go(func() { l.read(0, l.client) })
	group.Go(func() { l.write(0) })
	group.Go(func() { l.write(1) })
	if server := l.connect(); server != nil {
		close(l.connected)
		group.Go(func() { l.read(1, server) })
	} else {
		l.queues[1] <- chunk{read: time.Now(), end: broken}
		close(l.queues[1])
	}
	group.Wait()
	if l.proxy.hasLost(l) {
		<-l.ctx.Done() // nobody hears of an end that is lost, before it is healed
	}
	l.close((*net.TCPConn).Close)
}

// connect connects to the server as soon as the way there has no hole. It returns nil when there is no server, or the link is over.
func (l *link) connect() *net.TCPConn {
	for {
		changed := l.proxy.clearWay()
		if changed == nil {
			break
		}
		select {
		case <-changed:
		case <-l.ctx.Done():
			return nil
		}
	}
	dialer := net.Dialer{Control: onlyLoopback}
	conn, err := dialer.DialContext(l.ctx, "tcp", l.proxy.target)
	if err != nil {
		return nil
	}
	server := conn.(*net.TCPConn) // what a dialer of network tcp returns
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		_ = rst(server)
		return nil
	}
	l.server = server
	return server
}

// peer is where the bytes of a direction go; nil: there is no server yet.
func (l *link) peer(way int) *net.TCPConn {
	if way == 1 {
		return l.client
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server
}

// reset closes both connections with RST.
func (l *link) reset() { l.close(rst) }

// close closes both connections by how, unless they are closed.
func (l *link) close(how func(*net.TCPConn) error) {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	_ = how(l.client) // nobody is left to be told of a failure
	if l.server != nil {
		_ = how(l.server)
	}
}

// read takes what one end sends until it ends, and puts it into the queue of its direction. Where the
// queue is full, since nothing passes, nothing more is read.
func (l *link) read(way int, from *net.TCPConn) {
	defer close(l.queues[way])
	buffer := make([]byte, chunkSize)
	for {
		n, err := from.Read(buffer)
		c := chunk{read: time.Now(), data: bytes.Clone(buffer[:n])}
		switch {
		case errors.Is(err, io.EOF):
			c.end = closed
		case err != nil:
			c.end = broken
		}
		select {
		case l.queues[way] <- c:
		case <-l.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// write passes on what is in the queue of a direction, as its faults have it. It ends with the stream.
func (l *link) write(way int) {
	for c := range l.queues[way] {
		if !l.forward(way, c) {
			break
		}
	}
	for range l.queues[way] { // until the reader has ended, too
	}
}

// forward passes one chunk on, sooner or later. It reports whether the stream goes on.
func (l *link) forward(way int, c chunk) bool {
	for {
		to := l.peer(way)
		v := l.proxy.judge(l, way, c, to != nil)
		switch {
		case v.drop:
			return true
		case v.wait != nil:
			if !l.pause(v, to != nil) {
				return false
			}
			continue
		}
		if v.pass > 0 {
			if _, err := to.Write(c.data[:v.pass]); err != nil && l.ctx.Err() == nil {
				// That end is gone. The other one hears of it as the faults in its direction have it.
				return l.forward(1-way, chunk{read: time.Now(), end: broken})
			}
		}
		switch {
		case v.cut != nil:
			l.reset()
			close(v.cut.done)
			return false
		case c.end == closed:
			_ = to.CloseWrite() // fails when it is gone
		case c.end == broken:
			l.reset()
		}
		return c.end == goesOn
	}
}

// pause waits as a verdict says, or for the server if there is none yet. It reports false when the link is over.
func (l *link) pause(v verdict, hasPeer bool) bool {
	var connected <-chan struct{}
	if !hasPeer {
		connected = l.connected
	}
	var due <-chan time.Time
	if !v.until.IsZero() {
		timer := time.NewTimer(time.Until(v.until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-v.wait:
	case <-connected:
	case <-due:
	case <-l.ctx.Done():
		return false
	}
	return true
}
